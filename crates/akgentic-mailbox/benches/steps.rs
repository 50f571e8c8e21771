//! What the hook costs: an inbox without news, one with a backlog, notices, previews, cancels.

#![expect(clippy::expect_used, reason = "a bench that cannot set up has to stop")]

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::{Arc, Mutex};

use akgentic_core::message::UserMessage;
use akgentic_core::{Message, PendingMail, message};
use akgentic_mailbox::{
    HookOptions, InjectionQueue, MailboxAccess, MailboxHook, MailboxMessage, MailboxTool,
    NoticeOptions, is_cancel, preview, render_arrival_notice,
};
use criterion::{Criterion, criterion_group, criterion_main};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Mail {
    text: String,
}
message!(Mail = "mailbox.bench.Mail", content: text, facets: [dyn MailboxMessage]);

impl MailboxMessage for Mail {
    fn rendering(&self, _: &Message) -> String {
        self.text.clone()
    }

    fn rendering_preview(&self, _: &Message) -> String {
        preview(Some("@Human"), "request", &self.text)
    }
}

const TEXT: &str = "Please have a look at the numbers of the last quarter, they do not add up with \
    what was said before, and tell me which of them is wrong and by how much, thank you.";

/// An inbox as an actor has one: behind a lock.
struct Inbox {
    current: Arc<Message>,
    pending: Mutex<Vec<PendingMail>>,
    counts: bool,
}

impl Inbox {
    fn of(count: usize, counts: bool) -> Self {
        let one = || PendingMail {
            message: Arc::new(Message::new(Mail { text: TEXT.to_owned() })),
            is_awaited: false,
        };
        let pending = Mutex::new((0..count).map(|_| one()).collect());
        Self { current: one().message, pending, counts }
    }
}

impl MailboxAccess for Inbox {
    fn get_mailbox(&self) -> Vec<PendingMail> {
        self.pending.lock().expect("lock").clone()
    }

    fn consume_mailbox(&self, _: &[Uuid]) -> Vec<Arc<Message>> {
        Vec::new()
    }

    fn current_message(&self) -> Option<Arc<Message>> {
        Some(Arc::clone(&self.current))
    }

    fn arrivals(&self) -> Option<u64> {
        self.counts.then(|| self.pending.lock().expect("lock").len() as u64)
    }
}

struct Nowhere;

impl InjectionQueue for Nowhere {
    type Id = u32;

    fn enqueue(&self, text: String) -> Option<u32> {
        black_box(text);
        Some(0)
    }

    fn remove(&self, _: &[u32]) {}
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mailbox");
    for (name, count, counts) in [
        ("step, empty inbox", 0, true),
        ("step, 1 000 announced, nothing new", 1_000, true),
        ("step, 1 000 announced, looked through", 1_000, false),
    ] {
        let inbox = Inbox::of(count, counts);
        let mut hook = MailboxHook::<u32>::new(&MailboxTool::default(), HookOptions::default());
        hook.before_model_request(&inbox, &Nowhere).expect("no cancel");
        group.bench_function(name, |bencher| {
            bencher.iter(|| hook.before_model_request(black_box(&inbox), &Nowhere).expect("none"));
        });
    }
    let inbox = Inbox::of(1_000, true);
    let mut hook = MailboxHook::<u32>::new(&MailboxTool::default(), HookOptions::default());
    group.bench_function("step, 1 000 new, announced", |bencher| {
        bencher.iter(|| {
            hook.before_run();
            hook.before_model_request(black_box(&inbox), &Nowhere).expect("none");
        });
    });
    group.finish();
}

fn texts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("texts");
    let messages: Vec<Message> =
        (0..1_000).map(|_| Message::new(Mail { text: TEXT.to_owned() })).collect();
    let offered: HashSet<Uuid> = messages.iter().map(|message| message.id).collect();
    group.bench_function("notice of 1 000", |bencher| {
        bencher.iter(|| {
            render_arrival_notice(black_box(&messages).iter(), &offered, NoticeOptions::default())
                .expect("a notice")
        });
    });
    group.bench_function("preview", |bencher| {
        bencher.iter(|| preview(Some("@Human"), "request", black_box(TEXT)));
    });
    group.bench_function("cancel check of 1 000 messages", |bencher| {
        bencher.iter(|| black_box(&messages).iter().filter(|message| is_cancel(message)).count());
    });
    let long = Message::new(UserMessage { content: "word ".repeat(20_000) });
    group.bench_function("cancel check of 100 kB", |bencher| {
        bencher.iter(|| is_cancel(black_box(&long)));
    });
    group.finish();
}

criterion_group!(benches, steps, texts);
criterion_main!(benches);
