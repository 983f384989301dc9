//! Reading a whole checkpoint. Where another tool rewrote its commits, what the document names is found through the parents.

use super::{
    Checkpoint, CheckpointCommit, DecryptionFailure, Fault, Siblings, commit_parts, encryption, entry, object_id, oid,
    read, read_private, siblings, tree_of,
};
use crate::model::{
    document::{self, Document},
    encryption::joined,
    id::{Digest, Oid},
    message,
};
use crate::os;
use crate::store::{Kind, ObjectId, Repository};

/// Reads a checkpoint and its document, and checks the document against its digest and its siblings. Where the files that
/// it names are missing, they are taken from the snapshot commit.
pub fn load(repo: &Repository, id: ObjectId) -> Result<Checkpoint, Fault> {
    let mut checkpoint = load_as_stored(repo, id)?;
    if lacks_objects(repo, &checkpoint.document) {
        follow_parents(repo, &mut checkpoint);
        if checkpoint.is_rewritten {
            os::notices::say(
                "another tool, such as git filter-repo, rewrote checkpoints; anchor them to the rewritten commits: git checkpoint repair",
            );
        }
    }
    Ok(checkpoint)
}

/// Maps many checkpoints with `make`, each read as by [`load`], in their order. Two threads share the work.
pub fn load_each<T: Send>(
    repo: &Repository,
    ids: &[ObjectId],
    make: impl Fn(Checkpoint) -> T + Sync,
) -> Vec<Result<T, Fault>> {
    /// How many a thread loads at a time.
    const RUN: usize = 64;
    let shared = repo.clone().into_sync();
    os::parallel_runs(
        ids,
        RUN,
        || shared.to_thread_local(),
        |repo, run| run.iter().map(|id| load(repo, *id).map(&make)).collect(),
    )
}

/// Reads a checkpoint as [`load`], compared with its commits whether anything is missing or not.
pub fn load_compared(repo: &Repository, id: ObjectId) -> Result<Checkpoint, Fault> {
    let mut checkpoint = load_as_stored(repo, id)?;
    follow_parents(repo, &mut checkpoint);
    Ok(checkpoint)
}

/// The document of a checkpoint as it is stored, checked as by [`load`], with its digest: of an encrypted one the public part.
pub fn public(repo: &Repository, id: ObjectId) -> Result<(Document, Digest), Fault> {
    let (document, digest, _) = stored(repo, &entry(repo, id)?)?;
    Ok((document, digest))
}

fn load_as_stored(repo: &Repository, id: ObjectId) -> Result<Checkpoint, Fault> {
    let entry = entry(repo, id)?;
    let (document, digest, siblings) = stored(repo, &entry)?;
    let document = if document.encrypted.is_some() {
        opened(repo, document, &siblings)?
    } else {
        document
    };
    repo.encrypted().note(&document, &digest);
    Ok(Checkpoint {
        entry,
        document,
        digest,
        is_rewritten: false,
    })
}

fn stored(repo: &Repository, entry: &CheckpointCommit) -> Result<(Document, Digest, Siblings), Fault> {
    let (siblings, blob) = siblings(repo, entry)?;
    let bytes = read(repo, blob, Kind::Blob, "document")?;
    let digest = Digest::of(&bytes);
    // The form is read first: a newer format may have moved its digest, and reports it here.
    let document = Document::from_bytes(&bytes);
    if let Err(error @ document::Error::Newer(_)) = document {
        return Err(error.into());
    }
    if entry.trailers.digest.as_ref() != Some(&digest) {
        return Err(Fault::Digest {
            recorded: entry.trailers.digest.clone(),
            found: digest,
        });
    }
    let document = document?;
    let named = siblings.named();
    if named != document.trees {
        let differs = |name: &&String| named.get(*name) != document.trees.get(*name);
        let name = named
            .keys()
            .chain(document.trees.keys())
            .find(differs)
            .cloned()
            .unwrap_or_default();
        return Err(Fault::Sibling { name });
    }
    Ok((document, digest, siblings))
}

/// The whole document of an encrypted checkpoint; the public part, marked, where no key opens the rest.
fn opened(repo: &Repository, mut public: Document, siblings: &Siblings) -> Result<Document, Fault> {
    let Some(id) = siblings.get(encryption::RECORD) else {
        let name = encryption::RECORD.to_owned();
        return Err(Fault::Sibling { name });
    };
    match read_private(repo, id, "the encrypted record") {
        Ok(private) => joined(&public, &private).map_err(|why| Fault::Corrupt {
            what: "the encrypted record".to_owned(),
            id,
            why,
        }),
        Err(Fault::Encrypted { why, .. }) => {
            encryption::say_locked(public.session.name.as_str(), &why);
            if let Some(info) = &mut public.encrypted {
                info.is_locked = true;
                info.has_own_key = why != DecryptionFailure::NoKey;
            }
            Ok(public)
        }
        Err(fault) => Err(fault),
    }
}

/// Gives the commit of an encrypted checkpoint the subject and the trailers that its document has, where one of the user's
/// keys opens that without a passphrase. For lists: nothing is verified, asked for or reported.
pub fn reveal(repo: &Repository, entry: &mut CheckpointCommit) {
    let Some(digest) = entry.trailers.digest.clone().filter(|_| entry.trailers.encrypted) else {
        return;
    };
    if let Some(document) = revealed(repo, entry) {
        let message = message::encode(&document, entry.trailers.partial, &digest, None);
        (entry.subject, entry.trailers) = message::decode(message.as_bytes());
    }
}

fn revealed(repo: &Repository, entry: &CheckpointCommit) -> Option<Document> {
    let (siblings, blob) = siblings(repo, entry).ok()?;
    let public = read(repo, blob, Kind::Blob, "document").ok()?;
    let public = Document::from_bytes(&public).ok()?;
    let sealed = siblings.get(encryption::RECORD)?;
    let sealed = read(repo, sealed, Kind::Blob, "the encrypted record").ok()?;
    joined(&public, &encryption::opened_unasked(repo, &sealed)?).ok()
}

/// Takes the files and HEAD from the snapshot commit where it has others than the document names.
///
/// A tool that rewrites history (git filter-repo, git filter-branch, the BFG) gives commits and trees other ids and leaves
/// the document as it is; what it made is found through the parents. A snapshot commit that cannot be read proves nothing.
fn follow_parents(repo: &Repository, checkpoint: &mut Checkpoint) {
    let (Some(commit), Some(named)) = (checkpoint.snapshot(), &mut checkpoint.document.snapshot) else {
        return;
    };
    let Ok((tree, parents)) = commit_parts(repo, commit) else {
        return;
    };
    // A tool that drops commits which change nothing drops the index commit, unless something was staged, and the one
    // in place of an unborn branch's.
    let head = parents.first().copied();
    let index = parents.get(1).copied().filter(|index| Some(*index) != head);
    let index_tree = match index.or(head) {
        Some(commit) => match tree_of(repo, commit) {
            Ok(tree) => tree,
            Err(_) => return,
        },
        None => repo.empty_tree().id,
    };
    let now = head.map(oid);
    let head_named = &mut checkpoint.document.git.head;
    // A branch without a commit has one in its place, which no document names.
    let is_same_head = head.is_some() && (head_named.is_none() || *head_named == now);
    let is_same = object_id(&named.tree) == tree && object_id(&named.index) == index_tree;
    if is_same && is_same_head && index.is_some() {
        return;
    }
    named.tree = oid(tree);
    named.index = oid(index_tree);
    if head_named.is_some() {
        *head_named = now;
    }
    checkpoint.is_rewritten = true;
}

/// Whether an object that the document names is missing, so that it is worth looking what the commits have.
fn lacks_objects(repo: &Repository, document: &Document) -> bool {
    let is_missing = |id: &Oid| !repo.has_object(object_id(id));
    let snapshot = document.snapshot.as_ref();
    snapshot.is_some_and(|named| {
        is_missing(&named.tree) || is_missing(&named.index) || document.git.head.as_ref().is_some_and(is_missing)
    })
}
