//! A branch named where a session is meant: what cannot be undone, or deletes, does not guess.

use crate::support::World;

fn save(world: &World, summary: &str) {
    world.checkpoint(["save", "--allow-empty", "-m", summary]).success();
}

fn refs(world: &World) -> String {
    world
        .git(["for-each-ref", "refs/checkpoints"])
        .success()
        .stdout()
        .to_owned()
}

#[test]
fn purge_and_delete_refuse_a_branch_and_name_its_session() {
    let world = World::with_commit();
    world.checkpoint(["start", "zz"]).success();
    save(&world, "one");
    save(&world, "two");
    let before = refs(&world);
    for words in [
        &["purge", "main", "--yes"][..],
        &["purge", "main~1", "--yes"],
        &["purge", "main", "--dry-run"],
        &["delete", "main"],
        &["delete", "main", "--dry-run"],
    ] {
        let refused = world.checkpoint(words);
        refused.code(4).stderr_has("'main' is a branch; its session is 'zz'");
        let step = if words[1].contains('~') { "'zz~1'" } else { "zz" };
        refused.stderr_has(&format!("git checkpoint {} {step}", words[0]));
    }
    assert_eq!(refs(&world), before);
    // What can be undone says which session it was.
    world.checkpoint(["claim", "main"]).success().stdout_has("  zz; ");
    world.checkpoint(["release", "main"]).success();
    world
        .checkpoint(["rename", "main", "yy"])
        .success()
        .stdout_has("session zz to yy");
    world.checkpoint(["switch", "main"]).success().stdout_has("session yy");
    // By its own name.
    world
        .checkpoint(["purge", "yy~1", "--yes"])
        .success()
        .stdout_has("Purged checkpoint");
    world
        .checkpoint(["delete", "yy"])
        .success()
        .stdout_has("Deleted session yy");
}

#[test]
fn a_session_that_is_named_after_its_branch_is_deleted_by_that_and_purged_by_its_name() {
    let world = World::with_commit();
    world.git(["switch", "--quiet", "-c", "feature/login"]).success();
    save(&world, "one");
    save(&world, "two");
    let before = refs(&world);
    world
        .checkpoint(["purge", "feature/login", "--yes"])
        .code(4)
        .stderr_has("git checkpoint purge feature-login");
    assert_eq!(refs(&world), before);
    world
        .checkpoint(["delete", "feature/login"])
        .success()
        .stdout_has("Deleted session feature-login");
}

/// A session, a checkpoint or an id of that text is nearer than the branch.
#[test]
fn what_is_no_branch_for_the_command_is_not_refused() {
    let world = World::with_commit();
    world.checkpoint(["start", "zz"]).success();
    save(&world, "one");
    world
        .checkpoint(["save", "--allow-empty", "--name", "main", "-m", "two"])
        .success();
    world
        .checkpoint(["purge", "main", "--yes"])
        .success()
        .stdout_has("Purged checkpoint");
    let log = world.checkpoint(["log", "zz"]).success().stdout().to_owned();
    assert!(log.contains("one") && !log.contains("two"), "{log}");
}
