//! Teams brought back from their logs.

use std::path::Path;
use std::sync::Arc;

use akgentic_core::ActorRef;
use akgentic_core::log::{EventLog, Fsync, LogContents, restore_team};
use akgentic_core::message::{ProcessedMessage, WarningMessage};
use akgentic_core::prelude::*;

use crate::parts::{Hire, Member, Records, Report, WAIT, a_team, text};

pub(crate) async fn logged(path: &Path, team: &ActorRef<Orchestrator>) {
    let log = EventLog::for_team(path, team, Fsync::Never).expect("a log");
    team.subscribe(Arc::new(log)).await.expect("subscribed");
}

pub(crate) async fn restored(
    path: &Path,
) -> (ActorSystem, akgentic_core::log::RestoredTeam, Records) {
    let system = ActorSystem::new();
    let contents = LogContents::read(path).expect("a log");
    let log = EventLog::open(path, &contents.header, Fsync::Never).expect("goes on");
    let records = Records::default();
    let subscribers: Vec<Arc<dyn Subscriber>> = vec![Arc::new(log), Arc::new(records.clone())];
    let team = restore_team(&system, &contents, subscribers).await.expect("restored");
    (system, team, records)
}

#[tokio::test]
async fn a_team_that_ended_in_order_comes_back_as_it_was() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let (system, team) = a_team().await;
    logged(&path, &team).await;
    let tool = team.create_actor::<Member>(BaseConfig::new("#Tool", "T")).await.expect("tool");
    let parent = team.create_actor::<Member>(BaseConfig::new("@p", "P")).await.expect("parent");
    let child = parent.ask(Hire("@c")).await.expect("child");
    parent.address().ask(text("event remembered"), WAIT).await.expect("handled");
    let fired = parent.ask(Hire("@fired")).await.expect("child");
    fired.stop(WAIT).await.expect("fired");
    team.get_team().await.expect("drained");
    system.shutdown(WAIT).await;

    let (system, back, _) = restored(&path).await;
    assert_eq!(back.report.members, ["#Tool", "@p", "@c"]);
    assert_eq!(back.team.address().agent_id(), team.address().agent_id());
    assert_eq!(back.team.address().team_id(), team.address().team_id());
    let members = back.team.get_team().await.expect("team");
    let ids: Vec<_> = members.iter().map(ActorAddress::agent_id).collect();
    let want = [tool.address(), parent.address(), &child].map(ActorAddress::agent_id);
    assert_eq!(ids, want);
    assert!(members.iter().all(ActorAddress::is_live));
    let parent = ActorRef::<Member>::new(&members[1]).expect("typed");
    let (texts, events) = parent.ask(Report).await.expect("alive");
    assert_eq!((texts, events), (vec!["event remembered".to_owned()], 1));
    // The child is below its parent again: it goes when the parent goes.
    parent.address().stop(WAIT).await.expect("stops");
    assert_eq!(back.team.get_team().await.expect("team").len(), 1);
    system.shutdown(WAIT).await;
}

#[tokio::test]
async fn open_work_is_delivered_once_more_or_closed_with_a_warning() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let (system, team) = a_team().await;
    logged(&path, &team).await;
    let a = team.create_actor::<Member>(BaseConfig::new("@a", "A")).await.expect("member");
    let b = team.create_actor::<Member>(BaseConfig::new("@b", "B")).await.expect("member");
    b.address().tell(text("block for ever")).expect("told");
    a.address().ask(text("forward @b"), WAIT).await.expect("handled");
    team.get_team().await.expect("drained");
    // The process dies here: nothing is stopped.
    let snapshot = std::fs::read(&path).expect("bytes");
    let copy = dir.path().join("copy.jsonl");
    std::fs::write(&copy, snapshot).expect("copied");

    let (system2, back, records) = restored(&copy).await;
    assert_eq!(back.report.interrupted.len(), 1);
    assert_eq!(back.report.redelivered.len(), 1);
    let b2 = back.team.get_team_member("@b").await.expect("asked").expect("a member");
    let b2 = ActorRef::<Member>::new(&b2).expect("typed");
    let (texts, _) = b2.ask(Report).await.expect("alive");
    assert_eq!(texts.last().map(String::as_str), Some("from @a"), "{texts:?}");
    back.team.get_team().await.expect("drained");
    let all = records.all();
    let warning =
        all.iter().find_map(|message| message.body::<WarningMessage>()).expect("a warning");
    assert_eq!(warning.notification.content_type.as_deref(), Some("InterruptedTurn"));
    let closed: Vec<_> = all
        .iter()
        .filter_map(|message| message.body::<ProcessedMessage>())
        .map(|body| body.message_id)
        .collect();
    assert!(closed.contains(&back.report.interrupted[0]));
    assert!(closed.contains(&back.report.redelivered[0]));
    system2.shutdown(WAIT).await;

    // A second restart finds nothing open.
    let (system3, back, _) = restored(&copy).await;
    assert!(
        back.report.interrupted.is_empty() && back.report.redelivered.is_empty(),
        "{:?}",
        back.report
    );
    system3.shutdown(WAIT).await;
    drop((system, a));
}

#[tokio::test]
async fn a_running_team_is_not_restored_beside_itself() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let (system, team) = a_team().await;
    logged(&path, &team).await;
    let contents = LogContents::read(&path).expect("a log");
    let refused = restore_team(&system, &contents, Vec::new()).await;
    assert!(refused.is_err());
    assert!(team.address().is_alive());
    system.shutdown(WAIT).await;
}

/// Wants the team's tool actor while it starts.
struct NeedsTool(Option<ActorAddress>);
agent_type!(NeedsTool = "it.NeedsTool");

impl Actor for NeedsTool {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self(None))
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        let config = BaseConfig::new("#Tool", "T");
        let tool = ctx.team()?.get_children_or_create::<Member>(config).await?;
        self.0 = Some(tool.address().clone());
        Ok(())
    }
}

impl Handle<Report> for NeedsTool {
    type Reply = Option<ActorAddress>;

    async fn handle(&mut self, _: Report, _: &mut Context) -> Result<Self::Reply, ActorError> {
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn who_wants_a_tool_actor_while_it_starts_gets_the_restored_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("team.jsonl");
    let (system, team) = a_team().await;
    logged(&path, &team).await;
    let needs = team.create_actor::<NeedsTool>(BaseConfig::new("@n", "N")).await.expect("a member");
    let tool = needs.ask(Report).await.expect("alive").expect("a tool");
    tool.ask(text("remember this"), WAIT).await.expect("handled");
    let names: Vec<_> =
        team.get_team().await.expect("team").iter().map(|one| one.name().to_owned()).collect();
    assert_eq!(names, ["@n", "#Tool"], "the tool came after the agent");
    system.shutdown(WAIT).await;

    let (system, back, _) = restored(&path).await;
    assert_eq!(back.report.members, ["#Tool", "@n"], "and comes back before it");
    let needs = back.team.get_team_member("@n").await.expect("asked").expect("a member");
    let needs = ActorRef::<NeedsTool>::new(&needs).expect("typed");
    let same = needs.ask(Report).await.expect("alive").expect("a tool");
    assert_eq!(same, tool);
    assert!(same.is_alive());
    let (texts, _) =
        ActorRef::<Member>::new(&same).expect("typed").ask(Report).await.expect("alive");
    assert_eq!(texts, ["remember this"]);
    assert_eq!(back.team.get_team().await.expect("team").len(), 2, "there is one tool");
    system.shutdown(WAIT).await;
}
