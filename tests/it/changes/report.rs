//! Stories for every line of the change report: a checkpoint is saved, history goes on, and what `resume --json`
//! reports is compared with what git itself says.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::World;

/// Saves a checkpoint of the present state.
#[track_caller]
fn save(world: &World) {
    world.checkpoint(["save", "-q", "-m", "saved"]).success();
}

/// The report of `resume`, which must change nothing.
#[track_caller]
fn report(world: &World) -> Value {
    let before = world.fingerprint();
    let output = world.checkpoint(["resume", "--json"]);
    world.fingerprint().assert_same_as(&before);
    let report = output.success().stdout_json()["report"].clone();
    // The text of every report fits, whatever it says.
    let text = world.checkpoint(["resume"]);
    for line in text.success().stdout().lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line.trim_end(), line);
    }
    report
}

/// The report with nothing failed.
#[track_caller]
fn whole(world: &World) -> Value {
    let report = report(world);
    assert_eq!(report["failed"], Value::Array(Vec::new()), "{report:#}");
    report
}

fn lines(changed: &[(usize, &str)]) -> String {
    let line = |n: usize| {
        changed
            .iter()
            .find(|(at, _)| *at == n)
            .map_or(format!("line {n}"), |(_, text)| (*text).to_owned())
    };
    (0..20).map(|n| line(n) + "\n").collect()
}

#[track_caller]
fn commit(world: &World, path: &str, text: impl AsRef<[u8]>) {
    world.file(path, text);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", &format!("change {path}")]).success();
}

/// `main` with two commits, `file` of 20 lines in it.
fn project() -> World {
    let world = World::with_commit();
    commit(&world, "file", lines(&[]));
    world
}

/// Names in a list of changes.
fn names(list: &Value) -> BTreeSet<String> {
    list["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["path"].as_str().unwrap().to_owned())
        .collect()
}

fn git_names(world: &World, args: &[&str]) -> BTreeSet<String> {
    world.git_line(args).lines().map(str::to_owned).collect()
}

/// What `git cherry` says of the commits of `old` against `new`: `-` for each that is there in another form.
#[track_caller]
fn cherry(world: &World, new: &str, old: &str) -> String {
    world
        .git_line(["cherry", new, old])
        .lines()
        .map(|line| line.chars().next().unwrap())
        .collect()
}

/// The outcome for one saved file: state, verdict of the merge.
#[track_caller]
fn file<'a>(report: &'a Value, path: &str) -> &'a Value {
    let files = report["saved"]["first"].as_array().unwrap();
    files
        .iter()
        .find(|file| file["path"] == path)
        .unwrap_or_else(|| panic!("{path} in {report:#}"))
}

/// Whether git, too, finds a conflict when the snapshot of `session` is merged into the present commit.
#[track_caller]
fn git_conflicts(world: &World, base: &str) -> BTreeSet<String> {
    let snapshot = snapshot(world);
    let merge_base = format!("--merge-base={base}");
    let output = world.git([
        "merge-tree",
        "--write-tree",
        "--name-only",
        "--no-messages",
        &merge_base,
        "HEAD",
        &snapshot,
    ]);
    output
        .stdout()
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The snapshot commit of the latest checkpoint.
fn snapshot(world: &World) -> String {
    let tip = world.git_line([
        "for-each-ref",
        "--sort=-committerdate",
        "--count=1",
        "--format=%(refname)",
        "refs/checkpoints/",
    ]);
    world.git_line(["rev-parse", &format!("{tip}^2")])
}

#[test]
fn nothing_changed() {
    let world = project();
    world.file("file", lines(&[(3, "mine")]));
    save(&world);
    let report = whole(&world);
    assert_eq!(report["drift"]["drifted"], false, "{report:#}");
    for part in [
        "age",
        "place",
        "branch",
        "commits",
        "files",
        "saved",
        "worktree",
        "upstream",
        "operation",
        "stash",
    ] {
        assert_eq!(report[part]["verdict"], "unchanged", "{part}");
    }
    assert_eq!(report["saved"]["unchanged"], 1);
}

#[test]
fn a_fast_forward() {
    let world = project();
    let old = world.git_line(["rev-parse", "HEAD"]);
    save(&world);
    for n in 0..25 {
        commit(&world, &format!("new{n}"), "x\n");
    }
    world.git(["mv", "README.md", "READ.md"]).success();
    world.git(["commit", "-qm", "renamed"]).success();
    let report = whole(&world);
    let commits = &report["commits"];
    assert_eq!(
        (&commits["how"], &commits["verdict"]),
        (&"forward".into(), &"changed".into())
    );
    let count = world.git_line(["rev-list", "--count", &format!("{old}..HEAD")]);
    assert_eq!(commits["since"]["count"].to_string(), count);
    assert_eq!(commits["authors"], 1);
    let listed: Vec<_> = commits["since"]["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["subject"].as_str().unwrap().to_owned())
        .collect();
    let log = world.git_line(["log", "-20", "--format=%s"]);
    assert_eq!(listed, log.lines().collect::<Vec<_>>());
    assert_eq!(report["branch"]["fate"], "forward");
    assert_eq!(report["drift"]["reasons"], serde_json::json!(["commits", "files"]));
    let committed = &report["files"]["committed"];
    assert_eq!(
        names(committed),
        git_names(&world, &["diff", "--name-only", "-M100%", &old, "HEAD"])
    );
    assert_eq!((&committed["renamed"], &committed["added"]), (&1.into(), &25.into()));
}

/// A branch `topic` with three commits on `file` and a new file, saved; `main` has gone on by two.
fn topic() -> World {
    let world = project();
    world.git(["checkout", "-q", "-b", "topic"]).success();
    for (n, text) in [(2, "topic 1"), (8, "topic 2"), (14, "topic 3")] {
        let before = String::from_utf8(world.read("file")).unwrap();
        commit(
            &world,
            "file",
            before.replace(&format!("line {n}\n"), &format!("{text}\n")),
        );
    }
    save(&world);
    world.git(["checkout", "-q", "main"]).success();
    commit(&world, "other", "other\n");
    commit(&world, "another", "another\n");
    world
}

#[test]
fn a_rebase_is_matched_by_patch_id() {
    let world = topic();
    let old = world.git_line(["rev-parse", "topic"]);
    world.git(["checkout", "-q", "topic"]).success();
    world.git(["rebase", "-q", "main"]).success();
    let report = whole(&world);
    let commits = &report["commits"];
    assert_eq!(
        (&commits["how"], &commits["verdict"]),
        (&"rebased".into(), &"changed".into()),
        "{report:#}"
    );
    assert_eq!(cherry(&world, "HEAD", &old), "---");
    assert_eq!(commits["matched"]["count"], 3);
    assert!(
        commits["matched"]["first"]
            .as_array()
            .unwrap()
            .iter()
            .all(|found| found["by"] == "patch")
    );
    assert_eq!(
        (&commits["since"]["count"], &commits["lost"]["count"]),
        (&2.into(), &0.into())
    );
    assert_eq!(
        commits["base"].as_str(),
        Some(&*world.git_line(["merge-base", "HEAD", &old]))
    );
    assert_eq!(report["branch"]["fate"], "rewritten");
    assert_eq!(report["branch"]["verdict"], "changed");
}

#[test]
fn a_rebase_with_a_changed_commit_is_matched_by_its_author() {
    let world = topic();
    let old = world.git_line(["rev-parse", "topic"]);
    commit(&world, "file", lines(&[(8, "main")]));
    world.git(["checkout", "-q", "topic"]).success();
    world.git(["rebase", "-q", "main"]).code(1);
    world.file("file", lines(&[(2, "topic 1"), (8, "both")]));
    world.git(["add", "file"]).success();
    world
        .command("git", ["rebase", "--continue"])
        .env("GIT_EDITOR", "true")
        .run()
        .success();
    let report = whole(&world);
    assert_eq!(report["commits"]["how"], "rebased", "{report:#}");
    assert_eq!(cherry(&world, "HEAD", &old), "-+-");
    let by: Vec<_> = report["commits"]["matched"]["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["by"].as_str().unwrap())
        .collect();
    assert_eq!(by, ["patch", "patch", "author"]);
}

#[test]
fn amended_commits() {
    for content in [false, true] {
        let world = project();
        save(&world);
        let old = world.git_line(["rev-parse", "HEAD"]);
        if content {
            world.file("file", lines(&[(1, "amended")]));
        }
        world.git(["commit", "-q", "--amend", "-a", "-m", "amended"]).success();
        commit(&world, "later", "later\n");
        let report = whole(&world);
        let commits = &report["commits"];
        assert_eq!(
            (&commits["how"], &commits["verdict"]),
            (&"amended".into(), &"changed".into()),
            "{report:#}"
        );
        let by = if content { "author" } else { "patch" };
        assert_eq!(commits["matched"]["first"][0]["by"], by);
        assert_eq!(commits["matched"]["first"][0]["then"], *old);
        assert_eq!(commits["since"]["count"], 1);
        assert_eq!(cherry(&world, "HEAD", &old), if content { "+" } else { "-" });
    }
}

#[test]
fn a_squash_merge_and_the_branch_deleted() {
    let world = topic();
    let old = world.git_line(["rev-parse", "topic"]);
    world.git(["merge", "-q", "--squash", "topic"]).success();
    world.git(["commit", "-qm", "topic, squashed"]).success();
    world.git(["branch", "-q", "-D", "topic"]).success();
    let report = whole(&world);
    let commits = &report["commits"];
    assert_eq!(
        (&commits["how"], &commits["verdict"]),
        (&"squashed".into(), &"changed".into()),
        "{report:#}"
    );
    assert_eq!(commits["matched"]["count"], 3);
    let head = world.git_line(["rev-parse", "HEAD"]);
    assert!(
        commits["matched"]["first"]
            .as_array()
            .unwrap()
            .iter()
            .all(|found| found["now"] == *head && found["by"] == "squash")
    );
    assert_eq!(cherry(&world, "HEAD", &old), "+++");
    let branch = &report["branch"];
    assert_eq!(
        (&branch["fate"], &branch["verdict"]),
        (&"deleted".into(), &"changed".into())
    );
    assert_eq!(branch["merged_into"], Value::Null);
}

#[test]
fn commits_squashed_on_their_own_branch() {
    let world = topic();
    world.git(["checkout", "-q", "topic"]).success();
    // The last two of three become one.
    world.git(["reset", "-q", "--soft", "HEAD~2"]).success();
    world.git(["commit", "-qm", "two as one"]).success();
    let report = whole(&world);
    let commits = &report["commits"];
    assert_eq!(
        (&commits["how"], &commits["matched"]["count"]),
        (&"squashed".into(), &2.into()),
        "{report:#}"
    );
    assert_eq!(commits["lost"]["count"], 0);
}

#[test]
fn cherry_picked_commits() {
    let world = topic();
    let old = world.git_line(["rev-parse", "topic"]);
    world.git(["cherry-pick", "main..topic"]).success();
    let report = whole(&world);
    let commits = &report["commits"];
    assert_eq!(
        (&commits["how"], &commits["verdict"]),
        (&"cherry-picked".into(), &"changed".into()),
        "{report:#}"
    );
    assert_eq!(cherry(&world, "HEAD", &old), "---");
    assert_eq!(
        (&commits["since"]["count"], &commits["matched"]["count"]),
        (&2.into(), &3.into())
    );
    assert_eq!(
        report["branch"]["name"],
        serde_json::json!({"then": "topic", "now": "main"})
    );
    assert_eq!(report["branch"]["fate"], "same");
    world.git(["reset", "-q", "--hard", "HEAD~1"]).success();
    let report = whole(&world);
    let commits = &report["commits"];
    assert_eq!(
        (&commits["how"], &commits["verdict"]),
        (&"diverged".into(), &"changed".into()),
        "{report:#}"
    );
    assert_eq!(cherry(&world, "HEAD", &old), "--+");
    assert_eq!(
        (&commits["lost"]["count"], &commits["matched"]["count"]),
        (&1.into(), &2.into())
    );
}

#[test]
fn a_merged_branch() {
    let world = topic();
    world.git(["merge", "-q", "--no-ff", "-m", "merge", "topic"]).success();
    world.git(["branch", "-q", "side", "topic"]).success();
    let report = whole(&world);
    let branch = &report["branch"];
    assert_eq!(
        (&branch["fate"], &branch["verdict"]),
        (&"same".into(), &"changed".into()),
        "{report:#}"
    );
    let ours: BTreeSet<_> = branch["merged_into"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    let mut git = git_names(&world, &["branch", "--contains", "topic", "--format=%(refname:short)"]);
    git.remove("topic");
    assert_eq!(ours, git);
    assert_eq!(report["commits"]["how"], "forward");
    assert_eq!(
        report["commits"]["since"]["count"].to_string(),
        world.git_line(["rev-list", "--count", "topic..HEAD"])
    );
}

#[test]
fn a_renamed_branch() {
    let world = topic();
    world.git(["checkout", "-q", "topic"]).success();
    world.git(["branch", "-m", "between"]).success();
    world.git(["branch", "-m", "renamed"]).success();
    let report = whole(&world);
    let branch = &report["branch"];
    assert_eq!(
        (&branch["fate"], &branch["renamed_to"]),
        (&"renamed".into(), &"renamed".into()),
        "{report:#}"
    );
    assert_eq!(branch["verdict"], "changed");
    commit(&world, "later", "x\n");
    let text = world.checkpoint(["resume"]);
    assert!(
        text.success().stdout().contains("topic was renamed to renamed,"),
        "{text}"
    );
}

#[test]
fn a_deleted_branch_with_commits_of_its_own() {
    let world = topic();
    world.git(["branch", "-q", "-D", "topic"]).success();
    let report = whole(&world);
    let branch = &report["branch"];
    assert_eq!(
        (&branch["fate"], &branch["verdict"]),
        (&"deleted".into(), &"missing".into()),
        "{report:#}"
    );
    assert_eq!(
        (&report["commits"]["how"], &report["commits"]["lost"]["count"]),
        (&"diverged".into(), &3.into())
    );
}

#[test]
fn head_went_back() {
    let world = project();
    commit(&world, "a", "a\n");
    save(&world);
    world.git(["reset", "-q", "--hard", "HEAD~1"]).success();
    let report = whole(&world);
    assert_eq!(
        (&report["commits"]["how"], &report["commits"]["verdict"]),
        (&"rewound".into(), &"changed".into())
    );
    assert_eq!(
        (&report["branch"]["fate"], &report["commits"]["lost"]["count"]),
        (&"rewound".into(), &1.into())
    );
}

#[test]
fn an_unrelated_history() {
    let world = project();
    save(&world);
    world.git(["checkout", "-q", "--orphan", "other"]).success();
    world.git(["commit", "-qm", "orphan"]).success();
    let report = whole(&world);
    assert_eq!(
        (&report["commits"]["how"], &report["commits"]["verdict"]),
        (&"unrelated".into(), &"changed".into()),
        "{report:#}"
    );
}

#[test]
fn unborn_then_and_unborn_now() {
    let world = World::new();
    world.file("a", "a\n");
    save(&world);
    assert_eq!(whole(&world)["branch"]["fate"], "unborn");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "first"]).success();
    let report = whole(&world);
    assert_eq!(
        (&report["commits"]["how"], &report["branch"]["fate"]),
        (&"born".into(), &"born".into()),
        "{report:#}"
    );
    assert_eq!(
        (&report["commits"]["since"]["count"], &report["saved"]["committed"]),
        (&1.into(), &1.into())
    );
    save(&world);
    world.git(["checkout", "-q", "--orphan", "empty"]).success();
    assert_eq!(whole(&world)["commits"]["how"], "unborn");
}

#[test]
fn a_detached_head() {
    let world = project();
    world.git(["checkout", "-q", "--detach"]).success();
    save(&world);
    let report = whole(&world);
    assert_eq!(
        (&report["branch"]["fate"], &report["drift"]["drifted"]),
        (&"none".into(), &false.into())
    );
    world.git(["checkout", "-q", "main"]).success();
    let report = whole(&world);
    assert_eq!(
        report["branch"]["name"],
        serde_json::json!({"then": null, "now": "main"})
    );
    assert_eq!(report["drift"]["reasons"], serde_json::json!(["branch"]));
}

#[test]
fn conflict_and_no_conflict_on_the_same_file() {
    for (their_line, conflict) in [(4, true), (15, false)] {
        let world = project();
        let old = world.git_line(["rev-parse", "HEAD"]);
        world.file("file", lines(&[(4, "saved")]));
        save(&world);
        world.git(["checkout", "-q", "--", "."]).success();
        commit(&world, "file", lines(&[(their_line, "committed")]));
        let report = whole(&world);
        let file = file(&report, "file");
        let wanted = if conflict {
            ("conflict", "content")
        } else {
            ("changed", "clean")
        };
        assert_eq!(
            (file["state"].as_str().unwrap(), file["merge"].as_str().unwrap()),
            wanted
        );
        assert_eq!(git_conflicts(&world, &old).is_empty(), !conflict);
        assert_eq!(
            file["commit"]["id"].as_str().unwrap(),
            world.git_line(["log", "-1", "--format=%H", "--", "file"])
        );
        let numbers = world.git_line(["diff", "--numstat", &snapshot(&world), "HEAD", "--", "file"]);
        let ours = format!("{}\t{}\tfile", file["lines"]["added"], file["lines"]["removed"]);
        assert_eq!(ours, numbers);
    }
}

#[test]
fn a_rename_with_an_edit_takes_the_saved_change_along() {
    let world = project();
    let old = world.git_line(["rev-parse", "HEAD"]);
    world.file("file", lines(&[(4, "saved")]));
    save(&world);
    world.git(["checkout", "-q", "--", "."]).success();
    fs::remove_file(world.path("file")).unwrap();
    commit(&world, "lib/moved", lines(&[(15, "committed")]));
    let report = whole(&world);
    let file = file(&report, "file");
    assert_eq!(
        (&file["state"], &file["merge"], &file["now"]),
        (&"changed".into(), &"clean".into(), &"lib/moved".into())
    );
    assert!(git_conflicts(&world, &old).is_empty());
    let text = world.checkpoint(["resume"]);
    assert!(text.stdout().contains("now lib/moved"), "{text}");
}

#[test]
fn every_fate_of_a_saved_change() {
    let world = project();
    for name in [
        "committed",
        "included",
        "reverted",
        "missing",
        "deleted-then",
        "binary",
        "same",
    ] {
        world.file(name, lines(&[(0, name)]));
    }
    commit(&world, "base", "base\n");
    let old = world.git_line(["rev-parse", "HEAD"]);
    for name in ["committed", "included", "reverted", "missing", "same"] {
        world.file(name, lines(&[(0, name), (4, "saved")]));
    }
    fs::remove_file(world.path("deleted-then")).unwrap();
    world.file("binary", b"saved\0");
    world.file("new-gone", "new\n");
    world.file("new-committed", "new\n");
    save(&world);
    world.file("included", lines(&[(0, "included"), (4, "saved"), (15, "more")]));
    world
        .git(["checkout", "-q", "--", "reverted", "deleted-then"])
        .success();
    world.file("deleted-then", lines(&[(3, "changed")]));
    world.file("binary", b"present\0");
    fs::remove_file(world.path("missing")).unwrap();
    fs::remove_file(world.path("new-gone")).unwrap();
    world
        .git([
            "add",
            "-A",
            "--",
            "committed",
            "included",
            "binary",
            "deleted-then",
            "missing",
            "new-committed",
        ])
        .success();
    world.git(["commit", "-qm", "later"]).success();
    let report = whole(&world);
    let shown = |name: &str| {
        let file = file(&report, name);
        format!(
            "{} {} {}",
            file["verdict"].as_str().unwrap(),
            file["state"].as_str().unwrap(),
            file["merge"].as_str().unwrap_or("-")
        )
    };
    assert_eq!(shown("same"), "unchanged unchanged -");
    assert_eq!(shown("committed"), "changed committed -");
    assert_eq!(shown("new-committed"), "changed committed -");
    assert_eq!(shown("included"), "changed included clean");
    assert_eq!(shown("reverted"), "changed reverted clean");
    assert_eq!(shown("missing"), "missing missing modify-delete");
    assert_eq!(shown("new-gone"), "missing missing clean");
    assert_eq!(shown("deleted-then"), "conflict conflict modify-delete");
    assert_eq!(shown("binary"), "conflict conflict binary");
    let conflicts = git_conflicts(&world, &old);
    assert_eq!(
        conflicts,
        ["binary", "deleted-then", "missing"].map(str::to_owned).into()
    );
    let saved = &report["saved"];
    assert_eq!((&saved["count"], &saved["verdict"]), (&9.into(), &"conflict".into()));
    let order: Vec<_> = saved["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(order[..2], ["conflict", "conflict"]);
    assert_eq!(order.last(), Some(&"unchanged"));
}

#[test]
fn uncommitted_changes_now() {
    let world = project();
    commit(&world, "b", "b\n");
    world.file("file", lines(&[(1, "saved")]));
    save(&world);
    world.file("staged", "staged\n");
    world.git(["add", "staged"]).success();
    world.file("src/main.txt", "modified\n");
    world.file("untracked/one", "1\n");
    world.file("untracked/two", "2\n");
    fs::remove_file(world.path("b")).unwrap();
    let report = whole(&world);
    let tree = &report["worktree"];
    let status = world.git(["status", "--porcelain=v2", "-uall"]);
    let of = |wanted: &dyn Fn(&str) -> bool| status.stdout().lines().filter(|line| wanted(line)).count();
    assert_eq!(
        tree["staged"]["count"],
        of(&|line| line.starts_with("1 ") && !line.starts_with("1 ."))
    );
    assert_eq!(tree["modified"]["count"], of(&|line| line.starts_with("1 .M")));
    assert_eq!(tree["deleted"]["count"], of(&|line| line.starts_with("1 .D")));
    assert_eq!(tree["untracked"]["count"], of(&|line| line.starts_with("? ")));
    assert_eq!(
        (&tree["verdict"], &tree["not_in_checkpoint"]["count"]),
        (&"changed".into(), &5.into())
    );
    assert_eq!(tree["index_same"], false);
    assert_eq!(report["drift"]["reasons"], serde_json::json!(["files", "index"]));
    assert_eq!(names(&report["files"]["uncommitted"]).len(), 6);
}

#[test]
fn a_skipped_file_is_not_a_missing_one() {
    let world = project();
    world.file("big", vec![b'x'; 3000]);
    save(&world);
    world.git(["config", "checkpoint.maxFileSize", "1k"]).success();
    let report = whole(&world);
    assert_eq!(
        report["files"]["not_compared"]["first"],
        serde_json::json!(["big"]),
        "{report:#}"
    );
    assert_eq!(
        (&report["files"]["verdict"], &report["saved"]["count"]),
        (&"unchanged".into(), &0.into())
    );
}

/// A clone that pushes to and fetches from the world's first repository, which becomes bare.
fn with_remote() -> World {
    let world = project();
    world.git(["clone", "-q", "--bare", ".", "../remote"]).success();
    world.git(["remote", "add", "origin", "../remote"]).success();
    world.git(["fetch", "-q"]).success();
    world.git(["branch", "-q", "--set-upstream-to=origin/main"]).success();
    world
}

/// Changes the remote through a clone of its own.
fn elsewhere(world: &World, change: impl FnOnce(&World)) {
    world.git(["clone", "-q", "../remote", "../elsewhere"]).success();
    world.enter("elsewhere");
    change(world);
    world.enter("repo");
    world.git(["fetch", "-q", "--prune"]).success();
}

#[test]
fn the_upstream_moved() {
    let world = with_remote();
    save(&world);
    assert_eq!(whole(&world)["upstream"]["verdict"], "unchanged");
    elsewhere(&world, |world| {
        commit(world, "x", "x\n");
        commit(world, "y", "y\n");
        world.git(["push", "-q"]).success();
    });
    commit(&world, "own", "own\n");
    let report = whole(&world);
    let upstream = &report["upstream"];
    assert_eq!(
        (&upstream["fate"], &upstream["verdict"], &upstream["gained"]["count"]),
        (&"forward".into(), &"changed".into(), &2.into())
    );
    let status = world.git_line(["status", "--porcelain=v2", "--branch"]);
    let ab = format!(
        "# branch.ab +{} -{}",
        upstream["ahead"]["count"], upstream["behind"]["count"]
    );
    assert!(status.contains(&ab), "{status}");
}

#[test]
fn the_upstream_was_force_pushed() {
    let world = with_remote();
    save(&world);
    elsewhere(&world, |world| {
        world.git(["commit", "-q", "--amend", "-m", "rewritten"]).success();
        world.git(["push", "-q", "--force"]).success();
    });
    let upstream = &whole(&world)["upstream"];
    assert_eq!(
        (&upstream["fate"], &upstream["verdict"]),
        (&"rewritten".into(), &"changed".into())
    );
    assert_eq!(
        (&upstream["gained"]["count"], &upstream["dropped"]["count"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        upstream["head"]["now"].as_str(),
        Some(&*world.git_line(["rev-parse", "origin/main"]))
    );
    let text = world.checkpoint(["resume"]);
    assert!(
        text.stdout().contains("origin/main was rewritten, 1 commit dropped"),
        "{text}"
    );
}

#[test]
fn the_branch_was_deleted_upstream() {
    let world = with_remote();
    world.git(["checkout", "-q", "-b", "topic"]).success();
    world.git(["push", "-q", "-u", "origin", "topic"]).success();
    save(&world);
    elsewhere(&world, |world| {
        world.git(["push", "-q", "origin", "--delete", "topic"]).success();
    });
    let report = whole(&world);
    assert_eq!(
        (&report["upstream"]["fate"], &report["upstream"]["verdict"]),
        (&"gone".into(), &"missing".into()),
        "{report:#}"
    );
    assert_eq!(report["upstream"]["name"]["now"], "origin/topic");
    assert!(world.git_line(["status", "-sb"]).contains("[gone]"));
    assert_eq!(report["drift"]["drifted"], false);
}

#[test]
fn a_shallow_clone_says_what_it_cannot_know() {
    let world = project();
    let url = format!("file://{}", world.repo().display());
    world.git(["clone", "-q", "--depth=1", &url, "../shallow"]).success();
    world.enter("shallow");
    save(&world);
    commit(&world, "own", "x\n");
    assert_eq!(whole(&world)["commits"]["how"], "forward");
    world.enter("repo");
    for n in 0..5 {
        commit(&world, &format!("n{n}"), "x\n");
    }
    world.enter("shallow");
    world.git(["fetch", "-q", "--depth=1"]).success();
    world.git(["reset", "-q", "--hard", "origin/main"]).success();
    let report = whole(&world);
    assert_eq!(
        (&report["commits"]["how"], &report["commits"]["shallow"]),
        (&"unknown".into(), &true.into()),
        "{report:#}"
    );
}

#[test]
fn an_operation_was_begun() {
    let world = topic();
    commit(&world, "file", lines(&[(2, "main")]));
    save(&world);
    world.git(["merge", "-q", "topic"]).code(1);
    let report = whole(&world);
    let operation = &report["operation"];
    assert_eq!(
        (&operation["now"]["kind"], &operation["verdict"]),
        (&"merge".into(), &"changed".into())
    );
    assert_eq!(report["worktree"]["verdict"], "conflict");
    assert_eq!(report["worktree"]["conflicted"]["first"], serde_json::json!(["file"]));
    save(&world);
    assert_eq!(whole(&world)["operation"]["verdict"], "unchanged");
    world.git(["merge", "--abort"]).success();
    assert_eq!(whole(&world)["operation"]["verdict"], "changed");
}

#[test]
fn another_work_tree_and_another_clone() {
    let world = project();
    world
        .checkpoint(["save", "-q", "-m", "saved", "--session", "s"])
        .success();
    world
        .git(["worktree", "add", "-q", "-b", "side", "../linked"])
        .success();
    world.enter("linked");
    let output = world.checkpoint(["resume", "s", "--json"]);
    let place = output.success().stdout_json()["report"]["place"].clone();
    assert_eq!(
        (&place["is"], &place["verdict"]),
        (&"other-worktree".into(), &"changed".into()),
        "{place:#}"
    );
    assert_eq!(
        place["worktree"],
        serde_json::json!({"then": "main", "now": "linked-linked"})
    );
    world.enter("repo");
    world.git(["clone", "-q", ".", "../clone"]).success();
    world.enter("clone");
    world
        .git(["fetch", "-q", "origin", "refs/checkpoints/*:refs/checkpoints/*"])
        .success();
    let output = world.checkpoint(["resume", "s", "--json"]);
    assert_eq!(output.success().stdout_json()["report"]["place"]["is"], "other-folder");
}

#[test]
fn the_stash_is_counted() {
    let world = project();
    save(&world);
    world.file("file", "stashed\n");
    world.git(["stash", "-q"]).success();
    let report = whole(&world);
    assert_eq!(
        (
            &report["stash"]["then"],
            &report["stash"]["now"],
            &report["stash"]["verdict"]
        ),
        (&0.into(), &1.into(), &"changed".into())
    );
}

#[test]
fn a_part_that_fails_is_named_and_the_rest_comes() {
    let world = project();
    world.file("file", lines(&[(4, "saved")]));
    save(&world);
    world.git(["checkout", "-q", "--", "."]).success();
    commit(&world, "file", lines(&[(4, "one")]));
    let lost = world.git_line(["rev-parse", "HEAD^{tree}"]);
    commit(&world, "file", lines(&[(4, "two")]));
    commit(&world, "file2", "x\n");
    fs::remove_file(world.path(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]))).unwrap();
    let report = report(&world);
    let failed = report["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 1, "{report:#}");
    assert_eq!(failed[0]["part"], "saved");
    assert!(failed[0]["reason"].as_str().unwrap().contains(&lost), "{report:#}");
    assert_eq!(
        (&report["commits"]["how"], &report["commits"]["since"]["count"]),
        (&"forward".into(), &3.into())
    );
    assert_eq!(report["files"]["committed"]["count"], 2);
    assert!(report["drift"]["drifted"].as_bool().unwrap());
    let text = world.checkpoint(["resume"]);
    assert!(text.stdout().contains("not known: cannot read object"), "{text}");
}

#[test]
fn very_large_commits_are_not_compared_line_by_line() {
    let world = project();
    world.git(["checkout", "-q", "-b", "topic"]).success();
    for n in 0..2500 {
        world.file(format!("many/{n}"), format!("{n}\n"));
    }
    commit(&world, "file", lines(&[(3, "committed")]));
    world.file("file", lines(&[(3, "committed"), (4, "saved")]));
    save(&world);
    world.git(["checkout", "-q", "--", "."]).success();
    world.git(["checkout", "-q", "main"]).success();
    commit(&world, "main", "x\n");
    world.git(["checkout", "-q", "topic"]).success();
    world.git(["rebase", "-q", "main"]).success();
    for n in 0..2500 {
        world.file(format!("many/{n}"), format!("{n} again\n"));
    }
    commit(&world, "file", lines(&[(3, "committed"), (15, "later")]));
    let report = whole(&world);
    // Too many files for a patch id: known again by its author.
    assert_eq!(report["commits"]["matched"]["first"][0]["by"], "author", "{report:#}");
    let file = file(&report, "file");
    assert_eq!(
        file["commit"]["id"].as_str().unwrap(),
        world.git_line(["log", "-1", "--format=%H", "--", "file"])
    );
}

#[test]
fn a_repository_of_sha256() {
    let world = World::without_repository();
    world
        .git(["init", "-q", "-b", "main", "--object-format=sha256"])
        .success();
    commit(&world, "file", lines(&[]));
    commit(&world, "file", lines(&[(10, "mine")]));
    let old = world.git_line(["rev-parse", "HEAD"]);
    world.file("file", lines(&[(10, "mine"), (4, "saved")]));
    save(&world);
    world.git(["reset", "-q", "--hard", "HEAD~1"]).success();
    commit(&world, "other", "x\n");
    world.git(["cherry-pick", &old]).success();
    commit(&world, "file", lines(&[(10, "mine"), (4, "committed")]));
    let report = whole(&world);
    assert_eq!(
        (&report["commits"]["how"], &report["commits"]["matched"]["count"]),
        (&"rebased".into(), &1.into()),
        "{report:#}"
    );
    assert_eq!(cherry(&world, "HEAD", &old), "-");
    assert_eq!(file(&report, "file")["merge"], "content");
    assert_eq!(git_conflicts(&world, &old), ["file".to_owned()].into());
}
