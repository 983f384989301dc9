//! What came from others and is here now: where it came from is said, and it does nothing by itself.

use super::{at, clone, save, shared};

#[test]
fn steps_that_were_fetched_run_only_with_consent() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    let script = "echo ran >>../ran; exit 1";
    let line = ["step", "run", "--title", "evil", "--", "sh", "-c", script];
    world.checkpoint(line).code(1);
    save(&world, "one");
    world.checkpoint(["push"]).success();
    let ran = || {
        let text = std::fs::read_to_string(world.root().join("ran")).unwrap();
        text.lines().count()
    };
    for (directory, way) in [("bob", &["fetch"][..]), ("eve", &["pull", "origin", "auth"])] {
        clone(&world, directory);
        world.checkpoint(way).success();
        let named = if directory == "bob" { "origin/auth" } else { "auth" };
        world.checkpoint(["resume", named]).success();
        let before = ran();
        world
            .checkpoint(["replay", "--run"])
            .code(4)
            .stderr_has("were not recorded here")
            .stderr_has(script)
            .stderr_has("--trust");
        world.checkpoint(["replay"]).success();
        world.checkpoint(["replay", "--run", "--dry-run"]).success();
        assert_eq!(ran(), before, "{directory}");
        world.checkpoint(["replay", "--run", "--trust"]).code(1);
        assert_eq!(ran(), before + 1, "{directory}");
    }
    // Where they were recorded nothing is asked.
    world.enter("repo");
    let before = ran();
    world.checkpoint(["replay", "--run"]).code(1);
    assert_eq!(ran(), before + 1);
}

#[test]
fn status_tells_what_is_not_pushed() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["status"]).success().stdout_lacks("origin");
    world.checkpoint(["push"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("up to date with origin as of the last fetch");
    save(&world, "two");
    save(&world, "three");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("2 checkpoints not pushed to origin");
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    let remotes = &status["current"]["remotes"];
    assert_eq!(
        *remotes,
        serde_json::json!([
            {"remote": "origin", "state": "not-pushed", "unpushed": 2, "unpulled": 0, "damage": null}
        ])
    );
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    save(&world, "bob's");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["fetch"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("diverged from origin: 2 ahead, 1 behind");
}

#[test]
fn an_open_draft_goes_on_over_push_and_pull() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["resume", "auth"]).success();
    world.checkpoint(["task", "add", "bob's task"]).success();
    save(&world, "bob's");
    world.checkpoint(["push"]).success();
    world.enter("repo");
    world.checkpoint(["task", "add", "still open"]).success();
    world.checkpoint(["pull"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("1 change not saved yet");
    let receipt = world
        .checkpoint(["save", "-m", "both", "--push", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        at(&world, "hub", "refs/checkpoints/auth"),
        receipt["id"].as_str().unwrap()
    );
    let document = world
        .git(["show", "refs/checkpoints/auth:checkpoint.json"])
        .success()
        .stdout_json();
    let tasks: Vec<_> = document["record"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["title"].as_str().unwrap())
        .collect();
    assert_eq!(tasks, ["bob's task", "still open"]);
    world.checkpoint(["status"]).success().stdout_lacks("not saved yet");
}
