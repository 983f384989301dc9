//! The identities of many sessions, which only their documents have.
//!
//! A document is parsed whole to be used; here it is read for one member, checked against its digest, and where that is
//! not enough (it is encrypted, of another format, or not in a pack) it is loaded after all.

use gix::bstr::ByteSlice as _;
use serde::Deserialize;

use super::{
    Kind, ObjectId, Repository,
    checkpoint::{self, CheckpointCommit, DOCUMENT},
    objects::PackReader,
};
use crate::model::{
    document::{SCHEMA, schema_major},
    id::Digest,
};

/// Fewer are loaded one by one: to look through all packs takes as long.
const MANY: usize = 200;

/// The members of a document that are read; all others are skipped.
#[derive(Deserialize)]
struct DocumentHead {
    schema: String,
    session: SessionHead,
}

#[derive(Deserialize)]
struct SessionHead {
    id: String,
}

/// The sources of the identity of a checkpoint's session.
#[derive(Clone, Debug)]
pub struct IdentitySource {
    commit: ObjectId,
    tree: ObjectId,
    digest: Option<Digest>,
}

impl IdentitySource {
    /// That of a checkpoint.
    pub fn of(entry: &CheckpointCommit) -> Self {
        Self {
            commit: entry.id,
            tree: entry.tree,
            digest: entry.trailers.digest.clone(),
        }
    }
}

/// The identity of the session of each checkpoint; `None` for one that cannot be read.
pub fn session_ids(repo: &Repository, checkpoints: &[IdentitySource]) -> Vec<Option<String>> {
    let mut found = if checkpoints.len() < MANY {
        checkpoints.iter().map(|_| None).collect()
    } else {
        from_packs(repo, checkpoints)
    };
    let missing: Vec<usize> = (0..found.len()).filter(|at| found[*at].is_none()).collect();
    let ids: Vec<ObjectId> = missing.iter().map(|at| checkpoints[*at].commit).collect();
    let loaded = checkpoint::load_each(repo, &ids, |found| found.document.session.id);
    for (at, id) in missing.into_iter().zip(loaded) {
        found[at] = id.ok();
    }
    found
}

fn from_packs(repo: &Repository, checkpoints: &[IdentitySource]) -> Vec<Option<String>> {
    let mut reader = PackReader::new(repo);
    let hash = repo.object_hash();
    let trees: Vec<ObjectId> = checkpoints.iter().map(|entry| entry.tree).collect();
    let documents = reader.each_of(Kind::Tree, &trees, |_, data| document_in(data, hash));
    let documents: Vec<Option<ObjectId>> = documents.into_iter().map(Option::flatten).collect();
    // What has no document is looked for under an id that no object has.
    let null = ObjectId::null(hash);
    let ids: Vec<ObjectId> = documents.iter().map(|id| id.unwrap_or(null)).collect();
    let found = reader.each_blob(&ids, |at, data| session_id(data, checkpoints[at].digest.as_ref()));
    found.into_iter().map(Option::flatten).collect()
}

/// The document in the bytes of a checkpoint's tree.
fn document_in(tree: &[u8], hash: gix::hash::Kind) -> Option<ObjectId> {
    let mut entries = gix::objs::TreeRefIter::from_bytes(tree, hash).filter_map(Result::ok);
    let found = entries.find(|entry| entry.filename == DOCUMENT && entry.mode.is_blob())?;
    Some(found.oid.to_owned())
}

/// The identity in the bytes of a plain document with this digest.
fn session_id(document: &[u8], digest: Option<&Digest>) -> Option<String> {
    // A quote within a text is escaped, so this is the name of a member.
    if document.contains_str("\"encrypted\"") || digest != Some(&Digest::of(document)) {
        return None;
    }
    let head: DocumentHead = serde_json::from_slice(document).ok()?;
    (schema_major(&head.schema) == schema_major(SCHEMA)).then_some(head.session.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_that_of_the_bytes_with_the_digest() {
        let text = |schema: &str, more: &str| {
            format!(r#"{{"schema":"{schema}","session":{{"id":"abc","name":"x","deep":[{{"id":1}}]}}{more}}}"#)
                .into_bytes()
        };
        let read = |bytes: &[u8]| session_id(bytes, Some(&Digest::of(bytes)));
        assert_eq!(read(&text(SCHEMA, "")).as_deref(), Some("abc"));
        assert_eq!(
            read(&text(SCHEMA, r#","record":{"summary":"\"id\""}"#)).as_deref(),
            Some("abc")
        );
        for other in [
            text("git-checkpoint/2", ""),
            text(SCHEMA, r#","encrypted":{}"#),
            text(SCHEMA, r#","session":{"id":"twice"}"#),
            b"{}".to_vec(),
        ] {
            assert_eq!(read(&other), None, "{}", String::from_utf8_lossy(&other));
        }
        let bytes = text(SCHEMA, "");
        assert_eq!(session_id(&bytes, Some(&Digest::of(b"other"))), None);
        assert_eq!(session_id(&bytes, None), None);
    }
}
