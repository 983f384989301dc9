//! Sessions that leave a remote: `remote prune`, and what a purge asks of the remotes.

use super::{at, save, shared};
use crate::support::World;

/// Sessions of which the remote has all, in each state.
fn pushed() -> World {
    let world = shared();
    for name in ["active", "finished", "deleted", "theirs", "ahead"] {
        world.checkpoint(["start", name]).success();
        world.file(name, "content\n");
        save(&world, name);
    }
    world.checkpoint(["push", "--all"]).success();
    for name in ["finished", "theirs"] {
        world.checkpoint(["switch", name]).success();
        let run = world.command(crate::support::PROGRAM, ["finish"]);
        let email = if name == "theirs" {
            "bob@example.org"
        } else {
            "ana@example.org"
        };
        run.env("GIT_AUTHOR_EMAIL", email).run().success();
    }
    world.checkpoint(["push", "--all"]).success();
    world.checkpoint(["delete", "deleted"]).success();
    world
}

fn there(world: &World) -> Vec<String> {
    let refs = world.git([
        "-C",
        "../hub",
        "for-each-ref",
        "--format=%(refname:lstrip=2)",
        "refs/checkpoints",
    ]);
    refs.success().stdout().lines().map(str::to_owned).collect()
}

#[test]
fn a_remote_is_pruned_of_what_is_not_needed_there() {
    let world = pushed();
    let all = ["active", "ahead", "deleted", "finished", "theirs"];
    assert_eq!(there(&world), all);
    let plan = world.checkpoint(["remote", "prune", "--dry-run"]);
    plan.success()
        .stdout_has("deleted")
        .stdout_lacks("finished")
        .stdout_lacks("active");
    assert_eq!(there(&world), all);
    // Nobody is at a terminal: the option that answers is named.
    world.checkpoint(["remote", "prune"]).stderr_has("--yes");
    assert_eq!(there(&world), all);
    world.checkpoint(["remote", "prune", "--yes"]).success();
    assert_eq!(there(&world), ["active", "ahead", "finished", "theirs"]);
    let json = world.checkpoint(["remote", "prune", "origin", "--finished", "--yes", "--json"]);
    let json = json.success().stdout_json();
    assert_eq!(json["deleted"][0]["session"], "finished");
    assert_eq!(json["deleted"][0]["why"], "finished");
    assert_eq!(json["deleted"].as_array().unwrap().len(), 1, "those of others stay");
    assert_eq!(there(&world), ["active", "ahead", "theirs"]);
    assert!(
        !at(&world, "repo", "refs/checkpoints/finished").is_empty(),
        "the local one stays"
    );
    world
        .checkpoint(["remote", "prune", "--finished", "--others", "--yes"])
        .success();
    assert_eq!(there(&world), ["active", "ahead"]);
    world.checkpoint(["remote", "prune", "--finished", "--yes"]).success();
    world.checkpoint(["undelete", "deleted"]).success();
}

#[test]
fn single_sessions_are_deleted_on_a_remote() {
    let world = pushed();
    world
        .checkpoint(["remote", "delete", "ahead", "--dry-run"])
        .success()
        .stdout_has("ahead");
    assert_eq!(there(&world), ["active", "ahead", "deleted", "finished", "theirs"]);
    world.checkpoint(["remote", "delete", "ahead"]).success();
    world
        .checkpoint(["remote", "delete", "origin/finished", "origin/deleted"])
        .success();
    world
        .checkpoint(["remote", "delete", "--remote", "origin", "theirs"])
        .success();
    assert_eq!(there(&world), ["active"]);
    assert!(!at(&world, "repo", "refs/checkpoints/finished").is_empty());
    world.checkpoint(["remote", "delete", "ahead"]).code(3);
    world.checkpoint(["remote", "delete", "nowhere/active"]).code(3);
    world
        .checkpoint(["remote", "rm", "active"])
        .code(129)
        .stderr_has("remote delete");
    world.git(["remote", "remove", "origin"]).success();
    world.checkpoint(["remote", "delete", "active"]).code(3);
}

/// What somebody added since is not deleted.
#[test]
fn a_session_that_went_on_at_the_remote_stays_there() {
    let world = pushed();
    super::clone(&world, "other");
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["pull", "origin", "deleted"]).success();
    world.checkpoint(["switch", "deleted"]).success();
    world.file("more", "more\n");
    save(&world, "more");
    world.checkpoint(["push", "origin", "deleted"]).success();
    world.enter("repo");
    world
        .checkpoint(["remote", "prune", "--yes"])
        .code(4)
        .stderr_has("not what was last fetched");
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["remote", "prune", "--yes"]).success();
    assert!(there(&world).contains(&"deleted".to_owned()));
}

#[test]
fn a_claimed_session_stays_on_the_remote() {
    let world = pushed();
    for name in ["finished", "deleted"] {
        world.checkpoint(["pull", "origin", name]).success();
        world.checkpoint(["claim", name, "--agent", "a1", "-q"]).success();
    }
    world.checkpoint(["push", "--all"]).success();
    world.checkpoint(["delete", "deleted", "--force"]).success();
    let all = ["active", "ahead", "deleted", "finished", "theirs"];
    assert_eq!(there(&world), all);
    for line in [
        &["delete", "--remote", "origin", "finished"][..],
        &["delete", "--remote", "origin", "ahead", "finished"],
        &["delete", "--remote", "origin", "finished", "--dry-run"],
        &["remote", "delete", "deleted"],
    ] {
        let session = if line[0] == "remote" { "deleted" } else { "finished" };
        world
            .checkpoint(line)
            .code(4)
            .stderr_has(&format!("session '{session}' of remote 'origin' is claimed by a1"))
            .stderr_has("--force");
        assert_eq!(there(&world), all, "{line:?}");
    }
    world
        .checkpoint(["remote", "prune", "--finished", "--others", "--yes"])
        .success();
    assert_eq!(there(&world), ["active", "ahead", "deleted", "finished"]);
    // The holder may, and whoever says so.
    world
        .command(crate::support::PROGRAM, ["remote", "delete", "deleted"])
        .env("CHECKPOINT_AGENT", "a1")
        .run()
        .success();
    world
        .checkpoint(["delete", "--remote", "origin", "finished", "--force"])
        .success();
    assert_eq!(there(&world), ["active", "ahead"]);
}

#[test]
fn a_purge_can_ask_the_remotes() {
    for namespace in ["refs/checkpoints/", "refs/heads/sessions/"] {
        let world = shared();
        world
            .git(["config", "remote.origin.checkpointNamespace", namespace])
            .success();
        for name in ["one", "two"] {
            world.checkpoint(["start", name]).success();
            world.file("secret", "needle\n");
            save(&world, name);
        }
        world.checkpoint(["push", "--all"]).success();
        std::fs::remove_file(world.path("secret")).unwrap();
        // The commands that are named work with the namespace of the remote.
        let plan = world.checkpoint(["purge", "--dry-run", "two"]);
        plan.success().stdout_has(&format!("--delete {namespace}two"));
        let plan = world.checkpoint(["purge", "--dry-run", "--", "secret"]);
        plan.success().stdout_has("git checkpoint purge --remote -- secret");
        let purged = world.checkpoint(["purge", "--remote", "--yes", "--", "secret"]);
        purged.success().stdout_has("has it no longer").stderr_has("garbage");
        let reachable = |world: &World| {
            let objects = world.git(["-C", "../hub", "rev-list", "--objects", "--all"]);
            objects.success().stdout().contains(" secret")
        };
        assert!(!reachable(&world), "{namespace}");
        let full = format!("{namespace}one");
        assert_eq!(at(&world, "hub", &full), at(&world, "repo", "refs/checkpoints/one"));
        world
            .checkpoint(["remote", "status"])
            .success()
            .stdout_lacks("not pushed");
        world.checkpoint(["purge", "--remote", "--yes", "two"]).success();
        assert_eq!(at(&world, "hub", &format!("{namespace}two")), "");
        assert!(!at(&world, "hub", &full).is_empty());
    }
}
