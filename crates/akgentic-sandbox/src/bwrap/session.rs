//! Commands in namespaces in one workspace.

use std::fs;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::future::BoxFuture;

use super::mask::Mask;
use super::plan::{self, Plan, WORKSPACE};
use super::survey::{Survey, planted, survey};
use super::tree::{BwrapTree, setup};
use super::view::{self, Part};
use super::{Bwrap, Repositories, seccomp};
use crate::backend::{PROBE_TIMEOUT, Session};
use crate::command::AllowedCommand;
use crate::enforcement::{Enforcement, Measure};
use crate::error::{BackendError, RunError};
use crate::folder::{FolderError, RelFolder, Root};
use crate::limits::Limit;
use crate::local::Network;
use crate::private::Private;
use crate::process::cgroup::{self, Group};
use crate::process::launch::{Frame, Launched, Launcher, Open, line};
use crate::process::spare::{Ready, Spare, launch};
use crate::process::supervise::supervise;
use crate::run::{Ended, Outcome, Run};

/// Most repositories that are made read-only: each is a mount, and bwrap takes so many arguments.
const REPOSITORIES_MAX: usize = 1000;

/// A workspace behind bwrap.
pub(super) struct BwrapSession {
    options: Bwrap,
    root: Root,
    private: Arc<Private>,
    parts: Vec<Part>,
    filter: Option<PathBuf>,
    inside_limits: Vec<Limit>,
    enforcement: Enforcement,
    next: AtomicU64,
    spare: Spare<Ready<Own>>,
}

/// What belongs to one run.
struct Own {
    outer: i32,
    status: RunFile,
    group: Option<Arc<Group>>,
    /// Where the files lie; last of all.
    _private: Arc<Private>,
}

impl BwrapSession {
    pub(super) async fn start(options: Bwrap, directory: &Path) -> Result<Self, BackendError> {
        let directory = directory.to_owned();
        let opening = tokio::task::spawn_blocking(move || Self::open(options, &directory));
        opening.await.map_err(|error| BackendError::System(error.to_string()))?
    }

    fn open(mut options: Bwrap, directory: &Path) -> Result<Self, BackendError> {
        let Some(program) = find(&options.program) else {
            return Err(BackendError::MissingProgram {
                program: options.program.display().to_string(),
                advice: "install the package bubblewrap, or choose another mode".to_owned(),
            });
        };
        options.program = program;
        let root = Root::create(directory).map_err(|error| BackendError::Workspace {
            path: directory.display().to_string(),
            reason: error.to_string(),
        })?;
        let prepared = || -> io::Result<_> {
            let private = Private::new("akgentic-bwrap-")?;
            let parts = view::system(&options.visible, private.path())?;
            let filter = match seccomp::filter() {
                None => None,
                Some(program) => {
                    let path = private.path().join("calls.bpf");
                    fs::write(&path, program)?;
                    Some(path)
                }
            };
            Ok((private, parts, filter))
        };
        let (private, parts, filter) =
            prepared().map_err(|error| BackendError::system("the view of the system", &error))?;
        let inside_limits = options.limits.processes.map(Limit::Processes).into_iter().collect();
        let enforcement = report(&options, filter.is_some());
        Ok(Self {
            options,
            root,
            private: Arc::new(private),
            parts,
            filter,
            inside_limits,
            enforcement,
            next: AtomicU64::new(0),
            spare: Spare::default(),
        })
    }

    /// What is read-only below the workspace.
    fn read_only(&self, before: &Survey) -> Result<Vec<(PathBuf, PathBuf)>, RunError> {
        if self.options.repositories == Repositories::Writable {
            return Ok(Vec::new());
        }
        if !self.root.is_in_place() {
            return Err(RunError::Launch(format!(
                "the workspace {} was moved since the sandbox started",
                self.root.path().display()
            )));
        }
        let found = before.repositories.len() + before.linked.len();
        if found > REPOSITORIES_MAX {
            let one = before.repositories.iter().chain(&before.linked).next_back();
            return Err(RunError::Repositories {
                found,
                most: REPOSITORIES_MAX,
                one: one.map(|(path, _)| path.display().to_string()).unwrap_or_default(),
            });
        }
        let repositories = before.repositories.iter();
        let mut read_only: Vec<_> =
            repositories.map(|(path, _)| (path.clone(), self.root.path().join(path))).collect();
        for (link, _) in &before.linked {
            let target = fs::canonicalize(self.root.path().join(link)).ok();
            let below = target.as_ref().and_then(|path| path.strip_prefix(self.root.path()).ok());
            if let (Some(target), Some(below)) = (&target, below) {
                read_only.push((below.to_owned(), target.clone()));
            }
        }
        Ok(read_only)
    }

    pub(super) async fn execute(&self, run: Run) -> Result<Outcome, RunError> {
        run.check()?;
        let folder = RelFolder::parse(&run.folder, Some(WORKSPACE))?;
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
        let started = Instant::now();
        let mask = match self.options.repositories {
            Repositories::ReadOnly => Mask::put(&self.root).await?,
            Repositories::Writable => None,
        };
        let before = self.survey().await?;
        let read_only = self.read_only(&before)?;
        let words = plan::arguments(&self.plan(&read_only), folder.as_str(), run.command.argv());
        if words.len() > plan::ARGUMENTS_MAX {
            let own = words.len() - run.command.argv().len();
            return Err(RunError::TooLong {
                what: "words",
                size: run.command.argv().len(),
                most: plan::ARGUMENTS_MAX.saturating_sub(own),
            });
        }
        let line = line(&words);
        let at_once = !cgroup::joining_holds_others();
        let (launched, own) =
            launch(&self.spare, || self.ready(), |ready| ready.run(&line), at_once).await?;
        let Launched { child, parent, .. } = launched;
        let status = own.status;
        let tree = BwrapTree { outer: own.outer, status: status.0.clone(), group: own.group };
        let ending = supervise(child, &tree, &run, self.options.limits.grace).await?;
        drop((parent, mask));
        if !at_once {
            self.spare.make(self.ready());
        }
        if ending.ended == Ended::Exited && setup(&status.0).exit_code.is_none() {
            let said = ending.stderr.text(2000);
            let killed = ending.status.is_some_and(|status| status.code().is_none());
            if !killed || said.starts_with("bwrap: ") {
                return Err(RunError::Launch(said.trim_end().to_owned()));
            }
        }
        let (notices, before) = self.planted(before).await?;
        let mut enforcement = self.enforcement.clone();
        self.judge(&mut enforcement, &before, ending.gone);
        Ok(Outcome {
            exit_code: ending.exit_code(),
            ended: ending.ended,
            stdout: ending.stdout,
            stderr: ending.stderr,
            enforcement,
            notices,
            duration: started.elapsed(),
        })
    }

    /// Starts a launcher with the files bwrap inherits, in a group of its own.
    fn ready(&self) -> impl Future<Output = io::Result<Ready<Own>>> + use<> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let status = RunFile(self.private.path().join(format!("status-{number}")));
        let private = Arc::clone(&self.private);
        let filter = self.filter.clone().unwrap_or_else(|| "/dev/null".into());
        let (root, limits) = (self.root.clone(), self.options.limits.clone());
        async move {
            let group = cgroup::for_run(&limits)?;
            let opens =
                [Open::Read(filter), Open::Read(root.by_handle()), Open::Write(status.0.clone())];
            let frame = Frame {
                // What stands here can be read inside, as the environment of the first process.
                env: vec![("PATH".into(), plan::PATH.into())],
                folder: Some("/".into()),
                opens: opens.into(),
                limits: limits.inherited(false),
                group: group.clone(),
            };
            let launcher = Launcher::start(frame, || Ok(())).await?;
            let own = Own { outer: launcher.id(), status, group, _private: private };
            Ok(Ready { launcher, rest: own })
        }
    }

    /// Runs a command that does nothing, confined as every other.
    pub(super) async fn try_out(&self) -> Result<(), BackendError> {
        let failed = |error: &dyn std::fmt::Display| BackendError::ProbeFailed(error.to_string());
        let Some(command) = AllowedCommand::trusted(["true"]) else {
            return Err(failed(&"there is no command"));
        };
        let run = self.execute(Run::new(command).within(PROBE_TIMEOUT));
        let outcome = run.await.map_err(|error| failed(&error))?;
        if outcome.exit_code != 0 || outcome.ended != Ended::Exited {
            let said = outcome.result(400);
            let text = format!("exit code {}: {}", said.exit_code, said.stderr.trim_end());
            return Err(failed(&text));
        }
        Ok(())
    }

    fn plan<'a>(&'a self, read_only: &'a [(PathBuf, PathBuf)]) -> Plan<'a> {
        Plan {
            program: &self.options.program,
            network: self.options.network,
            parts: &self.parts,
            temporary: self.options.limits.temporary,
            filtered: self.filter.is_some(),
            read_only,
            limits: &self.inside_limits,
        }
    }

    /// What the run planted; gives back what was there before it.
    async fn planted(&self, before: Survey) -> Result<(Vec<String>, Survey), RunError> {
        let root = self.root.clone();
        let walk = tokio::task::spawn_blocking(move || (planted(&before, &survey(&root)), before));
        walk.await.map_err(|error| RunError::Launch(error.to_string()))
    }

    async fn survey(&self) -> Result<Survey, RunError> {
        let root = self.root.clone();
        let walk = tokio::task::spawn_blocking(move || survey(&root));
        walk.await.map_err(|error| RunError::Launch(error.to_string()))
    }

    fn judge(&self, enforcement: &mut Enforcement, before: &Survey, gone: bool) {
        if !gone {
            enforcement.lifetime = Measure::none("processes of this run could not be ended");
        }
        if self.options.repositories == Repositories::ReadOnly {
            let why = if !before.complete {
                "the workspace is too large or too odd to find every .git; those found are read-only"
            } else if !before.linked.is_empty() {
                "a link is called .git: what it leads to in the workspace is read-only, the link is not"
            } else {
                return;
            };
            enforcement.repositories = Measure::partial(why);
        }
    }
}

impl Session for BwrapSession {
    fn workspace_path(&self) -> Option<&Path> {
        Some(self.root.path())
    }

    fn inside(&self) -> Option<&str> {
        Some(WORKSPACE)
    }

    fn enforcement(&self) -> Enforcement {
        self.enforcement.clone()
    }

    fn run(&self, run: Run) -> BoxFuture<'_, Result<Outcome, RunError>> {
        Box::pin(self.execute(run))
    }

    fn stop(&self) -> BoxFuture<'_, Result<(), BackendError>> {
        Box::pin(async {
            self.spare.end().await;
            Ok(())
        })
    }
}

/// A file of one run, gone with it.
struct RunFile(PathBuf);

impl Drop for RunFile {
    fn drop(&mut self) {
        // The launcher may not have come to make it.
        let _absent = fs::remove_file(&self.0).is_err();
    }
}

fn report(options: &Bwrap, filtered: bool) -> Enforcement {
    let group = cgroup::hierarchy();
    let limits = &options.limits;
    let is_root = rustix::process::geteuid().is_root();
    Enforcement {
        backend: "bwrap".to_owned(),
        files: Measure::full(
            "mount namespace: the workspace can be written, the system only read, nothing else is there",
        ),
        network: match options.network {
            Network::None => Measure::full("network namespace without a way out"),
            Network::Host => Measure::none("the host's network, by the operator's choice"),
        },
        processes: match (limits.processes, &group) {
            (_, Ok(_)) => cgroup::bound_processes(limits),
            (Some(count), Err(_)) if !is_root => {
                Measure::full(format!("at most {count} for the user of the namespace"))
            }
            (Some(_), Err(reason)) => Measure::none(format!(
                "the system bounds no processes of root, and there is no control group: {reason}"
            )),
            (None, Err(_)) => Measure::none("no bound is configured"),
        },
        memory: cgroup::memory(limits, group.is_ok_and(cgroup::Hierarchy::bounds_memory)),
        lifetime: Measure::full("everything in the PID namespace ends with it"),
        kernel: if filtered {
            Measure::full(
                "own user, IPC and host name namespaces, no capabilities, no new privileges, filter on system calls",
            )
        } else {
            Measure::partial(
                "own user, IPC and host name namespaces, no capabilities, no new privileges; no filter on system calls for this processor",
            )
        },
        repositories: match options.repositories {
            Repositories::ReadOnly => Measure::full(
                "every .git found in the workspace is read-only, a new one can be made below the top only and is told",
            ),
            Repositories::Writable => Measure::none("by the operator's choice"),
        },
    }
}

/// Starts a session in an empty workspace and tries it out.
pub(super) async fn trial(options: &Bwrap) -> Result<String, BackendError> {
    let folder = Private::new("akgentic-trial-");
    let folder = folder.map_err(|error| BackendError::ProbeFailed(error.to_string()))?;
    let session = BwrapSession::start(options.clone(), folder.path()).await?;
    session.try_out().await?;
    Ok(format!("{} runs confined commands", session.options.program.display()))
}

/// The program's own path; a bare name is looked for where the host looks for programs.
fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| plan::PATH.into());
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}
