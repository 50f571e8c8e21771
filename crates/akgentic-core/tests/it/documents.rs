//! Messages and records as documents: facets, former names, order, addresses in them.

use std::sync::Arc;

use akgentic_core::message::{SentMessage, load_message};
use akgentic_core::prelude::*;
use akgentic_core::wire::{
    AddressResolver, AnyValue, LoadError, dump, hydrate_message, load, load_resolving, load_value,
    registry,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::parts::{Member, a_team, text};

trait Loud {
    fn shout(&self) -> String;
}

trait Quiet {
    fn whisper(&self) -> String;
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Call {
    words: String,
}
message!(Call = "it.documents.Call", deprecated: ["it.old.Call"], content: words,
    facets: [dyn Loud + Send + Sync]);

impl Loud for Call {
    fn shout(&self) -> String {
        self.words.to_uppercase()
    }
}

/// Derives from a message with a facet and has one of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct LongCall {
    #[serde(flatten)]
    call: Call,
}
message!(LongCall = "it.documents.LongCall", parent: call, facets: [dyn Quiet + Send + Sync]);

impl Quiet for LongCall {
    fn whisper(&self) -> String {
        self.call.words.to_lowercase()
    }
}

#[test]
fn facets_are_found_on_the_type_and_on_what_it_derives_from() {
    let call = Message::new(Call { words: "Hey".into() });
    let long = Message::new(LongCall { call: Call { words: "Hey".into() } });
    assert_eq!(call.facet::<dyn Loud + Send + Sync>().expect("loud").shout(), "HEY");
    assert!(call.facet::<dyn Quiet + Send + Sync>().is_none());
    assert_eq!(long.facet::<dyn Loud + Send + Sync>().expect("loud").shout(), "HEY");
    assert_eq!(long.facet::<dyn Quiet + Send + Sync>().expect("quiet").whisper(), "hey");
    assert!(Message::new(text("x")).facet::<dyn Loud + Send + Sync>().is_none());
    assert_eq!(call.body.content_text(), Some("Hey"));
}

#[test]
fn a_former_path_loads_and_is_written_back_as_the_current_one() {
    let old = json!({"words": "hey", "__model__": "it.old.Call"});
    let message = load_message(old.clone()).expect("loaded");
    assert_eq!(message.body::<Call>().expect("a call").words, "hey");
    assert_eq!(dump(&message).expect("written")["__model__"], "it.documents.Call");
    assert!(load(old).is_ok());
    let entry = registry().resolve("it.old.Call").expect("known");
    assert_eq!(
        (entry.path(), entry.deprecated()),
        ("it.documents.Call", ["it.old.Call"].as_slice())
    );
    // The short public name of a type of this crate is no former one.
    let short = registry().resolve("akgentic.core.UserMessage").expect("known");
    assert!(short.deprecated().is_empty());
}

/// Every map with a marker has it in its last place.
fn assert_markers_last(value: &Value) {
    match value {
        Value::Object(map) => {
            if map.contains_key("__model__") {
                assert_eq!(
                    map.keys().next_back().map(String::as_str),
                    Some("__model__"),
                    "{value}"
                );
            }
            map.values().for_each(assert_markers_last);
        }
        Value::Array(items) => items.iter().for_each(assert_markers_last),
        _ => {}
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "__model__", rename = "it.documents.Tagged")]
struct Tagged {
    x: i64,
    inner: Option<Box<Tagged>>,
}
payload!(Tagged = "it.documents.Tagged");

#[tokio::test]
async fn markers_come_last_in_every_dump() {
    let (_system, team) = a_team().await;
    let inner = Tagged { x: 1, inner: None };
    let tagged = Tagged { x: 2, inner: Some(Box::new(inner)) };
    let event = EventMessage {
        event: AnyValue::map([
            ("a", AnyValue::record(tagged.clone())),
            (
                "b",
                AnyValue::List(vec![
                    AnyValue::record(tagged),
                    AnyValue::Message(Arc::new(text("x").into())),
                ]),
            ),
        ]),
    };
    let mut event = Message::new(event);
    event.stamp(team.address().clone(), team.address().team_id(), None);
    let sent =
        Message::new(SentMessage { message: Arc::new(event), recipient: team.address().clone() });
    let written = dump(&sent).expect("written");
    assert_markers_last(&written);
    let keys: Vec<&str> = written.as_object().expect("a map").keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "id",
            "parent_id",
            "team_id",
            "timestamp",
            "sender",
            "recipient",
            "display_type",
            "message",
            "recipient",
            "__model__",
        ]
        .into_iter()
        .fold(Vec::new(), |mut keys, key| {
            if !keys.contains(&key) {
                keys.push(key);
            }
            keys
        })
    );
    let read = load_message(written.clone()).expect("loaded");
    assert_eq!(
        serde_json::to_string(&dump(&read).expect("written")).expect("text"),
        serde_json::to_string(&written).expect("text")
    );
}

#[tokio::test]
async fn documents_are_read_with_live_addresses_in_place_of_loaded_ones() {
    let (_system, team) = a_team().await;
    let member = team.create_actor::<Member>(BaseConfig::new("@m", "M")).await.expect("member");
    let live = member.address().clone();
    let written = json!({"who": live, "list": [{"deep": live}]});
    let found = live.clone();
    let resolver: AddressResolver = Arc::new(move |address| {
        if *address == found {
            Ok(found.clone())
        } else {
            Err(LoadError::Resolve("unknown".into()))
        }
    });
    let AnyValue::Map(read) = load_resolving(written.clone(), Arc::clone(&resolver)).expect("read")
    else {
        panic!("a map")
    };
    let is_live = |value: &AnyValue| match value {
        AnyValue::Address(address) => address.is_live(),
        other => panic!("{other:?}"),
    };
    assert!(is_live(&read["who"]));
    let AnyValue::List(list) = &read["list"] else { panic!("a list") };
    let AnyValue::Map(inner) = &list[0] else { panic!("a map") };
    assert!(is_live(&inner["deep"]));
    // The resolver is in force for that document only.
    let AnyValue::Map(plain) = load_value(written).expect("read") else { panic!("a map") };
    assert!(!is_live(&plain["who"]));

    let message =
        SentMessage { message: Arc::new(text("x").into()), recipient: live.to_snapshot() };
    let mut message = Message::new(message);
    message.sender = Some(live.to_snapshot());
    let hydrated = hydrate_message(&message, Arc::clone(&resolver)).expect("hydrated");
    assert!(hydrated.sender.as_ref().expect("a sender").is_live());
    assert!(hydrated.body::<SentMessage>().expect("sent").recipient.is_live());
    assert_eq!(hydrated.id, message.id);
    message.sender = Some(team.address().to_snapshot());
    let refused = hydrate_message(&message, resolver).expect_err("unknown");
    assert!(matches!(refused, LoadError::Resolve(_)), "{refused}");
}
