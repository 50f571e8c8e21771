//! What the agent behind a team card may add to hiring and firing.

use akgentic_core::ActorAddress;

/// Hooks of the agent a team card works for; an agent without them hires and fires all the same.
///
/// What implements it must not keep the agent alive.
pub trait TeamManagement: Send + Sync {
    /// A member was hired.
    fn on_hire(&self, member: &ActorAddress) {
        let _ = member;
    }

    /// A member was fired.
    fn on_fire(&self, member: &ActorAddress) {
        let _ = member;
    }
}

/// Where the numbers of generated names come from; a capability that tests replace.
pub trait HireNumbers: Send + Sync {
    /// A number from 100 to 999.
    fn next(&self) -> u32;
}

/// Numbers nobody can guess.
pub(crate) struct RandomNumbers;

impl HireNumbers for RandomNumbers {
    fn next(&self) -> u32 {
        rand::random_range(100..=999)
    }
}
