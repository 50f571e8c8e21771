//! What tools and agents announce to those who watch the team.

use std::fmt;
use std::sync::Arc;

use akgentic_core::wire::{AnyValue, Record, WireType};
use akgentic_core::{ActorAddress, Context, Message, message, payload};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A tool actor's state changed by this much.
///
/// Each tool actor numbers its own stream from 1 without gaps: route on `tool_id`, treat a jump as a
/// missed event, tell kinds of change apart by the type of the payload. Announced inside an
/// `EventMessage`; see [`ToolEvents`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ToolStateEvent {
    /// Name of the tool actor, such as `#PlanningTool`.
    pub tool_id: String,
    /// Number in the stream of that actor.
    pub seq: i64,
    /// What changed, of whatever type the tool has for it.
    pub payload: EventPayload,
}
message!(ToolStateEvent = "akgentic.tool.core.event.ToolStateEvent",
    aliases: ["akgentic.tool.ToolStateEvent", "akgentic.tool.core.ToolStateEvent"],
    deprecated: ["akgentic.tool.event.ToolStateEvent"]);

/// A record of any type, written with its marker.
#[derive(Clone, Debug)]
pub struct EventPayload(pub Arc<dyn Record>);

impl EventPayload {
    /// A payload.
    pub fn new(record: impl WireType) -> Self {
        Self(Arc::new(record))
    }

    /// The payload as `T`, when it is one.
    pub fn downcast<T: WireType>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }
}

impl PartialEq for EventPayload {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.to_json() == other.0.to_json()
    }
}

impl Serialize for EventPayload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EventPayload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match AnyValue::deserialize(deserializer)? {
            AnyValue::Record(record) => Ok(Self(record)),
            AnyValue::Map(_) => {
                tracing::warn!("an unmarked event payload lost its fields");
                Ok(Self::new(EmptyRecord {}))
            }
            _ => Err(serde::de::Error::custom("Input should be a record")),
        }
    }
}

impl JsonSchema for EventPayload {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventPayload".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

/// The type all records derive from; as a value it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmptyRecord {}
payload!(EmptyRecord = "akgentic.core.utils.serializer.SerializableBaseModel",
    snapshot: akgentic_core::wire::no_addresses);

/// The numbered stream of changes of one tool actor.
///
/// ```
/// use akgentic_tool_core::ToolEvents;
///
/// let mut events = ToolEvents::new("#PlanningTool");
/// # use akgentic_tool_core::EmptyRecord;
/// let first = events.next(EmptyRecord {});
/// assert_eq!((first.tool_id.as_str(), first.seq), ("#PlanningTool", 1));
/// ```
#[derive(Clone, Debug)]
pub struct ToolEvents {
    tool_id: String,
    seq: i64,
}

impl ToolEvents {
    /// The stream of the tool actor with this name.
    pub fn new(tool_id: impl Into<String>) -> Self {
        Self { tool_id: tool_id.into(), seq: 0 }
    }

    /// Number of the last event.
    pub fn seq(&self) -> i64 {
        self.seq
    }

    /// Goes on after what the actor announced before a restart; see `Actor::restore`.
    pub fn resume(&mut self, announced: &[AnyValue]) {
        let numbers = announced.iter().filter_map(|event| match event {
            AnyValue::Message(message) => message.body::<ToolStateEvent>(),
            _ => None,
        });
        let own = numbers.filter(|event| event.tool_id == self.tool_id).map(|event| event.seq);
        self.seq = own.max().unwrap_or(0).max(self.seq);
    }

    /// The next event of the stream.
    pub fn next(&mut self, payload: impl WireType) -> ToolStateEvent {
        self.seq += 1;
        let payload = EventPayload::new(payload);
        ToolStateEvent { tool_id: self.tool_id.clone(), seq: self.seq, payload }
    }

    /// Announces a change; without one nothing is announced and no number is used.
    pub fn announce<P: WireType>(&mut self, ctx: &Context, payload: Option<P>) {
        if let Some(payload) = payload {
            ctx.notify_event(Message::new(self.next(payload)));
        }
    }
}

/// One argument of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "__model__", rename = "akgentic.tool.core.event.CommandArg")]
pub struct CommandArg {
    /// Its name, for `name=value`.
    pub name: String,
    /// JSON type; `string` when there is no single one.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it has to be given.
    pub required: bool,
    /// What it means.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON type of what may be left null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_type: Option<String>,
    /// Whether it may be null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nullable: Option<bool>,
}
payload!(CommandArg = "akgentic.tool.core.event.CommandArg",
    aliases: ["akgentic.tool.CommandArg", "akgentic.tool.core.CommandArg"],
    deprecated: ["akgentic.tool.event.CommandArg"],
    snapshot: akgentic_core::wire::no_addresses);

/// A command, as a front end shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "__model__", rename = "akgentic.tool.core.event.CommandDescriptor")]
pub struct CommandDescriptor {
    /// What is typed after the `/`.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// What it takes, in order.
    pub args: Vec<CommandArg>,
    /// The card it comes from; `BaseAgent` for the agent's own.
    pub tool_card: String,
}
payload!(CommandDescriptor = "akgentic.tool.core.event.CommandDescriptor",
    aliases: ["akgentic.tool.CommandDescriptor", "akgentic.tool.core.CommandDescriptor"],
    deprecated: ["akgentic.tool.event.CommandDescriptor"],
    snapshot: akgentic_core::wire::no_addresses);

/// An agent tells which commands it takes; announced once, while it starts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CommandsAnnouncedEvent {
    /// The agent.
    pub agent: ActorAddress,
    /// Its commands in order.
    #[schemars(with = "Vec<CommandDescriptor>")]
    pub commands: Arc<[CommandDescriptor]>,
}
payload!(CommandsAnnouncedEvent = "akgentic.tool.core.event.CommandsAnnouncedEvent",
    aliases: ["akgentic.tool.CommandsAnnouncedEvent", "akgentic.tool.core.CommandsAnnouncedEvent"],
    deprecated: ["akgentic.tool.event.CommandsAnnouncedEvent"],
    snapshot: CommandsAnnouncedEvent::snapshot);

impl CommandsAnnouncedEvent {
    fn snapshot(&self) -> Option<Self> {
        let commands = || Arc::clone(&self.commands);
        self.agent.is_live().then(|| Self { agent: self.agent.to_snapshot(), commands: commands() })
    }
}

impl fmt::Display for CommandDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.name)?;
        for arg in &self.args {
            let kind = arg.value_type.as_deref().unwrap_or(&arg.kind);
            if arg.required {
                write!(f, " {}=<{kind}>", arg.name)?;
            } else {
                write!(f, " [{}=<{kind}>]", arg.name)?;
            }
        }
        Ok(())
    }
}
