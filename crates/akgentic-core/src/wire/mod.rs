//! The wire format: how values of registered types are written and found again.
//!
//! A record is its fields and, last, [`MODEL_KEY`] with the path of its type. The
//! [registry] knows every path this program may build a value for; nothing else is ever
//! constructed from data.

mod any_value;
mod duration;
mod error;
mod family;
mod fingerprint;
mod kind;
mod left_out;
mod load;
pub(crate) mod prepared;
mod record;
mod registration;
mod registry;
mod snapshot;
mod timestamp;
mod type_entry;
mod type_path;

pub use any_value::{AnyMap, AnyValue};
pub use error::{LoadError, UnresolvableClass};
pub use family::{Dyn, Family};
pub use fingerprint::fingerprint;
pub use kind::Kind;
pub use left_out::{LeftOut, left_out};
pub use load::{dump, load, load_record, load_value};
pub use prepared::build as build_fields;
pub use record::{Record, WireType, class_name};
pub use registration::{Loader, Refine, Registration};
pub use registry::{Registry, registry, resolve};
pub use snapshot::{
    AddressResolver, has_addresses, has_live_addresses, hydrate_addresses, hydrate_message,
    load_resolving, no_addresses, snapshot_addresses,
};
pub use timestamp::{NotATimestamp, Timestamp};
pub use type_entry::TypeEntry;
pub use type_path::TypePath;

pub(crate) use record::markers_last;
pub(crate) use snapshot::{note_address, resolve_address, take_uncopied};

/// Names the type of a record.
pub const MODEL_KEY: &str = "__model__";
/// Makes a map an address.
pub const ADDRESS_KEY: &str = "__actor_address__";
/// Names the actor type of an address.
pub const ACTOR_TYPE_KEY: &str = "__actor_type__";
/// Makes a map a byte string in base64.
pub const BYTES_KEY: &str = "__bytes__";
/// Makes a map a reference to a class.
pub const TYPE_KEY: &str = "__type__";
/// Makes a map the list of pairs of a map that holds a reserved key itself.
pub const DICT_KEY: &str = "__dict__";

/// Whether a key of a map means something to the wire format.
pub(crate) fn is_reserved_key(key: &str) -> bool {
    matches!(key, MODEL_KEY | ADDRESS_KEY | BYTES_KEY | TYPE_KEY | DICT_KEY)
}

/// What the macros of this crate expand to; not for direct use.
#[doc(hidden)]
pub mod private {
    pub use inventory;
}
