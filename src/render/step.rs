//! Steps for people: a table of all, and one with everything that is known of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age,
    count::CountedNoun,
    receipt::RedactionRow,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::{Text, TextLine},
};
use crate::model::{
    excerpt::Excerpt,
    id::Oid,
    name::ShortName,
    step::{Step, StepStatus},
    time::Timestamp,
};

/// How many lines of an output are shown unless all are asked for.
const LINES: usize = 20;
/// How many files are shown unless all are asked for.
const FILES: usize = 10;

/// A step of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.step/1")]
pub struct StepView<'a> {
    /// The name of the session; null for a checkpoint of no session.
    pub session: Option<&'a ShortName>,
    /// The step.
    pub step: &'a Step,
    /// The result of the change, where one was made.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub change: Option<StepChangeView<'a>>,
}

/// The result of a change of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepChangeView<'a> {
    /// The identity of the session, which never changes.
    pub session_id: &'a str,
    /// The checkpoint that `checkpoint.saveOn` asked for.
    pub checkpoint: Option<Oid>,
    /// Secrets that were found.
    pub redactions: Vec<RedactionRow>,
}

/// The steps of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.steps/1")]
#[schemars(extend("x-lines" = "steps"))]
pub struct StepList<'a> {
    /// The name of the session; null for a checkpoint of no session.
    pub session: Option<&'a ShortName>,
    /// The steps, in their order.
    pub steps: &'a [Step],
}

fn slot(status: StepStatus) -> Slot {
    match status {
        StepStatus::Running => Slot::Caution,
        StepStatus::Done => Slot::Good,
        StepStatus::Failed => Slot::Bad,
        StepStatus::Invalid => Slot::Dim,
    }
}

/// One line about a step: `step 3 'parser' (k3j2abcd)`.
pub fn line(step: &Step) -> TextLine {
    let mut line = TextLine::plain(format!("step {} '{}' (", step.n, step.title));
    line.push(Slot::Id, &step.id);
    line.push(Slot::Plain, ")");
    line
}

/// How long it took: `0.4 s`, `12 min`.
pub fn took(step: &Step) -> Option<String> {
    let millis = step.duration_ms?;
    Some(if millis < 10_000 {
        format!("{}.{} s", millis / 1000, millis % 1000 / 100)
    } else {
        age::duration(millis / 1000)
    })
}

/// All steps, a line each.
pub fn list(steps: &[Step], columns: usize, now: Timestamp) -> Text {
    let mut table = TextTable::new([
        TableColumn::right("#"),
        TableColumn::left("id"),
        TableColumn::left("status"),
        TableColumn::left("when"),
        TableColumn::left("took"),
        TableColumn::left("agent"),
        TableColumn::left("title").flexible(20),
    ]);
    for step in steps {
        let mut status = step.status.word().to_owned();
        if step.attempt > 1 {
            status.push_str(&format!(", try {}", step.attempt));
        }
        let when = step.ended_at.or(step.started_at).unwrap_or(step.at);
        table.row([
            TextLine::plain(step.n.to_string()),
            TextLine::new().with(Slot::Id, &step.id),
            TextLine::new().with(slot(step.status), status),
            TextLine::new().with(Slot::Date, age::age(when, now)),
            TextLine::plain(took(step).unwrap_or_default()),
            TextLine::new().with(Slot::Person, step.agent.as_deref().unwrap_or_default()),
            TextLine::plain(&step.title),
        ]);
    }
    table.render(columns)
}

/// One step, whole.
pub fn show(step: &Step, columns: usize, all: bool, now: Timestamp) -> Text {
    let mut text = Text::new();
    text.push(line(step));
    {
        let mut row = |label: &str, value: TextLine| {
            let mut line = TextLine::new().with(Slot::Heading, format!("{label}:"));
            line.pad_to(12);
            line.append(&value);
            text.push(line);
        };
        let mut status = TextLine::new().with(slot(step.status), step.status.word());
        if step.attempt > 1 {
            status.push(Slot::Plain, format!(", try {}", step.attempt));
        }
        if let Some(exit) = step.exit_status {
            status.push(Slot::Plain, format!(", exit status {exit}"));
        }
        row("Status", status);
        for (label, slot, value) in [
            ("Agent", Slot::Person, &step.agent),
            ("Issue", Slot::Plain, &step.issue),
            ("Objective", Slot::Plain, &step.objective),
            ("Error", Slot::Bad, &step.error),
            ("Taken back", Slot::Caution, &step.invalidated),
        ] {
            if let Some(value) = value {
                row(label, TextLine::new().with(slot, value));
            }
        }
        if let Some(command) = &step.command {
            let mut line = TextLine::plain(command.shown());
            if !command.directory.as_bytes().is_empty() {
                line.push(Slot::Dim, format!(" in {}", command.directory));
            }
            row("Command", line);
        }
        if let Some(started) = step.started_at {
            row("Began", TextLine::new().with(Slot::Date, age::age(started, now)));
        }
        if let Some(took) = took(step) {
            row("Took", TextLine::plain(took));
        }
        if !step.uses.is_empty() {
            row("Uses", TextLine::new().with(Slot::Id, step.uses.join(" ")));
        }
        if !step.verification.is_empty() {
            let checks = step.verification.iter().map(|(name, result)| {
                let result = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
                format!("{name} {result}")
            });
            row("Checks", TextLine::plain(checks.collect::<Vec<_>>().join(", ")));
        }
    }
    for (title, value) in [("Prompt", &step.prompt), ("Context for later steps", &step.context)] {
        if let Some(value) = value {
            heading(&mut text, title);
            text.append(Text::wrapped(value, 2, columns));
        }
    }
    if !step.corrections.is_empty() {
        heading(&mut text, "Corrections");
        for correction in &step.corrections {
            text.append(Text::wrapped(correction, 2, columns));
        }
    }
    files(&mut text, step, all);
    if let Some(output) = &step.output {
        self::output(&mut text, output, all);
    }
    for try_ in &step.earlier {
        heading(&mut text, &format!("Try {}: {}", try_.n, try_.status.word()));
        if let Some(error) = &try_.error {
            text.append(Text::wrapped(error, 2, columns));
        }
    }
    text
}

fn files(text: &mut Text, step: &Step, all: bool) {
    if step.outputs.is_empty() {
        return;
    }
    heading(text, "Files");
    let shown = if all { step.outputs.len() } else { FILES };
    for output in step.outputs.iter().take(shown) {
        let slot = match output.change.as_str() {
            "created" => Slot::Added,
            "deleted" => Slot::Removed,
            _ => Slot::Changed,
        };
        let mut line = TextLine::plain("  ").with(slot, format!("{:9}", output.change));
        line.push(Slot::Path, output.path.quoted());
        if let Some(about) = &output.text {
            line.push(Slot::Plain, format!("  {about}"));
        }
        text.push(line);
    }
    let left = step.outputs.len().saturating_sub(shown) as u64 + step.more_outputs.unwrap_or(0);
    if left > 0 {
        text.push(TextLine::new().with(Slot::Dim, format!("  ... {left} more")));
    }
}

fn output(text: &mut Text, output: &Excerpt, all: bool) {
    heading(text, "Output");
    let whole = output.text();
    let block = Text::block(&whole);
    let lines = block.lines();
    let from = if all { 0 } else { lines.len().saturating_sub(LINES) };
    if from > 0 {
        let left = CountedNoun::new(from, "line");
        text.push(TextLine::new().with(Slot::Dim, format!("  ... {left} before (--all)")));
    }
    for line in &lines[from..] {
        let mut indented = TextLine::plain("  ");
        indented.append(line);
        text.push(indented);
    }
}

fn heading(text: &mut Text, title: &str) {
    text.push(TextLine::new());
    text.push(TextLine::new().with(Slot::Heading, title));
}
