//! Commands that people type.

use std::sync::{Arc, Mutex};

use akgentic_agent::Intent;
use akgentic_core::message::EventMessage;
use akgentic_tool_core::CommandsAnnouncedEvent;

use crate::world::{Answers, World, prompts, says, silence};

#[tokio::test]
async fn commands_are_announced_once_and_answered_without_the_model() {
    let answers = Answers::default()
        .role("Helper", |_, _| panic!("the model is not asked"))
        .role("Dev", |_, _| silence());
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "/hire_member Dev @Ann").await;
    world.human_says("@Helper", "/team_members").await;
    world.human_says("@Helper", "/fire_member @Nobody").await;
    world.human_says("@Helper", "/fire_member don't").await;
    world.records.wait_for_words_to("@Human", 4).await;
    let replies = world.records.sent_to("@Human");
    assert!(replies.iter().all(|(_, intent, _)| *intent == Intent::Notification));
    let texts: Vec<&str> = replies.iter().map(|(.., text)| text.as_str()).collect();
    assert_eq!(texts[0], "Hired @Ann (role: Dev)");
    assert!(texts[1].contains("@Ann (role: Dev)"), "{}", texts[1]);
    assert!(texts[2].starts_with("Command 'fire_member' failed: "), "{}", texts[2]);
    assert!(texts[3].starts_with("Command 'fire_member' failed: "), "{}", texts[3]);
    let all = world.records.all();
    let announced: Vec<_> = all
        .iter()
        .filter_map(|record| record.body::<EventMessage>())
        .filter_map(|event| event.event.downcast::<CommandsAnnouncedEvent>())
        .filter(|event| event.agent.name() == "@Helper")
        .collect();
    let [announced] = &announced[..] else { panic!("{announced:?}") };
    let names: Vec<&str> = announced.commands.iter().map(|command| command.name.as_str()).collect();
    let wanted =
        ["hire_member", "fire_member", "team_members", "team_roles", "stop", "compact", "clear"];
    assert_eq!(names, wanted);
}

#[tokio::test]
async fn what_people_ran_is_told_to_the_model() {
    let seen = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&seen);
    let answers = Answers::default().role("Helper", move |_, input| {
        *log.lock().expect("lock") = prompts(input).join("\n");
        says("response", "@Human", "ok")
    });
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "/team_roles").await;
    world.human_says("@Helper", "hello").await;
    world.records.wait_for_words_to("@Human", 2).await;
    let seen = seen.lock().expect("lock").clone();
    assert!(
        seen.contains("**User action** - The human ran \"/team_roles\". \nResult:\n"),
        "{seen}"
    );
}

#[tokio::test]
async fn unknown_commands_and_apostrophes_are_ordinary_turns() {
    let answers = Answers::default().role("Helper", |prompt, _| {
        let (_, content) = prompt.rsplit_once('\n').unwrap_or(("", prompt));
        says("response", "@Human", content)
    });
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "/nonsense now").await;
    world.human_says("@Helper", "/it's broken").await;
    world.records.wait_for_words_to("@Human", 2).await;
    let texts: Vec<String> =
        world.records.sent_to("@Human").into_iter().map(|(.., text)| text).collect();
    assert_eq!(texts, ["/nonsense now", "/it's broken"]);
}
