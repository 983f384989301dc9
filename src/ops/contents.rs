//! Everything that belongs to a checkpoint, read for showing: the document, and the steps, notes, messages and texts
//! that is next to it.

use super::{Error, Scene, chat, notes, put_aside, step, unmerged_files};
use crate::{
    model::{
        chat::Compaction,
        document::CheckpointKind,
        name::ShortName,
        operation::LogLine,
        outline::Contents,
        selector::{Base, Selector},
    },
    store::{
        checkpoint::{self, Checkpoint},
        session,
    },
};

/// How many of the last messages are read.
const MESSAGES: u64 = 6;
/// How many of the latest notes are read.
const NOTES: usize = 5;

/// Reads what is next to a checkpoint's document; with the latest checkpoint of a session also what waits in its draft.
/// A part that cannot be read is left out, and the reason is returned.
pub fn read(
    scene: &Scene<'_>,
    checkpoint: &Checkpoint,
    session: Option<&ShortName>,
    is_tip: bool,
) -> (Contents, Vec<String>) {
    let mut out = Contents::new(checkpoint.document.clone());
    out.put_aside = put_aside::listed(scene, checkpoint, session.filter(|_| is_tip).map(ShortName::as_str));
    if let Some(name) = session {
        out.unmerged_files = unmerged_files::listed(scene, checkpoint, name);
    }
    let mut trouble = Vec::new();
    let word = match session {
        Some(name) if is_tip => name.to_string(),
        _ => checkpoint.entry.id.to_string(),
    };
    let selector = Selector {
        base: Base::Word(word),
        steps: Vec::new(),
    };
    // Of a record without its key it is reported once that it cannot be read.
    let is_locked = checkpoint.document.is_locked();
    let mut failed = |what: &str, error: &Error| {
        if !is_locked {
            trouble.push(format!("the {what} cannot be read: {error}"));
        }
    };
    match step::steps(scene, Some(&selector)) {
        Ok(found) => out.steps = found.steps,
        Err(error) => failed("steps", &error),
    }
    if let Some(name) = session {
        let found = if is_tip {
            let all = notes::notes(scene, Some(&selector), None, None);
            all.map(|found| found.lines.into_iter().map(|(line, _)| line).collect())
        } else {
            notes::saved(scene, name, checkpoint).map(|(lines, _)| lines.into_iter().rev().collect())
        };
        match found {
            Ok(lines) => set_notes(&mut out, lines),
            Err(error) => failed("session log", &error),
        }
        if checkpoint.document.compaction.is_some() {
            out.compactions = compactions(scene, checkpoint);
        }
        if let Err(error) = messages(scene, checkpoint, name, is_tip, &mut out) {
            failed("chat", &error);
        }
    }
    (out, trouble)
}

/// Replaces the notes by those that a checkpoint has, without the ones that wait in the draft.
pub fn keep_saved_notes(
    scene: &Scene<'_>,
    session: &ShortName,
    checkpoint: &Checkpoint,
    out: &mut Contents,
) -> Result<(), Error> {
    let (lines, _) = notes::saved(scene, session, checkpoint)?;
    set_notes(out, lines.into_iter().rev().collect());
    Ok(())
}

/// Keeps the first of the lines, which are the latest.
fn set_notes(out: &mut Contents, mut lines: Vec<LogLine>) {
    out.notes_total = lines.len() as u64;
    lines.truncate(NOTES);
    out.notes = lines;
}

/// The compactions up to a checkpoint, latest first. What cannot be read is for `verify` to report.
fn compactions(scene: &Scene<'_>, at: &Checkpoint) -> Vec<Compaction> {
    /// How many are looked for.
    const MOST: usize = 20;
    let chain = session::chain(scene.repo, at.entry.id).filter_map(Result::ok);
    let made = chain
        .filter(|entry| entry.trailers.kind == Some(CheckpointKind::Compact))
        .take(MOST);
    let read = made.filter_map(|entry| checkpoint::load(scene.repo, entry.id).ok());
    read.filter_map(|found| chat::compaction(&found.document)).collect()
}

/// Content of the session of a chat, with its draft, except the messages and texts of the chat itself.
pub fn of_chat(scene: &Scene<'_>, chat: &chat::SessionChat<'_>) -> Contents {
    let mut document = chat.document.clone();
    // These two do not carry over to the next checkpoint; those of the latest one are part of what was saved.
    let (error, attachments) = (
        document.record.error.take(),
        std::mem::take(&mut document.record.attachments),
    );
    document.record = chat.record.clone();
    document.record.error = document.record.error.or(error);
    if document.record.attachments.is_empty() {
        document.record.attachments = attachments;
    }
    document.session.name = chat.session.clone();
    let mut out = Contents::new(document);
    let selector = Selector {
        base: Base::Word(chat.session.to_string()),
        steps: Vec::new(),
    };
    // What cannot be read is reported by the commands that deal with it.
    if let Ok(Some(tip)) = session::tip(scene.repo, &chat.session)
        && let Ok(tip) = checkpoint::load(scene.repo, tip)
    {
        out.put_aside = put_aside::listed(scene, &tip, Some(chat.session.as_str()));
        out.unmerged_files = unmerged_files::listed(scene, &tip, &chat.session);
    }
    if let Ok(found) = step::steps(scene, Some(&selector)) {
        out.steps = found.steps;
    }
    if let Ok(found) = notes::notes(scene, Some(&selector), None, None) {
        set_notes(&mut out, found.lines.into_iter().map(|(line, _)| line).collect());
    }
    out
}

fn messages(
    scene: &Scene<'_>,
    checkpoint: &Checkpoint,
    name: &ShortName,
    is_tip: bool,
    out: &mut Contents,
) -> Result<(), Error> {
    let chat = chat::SessionChat::read(scene, name.clone(), checkpoint.document.clone(), is_tip)?;
    out.messages_total = chat.len();
    let first = chat.len().saturating_sub(MESSAGES).max(chat.live());
    chat.each(first, |_, message| {
        out.messages.push(message);
        Ok(())
    })?;
    out.context = chat.text(scene, chat::CONTEXT)?;
    out.agent = chat.text(scene, chat::AGENT)?;
    Ok(())
}
