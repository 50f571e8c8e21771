//! Params: one per capability of the workspace card.
//!
//! All of them are here, those of capabilities this version does not offer yet too: a card that
//! was written elsewhere loads with everything it says and is written back unchanged.

use akgentic_sandbox::{AUTO, CommandPolicy, Registry};
use akgentic_tool_core::{Channel, Exposure, tool_param};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Configures `workspace_read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceRead {
    /// Text that goes after the description of the tool.
    pub instructions: Option<String>,
    /// Where it is offered; the model only, unless said otherwise.
    pub expose: Exposure,
    /// Lines that are shown when the model asks for no number, 2000 unless said otherwise.
    #[schemars(range(min = 1))]
    pub default_limit: i64,
    /// Whether documents are converted anew although a conversion is there.
    pub force_document_regeneration: bool,
    /// How documents are converted, `false` for not at all.
    pub document_reader: DocumentReading,
}

impl Default for WorkspaceRead {
    fn default() -> Self {
        Self {
            instructions: None,
            expose: Exposure::TOOL_CALL,
            default_limit: 2000,
            force_document_regeneration: false,
            document_reader: DocumentReading::default(),
        }
    }
}
tool_param!(WorkspaceRead = "akgentic.tool.workspace.tool.WorkspaceRead", served: [ToolCall]);

/// Whether and how documents are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DocumentReading {
    /// On with defaults, or off.
    Switch(bool),
    /// On, this way.
    With(DocumentReader),
}

impl DocumentReading {
    /// Whether documents are read at all.
    pub fn is_on(&self) -> bool {
        !matches!(self, Self::Switch(false))
    }

    /// How they are read, if they are.
    pub fn reader(&self) -> Option<DocumentReader> {
        match self {
            Self::Switch(false) => None,
            Self::Switch(true) => Some(DocumentReader::default()),
            Self::With(reader) => Some(reader.clone()),
        }
    }
}

/// On with defaults.
impl Default for DocumentReading {
    fn default() -> Self {
        Self::Switch(true)
    }
}

/// How documents are converted to text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DocumentReader {
    /// Provider of the model that captions images; none for no captions.
    pub llm_client: Option<LlmClient>,
    /// The model.
    pub llm_model: String,
}

impl Default for DocumentReader {
    fn default() -> Self {
        Self { llm_client: Some(LlmClient::OpenAi), llm_model: "gpt-5.4-mini".to_owned() }
    }
}

/// A provider of models that caption images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LlmClient {
    /// `openai`
    #[serde(rename = "openai")]
    OpenAi,
}

/// Configures `workspace_view`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceView {
    /// Text that goes after the description of the tool.
    pub instructions: Option<String>,
    /// Where it is offered; the model only, unless said otherwise.
    pub expose: Exposure,
    /// Longest side of an image in pixels, 0 for no limit; 1568 unless said otherwise.
    #[schemars(range(min = 0))]
    pub max_dimension: i64,
}

impl Default for WorkspaceView {
    fn default() -> Self {
        Self { instructions: None, expose: Exposure::TOOL_CALL, max_dimension: 1568 }
    }
}
tool_param!(WorkspaceView = "akgentic.tool.workspace.tool.WorkspaceView", served: [ToolCall]);

/// Configures `workspace_list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceList {
    /// Text that goes after the description of the tool.
    pub instructions: Option<String>,
    /// Where it is offered; the model only, unless said otherwise.
    pub expose: Exposure,
    /// Levels that are shown when the model asks for no number, 0 for all; 1 unless said
    /// otherwise.
    #[schemars(range(min = 0))]
    pub max_depth: i64,
}

impl Default for WorkspaceList {
    fn default() -> Self {
        Self { instructions: None, expose: Exposure::TOOL_CALL, max_depth: 1 }
    }
}
tool_param!(WorkspaceList = "akgentic.tool.workspace.tool.WorkspaceList", served: [ToolCall]);

/// Configures `workspace_glob`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceGlob {
    /// Text that goes after the description of the tool.
    pub instructions: Option<String>,
    /// Where it is offered; the model only, unless said otherwise.
    pub expose: Exposure,
    /// Most paths of one answer, 100 unless said otherwise.
    #[schemars(range(min = 1))]
    pub max_results: i64,
}

impl Default for WorkspaceGlob {
    fn default() -> Self {
        Self { instructions: None, expose: Exposure::TOOL_CALL, max_results: 100 }
    }
}
tool_param!(WorkspaceGlob = "akgentic.tool.workspace.tool.WorkspaceGlob", served: [ToolCall]);

/// Configures `workspace_grep`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceGrep {
    /// Text that goes after the description of the tool.
    pub instructions: Option<String>,
    /// Where it is offered; the model only, unless said otherwise.
    pub expose: Exposure,
    /// Most lines of one answer, 100 unless said otherwise.
    #[schemars(range(min = 1))]
    pub max_results: i64,
    /// Most characters of one line, 2000 unless said otherwise.
    #[schemars(range(min = 1))]
    pub max_line_length: i64,
}

impl Default for WorkspaceGrep {
    fn default() -> Self {
        Self {
            instructions: None,
            expose: Exposure::TOOL_CALL,
            max_results: 100,
            max_line_length: 2000,
        }
    }
}
tool_param!(WorkspaceGrep = "akgentic.tool.workspace.tool.WorkspaceGrep", served: [ToolCall]);

/// Configures `workspace_exec` and `workspace_exec_result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceExec {
    /// Text that goes after the description of the tools.
    pub instructions: Option<String>,
    /// Where they are offered; the model only, unless said otherwise.
    pub expose: Exposure,
    /// Name of a registered sandbox backend, or `auto` for the first that works.
    #[serde(deserialize_with = "known_mode")]
    pub mode: String,
    /// Seconds a command may take, 15 unless said otherwise.
    #[schemars(range(min = 0))]
    pub timeout_s: f64,
    /// How often a result is looked for, -1 for as long as it takes.
    #[schemars(range(min = -1))]
    pub poll_attempts: i64,
    /// Seconds between two looks, 0.5 unless said otherwise.
    #[schemars(range(min = 0))]
    pub poll_delay_seconds: f64,
    /// Programs that may be started, in place of the usual ones; written only when set. It keeps
    /// agents on the intended path and is no boundary: that is the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<String>>,
    /// Whether only the agent that asked for a run reads its result; written only when set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub owner_only: bool,
}

impl Default for WorkspaceExec {
    fn default() -> Self {
        Self {
            instructions: None,
            expose: Exposure::TOOL_CALL,
            mode: AUTO.to_owned(),
            timeout_s: 15.0,
            poll_attempts: -1,
            poll_delay_seconds: 0.5,
            programs: None,
            owner_only: false,
        }
    }
}
tool_param!(WorkspaceExec = "akgentic.tool.workspace.tool.WorkspaceExec", served: [ToolCall]);

impl WorkspaceExec {
    /// Which programs may be started.
    pub fn policy(&self) -> CommandPolicy {
        self.programs.as_ref().map_or_else(CommandPolicy::default, CommandPolicy::new)
    }
}

/// Reads a mode that somebody registered.
pub(crate) fn known_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let mode = String::deserialize(deserializer)?;
    Registry::global().check_mode(&mode).map_err(serde::de::Error::custom)?;
    Ok(mode)
}

/// Params without fields of their own.
macro_rules! plain_params {
    ($($(#[$about:meta])+ $name:ident = $path:literal, on: $channel:ident, served: $served:tt;)+) => {
        $(
            $(#[$about])+
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            #[serde(default)]
            pub struct $name {
                /// Text that goes after the description of the capability.
                pub instructions: Option<String>,
                /// Where it is offered.
                pub expose: Exposure,
            }

            impl Default for $name {
                fn default() -> Self {
                    Self { instructions: None, expose: Exposure::of(&[Channel::$channel]) }
                }
            }
            tool_param!($name = $path, served: $served);
        )+
    };
}

plain_params! {
    /// Configures `_expand_media_refs`, offered as a command unless said otherwise.
    ExpandMediaRefs = "akgentic.tool.workspace.tool.ExpandMediaRefs", on: Command, served: [Command];
    /// Configures `workspace_write`.
    WorkspaceWrite = "akgentic.tool.workspace.tool.WorkspaceWrite", on: ToolCall, served: [ToolCall];
    /// Configures `workspace_delete`.
    WorkspaceDelete = "akgentic.tool.workspace.tool.WorkspaceDelete", on: ToolCall, served: [ToolCall];
    /// Configures `workspace_edit`.
    WorkspaceEdit = "akgentic.tool.workspace.tool.WorkspaceEdit", on: ToolCall, served: [ToolCall];
    /// Configures `workspace_multi_edit`.
    WorkspaceMultiEdit = "akgentic.tool.workspace.tool.WorkspaceMultiEdit", on: ToolCall, served: [ToolCall];
    /// Configures `workspace_patch`.
    WorkspacePatch = "akgentic.tool.workspace.tool.WorkspacePatch", on: ToolCall, served: [ToolCall];
    /// Configures `workspace_mkdir`.
    WorkspaceMkdir = "akgentic.tool.workspace.tool.WorkspaceMkdir", on: ToolCall, served: [ToolCall];
}
