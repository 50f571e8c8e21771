//! Teams under constant disturbance: agents that talk, hire, fail, are cancelled, fired and killed
//! with their whole team, which then goes on from its log.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use akgentic_agent::{
    AgentConfig, AgentMessage, BaseAgent, HumanProxy, Intent, ModelSource, provide_models,
};
use akgentic_core::ActorRef;
use akgentic_core::log::{EventLog, Fsync, LogContents, restore_team};
use akgentic_core::message::{
    CancelMessage, HandledMessage, ProcessedMessage, ReceivedMessage, SentMessage,
};
use akgentic_core::orchestrator::Watched;
use akgentic_core::prelude::*;
use akgentic_llm::{
    FunctionModel, Model, ModelConfig, ModelError, ModelResponse, RequestPart, RequestUsage,
    ResponsePart, TextPart, ToolCallPart,
};
use akgentic_tool_core::{BindError, BoundCard, Observer, Tool, ToolCall, ToolCard, ToolError};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

/// How long a soak goes, and with how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Soak {
    /// For how long disturbances go on.
    pub(crate) duration: Duration,
    /// Agents in each team.
    pub(crate) agents: usize,
    /// How long a team is disturbed before it is killed, and again after it came back.
    pub(crate) half_life: Duration,
    /// Where the numbers begin that everything is drawn from.
    pub(crate) seed: u64,
}

/// What a soak came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Teams that lived, each twice.
    pub(crate) teams: usize,
    /// Turns that ended.
    pub(crate) turns: u64,
    /// Messages that were sent.
    pub(crate) sent: u64,
    /// Cut-off turns that were brought to their end after a restart.
    pub(crate) resumed: usize,
    /// Cut-off turns that were closed after a restart.
    pub(crate) interrupted: usize,
    /// Messages that were delivered after a restart.
    pub(crate) redelivered: usize,
    /// Resident memory at the end of each team, in MiB; 0 where the system does not tell.
    pub(crate) memory: Vec<usize>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { teams, turns, sent, resumed, interrupted, redelivered, memory } = self;
        let (first, last) = (memory.first().unwrap_or(&0), memory.last().unwrap_or(&0));
        write!(
            f,
            "{teams} teams killed and brought back, {sent} messages, {turns} turns, {resumed} resumed, \
             {interrupted} interrupted, {redelivered} redelivered, memory {first} to {last} MiB"
        )
    }
}

/// Numbers that look random and are the same for one seed.
#[derive(Debug)]
struct Dice(AtomicU64);

impl Dice {
    /// A number below `sides`.
    fn roll(&self, sides: usize) -> usize {
        let state = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap_or(0) % sides.max(1)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct WorkTool {}
akgentic_tool_core::tool_card!(WorkTool = "agent.soak.WorkTool");

#[derive(Deserialize, JsonSchema)]
struct Work {
    how: usize,
}

impl ToolCard for WorkTool {
    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async {
            let mut bound = BoundCard::new();
            bound.tools.push(Tool::new("work", "Works.", |work: Work, _: ToolCall| async move {
                match work.how {
                    0 => Err(ToolError::fatal("it broke")),
                    1..4 => Err(ToolError::retriable("not like this")),
                    how => {
                        tokio::time::sleep(Duration::from_micros(how as u64 * 100)).await;
                        Ok("done")
                    }
                }
            }));
            Ok(bound)
        })
    }
}

/// What agents say is drawn.
struct Drawn {
    dice: Arc<Dice>,
    agents: usize,
}

impl ModelSource for Drawn {
    fn model(&self, _: &ModelConfig, _: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let (dice, agents) = (Arc::clone(&self.dice), self.agents);
        Ok(Arc::new(FunctionModel::from_async(move |input| {
            let (delay, reply) = (dice.roll(20), reply(&dice, agents, &input));
            Box::pin(async move {
                tokio::time::sleep(Duration::from_micros(delay as u64 * 100)).await;
                reply
            })
        })))
    }
}

fn reply(
    dice: &Dice,
    agents: usize,
    input: &akgentic_llm::ModelInput,
) -> Result<ModelResponse, ModelError> {
    let after_tool = input.messages.last().and_then(|last| last.as_request()).is_some_and(|last| {
        last.parts.iter().any(|part| matches!(part, RequestPart::ToolReturn(_)))
    });
    let part = match dice.roll(100) {
        0 => return Err(ModelError::Usage("the model is gone".to_owned())),
        1 => ResponsePart::Text(TextPart::new("no output at all")),
        2..30 if !after_tool && !input.tools.is_empty() => {
            let args = json!({"how": dice.roll(20)}).to_string();
            ResponsePart::ToolCall(ToolCallPart::new("work", args, Uuid::new_v4().to_string()))
        }
        roll => {
            let recipient = match roll {
                30..32 => "Worker".to_owned(),
                32..34 => "@Nobody".to_owned(),
                34..45 => "@Human".to_owned(),
                45..85 => format!("@A{}", dice.roll(agents)),
                _ => String::new(),
            };
            let kinds = ["request", "response", "notification", "instruction", "acknowledgment"];
            let kind = kinds[dice.roll(kinds.len())];
            let message = json!({"message_type": kind, "recipient": recipient, "message": "x"});
            let messages = if recipient.is_empty() { vec![] } else { vec![message] };
            ResponsePart::Text(TextPart::new(json!({"messages": messages}).to_string()))
        }
    };
    let mut response = ModelResponse::new(vec![part]);
    response.usage = RequestUsage::tokens(10, 5);
    Ok(response)
}

/// A message and the member it is about.
type Key = (Uuid, Uuid);

/// What was sent and not dealt with yet.
#[derive(Default)]
struct Ledger(Mutex<Open>);

#[derive(Default)]
struct Open {
    waiting: HashMap<Key, (usize, usize)>,
    sent: u64,
    turns: u64,
    wrong: Vec<String>,
}

impl Open {
    fn close(&mut self, key: Key) -> bool {
        let Some((open, _)) = self.waiting.get_mut(&key) else { return false };
        *open -= 1;
        if *open == 0 {
            self.waiting.remove(&key);
        }
        true
    }
}

impl Subscriber for Ledger {
    fn on_message(&self, record: &Arc<Message>) -> Watched {
        let Some(by) = record.sender.as_ref().map(ActorAddress::agent_id) else { return Ok(()) };
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(body) = record.body::<SentMessage>() {
            open.sent += 1;
            let key = (body.message.id, body.recipient.agent_id());
            open.waiting.entry(key).or_default().0 += 1;
        } else if let Some(body) = record.body::<ReceivedMessage>() {
            if let Some((sent, received)) = open.waiting.get_mut(&(body.message_id, by)) {
                *received += 1;
                if *received > *sent {
                    open.wrong.push(format!("{} was delivered twice", body.message_id));
                }
            }
        } else if let Some(body) = record.body::<ProcessedMessage>() {
            open.turns += 1;
            if !open.close((body.message_id, by)) {
                open.wrong.push(format!("{} was processed, not sent", body.message_id));
            }
        } else if let Some(body) = record.body::<HandledMessage>()
            && !open.close((body.message_id, by))
        {
            // whoever could not deliver it closed it
            let id = body.message_id;
            let key = open.waiting.keys().find(|(message, _)| *message == id).copied();
            if !key.is_some_and(|key| open.close(key)) {
                open.wrong.push(format!("{id} was handled, not sent"));
            }
        }
        Ok(())
    }
}

impl Ledger {
    fn read<T>(&self, read: impl FnOnce(&Open) -> T) -> T {
        read(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How long everything may take to come to rest.
const REST: Duration = Duration::from_mins(1);

/// Soaks teams until the time is over; the error says what did not hold.
pub(crate) async fn soak(plan: Soak, dir: &Path) -> Result<Report, String> {
    let dice = Arc::new(Dice(AtomicU64::new(plan.seed)));
    let mut report = Report::default();
    let end = Instant::now() + plan.duration;
    loop {
        team(&plan, &dice, dir, &mut report).await?;
        report.teams += 1;
        report.memory.push(resident());
        if Instant::now() >= end {
            break;
        }
    }
    flat(&report.memory)?;
    Ok(report)
}

/// One team: disturbed, killed, brought back, disturbed, brought to rest.
async fn team(
    plan: &Soak,
    dice: &Arc<Dice>,
    dir: &Path,
    report: &mut Report,
) -> Result<(), String> {
    let number = report.teams;
    let (first, second) = (dir.join(format!("{number}a")), dir.join(format!("{number}b")));
    let system = system(dice, plan.agents);
    let team = system.create_team(BaseConfig::default(), Origin::default()).map_err(text)?;
    let log = EventLog::for_team(&first, &team, Fsync::Never).map_err(text)?;
    team.subscribe(Arc::new(log)).await.map_err(text)?;
    let ledger = Arc::new(Ledger::default());
    team.subscribe(Arc::<Ledger>::clone(&ledger)).await.map_err(text)?;
    let worker = AgentConfig::new("", "Worker", "You work.").with_tool(WorkTool {});
    let card = AgentCard::new("akgentic.agent.BaseAgent", "works", worker).map_err(text)?;
    team.register_agent_profile(card).await.map_err(text)?;
    let human = BaseConfig::new("@Human", "Human");
    team.create_actor::<HumanProxy>(human).await.map_err(text)?;
    for name in 0..plan.agents {
        let config = AgentConfig::new(format!("@A{name}"), "Agent", "You talk.");
        let config = config.with_tool(WorkTool {});
        team.create_actor::<BaseAgent>(config).await.map_err(text)?;
    }
    disturb(&team, &ledger, dice, plan).await?;
    // killed: what is on disk now is all there is
    std::fs::copy(&first, &second).map_err(text)?;
    system.shutdown(REST).await;
    drop(team);

    let system = self::system(dice, plan.agents);
    let contents = LogContents::read(&second).map_err(text)?;
    let log = EventLog::open(&second, &contents.header, Fsync::Never).map_err(text)?;
    let ledger = Arc::new(Ledger::default());
    let subscribers: Vec<Arc<dyn Subscriber>> = vec![Arc::new(log), Arc::<Ledger>::clone(&ledger)];
    let back = restore_team(&system, &contents, subscribers).await.map_err(text)?;
    drop(contents);
    if !back.report.failed.is_empty() {
        return Err(format!("not restored: {:?}", back.report.failed));
    }
    report.resumed += back.report.resumed.len();
    report.interrupted += back.report.interrupted.len();
    report.redelivered += back.report.redelivered.len();
    disturb(&back.team, &ledger, dice, plan).await?;
    rest(&back.team, &ledger).await?;
    let wrong = ledger.read(|open| open.wrong.first().cloned());
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    report.turns += ledger.read(|open| open.turns);
    report.sent += ledger.read(|open| open.sent);
    let abandoned = system.shutdown(REST).await;
    if !abandoned.is_empty() {
        return Err(format!("these did not stop: {abandoned:?}"));
    }
    std::fs::remove_file(first).and_then(|()| std::fs::remove_file(second)).map_err(text)
}

fn system(dice: &Arc<Dice>, agents: usize) -> ActorSystem {
    let system = ActorSystem::new();
    provide_models(&system, Drawn { dice: Arc::clone(dice), agents });
    system
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

/// Has people write, hire, fire, cancel and clear for half a life.
async fn disturb(
    team: &ActorRef<Orchestrator>,
    ledger: &Ledger,
    dice: &Dice,
    plan: &Soak,
) -> Result<(), String> {
    let end = Instant::now() + plan.half_life;
    let human = team.get_team_member("@Human").await.map_err(text)?.ok_or("no human")?;
    while Instant::now() < end {
        let members = team.get_team().await.map_err(text)?;
        let agents: Vec<&ActorAddress> =
            members.iter().filter(|member| !member.is_user_proxy()).collect();
        for _ in 0..50 {
            let agent = agents[dice.roll(agents.len())];
            let other = agents[dice.roll(agents.len())].name();
            let said = match dice.roll(100) {
                0..3 if members.len() < 2 * plan.agents => "/hire_member Worker".to_owned(),
                3..6 => format!("/fire_member {other}"),
                6..8 => "/clear".to_owned(),
                8..10 => "/compact".to_owned(),
                10..14 => {
                    // a member may have gone meanwhile
                    let _sent = human.send(agent, CancelMessage::default()).is_ok();
                    continue;
                }
                14 if agent.role() == "Worker" => {
                    agent.dismiss(REST).await.map_err(text)?;
                    continue;
                }
                _ => "go".to_owned(),
            };
            let _sent = human.send(agent, AgentMessage::new(Intent::Request, said)).is_ok();
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        while ledger.read(|open| open.waiting.len()) > 5 * plan.agents && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    Ok(())
}

/// Waits until everything that was sent is dealt with.
async fn rest(team: &ActorRef<Orchestrator>, ledger: &Ledger) -> Result<(), String> {
    let end = Instant::now() + REST;
    loop {
        team.get_team().await.map_err(text)?;
        let open = ledger.read(|open| open.waiting.len());
        if open == 0 {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("{open} messages were not dealt with in {} s", REST.as_secs()));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Resident memory of this process in MiB; 0 where the system does not tell.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) / 256
}

/// The last quarter of the teams takes no more than the second one did, within a third and 32 MiB.
fn flat(memory: &[usize]) -> Result<(), String> {
    if memory.len() < 8 {
        return Ok(());
    }
    let quarter = memory.len() / 4;
    let most = |teams: &[usize]| teams.iter().max().copied().unwrap_or(0);
    let (early, late) = (most(&memory[quarter..2 * quarter]), most(&memory[3 * quarter..]));
    if late > early + early / 3 + 32 {
        return Err(format!("memory grows: {early} MiB early, {late} MiB late ({memory:?})"));
    }
    Ok(())
}
