//! How much memory a run takes of its host.
//!
//! Alone in its program: the memory of the process is measured, and tests next to it would count.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

#[cfg(test)]
mod serial {
    use std::fs;
    use std::time::Duration;

    use akgentic_sandbox::{AllowedCommand, Backend as _, Local, Place, Run};

    /// Resident memory of this process that no file backs, in KiB.
    fn own_memory() -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("a status");
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("a line");
        line.split_ascii_whitespace().nth(1).expect("a number").parse().expect("a number")
    }

    fn bash(script: &str) -> Run {
        Run::new(AllowedCommand::trusted(["bash", "-c", script]).expect("a command"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn field_d01_a_flood_takes_at_most_a_mebibyte() {
        let folder = tempfile::tempdir().expect("a folder");
        let directory = folder.path().to_owned();
        let place = Place { team_id: "t".to_owned(), workspace_id: None, directory };
        let session = Local::default().start(place).await.expect("a fence");
        // What the first run brings up stays up.
        for _ in 0..2 {
            let run = bash("head -c 3000000 /dev/zero | tee /dev/stderr");
            session.run(run).await.expect("a run");
        }
        let before = own_memory();
        let mut most = 0;
        let run = session.run(bash("head -c 300000000 /dev/zero | tee /dev/stderr"));
        let mut run = std::pin::pin!(run);
        let outcome = loop {
            tokio::select! {
                outcome = &mut run => break outcome.expect("a run"),
                () = tokio::time::sleep(Duration::from_millis(5)) => most = most.max(own_memory()),
            }
        };
        assert_eq!(outcome.stdout.total() + outcome.stderr.total(), 600_000_000);
        let _text = outcome.result(64 << 10);
        let grown = most.max(own_memory()).saturating_sub(before);
        println!("600 MB of output took {grown} KiB");
        assert!(grown <= 1024, "{grown} KiB");
    }
}
