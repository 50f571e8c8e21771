//! The tools of an agent, by name.

use std::sync::{Arc, OnceLock};

use akgentic_tool_core::{Tool, ToolDefinition};
use indexmap::IndexMap;

use crate::error::RunError;
use crate::model::OutputRequest;

/// Tools by name, in order; made once and shared by all runs.
#[derive(Clone, Debug)]
pub struct ToolSet {
    tools: IndexMap<String, Tool>,
    /// Made when a model is first asked.
    definitions: OnceLock<Arc<[ToolDefinition]>>,
}

impl ToolSet {
    /// The set of `tools`; two of one name are refused.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, RunError> {
        let mut by_name = IndexMap::new();
        for tool in tools {
            let name = tool.name().to_owned();
            if by_name.contains_key(&name) {
                return Err(RunError::Usage(format!("there are two tools named {name}")));
            }
            by_name.insert(name, tool);
        }
        Ok(Self { tools: by_name, definitions: OnceLock::new() })
    }

    /// No tools.
    pub fn empty() -> Self {
        Self { tools: IndexMap::new(), definitions: OnceLock::new() }
    }

    /// The tool of a name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// What models see, in order.
    pub fn definitions(&self) -> Arc<[ToolDefinition]> {
        let all = || self.tools.values().map(|tool| tool.definition().clone()).collect();
        Arc::clone(self.definitions.get_or_init(all))
    }

    /// The name of the output tool, when a tool has it too.
    pub(super) fn clashes_with(&self, output: &OutputRequest) -> Option<String> {
        output.tool().map(|tool| tool.name).filter(|name| self.tools.contains_key(name))
    }
}
