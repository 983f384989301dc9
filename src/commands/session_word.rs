//! A session as an option or argument names it: by its name, or by its branch.

use std::str::FromStr;

use super::error::{CommandError, FailureKind};
use crate::{
    model::name::{InvalidName, ShortName},
    ops::{Scene, branch_sessions},
};

/// A word for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionWord {
    /// A name. It need not be taken yet.
    Name(ShortName),
    /// A name that a branch can have and a session cannot, with the reason.
    Branch(String, InvalidName),
}

impl From<ShortName> for SessionWord {
    fn from(name: ShortName) -> Self {
        Self::Name(name)
    }
}

impl FromStr for SessionWord {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        match ShortName::new(text) {
            Ok(name) => Ok(Self::Name(name)),
            Err(error) if is_branch_like(text) => Ok(Self::Branch(text.to_owned(), error)),
            Err(error) => Err(error),
        }
    }
}

/// Whether git would take a text as the name of a branch, roughly: what is wrong after all has no session.
fn is_branch_like(text: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    !text.is_empty() && !text.starts_with(['-', '/', '.']) && !text.ends_with(['/', '.']) && !text.contains(is_odd)
}

impl SessionWord {
    /// The session's name.
    pub(super) fn resolved(&self, scene: &Scene<'_>) -> Result<ShortName, CommandError> {
        match self {
            Self::Name(name) => Ok(name.clone()),
            Self::Branch(branch, invalid) => match branch_sessions::of_branch(scene, branch)? {
                Some((name, _)) => Ok(name),
                None => Err(CommandError::of(FailureKind::Usage, invalid)),
            },
        }
    }

    /// The name, where no branch can be meant.
    pub(super) fn name(&self) -> Result<ShortName, CommandError> {
        match self {
            Self::Name(name) => Ok(name.clone()),
            Self::Branch(_, invalid) => Err(CommandError::of(FailureKind::Usage, invalid)),
        }
    }
}

/// A session of a remote: its name, or that of its branch, whose session has a name that is made from it.
pub(super) fn of_remote(text: &str) -> Result<ShortName, InvalidName> {
    ShortName::new(text).or_else(|error| {
        if text.contains('/') && is_branch_like(text) {
            Ok(ShortName::like(text))
        } else {
            Err(error)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{SessionWord, of_remote};

    #[test]
    fn branches_are_no_names_and_no_mistakes() {
        let word = |text: &str| text.parse::<SessionWord>();
        assert!(matches!(word("auth"), Ok(SessionWord::Name(_))));
        for branch in ["feature/login", "Feature", "a/b/c", "fix_\u{fc}ber"] {
            assert!(matches!(word(branch), Ok(SessionWord::Branch(..))), "{branch}");
        }
        for wrong in ["", "-x", "a b", "a~1", "/a", "a/", "a:b", "..", "."] {
            assert!(word(wrong).is_err(), "{wrong}");
        }
        assert_eq!(of_remote("feature/Login").expect("a branch").as_str(), "feature-login");
        assert!(of_remote("a b/c").is_err());
    }
}
