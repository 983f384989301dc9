//! Writing a checkpoint: its document, what is encrypted of it, its tree and its commit.

use gix::objs::{Commit, tree};

use super::{DOCUMENT, Error, Kind, ObjectId, People, Siblings, encoded, encryption, write_tree};
use crate::{
    model::{
        document::{CheckpointKind, Document, EncryptionInfo},
        encryption::{is_public, private_part, public_part},
        id::Digest,
        message,
    },
    os,
    store::objects::Writer,
};

/// A checkpoint that was written; no ref points to it yet.
#[derive(Clone, Debug)]
pub struct WrittenCheckpoint {
    /// The commit.
    pub id: ObjectId,
    /// The digest of its document.
    pub digest: Digest,
    /// All object ids the commit needs that were made for it, to be checked after the ref is in place.
    pub needs: Vec<ObjectId>,
}

/// Writes the document, the checkpoint's tree and the commit. Sets `document.trees` from the siblings.
pub fn write(
    writer: &Writer,
    document: &mut Document,
    partial: bool,
    siblings: &Siblings,
    parents: Vec<ObjectId>,
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    let stored = form(writer, document, siblings, false)?;
    write_stored(writer, &stored, partial, &stored.siblings, parents, people)
}

/// A document as it is stored: what is private is encrypted and next to it.
#[derive(Clone, Debug)]
pub struct StoredDocument {
    /// The part that is stored in the clear.
    public: Document,
    bytes: Vec<u8>,
    /// Its digest.
    pub digest: Digest,
    /// What is next to it.
    pub siblings: Siblings,
}

/// The stored form of a document that is written again in the place of the one it was. What is private of it is encrypted,
/// where that is asked for. Sets `document.trees` and `document.encrypted`.
pub fn stored_form(writer: &Writer, document: &mut Document, siblings: &Siblings) -> Result<StoredDocument, Error> {
    form(writer, document, siblings, true)
}

fn form(
    writer: &Writer,
    document: &mut Document,
    siblings: &Siblings,
    is_same_checkpoint: bool,
) -> Result<StoredDocument, Error> {
    let mut siblings = siblings.clone();
    let is_locked = writer.encrypted().continues_locked(document);
    let public = if is_locked {
        locked_form(document, &mut siblings, is_same_checkpoint)?
    } else if let Some(encryptor) = writer.encryptor_for(document)? {
        document.encrypted = Some(EncryptionInfo {
            recipients: encryptor.names().to_vec(),
            is_locked: false,
            has_own_key: false,
        });
        let sealed = encryptor.encrypt(&private_part(document))?;
        siblings.blob(encryption::RECORD, writer.write(Kind::Blob, &sealed)?);
        document.trees = siblings.named();
        public_part(document)
    } else {
        document.encrypted = None;
        siblings.remove(encryption::RECORD);
        document.trees = siblings.named();
        document.clone()
    };
    let bytes = public.to_bytes();
    let digest = Digest::of(&bytes);
    writer.encrypted().note(document, digest.as_str());
    Ok(StoredDocument {
        public,
        bytes,
        digest,
        siblings,
    })
}

/// A document whose private part could not be read: that part stays as it is, and only what is public may have changed.
/// A safety checkpoint is not part of the session, and has what is public of it.
fn locked_form(document: &mut Document, siblings: &mut Siblings, is_same_checkpoint: bool) -> Result<Document, Error> {
    if document.kind == CheckpointKind::Safety {
        *document = public_part(document);
        document.encrypted = None;
        siblings.remove(encryption::RECORD);
    } else if !is_same_checkpoint || !is_public(document) || siblings.get(encryption::RECORD).is_none() {
        let session = document.session.name.to_string();
        return Err(Error::RecordLocked { session });
    }
    document.trees = siblings.named();
    Ok(document.clone())
}

/// Writes the tree and the commit of a document. `siblings` are those of its stored form, and what it does not name.
pub fn write_stored(
    writer: &Writer,
    stored: &StoredDocument,
    partial: bool,
    siblings: &Siblings,
    parents: Vec<ObjectId>,
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    let blob = writer.write(Kind::Blob, &stored.bytes)?;
    let tree = write_root(writer, siblings, blob)?;
    let message = message::encode(&stored.public, partial, &stored.digest, writer.subject_template());
    let commit = commit(tree, parents, people, &message);
    let id = write_signed(writer, commit, people, &stored.public)?;
    Ok(WrittenCheckpoint {
        id,
        digest: stored.digest.clone(),
        needs: vec![blob, tree, id],
    })
}

/// Writes the tree of a checkpoint: its document and what is next to it.
pub(in crate::store) fn write_root(
    writer: &Writer,
    siblings: &Siblings,
    document: ObjectId,
) -> Result<ObjectId, Error> {
    let entries = siblings.0.iter().map(|(name, (kind, id))| (*kind, name.clone(), *id));
    let document = (tree::EntryKind::Blob, DOCUMENT.to_owned(), document);
    write_tree(writer, entries.chain([document]))
}

pub(in crate::store) fn write_commit(
    writer: &Writer,
    tree: ObjectId,
    parents: Vec<ObjectId>,
    people: &People,
    message: &str,
) -> Result<ObjectId, Error> {
    writer.write(Kind::Commit, &encoded(&commit(tree, parents, people, message)))
}

/// Writes a commit with the signature that the settings ask for. What is made for a moment and never shared needs none,
/// and no user is asked for a passphrase because of something that happens automatically.
fn write_signed(writer: &Writer, mut commit: Commit, people: &People, document: &Document) -> Result<ObjectId, Error> {
    use CheckpointKind as Of;
    let can_ask = match document.kind {
        Of::Autosave | Of::Safety => return writer.write(Kind::Commit, &encoded(&commit)),
        Of::Commit | Of::Event | Of::Turn | Of::Edit => false,
        _ => os::can_ask_at_terminal(),
    };
    if let Some((header, signature)) = writer.sign(&encoded(&commit), &people.committer, can_ask) {
        commit.extra_headers.push((header.into(), signature.into()));
    }
    writer.write(Kind::Commit, &encoded(&commit))
}

fn commit(tree: ObjectId, parents: Vec<ObjectId>, people: &People, message: &str) -> Commit {
    Commit {
        tree,
        parents: parents.into(),
        author: people.author.clone(),
        committer: people.committer.clone(),
        encoding: None,
        message: message.into(),
        extra_headers: Vec::new(),
    }
}
