//! One question to the agent's model, for cards: no tools, no history.

use std::fmt;
use std::sync::Arc;

use akgentic_core::ActorHandle;
use akgentic_core::wire::Timestamp;
use akgentic_llm::{
    BuildModel, FallbackModel, History, LlmEvent, LlmUsageEvent, ModelConfig, ModelInput,
    ModelRequest, ModelSettings, ONE_SHOT_RUN, OutputRequest, PriceTable, RequestPart,
    SystemPromptPart, UserContent, UserItem, UserPromptPart,
};
use akgentic_tool_core::{OneShotError, OneShotLlm, OneShotRequest, Part};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::ModelDesk;

/// Asks the agent's active model, or another one of its roster.
///
/// What it costs is recorded as usage of the agent outside of its runs.
pub(crate) struct OneShot {
    pub(crate) desk: ModelDesk,
    pub(crate) build: Arc<BuildModel>,
    pub(crate) agent: ActorHandle,
}

impl OneShotLlm for OneShot {
    fn ask(&self, request: OneShotRequest) -> BoxFuture<'static, Result<String, OneShotError>> {
        let Some(config) = self.desk.find(request.model.as_deref()) else {
            let wanted = request.model.unwrap_or_default();
            let reason = format!("the agent has no model {wanted}");
            return std::future::ready(Err(OneShotError::Unavailable(reason))).boxed();
        };
        let (build, agent) = (Arc::clone(&self.build), self.agent.clone());
        async move {
            let model = FallbackModel::build(&config, &*build)
                .map_err(|reason| OneShotError::Unavailable(reason.to_string()))?;
            let deadline = request.deadline.map(Instant::from_std);
            let input = input(&config, request);
            let reply = model.request(input);
            let reply = match deadline {
                None => reply.await,
                Some(deadline) => tokio::time::timeout_at(deadline, reply)
                    .await
                    .map_err(|_| OneShotError::Timeout)?,
            };
            let response = reply.map_err(|error| OneShotError::Failed(error.to_string()))?;
            record(&agent, &config, model.name(), &response);
            match response.text() {
                text if text.is_empty() => Err(OneShotError::Failed("it gave no text".to_owned())),
                text => Ok(text),
            }
        }
        .boxed()
    }
}

fn input(config: &ModelConfig, request: OneShotRequest) -> ModelInput {
    let now = Timestamp::now();
    let system = request
        .instructions
        .map(|text| RequestPart::SystemPrompt(SystemPromptPart::new(text, None, now)));
    let prompt = RequestPart::UserPrompt(UserPromptPart::new(user_content(request.parts), now));
    let message = ModelRequest {
        parts: system.into_iter().chain([prompt]).collect(),
        timestamp: Some(now),
        ..ModelRequest::default()
    };
    ModelInput {
        messages: History::from(vec![Arc::new(message.into())]),
        tools: Arc::default(),
        output: OutputRequest::text(),
        settings: ModelSettings::from(config),
        cancel: CancellationToken::new(),
    }
}

/// A prompt of these parts: plain when it is one text.
pub(crate) fn user_content(parts: Vec<Part>) -> UserContent {
    match <[Part; 1]>::try_from(parts) {
        Ok([Part::Text(text)]) => UserContent::Text(text),
        Ok([media]) => UserContent::Items(vec![user_item(media)]),
        Err(parts) => UserContent::Items(parts.into_iter().map(user_item).collect()),
    }
}

fn user_item(part: Part) -> UserItem {
    match part {
        Part::Text(text) => UserItem::Text(text),
        Part::Media(media) => UserItem::Binary(media.into()),
    }
}

fn record(
    agent: &ActorHandle,
    config: &ModelConfig,
    model: &str,
    response: &akgentic_llm::ModelResponse,
) {
    let named = |own: &Option<String>, other: &str| own.clone().unwrap_or_else(|| other.to_owned());
    let model_name = named(&response.model_name, model);
    let provider_name = named(&response.provider_name, config.provider.as_str());
    let usage = &response.usage;
    let cost = PriceTable::builtin().cost(&provider_name, &model_name, usage.into());
    let event = LlmUsageEvent::new(ONE_SHOT_RUN, model_name, provider_name, usage, cost);
    match agent.get() {
        Ok(ctx) => ctx.notify_event(LlmEvent::Usage(event).into_value()),
        Err(error) => tracing::debug!(%error, "usage of a question is not recorded"),
    }
}

impl fmt::Debug for OneShot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OneShot").field(&self.desk).finish()
    }
}
