//! Fingerprints of the messages of a chat by id, so that a message that comes again is known without reading the chat.
//!
//! A chunk that takes no further message never changes but by a new state of one of its messages, which makes it another
//! object. So what is found in a chunk is kept by the chunk's id in a private file, and only the last chunk and what is
//! not saved yet are read each time. The file is a cache: whatever is wrong with it, the chat itself is read.

use std::{
    borrow::Cow,
    cell::{Cell, OnceCell},
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    path::PathBuf,
};

use flate2::Crc;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::{Error, Repository, private_dir, sharing};
use super::{SavedMessages, pending::PendingChat};
use crate::{
    model::{
        chat::{KNOWN_AS, Message, hex},
        transcript::TranscriptPart,
    },
    os,
    store::{checkpoint::Fault, lock, paths::own_directory},
};

/// The digest of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct IdKey(u64);

/// Distinguishes one state of a message from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The bytes of its content.
    pub len: u64,
    /// The digest of its role and content.
    pub content: u64,
    /// The digest of the agent's session that it came from; 0 without one.
    pub session: u64,
}

impl Fingerprint {
    /// The fingerprint of a message, whether its pictures are in it or next to it.
    pub fn of(message: &Message) -> Self {
        let content = if message.has_pictures() {
            let mut without = message.clone();
            without.detach();
            encoded(&without.content)
        } else {
            encoded(&message.content)
        };
        Self {
            len: content.len() as u64,
            content: short(&[message.role.word().as_bytes(), &content]),
            session: message
                .meta
                .get("session")
                .and_then(|session| session.as_str())
                .map_or(0, |session| short(&[session.as_bytes()])),
        }
    }

    /// Whether this is the same as what another fingerprint represents.
    pub fn is_same(self, other: Self) -> bool {
        (self.len, self.content) == (other.len, other.content)
    }

    /// Whether this is a later state than another one of the same message. Agents add to a message; of two states the
    /// longer one is the later, so that the order of reading does not matter.
    pub fn is_later(self, other: Self) -> bool {
        (self.len, self.content) > (other.len, other.content)
    }
}

/// The entries of a message: under its id, and under the one by which it was known before. What comes again under that
/// one is an earlier state, so its entry is later than any.
fn entries_of(message: &Message, print: Fingerprint) -> impl Iterator<Item = (IdKey, Fingerprint)> + use<> {
    let before = message.meta.get(KNOWN_AS).and_then(|id| id.as_str());
    let before = before.filter(|id| *id != message.id).map(|id| {
        let latest = Fingerprint {
            len: u64::MAX,
            content: u64::MAX,
            ..print
        };
        (IdKey::of(id), latest)
    });
    [(IdKey::of(&message.id), print)].into_iter().chain(before)
}

impl IdKey {
    fn of(id: &str) -> Self {
        Self(short(&[id.as_bytes()]))
    }
}

/// The text of a content.
fn encoded(content: &Value) -> Vec<u8> {
    // Most messages of agents are shorter. To grow takes longer than to encode.
    let mut out = Vec::with_capacity(8 << 10);
    serde_json::to_writer(&mut out, content).expect("plain values with string keys always serialise");
    out
}

fn short(parts: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    u64::from_le_bytes(digest[..8].try_into().expect("eight bytes"))
}

/// The messages of a chat that are known.
#[derive(Debug, Default)]
pub struct Known {
    /// The entries of the chunks in their order: a later one counts.
    saved: Vec<u8>,
    /// The same as a table. A turn asks for few messages, and the table of a long chat takes milliseconds.
    table: OnceCell<KnownTable>,
    /// How many were looked for without the table.
    looked_for: Cell<usize>,
    /// The notes since then.
    noted: KnownTable,
}

/// Messages that wait in encrypted lines which cannot be read here, as fingerprints: the passphrase of the key is missing,
/// and what an agent's session file gives again is not to be added again.
#[derive(Clone, Debug, Default)]
pub struct UnreadMessages(Vec<(IdKey, Fingerprint)>);

impl UnreadMessages {
    /// The mark of a message.
    pub(super) fn mark(message: &Message) -> String {
        let entries = entries_of(message, Fingerprint::of(message));
        hex(&entries.flat_map(encoded_entry).collect::<Vec<_>>())
    }

    /// Adds the messages of a mark; of another text none.
    pub(super) fn add(&mut self, mark: &str) {
        let digit = |byte: &u8| {
            char::from(*byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let digits: Option<Vec<u8>> = mark.as_bytes().iter().map(digit).collect();
        let digits = digits.unwrap_or_default();
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        self.0.extend(bytes.chunks_exact(ENTRY).map(decoded_entry));
    }
}

type KnownTable = HashMap<IdKey, Fingerprint, BuildHasherDefault<KeyHasher>>;

/// So many messages are looked for one by one, which takes some 20 microseconds each in a chat of 15,000 messages.
const FEW: usize = 32;

/// Hasher of keys that are digests already.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// The first bytes of the cache.
const MAGIC: &[u8; 8] = b"gchatid2";
/// The bytes of an entry.
const ENTRY: usize = 32;

impl Known {
    /// Those of a session: saved, and waiting to be saved. What is encrypted and cannot be read here is known where the cache
    /// or a mark has it; the save that can read it drops what came twice.
    pub fn load<'m>(
        repo: &Repository,
        session: &str,
        saved: &SavedMessages<'_>,
        (waiting, unread): (impl Iterator<Item = &'m Message>, &UnreadMessages),
    ) -> Result<Self, Fault> {
        let path = path(repo, session).ok();
        let bytes = path
            .as_ref()
            .and_then(|path| os::read_regular(path).ok())
            .unwrap_or_default();
        let cached = decode(&bytes).unwrap_or_default();
        let mut out = Self::default();
        out.saved.reserve(bytes.len());
        let mut kept = Vec::new();
        let mut fresh = false;
        let ids = saved.chunk_ids();
        for (at, id) in ids.iter().enumerate() {
            let id = id.to_string();
            let entries = if let Some(entries) = cached.get(id.as_str()) {
                Cow::Borrowed(*entries)
            } else {
                let messages = match saved.messages_of(at) {
                    Err(fault) if fault.is_encrypted() => continue,
                    messages => messages?,
                };
                fresh |= at + 1 < ids.len();
                let of = |message: &Message| entries_of(message, Fingerprint::of(message));
                Cow::Owned(messages.iter().flat_map(of).flat_map(encoded_entry).collect())
            };
            out.saved.extend_from_slice(&entries);
            if at + 1 < ids.len() {
                kept.push((id, entries));
            }
        }
        if fresh && let Some(path) = path {
            // Only saves the next one the reading.
            let _ = os::replace(&path, &encode(&kept), sharing(repo), false);
        }
        out.noted.extend(unread.0.iter().copied());
        for message in waiting {
            out.insert(message, Fingerprint::of(message));
        }
        Ok(out)
    }

    /// Fingerprint under an id.
    pub fn get(&self, id: &str) -> Option<Fingerprint> {
        let key = IdKey::of(id);
        if let Some(print) = self.noted.get(&key) {
            return Some(*print);
        }
        let looked_for = self.looked_for.get();
        if looked_for == FEW {
            let entries = || self.saved.chunks_exact(ENTRY).map(decoded_entry);
            return self.table.get_or_init(|| entries().collect()).get(&key).copied();
        }
        self.looked_for.set(looked_for + 1);
        let is_it = |entry: &[u8]| {
            entry
                .first_chunk()
                .is_some_and(|found| u64::from_le_bytes(*found) == key.0)
        };
        let found = self.saved.rchunks_exact(ENTRY).find(|entry| is_it(entry));
        found.map(|entry| decoded_entry(entry).1)
    }

    /// Notes a message with its fingerprint.
    pub fn insert(&mut self, message: &Message, print: Fingerprint) {
        self.noted.extend(entries_of(message, print));
    }
}

fn path(repo: &Repository, session: &str) -> Result<PathBuf, Error> {
    let name = format!("{}.ids", lock::file_name(session));
    Ok(own_directory(repo, private_dir(repo)?.join("transcripts"))?.join(name))
}

fn encoded_entry((key, print): (IdKey, Fingerprint)) -> [u8; ENTRY] {
    let mut out = [0; ENTRY];
    for (place, number) in out
        .chunks_exact_mut(8)
        .zip([key.0, print.len, print.content, print.session])
    {
        place.copy_from_slice(&number.to_le_bytes());
    }
    out
}

/// The entry of so many bytes.
fn decoded_entry(entry: &[u8]) -> (IdKey, Fingerprint) {
    let number = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
    let print = Fingerprint {
        len: number(8),
        content: number(16),
        session: number(24),
    };
    (IdKey(number(0)), print)
}

fn encode(chunks: &[(String, Cow<'_, [u8]>)]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for (id, entries) in chunks {
        out.extend(u32::try_from(id.len()).unwrap_or(0).to_le_bytes());
        out.extend(id.as_bytes());
        out.extend(u32::try_from(entries.len() / ENTRY).unwrap_or(0).to_le_bytes());
        out.extend_from_slice(entries);
    }
    let sum = checksum(&out);
    out.extend(sum.to_le_bytes());
    out
}

/// The sum by which accidental damage is noticed.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The entries of each chunk.
fn decode(bytes: &[u8]) -> Option<HashMap<&str, &[u8]>> {
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
    if checksum(bytes).to_le_bytes() != *sum {
        return None;
    }
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let mut out = HashMap::new();
    let number = |rest: &mut &[u8]| -> Option<usize> {
        let (number, behind) = rest.split_at_checked(4)?;
        *rest = behind;
        Some(u32::from_le_bytes(number.try_into().ok()?) as usize)
    };
    while !rest.is_empty() {
        let len = number(&mut rest)?;
        let (id, behind) = rest.split_at_checked(len)?;
        rest = behind;
        let count = number(&mut rest)?;
        let (entries, behind) = rest.split_at_checked(count.checked_mul(ENTRY)?)?;
        rest = behind;
        out.insert(std::str::from_utf8(id).ok()?, entries);
    }
    Some(out)
}

/// Forgets the cache of a session that is purged.
pub(super) fn forget_known(repo: &Repository, session: &str) {
    if let Ok(path) = path(repo, session) {
        let _ = std::fs::remove_file(path);
    }
}

/// Makes the messages that wait and the later states of saved ones out of entries.
pub fn pending(waiting: PendingChat, folded: &std::collections::BTreeMap<String, u64>) -> Pending {
    let mut out = Pending::default();
    for entry in waiting.after(folded) {
        match entry {
            super::PendingMessage::Message(message) => out.messages.push(message),
            super::PendingMessage::Update { id, message } => {
                match out.messages.iter_mut().rev().find(|waits| waits.id == id) {
                    Some(waits) => *waits = waits.superseded_by(message),
                    None => {
                        out.updates.insert(id, message);
                    }
                }
            }
            super::PendingMessage::Text { name, text } => out.texts.push((name, text)),
            super::PendingMessage::Transcript(part) => out.transcripts.push(part),
        }
    }
    out
}

impl Pending {
    /// Takes out what came twice: who added it could not read what was there, and so did not know it. `known` are the saved
    /// messages.
    pub fn settle(&mut self, known: &Known) {
        let mut kept: Vec<Message> = Vec::with_capacity(self.messages.len());
        let mut places = HashMap::<String, usize>::new();
        for message in std::mem::take(&mut self.messages) {
            let print = Fingerprint::of(&message);
            let is_of = |other: Fingerprint| other.session == print.session;
            if let Some(at) = places.get(&message.id).copied()
                && is_of(Fingerprint::of(&kept[at]))
            {
                if print.is_later(Fingerprint::of(&kept[at])) {
                    kept[at] = kept[at].superseded_by(message);
                }
            } else if let Some(saved) = known.get(&message.id).filter(|saved| is_of(*saved)) {
                if print.is_later(saved) {
                    self.updates.insert(message.id.clone(), message);
                }
            } else {
                places.insert(message.id.clone(), kept.len());
                kept.push(message);
            }
        }
        self.messages = kept;
    }
}

/// Messages that wait to be saved.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// New messages, in order.
    pub messages: Vec<Message>,
    /// Later states of messages that are saved, by the id they are saved under.
    pub updates: std::collections::BTreeMap<String, Message>,
    /// Texts next to the document.
    pub texts: Vec<(String, String)>,
    /// Lines of agents' session files.
    pub transcripts: Vec<TranscriptPart>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::chat::{Role, tests::message};

    #[test]
    fn the_cache_reads_back_and_damage_is_noticed() {
        let entry = (IdKey(1), Fingerprint::of(&message("a", Role::User, json!("x"))));
        let entries = encoded_entry(entry);
        assert_eq!(decoded_entry(&entries), entry);
        let bytes = encode(&[("ab12".into(), entries[..].into()), ("cd".into(), Cow::default())]);
        let decoded = decode(&bytes).expect("own output");
        assert_eq!(decoded.get("ab12"), Some(&&entries[..]));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(decode(&damaged).is_none(), "byte {at}");
            assert!(decode(&bytes[..at]).is_none(), "cut at {at}");
        }
    }

    #[test]
    fn a_message_is_found_one_by_one_and_in_the_table() {
        let print = |n: usize| Fingerprint::of(&message("a", Role::User, json!("x".repeat(n))));
        let key = |n: usize| IdKey::of(&format!("id {n}"));
        let mut known = Known::default();
        // The last message has two entries, of which the later one counts.
        for (n, len) in [(0, 1), (1, 2), (2, 3), (2, 4)] {
            known.saved.extend(encoded_entry((key(n), print(len))));
        }
        for _ in 0..=FEW {
            assert_eq!(known.get("id 0"), Some(print(1)));
            assert_eq!(known.get("id 2"), Some(print(4)));
            assert_eq!(known.get("id 3"), None);
        }
        assert!(known.table.get().is_some());
        let mut later = message("id 1", Role::User, json!("later"));
        known.insert(&later, Fingerprint::of(&later));
        assert_eq!(known.get("id 1"), Some(Fingerprint::of(&later)));
        later.content = json!("more");
        assert_ne!(known.get("id 1"), Some(Fingerprint::of(&later)));
    }

    #[test]
    fn the_longer_state_is_the_later_one() {
        let print = |text: &str| Fingerprint::of(&message("a", Role::User, json!(text)));
        assert!(print("abc").is_later(print("ab")) && !print("ab").is_later(print("abc")));
        assert!(print("x").is_same(print("x")) && !print("x").is_later(print("x")));
    }
}
