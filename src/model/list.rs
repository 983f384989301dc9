//! The lists next to a checkpoint's document: what a git tree cannot say about the files.
//!
//! Each is a text file under `lists/`, left out when empty: lines ended by LF, sorted by the raw bytes of the path,
//! `[fields SP]path` with the path C-quoted as git does. They are not inline in the document so that unchanged lists
//! are stored once however long they are.

use std::fmt;

use super::path::{self, RepoPath};

/// Everything about the files of a snapshot that its trees do not hold. Every list is sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Permission bits (`0o7777`) of files whose bits differ from what git would create under the snapshot's umask.
    pub modes: Vec<(RepoPath, u32)>,
    /// Paths stored byte for byte, because converting them back from git's form would not give the same bytes.
    pub raw: Vec<RepoPath>,
    /// Paths on disk that are not in the snapshot, or in it only as the index had them.
    pub skipped: Vec<SkippedEntry>,
    /// Directories without any file or directory in them.
    pub empty_dirs: Vec<RepoPath>,
    /// Index entries made by `git add -N`.
    pub intent_to_add: Vec<RepoPath>,
    /// Unmerged index entries.
    pub conflicts: Vec<IndexConflict>,
    /// Working tree files left out of the tree because a server's `git fsck` would reject the push; kept in `held/<n>`.
    pub held: Vec<HeldFile>,
    /// Index entries with flags that keep git from looking at the disk, and where the snapshot has each from.
    pub origin: Vec<Origin>,
}

/// An index entry that is flagged, or a directory in which all of them are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The path; that of a directory ends with a slash and speaks of everything that the index has below it.
    pub path: RepoPath,
    /// Where the snapshot has it from.
    pub source: Source,
    /// The flags.
    pub flags: IndexFlags,
}

/// Where a snapshot has a tracked path from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// It was on disk and was read, whatever the flags say.
    Disk,
    /// It was not on disk and counts as left out of the working tree, as by a sparse checkout: the tree has what the index
    /// has.
    Index,
    /// It was not on disk, and the tree does not have it either: deleted, or something else is in its place.
    Absent,
}

impl Source {
    const ALL: [Self; 3] = [Self::Disk, Self::Index, Self::Absent];

    /// The word that is in the list.
    pub fn word(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Index => "index",
            Self::Absent => "absent",
        }
    }
}

/// Flags of an index entry that keep git from looking at the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexFlags {
    /// `git update-index --skip-worktree`, and what a sparse checkout sets.
    pub skip_worktree: bool,
    /// `git update-index --assume-unchanged`.
    pub assume_unchanged: bool,
}

impl IndexFlags {
    const SKIP: &'static str = "skip-worktree";
    const ASSUME: &'static str = "assume-unchanged";

    /// Whether none is set.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    fn words(self) -> String {
        let words = [(self.skip_worktree, Self::SKIP), (self.assume_unchanged, Self::ASSUME)];
        let set: Vec<_> = words.iter().filter(|(set, _)| *set).map(|(_, word)| *word).collect();
        set.join(",")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut flags = Self::default();
        for word in text.split(',') {
            match word {
                Self::SKIP => flags.skip_worktree = true,
                Self::ASSUME => flags.assume_unchanged = true,
                _ => return None,
            }
        }
        Some(flags)
    }
}

impl fmt::Display for IndexFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())
    }
}

/// A path that a snapshot does not hold, and why. A restore never touches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedEntry {
    /// The file or directory.
    pub path: RepoPath,
    /// Why.
    pub reason: SkipReason,
    /// How many bytes the file had when it was first left out so; `None` where that was not asked or means nothing.
    pub size: Option<u64>,
}

impl SkippedEntry {
    /// A path of which the size is not known.
    pub fn new(path: RepoPath, reason: SkipReason) -> Self {
        let size = None;
        Self { path, reason, size }
    }
}

/// Why a path is not in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// Untracked and larger than `checkpoint.maxFileSize`.
    TooLarge,
    /// Untracked and beyond `checkpoint.maxTotalSize`.
    OverBudget,
    /// Untracked and matched by `checkpoint.exclude` or the project's `.checkpointignore`.
    Excluded,
    /// Untracked, and a secret by its content: a private key, a file of credentials, an environment file with values.
    Secret,
    /// Untracked, where only tracked files are saved; a directory represents all in it.
    Untracked,
    /// A FIFO, socket or device.
    Special,
    /// A repository of its own, with or without commits; never entered.
    NestedRepository,
    /// A name that git does not store, such as `.GIT`.
    Name,
    /// Permission denied or a read error.
    Unreadable,
    /// The file kept changing while it was read.
    Unstable,
    /// The repository's own filter for this path failed.
    FilterFailed,
    /// The path is longer than the system can address.
    PathTooLong,
    /// Its content was removed from the checkpoint later, by a purge.
    Purged,
}

impl SkipReason {
    /// Every reason, in the order of declaration.
    pub const ALL: [Self; 13] = [
        Self::TooLarge,
        Self::OverBudget,
        Self::Excluded,
        Self::Secret,
        Self::Untracked,
        Self::Special,
        Self::NestedRepository,
        Self::Name,
        Self::Unreadable,
        Self::Unstable,
        Self::FilterFailed,
        Self::PathTooLong,
        Self::Purged,
    ];

    /// The word that is in the list.
    pub fn word(self) -> &'static str {
        match self {
            Self::TooLarge => "too-large",
            Self::OverBudget => "over-budget",
            Self::Excluded => "excluded",
            Self::Secret => "secret",
            Self::Untracked => "untracked",
            Self::Special => "special",
            Self::NestedRepository => "nested-repository",
            Self::Name => "name",
            Self::Unreadable => "unreadable",
            Self::Unstable => "unstable",
            Self::FilterFailed => "filter-failed",
            Self::PathTooLong => "path-too-long",
            Self::Purged => "purged",
        }
    }

    /// Whether such a path on disk is work that is not saved: not sockets and the like.
    pub fn is_unsaved(self) -> bool {
        !matches!(self, Self::Special | Self::Purged)
    }

    /// Whether a checkpoint with such a path is *partial* (exit 7): something was to be captured and could not be.
    ///
    /// Policy and kinds of files that git does not store either are listed, but leave the checkpoint whole.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Unreadable | Self::Unstable | Self::FilterFailed | Self::PathTooLong
        )
    }
}

/// The reason in words, for people.
impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "too large",
            Self::OverBudget => "beyond the size of all together",
            Self::Excluded => "excluded",
            Self::Secret => "a secret",
            Self::Untracked => "untracked; only tracked files are saved",
            Self::Special => "a FIFO, socket or device",
            Self::NestedRepository => "a nested repository",
            Self::Name => "a name that git does not store",
            Self::Unreadable => "unreadable",
            Self::Unstable => "changing while it was read",
            Self::FilterFailed => "its filter failed",
            Self::PathTooLong => "its path is too long",
            Self::Purged => "purged",
        })
    }
}

/// One stage of an unmerged index entry, or an entry that the index tree must not hold; its blob is `conflicts/<n>` in
/// the checkpoint's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexConflict {
    /// The path in the index.
    pub path: RepoPath,
    /// Number of the blob; for a gitlink the blob holds the commit id in hexadecimal and LF.
    pub n: u32,
    /// 1 base, 2 ours, 3 theirs; 0 an entry that is not unmerged but that no server would take in a tree.
    pub stage: u8,
    /// The git file mode, such as `0o100644`.
    pub mode: u32,
}

/// A working tree file kept as `held/<n>` instead of in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    /// Where the file belongs.
    pub path: RepoPath,
    /// Number of the blob; for a gitlink the blob holds the commit id in hexadecimal and LF.
    pub n: u32,
}

/// A line of a list that is not of its form.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of 'lists/{list}' is malformed")]
pub struct InvalidLine {
    /// The list's name.
    pub list: &'static str,
    /// The line, counted from 1.
    pub line: usize,
}

/// The names of all lists, in the order [`Lists::encode`] gives them.
pub const NAMES: [&str; 8] = [
    "conflicts",
    "empty-dirs",
    "held",
    "intent-to-add",
    "modes",
    "origin",
    "raw",
    "skipped",
];

impl Lists {
    /// The paths whose content a purge removed: what the files and the index had there is not known.
    pub fn purged(&self) -> impl Iterator<Item = &RepoPath> {
        let purged = self
            .skipped
            .iter()
            .filter(|skipped| skipped.reason == SkipReason::Purged);
        purged.map(|skipped| &skipped.path)
    }

    /// The lists that are not empty, by name (in byte order), as the bytes of their files.
    pub fn encode(&self) -> Vec<(&'static str, Vec<u8>)> {
        let plain = |paths: &[RepoPath]| lines(paths.iter().map(|p| (String::new(), p)));
        let all = [
            lines(
                self.conflicts
                    .iter()
                    .map(|c| (format!("{} {} {:o} ", c.n, c.stage, c.mode), &c.path)),
            ),
            plain(&self.empty_dirs),
            lines(self.held.iter().map(|h| (format!("{} ", h.n), &h.path))),
            plain(&self.intent_to_add),
            lines(self.modes.iter().map(|(p, mode)| (format!("{mode:04o} "), p))),
            lines(
                self.origin
                    .iter()
                    .map(|o| (format!("{} {} ", o.source.word(), o.flags.words()), &o.path)),
            ),
            plain(&self.raw),
            lines(self.skipped.iter().map(|s| match s.size {
                Some(size) => (format!("{}:{size} ", s.reason.word()), &s.path),
                None => (format!("{} ", s.reason.word()), &s.path),
            })),
        ];
        NAMES
            .into_iter()
            .zip(all)
            .filter(|(_, bytes)| !bytes.is_empty())
            .collect()
    }

    /// Adds the list called `name` from the bytes of its file; an unknown name (of a later version) is ignored.
    pub fn decode(&mut self, name: &str, bytes: &[u8]) -> Result<(), InvalidLine> {
        let Some(&list) = NAMES.iter().find(|n| **n == name) else {
            return Ok(());
        };
        for (at, line) in split_lines(bytes).enumerate() {
            line.ok()
                .and_then(|line| self.decode_line(list, line))
                .ok_or(InvalidLine { list, line: at + 1 })?;
        }
        Ok(())
    }

    fn decode_line(&mut self, list: &str, line: &[u8]) -> Option<()> {
        match list {
            "conflicts" => {
                let ([n, stage, mode], path) = fields(line)?;
                let stage = stage.parse().ok().filter(|s| (0..=3).contains(s))?;
                self.conflicts.push(IndexConflict {
                    path,
                    n: n.parse().ok()?,
                    stage,
                    mode: octal(mode)?,
                });
            }
            "empty-dirs" => self.empty_dirs.push(only_path(line)?),
            "held" => {
                let ([n], path) = fields(line)?;
                self.held.push(HeldFile {
                    path,
                    n: n.parse().ok()?,
                });
            }
            "intent-to-add" => self.intent_to_add.push(only_path(line)?),
            "modes" => {
                let ([mode], path) = fields(line)?;
                self.modes.push((path, octal(mode)?));
            }
            "origin" => {
                let ([word, flags], path) = fields(line)?;
                let source = Source::ALL.into_iter().find(|source| source.word() == word)?;
                let flags = IndexFlags::parse(flags)?;
                self.origin.push(Origin { path, source, flags });
            }
            "raw" => self.raw.push(only_path(line)?),
            _ => {
                let ([word], path) = fields(line)?;
                let (word, size) = match word.split_once(':') {
                    Some((word, size)) => (word, Some(size.parse().ok()?)),
                    None => (word, None),
                };
                let reason = SkipReason::ALL.into_iter().find(|r| r.word() == word)?;
                self.skipped.push(SkippedEntry { path, reason, size });
            }
        }
        Some(())
    }

    /// Puts every list into the order in which it is stored.
    pub fn sort(&mut self) {
        self.modes.sort();
        self.raw.sort();
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.empty_dirs.sort();
        self.intent_to_add.sort();
        self.conflicts
            .sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
        self.held.sort_by(|a, b| a.path.cmp(&b.path));
        self.origin.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// The flags of a path and where the snapshot has it from; `None` for one that the index did not flag.
    pub fn origin_of(&self, path: &[u8]) -> Option<&Origin> {
        let find = |wanted: &[u8]| {
            let at = self
                .origin
                .binary_search_by(|origin| origin.path.as_bytes().cmp(wanted));
            at.ok().map(|at| &self.origin[at])
        };
        let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let above = above.map(|(slash, _)| &path[..=slash]);
        std::iter::once(path).chain(above).find_map(find)
    }

    /// Whether these lists say what the others do, whatever sizes both show.
    pub fn is_same_but_sizes(&self, other: &Self) -> bool {
        let without = |lists: &Self| {
            let mut lists = lists.clone();
            lists.skipped.iter_mut().for_each(|skipped| skipped.size = None);
            lists
        };
        without(self) == without(other)
    }

    /// The unmerged paths, each once.
    pub fn unmerged(&self) -> impl Iterator<Item = &RepoPath> {
        let mut last = None;
        let unmerged = self.conflicts.iter().filter(|conflict| conflict.stage != 0);
        unmerged
            .map(|conflict| &conflict.path)
            .filter(move |path| last.replace(*path) != Some(*path))
    }

    /// Whether something that should have been captured was not.
    pub fn is_partial(&self) -> bool {
        self.skipped.iter().any(|s| s.reason.is_failure())
    }
}

fn lines<'a>(rows: impl Iterator<Item = (String, &'a RepoPath)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (fields, path) in rows {
        out.extend_from_slice(fields.as_bytes());
        out.extend_from_slice(&path::quote(path.as_bytes()));
        out.push(b'\n');
    }
    out
}

/// The lines of a list; an `Err` represents a last line without its LF.
fn split_lines(bytes: &[u8]) -> impl Iterator<Item = Result<&[u8], ()>> {
    bytes
        .split_inclusive(|b| *b == b'\n')
        .map(|line| line.strip_suffix(b"\n").ok_or(()))
}

/// `N` space-ended fields before the path.
fn fields<const N: usize>(line: &[u8]) -> Option<([&str; N], RepoPath)> {
    let mut rest = line;
    let mut found = [""; N];
    for field in &mut found {
        let space = rest.iter().position(|b| *b == b' ')?;
        *field = std::str::from_utf8(&rest[..space]).ok()?;
        rest = &rest[space + 1..];
    }
    Some((found, only_path(rest)?))
}

fn only_path(text: &[u8]) -> Option<RepoPath> {
    let path = path::unquote(text)?;
    (!path.is_empty()).then(|| RepoPath::new(path.into_owned()))
}

fn octal(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_path() -> impl Strategy<Value = RepoPath> {
        proptest::collection::vec(any::<u8>(), 1..20).prop_map(RepoPath::new)
    }

    proptest! {
        #[test]
        fn lists_come_back_as_they_were(
            modes in proptest::collection::vec((any_path(), 0u32..0o10000), 0..5),
            skipped in proptest::collection::vec((any_path(), 0usize..13, any::<Option<u64>>()), 0..5),
            conflicts in proptest::collection::vec((any_path(), 0u32..9, 0u8..4), 0..5),
            raw in proptest::collection::vec(any_path(), 0..5),
            origin in proptest::collection::vec((any_path(), 0usize..3, 1u8..4), 0..5),
        ) {
            let mut lists = Lists {
                modes,
                raw: raw.clone(),
                empty_dirs: raw.clone(),
                intent_to_add: raw.clone(),
                held: raw.into_iter().zip(0..).map(|(path, n)| HeldFile { path, n }).collect(),
                skipped: skipped.into_iter()
                    .map(|(path, r, size)| SkippedEntry { path, reason: SkipReason::ALL[r], size }).collect(),
                conflicts: conflicts.into_iter()
                    .map(|(path, n, stage)| IndexConflict { path, n, stage, mode: 0o100_644 }).collect(),
                origin: origin.into_iter()
                    .map(|(path, source, flags)| Origin {
                        path,
                        source: Source::ALL[source],
                        flags: IndexFlags { skip_worktree: flags & 1 != 0, assume_unchanged: flags & 2 != 0 },
                    }).collect(),
            };
            lists.sort();
            let mut back = Lists::default();
            for (name, bytes) in lists.encode() {
                back.decode(name, &bytes).expect("what was encoded");
            }
            prop_assert_eq!(back, lists);
        }

        #[test]
        fn decoding_never_panics(name in 0usize..8, bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Lists::default().decode(NAMES[name], &bytes);
        }
    }

    #[test]
    fn the_origin_of_a_path_is_that_of_a_directory_above_it() {
        let mut lists = Lists::default();
        let text = b"disk skip-worktree a\nindex skip-worktree d/e/\nabsent skip-worktree,assume-unchanged d/f\n";
        lists.decode("origin", text).expect("valid");
        let source = |path: &[u8]| lists.origin_of(path).map(|origin| origin.source);
        assert_eq!(source(b"a"), Some(Source::Disk));
        assert_eq!(source(b"d/e/x"), Some(Source::Index));
        assert_eq!(source(b"d/e/x/y"), Some(Source::Index));
        assert_eq!(source(b"d/f"), Some(Source::Absent));
        for other in [&b"b"[..], b"d", b"d/e", b"d/f/x", b"d/ee", b"a/b", b""] {
            assert_eq!(source(other), None, "{other:?}");
        }
        assert!(Lists::default().decode("origin", b"disk other a\n").is_err());
        assert!(Lists::default().decode("origin", b"moon skip-worktree a\n").is_err());
    }

    #[test]
    fn a_malformed_line_is_named() {
        let error = Lists::default()
            .decode("modes", b"0600 a\nrw-- b\n")
            .expect_err("not octal");
        assert_eq!(error.to_string(), "line 2 of 'lists/modes' is malformed");
        assert!(Lists::default().decode("raw", b"no newline").is_err());
        assert!(Lists::default().decode("later-version", b"anything").is_ok());
    }
}
