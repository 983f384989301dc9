//! Output of `verify`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::CountedNoun,
    signature::SignatureView,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{id::Oid, path::RepoPath};

/// The damage of sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.verify/1")]
#[schemars(extend("x-lines" = "issues"))]
pub struct VerifyView<'a> {
    /// Whether there is no damage.
    pub valid: bool,
    /// Whether every damaged session has an intact checkpoint.
    pub recoverable: bool,
    /// The damage, in the order of sessions.
    pub issues: Vec<IssueRow<'a>>,
    /// The number of sessions that were checked.
    pub sessions: usize,
    /// The number of other refs that were checked: autosaves, safety checkpoints, the trash.
    pub other_refs: usize,
    /// The number of checkpoints that were checked.
    pub checkpoints: usize,
    /// The number of objects that were read and hashed.
    pub objects: usize,
    /// The number of objects that this partial clone did not fetch.
    pub promised: usize,
    /// Signatures of the checkpoints that have one.
    pub signatures: Vec<SignatureView>,
    /// The number of checkpoints with each kind of signature in words, for people.
    #[serde(skip)]
    pub signed: BTreeMap<String, usize>,
}

/// A damaged thing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct IssueRow<'a> {
    /// The session or ref.
    pub session: &'a str,
    /// The checkpoint, where it is one of the session's.
    pub checkpoint: Option<Oid>,
    /// The file of its snapshot, where it is about one.
    pub path: Option<&'a RepoPath>,
    /// The kind of damage in a word.
    pub problem: &'static str,
    /// The damage in words.
    pub message: &'a str,
    /// The latest intact checkpoint of the session.
    pub newest_good: Option<Oid>,
    /// The command or advice that helps.
    pub fix: String,
}

impl View for VerifyView<'_> {
    fn text(&self) -> Text {
        let others = match self.other_refs {
            0 => String::new(),
            others => format!(" and {}", CountedNoun::new(others, "other ref")),
        };
        let mut line = TextLine::plain(format!(
            "Checked {} of {}{others}, {}",
            CountedNoun::new(self.checkpoints, "checkpoint"),
            CountedNoun::new(self.sessions, "session"),
            CountedNoun::new(self.objects, "object"),
        ));
        if self.promised > 0 {
            line.push(
                Slot::Plain,
                format!(" ({} not fetched by this partial clone)", self.promised),
            );
        }
        let mut text = Text::from(line);
        let unsigned = self.checkpoints.saturating_sub(self.signatures.len());
        let unsigned = (!self.signed.is_empty() && unsigned > 0).then_some(("not signed", unsigned));
        let signed = self.signed.iter().map(|(words, count)| (words.as_str(), *count));
        for (words, count) in signed.chain(unsigned) {
            let checkpoints = CountedNoun::new(count, "checkpoint");
            text.push(TextLine::plain(format!("  {checkpoints}: {words}")));
        }
        if self.valid {
            text.push(TextLine::new().with(Slot::Good, "No damage found."));
        }
        for issue in &self.issues {
            let word = match issue.problem {
                "signature" => "bad  ",
                "rewritten" => "rewritten  ",
                "name" => "misnamed  ",
                _ => "damaged  ",
            };
            let mut line = TextLine::new().with(Slot::Bad, word).with(Slot::Session, issue.session);
            if let Some(checkpoint) = &issue.checkpoint {
                line.push(Slot::Plain, " ");
                line.push(Slot::Id, checkpoint.short());
            }
            if let Some(path) = issue.path {
                line.push(Slot::Plain, "  ");
                line.push(Slot::Path, path.quoted());
            }
            text.push(line);
            text.push(TextLine::plain(format!("         {}", issue.message)));
        }
        text
    }
}
