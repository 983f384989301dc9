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

/// Lets a fork look as if it had been cut off before its working tree was complete.
fn cut_off(world: &World, name: &str) {
    let path = world.root().join(name);
    let note = serde_json::json!({ "session": name, "path": path, "branch": format!("checkpoint/{name}") });
    world.file(format!(".git/checkpoint/forks/{name}.json"), note.to_string());
}

/// Every file below a directory with its content.
fn content(root: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                found.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// A submodule that is not populated may have been worked in: what its repository has stays, and is checked out.
#[test]
fn the_repository_of_a_submodule_is_never_deleted() {
    for (name, place) in [("outer", "lib"), ("deep", "lib/inner")] {
        let world = nested();
        world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
        fork(&world, name).success();
        let inner = format!("{name}/{place}");
        let root = world.root().join(&inner);
        for (text, keep) in [("committed\n", "commit"), ("stashed\n", "stash"), ("staged\n", "add")] {
            std::fs::write(root.join("file"), text).unwrap();
            match keep {
                "commit" => drop(within(&world, &inner, &["commit", "-qam", "own"])),
                "stash" => drop(within(&world, &inner, &["stash", "-q"])),
                _ => drop(within(&world, &inner, &["add", "file"])),
            }
        }
        let commits = line(&world, &inner, &["rev-parse", "HEAD", "refs/stash"]);
        // Nothing in its directory, not even git's link.
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::create_dir(&root).unwrap();
        cut_off(&world, name);
        world
            .checkpoint(["fork", "--continue", name])
            .success()
            .stderr_lacks("is empty in the fork");
        assert_eq!(line(&world, &inner, &["rev-parse", "HEAD", "refs/stash"]), commits);
        assert_eq!(std::fs::read(root.join("file")).unwrap(), b"staged\n");
        assert_eq!(line(&world, &inner, &["status", "--short"]), "M  file");
        within(&world, &inner, &["fsck"]);
    }
}

/// A change of a repository.
type Prepare = fn(&World);

/// What is in the directory of a submodule, or where its repository would be, is somebody's: it stays, and is reported.
#[test]
fn what_is_in_the_place_of_a_submodule_is_kept() {
    let library = |world: &World| world.root().join("f/lib");
    let cases: [(&str, Prepare); 5] = [
        ("a file without a repository", |world| {
            std::fs::write(world.root().join("f/lib/mine"), "mine\n").unwrap();
        }),
        ("a repository without a commit", |world| {
            within(world, "f/lib", &["init", "-q"]);
            std::fs::write(world.root().join("f/lib/mine"), "mine\n").unwrap();
            within(world, "f/lib", &["add", "mine"]);
        }),
        ("a link that leads nowhere", |world| {
            std::fs::write(world.root().join("f/lib/.git"), "gitdir: ../gone\n").unwrap();
        }),
        ("a damaged repository", |world| {
            let place = world.path(".git/worktrees/f/modules/lib");
            std::fs::write(place.join("HEAD"), "").unwrap();
            std::fs::write(place.join("note"), "mine\n").unwrap();
        }),
        ("a file where the repository would be", |world| {
            let place = world.path(".git/worktrees/f/modules/lib");
            std::fs::remove_dir_all(&place).unwrap();
            std::fs::write(place, "mine\n").unwrap();
        }),
    ];
    for (name, prepare) in cases {
        let world = nested();
        world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
        fork(&world, "f").success();
        std::fs::remove_dir_all(library(&world)).unwrap();
        std::fs::create_dir(library(&world)).unwrap();
        prepare(&world);
        let modules = world.path(".git/worktrees/f/modules");
        let before = (content(&library(&world)), content(&modules));
        cut_off(&world, "f");
        let continued = world.checkpoint(["fork", "--continue", "f"]);
        continued.stderr_has("submodule 'lib' is empty in the fork");
        assert_eq!((content(&library(&world)), content(&modules)), before, "{name}");
        let left = std::fs::read_dir(world.root().join("f")).unwrap().flatten();
        let mut left = left.filter(|entry| entry.file_name().to_string_lossy().contains("checkpoint"));
        assert!(left.next().is_none(), "{name}");
    }
}

/// A kill while submodules are cloned leaves nothing half: the fork is completed as if there had been none.
#[test]
fn a_fork_that_was_killed_while_it_cloned_a_submodule_is_completed() {
    let world = nested();
    for n in 0..400 {
        std::fs::write(world.path(format!("lib/more{n:03}")), format!("{n}\n")).unwrap();
    }
    within(&world, "repo/lib", &["add", "-A"]);
    within(&world, "repo/lib", &["commit", "-qm", "more"]);
    world.checkpoint(["save", "--session", "s", "-m", "saved"]).success();
    let mut killed = 0;
    for n in 0..6 {
        let name = format!("f{n}");
        let place = format!("../{name}");
        let forking = world.spawn(["fork", "s", "--name", &name, "--worktree", &place]);
        let begun = world.path(format!(".git/worktrees/{name}/checkpoint/submodules"));
        let is_done = || world.root().join(&name).join("lib/inner/file").exists();
        while !begun.exists() && !is_done() {
            std::hint::spin_loop();
        }
        std::thread::sleep(std::time::Duration::from_millis(4 * n));
        forking.signal(rustix::process::Signal::KILL);
        if forking.code().is_some() {
            continue;
        }
        killed += 1;
        world
            .checkpoint(["fork", "--continue", &name])
            .success()
            .stderr_lacks("is empty");
        for inner in ["lib", "lib/inner"] {
            let inner = format!("{name}/{inner}");
            assert_eq!(line(&world, &inner, &["status", "--short"]), "", "{inner}");
        }
        let source = line(&world, "repo", &["submodule", "status", "--recursive"]);
        let commits = |text: &str| {
            text.lines()
                .map(|line| line.trim()[..40].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            commits(&line(&world, &name, &["submodule", "status", "--recursive"])),
            commits(&source)
        );
        assert!(!begun.exists());
        assert_eq!(
            line(&world, &name, &["status", "--short", "--untracked-files=all"]),
            line(&world, "repo", &["status", "--short"])
        );
    }
    assert!(killed > 0, "no kill came in between");
}
