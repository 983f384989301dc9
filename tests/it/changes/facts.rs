//! Where the repository is, against `git status --porcelain=v2 --branch` and its relatives.

use std::fs;

use git_checkpoint::model::facts::{GitFacts, GitOperation, OperationKind};
use git_checkpoint::store::facts::git_facts;

use super::{id, open};
use crate::support::World;

/// The facts, after comparing with git what git shows in one call.
#[track_caller]
fn facts(world: &World) -> GitFacts {
    let facts = git_facts(&open(world), None).unwrap();
    let status = world.git(["status", "--porcelain=v2", "--branch", "--show-stash"]);
    let header = |key: &str| {
        let start = format!("# {key} ");
        status
            .success()
            .stdout()
            .lines()
            .find_map(|line| line.strip_prefix(&start))
            .map(str::to_owned)
    };
    let shown = |value: &Option<String>, none: &str| value.clone().unwrap_or_else(|| none.to_owned());
    assert_eq!(shown(&facts.branch, "(detached)"), header("branch.head").unwrap());
    let head = facts.head.as_ref().map(ToString::to_string);
    assert_eq!(shown(&head, "(initial)"), header("branch.oid").unwrap());
    assert_eq!(facts.upstream, header("branch.upstream"));
    let counts = facts
        .ahead
        .zip(facts.behind)
        .map(|(ahead, behind)| format!("+{ahead} -{behind}"));
    assert_eq!(counts, header("branch.ab"));
    assert_eq!(
        facts.stash_count.to_string(),
        header("stash").unwrap_or_else(|| "0".to_owned())
    );
    if facts.head.is_some() {
        assert_eq!(facts.head_subject, Some(world.git_line(["log", "-1", "--format=%s"])));
    }
    facts
}

/// A clone next to the world's repository, entered.
fn clone(world: &World, options: &[&str]) {
    let url = format!("file://{}", world.repo().display());
    let args = ["clone", "--quiet"]
        .iter()
        .chain(options)
        .copied()
        .chain([&*url, "../clone"]);
    world.git(args).success();
    world.enter("clone");
}

fn commit(world: &World, name: &str) {
    world.file(name, name);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", &format!("add {name}")]).success();
}

#[test]
fn unborn_born_and_detached() {
    let world = World::new();
    assert_eq!(facts(&world).head, None);
    commit(&world, "a");
    let born = facts(&world);
    assert_eq!(born.branch.as_deref(), Some("main"));
    world.git(["checkout", "-q", "--detach"]).success();
    assert_eq!(facts(&world).branch, None);
    world.git(["checkout", "-q", "--orphan", "team/other"]).success();
    assert_eq!(facts(&world).branch.as_deref(), Some("team/other"));
}

#[test]
fn upstream_even_ahead_behind_diverged_and_gone() {
    let world = World::with_commit();
    clone(&world, &[]);
    assert_eq!(facts(&world).upstream.as_deref(), Some("origin/main"));
    commit(&world, "ahead");
    let ahead = facts(&world);
    assert_eq!((ahead.ahead, ahead.behind), (Some(1), Some(0)));
    world.enter("repo");
    commit(&world, "behind1");
    commit(&world, "behind2");
    world.enter("clone");
    world.git(["fetch", "-q"]).success();
    let diverged = facts(&world);
    assert_eq!((diverged.ahead, diverged.behind), (Some(1), Some(2)));
    assert_eq!(
        diverged.upstream_head.unwrap().as_str(),
        id(&world, "origin/main").to_string()
    );
    world.git(["pack-refs", "--all"]).success();
    assert_eq!(facts(&world).behind, Some(2));
    // A local branch as upstream.
    world
        .git(["checkout", "-q", "-b", "local", "--track", "main"])
        .success();
    assert_eq!(facts(&world).upstream.as_deref(), Some("main"));
    world.git(["checkout", "-q", "main"]).success();
    world.git(["update-ref", "-d", "refs/remotes/origin/main"]).success();
    let gone = facts(&world);
    assert_eq!(
        (gone.upstream.as_deref(), gone.upstream_head, gone.ahead),
        (Some("origin/main"), None, None)
    );
}

#[test]
fn counting_stops_and_says_so() {
    let world = World::new();
    let mut stream = String::new();
    for (branch, count) in [("main", 3), ("other", 1500)] {
        for n in 0..count {
            stream.push_str(&format!(
                "commit refs/heads/{branch}\ncommitter C <c@e> {n} +0000\ndata 0\n\n"
            ));
        }
    }
    world
        .command("git", ["fast-import", "--quiet"])
        .input(stream)
        .run()
        .success();
    world.git(["branch", "-q", "--set-upstream-to=other", "main"]).success();
    let facts = git_facts(&open(&world), None).unwrap();
    assert!(facts.ahead_behind_at_least);
    assert!(facts.behind.unwrap() <= 1000);
}

#[test]
fn a_shallow_clone_and_a_linked_work_tree() {
    let world = World::with_commit();
    commit(&world, "b");
    clone(&world, &["--depth=1"]);
    facts(&world);
    world
        .git(["worktree", "add", "-q", "-b", "side", "../linked"])
        .success();
    world.enter("linked");
    commit(&world, "c");
    let linked = facts(&world);
    assert_eq!(linked.branch.as_deref(), Some("side"));
    world.enter("clone");
    assert_eq!(facts(&world).branch.as_deref(), Some("main"));
}

#[test]
fn reftables_are_read_through_git() {
    let world = World::without_repository();
    world
        .git(["init", "-q", "-b", "main", "--ref-format=reftable"])
        .success();
    facts(&world);
    commit(&world, "a");
    commit(&world, "b");
    world.git(["branch", "-q", "side", "HEAD~1"]).success();
    world.git(["branch", "-q", "--set-upstream-to=side"]).success();
    world.file("a", "changed");
    world.git(["stash", "-q"]).success();
    let facts = facts(&world);
    assert_eq!((facts.ahead, facts.stash_count), (Some(1), 1));
    world.git(["update-ref", "CHERRY_PICK_HEAD", "HEAD"]).success();
    let operation = git_facts(&open(&world), None).unwrap().operation.unwrap();
    assert_eq!(operation.kind, OperationKind::CherryPick);
}

/// Two branches that change the same line of `src/main.txt`, `main` checked out.
fn conflicting() -> World {
    let world = World::with_commit();
    world.git(["checkout", "-q", "-b", "topic"]).success();
    world.file("src/main.txt", "topic\n");
    world.git(["commit", "-qam", "topic 1"]).success();
    commit(&world, "more");
    world.git(["checkout", "-q", "main"]).success();
    world.file("src/main.txt", "main\n");
    world.git(["commit", "-qam", "main 1"]).success();
    world
}

#[track_caller]
fn operation(world: &World) -> Option<GitOperation> {
    // Commits and files of an operation have their own story.
    facts(world).operation.map(|operation| GitOperation {
        heads: Vec::new(),
        files: Vec::new(),
        names: Vec::new(),
        ..operation
    })
}

fn plain(kind: OperationKind) -> GitOperation {
    GitOperation::new(kind)
}

#[test]
fn operations_in_progress() {
    let world = conflicting();
    assert_eq!(operation(&world), None);
    world.git(["merge", "-q", "topic"]).code(1);
    assert_eq!(operation(&world), Some(plain(OperationKind::Merge)));
    world.git(["merge", "--abort"]).success();

    world.git(["cherry-pick", "topic~1"]).code(1);
    assert_eq!(operation(&world), Some(plain(OperationKind::CherryPick)));
    world.git(["cherry-pick", "--abort"]).success();

    // Between the picks of a sequence, when the user has committed by hand.
    world.git(["cherry-pick", "topic~1", "topic"]).code(1);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "by hand"]).success();
    assert!(!world.path(".git/CHERRY_PICK_HEAD").exists());
    assert_eq!(operation(&world), Some(plain(OperationKind::CherryPick)));
    world.git(["cherry-pick", "--abort"]);
    world.git(["cherry-pick", "--quit"]);
    world.git(["reset", "-q", "--hard", "main"]).success();

    world.git(["revert", "--no-edit", "HEAD~1"]);
    world.git(["revert", "--abort"]);
    world.file("src/main.txt", "later\n");
    world.git(["commit", "-qam", "later"]).success();
    world.git(["revert", "--no-edit", "HEAD~1"]).code(1);
    assert_eq!(operation(&world), Some(plain(OperationKind::Revert)));
    world.git(["revert", "--abort"]).success();

    world.git(["bisect", "start", "HEAD", "HEAD~1"]).success();
    assert_eq!(operation(&world).unwrap().kind, OperationKind::Bisect);
    world.git(["bisect", "reset"]).success();
    assert_eq!(operation(&world), None);
}

#[test]
fn a_rebase_tells_branch_and_step() {
    for backend in ["--merge", "--apply"] {
        let world = conflicting();
        world.git(["checkout", "-q", "topic"]).success();
        world.git(["rebase", "-q", backend, "main"]).code(1);
        let wanted = GitOperation {
            branch: Some("topic".into()),
            step: Some(1),
            of: Some(2),
            ..plain(OperationKind::Rebase)
        };
        assert_eq!(operation(&world), Some(wanted), "{backend}");
        // The same in a linked working tree.
        world
            .git(["worktree", "add", "-q", "--detach", "../linked", "main"])
            .success();
        world.enter("linked");
        assert_eq!(operation(&world), None);
    }
}

#[test]
fn a_mailbox_in_progress() {
    let world = conflicting();
    let patch = world
        .git(["format-patch", "-q", "--stdout", "main..topic"])
        .success()
        .stdout()
        .to_owned();
    world.command("git", ["am", "-q"]).input(patch).run();
    let wanted = GitOperation {
        step: Some(1),
        of: Some(2),
        ..plain(OperationKind::Am)
    };
    assert_eq!(operation(&world), Some(wanted));
}

#[test]
fn staged_paths_are_those_of_git() {
    use git_checkpoint::model::list::IndexConflict;
    let world = conflicting();
    for name in ["renamed-from", "deleted", "changed"] {
        world.file(name, format!("{name}\n"));
    }
    commit(&world, "base");
    world.git(["merge", "-q", "topic"]).code(1);
    fs::rename(world.path("renamed-from"), world.path("renamed-to")).unwrap();
    fs::remove_file(world.path("deleted")).unwrap();
    world.file("changed", "other\n");
    world
        .git(["add", "-A", "--", "changed", "deleted", "renamed-from", "renamed-to"])
        .success();
    // The index with its unmerged path taken from our side, as a snapshot takes it.
    let ours = world.git_line(["rev-parse", ":2:src/main.txt"]);
    let index = world.path(".git/index-copy");
    fs::copy(world.path(".git/index"), &index).unwrap();
    let on_copy = |args: &[&str]| {
        world
            .command("git", args)
            .env("GIT_INDEX_FILE", &index)
            .run()
            .success()
            .stdout()
            .trim()
            .to_owned()
    };
    on_copy(&["update-index", "--cacheinfo", &format!("100644,{ours},src/main.txt")]);
    let tree = git_checkpoint::store::ObjectId::from_hex(on_copy(&["write-tree"]).as_bytes()).unwrap();
    let conflicts = [IndexConflict {
        path: "src/main.txt".into(),
        n: 0,
        stage: 2,
        mode: 0o100_644,
    }];
    let facts = git_facts(&open(&world), Some((tree, &conflicts))).unwrap();
    let ours: Vec<_> = facts.staged.first.iter().map(ToString::to_string).collect();
    let git = world.git_line(["diff", "--cached", "-M100%", "--name-only", "--diff-filter=ACDMRT"]);
    assert_eq!(ours, git.lines().collect::<Vec<_>>());
    assert_eq!(facts.staged.count, 4);
    let renamed = &facts.renamed.first[0];
    assert_eq!(
        (renamed.from.to_string(), renamed.to.to_string()),
        ("renamed-from".into(), "renamed-to".into())
    );
}
