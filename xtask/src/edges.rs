//! The one list of crates and of the edges between them.
//!
//! `docs/architecture.md` shows the same table to people. Crates that are planned but not built yet
//! are listed too.

/// A crate and which of ours it may depend on.
pub(crate) struct Rule {
    /// The crate.
    pub name: &'static str,
    /// What it may use at run time and in its build script.
    pub may_use: &'static [&'static str],
}

/// What any crate may use in its tests, beside its own edges.
pub(crate) const TESTS_MAY_USE: &[&str] = &["akgentic-testkit", "akgentic-agent"];

/// Most packages that `Cargo.lock` may hold; about fifty of them are for other systems and never
/// built here. Seventeen more are never built anywhere: a dependency of genai names them in
/// features that it asks for only if somebody else uses them (`chrono?/std`).
pub(crate) const LOCK_BOUND: usize = 420;

const BASE: &[&str] = &["akgentic-core", "akgentic-tool-core"];
const WITH_VECTOR: &[&str] = &["akgentic-core", "akgentic-tool-core", "akgentic-vector"];
const FACADE: &[&str] = &["akgentic"];

/// Every crate of the workspace.
pub(crate) const RULES: &[Rule] = &[
    Rule { name: "akgentic-core", may_use: &[] },
    Rule { name: "akgentic-tool-core", may_use: &["akgentic-core"] },
    Rule { name: "akgentic-llm", may_use: BASE },
    Rule { name: "akgentic-vector", may_use: BASE },
    Rule { name: "akgentic-sandbox", may_use: BASE },
    Rule {
        name: "akgentic-workspace",
        may_use: &["akgentic-core", "akgentic-tool-core", "akgentic-sandbox"],
    },
    Rule { name: "akgentic-planning", may_use: WITH_VECTOR },
    Rule { name: "akgentic-knowledge-graph", may_use: WITH_VECTOR },
    Rule { name: "akgentic-vector-store", may_use: WITH_VECTOR },
    Rule { name: "akgentic-search", may_use: BASE },
    Rule { name: "akgentic-team", may_use: BASE },
    Rule { name: "akgentic-metadata", may_use: BASE },
    Rule { name: "akgentic-notification", may_use: BASE },
    Rule { name: "akgentic-skill", may_use: BASE },
    Rule { name: "akgentic-mailbox", may_use: BASE },
    Rule { name: "akgentic-model", may_use: BASE },
    Rule { name: "akgentic-mcp", may_use: BASE },
    Rule {
        name: "akgentic-agent",
        may_use: &[
            "akgentic-core",
            "akgentic-llm",
            "akgentic-tool-core",
            "akgentic-team",
            "akgentic-mailbox",
            "akgentic-model",
        ],
    },
    Rule {
        name: "akgentic",
        may_use: &[
            "akgentic-agent",
            "akgentic-core",
            "akgentic-knowledge-graph",
            "akgentic-llm",
            "akgentic-mailbox",
            "akgentic-mcp",
            "akgentic-metadata",
            "akgentic-model",
            "akgentic-notification",
            "akgentic-planning",
            "akgentic-sandbox",
            "akgentic-search",
            "akgentic-skill",
            "akgentic-team",
            "akgentic-tool-core",
            "akgentic-vector",
            "akgentic-vector-store",
            "akgentic-workspace",
        ],
    },
    Rule { name: "akgentic-cli", may_use: FACADE },
    Rule { name: "akgentic-examples", may_use: FACADE },
    Rule {
        name: "akgentic-testkit",
        may_use: &["akgentic-core", "akgentic-tool-core", "akgentic-llm"],
    },
    Rule { name: "akgentic-properties", may_use: &["akgentic-sandbox", "akgentic-workspace"] },
    Rule { name: "xtask", may_use: &[] },
];

/// The rule for a crate.
pub(crate) fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}
