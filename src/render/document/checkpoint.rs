//! The session checkpoint: everything the record knows, a section for each kind of thing, in the order in which a
//! session is taken up again.

use super::{
    super::{markdown, outline},
    DocumentSource, ENCRYPTED, NONE, list, opt, reasoned, status, table,
};
use crate::{
    model::{
        outline::Outline,
        record::{Delegation, Record, Task, TaskStatus},
        step::Step,
    },
    render::{age, step},
};

/// The most characters of a step's context in the document; the whole is in the checkpoint.
const CONTEXT: usize = 2_000;

/// Content of the tables; everything else that was saved follows them, section by section.
const SHOWN: &[(&str, &[&str])] = &[
    ("session", &["task", "feature", "issues", "agent"]),
    ("phase", &["title"]),
    ("step", &[]),
    ("error", &["stack"]),
    ("next_steps", &[]),
    ("resume_instructions", &[]),
    ("accomplishments", &[]),
    ("decisions", &["reason"]),
    ("blockers", &["needs", "ref"]),
    ("tasks", &["agent", "issue", "files", "notes", "progress", "depends_on"]),
    ("todos", &[]),
    ("questions", &["open"]),
    ("approvals", &["open", "provider", "channel", "thread", "asked_at"]),
    ("fork_points", &["parts", "decider", "chosen", "reason"]),
    ("delegations", &["issue", "model_tier", "tokens", "duration", "panel"]),
    ("partitions", &[]),
    ("checks", &["text"]),
    ("agent_history", &["agent"]),
    ("memory_refs", &[]),
    ("open_files", &[]),
    (
        "steps",
        &["attempt", "agent", "issue", "error", "invalidated", "context"],
    ),
];

/// The title of the section of files.
const FILES: &str = "Files";

/// The document.
pub fn markdown(source: &DocumentSource<'_>) -> String {
    let (document, record) = (source.document, &source.document.record);
    let session = &document.session;
    let title = session.title.as_deref().unwrap_or(source.session);
    let mut out = format!("# Session checkpoint: {}\n\n", markdown::line(title));
    let mut head = |label: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("- **{label}:** {}\n", markdown::line(value)));
        }
    };
    head("Last updated", &document.created_at.to_string());
    head("Session", source.session);
    head("Status", session.status.word());
    head("Task", session.task.as_deref().unwrap_or_default());
    head("Feature", session.feature.as_deref().unwrap_or_default());
    head("Branch", &source.code());
    head("Issues", &session.issues.join(", "));
    head("Agent", session.agent.as_deref().unwrap_or_default());
    head("Checkpoint", source.id.as_str());
    head("Digest", source.digest.as_str());
    if let Some(info) = &document.encrypted {
        head("Encrypted", &info.words());
    }
    if let Some(from) = &session.forked_from {
        let option = from
            .option
            .as_deref()
            .map(|key| format!(", option {key}"))
            .unwrap_or_default();
        head("Forked from", &format!("{}{option}", from.session));
    }
    // The files are known from git.
    let is_unknown = |title: &str| document.is_locked() && title != FILES;
    let mut section = |title: &str, text: String| {
        let text = if is_unknown(title) {
            format!("{ENCRYPTED}\n")
        } else {
            text
        };
        out.push_str(&format!("\n## {title}\n\n{text}"));
    };
    let summary = record.summary.as_deref().unwrap_or(NONE);
    section("Summary", format!("{}\n", markdown::block(summary)));
    let progress = [
        source.phase(),
        source.progress(),
        record.step.as_ref().map(|s| format!("step {} of {}", s.n, s.of)),
    ];
    let progress: Vec<String> = progress.into_iter().flatten().collect();
    section("Current phase", list(&progress, false));
    section("Completed work", completed(record));
    let titles = ["Task", "Issue", "Agent", "Status", "Files", "Notes"];
    let going = |t: &&Task| matches!(t.status, TaskStatus::InProgress | TaskStatus::Blocked);
    section("In progress", table(&titles, &tasks(record, going)));
    section("Remaining work", remaining(record));
    let approvals = record.approvals.iter().filter(|a| a.answer.is_none()).map(|a| {
        let asked = a.asked_at.unwrap_or(a.at).to_string();
        vec![
            opt(a.provider.as_ref()),
            opt(a.channel.as_ref()),
            opt(a.thread.as_ref()),
            a.question.clone(),
            asked,
        ]
    });
    let titles = ["Provider", "Channel", "Thread", "Question", "Asked at"];
    section("Pending approvals", table(&titles, &approvals.collect::<Vec<_>>()));
    let decisions = record
        .decisions
        .iter()
        .map(|d| vec![d.text.clone(), opt(d.reason.as_ref()), d.by.clone()]);
    section(
        "Decisions",
        table(&["Decision", "Reason", "By"], &decisions.collect::<Vec<_>>()),
    );
    let blockers = record
        .blockers
        .iter()
        .map(|b| vec![b.text.clone(), opt(b.needs.as_ref()), opt(b.reference.as_ref())]);
    section(
        "Blockers",
        table(&["Blocker", "Needs", "Reference"], &blockers.collect::<Vec<_>>()),
    );
    let open = record
        .questions
        .iter()
        .filter(|q| q.answer.is_none())
        .map(|q| q.text.clone());
    section("Open questions", list(&open.collect::<Vec<_>>(), false));
    section("Fork points", fork_points(record));
    section("Step log", steps(source.steps, source.selector));
    section("Delegation cost log", delegations(&record.delegations));
    let partitions = record.partitions.iter().map(|(agent, paths)| {
        let paths = match paths.as_array() {
            Some(paths) => paths.iter().map(text_of).collect::<Vec<_>>().join("\n"),
            None => text_of(paths),
        };
        vec![agent.clone(), paths]
    });
    section(
        "File partitions",
        table(&["Agent", "Paths"], &partitions.collect::<Vec<_>>()),
    );
    section(FILES, files(source));
    others(record, &mut section);
    let mut rest = Outline::of(source.contents, source.selector).without(SHOWN);
    for section in &mut rest.sections {
        // What the table of a section has no column for.
        if out.contains(&format!("\n## {}\n", markdown::line(&section.title))) {
            section.title.push_str(", further details");
        }
    }
    let missing = outline::left_out_markdown(&rest);
    out.push_str(&outline::markdown(&rest, 2, usize::MAX));
    out.push_str(&format!("\n{missing}\n"));
    let mut section = |title: &str, text: String| out.push_str(&format!("\n## {title}\n\n{text}"));
    let next = record.next_steps.iter().chain(&record.resume_instructions);
    let next = if document.is_locked() {
        format!("{ENCRYPTED}\n")
    } else {
        list(&next.map(|n| n.text.clone()).collect::<Vec<_>>(), true)
    };
    section("Resume instructions", next);
    out
}

fn tasks(record: &Record, wanted: impl Fn(&&Task) -> bool) -> Vec<Vec<String>> {
    let row = |task: &Task| {
        let notes = [noted(task), after(record, task)];
        let notes: Vec<String> = notes.into_iter().filter(|text| !text.is_empty()).collect();
        vec![
            task.title.clone(),
            opt(task.issue.as_ref()),
            opt(task.agent.as_ref()),
            status(task.status).to_owned(),
            task.files.join("\n"),
            notes.join(", "),
        ]
    };
    record.tasks.iter().filter(wanted).map(row).collect()
}

/// How far a task is, and the remarks on it.
fn noted(task: &Task) -> String {
    let progress = task.progress.map(|p| format!("{p}%")).unwrap_or_default();
    let notes = [progress, opt(task.notes.as_ref())];
    let notes: Vec<String> = notes.into_iter().filter(|text| !text.is_empty()).collect();
    notes.join(", ")
}

/// The tasks that come first, by their titles.
fn after(record: &Record, task: &Task) -> String {
    let title_of = |id: &String| {
        let task = record.tasks.iter().find(|task| task.id == *id);
        task.map_or_else(|| id.clone(), |task| task.title.clone())
    };
    let titles: Vec<String> = task.depends_on.iter().map(title_of).collect();
    if titles.is_empty() {
        String::new()
    } else {
        format!("after {}", titles.join(", "))
    }
}

fn completed(record: &Record) -> String {
    let mut rows = tasks(record, |t| matches!(t.status, TaskStatus::Done | TaskStatus::Dropped));
    let said = record
        .accomplishments
        .iter()
        .map(|note| (note.text.clone(), note.by.clone()));
    let todos = record
        .todos
        .iter()
        .filter(|t| t.done)
        .map(|t| (t.text.clone(), t.by.clone()));
    for (text, by) in said.chain(todos) {
        rows.push(vec![
            text,
            String::new(),
            by,
            "done".to_owned(),
            String::new(),
            String::new(),
        ]);
    }
    table(&["Task", "Issue", "Agent", "Status", "Files", "Notes"], &rows)
}

fn remaining(record: &Record) -> String {
    let title_of = |id: &String| {
        let task = record.tasks.iter().find(|task| task.id == *id);
        task.map_or_else(|| id.clone(), |task| task.title.clone())
    };
    let row = |task: &Task| {
        vec![
            task.title.clone(),
            opt(task.issue.as_ref()),
            opt(task.agent.as_ref()),
            task.depends_on.iter().map(title_of).collect::<Vec<_>>().join("\n"),
            task.files.join("\n"),
            noted(task),
        ]
    };
    let open = record.tasks.iter().filter(|t| t.status == TaskStatus::Todo);
    let mut rows: Vec<Vec<String>> = open.map(row).collect();
    for todo in record.todos.iter().filter(|t| !t.done) {
        rows.push(vec![
            todo.text.clone(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    table(&["Task", "Issue", "Agent", "Depends on", "Files", "Notes"], &rows)
}

fn fork_points(record: &Record) -> String {
    let mut rows = Vec::new();
    for point in &record.fork_points {
        let decided = || {
            let by = point.decider.as_deref().map(|who| format!(", decided by {who}"));
            reasoned(&format!("chosen{}", by.unwrap_or_default()), point.reason.as_deref())
        };
        // What is known of a point without the options that it names.
        let other = point
            .chosen
            .as_ref()
            .filter(|key| point.options.iter().all(|option| option.key != **key));
        if other.is_some() || point.options.is_empty() {
            let verdict = match (&point.chosen, &point.decider) {
                (Some(_), _) => decided(),
                (None, Some(decider)) => format!("open, {decider} decides"),
                (None, None) => "open".to_owned(),
            };
            let option = other.cloned().unwrap_or_default();
            let none = String::new;
            rows.push(vec![point.title.clone(), option, none(), none(), none(), verdict]);
        }
        for option in &point.options {
            let chosen = point.chosen.as_ref() == Some(&option.key);
            let verdict = match (chosen, &point.chosen) {
                (true, _) => decided(),
                (false, Some(_)) => "not chosen".to_owned(),
                (false, None) => match &point.decider {
                    Some(decider) => format!("open, {decider} decides"),
                    None => "open".to_owned(),
                },
            };
            rows.push(vec![
                point.title.clone(),
                format!("{}: {}", option.key, option.title),
                option.pros.join("\n"),
                option.cons.join("\n"),
                option.files.join("\n"),
                verdict,
            ]);
        }
    }
    table(&["Question", "Option", "For", "Against", "Files", "Decision"], &rows)
}

fn steps(steps: &[Step], selector: &str) -> String {
    let row = |step: &Step| {
        let outputs = step.outputs.iter().map(|o| format!("{} {}", o.change, o.path));
        let checks = step
            .verification
            .iter()
            .map(|(name, result)| format!("{name} {}", text_of(result)));
        let mut status = step.status.word().to_owned();
        if step.attempt > 1 {
            status.push_str(&format!(", try {}", step.attempt));
        }
        vec![
            step.n.to_string(),
            step.title.clone(),
            opt(step.agent.as_ref()),
            opt(step.issue.as_ref()),
            status,
            step::took(step).unwrap_or_default(),
            outputs.collect::<Vec<_>>().join("\n"),
            checks.collect::<Vec<_>>().join("\n"),
            [&step.invalidated, &step.error]
                .into_iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
                .join(
                    "
",
                ),
        ]
    };
    let titles = [
        "#", "Step", "Agent", "Issue", "Status", "Took", "Outputs", "Checks", "Error",
    ];
    let mut out = table(&titles, &steps.iter().map(row).collect::<Vec<_>>());
    for step in steps {
        let Some(context) = &step.context else { continue };
        let title = markdown::line(&step.title);
        let mut kept: String = context.chars().take(CONTEXT).collect();
        if kept.len() < context.len() {
            kept.push_str(&format!(
                "\n[cut: 'git checkpoint step show {} --in {selector}' has all of it]",
                step.id
            ));
        }
        out.push_str(&format!(
            "\n### Context of step {} {title}\n\n{}",
            step.n,
            markdown::code(&kept)
        ));
    }
    out
}

fn delegations(all: &[Delegation]) -> String {
    let tokens = |d: &Delegation| {
        let about = if d.estimated { "about " } else { "" };
        d.tokens.map(|n| format!("{about}{n}")).unwrap_or_default()
    };
    let row = |(d, n): (&Delegation, usize)| {
        let mut agent = d.agent.clone();
        if d.panel {
            agent.push_str(" (panel review)");
        }
        vec![
            n.to_string(),
            agent,
            opt(d.issue.as_ref()),
            opt(d.model_tier.as_ref()),
            tokens(d),
            d.duration.map(age::duration).unwrap_or_default(),
            opt(d.status.as_ref()),
        ]
    };
    let mut rows: Vec<Vec<String>> = all.iter().zip(1..).map(row).collect();
    if !all.is_empty() {
        let sum = |panel_only: bool| {
            let counted = all.iter().filter(|d| d.panel || !panel_only);
            counted.fold((0u64, 0u64, 0usize), |(tokens, time, n), d| {
                let tokens = tokens.saturating_add(d.tokens.unwrap_or(0));
                (tokens, time.saturating_add(d.duration.unwrap_or(0)), n + 1)
            })
        };
        let (tokens, time, n) = sum(false);
        let (panel_tokens, _, panels) = sum(true);
        let about = if all.iter().any(|d| d.estimated) { "about " } else { "" };
        let status = match panels {
            0 => String::new(),
            _ => format!("of these {panels} panel reviews with {panel_tokens} tokens"),
        };
        let total = format!("total of {n}");
        rows.push(vec![
            String::new(),
            total,
            String::new(),
            String::new(),
            format!("{about}{tokens}"),
            age::duration(time),
            status,
        ]);
    }
    table(
        &["#", "Agent", "Issue", "Model tier", "Tokens", "Duration", "Status"],
        &rows,
    )
}

/// Status of the files as git reported it.
fn files(source: &DocumentSource<'_>) -> String {
    let git = &source.document.git;
    let mut rows = Vec::new();
    for (what, paths) in [
        ("staged", &git.staged),
        ("modified", &git.modified),
        ("deleted", &git.deleted),
        ("untracked", &git.untracked),
        ("conflicted", &git.conflicted),
    ] {
        for path in &paths.first {
            let (state, path) = if what == "staged" {
                git.staged_kind(path).row(path)
            } else {
                (what.to_owned(), path.quoted())
            };
            rows.push(vec![path, state]);
        }
        let more = paths.count.saturating_sub(paths.first.len() as u64);
        if more > 0 {
            rows.push(vec![format!("and {more} more"), what.to_owned()]);
        }
    }
    if rows.is_empty() && !git.has_status() {
        return "(not saved)\n".to_owned();
    }
    table(&["Path", "State"], &rows)
}

/// Sections that most sessions have nothing for: left out then.
fn others(record: &Record, section: &mut impl FnMut(&str, String)) {
    let checks: Vec<_> = record
        .checks
        .iter()
        .map(|c| vec![c.name.clone(), c.status.clone(), opt(c.text.as_ref())])
        .collect();
    if !checks.is_empty() {
        section("Checks", table(&["Check", "Result", "Details"], &checks));
    }
    let history: Vec<_> = record
        .agent_history
        .iter()
        .map(|e| vec![e.at.to_string(), e.agent.clone(), e.text.clone()])
        .collect();
    if !history.is_empty() {
        section("Agent history", table(&["At", "Agent", "What"], &history));
    }
    let memory: Vec<String> = record.memory_refs.iter().map(|n| n.text.clone()).collect();
    if !memory.is_empty() {
        section("Memory", list(&memory, false));
    }
    let place = |f: &crate::model::record::OpenFile| {
        let line = f.line.map(|n| format!(":{n}")).unwrap_or_default();
        let column = f.column.map(|n| format!(":{n}")).unwrap_or_default();
        format!("{}{line}{column}", f.path)
    };
    let open: Vec<String> = record.open_files.iter().map(place).collect();
    if !open.is_empty() {
        section("Open files", list(&open, false));
    }
    if let Some(error) = &record.error {
        let stack = error.stack.as_deref().map(|stack| format!("\n\n{stack}"));
        section(
            "Error",
            markdown::code(&format!("{}{}", error.message, stack.unwrap_or_default())),
        );
    }
}

fn text_of(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
