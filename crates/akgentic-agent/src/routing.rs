//! From an output to messages on their way: recipients found or hired.

use akgentic_core::message::{NotificationMessage, WarningMessage};
use akgentic_core::{ActorAddress, ActorError, Context};

use crate::engine::Engine;
use crate::message::{AgentMessage, Intent};
use crate::output::{Request, StructuredOutput};

/// Finds the member with this exact name, when the recipient starts with `@`; hires one of this
/// role otherwise. `None` when there is no such member.
pub async fn resolve_recipient(
    engine: &Engine,
    recipient: &str,
    ctx: &Context,
) -> Result<Option<ActorAddress>, ActorError> {
    if recipient.starts_with('@') {
        return Ok(ctx.team()?.get_team_member(recipient).await?);
    }
    Ok(Some(engine.hire_member(recipient).await?))
}

/// Sends every message of an output; gives back how many were sent.
///
/// A recipient that cannot be reached does not hold up the others. Roles that cannot be hired and
/// members that are gone are reported in one warning, and the model is told with its next turn.
/// An unknown `@Name` is logged only.
pub async fn route(
    engine: &mut Engine,
    output: StructuredOutput,
    ctx: &mut Context,
) -> Result<usize, ActorError> {
    let mut sent = 0;
    let mut failed = Vec::new();
    for request in output.messages {
        match deliver(engine, &request, ctx).await {
            Ok(true) => sent += 1,
            Ok(false) => {}
            Err(error) => failed.push(format!("{}: {error}", request.recipient)),
        }
    }
    if !failed.is_empty() {
        report(engine, &failed, ctx)?;
    }
    Ok(sent)
}

async fn deliver(
    engine: &Engine,
    request: &Request,
    ctx: &mut Context,
) -> Result<bool, ActorError> {
    let recipient = request.recipient.as_str();
    let found = if recipient.trim().is_empty() {
        None
    } else {
        resolve_recipient(engine, recipient, ctx).await?
    };
    let Some(member) = found else {
        tracing::warn!(agent = %ctx.name(), recipient, "nobody has this name; not sent");
        return Ok(false);
    };
    if is_receipt_for_a_receipt(request.message_type, &member, ctx) {
        tracing::info!(agent = %ctx.name(), %member, "a receipt needs no receipt; not sent");
        return Ok(false);
    }
    ctx.send(&member, AgentMessage::new(request.message_type, request.message.as_str()))?;
    Ok(true)
}

/// Two agents would keep each other awake for ever by acknowledging acknowledgments.
fn is_receipt_for_a_receipt(intent: Intent, to: &ActorAddress, ctx: &Context) -> bool {
    let is_receipt = |intent| matches!(intent, Intent::Acknowledgment | Intent::Notification);
    let Some(current) = ctx.current_message() else { return false };
    let Some(handled) = current.body::<AgentMessage>() else { return false };
    let Some(sender) = &current.sender else { return false };
    let is_agent = !sender.is_user_proxy() && !sender.name().starts_with('#');
    is_receipt(intent) && is_receipt(handled.intent) && is_agent && sender == to
}

fn report(engine: &mut Engine, failed: &[String], ctx: &mut Context) -> Result<(), ActorError> {
    let list = failed.join("\n- ");
    tracing::warn!(agent = %ctx.name(), failed = %list, "some messages were not sent");
    ctx.notify(WarningMessage {
        notification: NotificationMessage {
            content_type: Some("RoutingWarning".to_owned()),
            content: format!("not sent:\n- {list}"),
            current_message: ctx.current_message(),
        },
    });
    let told = format!(
        "**Delivery report** - these messages of yours were not sent:\n- {list}\n\
         Choose other recipients if they still matter."
    );
    engine.react().append_user_prompt(told).map_err(crate::errors::actor_error)
}
