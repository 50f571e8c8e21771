//! From an output to messages on their way: recipients found or hired.

use std::borrow::Cow;
use std::future::Future;

use akgentic_core::message::{NotificationMessage, WarningMessage};
use akgentic_core::orchestrator::is_tool_actor;
use akgentic_core::{ActorAddress, ActorError, Context};

use crate::engine::{Engine, closest};
use crate::human::notify_human;
use crate::message::{AgentMessage, Intent};
use crate::output::{Request, StructuredOutput};

/// What finding a recipient needs of an agent.
pub trait TeamResolver {
    /// The member with exactly this name.
    fn get_team_member(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Option<ActorAddress>, ActorError>> + Send;

    /// Hires a member of this role.
    fn hire_member(
        &self,
        role: &str,
    ) -> impl Future<Output = Result<ActorAddress, ActorError>> + Send;
}

/// An agent in its team.
pub struct Membership<'a> {
    /// The agent.
    pub engine: &'a Engine,
    /// Its context.
    pub ctx: &'a Context,
}

impl TeamResolver for Membership<'_> {
    async fn get_team_member(&self, name: &str) -> Result<Option<ActorAddress>, ActorError> {
        let team = self.ctx.team()?;
        // Whoever is in the view has started; only a miss may be a record still on its way.
        let known = team.view().and_then(|view| view.member(name));
        match known.filter(ActorAddress::is_alive) {
            Some(member) => Ok(Some(member)),
            None => Ok(team.get_team_member(name).await?),
        }
    }

    async fn hire_member(&self, role: &str) -> Result<ActorAddress, ActorError> {
        Ok(self.engine.hire_member(role).await?)
    }
}

impl std::fmt::Debug for Membership<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Membership").field(self.ctx).finish()
    }
}

/// Finds the member with this exact name, when the recipient starts with `@`; hires one of this
/// role otherwise. `None` when there is no such member.
pub async fn resolve_recipient(
    team: &impl TeamResolver,
    recipient: &str,
) -> Result<Option<ActorAddress>, ActorError> {
    if recipient.starts_with('@') {
        return team.get_team_member(recipient).await;
    }
    team.hire_member(recipient).await.map(Some)
}

/// What became of an output.
#[derive(Debug, Default)]
struct Routed {
    sent: usize,
    failed: Vec<String>,
    /// Recipients nobody answers to.
    unknown: Vec<String>,
}

/// Sends every message of an output; gives back how many were sent.
///
/// A recipient that cannot be reached does not hold up the others. Roles that cannot be hired and
/// members that are gone are reported in one warning, and the model is told with its next turn.
/// An unknown `@Name` is logged, and reported like them when the options say so.
pub async fn route(
    engine: &mut Engine,
    output: StructuredOutput,
    ctx: &mut Context,
) -> Result<usize, ActorError> {
    let mut routed = Routed::default();
    for request in output.messages {
        if let Err(error) = deliver(engine, &request, &mut routed, ctx).await {
            routed.failed.push(format!("{}: {error}", told(&request.recipient)));
        }
    }
    if !routed.unknown.is_empty() {
        let known = names_for_typos(&routed.unknown, ctx);
        tracing::warn!(
            agent = %ctx.name(), unknown = %list(&routed.unknown), closest = ?known,
            "nobody has these names; not sent"
        );
        if engine.options().report_unknown_members {
            let known = if known.is_empty() { "nobody".to_owned() } else { known.join(", ") };
            let unknown = routed.unknown.iter();
            routed.failed.extend(
                unknown.map(|name| {
                    format!("{}: there is no such member; there is {known}", told(name))
                }),
            );
        }
    }
    if !routed.failed.is_empty() {
        report(engine, &routed.failed, ctx)?;
    }
    notice_silence(engine, routed.sent, ctx).await;
    Ok(routed.sent)
}

async fn deliver(
    engine: &Engine,
    request: &Request,
    routed: &mut Routed,
    ctx: &mut Context,
) -> Result<(), ActorError> {
    let recipient = request.recipient.as_str();
    let found = if recipient.trim().is_empty() {
        None
    } else {
        resolve_recipient(&Membership { engine, ctx }, recipient).await?
    };
    let Some(member) = found else {
        routed.unknown.push(recipient.to_owned());
        return Ok(());
    };
    if is_receipt_for_a_receipt(request.message_type, &member, ctx) {
        tracing::info!(agent = %ctx.name(), %member, "a receipt needs no receipt; not sent");
        return Ok(());
    }
    ctx.send(&member, AgentMessage::new(request.message_type, request.message.as_str()))?;
    routed.sent += 1;
    Ok(())
}

/// Two agents would keep each other awake for ever by acknowledging acknowledgments.
fn is_receipt_for_a_receipt(intent: Intent, to: &ActorAddress, ctx: &Context) -> bool {
    let is_receipt = |intent| matches!(intent, Intent::Acknowledgment | Intent::Notification);
    let Some(current) = ctx.current_message() else { return false };
    let Some(handled) = current.body::<AgentMessage>() else { return false };
    let Some(sender) = &current.sender else { return false };
    let is_agent = !sender.is_user_proxy() && !is_tool_actor(sender.name());
    is_receipt(intent) && is_receipt(handled.intent) && is_agent && sender == to
}

/// The members whose names come closest to what a model wrote.
fn names_for_typos(unknown: &[String], ctx: &Context) -> Vec<String> {
    let Some(team) = ctx.team_view() else { return Vec::new() };
    let members = team.members();
    let names = members.iter().map(ActorAddress::name).filter(|name| !is_tool_actor(name));
    let wanted = unknown.first().map_or("", String::as_str);
    let mut names = closest(wanted, names.map(str::to_owned));
    names.truncate(3);
    names
}

/// Most messages that a report names one by one.
const REPORTED: usize = 20;

/// Most characters of a recipient, and of what is reported about one.
const NAME_TOLD: usize = 100;
const TOLD: usize = 2000;

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
    }
}

/// A recipient that a model made up.
fn told(recipient: &str) -> Cow<'_, str> {
    cut(recipient, NAME_TOLD)
}

/// One line for each, and how many there are besides.
fn list(lines: &[String]) -> String {
    let mut list: Vec<Cow<'_, str>> =
        lines.iter().take(REPORTED).map(|line| cut(line, TOLD)).collect();
    if let Some(more @ 1..) = lines.len().checked_sub(REPORTED) {
        list.push(format!("… and {more} more").into());
    }
    list.join("\n- ")
}

fn report(engine: &mut Engine, failed: &[String], ctx: &mut Context) -> Result<(), ActorError> {
    let list = list(failed);
    tracing::warn!(agent = %ctx.name(), failed = %list, "some messages were not sent");
    ctx.notify(WarningMessage {
        notification: NotificationMessage {
            content_type: Some("RoutingWarning".to_owned()),
            content: format!("not sent:\n- {list}"),
            current_message: ctx.current_message(),
        },
    });
    engine.tell_model(format!(
        "**Delivery report** - these messages of yours were not sent:\n- {list}\n\
         Choose other recipients if they still matter."
    ))
}

/// A request that nobody is answered is noticed, when the options say so.
async fn notice_silence(engine: &Engine, sent: usize, ctx: &Context) {
    if !engine.options().notify_on_empty_answer || sent > 0 || engine.hired() > 0 {
        return;
    }
    let Some(current) = ctx.current_message() else { return };
    let request = current.body::<AgentMessage>().filter(|said| said.intent == Intent::Request);
    let (Some(_), Some(sender)) = (request, &current.sender) else { return };
    let empty_answers = 1;
    tracing::warn!(
        agent = %ctx.name(), asker = %sender, monotonic_counter.empty_answers = empty_answers,
        "a request was answered with nothing"
    );
    if engine.concluded() {
        let text = format!(
            "{} ended its work on a request of {} at a limit and answered nothing. \
             Please review it and tell it how to go on.",
            ctx.name(),
            sender.name()
        );
        notify_human(ctx, &text).await;
    }
}
