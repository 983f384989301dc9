//! Failures of commands: the kind, the message, the causes and the advice. Kinds decide the exit code and the word that
//! JSON readers test.
//!
//! Messages are as git's: lower case, no full stop, the subject in single quotes. The layers below have error types of
//! their own; they become a `CommandError` in the commands, which know what the user asked for.

use std::error::Error as StdError;
use std::fmt;
use std::process::ExitCode;

use crate::os;
use crate::render::escape;
use crate::render::help::{FailureDetail, FailureView};
use crate::render::slot::Slot;
use crate::render::text::{Text, TextLine};
use crate::serve::CommandLine;

pub use crate::serve::FailureKind;

/// Every exit code there is, with what it means and the words in `error.code` that lead to it, by number.
pub(super) fn exit_codes() -> Vec<(u8, &'static str, Vec<&'static str>)> {
    let mut out = vec![(0, "done, or there was nothing to do", Vec::new())];
    for kind in FailureKind::ALL {
        match out.iter_mut().find(|(code, ..)| *code == kind.exit_code()) {
            Some((.., words)) => words.push(kind.code()),
            None => out.push((kind.exit_code(), kind.meaning(), vec![kind.code()])),
        }
    }
    out.sort_unstable_by_key(|(code, ..)| *code);
    out
}

/// The first word of a message, as git chooses it.
fn label(kind: FailureKind) -> &'static str {
    if kind.exit_code() == 128 { "fatal" } else { "error" }
}

/// Advice below a message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hint {
    /// A sentence, best with a command.
    Text(String),
    /// To run the command once more with another option.
    Again {
        purpose: String,
        command: String,
        option: AgainOption,
    },
}

/// An option that repeats a command in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgainOption {
    /// Overrides a refusal, which is for a person to decide.
    Force,
    /// Passes over a later command.
    Older,
}

impl AgainOption {
    fn name(self) -> &'static str {
        match self {
            Self::Force => "force",
            Self::Older => "older",
        }
    }
}

impl Hint {
    /// The hint for the caller of this line; the line of a tool has arguments for some of the options.
    fn text(&self, line: Option<&CommandLine>) -> String {
        let (purpose, command, option) = match self {
            Self::Text(text) => return text.clone(),
            Self::Again {
                purpose,
                command,
                option,
            } => (purpose, command, *option),
        };
        let argument = line
            .filter(|line| line.is_tool)
            .and_then(|line| line.argument(option.name()));
        match (argument, option) {
            (None, _) => format!("{purpose}: {command}"),
            (Some(argument), AgainOption::Force) => {
                format!("{purpose}: ask the user, then call again with '{argument}' true")
            }
            (Some(argument), AgainOption::Older) => format!("{purpose}: call again with '{argument}' true"),
        }
    }
}

/// The failure of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    kind: FailureKind,
    message: String,
    causes: Vec<String>,
    hints: Vec<Hint>,
    /// The exit code, where it is not that of the kind.
    code: Option<u8>,
}

impl CommandError {
    /// With its message: lower case, no full stop, the subject in single quotes.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            code: None,
        }
    }

    /// From an error of a lower layer and what caused that. A cause that the message already contains is not repeated.
    pub fn of(kind: FailureKind, error: &dyn StdError) -> Self {
        Self::new(kind, error.to_string()).caused_by(error.source())
    }

    /// A failure without a message: the exit code is enough.
    pub fn silent(kind: FailureKind) -> Self {
        Self::new(kind, "")
    }

    /// The exit status of a command that was run for the user, passed on without words.
    pub fn passed_on(status: u8) -> Self {
        Self::silent(FailureKind::Step).with_code(status)
    }

    /// The same with another exit code than that of its kind: for commands that pass on the status of a child, where
    /// all failures of ours must have one code.
    #[must_use]
    pub fn with_code(mut self, code: u8) -> Self {
        self.code = Some(code);
        self
    }

    /// The same where a part of the work is done already, which no kind may contradict.
    #[must_use]
    pub fn half_done(mut self) -> Self {
        if matches!(
            self.kind,
            FailureKind::Negative | FailureKind::Refused | FailureKind::Interrupted
        ) {
            self.kind = FailureKind::Fatal;
        }
        self
    }

    /// The same with a cause and the causes behind it.
    #[must_use]
    pub fn caused_by(mut self, cause: Option<&dyn StdError>) -> Self {
        let mut next = cause;
        while let Some(error) = next {
            let text = error.to_string();
            // The library's text of an error of the system ends with its number, which means nothing to people.
            let text = text.split(" (os error").next().unwrap_or_default();
            // Nor does what gix adds for those who write programs.
            let text = os::clause(text.split(", input=").next().unwrap_or_default());
            let known = self.message.to_lowercase().contains(&text.to_lowercase());
            if !known && !self.causes.contains(&text) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// The same with what to do about it: a sentence in lower case, best with a command in double quotes. Several lines
    /// become several `hint:` lines.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(Hint::Text(hint.into()));
        self
    }

    /// The same with the advice to run the command once more with an option; `command` is the whole of it, as typed.
    #[must_use]
    pub fn again(mut self, purpose: &str, command: impl Into<String>, option: AgainOption) -> Self {
        self.hints.push(Hint::Again {
            purpose: purpose.to_owned(),
            command: command.into(),
            option,
        });
        self
    }

    /// The message, without the word before it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Kind of failure; decides the exit code.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Hints that are printed below the message.
    pub fn hints(&self) -> Vec<String> {
        self.hints.iter().map(|hint| hint.text(None)).collect()
    }

    /// The same for the caller of this line.
    pub(super) fn hints_for(&self, line: &CommandLine) -> Vec<String> {
        self.hints.iter().map(|hint| hint.text(Some(line))).collect()
    }

    /// The exit code as a number.
    pub fn status(&self) -> u8 {
        self.code.unwrap_or(self.kind.exit_code())
    }

    /// The exit code for the process.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status())
    }

    /// Whether there is nothing to say.
    pub fn is_silent(&self) -> bool {
        self.message.is_empty()
    }

    /// The lines for people. Without `hints` only what failed. A message of several lines (a list of candidates) keeps
    /// them, each with the label, as git does.
    pub fn render(&self, hints: bool) -> Text {
        let mut out = Text::new();
        if self.is_silent() {
            return out;
        }
        for line in self.full_message().lines() {
            out.push(
                TextLine::new()
                    .with(Slot::Error, format!("{}:", label(self.kind)))
                    .with(Slot::Plain, format!(" {line}")),
            );
        }
        if hints {
            out.append(hint_lines(self.hints().iter().map(String::as_str)));
        }
        out
    }

    /// One JSON object for programs: `{"error":{"code":...,"message":...,"hints":[...]}}`. Hidden characters are
    /// escaped, so that it is safe on a terminal too.
    pub fn render_json(&self) -> String {
        let view = FailureView {
            error: FailureDetail {
                code: self.kind.code(),
                message: self.full_message(),
                hints: &self.hints(),
            },
        };
        let text = serde_json::to_string(&view).unwrap_or_default();
        escape::json(&text).into_owned()
    }

    fn full_message(&self) -> String {
        let mut out = self.message.clone();
        for cause in &self.causes {
            out.push_str(": ");
            out.push_str(cause);
        }
        out
    }
}

/// Hints as lines, each with its `hint:`.
pub(super) fn hint_lines<'a>(hints: impl IntoIterator<Item = &'a str>) -> Text {
    hints
        .into_iter()
        .flat_map(str::lines)
        .map(|line| TextLine::new().with(Slot::Hint, format!("hint: {line}")))
        .collect()
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full_message())
    }
}

impl StdError for CommandError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form() {
        let error = CommandError::new(FailureKind::NotFound, "no session 'x\x1b[0m'")
            .hint("list them with \"git checkpoint list\"\nor start one");
        assert_eq!(
            error.render(true).to_string(),
            "error: no session 'x\\x1b[0m'\nhint: list them with \"git checkpoint list\"\nhint: or start one\n"
        );
        assert_eq!(error.render(false).to_string(), "error: no session 'x\\x1b[0m'\n");
        assert_eq!(
            CommandError::new(FailureKind::Fatal, "not a repository")
                .render(true)
                .to_string(),
            "fatal: not a repository\n"
        );
        assert_eq!(CommandError::silent(FailureKind::Negative).render(true), Text::new());
        let list = CommandError::new(FailureKind::Ambiguous, "'7f' names several checkpoints\n  7f3a\n  7fb0");
        assert_eq!(
            list.render(true).to_string(),
            "error: '7f' names several checkpoints\nerror:   7f3a\nerror:   7fb0\n"
        );
    }

    #[test]
    fn json_form() {
        let error = CommandError::new(FailureKind::Locked, "locked by \u{9b}").hint("try again");
        assert_eq!(
            error.render_json(),
            r#"{"error":{"code":"locked","message":"locked by \u009b","hints":["try again"]}}"#
        );
    }

    #[test]
    fn a_tool_has_arguments_where_a_command_has_options() {
        let command = "git checkpoint restore 'auth' --force";
        let error = CommandError::new(FailureKind::Refused, "no")
            .again("to proceed anyway", command, AgainOption::Force)
            .hint("finish it: git checkpoint restore --continue");
        let typed = [
            "to proceed anyway: git checkpoint restore 'auth' --force",
            "finish it: git checkpoint restore --continue",
        ];
        assert_eq!(error.hints(), typed);
        let line = CommandLine::new("restore").flag("force", false);
        assert_eq!(error.hints_for(&line), typed);
        assert_eq!(
            error.hints_for(&line.for_tool()),
            [
                "to proceed anyway: ask the user, then call again with 'force' true",
                typed[1]
            ]
        );
        assert_eq!(error.hints_for(&CommandLine::new("pause").for_tool()), typed);
        let older = CommandError::new(FailureKind::Refused, "no").again("undo it", "x", AgainOption::Older);
        let undo = CommandLine::new("undo").flag("older", false).for_tool();
        assert_eq!(older.hints_for(&undo), ["undo it: call again with 'older' true"]);
    }

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot read 'a'")]
        struct ErrorReport(#[source] ErrorParts);
        #[derive(Debug, thiserror::Error)]
        #[error("permission denied")]
        struct ErrorParts;
        assert_eq!(
            CommandError::of(FailureKind::Denied, &ErrorReport(ErrorParts)).to_string(),
            "cannot read 'a': permission denied"
        );
        let told = CommandError::new(FailureKind::Denied, "no: permission denied").caused_by(Some(&ErrorParts));
        assert_eq!(told.to_string(), "no: permission denied");
    }

    #[test]
    fn codes_are_the_documented_ones() {
        let words: std::collections::BTreeSet<_> = FailureKind::ALL.iter().map(|k| k.code()).collect();
        assert_eq!(words.len(), FailureKind::ALL.len());
        let codes: std::collections::BTreeSet<_> = FailureKind::ALL.iter().map(|k| k.exit_code()).collect();
        assert_eq!(
            codes.into_iter().collect::<Vec<_>>(),
            [1, 3, 4, 5, 6, 7, 125, 128, 129, 130, 141]
        );
    }
}
