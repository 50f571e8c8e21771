//! What thinks for an agent: the model loop, or a scenario that stands in for it under load.

use akgentic_core::wire::Timestamp;
use akgentic_llm::loadtest::MockAgent;
use akgentic_llm::{
    ContextManager, LlmEvent, ModelSwitch, ModelSwitchError, Output, OutputSpec, ReactAgent,
    RunError, UserContent,
};
use akgentic_tool_core::Tool;
use tokio_util::sync::CancellationToken;

/// The model loop of an agent, or what plays it.
#[derive(Debug)]
pub(super) enum Mind {
    React(Box<ReactAgent>),
    /// With the name its scenario knows it by.
    Mock(Box<MockAgent>, String),
}

/// What a run gave.
pub(super) struct Thought {
    pub(super) output: Output,
    /// Whether it is the conclusion of a run that reached a limit.
    pub(super) concluded: bool,
}

impl Mind {
    pub(super) async fn run(
        &mut self,
        prompt: UserContent,
        output: &OutputSpec,
        cancel: CancellationToken,
    ) -> Result<Thought, RunError> {
        match self {
            Self::React(react) => {
                let result = react.run(prompt, output, cancel).await?;
                Ok(Thought { output: result.output, concluded: result.concluded })
            }
            Self::Mock(mock, name) => {
                let output = mock.run(name, prompt, output, cancel).await?;
                Ok(Thought { output, concluded: false })
            }
        }
    }

    pub(super) fn context(&self) -> &ContextManager {
        match self {
            Self::React(react) => react.context(),
            Self::Mock(mock, _) => mock.context(),
        }
    }

    pub(super) fn context_mut(&mut self) -> &mut ContextManager {
        match self {
            Self::React(react) => react.context_mut(),
            Self::Mock(mock, _) => mock.context_mut(),
        }
    }

    pub(super) fn append_user_prompt(&mut self, text: String) -> Result<(), RunError> {
        match self {
            Self::React(react) => react.append_user_prompt(text),
            Self::Mock(mock, _) => {
                let context = mock.context_mut();
                context.append_user_prompt(text, Timestamp::now()).map_err(RunError::Observer)
            }
        }
    }

    pub(super) async fn compact(&mut self) -> Result<String, RunError> {
        match self {
            Self::React(react) => react.compact().await,
            Self::Mock(..) => Ok("An agent that plays a scenario has nothing to compact.".into()),
        }
    }

    pub(super) fn clear(&mut self) -> Result<String, RunError> {
        match self {
            Self::React(react) => react.clear_context(),
            Self::Mock(mock, _) => {
                let count = mock.context_mut().clear_context().map_err(RunError::Observer)?;
                Ok(format!("Cleared {count} message(s)."))
            }
        }
    }

    pub(super) fn restore(&mut self, events: &[LlmEvent]) {
        match self {
            Self::React(react) => react.restore_context(events),
            Self::Mock(mock, _) => {
                mock.restore_context(events);
            }
        }
    }

    pub(super) fn set_tools(&mut self, tools: Vec<Tool>) -> Result<(), RunError> {
        match self {
            Self::React(react) => react.set_tools(tools),
            Self::Mock(..) => Ok(()),
        }
    }

    pub(super) fn switch_model(&mut self, key: &str) -> Result<ModelSwitch, ModelSwitchError> {
        match self {
            Self::React(react) => react.switch_model(key),
            Self::Mock(mock, _) => mock.switch_model(key),
        }
    }

    pub(super) fn close(&mut self) {
        if let Self::React(react) = self {
            react.close();
        }
    }
}
