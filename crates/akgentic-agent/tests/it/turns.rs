//! Turns: rendering, routing, hiring, context updates.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use akgentic_agent::Intent;
use akgentic_core::message::{ReceivedMessage, StartMessage, WarningMessage};
use akgentic_core::prelude::*;
use akgentic_team::HireMember;
use serde_json::json;

use crate::world::{Answers, World, prompts, says, silence};

#[tokio::test]
async fn a_message_becomes_a_prompt_and_the_output_is_sent() {
    let answers = Answers::default().role("Helper", |prompt, _| {
        assert!(prompt.contains("\n\nYou received a request from @Human."), "{prompt}");
        says("response", "@Human", &prompt.to_uppercase())
    });
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "please").await;
    world.records.wait_for_words_to("@Human", 1).await;
    let [(sender, intent, text)] = &world.records.sent_to("@Human")[..] else { panic!("one") };
    assert_eq!((sender.as_str(), *intent), ("@Helper", Intent::Response));
    assert!(text.ends_with("PLEASE"), "{text}");
}

#[tokio::test]
async fn a_role_as_recipient_hires_below_the_sender() {
    let answers = Answers::default()
        .role("Lead", |_, _| says("request", "Dev", "build it"))
        .role("Dev", |_, _| silence());
    let world = World::new(answers).await;
    let lead = world.agent("@Lead", "Lead").await;
    world.human_says("@Lead", "go").await;
    world.records.wait(|records| !records.sent_to_role("Dev").is_empty()).await;
    let all = world.records.all();
    let hired = all
        .iter()
        .find(|record| {
            record.body::<StartMessage>().is_some()
                && record.sender.as_ref().is_some_and(|sender| sender.role() == "Dev")
        })
        .expect("hired");
    let start = hired.body::<StartMessage>().expect("a start");
    assert_eq!(start.parent.as_ref(), Some(lead.address()));
    let name = hired.sender.as_ref().expect("a sender").name();
    assert!(name.strip_prefix("@Dev").is_some_and(|number| number.len() == 3), "{name}");
}

#[tokio::test]
async fn a_program_hires_below_an_agent_without_a_turn() {
    let answers = Answers::default()
        .role("Lead", |_, _| panic!("the model is not asked"))
        .role("Dev", |_, _| silence());
    let world = World::new(answers).await;
    let lead = world.agent("@Lead", "Lead").await;
    let hire = |role: &str, name: &str| {
        lead.ask(HireMember { role: role.to_owned(), name: Some(name.to_owned()) })
    };
    let ann = hire("Dev", "@Ann").await.expect("hired");
    assert_eq!((ann.name(), ann.role()), ("@Ann", "Dev"));
    let error = hire("Dev", "@Ann").await.expect_err("the name is taken").to_string();
    assert!(error.contains("@Ann"), "{error}");
    let error = hire("Cook", "@Bo").await.expect_err("there is no such role").to_string();
    assert!(error.contains("Cook"), "{error}");
    world.team.get_team().await.expect("drained");
    let all = world.records.all();
    let parents: Vec<_> = all
        .iter()
        .filter(|record| record.sender.as_ref() == Some(&ann))
        .filter_map(|record| record.body::<StartMessage>()?.parent.clone())
        .collect();
    assert_eq!(parents, [lead.address().clone()]);
    assert!(!all.iter().any(|record| record.body::<ReceivedMessage>().is_some()));
}

#[tokio::test]
async fn the_context_is_told_in_full_once_and_then_as_changes() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let answers = Answers::default()
        .role("Helper", move |_, input| {
            *log.lock().expect("lock") = prompts(input);
            says("response", "@Human", "ok")
        })
        .role("Dev", |_, _| silence());
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "one").await;
    world.records.wait_for_words_to("@Human", 1).await;
    let first = seen.lock().expect("lock").clone();
    assert_eq!(first.len(), 1, "block and message are one prompt: {first:?}");
    assert!(first[0].starts_with("**Context update 1** — current state."), "{first:?}");
    assert!(first[0].contains("@Helper (role: Helper) - [you]"), "{first:?}");

    world.human_says("@Helper", "two").await;
    world.records.wait_for_words_to("@Human", 2).await;
    assert_eq!(seen.lock().expect("lock").len(), 2, "nothing new, no block");

    world.agent("@New", "Dev").await;
    world.human_says("@Helper", "three").await;
    world.records.wait_for_words_to("@Human", 3).await;
    let third = seen.lock().expect("lock").clone();
    let block = &third[2];
    assert!(block.starts_with("**Context update 2** — state has changed"), "{block}");
    assert!(block.ends_with("@New (role: Dev) joined the team."), "{block}");
}

#[tokio::test]
async fn one_bad_recipient_does_not_hold_up_the_others() {
    let turns = AtomicUsize::new(0);
    let told = Arc::new(Mutex::new(String::new()));
    let note = Arc::clone(&told);
    let answers = Answers::default().role("Helper", move |prompt, input| {
        if turns.fetch_add(1, Ordering::SeqCst) > 0 {
            *note.lock().expect("lock") = prompts(input).join("\n");
            return says("response", "@Human", prompt);
        }
        let message = |recipient: &str| {
            json!({"message_type": "response", "recipient": recipient, "message": "x"})
        };
        let all = ["@Nobody", "Wizard", "  ", "@Human"].map(message);
        json!({"messages": all}).to_string()
    });
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "go").await;
    world.records.wait_for_turns_of("@Helper", 1).await;
    assert_eq!(world.records.sent_to("@Human").len(), 1);
    let all = world.records.all();
    let warnings: Vec<_> =
        all.iter().filter_map(|record| record.body::<WarningMessage>()).collect();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(warning.notification.content_type.as_deref(), Some("RoutingWarning"));
    assert!(warning.notification.content.contains("Wizard"));
    world.human_says("@Helper", "again").await;
    world.records.wait_for_words_to("@Human", 2).await;
    assert!(told.lock().expect("lock").contains("Wizard"), "the model is told");
}

/// What is told of them goes into the model's history: it stays short.
#[tokio::test]
async fn thousands_of_recipients_nobody_answers_to_are_told_in_short() {
    let told = Arc::new(Mutex::new(String::new()));
    let note = Arc::clone(&told);
    let answers = Answers::default().role("Helper", move |prompt, input| {
        if prompt.ends_with("again") {
            *note.lock().expect("lock") = prompts(input).join("\n");
            return says("response", "@Human", "x");
        }
        let message = |recipient: String| {
            json!({"message_type": "response", "recipient": recipient, "message": "x"})
        };
        let mut all: Vec<_> = (0..3000).map(|number| message(format!("Wizard{number}"))).collect();
        all.insert(0, message("w".repeat(1_000_000)));
        json!({"messages": all}).to_string()
    });
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "go").await;
    world.records.wait_for_turns_of("@Helper", 1).await;
    world.human_says("@Helper", "again").await;
    world.records.wait_for_words_to("@Human", 1).await;
    let told = told.lock().expect("lock");
    assert!(told.contains("Wizard18: ") && !told.contains("Wizard19: "), "{}", told.len());
    assert!(told.contains("… and 2981 more"), "{}", told.len());
    assert!(told.len() < 20_000, "{}", told.len());
}

/// A role as recipient hires; one output cannot fill the system with members.
#[tokio::test]
async fn an_output_hires_no_more_than_a_team_holds() {
    let answers = Answers::default()
        .role("Lead", |_, _| {
            let message = json!({"message_type": "request", "recipient": "Dev", "message": "x"});
            json!({"messages": vec![message; 1500]}).to_string()
        })
        .role("Dev", |_, _| says("request", "Dev", "you do it"));
    let world = World::new(answers).await;
    world.agent("@Lead", "Lead").await;
    world.human_says("@Lead", "go").await;
    world.records.wait_for_turns_of("@Lead", 1).await;
    let members = world.team.get_team().await.expect("a team").len();
    assert!((900..1100).contains(&members), "{members}");
    assert_eq!(world.system.shutdown(crate::world::WAIT).await, Vec::<String>::new());
}

#[tokio::test]
async fn field_b17_two_agents_cannot_keep_each_other_awake_with_receipts() {
    let answers = Answers::default()
        .role("A", |prompt, _| {
            if prompt.contains("from @Human") {
                return says("acknowledgment", "@B", "seen");
            }
            says("acknowledgment", "@B", "seen again")
        })
        .role("B", |_, _| says("notification", "@A", "seen too"));
    let world = World::new(answers).await;
    world.agent("@A", "A").await;
    world.agent("@B", "B").await;
    world.human_says("@A", "start").await;
    world.records.wait_for_turns_of("@B", 1).await;
    world.team.get_team().await.expect("drained");
    assert_eq!(world.records.sent_to("@B").len(), 1);
    assert!(world.records.sent_to("@A").iter().all(|(sender, ..)| sender == "@Human"));
}

#[tokio::test]
async fn messages_that_arrive_together_are_handled_in_order() {
    let answers = Answers::default().role("Helper", |prompt, _| {
        let (_, content) = prompt.rsplit_once('\n').unwrap_or(("", prompt));
        says("response", "@Human", content)
    });
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    for number in 0..20 {
        world.human_says("@Helper", &number.to_string()).await;
    }
    world.records.wait_for_words_to("@Human", 20).await;
    let texts: Vec<String> =
        world.records.sent_to("@Human").into_iter().map(|(.., text)| text).collect();
    let wanted: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!(texts, wanted);
}

impl crate::world::Records {
    fn sent_to_role(&self, role: &str) -> Vec<Arc<Message>> {
        let all = self.all();
        let sent = all.into_iter().filter(|record| {
            let sent = record.body::<akgentic_core::message::SentMessage>();
            sent.is_some_and(|sent| sent.recipient.role() == role)
        });
        sent.collect()
    }
}
