//! Behaviour that is off unless a configuration asks for it.

use std::sync::{Arc, Mutex};

use akgentic_agent::{AgentConfig, AgentOptions, Intent};
use akgentic_core::message::{EventMessage, WarningMessage};
use akgentic_llm::{AgentUsageLimits, LlmEvent, PromptTemplate, RequestUsage, RunUsageLimits};
use akgentic_testkit::Logs;
use serde_json::json;

use crate::world::{Answers, World, prompts, says, silence, text};

fn helper(options: AgentOptions) -> AgentConfig {
    AgentConfig { options, ..AgentConfig::new("@Helper", "Helper", "You help.") }
}

fn warnings(world: &World) -> Vec<String> {
    let all = world.records.all();
    let warnings = all.iter().filter_map(|record| record.body::<WarningMessage>());
    warnings.map(|warning| warning.notification.content.clone()).collect()
}

#[tokio::test]
async fn unknown_members_are_reported_with_names_that_come_close() {
    for report_unknown_members in [false, true] {
        let logs = Logs::capture();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let answers = Answers::default().role("Helper", move |prompt, input| {
            *log.lock().expect("lock") = prompts(input);
            let to = if prompt.ends_with("again") { "@Human" } else { "@Humann" };
            says("response", to, "x")
        });
        let world = World::new(answers).await;
        world
            .configured(helper(AgentOptions { report_unknown_members, ..AgentOptions::default() }))
            .await;
        world.human_says("@Helper", "go").await;
        world.human_says("@Helper", "again").await;
        world.records.wait_for_words_to("@Human", 1).await;
        world.team.get_team().await.expect("drained");
        assert_eq!(logs.count(&["WARN nobody has these names", "@Humann", "[\"@Human\", "]), 1);
        let told = seen.lock().expect("lock").join("\n");
        assert_eq!(told.contains("**Delivery report**"), report_unknown_members, "{told}");
        let warned = warnings(&world);
        assert_eq!(warned.len(), usize::from(report_unknown_members), "{warned:?}");
        if let [warned] = &warned[..] {
            assert!(
                warned.contains("@Humann: there is no such member; there is @Human"),
                "{warned}"
            );
        }
    }
}

#[tokio::test]
async fn a_request_answered_with_nothing_is_noticed() {
    let logs = Logs::capture();
    let answers = Answers::default()
        .role("Helper", |prompt, _| {
            if prompt.ends_with("hire") { says("request", "Dev", "work") } else { silence() }
        })
        .role("Dev", |_, _| silence());
    let world = World::new(answers).await;
    let options = AgentOptions { notify_on_empty_answer: true, ..AgentOptions::default() };
    world.configured(helper(options)).await;
    world.human_says("@Helper", "hire").await;
    world.human_says("@Helper", "nothing").await;
    world.records.wait_for_turns_of("@Helper", 2).await;
    world.team.get_team().await.expect("drained");
    assert_eq!(logs.count(&["a request was answered with nothing", "@Helper"]), 1);
    assert!(world.records.sent_to("@Human").is_empty(), "only a conclusion is told to the human");
}

#[tokio::test]
async fn an_empty_conclusion_is_told_to_the_human() {
    for notify_on_empty_answer in [false, true] {
        let answers = Answers::default().response("Helper", |input| {
            let concluding = input.tools.is_empty();
            if concluding { text(silence()) } else { crate::world::calls("team", "c") }
        });
        let world = World::new(answers).await;
        let mut config = helper(AgentOptions { notify_on_empty_answer, ..AgentOptions::default() });
        config.run_usage_limits =
            RunUsageLimits { run_request_limit: Some(1), ..RunUsageLimits::default() };
        world.configured(config).await;
        world.human_says("@Helper", "go").await;
        world.records.wait_for_turns_of("@Helper", 1).await;
        world.team.get_team().await.expect("drained");
        let told = world.records.sent_to("@Human");
        assert_eq!(told.len(), usize::from(notify_on_empty_answer), "{told:?}");
    }
}

#[tokio::test]
async fn a_final_answer_may_stand_above_the_limit() {
    for final_answer_may_exceed in [false, true] {
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        let answers = Answers::default().response("Helper", move |_| {
            *count.lock().expect("lock") += 1;
            let mut response = text(says("response", "@Human", "fine"));
            response.usage = RequestUsage::tokens(10, 50);
            response
        });
        let world = World::new(answers).await;
        let mut config =
            helper(AgentOptions { final_answer_may_exceed, ..AgentOptions::default() });
        config.run_usage_limits =
            RunUsageLimits { output_tokens_limit: Some(20), ..RunUsageLimits::default() };
        world.configured(config).await;
        world.human_says("@Helper", "go").await;
        world.records.wait_for_words_to("@Human", 1).await;
        let asked = *asked.lock().expect("lock");
        assert_eq!(asked, if final_answer_may_exceed { 1 } else { 2 });
    }
}

#[tokio::test]
async fn a_refused_message_may_stay_in_the_conversation() {
    for keep_refused_messages in [false, true] {
        let answers = Answers::default().role("Helper", |_, _| says("response", "@Human", "fine"));
        let world = World::new(answers).await;
        let mut config = helper(AgentOptions { keep_refused_messages, ..AgentOptions::default() });
        config.agent_usage_limits =
            AgentUsageLimits { agent_request_limit: Some(1), ..AgentUsageLimits::default() };
        world.configured(config).await;
        world.human_says("@Helper", "one").await;
        world.human_says("@Helper", "the second").await;
        world.records.wait_for_turns_of("@Helper", 2).await;
        world.team.get_team().await.expect("drained");
        let all = world.records.all();
        let messages = all.iter().filter_map(|record| record.body::<EventMessage>());
        let messages = messages.filter_map(|event| match LlmEvent::from_value(&event.event)? {
            LlmEvent::Message(event) => Some(format!("{:?}", event.message)),
            _ => None,
        });
        let kept = messages.filter(|message| message.contains("the second")).count();
        assert_eq!(kept, usize::from(keep_refused_messages));
    }
}

#[tokio::test]
async fn commands_tell_who_ran_them_and_may_be_kept_to_some() {
    let seen = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&seen);
    let answers = Answers::default()
        .role("Helper", move |_, input| {
            *log.lock().expect("lock") = prompts(input).join("\n");
            silence()
        })
        .role("Peer", |_, _| says("request", "@Helper", "/team_roles"));
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.agent("@Peer", "Peer").await;
    world.human_says("@Peer", "ask it").await;
    world.records.wait_for_words_to("@Peer", 2).await;
    world.human_says("@Helper", "well?").await;
    world.records.wait_for_turns_of("@Helper", 2).await;
    let told = seen.lock().expect("lock").clone();
    assert!(told.contains("**User action** - @Peer ran \"/team_roles\". \n"), "{told}");

    let options =
        AgentOptions { command_senders: Some(vec!["Human".to_owned()]), ..AgentOptions::default() };
    let strict = AgentConfig { options, ..AgentConfig::new("@Strict", "Helper", "You help.") };
    world.configured(strict).await;
    world.human_says("@Strict", "/team_roles").await;
    world.records.wait_for_words_to("@Human", 1).await;
    let peer = world.team.get_team_member("@Peer").await.expect("asked").expect("a member");
    let strict = world.known("@Strict").await;
    let command = akgentic_agent::AgentMessage::new(Intent::Request, "/team_roles");
    peer.send(strict.address(), command).expect("sent");
    world.records.wait_for_turns_of("@Strict", 2).await;
    let told = seen.lock().expect("lock").clone();
    assert!(told.contains("You received a request from @Peer."), "an ordinary message: {told}");
}

#[tokio::test]
async fn operator_actions_may_survive_a_restart_before_the_first_run() {
    for persist_operator_actions in [false, true] {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("team.jsonl");
        let seen = Arc::new(Mutex::new(String::new()));
        let answers = || {
            let log = Arc::clone(&seen);
            Answers::default().role("Helper", move |_, input| {
                *log.lock().expect("lock") = prompts(input).join("\n");
                says("response", "@Human", "ok")
            })
        };
        let world = World::logged(answers(), Some(&path)).await;
        let options = AgentOptions { persist_operator_actions, ..AgentOptions::default() };
        world.configured(helper(options)).await;
        world.human_says("@Helper", "/team_roles").await;
        world.records.wait_for_turns_of("@Helper", 1).await;
        let world = world.reborn(&path, answers()).await;
        world.human_says("@Helper", "hello").await;
        world.records.wait_for_turns_of("@Helper", 2).await;
        let told = seen.lock().expect("lock").clone();
        assert_eq!(told.matches("**User action**").count(), usize::from(persist_operator_actions));
        world.team.get_team().await.expect("drained");
        let states = world.team.get_states().await.expect("states");
        let kept = states.iter().any(|(_, state)| json!(state).to_string().contains("operator"));
        assert!(!kept, "what was told need not be kept");
    }
}

#[tokio::test]
async fn the_stored_backstory_wins_unless_it_is_to_be_refreshed() {
    for refresh_backstory_on_restore in [false, true] {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("team.jsonl");
        let seen = Arc::new(Mutex::new(String::new()));
        let answers = || {
            let log = Arc::clone(&seen);
            Answers::default().role("Helper", move |_, input| {
                *log.lock().expect("lock") = format!("{:?}", input.messages.first());
                says("response", "@Human", "ok")
            })
        };
        let world = World::logged(answers(), Some(&path)).await;
        let options = AgentOptions { refresh_backstory_on_restore, ..AgentOptions::default() };
        world.configured(helper(options)).await;
        world.human_says("@Helper", "one").await;
        world.records.wait_for_turns_of("@Helper", 1).await;
        world.team.get_team().await.expect("drained");
        let log = std::fs::read_to_string(&path).expect("a log");
        let start = log.replacen("\"template\":\"You help.\"", "\"template\":\"You rule.\"", 2);
        assert_ne!(start, log, "the configuration changed");
        let changed = dir.path().join("changed.jsonl");
        std::fs::write(&changed, start).expect("written");
        let world = world.reborn(&changed, answers()).await;
        world.human_says("@Helper", "two").await;
        world.records.wait_for_turns_of("@Helper", 2).await;
        let sent = seen.lock().expect("lock").clone();
        assert_eq!(sent.contains("You rule."), refresh_backstory_on_restore, "{sent}");
        assert_eq!(sent.contains("You help."), !refresh_backstory_on_restore, "{sent}");
    }
}

#[tokio::test]
async fn a_prompt_is_rendered_once_and_published_first() {
    let world = World::new(Answers::default().role("Helper", |_, _| silence())).await;
    let mut config = helper(AgentOptions::default());
    config.prompt = PromptTemplate {
        template: "You are {who}.".to_owned(),
        params: [("who".to_owned(), "kind".to_owned())].into_iter().collect(),
    };
    world.configured(config).await;
    world.team.get_team().await.expect("drained");
    let all = world.records.all();
    let own = all
        .iter()
        .filter(|record| record.sender.as_ref().is_some_and(|sender| sender.name() == "@Helper"));
    let kinds: Vec<&str> = own.map(|record| record.class_name()).collect();
    assert_eq!(kinds, ["StartMessage", "StateChangedMessage", "EventMessage"]);
    let states = world.team.get_states().await.expect("states");
    assert!(states.iter().any(|(_, state)| json!(state)["backstory"] == "You are kind."));
}

#[tokio::test]
async fn field_b22_a_turn_that_fails_may_be_told_to_the_human() {
    for notify_on_failure in [false, true] {
        let answers = Answers::default().role("Helper", |prompt, _| {
            if prompt.ends_with("fail") {
                return "no output at all".to_owned();
            }
            says("response", "@Human", "fine")
        });
        let world = World::new(answers).await;
        world
            .configured(helper(AgentOptions { notify_on_failure, ..AgentOptions::default() }))
            .await;
        world.human_says("@Helper", "fail").await;
        world.human_says("@Helper", "go on").await;
        world.records.wait_for_turns_of("@Helper", 2).await;
        world.team.get_team().await.expect("drained");
        let told = world.records.sent_to("@Human");
        assert_eq!(told.len(), 1 + usize::from(notify_on_failure), "{told:?}");
        if notify_on_failure {
            assert_eq!(told[0].1, Intent::Notification);
            assert!(told[0].2.contains("@Helper could not finish its work"), "{}", told[0].2);
        }
        let all = world.records.all();
        let errors = all.iter().filter(|record| record.class_name() == "ErrorMessage");
        assert_eq!(errors.count(), 1, "it is on record either way");
    }
}

#[tokio::test]
async fn a_member_that_is_gone_is_reported_like_a_role_that_cannot_be_hired() {
    let answers = Answers::default()
        .role("Helper", |_, _| says("request", "@Gone", "x"))
        .role("Peer", |_, _| silence());
    let world = World::new(answers).await;
    let options = AgentOptions { report_unknown_members: true, ..AgentOptions::default() };
    world.configured(helper(options)).await;
    let gone = world.agent("@Gone", "Peer").await;
    gone.address().stop(crate::world::WAIT).await.expect("stops");
    world.human_says("@Helper", "go").await;
    world.records.wait_for_turns_of("@Helper", 1).await;
    world.team.get_team().await.expect("drained");
    let warned = warnings(&world);
    assert!(warned.len() == 1 && warned[0].contains("@Gone"), "{warned:?}");
    assert!(!world.records.all().iter().any(|record| record.class_name() == "ErrorMessage"));
}
