//! `delete`: a session to the trash, from which `undo` brings it back until a prune empties it.

use super::{Error, Scene, compose, select, undo as taking_back};
use crate::{
    model::{id::Oid, name::Name, selector::Selector},
    os::Leftover,
    store::{
        ObjectId,
        checkpoint::{self, oid},
        current, lock,
        refs::{self, Edit, Expected},
        session,
    },
};

/// A session that was deleted.
#[derive(Debug)]
pub struct Deleted {
    /// Its name.
    pub name: Name,
    /// Its newest checkpoint.
    pub tip: ObjectId,
    /// How many checkpoints it had, those of its source not counted; `None` if they cannot all be read.
    pub checkpoints: Option<usize>,
    /// The ref that keeps it.
    pub trash: String,
    /// Files of ours that could not be removed.
    pub left: Vec<Leftover>,
}

/// Deletes a session, or in a dry run only finds out what that would take.
pub fn delete(scene: &Scene<'_>, selector: &Selector, dry_run: bool) -> Result<Deleted, Error> {
    refs::recover(scene.repo, scene.wait)?;
    let (name, tip) = select::session(scene, selector)?;
    let found = checkpoint::load(scene.repo, tip).map_err(Error::damaged(name.as_str()))?;
    let id = found.document.session.id.clone();
    let _session = lock::session(scene.repo, &id, scene.wait)?;
    let message = format!("checkpoint: delete {name}");
    let prefix = format!("refs/checkpoints-trash/{id}/");
    let taken = refs::list(scene.repo, &prefix)?;
    let numbers = taken
        .iter()
        .filter_map(|(full, _)| full.strip_prefix(&prefix)?.parse::<u64>().ok());
    let mut n = numbers.max().unwrap_or(0);
    let mut gone = vec![(session::ref_name(&name), tip)];
    for (autosave, target) in refs::list(scene.repo, &format!("refs/checkpoints-autosave/{id}/"))? {
        // A damaged one is nothing to keep; repair looks at it.
        gone.extend(target.ok().map(|target| (autosave, target)));
    }
    let (mut edits, mut moves) = (Vec::new(), Vec::<(String, Option<Oid>, Option<Oid>)>::new());
    for (full, target) in gone {
        n += 1;
        let trash = format!("{prefix}{n}");
        edits.push(edit(&trash, Expected::Absent, Some(target), &message));
        edits.push(edit(&full, Expected::Is(target), None, &message));
        moves.push((trash, None, Some(oid(target))));
        moves.push((full, Some(oid(target)), None));
    }
    let trash = edits[0].name.clone();
    let own = session::chain(scene.repo, tip)
        .map(Result::ok)
        .collect::<Option<Vec<_>>>();
    let mut deleted = Deleted {
        name,
        tip,
        checkpoints: own.map(|own| own.len()),
        trash,
        left: Vec::new(),
    };
    if dry_run {
        return Ok(deleted);
    }
    deleted.left = refs::update(scene.repo, &edits, &compose::people(scene).committer, scene.wait)?;
    let before = current::read(scene.repo)?;
    let after = before.left(&id);
    current::write(scene.repo, &after)?;
    taking_back::note_refs(
        scene,
        "delete",
        format!("deleted session {}", deleted.name),
        moves,
        Some((before, after)),
    )?;
    Ok(deleted)
}

fn edit(name: &str, expected: Expected, new: Option<ObjectId>, message: &str) -> Edit {
    Edit {
        name: name.to_owned(),
        expected,
        new,
        message: message.to_owned(),
    }
}
