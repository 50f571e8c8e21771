//! What actors publish of themselves, and when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use akgentic_core::message::{
    ErrorMessage, NotificationMessage, StateChangedMessage, StopRecursively,
};
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::prelude::*;
use akgentic_core::state::StateSlot;
use akgentic_core::wire::{AnyValue, WireType as _};
use akgentic_testkit::Logs;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use crate::parts::{Hire, Member, Records, Report, WAIT, a_team, act, text};
use crate::restore::{logged, restored};

/// A state that knows a colleague, or cannot be written.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Notes {
    #[serde(default)]
    count: i64,
    #[serde(default)]
    friend: Option<ActorAddress>,
    #[serde(default, serialize_with = "unless_bad")]
    bad: bool,
}
state!(Notes = "it.Notes");

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn unless_bad<S: Serializer>(bad: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    assert!(!bad, "cannot be written");
    serializer.serialize_bool(*bad)
}

struct Keeper {
    notes: Tracked<Notes>,
    refuses: bool,
}
agent_type!(Keeper = "it.Keeper");

impl Actor for Keeper {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self { notes: Tracked::new(Notes::default()), refuses: false })
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|this, message, _| {
            Box::pin(async move {
                match message.body().content.as_str() {
                    "bad" => this.notes.bad = true,
                    "good" => this.notes.bad = false,
                    "refuse" => this.refuses = true,
                    "allow" => this.refuses = false,
                    _ => this.notes.count += 1,
                }
                Ok(Outcome::done())
            })
        });
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        ctx.observe(&mut self.notes);
        Ok(())
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        assert!(!self.refuses, "no state today");
        Some(&mut self.notes)
    }
}

/// Request: merge this into the state; gives count and friend.
struct Update(serde_json::Value);

impl Handle<Update> for Keeper {
    type Reply = (i64, Option<ActorAddress>);

    async fn handle(
        &mut self,
        update: Update,
        ctx: &mut Context,
    ) -> Result<Self::Reply, ActorError> {
        ctx.update_state(&mut self.notes, update.0.as_object().cloned().unwrap_or_default());
        Ok((self.notes.count, self.notes.friend.clone()))
    }
}

/// Request: remember a colleague and publish.
struct Befriend(ActorAddress);

impl Handle<Befriend> for Keeper {
    type Reply = ();

    async fn handle(&mut self, friend: Befriend, ctx: &mut Context) -> Result<(), ActorError> {
        self.notes.friend = Some(friend.0);
        ctx.notify_if_changed(&mut self.notes);
        Ok(())
    }
}

#[tokio::test]
async fn a_checkpoint_that_panics_leaves_the_actor_alive_and_its_turn_closed() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let keeper = team.create_actor::<Keeper>(BaseConfig::new("@k", "K")).await.expect("member");
    for (spoil, repair) in [("bad", "good"), ("refuse", "allow")] {
        for command in [spoil, "more", repair, "more"] {
            keeper.address().tell(text(command)).expect("told");
        }
        keeper.address().ask(text("more"), WAIT).await.expect("alive");
    }
    keeper.address().ask(text("bad"), WAIT).await.expect("alive");
    assert!(keeper.address().stop(WAIT).await.expect("stops all the same"));
    team.get_team().await.expect("drained");
    let counts: Vec<i64> = records
        .all()
        .iter()
        .filter_map(|record| Some(record.body::<StateChangedMessage>()?.state.clone()))
        .map(|state| state.as_any().downcast_ref::<Notes>().expect("notes").count)
        .collect();
    assert_eq!(counts, [0, 1, 2, 3, 4, 5, 6], "published as soon as that is possible again");
    let classes = records.classes_of("@k");
    let count = |wanted| classes.iter().filter(|class| **class == wanted).count();
    assert_eq!(count("ReceivedMessage"), 11);
    assert_eq!(count("ProcessedMessage"), 11);
    assert_eq!(classes.last(), Some(&"StopMessage"));
}

#[tokio::test]
async fn an_update_merges_coerces_and_resolves() {
    let (_system, team) = a_team().await;
    let keeper = team.create_actor::<Keeper>(BaseConfig::new("@k", "K")).await.expect("member");
    let friend = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let stranger = ActorAddress::proxy(friend.address().info().clone());
    let mut stranger = stranger.info().clone();
    stranger.agent_id = uuid::Uuid::new_v4();
    let stranger = ActorAddress::proxy(stranger);
    team.get_team().await.expect("drained");
    let records = Records::of(&team).await;

    let update = json!({"count": "7", "unknown": [1], "friend": friend.address()});
    let (count, found) = keeper.ask(Update(update)).await.expect("alive");
    assert_eq!(count, 7, "values are coerced, unknown keys ignored");
    let found = found.expect("a friend");
    assert!(found.is_live() && found == *friend.address(), "resolved by identity");
    let (count, found) = keeper.ask(Update(json!({"friend": stranger}))).await.expect("alive");
    assert_eq!(count, 7, "what is not named stays");
    let found = found.expect("an address");
    assert!(!found.is_live() && !found.is_alive() && found == stranger, "unknown is gone");

    let (count, found) =
        keeper.ask(Update(json!({"count": "many", "friend": null}))).await.expect("alive");
    assert_eq!((count, found), (7, Some(stranger)), "the old state is kept");
    team.get_team().await.expect("drained");
    assert_eq!(
        records.classes_of("@k"),
        ["StateChangedMessage", "StateChangedMessage", "ErrorMessage"]
    );
    let all = records.all();
    let error = all.iter().find_map(|record| record.body::<ErrorMessage>()).expect("an error");
    assert_eq!(error.notification.content_type.as_deref(), Some("ValidationError"));
    assert!(error.notification.content.contains("count"), "{}", error.notification.content);
}

#[tokio::test]
async fn a_state_with_a_live_address_is_published_as_a_snapshot() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let keeper = team.create_actor::<Keeper>(BaseConfig::new("@k", "K")).await.expect("member");
    let friend = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    keeper.ask(Befriend(friend.address().clone())).await.expect("alive");
    team.get_team().await.expect("drained");
    let all = records.all();
    let last = all
        .iter()
        .rev()
        .find(|record| record.sender.as_ref() == Some(keeper.address()))
        .and_then(|record| record.body::<StateChangedMessage>())
        .expect("published");
    let shown = last.state.as_any().downcast_ref::<Notes>().expect("notes");
    let shown = shown.friend.as_ref().expect("a friend");
    assert!(!shown.is_live() && *shown == *friend.address());
    // The owner keeps the live one.
    let (_, own) = keeper.ask(Update(json!({}))).await.expect("alive");
    assert!(own.expect("a friend").is_live());
}

#[tokio::test]
async fn an_address_in_a_restored_state_leads_to_the_member_of_the_new_team() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let (system, team) = a_team().await;
    logged(&path, &team).await;
    let keeper = team.create_actor::<Keeper>(BaseConfig::new("@k", "K")).await.expect("member");
    let friend = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    keeper.ask(Befriend(friend.address().clone())).await.expect("alive");
    team.get_team().await.expect("drained");
    system.shutdown(WAIT).await;

    let (system, back, _) = restored(&path).await;
    let member = |name: &'static str| {
        let team = back.team.clone();
        async move { team.get_team_member(name).await.expect("asked").expect("a member") }
    };
    let keeper = ActorRef::<Keeper>::new(&member("@k").await).expect("typed");
    let (_, found) = keeper.ask(Update(json!({}))).await.expect("alive");
    let found = found.expect("a friend");
    assert!(found.is_live() && found.is_alive() && found == member("@m").await);
    found.ask(text("hello"), WAIT).await.expect("it answers");
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn what_changed_between_turns_is_published_at_the_stop() {
    for by_value in [false, true] {
        let (_system, team) = a_team().await;
        let records = Records::of(&team).await;
        let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
        let change = act(|this, _| {
            Box::pin(async {
                this.seen.texts.push("between turns".to_owned());
                Ok(())
            })
        });
        member.ask(change).await.expect("alive");
        team.get_team().await.expect("drained");
        assert_eq!(records.classes_of("@m"), ["StartMessage", "StateChangedMessage"]);
        if by_value {
            let told = AnyValue::record(StopRecursively {});
            member.address().tell_value(told).expect("told");
        }
        assert!(member.address().stop(WAIT).await.is_ok());
        team.get_team().await.expect("drained");
        assert_eq!(
            records.classes_of("@m"),
            ["StartMessage", "StateChangedMessage", "StateChangedMessage", "StopMessage"]
        );
        let all = records.all();
        let last = all.iter().rev().find_map(|record| record.body::<StateChangedMessage>());
        assert_eq!(last.expect("a state").state.to_json()["texts"], json!(["between turns"]));
    }
}

#[tokio::test]
async fn a_told_stop_value_stops_the_children_first() {
    let (_system, team) = a_team().await;
    let records = Records::of(&team).await;
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("member");
    let child = parent.ask(Hire("@c")).await.expect("child");
    let told = AnyValue::record(StopRecursively {});
    parent.address().ask_value(told, WAIT).await.expect("answered");
    assert!(parent.address().stop(WAIT).await.is_ok());
    assert!(!child.is_alive());
    team.get_team().await.expect("drained");
    let stops: Vec<String> = records
        .all()
        .iter()
        .filter(|record| record.class_name() == "StopMessage")
        .filter_map(|record| Some(record.sender.as_ref()?.name().to_owned()))
        .collect();
    assert_eq!(stops, ["@c", "@p"]);
}

/// A payload with an address that cannot be copied: its own reading refuses it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Fussy {
    to: ActorAddress,
    #[serde(deserialize_with = "never")]
    word: String,
}
payload!(Fussy = "it.Fussy");

fn never<'de, D: Deserializer<'de>>(_: D) -> Result<String, D::Error> {
    Err(serde::de::Error::custom("not readable"))
}

#[tokio::test]
async fn a_record_that_cannot_be_copied_is_shown_without_its_body() {
    let (_system, team) = a_team().await;
    let logs = Logs::capture();
    let records = Records::of(&team).await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let to = member.address().clone();
    let tell = act(move |_, ctx| {
        Box::pin(async move {
            ctx.notify_event(AnyValue::record(Fussy { to, word: "w".into() }));
            ctx.notify_event("plain");
            Ok(())
        })
    });
    member.ask(tell).await.expect("alive");
    team.get_team().await.expect("drained");
    let classes = records.classes_of("@m");
    assert_eq!(classes.last(), Some(&"EventMessage"), "{classes:?}");
    assert!(classes.contains(&"Message"), "the header is shown: {classes:?}");
    let written = |record: &Arc<Message>| serde_json::to_string(&**record).expect("written");
    assert!(records.all().iter().all(|record| !written(record).contains("Fussy")));
    assert!(records.all().iter().all(|record| record.snapshot().is_none()), "nothing live leaks");
    assert_eq!(logs.count(&["ERROR", "cannot be copied", "it.Fussy"]), 1, "{:?}", logs.lines());
}

#[tokio::test]
async fn states_are_not_in_the_history_but_the_last_one_is_known() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    for word in ["a", "b"] {
        member.address().ask(text(word), WAIT).await.expect("handled");
    }
    member.ask(Report).await.expect("alive");
    let changes =
        HistoryFilter { message_type: Some(StateChangedMessage::PATH), ..Default::default() };
    assert!(team.get_messages(changes).await.expect("records").is_empty());
    let all = team.get_messages(HistoryFilter::default()).await.expect("records");
    assert!(all.iter().all(|record| record.class_name() != "StateChangedMessage"));
    let states = team.get_states().await.expect("states");
    let [(id, state)] = states.as_slice() else { panic!("{states:?}") };
    assert_eq!(*id, member.address().agent_id());
    assert_eq!(state.to_json()["texts"], json!(["a", "b"]));
}

static COPIES: AtomicUsize = AtomicUsize::new(0);
static WATCHED: AtomicBool = AtomicBool::new(false);

/// A payload that counts how often it is copied for subscribers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Counted {}
payload!(Counted = "it.Counted", snapshot: count_copy);

fn count_copy(_: &Counted) -> Option<Counted> {
    COPIES.fetch_add(1, Ordering::Relaxed);
    None
}

#[tokio::test]
async fn nothing_is_copied_while_nobody_watches() {
    let (_system, team) = a_team().await;
    let event = || EventMessage { event: AnyValue::record(Counted {}) };
    team.emit_message(event()).await.expect("emitted");
    assert_eq!(COPIES.load(Ordering::Relaxed), 0);
    let watch = |_: &Arc<Message>| WATCHED.store(true, Ordering::Relaxed);
    team.subscribe(Arc::new(watch)).await.expect("subscribed");
    team.emit_message(event()).await.expect("emitted");
    assert_eq!(COPIES.load(Ordering::Relaxed), 1);
    assert!(WATCHED.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_notification_of_a_derived_type_is_seen_as_its_base() {
    let error: Message = ErrorMessage {
        notification: NotificationMessage { content: "c".into(), ..Default::default() },
        traceback: None,
    }
    .into();
    assert_eq!(error.body::<NotificationMessage>().expect("derived").content, "c");
    assert_eq!(error.type_chain().len(), 3);
    assert_eq!(error.body.content_text(), Some("c"));
}
