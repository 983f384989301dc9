//! The repository as we use it: opening, objects, refs, locks and settings.
//!
//! Free functions over `&Repository`, the handle of gix with what is ours, so that callers name it without depending on
//! gix. What is read through gix is read as it lies in the object store (replace refs are off); what is written goes through
//! [`objects`] and [`refs`] alone, because neither gix nor git makes it durable in the order that a save needs.

pub mod agent_queue;
pub mod agents;
pub mod ancestry;
pub mod autosave;
pub mod bisect;
pub mod blame;
mod blob_batch;
pub mod branches;
mod branching;
pub mod change_stamp;
pub mod chat;
pub mod checkpoint;
pub mod commands;
pub mod config;
pub mod current;
pub mod deferred;
pub mod draft;
pub mod elsewhere;
mod encrypted_sessions;
pub mod encryption;
mod env_config;
mod environment;
mod error;
pub mod exports;
pub mod facts;
pub mod fetching;
pub mod graph;
mod headless;
pub mod hints;
pub mod history;
pub mod hooks;
mod ident;
pub mod identity;
pub mod incoming;
pub mod lines;
pub mod lock;
pub mod merge;
pub mod merge_state;
pub mod objects;
mod open;
pub mod operation;
pub mod patch;
pub mod patch_id;
pub mod path_removal;
mod paths;
pub mod pathspec;
mod percent;
pub mod pins;
pub mod prompt;
pub mod purged;
pub mod push_queue;
pub mod quarantine;
pub mod reachability;
pub mod refs;
pub mod remote;
pub mod remote_state;
mod repository;
pub mod restored;
pub mod rewrite;
pub mod scan;
pub mod scratch;
pub mod session;
mod session_ids;
pub mod session_recipients;
pub mod signature;
pub mod spill;
pub mod steps;
pub mod transcripts;
pub mod tree;
mod trust;
pub mod undo;
pub mod usage;
pub mod walk;
pub mod watch;

use crate::os::{self, CleanupFailure};
pub use branching::{former_names as branch_former_names, is_branch};
pub use encrypted_sessions::EncryptedSessions;
pub use environment::OpenEnvironment;
pub(crate) use error::aged;
pub use error::{Error, OwnFile, way_to_write};
pub use gix::ObjectId;
pub use gix::actor::Signature;
pub use gix::date::Time;
pub use gix::objs::Kind;
pub use headless::{HeadlessRepository, open_headless};
pub use ident::{author, is_named, who};
pub use open::{open, open_beside, open_worktree, read_only_directory, require_own_directory, with_memory};
pub(crate) use paths::objects_dir;
pub use paths::{
    foreign_variables, git, git_dir, has_files, has_work_tree, is_home_or_root, private_dir, private_path,
    private_paths, sharing, uses_reftable, work_tree, worktree_id, worktree_ids, worktree_path, worktree_private_dir,
    worktree_private_path,
};
pub use repository::{Repository, SharedRepository};
pub use session_ids::{IdentitySource, session_ids};

/// Removes what killed processes of ours left: files that are not whole yet, among the packs and in our own
/// directories, and lock files among what was fetched and not checked. Costs a look at seven directories. Gives what
/// could not be removed.
pub fn sweep(repo: &Repository) -> Result<Vec<CleanupFailure>, Error> {
    remote::sweep(repo)?;
    let mut left = objects::sweep(repo)?;
    // One that is at work holds its lock, and what cannot be removed is reported by the next bisection.
    let _ = bisect::sweep(repo, std::time::Duration::ZERO);
    let common = private_dir(repo)?;
    let own = worktree_private_dir(repo)?;
    let directories = [
        common.join("drafts"),
        common.join("tips"),
        common,
        own.join("undo"),
        own,
    ];
    for (at, directory) in directories.iter().enumerate() {
        if !directories[..at].contains(directory) {
            left.extend(os::sweep_replacements(directory));
        }
    }
    Ok(left)
}
