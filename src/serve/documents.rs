//! Documents of a session for reading, and prompts for an agent.

use super::{CallMonitor, CommandFailure, CommandLine, CommandRunner};

/// Beginning of the addresses.
const SCHEME: &str = "checkpoint://";
/// The name of the current session in an address.
pub const CURRENT: &str = "current";

/// A document that a session has.
#[derive(Debug)]
pub struct DocumentKind {
    /// Its name in addresses.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Content of it, in a sentence.
    pub description: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    line: fn(CommandLine) -> CommandLine,
    command: &'static str,
}

/// The documents.
pub const DOCUMENTS: [DocumentKind; 3] = [
    DocumentKind {
        name: "document",
        title: "Stored document",
        description: "The stored document of the latest checkpoint: session, record and state of the repository.",
        media_type: "application/json",
        command: "show",
        line: |line| line.flag("raw", true),
    },
    DocumentKind {
        name: "report",
        title: "Session report",
        description: "The latest checkpoint with all its tables, for people.",
        media_type: "text/markdown",
        command: "export",
        line: |line| line.option("format", Some("markdown")),
    },
    DocumentKind {
        name: "handoff",
        title: "Hand-off note",
        description: "A note on a page for whoever takes the work over.",
        media_type: "text/markdown",
        command: "export",
        line: |line| line.option("format", Some("handoff")),
    },
];

/// The address of a document.
pub fn address(session: &str, kind: &DocumentKind) -> String {
    format!("{SCHEME}{session}/{}", kind.name)
}

/// The document that an address means, and the selector of its session.
fn parse(address: &str) -> Option<(&str, &'static DocumentKind)> {
    const ALL: &[DocumentKind] = &DOCUMENTS;
    let (session, name) = address.strip_prefix(SCHEME)?.split_once('/')?;
    let kind = ALL.iter().find(|kind| kind.name == name)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-~@".contains(&byte);
    let is_selector = !session.is_empty() && !session.starts_with('-') && session.bytes().all(plain);
    is_selector.then_some((session, kind))
}

/// Reads the document at an address; `None` where no document can be.
pub fn read(
    runner: &dyn CommandRunner,
    monitor: &CallMonitor,
    address: &str,
) -> Option<Result<(&'static DocumentKind, String), CommandFailure>> {
    let (session, kind) = parse(address)?;
    let session = if session == CURRENT { "@" } else { session }.to_owned();
    let line = (kind.line)(CommandLine::new(kind.command)).as_text();
    let Ok(line) = line.selector(Some(&session)) else {
        return None;
    };
    Some(text(runner, monitor, &line).map(|text| (kind, text)))
}

/// The output of a command that prints text.
fn text(runner: &dyn CommandRunner, monitor: &CallMonitor, line: &CommandLine) -> Result<String, CommandFailure> {
    let run = runner.run(line, monitor);
    match run.failure {
        Some(failure) => Err(failure),
        None => Ok(run.output),
    }
}

/// Arguments of a prompt by name.
pub type ArgumentLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A prompt.
#[derive(Debug)]
pub struct PromptKind {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Purpose of it, in a sentence.
    pub description: &'static str,
    /// Its arguments, all optional: name and meaning.
    pub arguments: &'static [(&'static str, &'static str)],
    line: fn(ArgumentLookup<'_>) -> Result<CommandLine, String>,
    /// Text before the output of the command.
    before: &'static str,
}

/// The prompts.
pub const PROMPTS: [PromptKind; 3] = [
    PromptKind {
        name: "resume",
        title: "Resume a session",
        description: "Continue a session with everything that was saved and what changed since.",
        arguments: &[(
            "session",
            "The session or checkpoint; the current or latest one by default.",
        )],
        line: |argument| {
            CommandLine::new("resume")
                .option("format", Some("prompt"))
                .selector(argument("session").as_ref())
        },
        before: "",
    },
    PromptKind {
        name: "handover",
        title: "Hand the work over",
        description: "Save the work so that somebody else can continue it.",
        arguments: &[("session", "The session; the current one by default.")],
        line: |argument| {
            let session = argument("session").unwrap_or_else(|| "@".to_owned());
            CommandLine::new("export")
                .option("format", Some("handoff"))
                .selector(Some(&session))
        },
        before: "Prepare the work for whoever takes it over. Call checkpoint_save with pause set to true and a record that \
                 has a summary of where the work stands, next_steps in the order in which they should be done, decisions \
                 with their reasons, blockers, and open questions. Write nothing that the latest note below says already; \
                 it is what a reader has today:\n\n",
    },
    PromptKind {
        name: "replay",
        title: "Retry a failed step",
        description: "Retry a step of delegated work that failed, with what is known.",
        arguments: &[(
            "step",
            "The step: its id, number or title; the one that failed last by default.",
        )],
        line: |argument| Ok(CommandLine::new("replay").option("step", argument("step"))),
        before: "",
    },
];

/// The text of a prompt; `None` where there is no such prompt.
pub fn prompt(
    runner: &dyn CommandRunner,
    monitor: &CallMonitor,
    name: &str,
    argument: ArgumentLookup<'_>,
) -> Option<Result<(&'static PromptKind, String), PromptFailure>> {
    const ALL: &[PromptKind] = &PROMPTS;
    let kind = ALL.iter().find(|kind| kind.name == name)?;
    let line = match (kind.line)(argument) {
        Ok(line) => line.as_text(),
        Err(message) => return Some(Err(PromptFailure::Arguments(message))),
    };
    let text = text(runner, monitor, &line).map_err(PromptFailure::Command);
    Some(text.map(|text| (kind, format!("{}{text}", kind.before))))
}

/// Failure to make a prompt.
#[derive(Debug)]
pub enum PromptFailure {
    /// The arguments are wrong.
    Arguments(String),
    /// The command failed.
    Command(CommandFailure),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_session_and_a_document() {
        for kind in &DOCUMENTS {
            let found = parse(&address("auth~1", kind)).map(|(session, found)| (session.to_owned(), found.name));
            assert_eq!(found, Some(("auth~1".to_owned(), kind.name)));
        }
        for wrong in [
            "checkpoint://auth",
            "checkpoint:///document",
            "checkpoint://auth/nothing",
            "checkpoint://--force/document",
            "checkpoint://auth:src/document",
            "file:///etc/passwd",
            "",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
