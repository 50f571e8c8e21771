//! Every interleaving of senders, a run and its model over the real hook: each message ends in
//! exactly one way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use akgentic_mailbox::{HookOptions, MailboxHook, MailboxTool, Read};
use serde_json::json;
use uuid::Uuid;

use crate::mail;
use crate::world::{Inbox, Queue};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A sender tells the message with this number.
    Tell(u128),
    /// A sender cancels, with the message of this number.
    Cancel(u128),
    /// A sender asks with the message of this number, and waits.
    Ask(u128),
    /// The loop prepares a model request, and delivers what waits for it.
    Request,
    /// The model reads the message with this number, announced or guessed.
    Read(u128),
    /// The run ends with a result.
    End,
    /// The run is dropped in the middle; what the queue holds of the call in work is recorded.
    Drop,
    /// Somebody outside takes the oldest message away.
    Dismiss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is part of a run.
    TakenOn,
    /// It cancelled a run.
    Purged,
    /// It had a turn of its own.
    OwnTurn,
    /// It was taken away.
    Dismissed,
}

/// What is done is written down and done again for each interleaving: hooks and queues are not
/// copied in the middle.
fn run(steps: &[Step], told: &mut usize) {
    let inbox = Inbox { arrivals: Some(Mutex::new(0)), ..Inbox::default() };
    *inbox.current.lock().expect("lock") = Some(Arc::new(mail("the work")));
    let queue = Queue::default();
    let mut hook = MailboxHook::<u32>::new(&MailboxTool::default(), HookOptions::default());
    let mut fates: BTreeMap<u128, Vec<Fate>> = BTreeMap::new();
    let mut sent = 0;
    let mut running = true;
    hook.before_run();
    let mut read_by_model: Vec<String> = Vec::new();
    for step in steps {
        match *step {
            Step::Tell(number) => arrive(&inbox, number, "m", false, &mut sent),
            Step::Ask(number) => arrive(&inbox, number, "m", true, &mut sent),
            Step::Cancel(number) => arrive(&inbox, number, "/stop", false, &mut sent),
            Step::Dismiss => {
                let oldest = inbox.pending.lock().expect("lock").first().cloned();
                if let Some(one) = oldest.filter(|one| !one.is_awaited) {
                    inbox.pending.lock().expect("lock").remove(0);
                    meets(&mut fates, one.message.id, Fate::Dismissed);
                }
            }
            _ if !running => {}
            Step::Request => {
                inbox.handled.lock().expect("lock").clear();
                running = hook.before_model_request(&inbox, &queue).is_ok();
                for id in inbox.handled.lock().expect("lock").drain(..) {
                    assert!(!running, "only a cancel takes messages out here");
                    meets(&mut fates, id, Fate::Purged);
                }
                read_by_model.extend(queue.deliver());
            }
            Step::Read(number) => {
                let args = json!({"message_id": Uuid::from_u128(number)});
                let read = hook.after_tool_execute("read_mailbox", &args, &inbox, &queue);
                if let Read::TakenOn(id) = read {
                    meets(&mut fates, id, Fate::TakenOn);
                }
            }
            Step::End => {
                // Leftovers make the loop go on; a notice is no reason to.
                hook.after_node_run(true, &queue);
                let left = queue.deliver();
                assert!(left.iter().all(|text| text.contains("Mail: ")), "{left:?}");
                running = !left.is_empty();
                read_by_model.extend(left);
            }
            Step::Drop => {
                read_by_model.extend(queue.deliver());
                running = false;
            }
        }
    }
    read_by_model.extend(queue.deliver());
    for one in inbox.pending.lock().expect("lock").drain(..) {
        meets(&mut fates, one.message.id, Fate::OwnTurn);
    }
    assert_eq!(fates.len(), sent, "every message meets a fate: {fates:?} in {steps:?}");
    for (number, fates) in &fates {
        assert_eq!(fates.len(), 1, "message {number} met {fates:?} in {steps:?}");
        let text = format!("Mail: m{number}.");
        let copies = read_by_model.iter().filter(|read| read.contains(&text)).count();
        let wanted = usize::from(fates[0] == Fate::TakenOn);
        assert_eq!(copies, wanted, "message {number} {fates:?} in {steps:?}: {read_by_model:?}");
        let cancelled = fates[0] == Fate::Purged;
        assert!(!cancelled || *number >= 10, "only cancels are purged: {number} in {steps:?}");
    }
    *told += 1;
}

fn arrive(inbox: &Inbox, number: u128, text: &str, is_awaited: bool, sent: &mut usize) {
    let text = if text == "m" { format!("m{number}.") } else { text.to_owned() };
    let mut message = mail(&text);
    message.id = Uuid::from_u128(number);
    inbox.arrive(message, is_awaited);
    *sent += 1;
}

fn meets(fates: &mut BTreeMap<u128, Vec<Fate>>, id: Uuid, fate: Fate) {
    fates.entry(id.as_u128()).or_default().push(fate);
}

/// Every merge of `threads`.
fn explore(threads: &[&[Step]], so_far: &mut Vec<Step>, seen: &mut usize) {
    let mut ended = true;
    for at in 0..threads.len() {
        let Some((step, rest)) = threads[at].split_first() else { continue };
        ended = false;
        let mut threads = threads.to_vec();
        threads[at] = rest;
        so_far.push(*step);
        explore(&threads, so_far, seen);
        so_far.pop();
    }
    if ended {
        run(so_far, seen);
    }
}

#[test]
fn mail_is_taken_on_or_delivered_exactly_once() {
    use Step::*;
    let mut seen = 0;
    let run: &[Step] = &[Request, Read(1), Read(2), Request, Read(1), End];
    explore(&[run, &[Tell(1), Tell(2)], &[Ask(3)], &[Cancel(10)]], &mut Vec::new(), &mut seen);
    explore(&[run, &[Tell(1), Cancel(10)], &[Tell(2)]], &mut Vec::new(), &mut seen);
    let cut: &[Step] = &[Request, Read(1), Read(10), Drop];
    explore(&[cut, &[Tell(1)], &[Cancel(10)], &[Dismiss, Tell(2)]], &mut Vec::new(), &mut seen);
    assert!(seen > 3_000, "{seen} interleavings");
}
