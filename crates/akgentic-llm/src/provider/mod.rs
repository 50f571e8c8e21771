//! Models of real providers.
//!
//! Each provider speaks one of five languages (`wire`): a request becomes a body, a reply a
//! response, both as pure functions. `http` carries them, `model` joins the two. Providers that
//! speak none of these, or that nobody recorded, are asked through a `general` client.

#[cfg(feature = "providers")]
mod caller;
mod endpoint;
#[cfg(feature = "genai")]
mod general;
#[cfg(feature = "providers")]
mod http;
#[cfg(feature = "providers")]
mod model;
#[cfg(feature = "providers")]
mod providers;
#[cfg(feature = "providers")]
mod sse;
#[cfg(feature = "providers")]
mod wire;

pub use endpoint::{AuthHeader, Endpoint, EnvironmentError, Variables};
#[cfg(feature = "providers")]
pub use providers::Providers;
#[cfg(feature = "providers")]
pub use wire::ANTHROPIC_VERSION;
