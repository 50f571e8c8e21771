#![doc = include_str!("../README.md")]
#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking and report in print"
)]

mod clock;
mod logs;
mod owners;
mod vectors;

pub use clock::{FakeClock, block_on};
pub use logs::Logs;
pub use owners::{OWNERS, owner_of};
pub use vectors::{Case, Replay, Suite, cases, known_keys, same, vectors};
