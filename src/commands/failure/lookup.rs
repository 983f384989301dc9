//! Errors about sessions, checkpoints and items that are not found, not unique or not named as they have to be.

use super::{
    super::{
        error::{CommandError, FailureKind},
        session_word::invalid_name,
    },
    misnamed,
};
use crate::ops::{Error, SelectorCandidate};

/// Failures to find a session or checkpoint.
pub(super) fn of_selection(error: &Error) -> CommandError {
    let of = |kind| CommandError::of(kind, error);
    match *error {
        Error::Damaged { ref subject, ref fault } => {
            if fault.is_encrypted() {
                return of(FailureKind::Refused)
                    .hint("name the file of your private key: git config checkpoint.identity <file>");
            }
            if fault.is_newer() {
                return of(FailureKind::Newer).hint("a newer git-checkpoint wrote it; update this one to read it");
            }
            of(FailureKind::Damaged)
                .hint(format!("see what is damaged: git checkpoint verify {subject}"))
                .hint("recover from the latest intact checkpoint: git checkpoint repair")
        }
        Error::NotFound { ref text, .. } if text == "-" => CommandError::new(
            FailureKind::NotFound,
            "there is no previous session in this working tree",
        )
        .hint("list sessions: git checkpoint list"),
        Error::NotFound {
            ref candidates,
            ref text,
            ref remote,
            is_deleted,
        } if candidates.is_empty() => {
            let out = of(FailureKind::NotFound);
            if is_deleted {
                return out.hint(undeleting(text));
            }
            let out = match remote {
                Some(remote) => out.hint(format!("if it is on a remote: git checkpoint fetch {remote}")),
                None => out.hint("list sessions: git checkpoint list"),
            };
            let is_short = (1..4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_short {
                out.hint("an abbreviated id needs at least 4 digits")
            } else {
                out
            }
        }
        Error::Misnamed { ref name, ref free, .. } => misnamed(name, free)
            .into_iter()
            .fold(of(FailureKind::Damaged), CommandError::hint),
        Error::SessionFromEnvNotFound { ref candidates, .. } if candidates.is_empty() => {
            of(FailureKind::NotFound).hint("list sessions: git checkpoint list")
        }
        Error::NotFound { ref candidates, .. } | Error::SessionFromEnvNotFound { ref candidates, .. } => {
            let out = with_candidates(
                FailureKind::NotFound,
                &format!("{error}; did you mean one of these?"),
                candidates,
            );
            match *error {
                Error::NotFound {
                    ref text,
                    is_deleted: true,
                    ..
                } => out.hint(undeleting(text)),
                _ => out,
            }
        }
        Error::Mistyped {
            ref name,
            ref candidates,
            ..
        } => with_candidates(
            FailureKind::NotFound,
            &format!("{error}; did you mean one of these?"),
            candidates,
        )
        .hint(format!("to make a new session: git checkpoint start {name}")),
        Error::Ambiguous {
            ref candidates, what, ..
        } => {
            // Of a branch, a name can be a prefix of nothing.
            let hint = if what == "sessions" {
                "use the name of one of them"
            } else {
                "use a longer prefix"
            };
            with_candidates(FailureKind::Ambiguous, &error.to_string(), candidates).hint(hint)
        }
        Error::NoSession { ref damaged, .. } if !damaged.is_empty() => of(FailureKind::Damaged)
            .hint("see what is damaged: git checkpoint verify --all")
            .hint("recover from the latest intact checkpoint: git checkpoint repair"),
        Error::NoSession {
            any: false,
            ref fetched,
            ref remote,
            ..
        } => {
            let out = of(FailureKind::NotFound).hint("make the first one: git checkpoint save");
            match (fetched, remote) {
                (Some(fetched), _) => out.hint(format!(
                    "or resume one that was fetched: git checkpoint resume {fetched}"
                )),
                (None, Some(remote)) => out.hint(format!("or see what others pushed: git checkpoint fetch {remote}")),
                (None, None) => out,
            }
        }
        Error::NoSession {
            left: Some(ref left), ..
        } => of(FailureKind::NotFound)
            .hint(format!(
                "session '{left}' ended last; continue it: git checkpoint resume {left}"
            ))
            .hint(format!("or read it: git checkpoint show {left}")),
        Error::NoSession { any: true, .. } => of(FailureKind::NotFound)
            .hint("resume one: git checkpoint resume <session>")
            .hint("list sessions: git checkpoint list"),
        Error::NoSuchStep { ref session, .. } => {
            of(FailureKind::NotFound).hint(format!("see its checkpoints: git checkpoint log {session}"))
        }
        Error::NotInTrash {
            ref names, others: 0, ..
        } if names.is_empty() => of(FailureKind::NotFound).hint("the trash is empty"),
        Error::NotInTrash { ref names, .. } if names.is_empty() => of(FailureKind::NotFound)
            .hint("no deleted session is in the trash; what else it has: git checkpoint list --trash"),
        Error::NotInTrash { ref names, .. } => {
            of(FailureKind::NotFound).hint(format!("in the trash: {}", names.join(", ")))
        }
        // `of_operation` has no others for it.
        _ => of(FailureKind::Fatal),
    }
}

/// Failures of names and of items of the record.
pub(super) fn of_name(error: &Error) -> CommandError {
    let of = |kind| CommandError::of(kind, error);
    match *error {
        Error::NoItem { ref candidates, .. } if !candidates.is_empty() => with_candidates(
            FailureKind::NotFound,
            &format!("{error}; did you mean one of these?"),
            candidates,
        ),
        Error::NoItem { command, .. } => {
            of(FailureKind::NotFound).hint(format!("see them with their numbers: git checkpoint {command} list"))
        }
        Error::AmbiguousItem { ref candidates, .. } => {
            with_candidates(FailureKind::Ambiguous, &error.to_string(), candidates).hint("use the id or the number")
        }
        Error::ItemId { .. } => {
            of(FailureKind::Invalid).hint("use up to 64 letters, digits, '.', '_' and '-', or omit it")
        }
        Error::Exists { ref name } => of(FailureKind::Refused)
            .hint(format!("resume it: git checkpoint resume {name}"))
            .hint("or choose another name"),
        Error::NameTaken { ref session, .. } => of(FailureKind::Refused)
            .hint("choose another name, or none")
            .hint(format!("see its checkpoints: git checkpoint log {session}")),
        Error::NotADate { .. } => {
            of(FailureKind::Usage).hint("use a form such as '2 days ago', yesterday or 2026-11-27T12:00")
        }
        Error::Name(ref error) => invalid_name(error),
        // `of_operation` has no others for it.
        _ => of(FailureKind::Fatal),
    }
}

/// The error of a command that changes an item of a session, with the way to change one that has ended.
pub(in crate::commands) fn with_session_left(error: Error) -> CommandError {
    let left = match &error {
        Error::NoSession { left, damaged, .. } if damaged.is_empty() => left.clone(),
        _ => None,
    };
    let out = CommandError::from(error);
    match left {
        Some(left) => out.hint(format!("or change it as it ended: --session {left}")),
        None => out,
    }
}

/// The way back for a session that was deleted.
fn undeleting(name: &str) -> String {
    format!("it is in the trash; bring it back: git checkpoint undelete {name}")
}

/// The message with a line for each candidate, what to type first.
fn with_candidates(kind: FailureKind, message: &str, candidates: &[SelectorCandidate]) -> CommandError {
    let width = candidates.iter().map(|c| c.selector.len()).max().unwrap_or(0);
    let mut out = message.to_owned();
    for candidate in candidates {
        out.push_str(&format!("\n  {:width$}  {}", candidate.selector, candidate.subject));
    }
    CommandError::new(kind, out)
}
