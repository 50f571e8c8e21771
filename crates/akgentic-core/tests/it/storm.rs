//! Many agents at once.

use akgentic_core::message::UserMessage;
use akgentic_core::prelude::*;

use crate::parts::{Records, WAIT, a_team};

/// Passes every message on to another member until the team stops.
struct Gossip;
agent_type!(Gossip = "it.Gossip");

impl Actor for Gossip {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|_, message, ctx| {
            Box::pin(async move {
                let members = ctx.team_view().expect("a team").members();
                let at = (message.id.as_u128() % members.len().max(1) as u128) as usize;
                let Some(next) = members.get(at) else { return Ok(Outcome::done()) };
                // A member that is gone by now is part of the storm.
                let content = message.body().content.clone();
                drop(ctx.send(next, UserMessage { content }));
                Ok(Outcome::done())
            })
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_gossiping_agents_stop_and_lose_nothing() {
    let (system, team) = a_team().await;
    let records = Records::of(&team).await;
    let (storm, mut arrived) = tokio::sync::watch::channel(0_usize);
    let count = move |_: &std::sync::Arc<Message>| storm.send_modify(|count| *count += 1);
    team.subscribe(std::sync::Arc::new(count)).await.expect("subscribed");
    let mut members = Vec::new();
    for number in 0..1000 {
        let config = BaseConfig::new(format!("@g{number}"), "Gossip");
        members.push(team.create_actor::<Gossip>(config).await.expect("member"));
    }
    let sender =
        team.create_actor::<Gossip>(BaseConfig::new("@first", "Gossip")).await.expect("member");
    for member in &members {
        drop(member.address().tell(UserMessage { content: "psst".into() }));
    }
    drop(sender);
    arrived.wait_for(|count| *count > 6_000).await.expect("a storm");
    let begun = std::time::Instant::now();
    team.stop(WAIT).await.expect("stops");
    assert!(begun.elapsed() < WAIT, "nobody had to be abandoned");
    records.assert_closed();
    assert!(system.shutdown(WAIT).await.is_empty());
}
