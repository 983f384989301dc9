//! Forks of working trees with submodules and with a sparse checkout: both are as in the source.

use crate::support::{Output, World};

/// A repository with a submodule at `lib` that has a submodule at `inner`.
fn nested() -> World {
    let world = World::with_commit();
    world
        .git(["config", "--global", "protocol.file.allow", "always"])
        .success();
    for (name, inner) in [("inner", None), ("library", Some("inner"))] {
        let root = world.root().join(name);
        world
            .git(["init", "-q", "-b", "main", root.to_str().unwrap()])
            .success();
        std::fs::write(root.join("file"), format!("{name}\n")).unwrap();
        if let Some(inner) = inner {
            let url = format!("../{inner}");
            within(&world, name, &["submodule", "--quiet", "add", &url, inner]);
        }
        within(&world, name, &["add", "-A"]);
        within(&world, name, &["commit", "-qm", "first"]);
    }
    world
        .git(["submodule", "--quiet", "add", "../library", "lib"])
        .success();
    world
        .git(["submodule", "--quiet", "update", "--init", "--recursive"])
        .success();
    world.git(["commit", "-qm", "library"]).success();
    world
}

fn within(world: &World, place: &str, args: &[&str]) -> Output {
    let place = world.root().join(place);
    let output = world.command("git", args).within(&place).run();
    output.success();
    output
}

fn line(world: &World, place: &str, args: &[&str]) -> String {
    within(world, place, args).stdout().trim_end().to_owned()
}

fn fork(world: &World, name: &str) -> Output {
    let place = format!("../{name}");
    world.checkpoint(["fork", "s", "--name", name, "--worktree", &place])
}

#[test]
fn submodules_are_populated_from_the_source() {
    let world = nested();
    // At a commit that no branch of the submodule's remote has.
    std::fs::write(world.path("lib/file"), "moved on\n").unwrap();
    within(&world, "repo/lib", &["commit", "-qam", "moved on"]);
    let moved = line(&world, "repo/lib", &["rev-parse", "HEAD"]);
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    // The remote is out of reach: nothing is asked of it.
    std::fs::rename(world.root().join("library"), world.root().join("away")).unwrap();
    let before = line(&world, "repo/lib", &["for-each-ref"]);
    fork(&world, "f")
        .success()
        .stdout_has("2 submodules")
        .stderr_lacks("warning");
    assert_eq!(line(&world, "f/lib", &["rev-parse", "HEAD"]), moved);
    assert_eq!(std::fs::read(world.root().join("f/lib/file")).unwrap(), b"moved on\n");
    assert_eq!(
        std::fs::read(world.root().join("f/lib/inner/file")).unwrap(),
        b"inner\n"
    );
    for place in ["lib", "lib/inner"] {
        let url = |of: &str| line(&world, &format!("{of}/{place}"), &["config", "remote.origin.url"]);
        assert_eq!(url("f"), url("repo"), "{place}");
    }
    assert_eq!(
        line(&world, "repo", &["status", "--short"]),
        line(&world, "f", &["status", "--short"])
    );
    let state = line(&world, "f", &["submodule", "status", "--recursive"]);
    assert!(!state.lines().any(|line| line.starts_with('-')), "{state}");
    assert_eq!(
        line(&world, "repo/lib", &["for-each-ref"]),
        before,
        "the source's is only read"
    );
    let json = world.checkpoint(["fork", "s", "--name", "g", "--worktree", "../g", "--json"]);
    let json = json.success().stdout_json();
    assert_eq!(json["forks"][0]["worktree"]["submodules"].as_array().unwrap().len(), 2);
}

#[test]
fn submodules_that_the_source_has_not_populated_stay_empty() {
    let world = nested();
    world.git(["submodule", "--quiet", "deinit", "-f", "lib"]).success();
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    fork(&world, "f")
        .success()
        .stdout_lacks("submodule")
        .stderr_lacks("warning");
    assert_eq!(std::fs::read_dir(world.root().join("f/lib")).unwrap().count(), 0);
    assert_eq!(line(&world, "f", &["status", "--short"]), "");
}

#[test]
fn a_submodule_that_cannot_be_populated_is_reported() {
    let world = nested();
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    std::fs::remove_file(world.path(".gitmodules")).unwrap();
    world
        .checkpoint(["save", "--session", "s", "-m", "no .gitmodules"])
        .success();
    let forked = fork(&world, "f");
    forked
        .success()
        .stderr_has("submodule 'lib' is empty in the fork")
        .stderr_has("submodule update --init");
}

/// Work in a fork's submodule is in no checkpoint: the working tree is not removed with it.
#[test]
fn changes_in_a_submodule_that_do_not_come_along_are_named() {
    let world = nested();
    std::fs::write(world.path("lib/file"), "edited\n").unwrap();
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    fork(&world, "f")
        .success()
        .stderr_has("uncommitted changes of submodule 'lib' are not in the fork");
    assert_eq!(std::fs::read(world.root().join("f/lib/file")).unwrap(), b"library\n");
    assert_eq!(std::fs::read(world.path("lib/file")).unwrap(), b"edited\n");
}

#[test]
fn a_working_tree_with_work_in_a_submodule_is_not_removed() {
    let world = nested();
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    for (name, place, work) in [
        ("edit", "lib", "edit"),
        ("untracked", "lib", "untracked"),
        ("commit", "lib", "commit"),
        ("branch", "lib", "branch"),
        ("stash", "lib", "stash"),
        ("deep", "lib/inner", "edit"),
        ("deep-commit", "lib/inner", "commit"),
    ] {
        fork(&world, name).success();
        let inner = format!("{name}/{place}");
        let file = world.root().join(&inner).join("file");
        match work {
            "untracked" => std::fs::write(file.with_file_name("new"), "new\n").unwrap(),
            _ => std::fs::write(&file, "edited\n").unwrap(),
        }
        match work {
            "commit" => drop(within(&world, &inner, &["commit", "-qam", "own"])),
            "branch" => {
                within(&world, &inner, &["switch", "-qc", "own"]);
                within(&world, &inner, &["commit", "-qam", "own"]);
                within(&world, &inner, &["switch", "-q", "--detach", "@{-1}"]);
            }
            "stash" => drop(within(&world, &inner, &["stash", "-q"])),
            _ => {}
        }
        let removed = world.checkpoint(["fork", "--remove", name]);
        removed.code(4).stderr_has(&format!("not saved: {place}"));
        assert!(file.exists(), "{name}");
        world.checkpoint(["fork", "--remove", name, "--force"]).success();
        assert!(!file.exists(), "{name}");
    }
    // Without work of its own it goes.
    fork(&world, "clean").success();
    world.checkpoint(["fork", "--remove", "clean"]).success();
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn a_sparse_checkout_is_that_of_the_source() {
    for (name, cone) in [("cone", "--cone"), ("patterns", "--no-cone")] {
        let world = World::with_commit();
        for path in ["a/one", "a/deep/two", "b/three", "c/four"] {
            world.file(path, "first\n");
        }
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "directories"]).success();
        world.git(["sparse-checkout", "set", cone, "a"]).success();
        world.file("a/one", "edited\n");
        world.file("a/new", "untracked\n");
        world.checkpoint(["save", "--session", "s", "-m", "sparse"]).success();
        fork(&world, name).success();
        for place in ["repo", name] {
            assert_eq!(line(&world, place, &["sparse-checkout", "list"]), "a", "{place}");
            let flags = line(&world, place, &["ls-files", "-t"]);
            assert!(
                flags.contains("S b/three") && flags.contains("H a/one"),
                "{place} {flags}"
            );
            assert!(!world.root().join(place).join("b").exists(), "{place}");
        }
        assert_eq!(
            line(&world, name, &["status", "--short"]),
            line(&world, "repo", &["status", "--short"])
        );
        // In both a later save has all files.
        world.enter(name);
        world.checkpoint(["save", "-m", "in the fork"]).success();
        world.enter("repo");
        assert_eq!(line(&world, "repo", &["show", "checkpoints/s^2:b/three"]), "first");
        let spec = format!("checkpoints/{name}^2:b/three");
        assert_eq!(line(&world, "repo", &["show", &spec]), "first");
    }
}
