//! Checkpoints as git objects: a commit whose tree holds a document.
//!
//! Writing takes finished values and gives a commit id; which ref it goes on is for `refs` and the operation. Reading
//! has two depths: an [`CheckpointCommit`] is what the commit object has (unverified, for lists), a [`Checkpoint`] has its document
//! read and checked against the digest and its siblings. Damage is a [`Fault`], never an absence.

mod anew;
mod load;
mod snapshot_commits;
mod write;

use std::collections::BTreeMap;

use gix::{
    bstr::ByteSlice,
    objs::{Tree, WriteTo, tree},
};

use super::{
    Error, Kind, ObjectId, Repository, Signature, Time,
    encryption::{self, DecryptionFailure},
    objects::Writer,
};
use crate::model::{
    document::{self, CheckpointKind, Document},
    id::{Digest, Oid},
    list::Lists,
    message::{self, Trailers},
    time::Timestamp,
};

pub use load::{load, load_compared, load_each, public, reveal};
pub use snapshot_commits::{write_snapshot, write_unborn};
pub use write::{StoredDocument, WrittenCheckpoint, stored_form, write, write_amended, write_deferred, write_stored};
pub(super) use write::{write_commit, write_root};

/// The document's name in a checkpoint's tree.
pub const DOCUMENT: &str = "checkpoint.json";
/// The one sibling that a document does not name, because pruning writes it later.
pub const PRUNED: &str = "pruned.jsonl";

/// Fault of a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// An object that should be there is not.
    #[error("{what} '{id}' is missing")]
    Missing {
        /// Kind of the object, such as `the commit`.
        what: String,
        /// Its id.
        id: ObjectId,
    },
    /// An object cannot be read.
    #[error("{what} '{id}' is corrupt: {why}")]
    Corrupt {
        /// Kind of the object.
        what: String,
        /// Its id.
        id: ObjectId,
        /// Reason, in words.
        why: String,
    },
    /// The commit is not a checkpoint.
    #[error("commit '{id}' is not a checkpoint: it holds no '{DOCUMENT}'")]
    NotACheckpoint {
        /// The commit.
        id: ObjectId,
    },
    /// The document's bytes are not those the commit message names.
    #[error("the document does not match its digest (recorded {}, found {found})", shown(recorded.as_ref()))]
    Digest {
        /// Digest in the commit message, if any.
        recorded: Option<Digest>,
        /// The digest of the bytes that are there.
        found: Digest,
    },
    /// Something next to the document is not what the document names.
    #[error("'{name}' in the checkpoint is not what its document names")]
    Sibling {
        /// The entry of the checkpoint's tree.
        name: String,
    },
    /// The document cannot be read, or is of a newer format.
    #[error(transparent)]
    Document(#[from] document::Error),
    /// It is encrypted, and no key that was found opens it.
    #[error("{what} is encrypted, and {why}")]
    Encrypted {
        /// Kind of the object, such as `a chunk of the chat`.
        what: String,
        /// Why it cannot be read: there is no key, or no passphrase.
        why: DecryptionFailure,
    },
    /// A list next to the document is malformed.
    #[error(transparent)]
    List(#[from] crate::model::list::InvalidLine),
    /// A step next to the document is malformed.
    #[error("step '{id}' is malformed: {why}")]
    Step {
        /// The step.
        id: String,
        /// Description, in words.
        why: String,
    },
}

/// Failure to write what is next to the document of a new checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A part of the checkpoint before is damaged.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The objects could not be written.
    #[error(transparent)]
    Store(#[from] Error),
}

fn shown(digest: Option<&Digest>) -> &str {
    digest.map_or("nothing", Digest::as_str)
}

impl Fault {
    /// Whether the format is newer than this program, which is no damage.
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::Document(document::Error::Newer(_)))
    }

    /// Whether it is encrypted and cannot be read here, which is no damage.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Self::Encrypted { .. })
    }
}

/// A checkpoint as read from its commit object alone; nothing here was verified.
#[derive(Clone, Debug)]
pub struct CheckpointCommit {
    /// The commit.
    pub id: ObjectId,
    /// Its tree.
    pub tree: ObjectId,
    /// Its parents: the previous checkpoint, the snapshot commit, and of a merge the checkpoint that was merged in.
    pub parents: Vec<ObjectId>,
    /// The first line of its message.
    pub subject: String,
    /// The trailers of its message.
    pub trailers: Trailers,
    /// The author's name.
    pub author: String,
    /// The author's address.
    pub email: String,
    /// When it was committed.
    pub time: Timestamp,
}

impl CheckpointCommit {
    /// The snapshot commit, when the files were saved.
    pub fn snapshot_commit(&self) -> Option<ObjectId> {
        let only_merged = self.trailers.kind == Some(CheckpointKind::Merge) && self.parents.len() == 2;
        self.parents.get(1).copied().filter(|_| !only_merged)
    }

    /// The checkpoint that a merge merged in: its last parent.
    pub fn merged_commit(&self) -> Option<ObjectId> {
        let is_merge = self.trailers.kind == Some(CheckpointKind::Merge) && self.parents.len() > 1;
        self.parents.last().copied().filter(|_| is_merge)
    }
}

/// A checkpoint with its document read and verified.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The commit.
    pub entry: CheckpointCommit,
    /// The document.
    pub document: Document,
    /// The digest of the document.
    pub digest: Digest,
    /// Whether another tool rewrote its commits, so that the document names what is not theirs any more; `document` has
    /// what the commits say, and `digest` is still that of the stored bytes.
    pub is_rewritten: bool,
}

impl Checkpoint {
    /// The commit of the previous checkpoint; for a fork's first one, of its source.
    pub fn previous(&self) -> Option<ObjectId> {
        self.entry.parents.first().copied()
    }

    /// The snapshot commit, when the files were saved.
    pub fn snapshot(&self) -> Option<ObjectId> {
        self.entry.snapshot_commit()
    }

    /// The checkpoint that was merged in, when this is a merge.
    pub fn merged(&self) -> Option<ObjectId> {
        self.document.merged.as_ref().and_then(|_| self.entry.merged_commit())
    }
}

/// Entries next to the document in a checkpoint's tree: mode and object by top-level name.
#[derive(Clone, Debug, Default)]
pub struct Siblings(pub(super) BTreeMap<String, (tree::EntryKind, ObjectId)>);

impl Siblings {
    /// Adds a file.
    pub fn blob(&mut self, name: &str, id: ObjectId) {
        self.0.insert(name.to_owned(), (tree::EntryKind::Blob, id));
    }

    /// Adds a directory of numbered blobs, unless there are none.
    pub fn numbered(&mut self, writer: &Writer, name: &str, blobs: &[ObjectId]) -> Result<(), Error> {
        self.files(
            writer,
            name,
            blobs.iter().enumerate().map(|(n, id)| (n.to_string(), *id)).collect(),
        )
    }

    /// Adds the lists of a snapshot and the blobs they number.
    pub fn lists(
        &mut self,
        writer: &Writer,
        lists: &Lists,
        conflicts: &[ObjectId],
        held: &[ObjectId],
    ) -> Result<(), Error> {
        let mut entries = Vec::new();
        for (name, bytes) in lists.encode() {
            entries.push((name.to_owned(), writer.write(Kind::Blob, &bytes)?));
        }
        self.files(writer, "lists", entries)?;
        self.numbered(writer, "conflicts", conflicts)?;
        self.numbered(writer, "held", held)
    }

    /// Adds a directory, unless it would be empty.
    pub(super) fn directory(
        &mut self,
        writer: &Writer,
        name: &str,
        entries: impl Iterator<Item = (tree::EntryKind, String, ObjectId)>,
    ) -> Result<(), Error> {
        let mut entries = entries.peekable();
        if entries.peek().is_some() {
            let id = write_tree(writer, entries)?;
            self.0.insert(name.to_owned(), (tree::EntryKind::Tree, id));
        }
        Ok(())
    }

    /// Adds a directory of files with the given names.
    pub fn files(&mut self, writer: &Writer, name: &str, files: Vec<(String, ObjectId)>) -> Result<(), Error> {
        self.directory(
            writer,
            name,
            files.into_iter().map(|(name, id)| (tree::EntryKind::Blob, name, id)),
        )
    }

    /// Takes over an entry of another checkpoint's tree as it is.
    pub fn keep(&mut self, other: &Self, name: &str) {
        if let Some(entry) = other.0.get(name) {
            self.0.insert(name.to_owned(), *entry);
        }
    }

    /// Takes an entry away.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The object under this name.
    pub fn get(&self, name: &str) -> Option<ObjectId> {
        self.0.get(name).map(|(_, id)| *id)
    }

    /// As the document's member `trees`.
    pub fn named(&self) -> BTreeMap<String, Oid> {
        let named = self.0.iter().filter(|(name, _)| *name != PRUNED);
        named.map(|(name, (_, id))| (name.clone(), oid(*id))).collect()
    }
}

/// An object id in the model's form.
pub fn oid(id: ObjectId) -> Oid {
    Oid::new(id.to_hex().to_string()).expect("an object id is 40 or 64 lower-case hexadecimal digits")
}

/// A model's object id in git's form.
pub fn object_id(id: &Oid) -> ObjectId {
    ObjectId::from_hex(id.as_str().as_bytes()).expect("the model checked its digits")
}

/// A time in git's form.
pub fn git_time(time: Timestamp) -> Time {
    Time {
        seconds: time.unix(),
        offset: time.offset(),
    }
}

/// Who a commit is by.
#[derive(Clone, Debug)]
pub struct People {
    /// The author.
    pub author: Signature,
    /// The committer, also in reflogs.
    pub committer: Signature,
}

pub(super) fn write_tree(
    writer: &Writer,
    entries: impl Iterator<Item = (tree::EntryKind, String, ObjectId)>,
) -> Result<ObjectId, Error> {
    let mut entries: Vec<_> = entries
        .map(|(kind, name, oid)| tree::Entry {
            mode: kind.into(),
            filename: name.into(),
            oid,
        })
        .collect();
    entries.sort();
    writer.write(Kind::Tree, &encoded(&Tree { entries }))
}

fn encoded(object: &impl WriteTo) -> Vec<u8> {
    let mut out = Vec::new();
    object
        .write_to(&mut out)
        .expect("writing to memory cannot fail, and names and times were made here");
    out
}

/// Reads an object of a known kind and checks that its bytes have its id, and that git would take them from where they
/// are.
///
/// Costs one hash over the object; what stays small (commits, trees, documents) is read this way throughout.
pub fn read(repo: &Repository, id: ObjectId, kind: Kind, what: &str) -> Result<Vec<u8>, Fault> {
    let corrupt = |why: String| Fault::Corrupt {
        what: what.to_owned(),
        id,
        why,
    };
    // Read strictly, it need not be found by gix, read, hashed and then read again to be sure that git can read it.
    let (sound, is_loose) = super::objects::own_loose(repo, &id);
    if let Some((found, data)) = sound
        && found == kind
    {
        return Ok(data);
    }
    let object = match repo.try_find_object(id) {
        Ok(Some(object)) => object,
        Ok(None) => {
            return Err(Fault::Missing {
                what: what.to_owned(),
                id,
            });
        }
        Err(error) => return Err(corrupt(error.to_string())),
    };
    if object.kind != kind {
        return Err(corrupt(format!("it is a {}, not a {kind}", object.kind)));
    }
    let found = gix::objs::compute_hash(repo.object_hash(), kind, &object.data)
        .map_err(|_| corrupt("its bytes are part of a collision attack".into()))?;
    if found != id {
        return Err(corrupt("its bytes have another id".into()));
    }
    if is_loose && let Some(why) = super::objects::damaged_loose(repo, &id) {
        return Err(corrupt(why));
    }
    Ok(object.detach().data)
}

/// Reads a blob of a checkpoint that is encrypted where the checkpoint is: a part of the chat, a step, the log, a text or an
/// attachment.
pub fn read_private(repo: &Repository, id: ObjectId, what: &str) -> Result<Vec<u8>, Fault> {
    let bytes = read(repo, id, Kind::Blob, what)?;
    encryption::decrypted(repo, bytes).map_err(|failure| match failure {
        DecryptionFailure::Damaged(why) => Fault::Corrupt {
            what: what.to_owned(),
            id,
            why,
        },
        why => Fault::Encrypted {
            what: what.to_owned(),
            why,
        },
    })
}

/// The commits whose id begins with these hexadecimal digits, at least four.
pub fn commits_with_prefix(repo: &Repository, digits: &str) -> Vec<ObjectId> {
    let Ok(prefix) = gix::hash::Prefix::from_hex(digits) else {
        return Vec::new();
    };
    let mut candidates = std::collections::HashSet::new();
    // The result distinguishes unique from ambiguous; both have put what they found into the set.
    let _ = repo.objects.lookup_prefix(prefix, Some(&mut candidates));
    let is_commit = |id: &ObjectId| repo.find_header(*id).is_ok_and(|header| header.kind() == Kind::Commit);
    let mut commits: Vec<ObjectId> = candidates.into_iter().filter(is_commit).collect();
    commits.sort();
    commits
}

/// Reads a checkpoint's commit object alone.
pub fn entry(repo: &Repository, id: ObjectId) -> Result<CheckpointCommit, Fault> {
    entry_from(id, &read(repo, id, Kind::Commit, "commit")?)
}

/// Whether a commit that is here is none of ours: no session leads to it. Not known of one that cannot be read.
pub fn is_other(repo: &Repository, id: ObjectId) -> bool {
    let entry = if repo.has_object(id) {
        entry(repo, id).ok()
    } else {
        None
    };
    entry.is_some_and(|entry| entry.trailers.digest.is_none())
}

/// Parses the bytes of a commit, which are known to have its id.
pub(super) fn entry_from(id: ObjectId, data: &[u8]) -> Result<CheckpointCommit, Fault> {
    let corrupt = |why: String| Fault::Corrupt {
        what: "commit".into(),
        id,
        why,
    };
    let commit = gix::objs::CommitRef::from_bytes(data, id.kind()).map_err(|e| corrupt(e.to_string()))?;
    let author = commit.author().map_err(|e| corrupt(e.to_string()))?;
    let time = commit
        .committer()
        .map_err(|e| corrupt(e.to_string()))?
        .time()
        .unwrap_or_default();
    let (subject, trailers) = message::decode(commit.message);
    let whole = Timestamp::from_unix(time.seconds, time.offset);
    // Anyone can write a trailer; the commit's own time is.
    let precise = trailers.time.filter(|precise| precise.whole_seconds() == whole);
    Ok(CheckpointCommit {
        id,
        tree: commit.tree(),
        parents: commit.parents().collect(),
        subject,
        trailers,
        author: author.name.to_str_lossy().into_owned(),
        email: author.email.to_str_lossy().into_owned(),
        time: precise.unwrap_or(whole),
    })
}

/// Who a commit is by, and when.
pub fn people(repo: &Repository, id: ObjectId) -> Result<People, Fault> {
    let data = read(repo, id, Kind::Commit, "commit")?;
    let corrupt = |why: String| Fault::Corrupt {
        what: "commit".into(),
        id,
        why,
    };
    let commit = gix::objs::CommitRef::from_bytes(&data, repo.object_hash()).map_err(|e| corrupt(e.to_string()))?;
    let commit = commit.into_owned().map_err(|e| corrupt(e.to_string()))?;
    Ok(People {
        author: commit.author,
        committer: commit.committer,
    })
}

/// The bytes of the commit that HEAD points to.
pub(crate) fn head(repo: &Repository, id: ObjectId) -> Result<Vec<u8>, Fault> {
    read(repo, id, Kind::Commit, "the commit of HEAD")
}

/// Its tree and parents.
pub(crate) fn head_parts(repo: &Repository, id: ObjectId) -> Result<(ObjectId, Vec<ObjectId>), Fault> {
    parts(repo, id, "the commit of HEAD")
}

/// The tree and the parents of any commit.
pub fn commit_parts(repo: &Repository, id: ObjectId) -> Result<(ObjectId, Vec<ObjectId>), Fault> {
    parts(repo, id, "commit")
}

fn parts(repo: &Repository, id: ObjectId, what: &str) -> Result<(ObjectId, Vec<ObjectId>), Fault> {
    let data = read(repo, id, Kind::Commit, what)?;
    let commit = gix::objs::CommitRef::from_bytes(&data, repo.object_hash());
    let commit = commit.map_err(|e| Fault::Corrupt {
        what: what.to_owned(),
        id,
        why: e.to_string(),
    })?;
    Ok((commit.tree(), commit.parents().collect()))
}

/// The tree of any commit.
pub fn tree_of(repo: &Repository, commit: ObjectId) -> Result<ObjectId, Fault> {
    commit_parts(repo, commit).map(|(tree, _)| tree)
}

/// The siblings of a checkpoint's document, and the document's blob, from the checkpoint's tree.
pub fn siblings(repo: &Repository, entry: &CheckpointCommit) -> Result<(Siblings, ObjectId), Fault> {
    let data = read(repo, entry.tree, Kind::Tree, "tree of the checkpoint")?;
    let tree = gix::objs::TreeRef::from_bytes(&data, repo.object_hash()).map_err(|e| Fault::Corrupt {
        what: "tree of the checkpoint".into(),
        id: entry.tree,
        why: e.to_string(),
    })?;
    let mut siblings = Siblings::default();
    let mut document = None;
    for found in tree.entries {
        let name = found.filename.to_str_lossy().into_owned();
        if name == DOCUMENT && found.mode.is_blob() {
            document = Some(found.oid.to_owned());
        } else {
            siblings.0.insert(name, (found.mode.kind(), found.oid.to_owned()));
        }
    }
    document
        .map(|blob| (siblings, blob))
        .ok_or(Fault::NotACheckpoint { id: entry.id })
}

/// Content of a checkpoint that the next one of its session may share.
#[derive(Debug, Default)]
pub struct CarriedState {
    /// The trees of its files and of its index.
    pub trees: Vec<ObjectId>,
    /// The blobs and trees next to its document.
    pub objects: Vec<ObjectId>,
}

/// Reads what a checkpoint holds.
pub fn held(repo: &Repository, checkpoint: &Checkpoint) -> Result<CarriedState, Fault> {
    let mut held = CarriedState::default();
    if let Some(snapshot) = &checkpoint.document.snapshot {
        held.trees = vec![object_id(&snapshot.tree), object_id(&snapshot.index)];
    }
    for (name, id) in &checkpoint.document.trees {
        held.objects.push(object_id(id));
        if matches!(name.as_str(), "lists" | "conflicts" | "held" | "operation") {
            let inside = directory(repo, object_id(id), name)?;
            held.objects.extend(inside.into_iter().map(|(_, _, id)| id));
        }
    }
    Ok(held)
}

/// Reads the lists of a checkpoint.
pub fn lists(repo: &Repository, checkpoint: &Checkpoint) -> Result<Lists, Fault> {
    let mut lists = Lists::default();
    let Some(id) = checkpoint.document.trees.get("lists") else {
        return Ok(lists);
    };
    for (name, _, id) in directory(repo, object_id(id), "lists of the checkpoint")? {
        let bytes = read(repo, id, Kind::Blob, "list")?;
        lists.decode(&name, &bytes)?;
    }
    Ok(lists)
}

/// The entries of a directory next to a document: name, whether it is a directory, and id.
pub fn directory(repo: &Repository, id: ObjectId, what: &str) -> Result<Vec<(String, bool, ObjectId)>, Fault> {
    let data = read(repo, id, Kind::Tree, what)?;
    let tree = gix::objs::TreeRef::from_bytes(&data, repo.object_hash()).map_err(|e| Fault::Corrupt {
        what: what.to_owned(),
        id,
        why: e.to_string(),
    })?;
    let entries = tree.entries.iter();
    Ok(entries
        .map(|e| {
            (
                e.filename.to_str_lossy().into_owned(),
                e.mode.is_tree(),
                e.oid.to_owned(),
            )
        })
        .collect())
}
