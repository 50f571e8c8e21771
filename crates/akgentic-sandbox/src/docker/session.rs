//! Commands in the container of one workspace.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bollard::container::LogOutput;
use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use bollard::query_parameters::TopOptionsBuilder;
use futures_util::future::{BoxFuture, FusedFuture};
use futures_util::{FutureExt as _, StreamExt as _};

use super::Docker;
use super::client::{Client, bounded};
use super::engine::{
    ContainerSpec, Engine as _, IMAGE_VARIABLE, MOUNT, bring_up, container_name, image, spec,
};
use crate::backend::{Place, Session};
use crate::enforcement::{Enforcement, Measure};
use crate::error::{BackendError, RunError};
use crate::folder::{FolderError, RelFolder, Root};
use crate::local::Network;
use crate::output::{Flow, Stream, pump};
use crate::process::supervise::{DRAIN, REST, drain, with};
use crate::run::{Ended, Outcome, Run, STOPPED, TIMED_OUT};

/// How long one question about a run may take.
const ACTION: Duration = Duration::from_secs(10);

/// How long what is left of a run may take to go.
const GONE: Duration = Duration::from_secs(10);

/// How often a run is looked at, at first and at most.
const SOON: Duration = Duration::from_millis(5);
const LATER: Duration = Duration::from_millis(100);

/// A workspace in a container.
pub(super) struct DockerSession {
    client: Arc<Client>,
    spec: ContainerSpec,
    root: Root,
    enforcement: Enforcement,
    grace: Duration,
    busy: AtomicBool,
}

impl DockerSession {
    pub(super) async fn start(options: &Docker, place: Place) -> Result<Self, BackendError> {
        let directory = place.directory.clone();
        let opening = tokio::task::spawn_blocking(move || {
            let root = Root::create(&directory)?;
            let owner = root.owner()?;
            Ok::<_, std::io::Error>((root, owner))
        });
        let opened = opening.await.map_err(|error| BackendError::System(error.to_string()))?;
        let (root, owner) = opened.map_err(|error| BackendError::Workspace {
            path: place.directory.display().to_string(),
            reason: error.to_string(),
        })?;
        let client = Client::connect(&options.limits).await?;
        let named = options.image.clone().or_else(|| std::env::var(IMAGE_VARIABLE).ok());
        let (image, look) = image(named.as_deref());
        let name = container_name(&place.team_id, place.workspace_id.as_deref());
        let spec = spec(name, image, root.path(), owner, options);
        bring_up(&client, &spec, look).await?;
        let enforcement = report(options, &spec);
        Ok(Self {
            client: Arc::new(client),
            spec,
            root,
            enforcement,
            grace: options.limits.grace,
            busy: AtomicBool::new(false),
        })
    }

    async fn execute(&self, run: Run) -> Result<Outcome, RunError> {
        run.check()?;
        let folder = RelFolder::parse(&run.folder, Some(MOUNT))?;
        match self.root.folder(&folder) {
            Ok(_) => {}
            Err(missing @ FolderError::Missing(_)) => {
                let text = missing.to_string();
                return Ok(Outcome::without_process(1, &text, self.enforcement.clone()));
            }
            Err(error) => return Err(error.into()),
        }
        if run.timeout.is_zero() {
            return Ok(Outcome::out_of_time(&run, self.enforcement.clone()));
        }
        if self.busy.swap(true, Ordering::AcqRel) {
            return Err(RunError::Busy("of another caller".to_owned()));
        }
        let guard = Guard { session: self, armed: true };
        let answer = self.attached(&run, &folder.below(MOUNT)).await;
        guard.disarm();
        answer
    }

    async fn attached(&self, run: &Run, folder: &str) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let flow = Flow::default();
        let mut out = pump(Stream::Stdout, &run.output, run.spill.clone());
        let mut err = pump(Stream::Stderr, &run.output, run.spill.clone());
        let (id, attached) = self.begin(run, folder).await.map_err(RunError::Backend)?;
        let StartExecResults::Attached { mut output, input } = attached else {
            return Err(RunError::Launch("the engine did not attach to the command".to_owned()));
        };
        let limit = run.output.kill;
        let reading = async {
            while let Some(piece) = output.next().await {
                match piece {
                    Ok(LogOutput::StdErr { message }) => {
                        flow.add(message.len(), limit);
                        err.take(&message);
                    }
                    Ok(piece) => {
                        flow.add(piece.as_ref().len(), limit);
                        out.take(piece.as_ref());
                    }
                    Err(error) => {
                        tracing::warn!(%error, "output of a container not readable");
                        return;
                    }
                }
            }
        };
        let (ended, code);
        {
            let mut reading = pin!(reading.fuse());
            let (how, exited) = tokio::select! {
                biased;
                () = run.cancel.cancelled() => (Ended::Cancelled, None),
                code = with(&mut reading, self.exited(&id)) => (Ended::Exited, Some(code)),
                () = flow.exceeded() => (Ended::TooMuchOutput(limit.unwrap_or_default()), None),
                () = tokio::time::sleep(run.timeout) => (Ended::TimedOut(run.timeout), None),
            };
            ended = how;
            code = exited.transpose().map_err(RunError::Backend)?;
            if code.is_some() {
                drain(&mut reading, DRAIN).await;
            } else {
                self.signal_all("TERM").await.map_err(RunError::Backend)?;
                let by_itself = with(&mut reading, self.exited(&id));
                let _in_time = tokio::time::timeout(self.grace, by_itself).await.is_ok();
            }
            let gone = self.gone(&mut reading).await.map_err(RunError::Backend)?;
            if !gone {
                return Err(RunError::Backend(BackendError::Engine(
                    "processes of the command could not be ended".to_owned(),
                )));
            }
            drain(&mut reading, REST).await;
        }
        drop(input);
        Ok(Outcome {
            exit_code: match ended {
                Ended::TimedOut(_) => TIMED_OUT,
                Ended::Exited => code.unwrap_or(-1),
                _ => STOPPED,
            },
            ended,
            stdout: out.finish(),
            stderr: err.finish(),
            enforcement: self.enforcement.clone(),
            notices: Vec::new(),
            duration: started.elapsed(),
        })
    }

    async fn begin(
        &self,
        run: &Run,
        folder: &str,
    ) -> Result<(String, StartExecResults), BackendError> {
        // The shell tells a missing program by its exit code.
        let words = ["/bin/sh", "-c", "exec \"$@\"", "sh"].into_iter().map(str::to_owned);
        let config = ExecConfig {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(words.chain(run.command.argv().iter().cloned()).collect()),
            env: Some(vec!["HOME=/tmp".to_owned(), "LANG=C.UTF-8".to_owned()]),
            user: Some(self.user()),
            working_dir: Some(folder.to_owned()),
            ..ExecConfig::default()
        };
        let docker = &self.client.docker;
        let made =
            bounded("the command", ACTION, docker.create_exec(&self.spec.name, config)).await?;
        let attached = bounded("the command", ACTION, docker.start_exec(&made.id, None)).await?;
        Ok((made.id, attached))
    }

    fn user(&self) -> String {
        format!("{}:{}", self.spec.user.0, self.spec.user.1)
    }

    /// Waits until the command has ended; looked at more and more seldom.
    async fn exited(&self, id: &str) -> Result<i32, BackendError> {
        let mut pause = SOON;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LATER);
            let asked = self.client.docker.inspect_exec(id);
            let found = bounded("the state of the command", ACTION, asked).await?;
            if found.running == Some(false)
                && let Some(code) = found.exit_code
            {
                return Ok(i32::try_from(code).unwrap_or(-1));
            }
        }
    }

    /// Signals everything of the commands' user; what keeps the container up is another user's.
    async fn signal_all(&self, signal: &str) -> Result<(), BackendError> {
        let config = ExecConfig {
            cmd: Some(vec!["/bin/sh".to_owned(), "-c".to_owned(), format!("kill -{signal} -1")]),
            user: Some(self.user()),
            ..ExecConfig::default()
        };
        let docker = &self.client.docker;
        let made = bounded("a signal", ACTION, docker.create_exec(&self.spec.name, config)).await?;
        let detached = bollard::exec::StartExecOptions { detach: true, ..Default::default() };
        bounded("a signal", ACTION, docker.start_exec(&made.id, Some(detached))).await?;
        Ok(())
    }

    /// Whether anything of the commands' user runs.
    async fn is_empty(&self) -> Result<bool, BackendError> {
        let options = TopOptionsBuilder::default().ps_args("-eo pid,uid").build();
        let asked = self.client.docker.top_processes(&self.spec.name, Some(options));
        let listed = bounded("the list of processes", ACTION, asked).await?;
        let own = self.spec.user.0.to_string();
        let mut users = listed.processes.iter().flatten().filter_map(|process| process.get(1));
        Ok(!users.any(|user| user.trim() == own))
    }

    /// Ends everything and waits until that is so.
    async fn gone(
        &self,
        reading: &mut (impl FusedFuture<Output = ()> + Unpin),
    ) -> Result<bool, BackendError> {
        let ending = async {
            let mut pause = SOON;
            while !self.is_empty().await? {
                self.signal_all("KILL").await?;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LATER);
            }
            Ok(())
        };
        match tokio::time::timeout(GONE, with(reading, ending)).await {
            Ok(answer) => answer.map(|()| true),
            Err(_) => Ok(false),
        }
    }
}

/// Frees the session; ends everything when a run is dropped in the middle.
struct Guard<'a> {
    session: &'a DockerSession,
    armed: bool,
}

impl Guard<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.session.busy.store(false, Ordering::Release);
        if !self.armed {
            return;
        }
        let session = DockerSession {
            client: Arc::clone(&self.session.client),
            spec: self.session.spec.clone(),
            root: self.session.root.clone(),
            enforcement: self.session.enforcement.clone(),
            grace: self.session.grace,
            busy: AtomicBool::new(true),
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Bounded by its own time limit; the run's owner is gone.
            runtime.spawn(async move {
                let mut nothing = pin!(std::future::ready(()).fuse());
                if !matches!(session.gone(&mut nothing).await, Ok(true)) {
                    tracing::warn!(container = %session.spec.name, "a dropped run is left");
                }
            });
        }
    }
}

impl Session for DockerSession {
    fn container_name(&self) -> Option<&str> {
        Some(&self.spec.name)
    }

    fn inside(&self) -> Option<&str> {
        Some(MOUNT)
    }

    fn enforcement(&self) -> Enforcement {
        self.enforcement.clone()
    }

    fn run(&self, run: Run) -> BoxFuture<'_, Result<Outcome, RunError>> {
        Box::pin(self.execute(run))
    }

    fn stop(&self) -> BoxFuture<'_, Result<(), BackendError>> {
        self.client.stop(&self.spec.name)
    }
}

fn report(options: &Docker, spec: &ContainerSpec) -> Enforcement {
    let by = "container";
    Enforcement {
        backend: "docker".to_owned(),
        files: Measure::full("container: of the host only the workspace is there"),
        network: match options.network {
            Network::None => Measure::full("container without a network"),
            Network::Host => Measure::none("the engine's bridge, by the operator's choice"),
        },
        processes: match spec.processes {
            Some(count) => Measure::full(format!("{by}: at most {count}")),
            None => Measure::none("no bound is configured"),
        },
        memory: match spec.memory {
            Some(bytes) => Measure::full(format!("{by}: at most {} MiB", bytes >> 20)),
            None => Measure::none("no bound is configured"),
        },
        lifetime: Measure::full("everything of the commands' user in the container is ended"),
        kernel: if spec.user.0 == 0 {
            Measure::partial(
                "no capabilities, no new privileges, the engine's filter on system calls; the user is root, as the workspace is root's",
            )
        } else {
            Measure::full(
                "no capabilities, no new privileges, the engine's filter on system calls, not root",
            )
        },
        repositories: Measure::none(
            "repositories in the workspace can be changed like any other file",
        ),
    }
}
