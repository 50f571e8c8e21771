//! Tools as the model sees them: a name, a description, typed arguments and a body.

use std::fmt::{self, Write as _};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use akgentic_core::coerce::{Coercer, FieldError, Options};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::content::Content;
use crate::error::{CallStopped, Panicked, ToolError};

/// What a tool looks like to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// Name the model calls.
    pub name: String,
    /// The contract in words: what is done, what is given back, what to do next.
    pub description: String,
    /// JSON schema of the arguments, an object that refuses unknown keys.
    pub parameters: Value,
}

/// One call of a tool: who asks, and when to give up.
///
/// Dropping the future of a call stops its work; a body that hands work to another thread or
/// process watches `cancel` as well.
#[derive(Clone, Debug, Default)]
pub struct ToolCall {
    /// Id the model gave the call; empty when there is no model.
    pub id: String,
    /// How often this tool was already retried in the run.
    pub retry: u32,
    /// Fires when nobody waits for the answer any more.
    pub cancel: CancellationToken,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

impl ToolCall {
    /// A call that ends by `deadline`.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Waits for `work`, but no longer than this call may take.
    ///
    /// Work that is cut off is dropped; the call's token fires when its deadline passes, so that
    /// work on other threads and in other processes ends too.
    pub async fn bound<T>(
        &self,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let deadline = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(CallStopped::Cancelled.into()),
            result = work => result,
            () = deadline => {
                self.cancel.cancel();
                Err(CallStopped::DeadlinePassed.into())
            }
        }
    }
}

/// What tools of many agents have in common: the definition, and how arguments are read.
///
/// A card keeps one in a static, so that the thousandth agent shares it with the first.
#[derive(Clone, Debug)]
pub struct ToolShape {
    definition: Arc<ToolDefinition>,
    coercer: Arc<Coercer>,
}

impl ToolShape {
    /// The shape of a tool with these arguments.
    pub fn of<A: DeserializeOwned + JsonSchema>(
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        let parameters = crate::schema::arguments_schema::<A>();
        let coercer = Coercer::new(&parameters);
        let definition =
            ToolDefinition { name: name.into(), description: description.into(), parameters };
        Self { definition: Arc::new(definition), coercer: Arc::new(coercer) }
    }
}

/// Arguments that passed the schema of their tool.
#[derive(Clone, Debug)]
pub struct ValidArgs(Value);

impl ValidArgs {
    /// The coerced arguments.
    pub fn as_json(&self) -> &Value {
        &self.0
    }
}

type Body = dyn Fn(Value, ToolCall) -> BoxFuture<'static, Result<Content, ToolError>> + Send + Sync;

/// A named callable for the model; cheap to clone.
#[derive(Clone)]
pub struct Tool {
    definition: Arc<ToolDefinition>,
    coercer: Arc<Coercer>,
    body: Arc<Body>,
}

impl Tool {
    /// A tool with typed arguments.
    ///
    /// The schema comes from `A`: doc comments become descriptions, serde defaults become defaults.
    ///
    /// ```
    /// use akgentic_tool_core::{Tool, ToolCall, ToolError};
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Add {
    ///     /// First number.
    ///     a: i64,
    ///     /// Second number.
    ///     b: i64,
    /// }
    /// let add = Tool::new("add", "Adds two numbers.", |args: Add, _call: ToolCall| async move {
    ///     Ok::<_, ToolError>((args.a + args.b).to_string())
    /// });
    /// assert_eq!(add.name(), "add");
    /// ```
    pub fn new<A, F, Fut, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        body: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, ToolCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: Into<Content>,
    {
        Self::shaped(&ToolShape::of::<A>(name, description), body)
    }

    /// A tool of a shape that was made before with the same `A`.
    pub fn shaped<A, F, Fut, R>(shape: &ToolShape, body: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, ToolCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: Into<Content>,
    {
        let definition = Arc::clone(&shape.definition);
        let body = move |args, call| -> BoxFuture<'static, Result<Content, ToolError>> {
            match crate::schema::parse_arguments::<A>(args) {
                Ok(args) => {
                    let answer = body(args, call);
                    Box::pin(async move { answer.await.map(Into::into) })
                }
                Err(error) => {
                    let tool = &definition.name;
                    let text = format!("the arguments of {tool} do not fit: {error}");
                    Box::pin(async move { Err(ToolError::Retriable(text)) })
                }
            }
        };
        Self {
            definition: Arc::clone(&shape.definition),
            coercer: Arc::clone(&shape.coercer),
            body: Arc::new(body),
        }
    }

    /// A tool whose schema is data, such as one of an MCP server.
    pub fn from_definition<F>(definition: ToolDefinition, body: F) -> Self
    where
        F: Fn(Value, ToolCall) -> BoxFuture<'static, Result<Content, ToolError>>
            + Send
            + Sync
            + 'static,
    {
        let coercer = Coercer::new(&definition.parameters);
        Self { definition: Arc::new(definition), coercer: Arc::new(coercer), body: Arc::new(body) }
    }

    /// What the model sees.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Name the model calls.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The same tool with `instructions` at the end of its description.
    #[must_use]
    pub fn with_instructions(mut self, instructions: Option<&str>) -> Self {
        if let Some(instructions) = instructions.filter(|text| !text.is_empty()) {
            let definition = Arc::make_mut(&mut self.definition);
            definition.description = crate::params::append_instructions(
                Some(&definition.description),
                Some(instructions),
            )
            .unwrap_or_default();
        }
        self
    }

    /// Checks and coerces arguments; every failing field is reported.
    pub fn validate(&self, args: Value) -> Result<ValidArgs, Vec<FieldError>> {
        self.coercer.coerce(args, Options::ARGUMENTS).map(ValidArgs)
    }

    /// Runs the body on arguments that passed [`Tool::validate`]; a panic is a fatal error.
    ///
    /// Cancellation and deadline are the body's to watch; see [`ToolCall::bound`].
    pub fn run(
        &self,
        args: ValidArgs,
        call: ToolCall,
    ) -> BoxFuture<'static, Result<Content, ToolError>> {
        let (body, name) = (Arc::clone(&self.body), Arc::clone(&self.definition));
        let guarded = AssertUnwindSafe(async move { body(args.0, call).await }).catch_unwind();
        Box::pin(async move {
            guarded.await.unwrap_or_else(|payload| {
                let error = Panicked::from_payload(&*payload);
                tracing::error!(tool = name.name, %error, "a tool panicked");
                Err(ToolError::fatal(error))
            })
        })
    }

    /// Validates and runs; arguments that do not fit are a retriable error.
    pub async fn call(&self, args: Value, call: ToolCall) -> Result<Content, ToolError> {
        match self.validate(args) {
            Ok(args) => self.run(args, call).await,
            Err(errors) => Err(ToolError::Retriable(describe_errors(self.name(), &errors))),
        }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.definition.name).finish()
    }
}

fn describe_errors(tool: &str, errors: &[FieldError]) -> String {
    let mut text = format!("the arguments of {tool} do not fit:");
    for error in errors {
        // Writing to a string cannot fail.
        let _written = write!(text, "\n- {error}");
        let has_parts = matches!(error.input, Value::Object(_) | Value::Array(_));
        if !has_parts && error.kind != "too_many_errors" {
            let found: String = error.input.to_string().chars().take(SHOWN).collect();
            let _written = write!(text, ", found {found}");
        }
    }
    text.push_str("\ncorrect them and call the tool again");
    text
}

/// Characters of a rejected value that are shown.
const SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Args {
        path: String,
        #[serde(default)]
        lines: Vec<u8>,
    }

    fn tool() -> Tool {
        Tool::new("read", "Reads.", |args: Args, _: ToolCall| async move {
            Ok::<_, ToolError>(format!("{} {:?}", args.path, args.lines))
        })
    }

    #[tokio::test]
    async fn every_argument_that_does_not_fit_is_told() {
        let error = tool().call(json!({"lines": [1, "x"], "depth": 3}), ToolCall::default()).await;
        assert_eq!(
            error.unwrap_err().to_string(),
            "the arguments of read do not fit:\n- path: Field required\n- lines.1: Input should be a \
             valid integer, unable to parse string as an integer, found \"x\"\n- depth: Extra inputs \
             are not permitted, found 3\ncorrect them and call the tool again"
        );
    }

    #[tokio::test]
    async fn arguments_are_read_leniently() {
        let args = json!({"path": "a", "lines": ["7", 8.0]});
        let answer = tool().call(args, ToolCall::default()).await;
        assert_eq!(answer.unwrap().as_text(), Some("a [7, 8]"));
    }

    #[tokio::test]
    async fn a_call_that_is_cancelled_does_not_start() {
        let call = ToolCall::default();
        call.cancel.cancel();
        let mut started = false;
        let work = async {
            started = true;
            Ok(())
        };
        let error = call.bound(work).await.unwrap_err();
        assert!(!started);
        assert_eq!(error.downcast_ref::<CallStopped>(), Some(&CallStopped::Cancelled));
    }
}
