//! Models that act: they wait, call tools and write to others in the middle of a request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use akgentic_agent::{AgentConfig, ModelSource};
use akgentic_core::message::{EventMessage, HandledMessage, ProcessedMessage, SentMessage};
use akgentic_core::prelude::*;
use akgentic_llm::{
    FunctionModel, LlmEvent, Model, ModelConfig, ModelError, ModelInput, ModelMessage,
    ModelResponse, Outcome as CallEnd, RequestPart, ResponsePart, TextPart, ToolCallPart,
};
use akgentic_tool_core::{
    BindError, BoundCard, BoxFuture, Observer, Tool, ToolCall, ToolCard, ToolError, tool_card,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::world::{Answers, Records, World};

type Play = Arc<dyn Fn(ModelInput) -> BoxFuture<'static, ModelResponse> + Send + Sync>;

/// What the models of a team do, by name of the agent.
#[derive(Clone, Default)]
pub(crate) struct Players(Arc<Mutex<HashMap<String, Play>>>);

impl Players {
    /// A team with a person whose agents are played.
    pub(crate) async fn world(self) -> World {
        self.logged(None).await
    }

    /// The same, its records kept in a file.
    pub(crate) async fn logged(self, log: Option<&std::path::Path>) -> World {
        let world = World::logged(Answers::default(), log).await;
        akgentic_agent::provide_models(&world.system, self);
        world.system.provide(Arc::new(Signals::default()));
        world
    }

    pub(crate) fn plays<F, Fut>(self, name: &str, play: F) -> Self
    where
        F: Fn(ModelInput) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ModelResponse> + Send + 'static,
    {
        let play: Play = Arc::new(move |input| Box::pin(play(input)));
        self.0.lock().expect("lock").insert(name.to_owned(), play);
        self
    }
}

impl ModelSource for Players {
    fn model(&self, _: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let play = self.0.lock().expect("lock").get(agent.name()).cloned();
        let Some(play) = play else { return Err(format!("nobody plays {}", agent.name())) };
        let model = FunctionModel::from_async(move |input| {
            let answer = play(input);
            Box::pin(async move { Ok::<_, ModelError>(answer.await) })
        });
        Ok(Arc::new(model.with_native_output(true)))
    }
}

pub(crate) fn text(text: &str) -> ModelResponse {
    ModelResponse::new(vec![ResponsePart::Text(TextPart::new(text))])
}

/// Calls without arguments, or with the id of a message.
pub(crate) fn calls(calls: &[(&str, Option<String>)]) -> ModelResponse {
    let parts = calls.iter().map(|(tool, id)| {
        let args = id.as_ref().map_or_else(
            || "{}".to_owned(),
            |id| serde_json::json!({"message_id": id}).to_string(),
        );
        ResponsePart::ToolCall(ToolCallPart::new(*tool, args, Uuid::new_v4().to_string()))
    });
    ModelResponse::new(parts.collect())
}

/// The ids that a text offers.
pub(crate) fn offered(text: &str) -> Vec<String> {
    let ids = text.split("(id: ").skip(1).filter_map(|rest| rest.split(')').next());
    ids.map(str::to_owned).collect()
}

/// What the last message of a request says, request parts of all kinds.
pub(crate) fn last_texts(input: &ModelInput) -> Vec<String> {
    let last = input.messages.iter().rposition(|message| message.as_request().is_none());
    let fresh = input.messages.iter().skip(last.map_or(0, |last| last + 1));
    let parts = fresh.filter_map(|message| message.as_request()).flat_map(|one| &one.parts);
    let texts = parts.filter_map(|part| match part {
        RequestPart::UserPrompt(prompt) => Some(prompt.content.text()),
        RequestPart::ToolReturn(part) => Some(part.content.to_text()),
        _ => None,
    });
    texts.collect()
}

/// What tools of [`Work`] tell and wait for.
#[derive(Debug)]
pub(crate) struct Signals {
    pub(crate) started: Semaphore,
}

impl Default for Signals {
    fn default() -> Self {
        Self { started: Semaphore::new(0) }
    }
}

/// Tools that end at once, when they are told to, and never.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Work {}
tool_card!(Work = "agent.it.Work");

impl ToolCard for Work {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let signals = observer.get::<Signals>()?;
            let mut bound = BoundCard::new();
            bound.tools.push(Tool::new("quick", "Ends at once.", |(): (), _: ToolCall| async {
                Ok::<_, ToolError>("done")
            }));
            bound.tools.push(Tool::new(
                "polite",
                "Ends when told.",
                |(): (), call: ToolCall| async move {
                    call.cancel.cancelled().await;
                    Ok::<_, ToolError>("half of it")
                },
            ));
            bound.tools.push(Tool::new("crash", "Fails for good.", |(): (), _: ToolCall| async {
                Err::<&str, _>(ToolError::fatal("it broke"))
            }));
            bound.tools.push(Tool::new("deaf", "Never ends.", move |(): (), _: ToolCall| {
                signals.started.add_permits(1);
                async {
                    std::future::pending::<()>().await;
                    Ok::<_, ToolError>("never")
                }
            }));
            Ok(bound)
        })
    }
}

pub(crate) fn config(name: &str) -> AgentConfig {
    AgentConfig::new(name, "Helper", "You help.").with_tool(Work {})
}

/// Something that happens once, which somebody waits for.
#[derive(Clone)]
pub(crate) struct Moment(Arc<Semaphore>);

impl Moment {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) fn happens(&self) {
        self.0.add_permits(1);
    }

    pub(crate) async fn wait(&self) {
        self.0.acquire().await.expect("never closed").forget();
    }
}

impl World {
    pub(crate) async fn member(&self, name: &str) -> ActorAddress {
        self.team.get_team_member(name).await.expect("asked").expect("a member")
    }

    /// One member writes to another.
    pub(crate) async fn says(&self, from: &str, to: &str, message: impl Into<Message>) -> Uuid {
        let (from, to) = (self.member(from).await, self.member(to).await);
        from.send(&to, message).expect("sent").id
    }
}

/// How the ledger closed a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    Processed,
    Handled,
}

impl Records {
    /// How each message that was sent was closed, in the order of closing.
    pub(crate) fn closings(&self) -> HashMap<Uuid, Vec<Closed>> {
        let mut closings: HashMap<Uuid, Vec<Closed>> = HashMap::new();
        for record in self.all() {
            if let Some(sent) = record.body::<SentMessage>() {
                closings.entry(sent.message.id).or_default();
            } else if let Some(body) = record.body::<ProcessedMessage>() {
                closings.entry(body.message_id).or_default().push(Closed::Processed);
            } else if let Some(body) = record.body::<HandledMessage>() {
                closings.entry(body.message_id).or_default().push(Closed::Handled);
            }
        }
        closings
    }

    /// The ids of messages that were taken out without a turn, in order.
    pub(crate) fn handled(&self) -> Vec<Uuid> {
        let all = self.all();
        let handled = all.iter().filter_map(|record| record.body::<HandledMessage>());
        handled.map(|body| body.message_id).collect()
    }

    /// The conversation of an agent as it is on record.
    pub(crate) fn conversation(&self, name: &str) -> Vec<Arc<ModelMessage>> {
        let all = self.all();
        let of = all
            .iter()
            .filter(|record| record.sender.as_ref().is_some_and(|sender| sender.name() == name));
        let messages = of.filter_map(|record| {
            let event = record.body::<EventMessage>()?;
            match LlmEvent::from_value(&event.event)? {
                LlmEvent::Message(event) => Some(event.message),
                _ => None,
            }
        });
        messages.collect()
    }

    /// Outcomes and texts of the tool returns in the last message on record that has some.
    pub(crate) fn last_returns(&self, name: &str) -> Vec<(String, CallEnd, String)> {
        let conversation = self.conversation(name);
        let returns = |message: &Arc<ModelMessage>| -> Vec<_> {
            let parts = message.as_request().into_iter().flat_map(|request| &request.parts);
            let returns = parts.filter_map(|part| match part {
                RequestPart::ToolReturn(part) => {
                    Some((part.tool_name.clone(), part.outcome, part.content.to_text()))
                }
                _ => None,
            });
            returns.collect()
        };
        let mut found = conversation.iter().rev().map(returns).filter(|list| !list.is_empty());
        found.next().unwrap_or_default()
    }
}
