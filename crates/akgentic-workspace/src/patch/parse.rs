//! Reading a patch: sections by their headers, hunk bodies by the counts of theirs.

use super::headers::{GitPath, Named, git_path, hunk_header};
use super::{FilePatch, Hunk, NO_FILE};
use crate::lines::Text;
use crate::spelling;

/// What a section does with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// Writes it anew.
    Create,
    /// Changes it.
    Update,
    /// Removes it.
    Delete,
}

/// The part of a patch about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What becomes of the file.
    pub kind: SectionKind,
    /// The file, without the prefixes that patches put before it.
    pub path: String,
    /// Other spellings of the header that may be meant, with whether they go before `path`.
    pub also: Option<(String, bool)>,
    /// Its hunks.
    pub hunks: Vec<Hunk>,
    /// Line of the patch where it begins, counted from 1.
    pub line: usize,
}

impl Section {
    /// `created: PATH`, `updated: PATH` or `deleted: PATH`.
    pub fn label(&self) -> String {
        let what = match self.kind {
            SectionKind::Create => "created",
            SectionKind::Update => "updated",
            SectionKind::Delete => "deleted",
        };
        format!("{what}: {}", self.path)
    }

    /// The paths it may mean, the likeliest first.
    pub fn candidates(&self) -> Vec<&str> {
        match &self.also {
            Some((also, true)) => vec![also, &self.path],
            Some((also, false)) => vec![&self.path, also],
            None => vec![&self.path],
        }
    }

    /// The section as a record, in which a deletion is about [`NO_FILE`].
    pub fn file_patch(&self) -> FilePatch {
        let path = if self.kind == SectionKind::Delete { NO_FILE } else { self.path.as_str() };
        FilePatch { path: path.to_owned(), hunks: self.hunks.clone() }
    }
}

/// A patch that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Its sections in order.
    pub sections: Vec<Section>,
    /// Line of the first hunk that no file header stands before, counted from 1.
    pub stray_hunk: Option<usize>,
    /// Files whose header no hunk follows, with the header's line, counted from 1.
    pub without_hunks: Vec<(String, usize)>,
}

/// Why a text is not read as a patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A header or a hunk is not what it has to be.
    #[error("line {line} of the patch: {text}")]
    Malformed {
        /// The file it is about.
        path: String,
        /// Line of the patch, counted from 1.
        line: usize,
        /// What is wrong, and how it is written right.
        text: String,
    },
    /// The text is a patch of another kind.
    #[error(
        "this is {0}, and only unified diffs are applied: `--- a/PATH`, `+++ b/PATH`, then hunks that \
         begin with `@@ -LINE,COUNT +LINE,COUNT @@`. Write the change that way, or use workspace_edit"
    )]
    OtherDialect(&'static str),
}

/// Reads a patch.
///
/// What stands around sections and behind complete hunks is prose and left out.
///
/// ```
/// use akgentic_workspace::patch::{SectionKind, parse_patch};
///
/// let patch = parse_patch("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n")?;
/// assert_eq!(patch.sections[0].kind, SectionKind::Update);
/// assert_eq!(patch.sections[0].hunks[0].lines, ["-1", "+2"]);
/// # Ok::<_, akgentic_workspace::patch::PatchError>(())
/// ```
pub fn parse_patch(text: &str) -> Result<Patch, PatchError> {
    let text = Text::new(text);
    let mut reader = Reader { text: &text, at: 0, patch: Patch::default(), git: None };
    reader.run()?;
    let patch = reader.patch;
    if patch.sections.is_empty()
        && let Some(dialect) = other_dialect(&text)
    {
        return Err(PatchError::OtherDialect(dialect));
    }
    Ok(patch)
}

fn other_dialect(text: &Text<'_>) -> Option<&'static str> {
    let ed_command = |line: &str| {
        let address = line.trim_end_matches(['a', 'c', 'd']);
        !address.is_empty()
            && address.len() + 1 == line.len()
            && address.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
    };
    let lines = || text.contents();
    if lines().any(|line| line.trim_end() == "*** Begin Patch") {
        Some("a `*** Begin Patch` text")
    } else if lines().any(|line| line.trim_start().starts_with("<<<<<<< SEARCH")) {
        Some("a search-and-replace text")
    } else if lines().any(|line| line.starts_with("*** ") && line.ends_with(" ****")) {
        Some("a context diff")
    } else if lines().any(ed_command) && lines().any(|line| line == ".") {
        Some("an ed script")
    } else {
        None
    }
}

/// What a `diff --git` line and those behind it say.
struct GitHeader {
    path: GitPath,
    line: usize,
    kind: Option<SectionKind>,
}

struct Reader<'t> {
    text: &'t Text<'t>,
    at: usize,
    patch: Patch,
    git: Option<GitHeader>,
}

impl<'t> Reader<'t> {
    fn line(&self, ahead: usize) -> Option<&'t str> {
        let index = self.at + ahead;
        (index < self.text.len()).then(|| self.text.line(index))
    }

    fn run(&mut self) -> Result<(), PatchError> {
        while let Some(line) = self.line(0) {
            if self.is_file_header() {
                self.git = None;
                self.section()?;
                continue;
            }
            if let Some(rest) = line.strip_prefix("diff --git ") {
                self.close_git()?;
                self.git = Some(GitHeader { path: git_path(rest), line: self.at + 1, kind: None });
            } else if line.starts_with("@@ -") {
                self.patch.stray_hunk.get_or_insert(self.at + 1);
            } else if let Some(git) = &mut self.git {
                if line.starts_with("new file mode ") {
                    git.kind = Some(SectionKind::Create);
                } else if line.starts_with("deleted file mode ") {
                    git.kind = Some(SectionKind::Delete);
                } else if let Some(what) = unsupported(line) {
                    let named = line.split_once(" from ").and_then(|(_, name)| Named::read(name));
                    let path = match (&git.path, &named) {
                        (GitPath::Same(path), _) | (_, Some(Named::File(path))) => path.clone(),
                        _ => String::new(),
                    };
                    return Err(PatchError::Malformed {
                        path,
                        line: self.at + 1,
                        text: what.to_owned(),
                    });
                }
            }
            self.at += 1;
        }
        self.close_git()
    }

    /// An empty file that comes or goes has a git header and nothing more.
    fn close_git(&mut self) -> Result<(), PatchError> {
        let Some(GitHeader { path, line, kind: Some(kind) }) = self.git.take() else {
            return Ok(());
        };
        let path = match path {
            GitPath::Same(path) => path,
            GitPath::Differs => return Ok(()),
            GitPath::Undecodable => return Err(undecodable(self.text.line(line - 1), line)),
        };
        self.patch.sections.push(Section { kind, path, also: None, hunks: Vec::new(), line });
        Ok(())
    }

    fn is_file_header(&self) -> bool {
        let (line, next) = (self.line(0).unwrap_or_default(), self.line(1).unwrap_or_default());
        (line.starts_with("--- ") && next.starts_with("+++ "))
            || (line.starts_with("+++ ") && !names_no_file(line) && next.starts_with("@@ -"))
    }

    fn section(&mut self) -> Result<(), PatchError> {
        let line = self.at + 1;
        let old = self.named("--- ")?;
        let new = self.named("+++ ")?.unwrap_or(Named::File(String::new()));
        let Some(mut section) = named_section(old, new, line) else {
            return Err(malformed(line, NO_FILE, "both sides are /dev/null: name a file"));
        };
        while let Some(line) = self.line(0) {
            if self.is_file_header() || line.starts_with("diff --git ") {
                break;
            }
            if line.starts_with("@@") {
                let hunk = self.hunk(&section.path)?;
                section.hunks.push(hunk);
            } else {
                self.at += 1;
            }
        }
        if section.hunks.is_empty() && section.kind == SectionKind::Update {
            self.patch.without_hunks.push((section.path, line));
        } else {
            self.patch.sections.push(section);
        }
        Ok(())
    }

    /// The name in this line, and on to the next one; nothing when another kind of line stands here.
    fn named(&mut self, before: &str) -> Result<Option<Named>, PatchError> {
        let line = self.line(0).unwrap_or_default();
        let Some(rest) = line.strip_prefix(before) else { return Ok(None) };
        self.at += 1;
        Named::read(rest).map(Some).ok_or_else(|| undecodable(line, self.at))
    }

    fn hunk(&mut self, path: &str) -> Result<Hunk, PatchError> {
        let header = self.at + 1;
        let line = self.line(0).unwrap_or_default();
        let Some(mut hunk) = hunk_header(line) else {
            let shown = spelling::visible(crate::text::clip(line, 80));
            let text = format!(
                "`{shown}` is no hunk header: write `@@ -LINE,COUNT +LINE,COUNT @@` with the numbers of \
                 the lines in the file"
            );
            return Err(malformed(header, path, text));
        };
        self.at += 1;
        let first = self.at;
        let (mut old, mut new) = (hunk.old_count, hunk.new_count);
        let mut sign = ' ';
        while old > 0 || new > 0 {
            let Some(line) = self.line(0) else { return Err(self.miscounted(&hunk, first, path)) };
            match line.chars().next() {
                Some('\\') => mark_open(&mut hunk, sign),
                first_sign => {
                    sign = match first_sign {
                        None => ' ',
                        Some(sign @ (' ' | '+' | '-')) => sign,
                        Some(_) => return Err(self.miscounted(&hunk, first, path)),
                    };
                    let (takes_old, takes_new) = (u64::from(sign != '+'), u64::from(sign != '-'));
                    match (old.checked_sub(takes_old), new.checked_sub(takes_new)) {
                        (Some(old_left), Some(new_left)) => (old, new) = (old_left, new_left),
                        _ => return Err(self.miscounted(&hunk, first, path)),
                    }
                    hunk.lines.push(if line.is_empty() { " ".to_owned() } else { line.to_owned() });
                }
            }
            self.at += 1;
        }
        if self.line(0).is_some_and(|line| line.starts_with('\\')) {
            mark_open(&mut hunk, sign);
            self.at += 1;
        }
        if hunk.lines.is_empty() || self.goes_on() {
            return Err(self.miscounted(&hunk, first, path));
        }
        Ok(hunk)
    }

    /// Whether another line of a body stands here, behind the lines that were counted.
    fn goes_on(&self) -> bool {
        let line = self.line(0).unwrap_or_default();
        let is_signature = matches!(line, "--" | "-- ");
        line.starts_with([' ', '+', '-']) && !is_signature && !self.is_file_header()
    }

    fn miscounted(&mut self, hunk: &Hunk, first: usize, path: &str) -> PatchError {
        self.at = first;
        let (mut old, mut new) = (0, 0);
        while let Some(line) = self.line(0) {
            let ends = self.is_file_header() || matches!(line, "--" | "-- ");
            match line.chars().next() {
                _ if ends => break,
                Some('+') => new += 1,
                Some('-') => old += 1,
                Some(' ') => (old, new) = (old + 1, new + 1),
                // A blank line counts when the body goes on behind it.
                None if self.line(1).is_some_and(|line| line.starts_with([' ', '+', '-'])) => {
                    (old, new) = (old + 1, new + 1);
                }
                Some('\\') => {}
                _ => break,
            }
            self.at += 1;
        }
        if old + new == 0 {
            return malformed(first, path, format!("hunk {} has no lines", hunk.header()));
        }
        let (start, new_start) = (hunk.old_start, hunk.new_start);
        let text = format!(
            "hunk {} says {} old and {} new lines, and {old} old and {new} new ones follow: write \
             `@@ -{start},{old} +{new_start},{new} @@`, or complete the lines",
            hunk.header(),
            hunk.old_count,
            hunk.new_count,
        );
        malformed(first, path, text)
    }
}

/// Whether the name in a header stands for no file.
fn names_no_file(header: &str) -> bool {
    let name = header.trim_start_matches("+++ ").split('\t').next().unwrap_or_default();
    name.trim() == NO_FILE
}

fn malformed(line: usize, path: &str, text: impl Into<String>) -> PatchError {
    PatchError::Malformed { path: path.to_owned(), line, text: text.into() }
}

/// A header whose quoted name is not as git writes it.
fn undecodable(header: &str, line: usize) -> PatchError {
    let shown = spelling::visible(crate::text::clip(header, 200));
    let text = format!(
        "the name in `{shown}` begins with a quote and cannot be decoded: write it as git does, ended by a \
         quote and with no other escapes than \\a \\b \\t \\n \\v \\f \\r \\\" \\\\ and three octal \
         digits, or write the name without quotes"
    );
    malformed(line, "", text)
}

fn mark_open(hunk: &mut Hunk, sign: char) {
    hunk.old_open |= sign != '+';
    hunk.new_open |= sign != '-';
}

fn unsupported(line: &str) -> Option<&'static str> {
    if line.starts_with("rename from ") || line.starts_with("copy from ") {
        Some(
            "files are not renamed or copied by a patch: delete the old one and create the new one",
        )
    } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        Some("binary files are not patched")
    } else {
        None
    }
}

fn named_section(old: Option<Named>, new: Named, line: usize) -> Option<Section> {
    let stripped = |path: &str, prefix: &str| path.strip_prefix(prefix).map(str::to_owned);
    let (kind, path, also) = match (old, new) {
        (Some(Named::Nothing) | None, Named::Nothing) => return None,
        (Some(Named::File(old)), Named::Nothing) => match stripped(&old, "a/") {
            Some(path) => (SectionKind::Delete, path, Some((old, false))),
            None => (SectionKind::Delete, old, None),
        },
        (Some(Named::Nothing), Named::File(new)) => {
            (SectionKind::Create, stripped(&new, "b/").unwrap_or(new), None)
        }
        (old, Named::File(new)) => {
            let old = match old {
                Some(Named::File(old)) => Some(old),
                _ => None,
            };
            let bare = stripped(&new, "b/");
            match (bare, old) {
                (None, _) => (SectionKind::Update, new, None),
                // Prefixes come as a pair: without, the path is meant as it stands.
                (Some(bare), Some(old)) if old == new => {
                    (SectionKind::Update, new, Some((bare, false)))
                }
                (Some(bare), Some(old)) if stripped(&old, "a/").is_some() => {
                    (SectionKind::Update, bare, Some((new, false)))
                }
                (Some(bare), _) => (SectionKind::Update, bare, Some((new, true))),
            }
        }
    };
    Some(Section { kind, path, also, hunks: Vec::new(), line })
}
