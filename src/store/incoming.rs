//! Trees of others: looked at before anything of them is used, and compared for what is new in them.
//!
//! git's own checks take names that become other names on other systems, and know no bound of what a tree unfolds to:
//! a dozen small objects can describe a billion files. Every tree is read once, however often it is named.

use std::collections::{HashMap, HashSet};

use super::{Error, Kind, ObjectId, Repository, checkpoint, transcripts::DIRECTORY, tree, walk};
use crate::model::tree_mode;

/// The most bytes of a chunk of chat: no message is added to one of 256 KiB, and none is longer than what is read of one.
const MAX_CHUNK: u64 = (256 << 10) + crate::model::json::INPUT_LIMIT as u64;
/// Trees nested deeper than this are refused; git's own bound is 2048 (`core.maxTreeDepth`), systems stop earlier.
const MAX_DEPTH: usize = 1024;
/// The most that a tree object may have, in bytes: 500,000 entries in one directory.
const MAX_TREE: u64 = 32 << 20;
/// The most that a commit object may have, in bytes.
const MAX_COMMIT: u64 = 4 << 20;

/// Limits of an expanded tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeLimits {
    /// Files.
    pub files: u64,
    /// Bytes in them, each counted as often as it is named.
    pub bytes: u64,
}

/// Size of an expanded tree.
#[derive(Clone, Copy, Debug, Default)]
struct TreeSize {
    files: u64,
    bytes: u64,
}

/// Checks trees of others. What was found good is not looked at again.
pub struct Checker<'r> {
    repo: &'r Repository,
    limits: TreeLimits,
    storable: fn(&[u8], bool) -> bool,
    partial: bool,
    good: HashMap<ObjectId, TreeSize>,
}

/// Why a tree is refused.
pub type TreeRefusal = String;

impl<'r> Checker<'r> {
    /// `storable` is whether a name may be in a tree; its second argument is whether it is a file's.
    pub fn new(repo: &'r Repository, limits: TreeLimits, storable: fn(&[u8], bool) -> bool) -> Self {
        Self {
            repo,
            limits,
            storable,
            partial: walk::is_partial_clone(repo),
            good: HashMap::new(),
        }
    }

    /// Whether an object is there, of this kind and not too large to be read. Gives its size.
    fn sized(&self, id: ObjectId, kind: Kind, limit: u64, what: &str) -> Result<u64, TreeRefusal> {
        let header = self
            .repo
            .try_find_header(id)
            .map_err(|error| format!("{what} '{id}' cannot be read: {error}"))?
            .ok_or_else(|| format!("{what} '{id}' is missing"))?;
        if header.kind() != kind {
            return Err(format!("{what} '{id}' is a {}, not a {kind}", header.kind()));
        }
        if header.size() > limit {
            return Err(format!(
                "{what} '{id}' has {} bytes, more than the {limit} allowed",
                header.size()
            ));
        }
        Ok(header.size())
    }

    /// Whether a commit can be read.
    pub fn commit(&self, id: ObjectId) -> Result<(), TreeRefusal> {
        self.sized(id, Kind::Commit, MAX_COMMIT, "the commit").map(drop)
    }

    /// Whether a blob can be read and has at most `limit` bytes.
    pub fn blob(&self, id: ObjectId, limit: u64, what: &str) -> Result<(), TreeRefusal> {
        self.sized(id, Kind::Blob, limit, what).map(drop)
    }

    /// Checks the tree of a checkpoint: plain files, and directories of plain files, with harmless names.
    pub fn checkpoint_tree(&self, id: ObjectId) -> Result<(), TreeRefusal> {
        let mut bytes = 0;
        self.record_tree(id, None, &mut bytes)
    }

    /// `of` is the name of a directory next to the document.
    fn record_tree(&self, id: ObjectId, of: Option<&[u8]>, bytes: &mut u64) -> Result<(), TreeRefusal> {
        let top = of.is_none();
        let is_transcript = of == Some(DIRECTORY.as_bytes());
        let most = if of == Some(b"chat") { MAX_CHUNK } else { u64::MAX };
        let mut seen = HashSet::new();
        let entries = self.entries(id)?;
        if top
            && !entries
                .iter()
                .any(|(_, name, _)| name == checkpoint::DOCUMENT.as_bytes())
        {
            return Err(format!("it holds no '{}'", checkpoint::DOCUMENT));
        }
        for (mode, name, id) in entries {
            let shown = shown(&name);
            let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(byte);
            let harmless = !name.is_empty() && name.iter().all(plain) && name[0] != b'.' && name[0] != b'-';
            if !harmless {
                return Err(format!("'{shown}' is no name that a checkpoint has"));
            }
            if !seen.insert(name.clone()) {
                return Err(format!("it has '{shown}' twice"));
            }
            match mode {
                tree_mode::DIRECTORY if top => self.record_tree(id, Some(&name), bytes)?,
                // One level deeper; the name of a chunk's directory is a number, which no rule above is for.
                tree_mode::DIRECTORY if is_transcript => self.record_tree(id, Some(b"chat"), bytes)?,
                tree_mode::FILE => {
                    *bytes = bytes.saturating_add(self.sized(id, Kind::Blob, most, "the file")?);
                    if *bytes > self.limits.bytes {
                        return Err(too_large(self.limits.bytes));
                    }
                }
                _ => return Err(format!("'{shown}' is no plain file")),
            }
        }
        Ok(())
    }

    /// Checks a tree of files. What is the same in `known`, a tree of the project's own history, is not looked at.
    pub fn files(&mut self, id: ObjectId, known: Option<ObjectId>) -> Result<(), TreeRefusal> {
        self.visit(id, known, 0).map(drop)
    }

    fn visit(&mut self, id: ObjectId, known: Option<ObjectId>, depth: usize) -> Result<TreeSize, TreeRefusal> {
        if known == Some(id) {
            return Ok(TreeSize::default());
        }
        if let Some(size) = self.good.get(&id) {
            return Ok(*size);
        }
        if depth > MAX_DEPTH {
            return Err(format!("its directories are nested deeper than {MAX_DEPTH} levels"));
        }
        let entries = self.entries(id)?;
        self.names(&entries)?;
        let before: HashMap<Vec<u8>, ObjectId> = match known {
            Some(known) => self
                .entries(known)?
                .into_iter()
                .map(|(_, name, id)| (name, id))
                .collect(),
            None => HashMap::new(),
        };
        let mut size = TreeSize::default();
        for (mode, name, id) in entries {
            let known = before.get(&name).copied();
            let found = match mode {
                tree_mode::GITLINK => TreeSize { files: 1, bytes: 0 },
                tree_mode::DIRECTORY => {
                    let known = known.filter(|known| self.is_tree(*known));
                    self.visit(id, known, depth + 1)?
                }
                _ if known == Some(id) => TreeSize::default(),
                _ => TreeSize {
                    files: 1,
                    bytes: self.content(id, &name)?,
                },
            };
            size.files = size.files.saturating_add(found.files);
            size.bytes = size.bytes.saturating_add(found.bytes);
            if size.files > self.limits.files {
                return Err(format!("it has more than {} files", self.limits.files));
            }
            if size.bytes > self.limits.bytes {
                return Err(too_large(self.limits.bytes));
            }
        }
        self.good.insert(id, size);
        Ok(size)
    }

    fn is_tree(&self, id: ObjectId) -> bool {
        self.repo
            .try_find_header(id)
            .is_ok_and(|found| found.is_some_and(|header| header.kind() == Kind::Tree))
    }

    /// The size of a file's content; unknown, and taken for nothing, where a partial clone has not fetched it.
    fn content(&self, id: ObjectId, name: &[u8]) -> Result<u64, TreeRefusal> {
        match self.repo.try_find_header(id) {
            Ok(None) if self.partial => Ok(0),
            _ => self.sized(id, Kind::Blob, u64::MAX, &format!("the file '{}'", shown(name))),
        }
    }

    /// Names that no tree may have, or that some systems take for each other while one of them is a link.
    fn names(&self, entries: &[(u32, Vec<u8>, ObjectId)]) -> Result<(), TreeRefusal> {
        let mut folded: HashMap<String, bool> = HashMap::new();
        for &(mode, ref name, _) in entries {
            let is_file = matches!(mode, tree_mode::FILE | tree_mode::EXECUTABLE | 0o100_664);
            if !is_file && !matches!(mode, tree_mode::SYMLINK | tree_mode::DIRECTORY | tree_mode::GITLINK) {
                return Err(format!(
                    "'{}' has the mode {mode:o}, which git does not know",
                    shown(name)
                ));
            }
            if name.contains(&b'/') || !(self.storable)(name, is_file) {
                return Err(format!("git stores no file called '{}'", shown(name)));
            }
            let link = mode == tree_mode::SYMLINK;
            let key = String::from_utf8_lossy(name).to_lowercase();
            match folded.insert(key, link) {
                Some(other) if other || link => {
                    return Err(format!(
                        "'{}' is a link where another file has the same name in other case",
                        shown(name)
                    ));
                }
                _ => {}
            }
        }
        let mut names: Vec<_> = entries.iter().map(|(_, name, _)| name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("it has '{}' twice", shown(pair[0]))),
            None => Ok(()),
        }
    }

    /// The entries of a tree: git mode, name, object.
    fn entries(&self, id: ObjectId) -> Result<Vec<(u32, Vec<u8>, ObjectId)>, TreeRefusal> {
        if id == ObjectId::empty_tree(self.repo.object_hash()) {
            return Ok(Vec::new());
        }
        self.sized(id, Kind::Tree, MAX_TREE, "the tree")?;
        entries(self.repo, id).map_err(|error| error.to_string())
    }
}

fn too_large(limit: u64) -> TreeRefusal {
    format!("its files have more than {limit} bytes (checkpoint.maxFetchSize)")
}

fn shown(name: &[u8]) -> String {
    crate::model::path::RepoPath::new(name).quoted()
}

/// The entries of a tree as they are in it: mode, name, object.
fn entries(repo: &Repository, id: ObjectId) -> Result<Vec<(u32, Vec<u8>, ObjectId)>, Error> {
    if id == ObjectId::empty_tree(repo.object_hash()) {
        return Ok(Vec::new());
    }
    let object = tree::find(repo, id)?;
    let failed = |why: String| Error::Object { id, why };
    if object.kind != Kind::Tree {
        return Err(failed(format!("it is a {}, not a tree", object.kind)));
    }
    let mut found = Vec::new();
    for entry in gix::objs::TreeRefIter::from_bytes(&object.data, repo.object_hash()) {
        let entry = entry.map_err(|error| failed(error.to_string()))?;
        let mode = u32::from(entry.mode.value());
        found.push((mode, entry.filename.to_vec(), entry.oid.to_owned()));
    }
    Ok(found)
}

/// Trees and files that were met.
pub type VisitedObjects = HashSet<ObjectId>;

/// Calls `each` with the path of every file and directory of a tree that is in none of `bases` at the same place, and
/// for a file whose content was not met yet with its object.
///
/// Directories that are the same in one of them are not read, those in `seen` not again. A tree nested deeper than git
/// allows is an error.
pub fn new_files(
    repo: &Repository,
    tree: ObjectId,
    bases: &[ObjectId],
    seen: &mut VisitedObjects,
    each: &mut dyn FnMut(&[u8], Option<ObjectId>),
) -> Result<(), Error> {
    let mut open = vec![(tree, bases.to_vec(), Vec::new(), 0)];
    // The last one first: as many are open as are next to one another, however deep they are nested.
    while let Some((tree, bases, path, depth)) = open.pop() {
        if bases.contains(&tree) || !seen.insert(tree) {
            continue;
        }
        if depth > MAX_DEPTH {
            let why = format!("its directories are nested deeper than {MAX_DEPTH} levels");
            return Err(Error::Object { id: tree, why });
        }
        let mut before: HashMap<Vec<u8>, Vec<ObjectId>> = HashMap::new();
        for base in bases {
            for (mode, name, id) in entries(repo, base)? {
                if mode != tree_mode::GITLINK {
                    before.entry(name).or_default().push(id);
                }
            }
        }
        let from = open.len();
        for (mode, name, id) in entries(repo, tree)? {
            let known = before.get(&name).map_or(&[][..], Vec::as_slice);
            if mode != tree_mode::GITLINK && known.contains(&id) {
                continue;
            }
            let mut path: Vec<u8> = path.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            if mode == tree_mode::DIRECTORY {
                let is_tree = |id: &ObjectId| repo.find_header(*id).is_ok_and(|header| header.kind() == Kind::Tree);
                let known: Vec<_> = known.iter().copied().filter(is_tree).collect();
                each(&path, None);
                open.push((id, known, path, depth + 1));
            } else {
                each(&path, (mode != tree_mode::GITLINK && seen.insert(id)).then_some(id));
            }
        }
        open[from..].reverse();
    }
    Ok(())
}

/// A blob of which a limited number of bytes is read.
#[derive(Debug)]
pub enum LimitedBlob {
    /// All of it.
    Content(Vec<u8>),
    /// It has more.
    TooLarge,
    /// It is not here, as in a partial clone.
    Absent,
}

/// Reads a blob, if it is here and has at most `limit` bytes.
pub fn limited_blob(repo: &Repository, id: ObjectId, limit: u64) -> Result<LimitedBlob, Error> {
    let failed = |why: String| Error::Object { id, why };
    match repo.try_find_header(id) {
        Ok(None) => Ok(LimitedBlob::Absent),
        Ok(Some(header)) if header.size() > limit => Ok(LimitedBlob::TooLarge),
        Ok(Some(_)) => Ok(LimitedBlob::Content(tree::find(repo, id)?.detach().data)),
        Err(error) => Err(failed(error.to_string())),
    }
}
