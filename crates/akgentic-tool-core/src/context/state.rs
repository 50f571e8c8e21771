//! What a provider tells, and how it is put into words.

use akgentic_core::wire::{Dyn, Family, Kind, Record};

/// State that is put before a model; registered with [`context_state!`](crate::context_state).
///
/// ```
/// use akgentic_tool_core::{ContextState, context_state};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
/// struct Weather { sky: String }
/// context_state!(Weather = "example.Weather");
///
/// impl ContextState for Weather {
///     fn render_full(&self) -> String {
///         format!("The sky is {}.", self.sky)
///     }
///
///     fn render_delta(&self, previous: &dyn ContextState) -> Option<String> {
///         let before = previous.downcast::<Self>()?;
///         (before.sky != self.sky).then(|| format!("The sky is {} now.", self.sky))
///     }
/// }
/// ```
pub trait ContextState: Record {
    /// The whole state in words; empty when there is nothing to say.
    fn render_full(&self) -> String;

    /// What changed since `previous`, which is of the same type; `None` when nothing did.
    ///
    /// An empty text says nothing now and leaves the change to be told later.
    fn render_delta(&self, previous: &dyn ContextState) -> Option<String>;
}

impl dyn ContextState {
    /// The state as `S`, when it is one.
    pub fn downcast<S: ContextState>(&self) -> Option<&S> {
        self.as_any().downcast_ref()
    }
}

/// Any context state, loaded by its marker.
pub type AnyContextState = Dyn<dyn ContextState>;

impl Family for dyn ContextState {
    const KIND: Kind = Kind::ContextState;
    const DEFAULT: Option<&'static str> = None;

    fn as_record(&self) -> &dyn Record {
        self
    }
}

/// Registers a [`ContextState`], so that stored baselines load again.
///
/// `context_state!(Type = "path", aliases: ["…"], deprecated: ["…"])`; all but the path is optional.
#[macro_export]
macro_rules! context_state {
    ($ty:ty = $path:literal
        $(, aliases: [$($alias:literal),* $(,)?])?
        $(, deprecated: [$($former:literal),* $(,)?])?
        $(,)?
    ) => {
        $crate::private::akgentic_core::wire_type!($ty = $path,
            aliases: [$($($alias),*)?], deprecated: [$($($former),*)?],
            snapshot: $crate::private::akgentic_core::wire::no_addresses);
        $crate::private::akgentic_core::family_member!($ty: dyn $crate::ContextState,
            $crate::private::akgentic_core::wire::Kind::ContextState);

        impl ::std::convert::From<$ty> for $crate::AnyContextState {
            fn from(state: $ty) -> Self {
                Self(::std::sync::Arc::new(state))
            }
        }
    };
}
