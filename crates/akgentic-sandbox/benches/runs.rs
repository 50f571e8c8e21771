//! How long a command takes that does nothing, and one that says much.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_sandbox::{AllowedCommand, Backend, Bwrap, Local, Place, Run, Session, split};
use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::Runtime;

fn run(argv: &[&str]) -> Option<Run> {
    AllowedCommand::trusted(argv.iter().copied()).map(Run::new)
}

fn sessions(runtime: &Runtime, folder: &std::path::Path) -> Vec<(String, Arc<dyn Session>)> {
    let backends: [Box<dyn Backend>; 2] = [Box::new(Local::default()), Box::new(Bwrap::default())];
    let started = backends.iter().filter_map(|backend| {
        let name = backend.name().to_owned();
        let directory = folder.join(&name);
        let place = Place { team_id: "t".to_owned(), workspace_id: None, directory };
        Some((name, runtime.block_on(backend.start(place)).ok()?))
    });
    started.collect()
}

fn runs(criterion: &mut Criterion) {
    let (Ok(runtime), Ok(folder)) = (Runtime::new(), tempfile::tempdir()) else { return };
    let mut group = criterion.benchmark_group("runs");
    group.sample_size(60);
    for (name, session) in sessions(&runtime, folder.path()) {
        for (what, argv) in [
            ("true", ["true"].as_slice()),
            ("100 MB of output", ["head", "-c", "100000000", "/dev/zero"].as_slice()),
        ] {
            if what != "true" {
                group.sample_size(10);
            }
            group.bench_function(format!("{name}/{what}"), |bencher| {
                bencher.iter(|| {
                    let Some(run) = run(argv) else { return };
                    // A run that fails shows in the tests; here its time counts.
                    let _outcome = black_box(runtime.block_on(session.run(run)).is_ok());
                });
            });
        }
        group.sample_size(60);
        // As agents run commands: with a while in between.
        group.bench_function(format!("{name}/true, now and then"), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut taken = Duration::ZERO;
                for _ in 0..iterations {
                    std::thread::park_timeout(Duration::from_millis(10));
                    let Some(run) = run(&["true"]) else { continue };
                    let begun = Instant::now();
                    let _outcome = black_box(runtime.block_on(session.run(run)).is_ok());
                    taken += begun.elapsed();
                }
                taken
            });
        });
    }
    group.finish();
    let line = r#"python3 -m pytest -q "tests/a b" -k 'not slow' --tb=short"#;
    criterion.bench_function("split a command line", |bencher| {
        bencher.iter(|| black_box(split(black_box(line))));
    });
}

criterion_group!(benches, runs);
criterion_main!(benches);
