//! The notes on commits, where the project's settings ask for them: they go along with the sessions that they name.
//!
//! Notes of several people are merged line by line, as none of them may be replaced. Where that is not possible the push of
//! the sessions counts even so, and it is reported.

use super::{
    super::{Error, exchange},
    answer::RemoteAnswer,
    command::{PushSpec, push_refs},
    send::Push,
};
use crate::{
    ops::link::NOTES,
    store::{self, ObjectId, refs},
};

/// How often it is tried again because the remote moved meanwhile.
const TRIES: usize = 3;

/// The notes that would go along.
pub(super) fn tip(push: &Push<'_>) -> Result<Option<ObjectId>, Error> {
    if !push.scene.settings.commit_notes {
        return Ok(None);
    }
    Ok(refs::read(push.scene.repo, NOTES)?)
}

/// Sends them. Gives the reason if they did not go.
pub(super) fn send(push: &Push<'_>) -> Result<Option<String>, Error> {
    let mut why = None;
    for _ in 0..TRIES {
        let spec = PushSpec {
            id: tip(push)?,
            target: NOTES.to_owned(),
            lease: None,
        };
        let done = push_refs(push.scene.repo, push.remote, &[spec], false, push.wire)?;
        let answer = done.of.get(NOTES);
        match answer {
            Some(RemoteAnswer::Done | RemoteAnswer::UpToDate) => return Ok(None),
            Some(RemoteAnswer::Moved(_)) => {
                if let NotesMerge::Refused(reason) = merge(push)? {
                    return Ok(Some(reason));
                }
            }
            Some(RemoteAnswer::Refused(reason)) => return Ok(Some(reason.clone())),
            None => why = done.exchange.words.lines().next_back().map(str::to_owned),
        }
    }
    Ok(Some(
        why.unwrap_or_else(|| "the remote moved again and again".to_owned()),
    ))
}

/// Result of a merge of notes.
enum NotesMerge {
    Merged,
    /// The reason why not.
    Refused(String),
}

/// Fetches what the remote has and merges it.
fn merge(push: &Push<'_>) -> Result<NotesMerge, Error> {
    let theirs = format!(
        "refs/notes/checkpoints-of-{}",
        store::remote::encoded(&push.remote.name)
    );
    let fetch = store::git(push.scene.repo)
        .args([
            "fetch",
            "--no-tags",
            "--no-prune",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
        ])
        .args(["--no-recurse-submodules", "--refmap=", "--"])
        .args([&*push.remote.name, &format!("+{NOTES}:{theirs}")]);
    let fetched = exchange(fetch, push.wire, Some(push.scene.settings.max_fetch_size))?;
    if fetched.code != Some(0) {
        let reason = "what the remote has of them cannot be fetched".to_owned();
        return Ok(NotesMerge::Refused(reason));
    }
    let git = || store::git(push.scene.repo);
    let id = git()
        .args(["rev-parse", "--verify", &theirs])
        .text()
        .map_err(store::Error::from)?;
    let merged = git()
        .args([
            "notes",
            "--ref",
            NOTES,
            "merge",
            "--quiet",
            "--strategy=cat_sort_uniq",
            &id,
        ])
        .run();
    let removed = git().args(["update-ref", "-d", &theirs]).run();
    removed.map_err(store::Error::from)?;
    Ok(match merged {
        Ok(_) => NotesMerge::Merged,
        Err(error) => NotesMerge::Refused(error.to_string()),
    })
}
