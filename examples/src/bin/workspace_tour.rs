//! Two agents share a folder: what one of them has not seen it cannot overwrite, what does not
//! collide survives, commands are held by a sandbox, and a journal knows who did what.

#[path = "../shared.rs"]
mod shared;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, ExitCode};
use std::time::Duration;

use akgentic::prelude::*;
use akgentic::tool::ToolHostRef;
use akgentic::workspace::journal::text::git_directory;
use akgentic::workspace::params::WorkspaceExec;
use anyhow::{Context as _, bail};
use clap::Parser;
use serde_json::{Value, json};
use shared::say;

/// What the tools of a workspace do for agents that share it.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The folder to work in: a new or an empty one. The journal is put beside it, as FOLDER.git.
    folder: PathBuf,
    /// What holds commands: bwrap, docker, local, or the first of them that works.
    #[arg(long, default_value = "auto")]
    sandbox: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    shared::log_to_stderr();
    shared::exit("workspace_tour", run(Arguments::parse()).await)
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    // a name that is none is told before anything is made
    let exec: WorkspaceExec = serde_json::from_value(json!({"mode": arguments.sandbox}))?;
    let folder = prepared(&arguments.folder)?;
    let system = ActorSystem::new();
    let team = system.create_team(BaseConfig::new("@Team", "Orchestrator"), Origin::default())?;
    let toured = tour(&team, &folder, exec).await;
    // The journal is complete when its team has stopped.
    team.stop(Duration::from_secs(30)).await?;
    system.shutdown(Duration::from_secs(5)).await;
    toured?;
    show_journal(&folder)
}

/// The folder, which has to hold nothing that the tour could spoil.
fn prepared(folder: &Path) -> anyhow::Result<PathBuf> {
    let named = || folder.display().to_string();
    fs::create_dir_all(folder).with_context(named)?;
    let folder = folder.canonicalize().with_context(named)?;
    if fs::read_dir(&folder).with_context(named)?.next().is_some() {
        bail!("{} is not empty: name a new folder", folder.display());
    }
    Ok(folder)
}

async fn tour(
    team: &ActorRef<Orchestrator>,
    folder: &Path,
    exec: WorkspaceExec,
) -> anyhow::Result<()> {
    let card = WorkspaceTool {
        git_journal: true,
        workspace_exec: exec.into(),
        ..WorkspaceTool::at(folder)
    };
    let ann = Agent::join(team, "@Ann", &card).await?;
    let bob = Agent::join(team, "@Bob", &card).await?;
    a_stale_write(&ann, &bob).await?;
    an_edit_beside_a_change(&ann, &bob).await?;
    a_patch_over_three_files(&bob).await?;
    a_command(&ann).await
}

async fn a_stale_write(ann: &Agent, bob: &Agent) -> anyhow::Result<()> {
    say!("\n# A write that would lose somebody's work is refused, and shows the difference\n");
    let plan = "# Plan\n\n1. Measure\n2. Build\n3. Rest\n";
    ann.call("workspace_write", json!({"path": "plan.md", "content": plan})).await?;
    bob.call("workspace_read", json!({"path": "plan.md"})).await?;
    let edit = json!({"path": "plan.md", "old_string": "2. Build", "new_string": "2. Build twice"});
    ann.call("workspace_edit", edit).await?;
    let mine = plan.replace("3. Rest", "3. Celebrate");
    bob.refused("workspace_write", json!({"path": "plan.md", "content": mine})).await
}

async fn an_edit_beside_a_change(ann: &Agent, bob: &Agent) -> anyhow::Result<()> {
    say!("\n# An edit names what it replaces, and survives a change elsewhere in the file\n");
    bob.call("workspace_read", json!({"path": "plan.md"})).await?;
    let first =
        json!({"path": "plan.md", "old_string": "1. Measure", "new_string": "1. Measure well"});
    ann.call("workspace_edit", first).await?;
    let third = json!({"path": "plan.md", "old_string": "3. Rest", "new_string": "3. Celebrate"});
    bob.call("workspace_edit", third).await?;
    bob.call("workspace_read", json!({"path": "plan.md"})).await
}

async fn a_patch_over_three_files(bob: &Agent) -> anyhow::Result<()> {
    say!("\n# A patch changes three files, or none of them\n");
    let patch = "\
--- a/plan.md
+++ b/plan.md
@@ -4,2 +4,3 @@
 2. Build twice
 3. Celebrate
+4. Write it down
--- /dev/null
+++ b/src/count.sh
@@ -0,0 +1,2 @@
+#!/bin/sh
+wc -l plan.md notes.md
--- /dev/null
+++ b/notes.md
@@ -0,0 +1 @@
+Nothing yet.
";
    let bad = patch.replace(" 2. Build twice\n", " 2. Build thrice\n");
    bob.refused_in_its_answer("workspace_patch", json!({"patch_text": bad})).await?;
    bob.call("workspace_patch", json!({"patch_text": patch})).await?;
    bob.call("workspace_list", json!({"depth": 0})).await
}

async fn a_command(ann: &Agent) -> anyhow::Result<()> {
    say!("\n# A command runs in a sandbox, and says what held it\n");
    let script = r#"sh src/count.sh; echo counted >>notes.md; touch /etc/passwd
(exec 3<>/dev/tcp/192.0.2.1/80) && echo reached; tr "\000" " " </proc/1/environ; echo"#;
    let cmd = format!("bash -c '{script}'");
    ann.call("workspace_exec", json!({"cmd": cmd})).await
}

/// Shows the journal through git itself: it is a repository like any other.
fn show_journal(folder: &Path) -> anyhow::Result<()> {
    let journal = git_directory(folder).context("a root has no place beside it")?;
    say!("\n# The journal knows who did what: {}\n", journal.display());
    let log = Program::new("git")
        .arg("--git-dir")
        .arg(&journal)
        .args(["log", "--reverse", "--stat=72", "--format=%n%h  %an  %s"])
        .output();
    match log {
        Ok(log) if log.status.success() => {
            say!("{}", indented(String::from_utf8_lossy(&log.stdout).trim()));
            Ok(())
        }
        Ok(log) => bail!("git cannot read it: {}", String::from_utf8_lossy(&log.stderr).trim()),
        Err(error) => {
            say!("    (to be read with git, which is not here: {error})");
            Ok(())
        }
    }
}

/// An agent without a model: a host for tools, told what to do by this program.
struct Agent {
    name: &'static str,
    host: ToolHostRef,
}

impl Agent {
    async fn join(
        team: &ActorRef<Orchestrator>,
        name: &'static str,
        card: &WorkspaceTool,
    ) -> anyhow::Result<Self> {
        let config = ToolHostConfig::new(name, vec![AnyCard::from(card.clone())]);
        let host = ToolHost::create_in(team, config, Capabilities::default()).await;
        Ok(Self { name, host: host.with_context(|| format!("{name} cannot join"))? })
    }

    /// Calls a tool; that it is refused ends the tour.
    async fn call(&self, tool: &str, arguments: Value) -> anyhow::Result<()> {
        let answer = self.answer(tool, arguments).await;
        let text = answer.with_context(|| format!("{} {tool}", self.name))?;
        if text.starts_with("[ERROR]") {
            bail!("{} {tool}: {text}", self.name);
        }
        Ok(())
    }

    /// Calls a tool that has to refuse.
    async fn refused(&self, tool: &str, arguments: Value) -> anyhow::Result<()> {
        match self.answer(tool, arguments).await {
            Err(error) if error.is_retriable() => Ok(()),
            Err(error) => Err(error).with_context(|| format!("{} {tool}", self.name)),
            Ok(_) => bail!("{} {tool} was not refused", self.name),
        }
    }

    /// Calls a tool that has to say in its answer that it did nothing.
    async fn refused_in_its_answer(&self, tool: &str, arguments: Value) -> anyhow::Result<()> {
        let text = self.answer(tool, arguments).await?;
        if !text.starts_with("[ERROR]") {
            bail!("{} {tool} was not refused", self.name);
        }
        Ok(())
    }

    async fn answer(&self, tool: &str, arguments: Value) -> Result<String, ToolError> {
        say!("{} {tool} {}", self.name, shortened(&arguments.to_string()));
        let answer = self.host.call(tool, arguments).await;
        let answer = answer.map(|content| content.as_text().unwrap_or_default().to_owned());
        match &answer {
            Ok(text) => {
                say!("{}\n", indented(text));
            }
            Err(error) => {
                say!("{}\n", indented(&error.to_string()));
            }
        }
        answer
    }
}

/// The beginning of a long text.
fn shortened(text: &str) -> String {
    const MOST: usize = 100;
    let short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() { short + " …" } else { short }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
