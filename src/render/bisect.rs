//! `bisect`: what is to be tested, and the first bad checkpoint.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age::DateStyle,
    count::CountedNoun,
    file_log::{StateRef, heading},
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{id::Oid, time::Timestamp};

/// How far a bisection is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.bisect/1")]
pub struct BisectView {
    /// `testing`: a checkpoint is to be tested; `found`: the first bad one is known; `skipped`: one of several that were
    /// skipped; `none`: no bisection is in progress.
    pub state: &'static str,
    /// The session.
    pub session: Option<String>,
    /// The directory to test in, as long as the bisection lasts.
    pub directory: Option<String>,
    /// The checkpoint to test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub testing: Option<StateRef>,
    /// How many checkpoints with different files may still be the first bad one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<usize>,
    /// About how many tests that takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The first bad checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<StateRef>,
    /// The turn of an agent that it was saved for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnRef>,
    /// Its changes, as a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Checkpoints one of which is the first bad one, the oldest first, where the others were skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<StateRef>,
    /// Verdicts in the order in which they were given.
    pub verdicts: Vec<VerdictRow>,
}

/// A verdict.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerdictRow {
    /// The checkpoint.
    pub id: Oid,
    /// `good`, `bad` or `skip`.
    pub verdict: &'static str,
}

/// A turn of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnRef {
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: Option<String>,
    /// The first line of the prompt.
    pub prompt: String,
}

impl BisectView {
    /// A view without a bisection.
    pub fn none() -> Self {
        Self {
            state: "none",
            session: None,
            directory: None,
            testing: None,
            left: None,
            steps: None,
            first_bad: None,
            turn: None,
            patch: None,
            candidates: Vec::new(),
            verdicts: Vec::new(),
        }
    }

    /// The text for people, the patch apart.
    pub fn text(&self, dates: &DateStyle, now: Timestamp) -> Text {
        let mut out = Text::new();
        if let Some(state) = &self.testing {
            let left = CountedNoun::new(self.left.unwrap_or(1).saturating_sub(1), "checkpoint");
            let steps = CountedNoun::new(self.steps.unwrap_or_default() as usize, "step");
            out.push(TextLine::plain(format!(
                "Bisecting: {left} left to test after this (roughly {steps})"
            )));
            out.push(one(state, dates, now));
            if let Some(directory) = &self.directory {
                out.push(TextLine::plain("Test it in: ").with(Slot::Path, directory));
            }
        }
        if let Some(state) = &self.first_bad {
            out.push(
                TextLine::new()
                    .with(Slot::Id, state.id.short())
                    .with(Slot::Bad, " is the first bad checkpoint"),
            );
            for line in heading(state, dates, now) {
                out.push(line);
            }
            if let Some(turn) = &self.turn {
                let model = turn
                    .model
                    .as_ref()
                    .map(|model| format!(" ({model})"))
                    .unwrap_or_default();
                out.push(
                    TextLine::plain("Turn of ")
                        .with(Slot::Person, format!("{}{model}", turn.agent))
                        .with(Slot::Plain, format!(": {}", turn.prompt)),
                );
                out.push(TextLine::new());
            }
        }
        if !self.candidates.is_empty() {
            out.push(TextLine::plain(
                "There are only skipped checkpoints left to test. The first bad one could be any of:",
            ));
            for state in &self.candidates {
                out.push(one(state, dates, now));
            }
        }
        out
    }

    /// The verdicts for people.
    pub fn log(&self) -> Text {
        let line = |row: &VerdictRow| {
            let slot = match row.verdict {
                "good" => Slot::Good,
                "bad" => Slot::Bad,
                _ => Slot::Caution,
            };
            TextLine::new()
                .with(slot, format!("{:5}", row.verdict))
                .with(Slot::Id, row.id.short())
        };
        self.verdicts.iter().map(line).collect()
    }
}

/// A checkpoint in a line.
fn one(state: &StateRef, dates: &DateStyle, now: Timestamp) -> TextLine {
    let mut line = TextLine::plain("  ").with(Slot::Id, state.id.short());
    line.push(Slot::Session, format!(" {}", state.session));
    line.push(Slot::Date, format!("  {}  ", dates.show(state.at, now)));
    line.push(Slot::Person, state.who());
    line.push(Slot::Plain, format!("  {}", state.subject));
    line
}
