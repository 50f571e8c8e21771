//! Private folders, gone at the end whatever a command made of them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::process::owner;

/// A folder in the temporary directory of the system, removed when dropped.
#[derive(Debug)]
pub(crate) struct Private(TempDir);

/// How the names of all of them start; the kind and who made it follow.
const PREFIX: &str = "akgentic-";

/// Folders of others that one process removes at most, so that its start does not take for ever.
const SWEPT_MAX: usize = 64;

impl Private {
    /// A new one of a kind, as `akgentic-KIND-`. The first one of a process takes those away that
    /// processes left who were killed.
    pub(crate) fn new(prefix: &str) -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(&std::env::temp_dir()));
        let prefix = match owner::own_stamp() {
            Some(stamp) => format!("{prefix}{stamp}-"),
            None => prefix.to_owned(),
        };
        tempfile::Builder::new().prefix(&prefix).tempdir().map(Self)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes it usable again after a command that may have changed its mode.
    pub(crate) fn regain(&self) -> io::Result<()> {
        own(rustix::fs::CWD, self.path()).map(drop).map_err(Into::into)
    }
}

/// Removes private folders of this user whose makers are gone.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let own = rustix::process::geteuid().as_raw();
    let left = entries.filter_map(Result::ok).filter(|entry| {
        let name = entry.file_name();
        let stamped = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        stamped.is_some_and(|(_, stamped)| owner::is_orphan(stamped))
            && fs::symlink_metadata(entry.path())
                .is_ok_and(|found| found.is_dir() && found.uid() == own)
    });
    for entry in left.take(SWEPT_MAX) {
        remove(&entry.path());
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        remove(self.path());
    }
}

/// Home and temporary directory of one run, gone with it.
#[derive(Debug)]
pub(crate) struct RunHome {
    path: PathBuf,
    private: Arc<Private>,
}

impl RunHome {
    /// A new one of this name.
    pub(crate) fn new(private: Arc<Private>, name: &str) -> io::Result<Self> {
        private.regain()?;
        let home = Self { path: private.path().join(name), private };
        fs::create_dir(&home.path)?;
        fs::create_dir(home.path.join("home"))?;
        fs::create_dir(home.path.join("tmp"))?;
        Ok(home)
    }
}

impl Drop for RunHome {
    fn drop(&mut self) {
        if let Err(error) = self.private.regain() {
            tracing::warn!(%error, "a private folder cannot be used any more");
        }
        remove(&self.path);
    }
}

/// Removes a folder with everything in it; what is left is logged.
fn remove(path: &Path) {
    let removed = own(rustix::fs::CWD, path).and_then(|folder| {
        empty(&folder)?;
        rustix::fs::unlinkat(rustix::fs::CWD, path, AtFlags::REMOVEDIR)
    });
    match removed {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => tracing::warn!(%error, path = %path.display(), "a private folder is left"),
    }
}

/// Empties a folder, however deep it is: folders in folders come up to it, one level at a time, so
/// that neither open folders nor calls pile up.
fn empty(top: &Dir) -> Result<(), Errno> {
    let prefix = uuid::Uuid::new_v4().simple().to_string();
    let mut next = 0_u64;
    let mut left = Ok(());
    loop {
        let mut found = false;
        for (name, is_folder) in entries(top)? {
            if !is_folder {
                found |= unlink(top, &name, &mut left);
                continue;
            }
            let below = match own(top.fd()?, &name) {
                Ok(below) => below,
                Err(error) => {
                    left = Err(error);
                    continue;
                }
            };
            for (inner, is_folder) in entries(&below)? {
                if !is_folder {
                    unlink(&below, &inner, &mut left);
                } else if rustix::fs::unlinkat(below.fd()?, &inner, AtFlags::REMOVEDIR).is_err() {
                    // A folder goes elsewhere only when it can be written itself.
                    let moved = own(below.fd()?, &inner).and_then(|_| {
                        let name = format!("{prefix}-{next}");
                        next += 1;
                        rustix::fs::renameat(below.fd()?, &inner, top.fd()?, name)
                    });
                    left = left.and(moved);
                }
            }
            match rustix::fs::unlinkat(top.fd()?, &name, AtFlags::REMOVEDIR) {
                Ok(()) => found = true,
                Err(error) => left = Err(error),
            }
        }
        if !found {
            return left;
        }
        left = Ok(());
    }
}

fn unlink(folder: &Dir, name: &std::ffi::CStr, left: &mut Result<(), Errno>) -> bool {
    let removed = folder.fd().and_then(|fd| rustix::fs::unlinkat(fd, name, AtFlags::empty()));
    if removed.is_err() {
        *left = removed;
    }
    removed.is_ok()
}

/// Names in a folder, and which of them are folders.
fn entries(folder: &Dir) -> Result<Vec<(std::ffi::CString, bool)>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder.fd()?)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let is_folder = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(folder.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode) == FileType::Directory
            }
            kind => kind == FileType::Directory,
        };
        names.push((name.to_owned(), is_folder));
    }
    Ok(names)
}

/// Opens a folder, no link, that its owner may use from now on.
fn own(at: impl std::os::fd::AsFd, name: impl rustix::path::Arg + Copy) -> Result<Dir, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(&at, name, flags | OFlags::RDONLY, Mode::empty());
    let mode = Mode::RWXU;
    let folder = match open() {
        Err(Errno::ACCESS) => {
            #[cfg(target_os = "linux")]
            {
                let held = rustix::fs::openat(&at, name, flags | OFlags::PATH, Mode::empty())?;
                let number = std::os::fd::AsRawFd::as_raw_fd(&held);
                rustix::fs::chmod(format!("/proc/self/fd/{number}"), mode)?;
            }
            #[cfg(not(target_os = "linux"))]
            rustix::fs::chmodat(&at, name, mode, AtFlags::SYMLINK_NOFOLLOW)?;
            open()?
        }
        opened => opened?,
    };
    let stat = rustix::fs::fstat(&folder)?;
    if !Mode::from_raw_mode(stat.st_mode).contains(mode) {
        rustix::fs::fchmod(&folder, mode)?;
    }
    Dir::new(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[cfg(target_os = "linux")]
    #[test]
    fn serial_what_a_dead_process_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().expect("a folder");
        let mut gone = std::process::Command::new("true").spawn().expect("a process");
        let stamp = owner::stamp(gone.id()).expect("a stamp");
        assert!(gone.wait().expect("it ended").success());
        let alive = owner::own_stamp().expect("a stamp");
        let foreign = stamp.replacen(|digit: char| digit.is_ascii_digit(), "", 1);
        let orphan = format!("akgentic-local-{stamp}-a");
        let linked = format!("akgentic-bwrap-{stamp}-b");
        let kept = [
            format!("akgentic-local-{alive}-a"),
            format!("akgentic-local-{foreign}-a"),
            format!("akgentic-local-{stamp}"),
            format!("other-local-{stamp}-a"),
            "akgentic-local-Xy12".to_owned(),
            "kept".to_owned(),
        ];
        let at = |name: &str| place.path().join(name);
        for name in kept.iter().chain([&orphan]) {
            fs::create_dir_all(at(name).join("7/tmp")).expect("folders");
            fs::write(at(name).join("7/tmp/f"), "x").expect("a file");
        }
        std::os::unix::fs::symlink(at("kept"), at(&linked)).expect("a link");
        fs::set_permissions(at(&orphan), fs::Permissions::from_mode(0o0)).expect("a mode");
        sweep(place.path());
        assert!(!at(&orphan).exists());
        for name in kept {
            assert!(at(&name).join("7/tmp/f").exists(), "{name}");
        }
        assert!(at(&linked).is_symlink());
    }

    #[test]
    fn what_is_deep_closed_or_elsewhere_is_handled() {
        let outside = tempfile::tempdir().expect("a folder");
        fs::write(outside.path().join("kept"), "x").expect("a file");
        let private = Arc::new(Private::new("akgentic-test-").expect("a folder"));
        let path = private.path().to_owned();
        let home = RunHome::new(Arc::clone(&private), "7").expect("a home");
        let at = |below: &str| path.join("7").join(below);
        std::os::unix::fs::symlink(outside.path(), at("tmp/link")).expect("a link");
        fs::create_dir_all(at("tmp/a/b/c")).expect("folders");
        fs::write(at("tmp/a/b/c/f"), "x").expect("a file");
        let mut folder = rustix::fs::open(at("tmp"), OFlags::DIRECTORY, Mode::empty()).expect("it");
        for _ in 0..3000 {
            rustix::fs::mkdirat(&folder, "d", Mode::RWXU).expect("a folder");
            folder =
                rustix::fs::openat(&folder, "d", OFlags::DIRECTORY, Mode::empty()).expect("it");
        }
        for closed in ["tmp/a/b/c", "tmp/a/b", "tmp/a", "tmp", "", ".."] {
            fs::set_permissions(at(closed), fs::Permissions::from_mode(0o0)).expect("a mode");
        }
        drop(home);
        assert!(!path.join("7").exists());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).expect("a mode");
        drop(private);
        assert!(!path.exists());
        assert!(outside.path().join("kept").exists());
    }
}
