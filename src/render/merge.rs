//! Output of `merge`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::{CountedNoun, shown_rows},
    diff,
    share::PrunedCheckpoints,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    comparison::RecordDifference,
    id::{Digest, Oid},
    record::RecordConflict,
};

/// How many lines of a part are shown.
const LISTED: usize = 20;

/// A merge of sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.merge/1")]
pub struct MergeView {
    /// `merged`, `planned`, `up-to-date` or `refused`.
    pub outcome: &'static str,
    /// Whether nothing was changed because that was asked for.
    pub dry_run: bool,
    /// The session that was merged into.
    pub session: String,
    /// The session that was merged in, with its remote as 'origin/auth'.
    pub from: String,
    /// The session that a pull had moved aside, and that is part of the other one again.
    pub rejoined: Option<String>,
    /// The checkpoint that was merged in.
    pub merged: Oid,
    /// The checkpoint that both come from; null for unrelated sessions.
    pub base: Option<Oid>,
    /// The checkpoint of the merge.
    pub id: Option<Oid>,
    /// Its digest.
    pub digest: Option<Digest>,
    /// The checkpoint that holds what was not saved before the merge.
    pub saved: Option<Oid>,
    /// In a dry run, whether something is not saved, which the merge would save first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub would_save: bool,
    /// Differences between the record before and after.
    pub record: Vec<RecordDifference>,
    /// Contradictions that the record keeps until they are resolved: new ones, and where nothing was merged all that are open.
    pub conflicts: Vec<RecordConflict>,
    /// Messages that came.
    pub messages: u64,
    /// Steps that came.
    pub steps: usize,
    /// Lines of the session log that came.
    pub notes: usize,
    /// Fork points that it decides.
    pub decided: Vec<DecidedPoint>,
    /// Sessions of the other options that were finished.
    pub finished: Vec<String>,
    /// Result for the files; null if they were not merged.
    pub files: Option<MergedFiles>,
    /// Why the files were not merged, unless that was requested.
    pub without_files: Option<&'static str>,
    /// Checkpoints that a pull left out of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<PrunedCheckpoints>,
    /// The number of files that differ from those of the other session, where both were saved in this working tree and
    /// the files were not merged.
    pub files_left: usize,
}

/// A fork point that is decided.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecidedPoint {
    /// The decision to make.
    pub title: String,
    /// The option's key.
    pub option: String,
}

/// Result of a merge for the files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MergedFiles {
    /// Paths that changed.
    pub changed: Vec<ChangedFile>,
    /// Paths on which both sides do not fit together.
    pub conflicts: Vec<ConflictingFile>,
    /// Paths whose file was not written.
    pub skipped: Vec<SkippedFile>,
    /// Paths that stay, although the other session has nothing or something else there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<SkippedFile>,
    /// How many entries of the index became others.
    pub index: usize,
    /// How many of them are neither in conflict nor without a file; for people.
    #[serde(skip)]
    pub staged: usize,
    /// The safety checkpoint that holds what was there before.
    pub safety: Option<Oid>,
}

/// A path that a merge changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedFile {
    /// `write`, `mode` or `delete`.
    pub act: &'static str,
    /// The path, C-quoted where it must be.
    pub path: String,
}

/// A path of a merge whose file was not written: submodules and files outside of a sparse checkout are merged in the index.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkippedFile {
    /// The path, C-quoted where it must be.
    pub path: String,
    /// The reason, in words.
    pub reason: String,
}

/// A path in conflict.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConflictingFile {
    /// The path, C-quoted where it must be.
    pub path: String,
    /// Kind of the conflict, in words.
    pub conflict: &'static str,
}

impl View for MergeView {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    // Receipt, then what came, what is decided, and the conflicts.
    fn text(&self) -> Text {
        let mut text = Text::new();
        let mut line = TextLine::new();
        if self.outcome == "up-to-date" {
            line.push(Slot::Good, "Up to date:");
            line.push(Slot::Plain, " ");
            line.push(Slot::Session, &self.session);
            line.push(Slot::Plain, " has all of ");
            line.push(Slot::Session, &self.from);
            if self.files_left > 0 {
                line.push(Slot::Plain, " but its files");
            }
            text.push(line);
            self.files_left(&mut text);
            self.contradictions(&mut text);
            return text;
        }
        let files = self.files.iter().flat_map(|files| &files.conflicts);
        let is_conflicting = files.count() + self.conflicts.len() > 0;
        match (self.dry_run, is_conflicting) {
            (true, _) => line.push(Slot::Added, "Would merge"),
            (_, true) => line.push(Slot::Caution, "Merged"),
            _ => line.push(Slot::Added, "Merged"),
        }
        line.push(Slot::Plain, " ");
        line.push(Slot::Session, &self.from);
        line.push(Slot::Plain, " ");
        line.push(Slot::Id, self.merged.short());
        line.push(Slot::Plain, " into ");
        line.push(Slot::Session, &self.session);
        if let Some(id) = &self.id {
            line.push(Slot::Plain, " ");
            line.push(Slot::Id, id.short());
        }
        match &self.base {
            Some(base) => line.push(Slot::Dim, format!(", base {}", base.short())),
            None => line.push(Slot::Dim, ", no common checkpoint"),
        }
        if is_conflicting && !self.dry_run {
            line.push(Slot::Caution, ", with conflicts");
        }
        text.push(line);
        for line in self.left_out.iter().flat_map(PrunedCheckpoints::lines) {
            text.push(line);
        }
        self.parts(&mut text);
        text
    }
}

impl MergeView {
    /// The files that the merge leaves as they are, with the command that merges them.
    fn files_left(&self, text: &mut Text) {
        if self.files_left > 0 {
            let differ = if self.files_left == 1 { "differs" } else { "differ" };
            let files = CountedNoun::new(self.files_left, "file");
            let command = format!("git checkpoint merge {} --files", self.from);
            let line = TextLine::new().with(Slot::Caution, format!("  {files} {differ} from those of {}", self.from));
            text.push(line.with(Slot::Plain, format!("; to merge them too: {command}")));
        }
    }

    fn parts(&self, text: &mut Text) {
        if self.would_save {
            text.push(TextLine::plain("  what is not saved would be saved first"));
        }
        for change in self.record.iter().take(shown_rows(self.record.len(), LISTED)) {
            text.push(diff::record_line(change, 2, 16));
        }
        more(text, self.record.len());
        let counts = [
            (usize::try_from(self.messages).unwrap_or(usize::MAX), "message"),
            (self.steps, "step"),
            (self.notes, "line of the session log"),
        ];
        let words: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| match (*count, *noun) {
                (1, noun) => format!("1 {noun}"),
                (count, "line of the session log") => format!("{count} lines of the session log"),
                (count, noun) => CountedNoun::new(count, noun).to_string(),
            })
            .collect();
        if !words.is_empty() {
            let came = if self.dry_run { "would come" } else { "came" };
            text.push(TextLine::plain(format!("  {} {came}", words.join(", "))));
        }
        for point in &self.decided {
            let mut line = TextLine::plain("  decided: ");
            line.push(Slot::Plain, format!("{}: ", point.title));
            line.push(Slot::Session, &point.option);
            text.push(line);
        }
        if let Some(session) = &self.rejoined {
            let mut line = TextLine::plain("  ").with(Slot::Session, session);
            line.push(Slot::Plain, if self.dry_run { " would be" } else { " is" });
            text.push(line.with(Slot::Plain, " part of it again"));
        }
        for session in &self.finished {
            let mut line = TextLine::plain("  not chosen, finished: ");
            line.push(Slot::Session, session);
            text.push(line);
        }
        if let Some(files) = &self.files {
            for file in files.changed.iter().take(shown_rows(files.changed.len(), LISTED)) {
                let mut line = TextLine::plain(format!("  {}", file.act));
                line.pad_to(10);
                text.push(line.with(Slot::Path, &file.path));
            }
            more(text, files.changed.len());
            for file in files.skipped.iter().take(shown_rows(files.skipped.len(), LISTED)) {
                let line = TextLine::plain("  not written  ").with(Slot::Path, &file.path);
                text.push(line.with(Slot::Dim, format!("  {}", file.reason)));
            }
            more(text, files.skipped.len());
            for file in files.kept.iter().take(shown_rows(files.kept.len(), LISTED)) {
                let mut line = TextLine::plain("  keep");
                line.pad_to(10);
                let line = line.with(Slot::Path, &file.path);
                text.push(line.with(Slot::Dim, format!("  {}", file.reason)));
            }
            more(text, files.kept.len());
            if files.staged > 0 {
                let entries = CountedNoun::irregular(files.staged, "entry", "entries");
                text.push(TextLine::plain(format!("  {entries} in the index")));
            }
            if files.changed.is_empty() && files.skipped.is_empty() {
                text.push(TextLine::plain("  files unchanged"));
            }
        }
        if let Some(why) = self.without_files {
            text.push(TextLine::new().with(Slot::Dim, format!("  the files were not merged: {why}")));
        }
        self.files_left(text);
        let files = self.files.iter().flat_map(|files| &files.conflicts);
        for conflict in files {
            let mut line = TextLine::plain("  ").with(Slot::Bad, "conflict");
            line.push(Slot::Plain, "  ");
            line.push(Slot::Path, &conflict.path);
            text.push(line.with(Slot::Dim, format!("  {}", conflict.conflict)));
        }
        self.contradictions(text);
    }

    /// The conflicts of the record.
    fn contradictions(&self, text: &mut Text) {
        for conflict in self.conflicts.iter().take(shown_rows(self.conflicts.len(), LISTED)) {
            let mut line = TextLine::plain("  ").with(Slot::Bad, "conflict");
            line.push(Slot::Plain, "  ");
            line.push(Slot::Id, &conflict.id);
            line.push(Slot::Plain, format!("  {}: ", conflict.member));
            line.push(Slot::Plain, format!("{} here, ", value(conflict.ours.as_ref())));
            line.push(Slot::Plain, format!("{} in ", value(conflict.theirs.as_ref())));
            let from = conflict.session.as_deref().unwrap_or(&self.from);
            text.push(line.with(Slot::Session, from));
        }
        more(text, self.conflicts.len());
    }
}

fn more(text: &mut Text, count: usize) {
    let more = count - shown_rows(count, LISTED);
    if more > 0 {
        text.push(TextLine::new().with(Slot::Dim, format!("  ... and {more} more")));
    }
}

/// A value in a line: texts in quotes, others as short JSON.
pub(super) fn value(value: Option<&serde_json::Value>) -> String {
    const LONGEST: usize = 60;
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return "nothing".to_owned();
    };
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    let start: String = text.chars().take(LONGEST).collect();
    format!("{start}...")
}
