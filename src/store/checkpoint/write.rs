//! Writing a checkpoint: its document, what is encrypted of it, its tree and its commit.

use std::sync::Arc;

use gix::objs::{Commit, tree};

use super::{DOCUMENT, Error, Kind, ObjectId, People, Siblings, encoded, encryption, write_tree};
use crate::{
    model::{
        document::{CheckpointKind, Document, EncryptionInfo},
        encryption::{private_part, public_part},
        id::Digest,
        message,
    },
    os,
    store::{encryption::Encryptor, objects::Writer},
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

/// Writes the document, the checkpoint's tree and the commit of a new checkpoint. Sets `document.trees` from the siblings.
pub fn write(
    writer: &Writer,
    document: &mut Document,
    partial: bool,
    siblings: &Siblings,
    parents: Vec<ObjectId>,
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    let before = writer.encrypted().continued_by(document);
    let secrecy = if document.is_locked() || before.is_some_and(|before| before.is_locked) {
        Secrecy::Locked
    } else {
        Secrecy::of(writer.encryptor_for(document)?)
    };
    let stored = form(writer, document, siblings, secrecy)?;
    put(writer, &stored, (partial, true), &stored.siblings, parents, people)
}

/// Writes a checkpoint with another document in the place of the one that it was. It stays as it was, encrypted or not, but
/// for what the settings say now: what is changed of it is written now.
pub fn write_amended(
    writer: &Writer,
    document: &mut Document,
    partial: bool,
    siblings: &Siblings,
    parents: Vec<ObjectId>,
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    let secrecy = match writer.configured_encryptor()? {
        _ if document.is_locked() => Secrecy::Locked,
        None => Secrecy::of(own_encryptor(document)?),
        configured => Secrecy::of(configured),
    };
    let stored = form(writer, document, siblings, secrecy)?;
    put(writer, &stored, (partial, true), &stored.siblings, parents, people)
}

/// Writes a checkpoint after one whose record cannot be read, with what is known without it, encrypted to the recipients of that
/// one. It does not go on the session.
pub fn write_deferred(
    writer: &Writer,
    document: &mut Document,
    partial: bool,
    siblings: &Siblings,
    parents: Vec<ObjectId>,
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    let encryptor = match writer.configured_encryptor()? {
        None => own_encryptor(document)?,
        configured => configured,
    };
    let secrecy = encryptor.map_or(Secrecy::Locked, Secrecy::To);
    let stored = form(writer, document, siblings, secrecy)?;
    put(writer, &stored, (partial, true), &stored.siblings, parents, people)
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

/// How the private part of a document is stored.
enum Secrecy {
    /// In the clear.
    Plain,
    /// Encrypted anew.
    To(Arc<Encryptor>),
    /// As the encrypted file that is next to it already.
    Kept,
    /// It could not be read, so the checkpoint cannot be continued.
    Locked,
}

impl Secrecy {
    fn of(encryptor: Option<Arc<Encryptor>>) -> Self {
        encryptor.map_or(Self::Plain, Self::To)
    }
}

/// Who a checkpoint is encrypted to, by its own document.
fn own_encryptor(document: &Document) -> Result<Option<Arc<Encryptor>>, Error> {
    let info = document.encrypted.as_ref();
    let encryptor = info.map(|info| Encryptor::to(&info.recipients)).transpose()?;
    Ok(encryptor.map(Arc::new))
}

/// The stored form of a document that is written again in the place of the one it was, whatever the settings say: in the
/// clear where that one was, and else encrypted to those who could read it. A private part that did not change stays the same
/// file, so no key is needed. Sets `document.trees`.
pub fn stored_form(
    writer: &Writer,
    was: &Document,
    document: &mut Document,
    siblings: &Siblings,
) -> Result<StoredDocument, Error> {
    document.encrypted.clone_from(&was.encrypted);
    let secrecy = if was.encrypted.is_none() {
        Secrecy::Plain
    } else if siblings.get(encryption::RECORD).is_some() && private_part(document) == private_part(was) {
        Secrecy::Kept
    } else if was.is_locked() {
        Secrecy::Locked
    } else {
        Secrecy::of(own_encryptor(was)?)
    };
    form(writer, document, siblings, secrecy)
}

fn form(
    writer: &Writer,
    document: &mut Document,
    siblings: &Siblings,
    secrecy: Secrecy,
) -> Result<StoredDocument, Error> {
    let mut siblings = siblings.clone();
    match secrecy {
        Secrecy::To(encryptor) => {
            document.encrypted = Some(EncryptionInfo {
                recipients: encryptor.names().to_vec(),
                is_locked: false,
                has_own_key: false,
            });
            let sealed = encryptor.encrypt(&private_part(document))?;
            siblings.blob(encryption::RECORD, writer.write(Kind::Blob, &sealed)?);
        }
        Secrecy::Kept => {}
        Secrecy::Plain => {
            document.encrypted = None;
            siblings.remove(encryption::RECORD);
        }
        // A safety checkpoint is not part of the session, and has what is public of it.
        Secrecy::Locked if document.kind == CheckpointKind::Safety => {
            *document = public_part(document);
            document.encrypted = None;
            siblings.remove(encryption::RECORD);
        }
        Secrecy::Locked => {
            let session = document.session.name.to_string();
            return Err(Error::RecordLocked { session });
        }
    }
    document.trees = siblings.named();
    let public = if document.encrypted.is_some() {
        public_part(document)
    } else {
        document.clone()
    };
    let bytes = public.to_bytes();
    let digest = Digest::of(&bytes);
    writer.encrypted().note(document, &digest);
    Ok(StoredDocument {
        public,
        bytes,
        digest,
        siblings,
    })
}

/// Writes the tree and the commit of a document that is written again. `siblings` are those of its stored form, and what it
/// does not name. Like every commit that is written again it has no signature: who writes it need not be who wrote what it
/// says.
pub fn write_stored(
    writer: &Writer,
    stored: &StoredDocument,
    partial: bool,
    siblings: &Siblings,
    parents: Vec<ObjectId>,
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    put(writer, stored, (partial, false), siblings, parents, people)
}

fn put(
    writer: &Writer,
    stored: &StoredDocument,
    (partial, signs): (bool, bool),
    siblings: &Siblings,
    parents: Vec<ObjectId>,
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    let blob = writer.write(Kind::Blob, &stored.bytes)?;
    let tree = write_root(writer, siblings, blob)?;
    let message = message::encode(&stored.public, partial, &stored.digest, writer.subject_template());
    let commit = commit(tree, parents, people, &message);
    let id = if signs {
        write_signed(writer, commit, people, &stored.public)?
    } else {
        writer.write(Kind::Commit, &encoded(&commit))?
    };
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
