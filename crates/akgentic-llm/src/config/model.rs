//! Which model, and how it is called.

use std::str::FromStr;

use akgentic_core::payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::provider::Provider;

/// How hard a model is to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// As much as it can.
    Max,
}

/// Which model, and how it is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelConfig {
    /// Who serves it.
    pub provider: Provider,
    /// Its name at the provider.
    pub model: String,
    /// Sampling temperature, 0 to 2.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// Seed for sampling.
    pub seed: Option<i64>,
    /// Cap on output tokens.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// The context window in tokens; arms automatic compaction, none turns it off.
    #[schemars(range(min = 1))]
    pub context_length: Option<u64>,
    /// How hard to think.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Models to ask in turn when this one fails; none of them has fallbacks of its own.
    pub fallback_models: Vec<ModelConfig>,
    /// Routing of OpenRouter; for that provider only.
    pub openrouter_provider: Option<OpenRouterRouting>,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            provider: Provider::default(),
            model: "gpt-5.2".to_owned(),
            temperature: None,
            seed: None,
            max_tokens: None,
            context_length: None,
            reasoning_effort: None,
            fallback_models: Vec::new(),
            openrouter_provider: None,
        }
    }
}

impl ModelConfig {
    /// The name of the model in a roster: `provider:model`.
    pub fn key(&self) -> String {
        format!("{}:{}", self.provider.as_str(), self.model)
    }

    /// Whether the model can be held to a JSON schema.
    pub fn native_output(&self) -> bool {
        match self.provider {
            Provider::OpenAi
            | Provider::OpenAiChat
            | Provider::Azure
            | Provider::AzureChat
            | Provider::Anthropic
            | Provider::Cohere => true,
            Provider::Nvidia => self.model.starts_with("openai"),
            Provider::OpenRouter => {
                let model = self.model.strip_prefix('~').unwrap_or(&self.model);
                ["openai/gpt-", "google/gemini", "x-ai/grok"]
                    .iter()
                    .any(|family| model.starts_with(family))
            }
            Provider::GoogleGla
            | Provider::Mistral
            | Provider::Groq
            | Provider::DeepSeek
            | Provider::Ollama
            | Provider::AwsBedrock
            | Provider::OpenAiCompatible => false,
            Provider::General(provider) => provider.has_native_output(),
        }
    }
}

/// A text that names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} names no model; write PROVIDER:MODEL, with one of the providers {}",
    Provider::ALL.map(Provider::as_str).join(", ")
)]
pub struct ModelNameError {
    text: String,
}

/// The model that `PROVIDER:MODEL` names, everything else by default.
impl FromStr for ModelConfig {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text.split_once(':').filter(|(_, model)| !model.is_empty());
        let named = named.and_then(|(provider, model)| {
            let provider = Provider::named(provider)?;
            Some(Self { provider, model: model.to_owned(), ..Self::default() })
        });
        named.ok_or_else(|| ModelNameError { text: text.to_owned() })
    }
}

/// How OpenRouter chooses among the providers of a model; only what is set is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OpenRouterRouting {
    /// Providers to try in order.
    pub order: Option<Vec<String>>,
    /// Providers that may serve.
    pub only: Option<Vec<String>>,
    /// Providers that may not.
    pub ignore: Option<Vec<String>>,
    /// Whether others may serve when these cannot.
    pub allow_fallbacks: Option<bool>,
    /// Whether a provider must know every parameter.
    pub require_parameters: Option<bool>,
    /// Whether only providers that keep no data may serve.
    pub zdr: Option<bool>,
    /// Whether providers that collect data may serve.
    pub data_collection: Option<DataCollection>,
    /// Weight formats that may serve.
    pub quantizations: Option<Vec<Quantization>>,
    /// What to sort providers by.
    pub sort: Option<RoutingSort>,
}

impl OpenRouterRouting {
    /// What is sent: the members that are set, `None` when none is.
    pub fn to_body(&self) -> Option<Map<String, Value>> {
        let Ok(Value::Object(mut body)) = serde_json::to_value(self) else { return None };
        body.retain(|_, value| !value.is_null());
        (!body.is_empty()).then_some(body)
    }
}

/// Whether providers that collect data may serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DataCollection {
    /// They may.
    Allow,
    /// They may not.
    Deny,
}

/// A weight format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Quantization {
    Int4,
    Int8,
    Fp4,
    Fp6,
    Fp8,
    Fp16,
    Bf16,
    Fp32,
    Unknown,
}

/// What to sort providers by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoutingSort {
    /// Cheapest first.
    Price,
    /// Most tokens per second first.
    Throughput,
    /// Fastest answer first.
    Latency,
}

payload!(ModelConfig = "akgentic.llm.config.ModelConfig",
    aliases: ["akgentic.llm.ModelConfig"]);
payload!(OpenRouterRouting = "akgentic.llm.config.OpenRouterRouting",
    aliases: ["akgentic.llm.OpenRouterRouting"]);
