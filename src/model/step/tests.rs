//! Steps come back as they were, survive any patch and any bytes, and are found by what people type.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::{
    change::{ChangeKind, TreeChange, TreeEntryInfo},
    id::Oid,
};

/// A step with a title.
pub(crate) fn sample(id: &str, n: u32, title: &str) -> Step {
    let at = Timestamp::from_unix(1_767_323_045, 3600);
    Step {
        title: title.into(),
        ..Step::new(id, n, at, "ana")
    }
}

fn change(patch: Value) -> StepChange {
    StepChange {
        id: "aaaa".into(),
        at: Timestamp::from_unix(0, 0),
        by: "x".into(),
        patch,
    }
}

#[test]
fn patches_change_members_and_never_who_it_is() {
    let step = sample("aaaa", 1, "parser");
    let done = step
        .patched(&change(
            json!({"id": "b", "n": 7, "by": "z", "status": "done", "verification": {"lint": "pass"}}),
        ))
        .expect("fits");
    assert_eq!((done.id.as_str(), done.n, done.by.as_str()), ("aaaa", 1, "ana"));
    assert_eq!(done.status, StepStatus::Done);
    let more = done
        .patched(&change(json!({"verification": {"tests": "fail"}, "later": 15})))
        .expect("fits");
    assert_eq!(
        (more.verification.len(), more.unknown["later"].to_string().as_str()),
        (2, "15")
    );
    let error = step
        .patched(&change(json!({"status": "dancing"})))
        .expect_err("no such status");
    assert!(error.to_string().starts_with("'step': it must be one of "), "{error}");
    assert!(step.patched(&change(json!([]))).is_err());
}

#[test]
fn words_find_steps() {
    let steps = [
        sample("abcd2345", 1, "design the API"),
        sample("abce2345", 2, "write the parser"),
        sample("zzzz2345", 3, "Write tests"),
    ];
    let found = |word: &str| match find(&steps, word) {
        StepMatch::One(step) => step.n,
        StepMatch::Many(many) => 100 + u32::try_from(many.len()).expect("few"),
        StepMatch::None => 0,
    };
    for (word, wanted) in [
        ("abcd2345", 1),
        ("2", 2),
        ("#3", 3),
        ("zzz", 3),
        ("abc", 102),
        ("zz", 0),
        ("write tests", 3),
        ("parser", 2),
        ("write", 102),
        ("9", 0),
        ("", 0),
        (" ", 0),
    ] {
        assert_eq!(found(word), wanted, "{word}");
    }
}

#[test]
fn uses_are_followed_both_ways() {
    let mut steps: Vec<Step> = (1..=5).map(|n| sample(&format!("step{n}"), n, "x")).collect();
    steps[1].uses = vec!["step1".into()];
    steps[2].uses = vec!["step2".into(), "gone".into()];
    steps[3].uses = vec!["step3".into(), "step4".into()];
    steps[0].uses = vec!["step3".into()];
    let ids = |found: Vec<&Step>| found.iter().map(|s| s.n).collect::<Vec<_>>();
    assert_eq!(ids(rests_on(&steps, "step4")), [1, 2, 3]);
    assert_eq!(ids(needed_by(&steps, "step2")), [1, 3, 4]);
    steps[2].status = StepStatus::Invalid;
    assert_eq!(ids(needed_by(&steps, "step2")), Vec::<u32>::new());
    assert!(rests_on(&steps, "step5").is_empty());
}

#[test]
fn commands_are_shown_as_they_are_typed() {
    let command = |argv: &[&str]| ShellCommand {
        argv: argv.iter().map(ToString::to_string).collect(),
        directory: RepoPath::default(),
        timeout_ms: None,
        altered: false,
    };
    assert_eq!(command(&["cargo", "test", "--lib"]).shown(), "cargo test --lib");
    assert_eq!(
        command(&["sh", "-c", "it's a; b", ""]).shown(),
        r"sh -c 'it'\''s a; b' ''"
    );
}

/// A tree of three paths as the differences from one fixed commit.
fn differences(state: &[Option<u8>]) -> Vec<TreeChange> {
    let head = [Some(0u8), Some(1), None];
    let entry = |content: u8| TreeEntryInfo {
        mode: 0o100_644,
        id: Oid::new(format!("{content:040x}")).expect("digits"),
    };
    let paths = state
        .iter()
        .zip(head)
        .enumerate()
        .filter(|(_, (now, head))| **now != *head);
    paths
        .map(|(at, (now, head))| TreeChange {
            kind: ChangeKind::Modified,
            path: format!("path{at}").as_str().into(),
            from: None,
            similarity: None,
            old: head.map(entry),
            new: now.map(entry),
        })
        .collect()
}

proptest! {
    #[test]
    fn what_differs_is_told_without_the_trees(
        then in proptest::collection::vec(proptest::option::of(0u8..3), 3),
        now in proptest::collection::vec(proptest::option::of(0u8..3), 3),
    ) {
        let tree = Oid::new("a".repeat(40)).expect("digits");
        let files = FileStates::new(tree, None, &differences(&then));
        let wanted: Vec<RepoPath> = (0..3)
            .filter(|at| then[*at] != now[*at])
            .map(|at| format!("path{at}").as_str().into())
            .collect();
        prop_assert_eq!(files.differing(&differences(&now)), Some(wanted));
    }

    #[test]
    fn steps_come_back_byte_for_byte(
        title in ".*", prompt in proptest::option::of(".*"), uses in proptest::collection::vec("[a-z]{1,8}", 0..4),
        status in 0usize..4, attempt in 1u32..9, exit in proptest::option::of(any::<i32>()),
        head in ".{0,50}", tail in ".{0,50}", omitted in any::<u64>(), path in proptest::collection::vec(any::<u8>(), 1..9),
        argv in proptest::collection::vec(".{0,9}", 0..4), altered in any::<bool>(),
    ) {
        let mut step = sample("aaaa", 1, &title);
        step.prompt = prompt;
        step.uses = uses;
        step.status = [StepStatus::Running, StepStatus::Done, StepStatus::Failed, StepStatus::Invalid][status];
        step.attempt = attempt;
        step.exit_status = exit;
        step.output = Some(Excerpt { head, tail, omitted });
        let path = RepoPath::new(path);
        step.outputs = vec![StepOutput { path: path.clone(), change: "created".into(), text: None }];
        step.command = Some(ShellCommand { argv, directory: path, timeout_ms: None, altered });
        step.earlier = vec![step.as_attempt()];
        step.unknown.insert("later".into(), json!({"n": [1, 2]}));
        let bytes = step.to_bytes();
        let back = Step::from_bytes(&bytes).expect("own output");
        prop_assert_eq!(&back, &step);
        prop_assert_eq!(back.to_bytes(), bytes);
    }

    #[test]
    fn any_bytes_and_any_patch_are_read_without_a_panic(
        at in 0usize..900, byte in any::<u8>(), bytes in proptest::collection::vec(any::<u8>(), 0..80), word in ".{0,9}"
    ) {
        let mut stored = sample("aaaa", 1, "parser").to_bytes();
        let at = at % stored.len();
        stored[at] = byte;
        let _ = Step::from_bytes(&stored);
        let _ = Step::from_bytes(&bytes);
        let _ = find(&[sample("aaaa", 1, "parser")], &word);
        let _ = is_id(&word);
    }
}
