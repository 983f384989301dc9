//! A session that continues with an identity of its own, since another one here has the one it had: its first checkpoint, and
//! its autosaves. What waits for a save is moved by [`super::waiting`].

use std::collections::BTreeMap;

use super::{Error, Scene, compose, waiting::CopiedEntries};
use crate::{
    model::{
        document::{CheckpointKind, Document},
        id::Digest,
        message::Trailers,
        name::ShortName,
        session::Session,
    },
    store::{
        self, ObjectId, autosave,
        checkpoint::{self, Checkpoint, Siblings, WrittenCheckpoint},
        objects::{SealedObjects, Writer},
        refs::{self, ExpectedValue, RefUpdate},
    },
};

/// The occasion of a session that a pull parted.
pub(super) const PULL: &str = "pull";
/// The occasion of one that came back from the trash.
pub(super) const UNDELETE: &str = "undelete";

/// Whether a session begins with this checkpoint because another one has the identity that it had.
pub(super) fn is_parted(first: &Trailers) -> bool {
    first.kind == Some(CheckpointKind::Fork) && matches!(first.trigger.as_deref(), Some(PULL | UNDELETE))
}

/// Writes the checkpoint on top of a session, called `named`, with which it becomes one of its own.
pub(super) fn first(
    scene: &Scene<'_>,
    writer: &Writer,
    (source, named): (&Checkpoint, &ShortName),
    name: &ShortName,
    trigger: &str,
) -> Result<(Document, WrittenCheckpoint), Error> {
    let mut document = compose::fork(scene, source, named.clone())?;
    document.session.name = name.clone();
    document.trigger = Some(trigger.to_owned());
    let people = compose::people(scene);
    // One's own goes along with one's own checkpoints.
    let by = compose::by(scene, &people);
    let claim = source.document.session.claim.clone();
    document.session.claim = claim.filter(|claim| !claim.holds_against(&by, scene.now));
    let damaged = |fault| Error::damaged(named.as_str())(fault);
    let siblings = all_siblings(scene, source).map_err(damaged)?;
    let lists = checkpoint::lists(scene.repo, source).map_err(damaged)?;
    let parents = [Some(source.entry.id), source.snapshot()]
        .into_iter()
        .flatten()
        .collect();
    let written = checkpoint::write(writer, &mut document, lists.is_partial(), &siblings, parents, &people)?;
    Ok((document, written))
}

fn all_siblings(scene: &Scene<'_>, of: &Checkpoint) -> Result<Siblings, checkpoint::Fault> {
    let (held, _) = checkpoint::siblings(scene.repo, &of.entry)?;
    let mut siblings = Siblings::default();
    for kept in held.named().keys() {
        siblings.keep(&held, kept);
    }
    Ok(siblings)
}

/// The session that autosaves go to, with its latest checkpoint.
pub(super) struct AutosaveTarget<'a> {
    pub(super) session: &'a Session,
    pub(super) folded: &'a BTreeMap<String, u64>,
    pub(super) tip: ObjectId,
    pub(super) digest: &'a Digest,
}

/// Writes an autosave again as one of another session. One that is based on `from` is based on the latest checkpoint there.
pub(super) fn autosave_for(
    scene: &Scene<'_>,
    writer: &Writer,
    (found, from): (&Checkpoint, ObjectId),
    to: &AutosaveTarget<'_>,
    copied: &CopiedEntries,
) -> Result<ObjectId, Error> {
    let damaged = |fault| Error::damaged("autosave")(fault);
    let mut document = found.document.clone();
    document.session.id.clone_from(&to.session.id);
    document.session.name = to.session.name.clone();
    document.session.created_at = to.session.created_at;
    document.session.forked_from.clone_from(&to.session.forked_from);
    document.session.claim.clone_from(&to.session.claim);
    let mut parent = found.previous();
    if parent == Some(from) {
        parent = Some(to.tip);
        document.previous = Some(to.digest.clone());
    }
    document.folded.clone_from(to.folded);
    document.included = document.included.and_then(|included| copied.renumbered(&included));
    let siblings = all_siblings(scene, found).map_err(damaged)?;
    // With its dates: it is no later than it was.
    let people = checkpoint::people(scene.repo, found.entry.id).map_err(damaged)?;
    let stored = checkpoint::stored_form(writer, &found.document, &mut document, &siblings)?;
    let parents = [parent, found.snapshot()].into_iter().flatten().collect();
    let partial = found.entry.trailers.partial;
    let written = checkpoint::write_stored(writer, &stored, partial, &stored.siblings, parents, &people)?;
    Ok(written.id)
}

/// Edits that move the autosaves of all working trees from one session to another. A damaged one stays where it is. One that
/// the other session has in the same working tree stays in the reflog.
pub(super) fn move_autosaves(
    scene: &Scene<'_>,
    writer: &Writer,
    from: &Checkpoint,
    to: &AutosaveTarget<'_>,
    copied: &CopiedEntries,
    message: &str,
) -> Result<Vec<RefUpdate>, Error> {
    let mut edits = Vec::new();
    for (name, target) in autosave::refs_of(scene.repo, &from.document.session.id)? {
        let Some(found) = target.ok().and_then(|id| checkpoint::load(scene.repo, id).ok()) else {
            continue;
        };
        let worktree = name.rsplit('/').next().unwrap_or_default();
        let new = autosave::ref_in(&to.session.id, worktree);
        let mut there = refs::read(scene.repo, &new)?;
        if there.is_none() {
            there = autosave::copy_history(scene.repo, &name, &new, scene.wait)?;
        }
        let moved = autosave_for(scene, writer, (&found, from.entry.id), to, copied)?;
        edits.push(RefUpdate {
            name: new,
            expected: there.map_or(ExpectedValue::Absent, ExpectedValue::Is),
            new: Some(moved),
            message: message.to_owned(),
        });
        edits.push(RefUpdate {
            name,
            expected: ExpectedValue::Is(found.entry.id),
            new: None,
            message: message.to_owned(),
        });
    }
    Ok(edits)
}

/// Removes what [`move_autosaves`] wrote for a session that is not to be.
pub(super) fn discard_autosaves(scene: &Scene<'_>, id: &str) -> Result<(), store::Error> {
    let copies = autosave::refs_of(scene.repo, id)?.into_iter();
    let gone = copies.map(|(name, _)| RefUpdate {
        name,
        expected: ExpectedValue::Any,
        new: None,
        message: String::new(),
    });
    let committer = compose::people(scene).committer;
    refs::update(scene.repo, &gone.collect::<Vec<_>>(), &committer, scene.wait)?;
    Ok(())
}

/// Moves the autosaves from one session to another, after its refs have moved.
pub(super) fn carry_autosaves(
    scene: &Scene<'_>,
    from: &Checkpoint,
    to: &Checkpoint,
    copied: &CopiedEntries,
    message: &str,
) -> Result<(), Error> {
    let writer = Writer::durable(scene.repo)?;
    let target = AutosaveTarget {
        session: &to.document.session,
        folded: &to.document.folded,
        tip: to.entry.id,
        digest: &to.digest,
    };
    let edits = move_autosaves(scene, &writer, from, &target, copied, message)?;
    if edits.is_empty() {
        return Ok(());
    }
    let sealed: SealedObjects = writer.finish()?;
    let committer = compose::people(scene).committer;
    refs::update(scene.repo, &edits, &committer, scene.wait)?;
    let needed = [sealed.relied_on(), sealed.written()].concat();
    if let Err(error) = refs::verify_present(scene.repo, &needed) {
        let back: Vec<RefUpdate> = edits.iter().map(RefUpdate::reversed).collect();
        refs::update(scene.repo, &back, &committer, scene.wait)?;
        return Err(error.into());
    }
    sealed.release();
    Ok(())
}
