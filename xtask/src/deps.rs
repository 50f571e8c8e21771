//! The edges between our crates, and how many packages we build on.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use cargo_metadata::DependencyKind;

use crate::edges::{LOCK_BOUND, TESTS_MAY_USE, rule};
use crate::shell::{Done, Shell};
use crate::workspace::Workspace;

/// One of our crates names another one in its manifest.
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    /// For tests only.
    dev: bool,
    /// It asks for a version, so packaging needs the other crate published first.
    versioned: bool,
}

/// Compares the manifests with the table of edges.
pub(crate) fn run(workspace: &Workspace, _: &Shell) -> Result<Done> {
    let members: Vec<&str> = workspace.members.iter().map(|p| p.name.as_str()).collect();
    let edges = edges(workspace, &members);
    let mut faults = faults(&members, &edges);

    let lock = std::fs::read_to_string(workspace.root.join("Cargo.lock"))
        .context("cannot read Cargo.lock")?;
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    if packages > LOCK_BOUND {
        faults.push(format!("Cargo.lock holds {packages} packages, the bound is {LOCK_BOUND}"));
    }

    if !faults.is_empty() {
        bail!("{} faults\n  {}", faults.len(), faults.join("\n  "));
    }
    Ok(Done::line(format!(
        "{} crates, {} edges, {packages} of {LOCK_BOUND} packages",
        members.len(),
        edges.len()
    )))
}

fn edges<'a>(workspace: &'a Workspace, members: &[&str]) -> Vec<Edge<'a>> {
    let mut edges = Vec::new();
    for package in &workspace.members {
        for dependency in &package.dependencies {
            if members.contains(&dependency.name.as_str()) {
                edges.push(Edge {
                    from: &package.name,
                    to: &dependency.name,
                    dev: dependency.kind == DependencyKind::Development,
                    versioned: dependency.req.to_string() != "*",
                });
            }
        }
    }
    edges
}

fn faults(members: &[&str], edges: &[Edge<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    for member in members {
        if rule(member).is_none() {
            faults.push(format!("{member} is missing from xtask/src/edges.rs"));
        }
    }
    for Edge { from, to, dev, versioned } in edges {
        let Some(rule) = rule(from) else { continue };
        let normal = rule.may_use.contains(to);
        if !*dev && !normal {
            faults.push(format!("{from} may not depend on {to}"));
        }
        if *dev && !normal && !TESTS_MAY_USE.contains(to) {
            faults.push(format!("the tests of {from} may not depend on {to}"));
        }
        if *dev && *versioned && reaches(edges, to, from) {
            faults.push(format!(
                "the tests of {from} depend on {to}, which needs {from}: packaging breaks; \
                 leave the version out (`{to} = {{ path = \"…\" }}`)"
            ));
        }
    }
    faults
}

/// Whether packaging `start` needs `goal`.
fn reaches(edges: &[Edge<'_>], start: &str, goal: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(name) = open.pop() {
        if name == goal {
            return true;
        }
        if seen.insert(name) {
            let needed = edges.iter().filter(|e| e.from == name && (!e.dev || e.versioned));
            open.extend(needed.map(|edge| edge.to));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::RULES;

    fn edge(from: &'static str, to: &'static str, dev: bool, versioned: bool) -> Edge<'static> {
        Edge { from, to, dev, versioned }
    }

    #[test]
    fn the_table_names_each_crate_once_and_only_crates_it_knows() {
        let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        for rule in RULES {
            let unknown: Vec<_> = rule.may_use.iter().filter(|to| !names.contains(*to)).collect();
            assert!(unknown.is_empty(), "{} names {unknown:?}", rule.name);
        }
    }

    #[test]
    fn an_edge_of_the_table_passes() {
        let edges = [edge("akgentic-llm", "akgentic-core", false, true)];
        assert!(faults(&["akgentic-llm", "akgentic-core"], &edges).is_empty());
    }

    #[test]
    fn an_edge_against_the_table_fails() {
        let edges = [edge("akgentic-core", "akgentic-llm", false, true)];
        assert_eq!(
            faults(&["akgentic-core"], &edges),
            ["akgentic-core may not depend on akgentic-llm"]
        );
    }

    #[test]
    fn a_crate_missing_from_the_table_fails() {
        assert_eq!(
            faults(&["akgentic-new"], &[]),
            ["akgentic-new is missing from xtask/src/edges.rs"]
        );
    }

    #[test]
    fn tests_reach_the_testkit_but_no_other_domain() {
        let edges = [
            edge("akgentic-team", "akgentic-testkit", true, false),
            edge("akgentic-team", "akgentic-search", true, false),
        ];
        assert_eq!(
            faults(&["akgentic-team"], &edges),
            ["the tests of akgentic-team may not depend on akgentic-search"]
        );
    }

    #[test]
    fn a_versioned_cycle_through_tests_fails() {
        let back = edge("akgentic-testkit", "akgentic-core", false, true);
        let bad = [edge("akgentic-core", "akgentic-testkit", true, true), back];
        assert_eq!(faults(&["akgentic-core"], &bad).len(), 1);

        let back = edge("akgentic-testkit", "akgentic-core", false, true);
        let good = [edge("akgentic-core", "akgentic-testkit", true, false), back];
        assert!(faults(&["akgentic-core"], &good).is_empty());
    }
}
