//! Input of the next attempt of a step: results of finished steps, failure of the last attempt, objective; and reasons
//! why retrying only this step might be wrong.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Step, StepStatus, needed_by, rests_on};
use crate::model::path::RepoPath;

/// From how many steps that need its result on a step is more than itself.
const MANY: usize = 3;

/// Everything the next try of a step should know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetryInfo {
    /// The step.
    pub step: Step,
    /// Which try it would be.
    pub attempt: u32,
    /// Objective: the restated one, else the previous one, else the title.
    pub objective: String,
    /// Corrections, earlier ones first.
    pub corrections: Vec<String>,
    /// The finished steps whose results it can use, in their order.
    pub finished: Vec<Step>,
    /// Why it might be wrong to try only this step again.
    pub warnings: Vec<Warning>,
}

/// A reason for a closer look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "retry_warning")]
pub struct Warning {
    /// `invalidated`, `needed`, `files-changed`, `files-unknown` or `not-failed`.
    #[schemars(extend("enum" = ["invalidated", "needed", "files-changed", "files-unknown", "not-failed"]))]
    pub code: &'static str,
    /// In words.
    pub message: String,
    /// Ids of the steps it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// The paths it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<RepoPath>,
}

/// Changes of the files since the last attempt of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChanges {
    /// These differ.
    Changed(Vec<RepoPath>),
    /// They differ, but which cannot be determined.
    Unknown,
    /// No state of files was kept with the step, or there are none now.
    NotKept,
}

impl RetryInfo {
    /// For a step of these. `objective` and `corrections` come with the question.
    pub fn new(
        steps: &[Step],
        step: &Step,
        objective: Option<&str>,
        corrections: &[String],
        since: FileChanges,
    ) -> Self {
        let used = rests_on(steps, &step.id);
        let finished = if used.is_empty() {
            // Nothing was said of uses: what came before may matter.
            steps.iter().filter(|other| other.n < step.n).collect()
        } else {
            used.clone()
        };
        let finished: Vec<&Step> = finished.into_iter().filter(|s| s.status == StepStatus::Done).collect();
        let mut all = step.corrections.clone();
        all.extend_from_slice(corrections);
        let objective = objective.or(step.objective.as_deref()).unwrap_or(&step.title);
        Self {
            attempt: match step.status {
                StepStatus::Running => step.attempt,
                _ => step.attempt.saturating_add(1),
            },
            objective: objective.to_owned(),
            corrections: all,
            warnings: warnings(steps, step, &used, since),
            finished: finished.into_iter().cloned().collect(),
            step: step.clone(),
        }
    }
}

fn warnings(steps: &[Step], step: &Step, used: &[&Step], since: FileChanges) -> Vec<Warning> {
    let mut out = Vec::new();
    let mut add = |code, message: String, about: &[&Step], paths: Vec<RepoPath>| {
        out.push(Warning {
            code,
            message,
            steps: about.iter().map(|step| step.id.clone()).collect(),
            paths,
        });
    };
    if step.status == StepStatus::Done {
        let message = "it did not fail; if its result does not hold any more, take it back first".to_owned();
        add("not-failed", message, &[], Vec::new());
    }
    // One that it does not name may matter as well, when it came before and nothing was said of uses.
    let before = |other: &&Step| used.iter().any(|u| u.id == other.id) || (used.is_empty() && other.n < step.n);
    for other in steps.iter().filter(before).filter(|s| s.status == StepStatus::Invalid) {
        let reason = other.invalidated.as_deref().unwrap_or("no reason was given");
        let message = format!("step {} '{}' was invalidated: {reason}", other.n, other.title);
        add("invalidated", message, &[other], Vec::new());
    }
    let needed = needed_by(steps, &step.id);
    if needed.len() >= MANY {
        let names: Vec<String> = needed.iter().map(|s| format!("{} '{}'", s.n, s.title)).collect();
        let message = format!("{} steps need its result: {}", needed.len(), names.join(", "));
        add("needed", message, &needed, Vec::new());
    }
    match since {
        FileChanges::Changed(paths) => {
            let outputs: Vec<&RepoPath> = used.iter().flat_map(|s| &s.outputs).map(|o| &o.path).collect();
            let own = |path: &RepoPath| step.after.is_none() && step.outputs.iter().any(|o| o.path == *path);
            let matters = |path: &RepoPath| (outputs.is_empty() || outputs.contains(&path)) && !own(path);
            let paths: Vec<RepoPath> = paths.into_iter().filter(matters).collect();
            if !paths.is_empty() {
                let message = match paths.len() {
                    1 => "a file that it rests on changed since".to_owned(),
                    n => format!("{n} files that it rests on changed since"),
                };
                add("files-changed", message, &[], paths);
            }
        }
        FileChanges::Unknown => {
            let message = "the files changed since; it is unknown which ones".to_owned();
            add("files-unknown", message, &[], Vec::new());
        }
        FileChanges::NotKept => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{super::tests::sample, *};
    use crate::model::step::StepOutput;

    fn codes(retry: &RetryInfo) -> Vec<&'static str> {
        retry.warnings.iter().map(|w| w.code).collect()
    }

    #[test]
    fn context_comes_from_what_it_uses_else_from_all_before() {
        let mut steps: Vec<Step> = (1..=4).map(|n| sample(&format!("step{n}"), n, "x")).collect();
        steps[0].status = StepStatus::Done;
        steps[1].status = StepStatus::Done;
        steps[2].status = StepStatus::Failed;
        steps[2].corrections = vec!["old".into()];
        let retry = RetryInfo::new(&steps, &steps[2], None, &["new".into()], FileChanges::NotKept);
        let ns = |retry: &RetryInfo| retry.finished.iter().map(|s| s.n).collect::<Vec<_>>();
        assert_eq!((ns(&retry), retry.attempt), (vec![1, 2], 2));
        assert_eq!((retry.objective.as_str(), retry.corrections.len()), ("x", 2));
        assert!(retry.warnings.is_empty());
        steps[2].uses = vec!["step2".into()];
        steps[2].objective = Some("as it was".into());
        let retry = RetryInfo::new(&steps, &steps[2], Some("restated"), &[], FileChanges::NotKept);
        assert_eq!((ns(&retry), retry.objective.as_str()), (vec![2], "restated"));
    }

    #[test]
    fn each_rule_has_its_warning() {
        let mut steps: Vec<Step> = (1..=5).map(|n| sample(&format!("step{n}"), n, "x")).collect();
        steps[0].status = StepStatus::Invalid;
        steps[1].uses = vec!["step1".into()];
        steps[1].status = StepStatus::Failed;
        for step in &mut steps[2..] {
            step.uses = vec!["step2".into()];
        }
        let changed = |steps: &[Step], paths: &[&str]| {
            let paths = paths.iter().map(|p| (*p).into()).collect();
            RetryInfo::new(steps, &steps[1], None, &[], FileChanges::Changed(paths))
        };
        assert_eq!(
            codes(&changed(&steps, &["a"])),
            ["invalidated", "needed", "files-changed"]
        );
        assert_eq!(codes(&changed(&steps, &[])), ["invalidated", "needed"]);
        // Only what the steps before wrote is what it rests on, once that is known.
        steps[0].status = StepStatus::Done;
        steps[4].uses.clear();
        steps[0].outputs = vec![StepOutput {
            path: "b".into(),
            change: "created".into(),
            text: None,
        }];
        assert_eq!(codes(&changed(&steps, &["a"])), Vec::<&str>::new());
        assert_eq!(changed(&steps, &["a", "b"]).warnings[0].paths, ["b".into()]);
        let unknown = RetryInfo::new(&steps, &steps[1], None, &[], FileChanges::Unknown);
        assert_eq!(codes(&unknown), ["files-unknown"]);
    }
}
