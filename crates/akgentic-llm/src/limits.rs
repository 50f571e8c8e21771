//! Limits on what a run, or an agent in its life, may consume.

use std::fmt;

use crate::config::{AgentUsageLimits, RunUsageLimits};
use crate::usage::Usage;

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitBreach {
    /// Which.
    pub limit: UsageLimit,
    /// Its value.
    pub value: u64,
}

/// The limits by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageLimit {
    /// Model requests of a run.
    Request,
    /// Tool calls of a run.
    ToolCalls,
    /// Input tokens.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Input and output tokens.
    TotalTokens,
    /// Runs of an agent.
    AgentRequest,
}

impl fmt::Display for UsageLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "request_limit",
            Self::ToolCalls => "tool_calls_limit",
            Self::InputTokens => "input_tokens_limit",
            Self::OutputTokens => "output_tokens_limit",
            Self::TotalTokens => "total_tokens_limit",
            Self::AgentRequest => "agent_request_limit",
        })
    }
}

impl fmt::Display for LimitBreach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.limit, self.value)
    }
}

impl RunUsageLimits {
    /// Whether one more model request may be made.
    pub fn check_request(&self, used: &Usage) -> Result<(), LimitBreach> {
        if let Some(value) = self.run_request_limit.filter(|limit| used.requests >= *limit) {
            return Err(LimitBreach { limit: UsageLimit::Request, value });
        }
        above(UsageLimit::InputTokens, self.input_tokens_limit, used.input_tokens)?;
        above(UsageLimit::TotalTokens, self.total_tokens_limit, used.total_tokens())
    }

    /// Whether the tokens used so far are within bounds; reaching a bound is.
    pub fn check_tokens(&self, used: &Usage) -> Result<(), LimitBreach> {
        above(UsageLimit::InputTokens, self.input_tokens_limit, used.input_tokens)?;
        above(UsageLimit::OutputTokens, self.output_tokens_limit, used.output_tokens)?;
        above(UsageLimit::TotalTokens, self.total_tokens_limit, used.total_tokens())
    }

    /// Whether `more` tool calls may be started.
    pub fn check_tool_calls(&self, used: &Usage, more: u64) -> Result<(), LimitBreach> {
        let planned = used.tool_calls.saturating_add(more);
        above(UsageLimit::ToolCalls, self.tool_calls_limit, planned)
    }
}

impl AgentUsageLimits {
    /// Whether one more run may start after `runs` runs that used `used`.
    pub fn check_run(&self, used: &Usage, runs: u64) -> Result<(), LimitBreach> {
        above(UsageLimit::InputTokens, self.input_tokens_limit, used.input_tokens)?;
        above(UsageLimit::OutputTokens, self.output_tokens_limit, used.output_tokens)?;
        above(UsageLimit::TotalTokens, self.total_tokens_limit, used.total_tokens())?;
        match self.agent_request_limit.filter(|limit| runs >= *limit) {
            Some(value) => Err(LimitBreach { limit: UsageLimit::AgentRequest, value }),
            None => Ok(()),
        }
    }
}

fn above(limit: UsageLimit, bound: Option<u64>, used: u64) -> Result<(), LimitBreach> {
    match bound.filter(|bound| used > *bound) {
        Some(value) => Err(LimitBreach { limit, value }),
        None => Ok(()),
    }
}
