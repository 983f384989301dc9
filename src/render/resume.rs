//! `resume`: a session with everything that was saved, and what changed since.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age,
    count::CountedNoun,
    markdown, outline, report,
    restore::RestoreReceipt,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    document::{CheckpointKind, Document},
    id::{Digest, Oid},
    name::ShortName,
    outline::{Contents, Outline, PutAside, Rank},
    report::ChangeReport,
    time::Timestamp,
};

/// A resumed session, and what changed since.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.resume/1")]
pub struct Resume<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The identity of the session, which never changes.
    pub session_id: &'a str,
    /// The checkpoint.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// Whether it is the session's latest.
    pub is_latest: bool,
    /// `active`, `paused`, `completed`, `failed` or `interrupted`.
    pub status_before: &'static str,
    /// Whether the session was interrupted.
    pub interrupted: bool,
    /// The remotes it came from.
    pub fetched_from: &'a [String],
    /// How many operations wait in its draft.
    pub draft_operations: usize,
    /// An autosave that is newer than the checkpoint.
    pub autosave: Option<Autosave>,
    /// The autosave that was recovered.
    pub recovered: Option<Autosave>,
    /// Newer checkpoints that are damaged and were passed over.
    pub lost: Option<LostCheckpoints<'a>>,
    /// The latest written summary, when that of this checkpoint was made from git's facts.
    pub last_message: Option<LastMessage<'a>>,
    /// Change report, a member for each line.
    pub report: &'a ChangeReport,
    /// The latest work that `pause --clean` removed and that is missing; earlier such work is in `contents`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put_aside: Option<&'a PutAside>,
    /// The document.
    pub document: &'a Document,
    /// Counts of entries next to the document.
    pub contents: &'a Contents,
    /// The files that were brought back, with `--apply` or `--restore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<RestoreReceipt<'a>>,
    /// Who saved it.
    #[serde(skip)]
    pub author: &'a str,
    /// Whether it was resumed, and not only looked at.
    #[serde(skip)]
    pub is_resumed: bool,
    /// The time of this output.
    #[serde(skip)]
    pub now: Timestamp,
}

/// A resumed session as a prompt for an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.resume-prompt/1")]
pub struct ResumePromptView<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The identity of the session, which never changes.
    pub session_id: &'a str,
    /// The checkpoint.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// Whether it is the session's latest.
    pub is_latest: bool,
    /// `active`, `paused`, `completed`, `failed` or `interrupted`.
    pub status_before: &'static str,
    /// The remotes it came from: others wrote it.
    pub fetched_from: &'a [String],
    /// How many operations wait in its draft.
    pub draft_operations: usize,
    /// Whether the project is not as the checkpoint left it.
    pub drifted: bool,
    /// Saved changes that are not in the working tree.
    pub missing_changes: usize,
    /// The prompt. Texts that were recorded are marked as such in it.
    pub prompt: String,
}

/// An autosave.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Autosave {
    /// Its commit.
    pub id: Oid,
    /// When it was made.
    pub at: Timestamp,
    /// How many operations of the draft it holds.
    pub draft_operations: usize,
    /// Whether it can be recovered as the next checkpoint: it is based on the latest one, and has its changes.
    pub is_recoverable: bool,
}

/// Checkpoints that were passed over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LostCheckpoints<'a> {
    /// How many.
    pub checkpoints: usize,
    /// The damage of the latest.
    pub damage: &'a str,
}

/// A written summary.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LastMessage<'a> {
    /// The checkpoint that has it.
    pub id: Oid,
    /// When that was made.
    pub created_at: Timestamp,
    /// The summary.
    pub summary: &'a str,
    /// Whether the checkpoint that is resumed has one that none of the user's keys opens.
    #[serde(skip)]
    pub is_own_locked: bool,
}

/// How many rows of a section the Markdown has.
const ROWS: usize = 20;

impl Resume<'_> {
    /// The session, its summary, what changed since, and everything that was saved.
    pub fn text(&self, brief: bool, all: bool, columns: usize) -> Text {
        let mut text = self.head();
        let mut outline = Outline::of(self.contents, self.selector());
        if let Some(said) = &self.last_message {
            text.push(TextLine::new());
            text.append(Text::wrapped(said.summary, 4, columns));
            let own = if said.is_own_locked {
                "this checkpoint's is encrypted"
            } else {
                "this checkpoint has no message"
            };
            let since = format!(
                "(from {} in {}; {own})",
                age::age(said.created_at, self.now),
                said.id.short()
            );
            text.append(Text::wrapped(&since, 4, columns));
        }
        if let Some(summary) = &outline.summary {
            text.push(TextLine::new());
            text.append(Text::wrapped(summary, 4, columns));
        }
        if brief {
            let of = |member: &str| Outline {
                sections: outline.section(member).cloned().into_iter().collect(),
                ..Outline::default()
            };
            text.append(outline::text(&of("session"), columns, true));
            text.append(outline::text(&of("put_aside"), columns, true));
            text.append(outline::text(&of("unmerged_files"), columns, true));
            text.push(TextLine::new());
            text.append(report::text(self.report, self.selector(), columns));
            let outline = of("next_steps");
            text.append(outline::text(&outline, columns, true));
        } else {
            let late = outline.sections.iter().position(|section| section.rank > Rank::Open);
            let late = outline.sections.split_off(late.unwrap_or(outline.sections.len()));
            text.append(outline::text(&outline, columns, all));
            text.push(TextLine::new());
            text.append(report::text(self.report, self.selector(), columns));
            outline.sections = late;
            text.append(outline::text(&outline, columns, all));
        }
        if self.draft_operations > 0 {
            text.push(TextLine::new());
            let changes = CountedNoun::new(self.draft_operations, "change");
            text.push(TextLine::plain(format!(
                "{changes} not saved yet: git checkpoint status"
            )));
        }
        if brief {
            text.push(TextLine::new());
            let rest = format!(
                "Not shown: the rest of the record: git checkpoint resume {}",
                self.session
            );
            for line in Text::wrapped(&rest, 0, columns).lines() {
                text.push(TextLine::new().with(Slot::Dim, line.to_string()));
            }
        }
        text
    }

    /// Omissions of the text, with the commands that show them; for `--verbose`.
    pub fn left_out(&self, columns: usize) -> Text {
        outline::left_out_text(&Outline::of(self.contents, self.selector()), columns)
    }

    /// The checkpoint as commands know it.
    fn selector(&self) -> &str {
        if self.is_latest {
            self.session.as_str()
        } else {
            self.id.short()
        }
    }

    fn head(&self) -> Text {
        let document = self.document;
        let mut text = Text::new();
        let mut first = TextLine::plain("Session ").with(Slot::Session, self.session.as_str());
        first.push(Slot::Plain, ", checkpoint ");
        first.push(Slot::Id, self.id.short());
        if !self.is_latest {
            first.push(Slot::Caution, " (not the latest)");
        }
        text.push(first);
        // The one who imported it may not be the one who did the work.
        let did = if document.kind == CheckpointKind::Import {
            "Imported "
        } else {
            "Saved "
        };
        let at = document.created_at.to_string();
        let mut saved = TextLine::plain(did).with(Slot::Date, age::age(document.created_at, self.now));
        saved.push(
            Slot::Date,
            format!(" ({})", at.get(..16).unwrap_or(&at).replace('T', " ")),
        );
        saved.push(Slot::Plain, " by ");
        saved.push(Slot::Person, self.author);
        if !document.host.is_empty() {
            saved.push(Slot::Plain, format!(" on {}", document.host));
        }
        if let Some(agent) = &document.session.agent {
            saved.push(Slot::Plain, ", agent ");
            saved.push(Slot::Person, agent);
        }
        match self.status_before {
            "interrupted" => saved.push(Slot::Caution, ", interrupted"),
            word @ ("completed" | "failed") if self.is_resumed => {
                saved.push(Slot::Caution, format!(", was {word}: it is active again"));
            }
            word => saved.push(Slot::Plain, format!(", was {word}")),
        }
        if !self.fetched_from.is_empty() {
            saved.push(Slot::Caution, format!(", from remote {}", self.fetched_from.join(", ")));
        }
        saved.folded(80).into_iter().for_each(|line| text.push(line));
        if let Some(words) = self.locked() {
            text.push(TextLine::new().with(Slot::Caution, words));
        }
        text
    }

    /// That there is a record that nothing is shown of.
    fn locked(&self) -> Option<String> {
        let info = self.document.encrypted.as_ref().filter(|info| info.is_locked);
        info.map(|info| format!("Encrypted {}", info.words()))
    }

    /// Headings, the change report as a table, the record as lists.
    pub fn markdown(&self) -> String {
        let document = self.document;
        let outline = Outline::of(self.contents, self.selector());
        let place = match document.host.as_str() {
            "" => String::new(),
            host => format!(" on {}", markdown::line(host)),
        };
        let mut out = format!(
            "# Session {}\n\nCheckpoint {}, saved {} by {}{place}.\n\n",
            self.session,
            self.id.short(),
            age::age(document.created_at, self.now),
            markdown::line(self.author),
        );
        if !self.fetched_from.is_empty() {
            let remotes: Vec<_> = self.fetched_from.iter().map(|remote| markdown::line(remote)).collect();
            out.push_str(&format!(
                "It was written by others and came from remote {}.\n\n",
                remotes.join(", ")
            ));
        }
        if let Some(words) = self.locked() {
            out.push_str(&format!("{words}.\n\n"));
        }
        if self.draft_operations > 0 {
            let changes = CountedNoun::new(self.draft_operations, "change");
            out.push_str(&format!("{changes} not saved yet: `git checkpoint status`\n\n"));
        }
        let said = self.last_message.as_ref().map(|said| said.summary);
        for summary in said.into_iter().chain(outline.summary.as_deref()) {
            out.push_str(&format!("{}\n\n", markdown::block(summary)));
        }
        out.push_str(&report::markdown(self.report, self.selector()));
        out.push_str(&outline::markdown(&outline, 2, ROWS));
        out.push_str(&format!("\n{}\n", outline::left_out_markdown(&outline)));
        out
    }
}
