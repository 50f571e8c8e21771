//! Configuration records: model, limits, compaction, runtime, HTTP.

use std::time::Duration;

use akgentic_core::coerce::{Coercer, FieldError, Loc, Options};
use akgentic_core::payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who serves a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// OpenAI, Responses API.
    #[default]
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI, Chat Completions API.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// Azure, Responses API.
    Azure,
    /// Azure, Chat Completions API.
    AzureChat,
    /// NVIDIA.
    Nvidia,
    /// Google Gemini.
    GoogleGla,
    /// Mistral.
    Mistral,
    /// Anthropic.
    Anthropic,
    /// OpenRouter.
    #[serde(rename = "openrouter")]
    OpenRouter,
}

impl Provider {
    /// The name in configurations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Azure => "azure",
            Self::AzureChat => "azure-chat",
            Self::Nvidia => "nvidia",
            Self::GoogleGla => "google-gla",
            Self::Mistral => "mistral",
            Self::Anthropic => "anthropic",
            Self::OpenRouter => "openrouter",
        }
    }
}

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
            | Provider::Anthropic => true,
            Provider::Nvidia => self.model.starts_with("openai"),
            Provider::OpenRouter => {
                let model = self.model.strip_prefix('~').unwrap_or(&self.model);
                ["openai/gpt-", "google/gemini", "x-ai/grok"]
                    .iter()
                    .any(|family| model.starts_with(family))
            }
            Provider::GoogleGla | Provider::Mistral => false,
        }
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

/// How the history is shortened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CompactionConfig {
    /// Id of the strategy.
    pub strategy: String,
    /// Whether it runs by itself when the window fills up.
    pub auto_trigger: bool,
    /// At which part of the window, above 0 up to 1.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub trigger_ratio: f64,
    /// How many of the newest messages stay.
    #[schemars(range(min = 0))]
    pub keep_recent_messages: u64,
    /// How long a summary may be, about, in tokens.
    #[schemars(range(min = 1))]
    pub summary_target_tokens: u64,
    /// Which instructions the summariser gets.
    pub summarizer_prompt_version: String,
    /// The model that summarises; none takes the agent's.
    pub summary_model_cfg: Option<ModelConfig>,
}

impl Default for CompactionConfig {
    fn default() -> Self {
        Self {
            strategy: "summarize".to_owned(),
            auto_trigger: true,
            trigger_ratio: 0.85,
            keep_recent_messages: 4,
            summary_target_tokens: 2000,
            summarizer_prompt_version: "v1".to_owned(),
            summary_model_cfg: None,
        }
    }
}

/// What one run may consume; none is unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "wire names")]
pub struct RunUsageLimits {
    /// Input tokens.
    #[schemars(range(min = 1))]
    pub input_tokens_limit: Option<u64>,
    /// Output tokens.
    #[schemars(range(min = 1))]
    pub output_tokens_limit: Option<u64>,
    /// Input and output tokens.
    #[schemars(range(min = 1))]
    pub total_tokens_limit: Option<u64>,
    /// Model requests.
    #[schemars(range(min = 1))]
    pub run_request_limit: Option<u64>,
    /// Tool calls.
    #[schemars(range(min = 1))]
    pub tool_calls_limit: Option<u64>,
}

impl Default for RunUsageLimits {
    fn default() -> Self {
        Self {
            input_tokens_limit: None,
            output_tokens_limit: None,
            total_tokens_limit: None,
            run_request_limit: Some(50),
            tool_calls_limit: None,
        }
    }
}

/// What an agent may consume in its life; none is unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "wire names")]
pub struct AgentUsageLimits {
    /// Input tokens.
    #[schemars(range(min = 1))]
    pub input_tokens_limit: Option<u64>,
    /// Output tokens.
    #[schemars(range(min = 1))]
    pub output_tokens_limit: Option<u64>,
    /// Input and output tokens.
    #[schemars(range(min = 1))]
    pub total_tokens_limit: Option<u64>,
    /// Runs.
    #[schemars(range(min = 1))]
    pub agent_request_limit: Option<u64>,
}

/// How providers are reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HttpClientConfig {
    /// Seconds for each phase of a request: connect, read, write, wait for a connection.
    ///
    /// A run waits no longer than this for a whole request either.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub timeout: f64,
    /// Attempts in total, the first one included; 1 never retries.
    #[schemars(range(min = 1))]
    pub max_retries: u32,
    /// Seconds of the first wait at most; doubled for each further one.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub backoff_multiplier: f64,
    /// Seconds of any wait at most.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub backoff_max: f64,
}

impl Default for HttpClientConfig {
    fn default() -> Self {
        Self { timeout: 120.0, max_retries: 5, backoff_multiplier: 0.5, backoff_max: 60.0 }
    }
}

impl HttpClientConfig {
    /// How long a run waits for a whole model request.
    pub fn request_deadline(&self) -> Duration {
        // what no duration can hold is no limit
        Duration::try_from_secs_f64(self.timeout).unwrap_or(Duration::MAX)
    }
}

/// When a reply with both tool calls and an output ends a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndStrategy {
    /// The first valid output ends it; other calls of the reply are not executed.
    Early,
    /// All calls of the reply are executed first.
    #[default]
    Exhaustive,
}

/// How runs go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RuntimeConfig {
    /// How often a failing tool, or an unusable output, may be retried.
    #[schemars(range(min = 0))]
    pub retries: u32,
    /// When a reply with both tool calls and an output ends a run.
    pub end_strategy: EndStrategy,
    /// Whether several tool calls in one response are welcome.
    pub parallel_tool_calls: bool,
    /// How providers are reached.
    pub http_client_config: HttpClientConfig,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            retries: 3,
            end_strategy: EndStrategy::default(),
            parallel_tool_calls: true,
            http_client_config: HttpClientConfig::default(),
        }
    }
}

payload!(ModelConfig = "akgentic.llm.config.ModelConfig",
    aliases: ["akgentic.llm.ModelConfig"]);
payload!(OpenRouterRouting = "akgentic.llm.config.OpenRouterRouting",
    aliases: ["akgentic.llm.OpenRouterRouting"]);
payload!(CompactionConfig = "akgentic.llm.config.CompactionConfig",
    aliases: ["akgentic.llm.CompactionConfig"]);
payload!(RunUsageLimits = "akgentic.llm.config.RunUsageLimits",
    aliases: ["akgentic.llm.RunUsageLimits"]);
payload!(AgentUsageLimits = "akgentic.llm.config.AgentUsageLimits",
    aliases: ["akgentic.llm.AgentUsageLimits"]);
payload!(HttpClientConfig = "akgentic.llm.config.HttpClientConfig",
    aliases: ["akgentic.llm.HttpClientConfig"]);
payload!(RuntimeConfig = "akgentic.llm.config.RuntimeConfig",
    aliases: ["akgentic.llm.RuntimeConfig"]);

/// Reads and checks a configuration record: numbers may come as text, unknown keys are ignored,
/// every wrong field is reported.
pub trait ConfigRecord: Sized {
    /// Reads it.
    fn from_json(value: Value) -> Result<Self, Vec<FieldError>>;
}

macro_rules! config_record {
    ($($type:ty $(, $rules:path)?;)*) => {$(
        impl ConfigRecord for $type {
            fn from_json(value: Value) -> Result<Self, Vec<FieldError>> {
                let record: Self = Coercer::of::<Self>().parse(value.clone(), Options::RECORD)?;
                $( $rules(&record, value)?; )?
                Ok(record)
            }
        }
    )*};
}

config_record! {
    ModelConfig, model_rules;
    CompactionConfig, compaction_rules;
    OpenRouterRouting;
    RunUsageLimits;
    AgentUsageLimits;
    HttpClientConfig;
    RuntimeConfig;
}

fn model_rules(config: &ModelConfig, input: Value) -> Result<(), Vec<FieldError>> {
    let nested = config.fallback_models.iter().enumerate();
    for (index, fallback) in nested {
        check_model(fallback).map_err(|message| {
            let mut error = FieldError::whole("value_error", message, input.clone());
            error.loc = vec![Loc::Key("fallback_models".to_owned()), Loc::Index(index)];
            vec![error]
        })?;
    }
    check_model(config).map_err(|message| vec![FieldError::whole("value_error", message, input)])
}

fn compaction_rules(config: &CompactionConfig, input: Value) -> Result<(), Vec<FieldError>> {
    let Some(model) = &config.summary_model_cfg else { return Ok(()) };
    model_rules(model, input).map_err(|errors| {
        let prefix = Loc::Key("summary_model_cfg".to_owned());
        let located = errors.into_iter().map(|mut error| {
            error.loc.insert(0, prefix.clone());
            error
        });
        located.collect()
    })
}

/// The rules about a whole model, fallbacks taken as checked.
fn check_model(config: &ModelConfig) -> Result<(), String> {
    if config.openrouter_provider.is_some() && config.provider != Provider::OpenRouter {
        return Err("openrouter_provider is for the provider openrouter only".to_owned());
    }
    if config.fallback_models.iter().any(|fallback| !fallback.fallback_models.is_empty()) {
        return Err("a fallback model has no fallbacks of its own".to_owned());
    }
    let native = config.native_output();
    let differing: Vec<String> = config
        .fallback_models
        .iter()
        .filter(|fallback| fallback.native_output() != native)
        .map(|fallback| format!("{}/{}", fallback.provider.as_str(), fallback.model))
        .collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "fallback models must support native structured output like the model itself: {}",
        differing.join(", ")
    ))
}
