//! The sessions that a search goes through.

use std::collections::HashSet;

use super::{
    super::{Error, Scene, select, trash},
    SearchRequest,
};
use crate::{
    model::time::Timestamp,
    store::{self, ObjectId, autosave, checkpoint::CheckpointCommit, refs, scan::ObjectReader, session},
};

/// Where a session was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOrigin {
    /// In this repository.
    Local,
    /// Fetched from a remote.
    Fetched,
    /// Deleted, in the trash.
    Trash,
    /// An autosave.
    Autosave,
}

impl SessionOrigin {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Fetched => "fetched",
            Self::Trash => "trash",
            Self::Autosave => "autosave",
        }
    }
}

/// A session to search.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) origin: SessionOrigin,
    pub(super) tip: ObjectId,
    pub(super) at: Timestamp,
}

/// The sessions to search, the one saved last first, and the names of those whose latest checkpoint is damaged.
pub(super) fn sources(scene: &Scene<'_>, request: &SearchRequest) -> Result<(Vec<Source>, Vec<String>), Error> {
    let mut all = Vec::new();
    let mut damaged = Vec::new();
    let mut add = |name: String, origin, tip: Result<CheckpointCommit, session::Broken>| match tip {
        Ok(tip) => all.push(Source {
            name,
            origin,
            tip: tip.id,
            at: tip.time,
        }),
        Err(_) => damaged.push(name),
    };
    for session in session::all(scene.repo)? {
        add(session.name, SessionOrigin::Local, session.tip);
    }
    for session in session::fetched(scene.repo)? {
        add(store::remote::shown(&session.name), SessionOrigin::Fetched, session.tip);
    }
    if request.trash {
        for deleted in trash::deleted(scene)? {
            add(deleted.name.to_string(), SessionOrigin::Trash, Ok(deleted.tip));
        }
    }
    if request.autosaves {
        let mut reader = ObjectReader::of(scene.repo);
        for (full, target) in refs::list(scene.repo, autosave::PREFIX)? {
            let mut ids: Vec<ObjectId> = refs::reflog(scene.repo, &full)?
                .into_iter()
                .map(|entry| entry.new)
                .collect();
            ids.extend(target.ok());
            let mut seen = HashSet::new();
            for id in ids.into_iter().filter(|id| seen.insert(*id)) {
                // What a reflog names may have expired.
                if let Ok(tip) = reader.checkpoint(id) {
                    let name = tip.trailers.session.clone().unwrap_or_default();
                    add(name, SessionOrigin::Autosave, Ok(tip));
                }
            }
        }
    }
    if !request.sessions.is_empty() {
        let is_name = |wanted: &String| all.iter().any(|source| source.name == *wanted);
        let wanted = request.sessions.iter().map(|wanted| {
            if is_name(wanted) {
                Ok(wanted.clone())
            } else {
                select::session_name(scene, wanted)
            }
        });
        let names = wanted.collect::<Result<Vec<_>, Error>>()?;
        all.retain(|source| names.contains(&source.name));
        damaged.clear();
    }
    all.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.name.cmp(&b.name)));
    Ok((all, damaged))
}
