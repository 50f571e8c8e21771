//! Patterns of paths: alternatives in braces, `**` for any number of directories.

use super::name::NamePattern;

/// Most characters of a pattern.
const LENGTH_MAX: usize = 4096;

/// Most patterns that braces may stand for.
const ALTERNATIVES_MAX: usize = 512;

/// Most parts of all alternatives together.
const PARTS_MAX: usize = 4096;

/// Why a pattern is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It names nothing.
    #[error(
        "it is empty, or one of its alternatives is. Use `*` for all files of a directory, `**/*` for all below it"
    )]
    Empty,
    /// It begins at the top of the file system.
    #[error("it begins with `/`. Write it relative to the directory that is searched")]
    Absolute,
    /// It climbs.
    #[error(
        "it holds `..`. Name the directory to search in `path`, and a pattern for what is below it"
    )]
    Parent,
    /// It is too long, or stands for too many patterns.
    #[error("it is too long or has too many alternatives. Use fewer, or search several times")]
    TooLarge,
}

/// The patterns that one with braces stands for, each with `**` as a part of its own.
///
/// ```
/// use akgentic_workspace::glob::expand;
///
/// assert_eq!(expand("src/**.{rs,toml}")?, ["src/**/*.rs", "src/**/*.toml"]);
/// # Ok::<_, akgentic_workspace::glob::PatternError>(())
/// ```
pub fn expand(pattern: &str) -> Result<Vec<String>, PatternError> {
    if pattern.len() > LENGTH_MAX {
        return Err(PatternError::TooLarge);
    }
    let mut done = Vec::new();
    let mut ahead = vec![pattern.to_owned()];
    while let Some(pattern) = ahead.pop() {
        let Some((open, close)) = innermost(&pattern) else {
            done.push(with_own_stars(&pattern));
            continue;
        };
        let (Some(before), Some(inside), Some(behind)) =
            (pattern.get(..open), pattern.get(open + 1..close), pattern.get(close + 1..))
        else {
            continue;
        };
        let alternatives: Vec<&str> = inside.split(',').collect();
        for alternative in alternatives.into_iter().rev() {
            ahead.push(format!("{before}{}{behind}", alternative.trim()));
        }
        if ahead.len() + done.len() > ALTERNATIVES_MAX {
            return Err(PatternError::TooLarge);
        }
    }
    Ok(done)
}

/// The first `{…}` that holds something and no braces.
fn innermost(pattern: &str) -> Option<(usize, usize)> {
    let mut open = None;
    for (at, byte) in pattern.bytes().enumerate() {
        match byte {
            b'{' => open = Some(at),
            b'}' => {
                if let Some(open) = open.take()
                    && open + 1 < at
                {
                    return Some((open, at));
                }
            }
            _ => {}
        }
    }
    None
}

fn with_own_stars(pattern: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in pattern.split('/') {
        if !part.contains("**") || part == "**" {
            parts.push(part.to_owned());
            continue;
        }
        parts.push("**".to_owned());
        // However many stars there are, they say what two say; in a name, what one says.
        if part.bytes().all(|byte| byte == b'*') {
            parts.push("**".to_owned());
            continue;
        }
        let mut rest = part.to_owned();
        while rest.contains("**") {
            rest = rest.replace("**", "*");
        }
        parts.push(rest);
    }
    parts.join("/")
}

/// One part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `**`: any number of directories.
    Directories,
    Name(NamePattern),
    /// Behind the last part.
    End,
}

/// A pattern of paths, ready to be compared.
///
/// `*`, `?` and `[…]` stand for characters of one name, hidden or not, in either case; `**` for any
/// number of directories, at the end for every file below them; `{a,b}` for alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The parts of all alternatives, each alternative closed by its end.
    parts: Vec<Part>,
    starts: Vec<usize>,
}

/// How far the alternatives of a pattern have come: positions in its parts, ascending.
pub(super) type States = Vec<usize>;

impl Pattern {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        Self::read(pattern, false)
    }

    /// Reads a pattern that may begin at any depth; an empty one is every file.
    pub fn anywhere(pattern: &str) -> Result<Self, PatternError> {
        Self::read(if pattern.is_empty() { "*" } else { pattern }, true)
    }

    fn read(pattern: &str, anywhere: bool) -> Result<Self, PatternError> {
        let mut own = Self { parts: Vec::new(), starts: Vec::new() };
        for alternative in expand(pattern)? {
            if alternative.starts_with('/') {
                return Err(PatternError::Absolute);
            }
            own.starts.push(own.parts.len());
            let first = own.parts.len();
            if anywhere {
                own.parts.push(Part::Directories);
            }
            let mut names = 0;
            for part in alternative.split('/').filter(|part| !part.is_empty() && *part != ".") {
                names += 1;
                match part {
                    ".." => return Err(PatternError::Parent),
                    "**" if own.parts.len() > first
                        && own.parts.last() == Some(&Part::Directories) => {}
                    "**" => own.parts.push(Part::Directories),
                    name => own.parts.push(Part::Name(NamePattern::new(name))),
                }
            }
            if names == 0 {
                return Err(PatternError::Empty);
            }
            // A directory stands for the files below it.
            if alternative.ends_with('/') && own.parts.last() != Some(&Part::Directories) {
                own.parts.push(Part::Directories);
            }
            own.parts.push(Part::End);
            if own.parts.len() > PARTS_MAX {
                return Err(PatternError::TooLarge);
            }
        }
        Ok(own)
    }

    /// Whether a file at this path, relative to the directory that is searched, is one that is meant.
    ///
    /// ```
    /// use akgentic_workspace::glob::Pattern;
    ///
    /// let pattern = Pattern::new("src/**/*.{rs,toml}")?;
    /// assert!(pattern.matches("src/a/b.rs") && !pattern.matches("b.rs"));
    /// # Ok::<_, akgentic_workspace::glob::PatternError>(())
    /// ```
    pub fn matches(&self, path: &str) -> bool {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut states = self.start();
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            states = self.enter(&states, folder, false);
        }
        !name.is_empty() && self.takes_file(&states, name)
    }

    /// Where every alternative begins.
    pub(super) fn start(&self) -> States {
        let mut states = Vec::new();
        for start in &self.starts {
            self.add(*start, &mut states);
        }
        states.sort_unstable();
        states.dedup();
        states
    }

    /// Adds a position, and those that no directory at all leads to.
    fn add(&self, state: usize, states: &mut States) {
        let mut state = state;
        loop {
            states.push(state);
            match self.parts.get(state) {
                Some(Part::Directories) => state += 1,
                _ => return,
            }
        }
    }

    /// Whether a file of this name, in a directory with these positions, is one that is meant.
    pub(super) fn takes_file(&self, states: &States, name: &str) -> bool {
        states.iter().any(|state| {
            let is_last = self.parts.get(state + 1) == Some(&Part::End);
            is_last
                && match self.parts.get(*state) {
                    Some(Part::Directories) => true,
                    Some(Part::Name(pattern)) => pattern.matches(name),
                    Some(Part::End) | None => false,
                }
        })
    }

    /// The positions within a directory of this name; through a link `**` does not go on.
    pub(super) fn enter(&self, states: &States, name: &str, is_link: bool) -> States {
        let mut inner = Vec::new();
        for state in states {
            match self.parts.get(*state) {
                Some(Part::Directories) if !is_link => self.add(*state, &mut inner),
                Some(Part::Name(pattern)) if pattern.matches(name) => {
                    self.add(state + 1, &mut inner);
                }
                _ => {}
            }
        }
        inner.retain(|state| self.parts.get(*state) != Some(&Part::End));
        inner.sort_unstable();
        inner.dedup();
        inner
    }
}
