//! The merge that automatic sharing makes: what a remote has of a session is merged into its record, steps and chat.
//!
//! No file, index or draft is touched and no question is asked, so it is made only where nothing has to be decided. It is
//! composed without a lock: no save waits for more than the move of a ref.

use super::{
    super::{
        Error, Scene, compose, plan_runner::PlanOperation, ref_transaction::UndoableRefTransaction, session_choice,
    },
    MergeMethod, MergeTips, compose_merge,
    publish::{edits, what},
};
use crate::{
    model::name::ShortName,
    store::{
        self, ObjectId, Repository, current, draft, lock,
        merge_state::{self, MergeState},
        objects::Writer,
    },
    worktree::journal,
};

/// How often it is composed again because the session was saved meanwhile, or objects vanished.
const TRIES: usize = 3;

/// Outcome of a merge without a user.
#[derive(Debug)]
pub(in crate::ops) enum UnattendedOutcome {
    /// Both sides are in the session now.
    Merged,
    /// There was nothing to merge.
    UpToDate,
    /// A person has to do it: why.
    Left(UnattendedRefusal),
}

/// Reason for which a merge is left to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ops) enum UnattendedRefusal {
    /// Both changed the same in different ways.
    Contradictions(usize),
    /// Changes of the record that are not saved would be applied to another record than they were made for.
    Draft,
    /// A merge of this session, or a command that changes files, is not concluded in a working tree.
    UnderWay,
    /// It is claimed by another person or agent.
    Claimed(String),
    /// It was saved again and again meanwhile.
    Busy,
}

impl std::fmt::Display for UnattendedRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Contradictions(1) => f.write_str("both changed the same part of its record"),
            Self::Contradictions(many) => write!(f, "both changed the same {many} parts of its record"),
            Self::Draft => f.write_str("changes of its record are not saved"),
            Self::UnderWay => f.write_str("a merge is not concluded"),
            Self::Claimed(by) => write!(f, "it is claimed by {by}"),
            Self::Busy => f.write_str("it was saved meanwhile"),
        }
    }
}

/// Merges the record of what a remote has of a session into it. The session continues the remote's chain.
pub(in crate::ops) fn merge_unattended(
    scene: &Scene<'_>,
    of_remote: (&str, &ShortName),
    theirs: ObjectId,
) -> Result<UnattendedOutcome, Error> {
    let mut is_rewriting = false;
    for _ in 0..TRIES {
        let sides = MergeTips::of_remote(scene, of_remote, of_remote.1, theirs)?;
        if !sides.needs(scene, false)? {
            return Ok(UnattendedOutcome::UpToDate);
        }
        sides.require_readable()?;
        // The working tree that has the session is where a person undoes it.
        let home = home(scene, &sides.ours.document.session.id)?;
        let scene = Scene {
            repo: home.as_ref().unwrap_or(scene.repo),
            index: scene.index.filter(|_| home.is_none()),
            ..*scene
        };
        match attempt(&scene, &sides, is_rewriting) {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) | Err(Error::Store(store::Error::Moved { .. })) => {}
            Err(Error::Store(store::Error::Vanished { .. })) => is_rewriting = true,
            Err(error) => return Err(error),
        }
    }
    Ok(UnattendedOutcome::Left(UnattendedRefusal::Busy))
}

/// One try; `None` where the session was saved meanwhile.
fn attempt(scene: &Scene<'_>, sides: &MergeTips, is_rewriting: bool) -> Result<Option<UnattendedOutcome>, Error> {
    if let Some(why) = refusal(scene, sides)? {
        return Ok(Some(UnattendedOutcome::Left(why)));
    }
    let writer = if is_rewriting {
        Writer::rewriting(scene.repo)?
    } else {
        Writer::durable(scene.repo)?
    };
    let how = MergeMethod {
        files: Some(false),
        ..MergeMethod::default()
    };
    let composed = compose_merge::compose_merge(scene, &writer, sides, &how, None)?;
    if !composed.report.conflicts.is_empty() {
        let many = composed.report.conflicts.len();
        return Ok(Some(UnattendedOutcome::Left(UnattendedRefusal::Contradictions(many))));
    }
    let sealed = writer.finish()?;
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    let _session = lock::session(scene.repo, &sides.ours.document.session.id, scene.wait)?;
    if let Some(why) = refusal(scene, sides)? {
        return Ok(Some(UnattendedOutcome::Left(why)));
    }
    let tip = session_choice::named(scene, &sides.session)?.map(|chosen| chosen.tip.entry.id);
    if tip != Some(sides.ours.entry.id) {
        return Ok(None);
    }
    let edits = edits(sides, Some(sides.ours.entry.id), composed.written.id);
    let transaction = UndoableRefTransaction {
        operation: PlanOperation::Merge.word(),
        what: format!("{}, automatically", what(sides)),
        edits: &edits,
        sealed: Some(sealed),
        needs: &composed.written.needs,
        ..UndoableRefTransaction::default()
    };
    transaction.run(scene)?;
    Ok(Some(UnattendedOutcome::Merged))
}

/// The reason not to merge without a person, as far as it is known before both sides are compared.
fn refusal(scene: &Scene<'_>, sides: &MergeTips) -> Result<Option<UnattendedRefusal>, Error> {
    let by = compose::by(scene, &compose::people(scene));
    for side in [&sides.ours, &sides.theirs] {
        let claim = side.document.session.claim.as_ref();
        if let Some(claim) = claim.filter(|claim| claim.holds_against(&by, scene.now)) {
            return Ok(Some(UnattendedRefusal::Claimed(claim.by.clone())));
        }
    }
    let waiting = draft::read(scene.repo, &sides.ours.document.session.id)?;
    if session_choice::waiting(&waiting, &sides.ours, &sides.session) > 0 {
        return Ok(Some(UnattendedRefusal::Draft));
    }
    let is_under_way = |repo: &Repository| -> Result<bool, Error> {
        let is_of_session = |state: MergeState| state.session.as_ref() == Some(&sides.session);
        Ok(lock::is_operation_running(repo)
            || journal::read(repo)?.is_some()
            || merge_state::read(repo)?.is_some_and(is_of_session))
    };
    let mut is_found = is_under_way(scene.repo)?;
    for other in others(scene) {
        is_found |= is_under_way(&other)?;
    }
    Ok(is_found.then_some(UnattendedRefusal::UnderWay))
}

/// The other working tree in which a session is current; `None` where it is this one's, or of none.
fn home(scene: &Scene<'_>, id: &str) -> Result<Option<Repository>, Error> {
    let has = |repo: &Repository| current::read(repo).map(|current| current.session.is_some_and(|has| has.id == id));
    if has(scene.repo)? {
        return Ok(None);
    }
    Ok(others(scene).find(|other| has(other).unwrap_or_default()))
}

/// The other working trees of this repository, as far as they can be opened.
fn others<'a>(scene: &Scene<'a>) -> impl Iterator<Item = Repository> + use<'a> {
    let repo = scene.repo;
    let here = store::worktree_id(repo);
    let ids = store::worktree_ids(repo).into_iter().filter(move |id| *id != here);
    ids.filter_map(|id| store::open_worktree(repo, &store::worktree_path(repo, &id)?).ok())
}
