//! The session of a branch: a branch's name is taken wherever a session's is.

use super::{Error, Scene, SelectorCandidate, session_choice};
use crate::{
    model::{document::SessionStatus, name::ShortName},
    store::{ObjectId, branch_former_names, branches, checkpoint::CheckpointCommit, current, session},
};

/// The session of a branch, else the one whose name was made from that of the branch.
pub fn of_branch_or_named_after(scene: &Scene<'_>, branch: &str) -> Result<Option<(ShortName, ObjectId)>, Error> {
    match of_branch(scene, branch)? {
        None => named_after(scene, branch),
        found => Ok(found),
    }
}

/// The session whose name was made from that of a branch; `None` for a text that is a name itself.
pub(super) fn named_after(scene: &Scene<'_>, branch: &str) -> Result<Option<(ShortName, ObjectId)>, Error> {
    if ShortName::new(branch).is_ok() || branch.contains('@') {
        return Ok(None);
    }
    let Ok(name) = ShortName::whole_like(branch) else {
        return Ok(None);
    };
    Ok(session::tip(scene.repo, &name)?.map(|tip| (name, tip)))
}

/// The session of a branch, and its latest checkpoint: the current one there, else the only open one that was saved last
/// on it, else the only one that has ended. Several are ambiguous.
pub fn of_branch(scene: &Scene<'_>, branch: &str) -> Result<Option<(ShortName, ObjectId)>, Error> {
    let now = current::read_if_understood(scene.repo)?;
    let here = branches::active(scene.repo).unwrap_or_default();
    let pointed = if here.as_deref() == Some(branch) {
        now.session.as_ref()
    } else {
        now.on_branch(branch)
    };
    if let Some(wanted) = pointed
        && let Some(chosen) = session_choice::by_identity(scene, wanted)?
    {
        return Ok(Some((chosen.name, chosen.tip.entry.id)));
    }
    let mut names = branch_former_names(scene.repo, branch);
    names.push(branch.to_owned());
    let mut all: Vec<(ShortName, CheckpointCommit)> = Vec::new();
    for session in session::all(scene.repo)? {
        let (Ok(name), Ok(tip)) = (ShortName::new(session.name), session.tip) else {
            continue;
        };
        if tip.trailers.branch.as_ref().is_some_and(|saved| names.contains(saved)) {
            all.push((name, tip));
        }
    }
    let is_open =
        |(_, tip): &(ShortName, CheckpointCommit)| !tip.trailers.status.is_some_and(SessionStatus::is_finished);
    if all.iter().any(is_open) {
        all.retain(is_open);
    }
    match all.as_slice() {
        [] => Ok(None),
        [(name, tip)] => Ok(Some((name.clone(), tip.id))),
        several => Err(Error::Ambiguous {
            text: branch.to_owned(),
            what: "sessions",
            count: several.len(),
            candidates: several
                .iter()
                .map(|(name, tip)| SelectorCandidate {
                    selector: name.to_string(),
                    subject: tip.subject.clone(),
                    at: Some(tip.time),
                })
                .collect(),
        }),
    }
}
