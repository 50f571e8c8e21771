//! Mail in the middle of a run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use akgentic_agent::{AgentMessage, Intent, provide_models};
use akgentic_core::log::{LogContents, restore_team};
use akgentic_core::prelude::*;
use akgentic_llm::ModelMessage;
use akgentic_mailbox::{ABSORBED_PREFIX, UNOFFERABLE_LINE};
use uuid::Uuid;

use crate::players::{Closed, Players, Signals, calls, config, last_texts, offered, text};
use crate::world::{Records, World, prompts, says, silence};

/// Whoever writes in the middle of a request: the person, and to whom.
type Post = Arc<OnceLock<(ActorAddress, ActorAddress)>>;

fn request(content: &str) -> AgentMessage {
    AgentMessage::new(Intent::Request, content)
}

async fn opened(players: Players, post: &Post, config: akgentic_agent::AgentConfig) -> World {
    let world = players.world().await;
    world.configured(config).await;
    let known = (world.member("@Human").await, world.member("@A").await);
    post.set(known).expect("once");
    world
}

#[tokio::test]
async fn several_reads_are_handled_in_the_order_of_the_calls() {
    let post = Post::default();
    let (known, sent) = (Arc::clone(&post), Arc::new(Mutex::new(Vec::new())));
    let (written, step) = (Arc::clone(&sent), Arc::new(AtomicUsize::new(0)));
    let players = Players::default().plays("@A", move |input| {
        let (human, agent) = known.get().expect("known").clone();
        let (written, step) = (Arc::clone(&written), step.fetch_add(1, Ordering::SeqCst));
        async move {
            match step {
                0 => {
                    for number in 0..20 {
                        let mail = human.send(&agent, request(&format!("mail {number}")));
                        written.lock().expect("lock").push(mail.expect("sent").id);
                    }
                    calls(&[("quick", None)])
                }
                1 => {
                    let notice = last_texts(&input).pop().expect("a notice");
                    assert!(notice.starts_with("20 new messages arrived:"), "{notice}");
                    let mut ids = offered(&notice);
                    ids.reverse();
                    let reads: Vec<_> =
                        ids.into_iter().map(|id| ("read_mailbox", Some(id))).collect();
                    calls(&reads)
                }
                _ => {
                    let texts = last_texts(&input);
                    let absorbed = texts.iter().filter(|text| text.starts_with(ABSORBED_PREFIX));
                    assert_eq!(absorbed.count(), 20);
                    text(&says("response", "@Human", "all done"))
                }
            }
        }
    });
    let world = opened(players, &post, config("@A")).await;
    world.human_says("@A", "go").await;
    world.records.wait_for_turns_of("@A", 1).await;
    let mut wanted = sent.lock().expect("lock").clone();
    wanted.reverse();
    assert_eq!(world.records.handled(), wanted);
    assert_eq!(world.records.sent_to("@Human").len(), 1, "no message came twice");
}

#[tokio::test]
async fn a_pending_command_is_announced_without_id_and_run_afterwards() {
    let post = Post::default();
    let (known, step) = (Arc::clone(&post), Arc::new(AtomicUsize::new(0)));
    let id = Arc::new(Mutex::new(None));
    let command = Arc::clone(&id);
    let players = Players::default().plays("@A", move |input| {
        let (human, agent) = known.get().expect("known").clone();
        let (command, step) = (Arc::clone(&command), step.fetch_add(1, Ordering::SeqCst));
        async move {
            match step {
                0 => {
                    let sent = human.send(&agent, request("/team_roles")).expect("sent");
                    *command.lock().expect("lock") = Some(sent.id);
                    calls(&[("quick", None)])
                }
                1 => {
                    let notice = last_texts(&input).pop().expect("a notice");
                    assert!(notice.contains(UNOFFERABLE_LINE), "{notice}");
                    assert!(offered(&notice).is_empty(), "{notice}");
                    let guessed = command.lock().expect("lock").map(|id: Uuid| id.to_string());
                    calls(&[("read_mailbox", guessed)])
                }
                _ => text(&says("response", "@Human", "done")),
            }
        }
    });
    let world = opened(players, &post, config("@A")).await;
    world.human_says("@A", "go").await;
    world.records.wait_for_turns_of("@A", 2).await;
    let id = id.lock().expect("lock").expect("sent");
    assert_eq!(world.records.closings()[&id], [Closed::Processed]);
    let told = world.records.sent_to("@Human");
    assert_eq!((told[0].2.as_str(), told[1].1), ("done", Intent::Notification));
}

#[tokio::test]
async fn a_read_that_fails_is_told_where_the_options_say_so() {
    for tells in [false, true] {
        let step = Arc::new(AtomicUsize::new(0));
        let players = Players::default().plays("@A", move |input| {
            let step = step.fetch_add(1, Ordering::SeqCst);
            async move {
                match step {
                    0 => calls(&[("read_mailbox", Some(Uuid::nil().to_string()))]),
                    _ => text(&says("response", "@Human", &last_texts(&input).concat())),
                }
            }
        });
        let mut config = config("@A");
        config.options.tell_failed_reads = tells;
        let world = opened(players, &Post::default(), config).await;
        world.human_says("@A", "go").await;
        world.records.wait_for_words_to("@Human", 1).await;
        let answer = &world.records.sent_to("@Human")[0].2;
        assert_eq!(answer.contains("Nothing was taken on"), tells, "{answer}");
    }
}

#[tokio::test]
async fn a_message_taken_on_before_a_crash_is_on_record() {
    let post = Post::default();
    let (known, step) = (Arc::clone(&post), Arc::new(AtomicUsize::new(0)));
    let players = Players::default().plays("@A", move |input| {
        let (human, agent) = known.get().expect("known").clone();
        let step = step.fetch_add(1, Ordering::SeqCst);
        async move {
            match step {
                0 => {
                    human.send(&agent, request("do not forget")).expect("sent");
                    calls(&[("quick", None)])
                }
                1 => {
                    let id = offered(&last_texts(&input).concat()).pop();
                    calls(&[("read_mailbox", id), ("crash", None)])
                }
                _ => text(&silence()),
            }
        }
    });
    let world = opened(players, &post, config("@A")).await;
    world.human_says("@A", "go").await;
    world.records.wait_for_turns_of("@A", 1).await;
    world.team.get_team().await.expect("drained");
    assert_eq!(world.records.handled().len(), 1);
    assert_eq!(copies(&world.records.conversation("@A"), "do not forget"), 1);
}

#[tokio::test]
async fn a_message_taken_on_when_the_team_went_down_is_told_to_the_model() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let post = Post::default();
    let (known, step) = (Arc::clone(&post), Arc::new(AtomicUsize::new(0)));
    let players = Players::default().plays("@A", move |input| {
        let (human, agent) = known.get().expect("known").clone();
        let step = step.fetch_add(1, Ordering::SeqCst);
        async move {
            if step == 0 {
                human.send(&agent, request("do not forget")).expect("sent");
                return calls(&[("quick", None)]);
            }
            let id = offered(&last_texts(&input).concat()).pop();
            calls(&[("read_mailbox", id), ("deaf", None)])
        }
    });
    let world = players.logged(Some(&path)).await;
    world.configured(config("@A")).await;
    let known = (world.member("@Human").await, world.member("@A").await);
    post.set(known).expect("once");
    world.human_says("@A", "go").await;
    world.records.wait(|records| !records.handled().is_empty()).await;
    world.team.get_team().await.expect("drained");
    let cut = dir.path().join("cut.jsonl");
    std::fs::copy(&path, &cut).expect("killed");

    let players = Players::default().plays("@A", |input| async move {
        text(&says("response", "@Human", &prompts(&input).join("|")))
    });
    let system = ActorSystem::new();
    provide_models(&system, players);
    system.provide(Arc::new(Signals::default()));
    let contents = LogContents::read(&cut).expect("a log");
    let records = Records::new();
    let team = restore_team(&system, &contents, vec![Arc::new(records.clone())]).await;
    let team = team.expect("restored").team;
    let member = |name: &'static str| {
        let team = team.clone();
        async move { team.get_team_member(name).await.expect("asked").expect("a member") }
    };
    let (human, agent) = (member("@Human").await, member("@A").await);
    human.send(&agent, request("go on")).expect("sent");
    records
        .wait(|records| {
            records.sent_to("@Human").iter().any(|(_, intent, _)| *intent == Intent::Response)
        })
        .await;
    let told = records.sent_to("@Human").pop().expect("an answer").2;
    assert_eq!(told.matches("\n\ndo not forget").count(), 1, "{told}");
    assert!(told.contains("taken this on as well"), "{told}");
    system.shutdown(std::time::Duration::from_secs(10)).await;
}

/// How often the prompts of a conversation hold a text as the content of a message.
fn copies(conversation: &[Arc<ModelMessage>], content: &str) -> usize {
    let shown = conversation.iter().map(|message| serde_json::to_string(&**message));
    let ending = format!("\\n\\n{content}\"");
    shown.map(|text| text.expect("written").matches(&ending).count()).sum()
}

/// Three people write while an agent works, reads some of it, and is cancelled now and then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_mail_is_taken_on_or_delivered_exactly_once() {
    const EACH: usize = 60;
    let random = Arc::new(AtomicUsize::new(7));
    let players = Players::default().plays("@A", move |input| {
        let dice = random.fetch_add(1, Ordering::SeqCst).wrapping_mul(2_654_435_761) >> 7;
        async move {
            for _ in 0..dice % 5 {
                tokio::task::yield_now().await;
            }
            let ids = offered(&last_texts(&input).concat());
            let reads: Vec<_> = ids
                .into_iter()
                .enumerate()
                .filter(|(at, _)| (at + dice).is_multiple_of(2))
                .map(|(_, id)| ("read_mailbox", Some(id)))
                .collect();
            match dice % 3 {
                _ if !reads.is_empty() => calls(&reads),
                0 => calls(&[("quick", None)]),
                _ => text(&silence()),
            }
        }
    });
    let world = players.world().await;
    world.configured(config("@A")).await;
    let agent = world.member("@A").await;
    let mut writers = Vec::new();
    let sent: Arc<Mutex<HashMap<Uuid, String>>> = Arc::default();
    for writer in 0..3 {
        let name = format!("@Writer{writer}");
        let person = BaseConfig::new(&name, "Human");
        let person = world.team.create_actor::<akgentic_agent::HumanProxy>(person).await;
        let (person, agent) = (person.expect("a person").address().clone(), agent.clone());
        let sent = Arc::clone(&sent);
        writers.push(tokio::spawn(async move {
            for number in 0..EACH {
                let cancels = number % 11 == 10;
                let content = if cancels {
                    "/stop".to_owned()
                } else {
                    format!("mail {number} of {writer}.")
                };
                let message = person.send(&agent, request(&content)).expect("sent");
                sent.lock().expect("lock").insert(message.id, content);
                for _ in 0..number % 7 {
                    tokio::task::yield_now().await;
                }
            }
        }));
    }
    for writer in writers {
        writer.await.expect("wrote");
    }
    let sent = sent.lock().expect("lock").clone();
    world
        .records
        .wait(|records| {
            let closings = records.closings();
            sent.keys().all(|id| closings.get(id).is_some_and(|fates| !fates.is_empty()))
        })
        .await;
    world.team.get_team().await.expect("drained");
    let (closings, conversation) = (world.records.closings(), world.records.conversation("@A"));
    let mut taken_on = 0;
    for (id, content) in &sent {
        let fates = &closings[id];
        assert_eq!(fates.len(), 1, "{content} met {fates:?}");
        if content != "/stop" {
            taken_on += usize::from(fates[0] == Closed::Handled);
            assert_eq!(copies(&conversation, content), 1, "{content}, {fates:?}");
        }
    }
    assert!(taken_on > 0, "none was taken on");
}
