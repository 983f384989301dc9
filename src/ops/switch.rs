//! `switch` and `rename`: which session is current, and what one is called.

use super::{Error, Scene, choose, compose, select, start, undo};
use crate::{
    model::{document::Document, name::Name, selector::Selector},
    os::Leftover,
    store::{
        self, ObjectId,
        checkpoint::oid,
        current, lock,
        refs::{self, Edit, Expected},
        session,
    },
};

/// Makes a session the current one of this work tree, or in a dry run only finds it; changes no file and saves nothing.
pub fn switch(scene: &Scene<'_>, selector: &Selector, dry_run: bool) -> Result<(Name, Document), Error> {
    let (name, tip) = select::session(scene, selector)?;
    let document = choose::load(scene, name.as_str(), tip)?.document;
    if !dry_run {
        start::make_current(scene, &document, &name)?;
    }
    Ok((name, document))
}

/// How often a renaming is tried again because the session was saved meanwhile.
const TRIES: u32 = 20;

/// A session that was given another name.
#[derive(Debug)]
pub struct Renamed {
    /// The name it had.
    pub from: Name,
    /// Its newest checkpoint.
    pub tip: ObjectId,
    /// Files of ours that could not be removed.
    pub leftovers: Vec<Leftover>,
}

/// Gives a session another name, or in a dry run only checks whether it could be done. Its checkpoints stay as they are:
/// the ref alone gives the name.
pub fn rename(scene: &Scene<'_>, selector: &Selector, to: &Name, dry_run: bool) -> Result<Renamed, Error> {
    refs::recover(scene.repo, scene.wait)?;
    let (from, mut tip) = select::session(scene, selector)?;
    if from == *to {
        return Ok(Renamed {
            from,
            tip,
            leftovers: Vec::new(),
        });
    }
    let document = choose::load(scene, from.as_str(), tip)?.document;
    let _session = lock::session(scene.repo, &document.session.id, scene.wait)?;
    for _ in 0..TRIES {
        if session::tip(scene.repo, to)?.is_some() {
            return Err(Error::Exists { name: to.clone() });
        }
        if dry_run {
            let leftovers = Vec::new();
            return Ok(Renamed { from, tip, leftovers });
        }
        match move_ref(scene, &from, to, tip) {
            Err(Error::Store(store::Error::Moved { .. })) => {}
            other => {
                let leftovers = other?;
                let before = current::read(scene.repo).unwrap_or_default();
                follow(scene, &document, to)?;
                let moves = vec![
                    (session::ref_name(to), None, Some(oid(tip))),
                    (session::ref_name(&from), Some(oid(tip)), None),
                ];
                let current = Some((before, current::read(scene.repo)?));
                undo::note_refs(scene, "rename", format!("renamed {from} to {to}"), moves, current)?;
                return Ok(Renamed { from, tip, leftovers });
            }
        }
        let gone = || Error::NotFound {
            text: from.to_string(),
            candidates: Vec::new(),
        };
        tip = session::tip(scene.repo, &from)?.ok_or_else(gone)?;
    }
    Err(Error::Contended {
        session: from,
        tries: TRIES,
    })
}

fn move_ref(scene: &Scene<'_>, from: &Name, to: &Name, tip: ObjectId) -> Result<Vec<Leftover>, Error> {
    let message = format!("checkpoint: rename {from} to {to}");
    let edits = [
        Edit {
            name: session::ref_name(to),
            expected: Expected::Absent,
            new: Some(tip),
            message: message.clone(),
        },
        Edit {
            name: session::ref_name(from),
            expected: Expected::Is(tip),
            new: None,
            message,
        },
    ];
    Ok(refs::update(
        scene.repo,
        &edits,
        &compose::people(scene).committer,
        scene.wait,
    )?)
}

/// Lets this work tree's note of its current session know the new name.
fn follow(scene: &Scene<'_>, document: &Document, to: &Name) -> Result<(), Error> {
    let mut now = current::read_to_replace(scene.repo)?;
    for entry in [&mut now.session, &mut now.previous].into_iter().flatten() {
        if entry.id == document.session.id {
            entry.name = to.clone();
        }
    }
    Ok(current::write(scene.repo, &now)?)
}
