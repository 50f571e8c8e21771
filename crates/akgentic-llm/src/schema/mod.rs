//! JSON schemas of tools and outputs, rewritten into what each provider takes.
//!
//! Schemas of tools are never a reason to fail a request: what a provider would refuse is
//! simplified, and [`ToolSchema::repairs`] says how. A schema of structured output that a provider
//! cannot hold a model to is refused before anything is sent.

mod anthropic;
mod gemini;
mod inline;
mod names;
mod openai;
mod repair;
mod walk;

use serde_json::Value;

pub use names::{CallIds, ToolNames};

use crate::config::{GeneralLanguage, ModelConfig, Provider};

/// How the schemas of a model have to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaStyle {
    /// As OpenAI wants them.
    OpenAi {
        /// Whether length limits of texts are understood: by OpenAI itself only.
        lengths: bool,
        /// Whether definitions have to stand where they are used.
        inline: bool,
    },
    /// As Anthropic wants them.
    Anthropic,
    /// As Gemini wants them.
    Gemini,
    /// As Gemini behind OpenRouter wants them.
    OpenRouterGemini,
    /// As they are.
    Unchanged,
}

/// A tool's schema, rewritten.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSchema {
    /// The schema.
    pub schema: Value,
    /// Whether the model can be held to it: `None` where providers do not ask.
    pub strict: Option<bool>,
    /// What had to be left out or changed so that the provider takes it.
    pub repairs: Vec<String>,
}

/// A provider cannot hold a model to this schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the output schema cannot be used with this provider: {problem} ({place})")]
pub struct SchemaError {
    /// Where in the schema, as keys joined by slashes, as far as it is known.
    pub place: String,
    /// What is wrong there.
    pub problem: &'static str,
}

impl SchemaStyle {
    /// The style of a model.
    pub fn of(config: &ModelConfig) -> Self {
        match config.provider {
            Provider::OpenAi | Provider::OpenAiChat => {
                Self::OpenAi { lengths: true, inline: false }
            }
            Provider::Azure
            | Provider::AzureChat
            | Provider::Nvidia
            | Provider::Groq
            | Provider::DeepSeek
            | Provider::Ollama
            | Provider::AwsBedrock
            | Provider::Cohere
            | Provider::OpenAiCompatible => Self::OpenAi { lengths: false, inline: false },
            Provider::Anthropic => Self::Anthropic,
            Provider::GoogleGla => Self::Gemini,
            Provider::Mistral => Self::Unchanged,
            Provider::General(provider) => match provider.language(&config.model) {
                GeneralLanguage::Chat | GeneralLanguage::Converse | GeneralLanguage::Ollama => {
                    Self::OpenAi { lengths: false, inline: false }
                }
                GeneralLanguage::Anthropic => Self::Anthropic,
                GeneralLanguage::Gemini | GeneralLanguage::Interactions => Self::Gemini,
            },
            Provider::OpenRouter => {
                let model = config.model.strip_prefix('~').unwrap_or(&config.model);
                if model.starts_with("google/") {
                    Self::OpenRouterGemini
                } else {
                    Self::OpenAi { lengths: false, inline: model.starts_with("qwen/") }
                }
            }
        }
    }

    /// The schema of a tool's arguments.
    pub fn tool(self, schema: &Value) -> ToolSchema {
        let (schema, repairs) = repair::object_at_top(schema);
        let (schema, strict) = match self {
            Self::OpenAi { lengths, inline } => {
                let schema = if inline { inline::definitions(&schema) } else { schema };
                // those whose definitions stand in place are held to whatever they are given
                let strict = inline || openai::is_strict_as_it_is(&schema, lengths);
                (openai::loose(&schema), Some(strict))
            }
            Self::Anthropic => (anthropic::tool(&schema), None),
            Self::Gemini => (gemini::schema(&schema), None),
            Self::OpenRouterGemini => {
                (gemini::nullable(&gemini::schema(&inline::definitions(&schema))), Some(true))
            }
            Self::Unchanged => (schema, None),
        };
        ToolSchema { schema, strict, repairs }
    }

    /// The schema of structured output that the provider holds the model to.
    pub fn output(self, schema: &Value) -> Result<Value, SchemaError> {
        match self {
            Self::OpenAi { lengths, inline } => {
                let schema = if inline { inline::definitions(schema) } else { schema.clone() };
                openai::strict(&schema, lengths)
            }
            Self::Anthropic => anthropic::output(schema),
            Self::Gemini => Ok(gemini::schema(schema)),
            Self::OpenRouterGemini => {
                Ok(gemini::nullable(&gemini::schema(&inline::definitions(schema))))
            }
            Self::Unchanged => Ok(schema.clone()),
        }
    }
}
