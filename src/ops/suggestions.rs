//! Suggestions for a name that finds nothing: sessions and checkpoints with names like it, and the errors that list them.

use super::{Error, Scene, SelectorCandidate, session_choice, trash};
use crate::{
    model::{name::ShortName, spelling::slips},
    store::{self, ObjectId, checkpoint::CheckpointCommit, session},
};

/// How many checkpoints of a session are looked through for names that are like a word.
const NAMED: usize = 10_000;
/// How many candidates an error lists.
pub(super) const LISTED: usize = 10;

/// The error for a session that is named and not there.
pub(super) fn absent(scene: &Scene<'_>, name: &ShortName) -> Error {
    match similar(scene, name.as_str()) {
        Ok(candidates) if scene.session_is_of_environment => Error::SessionFromEnvNotFound {
            name: name.clone(),
            candidates,
        },
        Ok(candidates) => not_found(scene, name.as_str(), candidates),
        Err(error) => error,
    }
}

/// Refuses a name for a new session that was most likely meant to be that of another one.
///
/// Names that are numbered or lettered, as those of several workers are, are no mistakes.
pub(super) fn refuse_mistyped(scene: &Scene<'_>, name: &ShortName) -> Result<(), Error> {
    let near = session::named(scene.repo, |other| is_mistyped(name.as_str(), other))?;
    if near.is_empty() {
        return Ok(());
    }
    let candidates = near.into_iter().filter_map(|session| {
        let tip = session.tip.ok()?;
        Some(SelectorCandidate {
            selector: session.name,
            subject: tip.subject,
            at: Some(tip.time),
        })
    });
    Err(Error::Mistyped {
        name: name.clone(),
        from_environment: scene.session_is_of_environment,
        candidates: candidates.take(LISTED).collect(),
    })
}

/// Whether one letter too many, too few or another one, or two that are swapped, make a name of another.
fn is_mistyped(name: &str, other: &str) -> bool {
    const SHORT: usize = 4;
    let length = name.chars().count().min(other.chars().count());
    // What differs in one of the parts: a number or a single letter there is a choice.
    let (parts, others): (Vec<&str>, Vec<&str>) = (name.split(is_mark).collect(), other.split(is_mark).collect());
    let differing = parts.iter().zip(&others).filter(|(one, other)| one != other);
    let is_choice = |part: &str| part.len() < 2 || part.contains(|c: char| c.is_ascii_digit());
    let is_numbered =
        parts.len() == others.len() && differing.clone().any(|(one, other)| is_choice(one) || is_choice(other));
    length >= SHORT && name != other && !is_numbered && parts.len() == others.len() && slips(name, other) == 1
}

fn is_mark(c: char) -> bool {
    matches!(c, '-' | '_' | '.')
}

/// The error for a word that finds nothing. Where nothing was ever fetched, it may be on the remote.
pub(super) fn not_found(scene: &Scene<'_>, word: &str, candidates: Vec<SelectorCandidate>) -> Error {
    let is_fetched = || session::fetched_names(scene.repo).is_ok_and(|names| !names.is_empty());
    let remote = if candidates.is_empty() && !is_fetched() {
        store::remote::default(scene.repo, false).map(|remote| remote.name)
    } else {
        None
    };
    Error::NotFound {
        text: word.to_owned(),
        candidates,
        remote,
        is_deleted: trash::deleted(scene).is_ok_and(|all| all.iter().any(|deleted| deleted.name.as_str() == word)),
    }
}

/// The error for when a session is needed and none is there: the one that was named, else none is current, with the
/// damaged ones, which must not look absent.
pub(super) fn none_current(scene: &Scene<'_>) -> Error {
    // One that is there and cannot be taken is damaged.
    if let Some(name) = scene.session
        && matches!(session::tip(scene.repo, name), Ok(None))
    {
        return absent(scene, name);
    }
    match session::all(scene.repo) {
        Ok(all) => Error::NoSession {
            any: !all.is_empty(),
            left: session_choice::just_left(scene)
                .ok()
                .flatten()
                .map(|chosen| chosen.name),
            fetched: latest_fetched(scene),
            remote: store::remote::default(scene.repo, false).map(|remote| remote.name),
            damaged: all.into_iter().filter(|s| s.tip.is_err()).map(|s| s.name).collect(),
        },
        Err(error) => error.into(),
    }
}

/// The session fetched last, as `<remote>/<session>`.
fn latest_fetched(scene: &Scene<'_>) -> Option<String> {
    let fetched = session::fetched(scene.repo).ok()?;
    let whole = fetched.into_iter().find(|session| session.tip.is_ok());
    whole.map(|session| store::remote::shown(&session.name))
}

/// Sessions, and checkpoints of the current one, whose names are like a word: for errors.
pub(super) fn similar(scene: &Scene<'_>, word: &str) -> Result<Vec<SelectorCandidate>, Error> {
    let mut near = Vec::new();
    // Names first: of the others no checkpoint has to be read.
    for session in session::named(scene.repo, |name| is_like(word, name).is_some())? {
        let (Ok(name), Ok(tip)) = (ShortName::new(session.name), session.tip) else {
            continue;
        };
        if let Some(distance) = is_like(word, name.as_str()) {
            let candidate = SelectorCandidate {
                selector: name.to_string(),
                subject: tip.subject,
                at: Some(tip.time),
            };
            near.push((distance, candidate));
        }
    }
    let fetched_distance = |part: &str| {
        let shown = store::remote::shown(part);
        let (_, name) = shown.rsplit_once('/')?;
        (name == word)
            .then_some(0)
            .or_else(|| is_like(word.contains('/').then_some(word)?, &shown))
    };
    for session in session::fetched_named(scene.repo, |part| fetched_distance(part).is_some())? {
        if let (Some(distance), Ok(tip)) = (fetched_distance(&session.name), session.tip) {
            let candidate = SelectorCandidate {
                selector: store::remote::shown(&session.name),
                subject: tip.subject,
                at: Some(tip.time),
            };
            near.push((distance, candidate));
        }
    }
    if let Ok(Some(current)) = session_choice::session_for_command(scene) {
        for (distance, name, entry) in named_like(scene, current.tip.entry.id, word) {
            let candidate = SelectorCandidate {
                selector: name,
                subject: entry.subject,
                at: Some(entry.time),
            };
            near.push((distance, candidate));
        }
    }
    near.sort_by_key(|(distance, _)| *distance);
    Ok(near.into_iter().take(LISTED).map(|(_, candidate)| candidate).collect())
}

/// How many characters must be changed, added or removed (Levenshtein).
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let next = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}

/// Whether a name may have been meant by a word.
fn is_like(word: &str, name: &str) -> Option<usize> {
    let distance = distance(word, name);
    (name.contains(word) || distance <= word.chars().count().div_ceil(3)).then_some(distance)
}

/// The named checkpoints of a session whose names are like a word, with how far they are from it.
pub(super) fn named_like(scene: &Scene<'_>, tip: ObjectId, word: &str) -> Vec<(usize, String, CheckpointCommit)> {
    let chain = session::history(scene.repo, tip).map_while(Result::ok).take(NAMED);
    let near = chain.filter_map(|entry| {
        let name = entry.trailers.name.clone()?;
        Some((is_like(word, &name)?, name, entry))
    });
    near.collect()
}

/// The nearest of them, as they would be selected.
pub(super) fn listed(mut near: Vec<(usize, String, CheckpointCommit)>, prefix: &str) -> Vec<SelectorCandidate> {
    near.sort_by_key(|(distance, ..)| *distance);
    let candidate = |(_, name, entry): (usize, String, CheckpointCommit)| SelectorCandidate {
        selector: format!("{prefix}{name}"),
        at: Some(entry.time),
        subject: entry.subject,
    };
    near.into_iter().take(LISTED).map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::{distance, is_mistyped};

    #[test]
    fn slips_of_the_hand_are_mistyped_and_numbers_are_not() {
        for (name, other) in [
            ("mainn", "main"),
            ("mian", "main"),
            ("feature-logn", "feature-login"),
            ("fature-login", "feature-login"),
        ] {
            assert!(is_mistyped(name, other) && is_mistyped(other, name), "{name}");
        }
        for (name, other) in [
            ("main", "main"),
            ("nope", "main"),
            ("worker-1", "worker-2"),
            ("worker1", "worker2"),
            ("auth2", "auth"),
            ("try-a", "try-b"),
            ("auth-2", "auth"),
            ("b", "a"),
            ("api", "app"),
        ] {
            assert!(!is_mistyped(name, other), "{name} {other}");
        }
    }

    #[test]
    fn distances() {
        for (a, b, n) in [
            ("", "abc", 3),
            ("auth", "auth", 0),
            ("auht", "auth", 2),
            ("ath", "auth", 1),
        ] {
            assert_eq!(distance(a, b), n, "{a} {b}");
        }
    }
}
