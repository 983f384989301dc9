//! Many checkpoints read for their text: the blobs next to the documents, and those of the files.
//!
//! Each object is read once, however many checkpoints share it, and in bounded memory: commits and trees through a reader
//! that keeps a few of them, blobs in the order in which packs store them, large ones as a stream.

use std::collections::HashSet;
use std::io::Read as _;
use std::rc::Rc;

use gix::bstr::{BString, ByteSlice as _};
use gix::objs::tree::EntryRef;

use super::checkpoint::{self, CheckpointCommit, DOCUMENT, Fault};
use super::objects::PackReader;
use super::{Error, Kind, ObjectId, Repository, SharedRepository, tree};
use crate::model::{document::CheckpointKind, id::Digest};
use crate::os;

/// Larger blobs are not read whole.
pub const WHOLE: u64 = 4 << 20;

/// Bytes of a large blob that are read at a time.
const PIECE: usize = 1 << 20;

/// The part of a checkpoint that a blob belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlobRole {
    /// The document, or the project context and the agent's description next to it.
    Record,
    /// A chunk of the chat.
    Chat,
    /// A step.
    Step,
    /// A part of the session log.
    Log,
    /// A file of the snapshot.
    File,
}

/// A blob with its name in the checkpoint's tree, or of a file in the snapshot.
#[derive(Clone, Debug)]
pub struct NamedBlob {
    /// Its part of the checkpoint.
    pub role: BlobRole,
    /// The name.
    pub name: BString,
    /// The object.
    pub id: ObjectId,
}

/// A checkpoint and the blobs that none of the checkpoints before it in the walk has.
#[derive(Clone, Debug)]
pub struct CheckpointBlobs {
    /// The commit.
    pub id: ObjectId,
    /// The snapshot commit, if it is another one than that of the checkpoint before it in the walk.
    pub snapshot: Option<ObjectId>,
    /// The blobs.
    pub blobs: Vec<NamedBlob>,
}

/// A part of a chain, latest first.
#[derive(Debug, Default)]
pub struct ChainPart {
    /// The checkpoints that were to be taken.
    pub checkpoints: Vec<CheckpointBlobs>,
    /// The checkpoint to continue with.
    pub next: Option<ObjectId>,
    /// Checkpoints that were merged in.
    pub merged: Vec<ObjectId>,
    /// Where the chain breaks, and how.
    pub damage: Option<Fault>,
}

/// Decision about a checkpoint of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkStep {
    /// It is taken.
    Take,
    /// It is left out, and the walk continues.
    Skip,
    /// The walk ends before it.
    Stop,
}

/// Walks chains from these commits on, each up to `limit` checkpoints, and lists the blobs with one of the `roles`.
/// Two threads share the chains.
pub fn chains(
    repo: &Repository,
    from: &[ObjectId],
    limit: usize,
    roles: &[BlobRole],
    step: impl Fn(&CheckpointCommit) -> WalkStep + Sync,
) -> Vec<ChainPart> {
    let shared = repo.clone().into_sync();
    let begin = || ObjectReader::new(&shared);
    os::parallel_runs(from, 1, begin, |reader, run| {
        run.iter()
            .map(|from| chain(reader, *from, limit, roles, &step))
            .collect()
    })
}

fn chain(
    reader: &mut ObjectReader,
    from: ObjectId,
    limit: usize,
    roles: &[BlobRole],
    step: &impl Fn(&CheckpointCommit) -> WalkStep,
) -> ChainPart {
    let mut part = ChainPart::default();
    let mut seen = HashSet::new();
    let mut snapshot = None;
    let mut next = Some(from);
    while let Some(id) = next.take() {
        if part.checkpoints.len() >= limit {
            part.next = Some(id);
            break;
        }
        let entry = match reader.checkpoint(id) {
            Ok(entry) => entry,
            Err(fault) => {
                part.damage = Some(fault);
                break;
            }
        };
        if !matches!(entry.trailers.kind, Some(CheckpointKind::Fork | CheckpointKind::Start)) {
            next = entry.parents.first().copied();
        }
        part.merged.extend(entry.merged_commit());
        match step(&entry) {
            WalkStep::Stop => break,
            WalkStep::Skip => continue,
            WalkStep::Take => {}
        }
        let mut blobs = Vec::new();
        if roles.iter().any(|role| *role != BlobRole::File)
            && let Err(fault) = siblings(reader, &entry, roles, &mut seen, &mut blobs)
        {
            part.damage = Some(fault);
            break;
        }
        let files = entry.snapshot_commit().filter(|_| roles.contains(&BlobRole::File));
        let is_new = files != snapshot;
        snapshot = files;
        part.checkpoints.push(CheckpointBlobs {
            id,
            snapshot: files.filter(|_| is_new),
            blobs,
        });
    }
    part
}

/// The blobs in the tree of a checkpoint that were not seen yet.
fn siblings(
    reader: &mut ObjectReader,
    entry: &CheckpointCommit,
    roles: &[BlobRole],
    seen: &mut HashSet<ObjectId>,
    out: &mut Vec<NamedBlob>,
) -> Result<(), Fault> {
    let mut has_document = false;
    for (name, is_directory, id) in reader.entries(entry.tree)? {
        let role = match name.as_slice() {
            b"checkpoint.json" => {
                has_document = true;
                BlobRole::Record
            }
            b"context.md" | b"agent.md" | b"record.age" => BlobRole::Record,
            b"chat" => BlobRole::Chat,
            b"steps" => BlobRole::Step,
            b"log" => BlobRole::Log,
            _ => continue,
        };
        debug_assert_eq!(DOCUMENT, "checkpoint.json");
        if !roles.contains(&role) || !seen.insert(id) {
            continue;
        }
        if !is_directory {
            out.push(NamedBlob { role, name, id });
            continue;
        }
        // The latest chunk first, as everything else.
        for (file, is_directory, id) in reader.entries(id)?.into_iter().rev() {
            let is_text = file.ends_with(b".jsonl") || file.ends_with(b".json");
            if !is_directory && is_text && seen.insert(id) {
                let name = [name.as_slice(), b"/", file.as_slice()].concat().into();
                out.push(NamedBlob { role, name, id });
            }
        }
    }
    if has_document {
        Ok(())
    } else {
        Err(Fault::NotACheckpoint { id: entry.id })
    }
}

/// The entries of the tree `id`, whose content this is.
fn tree_entries(data: &[u8], id: ObjectId) -> impl Iterator<Item = Result<EntryRef<'_>, Fault>> {
    let entries = gix::objs::TreeRefIter::from_bytes(data, id.kind());
    entries.map(move |entry| {
        entry.map_err(|error| Fault::Corrupt {
            what: "tree".into(),
            id,
            why: error.to_string(),
        })
    })
}

/// Entries of a tree: name, whether it is a directory, and id.
type TreeEntries = Vec<(BString, bool, ObjectId)>;

/// Commits and trees, from packs where they are.
pub struct ObjectReader {
    repo: Repository,
    packed: PackReader,
}

impl ObjectReader {
    fn new(shared: &SharedRepository) -> Self {
        Self::of(&shared.to_thread_local())
    }

    /// Knows the packs there are now.
    pub fn of(repo: &Repository) -> Self {
        Self {
            packed: PackReader::new(repo),
            repo: repo.clone(),
        }
    }

    /// A checkpoint's commit.
    pub fn checkpoint(&mut self, id: ObjectId) -> Result<CheckpointCommit, Fault> {
        match self.packed.commit(id) {
            Some(data) => checkpoint::entry_from(id, &data),
            None => checkpoint::entry(&self.repo, id),
        }
    }

    /// The bytes of a blob; `None` when they have to be read with [`whole`] or [`stream`], which map packs.
    pub fn blob(&mut self, id: ObjectId) -> Option<Rc<Vec<u8>>> {
        match self.packed.object(&id) {
            Some((Kind::Blob, data)) => Some(data),
            _ => None,
        }
    }

    /// The tree and the parents of any commit.
    pub fn commit_parts(&mut self, id: ObjectId) -> Result<(ObjectId, Vec<ObjectId>), Fault> {
        let Some(data) = self.packed.commit(id) else {
            return checkpoint::commit_parts(&self.repo, id);
        };
        let commit = gix::objs::CommitRef::from_bytes(&data, id.kind()).map_err(|error| Fault::Corrupt {
            what: "commit".into(),
            id,
            why: error.to_string(),
        })?;
        Ok((commit.tree(), commit.parents().collect()))
    }

    fn tree(&mut self, id: ObjectId) -> Result<Rc<Vec<u8>>, Fault> {
        match self.packed.object(&id) {
            Some((Kind::Tree, data)) => Ok(data),
            _ => Ok(checkpoint::read(&self.repo, id, Kind::Tree, "tree")?.into()),
        }
    }

    /// The entry of a tree with this name, and whether it is a directory. A gitlink does not count.
    pub fn entry(&mut self, id: ObjectId, wanted: &[u8]) -> Result<Option<(bool, ObjectId)>, Fault> {
        if id == ObjectId::empty_tree(self.repo.object_hash()) {
            return Ok(None);
        }
        let data = self.tree(id)?;
        for entry in tree_entries(&data, id) {
            let entry = entry?;
            if entry.filename == wanted {
                return Ok((!entry.mode.is_commit()).then(|| (entry.mode.is_tree(), entry.oid.to_owned())));
            }
        }
        Ok(None)
    }

    /// The checkpoint that was restored before this one was saved, where its document names one. Documents without that
    /// member, nearly all, are not parsed.
    pub fn restored_from(&mut self, entry: &CheckpointCommit) -> Result<Option<Digest>, Fault> {
        let Some((false, id)) = self.entry(entry.tree, DOCUMENT.as_bytes())? else {
            return Err(Fault::NotACheckpoint { id: entry.id });
        };
        let data = match self.blob(id) {
            Some(data) => data,
            None => checkpoint::read(&self.repo, id, Kind::Blob, "document")?.into(),
        };
        let is_intact = entry.trailers.digest.as_ref() == Some(&Digest::of(&data));
        // A quote within a text is escaped, and so the names are those of members. An encrypted document has it elsewhere.
        let has = |member: &str| data.contains_str(format!("\"{member}\""));
        if is_intact && !has("restored_from") && !has("encrypted") {
            return Ok(None);
        }
        Ok(checkpoint::load(&self.repo, entry.id)?.document.restored_from)
    }

    fn entries(&mut self, id: ObjectId) -> Result<TreeEntries, Fault> {
        let data = self.tree(id)?;
        let mut out = Vec::new();
        for entry in tree_entries(&data, id) {
            let entry = entry?;
            if !entry.mode.is_commit() {
                out.push((entry.filename.to_owned(), entry.mode.is_tree(), entry.oid.to_owned()));
            }
        }
        Ok(out)
    }

    /// Lists the files below a tree that are in none of the trees seen before, by path. A blob is listed at each of its
    /// paths.
    pub fn files(
        &mut self,
        tree: ObjectId,
        seen: &mut HashSet<ObjectId>,
        out: &mut Vec<NamedBlob>,
    ) -> Result<(), Fault> {
        let mut path = BString::default();
        self.files_below(tree, seen, &mut path, 0, out)
    }

    fn files_below(
        &mut self,
        id: ObjectId,
        seen: &mut HashSet<ObjectId>,
        path: &mut BString,
        depth: usize,
        out: &mut Vec<NamedBlob>,
    ) -> Result<(), Fault> {
        if id == ObjectId::empty_tree(self.repo.object_hash()) || !seen.insert(id) {
            return Ok(());
        }
        if depth > tree::MAX_DEPTH {
            return Err(Fault::Corrupt {
                what: "tree".into(),
                id,
                why: "it is nested too deep".into(),
            });
        }
        for (name, is_directory, id) in self.entries(id)? {
            let length = path.len();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            if is_directory {
                self.files_below(id, seen, path, depth + 1, out)?;
            } else {
                out.push(NamedBlob {
                    role: BlobRole::File,
                    name: path.clone(),
                    id,
                });
            }
            path.truncate(length);
        }
        Ok(())
    }
}

/// Result for a blob.
#[derive(Debug)]
pub enum BlobScan<T> {
    /// It was read whole.
    Read(T),
    /// It is larger than [`WHOLE`].
    Large,
    /// It is not in the repository.
    Missing,
    /// It cannot be read, for this reason.
    Damaged(String),
}

/// Maps the bytes of blobs; `make` also gets the place of each among `ids`. Two threads share the work.
pub fn blobs<T: Send>(
    repo: &Repository,
    ids: &[ObjectId],
    make: impl Fn(usize, &[u8]) -> T + Sync,
) -> Vec<BlobScan<T>> {
    let packed = PackReader::new(repo).each_blob(ids, &make);
    let missing: Vec<usize> = (0..ids.len()).filter(|at| packed[*at].is_none()).collect();
    let shared = repo.clone().into_sync();
    let others = os::parallel_runs(
        &missing,
        64,
        || shared.to_thread_local(),
        |repo, run| {
            run.iter()
                .map(|at| whole(repo, ids[*at], |data| make(*at, data)))
                .collect()
        },
    );
    let mut others = others.into_iter();
    packed
        .into_iter()
        .map(|made| match made {
            Some(made) => BlobScan::Read(made),
            None => others.next().unwrap_or(BlobScan::Missing),
        })
        .collect()
}

/// Reads one blob.
pub fn whole<T>(repo: &Repository, id: ObjectId, make: impl FnOnce(&[u8]) -> T) -> BlobScan<T> {
    match repo.try_find_header(id) {
        Ok(Some(header)) if header.kind() != Kind::Blob => return BlobScan::Damaged("it is not a blob".to_owned()),
        Ok(Some(header)) if header.size() > WHOLE => return BlobScan::Large,
        Ok(Some(_)) => {}
        Ok(None) => return BlobScan::Missing,
        Err(error) => return BlobScan::Damaged(error.to_string()),
    }
    match repo.try_find_object(id) {
        Ok(Some(object)) => BlobScan::Read(make(&object.data)),
        Ok(None) => BlobScan::Missing,
        Err(error) => BlobScan::Damaged(error.to_string()),
    }
}

/// Reads a blob in pieces, in order, until `each` wants no more.
pub fn stream(repo: &Repository, id: ObjectId, mut each: impl FnMut(&[u8]) -> bool) -> Result<(), Error> {
    let mut child = super::git(repo).args(["cat-file", "blob", &id.to_string()]).start()?;
    let mut buffer = vec![0; PIECE];
    let mut pipe = child.stdout.take();
    while let Some(stdout) = &mut pipe {
        let count = match stdout.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io("read", "the output of git cat-file")(error)),
        };
        if count == 0 {
            child.finish()?;
            return Ok(());
        }
        if !each(&buffer[..count]) {
            return Ok(());
        }
    }
    Ok(())
}
