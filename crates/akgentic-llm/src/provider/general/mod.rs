//! Providers that the crate genai knows and the languages here do not.
//!
//! genai writes the requests of these providers and reads their replies. `request` turns a request
//! into what genai takes, `reply` makes a response of what it gives, `trouble` reads its failures:
//! pure functions all. `exchange` has genai send one request, with our client and within our
//! limits; `model` repeats and joins. No type of genai leaves this module.

mod exchange;
mod model;
mod reply;
mod request;
mod target;
mod trouble;

pub(super) use model::GeneralModel;
pub(super) use target::endpoint;
