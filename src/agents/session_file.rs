//! Session files written back: the copy that a checkpoint has, made into a file that the agent itself resumes, in another
//! directory or under another id.
//!
//! Paths below the old root lead below the new one, wherever they are in the file; everything else stays as it is.
//! Records with a signature are not changed at all, since the provider would reject them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Layout, SessionFacts};
use crate::model::{chat::hex, splice::splice, time::Timestamp};

/// A session file as it was saved, and where it is to be resumed.
pub struct SessionCopy<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// How it is laid out.
    pub layout: Layout,
    /// Facts that it gives of the session.
    pub facts: &'a SessionFacts,
    /// The root of the working tree in which it was saved.
    pub from: &'a str,
    /// The root of the working tree in which it is to be resumed.
    pub to: &'a str,
    /// Another id for the session; its own, unless given.
    pub fresh_id: Option<&'a str>,
    /// The time, for members that need one.
    pub now: Timestamp,
    /// Reads a small file below the agent's directory.
    pub read: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
}

/// A file to be written below the agent's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFile {
    /// The id by which the agent resumes it.
    pub id: String,
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Files that the agent needs with it, unless they are there.
    pub also: Vec<(PathBuf, Vec<u8>)>,
}

impl SessionCopy<'_> {
    /// The id of the session that is written.
    pub fn id(&self) -> Result<String, String> {
        let own = self.facts.id.as_deref().filter(|id| is_plain(id));
        self.fresh_id
            .or(own)
            .map(str::to_owned)
            .ok_or_else(|| "it has no session id".to_owned())
    }

    /// The directory in which it is resumed.
    pub fn directory(&self) -> String {
        let old = self.facts.directory.as_deref().unwrap_or(self.from);
        match old.strip_prefix(self.from) {
            Some(below) if below.is_empty() || below.starts_with('/') => format!("{}{below}", self.to),
            _ => self.to.to_owned(),
        }
    }

    /// The root that paths in it begin with.
    fn old_root(&self) -> &str {
        let old = self.facts.directory.as_deref().unwrap_or(self.from);
        let is_below = old
            .strip_prefix(self.from)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_below { self.from } else { old }
    }

    /// The bytes with paths and ids of the new place. `pairs` are further words to be replaced wherever they are.
    pub fn relocated(&self, pairs: &[(String, String)]) -> Result<Vec<u8>, String> {
        let mut pairs = pairs.to_vec();
        if let (Some(old), Some(new)) = (&self.facts.id, self.fresh_id) {
            pairs.push((old.clone(), new.to_owned()));
        }
        pairs.retain(|(old, new)| old != new && old.len() > 7);
        let root = (self.old_root(), self.to);
        if pairs.is_empty() && root.0 == root.1 {
            return Ok(self.bytes.to_vec());
        }
        let text = String::from_utf8_lossy(self.bytes);
        if self.layout == Layout::Document {
            let value = serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())?;
            return Ok(changed(&text, &value, root, &pairs).into_bytes());
        }
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            match serde_json::from_str::<Value>(line) {
                Ok(value) => out.push_str(&changed(line, &value, root, &pairs)),
                Err(_) => out.push_str(line),
            }
        }
        Ok(out.into_bytes())
    }
}

/// Whether an id can be part of a file name.
fn is_plain(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 128
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn changed(text: &str, before: &Value, root: (&str, &str), pairs: &[(String, String)]) -> String {
    let mut after = before.clone();
    change(&mut after, root, pairs);
    if after == *before {
        return text.to_owned();
    }
    let end = if text.ends_with('\n') { "\n" } else { "" };
    splice(text, before, &after).unwrap_or_else(|| format!("{after}{end}"))
}

fn change(value: &mut Value, root: (&str, &str), pairs: &[(String, String)]) {
    match value {
        Value::String(text) => {
            if let Some(moved) = moved(text, root.0, root.1) {
                *text = moved;
            }
            for (old, new) in pairs {
                if text.contains(old.as_str()) {
                    *text = text.replace(old.as_str(), new);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| change(item, root, pairs)),
        Value::Object(members) => {
            let is_signed = members
                .get("signature")
                .and_then(Value::as_str)
                .is_some_and(|signature| !signature.is_empty());
            if is_signed {
                return;
            }
            // Paths are names of members as well, as in lists of changed files.
            let names: Vec<String> = members.keys().filter(|name| name.contains(root.0)).cloned().collect();
            if !names.is_empty() {
                let old = std::mem::take(members);
                for (name, value) in old {
                    let name = moved(&name, root.0, root.1).unwrap_or(name);
                    members.insert(name, value);
                }
            }
            for (name, value) in members.iter_mut() {
                // What only the provider can read is no text.
                if !name.to_ascii_lowercase().contains("encrypted") && name != "thoughtSignature" {
                    change(value, root, pairs);
                }
            }
        }
        _ => {}
    }
}

/// The text with `to` for each whole path `from`; `None` where it has none.
fn moved(text: &str, from: &str, to: &str) -> Option<String> {
    if from.len() < 2 || from == to || !text.contains(from) {
        return None;
    }
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, behind) = (&rest[..at], &rest[at + from.len()..]);
        let mut ahead = behind.chars();
        let next = ahead.next();
        // A full stop ends a sentence, or is part of a name.
        let ends = match next {
            Some('.') => ahead.next().is_none_or(|c| !is_name(c)),
            next => next.is_none_or(|c| !is_name(c)),
        };
        let begins = out.chars().next_back().filter(|_| before.is_empty());
        let begins = before
            .chars()
            .next_back()
            .or(begins)
            .is_none_or(|c| !is_name(c) && c != '/');
        out.push_str(before);
        out.push_str(if ends && begins { to } else { from });
        rest = behind;
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

/// A directory's name for agents that make one of a path: every byte but letters and digits is a hyphen.
pub(super) fn slug(path: &str) -> String {
    path.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// SHA-256 in hexadecimal.
pub(super) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_whole_paths_move() {
        let of = |text: &str| moved(text, "/home/ana/proj", "/srv/p").unwrap_or_else(|| text.to_owned());
        for (text, expected) in [
            ("/home/ana/proj", "/srv/p"),
            ("/home/ana/proj/src", "/srv/p/src"),
            ("in /home/ana/proj. Then", "in /srv/p. Then"),
            ("/home/ana/proj.old", "/home/ana/proj.old"),
            ("/home/ana/project", "/home/ana/project"),
            ("/mnt/home/ana/proj", "/mnt/home/ana/proj"),
            (
                "cd '/home/ana/proj' && ls /home/ana/proj/a",
                "cd '/srv/p' && ls /srv/p/a",
            ),
            ("file:/home/ana/proj:1", "file:/srv/p:1"),
        ] {
            assert_eq!(of(text), expected);
        }
    }

    #[test]
    fn signed_and_encrypted_parts_stay() {
        let line = json!({"cwd": "/old/root", "id": "11111111-2222", "n": 1, "content": [
            {"thinking": "in /old/root", "signature": "AB"},
            {"encrypted_content": "/old/root", "text": "see /old/root/a of 11111111-2222"}]})
        .to_string()
            + "\n";
        let facts = SessionFacts {
            id: Some("11111111-2222".into()),
            directory: Some("/old/root/sub".into()),
            ..SessionFacts::default()
        };
        let copy = SessionCopy {
            bytes: line.as_bytes(),
            layout: Layout::Lines,
            facts: &facts,
            from: "/old/root",
            to: "/new",
            fresh_id: Some("33333333-4444"),
            now: Timestamp::from_unix(0, 0),
            read: &|_| None,
        };
        let out = String::from_utf8(copy.relocated(&[]).expect("JSON")).expect("text");
        let expected = json!({"cwd": "/new", "id": "33333333-4444", "n": 1, "content": [
            {"thinking": "in /old/root", "signature": "AB"},
            {"encrypted_content": "/old/root", "text": "see /new/a of 33333333-4444"}]});
        assert_eq!(out, expected.to_string() + "\n");
        assert_eq!(copy.directory(), "/new/sub");
        assert_eq!(copy.id().as_deref(), Ok("33333333-4444"));
        let own = SessionCopy { fresh_id: None, ..copy };
        assert_eq!(own.id().as_deref(), Ok("11111111-2222"));
    }
}
