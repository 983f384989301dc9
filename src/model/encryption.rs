//! The private part of an encrypted checkpoint's document: which members it is made of, and how it is taken out of the
//! document and put back.
//!
//! Public is only what is listed here, so that a member of a later version is private until it is listed.

use serde_json::{Map, Value, json};

use super::{
    document::Document,
    json::{self, to_bytes},
};

/// Members of the document that stay readable: ids, times, state of git, sizes, and what others are named by.
const PUBLIC: &[&str] = &[
    "schema",
    "name",
    "kind",
    "created_at",
    "tool",
    "host",
    "worktree",
    "git",
    "snapshot",
    "trees",
    "encrypted",
    "chat",
    "tokens",
    "previous",
    "merged",
    "restored_from",
    "restored_part",
    "folded",
    "included",
];
/// The same of its member `session`.
const PUBLIC_OF_SESSION: &[&str] = &["id", "name", "status", "created_at", "forked_from"];
/// The same of `session.forked_from`.
const PUBLIC_OF_FORK: &[&str] = &["digest", "session"];

/// The part of a document that anybody may read.
pub fn public_part(document: &Document) -> Document {
    let (public, _) = parts(document);
    json::from_value(public).expect("what is taken out of a document is optional, or put in again empty")
}

/// The part of a document that is encrypted.
pub fn private_part(document: &Document) -> Vec<u8> {
    let (_, private) = parts(document);
    to_bytes(&json!({
        "session": document.session.id,
        "created_at": document.created_at,
        "members": private,
    }))
}

/// The whole document. The error has the reason why these are no parts of one document.
pub fn joined(public: &Document, private: &[u8]) -> Result<Document, String> {
    let mut private = json::parse(private, super::document::SIZE_LIMIT).map_err(|error| error.to_string())?;
    let belongs = private["session"] == json!(public.session.id) && private["created_at"] == json!(public.created_at);
    if !belongs {
        return Err("it is of another checkpoint".to_owned());
    }
    let mut whole = serde_json::to_value(public).expect("a document is plain data");
    put_into(&mut whole, private["members"].take());
    json::from_value(whole).map_err(|error| json::words(&error))
}

/// Public and private members of a document.
fn parts(document: &Document) -> (Value, Value) {
    let Ok(Value::Object(whole)) = serde_json::to_value(document) else {
        unreachable!("a document is an object");
    };
    let (mut public, mut private) = split(whole, PUBLIC);
    if let Some(Value::Object(session)) = private.remove("session") {
        let (mut seen, mut hidden) = split(session, PUBLIC_OF_SESSION);
        if let Some(Value::Object(fork)) = seen.remove("forked_from") {
            let (from, rest) = split(fork, PUBLIC_OF_FORK);
            seen.insert("forked_from".to_owned(), from.into());
            if !rest.is_empty() {
                hidden.insert("forked_from".to_owned(), rest.into());
            }
        }
        public.insert("session".to_owned(), seen.into());
        if !hidden.is_empty() {
            private.insert("session".to_owned(), hidden.into());
        }
    }
    public.insert("record".to_owned(), Map::new().into());
    (public.into(), private.into())
}

fn split(members: Map<String, Value>, public: &[&str]) -> (Map<String, Value>, Map<String, Value>) {
    members
        .into_iter()
        .partition(|(name, _)| public.contains(&name.as_str()))
}

/// Puts members into an object; objects on both sides are joined.
fn put_into(target: &mut Value, members: Value) {
    match (target, members) {
        (Value::Object(target), Value::Object(members)) => {
            for (name, value) in members {
                put_into(target.entry(name).or_insert(Value::Null), value);
            }
        }
        (target, value) => *target = value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::document::tests::sample;

    /// Puts a word into every text of a value that may hold any text.
    fn filled() -> Document {
        let mut document = sample();
        document.trigger = Some("SECRET trigger".into());
        document.subject = Some("SECRET subject".into());
        document.session.title = Some("SECRET title".into());
        document.session.task = Some("SECRET task".into());
        document.session.agent = Some("SECRET agent".into());
        document.session.metadata.insert("SECRET".into(), "SECRET".into());
        document.session.unknown.insert("later".into(), "SECRET".into());
        document.session.forked_from = Some(crate::model::session::ForkSource {
            digest: crate::model::id::Digest::of(b"x"),
            session: document.session.name.clone(),
            option: Some("SECRET".into()),
            fork_point: Some("SECRET".into()),
        });
        document.record.summary = Some("SECRET summary".into());
        document.compaction = Some(json!({ "summary": { "completed": ["SECRET"] } }));
        document.unknown.insert("later".into(), json!({ "SECRET": "SECRET" }));
        document
    }

    fn is_public(document: &Document) -> bool {
        public_part(document).to_bytes() == document.to_bytes()
    }

    #[test]
    fn parts_join_to_the_same_document_and_the_public_one_holds_nothing_private() {
        let document = filled();
        let public = public_part(&document);
        assert!(!String::from_utf8_lossy(&public.to_bytes()).contains("SECRET"));
        assert!(is_public(&public) && !is_public(&document));
        let private = private_part(&document);
        let whole = joined(&public, &private).expect("they belong together");
        assert_eq!(whole, document);
        assert_eq!(whole.to_bytes(), document.to_bytes());
        assert_eq!(public_part(&whole), public);
    }

    #[test]
    fn parts_of_different_checkpoints_do_not_join() {
        let document = filled();
        let mut other = public_part(&document);
        other.session.id = "b".repeat(26);
        assert!(joined(&other, &private_part(&document)).is_err());
        assert!(joined(&public_part(&document), b"{").is_err());
        // What a purge changes in the public part stays changed.
        let mut purged = public_part(&document);
        let digest = crate::model::id::Digest::of(b"now");
        if let Some(from) = &mut purged.session.forked_from {
            from.digest = digest.clone();
        }
        let whole = joined(&purged, &private_part(&document)).expect("they belong together");
        let from = whole.session.forked_from.expect("a fork");
        assert_eq!((from.digest, from.option.as_deref()), (digest, Some("SECRET")));
    }
}
