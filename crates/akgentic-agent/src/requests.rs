//! What a host program may ask of an agent; none of it is a turn.

/// Request: what the agent consumed, as an
/// [`UsageSummary`](akgentic_llm::UsageSummary).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SummarizeUsage {
    /// Whether each run is told, too.
    pub by_run: bool,
}

/// Request: the models the agent may switch to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListModels;

/// Request: has another model of the roster used from the next turn on; answered by a line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchModel {
    /// The model, `provider:model`.
    pub key: String,
}
