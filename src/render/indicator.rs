//! State of the current session at a glance: what the page and the terminal interface show above everything else.

use super::{age, slot::Slot, text::TextLine};
use crate::model::{id::Oid, time::Timestamp};

/// State of a session.
#[derive(Clone, Debug)]
pub struct IndicatorView {
    /// Its name.
    pub session: String,
    /// `active`, `paused` and so on.
    pub status: &'static str,
    /// The branch at save time.
    pub branch: Option<String>,
    /// Its latest checkpoint.
    pub id: Oid,
    /// When that was saved.
    pub saved_at: Timestamp,
    /// The time now.
    pub now: Timestamp,
    /// Whether record or chat have something that is not saved.
    pub unsaved: bool,
    /// Saved messages that no summary represents.
    pub messages: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Whether they were counted; otherwise they are an estimate.
    pub exact: bool,
    /// The limit at which the chat is compacted; 0 for none.
    pub limit: u64,
    /// Whether the chat will be compacted soon.
    pub near: bool,
    /// The latest compaction.
    pub compaction: Option<CompactionGlance>,
    /// Approvals without an answer.
    pub approvals: Vec<OpenItem>,
    /// Questions without an answer.
    pub questions: Vec<OpenItem>,
}

/// A compaction in one line.
#[derive(Clone, Copy, Debug)]
pub struct CompactionGlance {
    /// How many there were.
    pub count: u64,
    /// When the latest was.
    pub at: Timestamp,
    /// Messages that it represents.
    pub messages: u64,
    /// Tokens before it.
    pub before: u64,
    /// Tokens after it.
    pub after: u64,
}

/// An item that waits for an answer.
#[derive(Clone, Debug)]
pub struct OpenItem {
    /// Its id.
    pub id: String,
    /// Text of the question.
    pub text: String,
}

impl IndicatorView {
    /// Tokens as a share of the limit, in percent; `None` without a limit.
    pub fn percent(&self) -> Option<u64> {
        (self.limit > 0).then(|| (self.tokens.saturating_mul(100) / self.limit).min(100))
    }

    /// The tokens, with their limit where there is one.
    pub fn tokens_text(&self) -> String {
        let about = if self.exact { "" } else { "about " };
        match self.limit {
            0 => format!("{about}{} tokens", grouped(self.tokens)),
            limit => format!("{about}{} of {} tokens", grouped(self.tokens), grouped(limit)),
        }
    }

    /// One line.
    pub fn line(&self) -> TextLine {
        let mut line = TextLine::new().with(Slot::Session, &self.session);
        line.push(Slot::Plain, format!("  {}", self.status));
        line.push(Slot::Dim, format!("  saved {}", age::age(self.saved_at, self.now)));
        if self.unsaved {
            line.push(Slot::Caution, "  unsaved changes");
        }
        if self.tokens > 0 {
            let slot = if self.near { Slot::Caution } else { Slot::Dim };
            line.push(slot, format!("  {}", self.tokens_text()));
        }
        line
    }
}

/// A number with a comma between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
