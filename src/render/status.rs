//! Output of `status`: the current session of a working tree, and what is not saved.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View, age,
    count::{CountedNoun, shown_rows},
    push_queue::AutomaticSharing,
    receipt::{self, SkippedPath},
    share::ShareRelation,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    claim::Claim, comparison::RecordDifference, facts::GitFacts, id::Oid, name::ShortName, outline::PutAside,
    path::RepoPath, spelling::with_article, time::Timestamp, watch::WatcherState,
};

/// How many changes of the record are shown.
const SHOWN: usize = 10;

/// The current session for a shell prompt.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.prompt/1")]
pub struct PromptView {
    /// The current session, where there is one.
    pub session: Option<String>,
    /// Whether its record has unsaved changes.
    pub unsaved_record: bool,
}

impl View for PromptView {
    fn text(&self) -> Text {
        let mark = if self.unsaved_record { "*" } else { "" };
        let line = |session| TextLine::plain(format!("{session}{mark}"));
        self.session.iter().map(line).collect()
    }
}

/// State of this working tree.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.status/1")]
pub struct StatusView<'a> {
    /// The current session.
    pub current: Option<CurrentSessionView<'a>>,
    /// The current session, where it cannot be read.
    pub damaged: Option<DamagedSession<'a>>,
    /// An operation of this program that was interrupted.
    pub interrupted: Option<&'a str>,
    /// A merge or apply whose conflicts are being resolved.
    pub in_conflict: Option<ConflictsView<'a>>,
    /// The watcher of this working tree, or the one that was there last.
    pub watch: Option<WatcherView<'a>>,
    /// The number of sessions.
    pub sessions: usize,
    /// Sessions fetched from remotes that are not here under any name, latest first; more than 1,000 by name, of which those
    /// are left out that have the name of a session here.
    pub fetched: &'a [String],
    /// Work that `pause --clean` removed from the working tree and that is missing, latest first.
    #[serde(skip_serializing_if = "<[PutAside]>::is_empty")]
    pub put_aside: &'a [PutAside],
    /// Whether there is something that neither HEAD nor the latest checkpoint has, or an unsaved change of the record.
    pub something_to_save: bool,
    /// The number of files that neither HEAD nor the latest checkpoint has as they are.
    pub files_to_save: usize,
    /// Paths on disk that no checkpoint saved now would hold.
    pub left_out: Vec<SkippedPath>,
    /// State of the repository.
    pub git: &'a GitFacts,
    /// Remotes to which a push publishes checkpoints as well.
    pub mirror_remotes: &'a [String],
    /// Sessions that `checkpoint.autoPush` has queued; null where nothing is shared automatically.
    pub automatic_sharing: Option<AutomaticSharing>,
    /// Settings that have no meaning.
    pub unknown_settings: Vec<UnknownSetting<'a>>,
    /// Facts that only the text has.
    #[serde(skip)]
    pub notes: StatusNotes,
}

/// A merge or apply that had conflicts in files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConflictsView<'a> {
    /// `merge` or `apply`.
    pub operation: &'static str,
    /// Where the changes came from.
    pub from: &'a str,
    /// The number of paths that are unmerged still.
    pub unmerged: usize,
}

/// Facts that the text of `status` has and the JSON has not.
#[derive(Debug, Default)]
pub struct StatusNotes {
    /// Lines about a session that was named and is not there.
    pub absent: Vec<String>,
    /// The number of sessions that are completed or failed.
    pub finished: usize,
    /// The command that finishes what was interrupted.
    pub finished_by: Option<&'static str>,
    /// A command that changes files right now.
    pub running: Option<&'static str>,
    /// Whether nothing of the merge or apply in conflict is in the files any more.
    pub is_discarded: bool,
    /// Whether the repository has no working tree.
    pub is_bare: bool,
    /// Whether a remote may have sessions.
    pub may_fetch: bool,
    /// The paths that are left out, in words.
    pub left_out: Option<String>,
    /// The directory of sessions outside of the repository.
    pub store: Option<String>,
    /// Lines about hooks.
    pub hooks: Vec<TextLine>,
}

/// The current session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CurrentSessionView<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The identity of the session, which never changes.
    pub session_id: &'a str,
    /// The working tree of the latest checkpoint, where that is another one of this repository; for people.
    #[serde(skip)]
    pub saved_elsewhere: Option<&'a str>,
    /// Whether it was finished; for people.
    #[serde(skip)]
    pub is_finished: bool,
    /// Its status.
    #[schemars(extend("enum" = ["active", "paused", "completed", "failed", "interrupted"]))]
    pub status: &'static str,
    /// Its latest checkpoint.
    pub tip: Oid,
    /// When that was saved.
    pub saved_at: Timestamp,
    /// Its subject, for people.
    #[serde(skip)]
    pub subject: &'a str,
    /// Its task, for people.
    #[serde(skip)]
    pub task: Option<&'a str>,
    /// Who works in it alone for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<&'a Claim>,
    /// The number of changes of the record that are not saved yet.
    pub draft_operations: usize,
    /// The differences between the draft and the record of the latest checkpoint.
    pub draft: &'a [RecordDifference],
    /// The number of contradictions that a merge left in the record.
    pub record_conflicts: usize,
    /// The number of lines of the session log in the draft.
    pub draft_notes: usize,
    /// The number of steps that were begun or changed and are not saved yet.
    pub draft_steps: usize,
    /// Numbers of lines of the draft that cannot be read.
    pub draft_unreadable: &'a [usize],
    /// The number of checkpoints of hooks that wait until a save can read the encrypted record.
    pub deferred: usize,
    /// The number of files that differ from the latest checkpoint; null where it has no files.
    pub files_changed: Option<usize>,
    /// The number of saved changes of the latest checkpoint that never were in these files, or were missing when it was
    /// resumed: a checkpoint saved now is without them.
    pub saved_changes_missing: usize,
    /// Those of them that delete a file: 'resume --apply' does it here as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub saved_deletions: Vec<&'a RepoPath>,
    /// Its relation to what was last seen of each remote that has it.
    pub remotes: Vec<RemoteRelation<'a>>,
    /// The chat.
    pub chat: ChatStatus,
}

/// A session that cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DamagedSession<'a> {
    /// The name of the session.
    pub session: &'a str,
    /// The damage.
    pub damage: &'a str,
}

/// The relation of a session to a remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoteRelation<'a> {
    /// The remote.
    pub remote: &'a str,
    /// The relation.
    #[serde(flatten)]
    pub relation: ShareRelation<'a>,
    /// The relation in a sentence, for people.
    #[serde(skip)]
    pub words: TextLine,
}

/// The chat of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatStatus {
    /// The number of saved messages in all.
    pub messages: u64,
    /// The number of messages that a summary replaces.
    pub summarised: u64,
    /// Whether there are unsaved messages or texts.
    pub unsaved: bool,
    /// The number of tokens of the messages that no summary replaces.
    pub tokens: u64,
    /// How that number is known.
    #[schemars(extend("enum" = ["exact", "estimated"]))]
    pub method: &'static str,
    /// The number of tokens at which the chat is compacted; 0 for never.
    pub limit: u64,
    /// Whether the chat will be compacted soon.
    pub near_limit: bool,
    /// The version of the summary; 0 for none.
    pub summary_version: u64,
    /// The number of compactions.
    pub compactions: u64,
}

/// A watcher.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WatcherView<'a> {
    /// Whether it runs.
    pub alive: bool,
    /// Its state, as it last reported it.
    pub state: Option<&'a WatcherState>,
    /// The machine that `status` runs on, for people.
    #[serde(skip)]
    pub host: &'a str,
}

impl WatcherView<'_> {
    fn line(&self, now: Timestamp) -> Option<TextLine> {
        let Some(state) = self.state else {
            return Some(TextLine::plain("begins"));
        };
        if self.alive
            && let Some(failure) = &state.failure
        {
            let text = format!("failing since {}: {}", age::age(failure.since, now), failure.message);
            return Some(TextLine::new().with(Slot::Bad, text).cut(69));
        }
        let saved = match &state.saved {
            Some(saved) => format!("last autosave {}", age::age(saved.at, now)),
            None => "no autosave yet".to_owned(),
        };
        if self.alive {
            let interval = age::duration(state.real_interval / 1000);
            return Some(TextLine::plain(format!("every {interval}, {saved}")));
        }
        let end = match state.ended {
            _ if !state.is_cut_off(self.host) => return None,
            Some(_) => "the watched process has ended",
            None => "was interrupted",
        };
        Some(TextLine::new().with(Slot::Caution, format!("{end}; {saved}: 'git checkpoint resume'")))
    }
}

/// A setting that has no meaning.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnknownSetting<'a> {
    /// Its full name.
    pub key: &'a str,
    /// The file or variable it comes from.
    pub place: &'a str,
}

/// The width of a label.
const LABEL: usize = 11;
/// The least columns for what follows it.
const LEAST: usize = 29;

/// Lines that begin with a label.
struct LabeledLines {
    text: Text,
    /// The columns for what follows the label.
    columns: usize,
}

impl LabeledLines {
    /// A text that is too long for its line continues below.
    fn row(&mut self, label: &str, value: &TextLine) {
        for (at, value) in value.folded(self.columns).iter().enumerate() {
            let mut line = TextLine::new().with(Slot::Heading, if at == 0 { label } else { "" });
            line.pad_to(LABEL);
            line.append(value);
            self.text.push(line);
        }
    }

    /// The same; what is too long for a line is cut.
    fn cut(&mut self, label: &str, value: &TextLine) {
        self.row(label, &value.cut(self.columns));
    }

    /// A label before the first of several lines.
    fn rows(&mut self, label: &str, lines: &[TextLine]) {
        for (at, line) in lines.iter().enumerate() {
            self.row(if at == 0 { label } else { "" }, line);
        }
    }

    fn plain(&mut self, label: &str, value: impl AsRef<str>) {
        self.row(label, &TextLine::plain(value.as_ref()));
    }
}

fn caution(text: String) -> TextLine {
    TextLine::new().with(Slot::Caution, text)
}

impl StatusView<'_> {
    /// The session, then what else is worth a look, then what is to be saved.
    pub fn text(&self, now: Timestamp, columns: usize) -> Text {
        let mut out = LabeledLines {
            text: Text::new(),
            columns: columns.saturating_sub(LABEL).max(LEAST),
        };
        match &self.current {
            Some(current) => current.rows(&mut out, now),
            None => self.no_session(&mut out),
        }
        for relation in self.current.iter().flat_map(|current| &current.remotes) {
            out.cut("remote", &relation.words);
        }
        if let Some(first) = self.fetched.first() {
            let more = match self.fetched.len() {
                1 => String::new(),
                all => format!(" and {} more", all - 1),
            };
            out.cut("fetched", &TextLine::plain(format!("{first}{more}, not resumed here")));
        }
        let aside = self.aside(now, out.columns);
        out.rows("aside", &aside);
        if self.notes.may_fetch {
            out.plain("", "sessions of a remote: 'git checkpoint fetch'");
        }
        if let Some(operation) = self.notes.running {
            out.plain("pending", format!("another process is changing the files: {operation}"));
        } else if let Some(operation) = self.interrupted {
            let line = TextLine::new().with(Slot::Bad, format!("{} was interrupted:", with_article(operation)));
            out.row("pending", &line);
            let command = self.notes.finished_by.unwrap_or("restore");
            out.plain("", format!("git checkpoint {command} --continue, or --abort"));
        } else if let Some(conflicts) = &self.in_conflict {
            let ConflictsView { operation, from, .. } = conflicts;
            let line = match conflicts.unmerged {
                0 if self.notes.is_discarded => {
                    TextLine::plain(format!("{operation} of {from}: nothing of it is in the files any more"))
                }
                0 => TextLine::plain(format!("{operation} of {from}: every conflict is resolved")),
                n => TextLine::plain(format!("{operation} of {from}: "))
                    .with(Slot::Bad, CountedNoun::new(n, "unmerged path").to_string()),
            };
            out.row("pending", &line);
            out.plain("", format!("git checkpoint {operation} --continue, or --abort"));
        }
        if let Some(conflicts) = self.current.as_ref().map(|current| current.record_conflicts)
            && conflicts > 0
        {
            let line = TextLine::new().with(Slot::Bad, CountedNoun::new(conflicts, "conflict").to_string());
            out.row(
                "pending",
                &line.with(Slot::Plain, " of the record: git checkpoint conflict"),
            );
        }
        if let Some(line) = self.watch.as_ref().and_then(|watch| watch.line(now)) {
            out.row("watch", &line);
        }
        out.rows("hooks", &self.notes.hooks);
        if let Some(sharing) = &self.automatic_sharing {
            out.rows("sharing", &sharing.lines(now));
        }
        if let Some(store) = &self.notes.store {
            out.plain(
                "store",
                format!("{store}: the repository's own directory cannot be written"),
            );
        }
        if self.notes.is_bare {
            let line = receipt::commit(self.git);
            out.row("code", &line.with(Slot::Plain, ", a bare repository without files"));
        } else {
            out.row("code", &receipt::code(self.git));
        }
        match (&self.current, &self.notes.left_out) {
            // The files are between two states, which is all that there is to say of them.
            _ if !self.something_to_save && (self.interrupted.is_some() || self.notes.running.is_some()) => {}
            (Some(current), _) => self.to_save(current, &mut out),
            (None, Some(words)) => out.row("to save", &caution(format!("a save would leave out {words}"))),
            (None, None) => {}
        }
        out.text
    }

    /// The latest work that is put aside, how much more there is, and the command that brings it back.
    fn aside(&self, now: Timestamp, columns: usize) -> Vec<TextLine> {
        let Some(latest) = self.put_aside.first() else {
            return Vec::new();
        };
        let mut line = TextLine::new().with(Slot::Id, latest.id.short());
        line.push(Slot::Plain, "  ");
        line.push(Slot::Date, age::age(latest.saved_at, now));
        if let Some(branch) = &latest.branch {
            line.push(Slot::Plain, "  on ");
            line.push(Slot::Branch, branch);
        }
        let changes = (!latest.is_named_by_changes).then_some(latest.changes.as_str());
        let words = changes.into_iter().chain([latest.subject.as_str()]);
        for words in words.filter(|words| !words.is_empty()) {
            line.push(Slot::Plain, format!("  {words}"));
        }
        let mut lines = vec![line.cut(columns)];
        match self.put_aside.len() - 1 {
            0 => {}
            more => {
                let more = CountedNoun::new(more, "earlier checkpoint");
                lines.push(TextLine::plain(format!("and {more}")));
            }
        }
        lines.push(TextLine::plain(&latest.command));
        lines
    }

    fn no_session(&self, out: &mut LabeledLines) {
        if let Some(damaged) = &self.damaged {
            let line = TextLine::new().with(Slot::Session, damaged.session);
            let line = line.with(Slot::Bad, ", damaged: ").with(Slot::Plain, damaged.damage);
            out.row("session", &line);
            return out.plain("fix", format!("git checkpoint repair {}", damaged.session));
        }
        if !self.notes.absent.is_empty() {
            let lines: Vec<_> = self.notes.absent.iter().map(TextLine::plain).collect();
            return out.rows("session", &lines);
        }
        let verb = if self.sessions == 1 { "is" } else { "are" };
        let others = format!("there {verb} {}", CountedNoun::new(self.sessions, "session"));
        match self.sessions {
            0 if self.notes.is_bare => {
                out.plain("session", "none; in a bare repository there are no files to save");
            }
            0 => out.plain("session", "none yet; 'git checkpoint save' makes the first"),
            all if all == self.notes.finished => {
                let text = format!("no current session; {others}, finished: 'git checkpoint start' starts one");
                out.plain("session", text);
                out.plain("", "'git checkpoint resume' resumes the latest");
            }
            _ => out.plain(
                "session",
                format!("no current session; {others}: 'git checkpoint list'"),
            ),
        }
    }

    fn to_save(&self, current: &CurrentSessionView<'_>, out: &mut LabeledLines) {
        let missing = current.saved_changes_missing;
        let line = match (self.something_to_save, self.files_to_save, &self.notes.left_out) {
            // "Saved" and "a save would drop it" are no pair.
            (false, _, None) if missing > 0 || self.notes.is_bare => None,
            (false, _, None) => {
                let elsewhere = current.saved_elsewhere.filter(|_| current.files_changed != Some(0));
                let by = elsewhere.map(|path| format!("; the latest checkpoint was saved in {path}"));
                let line = TextLine::new().with(Slot::Good, "everything is saved");
                Some(line.with(Slot::Plain, by.unwrap_or_default()))
            }
            (false, _, Some(words)) => {
                let rest = if missing > 0 { "" } else { "everything else is saved; " };
                Some(caution(format!("{rest}left out: {words}")))
            }
            (true, n, _) if n > 0 && current.files_changed.is_none() => {
                let files = CountedNoun::new(n, "file");
                Some(caution(format!("{files} changed since the commit")))
            }
            (true, n, _) if n > 0 => {
                let files = CountedNoun::new(n, "file");
                let by = current
                    .saved_elsewhere
                    .map(|path| format!(", which was saved in {path}"));
                let by = by.unwrap_or_default();
                Some(caution(format!("{files} changed since the latest checkpoint{by}")))
            }
            _ if current.draft_operations == 0 && !current.chat.unsaved => Some(caution(
                "all files are saved, but not what is staged or in progress".to_owned(),
            )),
            _ => Some(caution("unsaved changes".to_owned())),
        };
        let mut label = "to save";
        if let Some(line) = line {
            out.row(label, &line);
            label = "";
        }
        let deletions = &current.saved_deletions;
        if missing > deletions.len() {
            let others = missing - deletions.len();
            let (are, them) = if others == 1 { ("is", "it") } else { ("are", "them") };
            let changes = CountedNoun::new(others, "saved change");
            let by = current.saved_elsewhere.map(|path| format!(", saved in {path},"));
            let by = by.unwrap_or_default();
            let text = format!("{changes}{by} {are} not in these files; a save would drop {them}:");
            out.row(label, &caution(text));
            label = "";
        }
        if !deletions.is_empty() {
            out.row(label, &caution(missing_deletions(deletions)));
        }
        if missing > 0 {
            out.plain("", "git checkpoint resume --apply");
        }
        if let (true, Some(words)) = (self.something_to_save, &self.notes.left_out) {
            out.row("", &caution(format!("a save would leave out {words}")));
        }
    }
}

/// How many paths are named.
const NAMED: usize = 3;

/// Saved deletions that are not in the files, with the names.
fn missing_deletions(deletions: &[&RepoPath]) -> String {
    let mut names: Vec<_> = deletions.iter().take(NAMED).map(|path| path.quoted()).collect();
    names.extend((deletions.len() > NAMED).then(|| "...".to_owned()));
    let are = if deletions.len() == 1 { "is" } else { "are" };
    let noun = CountedNoun::new(deletions.len(), "saved deletion");
    format!("{noun} {are} not in these files: {}", names.join(", "))
}

impl CurrentSessionView<'_> {
    fn rows(&self, out: &mut LabeledLines, now: Timestamp) {
        let line = TextLine::new().with(Slot::Session, self.session.as_str());
        let finished_in = self.saved_elsewhere.filter(|_| self.is_finished);
        let place = finished_in.map(|path| format!(" in {path}")).unwrap_or_default();
        out.row("session", &line.with(Slot::Plain, format!(", {}{place}", self.status)));
        let mut line = TextLine::new().with(Slot::Id, self.tip.short());
        line.push(Slot::Plain, "  ");
        line.push(Slot::Date, age::age(self.saved_at, now));
        line.push(Slot::Plain, format!("  {}", self.subject));
        out.cut("latest", &line);
        if let Some(task) = self.task {
            out.cut("task", &TextLine::plain(task));
        }
        if let Some(claim) = self.claim {
            out.cut("claimed", &TextLine::new().with(Slot::Caution, claim.to_string()));
        }
        if self.chat.messages > 0 || self.chat.unsaved {
            out.row("chat", &self.chat.line());
        }
        if self.deferred > 0 {
            let (one, wait) = if self.deferred == 1 {
                ("it", "waits")
            } else {
                ("them", "wait")
            };
            let checkpoints = CountedNoun::new(self.deferred, "checkpoint");
            let text = format!("{checkpoints} of hooks {wait} for your key;");
            out.row("deferred", &TextLine::new().with(Slot::Caution, text));
            out.plain("", format!("at a terminal, this takes {one} in: git checkpoint save"));
        }
        if self.draft_operations > 0 {
            let changes = CountedNoun::new(self.draft_operations, "change");
            out.plain("draft", format!("{changes} not saved yet"));
            for line in self.changes() {
                out.cut("", &line);
            }
        }
    }

    /// The changes of the draft.
    fn changes(&self) -> Vec<TextLine> {
        let shown = shown_rows(self.draft.len(), SHOWN);
        let changes = self.draft.iter().take(shown).map(|change| {
            let (sign, slot) = if change.added {
                ("+", Slot::Added)
            } else {
                ("-", Slot::Removed)
            };
            let mut line = TextLine::new().with(slot, format!("{sign} {}", change.item));
            line.pad_to(13);
            line.push(Slot::Plain, format!(" {}", change.text));
            line
        });
        let mut lines: Vec<TextLine> = changes.collect();
        if self.draft.len() > shown {
            lines.push(TextLine::new().with(Slot::Dim, format!("... {} more", self.draft.len() - shown)));
        }
        for (count, noun) in [(self.draft_notes, "note"), (self.draft_steps, "step")] {
            if count > 0 {
                let text = format!("+ {}", CountedNoun::new(count, noun));
                lines.push(TextLine::new().with(Slot::Added, text));
            }
        }
        lines
    }
}

impl ChatStatus {
    /// The number of messages and tokens, and what was summarized.
    fn line(&self) -> TextLine {
        let count = |n: u64, one| CountedNoun::new(usize::try_from(n).unwrap_or(usize::MAX), one).to_string();
        let mut line = TextLine::plain(count(self.messages, "message"));
        if self.unsaved {
            line.push(Slot::Caution, " and unsaved ones");
        }
        if self.summarised > 0 {
            line.push(Slot::Plain, format!(", {} summarized", self.summarised));
        }
        let is_exact = self.method == "exact";
        let about = if is_exact { "" } else { "about " };
        let rest = if self.summarised > 0 { " in the others" } else { "" };
        line.push(Slot::Plain, format!(", {about}{} tokens{rest}", self.tokens));
        if !is_exact {
            line.push(Slot::Dim, " (estimated by size)");
        }
        if self.compactions > 0 {
            line.push(Slot::Plain, format!(", {}", count(self.compactions, "compaction")));
        }
        line
    }
}
