#![doc = include_str!("../README.md")]
#![expect(clippy::missing_panics_doc, reason = "panicking is how a property says that it fails")]

mod command_line;
mod edit;
mod glob;
mod media;
mod parts;
mod patch;

pub use command_line::command_line;
pub use edit::edit;
pub use glob::glob;
pub use media::media_reference;
pub use patch::patch;

/// A property of some bytes.
pub type Property = fn(&[u8]);

/// Every property, by the name of its fuzz target.
pub const ALL: [(&str, Property); 5] = [
    ("command_line", command_line),
    ("edit", edit),
    ("glob", glob),
    ("media_reference", media_reference),
    ("patch", patch),
];
