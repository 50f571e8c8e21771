//! Exchanges between agents that nobody asked for any more: how long a line of messages is.

use akgentic_core::{ActorAddress, ActorError, Context, Message};

use crate::human::notify_human;

/// How far back the person who asked is looked for.
const LONGEST_LINE: usize = 10_000;

/// Ends a turn whose message is further from a person than `max_hops`, and tells the human.
pub(crate) async fn check(
    max_hops: Option<u32>,
    message: &Message,
    ctx: &Context,
) -> Result<(), ActorError> {
    let Some(max) = max_hops else { return Ok(()) };
    let most = usize::try_from(max).unwrap_or(usize::MAX);
    let line = ctx.team()?.get_message_line(message.id, most.saturating_add(1)).await?;
    let hops = line.iter().take_while(|one| !is_from_a_person(one)).count();
    if hops <= most {
        return Ok(());
    }
    let name = ctx.name();
    let sender = message.sender.as_ref().map_or("somebody", ActorAddress::name);
    notify_human(
        ctx,
        &format!(
            "{name} did not work on a message of {sender}: {max} messages in a row went between \
             agents without a person. Please look at what they are doing and tell {name} how to go \
             on."
        ),
    )
    .await;
    Err(ActorError::warning(format!("{name} stopped after {max} messages between agents")))
}

/// The person whose message led to the one being handled.
pub(crate) async fn who_asked(ctx: &Context) -> Option<ActorAddress> {
    let current = ctx.current_message()?;
    if is_from_a_person(&current) {
        return current.sender.clone();
    }
    let line = ctx.team().ok()?.get_message_line(current.id, LONGEST_LINE).await;
    let line = line.inspect_err(|error| tracing::warn!(%error, "the line cannot be read")).ok()?;
    let person = line.into_iter().find(|one| is_from_a_person(one))?;
    ctx.resolve(person.sender.as_ref()?)
}

fn is_from_a_person(message: &Message) -> bool {
    message.sender.as_ref().is_some_and(ActorAddress::is_user_proxy)
}
