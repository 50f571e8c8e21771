//! How long the program takes from its start to its first answer.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};

/// From the start of the program to its first answer; its end does not count.
fn first_answer(cards: &Path) -> Option<Duration> {
    let started = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_akgentic"))
        .arg("call")
        .arg(cards)
        .arg("--jsonl")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    writeln!(input, r#"{{"tool": "workspace_read", "arguments": {{"path": "f"}}}}"#).ok()?;
    let mut answer = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut answer).ok()?;
    let took = started.elapsed();
    drop(input);
    let ended = child.wait().ok()?;
    (ended.success() && answer.contains("hello")).then_some(took)
}

fn start(criterion: &mut Criterion) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let (cards, root) = (folder.path().join("cards.json"), folder.path().join("ws"));
    let cards_text = serde_json::json!([
        {"__model__": "akgentic.tool.workspace.WorkspaceTool", "root": root},
        {"__model__": "akgentic.tool.team.TeamTool"},
    ]);
    let made = fs::create_dir(&root).and_then(|()| fs::write(root.join("f"), "hello\n"));
    if made.and_then(|()| fs::write(&cards, cards_text.to_string())).is_err() {
        return;
    }
    criterion.bench_function("start to first answer", |bencher| {
        bencher.iter_custom(|rounds| {
            // A program that fails would look quick: it counts as a minute.
            let failed = Duration::from_mins(1);
            (0..rounds).map(|_| first_answer(&cards).unwrap_or(failed)).sum()
        });
    });
}

criterion_group!(benches, start);
criterion_main!(benches);
