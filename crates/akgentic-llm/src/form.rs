//! The two JSON forms of a message and the machinery that writes both from one description.

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use akgentic_core::wire::Timestamp;

/// How a message is written as JSON.
///
/// Both forms are read by the same `Deserialize` implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain objects; times end in `Z`, bytes are base64 text.
    Adapter,
    /// As event stores keep it: every object ends in its `__model__` marker, times end in
    /// `+00:00`, bytes are `{"__bytes__": …}`. This is what `Serialize` writes.
    Persisted,
}

/// A value that can be written in either form.
pub(crate) trait Written {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error>;
}

/// A value together with the form it is to be written in.
pub(crate) struct InForm<'a, T: ?Sized>(pub &'a T, pub Form);

impl<T: Written + ?Sized> Serialize for InForm<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.0.write(self.1, out)
    }
}

impl<T: Written> Written for Option<T> {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.write(form, out),
            None => out.serialize_none(),
        }
    }
}

impl<T: Written> Written for Vec<T> {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        let mut items = out.serialize_seq(Some(self.len()))?;
        for item in self {
            items.serialize_element(&InForm(item, form))?;
        }
        items.end()
    }
}

impl Written for Timestamp {
    fn write<S: Serializer>(&self, form: Form, out: S) -> Result<S::Ok, S::Error> {
        match form {
            Form::Persisted => self.serialize(out),
            Form::Adapter => {
                let text = self.to_string();
                match text.strip_suffix("+00:00") {
                    Some(local) => out.collect_str(&format_args!("{local}Z")),
                    None => out.serialize_str(&text),
                }
            }
        }
    }
}

/// Values that look the same in both forms.
macro_rules! same_in_both {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::form::Written for $type {
            fn write<S: serde::Serializer>(
                &self,
                _form: $crate::form::Form,
                out: S,
            ) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(self, out)
            }
        }
    )*};
}
pub(crate) use same_in_both;

same_in_both!(String, bool, f64, u32, u64, Value, Map<String, Value>);

/// Describes an object: its keys in order, each a field of that name or a fixed text, and its
/// marker.
macro_rules! object {
    ($type:ty as $marker:literal { $($key:ident $(= $text:literal)?),* $(,)? }) => {
        impl $crate::form::Written for $type {
            fn write<S: serde::Serializer>(
                &self,
                form: $crate::form::Form,
                out: S,
            ) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = out.serialize_map(None)?;
                $( $crate::form::object!(@entry map, self, form, $key $(= $text)?); )*
                $crate::form::close(map, form, $marker)
            }
        }
        $crate::form::persisted!($type);
    };
    (@entry $map:ident, $this:ident, $form:ident, $key:ident) => {
        $map.serialize_entry(stringify!($key), &$crate::form::InForm(&$this.$key, $form))?;
    };
    (@entry $map:ident, $this:ident, $form:ident, $key:ident = $text:literal) => {
        $map.serialize_entry(stringify!($key), $text)?;
    };
}
pub(crate) use object;

/// `Serialize` writes the persisted form.
macro_rules! persisted {
    ($($type:ty),* $(,)?) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                $crate::form::Written::write(self, $crate::form::Form::Persisted, out)
            }
        }
    )*};
}
pub(crate) use persisted;

/// Ends an object with its marker where the form has one.
pub(crate) fn close<M: serde::ser::SerializeMap>(
    mut map: M,
    form: Form,
    marker: &str,
) -> Result<M::Ok, M::Error> {
    if form == Form::Persisted {
        map.serialize_entry("__model__", marker)?;
    }
    map.end()
}
