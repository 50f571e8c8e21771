//! One walk down from a directory, by handles: no name leads out of the root.

use std::ffi::OsString;

use super::pattern::{Pattern, States};
use crate::admission::{Place, RelPath};
use crate::error::FileFault;
use crate::filesystem::Filesystem;
use crate::root::{Child, Directory, Kind, Status};

/// Deepest level below the start that is entered: every level on the way keeps a handle open.
pub(super) const LEVELS_MAX: usize = 256;

/// Files of one directory that a pattern takes.
pub(crate) struct FilesOf {
    pub rel: RelPath,
    pub directory: Directory,
    pub names: Vec<Walked>,
}

/// A file that a pattern takes.
pub(crate) struct Walked {
    pub name: OsString,
    /// What a link leads to.
    pub linked: Option<Status>,
}

/// A directory that is still to be entered.
struct Ahead {
    parent: Directory,
    rel: RelPath,
    name: Option<OsString>,
    is_link: bool,
    states: States,
    level: usize,
}

/// Walks a tree and gives the files that a pattern takes, directory by directory.
pub(crate) struct Walk<'a> {
    files: &'a Filesystem,
    pattern: &'a Pattern,
    ahead: Vec<Ahead>,
    /// Directories of this name are not entered.
    pub skipped_name: Option<&'static str>,
    /// How many were met.
    pub skipped: usize,
    /// Directories that are too far down.
    pub too_deep: usize,
    is_cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        files: &'a Filesystem,
        pattern: &'a Pattern,
        rel: RelPath,
        directory: Directory,
        is_cancelled: &'a dyn Fn() -> bool,
    ) -> Self {
        let start = Ahead {
            parent: directory,
            rel,
            name: None,
            is_link: false,
            states: pattern.start(),
            level: 0,
        };
        let ahead = vec![start];
        Self { files, pattern, ahead, skipped_name: None, skipped: 0, too_deep: 0, is_cancelled }
    }

    /// The next directory with files; directories that cannot be read are passed over.
    pub(crate) fn next(&mut self) -> Result<Option<FilesOf>, FileFault> {
        while let Some(ahead) = self.ahead.pop() {
            if (self.is_cancelled)() {
                return Err(FileFault::Cancelled);
            }
            let Some((rel, directory)) = self.open(&ahead) else { continue };
            let Ok(children) = directory.children() else { continue };
            let mut names = Vec::new();
            for child in children.flatten() {
                self.meet(child, &ahead, &rel, &directory, &mut names);
            }
            if !names.is_empty() {
                return Ok(Some(FilesOf { rel, directory, names }));
            }
        }
        Ok(None)
    }

    fn open(&self, ahead: &Ahead) -> Option<(RelPath, Directory)> {
        match &ahead.name {
            None => Some((ahead.rel.clone(), ahead.parent.clone())),
            Some(name) if !ahead.is_link => {
                Some((ahead.rel.join(name), ahead.parent.enter(name).ok()?))
            }
            Some(name) => match self.files.root().admit_link(&ahead.rel, name)?.place {
                Place::Directory(directory) => Some((ahead.rel.join(name), directory)),
                _ => None,
            },
        }
    }

    fn meet(
        &mut self,
        Child { name, kind }: Child,
        ahead: &Ahead,
        rel: &RelPath,
        directory: &Directory,
        names: &mut Vec<Walked>,
    ) {
        let Some(kind) = kind.or_else(|| directory.status(&name).ok().map(|status| status.kind))
        else {
            return;
        };
        let text = name.to_string_lossy();
        match kind {
            Kind::Regular => {
                if self.pattern.takes_file(&ahead.states, &text) {
                    names.push(Walked { name, linked: None });
                }
            }
            Kind::Directory => self.put_ahead(name, false, ahead, rel, directory),
            Kind::Link => {
                let takes = self.pattern.takes_file(&ahead.states, &text);
                let states = self.pattern.enter(&ahead.states, &text, true);
                if !takes && states.is_empty() {
                    return;
                }
                match self.files.root().admit_link(rel, &name).map(|admitted| admitted.place) {
                    Some(Place::Entry { status, .. }) if takes && status.kind == Kind::Regular => {
                        names.push(Walked { name, linked: Some(status) });
                    }
                    Some(Place::Directory(_)) => self.put_ahead(name, true, ahead, rel, directory),
                    _ => {}
                }
            }
            Kind::Special(_) => {}
        }
    }

    fn put_ahead(
        &mut self,
        name: OsString,
        is_link: bool,
        ahead: &Ahead,
        rel: &RelPath,
        directory: &Directory,
    ) {
        if self.skipped_name.is_some_and(|skipped| name == skipped) {
            self.skipped += 1;
            return;
        }
        let states = self.pattern.enter(&ahead.states, &name.to_string_lossy(), is_link);
        if states.is_empty() {
            return;
        }
        if ahead.level >= LEVELS_MAX {
            self.too_deep += 1;
            return;
        }
        self.ahead.push(Ahead {
            parent: directory.clone(),
            rel: rel.clone(),
            name: Some(name),
            is_link,
            states,
            level: ahead.level + 1,
        });
    }
}
