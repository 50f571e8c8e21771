//! Which crate replays which folder of vectors.

/// Folder, and the crates whose tests replay its topics.
pub const OWNERS: &[(&str, &[&str])] = &[
    ("agent", &["akgentic-agent"]),
    ("core", &["akgentic-core"]),
    ("knowledge-graph", &["akgentic-knowledge-graph"]),
    ("llm", &["akgentic-llm"]),
    ("mailbox", &["akgentic-mailbox"]),
    ("mcp", &["akgentic-mcp"]),
    ("metadata", &["akgentic-metadata"]),
    ("model", &["akgentic-model"]),
    ("notification", &["akgentic-notification"]),
    ("planning", &["akgentic-planning"]),
    ("sandbox", &["akgentic-sandbox"]),
    ("search", &["akgentic-search"]),
    ("skill", &["akgentic-skill"]),
    ("team", &["akgentic-team"]),
    ("tool-core", &["akgentic-tool-core"]),
    ("vector-store", &["akgentic-vector", "akgentic-vector-store"]),
    ("workspace-files", &["akgentic-workspace"]),
    ("workspace-gate", &["akgentic-workspace"]),
];

/// The crates that replay a folder; none for a folder nobody claims.
pub fn owner_of(folder: &str) -> &'static [&'static str] {
    OWNERS.iter().find(|(known, _)| *known == folder).map_or(&[], |(_, crates)| crates)
}
