//! The chat of a session: adding messages, reading them with those that wait, and what a save makes of them.
//!
//! Adding only appends. A save folds what waits into the checkpoint; how long the live chat is, it keeps in the
//! document, so that nothing has to be read again to know it.

mod add;
pub mod compact;
mod fold;
pub mod import;
mod length;
pub mod request;

use super::{
    Error, Scene, draft,
    session_choice::{self, SessionChoice},
    suggestions, target_session,
};
use crate::{
    model::{
        chat::{Compaction, Message, Role},
        document::{Document, SessionStatus},
        name::ShortName,
        record::Record,
        transcript::TranscriptInfo,
    },
    store::{
        chat::{self as stored, PendingChat, SavedMessages},
        checkpoint::Fault,
        transcripts::DIRECTORY,
    },
};

pub(super) use add::redact;
pub use add::{MessageReceipt, NewMessage, add, set_text};
pub(super) use fold::{attach, carry};
pub(super) use import::latest_states;
pub(super) use length::standing;
use length::tokens_of_each;
pub use length::{COUNTED, ChatLength, Length, is_near, may_be_long, tokens};

/// The texts next to a document that a chat needs.
pub const TEXTS: [&str; 2] = [CONTEXT, AGENT];
/// File of the project's context.
pub const CONTEXT: &str = "context.md";
/// File of the agent's role.
pub const AGENT: &str = "agent.md";

/// The directories next to a document that a session carries forward, besides the steps.
pub(in crate::ops) const SIBLINGS: [&str; 5] = ["chat", DIRECTORY, CONTEXT, AGENT, "log"];

/// Takes over what a document has of the chat of the one before.
pub(in crate::ops) fn take_over(document: &mut Document, before: &Document) {
    document.chat.clone_from(&before.chat);
    document.transcripts.clone_from(&before.transcripts);
    document.tokens.clone_from(&before.tokens);
    document.compaction.clone_from(&before.compaction);
}

/// Change of the chat by a save, besides folding in pending messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ChatChange {
    /// Nothing.
    #[default]
    Keep,
    /// A summary takes the place of the messages it represents.
    Compact(Box<compact::PreparedSummary>),
    /// No message stays; the summary, the context and the agent description do.
    ClearMessages,
    /// Nothing of it stays.
    ClearAll,
}

/// The summary a document holds.
pub fn compaction(document: &Document) -> Option<Compaction> {
    let value = document.compaction.clone()?;
    crate::model::json::from_value(value).ok()
}

/// Current chat of a session: what is saved, and what waits.
#[derive(Debug)]
pub struct SessionChat<'r> {
    /// The session's name.
    pub session: ShortName,
    /// The document of its latest checkpoint.
    pub document: Document,
    /// Saved messages.
    pub saved: SavedMessages<'r>,
    /// Messages that wait.
    pub waiting: Vec<Message>,
    /// Later states, not saved yet, of messages that are saved, by the id they are saved under.
    pub updates: std::collections::BTreeMap<String, Message>,
    /// Lines of the file of waiting messages that cannot be read.
    pub unreadable: Vec<usize>,
    /// The messages in those of them that are encrypted.
    unread: stored::UnreadMessages,
    /// The summary of the beginning.
    pub compaction: Option<Compaction>,
    /// The record with its draft, and the summary of the latest checkpoint.
    pub record: Record,
    /// Session files of agents that are kept, with what waits.
    pub transcripts: Vec<TranscriptInfo>,
    texts: Vec<(String, String)>,
}

impl<'r> SessionChat<'r> {
    /// The chat of the session that is meant.
    pub fn open(scene: &Scene<'r>) -> Result<Self, Error> {
        Self::of(scene, chat_session(scene)?)
    }

    /// The same for a command that changes nothing: where none is meant, of the session that was finished or paused last.
    pub fn open_to_read(scene: &Scene<'r>) -> Result<Self, Error> {
        Self::of(scene, target_session::to_read(scene)?)
    }

    fn of(scene: &Scene<'r>, chosen: SessionChoice) -> Result<Self, Error> {
        let waiting = stored::read(scene.repo, &chosen.tip.document.session.id)?;
        let mut subject = session_choice::carried(&chosen.tip, &chosen.name);
        session_choice::with_draft(scene, &chosen.tip, &mut subject)?;
        let mut out = Self::new(scene, chosen.name, chosen.tip.document, waiting)?;
        let summary = out.record.summary.take();
        out.record = subject.record;
        out.record.auto_summary = out.record.summary.is_none() && out.document.record.auto_summary;
        out.record.summary = out.record.summary.or(summary);
        Ok(out)
    }

    /// The chat as a checkpoint holds it.
    pub fn at(scene: &Scene<'r>, session: ShortName, document: Document) -> Result<Self, Error> {
        Self::new(scene, session, document, PendingChat::default())
    }

    /// The chat of a checkpoint, with what waits for the next one where that is the latest.
    pub fn read(scene: &Scene<'r>, session: ShortName, document: Document, is_tip: bool) -> Result<Self, Error> {
        let waiting = if is_tip {
            stored::read(scene.repo, &document.session.id)?
        } else {
            PendingChat::default()
        };
        Self::new(scene, session, document, waiting)
    }

    fn new(scene: &Scene<'r>, session: ShortName, document: Document, mut waiting: PendingChat) -> Result<Self, Error> {
        let saved = SavedMessages::of(scene.repo, &document).map_err(Error::damaged(session.as_str()))?;
        let unreadable = std::mem::take(&mut waiting.unreadable);
        let unread = std::mem::take(&mut waiting.unread);
        let pending = stored::pending(waiting, &document.folded);
        let mut transcripts = document.transcripts.clone();
        for part in pending.transcripts.into_iter().filter(|part| part.info.bytes > 0) {
            if part.fits(&transcripts) {
                match part.place(&transcripts) {
                    Some(at) => transcripts[at] = part.info,
                    None => transcripts.push(part.info),
                }
            }
        }
        Ok(Self {
            transcripts,
            compaction: compaction(&document),
            record: document.record.clone(),
            unreadable,
            unread,
            waiting: pending.messages,
            updates: pending.updates,
            session,
            document,
            saved,
            texts: pending.texts,
        })
    }

    /// How many messages there are, those that a summary represents included.
    pub fn len(&self) -> u64 {
        self.saved.messages + self.waiting.len() as u64
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of the first message that no summary represents.
    pub fn live(&self) -> u64 {
        self.compaction.as_ref().map_or(0, |compaction| compaction.messages)
    }

    /// Calls `each` with every message from a position on, counted from 0.
    pub fn each(&self, from: u64, mut each: impl FnMut(u64, Message) -> Result<(), Error>) -> Result<(), Error> {
        self.each_saved(from, &mut each)?;
        for (message, at) in self.waiting.iter().zip(self.saved.messages..) {
            if at >= from {
                each(at, message.clone())?;
            }
        }
        Ok(())
    }

    /// The same for those that are saved.
    fn each_saved(&self, from: u64, mut each: impl FnMut(u64, Message) -> Result<(), Error>) -> Result<(), Error> {
        let damaged = |fault: Fault| Error::damaged(self.session.as_str())(fault);
        self.saved
            .each(from, |at, message| {
                let message = match self.updates.get(&message.id) {
                    Some(later) => message.superseded_by(later.clone()),
                    None => message,
                };
                each(at, message).map_err(ReadStop::Other)
            })
            .map_err(|stop| match stop {
                ReadStop::Fault(fault) => damaged(fault),
                ReadStop::Other(error) => error,
            })
    }

    /// The text of this name, one that waits first; `None` when there is none.
    pub fn text(&self, scene: &Scene<'_>, name: &str) -> Result<Option<String>, Error> {
        let waiting = self.texts.iter().rev().find(|(known, _)| known == name);
        let text = match waiting {
            Some((_, text)) => Some(text.clone()),
            None => {
                stored::read_text(scene.repo, &self.document, name).map_err(Error::damaged(self.session.as_str()))?
            }
        };
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// The counts of all messages from a position on.
    fn counts(&self, from: u64) -> Result<Vec<MessageCount>, Error> {
        let mut counts = Vec::new();
        let mut waiting: Vec<Message> = Vec::new();
        let mut count = |waiting: &mut Vec<Message>| {
            let roles = waiting.iter().map(|message| message.role);
            counts.extend(tokens_of_each(waiting).into_iter().zip(roles));
            waiting.clear();
        };
        self.each_saved(from, |_, message| {
            waiting.push(message);
            if waiting.len() == COUNTED_TOGETHER {
                count(&mut waiting);
            }
            Ok(())
        })?;
        count(&mut waiting);
        let passed = usize::try_from(from.saturating_sub(self.saved.messages)).unwrap_or(usize::MAX);
        let new = self.waiting.get(passed..).unwrap_or_default();
        let roles = new.iter().map(|message| message.role);
        counts.extend(tokens_of_each(new).into_iter().zip(roles));
        Ok(counts)
    }
}

/// The tokens and role of a message.
type MessageCount = (u64, Role);

/// The messages that are counted at a time, so that memory stays bounded.
const COUNTED_TOGETHER: usize = 512;

/// Why reading messages stopped.
enum ReadStop {
    Fault(Fault),
    Other(Error),
}

impl From<Fault> for ReadStop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// So many messages, in words.
pub(super) fn messages_in_words(messages: u64) -> String {
    format!("{messages} message{}", if messages == 1 { "" } else { "s" })
}

/// The session that is meant, or the error with what to do without one.
pub(super) fn chat_session(scene: &Scene<'_>) -> Result<SessionChoice, Error> {
    if let Some(chosen) = session_choice::session_for_command(scene)? {
        return Ok(chosen);
    }
    Err(suggestions::none_current(scene))
}

/// The session that something is added to. Where none is meant it is the one that any draft command would take: the one
/// paused last here, else a new one.
pub(super) fn receiving(scene: &Scene<'_>) -> Result<SessionChoice, Error> {
    match running(scene) {
        Err(Error::NoSession { damaged, .. }) if damaged.is_empty() => {}
        Err(Error::NotFound { .. } | Error::SessionFromEnvNotFound { .. }) if scene.session.is_some() => {}
        found => return found,
    }
    draft::append(scene, Vec::new())?;
    running(scene)
}

/// The same, unless the session has ended.
pub(super) fn running(scene: &Scene<'_>) -> Result<SessionChoice, Error> {
    let chosen = chat_session(scene)?;
    let status = chosen.tip.document.session.status;
    if has_ended(status) {
        return Err(Error::Finished {
            session: chosen.name,
            status,
        });
    }
    Ok(chosen)
}

/// Refuses where the chat of the session is encrypted and cannot be read here, so that nothing of it can be changed.
pub fn require_readable(scene: &Scene<'_>) -> Result<(), Error> {
    chat_session(scene)?.require_readable()
}

fn has_ended(status: SessionStatus) -> bool {
    matches!(status, SessionStatus::Completed | SessionStatus::Failed)
}
