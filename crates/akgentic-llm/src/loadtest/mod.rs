//! Scripted agents for load tests: they replace the loop, call no model and execute no tool.
//!
//! Not to be confused with [`Scenario`](crate::Scenario), whose models sit inside the real loop.
//! A [`MockAgent`] tells its observers everything a real run would, waits as long as the scenario
//! says, and answers.

mod file;

use std::collections::HashSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use file::{LoadScenario, LoadScenarioError};

use crate::content::UserContent;
use crate::context::{ContextManager, RestoredUsage};
use crate::error::{BoxError, RunError};
use crate::event::LlmEvent;
use crate::message::{ModelMessage, ModelRequest, ModelResponse};
use crate::output::{Output, OutputSpec};
use crate::part::{
    RequestPart, ResponsePart, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart,
};
use crate::roster::{ModelSwitch, ModelSwitchError};
use crate::run::Stamps;
use file::State;

/// Name of model and provider in what a mock records.
const MOCK: &str = "mock";

/// An agent that plays a [`LoadScenario`].
///
/// Each state is played once; then its agent has only the states that are left and its default.
#[derive(Debug)]
pub struct MockAgent {
    scenario: LoadScenario,
    context: ContextManager,
    consumed: HashSet<(String, usize)>,
    stamps: Stamps,
}

impl MockAgent {
    /// An agent at the start of a scenario.
    pub fn new(scenario: LoadScenario) -> Self {
        Self {
            scenario,
            context: ContextManager::default(),
            consumed: HashSet::new(),
            stamps: Stamps::default(),
        }
    }

    /// Where times and ids come from.
    #[must_use]
    pub fn with_stamps(mut self, stamps: Stamps) -> Self {
        self.stamps = stamps;
        self
    }

    /// Plays the next turn of `agent` for a prompt. Cancelling ends the wait; what was recorded
    /// stays.
    pub async fn run(
        &mut self,
        agent: &str,
        prompt: impl Into<UserContent>,
        output: &OutputSpec,
        cancel: CancellationToken,
    ) -> Result<Output, RunError> {
        self.turn(agent, prompt.into(), output, cancel, true).await
    }

    /// Plays the next turn of `agent` without its tools.
    pub async fn conclude_without_tools(
        &mut self,
        agent: &str,
        reason: &str,
        output: &OutputSpec,
        cancel: CancellationToken,
    ) -> Result<Output, RunError> {
        self.turn(agent, reason.into(), output, cancel, false).await
    }

    /// The conversation.
    pub fn context(&self) -> &ContextManager {
        &self.context
    }

    /// The conversation, to observe and to change between turns.
    pub fn context_mut(&mut self) -> &mut ContextManager {
        &mut self.context
    }

    /// Rebuilds the conversation from stored events as a real agent does. States that were played
    /// are played again.
    pub fn restore_context<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a LlmEvent>,
    ) -> RestoredUsage {
        self.context.restore_from(events, (self.stamps.now)())
    }

    /// Refuses: there is no model to switch.
    #[expect(clippy::unused_self, reason = "the surface of a real agent")]
    pub fn switch_model(&mut self, _key: &str) -> Result<ModelSwitch, ModelSwitchError> {
        Err(ModelSwitchError::Mock)
    }

    async fn turn(
        &mut self,
        agent: &str,
        prompt: UserContent,
        output: &OutputSpec,
        cancel: CancellationToken,
        with_tools: bool,
    ) -> Result<Output, RunError> {
        let prompt = prompt.text();
        let scenario = self.scenario.clone();
        let (index, state) = scenario
            .state(agent, &prompt, |index| self.consumed.contains(&(agent.to_owned(), index)))
            .map_err(RunError::Usage)?;
        if let Some(index) = index {
            self.consumed.insert((agent.to_owned(), index));
        }
        self.record(prompt, state, with_tools).map_err(RunError::Observer)?;
        let wait = Duration::from_millis(state.latency_ms.unwrap_or(scenario.default_latency_ms()));
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(RunError::Cancelled),
            () = tokio::time::sleep(wait) => {}
        }
        match output.schema() {
            None => Ok(Output::Text(state.respond.text.clone().unwrap_or_default())),
            Some(schema) => schema
                .read_text(&state.respond.messages_json())
                .map(Output::Json)
                .map_err(|errors| {
                    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                    RunError::Usage(format!(
                        "the scenario gives no such output: {}",
                        errors.join("; ")
                    ))
                }),
        }
    }

    /// Adds to the conversation what a run would add.
    fn record(&mut self, prompt: String, state: &State, with_tools: bool) -> Result<(), BoxError> {
        let run_id = (self.stamps.id)().to_string();
        let now = (self.stamps.now)();
        let request = |part| ModelRequest {
            parts: vec![part],
            timestamp: Some(now),
            run_id: Some(run_id.clone()),
            ..ModelRequest::default()
        };
        let response = |part| ModelResponse {
            parts: vec![part],
            model_name: Some(MOCK.to_owned()),
            provider_name: Some(MOCK.to_owned()),
            timestamp: Some(now),
            run_id: Some(run_id.clone()),
            ..ModelResponse::default()
        };
        let prompt = RequestPart::UserPrompt(UserPromptPart::new(prompt, now));
        let mut messages: Vec<ModelMessage> = vec![request(prompt).into()];
        for tool in state.tools.iter().filter(|_| with_tools) {
            let id = format!("mock-{}-{}", tool.name, (self.stamps.id)().simple());
            let call = ToolCallPart::new(&tool.name, &tool.args, id);
            let answer = ToolReturnPart::success(&call, tool.returns.clone(), now);
            messages.push(response(ResponsePart::ToolCall(call)).into());
            messages.push(request(RequestPart::ToolReturn(answer)).into());
        }
        let text = state.respond.text.clone().unwrap_or_else(|| state.respond.messages_json());
        let text = ResponsePart::Text(TextPart::new(text));
        messages.push(response(text).into());
        messages.into_iter().try_for_each(|message| self.context.add_message(message))
    }
}
