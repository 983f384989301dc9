//! Actions as commands, and their plans.

use std::sync::Mutex;

use super::*;
use crate::{
    model::time::Timestamp,
    render::{
        indicator::IndicatorView,
        sessions::{CheckpointLog, SessionTable},
        text::Text,
    },
    serve::{CommandFailure, CommandRun, CommandRunner},
};

fn request(action: &str) -> ActionRequest {
    ActionRequest {
        action: action.to_owned(),
        session: Some("auth".to_owned()),
        checkpoint: Some("auth~1".to_owned()),
        item: Some("aaaa".to_owned()),
        text: Some("text".to_owned()),
        ..ActionRequest::default()
    }
}

#[test]
fn words_are_distinct_and_every_plan_is_a_dry_run() {
    for (at, action) in ACTIONS.iter().enumerate() {
        assert!(ACTIONS[..at].iter().all(|other| other.word != action.word));
        let line = action.line(&request(action.word)).expect(action.word);
        let plan = action.plan(&request(action.word)).expect(action.word);
        assert_eq!(plan.is_some(), action.has_plan(), "{}", action.word);
        if let Some(plan) = plan {
            let without: Vec<_> = plan.words.iter().filter(|word| *word != "--dry-run").collect();
            assert_eq!(without, line.words.iter().collect::<Vec<_>>(), "{}", action.word);
            assert_eq!(plan.words.len(), line.words.len() + 1);
        }
    }
}

#[test]
fn what_is_filled_in_never_becomes_an_option() {
    for text in ["--force", "-n", "--dry-run=x", "--", "-"] {
        for action in ACTIONS {
            let mut hostile = request(action.word);
            for value in [
                &mut hostile.session,
                &mut hostile.checkpoint,
                &mut hostile.item,
                &mut hostile.text,
            ] {
                *value = Some(text.to_owned());
            }
            let Ok(line) = action.line(&hostile) else { continue };
            let plain = action.line(&request(action.word)).expect("a command");
            let options = |line: &CommandLine| {
                let end = line
                    .words
                    .iter()
                    .position(|word| word == "--")
                    .unwrap_or(line.words.len());
                line.words[..end]
                    .iter()
                    .filter(|word| word.as_encoded_bytes().starts_with(b"-") && *word != "-")
                    .map(|word| word.to_string_lossy().split('=').next().unwrap_or_default().to_owned())
                    .collect::<Vec<_>>()
            };
            assert_eq!(options(&line), options(&plain), "{} {text}", action.word);
        }
    }
}

/// A repository of which only the answer to dry runs is known.
struct Planned {
    output: Mutex<&'static str>,
    done: Mutex<Vec<CommandLine>>,
}

impl CommandRunner for Planned {
    fn run(&self, line: &CommandLine, _: &CallMonitor) -> CommandRun {
        assert!(line.words.iter().any(|word| word == "--dry-run"), "{line:?}");
        CommandRun {
            output: (*self.output.lock().expect("no panic")).to_owned(),
            exit_code: 0,
            warnings: Vec::new(),
            failure: None,
        }
    }
}

impl ViewSource for Planned {
    fn text(&self, line: &CommandLine, _: usize, _: &CallMonitor) -> TextRun {
        self.done.lock().expect("no panic").push(line.clone());
        TextRun {
            text: Text::new(),
            warnings: Vec::new(),
            failure: None,
        }
    }
    fn sessions(&self) -> Result<(SessionTable, Timestamp), CommandFailure> {
        unreachable!()
    }
    fn log(&self, _: Option<&str>, _: usize) -> Result<CheckpointLog, CommandFailure> {
        unreachable!()
    }
    fn indicator(&self) -> Result<Option<IndicatorView>, CommandFailure> {
        unreachable!()
    }
    #[cfg(feature = "serve")]
    fn article(&self, _: &str) -> Result<String, CommandFailure> {
        unreachable!()
    }
    fn stamp(&self) -> Result<u64, CommandFailure> {
        unreachable!()
    }
}

#[test]
fn only_the_plan_that_was_shown_is_carried_out() {
    let monitor = CallMonitor::default();
    for action in ACTIONS
        .iter()
        .filter(|action| action.has_plan() && !action.has_own_token())
    {
        let source = Planned {
            output: Mutex::new("would do it to 'one'"),
            done: Mutex::default(),
        };
        let mut wanted = request(action.word);
        let plan = action
            .planned(&wanted, &source, 80, &monitor)
            .expect("a plan")
            .expect("a plan");
        source.done.lock().expect("no panic").clear();
        let refused = |wanted: &ActionRequest| action.carried_out(wanted, &source, 80, &monitor).expect_err("refused");
        assert_eq!(refused(&wanted), ActionRefusal::NotPlanned, "{}", action.word);
        wanted.plan = Some(plan.token);
        *source.output.lock().expect("no panic") = "would do it to 'two'";
        assert_eq!(refused(&wanted), ActionRefusal::Changed, "{}", action.word);
        assert!(source.done.lock().expect("no panic").is_empty(), "{}", action.word);
        *source.output.lock().expect("no panic") = "would do it to 'one'";
        action.carried_out(&wanted, &source, 80, &monitor).expect("done");
        let line = action.line(&wanted).expect("a command");
        assert_eq!(*source.done.lock().expect("no panic"), [line], "{}", action.word);
    }
}

#[test]
fn paths_follow_the_options_of_a_plan() {
    let mut wanted = request("restore-paths");
    wanted.text = Some("a  b.txt\n\n--force\n".to_owned());
    wanted.plan = Some("t".to_owned());
    let action = Action::find("restore-paths").expect("an action");
    assert_eq!(action.line(&wanted).expect("a command").paths, PathRule::Exact);
    assert_eq!(
        action.plan(&wanted).expect("a plan").expect("a plan").words,
        ["restore", "auth~1", "--dry-run", "--", "a  b.txt", "--force"]
    );
    assert_eq!(
        action.line(&wanted).expect("a command").words,
        ["restore", "auth~1", "--plan=t", "--", "a  b.txt", "--force"]
    );
}
