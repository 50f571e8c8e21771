//! Runs: budgets, waiting, texts, the worker.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_testkit::{Case, block_on, known_keys, same};
use akgentic_workspace::lease::{
    Command, CommandFault, ExecOutcome, ExecStatus, Patience, Payload, REPLY_GRACE_S, Sandbox,
    ask_seconds, looks_within, run_worker, text,
};
use akgentic_workspace::tree::{RunSettings, Tree, TreeOptions};
use akgentic_workspace::{Filesystem, Root};
use serde_json::{Value, json};

fn tree() -> (tempfile::TempDir, Arc<Tree>) {
    let outer = tempfile::tempdir().expect("a folder");
    let files = Filesystem::new(Root::open(outer.path()).expect("the root"));
    let tree = Tree::open(files, TreeOptions::default()).expect("an owner");
    tree.configure_runs(RunSettings { timeout_s: 15.0, check: None });
    (outer, tree)
}

pub(super) fn result_cache(case: &Case) -> Result<(), String> {
    let number =
        |key: &str| usize::try_from(case.input[key].as_u64().expect("a number")).expect("a number");
    let (runs, fail_every, agents) = (number("runs"), number("fail_every"), number("agents"));
    let (_outer, tree) = tree();
    let mut ids = Vec::new();
    for run in 0..runs {
        let id = tree.request_run(&format!("g{}", run % agents), "make").expect("a run");
        if fail_every > 0 && run % fail_every == 0 {
            tree.fail(&id, "x");
        } else {
            tree.deliver(&id, ExecOutcome::default());
        }
        ids.push(id);
    }
    let states: Vec<Value> = case.input["ask"]
        .as_array()
        .expect("questions")
        .iter()
        .map(|run| {
            let run = usize::try_from(run.as_u64().expect("a number")).expect("a number");
            json!(tree.run_status("g0", &ids[run]).state)
        })
        .collect();
    same("states", &json!(states), &case.expect)
}

pub(super) fn poll_budget(case: &Case) -> Result<(), String> {
    let input = &case.input;
    let float = |key: &str| input[key].as_f64().expect("a number");
    let whole = |key: &str| input[key].as_i64().expect("a number");
    match input["fn"].as_str().expect("a function") {
        "poll_attempts_within" => {
            let (attempts, delay) = (whole("attempts"), float("delay"));
            let looks = looks_within(attempts, delay, float("run_budget"));
            same("attempts", &json!(looks), &case.expect["attempts"])?;
            let patience = Patience { looks, delay_s: delay, run_budget_s: 0.0, waits_out: true };
            let wait = patience.wait().map_or(0.0, |wait| wait.as_secs_f64());
            let wanted = case.expect["max_wait_s"].as_f64().unwrap_or(0.0).max(0.0);
            if (wait - wanted).abs() > 1e-6 {
                return Err(format!("waits {wait}, wanted {wanted}"));
            }
            Ok(())
        }
        "ask_seconds" => {
            let seconds = ask_seconds(float("remaining"));
            same("seconds", &json!(seconds), &case.expect["seconds"])?;
            let wait = Duration::from_secs(seconds) + Duration::from_secs_f64(REPLY_GRACE_S);
            same("wait", &json!(wait.as_secs()), &case.expect["command_ask_timeout"])
        }
        "card" => {
            let patience = Patience::of(
                float("timeout_s"),
                whole("poll_attempts"),
                float("poll_delay_seconds"),
            );
            same("budget", &json!(patience.run_budget_s), &case.expect["run_budget"])?;
            same("looks", &json!(patience.looks), &case.expect["attempts"])?;
            let told = if patience.waits_out { "timed_out" } else { "in_progress" };
            same("exhausted", &json!(told), &case.expect["exhausted"])
        }
        "poll" => poll(case),
        other => Err(format!("unknown function {other}")),
    }
}

/// L1: nobody looks and sleeps; a report that comes by the last look is seen, a later one is not.
fn poll(case: &Case) -> Result<(), String> {
    let looks = case.input["attempts"].as_u64().expect("a number");
    let delay_s = case.input["delay"].as_f64().expect("a number");
    let look = case.input["answers_at_look"].as_u64().expect("a number");
    let patience = Patience { looks, delay_s, run_budget_s: 15.0, waits_out: false };
    let (_outer, tree) = tree();
    let answered = block_on(async {
        let id = tree.request_run("a", "make").expect("a run");
        let pause = Duration::from_secs_f64(delay_s);
        let reporter = {
            let (tree, id) = (Arc::clone(&tree), id.clone());
            async move {
                // Between the look before and the one that is to see it.
                let at = pause * u32::try_from(look - 1).expect("a number");
                tokio::time::sleep(at.saturating_sub(pause / 2)).await;
                tree.deliver(&id, ExecOutcome::default());
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            status = tree.wait_for_run("a", &id, &patience) => status.is_some(),
            () = reporter => false,
        }
    });
    same("answered", &json!(answered), &case.expect["answered"])
}

pub(super) fn exec_format(case: &Case) -> Result<(), String> {
    let input = &case.input;
    let string = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
    let got = match input["fn"].as_str().expect("a function") {
        "format_outcome" => text::outcome(&ExecOutcome {
            stdout: string("stdout"),
            stderr: string("stderr"),
            exit_code: input["exit_code"].as_i64().expect("a code"),
            ..ExecOutcome::default()
        }),
        "format_status" => text::status(&ExecStatus {
            state: serde_json::from_value(input["state"].clone()).expect("a state"),
            run_id: string("run_id"),
            outcome: serde_json::from_value(input["outcome"].clone()).expect("an outcome"),
            reason: string("reason"),
            recent_run_ids: serde_json::from_value(input["recent_run_ids"].clone())
                .unwrap_or_default(),
        }),
        "timed_out" => {
            text::timed_out(&string("run_id"), input["budget_s"].as_f64().expect("a number"))
        }
        "backend_not_ready" => {
            text::backend_not_ready(input["seconds"].as_u64().expect("a number"))
        }
        "new_run_id" | "run_id" => {
            let (_outer, tree) = tree();
            tree.request_run("a", "make").expect("a run")
        }
        other => return Err(format!("unknown function {other}")),
    };
    known_keys("expect", &case.expect, &["exact", "kind", "must_contain", "regex"])?;
    if let Some(exact) = case.expect["exact"].as_str() {
        same("text", got.as_str(), exact)?;
    }
    for fragment in case.expect["must_contain"].as_array().into_iter().flatten() {
        let fragment = fragment.as_str().expect("a text");
        if !got.contains(fragment) {
            return Err(format!("{fragment:?} is missing in {got:?}"));
        }
    }
    if case.expect["regex"].is_string() {
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if got.len() != 8 || !got.chars().all(hex) {
            return Err(format!("{got:?} is no id"));
        }
    }
    Ok(())
}

/// A sandbox as a case describes it, and what was asked of it.
struct Scripted {
    input: Value,
    asked: Arc<Mutex<Value>>,
}

impl Sandbox for Scripted {
    async fn ready(&self, within: Duration) -> Result<(), String> {
        self.asked.lock().expect("notes")["ready_ask_timeout"] = json!(within.as_secs());
        match self.input["ready"].as_str() {
            Some("dead") => Err("it is dead".to_owned()),
            Some("timeout") => std::future::pending().await,
            _ => {
                let ready = self.input["ready_s"].as_f64().expect("seconds");
                if ready > 0.0 {
                    tokio::time::sleep(Duration::from_secs_f64(ready)).await;
                }
                Ok(())
            }
        }
    }

    async fn run(&self, command: Command) -> Result<ExecOutcome, CommandFault> {
        {
            let mut asked = self.asked.lock().expect("notes");
            asked["budget"] = json!(command.budget.as_secs_f64());
            asked["command_ask_timeout"] = json!(command.wait.as_secs());
            asked["cmd"] = json!(command.cmd);
            asked["cwd"] = json!(command.cwd);
        }
        match self.input["command"].as_str() {
            Some("timeout") => Err(CommandFault::TimedOut(ExecOutcome::default())),
            Some("raises") => Err(CommandFault::Failed("bad thing".to_owned())),
            _ => match &self.input["value"] {
                Value::Null => Ok(ExecOutcome {
                    stdout: "o".to_owned(),
                    stderr: "e".to_owned(),
                    exit_code: 3,
                    ..ExecOutcome::default()
                }),
                value => Ok(serde_json::from_value(value.clone()).expect("an outcome")),
            },
        }
    }
}

pub(super) fn worker_run(case: &Case) -> Result<(), String> {
    let input = case.input.clone();
    let asked = Arc::new(Mutex::new(json!({"run_started": false})));
    let float = |key: &str| case.input[key].as_f64().expect("seconds");
    let sandbox = Scripted { input, asked: Arc::clone(&asked) };
    let resolve = Duration::from_secs_f64(float("resolve_s"));
    let payload = Payload {
        cmd: "make all".to_owned(),
        cwd: "src".to_owned(),
        timeout_s: float("timeout_s"),
    };
    let started = || asked.lock().expect("notes")["run_started"] = json!(true);
    let find = async move {
        tokio::time::sleep(resolve).await;
        Ok(sandbox)
    };
    let budget = Duration::from_secs_f64(float("worker_budget_s"));
    let result = block_on(run_worker(payload, budget, find, started));
    let mut got = asked.lock().expect("notes").clone();
    match result {
        Ok(outcome) => got["outcome"] = json!(outcome),
        Err(reason) if reason.contains("not ready within") => {
            got["failure"] = json!("backend_not_ready");
        }
        Err(reason) => got["failure"] = json!(format!("text:{reason}")),
    }
    for (key, wanted) in case.expect.as_object().expect("an object") {
        if key == "outcome" {
            for (part, wanted) in wanted.as_object().expect("an object") {
                same(part, &got["outcome"][part], wanted)?;
            }
        } else {
            same(key, &got[key], wanted)?;
        }
    }
    Ok(())
}
