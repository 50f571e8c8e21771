//! Macros that give a type its path and register it.

/// Makes a serde struct the body of a message and registers it.
///
/// ```
/// # use serde::{Serialize, Deserialize};
/// # use schemars::JsonSchema;
/// #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
/// struct TaskMessage { title: String }
/// akgentic_core::message!(TaskMessage = "my_app.messages.TaskMessage", content: title);
/// ```
///
/// After the path, all optional and in this order: `aliases: ["…"]`, other paths; `deprecated:
/// ["…"]`, former paths that warn; `display: Human`, who it is shown to; `content: field.path`, the
/// text of the message; `parent: field`, the flattened body it derives from; `facets: [dyn
/// Trait]`, traits of other crates it offers; `snapshot: function`, a faster way to copy without
/// live addresses.
#[macro_export]
macro_rules! message {
    ($ty:ty = $path:literal
        $(, aliases: [$($alias:literal),* $(,)?])?
        $(, deprecated: [$($former:literal),* $(,)?])?
        $(, display: $display:ident)?
        $(, content: $($content:ident).+)?
        $(, parent: $parent:ident)?
        $(, facets: [$($facet:ty),* $(,)?])?
        $(, snapshot: $snapshot:path)?
        $(,)?
    ) => {
        $crate::wire_type!($ty = $path, aliases: [$($($alias),*)?],
            deprecated: [$($($former),*)?] $(, snapshot: $snapshot)?);

        impl $crate::message::MessageBody for $ty {
            $(fn parent(&self) -> ::std::option::Option<&dyn $crate::message::MessageBody> {
                ::std::option::Option::Some(&self.$parent)
            })?

            $(fn content_text(&self) -> ::std::option::Option<&str> {
                $crate::message::ContentField::content_text(&self.$($content).+)
            })?

            $(fn display_type(&self) -> $crate::message::DisplayType {
                $crate::message::DisplayType::$display
            })?

            $(fn facet(
                &self,
                wanted: ::std::any::TypeId,
            ) -> ::std::option::Option<&'static (dyn ::std::any::Any + Send + Sync)> {
                $({
                    static FACET: $crate::message::Facet<$facet> = $crate::message::Facet(|body| {
                        body.as_any().downcast_ref::<$ty>().map(|body| body as &$facet)
                    });
                    if wanted == ::std::any::TypeId::of::<$facet>() {
                        return ::std::option::Option::Some(&FACET);
                    }
                })*
                let _ = wanted;
                ::std::option::Option::None
            })?

            fn snapshot_body(
                &self,
            ) -> ::std::option::Option<::std::sync::Arc<dyn $crate::message::MessageBody>> {
                match $crate::wire::WireType::snapshot_value(self) {
                    ::std::option::Option::Some(copy) => {
                        ::std::option::Option::Some(::std::sync::Arc::new(copy))
                    }
                    ::std::option::Option::None => ::std::option::Option::None,
                }
            }
        }

        $crate::family_member!($ty: dyn $crate::message::MessageBody, $crate::wire::Kind::Message
            $(, shown_to($crate::message::DisplayType::$display))?);
    };
}

/// Registers a serde struct that is carried in events and other free positions.
///
/// `payload!(Type = "path", aliases: ["…"], deprecated: ["…"], snapshot: function)`; all but the
/// path is optional.
#[macro_export]
macro_rules! payload {
    ($ty:ty = $path:literal
        $(, aliases: [$($alias:literal),* $(,)?])?
        $(, deprecated: [$($former:literal),* $(,)?])?
        $(, snapshot: $snapshot:path)?
        $(,)?
    ) => {
        $crate::wire_type!($ty = $path, aliases: [$($($alias),*)?],
            deprecated: [$($($former),*)?] $(, snapshot: $snapshot)?);
        $crate::wire::private::inventory::submit! {
            $crate::wire::Registration::of::<$ty>($crate::wire::Kind::Payload)
        }
    };
}

/// Makes a serde struct a configuration of actors and registers it.
///
/// `config!(WorkerConfig = "path", aliases: ["…"], deprecated: ["…"], base: base, extends: Parent,
/// snapshot: function, refined: function)`. `base` is the way to the flattened `BaseConfig`, without
/// it the type has to be `AsRef` and `AsMut` of it; `extends` names the configuration type it derives
/// from when that is not `BaseConfig`; `refined` is done to the fields before they are read, see
/// [`Refine`](crate::wire::Refine).
///
/// A field that nobody should edit says so in its schema with
/// `#[schemars(extend("readOnly" = true))]`.
#[macro_export]
macro_rules! config {
    ($ty:ty = $path:literal
        $(, aliases: [$($alias:literal),* $(,)?])?
        $(, deprecated: [$($former:literal),* $(,)?])?
        $(, base: $($base:ident).+)?
        $(, extends: $parent:ty)?
        $(, snapshot: $snapshot:path)?
        $(, refined: $refine:path)?
        $(,)?
    ) => {
        $crate::wire_type!($ty = $path, aliases: [$($($alias),*)?],
            deprecated: [$($($former),*)?] $(, snapshot: $snapshot)?);

        impl $crate::config::Config for $ty {
            fn base(&self) -> &$crate::config::BaseConfig {
                ::std::convert::AsRef::<$crate::config::BaseConfig>::as_ref(&(*self)$($(.$base)+)?)
            }

            fn base_mut(&mut self) -> &mut $crate::config::BaseConfig {
                ::std::convert::AsMut::<$crate::config::BaseConfig>::as_mut(&mut (*self)$($(.$base)+)?)
            }

            fn clone_config(&self) -> ::std::boxed::Box<dyn $crate::config::Config> {
                ::std::boxed::Box::new(::std::clone::Clone::clone(self))
            }

            fn snapshot_config(
                &self,
            ) -> ::std::option::Option<::std::sync::Arc<dyn $crate::config::Config>> {
                match $crate::wire::WireType::snapshot_value(self) {
                    ::std::option::Option::Some(copy) => {
                        ::std::option::Option::Some(::std::sync::Arc::new(copy))
                    }
                    ::std::option::Option::None => ::std::option::Option::None,
                }
            }
        }

        $crate::family_member!($ty: dyn $crate::config::Config, $crate::wire::Kind::Config
            $(, extending(<$parent as $crate::wire::WireType>::PATH))? $(, refined($refine))?);
    };
}

/// Makes a serde struct a state of actors and registers it.
///
/// `state!(CounterState = "path", aliases: ["…"], deprecated: ["…"], snapshot: function)`; all but
/// the path is optional.
#[macro_export]
macro_rules! state {
    ($ty:ty = $path:literal
        $(, aliases: [$($alias:literal),* $(,)?])?
        $(, deprecated: [$($former:literal),* $(,)?])?
        $(, snapshot: $snapshot:path)?
        $(,)?
    ) => {
        $crate::wire_type!($ty = $path, aliases: [$($($alias),*)?],
            deprecated: [$($($former),*)?] $(, snapshot: $snapshot)?);

        impl $crate::state::State for $ty {
            fn clone_state(&self) -> ::std::boxed::Box<dyn $crate::state::State> {
                ::std::boxed::Box::new(::std::clone::Clone::clone(self))
            }

            fn snapshot_state(
                &self,
            ) -> ::std::option::Option<::std::sync::Arc<dyn $crate::state::State>> {
                match $crate::wire::WireType::snapshot_value(self) {
                    ::std::option::Option::Some(copy) => {
                        ::std::option::Option::Some(::std::sync::Arc::new(copy))
                    }
                    ::std::option::Option::None => ::std::option::Option::None,
                }
            }
        }

        $crate::family_member!($ty: dyn $crate::state::State, $crate::wire::Kind::State);
    };
}

/// Gives a serde struct its path without registering it; the first half of macros like
/// [`payload!`](macro@crate::payload).
#[macro_export]
macro_rules! wire_type {
    ($ty:ty = $path:literal
        $(, aliases: [$($alias:literal),* $(,)?])?
        $(, deprecated: [$($former:literal),* $(,)?])?
        $(, snapshot: $snapshot:path)?
        $(,)?
    ) => {
        impl $crate::wire::WireType for $ty {
            const PATH: &'static str = $path;
            const ALIASES: &'static [&'static str] = &[$($($alias),*)?];
            const DEPRECATED: &'static [&'static str] = &[$($($former),*)?];

            $(fn snapshot_value(&self) -> ::std::option::Option<Self> {
                $snapshot(self)
            })?
        }
    };
}

/// Registers a type that has a path as a member of a [`Family`](crate::wire::Family); the second
/// half of macros like [`config!`](macro@crate::config).
///
/// `family_member!(PlanningTool: dyn ToolCard, Kind::Card)`. Calls of
/// [`Registration`](crate::wire::Registration)'s own methods may follow: `, extending("…")`.
#[macro_export]
macro_rules! family_member {
    ($ty:ty: dyn $family:path, $kind:expr $(, $method:ident($argument:expr))* $(,)?) => {
        const _: () = {
            static LOADER: $crate::wire::Loader<dyn $family> =
                $crate::wire::Loader(|fields| match $crate::wire::build_fields::<$ty>(fields) {
                    ::std::result::Result::Ok(value) => {
                        ::std::result::Result::Ok(::std::sync::Arc::new(value))
                    }
                    ::std::result::Result::Err(error) => ::std::result::Result::Err(error),
                });
            $crate::wire::private::inventory::submit! {
                $crate::wire::Registration::of::<$ty>($kind)
                    .with_family(&LOADER)
                    $(.$method($argument))*
            }
        };
    };
}
