//! Questions to a person: yes or no, and one of several. Plain lines that are read with Enter, so that they work on any
//! terminal and with a screen reader.
//!
//! Enter alone is always the harmless answer, and the end of input too; of several sessions Enter takes the latest. Without a terminal nothing is asked: the
//! error names the option that answers instead.

use super::Ui;
use crate::commands::error::{CommandError, FailureKind};
use crate::render::slot::Slot;
use crate::render::text::TextLine;

/// How often a useless answer is asked for again.
const TRIES: usize = 3;

impl Ui {
    /// Whether someone can be asked: standard input and error are terminals, the output is not for a program, and
    /// nothing says that there is no person (`CI`, `GIT_TERMINAL_PROMPT=0`, `CHECKPOINT_NO_PROMPT`).
    pub fn can_ask(&self) -> bool {
        self.terminals().input && self.terminals().error && !self.options().json && !self.environment().is_unattended()
    }

    /// Asks for yes or no; `question` ends with its question mark, `flag` is the option that answers yes (`--yes`).
    /// Anything but `y` or `yes` is no.
    ///
    /// # Errors
    /// [`FailureKind::NeedsAnswer`] with the flag when there is no terminal to ask on.
    pub fn confirm(&self, question: &str, flag: &str) -> Result<bool, CommandError> {
        if !self.can_ask() {
            return Err(unasked(question, &format!("give {flag} to answer yes")));
        }
        for _ in 0..TRIES {
            match self.ask(question, "[y/N]").map(|a| a.trim().to_lowercase()).as_deref() {
                Some("y" | "yes") => return Ok(true),
                None | Some("" | "n" | "no") => return Ok(false),
                Some(_) => self.say("answer y or n"),
            }
        }
        Ok(false)
    }

    /// Asks a question whose usual answer is yes: anything but `n` or `no` is yes. For what takes nothing away.
    ///
    /// # Errors
    /// [`FailureKind::NeedsAnswer`] with `instead` when there is no terminal to ask on.
    pub fn agree(&self, question: &str, instead: &str) -> Result<bool, CommandError> {
        if !self.can_ask() {
            return Err(unasked(question, instead));
        }
        for _ in 0..TRIES {
            match self.ask(question, "[Y/n]").map(|a| a.trim().to_lowercase()).as_deref() {
                Some("n" | "no") => return Ok(false),
                None | Some("" | "y" | "yes") => return Ok(true),
                Some(_) => self.say("answer y or n"),
            }
        }
        Ok(true)
    }

    /// Shows `choices` with numbers from 1 and asks for one; Enter takes the first. Gives its place, counted from 0, or
    /// None when the user chose none (`q`, the end of input, useless answers). `instead` names what to give on the
    /// command line. For what changes no file.
    ///
    /// # Errors
    /// [`FailureKind::NeedsAnswer`] with `instead` when there is no terminal to ask on.
    pub fn choose(&self, question: &str, choices: &[TextLine], instead: &str) -> Result<Option<usize>, CommandError> {
        if !self.can_ask() {
            return Err(unasked(question, instead));
        }
        let digits = choices.len().to_string().len();
        for (place, choice) in choices.iter().enumerate() {
            let mut line = TextLine::new().with(Slot::Prompt, format!("{:>digits$}", place + 1));
            line.push(Slot::Plain, "  ");
            line.append(choice);
            self.write_error(&(self.styled(&line.cut(self.width()), true) + "\n"));
        }
        for _ in 0..TRIES {
            let range = match choices.len() {
                1 => "[Enter or 1, q for none]".to_owned(),
                many => format!("[1-{many}, Enter for 1, q for none]"),
            };
            let Some(answer) = self.ask(question, &range) else {
                return Ok(None);
            };
            match answer.trim() {
                "" => return Ok(Some(0)),
                "q" => return Ok(None),
                number => match number.parse::<usize>() {
                    Ok(n) if (1..=choices.len()).contains(&n) => return Ok(Some(n - 1)),
                    _ => self.say(&format!("answer with a number from 1 to {}", choices.len())),
                },
            }
        }
        Ok(None)
    }

    fn ask(&self, question: &str, answers: &str) -> Option<String> {
        let line = TextLine::new()
            .with(Slot::Prompt, question)
            .with(Slot::Plain, format!(" {answers} "));
        self.write_error(&self.styled(&line, true));
        let answer = self.sink().read_line();
        if answer.is_none() {
            self.write_error("\n"); // the end of input left the cursor behind the question
        }
        answer
    }

    /// Prints a line next to a question.
    pub fn say(&self, text: &str) {
        self.message(&TextLine::plain(text).into());
    }
}

fn unasked(question: &str, instead: &str) -> CommandError {
    CommandError::new(
        FailureKind::NeedsAnswer,
        format!("cannot ask '{question}' without a terminal"),
    )
    .hint(instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::environment::Terminals;
    use crate::commands::ui::OutputOptions;
    use crate::commands::ui::tests::{PIPES, TERMINAL, XTERM, ui};

    #[test]
    fn questions_have_harmless_defaults() {
        let asked = |input: &str| {
            let (ui, seen) = ui(&[("TERM", "dumb")], TERMINAL, OutputOptions::default(), input);
            (ui.confirm("delete 3 checkpoints?", "--yes").unwrap(), seen.error())
        };
        assert_eq!(asked("y\n"), (true, "delete 3 checkpoints? [y/N] ".into()));
        assert!(asked(" YES \r\n").0);
        for input in ["", "\n", "n\n", "no\n", "x\nx\nx\ny\n"] {
            assert!(!asked(input).0, "{input:?}");
        }
        assert!(asked("what\ny\n").0);
        assert!(asked("").1.ends_with("[y/N] \n"));

        let agreed = |input: &str| {
            let (ui, _) = ui(&[("TERM", "dumb")], TERMINAL, OutputOptions::default(), input);
            ui.agree("start one?", "name one").unwrap()
        };
        assert!(["", "\n", "y\n", "YES\n", "x\nx\nx\n"].into_iter().all(agreed));
        assert!(!["n\n", "No\n", "x\nn\n"].into_iter().any(agreed));

        let chosen = |input: &str| {
            let (ui, seen) = ui(&[("TERM", "dumb")], TERMINAL, OutputOptions::default(), input);
            let choices = ["one", "two\x1b", "three"].map(TextLine::plain);
            (ui.choose("which session?", &choices, "name one").unwrap(), seen.error())
        };
        assert_eq!(
            chosen("2\n"),
            (
                Some(1),
                "1  one\n2  two\\x1b\n3  three\nwhich session? [1-3, Enter for 1, q for none] ".into()
            )
        );
        assert_eq!(chosen("\n").0, Some(0));
        for input in ["", "q\n", "0\n4\nx\n1\n"] {
            assert_eq!(chosen(input).0, None, "{input:?}");
        }
        assert_eq!(chosen("9\n3\n").0, Some(2));
    }

    #[test]
    fn nobody_is_asked_who_cannot_answer() {
        let refused = |variables: &[(&str, &str)], terminals, json| {
            let (ui, seen) = ui(
                variables,
                terminals,
                OutputOptions {
                    json,
                    ..OutputOptions::default()
                },
                "y\n",
            );
            let error = ui.confirm("delete?", "--yes").unwrap_err();
            assert_eq!(seen.error(), "");
            assert_eq!(error.kind(), FailureKind::NeedsAnswer);
            assert_eq!(error.hints(), ["give --yes to answer yes"]);
            assert!(ui.choose("which?", &[TextLine::plain("a")], "name one").is_err());
        };
        refused(XTERM, PIPES, false);
        refused(
            XTERM,
            Terminals {
                input: false,
                ..TERMINAL
            },
            false,
        );
        refused(
            XTERM,
            Terminals {
                error: false,
                ..TERMINAL
            },
            false,
        );
        refused(XTERM, TERMINAL, true);
        refused(&[("CI", "true")], TERMINAL, false);
        refused(&[("GIT_TERMINAL_PROMPT", "0")], TERMINAL, false);
        refused(&[("CHECKPOINT_NO_PROMPT", "1")], TERMINAL, false);
    }
}
