//! Which programs a card may start.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use super::words::{Operator, SplitError, split};

/// Programs that may be started unless a card says otherwise.
pub const DEFAULT_PROGRAMS: [&str; 32] = [
    "awk", "bash", "cat", "cp", "curl", "echo", "find", "git", "grep", "jq", "kill", "ls", "make",
    "mkdir", "mv", "mypy", "node", "npm", "npx", "pip", "pytest", "python", "python3", "rm",
    "ruff", "sed", "sh", "touch", "uv", "wc", "wget", "xargs",
];

static DEFAULT: LazyLock<Arc<BTreeSet<String>>> =
    LazyLock::new(|| Arc::new(DEFAULT_PROGRAMS.iter().map(|name| (*name).to_owned()).collect()));

/// The programs a card allows; cheap to clone.
///
/// This is a filter that keeps an agent on the intended path. It is not the boundary: shells and
/// interpreters are on the usual list, and what they may do is decided by the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPolicy {
    programs: Arc<BTreeSet<String>>,
}

impl Default for CommandPolicy {
    /// The [`DEFAULT_PROGRAMS`].
    fn default() -> Self {
        Self { programs: Arc::clone(&DEFAULT) }
    }
}

impl CommandPolicy {
    /// Allows these programs, spelled exactly so.
    pub fn new<S: Into<String>>(programs: impl IntoIterator<Item = S>) -> Self {
        Self { programs: Arc::new(programs.into_iter().map(Into::into).collect()) }
    }

    /// The allowed programs, sorted.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(String::as_str)
    }

    /// The allowed programs for a tool's description: sorted, joined by `, `.
    pub fn listed(&self) -> String {
        self.programs().collect::<Vec<_>>().join(", ")
    }

    /// Splits a command line and checks its first word.
    ///
    /// ```
    /// use akgentic_sandbox::{CommandError, CommandPolicy};
    ///
    /// let policy = CommandPolicy::default();
    /// let command = policy.check("python3 -c 'print(1)'")?;
    /// assert_eq!(command.argv(), ["python3", "-c", "print(1)"]);
    /// assert!(matches!(policy.check("ls | wc"), Err(CommandError::Operator(_))));
    /// assert!(matches!(policy.check("shutdown"), Err(CommandError::NotAllowed { .. })));
    /// # Ok::<_, CommandError>(())
    /// ```
    pub fn check(&self, line: &str) -> Result<AllowedCommand, CommandError> {
        let found = split(line).map_err(CommandError::Split)?;
        if let Some(operator) = found.operators.first() {
            return Err(CommandError::Operator(*operator));
        }
        match found.words.first() {
            None => Err(CommandError::Empty { allowed: self.listed() }),
            Some(program) if self.programs.contains(program) => {
                Ok(AllowedCommand { argv: found.words })
            }
            Some(program) => {
                Err(CommandError::NotAllowed { program: program.clone(), allowed: self.listed() })
            }
        }
    }
}

/// A command that a [`CommandPolicy`] let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedCommand {
    argv: Vec<String>,
}

impl AllowedCommand {
    /// Program and arguments.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// A command that was checked elsewhere or needs no check, such as one of the program itself.
    ///
    /// Nothing when there is no program.
    pub fn trusted<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Option<Self> {
        let argv: Vec<String> = argv.into_iter().map(Into::into).collect();
        (!argv.is_empty()).then_some(Self { argv })
    }

    /// The program.
    pub fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }
}

/// Why a command line is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no word in it.
    #[error("the command is empty; allowed programs: {allowed}")]
    Empty {
        /// What may be started.
        allowed: String,
    },
    /// The program is not on the list.
    #[error("{program:?} is not an allowed program; allowed programs: {allowed}")]
    NotAllowed {
        /// The first word.
        program: String,
        /// What may be started.
        allowed: String,
    },
    /// A word does not end.
    #[error(
        "{0}, so nothing was run; quote the whole word, or put the text into a file and name the file"
    )]
    Split(SplitError),
    /// There is no shell that would act on an operator.
    #[error(
        "the command holds {0} outside of quotes, and commands are run without a shell, so nothing was run; put the line into a script file and run that, or pass it quoted: bash -c '…'"
    )]
    Operator(Operator),
}

impl CommandError {
    /// A stable name for the kind of refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "empty",
            Self::NotAllowed { .. } => "not_allowed",
            Self::Split(SplitError::UnterminatedQuote(_)) => "unterminated_quote",
            Self::Split(SplitError::TrailingEscape) => "trailing_escape",
            Self::Operator(_) => "shell_operator",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_a_card_replaces_the_usual_one() {
        let policy = CommandPolicy::new(["psql", "./run.sh"]);
        assert_eq!(policy.listed(), "./run.sh, psql");
        assert!(policy.check("./run.sh a").is_ok());
        assert_eq!(policy.check("ls").map_err(|error| error.code()), Err("not_allowed"));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let refused = CommandPolicy::new(["ls"]).check("ls > a").expect_err("refused").to_string();
        assert!(refused.contains("`>`") && refused.contains("bash -c"), "{refused}");
    }
}
