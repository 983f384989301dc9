//! Receipts of the commands that change sessions as a whole: `delete`, `undelete`, `pin`, `rename`, `switch`, `repair`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::CountedNoun,
    forks::branch_line,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    id::{Digest, Oid},
    name::ShortName,
    session::SessionStatus,
    step::quoted,
};

/// A session with another name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.rename/1")]
pub struct RenameReceipt<'a> {
    /// The new name.
    pub session: &'a ShortName,
    /// The old name.
    pub before: &'a ShortName,
    /// Its latest checkpoint.
    pub id: Oid,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

impl View for RenameReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let verb = if self.dry_run { "Would rename" } else { "Renamed" };
        let line = TextLine::plain(format!("{verb} session ")).with(Slot::Session, self.before.as_str());
        line.with(Slot::Plain, " to ")
            .with(Slot::Session, self.session.as_str())
            .into()
    }
}

/// The session that is current now.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.switch/1")]
pub struct SwitchReceipt<'a> {
    /// Its name.
    pub session: &'a ShortName,
    /// Its identity, which never changes.
    pub session_id: &'a str,
    /// Its status then: the current session is active, however its latest checkpoint left it.
    pub status: SessionStatus,
    /// How its latest checkpoint left it; for people.
    #[serde(skip)]
    pub saved_status: SessionStatus,
    /// Whether it was the current one before; for people.
    #[serde(skip)]
    pub was_current: bool,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

impl View for SwitchReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let verb = match (self.was_current, self.dry_run) {
            (true, _) => "Already in",
            (false, true) => "Would switch to",
            (false, false) => "Switched to",
        };
        let line = TextLine::plain(format!("{verb} session ")).with(Slot::Session, self.session.as_str());
        let mut line = line.with(Slot::Plain, format!(", {}", self.status.word()));
        if !self.was_current && self.saved_status != self.status {
            line.push(Slot::Plain, format!(", was {}", self.saved_status.word()));
        }
        line.into()
    }
}

/// A session that came back from the trash.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.undelete/1")]
pub struct UndeleteReceipt<'a> {
    /// Its name.
    pub session: &'a ShortName,
    /// Its latest checkpoint.
    pub id: Oid,
    /// Whether it is the current session of this branch now.
    pub current: bool,
    /// The session that has its identity by now, so that it got one of its own.
    pub parted_from: Option<&'a ShortName>,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

impl View for UndeleteReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let verb = if self.dry_run { "Would undelete" } else { "Undeleted" };
        let line = TextLine::plain(format!("{verb} session ")).with(Slot::Session, self.session.as_str());
        let mut line = line.with(Slot::Plain, " at ").with(Slot::Id, self.id.short());
        if self.current {
            line.push(Slot::Plain, ", the current session");
        }
        let mut text = Text::from(line);
        if let Some(twin) = self.parted_from {
            let line = TextLine::plain("  as a session of its own, since ").with(Slot::Session, twin.as_str());
            text.push(line.with(Slot::Plain, " continues the one that was deleted"));
        }
        text
    }
}

/// A checkpoint that was pinned or unpinned.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.pin/1")]
pub struct PinReceipt<'a> {
    /// Its commit.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// The session it was found through.
    pub session: Option<&'a ShortName>,
    /// Whether it is protected from pruning now.
    pub pinned: bool,
    /// Whether that is new.
    pub changed: bool,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

impl View for PinReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let word = match (self.pinned, self.changed) {
            (true, true) if self.dry_run => "Would pin",
            (false, true) if self.dry_run => "Would unpin",
            (true, true) => "Pinned",
            (true, false) => "Pinned already:",
            (false, true) => "Unpinned",
            (false, false) => "Not pinned:",
        };
        let mut line = TextLine::plain(format!("{word} ")).with(Slot::Id, self.id.short());
        if let Some(session) = self.session {
            line.push(Slot::Plain, " of session ");
            line.push(Slot::Session, session.as_str());
        }
        line.into()
    }
}

/// Sessions moved to the trash.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.delete/1")]
pub struct DeletionReceipt<'a> {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The sessions.
    pub deleted: Vec<DeletedRow<'a>>,
    /// Damaged sessions that are gone, which nothing brings back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<&'a str>,
}

/// A session moved to the trash.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedRow<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// Its latest checkpoint.
    pub id: Oid,
    /// The number of its checkpoints; null where not all of them can be read.
    pub checkpoints: Option<usize>,
    /// The ref that keeps it.
    pub trash: &'a str,
    /// The branch that was made for it, which stays, where it is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<&'a str>,
    /// Whether it is not merged; for people.
    #[serde(skip)]
    pub is_unmerged: bool,
    /// The commits that are on no other branch; for people.
    #[serde(skip)]
    pub only_there: usize,
}

impl View for DeletionReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let verb = if self.dry_run { "Would delete" } else { "Deleted" };
        let mut text = Text::new();
        for row in &self.deleted {
            let mut line = TextLine::new().with(Slot::Removed, verb).with(Slot::Plain, " session ");
            line.push(Slot::Session, row.session.as_str());
            if let Some(checkpoints) = row.checkpoints {
                line.push(
                    Slot::Plain,
                    format!(", {}", CountedNoun::new(checkpoints, "checkpoint")),
                );
            }
            line.push(Slot::Plain, ", last ");
            text.push(line.with(Slot::Id, row.id.short()));
            if let Some(branch) = row.branch {
                text.push(branch_line(branch, row.is_unmerged, row.only_there));
            }
            if !self.dry_run {
                let command = format!("git checkpoint undelete {}", row.session);
                text.push(TextLine::plain(format!("  To bring it back: {command}")));
            }
        }
        for session in &self.damaged {
            let line = TextLine::new()
                .with(Slot::Removed, verb)
                .with(Slot::Plain, " damaged session ");
            text.push(
                line.with(Slot::Session, *session)
                    .with(Slot::Plain, "; nothing brings it back"),
            );
        }
        text
    }
}

/// Sessions deleted on a remote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.remote-delete/1")]
#[schemars(extend("x-lines" = "deleted"))]
pub struct RemovalView<'a> {
    /// The remote.
    pub remote: &'a str,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The sessions.
    pub deleted: Vec<RemovedRow<'a>>,
}

/// A session deleted on a remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemovedRow<'a> {
    /// The session.
    pub session: &'a str,
    /// Its latest checkpoint there.
    pub id: Oid,
    /// Whether a session here holds all of its checkpoints.
    pub is_here: bool,
    /// The ref that keeps it, where no session here does.
    pub trash: Option<&'a str>,
    /// Why it was chosen, where it was not named.
    pub why: Option<&'static str>,
}

impl View for RemovalView<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let word = if self.dry_run { "Would delete" } else { "Deleted" };
        let lines = self.deleted.iter().map(|row| {
            let mut line = TextLine::new().with(Slot::Removed, word);
            line.push(Slot::Plain, " session ");
            line.push(Slot::Session, row.session);
            line.push(Slot::Plain, format!(" on {}, last ", self.remote));
            line.push(Slot::Id, row.id.short());
            if let Some(why) = row.why {
                line.push(Slot::Plain, format!(", {why}"));
            }
            let place = match (row.is_here, self.dry_run) {
                (true, _) => "; the local one stays",
                (false, true) => "; it would be kept in the local trash",
                (false, false) => "; it is kept in the local trash",
            };
            line.with(Slot::Plain, place)
        });
        lines.collect()
    }
}

/// Sessions recovered from their latest intact checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.repair/1")]
pub struct RepairReceipt<'a> {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The damaged sessions.
    pub sessions: Vec<RepairedRow<'a>>,
}

/// A damaged session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RepairedRow<'a> {
    /// The name of the session.
    pub session: &'a str,
    /// Its former latest checkpoint; null where its ref cannot be read.
    pub before: Option<Oid>,
    /// Its latest intact checkpoint; null where there is none.
    pub now: Option<Oid>,
    /// The ref or file that keeps the former state.
    pub kept: Option<&'a str>,
    /// Nothing was damaged: another tool had rewritten it, and its documents name the rewritten commits now.
    pub anchored: bool,
}

impl View for RepairReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let mut text = Text::new();
        if self.sessions.is_empty() {
            text.push(TextLine::plain("No damage found."));
        }
        let verb = |would: &str, did: &str| TextLine::plain(if self.dry_run { would } else { did });
        for row in &self.sessions {
            let Some(now) = &row.now else {
                let line = TextLine::new().with(Slot::Bad, "No intact checkpoint of ");
                let line = line.with(Slot::Session, row.session);
                text.push(line.with(Slot::Plain, "; nothing was changed. Fetch it from a clone that has it."));
                let delete = format!(
                    "  To go on without it: git checkpoint delete --force {}",
                    quoted(row.session)
                );
                text.push(TextLine::plain(delete));
                continue;
            };
            if row.anchored {
                let line = verb("Would anchor ", "Anchored ").with(Slot::Session, row.session);
                text.push(line.with(Slot::Plain, " to the commits rewritten by another tool"));
                continue;
            }
            let mut line = verb("Would set ", "Set ").with(Slot::Session, row.session);
            if let Some(before) = &row.before {
                line.push(Slot::Plain, " from ");
                line.push(Slot::Id, before.short());
            }
            line.push(Slot::Plain, " to ");
            line.push(Slot::Id, now.short());
            text.push(line.with(Slot::Plain, ", its latest intact checkpoint"));
            if let Some(kept) = row.kept {
                text.push(TextLine::plain("  the old tip is kept as ").with(Slot::Path, kept));
            }
        }
        text
    }
}
