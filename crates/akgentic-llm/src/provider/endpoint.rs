//! Where a provider is reached and what it is authenticated with, from environment variables.
//!
//! Nothing here reads the process environment or does I/O: variables come from a function, so that
//! a switch of the model sees what is set then, and a test says what is set.

use std::fmt;

use crate::config::{ModelConfig, Provider};

/// Gives the value of an environment variable.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Where requests for a model go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address of a request; for a provider behind the general client, of its API.
    pub url: String,
    /// What authenticates it.
    pub auth: AuthHeader,
    /// Where the provider is reached, as its responses are recorded with.
    pub provider_url: String,
}

/// A header with a secret; the secret is not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthHeader {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// Why a model cannot be built in this environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// A variable is not set.
    #[error("the provider {provider} needs the environment variable {variable}")]
    Missing {
        /// The provider.
        provider: &'static str,
        /// The variable, or the variables one of which would do.
        variable: &'static str,
    },
    /// The provider is left out of this build.
    #[error("the provider {provider} needs the feature genai of akgentic-llm")]
    Feature {
        /// The provider.
        provider: &'static str,
    },
    /// The model has a name the provider cannot have.
    #[error("openrouter models are named vendor/model, but this one is named {model:?}")]
    ModelName {
        /// The name.
        model: String,
    },
}

impl Endpoint {
    /// The endpoint for a model.
    pub fn new(config: &ModelConfig, variables: &Variables<'_>) -> Result<Self, EnvironmentError> {
        let env = Env { provider: config.provider, variables };
        let model = &config.model;
        match config.provider {
            Provider::OpenAi => env.openai("responses"),
            Provider::OpenAiChat => env.openai("chat/completions"),
            Provider::Azure => env.azure("responses", "responses"),
            Provider::AzureChat => {
                let deployment = escaped(model);
                env.azure(&format!("deployments/{deployment}/chat/completions"), "chat/completions")
            }
            Provider::Nvidia => env.nvidia(),
            Provider::GoogleGla => env.google(model),
            Provider::Mistral => {
                let key = env.required("MISTRAL_API_KEY")?;
                let base = env.base("MISTRAL_BASE_URL", "https://api.mistral.ai/v1");
                let provider_url = trimmed(&base).trim_end_matches("/v1").to_owned();
                Ok(Self { provider_url, ..bearer(&base, "chat/completions", &key) })
            }
            Provider::Anthropic => {
                let key = env.required("ANTHROPIC_API_KEY")?;
                let base = env.base("ANTHROPIC_BASE_URL", "https://api.anthropic.com");
                Ok(Self {
                    url: joined(&base, "v1/messages"),
                    auth: AuthHeader { name: "x-api-key", value: key },
                    provider_url: trimmed(&base).to_owned(),
                })
            }
            Provider::OpenRouter => {
                if !model.contains('/') {
                    return Err(EnvironmentError::ModelName { model: model.clone() });
                }
                env.chat(
                    "OPENROUTER_API_KEY",
                    "OPENROUTER_BASE_URL",
                    "https://openrouter.ai/api/v1",
                )
            }
            Provider::Groq => {
                env.chat("GROQ_API_KEY", "GROQ_BASE_URL", "https://api.groq.com/openai/v1")
            }
            Provider::DeepSeek => {
                env.chat("DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "https://api.deepseek.com")
            }
            Provider::Ollama => {
                let key = env.set("OLLAMA_API_KEY").unwrap_or_else(|| NO_KEY.to_owned());
                let base = env.base("OLLAMA_BASE_URL", "http://localhost:11434/v1");
                Ok(bearer(&base, "chat/completions", &key))
            }
            Provider::AwsBedrock => {
                let key = env.required("AWS_BEARER_TOKEN_BEDROCK")?;
                let base = env.bedrock()?;
                Ok(bearer(&base, "chat/completions", &key))
            }
            Provider::Cohere => env.chat(
                "COHERE_API_KEY",
                "COHERE_BASE_URL",
                "https://api.cohere.ai/compatibility/v1",
            ),
            #[cfg(feature = "genai")]
            Provider::General(provider) => super::general::endpoint(provider, model, &env),
            #[cfg(not(feature = "genai"))]
            Provider::General(provider) => {
                Err(EnvironmentError::Feature { provider: provider.as_str() })
            }
            Provider::OpenAiCompatible => {
                let base = env.required("OPENAI_COMPATIBLE_BASE_URL")?;
                let key = env.set("OPENAI_COMPATIBLE_API_KEY").unwrap_or_else(|| NO_KEY.to_owned());
                Ok(bearer(&base, "chat/completions", &key))
            }
        }
    }
}

impl fmt::Debug for AuthHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

/// The variables as a provider looks at them.
pub(super) struct Env<'a> {
    provider: Provider,
    variables: &'a Variables<'a>,
}

impl Env<'_> {
    /// A variable that is set to something.
    pub(super) fn set(&self, name: &str) -> Option<String> {
        (self.variables)(name).filter(|value| !value.is_empty())
    }

    pub(super) fn required(&self, name: &'static str) -> Result<String, EnvironmentError> {
        self.set(name).ok_or_else(|| self.missing(name))
    }

    fn base(&self, name: &str, default: &str) -> String {
        self.set(name).unwrap_or_else(|| default.to_owned())
    }

    pub(super) fn missing(&self, variable: &'static str) -> EnvironmentError {
        EnvironmentError::Missing { provider: self.provider.as_str(), variable }
    }

    fn openai(&self, path: &str) -> Result<Endpoint, EnvironmentError> {
        let own_base = self.set("OPENAI_BASE_URL");
        let key = match (self.variables)("OPENAI_API_KEY") {
            Some(key) if !key.is_empty() => key,
            // servers of one's own often want no key, but clients have to send one
            None if own_base.is_some() => NO_KEY.to_owned(),
            _ => return Err(self.missing("OPENAI_API_KEY")),
        };
        let base = own_base.unwrap_or_else(|| "https://api.openai.com/v1".to_owned());
        Ok(bearer(&base, path, &key).recorded_with_slash())
    }

    /// A service that speaks Chat Completions.
    fn chat(
        &self,
        key: &'static str,
        base: &str,
        default: &str,
    ) -> Result<Endpoint, EnvironmentError> {
        let key = self.required(key)?;
        Ok(bearer(&self.base(base, default), "chat/completions", &key))
    }

    fn bedrock(&self) -> Result<String, EnvironmentError> {
        if let Some(base) = self.set("BEDROCK_BASE_URL") {
            return Ok(base);
        }
        let region = self.set("AWS_REGION").or_else(|| self.set("AWS_DEFAULT_REGION"));
        let region = region.ok_or_else(|| self.missing("AWS_REGION or AWS_DEFAULT_REGION"))?;
        Ok(format!("https://bedrock-runtime.{}.amazonaws.com/openai/v1", escaped(&region)))
    }

    fn azure(&self, classic: &str, v1: &str) -> Result<Endpoint, EnvironmentError> {
        let endpoint = self.required("AZURE_OPENAI_ENDPOINT")?;
        let key = self.required("AZURE_OPENAI_API_KEY")?;
        let endpoint = endpoint.trim_end_matches('/');
        if endpoint.ends_with("/openai/v1") {
            return Ok(bearer(endpoint, v1, &key).recorded_with_slash());
        }
        let version = escaped(&self.required("OPENAI_API_VERSION")?);
        Ok(Endpoint {
            url: format!("{endpoint}/openai/{classic}?api-version={version}"),
            auth: AuthHeader { name: "api-key", value: key },
            provider_url: format!("{endpoint}/openai/"),
        })
    }

    fn nvidia(&self) -> Result<Endpoint, EnvironmentError> {
        let key = if let Some(key) = self.set("NVIDIA_API_KEY") {
            key
        } else {
            let key = self.set("OPENAI_API_KEY");
            let key = key.ok_or_else(|| self.missing("NVIDIA_API_KEY"))?;
            tracing::warn!("NVIDIA_API_KEY is not set; nvidia is given OPENAI_API_KEY");
            key
        };
        let base = self.base("NVIDIA_BASE_URL", "https://integrate.api.nvidia.com/v1");
        Ok(bearer(&base, "chat/completions", &key).recorded_with_slash())
    }

    fn google(&self, model: &str) -> Result<Endpoint, EnvironmentError> {
        let key = self.set("GOOGLE_API_KEY").or_else(|| self.set("GEMINI_API_KEY"));
        let key = key.ok_or_else(|| self.missing("GOOGLE_API_KEY or GEMINI_API_KEY"))?;
        let base = self.base("GOOGLE_GEMINI_BASE_URL", GEMINI);
        let path = format!("models/{}:generateContent", escaped(model));
        let origin = trimmed(&base);
        let origin = origin.strip_suffix("/v1").or_else(|| origin.strip_suffix("/v1beta"));
        Ok(Endpoint {
            url: joined(&base, &path),
            auth: AuthHeader { name: "x-goog-api-key", value: key },
            provider_url: format!("{}/", origin.unwrap_or(trimmed(&base))),
        })
    }
}

impl Endpoint {
    /// Some are recorded with a slash at the end; stores and prices know them so.
    fn recorded_with_slash(mut self) -> Self {
        self.provider_url.push('/');
        self
    }
}

const GEMINI: &str = "https://generativelanguage.googleapis.com/v1";

/// What servers that want no key are sent.
const NO_KEY: &str = "api-key-not-set";

pub(super) fn bearer(base: &str, path: &str, key: &str) -> Endpoint {
    Endpoint {
        url: joined(base, path),
        auth: AuthHeader { name: "authorization", value: format!("Bearer {key}") },
        provider_url: trimmed(base).to_owned(),
    }
}

fn joined(base: &str, path: &str) -> String {
    format!("{}/{path}", trimmed(base))
}

pub(super) fn trimmed(base: &str) -> &str {
    base.trim_end_matches('/')
}

/// The text as one segment of an address.
pub(super) fn escaped(text: &str) -> String {
    use fmt::Write as _;
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // writing to a string cannot fail
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(provider: Provider, model: &str, set: &[(&str, &str)]) -> Endpoint {
        let config = ModelConfig { provider, model: model.to_owned(), ..ModelConfig::default() };
        let variables = |name: &str| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Endpoint::new(&config, &variables).unwrap()
    }

    #[test]
    fn nvidia_has_a_key_of_its_own() {
        let both = [("OPENAI_API_KEY", "o"), ("NVIDIA_API_KEY", "n")];
        let endpoint = at(Provider::Nvidia, "meta/llama", &both);
        assert_eq!(endpoint.auth.value, "Bearer n");
        assert_eq!(Provider::Nvidia.recorded_name(), "nvidia");
    }

    #[test]
    fn names_of_deployments_are_escaped_and_secrets_are_not_shown() {
        let set = [
            ("AZURE_OPENAI_ENDPOINT", "https://r.example/"),
            ("AZURE_OPENAI_API_KEY", "secret"),
            ("OPENAI_API_VERSION", "v"),
        ];
        let endpoint = at(Provider::AzureChat, "my gpt/4", &set);
        assert_eq!(
            endpoint.url,
            "https://r.example/openai/deployments/my%20gpt%2F4/chat/completions?api-version=v"
        );
        assert!(!format!("{endpoint:?}").contains("secret"));
    }
}
