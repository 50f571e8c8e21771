//! Edits by anchor, as a change of the tree and as an answer for the model.

use std::sync::Arc;

use super::change::{Change, Stop, Unfit};
use super::failure::{Cause, Failure};
use crate::diff::describe;
use crate::edit::{Miss, Strategy, Substituted, substitute_in};
use crate::gate::{Code, FileCode, Intent, Refusal};
use crate::models::EditItem;
use crate::patch::closest;

/// Most bytes of the diff of one file.
const DIFF_BYTES: usize = 64 * 1024;

/// Most edits of one call.
const EDITS_MAX: usize = 10_000;

/// Most bytes of text that the edits of one call are looked for in, all together: some seconds.
const LOOKED_MAX: u64 = 24 << 30;

/// How many times as long a byte takes where an anchor does not stand as it was written.
const TOLERANT: u64 = 256;

/// What edits did to the files; turned into words when nobody waits for the tree any more.
pub(super) struct Edits {
    files: Vec<EditedFile>,
    notes: Vec<String>,
}

struct EditedFile {
    path: String,
    before: Arc<[u8]>,
    after: Arc<[u8]>,
}

/// Runs edits in order; each sees the results of those before it.
pub(super) fn apply(change: &mut Change<'_>, items: &[EditItem]) -> Result<Edits, Stop> {
    if items.len() > EDITS_MAX {
        return Err(too_many(items, 0));
    }
    let mut notes = Vec::new();
    let mut looked = 0_u64;
    for (index, item) in items.iter().enumerate() {
        let EditItem { path, old_string, new_string, replace_all } = item;
        if looked > LOOKED_MAX {
            return Err(too_many(items, index));
        }
        let note = change.edit(path, Intent::Edit, |text, exact_only| {
            let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
            match substitute_in(text, old_string, new_string, *replace_all, exact_only) {
                Ok(edited) => {
                    let times = if edited.strategy == Strategy::Exact { 1 } else { TOLERANT };
                    looked = looked.saturating_add(size.saturating_mul(times));
                    let told = edited.changed;
                    Ok(told
                        .then(|| note(&edited, text, items.len() > 1, index, *replace_all))
                        .flatten())
                }
                Err(Miss::NotFound) => {
                    Err(Unfit::Absent(not_found(text, item, items.len(), index)))
                }
                Err(miss) => Err(Unfit::Refused(refused(item, &miss))),
            }
        })?;
        notes.extend(note);
    }
    let files = change.texts().map(|(path, before, after)| EditedFile {
        path: path.to_owned(),
        before: before.unwrap_or_default(),
        after: after.unwrap_or_default(),
    });
    Ok(Edits { files: files.collect(), notes })
}

impl Edits {
    /// The diffs of all files that changed, and what is to be known besides.
    pub(super) fn answer(self, unchanged: &str) -> String {
        let mut parts: Vec<String> = self
            .files
            .iter()
            .filter_map(|file| {
                let before = String::from_utf8_lossy(&file.before);
                let after = String::from_utf8_lossy(&file.after);
                let diff = describe(&file.path, &before, &after, DIFF_BYTES);
                (!diff.is_empty()).then_some(diff)
            })
            .collect();
        if parts.is_empty() {
            parts.push(unchanged.to_owned());
        }
        parts.extend(self.notes);
        parts.join("\n")
    }
}

/// What the model is told of an edit besides the diff.
fn note(
    edited: &Substituted,
    text: &str,
    several: bool,
    index: usize,
    all: bool,
) -> Option<String> {
    let which = if several { format!("edit {}: ", index + 1) } else { String::new() };
    let lines = || match edited.lines(text) {
        (first, last) if first == last => format!("line {first}"),
        (first, last) => format!("lines {first}-{last}"),
    };
    let text = if !edited.verbatim {
        let more = if edited.replaced > 1 {
            format!("{} places, the first at {}", edited.replaced, lines())
        } else {
            lines()
        };
        format!(
            "old_string does not stand in the file as written; {} matched {more}",
            edited.strategy
        )
    } else if all {
        match edited.replaced {
            1 => return None,
            replaced => format!("replaced in {replaced} places"),
        }
    } else if edited.places > 1 {
        format!(
            "old_string stands in {} places; the first one, {}, was replaced. Use more of the text \
             around it for another one, replace_all for all",
            edited.places,
            lines()
        )
    } else {
        return None;
    };
    Some(format!("[... {which}{text} ...]"))
}

/// The edits of one call are more than are made at once.
fn too_many(items: &[EditItem], made: usize) -> Stop {
    let (count, next) = (items.len(), "Make them in several calls, the first ones first");
    let text = if made == 0 {
        format!(
            "One call makes at most {EDITS_MAX} edits, and these are {count}. No file was changed. {next}."
        )
    } else {
        format!(
            "Edits of such large files take too long in one call: time was up after {made} of {count}. No \
             file was changed. {next}: not more than {made} of them each."
        )
    };
    Refusal::told(Code::TooMany, "", text).into()
}

fn not_found(text: &str, item: &EditItem, edits: usize, index: usize) -> Failure {
    let which = if edits > 1 {
        format!("edit {} of {edits}, so no file was changed. ", index + 1)
    } else {
        String::new()
    };
    let more = match closest(text, &item.old_string) {
        Some(best) => best.to_string().trim_start().to_owned(),
        None => {
            "None of its lines stands in the file. Read the file and copy the text as it stands \
                 there"
                .to_owned()
        }
    };
    let path = item.path.as_str();
    let text = format!("old_string not found in {path}\n[... {which}{more} ...]");
    Failure::new(Cause::AnchorNotFound, path, text)
}

fn refused(item: &EditItem, miss: &Miss) -> Refusal {
    let path = item.path.as_str();
    let (code, text) = match miss {
        Miss::Blank if item.old_string.is_empty() => (
            Code::EmptyAnchor,
            format!(
                "old_string is empty, and {path} is not: there is no place to replace. Give the text to \
                 replace; to write the whole file use workspace_write."
            ),
        ),
        Miss::Ambiguous { strategy, count, lines } => {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let all = if *strategy == Strategy::Fuzzy { "" } else { ", or set replace_all" };
            let text = format!(
                "ambiguous_match: old_string does not stand in {path} as written, and {count} places are \
                 like it ({strategy}, lines {}). Nothing was changed. Copy the text as it stands at the \
                 place you mean, with lines around it{all}.",
                lines.join(", ")
            );
            (Code::AmbiguousMatch, text)
        }
        Miss::TooLarge { most } => (
            Code::File(FileCode::TooLarge),
            format!(
                "{path} would have more than {most} bytes after this edit, and larger files are not \
                 taken as a whole. Nothing was changed. Replace less, or give a shorter new_string."
            ),
        ),
        Miss::Blank | Miss::NotFound => (
            Code::EmptyAnchor,
            format!(
                "old_string is blank and does not stand in {path} like that. Give the text to replace with \
                 the lines around it."
            ),
        ),
    };
    Refusal::told(code, path, text)
}
