//! One prompt, one text: what tools may ask of a model.

use std::fmt;
use std::time::Instant;

use futures_util::future::BoxFuture;

use crate::content::Part;

/// Access to a model without tools and without history.
///
/// A card takes it from its [`Observer`](crate::Observer) when it binds and hands it to its actor or
/// worker. Without it a feature behaves as it does without credentials.
pub trait OneShotLlm: fmt::Debug + Send + Sync {
    /// Asks once. Dropping the future gives the request up.
    fn ask(&self, request: OneShotRequest) -> BoxFuture<'static, Result<String, OneShotError>>;
}

/// One prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneShotRequest {
    /// `provider:model`; the implementation's own choice when absent.
    pub model: Option<String>,
    /// What the model is told to do.
    pub instructions: Option<String>,
    /// The prompt, text and media in order.
    pub parts: Vec<Part>,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

impl OneShotRequest {
    /// A prompt of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())], ..Self::default() }
    }
}

/// Why a model gave no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OneShotError {
    /// No model can be used: no credentials, or no such model.
    #[error("no model is available: {0}")]
    Unavailable(String),
    /// The model was asked and failed.
    #[error("the model failed: {0}")]
    Failed(String),
    /// The deadline passed.
    #[error("the model did not answer in time")]
    Timeout,
}
