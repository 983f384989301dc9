//! Output of the commands that share sessions: `push`, `fetch`, `pull`; those of bundles and of `remote status` are below.

mod bundle;
mod remote_status;

use schemars::JsonSchema;
use serde::Serialize;

pub use bundle::{BundleReceipt, BundledRow, RefusedBundle, UnbundleReceipt};
pub use remote_status::{RefusedSession, RemoteRow, RemoteStatusView, SessionRelation, ShareRelation};

use super::{
    View,
    count::CountedNoun,
    signature::SignatureView,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{id::Oid, name::ShortName, report::CommitInfo};

fn checkpoints(count: usize) -> String {
    CountedNoun::new(count, "checkpoint").to_string()
}

/// Checkpoints that a pull left out, since one side pruned them.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PrunedCheckpoints {
    /// The number of those that were here and that the remote pruned.
    pub pruned_there: usize,
    /// The number of those that the remote has and that were pruned here.
    pub pruned_here: usize,
    /// The remote, for people.
    #[serde(skip)]
    pub remote: String,
    /// The command that prunes the remote as well, for people.
    #[serde(skip)]
    pub push: String,
}

impl PrunedCheckpoints {
    /// A line for each side that pruned some.
    pub fn lines(&self) -> impl Iterator<Item = TextLine> {
        let without = |count: usize| {
            let were = if count == 1 { "was" } else { "were" };
            format!("  without the {} that {were} pruned", checkpoints(count))
        };
        let there = (self.pruned_there > 0).then(|| format!("{} on {}", without(self.pruned_there), self.remote));
        let here = (self.pruned_here > 0).then(|| {
            let (without, remote) = (without(self.pruned_here), &self.remote);
            format!("{without} here; to prune {remote} as well: {}", self.push)
        });
        there.into_iter().chain(here).map(TextLine::plain)
    }
}

/// A session that follows its remote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.pull/1")]
pub struct PullReceipt<'a> {
    /// The remote.
    pub remote: &'a str,
    /// The name of the session.
    pub session: &'a ShortName,
    /// Its name on the remote, where it has another one there.
    pub remote_session: Option<&'a ShortName>,
    /// Its latest checkpoint.
    pub id: Oid,
    /// Its latest checkpoint before.
    pub before: Option<Oid>,
    /// The outcome in a word.
    #[schemars(extend("enum" = ["up-to-date", "new", "forward", "pruned", "diverged", "merged"]))]
    pub result: &'static str,
    /// Who saved the latest checkpoint.
    pub author: &'a str,
    /// The signature of the latest checkpoint; null where it is not signed.
    pub signature: Option<SignatureView>,
    /// The signature in words, for people.
    #[serde(skip)]
    pub signed: Option<String>,
    /// The session that holds what was only here.
    pub tail: Option<&'a ShortName>,
    /// The first checkpoint of that session.
    pub fork: Option<Oid>,
    /// Checkpoints that it does without.
    pub left_out: PrunedCheckpoints,
    /// Whether it is the current session of this working tree.
    pub current: bool,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Whether it came from a bundle, which no pull reads; for people.
    #[serde(skip)]
    pub from_bundle: bool,
    /// The number of checkpoints that were only here, for people.
    #[serde(skip)]
    pub ours: usize,
    /// The number of checkpoints that came, for people; of a session that was pruned there, of those that went.
    #[serde(skip)]
    pub theirs: usize,
}

impl PullReceipt<'_> {
    fn detail(&self) -> String {
        match (self.result, self.ours) {
            ("up-to-date", 0) => String::new(),
            ("up-to-date", ahead) => format!(", {} not pushed", checkpoints(ahead)),
            ("new", _) => format!(", new, {}", checkpoints(self.theirs)),
            ("pruned", ours) => {
                let were = if self.theirs == 1 { "was" } else { "were" };
                let gone = format!(", without the {} that {were} pruned there", checkpoints(self.theirs));
                match ours {
                    0 => gone,
                    ours => format!("{gone}, {} not pushed", checkpoints(ours)),
                }
            }
            _ => format!(", {}", checkpoints(self.theirs)),
        }
    }

    fn plan(&self) -> TextLine {
        let (name, ours, theirs) = (self.session, checkpoints(self.ours), checkpoints(self.theirs));
        let tail = self.tail.map(ShortName::as_str).unwrap_or_default();
        TextLine::plain(match self.result {
            "up-to-date" => format!("Up to date: {name}{}", self.detail()),
            "diverged" => format!(
                "Would pull {name}, {theirs}; {ours} of yours would move to session {tail}, or be merged with it by 'git checkpoint \
                 pull --merge {} {}'",
                self.remote,
                self.remote_session.unwrap_or(name)
            ),
            "merged" => format!("Would merge {name}: {theirs} of the remote, {ours} of yours"),
            _ => format!("Would pull {name}{}", self.detail()),
        })
    }
}

impl View for PullReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        if self.dry_run {
            return std::iter::once(self.plan()).chain(self.left_out.lines()).collect();
        }
        let word = if self.result == "up-to-date" {
            "Up to date:"
        } else {
            "Pulled"
        };
        let mut line = TextLine::new().with(Slot::Added, word).with(Slot::Plain, " ");
        line.push(Slot::Session, self.session.as_str());
        line.push(Slot::Plain, " ");
        line.push(Slot::Id, self.id.short());
        line.push(
            Slot::Plain,
            format!(" from {}{}, latest by ", self.remote, self.detail()),
        );
        line.push(Slot::Person, self.author);
        if let Some(signed) = &self.signed {
            line.push(Slot::Plain, format!(", {signed}"));
        }
        let mut text = Text::from(line);
        if let Some(tail) = self.tail {
            let mut line = TextLine::plain("  ");
            if let Some(fork) = &self.fork {
                let own = match self.ours {
                    1 => "your checkpoint was".to_owned(),
                    ours => format!("your {} were", checkpoints(ours)),
                };
                line.push(Slot::Plain, format!("{own} "));
                line.push(Slot::Caution, "moved to session ");
                line.push(Slot::Session, tail.as_str());
                line.push(Slot::Plain, " ");
                line.push(Slot::Id, fork.short());
            } else {
                line.push(Slot::Plain, "your own session of that name ");
                line.push(Slot::Caution, "is now called ");
                line.push(Slot::Session, tail.as_str());
            }
            text.push(line);
            if self.fork.is_some() {
                let name = self.remote_session.unwrap_or(self.session);
                let command = if self.from_bundle {
                    format!("git checkpoint merge {} --session {tail}", self.session)
                } else {
                    format!("git checkpoint pull --merge {} {name}", self.remote)
                };
                text.push(TextLine::plain(format!("  merge both: {command}")));
            }
        }
        if let Some(there) = self.remote_session {
            let line = TextLine::plain(format!("  on {} it is called ", self.remote));
            text.push(line.with(Slot::Session, there.as_str()));
        }
        for line in self.left_out.lines() {
            text.push(line);
        }
        text
    }
}

/// Sessions that were sent to a remote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.push/1")]
pub struct PushReceipt<'a> {
    /// The remote.
    pub remote: &'a str,
    /// Its URL.
    pub url: &'a str,
    /// The beginning of the refs that sessions have there.
    pub namespace: &'a str,
    /// Whether nothing was sent.
    pub dry_run: bool,
    /// The sessions.
    pub sessions: Vec<PushRow<'a>>,
    /// Sessions that were renamed, as the remote has others of the same name.
    pub renamed: Vec<RenamedRow<'a>>,
    /// The number of commits of branches that went along.
    pub commits: usize,
    /// The first of these commits, for people.
    #[serde(skip)]
    pub first_commits: &'a [CommitInfo],
    /// The number of autosaves that went along.
    pub autosaves: usize,
    /// The number of files of git-lfs that were sent first.
    pub lfs_objects: usize,
    /// Files that were not searched for secrets.
    pub unscanned: &'a [String],
    /// The number of secrets that were published because that was allowed.
    pub secrets_published: usize,
}

/// A session that was sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PushRow<'a> {
    /// Its name.
    pub session: &'a ShortName,
    /// Its latest checkpoint here.
    pub id: Oid,
    /// The outcome in a word.
    pub result: &'static str,
    /// Whether the remote has now what is here.
    pub ok: bool,
    /// The number of checkpoints that the outcome is about.
    pub checkpoints: Option<usize>,
    /// Its name on the remote, where that has it under another one only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_session: Option<&'a ShortName>,
    /// Why the remote refused it.
    pub reason: Option<&'a str>,
    /// The number of paths that are unmerged in that checkpoint.
    pub unmerged: usize,
    /// The numbers of checkpoints that are only here and only there, for people.
    #[serde(skip)]
    pub diverged: (usize, usize),
    /// Whether the error of the command is about it, which people need not read twice.
    #[serde(skip)]
    pub is_error: bool,
}

/// A session with another name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RenamedRow<'a> {
    /// The old name.
    pub from: &'a ShortName,
    /// The new name.
    pub to: &'a ShortName,
}

impl View for PushReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let mut text = Text::new();
        if self.commits > 0 {
            let verb = if self.dry_run {
                "Would also upload"
            } else {
                "Also uploaded"
            };
            let commits = CountedNoun::new(self.commits, "commit");
            let remote = self.remote;
            text.push(TextLine::plain(format!(
                "{verb} {commits} of your history that '{remote}' lacked:"
            )));
            for commit in self.first_commits {
                let line = TextLine::plain("  ").with(Slot::Id, commit.id.short());
                text.push(line.with(Slot::Plain, format!(" {}", commit.subject)));
            }
            if self.commits > self.first_commits.len() {
                let more = self.commits - self.first_commits.len();
                text.push(TextLine::plain(format!("  and {more} more")));
            }
        }
        for row in &self.renamed {
            let verb = if self.dry_run { "Would rename" } else { "Renamed" };
            let mut line = TextLine::new().with(Slot::Changed, verb).with(Slot::Plain, " session ");
            line.push(Slot::Session, row.from.as_str());
            line.push(Slot::Plain, " to ");
            line.push(Slot::Session, row.to.as_str());
            let why = format!(", as {} has another session of that name", self.remote);
            text.push(line.with(Slot::Plain, why));
            if !self.dry_run {
                let resume = format!("  the one on {0}: git checkpoint resume {0}/{1}", self.remote, row.from);
                text.push(TextLine::plain(resume));
            }
        }
        for row in self.sessions.iter().filter(|row| !row.is_error) {
            text.push(self.line(row));
        }
        for (count, noun, verb) in [
            (self.lfs_objects, "file", "of git-lfs sent first"),
            (self.autosaves, "autosave", "pushed"),
        ] {
            if count > 0 {
                text.push(TextLine::plain(format!("{} {verb}", CountedNoun::new(count, noun))));
            }
        }
        text
    }
}

impl PushReceipt<'_> {
    fn line(&self, row: &PushRow<'_>) -> TextLine {
        let (slot, word) = match (row.result, row.ok, self.dry_run) {
            ("up-to-date", ..) => (Slot::Plain, "Up to date:"),
            ("behind", ..) | ("pruned-there", true, _) => (Slot::Caution, "Not pushed:"),
            (_, false, _) => (Slot::Bad, "Refused:"),
            (_, true, true) => (Slot::Added, "Would push"),
            (_, true, false) => (Slot::Added, "Pushed"),
        };
        let mut line = TextLine::new().with(slot, word).with(Slot::Plain, " ");
        line.push(Slot::Session, row.session.as_str());
        line.push(Slot::Plain, " ");
        line.push(Slot::Id, row.id.short());
        let to = if row.result == "up-to-date" { "on" } else { "to" };
        line.push(Slot::Plain, format!(" {to} {}", self.remote));
        let count = checkpoints(row.checkpoints.unwrap_or(0));
        let (ours, theirs) = row.diverged;
        let detail = match row.result {
            "new" => format!(", new, {count}"),
            "forward" => format!(", {count}"),
            "put-back" => ", put back".to_owned(),
            "pruned" => ", pruned".to_owned(),
            "behind" => format!(", which has {count} more"),
            "diverged" => format!(", which diverged: {ours} ahead, {theirs} behind"),
            "pruned-there" => format!(", where it was pruned of {count}"),
            "another-session" => ", which has another session of that name".to_owned(),
            "named-otherwise" => {
                let there = row.remote_session.map(ToString::to_string);
                format!(", which has it as {}", there.unwrap_or_default())
            }
            "deleted" => ", which deleted it".to_owned(),
            _ => row.reason.map(|why| format!(": {why}")).unwrap_or_default(),
        };
        line.with(Slot::Plain, detail)
    }
}

/// The sessions of a remote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.fetch/1")]
pub struct FetchReceipt<'a> {
    /// Whether nothing was kept.
    pub dry_run: bool,
    /// The remote.
    pub remote: &'a str,
    /// Its URL.
    pub url: &'a str,
    /// The sessions that changed there.
    pub sessions: Vec<FetchRow<'a>>,
    /// Sessions that are not safe to use.
    pub refused: Vec<RefusedFetch<'a>>,
    /// The number of sessions that are as they were.
    pub unchanged: usize,
    /// The number of sessions that `--since` left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub older: usize,
    /// Sessions fetched before that are not in those here yet, for people.
    #[serde(skip)]
    pub waiting: Vec<(String, usize)>,
}

/// A session that changed on a remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FetchRow<'a> {
    /// Its name.
    pub session: &'a ShortName,
    /// The selector that names it here.
    pub selector: String,
    /// Its latest checkpoint there; null where it was deleted.
    pub id: Option<Oid>,
    /// Its latest checkpoint there, as it was known before.
    pub before: Option<Oid>,
    /// The change in a word.
    pub change: &'static str,
    /// The name that it has there now, where it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed: Option<&'a ShortName>,
    /// The number of checkpoints that the change is about.
    pub checkpoints: Option<usize>,
    /// Whether the change was followed here.
    pub followed: bool,
}

/// A session of a remote that is not safe to use.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusedFetch<'a> {
    /// Its name.
    pub session: &'a str,
    /// The reason.
    pub reason: &'a str,
}

impl View for FetchReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let remote = self.remote;
        let mut text = Text::new();
        let row = |slot, word: &str, session: &str| {
            let mut line = TextLine::plain("  ").with(slot, word);
            line.pad_to(12);
            line.with(Slot::Session, session)
        };
        if self.sessions.is_empty() && self.refused.is_empty() {
            let sessions = CountedNoun::new(self.unchanged, "session");
            text.push(TextLine::plain(format!("Nothing new on {remote}, {sessions}")));
        } else {
            text.push(TextLine::plain(format!("From {remote} ({})", self.url)));
        }
        for found in &self.sessions {
            let is_good = matches!(found.change, "new" | "forward" | "renamed");
            let slot = if is_good { Slot::Added } else { Slot::Caution };
            let word = if found.change == "forward" {
                "updated"
            } else {
                found.change
            };
            let mut line = row(slot, word, found.session.as_str());
            if let Some(id) = &found.id {
                line.push(Slot::Plain, "  ");
                line.push(Slot::Id, id.short());
            }
            let count = found.checkpoints.unwrap_or(0);
            let more = |word: &str| CountedNoun::new(count, &format!("{word} checkpoint")).to_string();
            let detail = match (found.change, found.checkpoints) {
                ("new", _) => checkpoints(count),
                ("forward", Some(0)) => "pruned there".to_owned(),
                ("forward", _) => more("more"),
                (_, Some(_)) => more("fewer"),
                ("renamed", None) => {
                    let name = found.renamed.map(ToString::to_string);
                    format!("called {} there now", name.unwrap_or_default())
                }
                (_, None) if found.id.is_none() => "not there any more".to_owned(),
                _ => "another history than before".to_owned(),
            };
            line.push(Slot::Plain, format!("  {detail}"));
            if !found.followed {
                line.push(Slot::Caution, "; kept here as it was");
            }
            text.push(line);
        }
        for refused in &self.refused {
            let line = row(Slot::Bad, "refused", refused.session);
            text.push(line.with(Slot::Plain, format!("  {}", refused.reason)));
        }
        for (session, count) in &self.waiting {
            let line = row(Slot::Caution, "pending", session);
            let earlier = format!("  {} fetched earlier, not in yours yet:", checkpoints(*count));
            text.push(line.with(Slot::Plain, earlier));
            text.push(TextLine::plain(format!(
                "              git checkpoint pull {remote} {session}"
            )));
        }
        if self.older > 0 {
            let older = CountedNoun::new(self.older, "older session");
            text.push(TextLine::new().with(Slot::Dim, format!("  {older} not fetched")));
        }
        text
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
