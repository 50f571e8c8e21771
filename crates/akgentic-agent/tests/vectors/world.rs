//! A team with scripted models, as the traces describe it.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use akgentic_agent::{
    AgentConfig, AgentMessage, BaseAgent, CancelGranularity, CustomAgent, HumanProxy, ModelSource,
    TriageMessage, provide_models,
};
use akgentic_core::ActorRef;
use akgentic_core::log::{EventLog, Fsync};
use akgentic_core::message::CancelMessage;
use akgentic_core::orchestrator::Watched;
use akgentic_core::prelude::*;
use akgentic_core::wire::load_record;
use akgentic_llm::{
    FunctionModel, Model, ModelConfig, ModelInput, ModelResponse, RequestUsage, ResponsePart,
    TextPart, ToolArgs, ToolCallPart,
};
use akgentic_team::HireNumbers;
use akgentic_tool_core::ToolDefinition;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agents::{Audit, AuditAgent, StrictAgent, TestTool};
use crate::notation::{Labels, request_part};

/// What scripted models were asked, what they answer, whom they know.
#[derive(Default)]
pub(crate) struct Script {
    replies: HashMap<String, VecDeque<Value>>,
    /// The answer when a script is used up.
    pub(crate) fallback: Value,
    pub(crate) requests: HashMap<String, Vec<Value>>,
    /// The tools of the last request.
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) members: HashMap<String, ActorAddress>,
    pub(crate) labels: Labels,
    ids: HashMap<String, Uuid>,
}

#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Script>>);

impl Shared {
    pub(crate) fn new(script: &Value, fallback: Value) -> Self {
        let replies = script.as_object().into_iter().flatten().map(|(model, entries)| {
            (model.clone(), entries.as_array().expect("entries").iter().cloned().collect())
        });
        let script = Script { replies: replies.collect(), fallback, ..Script::default() };
        Self(Arc::new(Mutex::new(script)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Script> {
        self.0.lock().expect("lock")
    }

    fn reply(&self, model: &str, input: &ModelInput) -> ModelResponse {
        let seen = since_last_reply(input);
        let mut script = self.lock();
        script.requests.entry(model.to_owned()).or_default().push(seen);
        script.tools = input.tools.to_vec();
        let next = script.replies.get_mut(model).and_then(VecDeque::pop_front);
        let next = next.unwrap_or_else(|| script.fallback.clone());
        drop(script);
        for message in next["during"].as_array().into_iter().flatten() {
            self.send(message);
        }
        self.response(&next)
    }

    fn response(&self, reply: &Value) -> ModelResponse {
        let part = |part: &Value| {
            if let Some(output) = part.get("output") {
                return ResponsePart::Text(TextPart::new(output.to_string()));
            }
            if let Some(text) = part["text"].as_str() {
                return ResponsePart::Text(TextPart::new(text));
            }
            let (name, id) = (part["tool_call"].as_str(), part["id"].as_str());
            let mut call = ToolCallPart::new(name.expect("a name"), "", id.expect("an id"));
            call.args = ToolArgs::Object(self.resolved(&part["args"]));
            ResponsePart::ToolCall(call)
        };
        let parts = reply["respond"].as_array().expect("parts").iter().map(part).collect();
        let mut response = ModelResponse::new(parts);
        let tokens = |key: &str, default| reply["usage"][key].as_u64().unwrap_or(default);
        response.usage = RequestUsage::tokens(tokens("input", 10), tokens("output", 5));
        response
    }

    /// Arguments in which `$label` stands for the id of a message.
    fn resolved(&self, args: &Value) -> serde_json::Map<String, Value> {
        let script = self.lock();
        let resolve = |value: &Value| match value.as_str().and_then(|text| text.strip_prefix('$')) {
            Some(label) => script.ids.get(label).map_or(value.clone(), |id| json!(id)),
            None => value.clone(),
        };
        let args = args.as_object().expect("arguments").iter();
        args.map(|(key, value)| (key.clone(), resolve(value))).collect()
    }

    /// Sends a message of the input from the member that it names.
    pub(crate) fn send(&self, message: &Value) {
        let text = |key: &str| message[key].as_str().map(str::to_owned);
        let body: Message = match text("class").as_deref() {
            None | Some("AgentMessage") => {
                let kind = message.get("type").cloned().unwrap_or(json!("request"));
                let intent = serde_json::from_value(kind).expect("a type");
                AgentMessage::new(intent, text("content").unwrap_or_default()).into()
            }
            Some("CancelMessage") => {
                CancelMessage { reason: text("reason").unwrap_or_default() }.into()
            }
            Some("UserMessage") => {
                UserMessage { content: text("content").unwrap_or_default() }.into()
            }
            Some("TriageMessage") => TriageMessage {
                incident: text("incident").expect("an incident"),
                reported_by: text("reported_by").unwrap_or("unknown".to_owned()),
            }
            .into(),
            Some(other) => panic!("unknown message class {other}"),
        };
        let mut script = self.lock();
        if let Some(label) = text("label") {
            script.labels.known.insert(body.id, label.clone());
            script.ids.insert(label, body.id);
        }
        let member = |key: &str| script.members[&text(key).expect("a name")].clone();
        let (from, to) = (member("from"), member("to"));
        drop(script);
        from.send(&to, body).expect("sent");
    }
}

impl ModelSource for Shared {
    fn model(&self, config: &ModelConfig, _: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let (shared, name) = (self.clone(), config.model.clone());
        Ok(Arc::new(FunctionModel::new(move |input| Ok(shared.reply(&name, &input)))))
    }
}

/// The parts sent since the last reply.
fn since_last_reply(input: &ModelInput) -> Value {
    let last = input.messages.iter().rposition(|message| message.as_request().is_none());
    let fresh = input.messages.iter().skip(last.map_or(0, |last| last + 1));
    let parts = fresh.filter_map(|message| message.as_request()).flat_map(|one| &one.parts);
    parts.map(|part| request_part(part, false)).collect()
}

/// Hired members are numbered from 100.
struct FromHundred;

impl HireNumbers for FromHundred {
    fn next(&self) -> u32 {
        100
    }
}

/// Everything a team recorded.
#[derive(Clone, Default)]
pub(crate) struct Records(pub(crate) Arc<Mutex<Vec<Arc<Message>>>>);

impl Subscriber for Records {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        self.0.lock().expect("lock").push(Arc::clone(message));
        Ok(())
    }
}

pub(crate) struct World {
    pub(crate) system: ActorSystem,
    pub(crate) team: ActorRef<Orchestrator>,
    pub(crate) records: Records,
    pub(crate) shared: Shared,
    pub(crate) audit: Audit,
}

/// A system in which teams of the traces can live.
pub(crate) fn system(shared: &Shared) -> (ActorSystem, Audit) {
    let system = ActorSystem::new();
    provide_models(&system, shared.clone());
    system.provide::<Arc<dyn HireNumbers>>(Arc::new(FromHundred));
    let audit = Audit::default();
    system.provide(audit.clone());
    (system, audit)
}

impl World {
    pub(crate) async fn new(input: &Value, shared: Shared, log: Option<&Path>) -> Self {
        let (system, audit) = system(&shared);
        let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
        if let Some(path) = log {
            let log = EventLog::for_team(path, &team, Fsync::Never).expect("a log");
            team.subscribe(Arc::new(log)).await.expect("subscribed");
        }
        let records = Records::default();
        team.subscribe(Arc::new(records.clone())).await.expect("subscribed");
        for role in input["catalog"].as_array().into_iter().flatten() {
            let config = json!({"role": role["role"], "model_cfg": {"model": role["model"]}});
            let config: AgentConfig = load_record(config).expect("a configuration");
            let card = AgentCard::new("akgentic.agent.BaseAgent", "works", config).expect("a card");
            team.register_agent_profile(card).await.expect("registered");
        }
        let world = Self { system, team, records, shared, audit };
        for member in input["team"].as_array().expect("a team") {
            world.member(member).await;
        }
        world.idle().await;
        world
    }

    pub(crate) async fn member(&self, member: &Value) {
        let text = |key: &str| member[key].as_str().unwrap_or_default();
        let (name, role) = (text("name"), text("role"));
        let address = match text("class") {
            "HumanProxy" => {
                let human = BaseConfig::new(name, role);
                let human = self.team.create_and_wait::<HumanProxy>(human).await;
                human.expect("a human").address().clone()
            }
            class => {
                let config = agent_config(member);
                let team = &self.team;
                match class {
                    "BaseAgent" => team.create_and_wait::<BaseAgent>(config).await.map(address),
                    "CustomAgent" => team.create_and_wait::<CustomAgent>(config).await.map(address),
                    "StrictAgent" => team.create_and_wait::<StrictAgent>(config).await.map(address),
                    "AuditAgent" => team.create_and_wait::<AuditAgent>(config).await.map(address),
                    other => panic!("unknown class {other}"),
                }
                .expect("an agent")
            }
        };
        self.shared.lock().members.insert(name.to_owned(), address);
    }

    /// Nobody has mail or a running turn.
    pub(crate) async fn idle(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.team.get_team().await.expect("drained");
    }

    /// Sends the inbox of a case, and waits until everything was dealt with.
    pub(crate) async fn play(&self, inbox: &Value) {
        for entry in inbox.as_array().expect("an inbox") {
            if entry.get("wait").is_some() {
                self.idle().await;
            } else if let Some(input) = entry.get("human_input") {
                self.idle().await;
                self.human_input(input).await;
            } else {
                self.shared.send(entry);
            }
        }
        self.idle().await;
    }

    async fn human_input(&self, input: &Value) {
        let text = |key: &str| input[key].as_str().expect("text").to_owned();
        let human = self.shared.lock().members[&text("as")].clone();
        let human = ActorRef::<HumanProxy>::new(&human).expect("a human");
        let answered = self.sent(&text("answers"));
        let input = akgentic_core::HumanInput { content: text("content"), message: answered };
        human.ask(input).await.expect("answered");
    }

    /// The message with this label, as it was recorded.
    fn sent(&self, label: &str) -> Arc<Message> {
        let records = self.records.0.lock().expect("lock").clone();
        let mut script = self.shared.lock();
        crate::notation::events(&records, &mut script.labels);
        let sent = records
            .iter()
            .filter_map(|record| record.body::<akgentic_core::message::SentMessage>());
        let known = &script.labels.known;
        let mut sent = sent.map(|sent| Arc::clone(&sent.message));
        let found = sent.find(|message| known.get(&message.id).is_some_and(|is| is == label));
        found.unwrap_or_else(|| panic!("no message {label}"))
    }

    pub(crate) async fn end(&self) {
        self.system.shutdown(Duration::from_secs(10)).await;
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps what a creation gives")]
fn address<A: Actor>(actor: ActorRef<A>) -> ActorAddress {
    actor.address().clone()
}

pub(crate) fn agent_config(member: &Value) -> AgentConfig {
    let mut config = json!({
        "name": member["name"],
        "role": member["role"],
        "prompt": {"template": "You are a tester."},
        "model_cfg": {"model": member["model"]},
    });
    for (key, value) in member["config"].as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    let mut cards = Vec::new();
    if let Some(mailbox) = member["mailbox"].as_object() {
        let mut card = mailbox.clone();
        let marker = json!("akgentic.tool.mailbox.mailbox.MailboxTool");
        card.insert("__model__".to_owned(), marker);
        cards.push(Value::Object(card));
    }
    config["tools"] = Value::Array(cards);
    let mut config: AgentConfig = load_record(config).expect("a configuration");
    config.options.cancel = CancelGranularity::Step;
    let offers = member["tools"].as_array().into_iter().flatten();
    let offers: Vec<String> =
        offers.map(|tool| tool.as_str().expect("a name").to_owned()).collect();
    if !offers.is_empty() {
        config.tools.push(TestTool { offers }.into());
    }
    config
}
