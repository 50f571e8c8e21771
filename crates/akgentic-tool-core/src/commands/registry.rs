//! The commands of one agent.

use std::sync::Arc;

use akgentic_core::ActorAddress;
use indexmap::IndexMap;

use super::command::{Command, CommandArgs, CommandOutput};
use super::failure::CommandFailure;
use super::tokens::{self, QuotingError, tokenize};
use crate::error::ToolError;
use crate::events::{CommandDescriptor, CommandsAnnouncedEvent};

/// The owner shown for commands that come from no card.
pub const OWN_COMMANDS: &str = "BaseAgent";

/// Two commands have one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the command {command:?} of {first} has the name of one of {second}")]
pub struct DuplicateCommand {
    /// The name.
    pub command: String,
    /// Who has it: a card, or [`OWN_COMMANDS`].
    pub first: String,
    /// Who wants it too.
    pub second: String,
}

/// What became of a text that may be a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum DispatchOutcome {
    /// The command ran and answers this.
    Reply(String),
    /// The command ran and has nothing to say.
    Silent,
    /// The command was recognised and failed; the text tells the person.
    Failed(CommandFailure),
    /// No command: the word that should name one, or the whole text without a word.
    NotRecognized(String),
    /// The text cannot be cut into words.
    Syntax(SyntaxError),
}

/// A text that cannot be cut into words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Command '{}' failed: {error}; close the quote, or put a backslash before it", command.as_deref().unwrap_or_default())]
pub struct SyntaxError {
    /// Why.
    pub error: QuotingError,
    /// The command that its first word names; without one it is an ordinary text.
    pub command: Option<String>,
}

impl DispatchOutcome {
    /// What the person is told; nothing for silence and for what is an ordinary text.
    ///
    /// A text with a quoting error is answered when its first word names a command.
    pub fn reply(&self) -> Option<String> {
        match self {
            Self::Reply(text) => Some(text.clone()),
            Self::Failed(failure) => Some(failure.to_string()),
            Self::Syntax(error) if error.command.is_some() => Some(error.to_string()),
            Self::Silent | Self::NotRecognized(_) | Self::Syntax(_) => None,
        }
    }

    /// Whether the text was a command, so that it is no ordinary turn.
    pub fn is_command(&self) -> bool {
        !matches!(self, Self::NotRecognized(_) | Self::Syntax(SyntaxError { command: None, .. }))
    }
}

/// Why code got no answer from a command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is no command of this name.
    #[error("there is no command {}", crate::quoted(.0))]
    NotRecognized(String),
    /// The command takes other arguments, or answers something else.
    #[error("the command {0:?} has another signature")]
    WrongSignature(String),
    /// The command ran and failed.
    #[error(transparent)]
    Failed(#[from] ToolError),
}

/// The commands of one agent, in registration order; cheap to clone.
///
/// Names that start with `_` are for code: they are neither announced nor typed.
#[derive(Clone, Debug, Default)]
pub struct CommandRegistry {
    commands: Arc<IndexMap<String, Registered>>,
    descriptors: Arc<[CommandDescriptor]>,
}

#[derive(Debug)]
struct Registered {
    command: Command,
    owner: Arc<str>,
}

impl CommandRegistry {
    /// A registry of commands, each with its owner: the name of a card, or [`OWN_COMMANDS`].
    pub fn new<O: Into<Arc<str>>>(
        owned: impl IntoIterator<Item = (O, Command)>,
    ) -> Result<Self, DuplicateCommand> {
        let mut commands: IndexMap<String, Registered> = IndexMap::new();
        let owned = owned.into_iter().map(|(owner, command)| (owner.into(), command));
        for (owner, command) in owned {
            let name = command.name().to_owned();
            if let Some(known) = commands.get(&name) {
                let (first, second) = (known.owner.to_string(), owner.to_string());
                return Err(DuplicateCommand { command: name, first, second });
            }
            commands.insert(name, Registered { command, owner });
        }
        let descriptors = commands
            .values()
            .filter(|known| !known.command.is_hidden())
            .map(|known| known.command.descriptor(&known.owner))
            .collect();
        Ok(Self { commands: Arc::new(commands), descriptors })
    }

    /// Whether there is a command of this name, hidden ones included.
    pub fn has(&self, name: &str) -> bool {
        self.commands.contains_key(name)
    }

    /// The command of this name, hidden ones included.
    pub fn get(&self, name: &str) -> Option<&Command> {
        self.commands.get(name).map(|known| &known.command)
    }

    /// Names and owners in registration order, hidden ones included.
    pub fn owners(&self) -> impl Iterator<Item = (&str, &str)> {
        self.commands.iter().map(|(name, known)| (name.as_str(), &*known.owner))
    }

    /// What a front end shows, in registration order.
    pub fn descriptors(&self) -> &[CommandDescriptor] {
        &self.descriptors
    }

    /// The event by which `agent` tells its commands.
    pub fn announcement(&self, agent: ActorAddress) -> CommandsAnnouncedEvent {
        CommandsAnnouncedEvent { agent, commands: Arc::clone(&self.descriptors) }
    }

    /// Runs what a person typed, with or without the leading `/`.
    ///
    /// Dropping the future stops the work.
    pub async fn dispatch(&self, text: &str) -> DispatchOutcome {
        let words = match tokenize(text) {
            Ok(words) => words,
            Err(error) => {
                let word = tokens::first_word(text);
                let command = word.filter(|word| self.typed(word).is_some());
                return DispatchOutcome::Syntax(SyntaxError { error, command });
            }
        };
        let Some((name, rest)) = words.split_first() else {
            return DispatchOutcome::NotRecognized(text.to_owned());
        };
        let Some(command) = self.typed(name) else {
            return DispatchOutcome::NotRecognized(name.clone());
        };
        match command.run(rest).await {
            Ok(Some(text)) => DispatchOutcome::Reply(text),
            Ok(None) => DispatchOutcome::Silent,
            Err(failure) => DispatchOutcome::Failed(failure),
        }
    }

    /// Whether [`CommandRegistry::dispatch`] would find a command in this text.
    pub fn recognizes(&self, text: &str) -> bool {
        tokens::first_word(text).is_some_and(|word| self.typed(&word).is_some())
    }

    fn typed(&self, name: &str) -> Option<&Command> {
        self.get(name).filter(|command| !command.is_hidden())
    }

    /// Calls the command that `A` names.
    pub async fn call<A: CommandArgs>(&self, args: A) -> Result<A::Output, CommandError> {
        self.call_named(A::NAME, args).await
    }

    /// Calls a command by name; argument and answer types have to be those it was made with.
    pub async fn call_named<A, O>(&self, name: &str, args: A) -> Result<O, CommandError>
    where
        A: Send + 'static,
        O: CommandOutput,
    {
        let Some(command) = self.get(name) else {
            return Err(CommandError::NotRecognized(name.to_owned()));
        };
        match command.call::<A, O>(args) {
            Some(answer) => Ok(answer.await?),
            None => Err(CommandError::WrongSignature(name.to_owned())),
        }
    }
}
