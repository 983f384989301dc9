//! Which untracked names git leaves alone: `.gitignore` files from the directory upwards, then `info/exclude`, then
//! `core.excludesFile`; the last matching pattern of the first of these that has one decides.
//!
//! Own bookkeeping instead of gix's stack, because the walk has each directory open and listed anyway: a `.gitignore` is
//! read through its directory's descriptor and looked for only where the listing shows one, and several threads share
//! what was read. Parsing and matching are gix's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::bstr::ByteSlice;
use gix::glob::pattern::Case;
use gix::glob::search::pattern::List;
use gix::ignore::search::{Ignore, pattern_matching_relative_path};

use super::Error;
use super::cache;
use super::globals::read_rules;
use crate::os;
use crate::store::Repository;

/// Larger ignore files are not read, by git neither.
pub(super) const MAX_SIZE: u64 = 100 * 1024 * 1024;

/// Patterns that hold in the whole working tree, of the weakest first.
#[derive(Debug)]
pub(in crate::worktree) struct GlobalPatterns {
    lists: Vec<List<Ignore>>,
    parse: Ignore,
    case: Case,
    digest: u64,
}

/// The patterns of one directory's `.gitignore`, and of the directories above it.
#[derive(Debug)]
pub(in crate::worktree) struct IgnoreRules {
    list: List<Ignore>,
    above: IgnoreChain,
    digest: u64,
}

/// The `.gitignore` files that hold in a directory; `None` when there are none.
pub(in crate::worktree) type IgnoreChain = Option<Arc<IgnoreRules>>;

impl GlobalPatterns {
    pub(in crate::worktree) fn read(repo: &Repository, case: Case) -> Result<Self, Error> {
        let parse = repo
            .ignore_pattern_parser()
            .map_err(Error::gix("read the settings for ignore files"))?;
        let files = [
            excludes_file(repo)?,
            Some(repo.common_dir().join("info").join("exclude")),
        ];
        let mut lists = Vec::new();
        let mut digest = cache::digest((case == Case::Fold, parse.support_precious));
        for path in files.into_iter().flatten() {
            if let Some(bytes) = read_rules(&path, MAX_SIZE)? {
                digest = cache::digest((digest, &bytes));
                lists.extend(List::from_bytes(&bytes, path, None, parse).ok());
            }
        }
        Ok(Self {
            lists,
            parse,
            case,
            digest,
        })
    }

    /// Patterns given as text, each as a line of a `.gitignore` at the root.
    pub(super) fn of_patterns(patterns: &[String], case: Case) -> Self {
        let parse = Ignore::default();
        let lines = patterns.join("\n");
        let list = List::from_bytes(lines.as_bytes(), PathBuf::new(), None, parse);
        Self {
            lists: list.into_iter().collect(),
            parse,
            case,
            digest: cache::digest((case == Case::Fold, lines)),
        }
    }

    /// The project's own `.checkpointignore` at the root of the working tree, and then patterns given as text, which go
    /// before it.
    pub(super) fn of_project(root: &Path, patterns: &[String], case: Case) -> Result<Self, Error> {
        let mut globals = Self::of_patterns(patterns, case);
        let path = root.join(".checkpointignore");
        if let Some(bytes) = read_rules(&path, MAX_SIZE)? {
            globals.digest = cache::digest((globals.digest, &bytes));
            if let Ok(list) = List::from_bytes(&bytes, path, None, globals.parse) {
                globals.lists.insert(0, list);
            }
        }
        Ok(globals)
    }

    /// A number that differs when other names could be ignored in a directory in which the `chain` holds.
    pub(super) fn digest(&self, chain: &IgnoreChain) -> u64 {
        cache::digest((self.digest, chain.as_ref().map(|rules| rules.digest)))
    }

    /// The rules in a directory that has a `.gitignore` of this content. `folder` is its path with a slash at the end,
    /// empty for the root.
    pub(in crate::worktree) fn add(&self, above: &IgnoreChain, directory: &[u8], content: &[u8]) -> IgnoreChain {
        let mut list = List::from_bytes(content, PathBuf::from(".gitignore"), None, self.parse).ok()?;
        if list.patterns.is_empty() {
            return above.clone();
        }
        list.base = (!directory.is_empty()).then(|| directory.into());
        Some(Arc::new(IgnoreRules {
            list,
            above: above.clone(),
            digest: cache::digest((above.as_ref().map(|rules| rules.digest), directory, content)),
        }))
    }

    /// Whether an untracked path is ignored by its own name; that none of its directories is, is known already.
    pub(in crate::worktree) fn is_ignored(&self, chain: &IgnoreChain, path: &[u8], is_directory: bool) -> bool {
        let basename = path.rfind_byte(b'/').map(|slash| slash + 1);
        let decide = |list: &List<Ignore>| {
            pattern_matching_relative_path(list, path.as_bstr(), basename, Some(is_directory), self.case)
                .map(|found| !found.pattern.is_negative())
        };
        let mut rules = chain.as_deref();
        while let Some(directory) = rules {
            if let Some(ignored) = decide(&directory.list) {
                return ignored;
            }
            rules = directory.above.as_deref();
        }
        self.lists.iter().rev().find_map(decide).unwrap_or(false)
    }
}

/// `core.excludesFile`, or its default in the user's configuration directory.
fn excludes_file(repo: &Repository) -> Result<Option<PathBuf>, Error> {
    let set = repo
        .config_snapshot()
        .trusted_path("core.excludesFile")
        .map_err(Error::gix("read 'core.excludesFile'"))?;
    Ok(set
        .or_else(|| os::user_rules("ignore"))
        .and_then(|path| Some(repo.workdir()?.join(path))))
}
