//! Who is in the team, and with what.

use std::path::Path;
use std::time::Duration;

use akgentic::prelude::*;
use akgentic::team::HireMember;

/// The person.
pub(crate) const HUMAN: &str = "@Human";
/// The member that gets what is for nobody else.
pub(crate) const MANAGER: &str = "@Manager";

const AGENT: &str = "akgentic.agent.BaseAgent";

/// The tool cards of every agent; further ones join here.
fn cards(folder: &Path) -> Vec<AnyCard> {
    vec![WorkspaceTool::at(folder).into()]
}

/// Registers the roles and creates the members; gives the person.
///
/// The person and the manager are created by the orchestrator, the others hired below the manager.
pub(crate) async fn assemble(
    team: &ActorRef<Orchestrator>,
    folder: &Path,
    model: Option<&ModelConfig>,
) -> anyhow::Result<ActorRef<HumanProxy>> {
    let agent = |role: &str, prompt: &str| {
        let mut config = AgentConfig::new("", role, prompt);
        config.tools = cards(folder);
        config.options.report_unknown_members = true;
        config.model_cfg = model.cloned().unwrap_or_default();
        config
    };
    let mut manager = agent(
        "Manager",
        "You lead a team. Hand work out to its members by name, hire who is missing, and answer the \
         person who asked, once, when the work is done.",
    );
    MANAGER.clone_into(&mut manager.base.name);
    let assistant = agent(
        "Assistant",
        "You do the legwork: you read, write and edit the files of a folder with your tools, ask the \
         expert when judgement is needed, and answer who gave you the work.",
    );
    let expert = agent(
        "Expert",
        "You judge what others found: you read it in the folder, check it against the files, put \
         your judgement where it belongs, and answer who asked you.",
    );

    let mut leads = AgentCard::new(AGENT, "Leads the team", manager.clone())?;
    leads.routes_to = Some(vec!["Assistant".to_owned(), "Expert".to_owned()]);
    let mut assists = AgentCard::new(AGENT, "Reads and writes files", assistant)?;
    assists.skills = vec!["files".to_owned(), "reports".to_owned()];
    assists.can_be_hired = true;
    let mut judges = AgentCard::new(AGENT, "Judges what was found", expert)?;
    judges.skills = vec!["judgement".to_owned()];
    judges.can_be_hired = true;
    team.register_agent_profiles(vec![leads, assists, judges]).await?;

    let human = team.create_actor::<HumanProxy>(BaseConfig::new(HUMAN, "Human")).await?;
    let manager = team.create_and_wait::<BaseAgent>(manager).await?;
    for role in ["Assistant", "Expert"] {
        let hire = HireMember { role: role.to_owned(), name: Some(format!("@{role}")) };
        let member = manager.ask(hire).await?;
        member.wait_started(Duration::from_secs(10)).await?;
    }
    Ok(human)
}
