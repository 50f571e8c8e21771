//! Patches, as a change of the tree and as an answer for the model.

use super::change::{Change, Stop, Unfit};
use super::failure::{Cause, Failure};
use crate::gate::{Code, Intent, Refusal};
use crate::patch::{
    Hunk, HunkContextError, Moved, NO_FILE, Patch, PatchError, Section, SectionKind, apply_hunks,
    parse_patch,
};

/// What a patch that changes nothing is answered with.
const NOTHING: &str = "(no patches applied)";

/// A patch text that is applied as far as it was read.
#[derive(Default)]
struct Applied {
    labels: Vec<String>,
    notes: Vec<String>,
    deletions_told: bool,
}

/// Applies a patch: all of it, or nothing. The answer has one line per file.
pub(super) fn apply(change: &mut Change<'_>, text: &str) -> Result<String, Stop> {
    let patch = parse_patch(text).map_err(|error| unreadable(&error))?;
    let mut applied = Applied { notes: oddities(&patch), ..Applied::default() };
    if patch.sections.is_empty() {
        applied.labels.push(NOTHING.to_owned());
    }
    for section in &patch.sections {
        match section.kind {
            SectionKind::Delete => applied.delete(change, &patch, section)?,
            SectionKind::Create => applied.create(change, section)?,
            SectionKind::Update => applied.update(change, section)?,
        }
    }
    let mut answer = applied.labels;
    answer.extend(applied.notes);
    Ok(answer.join("\n"))
}

fn unreadable(error: &PatchError) -> Stop {
    match error {
        PatchError::OtherDialect(_) => {
            let text = format!("The patch was not applied: {error}.");
            Refusal::told(Code::OtherDialect, "", text).into()
        }
        PatchError::Malformed { path, .. } => {
            failure(Cause::Malformed, path, &error.to_string()).into()
        }
    }
}

/// What stands in a patch and changes nothing.
fn oddities(patch: &Patch) -> Vec<String> {
    let mut notes: Vec<String> = patch
        .without_hunks
        .iter()
        .map(|(path, line)| {
            format!(
                "[... line {line} of the text names {path}, and no hunk follows: a hunk begins with \
                 `@@ -LINE,COUNT +LINE,COUNT @@` ...]"
            )
        })
        .collect();
    if let Some(line) = patch.stray_hunk.filter(|_| patch.sections.is_empty()) {
        notes.push(format!(
            "[... line {line} of the text begins a hunk, and no file header stands before it: write \
             `--- a/PATH` and `+++ b/PATH` first ...]"
        ));
    }
    notes
}

/// `PATH: REASON`, for the model; without a path, it is about the text itself.
fn failure(cause: Cause, path: &str, reason: &str) -> Failure {
    let about = if path.is_empty() { String::new() } else { format!("{path}: ") };
    Failure::new(cause, path, format!("{about}{reason}\nNothing was changed."))
}

fn unfit(error: &HunkContextError) -> Unfit {
    let cause = if error.occurrences > 1 { Cause::HunkAmbiguous } else { Cause::HunkAbsent };
    Unfit::Absent(failure(cause, &error.path, &error.to_string()))
}

/// What stops a section: about a file that cannot be used it fails, whatever the gate refuses stays
/// a refusal.
fn of_section(stop: Stop, section: &str, target: Option<&str>) -> Stop {
    let (cause, reason) = match stop {
        Stop::Refused(refusal) => {
            let cause = match refusal.code {
                Code::File(code) => Cause::File(code),
                Code::NotFound => Cause::TargetMissing,
                Code::OsDenied => Cause::Denied,
                _ => return Stop::Refused(refusal),
            };
            (cause, refusal.to_string())
        }
        Stop::Failed(failure) if failure.cause == Cause::TargetMissing => {
            (failure.cause, failure.text)
        }
        other => return other,
    };
    let mut failure = failure(cause, section, &reason);
    failure.target = target.map(str::to_owned);
    failure.into()
}

/// Whether another spelling of the path may be the one that is meant.
fn is_elsewhere(stop: &Stop) -> bool {
    match stop {
        Stop::Failed(failure) => failure.cause == Cause::TargetMissing,
        Stop::Refused(refusal) => matches!(refusal.code, Code::File(_) | Code::NotFound),
        Stop::Cancelled => false,
    }
}

/// Tries the paths that a section may mean; of several that lead nowhere the first one is told of.
fn first_that_is_there<T>(
    section: &Section,
    mut attempt: impl FnMut(&str) -> Result<T, Stop>,
) -> Result<T, (String, Stop)> {
    let mut missed = None;
    for path in section.candidates() {
        match attempt(path) {
            Ok(done) => return Ok(done),
            Err(stop) if is_elsewhere(&stop) => {
                missed = missed.or_else(|| Some((path.to_owned(), stop)));
            }
            Err(stop) => return Err((path.to_owned(), stop)),
        }
    }
    Err(missed.unwrap_or_else(|| (section.path.clone(), Stop::Cancelled)))
}

impl Applied {
    fn update(&mut self, change: &mut Change<'_>, section: &Section) -> Result<(), Stop> {
        let outcome = first_that_is_there(section, |path| {
            let moved = change.edit(path, Intent::PatchUpdate, |text, _| {
                match apply_hunks(path, text, &section.hunks) {
                    Ok(applied) => {
                        *text = applied.text;
                        Ok(applied.moved)
                    }
                    Err(error) => Err(unfit(&error)),
                }
            })?;
            Ok((path.to_owned(), moved))
        });
        match outcome {
            Ok((path, moved)) => {
                self.labels.push(format!("updated: {path}"));
                self.notes.extend(moved.iter().map(|moved| moved_note(&path, moved)));
                Ok(())
            }
            // A patch that only adds lines to a file that is not there creates it.
            Err((_, Stop::Failed(failure)))
                if failure.cause == Cause::TargetMissing && adds_only(&section.hunks) =>
            {
                self.create(change, section)
            }
            Err((path, stop)) => Err(of_section(stop, &path, None)),
        }
    }

    fn create(&mut self, change: &mut Change<'_>, section: &Section) -> Result<(), Stop> {
        let path = section.path.as_str();
        if !section.hunks.iter().all(Hunk::is_pure_add) {
            let error = PatchError::Malformed {
                path: path.to_owned(),
                line: section.line,
                text:
                    "a file that does not exist yet has only lines to add (`+`): write the other \
                       lines out, or name the existing file after `---`"
                        .to_owned(),
            };
            return Err(unreadable(&error));
        }
        let replaced = change
            .write(path, &content(&section.hunks))
            .map_err(|stop| of_section(stop, path, None))?;
        if replaced {
            self.notes.push(format!("[... {path} existed and was replaced as a whole ...]"));
        }
        self.labels.push(format!("created: {path}"));
        Ok(())
    }

    fn delete(
        &mut self,
        change: &mut Change<'_>,
        patch: &Patch,
        section: &Section,
    ) -> Result<(), Stop> {
        // All deletions are told together, where the first one stands.
        if !std::mem::replace(&mut self.deletions_told, true) {
            let deletions = patch.sections.iter().filter(|other| other.kind == SectionKind::Delete);
            let mut labels: Vec<String> = deletions.map(Section::label).collect();
            labels.sort();
            self.labels.extend(labels);
        }
        first_that_is_there(section, |path| change.patch_delete(path)).map_err(|(path, stop)| {
            // The section is about no file, and says which one it means.
            of_section(stop, NO_FILE, Some(&path))
        })
    }
}

fn adds_only(hunks: &[Hunk]) -> bool {
    hunks.iter().all(|hunk| hunk.is_pure_add() && hunk.old_count == 0)
}

/// What hunks that only add make a file of.
fn content(hunks: &[Hunk]) -> String {
    let mut text: String =
        hunks.iter().flat_map(Hunk::new_lines).fold(String::new(), |text, line| text + line + "\n");
    if hunks.last().is_some_and(|hunk| hunk.new_open) {
        text.pop();
    }
    text
}

fn moved_note(path: &str, moved: &Moved) -> String {
    format!(
        "[... {path}: hunk {} was applied at line {}, where its lines stand ...]",
        moved.header, moved.line
    )
}
