//! The token of a plan: a fingerprint of the plan and of the files it was made from. A caller that was shown a plan gives its
//! token back, and exactly that plan is carried out or none.

use serde_json::Value;

use super::{CurrentSnapshot, PlanJob};
use crate::{
    model::{id::Digest, plan::PlanLine},
    ops::{Error, refuse::Refusal},
    store::checkpoint::oid,
    worktree::restore::RestorePlan,
};

/// Digits at the beginning of a token that depend on what was asked for alone.
const ASKED: usize = 8;

/// Expectation of a caller that has seen a plan.
#[derive(Clone, Debug, Default)]
pub(in crate::ops) struct PlanExpectation<'a> {
    /// State besides files and index that the plan also depends on.
    pub(in crate::ops) state: Value,
    /// The token of the plan; any plan is carried out without one.
    pub(in crate::ops) token: Option<&'a str>,
}

impl PlanExpectation<'_> {
    /// Refuses another plan than the expected one.
    pub(super) fn check(&self, token: &str) -> Result<(), Error> {
        match self.token {
            Some(expected) if expected.get(..ASKED) != token.get(..ASKED) => Err(Error::PlanUnknown),
            Some(expected) if expected != token => Err(Error::PlanChanged),
            _ => Ok(()),
        }
    }
}

/// The token of a plan. It is the same in a dry run and in the run itself.
pub(super) fn of(job: &PlanJob<'_>, present: &CurrentSnapshot, plan: &RestorePlan, refusals: &[Refusal]) -> String {
    let lines = |lines: &[PlanLine]| serde_json::to_value(lines).unwrap_or_default();
    let files = present.snapshot.as_ref().map(|snapshot| {
        let lists = &snapshot.lists;
        serde_json::json!({
            "tree": oid(snapshot.tree),
            "index": oid(snapshot.index_tree),
            "lists": format!(
                "{:?}",
                (&lists.modes, &lists.raw, &lists.skipped, &lists.empty_dirs, &lists.intent_to_add, &lists.conflicts)
            ),
        })
    });
    let inputs = serde_json::json!({
        "operation": job.operation,
        "request": job.note,
        "state": job.expectation.state,
        "files": files,
        "head": present.facts.head,
        "branch": present.facts.branch,
        "lines": lines(&plan.lines),
        "refusals": refusals.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    let asked = serde_json::json!({ "operation": job.operation, "request": job.note });
    let digits = |value: &Value| Digest::of(value.to_string().as_bytes()).hex().to_owned();
    // A token is no secret, it only must not fit two plans: 96 bits for the state.
    format!("{}{}", &digits(&asked)[..ASKED], &digits(&inputs)[..24])
}
