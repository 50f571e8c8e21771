//! The words of the journal: authors, subjects, bodies.

use std::path::{Path, PathBuf};

use crate::admission::RelPath;
use crate::text::clip;

/// Characters of a command that a commit shows.
const COMMAND_CHARS: usize = 500;

/// Characters of a path that a subject shows.
const SUBJECT_CHARS: usize = 200;

const NOBODY: &str = "unknown-agent";

/// Who made a change, as git wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// Electronic mail address; it leads nowhere.
    pub email: String,
}

impl Identity {
    /// An agent.
    ///
    /// ```
    /// use akgentic_workspace::journal::Identity;
    ///
    /// assert_eq!(Identity::agent("Ann", "id 1").email, "id-1@akgentic");
    /// ```
    pub fn agent(name: &str, id: &str) -> Self {
        Self { name: clean_name(name), email: format!("{}@akgentic", clean_local_part(id)) }
    }

    /// Whoever works without the tools.
    pub fn out_of_band() -> Self {
        Self { name: "out-of-band".into(), email: "out-of-band@akgentic".into() }
    }
}

/// A name that git takes.
pub fn clean_name(name: &str) -> String {
    let kept: String =
        name.chars().filter(|c| !c.is_ascii_control() && !matches!(c, '<' | '>')).collect();
    match kept.trim() {
        "" => NOBODY.to_owned(),
        kept => kept.to_owned(),
    }
}

/// An id as the part of an address before the `@`.
pub fn clean_local_part(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let local: String = id.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    match local.trim_matches('-') {
        "" => NOBODY.to_owned(),
        local => local.to_owned(),
    }
}

/// A command on one line.
pub fn clean_command(command: &str) -> String {
    let spaced: String =
        command.chars().map(|c| if c.is_ascii_control() { ' ' } else { c }).collect();
    let line = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = clip(&line, COMMAND_CHARS);
    if kept.len() < line.len() { format!("{kept} …") } else { line }
}

/// What a commit is headed.
pub fn subject(capability: &str, paths: &[RelPath]) -> String {
    match paths {
        [path] => {
            let path = path.as_path().to_string_lossy();
            let shown: String =
                path.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let kept = clip(&shown, SUBJECT_CHARS);
            let more = if kept.len() < shown.len() { "…" } else { "" };
            format!("{capability}: {kept}{more}")
        }
        paths => format!("{capability}: {} files", paths.len()),
    }
}

/// Lines at the end of a commit that name who made it by id, and in which run.
pub fn trailers(agent: &str, run: Option<&str>) -> String {
    let clean = |id: &str| id.chars().filter(|c| !c.is_control()).collect::<String>();
    let agent = format!("Agent-Id: {}", clean(agent));
    match run {
        Some(run) => format!("{agent}\nRun-Id: {}", clean(run)),
        None => agent,
    }
}

/// What a commit of changes from outside is headed.
pub const OUT_OF_BAND: &str = "out-of-band: changes from outside the tools";

/// Where the journal of a tree lies: beside it, never in it.
pub fn git_directory(root: &Path) -> Option<PathBuf> {
    let mut name = root.file_name()?.to_owned();
    name.push(".git");
    Some(root.with_file_name(name))
}
