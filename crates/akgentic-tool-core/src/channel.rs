//! The four ways a capability reaches somebody.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a capability is offered; ordered as written.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Channel {
    /// Rendered once into the frozen start of the prompt; static text only.
    SystemPrompt,
    /// Callable by the model.
    ToolCall,
    /// Callable by code, or by a person as `/text`.
    Command,
    /// Volatile state, told once per turn as a change.
    LlmContext,
}

impl Channel {
    /// Every channel, in order.
    pub const ALL: [Self; 4] =
        [Self::SystemPrompt, Self::ToolCall, Self::Command, Self::LlmContext];

    /// Its text on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system_prompt",
            Self::ToolCall => "tool_call",
            Self::Command => "command",
            Self::LlmContext => "llm_context",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No channel has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown channel {0:?}, known are system_prompt, tool_call, command and llm_context")]
pub struct UnknownChannel(pub String);

impl FromStr for Channel {
    type Err = UnknownChannel;

    fn from_str(text: &str) -> Result<Self, UnknownChannel> {
        let known = Self::ALL.into_iter().find(|channel| channel.as_str() == text);
        known.ok_or_else(|| UnknownChannel(text.to_owned()))
    }
}

/// The channels a capability is offered on: a set, written in channel order.
///
/// ```
/// use akgentic_tool_core::{Channel, Exposure};
///
/// let exposure: Exposure = serde_json::from_str(r#"["command", "tool_call", "command"]"#)?;
/// assert!(exposure.contains(Channel::Command));
/// assert_eq!(serde_json::to_string(&exposure)?, r#"["tool_call","command"]"#);
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Channel>", into = "Vec<Channel>")]
pub struct Exposure(u8);

impl Exposure {
    /// Offered nowhere.
    pub const NONE: Self = Self(0);
    /// Offered to the model only.
    pub const TOOL_CALL: Self = Self::of(&[Channel::ToolCall]);

    /// Offered on these channels.
    pub const fn of(channels: &[Channel]) -> Self {
        let mut bits = 0;
        let mut rest = channels;
        while let [first, tail @ ..] = rest {
            bits |= first.bit();
            rest = tail;
        }
        Self(bits)
    }

    /// Whether `channel` is one of them.
    pub const fn contains(self, channel: Channel) -> bool {
        self.0 & channel.bit() != 0
    }

    /// The same with `channel`.
    #[must_use]
    pub const fn with(self, channel: Channel) -> Self {
        Self(self.0 | channel.bit())
    }

    /// The same without `channel`.
    #[must_use]
    pub const fn without(self, channel: Channel) -> Self {
        Self(self.0 & !channel.bit())
    }

    /// Whether it is offered nowhere.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The channels in order.
    pub fn iter(self) -> impl Iterator<Item = Channel> {
        Channel::ALL.into_iter().filter(move |channel| self.contains(*channel))
    }
}

/// Offered to the model only.
impl Default for Exposure {
    fn default() -> Self {
        Self::TOOL_CALL
    }
}

impl fmt::Debug for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromIterator<Channel> for Exposure {
    fn from_iter<I: IntoIterator<Item = Channel>>(channels: I) -> Self {
        channels.into_iter().fold(Self::NONE, Self::with)
    }
}

impl From<Vec<Channel>> for Exposure {
    fn from(channels: Vec<Channel>) -> Self {
        channels.into_iter().collect()
    }
}

impl From<Exposure> for Vec<Channel> {
    fn from(exposure: Exposure) -> Self {
        exposure.iter().collect()
    }
}

impl JsonSchema for Exposure {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Exposure".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = Channel::ALL.iter().map(|channel| channel.as_str()).collect();
        schemars::json_schema!({"type": "array", "items": {"type": "string", "enum": names}})
    }
}

/// Moves a stored `system_prompt` exposure to `llm_context`.
///
/// For params whose content became volatile; applied by the param itself after it is loaded.
///
/// ```
/// use akgentic_tool_core::{Channel, Exposure, normalize_system_prompt_to_llm_context};
///
/// let stored = Exposure::of(&[Channel::SystemPrompt, Channel::Command]);
/// let current = normalize_system_prompt_to_llm_context(stored);
/// assert_eq!(current, Exposure::of(&[Channel::Command, Channel::LlmContext]));
/// ```
#[must_use]
pub const fn normalize_system_prompt_to_llm_context(exposure: Exposure) -> Exposure {
    if exposure.contains(Channel::SystemPrompt) {
        exposure.without(Channel::SystemPrompt).with(Channel::LlmContext)
    } else {
        exposure
    }
}
