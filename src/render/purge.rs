//! Receipt of `purge`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::CountedNoun,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{id::Oid, path::RepoPath};

/// Command that deletes the removed objects from the disk.
pub const COLLECT: &str = "git gc --prune=now";

/// Limit of paths or names that are listed one by one; JSON has all of them.
const TOLD: usize = 10;

/// Content that was permanently removed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.purge/1")]
pub struct PurgeReceipt<'a> {
    /// `purged`, `planned` or `nothing`.
    #[schemars(extend("enum" = ["nothing", "planned", "purged"]))]
    pub outcome: &'static str,
    /// `files`, `checkpoint` or `session`.
    #[schemars(extend("enum" = ["files", "checkpoint", "session"]))]
    pub of: &'static str,
    /// The session, or the id of the checkpoint; null for files.
    pub subject: Option<String>,
    /// The files that were removed from checkpoints.
    pub paths: Vec<PurgedPath<'a>>,
    /// Attachments with the same content, which were removed as well.
    pub attachments: &'a [String],
    /// Attachments that are called as a removed file and have another content; they stay.
    pub alike: &'a [String],
    /// Checkpoints that still have files as the removed one had changed them.
    pub carried: usize,
    /// Checkpoints that were written again.
    pub rewritten: usize,
    /// Checkpoints that were removed.
    pub dropped: usize,
    /// Refs that moved or were deleted.
    pub refs: Vec<PurgedRef<'a>>,
    /// Refs whose reflogs were emptied.
    pub reflogs: &'a [String],
    /// Entries of undo lists that are gone.
    pub undo_forgotten: usize,
    /// Remotes that still have it.
    pub remotes: Vec<RemoteSession<'a>>,
    /// Forks that keep the first checkpoint of the session.
    pub forks: Vec<&'a str>,
    /// Removed contents that the repository still holds elsewhere.
    pub still_held: &'a [Oid],
    /// Removed files that are in the working tree.
    pub on_disk: &'a [RepoPath],
    /// Command that deletes the objects from the disk; null when there were none.
    pub collect: Option<&'static str>,
}

/// A file that was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgedPath<'a> {
    /// Its path, C-quoted where it must be.
    pub path: &'a RepoPath,
    /// The contents that checkpoints had of it.
    pub contents: Vec<&'a Oid>,
}

/// A ref that was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgedRef<'a> {
    /// Its full name.
    pub name: &'a str,
    /// Old value.
    pub old: &'a Oid,
    /// New value; null if it was deleted.
    pub new: Option<&'a Oid>,
}

/// A session on a remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoteSession<'a> {
    /// The remote.
    pub remote: &'a str,
    /// The session.
    pub session: &'a str,
    /// Command that removes it there, or first brings here what only the remote has of the session.
    pub command: String,
    /// Whether that was done.
    pub removed: bool,
}

impl View for PurgeReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.outcome == "planned"
    }

    fn text(&self) -> Text {
        let mut text = Text::new();
        if self.outcome == "nothing" {
            text.push(TextLine::plain(self.nothing()));
            return text;
        }
        let planned = self.outcome == "planned";
        let (word, slot) = if planned {
            ("Would purge", Slot::Plain)
        } else {
            ("Purged", Slot::Removed)
        };
        let mut first = TextLine::new().with(slot, word).with(Slot::Plain, " ");
        match (self.of, &self.subject) {
            ("files", _) | (_, None) => {
                first.push(Slot::Plain, CountedNoun::new(self.paths.len(), "file").to_string());
                let checkpoints = CountedNoun::new(self.rewritten, "checkpoint").to_string();
                first.push(Slot::Plain, format!(", {checkpoints} rewritten"));
            }
            (of, Some(subject)) => {
                first.push(Slot::Plain, format!("{of} "));
                first.push(if of == "session" { Slot::Session } else { Slot::Id }, subject);
                let mut rest = Vec::new();
                if of == "session" {
                    rest.push(CountedNoun::new(self.dropped, "checkpoint").to_string());
                }
                if self.rewritten > 0 {
                    rest.push(format!("{} after it rewritten", self.rewritten));
                }
                if !rest.is_empty() {
                    first.push(Slot::Plain, format!(", {}", rest.join(", ")));
                }
            }
        }
        text.push(first);
        self.rows(&mut text);
        text
    }
}

impl PurgeReceipt<'_> {
    /// The question before it is done.
    pub fn question(&self) -> String {
        let what = match (self.of, &self.subject) {
            ("files", _) | (_, None) => format!(
                "{} from {}",
                CountedNoun::new(self.paths.len(), "file"),
                CountedNoun::new(self.rewritten, "checkpoint")
            ),
            (of, Some(subject)) => format!("{of} {subject}"),
        };
        format!("Permanently remove {what}? This cannot be undone.")
    }

    fn nothing(&self) -> String {
        match self.of {
            "files" => "Nothing to purge: no checkpoint has these files".to_owned(),
            _ => "Nothing to purge".to_owned(),
        }
    }

    fn rows(&self, text: &mut Text) {
        let mut row = |label: &str, value: TextLine| {
            let mut line = TextLine::plain("  ").with(Slot::Heading, label);
            line.pad_to(12);
            line.append(&value);
            text.push(line);
        };
        for path in self.paths.iter().take(TOLD) {
            let contents = CountedNoun::new(path.contents.len(), "content");
            let line = TextLine::new().with(Slot::Path, path.path.quoted());
            row("file", line.with(Slot::Dim, format!(", {contents}")));
        }
        if self.paths.len() > TOLD {
            row("", TextLine::plain(format!("and {} more", self.paths.len() - TOLD)));
        }
        for name in self.attachments.iter().take(TOLD) {
            let line = TextLine::new().with(Slot::Path, name);
            row("attached", line.with(Slot::Dim, ", with the same content"));
        }
        for name in self.alike.iter().take(TOLD) {
            let line = TextLine::new().with(Slot::Path, name);
            row(
                "attached",
                line.with(Slot::Caution, ", same name but different content, kept"),
            );
        }
        if self.carried > 0 {
            let checkpoints = CountedNoun::new(self.carried, "other checkpoint");
            let line = TextLine::new().with(Slot::Caution, format!("{checkpoints} still with files that it changed"));
            row("kept", line);
            row(
                "",
                TextLine::plain("git checkpoint purge -- PATH removes a file from all"),
            );
        }
        if self.of == "checkpoint" && self.rewritten > 0 {
            let kept = "text of the record, chat and steps, which later checkpoints carry over;";
            row("kept", TextLine::plain(kept));
            row("", TextLine::plain("text is removed only with the whole session"));
        }
        let names: Vec<_> = self.refs.iter().map(|moved| moved.name).collect();
        for (prefix, label) in [
            ("refs/checkpoints/", "session"),
            ("refs/checkpoints-autosave/", "autosaves"),
            ("refs/checkpoints-deferred/", "deferred"),
            ("refs/checkpoints-undo/", "undo"),
            ("refs/checkpoints-trash/", "trash"),
        ] {
            let those: Vec<_> = names.iter().filter_map(|name| name.strip_prefix(prefix)).collect();
            match those.len() {
                0 => {}
                n if label == "session" => {
                    let more = if n > TOLD {
                        format!(" and {} more", n - TOLD)
                    } else {
                        String::new()
                    };
                    let first = those.into_iter().take(TOLD).collect::<Vec<_>>().join(", ");
                    row(
                        label,
                        TextLine::new().with(Slot::Session, first).with(Slot::Plain, more),
                    );
                }
                n => row(label, TextLine::plain(CountedNoun::new(n, "ref").to_string())),
            }
        }
        if self.undo_forgotten > 0 {
            let entries = CountedNoun::irregular(self.undo_forgotten, "entry", "entries");
            row("forgotten", TextLine::plain(format!("{entries} of the undo list")));
        }
        if !self.forks.is_empty() {
            let forks = self.forks.join(", ");
            row(
                "kept",
                TextLine::plain(format!("its first checkpoint, where forks begin: {forks}")),
            );
        }
        for remote in &self.remotes {
            if remote.removed {
                let line = TextLine::new().with(Slot::Good, remote.remote);
                row(
                    "remote",
                    line.with(Slot::Plain, format!(" has it no longer in session {}", remote.session)),
                );
                continue;
            }
            let mut line = TextLine::new().with(Slot::Caution, remote.remote);
            line.push(Slot::Plain, format!(" still has it in session {}: ", remote.session));
            line.push(Slot::Plain, &remote.command);
            row("remote", line);
        }
        if !self.still_held.is_empty() {
            let contents = CountedNoun::new(self.still_held.len(), "content");
            row(
                "held",
                TextLine::new().with(
                    Slot::Caution,
                    format!("{contents} also in the project's history, index or stash"),
                ),
            );
            row(
                "",
                TextLine::plain(format!(
                    "git log --all --reflog --find-object={}",
                    self.still_held[0].short()
                )),
            );
        }
        for path in self.on_disk.iter().take(TOLD) {
            let line = TextLine::new().with(Slot::Path, path.quoted());
            row(
                "on disk",
                line.with(Slot::Caution, ", and the next save includes it again"),
            );
        }
        if let Some(command) = self.collect {
            row("then run", TextLine::new().with(Slot::Prompt, command));
        }
    }
}
