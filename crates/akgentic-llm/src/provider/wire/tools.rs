//! Tools as a provider gets them.

use std::collections::HashSet;

use akgentic_tool_core::ToolDefinition;
use serde_json::Value;

use super::Asked;
use crate::config::ModelConfig;
use crate::error::ModelError;
use crate::history::History;
use crate::output::OutputMode;
use crate::part::{RequestPart, ResponsePart};
use crate::schema::{SchemaStyle, ToolNames};

/// A tool with the schema its provider takes.
#[derive(Clone, Debug)]
pub(in crate::provider) struct WireTool {
    /// Its own name.
    pub name: String,
    pub description: String,
    pub schema: Value,
    pub strict: Option<bool>,
}

/// What a provider holds the output to.
pub(in crate::provider) struct NativeOutput<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    pub schema: Value,
}

/// Function tools and an output tool, their schemas rewritten.
pub(in crate::provider) fn wire_tools(
    config: &ModelConfig,
    tools: &[ToolDefinition],
    output: Option<&ToolDefinition>,
) -> Vec<WireTool> {
    let style = SchemaStyle::of(config);
    let all = tools.iter().chain(output);
    let rewritten = all.map(|tool| {
        let schema = style.tool(&tool.parameters);
        if !schema.repairs.is_empty() {
            tracing::warn!(tool = tool.name, repairs = ?schema.repairs, "a schema was simplified");
        }
        WireTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: schema.schema,
            strict: schema.strict,
        }
    });
    rewritten.collect()
}

/// The spelling of all names in a request: its tools first, then those of the history.
pub(in crate::provider) fn spelled(tools: &[WireTool], messages: &History) -> ToolNames {
    let mut seen = HashSet::new();
    let responses = messages.iter().filter_map(|message| message.as_response());
    let called = responses.flat_map(|response| &response.parts).filter_map(|part| match part {
        ResponsePart::ToolCall(call) => Some(call.tool_name.as_str()),
        _ => None,
    });
    let requests = messages.iter().filter_map(|message| message.as_request());
    let returned = requests.flat_map(|request| &request.parts).filter_map(|part| match part {
        RequestPart::ToolReturn(part) => Some(part.tool_name.as_str()),
        _ => None,
    });
    let own = tools.iter().map(|tool| tool.name.as_str());
    ToolNames::new(own.chain(called).chain(returned).filter(|name| seen.insert(*name)))
}

impl Asked<'_> {
    /// The tool's name on the wire.
    pub(in crate::provider) fn name<'b>(&'b self, name: &'b str) -> &'b str {
        self.names.wire(name)
    }

    /// Whether only a call may answer.
    pub(in crate::provider) fn needs_call(&self) -> bool {
        !self.output.allows_text()
    }

    /// The schema that the provider holds the output to.
    pub(in crate::provider) fn native_output(
        &self,
    ) -> Result<Option<NativeOutput<'_>>, ModelError> {
        let output = self.output;
        let schema = output.schema.as_ref().filter(|_| output.mode == OutputMode::Native);
        let Some(schema) = schema else { return Ok(None) };
        let rewritten = SchemaStyle::of(self.config)
            .output(&schema.schema)
            .map_err(|error| ModelError::Usage(error.to_string()))?;
        Ok(Some(NativeOutput {
            name: &schema.name,
            description: schema.description.as_deref(),
            schema: rewritten,
        }))
    }
}
