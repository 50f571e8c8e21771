//! Which card is wired before which.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

/// A card that has to be wired first, by its [name](crate::ToolCard::name).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dependency {
    /// Without it the cards cannot be wired.
    Required(String),
    /// Goes first when it is there.
    Optional(String),
}

impl Dependency {
    /// A card that must be there.
    pub fn required(name: impl Into<String>) -> Self {
        Self::Required(name.into())
    }

    /// A card that goes first when it is there.
    pub fn optional(name: impl Into<String>) -> Self {
        Self::Optional(name.into())
    }

    /// The name of the card.
    pub fn name(&self) -> &str {
        match self {
            Self::Required(name) | Self::Optional(name) => name,
        }
    }
}

/// Why cards cannot be put in order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// A required card is not among them.
    #[error("{card} needs {dependency}, which is not among the cards")]
    Missing {
        /// The first card that misses one.
        card: String,
        /// The first card it misses.
        dependency: String,
    },
    /// Cards need one another.
    #[error("the cards depend on each other in a cycle: {}; not ordered: {}", Path(cycle), unordered.join(", "))]
    Cycle {
        /// Every name that could not be ordered, sorted; some only stand behind the cycle.
        unordered: Vec<String>,
        /// One actual cycle: each needs the next, the last needs the first.
        cycle: Vec<String>,
    },
}

struct Path<'a>(&'a [String]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in self.0 {
            write!(f, "{name} -> ")?;
        }
        f.write_str(self.0.first().map_or("", String::as_str))
    }
}

/// Orders cards so that each comes after what it depends on.
///
/// Given are name and dependencies of each card; several cards of one name are one node with all
/// their dependencies. The result holds the positions of the cards; where dependencies do not
/// decide, the given order stays.
///
/// ```
/// use akgentic_tool_core::{Dependency, order_cards};
///
/// let cards = [
///     ("PlanningTool", vec![Dependency::optional("VectorStoreTool")]),
///     ("VectorStoreTool", vec![]),
/// ];
/// assert_eq!(order_cards(&cards)?, [1, 0]);
/// # Ok::<_, akgentic_tool_core::OrderError>(())
/// ```
pub fn order_cards<N, D>(cards: &[(N, D)]) -> Result<Vec<usize>, OrderError>
where
    N: AsRef<str>,
    D: AsRef<[Dependency]>,
{
    let nodes = Nodes::collect(cards)?;
    let ordered = nodes.sorted();
    if ordered.len() < nodes.names.len() {
        return Err(nodes.cycle(&ordered));
    }
    Ok(ordered.into_iter().flat_map(|node| nodes.cards[node].iter().copied()).collect())
}

/// One node per name, in order of first appearance.
struct Nodes<'a> {
    names: Vec<&'a str>,
    /// Positions of the cards of each node.
    cards: Vec<Vec<usize>>,
    /// What each node needs, without repetitions.
    needs: Vec<Vec<usize>>,
}

impl<'a> Nodes<'a> {
    fn collect<N, D>(cards: &'a [(N, D)]) -> Result<Self, OrderError>
    where
        N: AsRef<str>,
        D: AsRef<[Dependency]>,
    {
        let mut by_name: HashMap<&str, usize> = HashMap::with_capacity(cards.len());
        let mut nodes = Self { names: Vec::new(), cards: Vec::new(), needs: Vec::new() };
        for (position, (name, _)) in cards.iter().enumerate() {
            let name = name.as_ref();
            let node = *by_name.entry(name).or_insert_with(|| {
                nodes.names.push(name);
                nodes.cards.push(Vec::new());
                nodes.needs.push(Vec::new());
                nodes.names.len() - 1
            });
            nodes.cards[node].push(position);
        }
        for (name, dependencies) in cards {
            let node = by_name[name.as_ref()];
            for dependency in dependencies.as_ref() {
                match (by_name.get(dependency.name()), dependency) {
                    (Some(needed), _) if nodes.needs[node].contains(needed) => {}
                    (Some(needed), _) => nodes.needs[node].push(*needed),
                    (None, Dependency::Optional(_)) => {}
                    (None, Dependency::Required(missing)) => {
                        let card = name.as_ref().to_owned();
                        return Err(OrderError::Missing { card, dependency: missing.clone() });
                    }
                }
            }
        }
        Ok(nodes)
    }

    /// Nodes whose needs are met, first come first served.
    fn sorted(&self) -> Vec<usize> {
        let mut open: Vec<usize> = self.needs.iter().map(Vec::len).collect();
        let mut dependents = vec![Vec::new(); self.names.len()];
        for (node, needs) in self.needs.iter().enumerate() {
            for &needed in needs {
                dependents[needed].push(node);
            }
        }
        let mut ready: VecDeque<usize> = (0..open.len()).filter(|&node| open[node] == 0).collect();
        let mut ordered = Vec::with_capacity(open.len());
        while let Some(node) = ready.pop_front() {
            ordered.push(node);
            for &dependent in &dependents[node] {
                open[dependent] -= 1;
                if open[dependent] == 0 {
                    ready.push_back(dependent);
                }
            }
        }
        ordered
    }

    fn cycle(&self, ordered: &[usize]) -> OrderError {
        let ordered: HashSet<usize> = ordered.iter().copied().collect();
        let left: Vec<usize> =
            (0..self.names.len()).filter(|node| !ordered.contains(node)).collect();
        let mut unordered: Vec<String> =
            left.iter().map(|&node| self.names[node].to_owned()).collect();
        unordered.sort();
        // Every node that is left needs one that is left, so walking on must come round.
        let mut walked = Vec::new();
        let mut node = left.first().copied();
        while let Some(current) = node {
            if let Some(start) = walked.iter().position(|&seen| seen == current) {
                walked.drain(..start);
                break;
            }
            walked.push(current);
            node = self.needs[current].iter().copied().find(|need| !ordered.contains(need));
        }
        let cycle = walked.into_iter().map(|node| self.names[node].to_owned()).collect();
        OrderError::Cycle { unordered, cycle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(names: &[&str]) -> Vec<Dependency> {
        names.iter().map(|name| Dependency::required(*name)).collect()
    }

    #[test]
    fn duplicates_count_together() {
        let cards = [("A", needs(&["B"])), ("A", needs(&[])), ("B", needs(&[]))];
        assert_eq!(order_cards(&cards), Ok(vec![2, 0, 1]));
    }

    #[test]
    fn a_missing_optional_card_is_no_error() {
        let cards = [("A", vec![Dependency::optional("Z")])];
        assert_eq!(order_cards(&cards), Ok(vec![0]));
    }

    #[test]
    fn the_cycle_is_told_apart_from_what_stands_behind_it() {
        let cards = [("D", needs(&["C"])), ("B", needs(&["C"])), ("C", needs(&["B"]))];
        let error = order_cards(&cards).unwrap_err();
        assert_eq!(
            error,
            OrderError::Cycle {
                unordered: vec!["B".into(), "C".into(), "D".into()],
                cycle: vec!["C".into(), "B".into()],
            }
        );
        assert_eq!(
            error.to_string(),
            "the cards depend on each other in a cycle: C -> B -> C; not ordered: B, C, D"
        );
    }

    #[test]
    fn a_card_that_needs_itself_is_a_cycle() {
        let cards = [("A", needs(&["A"]))];
        let cycle = vec!["A".to_owned()];
        let unordered = cycle.clone();
        assert_eq!(order_cards(&cards), Err(OrderError::Cycle { unordered, cycle }));
    }
}
