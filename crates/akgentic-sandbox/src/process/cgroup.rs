//! Control groups: bounds on a whole run, and a name for everything it started.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::enforcement::{Enforcement, Measure};
use crate::limits::Limits;
use crate::process::owner;

/// Names of groups start so; the PID namespace and the process that made them follow.
const PREFIX: &str = "akgentic-command-";

/// How the names of groups start that the process of this number made.
fn made_by(pid: u32) -> Option<String> {
    Some(format!("{PREFIX}{}-", owner::stamp(pid)?))
}

/// How the paths of all groups start that this process makes.
pub(crate) fn own_groups() -> Vec<PathBuf> {
    let (Ok(hierarchy), Some(name)) = (hierarchy(), made_by(std::process::id())) else {
        return Vec::new();
    };
    let parents = match hierarchy {
        Hierarchy::Unified(parent) => vec![parent],
        Hierarchy::Split { pids, memory } => [pids].into_iter().chain(memory).collect(),
    };
    parents.into_iter().map(|parent| parent.join(&name)).collect()
}

/// How often, and how long apart, the removal of a group is tried whose last process is ending.
const REMOVALS: u32 = 20;
const REMOVAL: Duration = Duration::from_millis(1);

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Where groups can be made; looked for once.
static FOUND: LazyLock<Result<Hierarchy, String>> = LazyLock::new(Hierarchy::find);

/// The place for groups, or why there is none.
pub(crate) fn hierarchy() -> Result<&'static Hierarchy, &'static str> {
    FOUND.as_ref().map_err(String::as_str)
}

/// Directories below which groups can be made.
#[derive(Debug)]
pub(crate) enum Hierarchy {
    /// One for everything.
    Unified(PathBuf),
    /// One per controller.
    Split { pids: PathBuf, memory: Option<PathBuf> },
}

impl Hierarchy {
    fn find() -> Result<Self, String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut reason = "no control groups are mounted".to_owned();
        for candidate in unified(&mounts, &own) {
            match usable_unified(&candidate) {
                Ok(()) => return Ok(Self::Unified(candidate)),
                Err(error) => reason = format!("{}: {error}", candidate.display()),
            }
        }
        match split(&mounts, &own, "pids").map(|pids| (usable(&pids, "pids.max"), pids)) {
            Some((Ok(()), pids)) => {
                let memory = split(&mounts, &own, "memory")
                    .filter(|memory| usable(memory, "memory.limit_in_bytes").is_ok());
                Ok(Self::Split { pids, memory })
            }
            Some((Err(error), pids)) => Err(format!("{}: {error}", pids.display())),
            None => Err(reason),
        }
    }

    /// What bounds memory here, if anything does.
    pub(crate) fn bounds_memory(&self) -> bool {
        match self {
            Self::Unified(_) => true,
            Self::Split { memory, .. } => memory.is_some(),
        }
    }

    /// Makes a group with these bounds.
    pub(crate) fn group(&self, limits: &Limits) -> io::Result<Group> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let unknown = || io::Error::other("the PID namespace of this process cannot be read");
        let name = format!("{}{number}", made_by(std::process::id()).ok_or_else(unknown)?);
        let mut group = Group { directories: Vec::new(), kill_file: None, by_thread: false };
        let pids_max = limits.processes.map_or("max".to_owned(), |count| count.to_string());
        match self {
            Self::Unified(parent) => {
                let made = group.make(parent, &name)?;
                fs::write(made.join("pids.max"), pids_max)?;
                if let Some(memory) = limits.memory {
                    fs::write(made.join("memory.max"), memory.to_string())?;
                    // There may be no swap to bound.
                    let _absent = fs::write(made.join("memory.swap.max"), "0").is_err();
                }
                group.kill_file = Some(made.join("cgroup.kill")).filter(|file| file.exists());
            }
            Self::Split { pids, memory } => {
                group.by_thread = true;
                let made = group.make(pids, &name)?;
                fs::write(made.join("pids.max"), pids_max)?;
                if let (Some(parent), Some(bytes)) = (memory, limits.memory) {
                    let made = group.make(parent, &name)?;
                    fs::write(made.join("memory.limit_in_bytes"), bytes.to_string())?;
                    // Swap is accounted for on some systems only.
                    let swap = made.join("memory.memsw.limit_in_bytes");
                    let _absent = fs::write(swap, bytes.to_string()).is_err();
                }
            }
        }
        Ok(group)
    }
}

/// What groups enforce here; nothing where none can be made.
pub(crate) fn report(limits: &Limits, report: &mut Enforcement) {
    match hierarchy() {
        Ok(hierarchy) => {
            report.processes = bound_processes(limits);
            report.memory = memory(limits, hierarchy.bounds_memory());
            report.lifetime = Measure::full("everything in the control group is ended");
        }
        Err(reason) => {
            report.processes = Measure::none(format!("no control group: {reason}"));
            report.memory = memory(limits, false);
            report.lifetime = Measure::partial(
                "the process group and what carries the mark of the run are ended; no control group",
            );
        }
    }
}

/// A group for one run; nothing where none can be made.
pub(crate) fn for_run(limits: &Limits) -> io::Result<Option<Arc<Group>>> {
    let Ok(hierarchy) = hierarchy() else { return Ok(None) };
    Ok(Some(Arc::new(hierarchy.group(limits)?)))
}

/// Whether a process that joins a group makes every other one on the system wait for some
/// milliseconds before it can fork, start a program or end.
pub(crate) fn joining_holds_others() -> bool {
    matches!(hierarchy(), Ok(Hierarchy::Unified(_)))
}

/// What a control group says about processes.
pub(crate) fn bound_processes(limits: &Limits) -> Measure {
    match limits.processes {
        Some(count) => Measure::full(format!("control group: at most {count}")),
        None => Measure::none("no bound is configured"),
    }
}

/// What bounds memory.
pub(crate) fn memory(limits: &Limits, by_group: bool) -> Measure {
    match limits.memory {
        None => Measure::none("no bound is configured"),
        Some(bytes) if by_group => {
            Measure::full(format!("control group: at most {} MiB", bytes >> 20))
        }
        Some(bytes) => Measure::partial(format!(
            "at most {} MiB of data for each process; nothing bounds their sum",
            bytes >> 20
        )),
    }
}

/// The own group and the one above it.
fn unified(mounts: &str, own: &str) -> Vec<PathBuf> {
    let Some(mount) = mount_point(mounts, |kind, _| kind == "cgroup2") else { return Vec::new() };
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Vec::new();
    };
    let here = mount.join(path.trim_start_matches('/'));
    let above = (here != mount).then(|| here.parent().map(Path::to_owned)).flatten();
    [Some(here), above].into_iter().flatten().collect()
}

fn split(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let has = |options: &str| options.split(',').any(|option| option == controller);
    let mount = mount_point(mounts, |kind, options| kind == "cgroup" && has(options))?;
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        fields.next().filter(|names| has(names))?;
        fields.next()
    })?;
    let below = mount.join(path.trim_start_matches('/'));
    Some(if below.exists() { below } else { mount })
}

fn mount_point(mounts: &str, is_meant: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1)?);
        is_meant(name, options).then(|| mount.split(' ').nth(4).map(PathBuf::from))?
    })
}

/// Removes groups of processes that are gone without having removed them, with what still runs there.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(owner::is_orphan) {
            // What this process may not see or signal stays, and its group with it.
            let left = Group { directories: vec![entry.path()], kill_file: None, by_thread: false };
            left.kill();
        }
    }
}

/// Whether groups below bound processes and memory, switching that on where it is ours to do.
fn usable_unified(parent: &Path) -> io::Result<()> {
    let file = parent.join("cgroup.subtree_control");
    let on = fs::read_to_string(&file)?;
    let has = |name: &str| on.split_ascii_whitespace().any(|found| found == name);
    if !(has("pids") && has("memory")) {
        let offered = fs::read_to_string(parent.join("cgroup.controllers"))?;
        let offers = |name: &str| offered.split_ascii_whitespace().any(|found| found == name);
        if !(offers("pids") && offers("memory")) {
            return Err(io::Error::other("the pids and memory controllers are not delegated"));
        }
        fs::write(&file, "+pids +memory")?;
    }
    usable(parent, "pids.max")
}

/// Makes a group and removes it again.
fn usable(parent: &Path, file: &str) -> io::Result<()> {
    let trial = parent.join(format!("akgentic-trial-{}", std::process::id()));
    fs::create_dir(&trial)?;
    let found = trial.join(file).exists();
    fs::remove_dir(&trial)?;
    sweep(parent);
    if found { Ok(()) } else { Err(io::Error::other(format!("groups here have no {file}"))) }
}

/// The group of one run; removed when dropped.
#[derive(Debug)]
pub(crate) struct Group {
    directories: Vec<PathBuf>,
    kill_file: Option<PathBuf>,
    /// Whether a single thread can be in it.
    by_thread: bool,
}

/// Files by which a thread enters a group and comes back.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    into: Vec<fs::File>,
    back: Vec<fs::File>,
}

impl Doors {
    /// Does `work` inside: what it starts is born in the group.
    ///
    /// A thread of its own has to do this, and end when it could not come back.
    pub(crate) fn inside<T>(mut self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let pass =
            |doors: &mut Vec<fs::File>| doors.iter_mut().try_for_each(|door| door.write_all(b"0"));
        let done = pass(&mut self.into).and_then(|()| work());
        pass(&mut self.back)?;
        done
    }
}

impl Group {
    fn make(&mut self, parent: &Path, name: &str) -> io::Result<PathBuf> {
        let directory = parent.join(name);
        fs::create_dir(&directory)?;
        self.directories.push(directory.clone());
        Ok(directory)
    }

    /// Opens what a thread enters by; nothing where only whole processes can.
    ///
    /// A thread that moves itself holds up nobody, unlike a process that is moved.
    pub(crate) fn doors(&self) -> io::Result<Doors> {
        let mut doors = Doors::default();
        for directory in self.directories.iter().filter(|_| self.by_thread) {
            let open =
                |directory: &Path| fs::File::options().write(true).open(directory.join("tasks"));
            doors.into.push(open(directory)?);
            doors.back.push(open(directory.parent().unwrap_or(directory))?);
        }
        Ok(doors)
    }

    /// Takes in a process that was not born inside, and whatever it starts from then on.
    pub(crate) fn join(&self, pid: i32) -> io::Result<()> {
        for directory in self.directories.iter().filter(|_| !self.by_thread) {
            fs::write(directory.join("cgroup.procs"), pid.to_string())?;
        }
        Ok(())
    }

    fn members(&self) -> Vec<Pid> {
        let Some(first) = self.directories.first() else { return Vec::new() };
        let listed = fs::read_to_string(first.join("cgroup.procs")).unwrap_or_default();
        let own = rustix::process::getpid();
        let members = listed.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        members.filter(|pid| *pid != own).collect()
    }

    /// Ends everything in it.
    pub(crate) fn kill(&self) {
        if self.kill_file.as_ref().is_some_and(|file| fs::write(file, "1").is_ok()) {
            return;
        }
        self.signal(Signal::KILL);
    }

    /// Signals everything in it.
    pub(crate) fn signal(&self, signal: Signal) {
        for pid in self.members() {
            // It may have ended meanwhile.
            let _gone = rustix::process::kill_process(pid, signal).is_err();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members().is_empty()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let mut left = REMOVALS;
        for directory in &self.directories {
            while let Err(error) = fs::remove_dir(directory) {
                if left == 0 || error.kind() != io::ErrorKind::ResourceBusy {
                    tracing::debug!(%error, group = %directory.display(), "control group not removed");
                    break;
                }
                // What was just killed takes a moment to go.
                self.kill();
                left -= 1;
                std::thread::park_timeout(REMOVAL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_the_mounts() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
                      31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "8:pids:/a\n0::/b/c\n";
        assert_eq!(
            unified(mounts, own),
            [Path::new("/sys/fs/cgroup/unified/b/c"), Path::new("/sys/fs/cgroup/unified/b")]
        );
        assert_eq!(split(mounts, own, "memory"), None);
        assert_eq!(split(mounts, "8:pids:/\n", "pids"), Some("/sys/fs/cgroup/pids/".into()));
    }

    /// Somebody who was killed could not end what it ran.
    #[test]
    fn serial_what_a_dead_process_left_running_is_ended() {
        let Ok(Hierarchy::Split { pids: place, .. } | Hierarchy::Unified(place)) = hierarchy()
        else {
            println!("skipped: no group can be made here");
            return;
        };
        let mut gone = std::process::Command::new("true").spawn().expect("a process");
        let owner = gone.id();
        assert!(gone.wait().expect("it ended").success());
        let name = format!("{}0", made_by(owner).expect("a name"));
        let (directory, foreign) = (place.join(&name), place.join(name.replacen('-', "-0", 2)));
        for group in [&directory, &foreign] {
            fs::create_dir(group).expect("a group");
        }
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        fs::write(directory.join("cgroup.procs"), child.id().to_string()).expect("it joins");
        let reaping = std::thread::spawn(move || child.wait().expect("it ended"));
        sweep(place);
        assert!(!reaping.join().expect("reaped").success());
        // What had not quite ended kept it; the next one to look finds it empty.
        sweep(place);
        assert!(!directory.exists());
        assert!(foreign.exists(), "in another PID namespace, its owner may well be there");
        fs::remove_dir(foreign).expect("removed");
    }

    /// A group of version 2 with the kernel itself: who joins is in it, and all end at once.
    #[test]
    fn serial_a_group_of_version_2_ends_its_members() {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        let own = fs::read_to_string("/proc/self/cgroup").expect("groups");
        let places = unified(&mounts, &own);
        let limits = Limits { processes: Some(8), ..Limits::default() };
        let name = format!("{PREFIX}test-{}", std::process::id());
        let mut plain = Group { directories: Vec::new(), kill_file: None, by_thread: false };
        let full = places.iter().find(|place| usable_unified(place).is_ok());
        let group = if let Some(place) = full {
            Hierarchy::Unified(place.clone()).group(&limits).expect("a group")
        } else if let Some(made) = places.iter().find_map(|place| plain.make(place, &name).ok()) {
            println!(
                "skipped: bounds of version 2; its pids and memory controllers are not to be had here"
            );
            plain.kill_file = Some(made.join("cgroup.kill"));
            plain
        } else {
            println!("skipped: no group of version 2 can be made here");
            return;
        };
        let script = "<STDIN>; $| = 1; \
                      for (1..20) { my $p = fork; exec 'sleep', 60 if defined $p and !$p } \
                      print 'up'; sleep 60";
        let mut child = std::process::Command::new("perl")
            .args(["-e", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("perl");
        group.join(i32::try_from(child.id()).expect("a number")).expect("it joins");
        let mut go = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut go, b"go\n").expect("told");
        let mut said = [0; 2];
        let mut out = child.stdout.take().expect("a pipe");
        std::io::Read::read_exact(&mut out, &mut said).expect("it is up");
        let members = group.members().len();
        assert_eq!(members, if full.is_some() { 8 } else { 21 });
        assert!(!group.is_empty());
        group.kill();
        assert!(!child.wait().expect("it ended").success());
        let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !group.is_empty() && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(group.is_empty());
        let directory = group.directories.first().expect("a folder").clone();
        drop(group);
        assert!(!directory.exists(), "it is removed with the run");
    }
}
