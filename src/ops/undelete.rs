//! `undelete`: bringing a deleted session back.

use super::{
    Error, Scene,
    parted::{self, AutosaveTarget},
    ref_target,
    ref_transaction::{Aftermath, UndoableRefTransaction},
    session_choice,
    trash::{self, TrashEntry},
    waiting::CopiedEntries,
};
use crate::{
    model::{
        document::{Document, SessionStatus},
        name::ShortName,
    },
    store::{
        self, ObjectId, branches, checkpoint,
        current::{self, SessionRef},
        lock,
        objects::{self, SealedObjects, Writer},
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// A session that came back.
#[derive(Debug)]
pub struct UndeleteOutcome {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// Whether it is the current session of the branch that is checked out, as none was.
    pub is_current: bool,
    /// The session that has the identity which this one had, so that it got one of its own.
    pub twin: Option<ShortName>,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// Brings a session back from the trash: the one of this name that was deleted last, or the one with this id. `to` is
/// another name for it.
pub fn undelete(
    scene: &Scene<'_>,
    what: &str,
    to: Option<&ShortName>,
    dry_run: bool,
) -> Result<UndeleteOutcome, Error> {
    let mut _worktree = None;
    if !dry_run {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
        refs::recover(scene.repo, scene.wait)?;
    }
    let all = trash::deleted(scene)?;
    let is_id = |deleted: &&TrashEntry| what.len() >= 4 && deleted.tip.id.to_string().starts_with(what);
    let is_identity = |deleted: &&TrashEntry| deleted.trash.split('/').nth(2) == Some(what);
    let found = all.iter().find(|deleted| deleted.name.as_str() == what);
    let found = found.or_else(|| all.iter().find(is_identity));
    let Some(found) = found.or_else(|| all.iter().find(is_id)) else {
        return Err(Error::NotInTrash {
            what: what.to_owned(),
            names: all.iter().map(|deleted| deleted.name.to_string()).collect(),
            others: trash::older_states(scene)? + trash::replaced(scene)?.len(),
        });
    };
    let name = to.unwrap_or(&found.name).clone();
    if session::tip(scene.repo, &name)?.is_some() {
        return Err(Error::Exists { name });
    }
    let tip = found.tip.id;
    if let Some(why) = ref_target::missing(scene, &session::ref_name(&name), tip) {
        return Err(Error::ChangedSince {
            what: format!("undelete '{what}'"),
            why,
            remedies: Vec::<String>::new().into(),
        });
    }
    let id = found.trash.split('/').nth(2).unwrap_or_default();
    let _session = (!dry_run)
        .then(|| lock::session(scene.repo, id, scene.wait))
        .transpose()?;
    let twin = session_choice::of_identity(scene, id)?.map(|twin| twin.name);
    let mut undeleted = UndeleteOutcome {
        name: name.clone(),
        tip,
        is_current: false,
        twin,
        aftermath: Aftermath::default(),
    };
    let mut comeback = Comeback::new(scene, found, name.clone());
    if undeleted.twin.is_some() {
        comeback.part(scene, dry_run)?;
    } else {
        comeback.bring_autosaves(scene)?;
    }
    let now = current::read_to_replace(scene.repo)?;
    let branch = branches::active(scene.repo)?;
    let document = comeback.document.as_ref();
    let after = document
        .filter(|document| now.session.is_none() && document.session.status == SessionStatus::Active)
        .filter(|document| store::is_branch(scene.repo, document.git.branch.as_deref(), branch.as_deref()))
        .map(|document| SessionRef {
            id: document.session.id.clone(),
            name: name.clone(),
        })
        .map_or_else(|| now.clone(), |session| now.switched_to(session));
    undeleted.is_current = after != now;
    if dry_run {
        return Ok(undeleted);
    }
    undeleted.tip = comeback.tip;
    undeleted.aftermath = UndoableRefTransaction {
        operation: "undelete",
        what: format!("undeleted session {name}"),
        edits: &comeback.edits(),
        current: Some((now, after)),
        sealed: comeback.sealed,
        ..UndoableRefTransaction::default()
    }
    .run(scene)?;
    Ok(undeleted)
}

/// Refs with which a session comes back.
struct Comeback<'a> {
    found: &'a TrashEntry,
    name: ShortName,
    /// The document of its latest checkpoint; `None` where it cannot be read.
    document: Option<Document>,
    tip: ObjectId,
    /// The moves of its autosaves.
    autosaves: Vec<RefUpdate>,
    /// Objects that were written for it.
    sealed: Option<SealedObjects>,
}

impl<'a> Comeback<'a> {
    fn new(scene: &Scene<'_>, found: &'a TrashEntry, name: ShortName) -> Self {
        let tip = found.tip.id;
        Self {
            found,
            name,
            document: checkpoint::load(scene.repo, tip).ok().map(|tip| tip.document),
            tip,
            autosaves: Vec::new(),
            sealed: None,
        }
    }

    fn message(&self) -> String {
        format!("checkpoint: undelete {}", self.name)
    }

    fn edit(&self, name: String, old: Option<ObjectId>, new: Option<ObjectId>) -> RefUpdate {
        RefUpdate {
            name,
            expected: old.map_or(ExpectedValue::Absent, ExpectedValue::Is),
            new,
            message: self.message(),
        }
    }

    fn edits(&self) -> Vec<RefUpdate> {
        let mut edits = vec![
            self.edit(session::ref_name(&self.name), None, Some(self.tip)),
            self.edit(self.found.trash.clone(), Some(self.found.tip.id), None),
        ];
        edits.extend(self.autosaves.iter().cloned());
        edits
    }

    /// The autosaves that were deleted with the session come back with it. One of a working tree that has a later one
    /// stays in the trash.
    fn bring_autosaves(&mut self, scene: &Scene<'_>) -> Result<(), Error> {
        for (trash, autosave) in trash::autosaves(scene, self.found)? {
            let document = &autosave.document;
            let full = store::autosave::ref_in(&document.session.id, &document.worktree.id);
            if refs::read(scene.repo, &full)?.is_none() {
                let id = autosave.entry.id;
                self.autosaves.push(self.edit(full, None, Some(id)));
                self.autosaves.push(self.edit(trash, Some(id), None));
            }
        }
        Ok(())
    }

    /// Another session has the identity by now, and with it draft and chat: this one becomes one of its own, as one that a
    /// pull parts.
    fn part(&mut self, scene: &Scene<'_>, dry_run: bool) -> Result<(), Error> {
        let source = session_choice::load(scene, self.found.name.as_str(), self.tip)?;
        if dry_run {
            return Ok(());
        }
        objects::sweep(scene.repo)?;
        let writer = Writer::durable(scene.repo)?;
        let named = (&source, &self.found.name);
        let (document, first) = parted::first(scene, &writer, named, &self.name, parted::UNDELETE)?;
        let target = AutosaveTarget {
            session: &document.session,
            folded: &document.folded,
            tip: first.id,
            digest: &first.digest,
        };
        for (_, autosave) in trash::autosaves(scene, self.found)? {
            let based = (&autosave, self.tip);
            let new = parted::autosave_for(scene, &writer, based, &target, &CopiedEntries::default())?;
            let full = store::autosave::ref_in(&document.session.id, &autosave.document.worktree.id);
            // What it was stays in the trash.
            self.autosaves.push(self.edit(full, None, Some(new)));
        }
        self.sealed = Some(writer.finish()?);
        (self.document, self.tip) = (Some(document), first.id);
        Ok(())
    }
}
