//! Compaction: a summary takes the place of all but the last messages. Nothing is erased: the messages stay in the
//! chat, in front of a mark.
//!
//! The summary is written without any lock on the session, because a program may take long over it. It is put into a
//! checkpoint only if the session still has the summary and the messages it was made from; messages that came meanwhile
//! stay. A lock, taken without waiting, keeps two processes from compacting one session at once.

mod command;
mod extract;

use serde_json::{Map, Value, json};

use super::{COUNTED, Error, Length, MessageCount, Scene, SessionChat, compaction, is_near, running, tokens};
use crate::{
    model::{
        chat::{ChatSummary, Compaction, Message, Role},
        document::Document,
        json,
        name::ShortName,
        time::Timestamp,
    },
    ops::{
        draft,
        redact::{RedactedSecret, Redactor},
    },
    os::Stopwatch,
    store::{self, lock},
};

/// The variable that a summarizing program has in its environment: what it starts never compacts.
pub const MARK: &str = "CHECKPOINT_COMPACTING";

/// A summary, ready to be put into a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedSummary {
    /// Compaction for the document.
    pub compaction: Compaction,
    /// The last message it represents.
    last: String,
    /// The version of the summary it continues; 0 for none.
    base: u64,
    /// Secrets found in the answer of a program.
    pub redactions: Vec<RedactedSecret>,
    /// Why the summarizing program was replaced by the built-in rules.
    pub replaced: Option<String>,
}

impl PreparedSummary {
    /// Puts the summary into a document, unless its session was compacted or cleared meanwhile. `rest` are the messages
    /// of the chat with their positions, from the last one on that the summary represents. Gives the length of what
    /// stays.
    pub(super) fn put(&self, document: &mut Document, rest: &[(u64, Message)]) -> Option<Length> {
        let version = compaction(document).map_or(0, |compaction| compaction.version);
        let covered = self.compaction.messages;
        let ((at, last), stays) = rest.split_first()?;
        if version != self.base || at + 1 != covered || last.id != self.last {
            return None;
        }
        let bytes = stays.iter().map(|(_, message)| json::to_line(message).len() as u64);
        let count = stays.iter().map(|(_, message)| tokens(message)).sum::<u64>();
        let mut compaction = self.compaction.clone();
        compaction.tokens_after = COUNTED.count(&compaction.summary.markdown()) + count;
        document.compaction = serde_json::to_value(compaction).ok();
        Some(Length {
            messages: stays.len() as u64,
            bytes: bytes.sum(),
            count: Some(count),
            encoding: Some(COUNTED.name().to_owned()),
        })
    }
}

/// Something that happened, for programs that watch: its name and its members.
pub type CompactionEvent = (&'static str, Value);

/// How to compact.
pub struct CompactionRequest<'a> {
    /// Whether to compact a chat that is not too long.
    pub force: bool,
    /// Fixed text of a request, whose tokens count as well.
    pub fixed: &'a str,
    /// Receives progress events.
    pub events: &'a mut dyn FnMut(CompactionEvent),
}

/// Plan of a compaction: messages to summarize and messages to keep.
#[derive(Debug)]
pub struct CompactionPlan {
    /// Messages that the summary will represent, those of an earlier summary included.
    pub covered: u64,
    /// Messages that stay.
    pub kept: u64,
    /// Tokens of the live chat.
    pub tokens: u64,
    /// Of these, those of the messages that stay.
    pub kept_tokens: u64,
    /// The limit; 0 for none.
    pub limit: u64,
}

/// Looks whether the chat is too long, or with `force` whether there is anything to summarise. `None` if not.
pub fn plan(
    scene: &Scene<'_>,
    chat: &SessionChat<'_>,
    force: bool,
    fixed: &str,
) -> Result<Option<CompactionPlan>, Error> {
    let limit = scene.settings.compact_at;
    // Bytes bound tokens, so most chats are not counted at all.
    let bound = Length::of(&chat.document).bytes + fixed.len() as u64;
    let waiting: u64 = chat
        .waiting
        .iter()
        .map(|message| json::to_line(message).len() as u64)
        .sum();
    if !force && !is_near(bound + waiting, limit) {
        return Ok(None);
    }
    let is_saved = chat.waiting.is_empty() && chat.updates.is_empty();
    let known = Length::of(&chat.document).count.filter(|_| is_saved);
    let (total, counts) = if let Some(known) = known {
        (known, None)
    } else {
        let counts = chat.counts(chat.live())?;
        (total(&counts), Some(counts))
    };
    if !force && total + COUNTED.count(fixed) < limit {
        return Ok(None);
    }
    // A short chat is compacted on request: half of it may stay.
    let budget = if limit == 0 {
        total / 2
    } else {
        (limit / 4).min(total / 2)
    };
    let counts = match counts {
        Some(counts) => counts,
        None => latest_counts(chat, budget)?,
    };
    let (mut kept, mut kept_tokens) = (0, 0);
    for (count, _) in counts.iter().rev() {
        if kept_tokens + count > budget {
            break;
        }
        kept += 1;
        kept_tokens += count;
    }
    // What stays begins with a message of the person or agent, not with a tool answering what is summarised.
    while kept > 0 && counts[counts.len() - kept].1 == Role::Tool {
        kept_tokens -= counts[counts.len() - kept].0;
        kept -= 1;
    }
    if kept == counts.len() {
        return Ok(None);
    }
    Ok(Some(CompactionPlan {
        covered: chat.len() - kept as u64,
        kept: kept as u64,
        tokens: total,
        kept_tokens,
        limit,
    }))
}

/// The plan, unless the summary would gain nothing; fails as the compaction itself would. Without a program, that is known
/// before; no program is run for it.
pub fn check_plan(
    scene: &Scene<'_>,
    chat: &SessionChat<'_>,
    plan: CompactionPlan,
) -> Result<Option<CompactionPlan>, Error> {
    if scene.settings.compact_command.is_some() {
        return Ok(Some(plan));
    }
    match summarize(scene, chat, &plan, None) {
        Ok(_) => Ok(Some(plan)),
        Err(Error::SummaryGainsNothing) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The latest messages that are counted first.
const FEWEST: u64 = 512;

fn total(counts: &[MessageCount]) -> u64 {
    counts.iter().map(|(count, _)| count).sum()
}

/// The counts of the latest live messages: of all, or of enough to have more than `budget` tokens.
fn latest_counts(chat: &SessionChat<'_>, budget: u64) -> Result<Vec<MessageCount>, Error> {
    let mut wanted = FEWEST;
    loop {
        let from = chat.live().max(chat.len().saturating_sub(wanted));
        let counts = chat.counts(from)?;
        if from == chat.live() || total(&counts) > budget {
            return Ok(counts);
        }
        wanted *= 8;
    }
}

/// Makes a summary if the chat is too long. `None` if it is not. What fails leaves everything as it was, and is noted in
/// the session's log. `read` is the chat where it was read just before; a long one takes a second to read.
pub fn prepare(
    scene: &Scene<'_>,
    request: &mut CompactionRequest<'_>,
    read: Option<SessionChat<'_>>,
) -> Result<Option<PreparedSummary>, Error> {
    let chosen = running(scene)?;
    let session = chosen.tip.document.session.id.clone();
    // Before anything is read, whether there can be anything to do.
    let waiting = store::chat::waits(scene.repo, &session, &chosen.tip.document.folded)?.unwrap_or(0);
    let bound = Length::of(&chosen.tip.document).bytes + waiting + request.fixed.len() as u64;
    if !request.force && !is_near(bound, scene.settings.compact_at) {
        return Ok(None);
    }
    let _alone = lock::compaction(scene.repo, &session)?;
    // Another compaction may have ended in between.
    let chat = match read {
        Some(chat) if running(scene)?.tip.document == chat.document => chat,
        _ => SessionChat::open(scene)?,
    };
    let Some(plan) = plan(scene, &chat, request.force, request.fixed)? else {
        return Ok(None);
    };
    let whom = json!({ "session": chat.session, "messages": plan.covered, "tokens": plan.tokens });
    (request.events)(("compaction:start", whom));
    let program = scene.settings.compact_command.as_deref();
    let made = match summarize(scene, &chat, &plan, program) {
        // A program that fails must not leave the chat without a summary; one that was interrupted is not wanted any more.
        Err(error @ (Error::Summarizer { .. } | Error::SummaryGainsNothing)) if program.is_some() => {
            note(scene, &chosen.name, &error)?;
            let whom = json!({ "session": chat.session, "error": error.to_string() });
            (request.events)(("compaction:error", whom));
            summarize(scene, &chat, &plan, None).map(|prepared| PreparedSummary {
                replaced: Some(error.to_string()),
                ..prepared
            })
        }
        made => made,
    };
    match made {
        Ok(prepared) => Ok(Some(prepared)),
        Err(error) => {
            let whom = json!({ "session": chat.session, "error": error.to_string() });
            (request.events)(("compaction:error", whom));
            if matches!(error, Error::SummaryGainsNothing) {
                return Ok(None);
            }
            note(scene, &chosen.name, &error)?;
            Err(error)
        }
    }
}

/// The event of a compaction, with its figures.
pub fn complete(session: &str, document: &Document) -> CompactionEvent {
    let compaction = compaction(document);
    let figures = compaction.map(|done| {
        json!({
            "version": done.version, "messages": done.messages, "tokens_before": done.tokens_before,
            "tokens_after": done.tokens_after, "duration_ms": done.duration_ms, "by": done.by,
        })
    });
    (
        "compaction:complete",
        json!({ "session": session, "compaction": figures }),
    )
}

/// Makes the summary: by a program, or by the built-in rules.
fn summarize(
    scene: &Scene<'_>,
    chat: &SessionChat<'_>,
    plan: &CompactionPlan,
    program: Option<&str>,
) -> Result<PreparedSummary, Error> {
    let watch = Stopwatch::start();
    let before = chat.compaction.as_ref();
    let mut edges: Option<(Timestamp, Timestamp)> = before.map(|before| (before.oldest, before.latest));
    let mut last = String::new();
    let mut each = |message: &Message| {
        let (oldest, latest) = edges.unwrap_or((message.at, message.at));
        edges = Some((oldest.min(message.at), latest.max(message.at)));
        last.clone_from(&message.id);
    };
    let live = chat.live();
    let earlier = before.map(|before| &before.summary);
    let limit = if plan.limit == 0 { plan.tokens } else { plan.limit };
    let mut redactor = Redactor::new(scene)?;
    let (summary, by) = if let Some(line) = program {
        let mut prompt = command::SummaryPrompt::new(earlier);
        covered(chat, live, plan.covered, |message| {
            each(&message);
            prompt.add(&message);
        })?;
        let mut value = command::ask(scene, line, &prompt)?;
        redactor.json(&mut value, "summary");
        (command::read(value)?, "command")
    } else {
        let mut extract = extract::Extract::new(earlier);
        covered(chat, live, plan.covered, |message| {
            each(&message);
            extract.add(&message);
        })?;
        (extract.finish(extract::budget(limit)), "extractive")
    };
    let markdown = summary.markdown();
    let summary_tokens = COUNTED.count(&markdown);
    let duration_ms = watch.millis();
    let replaced = plan.tokens - plan.kept_tokens + earlier.map_or(0, |earlier| COUNTED.count(&earlier.markdown()));
    check(&summary, summary_tokens, replaced, limit)?;
    let (oldest, latest) = edges.unwrap_or((scene.now, scene.now));
    let base = before.map_or(0, |before| before.version);
    Ok(PreparedSummary {
        compaction: Compaction {
            version: base + 1,
            summary,
            messages: plan.covered,
            oldest,
            latest,
            at: scene.now,
            tokens_before: plan.tokens,
            tokens_after: summary_tokens + plan.kept_tokens,
            duration_ms,
            count: before.map_or(0, |before| before.count) + 1,
            by: by.to_owned(),
            unknown: Map::new(),
        },
        last,
        base,
        redactions: redactor.found,
        replaced: None,
    })
}

/// Whether a summary is one: it is not empty, and it is shorter than what it replaces.
fn check(summary: &ChatSummary, tokens: u64, replaced: u64, limit: u64) -> Result<(), Error> {
    let fail = |why: String| Err(Error::Summarizer { why });
    if summary.is_empty() {
        return fail("the summary is empty".to_owned());
    }
    let most = (limit / 4).max(1);
    if tokens > most {
        return fail(format!("the summary has {tokens} tokens, more than the {most} allowed"));
    }
    if tokens >= replaced {
        return Err(Error::SummaryGainsNothing);
    }
    Ok(())
}

/// The messages from one position up to another.
fn covered(chat: &SessionChat<'_>, from: u64, to: u64, mut each: impl FnMut(Message)) -> Result<(), Error> {
    chat.each(from, |at, message| {
        if at < to {
            each(message);
        }
        Ok(())
    })
}

/// Notes in the session's log that a compaction failed.
fn note(scene: &Scene<'_>, session: &ShortName, error: &Error) -> Result<(), Error> {
    let log = draft::DraftChange::Log {
        level: "error".to_owned(),
        message: format!("compaction failed: {error}"),
    };
    let scene = &Scene {
        session: Some(session),
        ..*scene
    };
    draft::append(scene, vec![log]).map(drop)
}
