//! The gate, the journal and reads, as callers meet them.
//!
//! Beside what criterion measures, the figures with ten agents are printed as percentiles.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a benchmark")]
#![allow(clippy::disallowed_methods, reason = "it stands outside of the root")]
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_tool_core::{AnyCard, BoundTools, Observer, ToolCall, ToolFactory};
use akgentic_workspace::journal::ScanLimits;
use akgentic_workspace::read::{PageLimits, Window, read_page};
use akgentic_workspace::tree::{Stop, Tree, TreeOptions};
use akgentic_workspace::{Filesystem, Root, WorkspaceTool};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

const AGENTS: usize = 10;
const WRITES: usize = 80;
const BACKLOG: usize = 500;
const CONTENT: usize = 4096;

fn tree(root: &Path, journalled: bool) -> Arc<Tree> {
    std::fs::create_dir_all(root).unwrap();
    let files = Filesystem::new(Root::open(root).unwrap());
    let journal = journalled.then(ScanLimits::default);
    Tree::open(files, TreeOptions { journal, ..TreeOptions::default() }).unwrap()
}

fn content(salt: usize) -> String {
    let line = format!("{salt:015}\n");
    line.repeat(CONTENT / line.len())
}

fn one_agent(c: &mut Criterion) {
    for journalled in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let tree = tree(&folder.path().join("tree"), journalled);
        let name = if journalled { "with journal" } else { "without journal" };
        let mut salt = 0;
        c.bench_function(&format!("gated write of 4 KiB, one agent, {name}"), |b| {
            b.iter_custom(|iterations| {
                let mut taken = Duration::ZERO;
                for _ in 0..iterations {
                    salt += 1;
                    let (path, text) = (format!("f{}", salt % 10), content(salt));
                    let begun = Instant::now();
                    tree.write("a", &path, &text).unwrap();
                    taken += begun.elapsed();
                    // The journal may be behind, but not by so much that it makes its callers wait.
                    if salt % BACKLOG == 0 {
                        assert!(tree.settle_journal(Duration::from_mins(2)));
                    }
                }
                taken
            });
        });
        assert!(tree.settle_journal(Duration::from_mins(2)));
    }
}

/// How long each write takes when ten agents write, each to a file of its own, with `pause` between.
fn latencies(journalled: bool, pause: Duration) -> Vec<Duration> {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(&folder.path().join("tree"), journalled);
    let mut all: Vec<Duration> = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS)
            .map(|agent| {
                let tree = &tree;
                scope.spawn(move || {
                    let (name, path) = (format!("agent {agent}"), format!("f{agent}"));
                    let mut taken = Vec::with_capacity(WRITES);
                    for salt in 0..WRITES {
                        let text = content(salt * AGENTS + agent);
                        let begun = Instant::now();
                        tree.write(&name, &path, &text).unwrap();
                        taken.push(begun.elapsed());
                        std::thread::park_timeout(pause);
                    }
                    taken
                })
            })
            .collect();
        agents.into_iter().flat_map(|agent| agent.join().unwrap()).collect()
    });
    assert!(tree.settle_journal(Duration::from_mins(2)));
    all.sort();
    all
}

fn ten_agents(_: &mut Criterion) {
    for (journalled, pause_ms) in [(false, 0), (false, 5), (true, 0), (true, 5)] {
        let all = latencies(journalled, Duration::from_millis(pause_ms));
        let at = |percent: usize| all[(all.len() * percent / 100).min(all.len() - 1)];
        println!(
            "gated write of 4 KiB, ten agents, {pause_ms} ms between, journal {}: p50 {:?}, p95 {:?}, most {:?}",
            if journalled { "on" } else { "off" },
            at(50),
            at(95),
            at(100),
        );
    }
}

fn refusals(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let (mut live, mut proposed) = (String::new(), String::new());
    for line in 0..20_000 {
        let text = ["    return value", "", "    value += 1"][line % 3];
        writeln!(live, "{text}").unwrap();
        let new = if line % 10 == 0 { "    value -= 1" } else { text };
        writeln!(proposed, "{new}").unwrap();
    }
    let tree = tree(&folder.path().join("tree"), false);
    std::fs::write(folder.path().join("tree/big"), &live).unwrap();
    c.bench_function("refusal of 20 000 lines", |b| {
        b.iter(|| {
            let Err(Stop::Refused(refusal)) = tree.write("a", "big", &proposed) else {
                panic!("it was written")
            };
            assert!(refusal.evidence.is_some());
        });
    });
}

fn bound(root: &Path) -> (tokio::runtime::Runtime, BoundTools) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let factory = ToolFactory::new(vec![AnyCard::from(WorkspaceTool::at(root))]);
    let tools = runtime.block_on(factory.bind(&Observer::unattached().build())).unwrap();
    (runtime, tools)
}

fn reads(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    std::fs::create_dir(&root).unwrap();
    let line = format!("{}\n", "x".repeat(99));
    std::fs::write(root.join("big"), line.repeat(50_000)).unwrap();
    let window = Window { offset: 1, limit: 2000 };
    let files = Filesystem::new(Root::open(&root).unwrap());
    c.bench_function("read 2000 lines of 5 MB, without digest", |b| {
        b.iter(|| {
            let mut file = files.open("big").unwrap().file;
            read_page(&mut file, window, PageLimits::default(), &|| false).unwrap()
        });
    });
    let (runtime, tools) = bound(&root);
    let read = tools.tool("workspace_read").unwrap();
    c.bench_function("read 2000 lines of 5 MB, with digest, as a tool", |b| {
        b.iter(|| {
            let call = read.call(json!({"path": "big", "limit": 2000}), ToolCall::default());
            runtime.block_on(call).unwrap()
        });
    });
}

criterion_group!(benches, one_agent, ten_agents, refusals, reads);
criterion_main!(benches);
