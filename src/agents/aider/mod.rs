//! Aider: `.aider.chat.history.md`, Markdown in which the person's lines begin with `####` and the program's with `>`.
//!
//! There are no ids: a message is the so-and-so-many-th of the chat that began at this time. So the last answer, which
//! may grow until the next reading, stays the same message.

use chrono::NaiveDateTime;
use serde_json::Value;

use super::{Agent, Fold, Layout, Sample, blocks, transcript::Ending};
use crate::model::{chat::Role, time::Timestamp};

/// Aider.
#[derive(Debug)]
pub(super) struct Aider;

/// How a chat begins in the file.
const BEGINNING: &str = "# aider chat started at ";

impl Agent for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    fn title(&self) -> &'static str {
        "Aider"
    }

    fn layout(&self, _: &Sample<'_>) -> Layout {
        Layout::Text
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample
            .text
            .lines()
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| line.starts_with(BEGINNING))
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        let mut chat = Chat::default();
        let mut starts: Vec<&str> = Vec::new();
        let mut fence = None;
        for line in record.as_str().unwrap_or_default().lines() {
            // Within a block of code nothing is a mark.
            let ticks = line.trim_start().chars().take_while(|c| *c == '`').count();
            if fence.is_none()
                && let Some(start) = line.strip_prefix(BEGINNING)
            {
                chat.flush(fold);
                let nth = starts.iter().filter(|known| **known == start).count();
                starts.push(start);
                chat = Chat::begun(start.trim(), nth, fold);
                continue;
            }
            if fence.is_none()
                && let Some(typed) = line.strip_prefix("#### ").or_else(|| (line == "####").then_some(""))
            {
                chat.line(Some(Role::User), typed.trim_end(), fold);
                continue;
            }
            if fence.is_none()
                && let Some(told) = line.strip_prefix("> ").or_else(|| (line == ">").then_some(""))
            {
                chat.line(Some(Role::System), told.trim_end(), fold);
                continue;
            }
            match fence {
                None if ticks >= 3 => fence = Some(ticks),
                Some(opened) if ticks >= opened && line.trim() == "`".repeat(ticks) => fence = None,
                _ => {}
            }
            let role = if line.trim().is_empty() {
                None
            } else {
                Some(Role::Assistant)
            };
            chat.line(role, line, fold);
        }
        chat.flush(fold);
    }
}

/// One chat of the file.
#[derive(Default)]
struct Chat {
    start: String,
    at: Option<Timestamp>,
    count: usize,
    role: Option<Role>,
    text: String,
}

impl Chat {
    fn begun(start: &str, nth: usize, fold: &mut Fold) -> Self {
        // The program writes the time of the place, without saying which.
        let at = NaiveDateTime::parse_from_str(start, "%Y-%m-%d %H:%M:%S")
            .ok()
            .map(|time| Timestamp::from_unix(time.and_utc().timestamp(), 0));
        let start = if nth == 0 {
            start.to_owned()
        } else {
            format!("{start} ({})", nth + 1)
        };
        fold.facts().id = Some(start.clone());
        Self {
            start,
            at,
            ..Self::default()
        }
    }

    /// A line of one speaker; an empty one belongs to the last speaker.
    fn line(&mut self, role: Option<Role>, line: &str, fold: &mut Fold) {
        if let Some(role) = role
            && self.role != Some(role)
        {
            self.flush(fold);
            self.role = Some(role);
        }
        if self.role.is_some() {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn flush(&mut self, fold: &mut Fold) {
        let text = std::mem::take(&mut self.text);
        let Some(role) = self.role.take() else { return };
        let text = text.trim_matches('\n').trim_end().to_owned();
        if text.is_empty() {
            return;
        }
        self.count += 1;
        let id = format!("{}:{}", self.start, self.count);
        let at = self.at.unwrap_or_else(|| fold.time(None));
        match role {
            Role::User => {
                fold.begin(&id, &text, at);
                fold.say(&id, at, Role::User, vec![blocks::text(text)]);
            }
            Role::Assistant => {
                fold.end_turn(Ending::Done, at);
                fold.say(&id, at, Role::Assistant, vec![blocks::text(text)]);
            }
            _ => fold.event(&id, at, "note", &text, &Value::Null),
        }
    }
}
