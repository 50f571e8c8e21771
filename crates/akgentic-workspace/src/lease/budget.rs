//! How long everything about a run may take, and how long a caller waits for it.

use std::time::Duration;

/// Seconds a worker has for everything it does.
pub const WORKER_BUDGET_S: f64 = 20.0;

/// Seconds by which the question for a command outlasts the command.
pub const REPLY_GRACE_S: f64 = 2.0;

/// Seconds by which a caller that waits out a run outlasts the run.
pub const REPORT_MARGIN_S: f64 = 1.0;

/// Seconds by which a lease outlasts the budget of its run.
pub const LEASE_GRACE_S: f64 = 5.0;

/// Whole seconds of what remains, as a deadline of a question.
pub fn ask_seconds(remaining: f64) -> u64 {
    // Cut, and negative or absurd values bounded, by the conversion itself.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    {
        remaining.trunc() as u64
    }
}

/// A number of seconds as a duration: what cannot be one is none at all.
pub(crate) fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value.max(0.0)).unwrap_or(Duration::ZERO)
}

/// How a caller waits for a run: so often it may look, so long apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// How often the caller may look.
    pub looks: u64,
    /// Seconds between two looks.
    pub delay_s: f64,
    /// Seconds the run may take.
    pub run_budget_s: f64,
    /// Whether the caller was to wait until the run ends.
    pub waits_out: bool,
}

impl Patience {
    /// What the settings of a card come to.
    ///
    /// ```
    /// use akgentic_workspace::lease::Patience;
    ///
    /// assert_eq!(Patience::of(15.0, -1, 0.5).looks, 33);
    /// ```
    pub fn of(timeout_s: f64, poll_attempts: i64, poll_delay_s: f64) -> Self {
        let run_budget_s = timeout_s.min(WORKER_BUDGET_S);
        Self {
            looks: looks_within(poll_attempts, poll_delay_s, run_budget_s),
            delay_s: poll_delay_s,
            run_budget_s,
            waits_out: poll_attempts < 0,
        }
    }

    /// How long the caller waits: all delays between its looks; nothing when it may not look.
    pub fn wait(&self) -> Option<Duration> {
        let pauses = self.looks.checked_sub(1)?;
        #[expect(clippy::cast_precision_loss, reason = "nobody looks that often")]
        Some(seconds(pauses as f64 * self.delay_s))
    }
}

/// How many looks fit, given how many are wanted; a negative number asks for as many as it takes.
pub fn looks_within(attempts: i64, delay: f64, run_budget: f64) -> u64 {
    let Ok(wanted) = u64::try_from(attempts) else {
        if delay <= 0.0 {
            return 1;
        }
        return whole(floor_div(run_budget + REPORT_MARGIN_S, delay)).saturating_add(1).max(1);
    };
    #[expect(clippy::cast_precision_loss, reason = "nobody looks that often")]
    let needed = wanted as f64 * delay;
    if wanted == 0 || delay <= 0.0 || needed <= run_budget {
        return wanted;
    }
    whole(floor_div(run_budget, delay)).max(1)
}

fn whole(value: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    {
        value.trunc() as u64
    }
}

/// Floor division as Python does it, which is not the floor of the quotient.
fn floor_div(dividend: f64, divisor: f64) -> f64 {
    let rest = dividend % divisor;
    let mut quotient = (dividend - rest) / divisor;
    if rest != 0.0 && (rest < 0.0) != (divisor < 0.0) {
        quotient -= 1.0;
    }
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}
