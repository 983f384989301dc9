//! Choosing paths by git's pathspecs.

use std::path::Path;

use gix::bstr::ByteSlice;
use gix::pathspec::{Defaults, Search};

use super::{Error, Repository};
use crate::model::path::RepoPath;

/// Which paths are meant. Without pathspecs, all.
#[derive(Debug, Clone)]
pub struct Filter {
    search: Search,
}

impl Filter {
    /// Reads pathspecs that are relative to `folder`, which is below the root of the work tree (empty: the root).
    ///
    /// All of git's magic words but `attr`, for which there would have to be files to look up. In a pathspec that
    /// begins with `:` an unknown word is an error, as in git.
    pub fn new<S: AsRef<[u8]>>(repo: &Repository, specs: &[S], folder: &Path) -> Result<Self, Error> {
        let mut patterns = Vec::with_capacity(specs.len());
        for spec in specs {
            let spec = spec.as_ref();
            let shown = || format!("use pathspec '{}'", spec.as_bstr());
            let pattern = gix::pathspec::parse(spec, Defaults::default()).map_err(Error::gix(shown()))?;
            if !pattern.attributes.is_empty() {
                let why = gix::error::message("it chooses by attributes, which is not supported here");
                return Err(Error::gix(shown())(gix::Error::from_error(why)));
            }
            patterns.push(pattern);
        }
        let root = repo.workdir().unwrap_or_else(|| repo.git_dir());
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        // Without a pathspec everything is meant, also outside of the folder.
        let folder = (!patterns.is_empty()).then_some(folder);
        let search = Search::from_specs(patterns, folder, &root).map_err(Error::gix("use the pathspecs"))?;
        Ok(Self { search })
    }

    /// Whether a file, link or gitlink at this path is meant.
    pub fn keeps(&mut self, path: &RepoPath) -> bool {
        let path = path.as_bytes().as_bstr();
        let found = self
            .search
            .pattern_matching_relative_path(path, Some(false), &mut |_, _, _, _| false);
        found.is_some_and(|found| !found.is_excluded())
    }
}
