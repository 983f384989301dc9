//! Choosing paths by git's pathspecs.

use std::path::Path;

use gix::bstr::ByteSlice;
use gix::pathspec::Defaults;

use super::{Error, Kind, ObjectId, Repository, checkpoint, tree};
use crate::model::path::RepoPath;

mod item;

use item::Pathspec;

/// Trees nested deeper than this are not looked into; git's own bound (`core.maxTreeDepth`).
const MAX_DEPTH: usize = 2048;
/// Entries looked at before it is taken for granted that a pathspec matches something: more than the largest projects
/// have, and little enough that a tree made to have no end is left in a few seconds.
const MAX_ENTRIES: usize = 5_000_000;

/// Which paths are meant. Without pathspecs, all.
#[derive(Debug, Clone)]
pub struct PathFilter {
    /// Positive pathspecs, each with its text as given.
    chosen: Vec<(RepoPath, Pathspec)>,
    /// Excluding pathspecs.
    excluded: Vec<Pathspec>,
}

impl PathFilter {
    /// Reads pathspecs that are relative to `folder`, which is below the root of the working tree (empty: the root).
    ///
    /// All of git's magic words but `attr`, for which there would have to be files to look up. In a pathspec that
    /// begins with `:` an unknown word is an error, as in git.
    pub fn new<S: AsRef<[u8]>>(repo: &Repository, specs: &[S], directory: &Path) -> Result<Self, Error> {
        let root = repo.workdir().unwrap_or_else(|| repo.git_dir());
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let (mut chosen, mut excluded) = (Vec::new(), Vec::new());
        for spec in specs {
            let spec = spec.as_ref();
            let unusable = |source: gix::Error| Error::Pathspec {
                spec: spec.as_bstr().to_string(),
                source,
            };
            let refused = |why: &'static str| unusable(gix::Error::from_error(gix::error::message(why)));
            let pattern = gix::pathspec::parse(spec, Defaults::default()).map_err(unusable)?;
            if !pattern.attributes.is_empty() {
                return Err(refused("it chooses by attributes, which is not supported here"));
            }
            let item = Pathspec::new(&pattern, directory, &root)
                .ok_or_else(|| refused("it is outside of the working tree"))?;
            if pattern.is_excluded() {
                excluded.push(item);
            } else {
                chosen.push((RepoPath::from(spec), item));
            }
        }
        Ok(Self { chosen, excluded })
    }

    /// Whether a file, link or gitlink at this path is meant.
    pub fn keeps(&self, path: &RepoPath) -> bool {
        let matches = |item: &Pathspec| item.matches(path.as_bytes(), false);
        // Exclusions by themselves take out of everything.
        (self.chosen.is_empty() || self.chosen.iter().any(|(_, item)| matches(item)))
            && !self.excluded.iter().any(matches)
    }

    /// The pathspecs of which it is not known yet that they match anything. One that represents all, such as `.` at the
    /// root, needs nothing to match.
    pub fn unmatched(&self) -> UnmatchedPathspecs {
        let left = self.chosen.iter().filter(|(_, item)| !item.is_for_all());
        UnmatchedPathspecs {
            left: left.cloned().collect(),
            entries: 0,
        }
    }
}

/// Pathspecs that match nothing as far as was looked. Each by itself: what another one excludes counts as well, as in
/// git.
#[derive(Debug)]
pub struct UnmatchedPathspecs {
    left: Vec<(RepoPath, Pathspec)>,
    entries: usize,
}

impl UnmatchedPathspecs {
    /// The first one, as it was given.
    pub fn first(&self) -> Option<&RepoPath> {
        self.left.first().map(|(spec, _)| spec)
    }

    /// Leaves out those that need nothing to match.
    pub fn forget(&mut self, needs_nothing: impl Fn(&RepoPath) -> bool) {
        self.left.retain(|(spec, _)| !needs_nothing(spec));
    }

    /// Looks at a path.
    pub fn path(&mut self, path: &RepoPath) {
        self.look(path.as_bytes(), false);
    }

    /// Looks at a directory without anything in it.
    pub fn directory(&mut self, path: &RepoPath) {
        self.look(path.as_bytes(), true);
    }

    fn look(&mut self, path: &[u8], is_directory: bool) {
        self.left.retain(|(_, item)| !item.matches(path, is_directory));
    }

    /// Looks at everything in a tree, or in that of a commit, as far as that is needed.
    pub fn tree(&mut self, repo: &Repository, tree: ObjectId) -> Result<(), Error> {
        if self.left.is_empty() {
            return Ok(());
        }
        match tree::tree_id(repo, Some(tree))? {
            Some(tree) => self.visit(repo, tree, &mut Vec::new(), 0),
            None => Ok(()),
        }
    }

    fn visit(&mut self, repo: &Repository, id: ObjectId, path: &mut Vec<u8>, depth: usize) -> Result<(), Error> {
        if self.left.is_empty() || depth > MAX_DEPTH || id == ObjectId::empty_tree(repo.object_hash()) {
            return Ok(());
        }
        let failed = |why: String| Error::Object { id, why };
        let data = checkpoint::read(repo, id, Kind::Tree, "tree").map_err(|fault| failed(fault.to_string()))?;
        let length = path.len();
        for entry in gix::objs::TreeRefIter::from_bytes(&data, repo.object_hash()) {
            let entry = entry.map_err(|error| failed(error.to_string()))?;
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                self.left.clear();
            }
            if self.left.is_empty() {
                return Ok(());
            }
            path.extend_from_slice(entry.filename);
            if entry.mode.is_tree() {
                path.push(b'/');
                if self.left.iter().any(|(_, item)| item.may_match_below(path)) {
                    self.visit(repo, entry.oid.to_owned(), path, depth + 1)?;
                }
            } else {
                self.look(path, false);
            }
            path.truncate(length);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EncryptedSessions;

    /// Those of the pathspecs, given in `folder`, that none of the paths matches.
    fn left(specs: &[&str], directory: &str, paths: &[&str]) -> Vec<String> {
        let outside = tempfile::tempdir().expect("a directory");
        let repo = Repository::new(
            gix::init(outside.path()).expect("a repository"),
            EncryptedSessions::default(),
        );
        let mut unmatched = PathFilter::new(&repo, specs, Path::new(directory))
            .expect("pathspecs")
            .unmatched();
        for path in paths {
            unmatched.path(&RepoPath::from(*path));
        }
        unmatched.left.iter().map(|(spec, _)| spec.to_string()).collect()
    }

    #[test]
    fn each_pathspec_is_to_match_something() {
        let paths = ["a", "src/main.rs", "src/deep/x.txt", "B/c"];
        assert_eq!(left(&["a", "src", "src/"], "", &paths), [""; 0]);
        assert_eq!(left(&["a", "b", "sr", "src/main"], "", &paths), ["b", "sr", "src/main"]);
        assert_eq!(
            left(&["*.rs", "*.c", ":(glob)src/*.txt", ":(glob)**/x.txt"], "", &paths),
            ["*.c", ":(glob)src/*.txt"]
        );
        assert_eq!(
            left(&[":(icase)b/C", "b/c", ":(literal)*"], "", &paths),
            ["b/c", ":(literal)*"]
        );
        // What is taken out again has matched, and what takes out needs not.
        assert_eq!(left(&["a", ":!a", ":!zzz"], "", &paths), [""; 0]);
        assert_eq!(left(&["main.rs", "../a", ":/a", "a"], "src", &paths), ["a"]);
        assert_eq!(left(&[".", ":/", "./", "src/.."], "", &[]), [""; 0]);
        assert_eq!(left(&[".", "a/"], "new", &paths), [".", "a/"]);
        assert_eq!(left(&[], "new", &[]), [""; 0]);
    }
}
