//! What model requests cost: a dated table of prices, and usage summed up.

mod aggregate;
mod clause;
mod cost;
mod table;

pub use aggregate::{ModelUsage, RunUsage, UsageSummary, summarize_usage};
pub(crate) use cost::CostMeter;
pub use cost::{InconsistentCounts, TokenCounts};
pub use table::{ModelPrices, PriceTable, PriceTableError};
