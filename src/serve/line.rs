//! Lines of commands, built so that no value can become an option.

use std::ffi::OsString;

/// The words of a command, without the name of the program, and its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The words.
    pub words: Vec<OsString>,
    /// Standard input, where the caller gave one.
    pub input: Option<Vec<u8>>,
    /// Whether the output is text instead of JSON.
    pub text: bool,
    /// Meaning of its pathspecs.
    pub paths: PathRule,
    /// Whether a tool or an action runs it, whose caller has arguments and no options.
    pub is_tool: bool,
    /// Each option that the line may have, and the argument of the tool that it is made from.
    pub(super) arguments: Vec<(&'static str, &'static str)>,
}

/// Meaning of the pathspecs of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathRule {
    /// Pathspecs as a person types them in the current directory.
    #[default]
    Typed,
    /// Pathspecs from the root of the working tree.
    FromRoot,
    /// Paths from the root of the working tree, whatever patterns their names look like.
    Exact,
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
    pub fn flag(mut self, name: &'static str, given: bool) -> Self {
        self.arguments.push((name, name));
        if given {
            self.words.push(format!("--{name}").into());
        }
        self
    }

    /// The same with an option and its value, if there is one. Option and value are one word, so that a value which
    /// begins with a hyphen stays a value.
    #[must_use]
    pub fn option(mut self, name: &'static str, value: Option<impl std::fmt::Display>) -> Self {
        self.arguments.push((name, name));
        if let Some(value) = value {
            self.words.push(format!("--{name}={value}").into());
        }
        self
    }

    /// The same with an option for each value.
    #[must_use]
    pub fn each(mut self, name: &'static str, values: &[String]) -> Self {
        self.words
            .extend(values.iter().map(|value| format!("--{name}={value}").into()));
        self.arguments.push((name, name));
        self
    }

    /// The same for the caller of a tool.
    #[must_use]
    pub fn for_tool(mut self) -> Self {
        self.is_tool = true;
        self
    }

    /// The same where the last option is made from an argument of another name.
    #[must_use]
    pub fn for_argument(mut self, argument: &'static str) -> Self {
        if let Some((_, known)) = self.arguments.last_mut() {
            *known = argument;
        }
        self
    }

    /// The argument of the tool that an option is made from.
    pub fn argument(&self, option: &str) -> Option<String> {
        let (_, argument) = self.arguments.iter().find(|(known, _)| *known == option)?;
        Some(argument.replace('-', "_"))
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

    /// The same with paths as operands.
    #[must_use]
    pub fn paths<'a>(mut self, rule: PathRule, paths: impl IntoIterator<Item = &'a String>) -> Self {
        self.paths = rule;
        self.operands(paths)
    }

    /// The same with a selector before any `--`.
    ///
    /// # Errors
    /// When it looks like an option.
    pub fn selector(self, selector: Option<&String>) -> Result<Self, String> {
        match selector {
            None => Ok(self),
            Some(selector) if selector == "-" => Ok(self.word(selector)),
            Some(selector) => self.named("session or checkpoint", selector),
        }
    }

    /// The same with a name before any `--`; `what` is the kind of thing that it names.
    ///
    /// # Errors
    /// When it looks like an option.
    pub fn named(self, what: &str, name: &String) -> Result<Self, String> {
        if name.is_empty() || name.starts_with('-') {
            return Err(format!("'{}' cannot be the name of a {what}", name.escape_debug()));
        }
        Ok(self.word(name))
    }

    fn word(mut self, word: &String) -> Self {
        self.words.push(word.into());
        self
    }

    /// The same with standard input.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
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
        assert_eq!(line.argument("session").as_deref(), Some("session"));
        assert_eq!(line.argument("force"), None);
        let renamed = CommandLine::new("save").flag("no-files", true).for_argument("files");
        let renamed = renamed.each("next-step", &[]);
        assert_eq!(renamed.argument("no-files").as_deref(), Some("files"));
        assert_eq!(renamed.argument("next-step").as_deref(), Some("next_step"));
        let line = |text: &str| CommandLine::new("restore").selector(Some(&text.to_owned()));
        assert_eq!(line("-").expect("the previous session").words, ["restore", "-"]);
        assert_eq!(line("a~1").expect("a checkpoint").words, ["restore", "a~1"]);
        for text in ["", "--abort", "-n"] {
            let error = line(text).expect_err(text);
            assert_eq!(error, format!("'{text}' cannot be the name of a session or checkpoint"));
            let error = CommandLine::new("push")
                .named("remote", &text.to_owned())
                .expect_err(text);
            assert_eq!(error, format!("'{text}' cannot be the name of a remote"));
        }
        let named = CommandLine::new("push").named("remote", &"origin".to_owned());
        assert_eq!(named.expect("a remote").words, ["push", "origin"]);
    }
}
