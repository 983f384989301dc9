//! The token of a plan: a fingerprint of the plan and of the files it was made from. A caller that was shown a plan gives its
//! token back, and exactly that plan is carried out or none.

use serde::Serialize;
use serde_json::Value;

use super::{CurrentSnapshot, PlanJob, PlanOperation};
use crate::{
    model::{
        id::{Digest, Oid},
        plan::PlanLine,
    },
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

/// State that a token depends on.
#[derive(Serialize)]
struct Inputs<'a> {
    operation: PlanOperation,
    request: &'a Value,
    state: &'a Value,
    tree: Option<Oid>,
    index: Option<Oid>,
    lists: Option<String>,
    head: &'a Option<Oid>,
    branch: &'a Option<String>,
    lines: &'a [PlanLine],
    refusals: Vec<String>,
}

/// The token of a plan. It is the same in a dry run and in the run itself.
pub(super) fn of(job: &PlanJob<'_>, present: &CurrentSnapshot, plan: &RestorePlan, refusals: &[Refusal]) -> String {
    let snapshot = present.snapshot.as_ref();
    let inputs = Inputs {
        operation: job.operation,
        request: &job.note,
        state: &job.expectation.state,
        tree: snapshot.map(|snapshot| oid(snapshot.tree)),
        index: snapshot.map(|snapshot| oid(snapshot.index_tree)),
        lists: snapshot.map(|snapshot| {
            let lists = &snapshot.lists;
            let (modes, raw, empty) = (&lists.modes, &lists.raw, &lists.empty_dirs);
            let (skipped, added, unmerged) = (&lists.skipped, &lists.intent_to_add, &lists.conflicts);
            format!("{:?}", (modes, raw, skipped, empty, added, unmerged))
        }),
        head: &present.facts.head,
        branch: &present.facts.branch,
        lines: &plan.lines,
        refusals: refusals.iter().map(ToString::to_string).collect(),
    };
    let digits = |text: Vec<u8>| Digest::of(&text).hex().to_owned();
    let asked = digits(serde_json::to_vec(&(job.operation, &job.note)).unwrap_or_default());
    // A token is no secret, it only must not fit two plans: 96 bits for the state.
    let state = digits(serde_json::to_vec(&inputs).unwrap_or_default());
    format!("{}{}", &asked[..ASKED], &state[..24])
}
