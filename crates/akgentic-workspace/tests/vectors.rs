//! Replays the golden vectors of this crate.
#![allow(clippy::disallowed_methods, reason = "tests stand outside of the root")]

#[cfg(test)]
#[path = "vectors/card.rs"]
mod card;

#[cfg(test)]
#[path = "vectors/documents.rs"]
mod documents;

#[cfg(test)]
#[path = "vectors/edits.rs"]
mod edits;

#[cfg(test)]
#[path = "vectors/folder.rs"]
mod folder;

#[cfg(test)]
#[path = "vectors/files.rs"]
mod files;

#[cfg(test)]
#[path = "vectors/media.rs"]
mod media;

#[cfg(test)]
#[path = "vectors/patches.rs"]
mod patches;

#[cfg(test)]
#[path = "vectors/replay.rs"]
mod replay;

#[cfg(test)]
#[path = "vectors/search.rs"]
mod search;

#[cfg(test)]
#[path = "vectors/tools.rs"]
mod tools;

#[cfg(test)]
#[cfg(feature = "vision")]
#[path = "vectors/view.rs"]
mod view;

#[cfg(test)]
#[path = "vectors/gate/mod.rs"]
mod gate;

#[cfg(test)]
#[path = "vectors/shim.rs"]
mod shim;
