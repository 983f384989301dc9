//! Claims: who works in a session, or on a task of it, alone for a while.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// A person or agent who works alone in a session or on a task: automatic checkpoints of others leave the session alone, and others
/// who save to it are warned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// An agent's name or the git user's.
    pub by: String,
    /// The machine.
    pub host: String,
    /// Since when.
    pub at: Timestamp,
    /// Until when; permanently without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Claim {
    /// The claim that holds after two states of a session came together. What one side changed is taken; where both
    /// claimed, theirs is the one that others saw first, for it was shared.
    pub fn merged(base: Option<&Self>, ours: Option<&Self>, theirs: Option<&Self>) -> Option<Self> {
        match (ours == base, theirs == base) {
            (false, true) => ours,
            (false, false) => theirs.or(ours),
            (true, _) => theirs,
        }
        .cloned()
    }

    /// Whether it holds at a time against others.
    pub fn holds_against(&self, by: &str, now: Timestamp) -> bool {
        self.by != by && self.until.is_none_or(|until| now < until)
    }
}

impl fmt::Display for Claim {
    /// `by Nina on vm until 2026-11-25 18:04 +0100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} on {}", self.by, self.host)?;
        match self.until {
            Some(until) => write!(f, " until {}", until.minute()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_claims_the_shared_one_holds() {
        let claim = |by: &str| Claim {
            by: by.to_owned(),
            host: "h".to_owned(),
            at: Timestamp::from_unix(0, 0),
            until: None,
        };
        let (ana, ben) = (claim("ana"), claim("ben"));
        for (base, ours, theirs, wanted) in [
            (None, Some(&ana), None, Some(&ana)),
            (None, None, Some(&ben), Some(&ben)),
            (None, Some(&ana), Some(&ben), Some(&ben)),
            (Some(&ana), Some(&ana), None, None),
            (Some(&ana), None, Some(&ana), None),
            (Some(&ana), Some(&ana), Some(&ben), Some(&ben)),
            (Some(&ana), None, Some(&ben), Some(&ben)),
            (Some(&ana), Some(&ben), None, Some(&ben)),
        ] {
            assert_eq!(
                Claim::merged(base, ours, theirs).as_ref(),
                wanted,
                "{base:?} {ours:?} {theirs:?}"
            );
        }
    }
}
