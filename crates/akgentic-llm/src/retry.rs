//! Which failed requests are made again, how often, and after which wait.
//!
//! Everything that decides is a pure function of what happened and of the time it is told;
//! [`RetryPolicy::run`] does the waiting.

use std::future::Future;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;

use crate::config::HttpClientConfig;

/// How long a server may ask to be left alone.
const RETRY_AFTER_CAP: Duration = Duration::from_mins(5);

/// How requests are repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Attempts in total, the first one included.
    pub attempts: u32,
    /// The first wait at most, where the server does not say; doubled for each further one.
    pub backoff: Duration,
    /// Any such wait at most.
    pub backoff_max: Duration,
    /// A wait that a server asks for at most.
    pub retry_after_max: Duration,
    /// All attempts and waits together; no attempt is made whose wait would end later.
    pub deadline: Option<Duration>,
}

impl From<&HttpClientConfig> for RetryPolicy {
    fn from(config: &HttpClientConfig) -> Self {
        let seconds = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Self {
            attempts: config.max_retries,
            backoff: seconds(config.backoff_multiplier),
            backoff_max: seconds(config.backoff_max),
            retry_after_max: RETRY_AFTER_CAP,
            deadline: Some(config.request_deadline()),
        }
    }
}

/// What a request came to, as far as a retry depends on it.
#[derive(Clone, Copy, Debug)]
pub enum Attempt<'a> {
    /// The server answered.
    Answered(&'a dyn Answer),
    /// It did not.
    Failed(TransportFailure),
}

/// An answer over HTTP.
pub trait Answer: std::fmt::Debug {
    /// Its status.
    fn status(&self) -> u16;

    /// A header, by its name in lower case.
    fn header(&self, name: &str) -> Option<&str>;

    /// Its body, as far as it was read; needed for status 429 only.
    fn body(&self) -> &[u8];
}

/// How a transport fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TransportFailure {
    ConnectTimeout,
    ReadTimeout,
    WriteTimeout,
    PoolTimeout,
    Connect,
    Read,
    Write,
    Close,
    Proxy,
    RemoteProtocol,
    LocalProtocol,
    UnsupportedProtocol,
}

impl TransportFailure {
    /// Whether the same request may go well the next time. Timeouts are not repeated: the server
    /// may be at work on the first one.
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Connect | Self::Read | Self::Write | Self::RemoteProtocol)
    }
}

/// What is to be done after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This is what the caller gets.
    Done,
    /// Try again after this wait.
    Retry(Wait),
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// As long as the server asked for.
    Exactly(Duration),
    /// At random, at most so long.
    UpTo(Duration),
}

impl Wait {
    /// The wait, with `random` between 0 and 1 where it is at random.
    pub fn draw(self, random: f64) -> Duration {
        match self {
            Self::Exactly(wait) => wait,
            Self::UpTo(most) => most.mul_f64(random.clamp(0.0, 1.0)),
        }
    }

    fn most(self) -> Duration {
        match self {
            Self::Exactly(wait) | Self::UpTo(wait) => wait,
        }
    }
}

impl RetryPolicy {
    /// What is to be done after the `made`th attempt, `elapsed` after the first one began.
    pub fn after(
        &self,
        made: u32,
        attempt: &Attempt<'_>,
        elapsed: Duration,
        now: SystemTime,
    ) -> Verdict {
        let (repeatable, asked) = match attempt {
            Attempt::Answered(answer) => (is_repeatable(*answer), self.asked_wait(*answer, now)),
            Attempt::Failed(failure) => (failure.may_pass(), None),
        };
        if !repeatable || made >= self.attempts {
            return Verdict::Done;
        }
        let wait = asked.map_or_else(|| Wait::UpTo(self.backoff_after(made)), Wait::Exactly);
        // a random wait that may be short enough is worth a try
        let least = if asked.is_some() { wait.most() } else { Duration::ZERO };
        match self.deadline {
            Some(deadline) if elapsed.saturating_add(least) >= deadline => Verdict::Done,
            Some(deadline) => Verdict::Retry(match wait {
                Wait::UpTo(most) => Wait::UpTo(most.min(deadline.saturating_sub(elapsed))),
                exact @ Wait::Exactly(_) => exact,
            }),
            None => Verdict::Retry(wait),
        }
    }

    /// Makes a request until it is done and gives what the last attempt came to.
    ///
    /// Cancel-safe as far as `attempt` is. `random` gives numbers between 0 and 1.
    pub async fn run<A, F>(
        &self,
        random: impl Fn() -> f64,
        mut attempt: impl FnMut() -> F,
    ) -> Result<A, TransportFailure>
    where
        A: Answer,
        F: Future<Output = Result<A, TransportFailure>>,
    {
        let started = tokio::time::Instant::now();
        let mut made = 0;
        loop {
            let result = attempt().await;
            made += 1;
            let (verdict, outcome) = {
                let outcome = match &result {
                    Ok(answer) => Attempt::Answered(answer),
                    Err(failure) => Attempt::Failed(*failure),
                };
                let verdict = self.after(made, &outcome, started.elapsed(), SystemTime::now());
                (verdict, format!("{outcome:?}"))
            };
            let Verdict::Retry(wait) = verdict else { return result };
            let wait = wait.draw(random());
            tracing::warn!(outcome, made, ?wait, "a request is made again");
            tokio::time::sleep(wait).await;
        }
    }

    fn backoff_after(&self, made: u32) -> Duration {
        let factor = 2_u32.checked_pow(made.saturating_sub(1)).unwrap_or(u32::MAX);
        self.backoff.saturating_mul(factor).min(self.backoff_max)
    }

    /// The wait an answer asks for.
    fn asked_wait(&self, answer: &dyn Answer, now: SystemTime) -> Option<Duration> {
        let milliseconds = answer.header("retry-after-ms").and_then(milliseconds);
        let asked = milliseconds
            .or_else(|| answer.header("retry-after").and_then(|text| seconds_or_date(text, now)))?;
        Some(asked.min(self.retry_after_max))
    }
}

fn milliseconds(text: &str) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / 1000.0).ok()
}

/// Whole seconds, or an HTTP date that is yet to come.
fn seconds_or_date(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date: Timestamp = DateTimeParser::new().parse_timestamp(text).ok()?;
    let since_epoch = Duration::from_secs(u64::try_from(date.as_second()).ok()?);
    let date = SystemTime::UNIX_EPOCH.checked_add(since_epoch)?;
    let wait = date.duration_since(now).ok()?;
    (!wait.is_zero()).then_some(wait)
}

fn is_repeatable(answer: &dyn Answer) -> bool {
    match answer.status() {
        429 => !is_out_of_quota(answer.body()),
        status => (500..600).contains(&status),
    }
}

/// Whether there is nothing left to wait for: the account has run dry.
fn is_out_of_quota(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body.pointer("/error/type").and_then(Value::as_str) == Some("insufficient_quota")
}
