//! Who writes: the user's identity as git finds it, else a fixed one.
//!
//! Unlike git nothing is guessed from the host: a save must work on a machine without settings, and a guessed address
//! would be published with the checkpoint.

use gix::bstr::{BString, ByteSlice};

use super::{Repository, Signature, Time};

/// The name that is in commits and reflogs where the user has given none.
pub(super) const FALLBACK_NAME: &str = "git-checkpoint";
/// The address to [`FALLBACK_NAME`]; the domain is reserved and never receives mail.
pub(super) const FALLBACK_EMAIL: &str = "git-checkpoint@localhost";

/// The committer: `GIT_COMMITTER_NAME`, `committer.name` or `user.name` and the same for the address (then also
/// `EMAIL`), each with its fallback; the time is the caller's.
pub fn who(repo: &Repository, now: Time) -> Signature {
    signature(repo, "committer", now)
}

/// The author, found as [`who`] finds the committer, with `GIT_AUTHOR_*` and `author.*`.
pub fn author(repo: &Repository, now: Time) -> Signature {
    signature(repo, "author", now)
}

/// Whether the user has given a name that is in what is saved.
pub fn is_named(repo: &Repository) -> bool {
    author(repo, Time::default()).name != FALLBACK_NAME
}

fn signature(repo: &Repository, role: &str, now: Time) -> Signature {
    let config = repo.config_snapshot();
    // gix reads the variables into the settings of the same name, above those of the files.
    let find = |keys: &[String]| {
        keys.iter()
            .filter_map(|key| config.string(key.as_str()))
            .find_map(|value| clean(&value))
    };
    let name = find(&[format!("{role}.name"), "user.name".to_owned()]);
    let email = find(&[
        format!("{role}.email"),
        "user.email".to_owned(),
        "gitoxide.user.emailFallback".to_owned(),
    ]);
    Signature {
        name: name.unwrap_or_else(|| FALLBACK_NAME.into()),
        email: email.unwrap_or_else(|| FALLBACK_EMAIL.into()),
        time: now,
    }
}

/// The value without what would break a commit header, as git strips it; `None` if nothing is left.
fn clean(value: &BString) -> Option<BString> {
    let kept: Vec<u8> = value
        .bytes()
        .filter(|byte| !matches!(byte, b'\n' | b'<' | b'>' | 0))
        .collect();
    let crud = |byte: u8| byte <= b' ' || b".,:;<>\"\\'".contains(&byte);
    let start = kept.iter().position(|&byte| !crud(byte))?;
    let end = kept.iter().rposition(|&byte| !crud(byte))?;
    Some(kept[start..=end].as_bstr().to_owned())
}
