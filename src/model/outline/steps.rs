//! Steps in an outline: failed and running ones first, each with what the next try has to know.

use super::{Detail, Entry, Rank, Section, cut};
use crate::model::step::{Step, StepStatus};

/// Members of a step that its entry does not show.
pub(super) const LEFT_OUT: &[&str] = &[
    "steps.n",
    "steps.prompt",
    "steps.uses",
    "steps.started_at",
    "steps.ended_at",
    "steps.duration_ms",
    "steps.command",
    "steps.exit_status",
    "steps.output",
    "steps.outputs",
    "steps.more_outputs",
    "steps.verification",
    "steps.before",
    "steps.after",
    "steps.earlier",
];

/// The section of the steps.
pub(super) fn section(steps: &[Step], selector: &str) -> Section {
    let (mut open, mut closed): (Vec<_>, Vec<_>) = steps.iter().partition(|step| is_open(step));
    open.reverse();
    closed.reverse();
    open.append(&mut closed);
    let entries = open.into_iter().map(|step| entry(step, selector)).collect();
    super::section(
        "steps",
        "Steps, failed and latest first",
        Rank::Open,
        &format!("step list {selector}"),
        entries,
    )
}

fn is_open(step: &Step) -> bool {
    step.status != StepStatus::Done || step.invalidated.is_some()
}

fn entry(step: &Step, selector: &str) -> Entry {
    let mut out = Entry::new(&format!("{} {}", step.n, step.title));
    out.open = is_open(step);
    step.status.word().clone_into(&mut out.state);
    let show = format!("step show {} --in {selector}", step.id);
    let mut add = |member: &str, label: &str, value: Option<&String>| {
        out.details
            .extend(value.map(|value| Detail::new(member, label, &cut(value, &show))));
    };
    add(
        "attempt",
        "attempt",
        (step.attempt > 1).then(|| step.attempt.to_string()).as_ref(),
    );
    add("agent", "agent", step.agent.as_ref());
    add("issue", "issue", step.issue.as_ref());
    add("objective", "objective", step.objective.as_ref());
    add("invalidated", "not valid any more", step.invalidated.as_ref());
    // That it failed is its state.
    let failed = if step.status == StepStatus::Failed {
        ""
    } else {
        "failed with"
    };
    add("error", failed, step.error.as_ref());
    for correction in &step.corrections {
        add("corrections", "correction", Some(correction));
    }
    add("context", "context", step.context.as_ref());
    for (name, value) in &step.unknown {
        add(name, &name.replace('_', " "), Some(&super::entry::value_text(value)));
    }
    out
}
