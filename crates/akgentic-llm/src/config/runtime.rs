//! How runs go, how providers are reached, how histories are shortened.

use std::time::Duration;

use akgentic_core::payload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::ModelConfig;

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

impl CompactionConfig {
    /// Above how many input tokens of a reply the history of `model` is shortened by itself; `None`
    /// when it never is.
    pub fn threshold(&self, model: &ModelConfig) -> Option<u64> {
        let window = model.context_length.filter(|_| self.auto_trigger)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a window and a part of it are far below where floats lose units"
        )]
        let threshold = (window as f64 * self.trigger_ratio).floor() as u64;
        Some(threshold)
    }
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

/// How many times the limit of a phase a whole request may take, when nothing else is said.
const PHASES: f64 = 5.0;

/// How providers are reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HttpClientConfig {
    /// Seconds for each phase of a request: connect, read, write, wait for a connection.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub timeout: f64,
    /// Attempts in total, the first one included; 1 never retries. `max_attempts` is accepted as
    /// a name for it too.
    #[serde(alias = "max_attempts")]
    #[schemars(range(min = 1))]
    pub max_retries: u32,
    /// Seconds of the first wait at most; doubled for each further one.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub backoff_multiplier: f64,
    /// Seconds of any wait at most.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub backoff_max: f64,
    /// Seconds for a whole request, its retries and waits included; five times `timeout` without.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub total_timeout: Option<f64>,
}

impl Default for HttpClientConfig {
    fn default() -> Self {
        Self {
            timeout: 120.0,
            max_retries: 5,
            backoff_multiplier: 0.5,
            backoff_max: 60.0,
            total_timeout: None,
        }
    }
}

impl HttpClientConfig {
    /// How long a run waits for a whole model request.
    pub fn request_deadline(&self) -> Duration {
        let seconds = self.total_timeout.unwrap_or(self.timeout * PHASES);
        // what no duration can hold is no limit
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// How long each phase of a request may take.
    pub fn phase_limit(&self) -> Duration {
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

payload!(CompactionConfig = "akgentic.llm.config.CompactionConfig",
    aliases: ["akgentic.llm.CompactionConfig"]);
payload!(HttpClientConfig = "akgentic.llm.config.HttpClientConfig",
    aliases: ["akgentic.llm.HttpClientConfig"]);
payload!(RuntimeConfig = "akgentic.llm.config.RuntimeConfig",
    aliases: ["akgentic.llm.RuntimeConfig"]);
