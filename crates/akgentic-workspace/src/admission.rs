//! Path admission: the one way from a path somebody spelled to a place beneath the root.
//!
//! A path is walked name by name below the root's handle. Links are read and their targets walked
//! by the same rules, `..` applies to what was resolved so far, and a name that does not exist is
//! kept as it is. Outside the root nothing is ever looked at: there, names are only compared with
//! the root's own path, so that a path that comes back in is understood.
//!
//! A path may be spelled as it is or as it is shown where that differs.
//!
//! What is to be changed passes one rule more: a git repository keeps settings and hooks that name
//! programs, and whoever runs git there next, outside of any sandbox, would run them. So nothing is
//! changed by a path that goes through the name `.git`, by itself or by way of a link.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use crate::error::{EscapeRoute, FileError, FileFault, LINKS_MAX, NAME_MAX, PATH_MAX};
use crate::root::{Directory, Kind, Root, Status};
use crate::spelling;

/// How often a lookup starts again when the tree changes under it.
const ATTEMPTS: u32 = 8;

/// A path relative to the root, without links, `.` and `..`; the root itself is empty.
///
/// Two spellings of one file give the same value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(PathBuf);

impl RelPath {
    /// The path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// A path that is known to have neither links nor `.` and `..`.
    pub(crate) fn of(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn join(&self, name: &OsStr) -> Self {
        Self(self.0.join(name))
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.as_os_str().is_empty()
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&spelling::shown(&self.0))
    }
}

/// What to do with a link that is the last name of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLink {
    /// Go where it points.
    Follow,
    /// Stay at the link.
    Keep,
}

/// An admitted path: where it leads, and the handle to act there.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    pub rel: RelPath,
    pub place: Place,
    /// Whether the way went through what git keeps of a repository.
    in_repository: bool,
}

/// What is at an admitted path.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A directory.
    Directory(Directory),
    /// Something in a directory that is no directory.
    Entry { parent: Directory, name: OsString, status: Status },
    /// Nothing yet: the last directory that exists, and the names below it.
    Absent { parent: Directory, names: Vec<OsString> },
    /// Nothing possible: a name on the way is a file.
    BelowFile,
}

impl Root {
    /// Where `path` leads, links followed; whether something is there does not matter.
    pub fn resolve(&self, path: &str) -> Result<RelPath, FileError> {
        self.admit(path, LastLink::Follow).map(|admitted| admitted.rel)
    }

    /// Admits `path` or says why not.
    pub(crate) fn admit(&self, path: &str, last: LastLink) -> Result<Admitted, FileError> {
        let spelled = spelling::read(path);
        check_text(&spelled).map_err(|fault| FileError::new(path, fault))?;
        for _ in 0..ATTEMPTS {
            match Walk::new(self, last).run(&spelled) {
                Ok(admitted) => {
                    let empty =
                        matches!(&admitted.place, Place::Absent { .. }) || admitted.rel.is_root();
                    return if empty && self.directory().is_removed() {
                        Err(FileError::new(path, FileFault::RootGone))
                    } else {
                        Ok(admitted)
                    };
                }
                Err(Halt::Changed) => {}
                Err(Halt::Fault(fault)) => return Err(FileError::new(path, fault)),
            }
        }
        Err(FileError::new(path, FileFault::Unsteady))
    }

    /// Admits `path` as one whose file or directory is to be changed.
    pub(crate) fn admit_change(&self, path: &str, last: LastLink) -> Result<Admitted, FileError> {
        let admitted = self.admit(path, last)?;
        if admitted.in_repository {
            return Err(FileError::new(path, FileFault::Repository));
        }
        Ok(admitted)
    }

    /// Follows a link found in `parent`, whose path is `rel`, as part of a path would be followed.
    pub(crate) fn admit_link(&self, parent: &RelPath, name: &OsStr) -> Option<Admitted> {
        let path = parent.0.join(name);
        Walk::new(self, LastLink::Follow).run(&path).ok()
    }
}

/// Refuses what no lookup could answer.
fn check_text(path: &Path) -> Result<(), FileFault> {
    let path = path.as_os_str().as_bytes();
    if path.contains(&0) {
        return Err(FileFault::Nul);
    }
    let longest = path.split(|byte| *byte == b'/').map(<[u8]>::len).max().unwrap_or(0);
    if longest > NAME_MAX {
        return Err(FileFault::NameTooLong { length: longest });
    }
    if path.len() > PATH_MAX {
        return Err(FileFault::PathTooLong { length: path.len() });
    }
    Ok(())
}

/// The name under which a repository lies in its tree, in whatever case: some file systems tell no
/// difference, and one leaves out characters that do not show.
fn is_repository(name: &OsStr) -> bool {
    let plain = |name: &str| name.eq_ignore_ascii_case(".git");
    match name.to_str() {
        Some(name) if name.is_ascii() => plain(name),
        Some(name) => {
            let hidden = |c: char| {
                matches!(c, '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
                    | '\u{206A}'..='\u{206F}' | '\u{FEFF}')
            };
            plain(&name.replace(hidden, ""))
        }
        None => false,
    }
}

enum Halt {
    /// The tree changed between two looks at one name.
    Changed,
    Fault(FileFault),
}

impl From<FileFault> for Halt {
    fn from(fault: FileFault) -> Self {
        Self::Fault(fault)
    }
}

enum Step {
    Parent,
    Name(OsString),
    /// Start again at the top of the file system.
    Top,
}

struct Walk<'r> {
    root: &'r Root,
    last: LastLink,
    /// What is still to go.
    ahead: VecDeque<Step>,
    /// Names of the directories entered so far.
    names: Vec<OsString>,
    /// The last of them, or the root.
    directory: Directory,
    /// The directories above it, from the root on; the topmost are closed when there are many.
    above: VecDeque<Directory>,
    /// Names below it that are no directories: absent, or a file and whatever was put below it.
    tail: Vec<OsString>,
    /// What the first name of the tail is, when it exists.
    found: Option<Status>,
    /// Names from the top of the file system while the walk is outside the root.
    outside: Option<Vec<OsString>>,
    route: EscapeRoute,
    in_repository: bool,
    links: u32,
    /// Steps that remain when the target of the outermost link being followed is used up.
    after_link: Option<usize>,
}

impl<'r> Walk<'r> {
    fn new(root: &'r Root, last: LastLink) -> Self {
        Self {
            root,
            last,
            ahead: VecDeque::new(),
            names: Vec::new(),
            directory: root.directory(),
            above: VecDeque::new(),
            tail: Vec::new(),
            found: None,
            outside: None,
            route: EscapeRoute::Parent,
            in_repository: false,
            links: 0,
            after_link: None,
        }
    }

    fn run(mut self, path: &Path) -> Result<Admitted, Halt> {
        self.put_ahead(path);
        while let Some(step) = self.ahead.pop_front() {
            match step {
                Step::Top => {
                    self.route =
                        if self.is_in_link() { EscapeRoute::Link } else { EscapeRoute::Absolute };
                    self.leave(Vec::new());
                }
                Step::Parent => self.climb()?,
                Step::Name(name) => self.descend(name)?,
            }
        }
        self.arrive()
    }

    fn put_ahead(&mut self, path: &Path) {
        for component in path.components().rev() {
            let step = match component {
                Component::CurDir => continue,
                Component::ParentDir => Step::Parent,
                Component::Normal(name) => Step::Name(name.to_owned()),
                Component::RootDir | Component::Prefix(_) => Step::Top,
            };
            self.ahead.push_front(step);
        }
    }

    fn is_in_link(&self) -> bool {
        self.after_link.is_some_and(|rest| self.ahead.len() >= rest)
    }

    fn leave(&mut self, names: Vec<OsString>) {
        self.names.clear();
        self.tail.clear();
        self.found = None;
        self.directory = self.root.directory();
        self.above.clear();
        self.outside = Some(names);
        self.come_back_in();
    }

    /// Outside the root, the root's own path leads back in.
    fn come_back_in(&mut self) {
        let Some(names) = &self.outside else { return };
        if is_at(self.root.path(), names) || is_at(self.root.given(), names) {
            self.outside = None;
        }
    }

    fn climb(&mut self) -> Result<(), Halt> {
        if let Some(mut names) = self.outside.take() {
            names.pop();
            self.leave(names);
        } else if self.tail.pop().is_some() {
            if self.tail.is_empty() {
                self.found = None;
            }
        } else if self.names.pop().is_some() {
            self.directory = match self.above.pop_back() {
                Some(directory) => directory,
                None => self.enter_again()?,
            };
        } else {
            self.route = if self.is_in_link() { EscapeRoute::Link } else { EscapeRoute::Parent };
            let mut names = normal_names(self.root.path());
            names.pop();
            self.leave(names);
        }
        Ok(())
    }

    /// The directory of `names`, entered anew so that `..` is never asked of the system.
    fn enter_again(&mut self) -> Result<Directory, Halt> {
        let mut directory = self.root.directory();
        for name in &self.names {
            let inner = directory.enter(name).map_err(|_| Halt::Changed)?;
            keep(&mut self.above, std::mem::replace(&mut directory, inner));
        }
        Ok(directory)
    }

    fn descend(&mut self, name: OsString) -> Result<(), Halt> {
        if name.len() > NAME_MAX {
            return Err(FileFault::NameTooLong { length: name.len() }.into());
        }
        if let Some(names) = &mut self.outside {
            names.push(name);
            self.come_back_in();
            return Ok(());
        }
        self.in_repository |= is_repository(&name);
        if !self.tail.is_empty() {
            self.tail.push(name);
            return Ok(());
        }
        match self.directory.enter(&name) {
            Ok(directory) => {
                self.names.push(name);
                keep(&mut self.above, std::mem::replace(&mut self.directory, directory));
                Ok(())
            }
            Err(Errno::NOENT) => {
                self.tail.push(name);
                Ok(())
            }
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => self.meet_entry(name),
            Err(errno) => Err(FileFault::from(errno).into()),
        }
    }

    /// `name` exists and is no directory.
    fn meet_entry(&mut self, name: OsString) -> Result<(), Halt> {
        let status = match self.directory.status(&name) {
            Ok(status) => status,
            Err(Errno::NOENT) => return Err(Halt::Changed),
            Err(errno) => return Err(FileFault::from(errno).into()),
        };
        let stays = self.ahead.is_empty() && self.last == LastLink::Keep;
        match status.kind {
            Kind::Directory => Err(Halt::Changed),
            Kind::Link if !stays => self.follow(&name),
            Kind::Link | Kind::Regular | Kind::Special(_) => {
                self.tail.push(name);
                self.found = Some(status);
                Ok(())
            }
        }
    }

    fn follow(&mut self, name: &OsStr) -> Result<(), Halt> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(FileFault::LinkLoop.into());
        }
        let target = self.directory.read_link(name).map_err(|_| Halt::Changed)?;
        if target.as_bytes().len() > PATH_MAX {
            return Err(FileFault::PathTooLong { length: target.len() }.into());
        }
        if !self.is_in_link() {
            self.after_link = Some(self.ahead.len());
        }
        self.put_ahead(Path::new(&target));
        Ok(())
    }

    fn arrive(mut self) -> Result<Admitted, Halt> {
        if self.outside.is_some() {
            return Err(FileFault::Escape(self.route).into());
        }
        let rel: PathBuf = self.names.iter().chain(&self.tail).collect();
        if rel.as_os_str().len() > PATH_MAX {
            return Err(FileFault::PathTooLong { length: rel.as_os_str().len() }.into());
        }
        let place = match (self.tail.len(), self.found) {
            (0, _) => Place::Directory(self.directory),
            (1, Some(status)) => {
                let name = self.tail.remove(0);
                Place::Entry { parent: self.directory, name, status }
            }
            (_, Some(_)) => Place::BelowFile,
            (_, None) => Place::Absent { parent: self.directory, names: self.tail },
        };
        Ok(Admitted { rel: RelPath(rel), place, in_repository: self.in_repository })
    }
}

/// Open directories that one walk holds at most.
const HELD: usize = 64;

/// Holds a directory that `..` may come back to.
fn keep(above: &mut VecDeque<Directory>, directory: Directory) {
    if above.len() == HELD {
        above.pop_front();
    }
    above.push_back(directory);
}

fn normal_names(path: &Path) -> Vec<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            _ => None,
        })
        .collect()
}

fn is_at(path: &Path, names: &[OsString]) -> bool {
    let own = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    own.eq(names.iter().map(OsString::as_os_str))
}
