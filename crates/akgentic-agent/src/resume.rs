//! Turns that were cut off when their team went down: how far they had come, and what is left of them.
//!
//! The records of a turn are its persistence points: the prompt, each answer and each tool result
//! are recorded before anything follows from them, the output before it is routed, and every message
//! that is sent before it is delivered. So a turn whose output is on record can be brought to its
//! end, each message sent once; of any other the effects are unknown, and those who have to know are
//! told.

use std::sync::Arc;

use akgentic_core::message::{
    EventMessage, HandledMessage, ReceivedMessage, SentMessage, StartMessage,
};
use akgentic_core::orchestrator::HistoryFilter;
use akgentic_core::{ActorAddress, ActorError, Context, Message};
use akgentic_llm::{
    LlmEvent, MessageState, ModelMessage, OUTPUT_TOOL, Outcome, RequestPart, ResponsePart,
};
use akgentic_mailbox::{MailboxMessage, asks_to_stop, is_cancel};

use crate::engine::Engine;
use crate::human::notify_human;
use crate::message::{AgentMessage, Intent};
use crate::output::{Request, StructuredOutput};
use crate::routing::route;

/// Starts what the model is told of a turn that was cut off.
const INTERRUPTED: &str = "**Interrupted turn** - ";

/// Brings the turn on an [`AgentMessage`] to its end, if its output is on record; `false` when its
/// effects are unknown.
pub(crate) async fn resume_said(
    engine: &mut Engine,
    message: &Message,
    ctx: &mut Context,
) -> Result<bool, ActorError> {
    let turn = Turn::read(message, ctx).await?;
    let said = message.body::<AgentMessage>();
    if let Some(said) = said
        && (said.content.starts_with('/') || asks_to_stop(&said.content))
        && !turn.has_answer()
        && let Some((_, reply)) = turn.said_to(message.sender.as_ref()).next()
    {
        // the command ran and was answered; only its record for the model may be missing
        if turn.thoughts.is_empty() {
            engine.record_action(&said.content, message.sender.as_ref(), &reply.content)?;
        }
        return Ok(true);
    }
    let Some(output) = turn.output(engine) else {
        report(engine, &turn, message, ctx).await?;
        return Ok(false);
    };
    let left = turn.not_sent(output.messages);
    if !left.is_empty() {
        route(engine, StructuredOutput { messages: left }, ctx).await?;
    }
    Ok(true)
}

/// Tells the model and the human about a turn whose effects are unknown.
pub(crate) async fn report_interrupted(
    engine: &mut Engine,
    message: &Message,
    ctx: &Context,
) -> Result<(), ActorError> {
    let turn = Turn::read(message, ctx).await?;
    report(engine, &turn, message, ctx).await
}

async fn report(
    engine: &mut Engine,
    turn: &Turn,
    message: &Message,
    ctx: &Context,
) -> Result<(), ActorError> {
    let sender = message.sender.as_ref().map_or("nobody", |sender| sender.name());
    let kind = message.body::<AgentMessage>().map_or("message", |said| said.intent.as_str());
    let told = turn.thoughts.iter().any(|thought| is_report(thought));
    if !told {
        let mut text = format!(
            "{INTERRUPTED}your work on a {kind} from {sender} was cut off when the team went down. \
             Whatever you had begun may have had effects: look before you do it again."
        );
        if turn.thoughts.is_empty()
            && let Some(said) = message.body::<AgentMessage>()
        {
            text.push_str(" You had not read it yet; it said:\n\n");
            text.push_str(&said.content);
        }
        for words in turn.unread() {
            text.push_str("\n\nYou had taken this on as well and not read it yet. ");
            text.push_str(&words);
        }
        engine.tell_model(text)?;
    }
    let notice = format!(
        "{} was cut off in the middle of its work on a {kind} from {sender} when the team went \
         down. What it had begun may have had effects. Please review it and tell it how to go on.",
        ctx.name()
    );
    if !turn.said.iter().any(|(_, said)| said.content == notice) {
        notify_human(ctx, &notice).await;
    }
    Ok(())
}

fn is_report(thought: &ModelMessage) -> bool {
    has_prompt(thought, |text| text.starts_with(INTERRUPTED))
}

/// Whether a message of the conversation ends with these words.
fn holds(thought: &ModelMessage, words: &str) -> bool {
    has_prompt(thought, |text| text.ends_with(words))
}

fn has_prompt(thought: &ModelMessage, fits: impl Fn(&str) -> bool) -> bool {
    let ModelMessage::Request(request) = thought else { return false };
    request.parts.iter().any(|part| match part {
        RequestPart::UserPrompt(prompt) => fits(&prompt.content.text()),
        _ => false,
    })
}

/// What is on record of a turn.
struct Turn {
    /// What was added to the conversation.
    thoughts: Vec<Arc<ModelMessage>>,
    /// What was sent, and to whom.
    said: Vec<(ActorAddress, AgentMessage)>,
    /// Who was hired.
    hired: Vec<ActorAddress>,
    /// Messages that were taken out of the inbox without a turn of their own.
    taken_out: Vec<Arc<Message>>,
}

impl Turn {
    async fn read(message: &Message, ctx: &Context) -> Result<Self, ActorError> {
        let me = ctx.agent_id();
        let records = ctx.team()?.get_messages(HistoryFilter::default()).await?;
        let is_mine =
            |record: &Message| record.sender.as_ref().is_some_and(|sender| sender.agent_id() == me);
        let begun = records.iter().rposition(|record| {
            let received = record.body::<ReceivedMessage>();
            is_mine(record) && received.is_some_and(|body| body.message_id == message.id)
        });
        let mut turn = Self {
            thoughts: Vec::new(),
            said: Vec::new(),
            hired: Vec::new(),
            taken_out: Vec::new(),
        };
        for record in records.iter().skip(begun.unwrap_or(records.len())) {
            if let Some(start) = record.body::<StartMessage>() {
                let is_child = start.parent.as_ref().is_some_and(|parent| parent.agent_id() == me);
                turn.hired.extend(record.sender.clone().filter(|_| is_child));
            } else if !is_mine(record) {
                // somebody else's
            } else if let Some(sent) = record.body::<SentMessage>() {
                let said = sent.message.body::<AgentMessage>();
                turn.said.extend(said.map(|said| (sent.recipient.clone(), said.clone())));
            } else if let Some(handled) = record.body::<HandledMessage>() {
                let sent = records.iter().filter_map(|record| record.body::<SentMessage>());
                let mut sent = sent.map(|sent| &sent.message);
                turn.taken_out.extend(sent.find(|one| one.id == handled.message_id).cloned());
            } else if let Some(event) = record.body::<EventMessage>()
                && let Some(LlmEvent::Message(event)) = LlmEvent::from_value(&event.event)
            {
                turn.thoughts.push(event.message);
            }
        }
        Ok(turn)
    }

    /// Whether the model answered: the turn was no command.
    fn has_answer(&self) -> bool {
        self.thoughts.iter().any(|thought| thought.as_response().is_some())
    }

    fn said_to<'a>(
        &'a self,
        member: Option<&'a ActorAddress>,
    ) -> impl Iterator<Item = &'a (ActorAddress, AgentMessage)> + 'a {
        self.said.iter().filter(move |(to, said)| {
            said.intent == Intent::Notification
                && Some(to.agent_id()) == member.map(ActorAddress::agent_id)
        })
    }

    /// The words of messages that were taken on in the run and had not come into the conversation.
    fn unread(&self) -> Vec<String> {
        let taken_on = self.taken_out.iter().filter(|message| !is_cancel(message));
        let words = taken_on
            .filter_map(|message| Some(message.facet::<dyn MailboxMessage>()?.rendering(message)));
        words.filter(|words| !self.thoughts.iter().any(|thought| holds(thought, words))).collect()
    }

    /// The output of the run, when it had come to one.
    fn output(&self, engine: &mut Engine) -> Option<StructuredOutput> {
        let spec = engine.output_spec::<StructuredOutput>();
        let schema = spec.schema()?;
        let value = match self.thoughts.as_slice() {
            [.., last] if let ModelMessage::Response(response) = &**last => {
                let ended = response.state == MessageState::Complete
                    && response.tool_calls().next().is_none();
                let text = Some(response.text()).filter(|text| ended && !text.is_empty())?;
                schema.read_text(&text).ok()?
            }
            [.., response, last] => {
                let ModelMessage::Request(request) = &**last else { return None };
                let ModelMessage::Response(response) = &**response else { return None };
                let call = response.parts.iter().find_map(|part| match part {
                    ResponsePart::ToolCall(call) if call.tool_name == OUTPUT_TOOL => Some(call),
                    _ => None,
                })?;
                let taken = request.parts.iter().any(|part| match part {
                    RequestPart::ToolReturn(part) => {
                        part.tool_call_id == call.tool_call_id && part.outcome == Outcome::Success
                    }
                    _ => false,
                });
                schema.read_args(&call.args).ok().filter(|_| taken)?
            }
            _ => return None,
        };
        serde_json::from_value(value).ok()
    }

    /// The messages of an output that were not sent yet. Who was hired for one of them gets it.
    fn not_sent(&self, requests: Vec<Request>) -> Vec<Request> {
        let mut sent: Vec<&(ActorAddress, AgentMessage)> = self.said.iter().collect();
        let mut idle: Vec<&ActorAddress> = self.hired.iter().collect();
        idle.retain(|member| !sent.iter().any(|(to, _)| to.agent_id() == member.agent_id()));
        let mut left = Vec::new();
        for mut request in requests {
            let done = sent.iter().position(|(to, said)| {
                let to_whom = [to.name(), to.role()].contains(&request.recipient.as_str());
                to_whom && said.intent == request.message_type && said.content == request.message
            });
            if let Some(at) = done {
                sent.remove(at);
                continue;
            }
            if let Some(at) = idle.iter().position(|member| member.role() == request.recipient) {
                idle.remove(at).name().clone_into(&mut request.recipient);
            }
            left.push(request);
        }
        left
    }
}
