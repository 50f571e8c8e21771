//! Providers that are reached through a general client.

/// Declares the providers with the names that the general client knows them by.
macro_rules! general_providers {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A provider that is reached through a general client (feature `genai`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum GeneralProvider {
            $($(#[$doc])* $variant,)*
        }

        impl GeneralProvider {
            /// All of them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name in configurations.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

general_providers! {
    /// AIHubMix.
    Aihubmix = "aihubmix",
    /// Alibaba Cloud in China.
    Aliyun = "aliyun",
    /// API Route.
    ApiRoute = "api_route",
    /// Atlas Cloud.
    AtlasCloud = "atlascloud",
    /// Baidu Qianfan.
    Baidu = "baidu",
    /// Amazon Bedrock, its Converse API with an API key.
    BedrockApi = "bedrock_api",
    /// BigModel.
    BigModel = "bigmodel",
    /// CloudGPU.
    CloudGpu = "cloudgpu",
    /// Fireworks.
    Fireworks = "fireworks",
    /// Google Gemini, its Interactions API.
    GeminiIx = "gemini_ix",
    /// Models of GitHub.
    GithubCopilot = "github_copilot",
    /// Heabsy.
    Heabsy = "heabsy",
    /// Kimi.
    Kimi = "kimi",
    /// MiMo of Xiaomi.
    Mimo = "mimo",
    /// MiniMax.
    MiniMax = "minimax",
    /// Moonshot in China.
    Moonshot = "moonshot",
    /// Nebius.
    Nebius = "nebius",
    /// Ollama's cloud.
    OllamaCloud = "ollama_cloud",
    /// Ollama by its own API, on this machine unless it is told otherwise.
    OllamaNative = "ollama_native",
    /// oMLX, on this machine unless it is told otherwise.
    Omlx = "omlx",
    /// OpenCode Go.
    OpenCodeGo = "opencode_go",
    /// Alibaba Cloud elsewhere.
    QwenCloud = "qwen_cloud",
    /// Requesty.
    Requesty = "requesty",
    /// Runcrate.
    Runcrate = "runcrate",
    /// Together.
    Together = "together",
    /// Google Vertex, Gemini and Claude.
    Vertex = "vertex",
    /// xAI.
    Xai = "xai",
    /// Z.AI.
    Zai = "zai",
}

/// The language that the general client speaks to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GeneralLanguage {
    Chat,
    Anthropic,
    Gemini,
    Interactions,
    Converse,
    Ollama,
}

impl GeneralProvider {
    /// The language of a model.
    pub(crate) fn language(self, model: &str) -> GeneralLanguage {
        match self {
            Self::MiniMax => GeneralLanguage::Anthropic,
            Self::OpenCodeGo if model.to_lowercase().starts_with("minimax-") => {
                GeneralLanguage::Anthropic
            }
            Self::Vertex if model.starts_with("claude") => GeneralLanguage::Anthropic,
            Self::Vertex => GeneralLanguage::Gemini,
            Self::GeminiIx => GeneralLanguage::Interactions,
            Self::BedrockApi => GeneralLanguage::Converse,
            Self::OllamaCloud | Self::OllamaNative => GeneralLanguage::Ollama,
            _ => GeneralLanguage::Chat,
        }
    }

    /// Whether its models can be held to a schema.
    pub(crate) fn has_native_output(self) -> bool {
        matches!(self, Self::Fireworks | Self::Xai)
    }
}
