//! Two complete trees side by side: every path at which they may differ, with the rules that hold there on each side.
//!
//! Directories with the same tree are not entered, unless a list names a path in them or other attributes hold. Both
//! chains of `.gitattributes` are followed, and of the target the `.gitignore` files: they show which of the files that
//! are there now would not have been saved then.
#![expect(
    clippy::option_option,
    reason = "not looked up yet, looked up and absent, and present are three things"
)]

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Error;
use super::content::Converter;
use super::disk::directories_above;
use super::parallel::{in_parts, thread_count};
use super::paths::PathProblem;
use super::side::{DirectoryEntries, SideEntry, TreeSide};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::store::{ObjectId, Repository};
use crate::worktree::snapshot::attributes::Attributes;
use crate::worktree::snapshot::ignore::{GlobalPatterns, IgnoreChain};

/// Paths that are looked at, at most: twice those of the largest projects, and only what differs is looked at. A few
/// kilobytes of trees can describe a million times more.
const MAX_NODES: usize = 1_000_000;
const MAX_DEPTH: usize = 4096;
/// Directories that are listed at once, by several threads, each of which begins with empty caches; a few megabytes.
const AHEAD: usize = 4096;

/// A path on which the two sides may differ.
pub(super) struct PathPair<'w> {
    pub path: &'w [u8],
    pub present: Option<SideEntry>,
    pub target: Option<SideEntry>,
    /// Whether the file system takes another name of the target for this one of the present.
    pub is_aliased: bool,
    /// Rules of the path's directory.
    pub rules: &'w DirectoryRules,
}

/// Rules of a directory.
#[derive(Clone)]
pub(super) struct DirectoryRules {
    pub present: Arc<Attributes>,
    pub target: Arc<Attributes>,
    ignore: IgnoreChain,
    /// Whether the target's rules ignore the whole directory.
    ignored: bool,
    /// Why the directory is not, or not as it is, in the present tree.
    pub not_held: Option<SkipReason>,
    /// Why the target does not know what was in the directory.
    pub not_saved: Option<SkipReason>,
    /// Whether a file has to take the place of the directory, or of one above it.
    pub replaced: bool,
}

/// Next step of the walk for a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkDecision {
    /// Nothing more.
    Done,
    /// Look at what is below it on either side.
    Enter,
    /// Look at what the present has below it, all of which has to go.
    Replace,
}

pub(super) struct PairWalk<'a> {
    pub repo: &'a Repository,
    pub present: &'a TreeSide<'a>,
    pub target: &'a TreeSide<'a>,
    globals: GlobalPatterns,
    /// Paths that lists of either side name, and that are not what the other side's lists say.
    beside: BTreeSet<&'a [u8]>,
    /// Files that the target's tree has and that are not to be on the disk.
    left_out: BTreeSet<&'a [u8]>,
    seen: usize,
}

struct Frame {
    /// With a slash at the end, empty for the root.
    path: Vec<u8>,
    depth: usize,
    present: Option<Option<ObjectId>>,
    target: Option<Option<ObjectId>>,
    rules: DirectoryRules,
}

impl<'a> PairWalk<'a> {
    pub(super) fn new(
        repo: &'a Repository,
        present: &'a TreeSide<'a>,
        target: &'a TreeSide<'a>,
        globals: GlobalPatterns,
        left_out: BTreeSet<&'a [u8]>,
    ) -> Self {
        let one: BTreeSet<_> = present.outside_tree().collect();
        let other: BTreeSet<_> = target.outside_tree().collect();
        let mut beside: BTreeSet<_> = one.symmetric_difference(&other).copied().collect();
        // Bits may differ on a path that both list, and blobs of held files that both hold.
        let bits = |side: &TreeSide<'_>, path: &[u8]| (side.mode(path, false), side.is_raw(path));
        beside.extend(
            one.intersection(&other)
                .filter(|path| bits(present, path) != bits(target, path)),
        );
        beside.extend(
            present
                .lists()
                .held
                .iter()
                .chain(&target.lists().held)
                .map(|held| held.path.as_bytes()),
        );
        // Where the present tree only says what the index has.
        beside.extend(present.lists().skipped.iter().map(|skipped| skipped.path.as_bytes()));
        beside.extend(&left_out);
        Self {
            repo,
            present,
            target,
            globals,
            beside,
            left_out,
            seen: 0,
        }
    }

    /// Calls `decide` for every path on which the sides may differ.
    pub(super) fn run(
        &mut self,
        attributes: Attributes,
        converter: &Converter<'_>,
        mut decide: impl FnMut(&mut Self, PathPair<'_>) -> Result<WalkDecision, Error>,
    ) -> Result<(), Error> {
        let attributes = Arc::new(attributes);
        let tree = |node| match node {
            SideEntry::Directory(tree) => Some(tree),
            _ => None,
        };
        let mut frames = vec![Frame {
            path: Vec::new(),
            depth: 0,
            present: tree(self.present.root()),
            target: tree(self.target.root()),
            rules: DirectoryRules {
                present: Arc::clone(&attributes),
                target: attributes,
                ignore: None,
                ignored: false,
                not_held: None,
                not_saved: None,
                replaced: false,
            },
        }];
        while !frames.is_empty() {
            let next = frames.split_off(frames.len().saturating_sub(AHEAD));
            let listed = self.list(&next)?;
            for (frame, listed) in next.into_iter().zip(listed).rev() {
                self.directory(frame, listed?, converter, &mut frames, &mut decide)?;
            }
        }
        Ok(())
    }

    /// Lists directories on both sides.
    fn list(&self, frames: &[Frame]) -> Result<Vec<Result<[DirectoryEntries; 2], Error>>, Error> {
        let (present, target) = (self.present, self.target);
        let list = |repo: &Repository, frame: &Frame| {
            let list = |side: &TreeSide<'_>, tree: Option<Option<ObjectId>>| match tree {
                Some(tree) => side.directory(repo, &frame.path, tree),
                None => Ok(BTreeMap::new()),
            };
            Ok([list(present, frame.present)?, list(target, frame.target)?])
        };
        let work =
            |repo: &Repository, frames: &[Frame]| Ok(frames.iter().map(|frame| list(repo, frame)).collect::<Vec<_>>());
        let helpers = thread_count(self.repo, frames.len());
        let mut listed = Vec::with_capacity(frames.len());
        for part in in_parts(self.repo, frames, helpers, work) {
            listed.extend(part?);
        }
        Ok(listed)
    }

    fn directory(
        &mut self,
        mut frame: Frame,
        [present, target]: [DirectoryEntries; 2],
        converter: &Converter<'_>,
        frames: &mut Vec<Frame>,
        decide: &mut impl FnMut(&mut Self, PathPair<'_>) -> Result<WalkDecision, Error>,
    ) -> Result<(), Error> {
        self.rules(&mut frame, &present, &target, converter)?;
        let aliased = self.present.aliased(&present, &target);
        let mut path = frame.path.clone();
        for (name, now, then) in by_name(present, target) {
            self.seen += 1;
            if self.seen > MAX_NODES {
                return Err(Error::TooLarge { limit: MAX_NODES });
            }
            path.truncate(frame.path.len());
            path.extend_from_slice(&name);
            if self.is_settled(&frame.rules, &path, now, then) {
                continue;
            }
            let pair = PathPair {
                path: &path,
                present: now,
                target: then,
                is_aliased: aliased.contains(&name),
                rules: &frame.rules,
            };
            let next = decide(self, pair)?;
            if next == WalkDecision::Done {
                continue;
            }
            let tree = |node: Option<SideEntry>| match node {
                Some(SideEntry::Directory(tree)) => Some(tree),
                _ => None,
            };
            if frame.depth >= MAX_DEPTH {
                return Err(Error::UnsafePath {
                    path: RepoPath::from(&path[..]),
                    why: PathProblem::TooLong,
                });
            }
            let rules = DirectoryRules {
                ignored: frame.rules.ignored || self.globals.is_ignored(&frame.rules.ignore, &path, true),
                not_held: frame.rules.not_held.or_else(|| self.present.skipped(&path)),
                not_saved: frame.rules.not_saved.or_else(|| self.target.skipped(&path)),
                replaced: frame.rules.replaced || next == WalkDecision::Replace,
                ..frame.rules.clone()
            };
            frames.push(Frame {
                path: [&path[..], b"/"].concat(),
                depth: frame.depth + 1,
                present: tree(now),
                target: if next == WalkDecision::Replace {
                    None
                } else {
                    tree(then)
                },
                rules,
            });
        }
        Ok(())
    }

    /// Whether both sides are the same here, whatever the lists say.
    fn is_settled(&self, rules: &DirectoryRules, path: &[u8], now: Option<SideEntry>, then: Option<SideEntry>) -> bool {
        let same_rules = Arc::ptr_eq(&rules.present, &rules.target) || rules.present.digest() == rules.target.digest();
        match (now, then) {
            _ if now != then => false,
            (Some(SideEntry::Directory(None)), _) => false,
            _ if self.beside.contains(path) || rules.not_held.is_some() => false,
            (Some(SideEntry::Directory(_)), _) => same_rules && !self.is_beside(path),
            (Some(SideEntry::File { .. }), _) => same_rules,
            _ => true,
        }
    }

    /// Whether a list names something below the directory.
    fn is_beside(&self, directory: &[u8]) -> bool {
        let below = [directory, b"/"].concat();
        let from = (std::ops::Bound::Excluded(&below[..]), std::ops::Bound::Unbounded);
        self.beside
            .range::<[u8], _>(from)
            .next()
            .is_some_and(|path| path.starts_with(&below))
    }

    /// Takes the directory's own files of rules into account.
    fn rules(
        &self,
        frame: &mut Frame,
        present: &DirectoryEntries,
        target: &DirectoryEntries,
        converter: &Converter<'_>,
    ) -> Result<(), Error> {
        let read = |side: &DirectoryEntries, name: &[u8]| match side.get(name) {
            Some(SideEntry::File { id, .. }) => {
                let path = [&frame.path, name].concat();
                Ok(Some((*id, converter.source.read(&path, *id)?)))
            }
            _ => Ok::<_, Error>(None),
        };
        let (now, then) = (read(present, b".gitattributes")?, read(target, b".gitattributes")?);
        let same = Arc::ptr_eq(&frame.rules.present, &frame.rules.target)
            && now.as_ref().map(|(id, _)| id) == then.as_ref().map(|(id, _)| id);
        if let Some((_, text)) = now {
            frame.rules.present = Arc::new(frame.rules.present.add(&frame.path, &text));
        }
        if same {
            frame.rules.target = Arc::clone(&frame.rules.present);
        } else if let Some((_, text)) = then {
            frame.rules.target = Arc::new(frame.rules.target.add(&frame.path, &text));
        }
        if let Some((_, text)) = read(target, b".gitignore")? {
            frame.rules.ignore = self.globals.add(&frame.rules.ignore, &frame.path, &text);
        }
        Ok(())
    }

    /// Whether a file of the target's tree is not to be on the disk.
    pub(super) fn is_left_out(&self, path: &[u8]) -> bool {
        self.left_out.contains(path)
    }

    /// Whether the target's rules ignore a directory, or one above it.
    pub(super) fn ignores_directory(&self, path: &[u8], converter: &Converter<'_>) -> Result<bool, Error> {
        let mut ignore = None;
        let above = std::iter::once(&b""[..]).chain(directories_above(path));
        let mut above: Vec<&[u8]> = above.collect();
        above.sort_by_key(|directory| directory.len());
        for (at, directory) in above.iter().enumerate() {
            let inside = if directory.is_empty() {
                Vec::new()
            } else {
                [directory, &b"/"[..]].concat()
            };
            let file = [&inside[..], b".gitignore"].concat();
            if let Some(SideEntry::File { id, .. }) = self.target.node(self.repo, &file)? {
                let text = converter.source.read(&file, id)?;
                ignore = self.globals.add(&ignore, &inside, &text);
            }
            if self
                .globals
                .is_ignored(&ignore, above.get(at + 1).copied().unwrap_or(path), true)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the target's rules ignore a path in a directory where these rules hold.
    pub(super) fn was_ignored(&self, rules: &DirectoryRules, path: &[u8], is_directory: bool) -> bool {
        rules.ignored || self.globals.is_ignored(&rules.ignore, path, is_directory)
    }
}

/// The entries of a directory on both sides, by their names.
fn by_name(
    present: DirectoryEntries,
    target: DirectoryEntries,
) -> impl Iterator<Item = (Vec<u8>, Option<SideEntry>, Option<SideEntry>)> {
    let (mut present, mut target) = (present.into_iter().peekable(), target.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (present.peek(), target.peek()) {
            (Some((one, _)), Some((other, _))) => one.cmp(other),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let now = present.next_if(|_| order.is_le());
        let then = target.next_if(|_| order.is_ge());
        let (name, now) = now.map_or((None, None), |(name, entry)| (Some(name), Some(entry)));
        let (other, then) = then.map_or((None, None), |(name, entry)| (Some(name), Some(entry)));
        Some((name.or(other)?, now, then))
    })
}
