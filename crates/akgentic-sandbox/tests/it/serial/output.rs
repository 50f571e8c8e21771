//! Output: bounded while it is read, counted, spilled.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use akgentic_sandbox::{Ended, OutputLimits, SpillDirectory};

use crate::parts::{Stage, bash, command};

/// Three numbers: what is shown, what is kept, what ends the run.
#[tokio::test(flavor = "multi_thread")]
async fn field_d03_display_capture_and_kill_are_three_limits() {
    let stage = Stage::local().await;
    let limits = OutputLimits { display: 100, head: 1000, tail: 1000, kill: Some(100_000) };
    let script = "seq 1 10000; echo end";
    let outcome = stage.run(bash(script).keeping(limits)).await;
    assert_eq!(outcome.ended, Ended::Exited);
    assert_eq!(outcome.exit_code, 0);
    assert_eq!(outcome.stdout.total(), 48_898);
    assert_eq!(outcome.stdout.dropped(), 46_898);
    let text = outcome.stdout.text(limits.display);
    assert!(text.starts_with("1\n2\n") && text.ends_with("10000\nend\n"), "{text}");
    assert!(text.len() < 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn field_d01_a_flood_is_counted_and_ended() {
    let stage = Stage::local().await;
    let limits = OutputLimits { kill: Some(20 << 20), ..OutputLimits::default() };
    for argv in [["yes", "a"], ["cat", "/dev/zero"]] {
        let outcome =
            stage.run(command(&argv).keeping(limits).within(Duration::from_secs(20))).await;
        assert_eq!(outcome.ended, Ended::TooMuchOutput(20 << 20), "{argv:?}");
        assert!(outcome.stdout.total() > 20 << 20);
        let kept = outcome.stdout.head().len() + outcome.stdout.tail().len();
        assert_eq!(kept, limits.head + limits.tail);
        assert_eq!(outcome.stdout.dropped() + kept as u64, outcome.stdout.total());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_output_is_in_a_file_that_has_a_cap() {
    let stage = Stage::local().await;
    let spill = stage.folder.path().join("spill");
    fs::create_dir(&spill).expect("a folder");
    let store = |stem: &str, limit| {
        Arc::new(SpillDirectory::open(&spill, "runs", stem, limit).expect("a store"))
    };
    let limits = OutputLimits { head: 1000, tail: 1000, ..OutputLimits::default() };
    let all: Vec<String> = (1..=10_000).map(|n| format!("{n}\n")).collect();
    let all = all.concat();

    let run = bash("seq 1 10000; seq 1 100 >&2").keeping(limits).spilling(store("a", 1 << 20));
    let outcome = stage.run(run).await;
    let file = outcome.stdout.spilled().expect("a file");
    assert_eq!((file.name.as_str(), file.complete), ("runs/a.stdout", true));
    assert_eq!(fs::read_to_string(spill.join("a.stdout")).expect("a file"), all);
    assert!(outcome.stderr.spilled().is_none(), "what fits needs no file");
    assert!(!spill.join("a.stderr").exists());
    let text = outcome.stdout.text(500);
    assert!(text.contains("all of it is in runs/a.stdout"), "{text}");

    let run = bash("seq 1 10000").keeping(limits).spilling(store("b", 3000));
    let outcome = stage.run(run).await;
    assert_eq!(
        fs::read_to_string(spill.join("b.stdout")).expect("a file"),
        all.get(..3000).expect("long enough")
    );
    let text = outcome.stdout.text(500);
    assert!(text.contains("the first 3000 bytes are in runs/b.stdout"), "{text}");
}
