//! Taking into a snapshot what its rules leave out, so that it can be overwritten and brought back.
//!
//! Byte for byte, whatever its size. Only on the user's word: a restore names the paths that are in its way and stops.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read as _};

use gix::bstr::{BString, ByteSlice};
use gix::objs::tree::EntryKind;

use super::Error;
use super::disk::{Disk, directories_above, split};
use super::paths::FileSystem;
use super::side::usual;
use crate::model::list::{HeldFile, SkipReason};
use crate::model::path::RepoPath;
use crate::model::tree_mode;
use crate::os::dir::{self, Dir, DirNames, FileKind};
use crate::secrets;
use crate::store::objects::{StreamError, Writer};
use crate::store::{Kind, ObjectId, Repository, checkpoint, tree};
use crate::worktree::snapshot::Snapshot;
use crate::worktree::snapshot::settings::SnapshotSettings;
use crate::worktree::snapshot::{fsck, names};

/// Adds files and links to a snapshot that was just taken with this writer. Those that are gone are left out.
pub fn include(repo: &Repository, writer: &Writer, snapshot: &mut Snapshot, paths: &[RepoPath]) -> Result<(), Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    let dir = Dir::open(root).map_err(Error::io("open", root))?;
    let mut added = BTreeMap::new();
    for path in paths {
        let failed = || Error::io("save", root.join(path.to_string()));
        if let Some((kind, id, mode)) = store(&dir, writer, path.as_bytes()).map_err(|error| match error {
            IncludeStop::Io(error) => failed()(error),
            IncludeStop::Store(error) => error,
        })? {
            let held = kind != EntryKind::Link && is_held(repo, writer, snapshot, path, id)?;
            let executable = kind == EntryKind::BlobExecutable && !held;
            if kind != EntryKind::Link {
                snapshot.lists.raw.push(path.clone());
                snapshot.lists.modes.retain(|(listed, _)| listed != path);
                if mode != usual(executable, snapshot.umask) {
                    snapshot.lists.modes.push((path.clone(), mode));
                }
            }
            snapshot.lists.skipped.retain(|skipped| skipped.path != *path);
            if held {
                hold(snapshot, path, id);
            } else {
                added.insert(path, (kind, id));
            }
        }
    }
    snapshot.lists.sort();
    snapshot.lists.raw.dedup();
    snapshot.tree = edit(repo, writer, snapshot.tree, &added)?;
    Ok(())
}

/// A file that no rule lets into a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsavedFile {
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is a secret by its content, as a snapshot judges an untracked file.
    pub is_secret: bool,
}

/// Looks at a file before it is included; `None` for what is no file.
pub fn look_at(repo: &Repository, path: &RepoPath) -> Result<Option<UnsavedFile>, Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    let look = || -> io::Result<Option<UnsavedFile>> {
        let (directory, name) = split(path.as_bytes());
        let dir = Dir::open(root)?.below(directory)?;
        if dir.stat(name)?.kind != FileKind::File {
            return Ok(None);
        }
        let mut file = dir.file(name)?;
        let size = dir::file_meta(&file)?.size;
        let mut is_secret = false;
        if size <= secrets::file::MAX_FILE {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            is_secret = secrets::file::kind_of(path.as_bytes(), &bytes).is_some();
        }
        Ok(Some(UnsavedFile { size, is_secret }))
    };
    match look() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        looked => looked.map_err(Error::io("read", root.join(path.to_string()))),
    }
}

/// Whether a file must not be in the tree: it is held already, or git's fsck would reject its bytes under this name.
fn is_held(
    repo: &Repository,
    writer: &Writer,
    snapshot: &Snapshot,
    path: &RepoPath,
    id: ObjectId,
) -> Result<bool, Error> {
    if snapshot.lists.held.iter().any(|held| held.path == *path) {
        return Ok(true);
    }
    let Some(meaning) = names::meaning(split(path.as_bytes()).1) else {
        return Ok(false);
    };
    // A pack that is being written is no place that the repository can read from.
    let blob = match writer.get(&id)? {
        Some((_, blob)) => blob,
        None => checkpoint::read(repo, id, Kind::Blob, "the file")
            .map_err(|fault| Error::io("read", repo.git_dir())(io::Error::other(fault.to_string())))?,
    };
    Ok(!fsck::accepts(meaning, &blob))
}

/// Keeps the bytes of a file next to the tree.
fn hold(snapshot: &mut Snapshot, path: &RepoPath, id: ObjectId) {
    if let Some(held) = snapshot.lists.held.iter().find(|held| held.path == *path) {
        snapshot.held_blobs[held.n as usize] = id;
        return;
    }
    let n = u32::try_from(snapshot.held_blobs.len()).expect("fewer than 2^32 files are held");
    snapshot.held_blobs.push(id);
    snapshot.lists.held.push(HeldFile { path: path.clone(), n });
}

/// The result of [`enter`].
#[derive(Debug, Default)]
pub struct Entered {
    /// All directories above the paths.
    pub directories: HashSet<RepoPath>,
    /// The files and symlinks that were added to the snapshot.
    pub included: Vec<RepoPath>,
}

/// Adds those of `paths` to a snapshot that are on the disk and that its rules leave out: because they are ignored now,
/// or lie in what is another repository now. For paths that an operation changed: they are ours to change back, whatever
/// the rules or the index say of them now.
pub fn enter<'p>(
    repo: &Repository,
    writer: &Writer,
    snapshot: &mut Snapshot,
    paths: impl IntoIterator<Item = &'p RepoPath>,
) -> Result<Entered, Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    let dir = Dir::open(root).map_err(Error::io("open", root))?;
    let mut disk = Disk::open(root, FileSystem::of(SnapshotSettings::of(repo)?.ignore_case))?;
    let overlay = writer.overlay(repo);
    let reasons: HashMap<&RepoPath, SkipReason> = snapshot
        .lists
        .skipped
        .iter()
        .map(|skipped| (&skipped.path, skipped.reason))
        .collect();
    let held: HashSet<&RepoPath> = snapshot.lists.held.iter().map(|held| &held.path).collect();
    let mut known = HashMap::new();
    let mut is_repository = |directory: &RepoPath| -> Result<bool, Error> {
        if let Some(is) = known.get(directory) {
            return Ok(*is);
        }
        let is_nested = reasons.get(directory) == Some(&SkipReason::NestedRepository);
        let entry = || tree::entry(&overlay, snapshot.tree, directory);
        let is = is_nested || entry()?.is_some_and(|entry| entry.mode == tree_mode::GITLINK);
        known.insert(directory.clone(), is);
        Ok(is)
    };
    let mut entered = Entered::default();
    let mut empty = Vec::new();
    for path in paths {
        let mut is_inside = false;
        for directory in directories_above(path.as_bytes()).map(RepoPath::from) {
            is_inside |= is_repository(&directory)?;
            entered.directories.insert(directory);
        }
        let is_left_out = || -> Result<bool, Error> {
            let is_skipped = reasons.contains_key(path);
            Ok(is_skipped || tree::entry(&overlay, snapshot.tree, path)?.is_none())
        };
        if held.contains(path) || !disk.is_exact(path.as_bytes()).unwrap_or(false) {
            continue;
        }
        match kind(&dir, path.as_bytes()) {
            Some(FileKind::File | FileKind::Link) if is_inside || is_left_out()? => {
                entered.included.push(path.clone());
            }
            Some(FileKind::Directory) if is_empty(&dir, path.as_bytes()) => empty.push(path.clone()),
            _ => {}
        }
    }
    if !entered.included.is_empty() {
        include(repo, writer, snapshot, &entered.included)?;
    }
    snapshot.lists.empty_dirs.extend(empty);
    snapshot.lists.sort();
    snapshot.lists.empty_dirs.dedup();
    Ok(entered)
}

/// The kind of what lies at a path, if there is anything.
fn kind(root: &Dir, path: &[u8]) -> Option<FileKind> {
    let (directory, name) = split(path);
    let meta = root.below(directory).and_then(|dir| dir.stat(name));
    meta.ok().map(|meta| meta.kind)
}

/// Whether there is a directory with nothing in it.
fn is_empty(root: &Dir, path: &[u8]) -> bool {
    let mut names = DirNames::default();
    root.below(path).and_then(|dir| dir.read(&mut names)).is_ok() && names.is_empty()
}

enum IncludeStop {
    Io(io::Error),
    Store(Error),
}

impl From<io::Error> for IncludeStop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn store(root: &Dir, writer: &Writer, path: &[u8]) -> Result<Option<(EntryKind, ObjectId, u32)>, IncludeStop> {
    let (directory, name) = split(path);
    let stored = |error: crate::store::Error| IncludeStop::Store(error.into());
    let dir = match root.below(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        dir => dir?,
    };
    let meta = match dir.stat(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    match meta.kind {
        FileKind::Link => {
            let id = writer.write(Kind::Blob, &dir.link(name)?).map_err(stored)?;
            Ok(Some((EntryKind::Link, id, 0)))
        }
        FileKind::File => {
            let mut file = dir.file(name)?;
            let opened = dir::file_meta(&file)?;
            let id = if names::meaning(name).is_some() {
                // Its bytes are looked at, and a writer without a pack keeps no large stream.
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                writer.write(Kind::Blob, &bytes).map_err(stored)?
            } else {
                let streamed = writer.write_stream(Kind::Blob, opened.size, &mut file);
                streamed.map_err(|error| match error {
                    StreamError::Read(error) => IncludeStop::Io(error),
                    StreamError::Changed { .. } => IncludeStop::Io(io::Error::other("it changed while it was read")),
                    StreamError::Store(error) => stored(error),
                })?
            };
            let kind = if opened.is_executable() {
                EntryKind::BlobExecutable
            } else {
                EntryKind::Blob
            };
            Ok(Some((kind, id, opened.mode)))
        }
        _ => Err(IncludeStop::Io(io::Error::other("it is neither a file nor a link"))),
    }
}

fn edit(
    repo: &Repository,
    writer: &Writer,
    tree: ObjectId,
    added: &BTreeMap<&RepoPath, (EntryKind, ObjectId)>,
) -> Result<ObjectId, Error> {
    let overlay = writer.overlay(repo);
    let hash = repo.object_hash();
    let broken = |why: String| Error::Tree {
        path: RepoPath::default(),
        id: tree,
        why,
    };
    let object = overlay.find_object(tree).map_err(|error| broken(error.to_string()))?;
    let root = gix::objs::TreeRef::from_bytes(&object.data, hash).map_err(|error| broken(error.to_string()))?;
    let mut editor = gix::objs::tree::Editor::new(root.into_owned(), &overlay.objects, hash);
    for (path, (kind, id)) in added {
        let names: Vec<BString> = path.as_bytes().split_str(b"/").map(BString::from).collect();
        editor
            .upsert(names, *kind, *id)
            .map_err(|error| broken(error.to_string()))?;
    }
    let mut failed = None;
    let written = editor.write(|tree| {
        let mut bytes = Vec::new();
        gix::objs::WriteTo::write_to(tree, &mut bytes).map_err(|error| error.to_string())?;
        writer.write(Kind::Tree, &bytes).map_err(|error| {
            let text = error.to_string();
            failed = Some(error);
            text
        })
    });
    match (written, failed) {
        (Ok(id), _) => Ok(id),
        (Err(_), Some(error)) => Err(error.into()),
        (Err(why), None) => Err(broken(why)),
    }
}
