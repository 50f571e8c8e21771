//! Where genai's providers are, and by what they know who asks.

use futures_util::future::FutureExt as _;
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint as Address};
use genai::{ClientConfig, Headers, ModelIden, ServiceTarget};

use crate::config::GeneralProvider;
use crate::provider::endpoint::{self, Endpoint, Env, EnvironmentError};

/// What genai calls a provider.
fn kind(provider: GeneralProvider) -> AdapterKind {
    match provider {
        GeneralProvider::OllamaNative => AdapterKind::Ollama,
        // a test holds that genai knows them all
        known => AdapterKind::from_lower_str(known.as_str()).unwrap_or(AdapterKind::OpenAI),
    }
}

/// The endpoint of a model.
pub(in crate::provider) fn endpoint(
    provider: GeneralProvider,
    model: &str,
    env: &Env<'_>,
) -> Result<Endpoint, EnvironmentError> {
    let key = key(provider, env)?;
    let own = env.set(&format!("{}_BASE_URL", provider.as_str().to_uppercase()));
    let base = own.map_or_else(|| default_base(provider, model, env), Ok)?;
    let base = endpoint::trimmed(&base).to_owned();
    let known = endpoint::bearer(&base, "", &key.unwrap_or_default());
    Ok(Endpoint { provider_url: base, ..known })
}

/// The key, where there is one.
fn key(provider: GeneralProvider, env: &Env<'_>) -> Result<Option<String>, EnvironmentError> {
    let Some(variable) = kind(provider).default_key_env_name() else { return Ok(None) };
    let key = env.set(variable);
    match provider {
        GeneralProvider::Omlx => Ok(key),
        GeneralProvider::BedrockApi => {
            let key = key.or_else(|| env.set("AWS_BEARER_TOKEN_BEDROCK"));
            let missing = || env.missing("BEDROCK_API_KEY or AWS_BEARER_TOKEN_BEDROCK");
            key.ok_or_else(missing).map(Some)
        }
        _ => key.ok_or_else(|| env.missing(variable)).map(Some),
    }
}

/// The address that genai knows. Where it would look at the environment of the process for it,
/// the variables are looked at here.
fn default_base(
    provider: GeneralProvider,
    model: &str,
    env: &Env<'_>,
) -> Result<String, EnvironmentError> {
    match provider {
        GeneralProvider::BedrockApi => {
            let region = env.set("AWS_REGION").or_else(|| env.set("AWS_DEFAULT_REGION"));
            let region = region.ok_or_else(|| env.missing("AWS_REGION or AWS_DEFAULT_REGION"))?;
            let region = endpoint::escaped(&region);
            return Ok(format!("https://bedrock-runtime.{region}.amazonaws.com"));
        }
        GeneralProvider::Vertex => {
            let project = endpoint::escaped(&env.required("VERTEX_PROJECT_ID")?);
            let location = env.set("VERTEX_LOCATION").unwrap_or_else(|| "global".to_owned());
            let location = endpoint::escaped(&location);
            let host = match location.as_str() {
                "global" => "aiplatform.googleapis.com".to_owned(),
                region => format!("{region}-aiplatform.googleapis.com"),
            };
            return Ok(format!("https://{host}/v1/projects/{project}/locations/{location}"));
        }
        GeneralProvider::Omlx => return Ok("http://127.0.0.1:8000/v1".to_owned()),
        _ => {}
    }
    let known = ModelIden::new(kind(provider), model);
    // there is nothing to wait for: no resolver is set
    let target = ClientConfig::default().resolve_service_target(known).now_or_never();
    Ok(match target {
        Some(Ok(target)) => target.endpoint.base_url().to_owned(),
        _ => String::new(),
    })
}

/// Where genai sends the requests for a model.
pub(super) fn target(provider: GeneralProvider, model: &str, known: &Endpoint) -> ServiceTarget {
    let key = known.auth.value.strip_prefix("Bearer ").unwrap_or_default();
    let base = format!("{}/", known.provider_url);
    let auth = match provider {
        // these two look past the address they are given
        GeneralProvider::Baidu | GeneralProvider::Zai => AuthData::RequestOverride {
            url: format!("{base}chat/completions"),
            headers: Headers::from(("Authorization".to_owned(), known.auth.value.clone())),
        },
        _ if key.is_empty() => AuthData::None,
        _ => AuthData::Key(key.to_owned()),
    };
    ServiceTarget {
        endpoint: Address::from_owned(base),
        auth,
        // a name may hold what genai takes for the end of a provider's name
        model: ModelIden::new(kind(provider), format!("{}::{model}", provider.as_str())),
    }
}
