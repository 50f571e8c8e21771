//! The decision table: what an agent may do to a file, from what is there and what it saw.

use super::digest::Digest;
use super::observation::Observation;
use super::refusal::Code;

/// What an agent means to do to one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Give it a whole content; a section of a patch that only adds counts as this.
    Write,
    /// Remove it.
    Delete,
    /// Replace an anchor.
    Edit,
    /// Apply the hunks of a section of a patch.
    PatchUpdate,
    /// Remove it by a section of a patch.
    PatchDelete,
}

impl Intent {
    /// Whether nothing of the present content survives it.
    pub const fn is_whole(self) -> bool {
        match self {
            Self::Write | Self::Delete | Self::PatchDelete => true,
            Self::Edit | Self::PatchUpdate => false,
        }
    }
}

/// What the table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Go ahead: nothing is there.
    Create,
    /// Go ahead: the agent saw all that is there.
    Replace,
    /// Go ahead where the anchor is found.
    Anchored {
        /// The file is not the one the agent saw: only an exact match will do.
        exact_only: bool,
        /// The agent knows the whole file afterwards if it knew the whole of it before.
        knows_all: bool,
    },
    /// A patch names a file that is not there: the patch fails, nothing is refused.
    TargetMissing,
    /// No, and why.
    Refuse(Code),
}

/// Looks the case up in the table.
pub fn decide(intent: Intent, live: Option<&Digest>, seen: Option<&Observation>) -> Ruling {
    let (live, seen) = match (live, seen) {
        (None, Some(_)) => return Ruling::Refuse(Code::Gone),
        (None, None) => {
            return match intent {
                Intent::Write => Ruling::Create,
                Intent::Delete | Intent::Edit => Ruling::Refuse(Code::NotFound),
                Intent::PatchUpdate | Intent::PatchDelete => Ruling::TargetMissing,
            };
        }
        (Some(_), None) if intent.is_whole() => return Ruling::Refuse(Code::UnreadWrite),
        (Some(_), None) => return Ruling::Refuse(Code::UnreadEdit),
        (Some(live), Some(seen)) => (live, seen),
    };
    let unchanged = seen.sha == *live;
    if !intent.is_whole() {
        return Ruling::Anchored { exact_only: !unchanged, knows_all: unchanged && seen.full };
    }
    match (unchanged, seen.full) {
        (false, _) => Ruling::Refuse(Code::Changed),
        (true, false) => Ruling::Refuse(Code::Partial),
        (true, true) => Ruling::Replace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTENTS: [Intent; 5] =
        [Intent::Write, Intent::Delete, Intent::Edit, Intent::PatchUpdate, Intent::PatchDelete];

    fn seen(content: &str, full: bool) -> Observation {
        Observation { sha: Digest::of(content.as_bytes()), full }
    }

    #[test]
    fn the_table() {
        let live = Digest::of(b"live");
        for intent in INTENTS {
            let whole = intent.is_whole();
            let unread = if whole { Code::UnreadWrite } else { Code::UnreadEdit };
            assert_eq!(decide(intent, Some(&live), None), Ruling::Refuse(unread));
            assert_eq!(decide(intent, None, Some(&seen("live", true))), Ruling::Refuse(Code::Gone));
            for (content, full) in [("live", true), ("live", false), ("old", true), ("old", false)]
            {
                let unchanged = content == "live";
                let expected = match (whole, unchanged, full) {
                    (false, _, _) => {
                        Ruling::Anchored { exact_only: !unchanged, knows_all: unchanged && full }
                    }
                    (true, false, _) => Ruling::Refuse(Code::Changed),
                    (true, true, false) => Ruling::Refuse(Code::Partial),
                    (true, true, true) => Ruling::Replace,
                };
                assert_eq!(decide(intent, Some(&live), Some(&seen(content, full))), expected);
            }
        }
        let nothing = INTENTS.map(|intent| decide(intent, None, None));
        let missing = Ruling::Refuse(Code::NotFound);
        let target = Ruling::TargetMissing;
        assert_eq!(nothing, [Ruling::Create, missing, missing, target, target]);
    }
}
