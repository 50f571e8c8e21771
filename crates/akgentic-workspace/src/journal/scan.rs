//! Discovery: what in the tree differs from what is recorded.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::ignores::{self, Rules};
use super::repository::{Content, ContentKind, JournalError, Ledger, Recorded, may_hold};
use crate::admission::RelPath;
use crate::root::{Directory, Kind, Root, Status};
use crate::staging::is_staging_name;

/// Bounds on what is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanLimits {
    /// Bytes of one file; a larger one is not recorded.
    pub file_bytes: u64,
    /// Names that one look at the tree visits.
    pub names: usize,
    /// Bytes of contents that one commit takes up; the rest comes with the next one.
    pub commit_bytes: u64,
}

impl Default for ScanLimits {
    /// 16 MiB per file, 200 000 names, 128 MiB per commit.
    fn default() -> Self {
        Self { file_bytes: 16 << 20, names: 200_000, commit_bytes: 128 << 20 }
    }
}

/// Levels of directories that are entered.
const DEPTH: usize = 128;

/// What was passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Files above the size limit.
    pub large: usize,
    /// Names that could not be read.
    pub unreadable: usize,
    /// Names that git keeps for itself, such as `git~1`: no commit may hold them.
    pub reserved: usize,
    /// Whether the tree has more names than one look visits.
    pub cut: bool,
}

/// The state of files before the changes that wait in the queue.
pub(crate) type Before = HashMap<RelPath, Option<Content>>;

/// A path with what it holds now; nothing for a removed one.
pub(crate) type Difference = (RelPath, Option<Content>);

/// Remembers files that were looked at, so that only changed ones are read again.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    known: HashMap<RelPath, (Status, Recorded)>,
    rules: Rules,
}

/// One look at the tree.
struct Look<'a> {
    root: &'a Root,
    ledger: &'a Ledger,
    limits: ScanLimits,
    seen: HashSet<RelPath>,
    known: HashMap<RelPath, (Status, Recorded)>,
    before: HashMap<RelPath, (Status, Recorded)>,
    changes: Vec<Difference>,
    bytes: u64,
    names: usize,
    skipped: Skipped,
}

impl Scanner {
    /// Whether a change to this path would be discovered.
    pub(crate) fn is_discoverable(
        &self,
        ledger: &Ledger,
        path: &RelPath,
        content: Option<&Content>,
    ) -> bool {
        content.is_none_or(|content| may_hold(path, content.kind))
            && (ledger.get(path).is_some() || !self.rules.is_ignored(path.as_path()))
    }

    /// What differs from what is recorded; of a path in `before`, that state counts.
    pub(crate) fn scan(
        &mut self,
        root: &Root,
        ledger: &Ledger,
        limits: ScanLimits,
        before: &dyn Fn() -> Before,
    ) -> Result<(Vec<Difference>, Skipped), JournalError> {
        let mut look = Look {
            root,
            ledger,
            limits,
            seen: HashSet::new(),
            known: HashMap::new(),
            before: std::mem::take(&mut self.known),
            changes: Vec::new(),
            bytes: 0,
            names: 0,
            skipped: Skipped::default(),
        };
        let mut rules = Rules::default();
        let top = RelPath::default();
        look.directory(&top, &root.directory(), &mut rules, 0)?;
        look.recorded_elsewhere()?;
        self.rules = rules;
        // A change is announced before it is made: whatever was read above of a change that waits
        // is replaced here by what was there before it.
        let before = before();
        look.changes.retain(|(path, _)| !before.contains_key(path));
        for (path, content) in before {
            look.known.remove(&path);
            let recorded = content.as_ref().map(Content::recorded).transpose()?;
            if recorded != ledger.get(&path)
                && self.is_discoverable(ledger, &path, content.as_ref())
            {
                look.changes.push((path, content));
            }
        }
        self.known = look.known;
        look.changes.sort_by(|one, other| one.0.cmp(&other.0));
        Ok((look.changes, look.skipped))
    }

    /// Forgets what is known of a path that was changed.
    pub(crate) fn forget(&mut self, path: &RelPath) {
        self.known.remove(path);
    }
}

impl Look<'_> {
    fn directory(
        &mut self,
        at: &RelPath,
        directory: &Directory,
        rules: &mut Rules,
        depth: usize,
    ) -> Result<(), JournalError> {
        if let Some(text) = ignore_file(directory) {
            rules.add(at.as_path(), &text);
        }
        let Ok(children) = directory.children() else {
            self.skipped.unreadable += 1;
            return Ok(());
        };
        for child in children {
            let Ok(child) = child else {
                self.skipped.unreadable += 1;
                continue;
            };
            // The bookkeeping of a repository in the tree is never recorded; its files are.
            if child.name == ".git" {
                continue;
            }
            self.names += 1;
            if self.names > self.limits.names {
                self.skipped.cut = true;
                return Ok(());
            }
            let path = at.join(&child.name);
            // Files on their way in or out, whatever the ignore rules of the tree say.
            if child.name.to_str().is_some_and(is_staging_name) && self.ledger.get(&path).is_none()
            {
                continue;
            }
            let is_dir = match child.kind {
                Some(kind) => kind == Kind::Directory,
                None => directory.enter(&child.name).is_ok(),
            };
            if is_dir {
                if depth >= DEPTH || rules.matches(path.as_path(), true) {
                    continue;
                }
                match directory.enter(&child.name) {
                    Ok(below) => self.directory(&path, &below, rules, depth + 1)?,
                    Err(_) => self.skipped.unreadable += 1,
                }
            } else if self.ledger.get(&path).is_some() || !rules.matches(path.as_path(), false) {
                self.file(path, directory)?;
            }
        }
        Ok(())
    }

    /// Recorded files that the walk did not meet: removed, or where ignore rules keep it out.
    fn recorded_elsewhere(&mut self) -> Result<(), JournalError> {
        if self.skipped.cut {
            return Ok(());
        }
        for path in self.ledger.paths() {
            if self.seen.contains(&path) {
                continue;
            }
            let parent = path.as_path().parent().map(PathBuf::from).unwrap_or_default();
            match enter(self.root, &parent) {
                Some(directory) => self.file(path, &directory)?,
                None => self.changes.push((path, None)),
            }
        }
        Ok(())
    }

    fn file(&mut self, path: RelPath, parent: &Directory) -> Result<(), JournalError> {
        let Some(name) = path.as_path().file_name() else { return Ok(()) };
        let recorded = self.ledger.get(&path);
        let status = parent
            .status(name)
            .ok()
            .filter(|status| matches!(status.kind, Kind::Regular | Kind::Link));
        let Some(status) = status else {
            if recorded.is_some() {
                self.changes.push((path.clone(), None));
            }
            self.seen.insert(path);
            return Ok(());
        };
        self.seen.insert(path.clone());
        if let Some((known, content)) = self.before.get(&path)
            && *known == status
            && Some(*content) == recorded
        {
            self.known.insert(path, (status, *content));
            return Ok(());
        }
        if status.size > self.limits.file_bytes {
            self.skipped.large += 1;
            return Ok(());
        }
        let kind = if status.kind == Kind::Link { ContentKind::Link } else { ContentKind::File };
        if !may_hold(&path, kind) {
            self.skipped.reserved += 1;
            if recorded.is_some() {
                self.changes.push((path, None));
            }
            return Ok(());
        }
        let Some(content) = read(parent, name, status) else {
            self.skipped.unreadable += 1;
            return Ok(());
        };
        let now = content.recorded()?;
        if Some(now) == recorded {
            if is_settled(status) {
                self.known.insert(path, (status, now));
            }
        } else if self.bytes + status.size <= self.limits.commit_bytes || self.bytes == 0 {
            self.bytes += status.size;
            self.changes.push((path, Some(content)));
        }
        Ok(())
    }
}

/// Whether a file was changed long enough ago for its time to tell a change from now on.
fn is_settled(status: Status) -> bool {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    status.stamp.0 + 1 < now
}

fn read(parent: &Directory, name: &std::ffi::OsStr, status: Status) -> Option<Content> {
    if status.kind == Kind::Link {
        let target = parent.read_link(name).ok()?;
        return Some(Content { bytes: target.as_bytes().into(), kind: ContentKind::Link });
    }
    let (file, status) = parent.open_file(name).ok()?;
    let mut bytes = Vec::with_capacity(usize::try_from(status.size).ok()?);
    file.take(status.size).read_to_end(&mut bytes).ok()?;
    Some(Content { bytes: Arc::from(bytes), kind: kind_of(status) })
}

/// What a regular file is recorded as.
pub(crate) fn kind_of(status: Status) -> ContentKind {
    if status.mode & 0o100 != 0 { ContentKind::Executable } else { ContentKind::File }
}

fn ignore_file(directory: &Directory) -> Option<String> {
    let (file, _) = directory.open_file(ignores::NAME.as_ref()).ok()?;
    let mut bytes = Vec::new();
    file.take(ignores::FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Enters directories one below the other, links not followed.
fn enter(root: &Root, path: &std::path::Path) -> Option<Directory> {
    path.iter().try_fold(root.directory(), |directory, name| directory.enter(name).ok())
}
