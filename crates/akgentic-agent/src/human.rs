//! Telling the humans of a team.

use akgentic_core::{ActorError, Context};

use crate::config::AgentConfig;
use crate::hops::who_asked;
use crate::message::{AgentMessage, Intent};

/// Tells a human of the team: the first, or the one who asked for what is being done when the agent's
/// options say so. Without one, or when it is gone, the text is logged.
pub async fn notify_human(ctx: &Context, text: &str) {
    let config = ctx.config_as::<AgentConfig>();
    if config.is_some_and(|config| config.options.notify_who_asked)
        && let Some(person) = who_asked(ctx).await
    {
        match ctx.send(&person, AgentMessage::new(Intent::Notification, text)) {
            Ok(_) => return,
            Err(error) => tracing::warn!(agent = %ctx.name(), %person, %error, "not there"),
        }
    }
    let members = match ctx.team() {
        Ok(team) => team.get_team().await.map_err(ActorError::from),
        Err(error) => Err(error),
    };
    let human =
        members.map(|members| members.iter().find(|member| member.is_user_proxy()).cloned());
    let sent = match human {
        Ok(Some(human)) => ctx
            .send(&human, AgentMessage::new(Intent::Notification, text))
            .map_err(ActorError::from),
        Ok(None) => {
            tracing::warn!(agent = %ctx.name(), text, "there is no human to tell");
            return;
        }
        Err(error) => Err(error),
    };
    if let Err(error) = sent {
        tracing::warn!(agent = %ctx.name(), text, %error, "the human could not be told");
    }
}
