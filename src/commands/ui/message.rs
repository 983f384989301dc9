//! JSON, and words for people next to the data: receipts, status, warnings, hints and errors, and which of them `--quiet`, `--json`
//! and git's advice settings leave out.

use serde::Serialize;

use super::{Ui, WIDTH};
use crate::commands::environment::boolean;
use crate::commands::error::{CommandError, FailureKind, hint_lines};
use crate::os;
use crate::render::View;
use crate::render::escape;
use crate::render::help::{WarningDetail, WarningView};
use crate::render::schemas;
use crate::render::slot::Slot;
use crate::render::text::{Text, TextLine, width};
use crate::render::unbroken::words;

/// Bytes of JSON that are kept for when they cannot be written. No receipt is longer; a list is, and changes nothing.
const LOST: usize = 64 * 1024;

/// Rows of a list whose JSON is in memory at one time.
const ROWS: usize = 16 * 1024;

impl Ui {
    /// One JSON document on standard output; on several lines when a person reads it. Hidden characters are escaped.
    /// With `--json=lines` what it lists, an object a line, and what lists nothing as one line.
    ///
    /// # Errors
    /// When `value` cannot be written as JSON.
    pub fn json(&self, value: &impl Serialize) -> Result<(), CommandError> {
        self.json_document(serde_json::to_string(value))
    }

    /// The same of a list: `empty` is `view` without its `rows`, which come last in it. Two threads make their text.
    ///
    /// # Errors
    /// When `view` cannot be written as JSON.
    pub fn json_list<R: Serialize + Sync>(
        &self,
        view: &impl Serialize,
        empty: &impl Serialize,
        rows: &[R],
    ) -> Result<(), CommandError> {
        let frame = serde_json::to_string(empty).unwrap_or_default();
        let frame = frame.rsplit_once("[]").filter(|_| rows.len() > ROWS);
        let (Some((head, tail)), false) = (frame, self.options.lines || self.env.terminals.output) else {
            return self.json(view);
        };
        let failed = |e: serde_json::Error| {
            CommandError::new(FailureKind::Fatal, "cannot write the result as JSON").caused_by(Some(&e))
        };
        self.sink.output(head.as_bytes());
        let mut lead = "[";
        for rows in rows.chunks(ROWS) {
            let text = |rows: &[R]| serde_json::to_string(rows).map(|text| escape::json(&text).into_owned());
            for text in os::parallel_map(rows, |rows| vec![text(rows)]) {
                let text = text.map_err(failed)?;
                self.sink.output(lead.as_bytes());
                let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
                self.sink.output(inside.unwrap_or_default().as_bytes());
                lead = ",";
            }
        }
        self.sink.output(format!("]{tail}\n").as_bytes());
        Ok(())
    }

    /// The other forms are made of the text: each form that is made of the value is compiled for each type, which is a
    /// twentieth of the program. What is nested too deep to be read keeps its form.
    fn json_document(&self, text: serde_json::Result<String>) -> Result<(), CommandError> {
        if !self.options.lines && !self.env.terminals.output {
            return self.json_text(text);
        }
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let Some(document) = text.as_deref().ok().and_then(read) else {
            return self.json_text(text);
        };
        if !self.options.lines {
            return self.json_text(serde_json::to_string_pretty(&document));
        }
        let name = document["schema"].as_str().and_then(schemas::of);
        let listed = name
            .and_then(schemas::lines)
            .and_then(|member| document[member.as_str()].as_array());
        match listed {
            Some(lines) => lines.iter().try_for_each(|line| self.json_line(line)),
            None => self.json_text(text),
        }
    }

    /// One JSON document on one line.
    ///
    /// # Errors
    /// When `value` cannot be written as JSON.
    pub fn json_line(&self, value: &impl Serialize) -> Result<(), CommandError> {
        self.json_text(serde_json::to_string(value))
    }

    fn json_text(&self, text: serde_json::Result<String>) -> Result<(), CommandError> {
        let mut text = text.map_err(|e| {
            CommandError::new(FailureKind::Fatal, "cannot write the result as JSON").caused_by(Some(&e))
        })?;
        if text.len() <= LOST {
            self.told.get_or_init(|| text.clone());
        }
        // It may be tens of megabytes: no copy for the end of the line.
        text.push('\n');
        self.sink.output(escape::json(&text).as_bytes());
        Ok(())
    }

    /// Writes what a command was asked for: JSON with `--json`, else text.
    ///
    /// # Errors
    /// When `view` cannot be written as JSON.
    pub fn show(&self, view: &impl View) -> Result<(), CommandError> {
        self.shown(view, false)
    }

    /// The same. A receipt is prose, which is wrapped where a person reads.
    fn shown(&self, view: &impl View, is_receipt: bool) -> Result<(), CommandError> {
        if self.options.json {
            return self.json(view);
        }
        match view.nothing() {
            Some(message) => self.status(message),
            None if is_receipt && self.for_people() => {
                let text = view.text();
                let lines = text.lines().iter();
                // A row of a table that fits this terminal stays as it is.
                let is_row = |line: &TextLine| line.text().trim_start().contains("  ");
                let columns = self.width().min(WIDTH);
                lines
                    .flat_map(|line| {
                        if is_row(line) {
                            line.folded_value(columns).unwrap_or_else(|| vec![line.clone()])
                        } else {
                            line.folded(columns)
                        }
                    })
                    .for_each(|line| self.data(line));
            }
            None => self.data(view.text()),
        }
        if view.is_dry_run() {
            self.dry_run();
        }
        Ok(())
    }

    /// The last line of a dry run.
    pub fn dry_run(&self) {
        self.data("Dry run: nothing was changed.");
    }

    /// Writes the receipt of a changing command: JSON with `--json`, else text. No text with `--quiet`.
    ///
    /// # Errors
    /// When `view` cannot be written as JSON.
    pub fn report(&self, view: &impl View) -> Result<(), CommandError> {
        if self.options.quiet > 0 && !self.options.json {
            return Ok(());
        }
        self.shown(view, true)
    }

    /// Writes the receipt of a changing command, one line on standard output. Not with `--quiet`.
    pub fn receipt(&self, line: TextLine) {
        if self.options.quiet == 0 && !self.options.json {
            self.data(line);
        }
    }

    /// Writes a status line to standard error. Not with `--quiet` or `--json`.
    pub fn status(&self, text: impl Into<Text>) {
        if self.options.quiet == 0 && !self.options.json {
            self.message(&text.into());
        }
    }

    /// Details for `--verbose` given at least `level` times, on standard error.
    pub fn detail(&self, level: u8, text: impl Into<Text>) {
        if self.options.verbose >= level {
            self.status(text);
        }
    }

    /// Writes a warning; the command continues. Not with `--quiet` given twice.
    pub fn warning(&self, text: &str) {
        if self.options.quiet >= 2 {
            return;
        }
        if self.options.json {
            let view = WarningView {
                warning: WarningDetail { message: text },
            };
            let text = serde_json::to_string(&view).unwrap_or_default();
            self.write_error(&(escape::json(&text).into_owned() + "\n"));
            return;
        }
        let lines = text.lines().map(|l| {
            TextLine::new()
                .with(Slot::Warning, "warning:")
                .with(Slot::Plain, format!(" {l}"))
        });
        self.message(&lines.collect());
    }

    /// Writes how a command was understood. Not with `--quiet`; JSON names the session that was used.
    pub fn note(&self, text: &str) {
        self.status(format!("note: {text}"));
    }

    /// Something that happened, as one JSON line on standard error, for programs that asked for it.
    pub fn event(&self, event: &serde_json::Value) {
        self.write_error(&(escape::json(&event.to_string()).into_owned() + "\n"));
    }

    /// Advice for people, each line after `hint:`. `name` makes its setting, `advice.checkpoint<Name>`. Only at a
    /// terminal, once per kind and repository, and not with `--no-advice`, `--quiet`, `--json` or `GIT_ADVICE=0`;
    /// `--advice` and the setting give it every time.
    pub fn hint(&self, name: &str, text: &str) {
        let wanted = self
            .options
            .advice
            .unwrap_or(self.env.terminals.error && self.advice_in_general());
        if !wanted || self.options.quiet > 0 || self.options.json {
            return;
        }
        let setting = (self.settings)(&format!("advice.checkpoint{name}")).and_then(|v| boolean(&v));
        let is_due = || {
            let is_asked_for = self.options.advice == Some(true) || setting == Some(true);
            is_asked_for || self.hints.as_ref().is_none_or(|hints| hints.is_first(name))
        };
        if setting != Some(false) && is_due() {
            self.message(&hint_lines(text.lines()));
        }
    }

    fn advice_in_general(&self) -> bool {
        self.env.flag("GIT_ADVICE") != Some(false)
    }

    /// Why the command failed, with its hints; as JSON with `--json`.
    pub fn error(&self, error: &CommandError) {
        if error.is_silent() {
            return;
        }
        if self.options.json {
            self.write_error(&(error.render_json() + "\n"));
        } else {
            let hints = self.options.advice.unwrap_or_else(|| self.advice_in_general()) && self.options.quiet < 2;
            self.message(&error.render(hints));
        }
    }

    /// Lines on standard error. At a terminal prose is wrapped; elsewhere each message is one line, for programs that
    /// look for it.
    pub(super) fn message(&self, text: &Text) {
        let mut out = String::new();
        for line in text.lines() {
            let lines = if self.env.terminals.error {
                wrapped(line, self.width().clamp(LEAST, WIDTH))
            } else {
                vec![line.clone()]
            };
            for line in &lines {
                out.push_str(&self.styled(line, true));
                out.push('\n');
            }
        }
        self.write_error(&out);
    }
}

/// The narrowest terminal for which messages are wrapped.
const LEAST: usize = 30;

/// A line of a message in lines of a width. Its words are wrapped, with the command of a hint on a line of its own if it
/// does not fit; what is indented after the label is a row of a list.
fn wrapped(line: &TextLine, columns: usize) -> Vec<TextLine> {
    const HINT: &str = "hint: ";
    let text = line.text();
    if line.width() <= columns {
        return vec![line.clone()];
    }
    if let Some(hint) = text.strip_prefix(HINT) {
        let lines = unbroken(hint, columns - HINT.len());
        return hint_lines(lines.iter().map(String::as_str)).lines().to_vec();
    }
    let is_listed = text.starts_with(' ') || text.contains(":  ");
    if is_listed {
        line.folded_row(columns)
    } else {
        line.folded(columns)
    }
}

/// A hint in lines of a width: its words are wrapped, and a command that does not fit is on a line of its own.
fn unbroken(line: &str, room: usize) -> Vec<String> {
    if width(line) <= room {
        return vec![line.to_owned()];
    }
    let (mut out, mut wrapped) = (Vec::new(), String::new());
    for word in words(line) {
        if !wrapped.is_empty() && width(&wrapped) + 1 + width(word) > room {
            let is_command = wrapped.ends_with(':') && word.starts_with("git ");
            out.push(std::mem::take(&mut wrapped));
            if is_command {
                out.push(format!("  {}", word.trim_end_matches([';', ','])));
                continue;
            }
        }
        if !wrapped.is_empty() {
            wrapped.push(' ');
        }
        wrapped.push_str(word);
    }
    if !wrapped.is_empty() {
        out.push(wrapped);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{unbroken, wrapped};
    use crate::render::text::TextLine;

    #[test]
    fn messages_are_wrapped_and_rows_below_their_last_cell() {
        let shown = |text: &str| -> Vec<String> {
            let lines = wrapped(&TextLine::plain(text), 50);
            lines.iter().map(ToString::to_string).collect()
        };
        assert_eq!(shown("error: short"), ["error: short"]);
        assert_eq!(
            shown("warning: the merge of 'try' is pending; to save its resolution: git checkpoint merge --continue"),
            [
                "warning: the merge of 'try' is pending; to save",
                "  its resolution: git checkpoint merge --continue"
            ]
        );
        assert_eq!(
            shown("hint: continue the session that was paused last: git checkpoint resume feature-login"),
            [
                "hint: continue the session that was paused last:",
                "hint:   git checkpoint resume feature-login"
            ]
        );
        assert_eq!(
            shown("error:   7f3a90c1  3 days ago  a checkpoint with a long summary of its own"),
            [
                "error:   7f3a90c1  3 days ago  a checkpoint with a",
                "                               long summary of its",
                "                               own"
            ]
        );
    }

    #[test]
    fn no_command_is_broken() {
        assert_eq!(
            unbroken("short: git checkpoint undo", 80),
            ["short: git checkpoint undo"]
        );
        assert_eq!(
            unbroken(
                "bring saved changes back: git checkpoint apply feature-token-auth; every file as it was: git checkpoint \
                 restore feature-token-auth",
                60
            ),
            [
                "bring saved changes back:",
                "  git checkpoint apply feature-token-auth",
                "every file as it was:",
                "  git checkpoint restore feature-token-auth"
            ]
        );
        assert_eq!(
            unbroken("one two three four five six", 20),
            ["one two three four", "five six"]
        );
    }
}
