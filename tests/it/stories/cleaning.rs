//! `pause --clean` where something is in its way, and in a sparse checkout.

use crate::support::World;

/// A file that is ignored now lies where HEAD has another one.
fn in_the_way() -> World {
    let world = World::with_commit();
    world.file("build", "committed\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "build"]).success();
    world.git(["rm", "-q", "build"]).success();
    world.file(".gitignore", "build\n");
    world.file("build", "mine\n");
    world
}

#[test]
fn a_cleaning_that_is_refused_saves_nothing_and_names_a_way() {
    let world = in_the_way();
    for _ in 0..2 {
        world
            .checkpoint(["pause", "--clean"])
            .code(4)
            .no_stdout()
            .stderr_has("build  ignored")
            .stderr_has("move these files away first")
            .stderr_lacks("to proceed anyway");
        assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints/"]), "");
        assert_eq!(world.read("build"), b"mine\n");
    }
    // Each way that it names works.
    world.checkpoint(["pause"]).success();
    std::fs::rename(world.path("build"), world.path("../build")).unwrap();
    world.checkpoint(["pause", "--clean"]).success();
    assert_eq!(world.read("build"), b"committed\n");
    assert_eq!(world.git_line(["status", "--porcelain"]), "");
}

#[test]
fn outside_of_a_sparse_checkout_nothing_is_written() {
    for cone in ["--cone", "--no-cone"] {
        let world = World::new();
        for path in ["p/1", "q/1", "q/2", "q/d/3"] {
            world.file(path, path);
        }
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "files"]).success();
        world.git(["sparse-checkout", "set", cone, "p"]).success();
        let clean = world.git_line(["ls-files", "-v"]);
        world.git(["rm", "-rq", "--cached", "--sparse", "q/2", "q/d"]).success();
        world.git(["rm", "-q", "--cached", "p/1"]).success();
        world.file("p/1", "changed");
        world.checkpoint(["pause", "--clean", "-qm", "aside"]).success();
        assert_eq!(world.git_line(["ls-files", "-v"]), clean, "{cone}");
        assert!(!world.path("q").exists(), "{cone}");
        assert_eq!(world.git_line(["status", "--porcelain"]), "");
        world.checkpoint(["resume", "--apply", "--brief"]).success();
        assert_eq!(
            world.git_line(["diff", "--cached", "--name-status"]),
            "D\tp/1\nD\tq/2\nD\tq/d/3",
            "{cone}"
        );
        assert_eq!(world.read("p/1"), b"changed");
        assert!(!world.path("q").exists(), "{cone}");
    }
}
