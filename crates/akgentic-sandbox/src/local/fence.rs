//! The Landlock fence: what a command on the host may read and write.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::{Fence, Local, Network};
use crate::enforcement::{Enforcement, Measure};
use crate::error::BackendError;
use crate::folder::Root;

/// The oldest interface under which no write gets past the fence: older ones let files be cut off.
const WRITES: ABI = ABI::V3;

/// The newest interface that is made use of where it is there.
const NEWEST: ABI = ABI::V6;

/// Places of the home directory where credentials are kept.
const CREDENTIALS: [&str; 34] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".pgpass",
    ".my.cnf",
    ".boto",
    ".s3cfg",
    ".vault-token",
    ".terraform.d",
    ".databrickscfg",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".local/share/keyrings",
    ".config/git/credentials",
    ".config/rclone",
];

/// More of them, below `.config`.
const CONFIGURATION: [&str; 6] =
    ["gcloud", "gh", "op", "google-chrome", "chromium", "containers/auth.json"];

/// Places outside of it that root could read.
const SYSTEM: [&str; 8] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/run/secrets",
];

/// Devices a command may write to.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

const NO_CAPABILITIES: CapabilitySets = CapabilitySets {
    effective: CapabilitySet::empty(),
    permitted: CapabilitySet::empty(),
    inheritable: CapabilitySet::empty(),
};

/// What the fence of one workspace lets through, ready to be put around a thread.
pub(super) struct FenceRules {
    rules: RulesetCreated,
    fence: Fence,
}

impl FenceRules {
    /// Writes below `root` and `private`, reads nearly everywhere.
    pub(super) fn new(
        options: &Local,
        root: &Root,
        private: &Path,
    ) -> Result<Option<Self>, BackendError> {
        if options.fence == Fence::None {
            return Ok(None);
        }
        if options.fence == Fence::Full && options.network == Network::None {
            return Err(not_enforced(&"Landlock can refuse TCP but no other network"));
        }
        let rules = build(options, root, private).map_err(|error| not_enforced(&error))?;
        Ok(Some(Self { rules, fence: options.fence }))
    }

    /// What puts the fence around the calling thread and everything it starts.
    pub(super) fn confine(&self) -> io::Result<impl FnOnce() -> io::Result<()> + Send + 'static> {
        let rules = self.rules.try_clone()?;
        let fence = self.fence;
        Ok(move || {
            let status = rules.restrict_self().map_err(io::Error::other)?;
            if holds(&status, fence) {
                // Root keeps its files, but not the right to look into any process. What a thread
                // without privileges starts cannot get new ones.
                return Ok(set_capabilities(None, NO_CAPABILITIES)?);
            }
            Err(io::Error::other(format!("the Landlock fence does not hold: {:?}", status.ruleset)))
        })
    }
}

fn holds(status: &RestrictionStatus, fence: Fence) -> bool {
    let enforced = match fence {
        Fence::Full => status.ruleset == RulesetStatus::FullyEnforced || interface() >= WRITES,
        Fence::Partial | Fence::None => true,
    };
    enforced && status.no_new_privs
}

fn not_enforced(reason: &dyn std::fmt::Display) -> BackendError {
    BackendError::NotEnforced(format!(
        "commands on the host cannot be fenced in as asked ({reason}); use bwrap or docker, or accept less by {}=partial or =none",
        super::LOCAL_FENCE
    ))
}

/// The kernel's interface; an unknown one offers nothing.
///
/// It is told when a fence is put up, so one is put up, around a thread that does nothing.
static INTERFACE: LazyLock<ABI> = LazyLock::new(|| {
    let fenced = std::thread::spawn(|| {
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(ABI::V1))?;
        ruleset.create()?.restrict_self()
    });
    match fenced.join() {
        Ok(Ok(RestrictionStatus {
            landlock: LandlockStatus::Available { effective_abi, .. },
            ..
        })) => effective_abi,
        _ => ABI::Unsupported,
    }
});

fn interface() -> ABI {
    *INTERFACE
}

fn build(options: &Local, root: &Root, private: &Path) -> Result<RulesetCreated, RulesetError> {
    let must = match options.fence {
        Fence::Full => CompatLevel::HardRequirement,
        Fence::Partial | Fence::None => CompatLevel::BestEffort,
    };
    let all = AccessFs::from_all(NEWEST);
    let mut ruleset = Ruleset::default()
        .set_compatibility(must)
        .handle_access(AccessFs::from_all(WRITES))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?;
    if options.network == Network::None {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = ruleset.create()?;
    let read = AccessFs::from_read(NEWEST);
    let hidden = hidden(options);
    let mut readable = Vec::new();
    cover(Path::new("/"), &hidden, &mut readable);
    rules = beneath(rules, "/", AccessFs::ReadDir.into())?;
    for path in &readable {
        rules = beneath(rules, path, read)?;
    }
    let file = AccessFs::from_file(NEWEST) & !AccessFs::Execute;
    for path in DEVICES {
        rules = beneath(rules, path, file)?;
    }
    let writable = all & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    rules = rules.add_rule(PathBeneath::new(root.handle().as_fd(), writable))?;
    beneath(rules, private, writable)
}

/// Adds a rule for a path; one that is not there needs none.
fn beneath(
    rules: RulesetCreated,
    path: impl AsRef<Path>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let path = path.as_ref();
    let Ok(handle) = PathFd::new(path) else { return Ok(rules) };
    let is_directory = fs::metadata(path).is_ok_and(|found| found.is_dir());
    let access = if is_directory { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(handle, access))
}

fn hidden(options: &Local) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    if let Some(home) = std::env::home_dir() {
        hidden.extend(CREDENTIALS.iter().map(|name| home.join(name)));
        hidden.extend(CONFIGURATION.iter().map(|name| home.join(".config").join(name)));
    }
    hidden.extend(options.hidden.iter().cloned());
    hidden.into_iter().filter_map(|path| fs::canonicalize(path).ok()).collect()
}

/// Collects what lies below `directory` and is not hidden, in as few paths as possible.
///
/// Links are left out: what they lead to is judged by its own path.
fn cover(directory: &Path, hidden: &[PathBuf], found: &mut Vec<PathBuf>) {
    if !hidden.iter().any(|path| path.starts_with(directory)) {
        found.push(directory.to_owned());
        return;
    }
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if !is_link && !hidden.contains(&path) {
            cover(&path, hidden, found);
        }
    }
}

/// Says what the fence holds.
pub(super) fn report(options: &Local, enforcement: &mut Enforcement) {
    let interface = interface();
    if options.fence == Fence::None {
        let why = "the operator chose no fence";
        enforcement.files = Measure::none(why);
        enforcement.network = Measure::none("the host's network; no fence by choice");
        enforcement.kernel = Measure::none(why);
        return;
    }
    let version = interface as i32;
    enforcement.files = match interface {
        ABI::Unsupported => Measure::none("this kernel has no Landlock"),
        abi if abi < WRITES => Measure::partial(format!(
            "Landlock {version}: new files only in the workspace and a private directory, but any file the user may write can be cut off"
        )),
        // Landlock has no right for what chmod, chown, touch and setfattr do.
        _ => Measure::partial(format!(
            "Landlock {version}: writes only in the workspace and a private directory; everything but credential places can be read; modes, owners, times and attributes of files elsewhere can be changed as far as the user may"
        )),
    };
    enforcement.network = match options.network {
        Network::Host => Measure::none("the host's network and its local sockets"),
        Network::None if interface >= ABI::V4 => {
            Measure::partial(format!("Landlock {version}: no TCP; anything else is open"))
        }
        Network::None => Measure::none("Landlock of this kernel knows no network"),
    };
    enforcement.kernel = match interface {
        ABI::Unsupported => Measure::none("this kernel has no Landlock"),
        abi if abi >= ABI::V6 => Measure::partial(
            "no privileges, no look into processes outside and no signals to them; no filter on system calls",
        ),
        _ => Measure::partial(
            "no privileges, no look into processes outside; signals to them and system calls are open",
        ),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_left_out_and_links_too() {
        let base = tempfile::tempdir().expect("a folder");
        let base = fs::canonicalize(base.path()).expect("a path");
        fs::create_dir_all(base.join("home/.ssh")).expect("folders");
        fs::create_dir_all(base.join("home/src")).expect("folders");
        fs::create_dir_all(base.join("usr")).expect("folders");
        std::os::unix::fs::symlink(base.join("home/.ssh"), base.join("home/way")).expect("a link");
        let mut found = Vec::new();
        cover(&base, &[base.join("home/.ssh")], &mut found);
        found.sort();
        assert_eq!(found, [base.join("home/src"), base.join("usr")]);
    }
}
