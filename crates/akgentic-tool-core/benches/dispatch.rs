//! Commands typed by people, and the registry behind them.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use akgentic_tool_core::{Command, CommandRegistry, DispatchOutcome};
use criterion::{Criterion, criterion_group, criterion_main};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Hire {
    role: String,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Remind {
    content: String,
    delay_seconds: i64,
}

fn commands() -> [(&'static str, Command); 2] {
    let hire = Command::new("hire_member", "Hires a member.", |args: Hire| async move {
        Ok(args.name.unwrap_or(args.role))
    });
    let remind = Command::new("register_notification", "Reminds.", |args: Remind| async move {
        Ok(i64::try_from(args.content.len()).unwrap() + args.delay_seconds)
    });
    [("TeamTool", hire), ("NotificationTool", remind)]
}

fn dispatch(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let registry = CommandRegistry::new(commands()).unwrap();
    let mut run = |name: &str, line: &str, expected: fn(&DispatchOutcome) -> bool| {
        c.bench_function(name, |b| {
            b.iter(|| {
                let outcome = runtime.block_on(registry.dispatch(line));
                assert!(expected(&outcome));
                outcome
            });
        });
    };
    run("dispatch/two positionals, one quoted", r#"/hire_member Developer "Alice Smith""#, |o| {
        matches!(o, DispatchOutcome::Reply(_))
    });
    run("dispatch/text and keyword int", "/register_notification check delay_seconds=30", |o| {
        matches!(o, DispatchOutcome::Reply(_))
    });
    run("dispatch/unknown", "/nobody knows this", |o| {
        matches!(o, DispatchOutcome::NotRecognized(_))
    });
    c.bench_function("registry build, 2 commands", |b| {
        b.iter(|| CommandRegistry::new(commands()).unwrap());
    });
    c.bench_function("descriptors, 2 commands", |b| b.iter(|| registry.descriptors().len()));
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
