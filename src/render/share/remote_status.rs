//! Output of `remote status`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{
        age,
        count::CountedNoun,
        slot::Slot,
        text::{Text, TextLine},
    },
    checkpoints,
};
use crate::model::{name::ShortName, time::Timestamp};

/// Relation of local sessions to those of the remotes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.remote-status/1")]
#[schemars(extend("x-lines" = "remotes"))]
pub struct RemoteStatusView<'a> {
    /// The remotes.
    pub remotes: Vec<RemoteRow<'a>>,
}

/// A remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoteRow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its URL.
    pub url: &'a str,
    /// The URL that is pushed to, where it is another.
    pub push_url: Option<&'a str>,
    /// Whether a push to it publishes every ref.
    pub mirror: bool,
    /// Whether a fetch without a remote asks it.
    pub fetch_default: bool,
    /// Whether a push without a remote goes there.
    pub push_default: bool,
    /// When it was last fetched from or pushed to.
    pub seen_at: Option<Timestamp>,
    /// The sessions.
    pub sessions: Vec<SessionRelation<'a>>,
    /// Sessions that it has and that were refused when they were last fetched.
    pub refused: Vec<RefusedSession<'a>>,
}

/// A session of a remote that is not safe to use.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusedSession<'a> {
    /// Its name.
    pub session: &'a str,
    /// Why it was refused.
    pub why: &'a str,
}

/// The relation of a session to the one of a remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionRelation<'a> {
    /// The session.
    pub session: &'a str,
    /// The relation.
    #[serde(flatten)]
    pub relation: ShareRelation<'a>,
}

/// The relation of a session here to the one of a remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShareRelation<'a> {
    /// The relation in a word, such as `not-pushed`.
    pub state: String,
    /// Its name on the remote, where it has another one there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_session: Option<&'a ShortName>,
    /// The number of checkpoints that the remote lacks.
    pub unpushed: usize,
    /// The number of checkpoints that only the remote has.
    pub unpulled: usize,
    /// Why the two cannot be compared.
    pub damage: Option<&'a str>,
}

impl RemoteStatusView<'_> {
    /// The remotes one after the other, each with its sessions.
    pub fn text(&self, now: Timestamp) -> Text {
        let mut text = Text::new();
        for (at, remote) in self.remotes.iter().enumerate() {
            if at > 0 {
                text.push(TextLine::new());
            }
            remote.lines(&mut text, now);
        }
        text
    }
}

impl RemoteRow<'_> {
    fn lines(&self, text: &mut Text, now: Timestamp) {
        let mut line = TextLine::new().with(Slot::Heading, self.name);
        line.push(Slot::Plain, format!("  {}", self.url));
        if let Some(url) = self.push_url {
            line.push(Slot::Plain, format!(", pushed to {url}"));
        }
        if let Some(seen) = self.seen_at {
            line.push(Slot::Plain, ", seen ");
            line.push(Slot::Date, age::age(seen, now));
        }
        text.push(line);
        if self.mirror {
            let caution = "mirror: every 'git push' to it publishes the sessions";
            text.push(TextLine::plain("  ").with(Slot::Caution, caution));
        }
        if self.sessions.is_empty() && self.refused.is_empty() {
            let what = if self.seen_at.is_some() {
                "  no sessions".to_owned()
            } else {
                format!("  not fetched yet: git checkpoint fetch {}", self.name)
            };
            text.push(TextLine::plain(what));
        }
        let width = self.sessions.iter().map(|row| row.session.len()).max().unwrap_or(0);
        for row in &self.sessions {
            let relation = &row.relation;
            let slot = match relation.state.as_str() {
                "up-to-date" => Slot::Good,
                "damaged" => Slot::Bad,
                "diverged" | "another-session" | "deleted-there" | "purged-here" | "pruned-here" | "pruned-there" => {
                    Slot::Caution
                }
                _ => Slot::Plain,
            };
            let mut line = TextLine::plain("  ").with(Slot::Session, row.session);
            line.pad_to(width.min(40) + 4);
            let state = match relation.state.as_str() {
                "only-here" => "local only".to_owned(),
                "only-there" => "remote only".to_owned(),
                "deleted-there" => format!("deleted on {}", self.name),
                "purged-here" => format!("{} still has what was purged here", self.name),
                "pruned-here" => format!("pruned here and not on {}", self.name),
                "pruned-there" => format!("pruned on {} and not here", self.name),
                other => other.replace('-', " "),
            };
            line.push(slot, state);
            let detail = match (relation.state.as_str(), relation.unpushed, relation.unpulled) {
                ("up-to-date" | "deleted-there" | "purged-here" | "pruned-here" | "pruned-there", ..) => String::new(),
                ("another-session", ..) => ", of the same name".to_owned(),
                ("damaged", ..) => format!(", {}", relation.damage.unwrap_or_default()),
                ("diverged", ours, theirs) => format!(", {ours} ahead, {theirs} behind"),
                (_, ours, theirs) => format!(", {}", checkpoints(ours + theirs)),
            };
            line.push(Slot::Plain, detail);
            if let Some(there) = relation.remote_session {
                line.push(Slot::Plain, format!(", as {there} on {}", self.name));
            }
            text.push(line);
        }
        self.refused_lines(text);
    }

    /// How many sessions were refused, and why.
    fn refused_lines(&self, text: &mut Text) {
        /// More would hide the rest.
        const SHOWN: usize = 5;
        if self.refused.is_empty() {
            return;
        }
        let count = CountedNoun::new(self.refused.len(), "session");
        let what = format!("  {count} refused by the last fetch:");
        text.push(TextLine::new().with(Slot::Caution, what));
        for refused in self.refused.iter().take(SHOWN) {
            let line = TextLine::plain("    ").with(Slot::Session, refused.session);
            text.push(line.with(Slot::Plain, format!("  {}", refused.why)));
        }
        if self.refused.len() > SHOWN {
            let more = self.refused.len() - SHOWN;
            text.push(TextLine::plain(format!("    and {more} more")));
        }
    }
}
