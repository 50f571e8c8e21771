//! Names somebody made up, as they are told back.

/// Most characters that are told of a name.
const TOLD: usize = 200;

/// The name in quotes, on one line, its start only when it is long.
///
/// ```
/// assert_eq!(akgentic_tool_core::quoted("a\nb"), r#""a\nb""#);
/// assert!(akgentic_tool_core::quoted(&"x".repeat(1_000_000)).len() < 300);
/// ```
pub fn quoted(name: &str) -> String {
    match name.char_indices().nth(TOLD) {
        None => format!("{name:?}"),
        Some((end, _)) => format!("{:?}…", name.get(..end).unwrap_or_default()),
    }
}
