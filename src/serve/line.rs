//! Lines of commands, built so that no value can become an option.

use std::ffi::OsString;

/// The words of a command, without the name of the program, and its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The words.
    pub words: Vec<OsString>,
    /// Standard input.
    pub input: Vec<u8>,
    /// Whether the output is text instead of JSON.
    pub text: bool,
}

impl CommandLine {
    /// A command, in one or more words of the program's own.
    pub fn new(command: &str) -> Self {
        Self {
            words: command.split(' ').map(OsString::from).collect(),
            ..Self::default()
        }
    }

    /// The same with an option that has no value, if `given`.
    #[must_use]
    pub fn flag(mut self, name: &str, given: bool) -> Self {
        if given {
            self.words.push(format!("--{name}").into());
        }
        self
    }

    /// The same with an option and its value, if there is one. Option and value are one word, so that a value which
    /// begins with a hyphen stays a value.
    #[must_use]
    pub fn option(mut self, name: &str, value: Option<impl std::fmt::Display>) -> Self {
        if let Some(value) = value {
            self.words.push(format!("--{name}={value}").into());
        }
        self
    }

    /// The same with an option for each value.
    #[must_use]
    pub fn each(self, name: &str, values: &[String]) -> Self {
        values.iter().fold(self, |line, value| line.option(name, Some(value)))
    }

    /// The same with operands, which are behind `--`.
    #[must_use]
    pub fn operands<'a>(mut self, operands: impl IntoIterator<Item = &'a String>) -> Self {
        let mut operands = operands.into_iter().peekable();
        if operands.peek().is_some() {
            self.words.push("--".into());
            self.words.extend(operands.map(OsString::from));
        }
        self
    }

    /// The same with a selector before any `--`.
    ///
    /// # Errors
    /// When it looks like an option.
    pub fn selector(mut self, selector: Option<&String>) -> Result<Self, String> {
        let Some(selector) = selector else { return Ok(self) };
        if selector.is_empty() || (selector.starts_with('-') && selector != "-") {
            return Err(format!("'{}' is not a session or checkpoint", selector.escape_debug()));
        }
        self.words.push(selector.into());
        Ok(self)
    }

    /// The same with standard input.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// The same with text as output.
    #[must_use]
    pub fn as_text(mut self) -> Self {
        self.text = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_never_become_options() {
        let line = CommandLine::new("task add")
            .flag("open", false)
            .flag("json", true)
            .option("session", Some("--force"))
            .option("name", None::<&str>)
            .operands(&["--record-only".to_owned()]);
        assert_eq!(
            line.words,
            ["task", "add", "--json", "--session=--force", "--", "--record-only"]
        );
        let line = |text: &str| CommandLine::new("restore").selector(Some(&text.to_owned()));
        assert_eq!(line("-").expect("the previous session").words, ["restore", "-"]);
        assert_eq!(line("a~1").expect("a checkpoint").words, ["restore", "a~1"]);
        for text in ["", "--abort", "-n"] {
            assert!(line(text).is_err(), "{text}");
        }
    }
}
