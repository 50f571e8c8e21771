//! A model that is a function, for tests.

use std::fmt;

use futures_util::future::{BoxFuture, FutureExt as _, ready};

use crate::error::ModelError;
use crate::message::ModelResponse;
use crate::model::{Model, ModelInput};
use crate::part::{ResponsePart, TextPart};

type Answer =
    dyn Fn(ModelInput) -> BoxFuture<'static, Result<ModelResponse, ModelError>> + Send + Sync;

/// A model that answers with what a function makes of each request.
///
/// ```
/// use akgentic_llm::FunctionModel;
///
/// let parrot = FunctionModel::text(|input| format!("I see {} messages", input.messages.len()));
/// ```
pub struct FunctionModel {
    name: String,
    native_output: Option<bool>,
    answer: Box<Answer>,
}

impl FunctionModel {
    /// A model that answers at once.
    pub fn new<F>(answer: F) -> Self
    where
        F: Fn(ModelInput) -> Result<ModelResponse, ModelError> + Send + Sync + 'static,
    {
        Self::from_async(move |input| ready(answer(input)).boxed())
    }

    /// A model that takes its time.
    pub fn from_async<F>(answer: F) -> Self
    where
        F: Fn(ModelInput) -> BoxFuture<'static, Result<ModelResponse, ModelError>>
            + Send
            + Sync
            + 'static,
    {
        Self { name: "function".to_owned(), native_output: None, answer: Box::new(answer) }
    }

    /// A model that answers with text.
    pub fn text<F>(answer: F) -> Self
    where
        F: Fn(&ModelInput) -> String + Send + Sync + 'static,
    {
        Self::new(move |input| {
            let text = ResponsePart::Text(TextPart::new(answer(&input)));
            Ok(ModelResponse::new(vec![text]))
        })
    }

    /// The same model, with native structured output or without.
    #[must_use]
    pub fn with_native_output(mut self, native_output: bool) -> Self {
        self.native_output = Some(native_output);
        self
    }
}

impl Model for FunctionModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn native_output(&self) -> Option<bool> {
        self.native_output
    }

    fn request(&self, input: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        (self.answer)(input)
    }
}

impl fmt::Debug for FunctionModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionModel").field("name", &self.name).finish_non_exhaustive()
    }
}
