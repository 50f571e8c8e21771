//! What a message type answers about itself.

use std::any::{Any, TypeId};
use std::sync::Arc;

use super::{DisplayType, Message, PlainMessage};
use crate::wire::{Family, Kind, Record, WireType as _};

/// The body of a message; implemented with [`message!`](macro@crate::message).
pub trait MessageBody: Record {
    /// The body seen as the message type it derives from.
    fn parent(&self) -> Option<&dyn MessageBody> {
        None
    }

    /// The field `content` when it is text.
    fn content_text(&self) -> Option<&str> {
        None
    }

    /// Who it is shown to.
    fn display_type(&self) -> DisplayType {
        DisplayType::Other
    }

    /// The [`Facet`] of the trait with this id, when the type offers it.
    fn facet(&self, wanted: TypeId) -> Option<&'static (dyn Any + Send + Sync)> {
        let _ = wanted;
        None
    }

    /// A copy without live addresses; `None` when there are none.
    fn snapshot_body(&self) -> Option<Arc<dyn MessageBody>>;
}

/// How to see a message body as a trait `F` that another crate defines.
///
/// Core knows neither the trait nor the type: the type lists its facets in
/// [`message!`](macro@crate::message), the crate that owns the trait asks with [`Message::facet`].
pub struct Facet<F: ?Sized>(pub for<'a> fn(&'a dyn MessageBody) -> Option<&'a F>);

impl Message {
    /// The body, or the nearest message type it derives from, as trait `F`.
    pub fn facet<F: ?Sized + 'static>(&self) -> Option<&F> {
        let mut body: &dyn MessageBody = &*self.body;
        loop {
            let facet = body.facet(TypeId::of::<F>());
            if let Some(Facet(cast)) = facet.and_then(|facet| facet.downcast_ref::<Facet<F>>()) {
                return cast(body);
            }
            body = body.parent()?;
        }
    }
}

/// A field that [`MessageBody::content_text`] can read.
pub trait ContentField {
    /// The text, when there is one.
    fn content_text(&self) -> Option<&str>;
}

impl ContentField for String {
    fn content_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl ContentField for Option<String> {
    fn content_text(&self) -> Option<&str> {
        self.as_deref()
    }
}

impl ContentField for Arc<str> {
    fn content_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl Family for dyn MessageBody {
    const KIND: Kind = Kind::Message;
    const DEFAULT: Option<&'static str> = Some(PlainMessage::PATH);

    fn as_record(&self) -> &dyn Record {
        self
    }
}
