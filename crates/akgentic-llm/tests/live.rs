//! Real providers, only when they are asked for.
//!
//! `AKGENTIC_LIVE` names models, separated by commas, such as `openai:gpt-5-mini`; each of them is
//! asked a few short questions with the key in the environment. Without it, or without the key,
//! nothing is sent and a line says so:
//!
//! ```text
//! AKGENTIC_LIVE=openai:gpt-5-mini cargo test -p akgentic-llm --test live -- --nocapture
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "tests"
)]
#![cfg(feature = "providers")]

use std::sync::Arc;

use akgentic_llm::{
    FallbackModel, FunctionModel, HttpClientConfig, Model, ModelConfig, ModelInput, OutputRequest,
    OutputSpec, Providers, ReactAgent, ReactAgentConfig, StreamEvent,
};
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

#[derive(Deserialize, JsonSchema)]
struct City {
    /// The name of a city.
    city: String,
}

/// The weather somewhere.
#[derive(Debug, Deserialize, JsonSchema)]
struct Weather {
    /// The city.
    city: String,
    /// Degrees Celsius.
    degrees: i64,
}

/// The models that are asked for, and can be built.
fn models() -> Vec<ModelConfig> {
    let Ok(named) = std::env::var("AKGENTIC_LIVE") else {
        println!("skipped: AKGENTIC_LIVE names no models");
        return Vec::new();
    };
    let providers = Providers::from_env();
    let named = named.split(',').map(str::trim).filter(|name| !name.is_empty());
    let models = named.filter_map(|name| {
        let config: ModelConfig = name.parse().unwrap();
        match providers.model(&config, &HttpClientConfig::default()) {
            Ok(_) => Some(config),
            Err(error) => {
                println!("skipped: {name}: {error}");
                None
            }
        }
    });
    models.collect()
}

fn agent(config: ModelConfig) -> ReactAgent {
    let look = Tool::new("temperature", "Looks up the temperature in a city.", {
        |args: City, _: ToolCall| async move {
            let degrees = if args.city.contains("Gent") { 17 } else { 30 };
            Ok::<_, ToolError>(format!("{degrees} degrees Celsius"))
        }
    });
    let build = Providers::from_env().builder(&HttpClientConfig::default());
    let config = ReactAgentConfig { model_cfg: config, ..ReactAgentConfig::default() };
    ReactAgent::from_config(config, build).unwrap().tools([look]).build().unwrap()
}

#[tokio::test]
async fn a_model_calls_a_tool_and_gives_a_typed_answer() {
    for config in models() {
        let key = config.key();
        let mut agent = agent(config);
        let output = OutputSpec::of::<Weather>();
        let ask = "How warm is it in Gent? Use the tool.";
        let result = agent.run(ask, &output, CancellationToken::new()).await;
        let result = result.unwrap_or_else(|error| panic!("{key}: {error}"));
        let weather: Weather = result.output.parse().unwrap();
        assert!(weather.city.contains("Gent") && weather.degrees == 17, "{key}: {weather:?}");
        assert_eq!(agent.usage().tool_calls, 1, "{key}");
        // the provider takes its own conversation back
        let result = agent.run("And in Rome?", &OutputSpec::text(), CancellationToken::new()).await;
        let text = result.unwrap_or_else(|error| panic!("{key}: {error}")).output.to_text();
        assert!(text.contains("30"), "{key}: {text}");
        println!("{key}: {:?}", agent.usage());
    }
}

#[tokio::test]
async fn a_model_answers_in_pieces() {
    for config in models() {
        let build = Providers::from_env().builder(&HttpClientConfig::default());
        let model = FallbackModel::build(&config, &*build).unwrap();
        let mut stream = model.stream(question().await);
        let mut text = String::new();
        let mut whole = None;
        while let Some(event) = stream.next().await {
            match event.unwrap_or_else(|error| panic!("{}: {error}", config.key())) {
                StreamEvent::Text(piece) => text.push_str(&piece),
                StreamEvent::Finished(response) => whole = Some(response),
                _ => {}
            }
        }
        assert_eq!(whole.expect("an end").text(), text, "{}", config.key());
        assert!(text.contains('5'), "{}: {text}", config.key());
    }
}

/// What an agent would ask its model.
async fn question() -> ModelInput {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let model: Arc<dyn Model> = Arc::new(FunctionModel::text(move |input| {
        if let Some(sender) = sender.lock().unwrap().take() {
            sender.send(input.clone()).unwrap();
        }
        String::from("noted")
    }));
    let mut agent = ReactAgent::builder(model).build().unwrap();
    let ask = "Count from 1 to 5, digits only.";
    agent.run(ask, &OutputSpec::text(), CancellationToken::new()).await.unwrap();
    ModelInput { output: OutputRequest::text(), ..receiver.await.unwrap() }
}
