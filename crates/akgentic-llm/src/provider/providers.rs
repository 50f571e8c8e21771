//! Where the models of real providers come from.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::caller::Caller;
use super::endpoint::{Endpoint, EnvironmentError};
#[cfg(feature = "genai")]
use super::general::GeneralModel;
use super::http::HttpClient;
use super::model::ProviderModel;
#[cfg(feature = "genai")]
use crate::config::Provider;
use crate::config::{HttpClientConfig, ModelConfig};
use crate::model::Model;
use crate::retry::RetryPolicy;
use crate::roster::BuildModel;

/// Builds the models of real providers.
///
/// Keys and addresses come from variables, read whenever a model is built. Models with the same
/// limits share a client with its connections; clones share all of it. Building does no I/O.
#[derive(Clone)]
pub struct Providers(Arc<Inner>);

/// Gives the value of a variable, from any thread.
type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

struct Inner {
    variables: Box<Lookup>,
    clients: Mutex<HashMap<Duration, Arc<HttpClient>>>,
}

impl Providers {
    /// Keys and addresses from the environment of the process.
    pub fn from_env() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// Keys and addresses from a function.
    pub fn new(variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { variables: Box::new(variables), clients: Mutex::default() }))
    }

    /// The model of a configuration, without its fallbacks; [`crate::FallbackModel::build`] adds
    /// them.
    pub fn model(
        &self,
        config: &ModelConfig,
        http: &HttpClientConfig,
    ) -> Result<Arc<dyn Model>, EnvironmentError> {
        let endpoint = Endpoint::new(config, &*self.0.variables)?;
        let limit = http.phase_limit();
        let client = {
            let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
            let client = clients.entry(limit).or_insert_with(|| Arc::new(HttpClient::new(limit)));
            Arc::clone(client)
        };
        let policy = RetryPolicy::from(http);
        let caller = Caller::new(config.clone(), endpoint, client, policy);
        #[cfg(feature = "genai")]
        if let Provider::General(provider) = config.provider {
            return Ok(Arc::new(GeneralModel::new(provider, caller)));
        }
        Ok(Arc::new(ProviderModel::new(caller)))
    }

    /// The same as a function, for agents that build their models themselves.
    pub fn builder(&self, http: &HttpClientConfig) -> Arc<BuildModel> {
        let (providers, http) = (self.clone(), http.clone());
        Arc::new(move |config: &ModelConfig| Ok(providers.model(config, &http)?))
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Providers")
    }
}
