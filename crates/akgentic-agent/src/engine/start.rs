//! Wiring an agent: state, cards, commands, model, prompts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_core::{ActorError, ActorHandle, Context};
use akgentic_llm::loadtest::{LoadScenario, MockAgent};
use akgentic_llm::{
    BuildModel, ContextObserver, FallbackModel, Hook, LlmEvent, ModelConfig, ReactAgent, Recovery,
    RunError, SystemPrompts,
};
use akgentic_mailbox::MailboxTool;
use akgentic_team::{TeamManagement, TeamTool};
use akgentic_tool_core::{
    AnyCard, BindError, BoundTools, CarriedState, MarkerScan, Observer, OneShotLlm, ToolFactory,
};
use jiff::ZonedDateTime;

use super::mind::Mind;
use super::model_desk::ModelDesk;
use super::own_commands::{OWNER, own_commands};
use super::{Engine, TeamHooks, lock};
use crate::config::{AgentConfig, AgentState};
use crate::errors::actor_error;
use crate::live::{LiveHook, LiveObserver};
use crate::mailbox_capability::MailboxCapability;
use crate::model_source::{Calendar, ModelSource, variable};
use crate::one_shot::OneShot;
use crate::setup::AgentSetup;

/// How long the cards of an agent may take to be bound and to give their system prompts.
const BIND_BUDGET: Duration = Duration::from_mins(1);

impl Engine {
    /// Wires an agent: state, cards, commands, model, prompts.
    ///
    /// The state is published first, the commands are announced once they are known.
    pub async fn start(
        config: &AgentConfig,
        setup: AgentSetup,
        ctx: &mut Context,
    ) -> Result<Self, ActorError> {
        let Some(_) = ctx.orchestrator() else {
            return Err(failed("an agent needs an orchestrator"));
        };
        let own_backstory = config.prompt.render()?;
        let mut state = CarriedState::new(AgentState::new(own_backstory.clone()));
        ctx.publish(state.observe());
        let scenario = scenario(config, ctx)?;
        let build = if scenario.is_some() { None } else { builder(config, ctx) };
        let desk = ModelDesk::new(config.react(), build.clone());
        let team = Arc::new(TeamHooks { own: setup.management.clone(), ..TeamHooks::default() });
        let observer = observer(&setup, &state, &team, &desk, build.as_ref(), ctx);
        let (commands, chores) = own_commands();
        let cards = with_default_cards(&config.tools);
        let mailbox = mailbox_card(&cards);
        let factory = ToolFactory::new(cards).owner(OWNER).commands(commands);
        let (tools, texts) = bind(&factory, &observer, ctx).await?;
        tools.announce(&observer)?;
        let commands = tools.commands().clone();
        let options = &config.options;
        let mailbox = MailboxCapability::new(ctx, &mailbox, commands, options.mailbox())
            .cancelled_by(options.cancelled_by, options.cancel);
        let mailbox = Arc::new(mailbox);
        let backstory = Arc::new(Mutex::new(state.backstory.clone()));
        let prompts = system_prompts(&backstory, &tools, texts, ctx).map_err(actor_error)?;
        let mut hooks: Vec<Arc<dyn Hook>> = vec![Arc::<MailboxCapability>::clone(&mailbox)];
        hooks.extend(live_hook(ctx));
        hooks.extend(setup.hooks);
        let mut mind = match scenario {
            Some(scenario) => Mind::Mock(Box::new(MockAgent::new(scenario)), ctx.name().to_owned()),
            None => Mind::React(Box::new(react_agent(
                config,
                build,
                prompts,
                &tools,
                hooks,
                setup.recovery,
            )?)),
        };
        mind.context_mut().subscribe(Arc::new(Announcer(ctx.handle())));
        let connected = tools.toolsets().is_empty();
        Ok(Self {
            state,
            observer,
            tools,
            mind,
            mailbox,
            desk,
            chores,
            options: config.options.clone(),
            team,
            outputs: HashMap::new(),
            scan: MarkerScan::default(),
            scanned: None,
            backstory,
            own_backstory,
            connected,
            concluded: false,
        })
    }
}

fn failed(reason: impl Into<Arc<str>>) -> ActorError {
    ActorError::new("StartFailed", reason)
}

fn observer(
    setup: &AgentSetup,
    state: &CarriedState<AgentState>,
    team: &Arc<TeamHooks>,
    desk: &ModelDesk,
    build: Option<&Arc<BuildModel>>,
    ctx: &Context,
) -> Observer {
    let management: Arc<dyn TeamManagement> = Arc::<TeamHooks>::clone(team);
    let mut observer = Observer::of(ctx)
        .tool_state(state.handle())
        .with::<dyn TeamManagement>(management)
        .with::<ModelDesk>(Arc::new(desk.clone()));
    // what the host offers to everybody goes before the agent's own model
    let provided = ctx.system().capability::<Arc<dyn OneShotLlm>>().is_some();
    if let Some(build) = build.filter(|_| !provided) {
        let (desk, build) = (desk.clone(), Arc::clone(build));
        let one_shot = OneShot { desk, build, agent: ctx.handle() };
        observer = observer.with::<dyn OneShotLlm>(Arc::new(one_shot));
    }
    observer.capabilities(&setup.capabilities).build()
}

/// Binds the cards and has them render their system prompts, within bounds.
async fn bind(
    factory: &ToolFactory,
    observer: &Observer,
    ctx: &Context,
) -> Result<(BoundTools, Vec<String>), ActorError> {
    let ready = async {
        let tools = factory.bind(observer).await?;
        let prompts = tools.render_system_prompts().await;
        Ok::<_, BindError>((tools, prompts))
    };
    tokio::select! {
        biased;
        () = ctx.cancellation().cancelled() => Err(actor_error(RunError::Cancelled)),
        bound = tokio::time::timeout(BIND_BUDGET, ready) => {
            let late = || failed(format!("the cards were not ready in {} s", BIND_BUDGET.as_secs()));
            Ok(bound.map_err(|_| late())??)
        }
    }
}

/// The cards of the configuration, with the team card and the mailbox card in front when they have
/// none.
fn with_default_cards(cards: &[AnyCard]) -> Vec<AnyCard> {
    let mut all = Vec::with_capacity(cards.len() + 2);
    if !cards.iter().any(|card| card.as_any().is::<TeamTool>()) {
        all.push(TeamTool::default().into());
    }
    if !cards.iter().any(|card| card.as_any().is::<MailboxTool>()) {
        all.push(MailboxTool::default().into());
    }
    all.extend(cards.iter().cloned());
    all
}

/// The mailbox card in use: the first.
fn mailbox_card(cards: &[AnyCard]) -> MailboxTool {
    let mut found = cards.iter().filter_map(|card| card.as_any().downcast_ref::<MailboxTool>());
    found.next().cloned().unwrap_or_default()
}

/// The load-test scenario that is played instead of a model, when the environment names one.
fn scenario(config: &AgentConfig, ctx: &Context) -> Result<Option<LoadScenario>, ActorError> {
    let system = ctx.system();
    let Some(path) = variable(&system, LoadScenario::VARIABLE).filter(|path| !path.is_empty())
    else {
        return Ok(None);
    };
    let file = LoadScenario::locate(&config.model_cfg.model, &|_| Some(path.clone()));
    let scenario = file.and_then(LoadScenario::load);
    scenario.map(Some).map_err(|error| failed(error.to_string()))
}

/// How the models of this agent are built, each within the limits its configuration has for requests;
/// nothing when the system has no models.
fn builder(config: &AgentConfig, ctx: &Context) -> Option<Arc<BuildModel>> {
    let source = Arc::clone(&*ctx.system().capability::<Arc<dyn ModelSource>>()?);
    let (http, address) = (config.runtime_cfg.http_client_config.clone(), ctx.address());
    Some(Arc::new(move |model: &ModelConfig| Ok(source.model_within(model, &http, &address)?)))
}

/// What tells a front end about the agent's tools, when there is one.
fn live_hook(ctx: &Context) -> Option<Arc<dyn Hook>> {
    let observer = ctx.system().capability::<Arc<dyn LiveObserver>>()?;
    let observer = Arc::clone(&*observer);
    Some(Arc::new(LiveHook { agent: ctx.address().to_snapshot(), observer }))
}

fn react_agent(
    config: &AgentConfig,
    build: Option<Arc<BuildModel>>,
    prompts: SystemPrompts,
    tools: &BoundTools,
    hooks: Vec<Arc<dyn Hook>>,
    recovery: Option<Arc<Recovery>>,
) -> Result<ReactAgent, ActorError> {
    let Some(build) = build else {
        return Err(failed("the actor system has no models; give it some with provide_models"));
    };
    let react = config.react();
    react.check().map_err(failed)?;
    let model = FallbackModel::build(&react.model_cfg, &*build)
        .map_err(|reason| failed(format!("no model: {reason}")))?;
    let mut agent = ReactAgent::builder(model)
        .config(react)
        .models(build)
        .tools(tools.tools().to_vec())
        .system_prompts(prompts)
        .final_answer_may_exceed(config.options.final_answer_may_exceed)
        .hooks(hooks);
    if let Some(recovery) = recovery {
        agent = agent.recovery(move |breach| recovery(breach));
    }
    agent.build().map_err(|error| failed(error.to_string()))
}

/// The agent's own prompts, then those of its cards with the texts they gave.
fn system_prompts(
    backstory: &Arc<Mutex<String>>,
    tools: &BoundTools,
    texts: Vec<String>,
    ctx: &Context,
) -> Result<SystemPrompts, RunError> {
    let mut prompts = SystemPrompts::default();
    let backstory = Arc::clone(backstory);
    prompts.add("agent_backstory", move || Some(lock(&backstory).clone()))?;
    let calendar = ctx.system().capability::<Calendar>();
    prompts.add("current_date", move || {
        let today = match &calendar {
            Some(calendar) => calendar.today(),
            None => ZonedDateTime::now().date().to_string(),
        };
        Some(format!("Today is {today}."))
    })?;
    for (prompt, text) in tools.system_prompts().iter().zip(texts) {
        prompts.add(prompt.name(), move || Some(text.clone()))?;
    }
    Ok(prompts)
}

/// Announces what happens in the conversation to those who watch the team.
struct Announcer(ActorHandle);

impl ContextObserver for Announcer {
    fn on_event(&self, event: &LlmEvent) -> Result<(), akgentic_llm::BoxError> {
        self.0.get()?.notify_event(event.clone().into_value());
        Ok(())
    }
}
