//! The outline of a checkpoint: everything that people and agents wrote in it, section by section, in the order in
//! which a reader who resumes the work needs it.
//!
//! Every output for readers (`resume`, `show`, the hand-off note, a request) is made from an outline. It walks the
//! stored values themselves, with a table of how each member reads; a member that the table does not know is
//! shown under its own name. So an output cannot drop what was saved, unless the outline leaves it out in
//! [`Outline::left_out`].

mod entry;
mod members;
mod steps;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use entry::{Detail, Entry};
pub use members::{MEMBERS, Member, Order};

use super::{
    chat::{Compaction, Message},
    document::Document,
    id::Oid,
    operation::LogLine,
    step::Step,
    time::Timestamp,
};

/// Everything that belongs to a checkpoint, read for showing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Contents {
    /// The document.
    #[serde(skip)]
    pub document: Document,
    /// The record as JSON, with the sessions that explore an option where they are known.
    #[serde(skip)]
    pub record: Value,
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The latest lines of the session log, latest first.
    pub notes: Vec<LogLine>,
    /// How many lines the session log has.
    pub notes_total: u64,
    /// The last messages of the chat, in their order.
    pub messages: Vec<Message>,
    /// How many messages the chat has.
    pub messages_total: u64,
    /// The compactions of the chat, latest first.
    pub compactions: Vec<Compaction>,
    /// The context of the project.
    pub context: Option<String>,
    /// The description of the agent.
    pub agent: Option<String>,
    /// Work that `pause --clean` removed from the working tree and that is not back, latest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_aside: Vec<PutAside>,
    /// Checkpoints whose record was merged and whose files were not, latest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmerged_files: Vec<UnmergedFiles>,
}

/// A checkpoint whose record was merged and whose files were not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmergedFiles {
    /// The checkpoint.
    pub id: Oid,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// Who saved it.
    pub by: String,
    /// Its subject.
    pub subject: String,
    /// How many of the paths that it changed are not saved so.
    pub paths: u64,
    /// The command that merges the files.
    pub command: String,
}

/// Work of one checkpoint that `pause --clean` removed from the working tree and that is not back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PutAside {
    /// The checkpoint that holds it.
    pub id: Oid,
    /// When that was saved.
    pub saved_at: Timestamp,
    /// Its subject.
    pub subject: String,
    /// The branch that it was saved on; absent for a detached HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Counts of its changes: `1 modified, 2 untracked`.
    pub changes: String,
    /// Whether the subject was made of them.
    #[serde(skip)]
    pub is_named_by_changes: bool,
    /// How many of its changes are not in the working tree, where that was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_changes: Option<u64>,
    /// The command that brings it back.
    pub command: String,
}

impl Contents {
    /// Of a document, with nothing else read.
    pub fn new(document: Document) -> Self {
        Self {
            record: serde_json::to_value(&document.record).unwrap_or_default(),
            document,
            steps: Vec::new(),
            notes: Vec::new(),
            notes_total: 0,
            messages: Vec::new(),
            messages_total: 0,
            compactions: Vec::new(),
            context: None,
            agent: None,
            put_aside: Vec::new(),
            unmerged_files: Vec::new(),
        }
    }
}

/// The place of a section in the order of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Where the work is.
    Standing,
    /// Next steps.
    Next,
    /// Open work.
    Open,
    /// Decisions.
    Decided,
    /// The rest.
    Rest,
}

/// One kind of thing, such as the tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The member of the record or document.
    pub member: String,
    /// The heading.
    pub title: String,
    /// Where it is read.
    pub rank: Rank,
    /// Whether the order of the entries is one to follow.
    pub numbered: bool,
    /// Whether the latest entry is the last one, so that a cut drops the first ones.
    pub latest_last: bool,
    /// The entries, open ones and the latest first where the order is not one to follow.
    pub entries: Vec<Entry>,
    /// How many there are, of which the entries may be the latest.
    pub total: u64,
    /// The command that shows all of them.
    pub command: String,
}

/// Something that an output does not show, and the command that does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omission {
    /// The stored members: `record.*.id`, `steps.prompt`.
    pub members: &'static [&'static str],
    /// In words.
    pub words: String,
    /// The command that shows it.
    pub command: String,
}

/// A checkpoint in sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// The summary of the session, written or made from git's facts.
    pub summary: Option<String>,
    /// The sections that have an entry, in the order of reading.
    pub sections: Vec<Section>,
    /// Counts of omitted content.
    pub left_out: Vec<Omission>,
}

/// Characters of a text of a step, a message, the context or the agent description; the rest is counted as cut.
const EXCERPT: usize = 400;

impl Outline {
    /// The outline of a checkpoint that commands know as `selector`. The commands in it name it, for the reader of an
    /// output may have another session.
    pub fn of(contents: &Contents, selector: &str) -> Self {
        let document = &contents.document;
        let mut sections = vec![
            session(document, selector),
            put_aside(&contents.put_aside, selector),
            unmerged_files(&contents.unmerged_files, selector),
        ];
        let empty = Map::new();
        let record = contents.record.as_object().unwrap_or(&empty);
        for (name, value) in record {
            sections.extend(members::section(name, value, record, selector));
        }
        sections.push(steps::section(&contents.steps, selector));
        sections.extend(compaction(contents, selector));
        sections.push(messages(contents, selector));
        sections.push(notes(contents, selector));
        sections.push(text(
            "context",
            "Project context",
            contents.context.as_deref(),
            selector,
        ));
        sections.push(text("agent", "Agent description", contents.agent.as_deref(), selector));
        sections.retain(|section| !section.entries.is_empty());
        // Stable: within a rank the order of the table holds.
        sections.sort_by_key(|section| (section.rank, members::place(&section.member)));
        Self {
            summary: document.record.summary.clone(),
            left_out: left_out(contents, &sections, selector),
            sections,
        }
    }

    /// The section of a member.
    pub fn section(&self, member: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.member == member)
    }

    /// The outline without what an output shows in a form of its own: `(member, its details)`; an entry of which
    /// nothing is left goes, as does a section without entries.
    #[must_use]
    pub fn without(mut self, shown: &[(&str, &[&str])]) -> Self {
        for section in &mut self.sections {
            let Some((_, details)) = shown.iter().find(|(member, _)| *member == section.member) else {
                continue;
            };
            let before = section.entries.len() as u64;
            let is_session = section.member == "session";
            section.entries.retain_mut(|entry| {
                if is_session {
                    return !details.contains(&entry.text.split(':').next().unwrap_or_default());
                }
                // Some show only what is open.
                if details.contains(&"open") && !entry.open {
                    return true;
                }
                entry
                    .details
                    .retain(|detail| !details.contains(&detail.member.as_str()));
                if details.contains(&"parts") {
                    entry.parts.clear();
                }
                !entry.details.is_empty() || !entry.parts.is_empty()
            });
            section.total -= before - section.entries.len() as u64;
        }
        self.sections.retain(|section| !section.entries.is_empty());
        self
    }
}

/// A section outside of the record.
fn section(member: &str, title: &str, rank: Rank, command: &str, entries: Vec<Entry>) -> Section {
    Section {
        member: member.to_owned(),
        title: title.to_owned(),
        rank,
        numbered: false,
        latest_last: false,
        total: entries.len() as u64,
        entries,
        command: format!("git checkpoint {command}"),
    }
}

/// The session: what it is about, for whom, where it came from.
fn session(document: &Document, selector: &str) -> Section {
    /// Members that every output has in its head, or that say nothing to a reader.
    const HEAD: [&str; 4] = ["id", "name", "status", "created_at"];
    let value = serde_json::to_value(&document.session).unwrap_or_default();
    let members = value.as_object().into_iter().flatten();
    let entries = members
        .filter(|(name, _)| !HEAD.contains(&name.as_str()))
        .map(|(name, value)| {
            let label = match name.as_str() {
                "feature_id" => "feature id".to_owned(),
                "task_id" => "task id".to_owned(),
                "task_state" => "task state".to_owned(),
                "forked_from" => "forked from".to_owned(),
                other => other.replace('_', " "),
            };
            if let (Some(claim), "claim") = (&document.session.claim, name.as_str()) {
                return Entry::pair(&label, &format!("{claim}, since {}", claim.at.minute()));
            }
            let mut value = value.clone();
            // Commands take the session; its digest is left out.
            if let (Some(source), "forked_from") = (value.as_object_mut(), name.as_str()) {
                source.shift_remove("digest");
            }
            Entry::pair(&label, &entry::value_text(&value))
        });
    let mut entries: Vec<Entry> = entries.collect();
    let name = document.name.as_ref().map(ToString::to_string);
    for (label, value) in [
        ("checkpoint name", name.as_ref()),
        ("occasion", document.occasion().as_ref()),
    ] {
        entries.extend(value.map(|value| Entry::pair(label, value)));
    }
    let command = format!("show {selector} --json");
    section("session", "Session", Rank::Standing, &command, entries)
}

/// Work that is not in the working tree, each with the command that brings it back.
fn put_aside(work: &[PutAside], selector: &str) -> Section {
    let entries = work.iter().map(|one| {
        let mut entry = Entry::new(&format!("{} {}", one.id.short(), one.subject));
        if !one.is_named_by_changes {
            entry.details.push(Detail::new("changes", "", &one.changes));
        }
        if let Some(branch) = &one.branch {
            entry.details.push(Detail::new("branch", "", &format!("on {branch}")));
        }
        if let Some(missing) = one.missing_changes {
            entry.details.push(Detail::new(
                "missing_changes",
                "",
                &format!("{missing} not in these files"),
            ));
        }
        entry.details.retain(|detail| !detail.value.is_empty());
        entry.parts = vec![Entry::pair("bring it back", &one.command)];
        entry
    });
    let command = format!("show {selector} --all");
    section(
        "put_aside",
        "Put aside by 'pause --clean'",
        Rank::Standing,
        &command,
        entries.collect(),
    )
}

/// Files that a merge of records left out, each with the command that merges them.
fn unmerged_files(checkpoints: &[UnmergedFiles], selector: &str) -> Section {
    let entries = checkpoints.iter().map(|one| {
        let mut entry = Entry::new(&format!("{} {}", one.id.short(), one.subject));
        let paths = if one.paths == 1 { "path" } else { "paths" };
        entry.details = vec![
            Detail::new("by", "", &format!("by {}", one.by)),
            Detail::new("paths", "", &format!("{} {paths}", one.paths)),
        ];
        entry.parts = vec![Entry::pair("merge them", &one.command)];
        entry
    });
    let command = format!("show {selector} --all");
    section(
        "unmerged_files",
        "Files not merged, only the record",
        Rank::Standing,
        &command,
        entries.collect(),
    )
}

/// Summary that represents the beginning of the chat, and the history of compactions, latest first.
fn compaction(contents: &Contents, selector: &str) -> Vec<Section> {
    let all = format!("show {selector} --all");
    let full = all_messages(selector);
    let stored = contents.document.compaction.clone();
    let Some(found) = stored.and_then(|value| crate::model::json::from_value::<Compaction>(value).ok()) else {
        return Vec::new();
    };
    let mut entries = Vec::new();
    if let Some(request) = &found.summary.first_request {
        entries.push(Entry::pair("first request", &cut(request, &full)));
    }
    for (title, list) in found.summary.lists() {
        entries.extend(list.iter().map(|line| Entry::pair(&title.to_lowercase(), line)));
    }
    for (name, value) in found.summary.unknown.iter().chain(&found.unknown) {
        entries.push(Entry::pair(name, &entry::value_text(value)));
    }
    let earlier = contents
        .compactions
        .iter()
        .filter(|earlier| earlier.version != found.version);
    let history = std::iter::once(&found).chain(earlier).map(|one| {
        let how = match one.by.as_str() {
            "extractive" => "lines taken from the messages",
            "command" => "written by checkpoint.compactCommand",
            other => other,
        };
        Entry::pair(
            &format!(
                "compaction {} of {}, at {}",
                one.version,
                found.count.max(one.count),
                one.at.minute()
            ),
            &format!(
                "{} messages from {} to {}, {} tokens before, {} after, in {} ms, {how}",
                one.messages,
                one.oldest.minute(),
                one.latest.minute(),
                one.tokens_before,
                one.tokens_after,
                one.duration_ms
            ),
        )
    });
    let title = format!("Earlier messages, summarized ({})", found.messages);
    let history = history.collect();
    vec![
        section("compaction", &title, Rank::Rest, &all, entries),
        section("compaction", "Compactions", Rank::Rest, &all, history),
    ]
}

/// The command for the whole chat.
fn all_messages(selector: &str) -> String {
    format!("message list {selector} --full")
}

fn messages(contents: &Contents, selector: &str) -> Section {
    let full = all_messages(selector);
    let entries = contents.messages.iter().map(|message| {
        let who = match &message.agent {
            Some(agent) => format!("{} {agent}", message.role.word()),
            None => message.role.word().to_owned(),
        };
        Entry::pair(&who, &cut(message.text().trim(), &full))
    });
    let entries = entries.collect();
    let mut made = section("messages", "Last messages", Rank::Rest, &full, entries);
    made.total = contents.messages_total;
    made.latest_last = true;
    made
}

fn notes(contents: &Contents, selector: &str) -> Section {
    let entries = contents.notes.iter().map(|line| {
        let mut entry = Entry::new(&line.message);
        if line.level != "info" {
            entry.state.clone_from(&line.level);
        }
        entry
            .details
            .extend(line.agent.as_ref().map(|agent| Detail::new("agent", "agent", agent)));
        entry
    });
    let command = format!("log {selector} --notes");
    let mut made = section("log", "Session log", Rank::Rest, &command, entries.collect());
    made.total = contents.notes_total;
    made
}

fn text(member: &str, title: &str, text: Option<&str>, selector: &str) -> Section {
    let command = format!("show {selector} --json");
    let entries = text
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| Entry::new(&cut(text, &command)));
    section(member, title, Rank::Rest, &command, entries.into_iter().collect())
}

/// A text in so many characters; what was cut is counted, with the command that shows it.
fn cut(text: &str, command: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!(
                "{} [cut: {more} more characters: git checkpoint {command}]",
                text[..end].trim_end()
            )
        }
    }
}

/// Content of a checkpoint that the sections omit.
fn left_out(contents: &Contents, sections: &[Section], selector: &str) -> Vec<Omission> {
    let mut out = vec![Omission {
        members: &[
            "record.*.id",
            "record.*.at",
            "record.*.by",
            "record.auto_summary",
            "record.attachments.n",
            "session.id",
            "session.name",
            "session.status",
            "session.created_at",
            "session.forked_from.digest",
            "steps.id",
            "steps.at",
            "steps.by",
            "log.at",
            "put_aside.id",
            "put_aside.saved_at",
            "unmerged_files.id",
            "unmerged_files.saved_at",
        ],
        words: "ids, times and authors of items".to_owned(),
        command: format!("git checkpoint show {selector} --json"),
    }];
    if !contents.steps.is_empty() {
        out.push(Omission {
            members: steps::LEFT_OUT,
            words: "prompts, outputs, checks, files and times of steps".to_owned(),
            command: format!("git checkpoint show {selector} --json"),
        });
    }
    let chat = sections
        .iter()
        .any(|section| ["messages", "compaction"].contains(&section.member.as_str()));
    if chat {
        out.push(Omission {
            members: &["messages.id", "messages.at", "messages.meta"],
            words: "earlier messages in full".to_owned(),
            command: format!("git checkpoint {}", all_messages(selector)),
        });
    }
    out
}
