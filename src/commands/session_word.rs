//! A session as an option or argument names it: by its name, or by its branch.

use std::str::FromStr;

use super::error::{CommandError, FailureKind};
use crate::{
    model::{
        name::{InvalidName, ShortName},
        selector::Selector,
    },
    ops::{Scene, branch_sessions, select},
    os::notices,
};

/// A word for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionWord {
    /// A name. It need not be taken yet.
    Name(ShortName),
    /// A name that a branch can have and a session cannot.
    Branch(String),
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
            Err(_) if is_branch_like(text) => Ok(Self::Branch(text.to_owned())),
            Err(error) => Err(error),
        }
    }
}

/// Whether git would take a text as the name of a branch, roughly: what is wrong after all has no session.
#[expect(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the rule of git is about lower case"
)]
fn is_branch_like(text: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    let is_cut = text.starts_with(['-', '/', '.']) || text.ends_with(['/', '.']) || text.ends_with(".lock");
    !text.is_empty() && !is_cut && !text.contains("..") && !text.contains(is_odd)
}

impl SessionWord {
    /// The session's name. A branch without a session means the name that its session would get.
    pub(super) fn resolved(&self, scene: &Scene<'_>) -> Result<ShortName, CommandError> {
        if let Self::Branch(branch) = self
            && let Some((name, _)) = branch_sessions::of_branch_or_named_after(scene, branch)?
        {
            return Ok(name);
        }
        self.new_name(scene)
    }

    /// The name for a new session. A branch gives the name that its session would get, which is reported.
    pub(super) fn new_name(&self, scene: &Scene<'_>) -> Result<ShortName, CommandError> {
        let branch = match self {
            Self::Name(name) => return Ok(name.clone()),
            Self::Branch(branch) => branch,
        };
        let invalid = |error| CommandError::of(FailureKind::Usage, &error);
        let name = ShortName::whole_like(branch).map_err(invalid)?;
        // A selector was meant, or a word of which little is left.
        let is_far = name.as_str().starts_with("session") && !branch.to_lowercase().starts_with("session");
        if branch.contains('@') || is_far {
            return ShortName::new(branch.as_str()).map_err(invalid);
        }
        if select::remote(scene, &Selector::word(branch)).is_some() {
            let error = format!("'{branch}' is a fetched session, not one of this repository");
            return Err(CommandError::new(FailureKind::NotFound, error)
                .hint(format!("resume it: git checkpoint resume {branch}")));
        }
        notices::note(&format!("'{branch}' is not a valid session name: using '{name}'"));
        Ok(name)
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
            assert!(matches!(word(branch), Ok(SessionWord::Branch(_))), "{branch}");
        }
        for wrong in ["", "-x", "a b", "a~1", "/a", "a/", "a:b", "..", ".", "a..b", "a.lock"] {
            assert!(word(wrong).is_err(), "{wrong}");
        }
        assert_eq!(of_remote("feature/Login").expect("a branch").as_str(), "feature-login");
        assert!(of_remote("a b/c").is_err());
    }
}
