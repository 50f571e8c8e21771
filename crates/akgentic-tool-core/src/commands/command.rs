//! One command.

use std::any::Any;
use std::fmt::{self, Write as _};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use akgentic_core::ActorAddress;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::binder::{self, BoundArgs};
use super::failure::{CommandFailure, FailureReason};
use super::parameter::Parameter;
use crate::content::{Content, Part};
use crate::error::{Panicked, ToolError};
use crate::events::{CommandArg, CommandDescriptor};
use crate::params::append_instructions;

/// The arguments of a command that code calls: they name it and say what it answers.
///
/// ```
/// use akgentic_tool_core::CommandArgs;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Count { upto: i64 }
///
/// impl CommandArgs for Count {
///     const NAME: &'static str = "count";
///     type Output = i64;
/// }
/// ```
pub trait CommandArgs: DeserializeOwned + JsonSchema + Send + 'static {
    /// The name of the command.
    const NAME: &'static str;
    /// What it answers.
    type Output: CommandOutput;
}

/// What a command answers, and how a person reads it.
pub trait CommandOutput: Send + 'static {
    /// The text of the answer; `None` says nothing.
    fn render(&self) -> Option<String>;
}

type TextBody =
    dyn Fn(BoundArgs) -> BoxFuture<'static, Result<Option<String>, ToolError>> + Send + Sync;
type TypedBody<A, O> = dyn Fn(A) -> BoxFuture<'static, Result<O, ToolError>> + Send + Sync;

/// A named callable for people and code; cheap to clone.
#[derive(Clone)]
pub struct Command {
    inner: Arc<Inner>,
    description: Arc<str>,
}

/// What commands of many agents have in common: the name, the parameters, the description.
///
/// A card keeps one in a static, so that the thousandth agent shares it with the first.
#[derive(Clone)]
pub struct CommandShape {
    words: Arc<Words>,
    description: Arc<str>,
}

struct Words {
    name: String,
    parameters: Vec<Parameter>,
    usage: String,
}

impl CommandShape {
    /// The shape of a command with these arguments.
    pub fn new<A: DeserializeOwned + JsonSchema>(
        name: impl Into<String>,
        description: &str,
    ) -> Self {
        Self::build(name.into(), description, &crate::schema::arguments_schema::<A>())
    }

    /// The shape of the command that `A` names.
    pub fn of<A: CommandArgs>(description: &str) -> Self {
        Self::new::<A>(A::NAME, description)
    }

    fn build(name: String, description: &str, schema: &Value) -> Self {
        let parameters = Parameter::all_of(schema);
        let mut usage = format!("/{name}");
        for parameter in &parameters {
            let Parameter { name, placeholder, required, .. } = parameter;
            let (open, close) = if *required { ("", "") } else { ("[", "]") };
            let _infallible = write!(usage, " {open}{name}=<{placeholder}>{close}");
        }
        let words = Arc::new(Words { name, parameters, usage });
        Self { words, description: clean_description(description).into() }
    }
}

impl fmt::Debug for CommandShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CommandShape").field(&self.words.usage).finish()
    }
}

struct Inner {
    words: Arc<Words>,
    body: Box<TextBody>,
    /// An `Arc<TypedBody<A, O>>`, unless the command is data.
    typed: Option<Box<dyn Any + Send + Sync>>,
}

impl Command {
    /// A command with typed arguments.
    ///
    /// Doc comments on the fields of `A` become descriptions, serde defaults make them optional.
    ///
    /// ```
    /// use akgentic_tool_core::Command;
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Greet {
    ///     /// Whom.
    ///     name: String,
    /// }
    /// let greet = Command::new("greet", "Greets somebody.", |args: Greet| async move {
    ///     Ok(format!("Hello, {}!", args.name))
    /// });
    /// assert_eq!(greet.usage(), "/greet name=<text>");
    /// ```
    pub fn new<A, O, F, Fut>(name: impl Into<String>, description: &str, body: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        O: CommandOutput,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        Self::shaped(&CommandShape::new::<A>(name, description), body)
    }

    /// A command of a shape that was made before with the same `A`.
    pub fn shaped<A, O, F, Fut>(shape: &CommandShape, body: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        O: CommandOutput,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let typed: Arc<TypedBody<A, O>> = Arc::new(move |args| Box::pin(body(args)));
        let called = Arc::clone(&typed);
        let text: Box<TextBody> = Box::new(move |args| match args.parse::<A>() {
            Ok(args) => {
                let answer = called(args);
                Box::pin(async move { answer.await.map(|output| output.render()) })
            }
            Err(error) => {
                let text = format!("the arguments do not fit: {error}");
                Box::pin(std::future::ready(Err(ToolError::Retriable(text))))
            }
        });
        Self::build(shape.clone(), text, Some(Box::new(typed)))
    }

    /// The command that `A` names.
    pub fn of<A, F, Fut>(description: &str, body: F) -> Self
    where
        A: CommandArgs,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A::Output, ToolError>> + Send + 'static,
    {
        Self::new(A::NAME, description, body)
    }

    /// A command whose parameters are data; code cannot call it with typed arguments.
    pub fn from_schema<F>(
        name: impl Into<String>,
        description: &str,
        schema: &Value,
        body: F,
    ) -> Self
    where
        F: Fn(BoundArgs) -> BoxFuture<'static, Result<Option<String>, ToolError>>
            + Send
            + Sync
            + 'static,
    {
        Self::build(CommandShape::build(name.into(), description, schema), Box::new(body), None)
    }

    fn build(
        shape: CommandShape,
        body: Box<TextBody>,
        typed: Option<Box<dyn Any + Send + Sync>>,
    ) -> Self {
        let CommandShape { words, description } = shape;
        Self { inner: Arc::new(Inner { words, body, typed }), description }
    }

    /// The same command with `instructions` at the end of its description.
    #[must_use]
    pub fn with_instructions(mut self, instructions: Option<&str>) -> Self {
        if let Some(description) = append_instructions(Some(&self.description), instructions) {
            self.description = description.into();
        }
        self
    }

    /// What is typed after the `/`.
    pub fn name(&self) -> &str {
        &self.inner.words.name
    }

    /// What it does.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// How it is typed.
    pub fn usage(&self) -> &str {
        &self.inner.words.usage
    }

    /// Whether it is for code only: its name starts with `_`.
    pub fn is_hidden(&self) -> bool {
        self.inner.words.name.starts_with('_')
    }

    /// What it takes, in order.
    pub fn args(&self) -> impl Iterator<Item = &CommandArg> {
        self.inner.words.parameters.iter().map(Parameter::arg)
    }

    /// How a front end shows it, coming from the card `owner`.
    pub fn descriptor(&self, owner: &str) -> CommandDescriptor {
        CommandDescriptor {
            name: self.inner.words.name.clone(),
            description: self.description.to_string(),
            args: self.args().cloned().collect(),
            tool_card: owner.to_owned(),
        }
    }

    /// Runs it on typed words; `None` says nothing.
    pub(super) async fn run(&self, words: &[String]) -> Result<Option<String>, CommandFailure> {
        let args = binder::bind(&self.inner.words.parameters, words)
            .map_err(|reason| self.failure(reason, words))?;
        let answer = AssertUnwindSafe(async { (self.inner.body)(args).await }).catch_unwind();
        match answer.await {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => Err(self.failure(FailureReason::Body(error.to_string()), &[])),
            Err(payload) => {
                let error = Panicked::from_payload(&*payload);
                tracing::error!(command = self.name(), %error, "a command panicked");
                Err(self.failure(FailureReason::Body(error.to_string()), &[]))
            }
        }
    }

    /// Runs it on typed arguments; nothing when its types are others.
    pub(super) fn call<A: 'static, O: 'static>(
        &self,
        args: A,
    ) -> Option<BoxFuture<'static, Result<O, ToolError>>> {
        let typed = self.inner.typed.as_ref()?.downcast_ref::<Arc<TypedBody<A, O>>>()?;
        Some(typed(args))
    }

    fn failure(&self, reason: FailureReason, words: &[String]) -> CommandFailure {
        let near_miss = binder::near_miss(&self.inner.words.parameters, words);
        if let Some((word, name)) = &near_miss {
            tracing::warn!(command = self.name(), word, name, "perhaps a mistyped argument name");
        }
        let (command, usage) = (self.inner.words.name.clone(), self.inner.words.usage.clone());
        CommandFailure { command, reason, near_miss, usage }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Command").field(&self.inner.words.usage).finish()
    }
}

/// A description without the indentation of the source it stood in.
///
/// Tabs count to the next multiple of eight; the first line is stripped of its own indent, the
/// others of what they share; blank lines around go.
fn clean_description(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(expand_tabs).collect();
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let rest = lines.iter().skip(1);
    let shared = rest.filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min();
    let mut cleaned: Vec<&str> = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        let strip = if index == 0 { indent(line) } else { shared.unwrap_or(0) };
        cleaned.push(line.get(strip..).unwrap_or_default());
    }
    let first = cleaned.iter().position(|line| !line.is_empty()).unwrap_or(cleaned.len());
    let last = cleaned.iter().rposition(|line| !line.is_empty()).map_or(first, |last| last + 1);
    cleaned.get(first..last).unwrap_or_default().join("\n")
}

fn expand_tabs(line: &str) -> String {
    if !line.contains('\t') {
        return line.to_owned();
    }
    let mut expanded = String::with_capacity(line.len() + 8);
    let mut column = 0;
    for c in line.chars() {
        if c == '\t' {
            let width = 8 - column % 8;
            expanded.extend(std::iter::repeat_n(' ', width));
            column += width;
        } else {
            expanded.push(c);
            column = if c == '\r' { 0 } else { column + 1 };
        }
    }
    expanded
}

impl CommandOutput for () {
    fn render(&self) -> Option<String> {
        None
    }
}

impl<T: CommandOutput> CommandOutput for Option<T> {
    fn render(&self) -> Option<String> {
        self.as_ref().and_then(CommandOutput::render)
    }
}

impl CommandOutput for Vec<Part> {
    fn render(&self) -> Option<String> {
        Some(Content::from(self.clone()).to_string())
    }
}

macro_rules! rendered_by_display {
    ($($ty:ty),*) => {$(
        impl CommandOutput for $ty {
            fn render(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

rendered_by_display!(
    String,
    &'static str,
    bool,
    i32,
    i64,
    u32,
    u64,
    usize,
    f64,
    uuid::Uuid,
    ActorAddress,
    Content
);
