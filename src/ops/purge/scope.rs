//! Scope of a purge: existing refs, refs that are deleted, and checkpoints that are dropped.

use std::collections::{BTreeSet, HashSet};

use super::{PurgeScope, PurgeTarget, is_foreign, shown};
use crate::{
    model::{document::CheckpointKind, name::ShortName, selector::Base, selector::Selector},
    ops::{
        Error, Scene, ids, select, session_choice,
        trash::{self, TrashEntry},
    },
    store::{
        self, ObjectId,
        checkpoint::{self, oid},
        reachability, refs, session,
    },
};

/// A ref of ours.
pub(super) struct OwnRef {
    pub(super) name: String,
    pub(super) tip: ObjectId,
    /// Commits in its reflog that the repository still has, without the tip.
    pub(super) log: Vec<ObjectId>,
    /// The identity of its session.
    session: String,
}

/// Every ref of ours.
pub(super) struct RefInventory {
    pub(super) refs: Vec<OwnRef>,
}

impl RefInventory {
    /// Reads them. A damaged one is an error: what it held would stay unseen.
    pub(super) fn read(scene: &Scene<'_>) -> Result<Self, Error> {
        let mut found = Vec::new();
        for (name, target) in refs::list(scene.repo, "refs/checkpoints")? {
            let tip = match target {
                Ok(tip) => tip,
                Err(damage) => return Err(store::Error::Damaged { name, damage }.into()),
            };
            let session = match checkpoint::load(scene.repo, tip) {
                Ok(checkpoint) => checkpoint.document.session.id,
                // The user's own ref, without content of ours.
                Err(fault) if is_foreign(&fault) => continue,
                Err(fault) => return Err(Error::damaged(shown(&name))(fault)),
            };
            let entries = refs::reflog(scene.repo, &name)?;
            let logged: BTreeSet<_> = entries
                .iter()
                .flat_map(|entry| entry.old.into_iter().chain([entry.new]))
                .filter(|id| *id != tip && reachability::is_here(scene.repo, id))
                .collect();
            found.push(OwnRef {
                name,
                tip,
                log: logged.into_iter().collect(),
                session,
            });
        }
        Ok(Self { refs: found })
    }
}

/// Checkpoints and refs that a purge removes.
pub(super) struct PurgeSelection {
    pub(super) meant: PurgeScope,
    /// The session that goes as a whole.
    pub(super) session_id: Option<String>,
    /// Refs to be deleted.
    pub(super) delete: HashSet<String>,
    /// Checkpoints that are replaced by their predecessors.
    pub(super) drop: HashSet<ObjectId>,
    /// Checkpoints that nothing may lead to any more: those, and the first one of a session.
    pub(super) gone: HashSet<ObjectId>,
}

impl PurgeSelection {
    pub(super) fn of(scene: &Scene<'_>, what: &PurgeTarget, found: &RefInventory) -> Result<Self, Error> {
        match what {
            PurgeTarget::Paths { .. } => Ok(Self::new(PurgeScope::Paths)),
            PurgeTarget::Selected(selector) => match whole_session(scene, selector)? {
                Some((name, tip)) => Self::session(scene, name, tip, found),
                None => Self::checkpoint(scene, selector),
            },
        }
    }

    fn new(meant: PurgeScope) -> Self {
        Self {
            meant,
            session_id: None,
            delete: HashSet::new(),
            drop: HashSet::new(),
            gone: HashSet::new(),
        }
    }

    fn checkpoint(scene: &Scene<'_>, selector: &Selector) -> Result<Self, Error> {
        let selected = select::checkpoint(scene, selector)?;
        let id = selected.checkpoint.entry.id;
        if matches!(
            selected.checkpoint.document.kind,
            CheckpointKind::Start | CheckpointKind::Fork
        ) {
            return Err(Error::FirstOfSession {
                session: selected.checkpoint.document.session.name.clone(),
            });
        }
        let mut scope = Self::new(PurgeScope::Checkpoint {
            id: oid(id),
            session: selected.session,
        });
        scope.drop.insert(id);
        scope.gone.insert(id);
        Ok(scope)
    }

    fn session(scene: &Scene<'_>, name: ShortName, tip: ObjectId, found: &RefInventory) -> Result<Self, Error> {
        let id = checkpoint::load(scene.repo, tip)
            .map_err(Error::damaged(name.as_str()))?
            .document
            .session
            .id;
        refuse_twins(scene, &name, &id)?;
        let mut scope = Self::new(PurgeScope::Session { name });
        for one in found.refs.iter().filter(|one| one.session == id) {
            scope.delete.insert(one.name.clone());
            for from in one.log.iter().chain([&one.tip]) {
                for entry in session::chain(scene.repo, *from) {
                    let entry = match entry {
                        Ok(entry) => entry,
                        // What a reflog has may be half gone.
                        Err(_) if *from != one.tip => break,
                        Err(fault) => return Err(Error::damaged(shown(&one.name))(fault)),
                    };
                    if entry.trailers.kind != Some(CheckpointKind::Start) {
                        scope.drop.insert(entry.id);
                    }
                    scope.gone.insert(entry.id);
                }
            }
        }
        scope.session_id = Some(id);
        Ok(scope)
    }
}

/// Refuses where another session, here or in the trash, has the same identity: draft, chat and autosaves may be its own.
fn refuse_twins(scene: &Scene<'_>, name: &ShortName, id: &str) -> Result<(), Error> {
    let (why, hints) = if let Some((twin, _)) = session_choice::twins(scene, id, name)?.first() {
        let part = format!("git checkpoint delete {twin} && git checkpoint undelete {twin}");
        let why = format!("session '{twin}' has the same identity, and would go with it");
        (why, vec![format!("first make '{twin}' a session of its own: {part}")])
    } else {
        let deleted = trash::deleted(scene)?;
        let is_twin = |deleted: &&TrashEntry| deleted.trash.split('/').nth(2) == Some(id);
        let Some(deleted) = deleted.iter().find(is_twin) else {
            return Ok(());
        };
        let (commit, twin) = (ids::short(deleted.tip.id), &deleted.name);
        let why = format!("session '{twin}' {commit} in the trash has the same identity, and would go with it");
        let back = format!("git checkpoint undelete {commit} --name {}", twin.numbered(2));
        let hints = vec![
            format!("first bring it back as a session of its own: {back}"),
            "or empty the trash: git checkpoint prune --trash".to_owned(),
        ];
        (why, hints)
    };
    Err(Error::ChangedSince {
        what: format!("purge session '{name}'"),
        why,
        remedies: hints.into(),
    })
}

/// The session that a selector names by its whole name, without a step.
fn whole_session(scene: &Scene<'_>, selector: &Selector) -> Result<Option<(ShortName, ObjectId)>, Error> {
    let Base::Word(word) = &selector.base else {
        return Ok(None);
    };
    if !selector.steps.is_empty() {
        return Ok(None);
    }
    let Ok(name) = word.parse::<ShortName>() else {
        return Ok(None);
    };
    Ok(session::tip(scene.repo, &name)?.map(|tip| (name, tip)))
}
