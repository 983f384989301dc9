//! The hand-off note: what whoever takes the work over has to know, on a page.

use super::{super::markdown, DocumentSource, list, reasoned, status};
use crate::model::{record::TaskStatus, step::StepStatus};

/// How many lines of a kind the note has.
const ROWS: usize = 20;

/// The note.
pub fn handoff(source: &DocumentSource<'_>) -> String {
    let (document, record) = (source.document, &source.document.record);
    let session = &document.session;
    let title = session
        .title
        .as_deref()
        .or(session.task.as_deref())
        .unwrap_or(source.session);
    let mut out = format!("# Hand-off: {}\n\n## Status\n\n", markdown::line(title));
    let mut head = |label: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            out.push_str(&format!("- **{label}:** {}\n", markdown::line(&value)));
        }
    };
    head(
        "Session",
        Some(format!("{}, {}", source.session, session.status.word())),
    );
    head("Saved", Some(format!("{} on {}", document.created_at, document.host)));
    head("Issue", Some(session.issues.join(", ")));
    head("Branch", Some(source.code()));
    head("Task", session.task.clone());
    head("Phase", source.phase());
    head("Progress", source.progress());
    let summary = record.summary.as_deref().unwrap_or("(none)");
    out.push_str(&format!("\n{}\n", markdown::block(summary)));
    let mut section = |title: &str, rows: Vec<String>, numbered: bool| {
        let more = rows.len().saturating_sub(ROWS);
        let kept: Vec<String> = rows.into_iter().take(ROWS).collect();
        out.push_str(&format!("\n## {title}\n\n{}", list(&kept, numbered)));
        if more > 0 {
            out.push_str(&format!("\n{more} more: `git checkpoint show --all`\n"));
        }
    };
    let next = record.next_steps.iter().chain(&record.resume_instructions);
    section("Next steps", next.map(|n| n.text.clone()).collect(), true);
    let blockers = record.blockers.iter().map(|b| match &b.needs {
        Some(needs) => format!("{} (needs {needs})", b.text),
        None => b.text.clone(),
    });
    let waiting = record.approvals.iter().filter(|a| a.answer.is_none());
    let waiting = waiting.map(|a| format!("approval: {}", a.question));
    let blocked = record.tasks.iter().filter(|t| t.status == TaskStatus::Blocked);
    let blocked = blocked.map(|t| format!("task: {}", t.title));
    section("Blocked", blockers.chain(waiting).chain(blocked).collect(), false);
    let decisions = record.decisions.iter().map(|d| reasoned(&d.text, d.reason.as_deref()));
    section("Decisions made", decisions.collect(), false);
    let open = record.fork_points.iter().filter(|point| point.chosen.is_none());
    let open = open.map(|point| {
        let options: Vec<_> = point.options.iter().map(|o| o.key.as_str()).collect();
        format!("{} ({})", point.title, options.join(" or "))
    });
    let questions = record
        .questions
        .iter()
        .filter(|q| q.answer.is_none())
        .map(|q| q.text.clone());
    section("Open questions", questions.chain(open).collect(), false);
    let tasks = record
        .tasks
        .iter()
        .filter(|t| !matches!(t.status, TaskStatus::Done | TaskStatus::Dropped));
    let tasks = tasks.map(|t| format!("{}: {}", t.title, status(t.status)));
    let todos = record.todos.iter().filter(|t| !t.done).map(|t| t.text.clone());
    section("Remaining", tasks.chain(todos).collect(), false);
    let mut done: Vec<String> = record.accomplishments.iter().map(|n| n.text.clone()).collect();
    done.extend(
        record
            .tasks
            .iter()
            .filter(|t| t.status == TaskStatus::Done)
            .map(|t| t.title.clone()),
    );
    // What was done last matters most.
    done.reverse();
    section("Done, newest first", done, false);
    let failed = source.steps.iter().filter(|s| s.status == StepStatus::Failed);
    let failed = failed.map(|s| format!("step {} {}: {}", s.n, s.title, s.error.as_deref().unwrap_or("failed")));
    let contexts = source
        .steps
        .iter()
        .filter(|s| s.status == StepStatus::Done)
        .filter_map(|s| {
            let context = s.context.as_deref()?.lines().next()?;
            Some(format!("step {} {}: {context}", s.n, s.title))
        });
    section("Context for the next session", failed.chain(contexts).collect(), false);
    let git = &document.git;
    let mut files: Vec<String> = Vec::new();
    for (what, paths) in [
        ("staged", &git.staged),
        ("modified", &git.modified),
        ("deleted", &git.deleted),
        ("untracked", &git.untracked),
        ("conflicted", &git.conflicted),
    ] {
        files.extend(paths.first.iter().map(|path| format!("{what}: {path}")));
    }
    section("Files not committed", files, false);
    out.push_str(&format!(
        "\n## On resuming\n\n\
         - [ ] `git checkpoint resume {0}` tells what changed since and what comes next\n\
         - [ ] the branch and the files are as above, or `git checkpoint restore {0}` brings them back\n\n\
         Checkpoint {1}, {2}.\n",
        source.session, source.id, source.digest
    ));
    out
}
