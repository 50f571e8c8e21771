//! From what the person writes to what the team is told.

use std::sync::Arc;
use std::time::Duration;

use akgentic::core::orchestrator::is_tool_actor;
use akgentic::prelude::*;
use anyhow::bail;

use crate::input::{self, Input};
use crate::line::{ALIASES, Wanted, wanted};
use crate::shared::say;
use crate::show::Show;
use crate::team::{HUMAN, MANAGER};

const QUESTION: &str = "What is in this folder? Please have it looked at and report.";

/// A person at the keyboard, and the team.
pub(crate) struct Chat {
    team: ActorRef<Orchestrator>,
    human: ActorRef<HumanProxy>,
    show: Arc<Show>,
    /// How long the team may take for a line.
    limit: Duration,
}

impl Chat {
    pub(crate) fn new(
        team: ActorRef<Orchestrator>,
        human: ActorRef<HumanProxy>,
        show: Arc<Show>,
        limit: Duration,
    ) -> Self {
        Self { team, human, show, limit }
    }

    /// Asks the manager one thing and waits until the team is done with it.
    pub(crate) async fn ask(&self, question: &str) -> anyhow::Result<()> {
        let heard = self.heard();
        self.say(MANAGER, question).await?;
        self.rest().await?;
        self.failure()?;
        if self.heard() == heard {
            bail!("nobody answered");
        }
        Ok(())
    }

    /// Takes one line; that nothing comes of it is a failure.
    pub(crate) async fn one(&self, line: &str) -> anyhow::Result<()> {
        match wanted(line) {
            Wanted::Nothing => bail!("the line is empty"),
            wanted => {
                let (heard, meant) = (self.heard(), matches!(wanted, Wanted::Say { .. }));
                if meant != self.answer(wanted).await? {
                    bail!("nothing was sent");
                }
                self.rest().await?;
                self.failure()?;
                if meant && self.heard() == heard {
                    bail!("nobody answered");
                }
                Ok(())
            }
        }
    }

    /// Takes line after line, each when the team is done with the one before; without any line the
    /// manager is asked about the folder.
    pub(crate) async fn lines(&self) -> anyhow::Result<()> {
        let mut any = false;
        loop {
            match input::next().await? {
                Input::End if any => break,
                Input::End => return self.ask(QUESTION).await,
                Input::Unfit(reason) => {
                    say!("{reason}; nothing was sent");
                }
                Input::Line(line) => match wanted(&line) {
                    Wanted::Exit => break,
                    wanted => {
                        let heard = self.heard();
                        let said = self.answer(wanted).await?;
                        self.rest().await?;
                        if said && self.heard() == heard {
                            say!("Nobody answered.");
                        }
                    }
                },
            }
            any = true;
        }
        self.failure()
    }

    /// Takes lines as they are typed, while the team works.
    pub(crate) async fn at_terminal(&self) -> anyhow::Result<()> {
        say!("Write to {MANAGER}, or to others with @Name in front. /help tells more, /exit ends.");
        say!("Enter alone asks: {QUESTION}");
        let mut asked = false;
        loop {
            match input::next().await? {
                Input::End => return self.rest().await,
                Input::Unfit(reason) => {
                    say!("{reason}; nothing was sent");
                }
                Input::Line(line) => {
                    asked |= match wanted(&line) {
                        Wanted::Exit => return Ok(()),
                        Wanted::Nothing if !asked => self.say(MANAGER, QUESTION).await?,
                        wanted => self.answer(wanted).await?,
                    };
                }
            }
        }
    }

    /// Does what is wanted; whether a member was told something.
    async fn answer(&self, wanted: Wanted) -> anyhow::Result<bool> {
        match wanted {
            Wanted::Nothing | Wanted::Exit => {}
            Wanted::Help => self.help(),
            Wanted::Usage => {
                say!("{}", self.show.usage());
            }
            Wanted::Told(text) => {
                say!("{text}");
            }
            Wanted::Say { to, content } => return self.say(&to, &content).await,
        }
        Ok(false)
    }

    async fn say(&self, to: &str, content: &str) -> anyhow::Result<bool> {
        let says = HumanSays { to: to.to_owned(), content: content.to_owned() };
        // the person does not write to itself
        if to != HUMAN && self.human.ask(says).await? {
            return Ok(true);
        }
        let members = self.team.get_team().await?;
        let others = members.iter().filter(|one| !is_tool_actor(one.name()) && one.name() != HUMAN);
        let names: Vec<&str> = others.map(ActorAddress::name).collect();
        say!("There is no {to} to write to; nothing was sent. Members: {}", names.join(", "));
        Ok(false)
    }

    /// How many messages the person got so far.
    fn heard(&self) -> u64 {
        self.show.progress().borrow().heard
    }

    /// Waits until every message that was sent is done with and whoever was hired has started.
    async fn rest(&self) -> anyhow::Result<()> {
        // What was sent before is on record when this is answered.
        self.team.get_team().await?;
        let mut progress = self.show.progress();
        let rests = progress.wait_for(|progress| progress.open == 0);
        match tokio::time::timeout(self.limit, rests).await {
            Ok(rests) => rests.map(drop)?,
            Err(_) => bail!("the team was not done within {} seconds", self.limit.as_secs()),
        }
        for member in self.team.get_team().await?.iter() {
            // A start that failed is on record.
            let _started = member.wait_started(self.limit).await.is_ok();
        }
        Ok(())
    }

    fn failure(&self) -> anyhow::Result<()> {
        match &self.show.progress().borrow().failed {
            Some(reason) => bail!("the team failed: {reason}"),
            None => Ok(()),
        }
    }

    fn help(&self) {
        say!("TEXT          tells {MANAGER}");
        say!("@NAME TEXT    tells that member");
        say!("/usage        what the agents consumed");
        say!("/help, /exit");
        for (alias, command) in ALIASES {
            say!("{alias:<13} {command}");
        }
        say!("Other text with / in front goes to {MANAGER} as it is. Its commands:");
        for command in &*self.show.commands() {
            say!("  {command}");
        }
    }
}
