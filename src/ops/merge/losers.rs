//! Sessions that explore the other options of a fork point, once one is merged: they are finished, and say why.

use serde_json::json;

use super::{
    super::{Error, Scene, compose, fork_points, session_choice},
    MergeTips,
};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        name::ShortName,
    },
    store::{
        ObjectId,
        checkpoint::{self, Checkpoint, Siblings},
        objects::Writer,
        refs::{ExpectedValue, RefUpdate},
        session,
    },
};

/// The trigger of the checkpoint that finishes such a session.
const TRIGGER: &str = "not-chosen";

/// A session of another option.
pub(super) struct OtherOption {
    pub(super) name: ShortName,
    tip: Checkpoint,
}

/// The sessions of the other options of the fork point that a checkpoint's session came from, but those that are finished.
pub(super) fn others(scene: &Scene<'_>, theirs: &Checkpoint) -> Result<Vec<OtherOption>, Error> {
    let from = theirs.document.session.forked_from.as_ref();
    let Some((point, option)) = from.and_then(|from| Some((from.fork_point.clone()?, from.option.clone()?))) else {
        return Ok(Vec::new());
    };
    let mut out = Vec::new();
    for explored in fork_points::sessions(scene)? {
        if explored.point != point || explored.option == option {
            continue;
        }
        let Some(chosen) = session_choice::named(scene, &explored.session)? else {
            continue;
        };
        let is_open = !matches!(
            chosen.tip.document.session.status,
            SessionStatus::Completed | SessionStatus::Failed
        );
        if is_open {
            out.push(OtherOption {
                name: chosen.name,
                tip: chosen.tip,
            });
        }
    }
    Ok(out)
}

/// Writes the last checkpoint of such a session, with the files it has. Gives the change of its ref, and what that needs.
pub(super) fn finish(
    scene: &Scene<'_>,
    writer: &Writer,
    other: &OtherOption,
    sides: &MergeTips,
    decided: &[(String, String)],
) -> Result<(RefUpdate, Vec<ObjectId>), Error> {
    let tip = &other.tip;
    let mut document = compose::successor(scene, tip, CheckpointKind::Finish);
    document.session.name = other.name.clone();
    document.session.status = SessionStatus::Completed;
    let title = decided.first().map_or("the fork point", |(title, _)| title.as_str());
    let winner = sides.theirs.document.session.forked_from.as_ref();
    let chosen = winner.and_then(|from| from.option.clone()).unwrap_or_default();
    document.session.metadata.insert(
        "not_chosen".to_owned(),
        json!({ "fork_point": title, "chosen": chosen, "merged": sides.from }),
    );
    document.trigger = Some(TRIGGER.to_owned());
    document.subject = Some(format!(
        "not chosen: {chosen} ({}) was merged into {}",
        sides.from, sides.session
    ));
    let damaged = |fault| Error::damaged(other.name.as_str())(fault);
    let (held, _) = checkpoint::siblings(scene.repo, &tip.entry).map_err(damaged)?;
    let mut siblings = Siblings::default();
    for kept in held.named().keys() {
        siblings.keep(&held, kept);
    }
    let lists = checkpoint::lists(scene.repo, tip).map_err(damaged)?;
    let parents = [Some(tip.entry.id), tip.snapshot()].into_iter().flatten().collect();
    let people = compose::people(scene);
    let written = checkpoint::write(writer, &mut document, lists.is_partial(), &siblings, parents, &people)?;
    let edit = RefUpdate {
        name: session::ref_name(&other.name),
        expected: ExpectedValue::Is(tip.entry.id),
        new: Some(written.id),
        message: "checkpoint: finish, another option was merged".to_owned(),
    };
    Ok((edit, written.needs))
}

/// The changes that take the end of such sessions back, as an aborted merge left them.
pub(super) fn back(scene: &Scene<'_>, theirs: &Checkpoint) -> Result<Vec<RefUpdate>, Error> {
    let from = theirs.document.session.forked_from.as_ref();
    let Some(point) = from.and_then(|from| from.fork_point.clone()) else {
        return Ok(Vec::new());
    };
    let mut out = Vec::new();
    for explored in fork_points::sessions(scene)?
        .into_iter()
        .filter(|explored| explored.point == point)
    {
        let Some(chosen) = session_choice::named(scene, &explored.session)? else {
            continue;
        };
        let is_ours = chosen.tip.document.trigger.as_deref() == Some(TRIGGER);
        if let Some(before) = chosen.tip.previous().filter(|_| is_ours) {
            out.push(RefUpdate {
                name: session::ref_name(&chosen.name),
                expected: ExpectedValue::Is(chosen.tip.entry.id),
                new: Some(before),
                message: "checkpoint: merge aborted".to_owned(),
            });
        }
    }
    Ok(out)
}
