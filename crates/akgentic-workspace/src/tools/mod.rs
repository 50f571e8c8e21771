//! The tools as the model calls them.

mod changing;
mod documents;
mod exec;
mod mentions;
mod reading;
mod searching;
mod viewing;

use std::future::ready;
use std::sync::Arc;

use akgentic_tool_core::{
    CallStopped, Content, Tool, ToolCall, ToolDefinition, ToolError, arguments_schema,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{FileError, FileFault};
use crate::gate::Refusal;
use crate::refusal;
use crate::tree::Tree;

pub(crate) use changing::{delete, edit, mkdir, multi_edit, patch, write};
pub(crate) use documents::Documents;
pub(crate) use exec::{RunPlace, Runner, Unrun, exec};
pub(crate) use mentions::expand_media_refs;
pub(crate) use reading::{list, read};
pub(crate) use searching::{glob, grep};
pub(crate) use viewing::{Viewer, view};

/// Tells whether nobody waits for the outcome any more.
type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// One agent at work on a tree.
#[derive(Clone, Debug)]
pub(crate) struct Hand {
    /// The owner of the tree.
    pub tree: Arc<Tree>,
    /// The agent's id.
    pub agent: Arc<str>,
}

/// A refusal as an error for the model; one that is nobody's fault does not count against it.
fn refused(refusal: &Refusal) -> ToolError {
    let text = refusal.to_string();
    if refusal.code.is_nobodys_fault() { ToolError::busy(text) } else { ToolError::retriable(text) }
}

/// The refusal of a file operation.
fn failed(error: &FileError) -> ToolError {
    match error.fault {
        FileFault::Cancelled => CallStopped::Cancelled.into(),
        _ => ToolError::retriable(refusal::describe(error)),
    }
}

/// A tool whose defaults come from the card and whose work blocks.
///
/// The work runs on a thread of its own, and is told to stop when the call is cancelled or nobody
/// waits for it any more.
fn tool<A, F>(
    hand: &Hand,
    name: &str,
    description: impl Into<String>,
    defaults: Value,
    work: F,
) -> Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(&Hand, A, Stop<'_>) -> Result<String, ToolError> + Clone + Send + Sync + 'static,
{
    let parameters = arguments_schema::<A>();
    tool_with_parameters(hand, name, description, parameters, defaults, work)
}

/// [`tool`] whose parameters are described otherwise than by their type alone.
fn tool_with_parameters<A, F>(
    hand: &Hand,
    name: &str,
    description: impl Into<String>,
    parameters: Value,
    defaults: Value,
    work: F,
) -> Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(&Hand, A, Stop<'_>) -> Result<String, ToolError> + Clone + Send + Sync + 'static,
{
    let hand = hand.clone();
    tool_with_body(name, description, parameters, defaults, move |args, call| {
        let (hand, work) = (hand.clone(), work.clone());
        Box::pin(async move { aside(&call, move |stop| work(&hand, args, stop)).await })
    })
}

/// A tool whose defaults come from the card.
fn tool_with_body<A, F>(
    name: &str,
    description: impl Into<String>,
    mut parameters: Value,
    defaults: Value,
    body: F,
) -> Tool
where
    A: DeserializeOwned,
    F: Fn(A, ToolCall) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync + 'static,
{
    let defaults = match defaults {
        Value::Object(defaults) => defaults,
        _ => Map::new(),
    };
    for (parameter, value) in &defaults {
        if let Some(schema) = parameters.pointer_mut(&format!("/properties/{parameter}")) {
            schema["default"] = value.clone();
        }
    }
    let definition =
        ToolDefinition { name: name.to_owned(), description: description.into(), parameters };
    Tool::from_definition(definition, move |mut args, call| {
        if let Value::Object(args) = &mut args {
            for (parameter, value) in &defaults {
                args.entry(parameter.as_str()).or_insert_with(|| value.clone());
            }
        }
        let answer = match serde_json::from_value(args) {
            Ok(args) => body(args, call),
            Err(error) => Box::pin(ready(Err(ToolError::retriable(error.to_string())))),
        };
        Box::pin(async move { answer.await.map(Content::from) })
    })
}

async fn aside<T: Send + 'static>(
    call: &ToolCall,
    work: impl FnOnce(Stop<'_>) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = call.cancel.child_token();
    // Dropping this future ends the work too.
    let _guard = stop.clone().drop_guard();
    let job = async {
        let job = tokio::task::spawn_blocking(move || work(&|| stop.is_cancelled()));
        job.await.map_err(ToolError::fatal)?
    };
    call.bound(job).await
}
