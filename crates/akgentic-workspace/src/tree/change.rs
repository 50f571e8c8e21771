//! One change of the tree: looked at, ruled on, staged file by file, published as a whole.

use std::sync::Arc;

use super::entry::{Entry, Next, look, stage_file};
use super::failure::{Cause, Failure};
use super::refused::{fault_stop, file_refusal, not_text};
use super::{Tree, spill};
use crate::admission::{LastLink, Place, RelPath};
use crate::error::{FileError, FileFault};
use crate::filesystem::directory_meant;
use crate::gate::{Code, Denied, Digest, Intent, Material, Permit, Refusal};
use crate::journal::Content;
use crate::publish::{Expected, Publication, PublishFault, Unpublished};
use crate::root::{Kind, Root};
use crate::{refusal, text};

/// Bytes of a file that the gate reads.
pub const LIVE_BYTES: u64 = 64 << 20;

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is refused: the model is to react.
    Refused(Box<Refusal>),
    /// It does not work out, and nothing was refused.
    Failed(Box<Failure>),
    /// Nobody waits for it any more.
    Cancelled,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// Why a part of a file cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The place is not in the text. In a file that changed, this becomes a refusal that says so.
    Absent(Failure),
    /// It is refused, whatever the file is.
    Refused(Refusal),
}

/// A change that is being put together; nothing of it is visible yet.
pub struct Change<'t> {
    tree: &'t Tree,
    pub(super) agent: &'t str,
    is_cancelled: &'t dyn Fn() -> bool,
    entries: Vec<Entry>,
    /// What the refusal that ended it is about.
    pub(super) material: Option<Material>,
}

/// A path in the agent's spelling, with the bytes before and after.
pub(super) type Texts<'c> = (&'c str, Option<Arc<[u8]>>, Option<Arc<[u8]>>);

impl<'t> Change<'t> {
    pub(super) fn new(tree: &'t Tree, agent: &'t str, is_cancelled: &'t dyn Fn() -> bool) -> Self {
        Self { tree, agent, is_cancelled, entries: Vec::new(), material: None }
    }

    /// Forgets all of it, to be put together anew.
    pub(super) fn restart(&mut self) {
        self.entries.clear();
        self.material = None;
    }

    fn root(&self) -> &'t Root {
        self.tree.files().root()
    }

    /// Gives a file a whole content, in the line ending it has; tells whether it replaces one.
    pub fn write(&mut self, path: &str, content: &str) -> Result<bool, Stop> {
        let meant = directory_meant(self.root(), path).map_err(|error| file_refusal(&error))?;
        if let Some(fault) = meant {
            return Err(file_refusal(&FileError::new(path, fault)).into());
        }
        let at = self.judged(path, Intent::Write, Some(content))?;
        let Some(entry) = self.entries.get_mut(at) else { return Err(vanished(path)) };
        let replaces = entry.current().is_some();
        let live = entry.live.as_ref().map(|live| &*live.bytes);
        let text = text::keep_ending(content, live);
        entry.next = Next::Write(text.as_bytes().into());
        Ok(replaces)
    }

    /// Removes a file, or a link and not what it leads to.
    pub fn delete(&mut self, path: &str) -> Result<(), Stop> {
        self.remove(path, Intent::Delete)
    }

    /// Removes a file as a section of a patch does; a change of it in the same batch goes with it.
    pub fn patch_delete(&mut self, path: &str) -> Result<(), Stop> {
        self.remove(path, Intent::PatchDelete)
    }

    /// Changes a part of a file.
    ///
    /// `change` gets the text as the batch has it so far, to be changed in place, line endings
    /// included, and whether only an exact match will do. What it gives besides is handed on; when it
    /// fails, the text is to be as it was.
    pub fn edit<T>(
        &mut self,
        path: &str,
        intent: Intent,
        change: impl FnOnce(&mut String, bool) -> Result<T, Unfit>,
    ) -> Result<T, Stop> {
        let at = self.judged(path, intent, None)?;
        let Some(entry) = self.entries.get_mut(at) else { return Err(vanished(path)) };
        let (mut text, is_draft) = if let Next::Draft(text) = &mut entry.next {
            (std::mem::take(text), true)
        } else {
            let current = entry.current().unwrap_or_default();
            let Ok(current) = std::str::from_utf8(current) else {
                let error = not_text(path, current);
                return Err(file_refusal(&error).into());
            };
            (current.to_owned(), false)
        };
        let exact_only = entry.permit.exact_only;
        let changed = change(&mut text, exact_only);
        if is_draft || changed.is_ok() {
            entry.next = Next::Draft(text);
        }
        match changed {
            Ok(more) => Ok(more),
            Err(Unfit::Refused(refusal)) => Err(refusal.into()),
            Err(Unfit::Absent(failure)) if !exact_only => Err(failure.into()),
            Err(Unfit::Absent(_)) => {
                let code = match intent {
                    Intent::PatchUpdate | Intent::PatchDelete => Code::PatchStale,
                    Intent::Write | Intent::Delete | Intent::Edit => Code::ExactMiss,
                };
                let digest = entry.live.as_ref().map(|live| live.digest.clone());
                let rel = entry.rel.clone();
                let bytes = entry.live.as_ref().map(|live| Arc::clone(&live.bytes));
                self.material = bytes.map(|live| Material { live, proposed: None });
                Err(self.tree.state().gate.refusal(code, &rel, path, digest.as_ref()).into())
            }
        }
    }

    /// The files of the change so far, in the order they came up: path, bytes before and after.
    pub(super) fn texts(&mut self) -> impl Iterator<Item = Texts<'_>> {
        self.settle();
        self.entries.iter().map(|entry| {
            let live = entry.live.as_ref().map(|live| &live.bytes);
            let after = match &entry.next {
                Next::Keep => live,
                Next::Write(bytes) => Some(bytes),
                Next::Draft(_) | Next::Remove => None,
            };
            (entry.given.as_str(), live.cloned(), after.cloned())
        })
    }

    fn remove(&mut self, path: &str, intent: Intent) -> Result<(), Stop> {
        if let Some(entry) = self.link(path)? {
            self.entries.push(entry);
            return Ok(());
        }
        let at = self.judged(path, intent, None)?;
        let Some(entry) = self.entries.get_mut(at) else { return Err(vanished(path)) };
        // What was to be created in this batch is simply not created.
        entry.next = if entry.live.is_some() { Next::Remove } else { Next::Keep };
        Ok(())
    }

    /// The entry for a link that is to go, once the file it leads to was ruled on.
    fn link(&mut self, path: &str) -> Result<Option<Entry>, Stop> {
        let refused = |error: FileError| Stop::from(file_refusal(&error));
        let admitted = self.root().admit_change(path, LastLink::Keep).map_err(refused)?;
        let Place::Entry { parent, name, status } = admitted.place else { return Ok(None) };
        if status.kind != Kind::Link {
            return Ok(None);
        }
        let Ok(target) = parent.read_link(&name) else { return Ok(None) };
        // A link that leads nowhere, or to a directory, holds nothing that could be lost.
        if let Ok(led) = look(self.root(), path)
            && led.live.is_some()
        {
            let _permit = self.rule(path, &led, Intent::Delete, None)?;
        }
        let entry = Entry::new(admitted.rel, path, parent, name);
        Ok(Some(Entry { link: Some(target), next: Next::Remove, ..entry }))
    }

    /// The position of the file's entry, once the gate lets the intent through.
    fn judged(
        &mut self,
        path: &str,
        intent: Intent,
        proposed: Option<&str>,
    ) -> Result<usize, Stop> {
        if (self.is_cancelled)() {
            return Err(Stop::Cancelled);
        }
        let Some(at) = self.known(path)? else {
            let mut fresh = look(self.root(), path).map_err(|error| file_refusal(&error))?;
            if spill::is_reserved(&fresh.rel) {
                return Err(Refusal::new(Code::Reserved, path).into());
            }
            fresh.permit = self.rule(path, &fresh, intent, proposed)?;
            self.entries.push(fresh);
            return Ok(self.entries.len() - 1);
        };
        let Some(entry) = self.entries.get(at) else { return Ok(at) };
        // Made, or removed, earlier in this batch: there is nothing to be ruled on.
        let permit = match (&entry.next, &entry.live) {
            (Next::Write(_) | Next::Draft(_), None) => Ok(entry.permit),
            (Next::Remove, _) | (Next::Keep, None) => match intent {
                Intent::Write => Ok(entry.permit),
                Intent::Delete | Intent::Edit => {
                    Err(Stop::from(Refusal::new(Code::NotFound, path)))
                }
                Intent::PatchUpdate | Intent::PatchDelete => Err(missing(path)),
            },
            (Next::Write(_) | Next::Draft(_) | Next::Keep, Some(_)) => {
                let Some(live) = &entry.live else { return Ok(at) };
                let (rel, digest) = (entry.rel.clone(), live.digest.clone());
                let material = live.bytes.clone();
                let before = entry.permit;
                let ruled = self.ruled(path, &rel, Some(&digest), intent);
                ruled
                    .map(|permit| Permit {
                        exact_only: permit.exact_only,
                        knows_all: intent == Intent::Write || before.knows_all && permit.knows_all,
                    })
                    .inspect_err(|_| {
                        self.material = Some(Material {
                            live: material.clone(),
                            proposed: proposed.map(str::to_owned),
                        });
                    })
            }
        }?;
        if let Some(entry) = self.entries.get_mut(at) {
            entry.permit = permit;
        }
        Ok(at)
    }

    /// The position of the entry for the file that a path leads to. What was looked at once is not
    /// read again for every further change of it: publishing it finds out whether it is the same still.
    fn known(&self, path: &str) -> Result<Option<usize>, Stop> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        let admitted = self.root().admit_change(path, LastLink::Follow);
        let rel = admitted.map_err(|error| file_refusal(&error))?.rel;
        Ok(self.entries.iter().position(|entry| entry.rel == rel && entry.link.is_none()))
    }

    fn settle(&mut self) {
        for entry in &mut self.entries {
            entry.settle();
        }
    }

    fn rule(
        &mut self,
        path: &str,
        entry: &Entry,
        intent: Intent,
        proposed: Option<&str>,
    ) -> Result<Permit, Stop> {
        let digest = entry.live.as_ref().map(|live| &live.digest);
        self.ruled(path, &entry.rel, digest, intent).inspect_err(|_| {
            self.material = entry.live.as_ref().map(|live| Material {
                live: Arc::clone(&live.bytes),
                proposed: proposed.map(str::to_owned),
            });
        })
    }

    fn ruled(
        &mut self,
        path: &str,
        rel: &RelPath,
        live: Option<&Digest>,
        intent: Intent,
    ) -> Result<Permit, Stop> {
        let ruled = self.tree.state().gate.judge(self.agent, rel, path, intent, live);
        ruled.map_err(|denied| match denied {
            Denied::Refused(refusal) => refusal.into(),
            Denied::TargetMissing => missing(path),
        })
    }

    /// The refusal for a change that could not be published, from what is there now.
    pub(super) fn unpublished(&mut self, failed: Unpublished) -> Stop {
        let touched = self.entries.iter().filter(|entry| !matches!(entry.next, Next::Keep));
        let writes = touched.clone().filter(|entry| matches!(entry.next, Next::Write(_)));
        let removals = touched.filter(|entry| matches!(entry.next, Next::Remove));
        let Some(entry) = writes.chain(removals).nth(failed.at) else {
            return Refusal::new(Code::PublishLost, "").into();
        };
        let path = entry.given.clone();
        match failed.fault {
            PublishFault::File(fault) => fault_stop(&path, fault),
            PublishFault::Conflict => {
                let (intent, proposed) = match &entry.next {
                    Next::Write(bytes) => {
                        (Intent::Write, Some(String::from_utf8_lossy(bytes).into_owned()))
                    }
                    Next::Keep | Next::Draft(_) | Next::Remove => (Intent::Delete, None),
                };
                match look(self.root(), &path) {
                    Ok(now) => match self.rule(&path, &now, intent, proposed.as_deref()) {
                        Err(stop) => stop,
                        Ok(_) => Refusal::new(Code::PublishLost, path).into(),
                    },
                    Err(error) => file_refusal(&error).into(),
                }
            }
        }
    }

    /// What is there before the change, by path.
    pub(super) fn before(&self) -> Vec<(RelPath, Option<Content>)> {
        self.touched().map(|entry| (entry.rel.clone(), entry.content_before())).collect()
    }

    /// What is there after the change, by path.
    pub(super) fn after(&self) -> Vec<(RelPath, Option<Content>)> {
        self.touched().map(|entry| (entry.rel.clone(), entry.content_after())).collect()
    }

    fn touched(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !matches!(entry.next, Next::Keep))
    }

    /// Stages all files: writes first, then removals, each in its order.
    pub(super) fn stage(&mut self) -> Result<Vec<Publication>, Stop> {
        let durable = self.tree.options.durable;
        self.settle();
        let mut batch = Vec::new();
        for entry in &mut self.entries {
            if let Next::Write(bytes) = &entry.next {
                let ours = Digest::of(bytes);
                batch.push(stage_file(entry, bytes, &ours, durable, self.is_cancelled)?);
                entry.ours = Some(ours);
            }
        }
        for entry in self.touched() {
            if matches!(entry.next, Next::Remove) {
                let expected = match (&entry.link, &entry.live) {
                    (Some(target), _) => Expected::Link(target.clone()),
                    (None, Some(live)) => Expected::Content(live.digest.clone()),
                    (None, None) => continue,
                };
                let (parent, name) = (entry.parent.clone(), entry.name.clone());
                batch.push(Publication::Remove { parent, name, expected });
            }
        }
        Ok(batch)
    }

    /// Tells the gate that all of it was made.
    pub(super) fn accept(&mut self) {
        let mut state = self.tree.state();
        for entry in self.entries.drain(..) {
            match entry.next {
                Next::Keep | Next::Draft(_) => {}
                Next::Write(bytes) => {
                    let ours = entry.ours.unwrap_or_else(|| Digest::of(&bytes));
                    state.gate.accept(self.agent, &entry.rel, ours, entry.permit);
                }
                Next::Remove => state.gate.accept_removal(self.agent, &entry.rel),
            }
        }
    }
}

/// A patch names a file that is not there.
fn missing(path: &str) -> Stop {
    let error = FileError::new(path, FileFault::NotFound);
    Failure::new(Cause::TargetMissing, path, refusal::describe(&error)).into()
}

/// What cannot be: an entry that was just made is not there.
fn vanished(path: &str) -> Stop {
    Refusal::new(Code::PublishLost, path).into()
}
