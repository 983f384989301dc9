//! Merges of chats next to documents. Chunks that all three sides share are not read.

use std::collections::BTreeMap;

use super::super::{
    Repository,
    checkpoint::{Fault, Siblings, WriteError},
    objects::Writer,
};
use super::chunks::{Chunks, DIRECTORY, SavedMessages};
use crate::model::{
    chat::Message,
    document::{ChatInfo, Document},
    json, merge,
};

/// Result of a merge of chats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatMerge {
    /// Messages that ours did not have.
    pub added: u64,
    /// The bytes of their lines.
    pub bytes: u64,
    /// Messages that got an id of their own, because both sides had given it to different ones.
    pub renamed: u64,
    /// How many of the first messages a summary represents.
    pub summarized: u64,
}

/// Documents of the three sides and the directories next to them.
pub struct ChatSides<'a> {
    /// The common checkpoint, if there is one.
    pub base: Option<&'a Document>,
    /// The checkpoint that is merged into.
    pub ours: (&'a Document, &'a Siblings),
    /// The checkpoint that is merged in.
    pub theirs: (&'a Document, &'a Siblings),
    /// The side, 0 for ours and 1 for theirs, whose first messages a summary represents, and how many.
    pub summarized: Option<(usize, u64)>,
}

/// Writes the merged chat next to a document and sets its `chat`.
pub fn merge(
    repo: &Repository,
    writer: &Writer,
    sides: &ChatSides<'_>,
    document: &mut Document,
    siblings: &mut Siblings,
) -> Result<ChatMerge, WriteError> {
    let read = || -> Result<_, Fault> {
        let base = match sides.base {
            Some(base) => SavedMessages::of(repo, base)?,
            None => SavedMessages::at(repo, None, 0)?,
        };
        let ours = SavedMessages::of(repo, sides.ours.0)?;
        let theirs = SavedMessages::of(repo, sides.theirs.0)?;
        let mut all = [base, ours, theirs];
        let shared = shared(&all);
        let mut before = 0;
        for at in 0..shared {
            before += all[1].messages_of(at)?.len() as u64;
        }
        let mut rest: [Vec<Message>; 3] = Default::default();
        for (side, messages) in all.iter_mut().zip(&mut rest) {
            for at in shared..side.chunk_count() {
                messages.extend(side.messages_of(at)?);
            }
        }
        Ok((all, shared, before, rest))
    };
    let (all, shared, before, [base, ours, theirs]) = read()?;
    let first = sides.summarized.map(|(side, count)| {
        let count = usize::try_from(count.saturating_sub(before)).unwrap_or(usize::MAX);
        (side, count)
    });
    let merged = merge::thread(&base, &ours, &theirs, first);
    let known: BTreeMap<&str, &Message> = ours.iter().map(|message| (message.id.as_str(), message)).collect();
    let added: Vec<&Message> = merged
        .messages
        .iter()
        .filter(|message| !known.contains_key(message.id.as_str()))
        .collect();
    let out = ChatMerge {
        added: added.len() as u64,
        bytes: added.iter().map(|message| json::to_line(*message).len() as u64).sum(),
        renamed: merged.renamed as u64,
        summarized: before.min(sides.summarized.map_or(0, |(_, count)| count)) + merged.summarized as u64,
    };
    // A chat that is that of a side shares its objects.
    for (messages, (side, held)) in [(&ours, sides.ours), (&theirs, sides.theirs)] {
        if *messages == merged.messages {
            siblings.keep(held, DIRECTORY);
            document.chat = side.chat.clone().map(|chat| ChatInfo { tokens: None, ..chat });
            return Ok(out);
        }
    }
    let mut chunks = Chunks::continued(&all[1], shared, before);
    chunks.take_files(&all[1]);
    chunks.take_files(&all[2]);
    for message in merged.messages {
        chunks.push(writer, &message)?;
    }
    if chunks.is_empty() {
        document.chat = None;
        siblings.remove(DIRECTORY);
    }
    chunks.place(writer, document, siblings)?;
    Ok(out)
}

/// How many chunks at the beginning are the same on all sides.
fn shared(sides: &[SavedMessages<'_>; 3]) -> usize {
    let [base, ours, theirs] = [0, 1, 2].map(|side: usize| sides[side].chunk_ids());
    let same = base.iter().zip(&ours).zip(&theirs);
    // The last chunk of a side may be continued.
    let most = base.len().min(ours.len()).min(theirs.len()).saturating_sub(1);
    same.take_while(|((base, ours), theirs)| base == ours && ours == theirs)
        .count()
        .min(most)
}
