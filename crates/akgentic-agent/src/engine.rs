//! The inside of an agent: cards bound, model loop equipped, turns composed.
//!
//! Actor types with messages of their own build on this: they start an [`Engine`], hand their
//! messages to [`Engine::act`] and route what comes back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use akgentic_core::wire::AnyValue;
use akgentic_core::{ActorAddress, ActorError, ActorHandle, Context, Message};
use akgentic_llm::{
    BuildModel, ContextObserver, FallbackModel, LlmEvent, ModelConfig, ModelMessage, Output,
    OutputSpec, ReactAgent, RequestPart, RunError, SystemPrompts, UserContent,
};
use akgentic_team::{HireMember, TeamManagement, TeamTool};
use akgentic_tool_core::{
    AnyCard, BindError, BoundTools, CarriedState, CommandError, MarkerScan, Observer, ToolFactory,
    ToolStateCell,
};
use jiff::ZonedDateTime;

use crate::config::{AgentConfig, AgentState};
use crate::errors::actor_error;
use crate::message::{AgentMessage, Intent, LlmRenderable};
use crate::model_source::ModelSource;

/// How long the cards of an agent may take to be bound and to give their system prompts.
const BIND_BUDGET: Duration = Duration::from_mins(1);

/// How long the toolsets of an agent may take to connect before a turn.
const CONNECT_BUDGET: Duration = Duration::from_mins(1);

/// Label of commands that belong to the agent itself.
const OWNER: &str = "BaseAgent";

/// What an agent is made of, once it has started.
pub struct Engine {
    state: CarriedState<AgentState>,
    observer: Observer,
    tools: BoundTools,
    react: ReactAgent,
    scan: MarkerScan,
    backstory: Arc<Mutex<String>>,
    /// Whether the tools of all toolsets are with the model.
    connected: bool,
}

/// Keeps the agent's hooks for the team card; the base agent has none of its own.
struct NoHooks;

impl TeamManagement for NoHooks {}

impl Engine {
    /// Wires an agent: state, cards, commands, model, prompts.
    ///
    /// The state is published first, the commands are announced once they are known.
    pub async fn start(config: &AgentConfig, ctx: &mut Context) -> Result<Self, ActorError> {
        let Some(_) = ctx.orchestrator() else {
            return Err(ActorError::new("StartFailed", "an agent needs an orchestrator"));
        };
        let backstory = config.prompt.render()?;
        let mut state =
            CarriedState::new(AgentState { backstory, tool_state: ToolStateCell::default() });
        ctx.publish(state.observe());
        let observer = Observer::of(ctx)
            .tool_state(state.handle())
            .with::<dyn TeamManagement>(Arc::new(NoHooks))
            .build();
        let factory = ToolFactory::new(with_default_cards(&config.tools)).owner(OWNER);
        let ready = async {
            let tools = factory.bind(&observer).await?;
            let prompts = tools.render_system_prompts().await;
            Ok::<_, BindError>((tools, prompts))
        };
        let cancel = ctx.cancellation().clone();
        let (tools, prompts) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(actor_error(RunError::Cancelled)),
            bound = tokio::time::timeout(BIND_BUDGET, ready) => {
                bound.map_err(|_| {
                    let text = format!("the cards were not ready in {} s", BIND_BUDGET.as_secs());
                    ActorError::new("StartFailed", text)
                })??
            }
        };
        tools.announce(&observer)?;
        let backstory = Arc::new(Mutex::new(state.backstory.clone()));
        let prompts = system_prompts(&backstory, &tools, prompts).map_err(actor_error)?;
        let react = react_agent(config, prompts, &tools, ctx)?;
        let (scan, connected) = (MarkerScan::default(), tools.toolsets().is_empty());
        Ok(Self { state, observer, tools, react, scan, backstory, connected })
    }

    /// The agent's published state.
    pub fn state(&mut self) -> &mut CarriedState<AgentState> {
        &mut self.state
    }

    /// What its cards offer.
    pub fn tools(&self) -> &BoundTools {
        &self.tools
    }

    /// The loop that talks to the model.
    pub fn react(&mut self) -> &mut ReactAgent {
        &mut self.react
    }

    /// Puts a message before the model and waits for its output: the only way to the model.
    ///
    /// Toolsets are connected before the first turn; when that fails the turn fails, and the next
    /// one tries again. A limit that is reached is told to the human once and ends the turn with a warning.
    pub async fn act(
        &mut self,
        message: &Message,
        output: &OutputSpec,
        ctx: &mut Context,
    ) -> Result<Output, ActorError> {
        let Some(renderable) = message.facet::<dyn LlmRenderable>() else {
            let text = format!("a {} cannot be put before a model", message.class_name());
            return Err(ActorError::new("TypeError", text));
        };
        let prompt = renderable.rendering(message);
        self.connect_toolsets(ctx).await?;
        let visible = self.visible_update();
        if let Some(block) = self.tools.updater().compose_update(visible).await {
            self.react.append_user_prompt(block).map_err(actor_error)?;
        }
        let cancel = ctx.cancellation().child_token();
        let result = self.react.run(UserContent::from(prompt), output, cancel).await;
        match result {
            Ok(result) => Ok(result.output),
            Err(RunError::RunUsageLimit(breach) | RunError::AgentUsageLimit(breach)) => {
                let breach = breach.to_string();
                tracing::warn!(agent = %ctx.name(), %breach, "a usage limit was reached");
                notify_human(ctx, &usage_notice(ctx.name(), &breach)).await;
                Err(ActorError::warning(format!("{} reached its {breach}", ctx.name())))
            }
            Err(error) => Err(actor_error(error)),
        }
    }

    /// Runs `/` text as a command; `false` when it is none.
    ///
    /// The answer goes to the sender and is put on record for the model. A command that is cut off
    /// because the agent goes down answers nothing.
    pub async fn command(
        &mut self,
        text: &str,
        sender: Option<&ActorAddress>,
        ctx: &mut Context,
    ) -> Result<bool, ActorError> {
        let cancel = ctx.cancellation().clone();
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(actor_error(RunError::Cancelled)),
            outcome = self.tools.commands().dispatch(text) => outcome,
        };
        let Some(reply) = outcome.reply() else { return Ok(outcome.is_command()) };
        if let Some(sender) = sender {
            ctx.send(sender, AgentMessage::new(Intent::Notification, reply.clone()))?;
        }
        let who = match sender {
            Some(sender) if !sender.is_user_proxy() => sender.name().to_owned(),
            _ => "The human".to_owned(),
        };
        let record = format!("**User action** - {who} ran \"{text}\". \nResult:\n{reply}");
        self.react.append_user_prompt(record).map_err(actor_error)?;
        Ok(true)
    }

    /// Hires a member of this role below the agent, through the command of the team card.
    pub async fn hire_member(&self, role: &str) -> Result<ActorAddress, CommandError> {
        let hire = HireMember { role: role.to_owned(), name: None };
        Ok(self.tools.commands().call(hire).await?.0)
    }

    /// Takes back what the agent announced before a restart; its state is back already.
    ///
    /// The stored backstory wins over the one of the configuration.
    pub fn restore(&mut self, events: &[AnyValue]) {
        self.state.backstory.clone_into(&mut lock(&self.backstory));
        let events: Vec<LlmEvent> = events.iter().filter_map(LlmEvent::from_value).collect();
        self.react.restore_context(&events);
        self.scan = MarkerScan::default();
        self.tools.updater().prune();
    }

    async fn connect_toolsets(&mut self, ctx: &Context) -> Result<(), ActorError> {
        if self.connected {
            return Ok(());
        }
        let connecting = tokio::time::timeout(CONNECT_BUDGET, self.tools.connect());
        let tools = tokio::select! {
            biased;
            () = ctx.cancellation().cancelled() => return Err(actor_error(RunError::Cancelled)),
            tools = connecting => tools.map_err(|_| {
                let text = format!("no connection in {} s", CONNECT_BUDGET.as_secs());
                ActorError::new("ToolsetUnavailable", text)
            })?,
        };
        let tools =
            tools.map_err(|error| ActorError::new("ToolsetUnavailable", error.to_string()))?;
        self.react.set_tools(tools).map_err(actor_error)?;
        self.connected = true;
        Ok(())
    }

    /// Closes what the cards opened.
    pub async fn stop(&mut self) {
        self.tools.close().await;
    }

    /// The highest context update that the model will see; only messages that were added since
    /// the last look are searched.
    fn visible_update(&mut self) -> i64 {
        let messages = self.react.context().messages();
        self.scan.truncate(messages.len());
        for message in messages.iter().skip(self.scan.len()) {
            self.scan.push(user_texts(message));
        }
        self.scan.highest()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("observer", &self.observer).finish_non_exhaustive()
    }
}

/// Tells the first human of the team; without one the text is logged.
pub async fn notify_human(ctx: &Context, text: &str) {
    let members = match ctx.team() {
        Ok(team) => team.get_team().await.map_err(ActorError::from),
        Err(error) => Err(error),
    };
    let human =
        members.map(|members| members.iter().find(|member| member.is_user_proxy()).cloned());
    let sent = match human {
        Ok(Some(human)) => ctx
            .send(&human, AgentMessage::new(Intent::Notification, text))
            .map_err(ActorError::from),
        Ok(None) => {
            tracing::warn!(agent = %ctx.name(), text, "there is no human to tell");
            return;
        }
        Err(error) => Err(error),
    };
    if let Err(error) = sent {
        tracing::warn!(agent = %ctx.name(), text, %error, "the human could not be told");
    }
}

fn usage_notice(agent: &str, breach: &str) -> String {
    format!(
        "{agent} reached its {breach} and stopped working on the message it had. \
         Please look at its work so far and tell it how to go on."
    )
}

/// The cards of the configuration, and the team card in front when they have none.
fn with_default_cards(cards: &[AnyCard]) -> Vec<AnyCard> {
    let mut all = Vec::with_capacity(cards.len() + 1);
    if !cards.iter().any(|card| card.as_any().is::<TeamTool>()) {
        all.push(TeamTool::default().into());
    }
    all.extend(cards.iter().cloned());
    all
}

fn react_agent(
    config: &AgentConfig,
    prompts: SystemPrompts,
    tools: &BoundTools,
    ctx: &Context,
) -> Result<ReactAgent, ActorError> {
    let Some(source) = ctx.system().capability::<Arc<dyn ModelSource>>() else {
        let text = "the actor system has no models; give it some with provide_models";
        return Err(ActorError::new("StartFailed", text));
    };
    let (source, address) = (Arc::clone(&source), ctx.address());
    let build: Arc<BuildModel> =
        Arc::new(move |config: &ModelConfig| Ok(source.model(config, &address)?));
    let model = FallbackModel::build(&config.model_cfg, &*build)
        .map_err(|reason| ActorError::new("StartFailed", format!("no model: {reason}")))?;
    let mut react = ReactAgent::builder(model)
        .models(build)
        .model_config(config.model_cfg.clone())
        .runtime(config.runtime_cfg.clone())
        .run_limits(config.run_usage_limits.clone())
        .agent_limits(config.agent_usage_limits.clone())
        .compaction(config.compaction_cfg.clone())
        .tools(tools.tools().to_vec())
        .system_prompts(prompts)
        .build()
        .map_err(actor_error)?;
    react.subscribe_context(Arc::new(Announcer(ctx.handle())));
    Ok(react)
}

/// The agent's own prompts, then those of its cards with the texts they gave.
fn system_prompts(
    backstory: &Arc<Mutex<String>>,
    tools: &BoundTools,
    texts: Vec<String>,
) -> Result<SystemPrompts, RunError> {
    let mut prompts = SystemPrompts::default();
    let backstory = Arc::clone(backstory);
    prompts.add("agent_backstory", move || Some(lock(&backstory).clone()))?;
    prompts.add("current_date", || Some(format!("Today is {}.", ZonedDateTime::now().date())))?;
    for (prompt, text) in tools.system_prompts().iter().zip(texts) {
        prompts.add(prompt.name(), move || Some(text.clone()))?;
    }
    Ok(prompts)
}

fn lock(text: &Mutex<String>) -> MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Announces what happens in the conversation to those who watch the team.
struct Announcer(ActorHandle);

impl ContextObserver for Announcer {
    fn on_event(&self, event: &LlmEvent) -> Result<(), akgentic_llm::BoxError> {
        self.0.get()?.notify_event(event.clone().into_value());
        Ok(())
    }
}

/// The texts of a message that stand on the user's side.
fn user_texts(message: &ModelMessage) -> Vec<&str> {
    let ModelMessage::Request(request) = message else { return Vec::new() };
    let parts = request.parts.iter().filter_map(|part| match part {
        RequestPart::UserPrompt(prompt) => Some(prompt.content.texts()),
        _ => None,
    });
    parts.flatten().collect()
}
