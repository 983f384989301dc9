//! Output of `restore`, `apply`, `undo` and `redo`: receipt, plan and refusals.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::{CountedNoun, shown_rows},
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    comparison::RecordDifference,
    id::{Digest, Oid},
    name::ShortName,
    path::RepoPath,
    plan::{self, Act, PlanReason},
    step::quoted,
    time::Timestamp,
};

/// How many lines of a plan are shown where the plan is not what was asked for.
const LISTED: usize = 20;

/// The receipt or plan of restore, apply, undo and redo.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.restore/1")]
pub struct RestoreReceipt<'a> {
    /// `restore`, `apply`, `undo` or `redo`.
    pub operation: &'a str,
    /// `done`, `planned`, `refused`, `nothing`, `incomplete` or `aborted`.
    #[schemars(extend("enum" = ["done", "planned", "refused", "nothing", "incomplete", "aborted"]))]
    pub outcome: &'static str,
    /// Whether the changes of the checkpoint were taken out of the files.
    #[serde(skip)]
    pub is_reverse: bool,
    /// The checkpoint the files came from.
    pub from: Option<CheckpointOrigin<'a>>,
    /// Description of the action that was undone or redone.
    pub what: Option<&'a str>,
    /// When that action was done first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Timestamp>,
    /// How long ago that was, in words.
    #[serde(skip)]
    pub done_age: Option<String>,
    /// The safety checkpoint that holds what was there before.
    pub safety: Option<Oid>,
    /// Actions by path, with reasons.
    pub plan: &'a [plan::PlanLine],
    /// Token of the plan of a restore: 'restore --plan' carries that very plan out, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_token: Option<&'a str>,
    /// Reasons not to do it.
    pub refusals: Vec<RefusalRow>,
    /// Counts of changed files.
    pub files: RestoreCounts,
    /// How many entries of the index became others.
    pub index: usize,
    /// Paths that were to be added with `git add -N` and are not there.
    pub index_lacking: &'a [RepoPath],
    /// Staged content of the checkpoint that is not in the index now, with a hint; for people.
    #[serde(skip)]
    pub unstaged: Option<String>,
    /// `not-meant`, `restored`, `same`, `of-another-session` or `claimed`, by somebody else.
    #[schemars(extend("enum" = ["not-meant", "restored", "same", "of-another-session", "claimed"]))]
    pub record: &'static str,
    /// The claim under which the record stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<ClaimedRecordRow>,
    /// Differences of the record: all of it stays in the checkpoints that hold it.
    pub record_changes: &'a [RecordDifference],
    /// Files that were edited in the same lines after they were saved, and stay as they are.
    pub kept: &'a [RepoPath],
    /// Whether `apply` merges them; for people.
    #[serde(skip)]
    pub can_merge: bool,
    /// The operation of git that was in progress when the checkpoint was saved.
    pub in_progress: Option<OperationRow>,
    /// Refs that moved.
    pub refs: Vec<MovedRef>,
    /// Working trees that stay although the fork they were made for was undone.
    pub stays: Vec<WorktreeRow<'a>>,
    /// Paths on which both sides of a merge do not fit together.
    pub conflicts: Vec<MergeConflictRow>,
    /// Paths that kept changing and were left alone.
    pub moved: &'a [RepoPath],
    /// Paths that could not be written.
    pub failed: Vec<FailedPath>,
    /// Files that another program changed while this ran, and that were replaced all the same.
    pub replaced: Vec<ReplacedRow<'a>>,
    /// Files under a filter program that does not give back all bytes.
    pub filtered: Vec<FilteredFile<'a>>,
    /// Paths that another program changed after they were written.
    pub differing: &'a [RepoPath],
    /// Why it ended early.
    pub stopped: Option<String>,
    /// Whether it was a dry run; for people.
    #[serde(skip)]
    pub dry_run: bool,
    /// Lines at the end, of what was done with the files; for people.
    #[serde(skip)]
    pub more: Text,
}

/// A record that stays as it is, as somebody else has claimed its session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimedRecordRow {
    /// The session.
    pub session: ShortName,
    /// Who has claimed it.
    pub by: String,
    /// The command that sets it back even so, for people.
    #[serde(skip)]
    pub force: String,
}

/// Files that were replaced after another program changed them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReplacedRow<'a> {
    /// The files.
    pub paths: &'a [RepoPath],
    /// The checkpoint that has what they were.
    pub saved: Oid,
}

/// A checkpoint that files came from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckpointOrigin<'a> {
    /// Its commit.
    pub id: Oid,
    /// The digest of its document.
    pub digest: Option<Digest>,
    /// The session it was found through.
    pub session: Option<&'a str>,
    /// The first line of its summary.
    pub summary: &'a str,
    /// How long ago it was made, in words.
    #[serde(skip)]
    pub age: String,
    /// Whether git had no change to report of its files.
    #[serde(skip)]
    pub is_clean: bool,
    /// Whether it has files at all.
    #[serde(skip)]
    pub has_files: bool,
}

/// How much was done.
#[derive(Debug, Default, Clone, Copy, Serialize, JsonSchema)]
pub struct RestoreCounts {
    /// Files and links written.
    pub written: usize,
    /// Files and links deleted.
    pub deleted: usize,
    /// Files with other permission bits.
    pub modes: usize,
    /// Empty directories made.
    #[serde(rename = "folders")]
    pub directories: usize,
}

/// A reason not to do it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusalRow {
    /// The reason.
    pub text: String,
    /// The paths it is about, with a reason of their own where there is one.
    pub paths: Vec<(String, Option<String>)>,
    /// Whether `--force` gets past it.
    pub yields_to_force: bool,
}

/// An operation of git, and whether it is in progress again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OperationRow {
    /// `set-up`, `same` or `left`.
    #[schemars(extend("enum" = ["set-up", "same", "left"]))]
    pub state: &'static str,
    /// The operation in words, as `status` has it.
    pub text: String,
    /// Why it was left.
    pub why: Option<String>,
    /// The command that begins it again.
    pub remedy: Option<String>,
}

/// A ref that moved.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MovedRef {
    /// Its name.
    pub name: String,
    /// Old value.
    pub from: Option<Oid>,
    /// New value.
    pub to: Option<Oid>,
}

/// A working tree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorktreeRow<'a> {
    /// Its directory.
    pub path: &'a str,
    /// Its branch.
    pub branch: &'a str,
    /// Whether something in it is in no checkpoint.
    pub changed: bool,
    /// The session that was made with it; for people.
    #[serde(skip)]
    pub session: Option<&'a str>,
}

impl WorktreeRow<'_> {
    /// The commands that remove it. git removes no working tree that differs from its commit without `--force`, which is for
    /// one whose content is in a checkpoint only.
    fn removal(&self) -> [String; 2] {
        match self.session {
            Some(session) if self.changed => [
                "it has changes that are not saved; to save them: git checkpoint redo".to_owned(),
                format!("then remove it: git checkpoint fork --remove {}", quoted(session)),
            ],
            _ => {
                let force = if self.changed { "" } else { "--force " };
                [
                    format!("to remove it: git worktree remove {force}{}", quoted(self.path)),
                    format!("then: git branch -D {}", quoted(self.branch)),
                ]
            }
        }
    }
}

/// A path on which both sides of a merge do not fit together.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MergeConflictRow {
    /// The path.
    pub path: RepoPath,
    /// How they meet.
    pub why: &'static str,
}

/// A path that could not be written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailedPath {
    /// The path.
    pub path: RepoPath,
    /// Why.
    pub why: String,
}

/// A file that is not what it was, or was saved as, because of its filter program.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FilteredFile<'a> {
    /// The file.
    pub path: &'a RepoPath,
    /// Its result.
    pub why: String,
}

impl View for RestoreReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    // The outcome first, then what needs a look; of a plan that was asked for, every line.
    fn text(&self) -> Text {
        let mut text = Text::new();
        text.push(self.first());
        let planned = matches!(self.outcome, "planned" | "refused");
        // That these delete something is not in their names.
        let is_merged = matches!(self.operation, "apply" | "merge");
        let shown: Vec<_> = self
            .plan
            .iter()
            .filter(|line| {
                let is_named = line.act == Act::Revert || line.act == Act::Delete && is_merged;
                planned || !line.act.changes() || is_named
            })
            .collect();
        let listed = if planned {
            shown.len()
        } else {
            shown_rows(shown.len(), LISTED)
        };
        for line in &shown[..listed] {
            text.push(plan_line(line));
        }
        if shown.len() > listed {
            text.push(TextLine::plain(format!("  ... and {} more", shown.len() - listed)));
        }
        for conflict in &self.conflicts {
            text.push(row(Slot::Caution, "conflict", &conflict.path.quoted(), conflict.why));
        }
        for path in self.kept {
            text.push(row(Slot::Caution, "kept", &path.quoted(), "changed since it was saved"));
        }
        self.record_lines(&mut text, planned);
        if planned {
            for moved in self.refs.iter().filter(|moved| !moved.name.starts_with(TRASH)) {
                text.push(moved_line(moved, planned));
            }
        }
        for tree in &self.stays {
            let mut line = TextLine::plain("  stays");
            line.pad_to(11);
            line.push(Slot::Path, tree.path);
            line.push(Slot::Plain, ", the working tree, with branch ");
            line.push(Slot::Branch, tree.branch);
            text.push(line);
            for line in tree.removal() {
                text.push(TextLine::plain(format!("           {line}")));
            }
        }
        self.details(&mut text);
        text.append(self.more.clone());
        text
    }
}

/// Where deleted sessions are, of which only the program has to know.
const TRASH: &str = "refs/checkpoints-trash/";

impl RestoreReceipt<'_> {
    /// The refs that moved, for `--verbose`.
    pub fn ref_lines(&self) -> Text {
        self.refs.iter().map(|moved| moved_line(moved, false)).collect()
    }

    /// Items that are removed from the record, and in a plan also those that are added.
    fn record_lines(&self, text: &mut Text, planned: bool) {
        let changes = self.record_changes.iter();
        let shown: Vec<_> = changes.filter(|change| planned || !change.added).collect();
        let listed = if planned {
            shown.len()
        } else {
            shown_rows(shown.len(), LISTED)
        };
        for change in &shown[..listed] {
            let (sign, slot) = if change.added {
                ("+", Slot::Added)
            } else {
                ("-", Slot::Removed)
            };
            let mut line = TextLine::plain("  record   ").with(slot, format!("{sign} {}", change.item));
            line.pad_to(24);
            line.push(Slot::Plain, format!(" {}", change.text));
            text.push(line);
        }
        if shown.len() > listed {
            text.push(TextLine::plain(format!("  ... and {} more", shown.len() - listed)));
        }
    }

    /// Whether git had no change to report of the checkpoint: whether the files are as saved says nothing then.
    fn is_of_clean(&self) -> bool {
        !self.is_reverse && self.conflicts.is_empty() && self.from.as_ref().is_some_and(|from| from.is_clean)
    }

    fn is_without_files(&self) -> bool {
        self.from.as_ref().is_some_and(|from| !from.has_files)
    }

    fn first(&self) -> TextLine {
        let (word, slot) = match (self.outcome, self.operation) {
            ("planned" | "refused", "restore") => ("Would restore", Slot::Plain),
            ("planned" | "refused", "apply") if self.is_reverse => ("Would revert", Slot::Plain),
            ("planned" | "refused", "apply") => ("Would apply", Slot::Plain),
            ("planned" | "refused", "merge") => ("Would merge", Slot::Plain),
            ("planned" | "refused", "clean") => ("Would clean the working tree", Slot::Plain),
            ("nothing", "clean") => ("Nothing to clean", Slot::Plain),
            ("done", "clean") => ("Cleaned the working tree", Slot::Good),
            ("planned" | "refused", "redo") => ("Would redo", Slot::Plain),
            ("planned" | "refused", _) => ("Would undo", Slot::Plain),
            ("nothing", _) if !self.conflicts.is_empty() => ("Changed nothing:", Slot::Bad),
            ("nothing", _) if !self.kept.is_empty() => ("Applied nothing of", Slot::Caution),
            ("nothing", _) if self.from.is_none() && self.what.is_none() => ("Nothing to do", Slot::Plain),
            ("nothing", operation) if self.is_without_files() => {
                let word = if operation == "restore" {
                    "Nothing to restore of"
                } else {
                    "Nothing to apply of"
                };
                (word, Slot::Plain)
            }
            ("nothing", "apply") if self.is_reverse => ("Nothing to revert of", Slot::Plain),
            ("nothing", "apply") if self.is_of_clean() => ("Nothing to apply of", Slot::Plain),
            ("nothing", _) if self.from.is_some() => ("Already up to date with", Slot::Plain),
            ("nothing", _) => ("Nothing to do:", Slot::Plain),
            ("aborted", _) => ("Went back to before the", Slot::Good),
            ("incomplete", _) => ("Did not finish the", Slot::Bad),
            (_, "restore") => ("Restored", Slot::Good),
            (_, "apply") => {
                let word = if self.is_reverse { "Reverted" } else { "Applied" };
                let is_whole = self.conflicts.is_empty();
                (word, if is_whole { Slot::Good } else { Slot::Caution })
            }
            (_, "merge") => ("Merged", Slot::Good),
            (_, "redo") => ("Redid", Slot::Good),
            _ => ("Undid", Slot::Good),
        };
        let mut line = TextLine::new().with(slot, word);
        if matches!(self.outcome, "aborted" | "incomplete") {
            line.push(Slot::Plain, format!(" {}", self.operation));
        }
        if let Some(from) = &self.from {
            line.push(Slot::Plain, " ");
            line.push(Slot::Id, from.id.short());
            let session = from.session.map(|session| format!("{session}, ")).unwrap_or_default();
            line.push(Slot::Plain, format!(" ({session}{})", from.age));
        }
        if let Some(what) = self.what {
            line.push(Slot::Plain, format!(" '{what}'"));
            if let Some(age) = &self.done_age {
                line.push(Slot::Plain, format!(" ({age})"));
            }
        }
        if !self.conflicts.is_empty() && !matches!(self.outcome, "nothing" | "planned" | "refused") {
            line.push(Slot::Caution, " with conflicts");
        }
        if self.outcome == "nothing" && self.is_without_files() {
            line.push(Slot::Plain, ": no files were saved");
        }
        let nothing = self.outcome == "nothing" && self.from.is_some() && self.conflicts.is_empty();
        let counts = self.counts();
        if !counts.is_empty() {
            line.push(Slot::Plain, format!("{} {counts}", if nothing { ";" } else { ":" }));
        }
        line
    }

    fn counts(&self) -> String {
        let mut words = Vec::new();
        let planned = matches!(self.outcome, "planned" | "refused");
        // Empty directories are no files; what is planned for them is what is done.
        let is_directory =
            |why: &PlanReason| matches!(why, PlanReason::EmptyDirectory | PlanReason::EmptyNotInCheckpoint);
        let files = self.plan.iter().filter(|line| !is_directory(&line.why));
        let count = |act: Act| files.clone().filter(|line| line.act == act).count();
        let directories = self.plan.iter().filter(|line| is_directory(&line.why)).count();
        let files = if planned {
            RestoreCounts {
                written: count(Act::Write),
                deleted: count(Act::Delete),
                modes: count(Act::Mode),
                directories: 0,
            }
        } else {
            self.files
        };
        if files.written > 0 {
            words.push(format!("{} written", CountedNoun::new(files.written, "file")));
        }
        if files.deleted > 0 {
            words.push(format!("{} deleted", files.deleted));
        }
        if files.modes > 0 {
            words.push(format!("{} with changed permissions", files.modes));
        }
        if directories > 0 {
            words.push(CountedNoun::irregular(directories, "empty directory", "empty directories").to_string());
        }
        for (act, word) in [
            (Act::Revert, "changed by commits since"),
            (Act::Keep, "kept"),
            (Act::Skip, "skipped"),
        ] {
            if count(act) > 0 {
                words.push(format!("{} {word}", count(act)));
            }
        }
        if self.index > 0 {
            words.push(CountedNoun::irregular(self.index, "index entry", "index entries").to_string());
        }
        if self.record == "restored" {
            words.push("the record".to_owned());
        }
        words.join(", ")
    }

    fn details(&self, text: &mut Text) {
        for (paths, word, why) in [
            (self.moved, "left", "kept changing"),
            (
                self.differing,
                "differs",
                "another program wrote it meanwhile; it stays as it is",
            ),
            (
                self.index_lacking,
                "index",
                "cannot be added with 'git add -N': it is missing",
            ),
        ] {
            for path in paths {
                text.push(row(Slot::Caution, word, &path.quoted(), why));
            }
        }
        for file in &self.filtered {
            text.push(row(Slot::Caution, "filter", &file.path.quoted(), &file.why));
        }
        for failed in &self.failed {
            text.push(row(Slot::Bad, "failed", &failed.path.quoted(), &failed.why));
        }
        if let Some(stopped) = &self.stopped {
            text.push(TextLine::new().with(Slot::Bad, format!("  stopped: {stopped}")));
        }
        if let (false, Some(from)) = (self.kept.is_empty(), &self.from) {
            let id = from.id.short();
            let words = if self.can_merge {
                format!("merge it: git checkpoint apply {id}")
            } else {
                format!("see what differs: git checkpoint diff {id}")
            };
            text.push(TextLine::plain(format!("  {words}")));
        }
        if let Some(unstaged) = &self.unstaged {
            text.push(TextLine::plain(format!("  index    {unstaged}")));
        }
        if let Some(operation) = &self.in_progress {
            let state = match (operation.state, &operation.why) {
                ("set-up", _) if self.outcome == "planned" => "would be in progress again",
                ("set-up", _) => "in progress again",
                (_, Some(_)) => "not in progress again",
                _ => "in progress as before",
            };
            text.push(TextLine::plain(format!("  git      {state}: {}", operation.text)));
            let remedy = operation.remedy.iter();
            let remedy = remedy.map(|remedy| format!("to start it again: {remedy}"));
            for line in operation.why.iter().cloned().chain(remedy) {
                text.push(TextLine::plain(format!("           {line}")));
            }
        }
        if self.record == "of-another-session" {
            text.push(TextLine::plain(
                "  record   not restored: the checkpoint is not of the current session",
            ));
        }
        if let Some(claimed) = &self.claimed {
            let (session, by) = (&claimed.session, &claimed.by);
            text.push(TextLine::plain(format!(
                "  record   stays as it is: session '{session}' is claimed by {by}"
            )));
            text.push(TextLine::plain(format!(
                "           to set it back too: {}",
                claimed.force
            )));
        }
        if let Some(safety) = &self.safety
            && self.outcome != "planned"
        {
            let line = TextLine::plain("  Current files saved first as ").with(Slot::Id, safety.short());
            text.push(line);
        }
    }
}

fn plan_line(line: &plan::PlanLine) -> TextLine {
    let slot = match line.act {
        Act::Write | Act::Mode => Slot::Changed,
        Act::Revert => Slot::Caution,
        Act::Delete => Slot::Removed,
        Act::Keep | Act::Skip => Slot::Dim,
    };
    row(slot, line.act.word(), &line.path.quoted(), &line.why.to_string())
}

fn row(slot: Slot, word: &str, path: &str, why: &str) -> TextLine {
    let mut line = TextLine::plain("  ").with(slot, word);
    line.pad_to(11);
    line.push(Slot::Path, path);
    line.pad_to(40);
    line.push(Slot::Plain, "  ");
    line.push(Slot::Dim, why);
    line
}

fn moved_line(moved: &MovedRef, planned: bool) -> TextLine {
    let session = moved.name.strip_prefix("refs/checkpoints/");
    let mut line = TextLine::plain(if session.is_some() { "  session" } else { "  ref" });
    line.pad_to(11);
    line.push(Slot::Branch, session.unwrap_or(&moved.name));
    let (gone, there) = if planned {
        (" would be removed", " would be at ")
    } else {
        (" was removed again", " is at ")
    };
    match (&moved.from, &moved.to) {
        (Some(_), None) => line.push(Slot::Plain, gone),
        (_, Some(to)) => {
            line.push(Slot::Plain, there);
            line.push(Slot::Id, to.short());
        }
        (None, None) => {}
    }
    line
}
