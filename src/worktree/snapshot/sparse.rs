//! Directories that a sparse index holds as one entry, where files below them are on disk after all.
//!
//! Such an entry represents a tree of which nothing is checked out. If its directory exists nevertheless, its files are
//! to be compared one by one, so the entry is replaced by those of the tree; otherwise it stays and the tree is kept
//! whole.

use gix::bstr::{BString, ByteSlice};
use gix::index::State;
use gix::index::entry::{Flags, Mode, Stat};
use gix::objs::tree::EntryKind;

use super::Error;
use super::index::EntryExt;
use crate::model::path::RepoPath;
use crate::store::{ObjectId, Repository};

/// Replaces the entries of directories that exist in the working tree by entries for their files.
pub(super) fn expand(repo: &Repository, state: &mut State) -> Result<(), Error> {
    let Some(root) = repo.workdir() else {
        return Ok(());
    };
    let mut present = Vec::<(BString, ObjectId)>::new();
    for entry in state.entries().iter().filter(|entry| entry.is_directory()) {
        let path = entry.path(state);
        let on_disk = gix::path::from_bstr(path.trim_end_with(|c| c == '/').as_bstr())
            .ok()
            .is_none_or(|path| root.join(path).symlink_metadata().is_ok());
        if on_disk {
            present.push((path.to_owned(), entry.id));
        }
    }
    if present.is_empty() {
        return Ok(());
    }
    state.remove_entries(|_, path, entry| {
        entry.is_directory()
            && present
                .binary_search_by(|(directory, _)| directory.as_bstr().cmp(path))
                .is_ok()
    });
    for (directory, id) in present {
        expand_tree(repo, state, &directory, id)?;
    }
    state.sort_entries();
    Ok(())
}

/// Adds the files of a tree. `folder` is its path with a slash at the end.
fn expand_tree(repo: &Repository, state: &mut State, directory: &BString, id: ObjectId) -> Result<(), Error> {
    let missing = || Error::SparseFolder {
        path: RepoPath::new(directory.trim_end_with(|c| c == '/')),
    };
    let tree = repo.try_find_object(id).ok().flatten().ok_or_else(missing)?;
    let tree = tree.try_into_tree().map_err(|_| missing())?;
    for entry in tree.iter() {
        let entry = entry.map_err(Error::gix("read a tree of the sparse index"))?;
        let mut path = directory.clone();
        path.extend_from_slice(entry.filename());
        let mode = match entry.mode().kind() {
            EntryKind::Tree => {
                path.push(b'/');
                expand_tree(repo, state, &path, entry.object_id())?;
                continue;
            }
            EntryKind::Blob => Mode::FILE,
            EntryKind::BlobExecutable => Mode::FILE_EXECUTABLE,
            EntryKind::Link => Mode::SYMLINK,
            EntryKind::Commit => Mode::COMMIT,
        };
        let flags = Flags::SKIP_WORKTREE | Flags::EXTENDED;
        state.dangerously_push_entry(Stat::default(), entry.object_id(), flags, mode, path.as_bstr());
    }
    Ok(())
}
