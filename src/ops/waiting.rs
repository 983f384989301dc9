//! Notes and messages that wait for a save of a session, moved to another session.

use std::collections::BTreeMap;

use super::{Error, Scene, ids};
use crate::{
    model::operation::Operation,
    store::{self, chat, checkpoint::Checkpoint, draft},
};

/// Copy of a session's notes and messages: later ones stay where they are.
#[derive(Debug, Default)]
pub(super) struct CopiedEntries {
    /// The draft's id, and the numbers of its operations: there and where they were copied to.
    draft: Option<(String, Vec<(u64, u64)>)>,
    /// The id of the draft that they were copied to.
    copy: Option<String>,
    /// The number of the draft's last operation.
    last: Option<u64>,
    /// The id of the file of the messages with the number of the last entry.
    messages: BTreeMap<String, u64>,
}

impl CopiedEntries {
    /// The operations of the draft that a document has included, as those of the copy.
    pub(super) fn renumbered(&self, included: &BTreeMap<String, u64>) -> Option<BTreeMap<String, u64>> {
        let ((draft, numbers), copy) = self.draft.as_ref().zip(self.copy.as_ref())?;
        let up_to = included.get(draft)?;
        let (_, last) = numbers.iter().rfind(|(n, _)| n <= up_to)?;
        Some(BTreeMap::from([(copy.clone(), *last)]))
    }
}

/// Copies what waits in the session of this latest checkpoint to the session with this identity. What a killed call has
/// copied is not copied twice.
pub(super) fn copy(scene: &Scene<'_>, from: &Checkpoint, to: &str) -> Result<CopiedEntries, Error> {
    let (old, folded) = (&from.document.session.id, &from.document.folded);
    let waiting = draft::read(scene.repo, old)?;
    let there = draft::read(scene.repo, to)?;
    let is_there = |operation: &&Operation| there.operations.iter().any(|(_, known)| known.id == operation.id);
    let operations = waiting.after(folded).map(|(_, operation)| operation);
    let operations: Vec<Operation> = operations.filter(|one| !is_there(one)).cloned().collect();
    if !operations.is_empty() {
        let draft_id = ids::item_id()?;
        draft::append(scene.repo, to, &operations, || draft_id, scene.wait)?;
    }
    let there = draft::read(scene.repo, to)?;
    let number = |operation: &Operation| {
        let copy = there.operations.iter().find(|(_, known)| known.id == operation.id);
        copy.map(|(n, _)| *n)
    };
    let numbers = waiting.after(folded);
    let numbers = numbers
        .filter_map(|(n, operation)| Some((*n, number(operation)?)))
        .collect();
    let messages = chat::read(scene.repo, old)?;
    let copied = CopiedEntries {
        last: waiting.last(),
        draft: waiting.id.map(|id| (id, numbers)),
        copy: there.id,
        messages: messages.id.clone().zip(messages.last()).into_iter().collect(),
    };
    let there = chat::read(scene.repo, to)?;
    let is_there = |entry: &chat::PendingMessage| there.entries.iter().any(|(_, known)| known == entry);
    let entries: Vec<_> = messages.after(folded).filter(|entry| !is_there(entry)).collect();
    if !entries.is_empty() {
        let chat_id = ids::item_id()?;
        chat::add(scene.repo, to, &entries, || chat_id, true, scene.wait)?;
    }
    Ok(copied)
}

/// Clears what was copied from the session with this identity.
pub(super) fn clear(scene: &Scene<'_>, id: &str, copied: &CopiedEntries) -> Result<(), store::Error> {
    if let Some(last) = copied.last {
        draft::clear(scene.repo, id, last, scene.wait)?;
    }
    chat::forget(scene.repo, id, &copied.messages, scene.wait)
}

/// Removes what was copied to the session with this identity, as there will be no such session.
pub(super) fn discard(scene: &Scene<'_>, id: &str) {
    // What stays is of no session, and costs a few bytes.
    let _ = draft::remove(scene.repo, id, scene.wait);
    let _ = chat::remove(scene.repo, id, scene.wait);
}
