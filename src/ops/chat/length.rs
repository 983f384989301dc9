//! How long a chat is, known from bytes as long as they say that it is far from the limit, and counted only then.

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    super::{
        Error, Scene,
        session_choice::{self, SessionChoice},
    },
    SessionChat, compaction, stored,
};
use crate::{
    model::{chat::Message, document::Document},
    os::parallel_runs,
    tokens::PublishedEncoding,
};

/// The member `tokens` of a document: how long the live chat is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Length {
    /// Messages that no summary replaces.
    pub messages: u64,
    /// The bytes they are stored in, which bound their tokens.
    pub bytes: u64,
    /// Their tokens, when they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The vocabulary they were counted with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

impl Length {
    /// Length in a document, without a count by another vocabulary; the default where the document has none that can be
    /// parsed.
    pub fn of(document: &Document) -> Self {
        let tokens = document.tokens.clone();
        let mut length: Self = tokens
            .and_then(|value| crate::model::json::from_value(value).ok())
            .unwrap_or_default();
        if length.encoding.as_deref() != Some(COUNTED.name()) {
            length.count = None;
        }
        length
    }

    /// The member of the document; `None` without a message.
    pub(in crate::ops) fn value(&self) -> Option<Value> {
        (self.messages > 0).then(|| serde_json::to_value(self).unwrap_or_default())
    }
}

/// The vocabulary that limits are counted in.
pub const COUNTED: PublishedEncoding = PublishedEncoding::O200k;

/// The tokens of a message in a request.
pub fn tokens(message: &Message) -> u64 {
    COUNTED.count(&message.section())
}

/// The messages that a thread counts at a time.
const RUN: usize = 16;

/// The tokens of each of many messages in a request, counted by two threads.
pub(super) fn tokens_of_each<M: Borrow<Message> + Sync>(messages: &[M]) -> Vec<u64> {
    let count = |(): &mut (), run: &[M]| run.iter().map(|message| tokens(message.borrow())).collect();
    parallel_runs(messages, RUN, || (), count)
}

/// A share of the limit from which on the live chat is counted exactly; below, its bytes bound it well enough.
pub fn is_near(bound: u64, limit: u64) -> bool {
    limit > 0 && bound >= limit / 5 * 4
}

/// How long the chat of a session is, for who wants to know at a glance.
#[derive(Clone, Debug, Default)]
pub struct ChatLength {
    /// Messages in all, those that wait not counted.
    pub messages: u64,
    /// Messages that a summary replaces.
    pub summarized: u64,
    /// Whether messages or texts wait to be saved.
    pub waiting: bool,
    /// Tokens of the messages that no summary replaces.
    pub tokens: u64,
    /// Whether they were counted; otherwise they are a quarter of the bytes.
    pub exact: bool,
    /// The limit at which it is compacted; 0 for none.
    pub limit: u64,
    /// The version of the summary; 0 for none.
    pub version: u64,
    /// How many compactions there were.
    pub compactions: u64,
}

impl ChatLength {
    /// Whether it will be compacted soon.
    pub fn is_near(&self) -> bool {
        is_near(self.tokens, self.limit)
    }
}

/// The most bytes of messages that are counted for a glance, which takes some 10 ms.
const GLANCE: u64 = 128 << 10;

/// Looks how long a chat is. It is counted where it is short, and where its bytes say that it may be near the limit.
pub(in crate::ops) fn standing(scene: &Scene<'_>, chosen: &SessionChoice) -> Result<ChatLength, Error> {
    let document = &chosen.tip.document;
    let limit = scene.settings.compact_at;
    let waiting = stored::waits(scene.repo, &document.session.id, &document.folded)?;
    let saved = Length::of(document);
    let bytes = saved.bytes + waiting.unwrap_or(0);
    let found = compaction(document);
    let mut out = ChatLength {
        messages: document.chat.as_ref().map_or(0, |chat| chat.messages),
        summarized: found.as_ref().map_or(0, |found| found.messages),
        waiting: waiting.is_some(),
        tokens: bytes / 4,
        exact: false,
        limit,
        version: found.as_ref().map_or(0, |found| found.version),
        compactions: found.as_ref().map_or(0, |found| found.count),
    };
    let known = saved.count.filter(|_| waiting.is_none());
    if let Some(count) = known {
        (out.tokens, out.exact) = (count, true);
    } else if bytes <= GLANCE || is_near(bytes, limit) {
        let waiting = stored::read(scene.repo, &document.session.id)?;
        let chat = SessionChat::new(scene, chosen.name.clone(), document.clone(), waiting)?;
        let counts = chat.counts(chat.live())?;
        (out.tokens, out.exact) = (counts.iter().map(|(count, _)| count).sum(), true);
    }
    Ok(out)
}

/// Whether the chat of the session that is meant may be near the limit, from its bytes alone. Without a session: no.
pub fn may_be_long(scene: &Scene<'_>) -> bool {
    let Ok(Some(chosen)) = session_choice::session_for_command(scene) else {
        return false;
    };
    let document = &chosen.tip.document;
    let waiting = stored::waits(scene.repo, &document.session.id, &document.folded);
    let fixed: u64 = TEXT_ROOM;
    is_near(
        Length::of(document).bytes + waiting.ok().flatten().unwrap_or(0) + fixed,
        scene.settings.compact_at,
    )
}

/// Room for what is in a request next to the messages, where it is not looked at: more is found when the chat is.
const TEXT_ROOM: u64 = 16 << 10;
