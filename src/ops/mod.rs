//! Use cases: what the program does, for every front end alike.
//!
//! An operation takes a [`Scene`] and a request of plain values, and returns an outcome of plain values. It never
//! prints, asks, or reads the clock or the environment; it passes the repository along and calls the store and the
//! working tree. All writing goes through here, so the command line, hooks and watchers cannot differ.

pub mod agent;
pub mod amend;
pub mod apply;
pub mod autosave;
pub mod autosave_list;
pub mod autosave_loop;
mod bases;
pub mod bisect;
pub mod blame;
pub mod branch_sessions;
pub mod changes;
mod changes_since;
pub mod chat;
pub mod clean;
pub mod clear;
pub mod compact;
pub mod compare;
mod compose;
pub mod conclude;
pub mod conflict;
pub mod contents;
mod current_session;
pub mod delete;
pub mod diff;
pub mod draft;
pub mod edit;
mod error;
pub mod events;
pub mod export;
pub mod export_commit;
pub mod file_history;
pub mod fork;
pub mod fork_notes;
pub mod fork_points;
pub mod graph;
pub mod hands;
pub mod hooks;
mod ids;
pub mod import;
pub mod indicator;
pub mod interrupted;
pub mod items;
mod kept_content;
mod lacking;
pub mod link;
pub mod list;
mod made_here;
pub mod markers;
pub mod merge;
pub mod notes;
mod omissions;
pub mod overview;
mod parted;
pub mod parts;
pub mod paths;
mod pathspecs;
pub mod pin;
mod placement;
pub mod plan_runner;
pub mod prune;
pub mod purge;
pub mod put_aside;
pub mod range;
pub mod reapply;
pub mod receipt;
pub mod record;
pub mod redact;
mod ref_target;
pub mod ref_transaction;
pub mod refuse;
pub mod rekey;
mod remote_names;
pub mod repair;
pub mod replay;
pub mod repositories;
mod rerere;
pub mod restore;
pub mod restore_outcome;
pub mod resume;
pub mod returned;
pub mod safety;
pub mod save;
pub mod search;
pub mod select;
mod session_choice;
pub mod share;
pub mod show;
pub mod start;
pub mod stats;
pub mod status;
pub mod step;
pub mod suggestions;
pub mod summary;
pub mod switch;
mod target_session;
mod target_state;
pub mod timeline;
pub mod transcript_facts;
pub mod trash;
pub mod unapplied;
pub mod undelete;
pub mod undo;
pub mod unfinished;
mod unmerged_files;
pub mod verify;
mod waiting;
mod watch_answers;

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    time::Duration,
};

pub use error::{ClaimOfOther, Error, RemovalError, SelectorCandidate};

pub use crate::worktree::restore::Error as RestoreError;
pub use crate::worktree::snapshot::Error as WorktreeError;

use crate::{
    model::{name::ShortName, time::Timestamp},
    store::{ObjectId, Repository, checkpoint::Checkpoint, config::Settings},
};

/// Where and for whom an operation runs. Facts only; what an operation is to do is in its request.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The repository.
    pub repo: &'a Repository,
    /// The settings in force.
    pub settings: &'a Settings,
    /// The one time of this command.
    pub now: Timestamp,
    /// This machine's name.
    pub host: &'a str,
    /// The agent that calls, from `--agent` or `CHECKPOINT_AGENT`.
    pub agent: Option<&'a str>,
    /// The session named by `--session` or `CHECKPOINT_SESSION`.
    pub session: Option<&'a ShortName>,
    /// Whether that name is from `CHECKPOINT_SESSION`, which errors say: it was not typed for this command.
    pub session_is_of_environment: bool,
    /// The user's home directory, which is never taken for a project.
    pub home: Option<&'a Path>,
    /// The index to read instead of the working tree's own, from `GIT_INDEX_FILE`.
    pub index: Option<&'a Path>,
    /// How long to wait for a lock.
    pub wait: Duration,
    /// Checkpoint that was read last.
    pub seen: &'a CheckpointCache,
}

/// The checkpoint that was read last in this command: most ask for the same one several times, first to choose it, then
/// again under the lock. What a commit holds does not change, so only which commit it is has to be read again.
///
/// One checkpoint of one repository, and for as long as the repository is open: whether it is still stored is looked at
/// by the code that builds on it.
#[derive(Debug, Default)]
pub struct CheckpointCache {
    last: RefCell<Option<(PathBuf, Checkpoint)>>,
    /// A checkpoint that was selected by its id, the session that has it, and what was the latest one of that session then:
    /// to find it out takes a walk along the session.
    session: RefCell<Option<(ObjectId, ShortName, ObjectId)>>,
}

impl CheckpointCache {
    /// The checkpoint, if it was read last and from there.
    fn get(&self, objects: &Path, id: ObjectId) -> Option<Checkpoint> {
        let seen = self.last.borrow();
        let (place, checkpoint) = seen.as_ref()?;
        (place == objects && checkpoint.entry.id == id).then(|| checkpoint.clone())
    }

    fn set(&self, objects: PathBuf, checkpoint: &Checkpoint) {
        self.last.replace(Some((objects, checkpoint.clone())));
    }
}
