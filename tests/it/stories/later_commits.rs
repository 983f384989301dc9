//! Commands after which the index would make the next commit take back what somebody else committed.

use crate::support::World;

/// A change that a commit made is not in what `undo` stages, whatever the undone command did to other paths.
#[test]
fn undo_stages_nothing_against_a_later_commit() {
    for (staged, committed) in [("new", "README.md"), ("dir/new", "other"), ("README.md", "other")] {
        let world = World::with_commit();
        world.file("other", "1\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "other"]).success();
        world.file(staged, "staged\n");
        world.git(["add", staged]).success();
        world.checkpoint(["pause", "--clean", "-m", "aside"]).success();
        world.checkpoint(["resume", "--apply"]).success();
        world.file(committed, "important\n");
        world.git(["commit", "-qam", "important"]).success();
        world.checkpoint(["undo"]).success();
        let shown = world.git(["show", &format!(":{committed}")]);
        assert_eq!(shown.success().stdout(), "important\n", "{staged}");
        assert_eq!(world.git(["diff", "--cached", "--name-only"]).stdout(), "", "{staged}");
        // What the undone command brought is gone from the working tree, as a change that is not staged.
        let expected = if staged == "README.md" {
            " M README.md\n"
        } else {
            &format!(" D {staged}\n")
        };
        assert_eq!(world.git(["status", "--porcelain"]).stdout(), expected);
    }
}

/// What somebody staged after the undone command stays staged, where that command did not touch the path.
#[test]
fn undo_keeps_what_was_staged_since() {
    let world = World::with_commit();
    world.file("a", "a\n");
    world.git(["add", "a"]).success();
    world.checkpoint(["pause", "--clean", "-m", "aside"]).success();
    world.checkpoint(["resume", "--apply"]).success();
    world.file("b", "b\n");
    world.git(["add", "b"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(world.git(["status", "--porcelain"]).stdout(), "A  b\n");
    world.checkpoint(["redo"]).success();
    assert_eq!(world.git(["status", "--porcelain"]).stdout(), "A  a\nA  b\n");
}

/// A merge is not in progress again without its unmerged entries: `git commit` would conclude it with nothing of the other
/// side.
#[test]
fn a_merge_that_cannot_come_back_leaves_its_conflict() {
    for file in ["untracked", "other"] {
        let world = World::with_commit();
        world.file("f", "1\n");
        world.file("other", "1\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "base"]).success();
        world.git(["switch", "-qc", "topic"]).success();
        world.file("f", "topic\n");
        world.git(["commit", "-qam", "topic"]).success();
        world.git(["switch", "-q", "main"]).success();
        world.file("f", "main\n");
        world.git(["commit", "-qam", "main"]).success();
        world.git(["merge", "-q", "topic"]);
        world.file("untracked", "x\n");
        world.checkpoint(["pause", "-m", "in the merge"]).success();
        world.git(["merge", "--abort"]).success();
        // Something that was not there when the merge began keeps the files from being exactly those of the checkpoint.
        world.file(file, "changed since\n");
        let resumed = world.checkpoint(["resume", "--apply"]);
        let is_merging = world.path(".git/MERGE_HEAD").exists();
        let unmerged = world.git(["ls-files", "-u"]).stdout().lines().count();
        // The conflict comes in any case, and with it the merge or how to get it.
        assert_eq!(unmerged, 3, "{}", resumed.stdout());
        assert!(
            is_merging || resumed.stdout().contains("--index"),
            "{}",
            resumed.stdout()
        );
    }
}

/// The merge of two sessions cannot be put aside: what it joins is noted for its conclusion alone.
#[test]
fn a_merge_of_sessions_is_not_put_aside() {
    let world = World::with_commit();
    world.file("f", "1\n2\n3\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "base"]).success();
    world.checkpoint(["save", "-m", "base", "--allow-empty"]).success();
    world
        .checkpoint(["fork", "@", "--name", "try", "--worktree", "../try"])
        .success();
    world.enter("try");
    world.file("f", "1\ntheirs\n3\n");
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    world.file("f", "1\nours\n3\n");
    world.checkpoint(["merge", "try"]);
    for _ in 0..2 {
        let refused = world.checkpoint(["pause", "--clean"]);
        assert!(
            refused.stderr().contains("a merge is in progress"),
            "{}",
            refused.stderr()
        );
        world.git(["add", "f"]).success();
    }
    world.checkpoint(["merge", "--continue"]).success();
    world.checkpoint(["pause", "--clean"]).success();
}

/// Work that was brought back and committed on its branch is not missing on another one, where it would be there twice.
#[test]
fn work_committed_on_its_branch_is_not_brought_to_another() {
    for is_later in [false, true] {
        let world = World::with_commit();
        world.checkpoint(["save", "--session", "main", "-m", "start"]).success();
        world.git(["switch", "-qc", "feat"]).success();
        world.file("f", "new\n");
        world.file("README.md", "changed\n");
        world
            .checkpoint(["pause", "--clean", "--session", "main", "-m", "half"])
            .success();
        world.checkpoint(["resume", "main", "--apply"]).success();
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "f"]).success();
        let commit = world.git_line(["rev-parse", "--short=8", "HEAD"]);
        if is_later {
            world.file("README.md", "changed\nagain\n");
            world.git(["commit", "-qam", "g"]).success();
        }
        let latest = world.git_line(["rev-parse", "--short=8", "HEAD"]);
        world.git(["switch", "-q", "main"]).success();
        world.file("h", "h\n");
        world.git(["add", "h"]).success();
        world.git(["commit", "-qm", "h"]).success();
        world
            .checkpoint(["resume", "main"])
            .success()
            .stderr_has(&format!("committed on branch 'feat' ({latest})"))
            .stdout_lacks("resume main --apply");
        world
            .checkpoint(["resume", "main", "--apply"])
            .code(4)
            .stderr_has(&format!("committed on branch 'feat' ({latest})"))
            .stderr_has("git merge feat");
        assert_eq!(world.git_line(["status", "--porcelain"]), "");
        world.git(["merge", "-q", "--no-edit", "feat"]).success();
        assert_eq!(world.read("f"), b"new\n");
        // On its own branch, and where the branch has it no more, it is as before.
        world.git(["reset", "-q", "--hard", "HEAD~1"]).success();
        world.git(["branch", "-qf", "feat", &format!("{commit}~1")]).success();
        world.checkpoint(["resume", "main", "--apply"]).success();
        assert_eq!(world.read("f"), b"new\n");
    }
}

/// A branch that has the saved work is no reason to refuse where HEAD has it too: on a new branch, detached, after a merge.
#[test]
fn what_head_has_as_well_is_not_elsewhere() {
    let ways: [&[&[&str]]; 4] = [
        &[&["switch", "-qc", "topic"]],
        &[&["switch", "-q", "--detach"]],
        &[&["switch", "-q", "other"], &["merge", "-q", "main"]],
        &[
            &["switch", "-q", "other"],
            &["merge", "-q", "--squash", "main"],
            &["commit", "-qm", "squashed"],
        ],
    ];
    for way in ways {
        let world = World::with_commit();
        world.git(["branch", "other"]).success();
        world.file("f", "work\n");
        world.checkpoint(["save", "--session", "s", "-m", "work"]).success();
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "work"]).success();
        for line in way {
            world.git(*line).success();
        }
        world
            .checkpoint(["resume", "s"])
            .success()
            .stderr_lacks("committed on branch");
        world.checkpoint(["resume", "s", "--apply"]).success();
        assert_eq!(world.read("f"), b"work\n", "{way:?}");
        assert_eq!(world.git_line(["status", "--porcelain"]), "", "{way:?}");
    }
}
