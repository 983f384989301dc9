//! Merges of chats: two threads, each in its own order, together by time.

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};

use crate::model::{chat::Message, json};

/// A merged chat.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedThread {
    /// Its messages.
    pub messages: Vec<Message>,
    /// How many of the first messages are those that a side's summary represents.
    pub summarized: usize,
    /// Messages that got another id, because the two sides had given one id to two messages.
    pub renamed: usize,
}

/// Merges two chats that come from `base`. A message that a side took out stays out, unless the other side has a later
/// state of it. `first` is the side, 0 for ours and 1 for theirs, whose first messages a summary represents, and how
/// many: these stay the first.
pub fn thread(base: &[Message], ours: &[Message], theirs: &[Message], first: Option<(usize, usize)>) -> MergedThread {
    let known: HashMap<&str, &Message> = base.iter().map(|message| (message.id.as_str(), message)).collect();
    let (theirs, renamed) = distinct(&known, ours, theirs);
    let sides = [ours, &theirs[..]];
    let by_id = sides.map(|side| {
        side.iter()
            .map(|message| (message.id.as_str(), message))
            .collect::<HashMap<&str, &Message>>()
    });
    let merged = |id: &str| -> Option<Message> {
        let base = known.get(id).copied();
        match (by_id[0].get(id).copied(), by_id[1].get(id).copied()) {
            (Some(ours), Some(theirs)) if ours == theirs || Some(theirs) == base => Some(ours.clone()),
            (Some(ours), Some(theirs)) if Some(ours) == base => Some(theirs.clone()),
            (Some(ours), Some(theirs)) => Some(later(ours, theirs).clone()),
            (Some(one), None) | (None, Some(one)) => (base.is_none() || Some(one) != base).then(|| one.clone()),
            (None, None) => None,
        }
    };
    let mut out = Vec::with_capacity(ours.len().max(theirs.len()));
    let mut taken = HashSet::<&str>::new();
    if let Some((side, count)) = first {
        for message in sides[side].iter().take(count) {
            if taken.insert(&message.id) {
                out.extend(merged(&message.id));
            }
        }
    }
    let summarized = out.len();
    let mut at = [0, 0];
    loop {
        for side in 0..2 {
            while sides[side]
                .get(at[side])
                .is_some_and(|message| taken.contains(message.id.as_str()))
            {
                at[side] += 1;
            }
        }
        let heads = [0, 1].map(|side: usize| sides[side].get(at[side]));
        let next = match heads {
            [None, None] => break,
            [Some(one), None] | [None, Some(one)] => one,
            [Some(ours), Some(theirs)] => {
                // One that both have waits until both come to it.
                let waits = [
                    by_id[1].contains_key(ours.id.as_str()),
                    by_id[0].contains_key(theirs.id.as_str()),
                ];
                match waits {
                    [true, false] => theirs,
                    [false, true] => ours,
                    _ if (ours.at, &ours.id) <= (theirs.at, &theirs.id) => ours,
                    _ => theirs,
                }
            }
        };
        taken.insert(&next.id);
        out.extend(merged(&next.id));
    }
    MergedThread {
        messages: out,
        summarized,
        renamed,
    }
}

/// Of two states of one message the one that was said later or says more.
fn later<'a>(one: &'a Message, other: &'a Message) -> &'a Message {
    let key = |message: &Message| {
        let line = json::to_line(message);
        (line.len(), line)
    };
    if key(one) >= key(other) { one } else { other }
}

/// Theirs, in which messages that only share the id with another one of ours have an id of their own.
fn distinct(known: &HashMap<&str, &Message>, ours: &[Message], theirs: &[Message]) -> (Vec<Message>, usize) {
    let mine: HashMap<&str, &Message> = ours.iter().map(|message| (message.id.as_str(), message)).collect();
    let mut renamed = 0;
    let rename = |message: &Message| {
        let other = mine.get(message.id.as_str()).copied();
        let collides = other.is_some_and(|other| {
            !known.contains_key(message.id.as_str()) && (other.role, other.at) != (message.role, message.at)
        });
        let mut message = message.clone();
        if collides {
            let digest = Sha256::digest(json::to_line(&message));
            let letters = b"abcdefghijklmnopqrstuvwxyz234567";
            message.id = digest
                .iter()
                .take(12)
                .map(|byte| char::from(letters[usize::from(byte & 31)]))
                .collect();
            renamed += 1;
        }
        message
    };
    let theirs = theirs.iter().map(rename).collect();
    (theirs, renamed)
}
