//! Params: what configures one capability, and the field that switches it.

use std::borrow::Cow;
use std::fmt;

use akgentic_core::coerce::from_value_coerced;
use akgentic_core::wire::{Record as _, WireType, load_record};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::channel::{Channel, Exposure, normalize_system_prompt_to_llm_context};

/// Configures one capability of a card; implemented with [`tool_param!`](crate::tool_param).
///
/// Every field a param adds has to change something when its card is bound; what the *model* passes
/// is an argument of the tool, never a field here.
pub trait ToolParam: WireType + Default {
    /// The channels its card can serve it on.
    const SERVED: &'static [Channel];

    /// Text that goes after the description of the capability.
    fn instructions(&self) -> Option<&str>;

    /// Where it is to be offered.
    fn expose(&self) -> &Exposure;

    /// Whether it is to be offered on `channel`.
    fn is_exposed(&self, channel: Channel) -> bool {
        self.expose().contains(channel)
    }
}

/// A param without fields of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, tag = "__model__", rename = "akgentic.tool.core.params.BaseToolParam")]
pub struct BaseToolParam {
    /// Text that goes after the description of the capability.
    pub instructions: Option<String>,
    /// Where it is to be offered; the model only, unless said otherwise.
    pub expose: Exposure,
}
crate::tool_param!(BaseToolParam = "akgentic.tool.core.params.BaseToolParam",
    aliases: ["akgentic.tool.BaseToolParam", "akgentic.tool.core.BaseToolParam"],
    served: [SystemPrompt, ToolCall, Command, LlmContext]);

/// A field of a card that switches one capability: off, on, or on with a param.
///
/// In JSON `false`, `true` or the param; words and numbers that may stand for a truth value are
/// taken too. It is kept and written as it was given.
///
/// ```
/// use akgentic_tool_core::{BaseToolParam, Capability};
///
/// let capability: Capability<BaseToolParam> =
///     serde_json::from_str(r#"{"instructions": "Be brief."}"#)?;
/// let param = capability.resolve().expect("it is on");
/// assert_eq!(param.instructions.as_deref(), Some("Be brief."));
/// assert!(Capability::<BaseToolParam>::default().resolve().is_some());
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability<P> {
    /// Off.
    Off,
    /// On, with the param's defaults.
    On,
    /// On, with this param.
    With(P),
}

impl<P: ToolParam> Capability<P> {
    /// The param in force; nothing when it is off.
    pub fn resolve(&self) -> Option<Cow<'_, P>> {
        match self {
            Self::Off => None,
            Self::On => Some(Cow::Owned(P::default())),
            Self::With(param) => Some(Cow::Borrowed(param)),
        }
    }

    /// The param in force, when it is to be offered on `channel`.
    pub fn on(&self, channel: Channel) -> Option<Cow<'_, P>> {
        self.resolve().filter(|param| param.is_exposed(channel))
    }

    /// Channels it asks for and cannot be served on; its card has `name` for it.
    pub fn unserved(&self, name: &'static str) -> impl Iterator<Item = UnservedChannel> {
        let exposed = self.resolve().map_or(Exposure::NONE, |param| *param.expose());
        let unserved = exposed.iter().filter(|channel| !P::SERVED.contains(channel));
        unserved.map(move |channel| UnservedChannel { capability: name, channel })
    }
}

/// On, with the param's defaults.
impl<P> Default for Capability<P> {
    fn default() -> Self {
        Self::On
    }
}

impl<P> From<bool> for Capability<P> {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

impl<P: ToolParam> From<P> for Capability<P> {
    fn from(param: P) -> Self {
        Self::With(param)
    }
}

impl<P: ToolParam> Serialize for Capability<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::On => serializer.serialize_bool(true),
            Self::With(param) => param.to_json().serialize(serializer),
        }
    }
}

impl<'de, P: ToolParam> Deserialize<'de> for Capability<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let value = Value::deserialize(deserializer)?;
        if value.is_object() {
            return load_record(value).map(Self::With).map_err(D::Error::custom);
        }
        match from_value_coerced::<bool>(value) {
            Ok(on) => Ok(on.into()),
            Err(_) => {
                Err(D::Error::custom(format!("Input should be true, false or a {}", P::PATH)))
            }
        }
    }
}

impl<P: ToolParam> JsonSchema for Capability<P> {
    fn schema_name() -> Cow<'static, str> {
        format!("Capability_{}", P::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {
                    "title": P::PATH,
                    "type": "object",
                    "x-akgentic": {"family": "payload", "default": P::PATH},
                },
                {"type": "boolean"},
            ],
        })
    }
}

/// A channel a capability asks for and its card cannot serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnservedChannel {
    /// The field of the card.
    pub capability: &'static str,
    /// The channel.
    pub channel: Channel,
}

/// A channel that the configuration of a card asks for in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindWarning {
    /// The card.
    pub card: &'static str,
    /// The field of the card.
    pub capability: &'static str,
    /// The channel.
    pub channel: Channel,
}

impl fmt::Display for BindWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { card, capability, channel } = self;
        write!(f, "{card} cannot offer {capability} on {channel}; it is not offered there")
    }
}

/// Puts the instructions of a param after a description.
///
/// Without instructions the description stays as it is, absent included.
///
/// ```
/// use akgentic_tool_core::append_instructions;
///
/// let text = append_instructions(Some("Lists files."), Some("Ask first."));
/// assert_eq!(text.as_deref(), Some("Lists files.\n\nAdditional Instructions:\nAsk first."));
/// assert_eq!(append_instructions(None, Some("")), None);
/// ```
pub fn append_instructions(
    description: Option<&str>,
    instructions: Option<&str>,
) -> Option<String> {
    let Some(instructions) = instructions.filter(|text| !text.is_empty()) else {
        return description.map(str::to_owned);
    };
    let description = description.unwrap_or_default();
    Some(format!("{description}\n\nAdditional Instructions:\n{instructions}"))
}

/// Reads an exposure and moves `system_prompt` to `llm_context`.
///
/// For `#[serde(deserialize_with = "…")]` on the field of a param whose content became volatile.
pub fn normalized_exposure<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Exposure, D::Error> {
    Exposure::deserialize(deserializer).map(normalize_system_prompt_to_llm_context)
}

/// Makes a struct a [`ToolParam`] and registers it.
///
/// `tool_param!(ReadParam = "path", aliases: ["…"], deprecated: ["…"], served: [ToolCall])`. The
/// struct has the fields `instructions: Option<String>` and `expose: Exposure` beside its own,
/// implements `Default`, and derives `Clone`, `Debug`, `Serialize`, `Deserialize`, `JsonSchema`.
/// `served` lists the [channels](Channel) on which its card offers the capability.
///
/// ```
/// use akgentic_tool_core::{Exposure, tool_param};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
/// #[serde(default)]
/// struct CountParam {
///     instructions: Option<String>,
///     expose: Exposure,
///     step: i64,
/// }
/// tool_param!(CountParam = "example.CountParam", served: [ToolCall, Command]);
/// ```
#[macro_export]
macro_rules! tool_param {
    ($ty:ty = $path:literal
        $(, aliases: [$($alias:literal),* $(,)?])?
        $(, deprecated: [$($former:literal),* $(,)?])?
        , served: [$($channel:ident),* $(,)?]
        $(,)?
    ) => {
        $crate::private::akgentic_core::payload!($ty = $path,
            aliases: [$($($alias),*)?], deprecated: [$($($former),*)?],
            snapshot: $crate::private::akgentic_core::wire::no_addresses);

        impl $crate::ToolParam for $ty {
            const SERVED: &'static [$crate::Channel] = &[$($crate::Channel::$channel),*];

            fn instructions(&self) -> ::std::option::Option<&str> {
                self.instructions.as_deref()
            }

            fn expose(&self) -> &$crate::Exposure {
                &self.expose
            }
        }
    };
}
