//! A handle on a repository whose new objects go to a directory that is removed again: what is fetched only to be looked at.
//!
//! The directory lies next to the objects, with the real ones as its alternates, and has a name that `git prune` and
//! `git gc` clear away, for when we are killed. Whoever holds the handle moves no ref through it.

use std::fs;
use std::path::PathBuf;

use super::{Error, Repository, open, paths, spill};
use crate::os;

/// How the name of the directory begins: git removes what is called so and old.
const PREFIX: &str = "tmp_objdir-checkpoint-";

/// The directory, removed when this is dropped.
pub struct Scratch {
    repo: Repository,
    directory: PathBuf,
}

impl Scratch {
    /// A handle on the same repository whose new objects do not stay.
    pub fn new(repo: &Repository) -> Result<Self, Error> {
        let objects = paths::objects_dir(repo);
        let token = os::random_token().map_err(Error::io("create a directory in", &objects))?;
        let directory = objects.join(format!("{PREFIX}{token}"));
        os::private_dir(&directory, paths::sharing(repo)).map_err(Error::io("create", &directory))?;
        let mut scratch = Self {
            repo: repo.clone(),
            directory,
        };
        let read = std::iter::once(objects).chain(paths::further_object_dirs(repo));
        spill::read_also(&scratch.directory, read)?;
        let cwd = repo.current_dir().to_owned();
        open::use_objects(&mut scratch.repo, &scratch.directory, cwd)?;
        Ok(scratch)
    }

    /// The handle.
    pub fn repo(&self) -> &Repository {
        &self.repo
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is cleared away by git.
        let _ = fs::remove_dir_all(&self.directory);
    }
}
