//! Working tree whose files a checkpoint holds. A session that is named in another working tree than its own, to finish it
//! for example, does not get the files from there.

use std::path::PathBuf;

use super::{SaveRequest, SaveTarget};
use crate::{
    ops::{Error, Scene},
    os,
    store::{self, Repository, current, lock},
};

/// Source of the files of a checkpoint.
pub(super) enum FilesOrigin {
    /// This working tree.
    Here,
    /// The working tree of the session.
    Worktree(Box<SessionWorktree>),
    /// The checkpoint before: the working tree of the session is gone, or another session's.
    AsSaved,
}

/// A working tree that a session has for itself.
pub(super) struct SessionWorktree {
    repo: Repository,
    path: PathBuf,
    _lock: Option<lock::HeldLock>,
}

impl FilesOrigin {
    /// A session that is current here, or that no command line or variable names, is saved here. One that was forked into a
    /// linked working tree of its own is saved from there; any other one only where it ends being current.
    pub(super) fn of(scene: &Scene<'_>, request: &SaveRequest, target: &SaveTarget) -> Result<Self, Error> {
        let (Some(_), SaveTarget::Existing(chosen), true) = (scene.session, target, request.files) else {
            return Ok(Self::Here);
        };
        let document = &chosen.tip.document;
        let session = &document.session;
        let current_in = |repo: &Repository| current::read(repo).ok().and_then(|now| now.session);
        let is_it = |repo: &Repository| current_in(repo).is_some_and(|current| current.id == session.id);
        if store::read_only_directory(scene.repo).is_some() || is_it(scene.repo) {
            return Ok(Self::Here);
        }
        let here = store::worktree_id(scene.repo);
        let is_own = |id: &str| request.leave || session.forked_from.is_some() && id != "main";
        let open = |id: &str| {
            let path = store::worktree_path(scene.repo, id)?;
            Some((store::open_worktree(scene.repo, &path).ok()?, path))
        };
        let others = store::worktree_ids(scene.repo).into_iter().filter(|id| *id != here);
        for id in others.filter(|id| is_own(id)) {
            if let Some((repo, path)) = open(&id).filter(|(repo, _)| is_it(repo)) {
                return Self::worktree(scene, request, repo, path);
            }
        }
        let last = &document.worktree.id;
        if *last == here || document.host != scene.host || document.snapshot.is_none() || !is_own(last) {
            return Ok(Self::Here);
        }
        match open(last) {
            // It was paused there.
            Some((repo, path)) if current_in(&repo).is_none() => Self::worktree(scene, request, repo, path),
            Some(_) if !request.leave => Ok(Self::Here),
            _ => Ok(Self::AsSaved),
        }
    }

    fn worktree(scene: &Scene<'_>, request: &SaveRequest, repo: Repository, path: PathBuf) -> Result<Self, Error> {
        let lock = (!request.dry_run)
            .then(|| lock::worktree(&repo, scene.wait))
            .transpose()?;
        Ok(Self::Worktree(Box::new(SessionWorktree {
            repo,
            path,
            _lock: lock,
        })))
    }

    /// The scene in which the files are read.
    pub(super) fn scene<'a>(&'a self, here: &Scene<'a>) -> Scene<'a> {
        match self {
            Self::Worktree(worktree) => Scene {
                repo: &worktree.repo,
                index: None,
                ..*here
            },
            Self::Here | Self::AsSaved => *here,
        }
    }

    /// Records that the files of another working tree than this one were saved.
    pub(super) fn announce(&self) {
        match self {
            Self::Here => {}
            Self::Worktree(worktree) => os::notices::note(&format!(
                "the files are those of '{}', the working tree of this session",
                worktree.path.display()
            )),
            Self::AsSaved => {
                os::notices::note(
                    "the files are as they were saved: the working tree of this session is not there any more",
                );
            }
        }
    }
}
