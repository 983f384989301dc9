//! A session as an option or argument names it: by its name, or by its branch.

use std::str::FromStr;

use super::error::{CommandError, FailureKind};
use crate::{
    model::{
        name::{InvalidName, MAX_LEN, ShortName},
        selector::{Base, Selector},
        step::quoted,
    },
    ops::{Scene, branch_sessions, select},
    os::notices,
    store,
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
        let name = ShortName::whole_like(branch).map_err(|error| invalid_name(&error))?;
        // A selector was meant.
        if branch.contains('@') {
            return ShortName::new(branch.as_str()).map_err(|error| invalid_name(&error));
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

/// Refuses a selector that means a session by its branch, for a command that removes what it means. A name that was made from
/// that of the branch is as clear as the name itself, where `allows_like` says so.
pub(super) fn refuse_branch(
    scene: &Scene<'_>,
    selector: &Selector,
    (command, allows_like): (&str, bool),
) -> Result<(), CommandError> {
    let Base::Word(word) = &selector.base else {
        return Ok(());
    };
    // What cannot be read is for the command to report.
    let Ok(Some(session)) = select::named_by_branch(scene, selector) else {
        return Ok(());
    };
    if allows_like && ShortName::whole_like(word).is_ok_and(|like| like == session) {
        return Ok(());
    }
    let meant = Selector {
        base: Base::Word(session.to_string()),
        steps: selector.steps.clone(),
    };
    let message = format!("'{}' is a branch; its session is '{session}'", word.escape_debug());
    Err(CommandError::new(FailureKind::Refused, message).hint(format!(
        "if that is meant: git checkpoint {command} {}",
        quoted(&meant.to_string())
    )))
}

/// Reports that a selector means a session by its branch, and which fetched session has that name.
pub(super) fn note_branch(scene: &Scene<'_>, selector: &Selector) {
    let Base::Word(word) = &selector.base else { return };
    let Ok(Some(session)) = select::named_by_branch(scene, selector) else {
        return;
    };
    if ShortName::whole_like(word).is_ok_and(|like| like == session) || store::remote::named_ref(word).is_some() {
        return;
    }
    let mut text = format!("'{}' is a branch; its session is '{session}'", word.escape_debug());
    let fetched = store::session::fetched_named(scene.repo, |part| {
        part.rsplit_once('/').is_some_and(|(_, name)| name == word)
    });
    if let Some(fetched) = fetched.unwrap_or_default().first() {
        let fetched = store::remote::shown(&fetched.name);
        text.push_str(&format!(
            "; for the fetched '{fetched}': git checkpoint resume {fetched}"
        ));
    }
    notices::note(&text);
}

/// The error for a name that is refused, with the rules.
pub(super) fn invalid_name(error: &InvalidName) -> CommandError {
    CommandError::of(FailureKind::Usage, error).hint(RULES)
}

/// The hint that names the rules.
pub(super) const RULES: &str = "the rules: git checkpoint help names";

/// A session of a remote: its name, or that of its branch, whose session has a name that is made from it.
pub(super) fn of_remote(text: &str) -> Result<ShortName, InvalidName> {
    ShortName::new(text).or_else(|error| {
        if !is_branch_like(text) || text.contains('@') {
            return Err(error);
        }
        // The session of a branch with a long name has the beginning of it.
        match ShortName::whole_like(text) {
            Err(_) if text.len() > MAX_LEN => Ok(ShortName::like(text)),
            name => name,
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
        assert_eq!(of_remote("Stra\u{df}e").expect("a branch").as_str(), "strasse");
        let long = format!("team/{}", "x".repeat(80));
        assert_eq!(of_remote(&long).expect("a branch").as_str().len(), 64);
        for wrong in ["a b/c", "@", "auth@before", "HEAD", "\u{65e5}\u{672c}", "con"] {
            assert!(of_remote(wrong).is_err(), "{wrong}");
        }
    }
}
