//! Topics that run real actors: `telemetry`, `mailbox`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_core::message::{
    EventMessage, HandledMessage, NotificationMessage, ProcessedMessage, ReceivedMessage,
    SentMessage, StateChangedMessage,
};
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use akgentic_core::state::StateSlot;
use akgentic_core::wire::AnyValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use uuid::Uuid;

use akgentic_testkit::Case;

const WAIT: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct WorkState {
    #[serde(default)]
    n: i64,
    #[serde(default)]
    items: Vec<String>,
}
state!(WorkState = "vec.it.WorkState");

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Work {
    actions: Vec<Value>,
}
message!(Work = "vec.it.Work");

struct Worker {
    state: Tracked<WorkState>,
    peer: Option<ActorAddress>,
}
agent_type!(Worker = "vec.it.Worker");

/// Request: who to send to.
struct SetPeer(ActorAddress);
/// Request: the same actions as a remote call.
struct Act(Vec<Value>);

impl Worker {
    fn act(&mut self, actions: &[Value], ctx: &mut Context) -> Result<i64, ActorError> {
        for action in actions {
            match action["do"].as_str().expect("an action") {
                "set" => self.state.n = action["n"].as_i64().expect("n"),
                "append" => {
                    self.state.items.push(action["v"].as_str().expect("v").to_owned());
                }
                "notify" => {
                    let published = self.state.notify();
                    ctx.publish(published);
                }
                "notify_if_changed" => ctx.notify_if_changed(&mut self.state),
                "event" => ctx.notify_event(
                    AnyValue::from_serialize(&action["v"]).map_err(ActorError::from)?,
                ),
                "init_state" => {
                    let state = WorkState { n: action["n"].as_i64().expect("n"), items: vec![] };
                    let published = self.state.replace(state);
                    ctx.publish(published);
                }
                "update" => {
                    let changes = action["v"].as_object().cloned().unwrap_or_default();
                    ctx.update_state(&mut self.state, changes);
                }
                "send" => {
                    let peer = self.peer.clone().expect("a peer");
                    ctx.send(&peer, Work { actions: vec![] })?;
                }
                "raise" => return Err(ActorError::new("ValueError", "boom")),
                "warn" => return Err(ActorError::warning("careful")),
                other => panic!("unknown action {other}"),
            }
        }
        Ok(i64::try_from(actions.len()).expect("few actions"))
    }
}

impl Actor for Worker {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self { state: Tracked::new(WorkState::default()), peer: None })
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<Work>(|this, message, ctx| {
            Box::pin(async move {
                let actions = message.body().actions.clone();
                Ok(Outcome::Handled(this.act(&actions, ctx)?.into()))
            })
        });
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        ctx.observe(&mut self.state);
        Ok(())
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        Some(&mut self.state)
    }
}

impl Handle<SetPeer> for Worker {
    type Reply = ();

    async fn handle(&mut self, request: SetPeer, _: &mut Context) -> Result<(), ActorError> {
        self.peer = Some(request.0);
        Ok(())
    }
}

impl Handle<Act> for Worker {
    type Reply = i64;

    async fn handle(&mut self, request: Act, ctx: &mut Context) -> Result<i64, ActorError> {
        self.act(&request.0, ctx)
    }
}

pub(crate) fn telemetry(case: &Case) -> Result<(), String> {
    akgentic_testkit::block_on(replay_telemetry(&case.input, &case.expect))
}

async fn replay_telemetry(input: &Value, expect: &Value) -> Result<(), String> {
    let system = ActorSystem::new();
    let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
    let seen = Arc::new(Mutex::new(Vec::<Arc<Message>>::new()));
    let sink = Arc::clone(&seen);
    let watch = move |message: &Arc<Message>| sink.lock().expect("lock").push(Arc::clone(message));
    team.subscribe(Arc::new(watch)).await.expect("subscribed");
    let peer = team.create_actor::<Worker>(BaseConfig::new("@p", "Peer")).await.expect("peer");
    let worker =
        team.create_actor::<Worker>(BaseConfig::new("@w", "Worker")).await.expect("worker");
    worker.ask(SetPeer(peer.address().clone())).await.expect("set");
    team.get_team().await.expect("the orchestrator has seen the start");

    let deliveries = input["deliveries"].as_array().expect("deliveries");
    let mut ids: Vec<Option<Uuid>> = Vec::new();
    let mut replies = Vec::new();
    let mut emitted: Vec<Vec<Arc<Message>>> = Vec::new();
    let taken = || -> Vec<Arc<Message>> {
        let mut seen = std::mem::take(&mut *seen.lock().expect("lock"));
        seen.retain(|message| message.sender.as_ref() == Some(worker.address()));
        seen
    };
    let start = taken();
    for delivery in deliveries {
        let actions = delivery["actions"].as_array().expect("actions").clone();
        let mut id = None;
        let reply = match delivery["via"].as_str().expect("via") {
            "tell" => {
                let message = Message::new(Work { actions });
                id = Some(message.id);
                worker.address().tell(message).expect("told");
                Value::Null
            }
            "ask" => {
                let message = Message::new(Work { actions });
                id = Some(message.id);
                match worker.address().ask(message, WAIT).await {
                    Ok(value) => json!({"value": value.to_json()}),
                    Err(CallError::Failed(error)) => json!({"error": error.content_type()}),
                    Err(error) => panic!("{error}"),
                }
            }
            "proxy_ask" => match worker.ask(Act(actions)).await {
                Ok(value) => json!({"value": value}),
                Err(CallError::Failed(error)) => json!({"error": error.content_type()}),
                Err(error) => panic!("{error}"),
            },
            "proxy_tell" => {
                worker.tell(Act(actions)).expect("told");
                Value::Null
            }
            other => panic!("unknown delivery {other}"),
        };
        ids.push(id);
        replies.push(reply);
        // Drained: a call queued behind has been answered.
        worker.ask(Act(vec![])).await.expect("drained");
        team.get_team().await.expect("the orchestrator has seen all");
        emitted.push(taken());
    }
    let alive = worker.ask(Act(vec![])).await.is_ok();
    let about = |id: Uuid| {
        ids.iter().position(|known| *known == Some(id)).map_or(Value::Null, |at| json!(at))
    };
    let mut shown_all: Vec<Value> = start.iter().map(|message| shown(message, &about)).collect();
    for (delivery, emitted) in deliveries.iter().zip(&emitted) {
        let mut emitted: Vec<Value> =
            emitted.iter().map(|message| shown(message, &about)).collect();
        if delivery["via"] == "proxy_tell" {
            take_call_failure(delivery, &mut emitted)?;
        }
        shown_all.append(&mut emitted);
    }
    compare_emitted(&shown_all, expect["emitted"].as_array().expect("emitted"))?;
    if json!(replies) != expect["replies"] {
        return Err(format!("replies {replies:?}, expected {}", expect["replies"]));
    }
    if json!(alive) != expect["alive_after"] {
        return Err(format!("alive after: {alive}"));
    }
    system.shutdown(WAIT).await;
    Ok(())
}

fn shown(message: &Message, about: &dyn Fn(Uuid) -> Value) -> Value {
    let parent = message.parent_id.map_or(Value::Null, about);
    let mut entry = json!({"type": message.class_name(), "parent": parent});
    if let Some(body) = message.body::<ReceivedMessage>() {
        entry["about"] = about(body.message_id);
    } else if let Some(body) = message.body::<ProcessedMessage>() {
        entry["about"] = about(body.message_id);
    } else if let Some(body) = message.body::<StateChangedMessage>() {
        let mut state = body.state.to_json();
        state.as_object_mut().expect("a map").shift_remove("__model__");
        entry["state"] = state;
    } else if let Some(body) = message.body::<EventMessage>() {
        entry["event"] = body.event.to_json();
    } else if let Some(body) = message.body::<SentMessage>() {
        entry["recipient"] = json!(body.recipient.name());
        entry["message_parent"] = body.message.parent_id.map_or(Value::Null, about);
    } else if let Some(body) = message.body::<NotificationMessage>() {
        entry["content_type"] = json!(body.content_type);
        entry["content"] = json!(body.content);
        let current = body.current_message.as_ref();
        entry["current"] = current.map_or(Value::Null, |current| about(current.id));
    }
    entry
}

/// Takes out what a failed call that nobody waits for has to leave behind; the vectors, where such
/// a failure vanishes, do not list it.
fn take_call_failure(delivery: &Value, emitted: &mut Vec<Value>) -> Result<(), String> {
    let actions = delivery["actions"].as_array().expect("actions").iter();
    let failed =
        actions.map(|action| &action["do"]).find(|what| *what == "raise" || *what == "warn");
    let Some(failed) = failed else { return Ok(()) };
    let (kind, class, text) = match failed.as_str() {
        Some("raise") => ("ErrorMessage", "ValueError", "boom"),
        _ => ("WarningMessage", "WarningError", "careful"),
    };
    let wanted = json!({
        "type": kind, "parent": null, "content_type": class, "content": text, "current": null,
    });
    match emitted.pop() {
        Some(last) if last == wanted => Ok(()),
        last => Err(format!("a failed call left {last:?}, expected {wanted}")),
    }
}

/// Compares field by field where the vector lists one; texts only count for the two failures the
/// vectors raise themselves.
fn compare_emitted(emitted: &[Value], expect: &[Value]) -> Result<(), String> {
    for (entry, wanted) in emitted.iter().zip(expect) {
        let fits = wanted.as_object().expect("a map").iter().all(|(key, value)| {
            let free = matches!(key.as_str(), "content" | "content_type")
                && wanted["content"] != "boom"
                && wanted["content"] != "careful";
            free || entry[key] == *value
        });
        if !fits {
            return Err(format!("emitted {entry}, expected {wanted}"));
        }
    }
    let longer = if emitted.len() > expect.len() { emitted } else { expect };
    match longer.get(emitted.len().min(expect.len())) {
        Some(odd) => Err(format!("{} emitted, {} expected: {odd}", emitted.len(), expect.len())),
        None => Ok(()),
    }
}

/// An actor that looks into its inbox while it is busy.
struct Busy {
    entered: Option<oneshot::Sender<()>>,
    go_on: Arc<Notify>,
    consume: Vec<Uuid>,
    report: Arc<Mutex<Report>>,
}
agent_type!(Busy = "vec.it.Busy");

#[derive(Debug, Default)]
struct Report {
    pending: Vec<Uuid>,
    removed: Vec<Uuid>,
    left: Vec<Uuid>,
    then: Vec<Option<Uuid>>,
}

/// Request: be busy until told to go on.
struct BeBusy;
/// Request that only stands in the queue.
struct InQueue;

impl Actor for Busy {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Err(ActorError::new("TypeError", "made by the test only"))
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<Work>(|this, message, _| {
            this.report.lock().expect("lock").then.push(Some(message.id));
            Box::pin(async { Ok(Outcome::done()) })
        });
    }

    async fn receive_value(&mut self, _: AnyValue, _: &mut Context) -> Result<Outcome, ActorError> {
        self.report.lock().expect("lock").then.push(None);
        Ok(Outcome::done())
    }
}

impl Handle<BeBusy> for Busy {
    type Reply = ();

    async fn handle(&mut self, _: BeBusy, ctx: &mut Context) -> Result<(), ActorError> {
        self.entered.take().expect("once").send(()).expect("somebody waits");
        self.go_on.notified().await;
        let ids = |messages: Vec<Arc<Message>>| messages.iter().map(|message| message.id).collect();
        let pending = ids(ctx.get_mailbox());
        let removed = ids(ctx.consume_mailbox(&self.consume));
        let left = ids(ctx.get_mailbox());
        let mut report = self.report.lock().expect("lock");
        (report.pending, report.removed, report.left) = (pending, removed, left);
        Ok(())
    }
}

impl Handle<InQueue> for Busy {
    type Reply = ();

    async fn handle(&mut self, _: InQueue, _: &mut Context) -> Result<(), ActorError> {
        Ok(())
    }
}

pub(crate) fn mailbox(case: &Case) -> Result<(), String> {
    akgentic_testkit::block_on(replay_mailbox(&case.input, &case.expect))
}

async fn replay_mailbox(input: &Value, expect: &Value) -> Result<(), String> {
    let system = ActorSystem::new();
    let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
    let queue = input["queue"].as_array().expect("queue");
    let id_of = |name: &str| Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes());
    let consume: Vec<Uuid> = texts(&input["consume"]).iter().map(|name| id_of(name)).collect();
    let (entered, inside) = oneshot::channel();
    let go_on = Arc::new(Notify::new());
    let report = Arc::new(Mutex::new(Report::default()));
    let busy = Busy {
        entered: Some(entered),
        go_on: Arc::clone(&go_on),
        consume,
        report: Arc::clone(&report),
    };
    let config = BaseConfig::new("@busy", "Busy");
    let busy = team.create_actor_with(config, |_| Ok(busy)).await.expect("created");
    busy.tell(BeBusy).expect("told");
    inside.await.expect("busy now");

    let mut asks = Vec::new();
    for entry in queue {
        let message = || {
            let mut message = Message::new(Work { actions: vec![] });
            message.id = id_of(entry["id"].as_str().expect("an id"));
            message
        };
        match entry["kind"].as_str().expect("a kind") {
            "message" => busy.address().tell(message()).expect("told"),
            "ask" => {
                let (address, message) = (busy.address().clone(), message());
                let mut ask = Box::pin(async move { address.ask(message, WAIT).await });
                // The first poll puts the entry into the queue.
                assert!(futures_util::poll!(&mut ask).is_pending());
                asks.push(ask);
            }
            "call" => busy.tell(InQueue).expect("told"),
            "plain" => busy.address().tell_value("plain").expect("told"),
            other => panic!("unknown kind {other}"),
        }
    }
    go_on.notify_one();
    for ask in asks {
        ask.await.expect("answered");
    }
    busy.ask(InQueue).await.expect("drained");
    let records = team.get_messages(HistoryFilter::default()).await.expect("records");
    let handled: Vec<Uuid> = records
        .iter()
        .filter_map(|message| message.body::<HandledMessage>().map(|body| body.message_id))
        .collect();
    let report = std::mem::take(&mut *report.lock().expect("lock"));
    let want =
        |key: &str| -> Vec<Uuid> { texts(&expect[key]).iter().map(|name| id_of(name)).collect() };
    let then: Vec<Option<Uuid>> = texts(&expect["then_processed"])
        .iter()
        .filter(|name| *name != "call")
        .map(|name| (*name != "plain").then(|| id_of(name)))
        .collect();
    for (key, got) in [
        ("pending", &report.pending),
        ("removed", &report.removed),
        ("left", &report.left),
        ("handled", &handled),
    ] {
        if *got != want(key) {
            return Err(format!("{key}: {got:?}"));
        }
    }
    if report.then != then {
        return Err(format!("then processed: {:?}", report.then));
    }
    system.shutdown(WAIT).await;
    Ok(())
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().expect("a list");
    list.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
}
