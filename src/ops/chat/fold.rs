//! Changes that a save makes to the chat: pending messages are folded in, a summary replaces messages, or all is
//! cleared; and their reversal by undo.

use super::{
    super::{Error, Scene, ids, session_choice},
    COUNTED, ChatChange, Length, SessionChat, TEXTS, compaction, is_near, stored, tokens, tokens_of_each,
};
use crate::{
    model::{chat::Compaction, document::Document, id::Oid},
    store::{
        chat::{Known, PendingMessage, SavedMessages},
        checkpoint::{Siblings, object_id},
        objects::Writer,
        transcripts,
    },
};

/// After a session went from one checkpoint to another of its own: messages that only the first one holds wait again,
/// and those that only the second one holds wait no more. So do the texts next to the document.
pub(in crate::ops) fn carry(
    scene: &Scene<'_>,
    from: Option<&Oid>,
    to: Option<&Oid>,
    is_undo: bool,
) -> Result<(), Error> {
    let (Some(from), Some(to)) = (from, to) else {
        return Ok(());
    };
    let load = |id: &Oid| session_choice::load(scene, id.short(), object_id(id)).map(|found| found.document);
    let (from, to) = (load(from)?, load(to)?);
    let messages = |document: &Document| document.chat.as_ref().map_or(0, |chat| chat.messages);
    let session = to.session.id.clone();
    if from.session.id != session {
        return Ok(());
    }
    carry_texts(scene, &from, &to, is_undo)?;
    if messages(&from) == messages(&to) {
        return Ok(());
    }
    let waits_again = messages(&from) > messages(&to);
    let (more, less) = if waits_again {
        (from, messages(&to))
    } else {
        (to, messages(&from))
    };
    let chat = SessionChat::at(scene, more.session.name.clone(), more)?;
    let mut entries = Vec::new();
    chat.each(less, |_, mut message| {
        chat.saved.attach(&mut message);
        entries.push(PendingMessage::Message(message));
        Ok(())
    })?;
    if waits_again {
        // A killed call may have done this already.
        let waiting = stored::read(scene.repo, &session)?;
        entries.retain(|entry| !waiting.entries.iter().any(|(_, waits)| waits == entry));
        if !entries.is_empty() {
            let id = ids::item_id()?;
            stored::add(scene.repo, &session, &entries, || id, true, scene.wait)?;
        }
    } else {
        stored::take_out(scene.repo, &session, &entries, scene.wait)?;
    }
    Ok(())
}

/// The same with the texts next to the document.
fn carry_texts(scene: &Scene<'_>, from: &Document, to: &Document, waits_again: bool) -> Result<(), Error> {
    let session = &to.session.id;
    let (less, more) = if waits_again { (to, from) } else { (from, to) };
    let damaged = || Error::damaged(to.session.name.as_str());
    let mut entries = Vec::new();
    for name in TEXTS {
        let text = |document: &Document| stored::read_text(scene.repo, document, name).map_err(damaged());
        let (before, text) = (text(less)?, text(more)?);
        if before != text {
            let (name, text) = (name.to_owned(), text.unwrap_or_default());
            entries.push(PendingMessage::Text { name, text });
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    if !waits_again {
        return Ok(stored::take_out(scene.repo, session, &entries, scene.wait)?);
    }
    let waiting = stored::read(scene.repo, session)?;
    // One that waits is later.
    let is_there = |entry: &PendingMessage| match entry {
        PendingMessage::Text { name, .. } => waiting
            .entries
            .iter()
            .any(|(_, waits)| matches!(waits, PendingMessage::Text { name: known, .. } if known == name)),
        _ => false,
    };
    entries.retain(|entry| !is_there(entry));
    if !entries.is_empty() {
        let id = ids::item_id()?;
        stored::add(scene.repo, session, &entries, || id, true, scene.wait)?;
    }
    Ok(())
}

/// Folds what waits into a checkpoint that is being composed, and makes the change that is asked for.
///
/// `document` has the chat, tokens and compaction of the checkpoint before, `siblings` its directories.
pub(in crate::ops) fn attach(
    scene: &Scene<'_>,
    writer: &Writer,
    document: &mut Document,
    siblings: &mut Siblings,
    change: &ChatChange,
) -> Result<(), Error> {
    let session = document.session.name.to_string();
    let waiting = stored::read(scene.repo, &document.session.id)?;
    let noted = waiting.id.clone().zip(waiting.last());
    let mut pending = stored::pending(waiting, &document.folded);
    document.folded.extend(noted);
    let previous = siblings.get("chat");
    let mut length = Length::of(document);
    let saved = document.chat.as_ref().map_or(0, |chat| chat.messages);
    let damaged = || Error::damaged(session.as_str());
    if !pending.messages.is_empty() && writer.encrypts(document)? {
        let before = SavedMessages::at(scene.repo, previous, saved).map_err(damaged())?;
        let none = (std::iter::empty(), &stored::UnreadMessages::default());
        let known = Known::load(scene.repo, &document.session.id, &before, none).map_err(damaged())?;
        pending.settle(&known);
    }
    let messages = || pending.messages.iter();
    let writing = || Error::writing(session.as_str());
    let updates = &pending.updates;
    let added = stored::append(
        scene.repo,
        writer,
        previous,
        &pending.messages,
        updates,
        document,
        siblings,
    )
    .map_err(writing())?;
    length.messages += added.messages;
    length.bytes = (length.bytes + added.bytes).saturating_sub(added.replaced);
    transcripts::fold(scene.repo, writer, pending.transcripts.iter(), document, siblings).map_err(writing())?;
    for (name, text) in &pending.texts {
        if text.is_empty() {
            siblings.remove(name);
        } else {
            siblings.blob(name, writer.write_private(text.as_bytes())?);
        }
    }
    let mut is_counted = false;
    match change {
        ChatChange::Keep => {}
        ChatChange::Compact(prepared) => {
            let from = prepared.compaction.messages.saturating_sub(1);
            let before = SavedMessages::at(scene.repo, previous, saved).map_err(damaged())?;
            let mut rest = Vec::new();
            before
                .each(from, |at, message| {
                    let later = updates.get(&message.id).cloned();
                    let message = match later {
                        Some(later) => message.superseded_by(later),
                        None => message,
                    };
                    rest.push((at, message));
                    Ok(())
                })
                .map_err(damaged())?;
            let added = messages().cloned().zip(saved..).map(|(message, at)| (at, message));
            rest.extend(added.filter(|(at, _)| *at >= from));
            if let Some(kept) = prepared.put(document, &rest) {
                length = kept;
                is_counted = true;
            }
        }
        ChatChange::ClearMessages | ChatChange::ClearAll => {
            siblings.remove("chat");
            siblings.remove(transcripts::DIRECTORY);
            document.chat = None;
            document.transcripts.clear();
            length = Length::default();
            is_counted = true;
            let kept = compaction(document).filter(|_| *change == ChatChange::ClearMessages);
            document.compaction = kept.and_then(|kept| {
                let kept = Compaction { messages: 0, ..kept };
                serde_json::to_value(kept).ok()
            });
            if *change == ChatChange::ClearAll {
                for name in TEXTS {
                    siblings.remove(name);
                }
            }
        }
    }
    if !is_counted && (added.messages > 0 || !added.updates.is_empty()) {
        let known = length.count.take();
        if is_near(length.bytes, scene.settings.compact_at) {
            let live = compaction(document).map_or(0, |compaction| compaction.messages);
            // A count represents the messages as they were.
            let changed = added.updates.iter().filter(|changed| changed.at >= live);
            let mut count = changed.fold(known.unwrap_or(0), |count, changed| {
                (count + tokens(&changed.after)).saturating_sub(tokens(&changed.before))
            });
            if known.is_none() {
                count = 0;
                let saved = SavedMessages::at(scene.repo, previous, saved).map_err(damaged())?;
                saved
                    .each(live, |_, message| {
                        count += tokens(updates.get(&message.id).unwrap_or(&message));
                        Ok(())
                    })
                    .map_err(damaged())?;
            }
            let new: Vec<_> = messages().collect();
            length.count = Some(tokens_of_each(&new).into_iter().fold(count, u64::saturating_add));
        }
    }
    if let Some(chat) = &mut document.chat {
        chat.tokens = length.count;
    }
    length.encoding = length.count.map(|_| COUNTED.name().to_owned());
    document.tokens = length.value();
    Ok(())
}
