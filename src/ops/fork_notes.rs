//! Notes of forks whose working tree is being made, each from before the directory is made until the set-up command ended, or
//! removed, from before the first deletion. A note that no process works on is of a fork that was cut off.

use std::{fs, io, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Error, Scene};
use crate::{
    model::{id::Oid, name::ShortName, path::RepoPath},
    os::{self, Sharing},
    store::{self, lock},
};

/// Where the notes are, below our directory.
const DIRECTORY: &str = "forks";

/// A fork whose working tree is not complete, or whose set-up command failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkNote {
    /// The session.
    pub session: ShortName,
    /// The directory of the working tree.
    pub path: RepoPath,
    /// Its branch.
    pub branch: String,
    /// The exit status of the set-up command that failed. The files are complete then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<i32>,
    /// The checkpoint that holds what was in the working tree, where that is being removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<Oid>,
}

/// The work on one fork; other processes see that it is in work until this is dropped.
pub(in crate::ops) struct ForkWork {
    note: ForkNote,
    file: PathBuf,
    sharing: Sharing,
    _lock: lock::HeldLock,
}

impl ForkWork {
    /// Notes that a working tree is about to be made.
    pub(in crate::ops) fn begin(scene: &Scene<'_>, note: ForkNote) -> Result<Self, Error> {
        let work = Self::enter(scene, note)?;
        let directory = store::private_dir(scene.repo)?.join(DIRECTORY);
        fs::create_dir_all(&directory).map_err(store::Error::io("create", &directory))?;
        // What a kill left of writing the same note before.
        let half = format!("{}.json.", work.note.session);
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&half) {
                let _ = fs::remove_file(entry.path());
            }
        }
        work.write()?;
        Ok(work)
    }

    fn write(&self) -> Result<(), Error> {
        let bytes = serde_json::to_vec(&self.note).unwrap_or_default();
        let written = os::replace(&self.file, &bytes, self.sharing, true);
        Ok(written.map_err(store::Error::io("write", &self.file))?)
    }

    /// Takes up the work on a fork that was cut off.
    pub(in crate::ops) fn enter(scene: &Scene<'_>, note: ForkNote) -> Result<Self, Error> {
        Ok(Self {
            _lock: lock::fork(scene.repo, note.session.as_str(), Duration::ZERO)?,
            file: file(scene, &note.session),
            sharing: store::sharing(scene.repo),
            note,
        })
    }

    /// Ends after the set-up command, which exited with a status: a command that failed can be run again.
    pub(in crate::ops) fn end_after(mut self, setup: Option<i32>) -> Result<(), Error> {
        self.note.setup = setup.filter(|code| *code != 0);
        if self.note.setup.is_some() {
            self.write()
        } else {
            self.end()
        }
    }

    /// Notes that nothing is left to do.
    pub(in crate::ops) fn end(self) -> Result<(), Error> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(store::Error::io("remove", &self.file)(error).into())
            }
            _ => Ok(()),
        }
    }
}

fn file(scene: &Scene<'_>, session: &ShortName) -> PathBuf {
    store::private_path(scene.repo)
        .join(DIRECTORY)
        .join(format!("{session}.json"))
}

/// The forks that were cut off, and those whose set-up command failed, by name.
pub fn all(scene: &Scene<'_>) -> Result<Vec<ForkNote>, Error> {
    let directory = store::private_path(scene.repo).join(DIRECTORY);
    let mut out = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        // What is not a note of ours is left alone.
        let path = entry.path();
        let note = fs::read(&path)
            .ok()
            .filter(|_| path.extension().is_some_and(|end| end == "json"));
        let Some(note) = note.and_then(|bytes| serde_json::from_slice::<ForkNote>(&bytes).ok()) else {
            continue;
        };
        let is_busy = lock::is_fork_busy(scene.repo, note.session.as_str());
        let is_there = || PathBuf::from(os::os_string(note.path.as_bytes())).is_dir();
        // A session that was undone or deleted needs no working tree.
        if !is_busy && (note.setup.is_none() || is_there()) && store::session::tip(scene.repo, &note.session)?.is_some()
        {
            out.push(note);
        }
    }
    out.sort_by(|a, b| a.session.cmp(&b.session));
    Ok(out)
}

/// Those whose files are not complete.
fn cut_off(scene: &Scene<'_>) -> Result<Vec<ForkNote>, Error> {
    let mut notes = all(scene)?;
    notes.retain(|note| note.setup.is_none());
    Ok(notes)
}

/// The fork that this working tree is of, if it was cut off before it was complete.
pub fn here(scene: &Scene<'_>) -> Result<Option<ForkNote>, Error> {
    let notes = cut_off(scene)?;
    if notes.is_empty() {
        return Ok(None);
    }
    let here = store::work_tree(scene.repo)
        .ok()
        .and_then(|path| path.canonicalize().ok());
    let is_here = |note: &ForkNote| {
        let path = PathBuf::from(os::os_string(note.path.as_bytes()));
        here.is_some() && path.canonicalize().ok() == here
    };
    Ok(notes.into_iter().find(is_here))
}

/// Refuses to save this working tree if it is that of a fork that was cut off.
pub(in crate::ops) fn refuse_here(scene: &Scene<'_>) -> Result<(), Error> {
    here(scene)?.map_or(Ok(()), |note| Err(incomplete(&note)))
}

/// Refuses to merge a fork that was cut off.
pub(in crate::ops) fn refuse_session(scene: &Scene<'_>, session: &ShortName) -> Result<(), Error> {
    let notes = cut_off(scene)?;
    let note = notes.iter().find(|note| note.session == *session);
    note.map_or(Ok(()), |note| Err(incomplete(note)))
}

fn incomplete(note: &ForkNote) -> Error {
    let session = note.session.to_string();
    store::Error::IncompleteFork { session }.into()
}

/// The removal of a fork's working tree that was cut off.
pub(in crate::ops) fn removal(scene: &Scene<'_>, name: &ShortName) -> Result<Option<ForkNote>, Error> {
    let mut notes = cut_off(scene)?.into_iter();
    Ok(notes.find(|note| note.session == *name && note.removal.is_some()))
}

/// The refusal for a fork whose name is taken by one that was cut off.
pub(in crate::ops) fn refuse(scene: &Scene<'_>, name: &ShortName) -> Result<(), Error> {
    let Some(note) = cut_off(scene)?.into_iter().find(|note| note.session == *name) else {
        return Ok(());
    };
    let what = if note.removal.is_some() {
        format!("the removal of fork '{name}' was cut off; finish it: git checkpoint fork --remove {name}")
    } else {
        format!(
            "fork '{name}' was cut off before its working tree was complete; finish it: git checkpoint fork --continue {name}"
        )
    };
    Err(Error::PathTaken { what })
}
