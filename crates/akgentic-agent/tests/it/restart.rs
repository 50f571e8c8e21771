//! Teams of agents that come back from their log.

use std::sync::{Arc, Mutex};

use akgentic_agent::{HumanProxy, HumanSays, provide_models};
use akgentic_core::ActorRef;
use akgentic_core::log::{LogContents, restore_team};
use akgentic_core::prelude::*;

use crate::world::{Answers, Records, WAIT, World, prompts, says};

fn counting(seen: &Arc<Mutex<Vec<String>>>) -> Answers {
    let log = Arc::clone(seen);
    Answers::default().role("Helper", move |_, input| {
        let all = prompts(input);
        let answer = says("response", "@Human", &format!("{} prompts", all.len()));
        *log.lock().expect("lock") = all;
        answer
    })
}

#[tokio::test]
async fn an_agent_continues_its_conversation_after_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let world = World::logged(counting(&seen), Some(&path)).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "one").await;
    world.records.wait_for_words_to("@Human", 1).await;
    world.records.wait_for_turns_of("@Helper", 1).await;
    world.team.get_team().await.expect("drained");
    world.system.shutdown(WAIT).await;

    let system = ActorSystem::new();
    provide_models(&system, counting(&seen));
    let contents = LogContents::read(&path).expect("a log");
    let records = Records::new();
    let back = restore_team(&system, &contents, vec![Arc::new(records.clone())]).await;
    let back = back.expect("restored");
    assert_eq!(back.report.failed, []);
    let member = back.team.get_team_member("@Human").await.expect("asked").expect("a human");
    let human = ActorRef::<HumanProxy>::new(&member).expect("typed");
    let said = HumanSays { to: "@Helper".into(), content: "two".into() };
    assert!(human.ask(said).await.expect("said"));
    records.wait_for_turns_of("@Helper", 2).await;
    let seen = seen.lock().expect("lock").clone();
    assert_eq!(seen.len(), 2, "the first prompt is still there: {seen:?}");
    assert!(seen[0].starts_with("**Context update 1**"), "{seen:?}");
    assert!(
        seen[1].starts_with("You received a request from @Human."),
        "no second snapshot: {seen:?}"
    );
    system.shutdown(WAIT).await;
}
