//! The change report as text and Markdown, line by line.

use super::*;
use crate::model::{
    change::{ChangeCounts, ChangeKind},
    facts::{BoundedList, GitOperation, OperationKind},
    id::Oid,
    path::RepoPath,
    report::{
        Age, BoundedCount, Branch, BranchFate, CommitInfo, CommitList, Commits, Drift, FileReport, History, Lines,
        LocationVerdict, MachineLocation, MergeVerdict, Operations, PartFailure, ReportPart, SavedAndCurrent,
        SavedFile, SavedFiles, SavedState, Stash, UncommittedChanges, Upstream, UpstreamFate,
    },
    time::Timestamp,
};

const NOW: i64 = 1_767_323_045;

fn at(ago: i64) -> Timestamp {
    Timestamp::from_unix(NOW - ago, 0)
}

fn oid(letter: char) -> Oid {
    Oid::new(letter.to_string().repeat(40)).unwrap()
}

fn pair<T: Clone>(value: T) -> SavedAndCurrent<T> {
    SavedAndCurrent {
        then: value.clone(),
        now: value,
    }
}

fn commit(letter: char, subject: &str, author: &str, ago: i64) -> CommitInfo {
    CommitInfo {
        id: oid(letter),
        subject: subject.into(),
        author: author.into(),
        email: String::new(),
        authored_at: at(ago),
        committed_at: at(ago),
    }
}

fn bounded<T>(count: u64) -> BoundedList<T> {
    BoundedList {
        count,
        first: Vec::new(),
    }
}

/// Nothing changed.
fn quiet() -> ChangeReport {
    let no_commits = CommitList::default;
    ChangeReport {
        drift: Drift::default(),
        age: Age {
            verdict: ReportVerdict::Same,
            saved_at: at(3600),
            now: at(0),
            seconds: 3600,
            limit: None,
        },
        place: MachineLocation {
            verdict: ReportVerdict::Same,
            is: LocationVerdict::Same,
            host: pair("here".into()),
            worktree: pair("main".into()),
            path: pair("/p".into()),
        },
        branch: Some(Branch {
            verdict: ReportVerdict::Same,
            name: pair(Some("main".into())),
            head: pair(Some(oid('a'))),
            fate: BranchFate::Same,
            tip: Some(oid('a')),
            renamed_to: None,
            merged_into: Vec::new(),
        }),
        commits: Some(Commits {
            verdict: ReportVerdict::Same,
            how: History::Same,
            base: None,
            since: no_commits(),
            authors: 0,
            matched: bounded(0),
            lost: no_commits(),
            shallow: false,
        }),
        files: Some(FileReport {
            verdict: ReportVerdict::Same,
            committed: ChangeCounts::default(),
            uncommitted: ChangeCounts::default(),
            since_saved: Some(ChangeCounts::default()),
            not_compared: bounded(0),
        }),
        saved: None,
        worktree: Some(UncommittedChanges {
            verdict: ReportVerdict::Same,
            staged: bounded(0),
            staged_added: BoundedList::default(),
            staged_deleted: BoundedList::default(),
            modified: bounded(0),
            deleted: bounded(0),
            untracked: bounded(0),
            conflicted: bounded(0),
            renamed: bounded(0),
            submodules: bounded(0),
            then: crate::model::report::UncommittedCounts::default(),
            not_in_checkpoint: bounded(0),
            index_same: Some(true),
        }),
        upstream: None,
        operation: Some(Operations {
            verdict: ReportVerdict::Same,
            is: pair(None),
            command: None,
        }),
        stash: Some(Stash {
            verdict: ReportVerdict::Same,
            count: pair(0),
        }),
        failed: Vec::new(),
    }
}

fn saved_file(state: SavedState, path: &str) -> SavedFile {
    SavedFile {
        verdict: ReportVerdict::Check,
        state,
        saved_as: ChangeKind::Modified,
        path: path.into(),
        now: None,
        merge: None,
        lines: None,
        commit: None,
    }
}

/// Much changed, with names that would harm a terminal.
fn busy() -> ChangeReport {
    let mut report = quiet();
    report.place.is = LocationVerdict::OtherHost;
    report.place.verdict = ReportVerdict::Differs;
    report.place.host.then = "laptop-17".into();
    let branch = report.branch.as_mut().unwrap();
    branch.verdict = ReportVerdict::Moved;
    branch.fate = BranchFate::Forward;
    branch.head.now = Some(oid('b'));
    let commits = report.commits.as_mut().unwrap();
    commits.verdict = ReportVerdict::Moved;
    commits.how = History::Forward;
    commits.authors = 2;
    commits.since = CommitList {
        total: BoundedCount {
            count: 10_000,
            at_least: true,
        },
        first: (0..20)
            .map(|_| commit('b', "parse v2\x1b[2J tokens | and `more`", "Tom", 90_000))
            .collect(),
    };
    let files = report.files.as_mut().unwrap();
    files.verdict = ReportVerdict::Moved;
    files.committed.all.count = 12;
    files.since_saved.as_mut().unwrap().all.count = 13;
    let mut conflict = saved_file(SavedState::Conflict, "src/parser.rs");
    conflict.merge = Some(MergeVerdict::ModifyDelete);
    conflict.lines = Some(Lines { added: 12, removed: 3 });
    conflict.commit = Some(commit('c', "x", "Tom", 90_000));
    let mut moved = saved_file(
        SavedState::Changed,
        "src/a/very/long/path/to/a/file/that/does/not/fit.rs",
    );
    moved.now = Some(RepoPath::from("lib/new\nname.rs"));
    report.saved = Some(SavedFiles {
        verdict: ReportVerdict::Conflict,
        count: 12,
        same: 1,
        committed: 0,
        included: 0,
        reverted: 0,
        changed: 9,
        missing: 1,
        conflict: 1,
        first: std::iter::once(conflict)
            .chain([saved_file(SavedState::Missing, "tests/old_auth.rs"), moved])
            .chain((0..8).map(|n| saved_file(SavedState::Changed, &format!("f{n}"))))
            .collect(),
    });
    let tree = report.worktree.as_mut().unwrap();
    tree.verdict = ReportVerdict::Kept;
    tree.untracked.count = 1;
    tree.not_in_checkpoint.count = 1;
    report.upstream = Some(Upstream {
        verdict: ReportVerdict::Missing,
        fate: UpstreamFate::Gone,
        name: pair(Some("origin/main".into())),
        head: SavedAndCurrent::default(),
        gained: None,
        dropped: None,
        ahead: None,
        behind: None,
    });
    report.operation = Some(Operations {
        verdict: ReportVerdict::Check,
        is: SavedAndCurrent {
            then: None,
            now: Some(GitOperation {
                branch: Some("topic".into()),
                step: Some(2),
                of: Some(5),
                ..GitOperation::new(OperationKind::Rebase)
            }),
        },
        command: None,
    });
    report.failed = vec![PartFailure {
        part: ReportPart::Stash,
        reason: "cannot read\nit".into(),
    }];
    report
}

#[test]
fn a_quiet_report_is_short() {
    let shown = text(&quiet(), "auth", 80).to_string();
    let wanted = "\
Since then                                                             verdict
  branch     main at aaaaaaaa                                          unchanged
  files      as saved                                                  unchanged
  worktree   nothing uncommitted                                       unchanged
";
    assert_eq!(shown, wanted);
}

#[test]
fn a_busy_report() {
    let shown = text(&busy(), "auth", 80).to_string();
    let wanted = "\
Since then                                                             verdict
  place      saved on laptop-17, this is here                          changed
  branch     main moved aaaaaaaa -> bbbbbbbb                           changed
  commits    at least 10000 commits, 2 authors                         changed
               bbbbbbbb  parse v2\\x1b[2J tokens | and `more` (Tom, yesterday)
               bbbbbbbb  parse v2\\x1b[2J tokens | and `more` (Tom, yesterday)
               bbbbbbbb  parse v2\\x1b[2J tokens | and `more` (Tom, yesterday)
               bbbbbbbb  parse v2\\x1b[2J tokens | and `more` (Tom, yesterday)
               bbbbbbbb  parse v2\\x1b[2J tokens | and `more` (Tom, yesterday)
               ... 9995 more: git log --oneline aaaaaaaa..bbbbbbbb
  files      13 differ from the saved state, 12 changed by commits     changed
               ... 12 more: git diff --name-status aaaaaaaa bbbbbbbb
  saved      of 12 saved changes, 1 in conflict, 1 missing,            conflict
             9 changed since, 1 as saved
               conflict  src/parser.rs                                 +12 -3
                         cccccccc (Tom, yesterday)
                         changed on one side, deleted on the other
               missing   tests/old_auth.rs
               changed   ..y/long/path/to/a/file/that/does/not/fit.rs
                         now \"lib/new\\nname.rs\"
               changed   f0
               changed   f1
               changed   f2
               changed   f3
               changed   f4
               ... 3 more: git checkpoint show auth --all
  worktree   1 untracked, 1 not in the checkpoint                      changed
               ... 1 more: git status -u
  upstream   origin/main is not in this repository                     missing
  operation  rebase of topic, step 2 of 5 in progress                  changed
  stash      not known: cannot read\\nit                                unknown
  Check first: saved, upstream, operation, stash
";
    assert_eq!(shown, wanted);
}

/// A branch without a commit has lost the files of the commit, and no commit changed them. Where there was none before,
/// commits added them.
#[test]
fn without_a_commit_no_file_was_changed_by_commits() {
    let shown = |then: Option<Oid>, now: Option<Oid>, is_same: bool| {
        let mut report = quiet();
        report.branch.as_mut().unwrap().head = SavedAndCurrent { then, now };
        let files = report.files.as_mut().unwrap();
        files.committed.all.count = 2;
        if !is_same {
            files.verdict = ReportVerdict::Moved;
            files.since_saved.as_mut().unwrap().all.count = 1;
        }
        text(&report, "auth", 100).to_string()
    };
    let by_commits = "2 changed by commits";
    let lost = shown(Some(oid('a')), None, false);
    assert!(
        lost.contains("1 differs from the saved state, 2 committed then, none now"),
        "{lost}"
    );
    let kept = shown(Some(oid('a')), None, true);
    assert!(kept.contains("as saved, 2 committed then, none now"), "{kept}");
    for shown in [lost, kept] {
        assert!(!shown.contains(by_commits) && !shown.contains("more:"), "{shown}");
    }
    assert!(shown(None, Some(oid('a')), false).contains(by_commits));
    assert!(shown(Some(oid('a')), Some(oid('b')), false).contains(by_commits));
}

#[test]
fn lines_fit_at_every_width() {
    for report in [quiet(), busy()] {
        for columns in [30, 45, 59, 60, 72, 80, 120, 500] {
            let shown = text(&report, "auth", columns);
            for line in shown.lines() {
                let is_command = line.to_string().starts_with("  git ");
                assert!(line.width() <= columns || is_command, "{columns}: {line}");
                assert_eq!(line.to_string().trim_end(), line.to_string());
            }
        }
    }
}

#[test]
fn every_verdict_is_shown_in_a_narrow_terminal() {
    let shown = text(&busy(), "auth", 40).to_string();
    for word in ["changed", "conflict", "missing", "unknown"] {
        assert!(shown.lines().any(|line| line.trim() == word), "{word}\n{shown}");
    }
}

#[test]
fn markdown_takes_foreign_text_for_text() {
    let shown = markdown(&busy(), "auth");
    assert!(shown.starts_with(
        "| Since then | | Verdict |\n|---|---|---|\n| place | saved on laptop-17, this is here | changed |\n"
    ));
    assert!(
        shown.contains("- bbbbbbbb parse v2\\\\x1b\\[2J tokens \\| and \\`more\\` (Tom, yesterday)\n"),
        "{shown}"
    );
    assert!(!shown.contains('\x1b'));
    let rows: Vec<_> = shown.lines().take_while(|line| !line.is_empty()).collect();
    // A vertical bar of foreign text would make a column.
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|row| bars(row) == 4), "{rows:?}");
}

#[test]
fn an_operation_is_reported_by_where_it_was_begun() {
    let row = |kind: OperationKind, place: LocationVerdict, now: bool| {
        let mut report = quiet();
        let begun = GitOperation {
            branch: Some("topic".into()),
            ..GitOperation::new(kind)
        };
        report.place.is = place;
        report.operation = Some(Operations {
            verdict: ReportVerdict::Moved,
            is: SavedAndCurrent {
                then: Some(begun.clone()),
                now: now.then_some(begun),
            },
            command: (place != LocationVerdict::Same && !now).then(|| "git rebase x topic".to_owned()),
        });
        text(&report, "auth", 100).to_string()
    };
    let kinds = [
        (OperationKind::Merge, "a merge"),
        (OperationKind::CherryPick, "a cherry-pick"),
        (OperationKind::Revert, "a revert"),
        (OperationKind::Rebase, "a rebase"),
        (OperationKind::Am, "an am"),
        (OperationKind::Bisect, "a bisect"),
        (OperationKind::Unknown, "an operation of git"),
    ];
    for (kind, words) in kinds {
        let ended = row(kind, LocationVerdict::Same, false);
        assert!(
            ended.contains(&format!("saved during {words} of topic, which has ended")),
            "{ended}"
        );
        assert!(!ended.contains("git rebase"), "{ended}");
        for place in [
            LocationVerdict::OtherHost,
            LocationVerdict::OtherWorktree,
            LocationVerdict::OtherFolder,
        ] {
            let never = row(kind, place, false);
            let wanted = format!("saved during {words} of topic, none is in progress here");
            assert!(never.contains(&wanted) && !never.contains("ended"), "{never}");
            assert!(never.contains("to begin it here: git rebase x topic"), "{never}");
            let same = row(kind, place, true);
            assert!(same.contains("still in progress"), "{same}");
        }
    }
}
