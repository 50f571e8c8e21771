//! The agent loop as a state machine: events in, actions out, no waiting inside.
//!
//! A [`Run`] is driven by whoever does the waiting: [`drive`](crate::drive) in production, a test
//! by hand. It starts with an [`Action`]; each action is answered by one [`Event`], which gives the
//! next action, until [`Action::Finish`].
//!
//! ```text
//!         ┌───────────────────────────────────── retry, tool results, injected content ─┐
//! begin ─►Enter ─► Prepare ─► CallModel ─► Enter ─┬─► CallTools ─► (results) ─┬─────────┘
//!                                                 └─► Settle ◄────────────────┘
//!                                                       └─► Finish
//! ```

mod batch;
mod calls;
mod node;
mod output;
mod reply;
mod spec;
mod tools;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use akgentic_core::wire::Timestamp;
use akgentic_tool_core::ToolDefinition;

pub use calls::{CallOutcome, PlannedCall, ToolBatch, ToolsReport};
pub use node::Node;
pub use reply::MOST_CALLS;
pub use spec::{RunOptions, RunSpec, Stamps};
pub use tools::ToolSet;

use crate::error::{ModelError, RunError};
use crate::history::{History, Outgoing};
use crate::hook::{Hooks, RunContext};
use crate::limits::LimitBreach;
use crate::message::{MessageState, ModelMessage, ModelRequest, ModelResponse};
use crate::model::{ModelInput, ModelSettings, OutputRequest};
use crate::output::Output;
use crate::part::{RequestPart, SystemPromptPart, UserPromptPart};
use crate::queue::{Queued, RunQueue};
use crate::usage::Usage;
use batch::Pending;
use reply::Reply;

/// What happened since the last action.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one event exists at a time")]
pub enum Event {
    /// The next stage may begin; answers [`Action::Enter`].
    Entered,
    /// The model step is prepared; answers [`Action::Prepare`].
    Prepared,
    /// The model answered, or failed; answers [`Action::CallModel`].
    Replied(Result<ModelResponse, ModelError>),
    /// The calls ended; answers [`Action::CallTools`].
    ToolsDone(ToolsReport),
    /// Nobody wants to add anything before the end; answers [`Action::Settle`].
    Settled(Output),
    /// Something outside the loop failed; answers any action.
    Failed(RunError),
}

/// What is to be done next.
#[derive(Debug)]
pub enum Action {
    /// A stage begins.
    Enter(Node),
    /// A request is about to be made: hooks may look at [`Run::step`] and change it.
    Prepare,
    /// Ask the model.
    CallModel(ModelInput),
    /// Execute these calls.
    CallTools(ToolBatch),
    /// The run would end with this output: hooks may change it or inject more content.
    Settle(Output),
    /// The run has ended.
    Finish(Result<Output, RunError>),
}

/// The next model request, as hooks may change it.
#[derive(Clone, Debug)]
pub struct ModelStep {
    /// What is sent.
    pub messages: History,
    /// How it is sent.
    pub settings: ModelSettings,
}

/// One run of the loop.
pub struct Run {
    id: Arc<str>,
    conversation_id: String,
    outgoing: Outgoing,
    added: Vec<Arc<ModelMessage>>,
    taken: usize,
    phase: Phase,
    usage: Usage,
    output_retries: u32,
    tool_retries: HashMap<String, u32>,
    /// Ids of calls that were handed out to be executed; none is a second time.
    executed: HashSet<String>,
    steps: u32,
    queue: RunQueue,
    tools: Arc<ToolSet>,
    definitions: Arc<[ToolDefinition]>,
    output: OutputRequest,
    options: RunOptions,
    stamps: Stamps,
    system_prompts: Vec<(String, String)>,
    hooks: Hooks,
}

#[derive(Debug)]
enum Phase {
    /// A model step is about to begin.
    Step,
    /// A reply is about to be looked at.
    Reply(Reply),
    Prepare,
    Model,
    Tools(Pending),
    Settle,
    Ended,
}

impl Run {
    /// Starts a run: cleans the history, renders the system prompts, adds the prompt.
    pub fn begin(spec: RunSpec) -> (Self, Action) {
        let first = spec.history.is_empty();
        let outgoing = Outgoing::new(&spec.history, (spec.stamps.now)());
        Self::begin_after(outgoing, first, spec)
    }

    /// Starts a run after a conversation that is clean already; that of `spec` is not looked at.
    pub(crate) fn begin_after(outgoing: Outgoing, first: bool, spec: RunSpec) -> (Self, Action) {
        let now = (spec.stamps.now)();
        let sent = outgoing.messages().iter().rev();
        let latest = sent.chain(spec.history.iter().rev()).find_map(|one| one.conversation_id());
        let conversation_id = latest.map_or_else(|| (spec.stamps.id)().to_string(), str::to_owned);
        let mut run = Self {
            id: (spec.stamps.id)().to_string().into(),
            conversation_id,
            outgoing,
            added: Vec::new(),
            taken: 0,
            phase: Phase::Prepare,
            usage: Usage::default(),
            output_retries: 0,
            tool_retries: HashMap::new(),
            executed: HashSet::new(),
            steps: 0,
            queue: RunQueue::default(),
            definitions: spec.tools.definitions(),
            tools: spec.tools,
            output: spec.output,
            options: spec.options,
            stamps: spec.stamps,
            system_prompts: spec.system_prompts,
            hooks: spec.hooks,
        };
        let mut parts = Vec::new();
        if first {
            parts.extend(run.system_prompts.iter().map(|(name, text)| {
                let part = SystemPromptPart::new(text.clone(), Some(name.clone()), now);
                RequestPart::SystemPrompt(part)
            }));
        } else {
            run.render_again();
        }
        parts.push(RequestPart::UserPrompt(UserPromptPart::new(spec.prompt, now)));
        run.add_request(parts, MessageState::Complete);
        let action = match run.tools.clashes_with(&run.output) {
            Some(name) => run.end(Err(RunError::Usage(format!(
                "a tool has the name of the output tool {name}"
            )))),
            None => run.enter_model_step(),
        };
        (run, action)
    }

    /// Takes what happened and says what to do next.
    ///
    /// An event that does not answer the last action ends the run.
    pub fn next(&mut self, event: Event) -> Action {
        match (std::mem::replace(&mut self.phase, Phase::Ended), event) {
            (Phase::Step, Event::Failed(error @ RunError::Hook(_))) if self.steps == 0 => {
                // refused before it had begun: the prompt was not stored and never is
                self.added.truncate(self.taken);
                self.end(Err(error))
            }
            (_, Event::Failed(error)) => self.end(Err(error)),
            (Phase::Step, Event::Entered) => self.begin_step(),
            (Phase::Reply(reply), Event::Entered) => self.read_reply(reply),
            (Phase::Prepare, Event::Prepared) => self.call_model(),
            (Phase::Model, Event::Replied(Ok(response))) => self.on_response(response),
            (Phase::Model, Event::Replied(Err(error))) => self.end(Err(error.into())),
            (Phase::Tools(pending), Event::ToolsDone(report)) => self.on_tools(pending, report),
            (Phase::Settle, Event::Settled(output)) => self.on_settled(output),
            (
                _,
                Event::Entered
                | Event::Prepared
                | Event::Replied(_)
                | Event::ToolsDone(_)
                | Event::Settled(_),
            ) => self.end(Err(RunError::Usage("the event does not answer the action".to_owned()))),
        }
    }

    /// Identity of the run.
    pub fn run_id(&self) -> &str {
        &self.id
    }

    /// What the run consumed so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// How many model requests were started.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Where content is injected.
    pub fn queue(&self) -> &RunQueue {
        &self.queue
    }

    /// What is sent: the cleaned conversation so far.
    pub fn outgoing(&self) -> &History {
        self.outgoing.messages()
    }

    /// The hooks of the run, in the order they run on the way in.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Whether the calls of one reply are executed one after the other.
    pub fn one_call_at_a_time(&self) -> bool {
        self.options.settings.parallel_tool_calls == Some(false)
    }

    /// What hooks know about the run.
    pub fn context(&self) -> RunContext {
        RunContext {
            run_id: Arc::clone(&self.id),
            usage: self.usage,
            steps: self.steps,
            messages: self.outgoing.messages().clone(),
            queue: self.queue.clone(),
        }
    }

    /// The next model request, for hooks.
    pub fn step(&self) -> ModelStep {
        ModelStep {
            messages: self.outgoing.messages().clone(),
            settings: self.options.settings.clone(),
        }
    }

    /// Puts the next model request back as hooks left it; the messages stay changed for the rest of
    /// the run, the settings too.
    pub fn set_step(&mut self, step: ModelStep) {
        self.outgoing.replace(step.messages);
        self.options.settings = step.settings;
    }

    /// Sends this conversation from now on: the stored one, after it was shortened.
    pub fn replace_history(&mut self, history: &[Arc<ModelMessage>]) {
        self.outgoing = Outgoing::new(history, self.now());
        self.render_again();
    }

    /// What was sent, unless hooks changed it; the run is over for whoever takes it.
    pub(crate) fn take_outgoing(&mut self) -> Option<Outgoing> {
        let nothing = Outgoing::new(&[], self.now());
        let taken = std::mem::replace(&mut self.outgoing, nothing);
        Some(taken).filter(Outgoing::is_own)
    }

    /// Messages the run added since they were last taken, to be stored.
    pub fn take_added(&mut self) -> Vec<Arc<ModelMessage>> {
        let fresh = self.added.get(self.taken..).unwrap_or_default().to_vec();
        self.taken = self.added.len();
        fresh
    }

    /// All messages the run added.
    pub fn added(&self) -> &[Arc<ModelMessage>] {
        &self.added
    }

    fn enter_model_step(&mut self) -> Action {
        self.phase = Phase::Step;
        Action::Enter(Node::ModelRequest)
    }

    /// Whether the limits of the run let it make another model request; the breach, when not.
    pub fn check_request(&self) -> Result<(), LimitBreach> {
        self.options.limits.check_request(&self.usage)
    }

    fn begin_step(&mut self) -> Action {
        if let Err(breach) = self.check_request() {
            return self.end(Err(RunError::RunUsageLimit(breach)));
        }
        self.deliver(self.queue.take_asap());
        self.phase = Phase::Prepare;
        Action::Prepare
    }

    fn call_model(&mut self) -> Action {
        self.deliver(self.queue.take_asap());
        self.outgoing.make_ready((self.stamps.now)());
        self.steps += 1;
        self.phase = Phase::Model;
        Action::CallModel(ModelInput {
            messages: self.outgoing.messages().clone(),
            tools: Arc::clone(&self.definitions),
            output: self.output.clone(),
            settings: self.options.settings.clone(),
            cancel: self.options.cancel.clone(),
        })
    }

    fn settle(&mut self, output: Output) -> Action {
        self.phase = Phase::Settle;
        Action::Settle(output)
    }

    fn on_settled(&mut self, output: Output) -> Action {
        let waiting = self.queue.take_all_or_close();
        if waiting.is_empty() {
            return self.end(Ok(output));
        }
        self.deliver(waiting);
        self.enter_model_step()
    }

    fn end(&mut self, result: Result<Output, RunError>) -> Action {
        self.queue.close();
        self.phase = Phase::Ended;
        Action::Finish(result)
    }

    /// Each injected item is a request of its own.
    fn deliver(&mut self, items: Vec<Queued>) {
        for item in items {
            let prompt = UserPromptPart::new(item.content, (self.stamps.now)());
            self.add_request(vec![RequestPart::UserPrompt(prompt)], MessageState::Complete);
        }
    }

    fn add_request(&mut self, parts: Vec<RequestPart>, state: MessageState) {
        self.add(ModelRequest {
            parts,
            timestamp: Some((self.stamps.now)()),
            run_id: Some(self.id.to_string()),
            conversation_id: Some(self.conversation_id.clone()),
            state,
            ..ModelRequest::default()
        });
    }

    fn add(&mut self, message: impl Into<Arc<ModelMessage>>) {
        let message = message.into();
        self.outgoing.push(Arc::clone(&message), (self.stamps.now)());
        self.added.push(message);
    }

    /// Ends with an error inside a batch: the record says that its calls were cut off.
    fn break_off(&mut self, parts: Vec<RequestPart>, error: RunError) -> Action {
        self.add_request(parts, MessageState::Interrupted);
        self.end(Err(error))
    }

    /// System prompts of earlier runs, rendered anew in what is sent.
    fn render_again(&mut self) {
        let prompts = self.system_prompts.iter();
        let fresh: HashMap<&str, &str> =
            prompts.map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let stale = |part: &RequestPart| match part {
            RequestPart::SystemPrompt(part) => part
                .dynamic_ref
                .as_deref()
                .and_then(|name| fresh.get(name))
                .is_some_and(|text| *text != part.content),
            _ => false,
        };
        self.outgoing.change_prompts(
            |request| request.parts.iter().any(stale),
            |request| {
                for part in &mut request.parts {
                    if let RequestPart::SystemPrompt(part) = part {
                        let name = part.dynamic_ref.as_deref();
                        if let Some(text) = name.and_then(|name| fresh.get(name)) {
                            (*text).clone_into(&mut part.content);
                        }
                    }
                }
            },
        );
    }

    fn now(&self) -> Timestamp {
        (self.stamps.now)()
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("id", &self.id)
            .field("phase", &self.phase)
            .field("steps", &self.steps)
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}
