//! Replays the golden vectors of the mailbox part.

#[cfg(test)]
#[path = "vectors/cards.rs"]
mod cards;
#[cfg(test)]
#[path = "vectors/classes.rs"]
mod classes;
#[cfg(test)]
#[path = "vectors/hooks.rs"]
mod hooks;
#[cfg(test)]
#[path = "vectors/plain.rs"]
mod plain;
#[cfg(test)]
#[path = "vectors/world.rs"]
mod world;

#[cfg(test)]
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

#[test]
fn vectors() {
    akgentic_testkit::Suite {
        part: "mailbox",
        claimed: &[
            ("arrival_notice", plain::arrival_notice),
            ("card", cards::card),
            ("card_calls", cards::calls),
            ("hooks", hooks::hooks),
            ("is_cancel", plain::cancel),
            ("mailbox_message", plain::mailbox_message),
            ("offerable", plain::offers),
        ],
        elsewhere: &[],
        skipped: &[],
    }
    .replay();
}
