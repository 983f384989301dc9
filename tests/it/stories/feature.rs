//! One feature over three sessions: planned and begun with a step that fails, tried two ways, decided and handed over.

use crate::support::World;

fn document(world: &World, name: &str) -> serde_json::Value {
    world
        .git(["show", &format!("checkpoints/{name}:checkpoint.json")])
        .success()
        .stdout_json()
}

fn option_of(world: &World, name: &str) -> serde_json::Value {
    document(world, name)["session"]["forked_from"]["option"].clone()
}

#[test]
fn a_feature_over_three_sessions() {
    let world = World::with_commit();

    // The first session: a design, and a step that fails until its second try is reported why.
    world
        .checkpoint(["start", "tokens", "--task", "login by token"])
        .success();
    world
        .checkpoint([
            "step",
            "start",
            "design",
            "--agent",
            "architect",
            "--objective",
            "types before code",
        ])
        .success();
    world.file("src/token.rs", "struct Token;\n");
    world
        .checkpoint([
            "step",
            "done",
            "design",
            "--context",
            "Token holds the claims",
            "--created",
            "src/token.rs=the type",
        ])
        .success();
    world.file(
        "check.sh",
        "grep -q 'impl Token' src/token.rs || { echo 'no impl'; exit 1; }\n",
    );
    let tests = [
        "step", "run", "--title", "tests", "--uses", "design", "--", "sh", "check.sh",
    ];
    world.checkpoint(tests).code(1).stdout_is("no impl\n");
    world
        .checkpoint(["pause", "-m", "tests are red", "--next", "make them green"])
        .success();

    world.advance(86_400);
    world.checkpoint(["resume"]).success().stdout_has("make them green");
    world
        .checkpoint(["replay", "--correction", "give Token an impl block"])
        .success()
        .stdout_has("Try 2 of step 2 of session 'tokens'")
        .stdout_has("no impl")
        .stdout_has("Token holds the claims")
        .stdout_has("give Token an impl block");
    world.file("src/token.rs", "struct Token;\nimpl Token {}\n");
    // The file that the step rests on is another one now: said, not decided.
    world
        .checkpoint(["replay"])
        .success()
        .stdout_has("warning: a file that it rests on changed since\n  src/token.rs");
    world
        .checkpoint(["replay", "--run"])
        .success()
        .stderr_has("step 2 'tests'");
    world.checkpoint(["step", "list"]).success().stdout_has("done, try 2");
    world.checkpoint(["finish", "-m", "tokens have a type"]).success();

    // The second: two ways to store them, each tried in a session of its own.
    world
        .checkpoint(["start", "storage", "--task", "where tokens are kept"])
        .success();
    world
        .checkpoint([
            "fork-point",
            "add",
            "where to keep tokens",
            "--decider",
            "lead",
            "--option",
            "memory:in memory",
            "--pros",
            "simple",
            "--cons",
            "gone at a restart",
            "--option",
            "disk:on disk",
            "--pros",
            "stays",
            "--files",
            "src/disk.rs",
        ])
        .success();
    world.checkpoint(["save", "-m", "two ways"]).success();
    world
        .checkpoint(["fork", "@", "--option", "memory", "--option", "disk"])
        .success();
    assert_eq!(
        (option_of(&world, "storage-memory"), option_of(&world, "storage-disk")),
        ("memory".into(), "disk".into())
    );
    for (session, file, words) in [
        ("storage-memory", "src/memory.rs", "lost at a restart"),
        ("storage-disk", "src/disk.rs", "kept"),
    ] {
        world.checkpoint(["switch", session]).success();
        world.file(file, "fn keep() {}\n");
        world
            .checkpoint(["step", "run", "--title", "try it", "--", "test", "-f", file])
            .code(0);
        world.checkpoint(["save", "-m", words]).success();
        std::fs::remove_file(world.path(file)).unwrap();
    }
    world
        .checkpoint(["compare", "storage-memory", "storage-disk"])
        .success()
        .stdout_has("two ways")
        .stdout_has("lost at a restart");
    // The source knows nothing of the steps that its forks took.
    world
        .checkpoint(["step", "list", "storage"])
        .success()
        .stderr_has("No steps found");
    world
        .checkpoint(["step", "list", "storage-disk"])
        .success()
        .stdout_has("try it");

    // The decision is in the session that asked, which shows what became of each option.
    world.checkpoint(["switch", "storage"]).success();
    let decided = [
        "fork-point",
        "decide",
        "1",
        "disk",
        "--reason",
        "a restart loses nothing",
    ];
    world.checkpoint(decided).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("+ decision    where to keep tokens: disk");
    world.checkpoint(["finish", "-m", "decided: on disk"]).success();
    world
        .checkpoint(["show", "storage"])
        .success()
        .stdout_has("(decided; ")
        .stdout_has("chosen disk")
        .stdout_has("because a restart")
        .stdout_has("memory: in memory (")
        .stdout_has("storage-memory)")
        .stdout_has("sessions storage-disk)");
    world
        .checkpoint(["log", "storage", "--graph"])
        .success()
        .stdout_has("option memory")
        .stdout_has("option disk");

    // The third: in the session of the option that won, and the hand-off.
    world
        .checkpoint(["fork", "storage-disk", "--name", "token-storage"])
        .success();
    world
        .checkpoint([
            "save",
            "-m",
            "on disk it is",
            "-d",
            "tokens are kept on disk",
            "--next",
            "write the migration",
        ])
        .success();
    let saved = document(&world, "token-storage");
    assert_eq!(saved["record"]["fork_points"][0]["chosen"], "disk");
    assert_eq!(saved["session"]["forked_from"]["session"], "storage-disk");
    world
        .checkpoint(["log", "token-storage", "--graph"])
        .success()
        .stdout_has("storage");
    world
        .checkpoint(["export", "--format", "markdown"])
        .success()
        .stdout_has("| where to keep tokens | disk: on disk | stays | - | src/disk.rs | chosen, decided by lead |")
        .stdout_has("| where to keep tokens | memory: in memory | simple | gone at a restart | - | not chosen |")
        .stdout_has("| tokens are kept on disk |");
    world
        .checkpoint(["export", "--format", "handoff", "--into", "HANDOFF.md"])
        .success();
    assert!(
        String::from_utf8(world.read("HANDOFF.md"))
            .unwrap()
            .contains("1. write the migration")
    );
    world.checkpoint(["finish", "-m", "handed over"]).success();
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
}
