//! Teams of agents that are killed at any moment and come back from their log.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use akgentic_agent::{
    AgentConfig, AgentMessage, BaseAgent, HumanProxy, HumanSays, ModelSource, StructuredOutput,
    provide_models,
};
use akgentic_core::ActorRef;
use akgentic_core::log::{EventLog, Fsync, LogContents, RestoreReport, RestoredTeam, restore_team};
use akgentic_core::message::{
    EventMessage, HandledMessage, ProcessedMessage, ReceivedMessage, SentMessage, WarningMessage,
};
use akgentic_core::prelude::*;
use akgentic_llm::{
    FunctionModel, LlmEvent, Model, ModelConfig, ModelInput, ModelMessage, ModelResponse,
    RequestPart, ResponsePart, TextPart, ToolCallPart,
};
use akgentic_tool_core::{BindError, BoundCard, Observer, Tool, ToolCall, ToolCard, ToolError};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::world::latest_prompt;

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct LookTool {}
akgentic_tool_core::tool_card!(LookTool = "agent.it.LookTool");

impl ToolCard for LookTool {
    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async {
            let mut bound = BoundCard::new();
            bound.tools.push(Tool::new("look", "Looks.", |(): (), _: ToolCall| async {
                Ok::<_, ToolError>("it is there")
            }));
            Ok(bound)
        })
    }
}

/// What a role says to the latest prompt.
fn answer(role: &str, input: &ModelInput) -> ModelResponse {
    assert_clean(input);
    let prompt = latest_prompt(input);
    let after_tool = input.messages.last().and_then(|last| last.as_request()).is_some_and(|last| {
        last.parts.iter().any(|part| matches!(part, RequestPart::ToolReturn(_)))
    });
    let (_, content) = prompt.rsplit_once("\n\n").unwrap_or(("", &prompt));
    let say = |kind: &str, to: &str, text: &str| json!({"message_type": kind, "recipient": to, "message": text});
    let messages = match role {
        "Lead" if content == "build" && !after_tool => {
            let call = ToolCallPart::new("look", "{}", format!("c{}", input.messages.len()));
            return ModelResponse::new(vec![ResponsePart::ToolCall(call)]);
        }
        "Lead" if content == "build" => vec![
            say("request", "Dev", "part one"),
            say("request", "Dev", "part two"),
            say("notification", "@Human", "begun"),
        ],
        "Lead" if content.starts_with("done") => {
            vec![say("notification", "@Human", &format!("got {content}"))]
        }
        "Lead" if content.starts_with('/') => {
            vec![say("notification", "@Human", "no such"), say("notification", "@Human", "command")]
        }
        "Dev" if content.starts_with("part") => {
            vec![say("response", "@Lead", &format!("done with {content}"))]
        }
        _ => vec![say("response", "@Human", &format!("you said {content}"))],
    };
    let text = json!({"messages": messages}).to_string();
    ModelResponse::new(vec![ResponsePart::Text(TextPart::new(text))])
}

/// Every call has exactly one result, in the request after it.
fn assert_clean(input: &ModelInput) {
    let mut open: Vec<String> = Vec::new();
    for message in input.messages.iter() {
        match &**message {
            ModelMessage::Response(response) => {
                assert!(open.is_empty(), "unanswered: {open:?}");
                open.extend(response.tool_calls().map(|call| call.tool_call_id.clone()));
            }
            ModelMessage::Request(request) => {
                for part in &request.parts {
                    if let RequestPart::ToolReturn(part) = part {
                        let at = open.iter().position(|id| *id == part.tool_call_id);
                        open.remove(at.expect("a result without a call"));
                    }
                }
            }
        }
    }
    assert!(open.is_empty(), "unanswered: {open:?}");
}

struct ByRole;

impl ModelSource for ByRole {
    fn model(&self, _: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let role = agent.role().to_owned();
        Ok(Arc::new(FunctionModel::new(move |input| Ok(answer(&role, &input)))))
    }
}

/// Nobody has anything left to do: the clock is paused, so that sleeping waits for just that.
async fn idle(team: &ActorRef<Orchestrator>) {
    tokio::time::sleep(Duration::from_millis(1)).await;
    team.get_team().await.expect("drained");
}

async fn says(team: &ActorRef<Orchestrator>, to: &str, content: &str) {
    let human = team.get_team_member("@Human").await.expect("asked").expect("a human");
    let human = ActorRef::<HumanProxy>::new(&human).expect("typed");
    let says = HumanSays { to: to.to_owned(), content: content.to_owned() };
    assert!(human.ask(says).await.expect("said"), "there is no {to}");
}

/// A busy conversation; the bytes of its log.
async fn conversation(path: &Path) -> Vec<u8> {
    let system = ActorSystem::new();
    provide_models(&system, ByRole);
    let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
    let log = EventLog::for_team(path, &team, Fsync::Never).expect("a log");
    team.subscribe(Arc::new(log)).await.expect("subscribed");
    for role in ["Dev", "Writer"] {
        let config = AgentConfig::new("", role, format!("You are a {role}."));
        let card = AgentCard::new("akgentic.agent.BaseAgent", "works", config).expect("a card");
        team.register_agent_profile(card).await.expect("registered");
    }
    team.create_actor::<HumanProxy>(BaseConfig::new("@Human", "Human")).await.expect("human");
    let lead = AgentConfig::new("@Lead", "Lead", "You lead.").with_tool(LookTool {});
    team.create_and_wait::<BaseAgent>(lead).await.expect("an agent");
    says(&team, "@Lead", "/team_members").await;
    says(&team, "@Lead", "build").await;
    says(&team, "@Lead", "/hire_member Writer @Ann").await;
    idle(&team).await;
    says(&team, "@Ann", "write").await;
    says(&team, "@Lead", "/nonsense").await;
    idle(&team).await;
    let bytes = fs::read(path).expect("a log");
    system.shutdown(Duration::from_secs(10)).await;
    bytes
}

async fn back(path: &Path) -> (ActorSystem, RestoredTeam) {
    let system = ActorSystem::new();
    provide_models(&system, ByRole);
    let contents = LogContents::read(path).expect("a log");
    assert!(contents.bad_lines.is_empty(), "{:?}", contents.bad_lines);
    let log = EventLog::open(path, &contents.header, Fsync::Never).expect("goes on");
    let team = restore_team(&system, &contents, vec![Arc::new(log)]).await.expect("restored");
    assert_eq!(team.report.failed, []);
    (system, team)
}

/// A message and the member it is about.
type Key = (Uuid, Uuid);

/// What is on record about every message and every output.
#[derive(Default)]
struct Tally {
    sent: HashMap<Key, usize>,
    received: HashMap<Key, usize>,
    processed: HashMap<Key, usize>,
    handled: HashMap<Key, usize>,
    /// What each agent's outputs want to be said, and what each agent said.
    wanted: BTreeMap<String, Vec<String>>,
    said: BTreeMap<String, Vec<String>>,
    /// Turns that ended with a warning.
    cut_off: usize,
}

impl Tally {
    fn of(path: &Path) -> Self {
        let mut tally = Self::default();
        for record in LogContents::read(path).expect("a log").messages {
            let Some(sender) = record.sender.clone() else { continue };
            let id = sender.agent_id();
            if let Some(body) = record.body::<SentMessage>() {
                *tally.sent.entry((body.message.id, body.recipient.agent_id())).or_default() += 1;
                if let Some(said) = body.message.body::<AgentMessage>()
                    && !sender.is_user_proxy()
                {
                    tally.said.entry(sender.name().into()).or_default().push(said.content.clone());
                }
            } else if let Some(body) = record.body::<ReceivedMessage>() {
                *tally.received.entry((body.message_id, id)).or_default() += 1;
            } else if let Some(body) = record.body::<ProcessedMessage>() {
                *tally.processed.entry((body.message_id, id)).or_default() += 1;
            } else if let Some(body) = record.body::<HandledMessage>() {
                *tally.handled.entry((body.message_id, id)).or_default() += 1;
            } else if record.body::<WarningMessage>().is_some() {
                tally.cut_off += 1;
            } else if let Some(event) = record.body::<EventMessage>()
                && let Some(LlmEvent::Message(event)) = LlmEvent::from_value(&event.event)
                && let ModelMessage::Response(response) = &*event.message
                && let Ok(output) = serde_json::from_str::<StructuredOutput>(&response.text())
            {
                let wanted = output.messages.into_iter().map(|request| request.message);
                tally.wanted.entry(sender.name().into()).or_default().extend(wanted);
            }
        }
        tally
    }

    /// Everything that was sent is closed, once; everything an output wanted said was said, once.
    fn check(mut self, at: usize) {
        for (key, sent) in &self.sent {
            let count = |counts: &HashMap<Key, usize>| counts.get(key).copied().unwrap_or_default();
            assert_eq!(count(&self.processed) + count(&self.handled), *sent, "line {at}: {key:?}");
            assert!(count(&self.received) <= *sent, "line {at}: {key:?} was delivered twice");
        }
        let is_reply = |text: &String| {
            text.starts_with("**Team members")
                || text.starts_with("Hired ")
                || text.starts_with("Cleared ")
                || text.contains(" was cut off in the middle of its work ")
        };
        for said in self.said.values_mut() {
            said.retain(|text| !is_reply(text));
            said.sort();
        }
        self.said.retain(|_, said| !said.is_empty());
        for wanted in self.wanted.values_mut() {
            wanted.sort();
        }
        assert_eq!(self.said, self.wanted, "line {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_team_of_agents_killed_after_any_record_goes_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let bytes = conversation(&dir.path().join("whole.jsonl")).await;
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let ends: Vec<usize> = ends.map(|(at, _)| at + 1).collect();
    assert!(ends.len() > 70, "{} lines", ends.len());
    let path = dir.path().join("cut.jsonl");
    let (mut resumed, mut interrupted) = (0, 0);
    for (line, end) in ends.into_iter().enumerate() {
        fs::write(&path, &bytes[..end]).expect("killed");
        let (system, team) = back(&path).await;
        idle(&team.team).await;
        resumed += team.report.resumed.len();
        interrupted += team.report.interrupted.len();
        let is_there = team.team.get_team_member("@Lead").await.expect("asked").is_some();
        if is_there {
            says(&team.team, "@Lead", "what now").await;
            idle(&team.team).await;
        }
        let after = fs::read(&path).expect("a log");
        system.shutdown(Duration::from_secs(10)).await;
        fs::write(&path, after).expect("killed again");
        let tally = Tally::of(&path);
        assert_eq!(tally.cut_off, team.report.interrupted.len(), "line {line}");
        if is_there {
            let last = tally.said["@Lead"].last().expect("an answer");
            assert_eq!(last, "you said what now", "line {line}");
        }
        tally.check(line);
        if line % 8 > 0 {
            continue;
        }
        let (system, again) = back(&path).await;
        let RestoreReport { redelivered, interrupted, resumed, undeliverable, .. } = again.report;
        assert_eq!((redelivered, interrupted), (vec![], vec![]), "line {line}");
        assert_eq!((resumed, undeliverable), (vec![], vec![]), "line {line}");
        system.shutdown(Duration::from_secs(10)).await;
    }
    assert!(resumed > 5 && interrupted > 10, "{resumed} resumed, {interrupted} interrupted");
}

#[tokio::test(start_paused = true)]
async fn what_was_cut_off_is_told_to_the_model_and_the_human_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let bytes = conversation(&path).await;
    // in the first run, when the tool was called
    let text = String::from_utf8(bytes).expect("text");
    let mut cut = String::new();
    for line in text.lines() {
        cut.push_str(line);
        cut.push('\n');
        if line.contains("ToolCallEvent") {
            break;
        }
    }
    fs::write(&path, cut).expect("killed");
    for _ in 0..2 {
        let (system, team) = back(&path).await;
        idle(&team.team).await;
        let bytes = fs::read(&path).expect("a log");
        system.shutdown(Duration::from_secs(10)).await;
        fs::write(&path, bytes).expect("killed again");
    }
    let text = fs::read_to_string(&path).expect("a log");
    let told = "**Interrupted turn** - your work on a request";
    assert_eq!(
        text.lines().filter(|line| line.contains(told)).count(),
        1,
        "the model is told once"
    );
    let notices = text.lines().filter(|line| {
        line.contains("SentMessage") && line.contains("@Lead was cut off in the middle of its work")
    });
    assert_eq!(notices.count(), 1, "the human is told once");
}
