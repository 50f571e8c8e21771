//! Who serves models.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::general::GeneralProvider;

/// Who serves a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI, Responses API.
    #[default]
    OpenAi,
    /// OpenAI, Chat Completions API.
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
    OpenRouter,
    /// Groq.
    Groq,
    /// DeepSeek.
    DeepSeek,
    /// Ollama, on this machine unless it is told otherwise.
    Ollama,
    /// Amazon Bedrock, its Chat Completions API with an API key.
    AwsBedrock,
    /// Cohere, its Chat Completions API.
    Cohere,
    /// Any server that speaks Chat Completions, at an address of one's own.
    OpenAiCompatible,
    /// One that is reached through a general client.
    General(GeneralProvider),
}

/// Those whose languages are written here.
const OWN: [Provider; 15] = [
    Provider::OpenAi,
    Provider::OpenAiChat,
    Provider::Azure,
    Provider::AzureChat,
    Provider::Nvidia,
    Provider::GoogleGla,
    Provider::Mistral,
    Provider::Anthropic,
    Provider::OpenRouter,
    Provider::Groq,
    Provider::DeepSeek,
    Provider::Ollama,
    Provider::AwsBedrock,
    Provider::Cohere,
    Provider::OpenAiCompatible,
];

impl Provider {
    /// All of them.
    pub const ALL: [Self; OWN.len() + GeneralProvider::ALL.len()] = {
        let mut all = [Self::OpenAi; OWN.len() + GeneralProvider::ALL.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = if at < OWN.len() {
                OWN[at]
            } else {
                Self::General(GeneralProvider::ALL[at - OWN.len()])
            };
            at += 1;
        }
        all
    };

    /// The provider with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

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
            Self::Groq => "groq",
            Self::DeepSeek => "deepseek",
            Self::Ollama => "ollama",
            Self::AwsBedrock => "aws-bedrock",
            Self::Cohere => "cohere",
            Self::OpenAiCompatible => "openai-compatible",
            Self::General(provider) => provider.as_str(),
        }
    }
}

impl Serialize for Provider {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Provider {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(input)?;
        Self::named(&name).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            D::Error::custom(format_args!("there is no provider {name:?}; there are {known}"))
        })
    }
}

impl JsonSchema for Provider {
    fn schema_name() -> Cow<'static, str> {
        "Provider".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Who serves a model.",
            "enum": Self::ALL.map(Self::as_str).as_slice(),
        })
    }
}

/// How a provider is told how hard a model is to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortStyle {
    /// `reasoning_effort`, or `reasoning.effort` in the Responses API.
    OpenAi,
    /// `output_config.effort`.
    Anthropic,
    /// `reasoning: {effort}`.
    OpenRouter,
    /// Not at all; the setting is ignored.
    Ignored,
}

impl Provider {
    /// The name of the provider in responses, and for their prices.
    pub fn recorded_name(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiChat => "openai",
            Self::Azure | Self::AzureChat => "azure",
            Self::GoogleGla => "google",
            Self::AwsBedrock => "aws",
            Self::Nvidia
            | Self::Mistral
            | Self::Anthropic
            | Self::OpenRouter
            | Self::Groq
            | Self::DeepSeek
            | Self::Ollama
            | Self::Cohere
            | Self::OpenAiCompatible
            | Self::General(_) => self.as_str(),
        }
    }

    /// How it is told how hard a model is to think.
    pub fn effort_style(self) -> EffortStyle {
        match self {
            Self::OpenAi
            | Self::OpenAiChat
            | Self::Azure
            | Self::AzureChat
            | Self::Nvidia
            | Self::Groq
            | Self::Ollama
            | Self::AwsBedrock
            | Self::Cohere
            | Self::OpenAiCompatible
            | Self::General(_) => EffortStyle::OpenAi,
            Self::Anthropic => EffortStyle::Anthropic,
            Self::OpenRouter => EffortStyle::OpenRouter,
            Self::GoogleGla | Self::Mistral | Self::DeepSeek => EffortStyle::Ignored,
        }
    }
}
