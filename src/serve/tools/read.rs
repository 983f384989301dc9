//! The tools that read: `checkpoint_list`, `checkpoint_show`, `checkpoint_search`, `checkpoint_diff`; and
//! `checkpoint_resume`, which makes the session current and changes no file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Arguments, Tool, ToolCall, ToolResult, arguments, input, published, wrong};
use crate::serve::{CommandFailure, CommandLine, FailureKind};

/// How many sessions a list has by default.
const SESSIONS: usize = 50;
/// How many matches a search has by default.
const MATCHES: u64 = 50;
/// How many characters a patch has by default.
const PATCH: usize = 20_000;

/// The shortest prompt that a caller may ask for.
const SHORTEST: usize = 1000;

pub(super) const RESUME: Tool = Tool {
    name: "checkpoint_resume",
    title: "Resume a session",
    description: "Get everything that was saved in a session as a prompt within a budget of characters, with a report of \
                  what changed in the project since. Makes the session current; changes no file. Call it first when you \
                  continue earlier work.",
    read_only: false,
    destructive: false,
    idempotent: true,
    input: input::<ResumeArguments>,
    output: || published("resume-prompt"),
    call: resume,
};

/// Arguments of `checkpoint_resume`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ResumeArguments {
    /// The session or checkpoint; by default the current session, else the latest paused or interrupted one of the branch.
    session: Option<String>,
    /// The most characters of the prompt, 1000 at least; 10000 by default.
    max_characters: Option<usize>,
}

fn resume(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: ResumeArguments = arguments(given)?;
    if given.max_characters.is_some_and(|most| most < SHORTEST) {
        return Err(wrong(&format!("'max_characters' is {SHORTEST} at least")));
    }
    let line = CommandLine::new("resume")
        .option("format", Some("prompt"))
        .option("max-chars", given.max_characters)
        .for_argument("max_characters")
        .selector(given.session.as_ref())
        .map_err(|message| wrong(&message))?;
    let mut result = call.result(line)?;
    result.text = result.structured["prompt"].as_str().map(str::to_owned);
    Ok(result)
}

pub(super) const LIST: Tool = Tool {
    name: "checkpoint_list",
    title: "List sessions",
    description: "List the sessions of the repository, latest first: name, status, time, summary, branch, agent and task.",
    read_only: true,
    destructive: false,
    idempotent: true,
    input: input::<ListArguments>,
    output: || published("list"),
    call: list,
};

/// Arguments of `checkpoint_list`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ListArguments {
    /// Only sessions with this status.
    #[schemars(extend("enum" = ["active", "paused", "completed", "failed", "interrupted"]))]
    status: Option<String>,
    /// Only sessions last saved on this branch.
    branch: Option<String>,
    /// Only sessions of this agent.
    agent: Option<String>,
    /// Only sessions with this task, in words or by id.
    task: Option<String>,
    /// Only sessions for this issue.
    issue: Option<String>,
    /// Only sessions whose name or summary holds this text.
    text: Option<String>,
    /// Only sessions last saved at or after this date, such as '2 days ago'.
    since: Option<String>,
    /// Also the sessions fetched from remotes.
    remotes: Option<bool>,
    /// The most sessions; 50 by default.
    limit: Option<usize>,
}

fn list(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: ListArguments = arguments(given)?;
    let line = CommandLine::new("list")
        .option("status", given.status.as_ref())
        .option("branch", given.branch.as_ref())
        .option("agent", given.agent.as_ref())
        .option("task", given.task.as_ref())
        .option("issue", given.issue.as_ref())
        .option("grep", given.text.as_ref())
        .for_argument("text")
        .option("since", given.since.as_ref())
        .flag("all", given.remotes == Some(true))
        .for_argument("remotes");
    let mut result = call.result(line)?;
    let limit = given.limit.unwrap_or(SESSIONS);
    if let Some(sessions) = result.structured["sessions"]
        .as_array_mut()
        .filter(|all| all.len() > limit)
    {
        let all = sessions.len();
        sessions.truncate(limit);
        result
            .warnings
            .push(format!("{limit} of {all} sessions; filter them, or raise the limit"));
    }
    Ok(result)
}

pub(super) const SHOW: Tool = Tool {
    name: "checkpoint_show",
    title: "Show a checkpoint",
    description: "Show one checkpoint: its record, the state of the repository at save time, and its changed files.",
    read_only: true,
    destructive: false,
    idempotent: true,
    input: input::<ShowArguments>,
    output: || published("show"),
    call: show,
};

/// Arguments of `checkpoint_show`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ShowArguments {
    /// The session or checkpoint: a session's name, `session~1` for the one before, `session@name`, or an id; the latest of
    /// the current session by default.
    checkpoint: Option<String>,
}

fn show(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: ShowArguments = arguments(given)?;
    if given.checkpoint.as_ref().is_some_and(|text| is_file_of(text)) {
        return Err(wrong("name a checkpoint without a path"));
    }
    let line = CommandLine::new("show").selector(given.checkpoint.as_ref());
    call.result(line.map_err(|message| wrong(&message))?)
}

/// Whether a text may be `CHECKPOINT:PATH`, for which the command prints a file. A selector has a colon only at its
/// beginning, after `sha256`, or in the date of `@{...}`.
fn is_file_of(text: &str) -> bool {
    let plain = text.split_once("@{").map_or(text, |(before, _)| before);
    !plain.starts_with(':') && !plain.starts_with("sha256:") && plain.contains(':')
}

pub(super) const SEARCH: Tool = Tool {
    name: "checkpoint_search",
    title: "Search sessions",
    description: "Search the text of all sessions: records, chats, steps, logs and, where asked for, the saved files. Each \
                  match has its session, checkpoint and line; sessions come latest first.",
    read_only: true,
    destructive: false,
    idempotent: true,
    input: input::<SearchArguments>,
    output: || published("search"),
    call: search,
};

/// A part of a checkpoint that is searched.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SearchPart {
    Record,
    Chat,
    Steps,
    Log,
    Files,
}

impl SearchPart {
    fn word(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Chat => "chat",
            Self::Steps => "steps",
            Self::Log => "log",
            Self::Files => "files",
        }
    }
}

/// Arguments of `checkpoint_search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    /// The text to find.
    query: String,
    /// Whether the query is an extended regular expression; a fixed text by default.
    regexp: Option<bool>,
    /// Whether case matters; it does not by default.
    match_case: Option<bool>,
    /// Parts to search; all but files by default.
    #[serde(default)]
    parts: Vec<SearchPart>,
    /// Only this session.
    session: Option<String>,
    /// Only checkpoints saved at or after this date, such as '2 days ago'.
    since: Option<String>,
    /// The most matches; 50 by default.
    limit: Option<u64>,
}

fn search(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: SearchArguments = arguments(given)?;
    if given.query.is_empty() {
        return Err(wrong("'query' is empty"));
    }
    let regexp = given.regexp == Some(true);
    let parts: Vec<&str> = given.parts.iter().map(|part| part.word()).collect();
    let line = CommandLine::new("search")
        .option("max-count", Some(given.limit.unwrap_or(MATCHES)))
        .for_argument("limit")
        .flag("fixed-strings", !regexp)
        .for_argument("regexp")
        .flag("extended-regexp", regexp)
        .for_argument("regexp")
        .flag("ignore-case", given.match_case != Some(true))
        .for_argument("match_case")
        .option("in", (!parts.is_empty()).then(|| parts.join(",")))
        .for_argument("parts")
        .option("session", given.session.as_ref())
        .option("since", given.since.as_ref())
        .operands([&given.query]);
    call.result(line).map_err(|failure| CommandFailure {
        hints: match failure.kind {
            FailureKind::Usage if regexp => vec!["to search for the text as it is, leave 'regexp' out".to_owned()],
            _ => failure.hints,
        },
        ..failure
    })
}

pub(super) const DIFF: Tool = Tool {
    name: "checkpoint_diff",
    title: "Compare checkpoints",
    description: "Compare two checkpoints, or a checkpoint with the current files: items of the record that came and went, \
                  and the files that differ; with patch set also the patch.",
    read_only: true,
    destructive: false,
    idempotent: true,
    input: input::<DiffArguments>,
    output: || published("diff"),
    call: diff,
};

/// Arguments of `checkpoint_diff`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct DiffArguments {
    /// The older checkpoint, or a commit such as HEAD; the latest checkpoint of the current session by default.
    old: Option<String>,
    /// The newer checkpoint; the current files by default.
    new: Option<String>,
    /// Only files that these paths choose, or patterns of git, from the root of the repository.
    paths: Vec<String>,
    /// Whether to return the patch as well.
    patch: Option<bool>,
    /// The most characters of the patch; 20000 by default.
    max_characters: Option<usize>,
}

fn diff(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: DiffArguments = arguments(given)?;
    if given.new.is_some() && given.old.is_none() {
        return Err(wrong("'new' needs 'old'"));
    }
    let line = CommandLine::new("diff")
        .flag("patch", given.patch == Some(true))
        .selector(given.old.as_ref())
        .and_then(|line| line.selector(given.new.as_ref()))
        .map_err(|message| wrong(&message))?
        .below_root(&given.paths)?;
    let mut result = call.result(line)?;
    if !given.paths.is_empty() && result.structured["files"].as_array().is_some_and(Vec::is_empty) {
        result
            .warnings
            .push("no file that these paths choose differs; paths count from the root of the repository".to_owned());
    }
    let limit = given.max_characters.unwrap_or(PATCH);
    if let Some(patch) = result.structured["patch"].as_str()
        && let Some((end, _)) = patch.char_indices().nth(limit)
    {
        let all = patch.chars().count();
        let cut = patch[..end].to_owned();
        result.structured["patch"] = Value::String(cut);
        result.warnings.push(format!(
            "the patch was cut after {limit} of {all} characters; choose paths to see the rest"
        ));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::is_file_of;

    #[test]
    fn paths_are_told_from_selectors() {
        for text in ["auth:src/main.rs", "@:x", "7f3a:x"] {
            assert!(is_file_of(text), "{text}");
        }
        for text in [
            "@",
            "auth~2",
            ":/parser: x",
            "auth@{2026-01-01 10:00}",
            "sha256:7f3a",
            "@{yesterday}",
        ] {
            assert!(!is_file_of(text), "{text}");
        }
    }
}
