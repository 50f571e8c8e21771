//! A whole patch against the files of a workspace: everything is verified before anything is said
//! to be done.

use super::{HunkContextError, NO_FILE, Patch, PatchError, Section, SectionKind};
use super::{apply_hunks, parse_patch};
use crate::admission::RelPath;
use crate::batch::{Change, WriteEntry};
use crate::error::{FileError, FileFault};
use crate::mutation::{Live, Plan};
use crate::refusal;

/// What a patch that changes nothing is answered with.
const NOTHING: &str = "(no patches applied)";

/// Why a patch is not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatchFailure {
    /// Something about a file.
    #[error("{0}")]
    File(FileError),
    /// A hunk does not fit.
    #[error(transparent)]
    Hunk(#[from] Box<HunkContextError>),
    /// The text is no patch that can be read.
    #[error(transparent)]
    Text(#[from] PatchError),
}

impl PatchFailure {
    /// `[ERROR] PATH: REASON`, for the model.
    pub(crate) fn answer(&self) -> String {
        let (path, reason) = match self {
            Self::File(error) => (error.path.as_str(), refusal::describe(error)),
            Self::Hunk(error) => (error.path.as_str(), error.to_string()),
            Self::Text(error @ PatchError::Malformed { path, .. }) => {
                (path.as_str(), error.to_string())
            }
            Self::Text(error) => (NO_FILE, error.to_string()),
        };
        format!("[ERROR] {path}: {reason}\nNothing was changed.")
    }
}

/// A file as the sections so far leave it.
struct Draft {
    rel: RelPath,
    path: String,
    /// None when it is deleted.
    text: Option<String>,
    /// What it held before the patch; none when it was not there.
    before: Option<String>,
}

#[derive(Default)]
struct Drafts {
    files: Vec<Draft>,
    labels: Vec<String>,
    notes: Vec<String>,
}

/// The changes of a patch text; nothing is changed yet.
pub(crate) fn plan_patch(live: &Live<'_>, text: &str) -> Result<Plan, PatchFailure> {
    let patch = parse_patch(text)?;
    if patch.sections.is_empty() {
        return Ok(Plan { changes: Vec::new(), answer: nothing(&patch) });
    }
    let mut drafts = Drafts::default();
    let mut deletions_told = false;
    for section in &patch.sections {
        if (live.is_cancelled)() {
            return Err(file(&section.path, FileFault::Cancelled));
        }
        match section.kind {
            SectionKind::Delete => {
                drafts.delete(live, section)?;
                // All deletions are told together, where the first one stands.
                if !std::mem::replace(&mut deletions_told, true) {
                    let mut labels: Vec<String> = deletions(&patch).map(Section::label).collect();
                    labels.sort();
                    drafts.labels.extend(labels);
                }
            }
            SectionKind::Create => drafts.create(live, section)?,
            SectionKind::Update => drafts.update(live, section)?,
        }
    }
    Ok(drafts.plan())
}

fn deletions(patch: &Patch) -> impl Iterator<Item = &Section> {
    patch.sections.iter().filter(|section| section.kind == SectionKind::Delete)
}

fn nothing(patch: &Patch) -> String {
    match patch.stray_hunk {
        Some(line) => format!(
            "{NOTHING}\n[... line {line} of the text begins a hunk, and no file header stands before it: \
             write `--- a/PATH` and `+++ b/PATH` first ...]"
        ),
        None => NOTHING.to_owned(),
    }
}

fn file(path: &str, fault: FileFault) -> PatchFailure {
    PatchFailure::File(FileError::new(path, fault))
}

impl Drafts {
    fn known(&mut self, rel: &RelPath) -> Option<&mut Draft> {
        self.files.iter_mut().find(|draft| draft.rel == *rel)
    }

    /// The draft of a path, read from its file when it is met for the first time.
    fn draft(&mut self, live: &Live<'_>, path: &str) -> Result<&mut Draft, PatchFailure> {
        let rel = live.files.root().resolve(path).map_err(PatchFailure::File)?;
        let known = self.files.iter().position(|draft| draft.rel == rel);
        let at = known.unwrap_or(self.files.len());
        if known.is_none() {
            let before = match live.text(path) {
                Ok((_, text)) => Some(text),
                Err(error) if matches!(error.fault, FileFault::NotFound) => None,
                Err(error) => return Err(PatchFailure::File(error)),
            };
            let text = before.clone();
            self.files.push(Draft { rel, path: path.to_owned(), text, before });
        }
        self.files.get_mut(at).ok_or_else(|| file(path, FileFault::NotFound))
    }

    fn update(&mut self, live: &Live<'_>, section: &Section) -> Result<(), PatchFailure> {
        let mut missing = None;
        for path in section.candidates() {
            match self.draft(live, path) {
                Ok(Draft { text: Some(text), path, .. }) => {
                    let applied = apply_hunks(path, text, &section.hunks)?;
                    *text = applied.text;
                    let path = path.clone();
                    self.labels.push(format!("updated: {path}"));
                    for moved in applied.moved {
                        self.notes.push(format!(
                            "[... {path}: hunk {} was applied at line {}, where its lines stand ...]",
                            moved.header, moved.line
                        ));
                    }
                    return Ok(());
                }
                Ok(_) => missing = missing.or(Some(file(path, FileFault::NotFound))),
                Err(error) => missing = missing.or(Some(error)),
            }
        }
        // A patch that only adds lines to a file that is not there creates it.
        let adds = section.hunks.iter().all(|hunk| hunk.is_pure_add() && hunk.old_count == 0);
        match missing {
            Some(PatchFailure::File(error))
                if adds && matches!(error.fault, FileFault::NotFound) =>
            {
                self.create(live, section)
            }
            Some(error) => Err(error),
            None => Err(file(&section.path, FileFault::NotFound)),
        }
    }

    fn create(&mut self, live: &Live<'_>, section: &Section) -> Result<(), PatchFailure> {
        let path = section.path.as_str();
        if !section.hunks.iter().all(super::Hunk::is_pure_add) {
            let text = "a file that does not exist yet has only lines to add (`+`): write the other \
                        lines out, or name the existing file after `---`";
            return Err(PatchError::Malformed {
                path: path.to_owned(),
                line: section.line,
                text: text.to_owned(),
            }
            .into());
        }
        let mut text: String = section
            .hunks
            .iter()
            .flat_map(super::Hunk::new_lines)
            .fold(String::new(), |text, line| text + line + "\n");
        if section.hunks.last().is_some_and(|hunk| hunk.new_open) {
            text.pop();
        }
        match self.draft(live, path) {
            Ok(draft) => {
                let replaced = draft.text.replace(text).is_some();
                if replaced {
                    self.notes
                        .push(format!("[... {path} existed and was replaced as a whole ...]"));
                }
            }
            // What is no text is replaced all the same.
            Err(PatchFailure::File(FileError { fault: FileFault::NotUtf8 { .. }, .. })) => {
                let rel = live.files.root().resolve(path).map_err(PatchFailure::File)?;
                let draft = Draft { rel, path: path.to_owned(), text: Some(text), before: None };
                self.files.push(draft);
                self.notes.push(format!("[... {path} existed and was replaced as a whole ...]"));
            }
            Err(error) => return Err(error),
        }
        self.labels.push(format!("created: {path}"));
        Ok(())
    }

    fn delete(&mut self, live: &Live<'_>, section: &Section) -> Result<(), PatchFailure> {
        let mut missing = None;
        for path in section.candidates() {
            let rel = match live.files.root().resolve(path) {
                Ok(rel) => rel,
                Err(error) => {
                    missing = missing.or(Some(error));
                    continue;
                }
            };
            if let Some(draft) = self.known(&rel) {
                if draft.text.take().is_some() {
                    return Ok(());
                }
                missing = missing.or(Some(FileError::new(path, FileFault::NotFound)));
                continue;
            }
            match live.files.removable(path) {
                Ok(_) => {
                    let before = Some(String::new());
                    self.files.push(Draft { rel, path: path.to_owned(), text: None, before });
                    return Ok(());
                }
                Err(error) => missing = missing.or(Some(error)),
            }
        }
        let mut error =
            missing.unwrap_or_else(|| FileError::new(&section.path, FileFault::NotFound));
        // The section is about no file, and says which one it misses.
        let reason = refusal::describe(&error);
        if matches!(error.fault, FileFault::Cancelled) {
            return Err(PatchFailure::File(error));
        }
        error.path.clone_from(&section.path);
        Err(PatchFailure::Text(PatchError::Malformed {
            path: NO_FILE.to_owned(),
            line: section.line,
            text: reason,
        }))
    }

    fn plan(self) -> Plan {
        let mut answer = self.labels;
        answer.extend(self.notes);
        let changes = self
            .files
            .into_iter()
            .filter_map(|draft| match (draft.text, draft.before) {
                (Some(text), _) => {
                    Some(Change::Write(WriteEntry { path: draft.path, data: text.into_bytes() }))
                }
                (None, Some(_)) => Some(Change::Delete(draft.path)),
                (None, None) => None,
            })
            .collect();
        Plan { changes, answer: answer.join("\n") }
    }
}
