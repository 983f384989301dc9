//! The batch mode: requests as JSON lines, answers as JSON lines, in the same order.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{
    CallMonitor, CommandFailure, CommandLine, CommandRun, CommandRunner, FailureKind,
    id_scanner::IdScanner,
    request_line::{RequestLine, RequestReader},
    tools::{self, Arguments, ToolCall, ToolResult},
};
use crate::{
    model::json,
    render::batch::{BatchAnswer, BatchFailure},
};

/// The most bytes of a line: a record of the largest size that a command reads, and room around it.
const LONGEST: u64 = 20 << 20;

/// A request: a command with its arguments, or a tool with its arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchRequest {
    /// Any value; the answer has it too. It is read before the rest, so that also a wrong request is answered with it.
    #[serde(default, rename = "id")]
    _id: IgnoredAny,
    /// The words of a command, without `git checkpoint`.
    args: Option<Vec<String>>,
    /// Standard input of the command: a text, or any other value as JSON.
    input: Option<Value>,
    /// Whether the output of the command is wanted as text instead of JSON.
    #[serde(default)]
    text: bool,
    /// The name of a tool.
    tool: Option<String>,
    /// Arguments of the tool.
    #[serde(default)]
    arguments: Arguments,
}

impl From<CommandFailure> for BatchFailure {
    fn from(failure: CommandFailure) -> Self {
        Self {
            code: failure.kind.code(),
            message: failure.message,
            hints: failure.hints,
        }
    }
}

/// Counts of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchCounts {
    /// Requests.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// Answers every line of the input until its end, or until the first failure where `stop` is set.
///
/// # Errors
/// When the input cannot be read or an answer cannot be written.
pub fn run(
    runner: &dyn CommandRunner,
    input: impl BufRead,
    mut output: impl Write,
    stop: bool,
) -> io::Result<BatchCounts> {
    let mut counts = BatchCounts::default();
    let mut input = RequestReader::new(input, LONGEST, false);
    while let Some(line) = input.next()? {
        counts.requests += 1;
        let answer = match line {
            RequestLine::Whole(line) => answer(runner, input.number, &line),
            RequestLine::TooLarge { message, mut ids } => {
                malformed(input.number, ids.pop().unwrap_or_default(), message)
            }
        };
        counts.failed += u64::from(answer.exit_code != 0);
        let mut bytes = serde_json::to_vec(&answer)?;
        bytes.push(b'\n');
        output.write_all(&bytes)?;
        output.flush()?;
        if stop && answer.exit_code != 0 {
            break;
        }
    }
    Ok(counts)
}

fn malformed(line: u64, id: Value, message: String) -> BatchAnswer {
    BatchAnswer {
        line,
        id,
        exit_code: FailureKind::Usage.exit_code(),
        output: Value::Null,
        text: None,
        warnings: Vec::new(),
        error: Some(BatchFailure {
            code: FailureKind::Usage.code(),
            message,
            hints: vec!["for the form see: git checkpoint help batch".to_owned()],
        }),
    }
}

fn answer(runner: &dyn CommandRunner, line: u64, bytes: &[u8]) -> BatchAnswer {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => {
            // It may still be JSON, too deep or with half a surrogate pair.
            let mut scanner = IdScanner::new(false);
            scanner.feed(bytes);
            return match scanner.finish().pop() {
                Some(id) => malformed(line, id, format!("the line cannot be read: {}", json::words(&error))),
                None => malformed(line, Value::Null, format!("the line is no JSON: {error}")),
            };
        }
    };
    let id = value.get("id").cloned().unwrap_or_default();
    if !value.is_object() {
        return malformed(line, id, "a request is an object with 'args' or 'tool'".to_owned());
    }
    if value.get("args").is_some_and(|args| !args.is_array()) {
        return malformed(line, id, "'args' is a list of words".to_owned());
    }
    let request: BatchRequest = match serde_json::from_value(value) {
        Ok(request) => request,
        Err(error) => return malformed(line, id, error.to_string()),
    };
    match (request.args, request.tool) {
        (Some(args), None) if request.arguments.is_empty() => {
            let command = CommandLine {
                words: args.into_iter().map(Into::into).collect(),
                input: request.input.map(|input| match input {
                    Value::String(text) => text.into_bytes(),
                    value => value.to_string().into_bytes(),
                }),
                text: request.text,
                ..CommandLine::default()
            };
            of_command(line, id, runner.run(&command, &CallMonitor::default()))
        }
        (None, Some(tool)) if request.input.is_none() && !request.text => match tools::find(&tool) {
            Some(tool) => {
                let call = ToolCall {
                    runner,
                    monitor: &CallMonitor::default(),
                    agent: None,
                };
                of_tool(line, id, (tool.call)(&call, request.arguments))
            }
            None => malformed(line, id, format!("there is no tool '{}'", tool.escape_debug())),
        },
        _ => malformed(
            line,
            id,
            "a request has either 'args', with 'input' and 'text', or 'tool', with 'arguments'".to_owned(),
        ),
    }
}

fn of_command(line: u64, id: Value, run: CommandRun) -> BatchAnswer {
    let parsed = serde_json::from_str(&run.output);
    let text = match &parsed {
        Err(_) if !run.output.is_empty() => Some(run.output),
        _ => None,
    };
    BatchAnswer {
        line,
        id,
        exit_code: run.exit_code,
        output: parsed.unwrap_or_default(),
        text,
        warnings: run.warnings,
        error: run.failure.map(Into::into),
    }
}

fn of_tool(line: u64, id: Value, result: Result<ToolResult, CommandFailure>) -> BatchAnswer {
    let (exit_code, output, warnings, error) = match result {
        Ok(result) => (0, result.structured, result.warnings, None),
        Err(failure) => (failure.exit_code, Value::Null, Vec::new(), Some(failure.into())),
    };
    BatchAnswer {
        line,
        id,
        exit_code,
        output,
        text: None,
        warnings,
        error,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Notes the commands and answers each with what it was.
    #[derive(Default)]
    struct EchoRunner(Mutex<Vec<CommandLine>>);

    impl CommandRunner for EchoRunner {
        fn run(&self, line: &CommandLine, _: &CallMonitor) -> CommandRun {
            self.0.lock().expect("no panic").push(line.clone());
            let fails = line.words[0] == "fail";
            CommandRun {
                exit_code: if fails { 4 } else { 0 },
                output: if line.text {
                    "plain".into()
                } else {
                    format!("{:?}", line.words)
                },
                warnings: vec!["w".to_owned()],
                failure: fails.then(|| CommandFailure::new(FailureKind::Refused, "", "no")),
            }
        }
    }

    fn answers(input: &str, stop: bool) -> (Vec<Value>, BatchCounts, Vec<CommandLine>) {
        let runner = EchoRunner::default();
        let mut output = Vec::new();
        let counts = run(&runner, input.as_bytes(), &mut output, stop).expect("memory");
        let lines = String::from_utf8(output).expect("JSON");
        let answers = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        (answers.collect(), counts, runner.0.into_inner().expect("no panic"))
    }

    #[test]
    fn lines_that_are_too_long_are_answered_with_their_id() {
        let long = "y".repeat(usize::try_from(LONGEST).expect("it is small"));
        let input = format!(
            "{{\"input\":\"{long}\",\"id\":[7]}}\n{{\"id\":8,\"input\":\"{long}\n{{\"id\":9,\"args\":[\"show\"]}}\n"
        );
        let (all, counts, lines) = answers(&input, false);
        let ids: Vec<_> = all.iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(ids, [serde_json::json!([7]), Value::Null, 9.into()]);
        assert_eq!((counts.requests, counts.failed, lines.len()), (3, 2, 1));
        assert!(
            all[0]["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains("bytes"))
        );
    }

    #[test]
    fn each_line_is_answered_in_order() {
        let input = r#"{"id": 7, "args": ["save", "-m", "x"], "input": {"a": 1}}

not json
{"id": "t", "args": ["show"], "text": true}
{"args": ["fail"]}
{"id": [1], "unknown": 1}
{"args": ["a"], "tool": "b"}
{"tool": "nothing"}
"#;
        let (all, counts, lines) = answers(input, false);
        let codes: Vec<_> = all.iter().map(|answer| answer["exit_code"].as_u64()).collect();
        assert_eq!(
            codes,
            [Some(0), Some(129), Some(0), Some(4), Some(129), Some(129), Some(129)]
        );
        assert_eq!((counts.requests, counts.failed), (7, 5));
        assert_eq!(all[0]["id"], 7);
        assert_eq!(all[0]["output"], serde_json::json!(["save", "-m", "x"]));
        assert_eq!(all[0]["warnings"][0], "w");
        assert_eq!(lines[0].input.as_deref(), Some(br#"{"a":1}"#.as_slice()));
        assert_eq!(lines[1].input, None);
        assert_eq!((&all[2]["text"], &all[2]["output"]), (&"plain".into(), &Value::Null));
        assert_eq!(all[3]["error"]["code"], "refused");
        assert_eq!((&all[4]["id"][0], &all[4]["line"]), (&1.into(), &6.into()));
        let (all, ..) = answers(input, true);
        assert_eq!(all.len(), 2);
    }
}
