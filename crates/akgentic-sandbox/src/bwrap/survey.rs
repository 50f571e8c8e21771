//! A walk through the workspace: repositories before a run, what was planted after it.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags};

use crate::folder::Root;

/// Most entries that are looked at.
const ENTRIES_MAX: usize = 200_000;

/// Deepest folder that is looked into.
const DEPTH_MAX: usize = 128;

/// Most planted things that are told one by one.
const TOLD_MAX: usize = 20;

/// What a walk found, as paths below the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Everything called `.git`, folders and files, with its number.
    pub repositories: Vec<(PathBuf, u64)>,
    /// Links called `.git`, with their numbers.
    pub linked: Vec<(PathBuf, u64)>,
    /// What is no file, folder or link.
    pub special: Vec<(PathBuf, &'static str)>,
    /// Links that lead out of the workspace.
    pub outward: Vec<PathBuf>,
    /// Whether everything was looked at.
    pub complete: bool,
}

/// Looks at every entry below the root; no link is followed.
pub(super) fn survey(root: &Root) -> Survey {
    let mut found = Survey { complete: true, ..Survey::default() };
    let mut seen = 0;
    let Ok(handle) = rustix::io::fcntl_dupfd_cloexec(root.handle(), 0) else {
        found.complete = false;
        return found;
    };
    // Two folders of one level never need to be open at once.
    let mut todo = vec![PathBuf::new()];
    while let Some(path) = todo.pop() {
        if path.components().count() > DEPTH_MAX {
            found.complete = false;
            continue;
        }
        let opened = open_below(&handle, &path).and_then(|folder| Ok(Dir::new(folder)?));
        let Ok(entries) = opened else {
            found.complete = false;
            continue;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                found.complete = false;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            seen += 1;
            if seen > ENTRIES_MAX {
                found.complete = false;
                return found;
            }
            let path = path.join(as_path(name.to_bytes()));
            let is_repository = name.to_bytes() == b".git";
            match entry.file_type() {
                FileType::Symlink => {
                    if is_repository {
                        found.linked.push((path.clone(), entry.ino()));
                    }
                    if leads_out(&handle, &path) {
                        found.outward.push(path);
                    }
                }
                FileType::Directory | FileType::RegularFile if is_repository => {
                    found.repositories.push((path, entry.ino()));
                }
                FileType::Directory => todo.push(path),
                FileType::RegularFile => {}
                FileType::Fifo => found.special.push((path, "FIFO")),
                FileType::Socket => found.special.push((path, "socket")),
                FileType::CharacterDevice | FileType::BlockDevice => {
                    found.special.push((path, "device"));
                }
                FileType::Unknown => found.complete = false,
            }
        }
    }
    found
}

fn open_below(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let beneath = rustix::fs::ResolveFlags::BENEATH | rustix::fs::ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(root, path, flags, Mode::empty(), beneath) {
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            Ok(rustix::fs::openat(root, path, flags, Mode::empty())?)
        }
        answer => Ok(answer?),
    }
}

/// Whether a link leads out of the workspace, as far as its text tells.
fn leads_out(root: &OwnedFd, path: &Path) -> bool {
    let Ok(target) = rustix::fs::readlinkat(root, path, Vec::new()) else { return true };
    let target = target.to_bytes();
    if target.starts_with(b"/") {
        return true;
    }
    let mut depth = path.components().count() - 1;
    target.split(|byte| *byte == b'/').any(|part| match part {
        b"" | b"." => false,
        b".." => match depth.checked_sub(1) {
            Some(above) => {
                depth = above;
                false
            }
            None => true,
        },
        _ => {
            depth += 1;
            false
        }
    })
}

fn as_path(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// What a run planted, told to whoever uses the workspace next.
pub(super) fn planted(before: &Survey, after: &Survey) -> Vec<String> {
    let mut notices = Vec::new();
    let mut more = 0;
    let mut tell = |text: &dyn Fn() -> String| {
        if notices.len() < TOLD_MAX {
            notices.push(text());
        } else {
            more += 1;
        }
    };
    let known: HashSet<_> = before.repositories.iter().chain(&before.linked).collect();
    for repository in after.repositories.iter().chain(&after.linked) {
        // One that stands where another one stood is as new as any.
        if !known.contains(repository) {
            let (path, _) = repository;
            tell(&|| {
                format!(
                    "a repository was made at {}: do not run git there on the host before its settings and hooks were looked at",
                    shown(path)
                )
            });
        }
    }
    let known: HashSet<_> = before.special.iter().map(|(path, _)| path).collect();
    for (path, kind) in &after.special {
        if !known.contains(path) {
            tell(&|| format!("{} is a {kind}: opening it can block", shown(path)));
        }
    }
    let known: HashSet<_> = before.outward.iter().collect();
    for path in &after.outward {
        if !known.contains(path) {
            tell(&|| format!("{} is a link that leads out of the workspace", shown(path)));
        }
    }
    if more > 0 {
        notices.push(format!("… and {more} more of this kind"));
    }
    notices
}

/// A path in one line, whatever its names hold.
fn shown(path: &Path) -> String {
    path.display().to_string().replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_found_and_no_link_is_followed() {
        let base = tempfile::tempdir().expect("a folder");
        let at = |path: &str| base.path().join(path);
        std::fs::create_dir_all(at(".git/hooks")).expect("folders");
        std::fs::create_dir_all(at("a/b")).expect("folders");
        std::fs::write(at("a/b/.git"), "").expect("a file");
        std::os::unix::fs::symlink("/etc", at("etc")).expect("a link");
        std::os::unix::fs::symlink("../a", at("a/self")).expect("a link");
        std::os::unix::fs::symlink("../../x", at("a/out")).expect("a link");
        let root = Root::open(base.path()).expect("a root");
        let mut found = survey(&root);
        found.repositories.sort();
        let repositories: Vec<_> =
            found.repositories.iter().map(|(path, _)| path.clone()).collect();
        found.outward.sort();
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(repositories, paths(&[".git", "a/b/.git"]));
        assert_eq!(found.outward, paths(&["a/out", "etc"]));
        assert!(found.complete && found.special.is_empty());
        assert_eq!(planted(&found, &found), Vec::<String>::new());
        let told = planted(&Survey::default(), &found);
        assert_eq!(told.len(), 4);
    }

    /// A quadratic comparison would take minutes.
    #[test]
    fn a_hundred_thousand_links_are_compared_in_no_time() {
        let outward: Vec<_> =
            (0..100_000).map(|n| PathBuf::from(format!("l/{n}\nforged"))).collect();
        let before = Survey { outward, ..Survey::default() };
        let started = std::time::Instant::now();
        assert_eq!(planted(&before, &before), Vec::<String>::new());
        let told = planted(&Survey::default(), &before);
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
        assert_eq!(told.len(), TOLD_MAX + 1);
        assert_eq!(told.last().map(String::as_str), Some("… and 99980 more of this kind"));
        assert!(told.iter().all(|line| !line.contains('\n')), "{told:?}");
    }
}
