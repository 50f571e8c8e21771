//! Taking live addresses out of values, and putting them back.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{AnyValue, LoadError, WireType, load_value, prepared};
use crate::address::ActorAddress;
use crate::coerce::FieldError;
use crate::message::Message;

/// Finds the address to use in place of a loaded one.
pub type AddressResolver =
    Arc<dyn Fn(&ActorAddress) -> Result<ActorAddress, LoadError> + Send + Sync>;

thread_local! {
    static SEEN: Cell<Seen> = const { Cell::new(Seen { any: false, live: false }) };
    static UNCOPIED: Cell<bool> = const { Cell::new(false) };
    static COPYING: Cell<bool> = const { Cell::new(false) };
    static RESOLVER: RefCell<Option<AddressResolver>> = const { RefCell::new(None) };
}

/// Which addresses were written.
#[derive(Clone, Copy, Default)]
struct Seen {
    any: bool,
    live: bool,
}

/// Whether any address in the value is live.
pub fn has_live_addresses<T: Serialize + ?Sized>(value: &T) -> bool {
    addresses_in(value).live
}

/// Whether there is any address in the value.
pub fn has_addresses<T: Serialize + ?Sized>(value: &T) -> bool {
    addresses_in(value).any
}

fn addresses_in<T: Serialize + ?Sized>(value: &T) -> Seen {
    let outer = SEEN.replace(Seen::default());
    if let Err(error) = serde_json::to_writer(io::sink(), value) {
        tracing::error!(%error, "a value cannot be written");
    }
    SEEN.replace(outer)
}

/// Whether a copy without live addresses failed since the last call.
///
/// The value itself must not be shown then.
pub(crate) fn take_uncopied() -> bool {
    UNCOPIED.take()
}

/// A copy in which every live address is a snapshot; `None` when the value has none.
pub fn snapshot_addresses<T: WireType>(value: &T) -> Option<T> {
    if !has_live_addresses(value) {
        return None;
    }
    let written = written_for_copy(value)
        .map_err(|error| FieldError::whole("value_error", error.to_string(), Value::Null).into());
    written
        .and_then(prepared::build)
        .inspect_err(|error| {
            tracing::error!(class = T::PATH, %error, "a record cannot be copied");
            UNCOPIED.set(true);
        })
        .ok()
}

/// For [`WireType::snapshot_value`] of types that can hold no address.
pub fn no_addresses<T>(_: &T) -> Option<T> {
    None
}

/// A copy in which `resolver` replaced every address; the inverse of a snapshot. Its errors
/// propagate.
pub fn hydrate_addresses<T: WireType>(
    value: &T,
    resolver: AddressResolver,
) -> Result<T, LoadError> {
    hydrate(value, T::PATH, resolver)
}

/// The same for a message, whatever its body.
pub fn hydrate_message(message: &Message, resolver: AddressResolver) -> Result<Message, LoadError> {
    hydrate(message, message.type_path(), resolver)
}

fn hydrate<T: Serialize + DeserializeOwned>(
    value: &T,
    class: &str,
    resolver: AddressResolver,
) -> Result<T, LoadError> {
    let written = written_for_copy(value)
        .map_err(|error| LoadError::rule(class, error.to_string(), Value::Null))?;
    let _restore = Restore(RESOLVER.replace(Some(resolver)));
    prepared::build_document(class, || prepared::build(written))
}

/// Reads a document in which `resolver` replaces every address; its errors propagate.
pub fn load_resolving(value: Value, resolver: AddressResolver) -> Result<AnyValue, LoadError> {
    let _restore = Restore(RESOLVER.replace(Some(resolver)));
    load_value(value)
}

/// What is read back at once, without coercion, and so is written without escapes.
fn written_for_copy<T: Serialize>(value: &T) -> serde_json::Result<Value> {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            COPYING.set(self.0);
        }
    }
    let _restore = Restore(COPYING.replace(true));
    serde_json::to_value(value)
}

/// Whether what is being written is read back at once.
pub(super) fn is_copying() -> bool {
    COPYING.get()
}

/// Puts the resolver of the outer call back in force.
struct Restore(Option<AddressResolver>);

impl Drop for Restore {
    fn drop(&mut self) {
        RESOLVER.set(self.0.take());
    }
}

/// Called when an address is written.
pub(crate) fn note_address(is_live: bool) {
    let seen = SEEN.get();
    SEEN.set(Seen { any: true, live: seen.live || is_live });
}

/// The address to use for one that was read.
pub(crate) fn resolve_address(address: ActorAddress) -> Result<ActorAddress, LoadError> {
    let Some(resolver) = RESOLVER.with_borrow(Clone::clone) else {
        return Ok(address);
    };
    resolver(&address)
}
