//! How runs behave; real processes throughout.

#[cfg(test)]
mod parts;
#[cfg(test)]
mod serial;
