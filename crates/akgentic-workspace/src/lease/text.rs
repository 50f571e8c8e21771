//! What an agent reads about a run.

use std::fmt::Write as _;

use super::models::{ExecOutcome, ExecState, ExecStatus};
use crate::text::clip;

/// Bytes of one stream that an answer shows at most.
pub const STREAM_CHARS: usize = 64 * 1024;

/// Bytes of one stream that are asked of a sandbox: with the line that tells what it left out, they
/// are shown as they are.
pub const STREAM_SHOWN: usize = STREAM_CHARS - 1024;

/// The outcome of a run.
pub fn outcome(outcome: &ExecOutcome) -> String {
    let ExecOutcome { stdout, stderr, exit_code, enforcement, notices, .. } = outcome;
    let verdict = if *exit_code == 0 { "OK" } else { "FAILED" };
    let (stdout, stderr) = (bounded(stdout), bounded(stderr));
    let mut text = format!(
        "exit_code: {exit_code} ({verdict})\nstdout:\n{stdout}\nstderr (note: many tools write \
         progress to stderr even on success):\n{stderr}"
    );
    for notice in enforcement.iter().map(String::as_str).chain(notices.iter().map(String::as_str)) {
        let line = notice.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        if !text.ends_with('\n') {
            text.push('\n');
        }
        _ = write!(text, "[... {line} ...]");
    }
    text
}

/// The state of a run.
pub fn status(status: &ExecStatus) -> String {
    let run = &status.run_id;
    match status.state {
        ExecState::Done => status.outcome.as_ref().map_or_else(
            || format!("Run {run} ended, and what it wrote is not kept any more."),
            outcome,
        ),
        ExecState::Failed => format!("Run {run} failed: {}", status.reason),
        ExecState::Running => in_progress(run),
        ExecState::Unknown => {
            let recent = match status.recent_run_ids.as_slice() {
                [] => "none".to_owned(),
                recent => recent.join(", "),
            };
            format!(
                "There is no run '{run}' here, or its result is not kept any more. Your recent runs: \
                 {recent}. Pass one of them to workspace_exec_result."
            )
        }
    }
}

/// The run goes on and the caller does not wait for it.
pub fn in_progress(run: &str) -> String {
    format!(
        "Run {run} is still going and holds the workspace: files can be read, not changed. Call \
         workspace_exec_result('{run}') on your next turn for its result."
    )
}

/// The caller waited, and what the command is to run in has not started yet.
pub fn starting(run: &str) -> String {
    format!(
        "Run {run} has not begun: the sandbox is still starting. It holds the workspace meanwhile: files \
         can be read, not changed. workspace_exec_result('{run}') has the result once it ends."
    )
}

/// The caller waited as long as the run may take, and it has not ended.
pub fn timed_out(run: &str, budget_s: f64) -> String {
    format!(
        "Run {run} has not reported within its budget of {}s. There is no output yet, and it still \
         holds the workspace. workspace_exec_result('{run}') has the result once it ends.",
        general(budget_s)
    )
}

/// The backend never got ready, so the command never ran.
pub fn backend_not_ready(seconds: u64) -> String {
    format!(
        "the sandbox was not ready within {seconds}s. The command never ran and nothing was written; \
         run it again later"
    )
}

/// The command was killed by its budget.
pub fn killed(budget_s: f64) -> String {
    format!("The command exceeded its budget of {}s and was killed.", general(budget_s))
}

/// A stream, its middle cut out when it is too long.
fn bounded(stream: &str) -> std::borrow::Cow<'_, str> {
    if stream.len() <= STREAM_CHARS {
        return stream.into();
    }
    let head = clip(stream, STREAM_CHARS / 2);
    let mut from = stream.len().saturating_sub(STREAM_CHARS / 2).max(head.len());
    while !stream.is_char_boundary(from) {
        from += 1;
    }
    let tail = stream.get(from..).unwrap_or_default();
    let missing = stream.len() - head.len() - tail.len();
    if missing == 0 {
        return stream.into();
    }
    format!("{head}\n[... {missing} bytes not shown ...]\n{tail}").into()
}

/// A number with six significant digits, as `%g` of C writes it.
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { value.to_string() };
    }
    let scientific = format!("{value:.5e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.unsigned_abs())
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_significant_digits() {
        for (value, text) in [
            (0.0001, "0.0001"),
            (1e-5, "1e-05"),
            (999_999.0, "999999"),
            (1_000_000.0, "1e+06"),
            (1.234_567_89, "1.23457"),
            (-2.5, "-2.5"),
            (0.0, "0"),
            (14.999_999_9, "15"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn a_long_stream_loses_its_middle() {
        let stream = "é".repeat(STREAM_CHARS);
        let shown = bounded(&stream);
        assert!(shown.len() < 2 * STREAM_CHARS);
        assert!(shown.contains("bytes not shown"));
        assert!(shown.starts_with('é') && shown.ends_with('é'));
    }
}
