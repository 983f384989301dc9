//! The receipt of a checkpoint: the one thing `save`, `pause`, `finish` and `start` print on standard output.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::{ByteSize, CountedNoun},
    restore::RestoreReceipt,
    share::PushReceipt,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    document::Document,
    facts::GitFacts,
    id::{Digest, Oid},
    list::SkippedEntry,
    name::ShortName,
};

/// The receipt of start, save, pause and finish.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.receipt/1")]
pub struct SaveReceipt<'a> {
    /// `repeated`: an earlier save with the same key made it.
    #[schemars(extend("enum" = ["saved", "unchanged", "repeated", "planned", "started", "existing"]))]
    pub outcome: &'static str,
    /// The checkpoint; null in a dry run.
    pub id: Option<&'a Oid>,
    /// The digest of its document; null in a dry run.
    pub digest: Option<&'a Digest>,
    /// The session's name.
    pub session: &'a str,
    /// The session's identity.
    pub session_id: &'a str,
    /// `started`, `continued` (it was paused here) or `meant` (current or named).
    #[schemars(extend("enum" = ["started", "continued", "meant"]))]
    pub session_is: &'static str,
    /// Cause of the checkpoint.
    pub kind: &'static str,
    /// State of the session now.
    pub status: &'static str,
    /// The checkpoint's own name.
    pub name: Option<&'a str>,
    /// The first line of its summary.
    pub summary: &'a str,
    /// The checkpoint before it in the session.
    pub parent: Option<&'a Oid>,
    /// Whether something that should have been captured was not.
    pub partial: bool,
    /// Paths on disk that are not in the checkpoint.
    pub skipped: Vec<SkippedPath>,
    /// The number of paths that are unmerged.
    pub unmerged: usize,
    /// Secrets that were found and, unless disabled, replaced.
    pub redactions: Vec<RedactionRow>,
    /// Content that could not be searched for secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsearched: Vec<UnsearchedRow<'a>>,
    /// Draft operations that are now saved.
    pub folded: usize,
    /// Bytes of new objects on disk.
    pub new_bytes: u64,
    /// Counts of the record's items.
    pub record: ItemCounts,
    /// Whether the receipt of another part follows, which ends the text.
    #[serde(skip)]
    pub is_followed: bool,
    /// Whether texts that are too long for a line are cut: a pipe gets them whole.
    #[serde(skip)]
    pub is_cut: bool,
    /// The first next step, for people.
    #[serde(skip)]
    pub next: Option<&'a str>,
    /// The change of the branch since the latest checkpoint of the session, or of the one that was current before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_changed: Option<BranchChange<'a>>,
    /// State of the repository at save time.
    pub git: &'a GitFacts,
    /// The push that followed, with `--push`; null where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[allow(clippy::option_option, reason = "null and no member are two results")]
    pub push: Option<Option<PushReceipt<'a>>>,
    /// The working tree that was cleaned afterwards, with `--clean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<RestoreReceipt<'a>>,
}

/// A change of the branch since the session that was current last was saved.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct BranchChange<'a> {
    /// The branch of that session; null for a detached HEAD.
    pub from: Option<&'a str>,
    /// The branch that is checked out; null for a detached HEAD.
    pub to: Option<&'a str>,
    /// The session of the former branch: it stays there, or is the one that was saved and came along.
    pub session: &'a str,
    /// Whether no session was current on this branch before, for people: then another one may be meant.
    #[serde(skip)]
    pub is_new: bool,
}

/// A path that is not in the checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkippedPath {
    /// C-quoted where it must be.
    pub path: String,
    /// The reason, as in `lists/skipped`.
    pub reason: &'static str,
    /// The bytes of the file when it was first left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl From<&SkippedEntry> for SkippedPath {
    fn from(skipped: &SkippedEntry) -> Self {
        Self {
            path: skipped.path.quoted(),
            reason: skipped.reason.word(),
            size: skipped.size,
        }
    }
}

/// Paths that are left out of checkpoints: `2 paths (dump.sql: too large, .env: a secret)`; `None` if
/// nothing is.
pub fn left_out(skipped: &[SkippedEntry]) -> Option<String> {
    const NAMED: usize = 3;
    if skipped.is_empty() {
        return None;
    }
    let named = skipped.iter().take(NAMED);
    let named = named.map(|skipped| format!("{}: {}", skipped.path.quoted(), skipped.reason));
    let mut named: Vec<_> = named.collect();
    if skipped.len() > NAMED {
        named.push(format!("{} more", skipped.len() - NAMED));
    }
    Some(format!(
        "{} ({})",
        CountedNoun::new(skipped.len(), "path"),
        named.join(", ")
    ))
}

/// A secret that was found on the way in; never the secret itself.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RedactionRow {
    /// The kind of secret.
    pub kind: String,
    /// Location.
    pub place: String,
    /// Whether it was replaced by a marker.
    pub replaced: bool,
}

/// Content that could not be searched for secrets.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnsearchedRow<'a> {
    /// Location.
    pub place: &'a str,
    /// Its form, such as `xz` or `an encrypted zip archive`.
    pub form: &'static str,
}

impl UnsearchedRow<'_> {
    /// One warning for all of them; `None` when there are none.
    pub fn warning(rows: &[Self]) -> Option<String> {
        if rows.is_empty() {
            return None;
        }
        let lines: Vec<String> = rows
            .iter()
            .map(|row| format!("\n  {}: {}", row.place, row.form))
            .collect();
        Some(format!(
            "could not be searched for secrets and was stored unchanged:{}",
            lines.concat()
        ))
    }
}

/// How many items a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemCounts {
    /// Accomplishments and tasks that are done.
    pub done: usize,
    /// Next steps, open todos and tasks that are not done.
    pub pending: usize,
    /// Of these the next steps, for people.
    #[serde(skip)]
    next_steps: usize,
    /// The todos.
    #[serde(skip)]
    todos: usize,
    /// The tasks.
    #[serde(skip)]
    tasks: usize,
    /// Decisions.
    pub decisions: usize,
    /// Blockers.
    pub blockers: usize,
    /// Approvals without an answer.
    pub approvals: usize,
    /// Questions without an answer.
    #[serde(skip)]
    questions: usize,
    /// Fork points that are not decided.
    #[serde(skip)]
    fork_points: usize,
}

impl ItemCounts {
    /// Counts the items of a document's record.
    pub fn of(document: &Document) -> Self {
        use crate::model::record::TaskStatus;
        let record = &document.record;
        let done = record.tasks.iter().filter(|t| t.status == TaskStatus::Done).count();
        let open = |s: TaskStatus| !matches!(s, TaskStatus::Done | TaskStatus::Dropped);
        let next_steps = record.next_steps.len();
        let todos = record.todos.iter().filter(|t| !t.done).count();
        let tasks = record.tasks.iter().filter(|t| open(t.status)).count();
        Self {
            done: record.accomplishments.len() + done,
            pending: next_steps + todos + tasks,
            next_steps,
            todos,
            tasks,
            decisions: record.decisions.len(),
            blockers: record.blockers.len(),
            approvals: record.approvals.iter().filter(|a| a.answer.is_none()).count(),
            questions: record.questions.iter().filter(|q| q.answer.is_none()).count(),
            fork_points: record.fork_points.iter().filter(|f| f.chosen.is_none()).count(),
        }
    }

    /// The next step, with how many there are; of a session that has ended, all that it leaves open.
    fn what_is_next(self, next: Option<&str>, has_ended: bool) -> String {
        let open = [
            (self.next_steps, "next step"),
            (self.tasks, "task"),
            (self.todos, "todo"),
            (self.blockers, "blocker"),
            (self.approvals, "approval"),
            (self.questions, "question"),
            (self.fork_points, "fork point"),
        ];
        let is_next_alone = open.iter().map(|(n, _)| n).sum::<usize>() == 1;
        match next {
            Some(next) if has_ended && is_next_alone => format!("still open: {next}"),
            _ if has_ended && open.iter().any(|(n, _)| *n > 0) => format!("still open: {}", counted(&open)),
            Some(next) if self.next_steps > 1 => format!("next, 1 of {}: {next}", self.next_steps),
            Some(next) => format!("next: {next}"),
            None => self.words(),
        }
    }

    /// `5 done, 3 next steps, 1 blocker`; what there is none of is left out. But for `done`, only what is open counts.
    pub fn words(self) -> String {
        let done = (self.done > 0).then(|| format!("{} done", self.done));
        let others = counted(&[
            (self.next_steps, "next step"),
            (self.tasks, "task"),
            (self.todos, "todo"),
            (self.decisions, "decision"),
            (self.blockers, "blocker"),
            (self.approvals, "approval"),
            (self.questions, "question"),
        ]);
        let parts = done.into_iter().chain(Some(others).filter(|others| !others.is_empty()));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// `3 next steps, 1 blocker`; what there is none of is left out.
fn counted(all: &[(usize, &str)]) -> String {
    let there = all.iter().filter(|(n, _)| *n > 0);
    there
        .map(|(n, word)| CountedNoun::new(*n, word).to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Git state: `main @ 4c1d9e2, 3 modified, 1 untracked`.
pub fn code(git: &GitFacts) -> TextLine {
    let mut line = commit(git);
    let counts = git.changes();
    if counts.is_empty() && !git.has_status() {
        return line.with(Slot::Plain, ", files not saved");
    }
    line.push(
        Slot::Plain,
        format!(", {}", if counts.is_empty() { "clean".to_owned() } else { counts }),
    );
    line
}

/// The branch, the commit and the operation in progress.
pub fn commit(git: &GitFacts) -> TextLine {
    let mut line = TextLine::new();
    match &git.branch {
        Some(branch) => line.push(Slot::Branch, branch),
        None if !git.reports("branch") => line.push(Slot::Plain, "branch not reported"),
        None => line.push(Slot::Plain, "detached HEAD"),
    }
    match &git.head {
        Some(head) => {
            line.push(Slot::Plain, " @ ");
            line.push(Slot::Id, head.short());
        }
        None if !git.reports("head") => line.push(Slot::Plain, ", the source names no commit"),
        None => line.push(Slot::Plain, ", no commit yet"),
    }
    if let Some(operation) = &git.operation {
        line.push(Slot::Plain, format!(", {}", operation.describe()));
    }
    line
}

/// The most columns of a line of a receipt.
const COLUMNS: usize = 80;

/// As many of the phrases between commas as fit, the first one always; dots where some are missing.
fn fitting(line: TextLine, room: usize) -> TextLine {
    /// A sign that something is missing.
    const MORE: &str = ", ..";
    if line.width() <= room {
        return line;
    }
    let text = line.to_string();
    let mut kept = text.as_str();
    while TextLine::plain(kept).width() + MORE.len() > room {
        let Some((before, _)) = kept.rsplit_once(", ") else {
            break;
        };
        kept = before;
    }
    TextLine::plain(format!("{kept}{MORE}"))
}

impl View for SaveReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.outcome == "planned" && !self.is_followed
    }

    // Two lines: the outcome with the summary, then where it was saved and what comes next, which has a line of its own
    // where both are too long for one; then what to know where the branch changed.
    fn text(&self) -> Text {
        let mut text = Text::new();
        let (word, slot) = match self.outcome {
            "saved" => ("Saved", Slot::Good),
            "planned" if self.kind == "start" => {
                let line = TextLine::plain("Would start session ").with(Slot::Session, self.session);
                return line.into();
            }
            "planned" => ("Would save", Slot::Plain),
            "started" => ("Started", Slot::Good),
            "existing" => ("Session", Slot::Plain),
            "repeated" => ("Saved before", Slot::Plain),
            _ => ("Nothing new since", Slot::Plain),
        };
        let mut first = TextLine::new().with(slot, word);
        let is_new = self.outcome == "started";
        if is_new {
            first.push(Slot::Plain, " session ");
            first.push(Slot::Session, self.session);
            first.push(Slot::Plain, " at");
        }
        if let Some(id) = self.id {
            first.push(Slot::Plain, " ");
            first.push(Slot::Id, id.short());
        }
        if !self.summary.is_empty() {
            first.push(Slot::Plain, "  ");
            first.push(Slot::Plain, self.summary);
        }
        let cut = |line: TextLine| if self.is_cut { line.cut(COLUMNS) } else { line };
        text.push(cut(first));
        let mut second = TextLine::plain("  ");
        second.append(&self.session_line());
        let is_start =
            matches!(self.outcome, "started" | "existing" | "unchanged" | "repeated") || self.kind == "start";
        let mut record = String::new();
        if !is_start {
            let has_ended = matches!(self.status, "completed" | "failed");
            record = self.record.what_is_next(self.next, has_ended);
            second.push(Slot::Plain, "; ");
            let room = COLUMNS.saturating_sub(second.width());
            second.append(&fitting(code(self.git), if self.is_cut { room } else { usize::MAX }));
        }
        let joined = format!("; {record}");
        if is_new {
            // The first line has it.
        } else if record.is_empty() || second.width() + TextLine::plain(&joined).width() > COLUMNS {
            text.push(cut(second));
            if !record.is_empty() {
                text.push(cut(TextLine::plain(format!("  {record}"))));
            }
        } else {
            second.push(Slot::Plain, joined);
            text.push(second);
        }
        if let Some(change) = self.branch_changed {
            let branch = |branch: Option<&str>| branch.unwrap_or("a detached HEAD").to_owned();
            let mut line = TextLine::plain("  branch changed from ").with(Slot::Branch, branch(change.from));
            line.push(Slot::Plain, " to ");
            line.push(Slot::Branch, branch(change.to));
            text.push(line);
            if change.is_new && change.session == self.session {
                text.push(TextLine::plain(format!("  session {} continues here", self.session)));
                let start = "  to start a new session here: git checkpoint start";
                text.push(TextLine::plain(start));
                let named_after = |branch: Option<&str>| branch.map(ShortName::like);
                // Its name says that it is about the other branch.
                if let (Some(from), Some(to)) = (named_after(change.from), named_after(change.to))
                    && from.as_str() == self.session
                    && from != to
                {
                    let rename = format!("  to name it after this branch: git checkpoint rename {from} {to}");
                    text.push(TextLine::plain(rename));
                }
            } else if change.is_new {
                text.push(TextLine::plain(format!(
                    "  to continue the previous session here: git checkpoint switch {}",
                    change.session
                )));
            }
        }
        text
    }
}

impl SaveReceipt<'_> {
    /// Where it is stored and how much that took, for `--verbose`.
    pub fn stored(&self) -> Option<TextLine> {
        let stored = format!("Stored in refs/checkpoints/{}", self.session);
        let size = format!(", {} of new objects", ByteSize(self.new_bytes));
        (self.new_bytes > 0).then(|| TextLine::plain(stored).with(Slot::Dim, size))
    }

    fn session_line(&self) -> TextLine {
        let mut line = TextLine::new().with(Slot::Session, self.session);
        match (self.status, self.session_is) {
            ("paused", "continued") => line.push(Slot::Plain, ", paused again"),
            ("active", _) => {}
            (status, _) => line.push(Slot::Plain, format!(", {status}")),
        }
        match (self.status, self.session_is) {
            (_, "started") => line.push(Slot::Plain, ", new"),
            ("active", "continued") => line.push(Slot::Plain, ", resumed (it was paused here)"),
            _ => {}
        }
        if let Some(name) = self.name {
            line.push(Slot::Plain, format!(", checkpoint '{name}'"));
        }
        line
    }
}
