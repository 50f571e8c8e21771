//! What the agents consumed.

use std::collections::BTreeMap;
use std::fmt;

use akgentic::llm::LlmUsageEvent;

/// Usage by agent, folded from their events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage(BTreeMap<String, Used>);

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    input: u64,
    output: u64,
    requests: u64,
    /// In US dollars, about; 0 when unknown.
    cost: f64,
}

impl Used {
    fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.requests = self.requests.saturating_add(other.requests);
        self.cost += other.cost;
    }
}

impl Usage {
    pub(crate) fn add(&mut self, agent: &str, event: &LlmUsageEvent) {
        let LlmUsageEvent { input_tokens, output_tokens, requests, estimated_cost_usd, .. } =
            *event;
        self.0.entry(agent.to_owned()).or_default().add(Used {
            input: input_tokens,
            output: output_tokens,
            requests,
            cost: estimated_cost_usd,
        });
    }
}

/// A table: a line for each agent, one for all of them.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("No model was asked so far.");
        }
        let width =
            self.0.keys().map(|name| name.chars().count()).max().unwrap_or_default().max(12);
        let head = ["input", "output", "requests", "cost", "total"];
        write!(f, "{:<width$}", "agent")?;
        head.iter().try_for_each(|title| write!(f, " {title:>10}"))?;
        let mut all = Used::default();
        for (name, used) in &self.0 {
            row(f, name, width, *used)?;
            all.add(*used);
        }
        row(f, "total", width, all)
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, width: usize, used: Used) -> fmt::Result {
    let Used { input, output, requests, cost } = used;
    let total = input.saturating_add(output);
    let cost = if cost > 0.0 { format!("${cost:.4}") } else { "-".to_owned() };
    write!(f, "\n{name:<width$} {input:>10} {output:>10} {requests:>10} {cost:>10} {total:>10}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_and_all_of_them_get_a_line() {
        let mut usage = Usage::default();
        assert_eq!(usage.to_string(), "No model was asked so far.");
        let event = |input, output, cost| LlmUsageEvent {
            input_tokens: input,
            output_tokens: output,
            requests: 1,
            estimated_cost_usd: cost,
            ..LlmUsageEvent::default()
        };
        usage.add("@B", &event(10, 1, 0.0));
        usage.add("@A", &event(20, 2, 0.25));
        usage.add("@B", &event(30, 3, 0.0));
        let lines: Vec<String> = usage.to_string().lines().map(str::to_owned).collect();
        let words = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(0), ["agent", "input", "output", "requests", "cost", "total"]);
        assert_eq!(words(1), ["@A", "20", "2", "1", "$0.2500", "22"]);
        assert_eq!(words(2), ["@B", "40", "4", "2", "-", "44"]);
        assert_eq!(words(3), ["total", "60", "6", "3", "$0.2500", "66"]);
        assert_eq!(lines.len(), 4);
    }
}
