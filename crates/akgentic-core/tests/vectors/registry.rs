//! The types that the vectors call `vec.*`.

use akgentic_core::config::BaseConfig;
use akgentic_core::wire::{AnyMap, Registration, Timestamp, WireType as _};
use akgentic_core::{config, message, payload, state};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkerConfig {
    #[serde(flatten)]
    pub base: BaseConfig,
    #[serde(default = "ten")]
    pub max_tasks: i64,
    #[serde(default)]
    pub label: Option<String>,
}
config!(WorkerConfig = "vec.WorkerConfig", base: base);

fn ten() -> i64 {
    10
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TaskMessage {
    pub title: String,
    #[serde(default = "three")]
    pub priority: i64,
    #[serde(default)]
    pub tags: Vec<String>,
}
message!(TaskMessage = "vec.TaskMessage");

fn three() -> i64 {
    3
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct CounterState {
    pub count: i64,
    pub(crate) names: Vec<String>,
}
state!(CounterState = "vec.CounterState");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "__model__", rename = "vec.Point")]
pub(crate) struct Point {
    pub x: i64,
    #[serde(default)]
    pub y: i64,
}
payload!(Point = "vec.Point");

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Shape {
    pub(crate) name: String,
    pub corners: Vec<Point>,
    pub centre: Option<Point>,
    pub extra: AnyMap,
}
payload!(Shape = "vec.Shape");

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pair {
    pub left: String,
    #[serde(default)]
    pub right: i64,
    #[serde(default)]
    pub when: Option<Timestamp>,
    #[serde(default)]
    pub uid: Option<Uuid>,
}
payload!(Pair = "vec.Pair");

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NotAnAgent {}
payload!(NotAnAgent = "vec.NotAnAgent");

struct PlainAgent;
struct WorkerAgent;
struct SubWorkerAgent;
struct RawAgent;

inventory::submit! {
    Registration::agent::<PlainAgent>("vec.PlainAgent", &[]).with_agent(BaseConfig::PATH, None)
}
inventory::submit! {
    Registration::agent::<WorkerAgent>("vec.WorkerAgent", &[]).with_agent(WorkerConfig::PATH, None)
}
inventory::submit! {
    Registration::agent::<SubWorkerAgent>("vec.SubWorkerAgent", &[])
        .with_agent(WorkerConfig::PATH, None)
}
inventory::submit! {
    Registration::agent::<RawAgent>("vec.RawAgent", &[]).with_agent(BaseConfig::PATH, None)
}
