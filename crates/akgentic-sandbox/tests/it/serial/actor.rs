//! The sandbox actor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use akgentic_core::prelude::*;
use akgentic_sandbox::{
    Backend, BackendError, Ended, Enforcement, Local, Outcome, Place, Registry, Run, RunError,
    Sandbox, SandboxConfig, SandboxError, SandboxState, Session,
};
use futures_util::future::BoxFuture;

use crate::parts::{bash, command, processes_with, unlikely};

const WAIT: Duration = Duration::from_secs(20);

fn team() -> (ActorSystem, ActorRef<Orchestrator>) {
    let system = ActorSystem::new();
    let team = system
        .create_team(BaseConfig::new("@Team", "Orchestrator"), Origin::default())
        .expect("a team");
    (system, team)
}

async fn sandbox(team: &ActorRef<Orchestrator>, config: SandboxConfig) -> Sandbox {
    Sandbox::of_team_with(team, config, &Registry::standard(), Some(true)).await.expect("a sandbox")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_has_one_sandbox_and_one_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_system, team) = team();
    let config = SandboxConfig::of("local", "t", Some("w")).at(folder.path());
    let first = sandbox(&team, config.clone()).await;
    let second = sandbox(&team, config.clone()).await;
    assert_eq!(first.actor().address(), second.actor().address());
    assert_eq!(first.actor().address().name(), "#SandboxActor-w");
    let ready = first.ready(WAIT).await.expect("ready");
    assert_eq!(ready.mode, "local");
    let outcome = second.run(command(&["echo", "hi"])).await.expect("a run");
    assert_eq!(outcome.stdout.text(10), "hi\n");

    let other = SandboxConfig { mode: "bwrap".to_owned(), ..config };
    let refused = Sandbox::of_team_with(&team, other, &Registry::standard(), Some(true)).await;
    let refused = refused.expect_err("refused");
    assert!(matches!(refused, SandboxError::ModeMismatch { .. }), "{refused}");
    team.stop(WAIT).await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn field_d12_a_run_is_stopped_by_its_id_and_seen_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_system, team) = team();
    let config = SandboxConfig::of("local", "t", None).at(folder.path());
    let sandbox = sandbox(&team, config).await;
    let mut run = sandbox.start(bash("echo up; sleep 60")).await.expect("started");
    assert_eq!(sandbox.running().await.expect("an answer").as_deref(), Some(run.id()));
    let busy = sandbox.run(command(&["echo"])).await.expect_err("busy");
    assert!(matches!(&busy, RunError::Busy(id) if id == run.id()), "{busy}");
    assert!(!sandbox.stop_run("other").await.expect("an answer"));
    assert!(sandbox.stop_run(run.id()).await.expect("an answer"));
    assert_eq!(run.outcome().await.expect("an outcome").ended, Ended::Cancelled);
    assert_eq!(sandbox.running().await.expect("an answer"), None);
    assert!(sandbox.run(command(&["echo"])).await.is_ok());
    let states = team.get_states().await.expect("states");
    let state = states.iter().find_map(|(_, state)| {
        akgentic_core::wire::Record::as_any(&*state.0).downcast_ref::<SandboxState>().cloned()
    });
    let state = state.expect("a state");
    assert_eq!(state.running, None);
    assert_eq!(state.workspace_path, folder.path().canonicalize().ok());
    team.stop(WAIT).await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_with_its_team_and_with_its_caller() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_system, team) = team();
    let config = SandboxConfig::of("local", "t", None).at(folder.path());
    let sandbox = sandbox(&team, config).await;
    let mark = unlikely(5001);
    let run = sandbox.start(command(&["sleep", &mark])).await.expect("started");
    drop(run);
    for _ in 0..100 {
        if sandbox.running().await.expect("an answer").is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    let mut run = sandbox.start(command(&["sleep", &mark])).await.expect("started");
    team.stop(WAIT).await.expect("stopped");
    let ended = run.outcome().await.expect("an outcome").ended;
    assert_eq!(ended, Ended::Cancelled);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

/// Works from the second time on.
struct Late(AtomicBool);

impl Backend for Late {
    fn name(&self) -> &'static str {
        "late"
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(async { Ok(String::new()) })
    }

    fn start(&self, place: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        Box::pin(async move {
            if self.0.swap(true, Ordering::Relaxed) {
                return Local::default().start(place).await;
            }
            Err(BackendError::ProbeFailed("not yet".to_owned()))
        })
    }
}

#[tokio::test]
async fn a_start_that_failed_is_told_and_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_system, team) = team();
    let registry = Registry::standard();
    registry.register(Arc::new(Late(AtomicBool::new(false))));
    let config = SandboxConfig::of("late", "t", None).at(folder.path());
    let sandbox = Sandbox::of_team_with(&team, config, &registry, None).await.expect("an actor");
    for _ in 0..2 {
        let error = sandbox.ready(WAIT).await.expect_err("failed");
        assert_eq!(error.code(), "probe_failed");
        assert!(error.to_string().contains("not yet"), "{error}");
        let error = sandbox.run(command(&["echo"])).await.expect_err("failed");
        assert_eq!(error.code(), "probe_failed");
    }
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    assert!(sandbox.ready(WAIT).await.is_ok());
    team.stop(WAIT).await.expect("stopped");
}

/// How a backend fails at its stop.
#[derive(Clone, Copy, Debug)]
enum AtStop {
    Fails,
    Panics,
    Hangs,
}

/// Works like the local backend until it is to stop.
struct Brittle(AtStop);

struct BrittleSession(Arc<dyn Session>, AtStop);

impl Backend for Brittle {
    fn name(&self) -> &'static str {
        "brittle"
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, BackendError>> {
        Box::pin(async { Ok(String::new()) })
    }

    fn start(&self, place: Place) -> BoxFuture<'_, Result<Arc<dyn Session>, BackendError>> {
        Box::pin(async move {
            let session = Local::default().start(place).await?;
            Ok(Arc::new(BrittleSession(session, self.0)) as Arc<dyn Session>)
        })
    }
}

impl Session for BrittleSession {
    fn enforcement(&self) -> Enforcement {
        self.0.enforcement()
    }

    fn run(&self, run: Run) -> BoxFuture<'_, Result<Outcome, RunError>> {
        self.0.run(run)
    }

    fn stop(&self) -> BoxFuture<'_, Result<(), BackendError>> {
        match self.1 {
            AtStop::Fails => {
                Box::pin(async { Err(BackendError::Unsupported("it stays".to_owned())) })
            }
            AtStop::Panics => panic!("no stop today"),
            AtStop::Hangs => Box::pin(std::future::pending()),
        }
    }
}

#[tokio::test]
async fn a_backend_that_fails_at_the_stop_does_not_stop_the_stop() {
    for at_stop in [AtStop::Fails, AtStop::Panics, AtStop::Hangs] {
        let folder = tempfile::tempdir().expect("a folder");
        let (system, team) = team();
        let registry = Registry::standard();
        registry.register(Arc::new(Brittle(at_stop)));
        let config = SandboxConfig::of("brittle", "t", None).at(folder.path());
        let sandbox = Sandbox::of_team_with(&team, config, &registry, None).await.expect("actor");
        let mark = unlikely(5002);
        let mut run = sandbox.start(command(&["sleep", &mark])).await.expect("started");
        let actor = sandbox.actor().address().clone();
        let outcome = if matches!(at_stop, AtStop::Hangs) {
            // Processes know nothing of a clock that is put forward.
            assert!(sandbox.stop_run(run.id()).await.expect("an answer"));
            let outcome = run.outcome().await;
            tokio::time::pause();
            team.stop(WAIT).await.expect("stopped");
            tokio::time::resume();
            outcome
        } else {
            team.stop(WAIT).await.expect("stopped");
            run.outcome().await
        };
        assert!(!actor.is_alive(), "{at_stop:?}");
        assert_eq!(outcome.expect("an outcome").ended, Ended::Cancelled, "{at_stop:?}");
        assert_eq!(processes_with(&mark), Vec::<String>::new(), "{at_stop:?}");
        system.shutdown(WAIT).await;
    }
}
