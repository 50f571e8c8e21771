//! A chain of models: when one fails, the next is asked.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Map, Value, json};

use crate::config::ModelConfig;
use crate::error::{BoxError, ModelError};
use crate::message::ModelResponse;
use crate::model::{Model, ModelInput, ModelSettings, StreamEvent};
use crate::roster::BuildModel;

/// Asks its models in order, each request from the start, until one answers.
///
/// The next one is asked after any failure that is the provider's: a refusal, a missing key, a
/// timeout. What the request itself got wrong, and a reply that is no reply of its API, ends the
/// request. Each fallback is logged, and the response of a fallback tells under `fallbacks` in its
/// `provider_details` which models failed before it, and why.
pub struct FallbackModel {
    links: Vec<Link>,
    past_malformed: bool,
}

struct Link {
    model: Arc<dyn Model>,
    /// Settings of a fallback; the first model is given those of the request.
    settings: Option<ModelSettings>,
}

impl FallbackModel {
    /// A chain of `first` alone, to be extended.
    pub fn new(first: Arc<dyn Model>) -> Self {
        Self { links: vec![Link { model: first, settings: None }], past_malformed: false }
    }

    /// The chain with one more model at its end, which is asked with settings of its own.
    #[must_use]
    pub fn then(mut self, model: Arc<dyn Model>, settings: ModelSettings) -> Self {
        self.links.push(Link { model, settings: Some(settings) });
        self
    }

    /// Whether the next model is asked after a malformed reply, too; without this it is not.
    #[must_use]
    pub fn past_malformed_replies(mut self, past: bool) -> Self {
        self.past_malformed = past;
        self
    }

    /// The model of a configuration with its fallbacks, all of them built now.
    pub fn build(config: &ModelConfig, build: &BuildModel) -> Result<Arc<dyn Model>, BoxError> {
        let first = build(config)?;
        if config.fallback_models.is_empty() {
            return Ok(first);
        }
        let mut chain = Self::new(first);
        for fallback in &config.fallback_models {
            chain = chain.then(build(fallback)?, ModelSettings::from(fallback));
        }
        Ok(Arc::new(chain))
    }

    async fn walk(&self, input: ModelInput) -> Result<ModelResponse, ModelError> {
        let mut causes: Vec<ModelError> = Vec::new();
        for link in &self.links {
            match link.model.request(link.input(&input)).await {
                Ok(mut response) => {
                    response.model_name.get_or_insert_with(|| link.model.name().to_owned());
                    note_fallbacks(&mut response, &causes);
                    return Ok(response);
                }
                Err(error) if self.may_go_on(&error) => {
                    tracing::warn!(model = link.model.name(), %error, "a model of the chain failed");
                    causes.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(all_failed(causes))
    }

    /// The events of the first model that begins to answer; one that fails later ends them.
    async fn next_event<'a>(
        &'a self,
        walk: &mut Walk<'a>,
    ) -> Result<Option<StreamEvent>, ModelError> {
        loop {
            if walk.events.is_none() {
                let Some(link) = self.links.get(walk.causes.len()) else {
                    return Err(all_failed(std::mem::take(&mut walk.causes)));
                };
                walk.events = Some(link.model.stream(link.input(&walk.input)));
            }
            let link = self.links.get(walk.causes.len());
            let Some((events, link)) = walk.events.as_mut().zip(link) else { return Ok(None) };
            match events.next().await {
                Some(Ok(StreamEvent::Finished(mut response))) => {
                    response.model_name.get_or_insert_with(|| link.model.name().to_owned());
                    note_fallbacks(&mut response, &walk.causes);
                    return Ok(Some(StreamEvent::Finished(response)));
                }
                Some(Ok(event)) => {
                    walk.begun = true;
                    return Ok(Some(event));
                }
                Some(Err(error)) if !walk.begun && self.may_go_on(&error) => {
                    tracing::warn!(model = link.model.name(), %error, "a model of the chain failed");
                    walk.causes.push(error);
                    walk.events = None;
                }
                Some(Err(error)) => return Err(error),
                None => return Ok(None),
            }
        }
    }

    fn may_go_on(&self, error: &ModelError) -> bool {
        let malformed = matches!(error, ModelError::UnexpectedReply { .. });
        error.kind().advances_chain() || (self.past_malformed && malformed)
    }
}

impl Link {
    fn input(&self, input: &ModelInput) -> ModelInput {
        let mut input = input.clone();
        if let Some(settings) = &self.settings {
            let parallel_tool_calls = input.settings.parallel_tool_calls;
            input.settings = ModelSettings { parallel_tool_calls, ..settings.clone() };
        }
        input
    }
}

impl Model for FallbackModel {
    fn name(&self) -> &str {
        self.links.first().map_or("", |link| link.model.name())
    }

    fn native_output(&self) -> Option<bool> {
        self.links.first().and_then(|link| link.model.native_output())
    }

    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        self.walk(input).boxed()
    }

    fn stream(&self, input: ModelInput) -> BoxStream<'_, Result<StreamEvent, ModelError>> {
        let walk = Walk { input, events: None, begun: false, causes: Vec::new() };
        stream::try_unfold(walk, move |mut walk| async move {
            Ok(self.next_event(&mut walk).await?.map(|event| (event, walk)))
        })
        .boxed()
    }
}

/// A stream that goes along the chain.
struct Walk<'a> {
    input: ModelInput,
    events: Option<BoxStream<'a, Result<StreamEvent, ModelError>>>,
    /// Whether something has come that cannot be taken back.
    begun: bool,
    causes: Vec<ModelError>,
}

fn all_failed(mut causes: Vec<ModelError>) -> ModelError {
    match causes.len() {
        1 => causes.remove(0),
        _ => ModelError::AllFailed { causes },
    }
}

impl fmt::Debug for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.links.iter().map(|link| link.model.name())).finish()
    }
}

/// Writes into the response of a fallback which models failed before it.
fn note_fallbacks(response: &mut ModelResponse, causes: &[ModelError]) {
    if causes.is_empty() {
        return;
    }
    let served = response.model_name.as_deref().unwrap_or_default();
    tracing::warn!(served, failed = causes.len(), "a fallback model answered");
    let failures =
        causes.iter().map(|cause| json!({"model": cause.model(), "reason": cause.to_string()}));
    let details = response.provider_details.get_or_insert_with(Map::new);
    details.insert("fallbacks".to_owned(), Value::Array(failures.collect()));
}
