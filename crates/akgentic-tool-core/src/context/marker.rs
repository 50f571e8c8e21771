//! The numbered line every context update starts with, and finding it again.

const OPENING: &str = "**Context update ";
const CLOSING: &str = "**";

/// Whether an update repeats everything or tells what changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// Nothing was told before.
    Snapshot,
    /// Something was told before.
    Change,
}

impl UpdateKind {
    fn suffix(self) -> &'static str {
        match self {
            Self::Snapshot => "current state.",
            Self::Change => "state has changed since the last update.",
        }
    }
}

/// The line that starts update `number`.
pub fn marker_line(number: i64, kind: UpdateKind) -> String {
    format!("{OPENING}{number}{CLOSING} \u{2014} {}", kind.suffix())
}

/// The highest update number in `text`, 0 without any.
///
/// Numbers that do not fit 64 bits are ignored.
///
/// ```
/// use akgentic_tool_core::context::highest_marker;
///
/// assert_eq!(highest_marker("> **Context update 7** and **Context update 3**"), 7);
/// assert_eq!(highest_marker("no update here"), 0);
/// ```
pub fn highest_marker(text: &str) -> i64 {
    let mut highest = 0;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(OPENING) {
        rest = after;
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let Some((number, after)) = after.split_at_checked(digits) else { continue };
        if let (Some(after), false) = (after.strip_prefix(CLOSING), number.is_empty()) {
            highest = highest.max(number.parse().unwrap_or(0));
            rest = after;
        }
    }
    highest
}

/// The highest update number in the messages so far, kept as messages come and go.
///
/// One entry per message of a history, whatever its kind: messages that show nothing to the model
/// as its user count as empty. A higher number may stand before a lower one, so the maximum of each
/// prefix is kept: adding looks at the new message only, cutting looks at nothing.
///
/// ```
/// use akgentic_tool_core::context::MarkerScan;
///
/// let mut scan = MarkerScan::default();
/// scan.push(["**Context update 4** — current state."]);
/// scan.push(["quoting **Context update 2**"]);
/// assert_eq!(scan.highest(), 4);
/// scan.truncate(0);
/// assert_eq!(scan.highest(), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkerScan {
    /// The highest number in the messages up to and including each.
    maxima: Vec<i64>,
}

impl MarkerScan {
    /// A scan over these messages, each given as its user-side texts.
    pub fn over<'a, M>(messages: impl IntoIterator<Item = M>) -> Self
    where
        M: IntoIterator<Item = &'a str>,
    {
        let mut scan = Self::default();
        for message in messages {
            scan.push(message);
        }
        scan
    }

    /// Adds a message, given as its user-side texts.
    pub fn push<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        let own = texts.into_iter().map(highest_marker).max().unwrap_or(0);
        self.maxima.push(own.max(self.highest()));
    }

    /// Brings the scan up to a history that grew or lost its end, each message given as its
    /// user-side texts; only texts of new messages are looked at.
    ///
    /// A history that was replaced looks the same as one that grew: start a new scan then.
    pub fn follow<'a, M>(
        &mut self,
        messages: impl IntoIterator<Item = M, IntoIter: ExactSizeIterator>,
    ) where
        M: IntoIterator<Item = &'a str>,
    {
        let messages = messages.into_iter();
        self.truncate(messages.len());
        for message in messages.skip(self.len()) {
            self.push(message);
        }
    }

    /// Keeps the first `length` messages.
    pub fn truncate(&mut self, length: usize) {
        self.maxima.truncate(length);
    }

    /// How many messages were added.
    pub fn len(&self) -> usize {
        self.maxima.len()
    }

    /// Whether no message was added.
    pub fn is_empty(&self) -> bool {
        self.maxima.is_empty()
    }

    /// The highest number in all messages, 0 without any.
    pub fn highest(&self) -> i64 {
        self.maxima.last().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ascii_markers_count() {
        for (text, number) in [
            ("**Context update 12** — x", 12),
            ("**Context update 12*", 0),
            ("**Context update **", 0),
            ("**Context update -3**", 0),
            ("**Context update ٣**", 0),
            ("**context update 3**", 0),
            ("**Context update 99999999999999999999**", 0),
            ("**Context update **Context update 5**", 5),
            ("**Context update 1**Context update 5**", 1),
            ("***Context update 007***", 7),
        ] {
            assert_eq!(highest_marker(text), number, "{text:?}");
        }
    }

    #[test]
    fn a_marker_line_is_found_again() {
        let line = marker_line(41, UpdateKind::Change);
        assert_eq!(line, "**Context update 41** — state has changed since the last update.");
        assert_eq!(highest_marker(&line), 41);
    }
}
