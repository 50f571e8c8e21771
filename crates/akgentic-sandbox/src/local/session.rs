//! Commands on the host in one workspace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use futures_util::future::BoxFuture;

#[cfg(not(target_os = "linux"))]
use super::Fence;
use super::tree::LocalTree;
use super::{Local, env};
use crate::backend::{PROBE_TIMEOUT, Session};
use crate::command::AllowedCommand;
use crate::enforcement::{Enforcement, Level, Measure};
use crate::error::{BackendError, RunError};
use crate::folder::{Folder, FolderError, RelFolder, Root};
use crate::private::{Private, RunHome};
use crate::process::launch::{Frame, Launched, Launcher, line};
use crate::process::spare::{Ready, Spare, launch};
use crate::process::supervise::supervise;
use crate::process::{MARK, mark};
#[cfg(target_os = "linux")]
use crate::process::{cgroup, warden};
use crate::run::{Outcome, Run};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A workspace on the host.
pub(crate) struct LocalSession {
    options: Local,
    root: Root,
    /// Home and temporary directory of each run lie here.
    private: Arc<Private>,
    env: BTreeMap<String, OsString>,
    /// What the command is handed to, before its own words.
    prefix: Vec<OsString>,
    enforcement: Enforcement,
    busy: AtomicBool,
    #[cfg(target_os = "linux")]
    fence: Option<super::fence::FenceRules>,
    spare: Spare<Ready<Own>>,
}

/// What belongs to one run.
struct Own {
    #[cfg(target_os = "linux")]
    group: Option<Arc<cgroup::Group>>,
    mark: String,
    leader: i32,
    /// Last of all.
    _home: RunHome,
}

impl LocalSession {
    pub(crate) async fn start(options: Local, directory: &Path) -> Result<Self, BackendError> {
        let directory = directory.to_owned();
        let opening = tokio::task::spawn_blocking(move || Self::open(options, &directory));
        opening.await.map_err(|error| BackendError::System(error.to_string()))?
    }

    fn open(options: Local, directory: &Path) -> Result<Self, BackendError> {
        let root = Root::create(directory).map_err(|error| BackendError::Workspace {
            path: directory.display().to_string(),
            reason: error.to_string(),
        })?;
        let private = Private::new("akgentic-local-");
        let private = private.map_err(|error| BackendError::system("no private folder", &error))?;
        let mut enforcement = Enforcement::nothing("local");
        enforcement.repositories =
            Measure::none("repositories in the workspace can be changed like any other file");
        #[cfg(not(target_os = "linux"))]
        if options.fence == Fence::Full {
            return Err(BackendError::NotEnforced(format!(
                "commands on the host cannot be fenced in on this platform; use another backend, or accept that by {}=none",
                super::LOCAL_FENCE
            )));
        }
        #[cfg(target_os = "linux")]
        let fence = {
            super::fence::report(&options, &mut enforcement);
            cgroup::report(&options.limits, &mut enforcement);
            super::fence::FenceRules::new(&options, &root, private.path())?
        };
        #[cfg(not(target_os = "linux"))]
        {
            enforcement.lifetime = Measure::partial("the process group is ended");
        }
        let mut env = env::own_env();
        env.retain(|name, _| !name.starts_with("XDG_"));
        Ok(Self {
            options,
            root,
            private: Arc::new(private),
            env,
            prefix: Vec::new(),
            enforcement,
            busy: AtomicBool::new(false),
            #[cfg(target_os = "linux")]
            fence,
            spare: Spare::default(),
        })
    }

    /// The same session whose commands are handed to `prefix`, which changes what is enforced.
    pub(crate) fn wrapped(
        mut self,
        prefix: Vec<OsString>,
        judge: impl FnOnce(&mut Enforcement),
    ) -> Self {
        self.prefix = prefix;
        judge(&mut self.enforcement);
        self
    }

    pub(crate) fn root_path(&self) -> &Path {
        self.root.path()
    }

    /// A directory only this session's runs write to.
    pub(crate) fn private_path(&self) -> &Path {
        self.private.path()
    }

    async fn execute(&self, run: Run) -> Result<Outcome, RunError> {
        run.check()?;
        let own_path = self.root.path().to_str();
        let folder = RelFolder::parse(&run.folder, own_path)?;
        let at_root = folder.as_str().is_empty();
        let folder = match self.root.folder(&folder) {
            Ok(folder) => Arc::new(folder),
            Err(missing @ FolderError::Missing(_)) => {
                let text = missing.to_string();
                return Ok(Outcome::without_process(1, &text, self.enforcement.clone()));
            }
            Err(error) => return Err(error.into()),
        };
        if run.timeout.is_zero() {
            return Ok(Outcome::out_of_time(&run, self.enforcement.clone()));
        }
        let _alone = Alone::enter(&self.busy)?;
        let words = run.command.argv().iter().map(OsString::from);
        let line = line(&self.prefix.iter().cloned().chain(words).collect::<Vec<_>>());
        let started = Instant::now();
        // The home of this run may be there already, and a command before it may have closed the way.
        self.private.regain()?;
        #[cfg(target_os = "linux")]
        let at_once = !cgroup::joining_holds_others();
        #[cfg(not(target_os = "linux"))]
        let at_once = true;
        let (launched, own) = if at_root {
            let ready = || self.ready(Arc::clone(&folder));
            launch(&self.spare, ready, |ready| ready.run(&line), at_once).await?
        } else {
            // A launcher that is there already stands at the root and has no handle to go on by.
            self.ready(Arc::clone(&folder)).await?.run(&line).await?
        };
        let tree = LocalTree {
            leader: own.leader,
            mark: format!("{MARK}={}", own.mark).into_bytes(),
            #[cfg(target_os = "linux")]
            group: own.group.clone(),
        };
        let Launched { child, parent, .. } = launched;
        let ending = supervise(child, &tree, &run, self.options.limits.grace).await?;
        drop(parent);
        // What is in its home may take a while.
        let _panicked = tokio::task::spawn_blocking(move || drop(own)).await.is_err();
        if at_root && !at_once {
            self.spare.make(self.ready(folder));
        }
        let mut enforcement = self.enforcement.clone();
        if !ending.gone {
            enforcement.lifetime = Measure::none("processes of this run could not be ended");
        }
        Ok(Outcome {
            exit_code: ending.exit_code(),
            ended: ending.ended,
            stdout: ending.stdout,
            stderr: ending.stderr,
            enforcement,
            notices: Vec::new(),
            duration: started.elapsed(),
        })
    }

    /// Starts a launcher in a folder, with a home, a mark and a group of its own.
    fn ready(&self, folder: Arc<Folder>) -> impl Future<Output = io::Result<Ready<Own>>> + use<> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = mark(number);
        let home = self.private.path().join(number.to_string());
        let private = Arc::clone(&self.private);
        let limits = self.options.limits.clone();
        let confine = self.confine();
        let mut env = self.env.clone();
        env.insert("HOME".to_owned(), home.join("home").into());
        env.insert("TMPDIR".to_owned(), home.join("tmp").into());
        env.insert(MARK.to_owned(), mark.clone().into());
        async move {
            #[cfg(target_os = "linux")]
            warden::ensure();
            #[cfg(target_os = "linux")]
            let group = cgroup::for_run(&limits)?;
            let frame = Frame {
                env: env.into_iter().map(|(name, value)| (name.into(), value)).collect(),
                folder: Some(folder.by_own_handle()),
                limits: limits.inherited(false),
                #[cfg(target_os = "linux")]
                group: group.clone(),
                ..Frame::default()
            };
            let home = RunHome::new(private, &number.to_string())?;
            let launcher = Launcher::start(frame, confine?).await?;
            let own = Own {
                leader: launcher.id(),
                mark,
                #[cfg(target_os = "linux")]
                group,
                _home: home,
            };
            drop(folder);
            Ok(Ready { launcher, rest: own })
        }
    }

    #[cfg(target_os = "linux")]
    fn confine(&self) -> io::Result<Box<dyn FnOnce() -> io::Result<()> + Send>> {
        match &self.fence {
            None => Ok(Box::new(|| Ok(()))),
            Some(fence) => Ok(Box::new(fence.confine()?)),
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on Linux")]
    fn confine(&self) -> io::Result<Box<dyn FnOnce() -> io::Result<()> + Send>> {
        Ok(Box::new(|| Ok(())))
    }
}

impl Session for LocalSession {
    fn workspace_path(&self) -> Option<&Path> {
        Some(self.root.path())
    }

    fn inside(&self) -> Option<&str> {
        self.root.path().to_str()
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

/// Runs a command that may write in the workspace and nowhere else, and sees whether that holds.
pub(super) async fn trial(options: &Local) -> Result<String, BackendError> {
    let failed = |reason: String| BackendError::ProbeFailed(reason);
    let folder = || Private::new("akgentic-trial-").map_err(|error| failed(error.to_string()));
    let (outside, inside) = (folder()?, folder()?);
    let session = LocalSession::start(options.clone(), inside.path()).await?;
    let target = outside.path().join("written");
    let script = "echo a >inside || exit 11; echo a >\"$1\"; exit 0".to_owned();
    let shown = target.display().to_string();
    let argv = ["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned(), shown];
    let Some(command) = AllowedCommand::trusted(argv) else {
        return Err(failed("there is no command".to_owned()));
    };
    let outcome = session.execute(Run::new(command).within(PROBE_TIMEOUT)).await;
    let outcome = outcome.map_err(|error| failed(error.to_string()))?;
    if outcome.exit_code != 0 {
        return Err(failed(outcome.stderr.text(400)));
    }
    if session.enforcement.files.level != Level::None && target.exists() {
        return Err(failed("the fence let a command write outside of the workspace".to_owned()));
    }
    Ok(format!("files: {}", session.enforcement.files))
}

/// The one run a session has at a time.
struct Alone<'a>(&'a AtomicBool);

impl<'a> Alone<'a> {
    fn enter(busy: &'a AtomicBool) -> Result<Self, RunError> {
        if busy.swap(true, Ordering::AcqRel) {
            return Err(RunError::Busy("of another caller".to_owned()));
        }
        Ok(Self(busy))
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
