//! Merges in which a path cannot hold both sides: renames against each other, files against directories and symlinks,
//! submodules, and files outside of a sparse checkout. Nothing of either side is dropped: what does not fit is unmerged in the
//! index, and in a file.

use crate::support::World;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";

fn edited(line: &str, to: &str) -> String {
    LINES.replace(&format!("\n{line}\n"), &format!("\n{to}\n"))
}

/// A session with a fork; each side changes its working tree, and the fork is saved.
fn sides(theirs: &dyn Fn(&World), ours: &dyn Fn(&World)) -> World {
    let world = World::with_commit();
    for path in ["a", "b", "d/e"] {
        world.file(path, LINES);
    }
    world.commit_and_fork();
    world.enter("t");
    theirs(&world);
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    ours(&world);
    world
}

fn remove(world: &World, path: &str) {
    std::fs::remove_file(world.path(path)).unwrap();
}

fn rename(world: &World, from: &str, to: &str) {
    std::fs::create_dir_all(world.path(to).parent().unwrap()).unwrap();
    std::fs::rename(world.path(from), world.path(to)).unwrap();
}

type Change<'a> = &'a dyn Fn(&World);

#[test]
fn what_cannot_share_a_path_is_unmerged_and_on_disk() {
    let cases: [(&str, Change<'_>, Change<'_>); 12] = [
        (
            "renamed by both",
            &|w| {
                remove(w, "b");
                w.file("b-theirs", edited("7", "THEIRS"));
            },
            &|w| {
                remove(w, "b");
                w.file("b-ours", edited("15", "OURS"));
            },
        ),
        (
            "a file there, a directory here",
            &|w| w.file("b", edited("7", "THEIRS")),
            &|w| {
                remove(w, "b");
                w.file("b/in", "OURS\n");
            },
        ),
        (
            "a directory there, a file here",
            &|w| {
                remove(w, "b");
                w.file("b/in", "THEIRS\n");
            },
            &|w| w.file("b", edited("7", "OURS")),
        ),
        (
            "a symlink there, a file here",
            &|w| std::os::unix::fs::symlink("THEIRS", w.path("l")).unwrap(),
            &|w| w.file("l", "OURS\n"),
        ),
        ("a file there, a symlink here", &|w| w.file("l", "THEIRS\n"), &|w| {
            std::os::unix::fs::symlink("OURS", w.path("l")).unwrap();
        }),
        (
            "a symlink in place of a file that was edited here",
            &|w| {
                remove(w, "b");
                std::os::unix::fs::symlink("THEIRS", w.path("b")).unwrap();
            },
            &|w| w.file("b", edited("7", "OURS")),
        ),
        (
            "renamed there to a name that is new here",
            &|w| {
                remove(w, "b");
                w.file("new", edited("7", "THEIRS"));
            },
            &|w| w.file("new", "OURS\n"),
        ),
        (
            "renamed there, deleted here, and the name is new here",
            &|w| {
                remove(w, "b");
                w.file("new", edited("7", "THEIRS"));
            },
            &|w| {
                remove(w, "b");
                w.file("new", "OURS\n");
            },
        ),
        (
            "two files renamed to one name",
            &|w| {
                remove(w, "a");
                w.file("same", edited("7", "THEIRS"));
            },
            &|w| {
                rename(w, "b", "same");
                w.file("same", edited("15", "OURS"));
            },
        ),
        (
            "moved into a directory that is a file here",
            &|w| {
                remove(w, "b");
                w.file("n/b", edited("7", "THEIRS"));
            },
            &|w| w.file("n", "OURS\n"),
        ),
        (
            "a symlink in place of a file that was renamed here",
            &|w| {
                remove(w, "b");
                std::os::unix::fs::symlink("THEIRS", w.path("b")).unwrap();
            },
            &|w| rename(w, "b", "OURS"),
        ),
        (
            "renamed there, a symlink in its place here",
            &|w| rename(w, "b", "THEIRS"),
            &|w| {
                remove(w, "b");
                std::os::unix::fs::symlink("OURS", w.path("b")).unwrap();
            },
        ),
    ];
    for (name, theirs, ours) in cases {
        let world = sides(theirs, ours);
        let merged = world.checkpoint(["merge", "t"]);
        merged.code(1).stdout_has("conflict");
        let unmerged = world.git_line(["ls-files", "-u"]);
        assert!(!unmerged.is_empty(), "{name}: nothing is unmerged\n{}", merged.stdout());
        world.git(["status"]).success().stdout_has("Unmerged paths");
        // Both sides are on disk, in names, in files or in the texts of symlinks.
        let mut texts = String::new();
        let mut places = vec![world.repo()];
        while let Some(place) = places.pop() {
            for entry in std::fs::read_dir(place).unwrap() {
                let path = entry.unwrap().path();
                let kind = path.symlink_metadata().unwrap().file_type();
                texts.push_str(path.file_name().unwrap().to_str().unwrap());
                if kind.is_symlink() {
                    texts.push_str(std::fs::read_link(&path).unwrap().to_str().unwrap());
                } else if kind.is_dir() {
                    places.extend((path.file_name().unwrap() != ".git").then_some(path));
                } else {
                    texts.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
                }
            }
        }
        for side in ["OURS", "THEIRS"] {
            assert!(texts.contains(side), "{name}: {side} is gone\n{unmerged}");
        }
        // It is not finished as long as they are unmerged, and git finishes it.
        world
            .checkpoint(["merge", "--continue"])
            .code(1)
            .stderr_has("not every conflict is resolved");
        world.git(["add", "-A"]).success();
        world.checkpoint(["merge", "--continue"]).success();
        world.checkpoint(["save", "-m", "resolved"]).success();
        world.git(["fsck", "--strict"]).success();
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// A file that both sides made with the same bytes has one mode; which of two is meant, nothing says.
#[test]
fn modes_of_one_new_file_contradict_each_other() {
    use std::os::unix::fs::PermissionsExt as _;

    let make = |world: &World, mode: u32| {
        world.file("tool", LINES);
        std::fs::set_permissions(world.path("tool"), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (theirs, ours) in [(0o755, 0o644), (0o644, 0o755), (0o755, 0o755)] {
        let world = sides(&|w| make(w, theirs), &|w| make(w, ours));
        world.checkpoint(["save", "--session", "s", "-m", "ours"]).success();
        let [base, one, other] = ["checkpoints/t~1", "checkpoints/s", "checkpoints/t"]
            .map(|it| world.git_line(["rev-parse", &format!("{it}^2")]));
        let git = world.git([
            "merge-tree",
            "--write-tree",
            &format!("--merge-base={base}"),
            &one,
            &other,
        ]);
        assert_eq!(git.is_success(), theirs == ours);
        for command in ["apply", "merge"] {
            let merged = world.checkpoint([command, "t"]);
            if git.is_success() {
                merged.success();
                continue;
            }
            merged.code(1).stdout_has("conflict");
            let stages = world.git_line(["ls-files", "-u"]);
            let wanted = git.stdout().lines().skip(1).filter(|line| line.contains("\ttool"));
            assert_eq!(
                stages.lines().collect::<Vec<_>>(),
                wanted.collect::<Vec<_>>(),
                "{command}"
            );
            let mode = world.path("tool").metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, ours);
            world.checkpoint(["undo"]).success();
            assert_eq!(world.git_line(["ls-files", "-u"]), "");
        }
    }
}

/// Taken back, everything is as it was before.
#[test]
fn structural_conflicts_are_taken_back() {
    let world = sides(
        &|w| {
            remove(w, "b");
            w.file("b-theirs", edited("7", "THEIRS"));
            w.file("a", edited("7", "THEIRS"));
        },
        &|w| {
            remove(w, "b");
            w.file("b-ours", edited("15", "OURS"));
            remove(w, "a");
            w.file("a/in", "OURS\n");
        },
    );
    let before = world.git(["status", "--porcelain"]).stdout().to_owned();
    world.checkpoint(["merge", "t"]).code(1);
    world.checkpoint(["merge", "--abort"]).success();
    assert_eq!(world.git(["status", "--porcelain"]).stdout(), before);
    assert_eq!(world.git_line(["ls-files", "-u"]), "");
    assert!(!world.path("b-theirs").exists());
    world.checkpoint(["apply", "t"]).code(1);
    assert!(!world.git_line(["ls-files", "-u"]).is_empty());
    world.checkpoint(["undo"]).success();
    assert_eq!(world.git(["status", "--porcelain"]).stdout(), before);
}

#[test]
fn files_outside_of_a_sparse_checkout_are_merged_in_the_index() {
    let world = World::with_commit();
    for path in ["in/a", "out/b", "out/c", "out/d"] {
        world.file(path, LINES);
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "files"]).success();
    world.git(["sparse-checkout", "set", "in"]).success();
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    world
        .checkpoint(["fork", "s", "--name", "t", "--worktree", "../t"])
        .success();
    world.enter("t");
    world.git(["sparse-checkout", "disable"]).success();
    world.file("out/b", edited("7", "THEIRS"));
    remove(&world, "out/c");
    world.file("out/d", edited("7", "THEIRS"));
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    // One that both changed: here it is in the index alone.
    world.file("elsewhere", edited("7", "OURS"));
    let blob = world.git_line(["hash-object", "-w", "elsewhere"]);
    remove(&world, "elsewhere");
    let entry = format!("100644,{blob},out/d");
    world.git(["update-index", "--cacheinfo", &entry]).success();
    world.git(["update-index", "--skip-worktree", "out/d"]).success();
    let merged = world.checkpoint(["merge", "t"]);
    merged.code(1).stdout_has("out/b").stdout_has("sparse checkout");
    assert!(world.git_line(["show", ":out/b"]).contains("THEIRS"));
    assert!(world.git_line(["ls-files", "-t", "out/b"]).starts_with('S'));
    assert_eq!(world.git_line(["ls-files", "out/c"]), "");
    assert!(world.git_line(["show", "checkpoints/s^2:out/b"]).contains("THEIRS"));
    assert_eq!(world.git_line(["ls-files", "-u", "out/d"]).lines().count(), 3);
    let text = String::from_utf8(world.read("out/d")).unwrap();
    assert!(text.contains("OURS") && text.contains("THEIRS"), "{text}");
    world.checkpoint(["undo"]).success();
    assert!(!world.git_line(["show", ":out/b"]).contains("THEIRS"));
    assert!(world.git_line(["ls-files", "-t", "out/b"]).starts_with('S'));
    assert!(!world.path("out/b").exists());
}

#[test]
fn commits_of_submodules_are_merged_in_the_index() {
    let world = World::with_commit();
    world
        .git(["config", "--global", "protocol.file.allow", "always"])
        .success();
    let library = world.root().join("library");
    world
        .git(["init", "-q", "-b", "main", library.to_str().unwrap()])
        .success();
    let run = |place: &str, args: &[&str]| {
        let output = world.command("git", args).within(world.root().join(place)).run();
        output.success();
        output.stdout().trim_end().to_owned()
    };
    run("library", &["commit", "-q", "--allow-empty", "-m", "first"]);
    for name in ["one", "two"] {
        world.git(["submodule", "--quiet", "add", "../library", name]).success();
    }
    world.git(["commit", "-qm", "submodules"]).success();
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    world
        .checkpoint(["fork", "s", "--name", "t", "--worktree", "../t"])
        .success();
    for name in ["one", "two"] {
        run(&format!("t/{name}"), &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    }
    run("repo/two", &["commit", "-q", "--allow-empty", "-m", "ours"]);
    world.enter("t");
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    let merged = world.checkpoint(["merge", "t"]);
    merged.code(1).stdout_has("one").stdout_has("git submodule update");
    assert_eq!(
        world.git_line(["rev-parse", ":one"]),
        run("t/one", &["rev-parse", "HEAD"])
    );
    // Both moved the other one: three stages, and the working tree of the submodule is left alone.
    let stages = world.git_line(["ls-files", "-u", "two"]);
    assert_eq!(stages.lines().count(), 3, "{stages}");
    assert!(stages.contains(&run("t/two", &["rev-parse", "HEAD"])), "{stages}");
    world.checkpoint(["merge", "--continue"]).code(1);
    world.git(["add", "two"]).success();
    world.checkpoint(["merge", "--continue"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(
        world.git_line(["rev-parse", ":one"]),
        world.git_line(["rev-parse", "HEAD:one"])
    );
}

/// `conflict` says what the sides are.
#[test]
fn a_contradiction_is_listed_with_its_values() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    let set = |text: &str| world.checkpoint(["state", "patch", text]).success().stdout().to_owned();
    set(r#"{"a":1}"#);
    world.checkpoint(["save", "-m", "base"]).success();
    world
        .checkpoint(["fork", "s", "--name", "t", "--worktree", "../t"])
        .success();
    world.enter("t");
    set(r#"{"a":5}"#);
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    set(r#"{"a":6}"#);
    world.checkpoint(["merge", "t"]).code(1);
    let listed = world.checkpoint(["conflict"]);
    listed
        .success()
        .stdout_has("6 here")
        .stdout_has("5 in t")
        .stdout_has("1 before");
}

#[test]
fn the_working_tree_of_a_fork_is_not_removed_from_within() {
    let world = World::with_commit();
    world.checkpoint(["save", "--session", "s", "-m", "one"]).success();
    world
        .checkpoint(["fork", "s", "--name", "t", "--worktree", "../t"])
        .success();
    world.enter("t");
    let refused = world.checkpoint(["fork", "--remove", "t"]);
    refused.code(4).stderr_has("working tree of 't'");
    let main = world.root().join("repo").canonicalize().unwrap();
    refused.stderr_has(&format!("git -C {} checkpoint fork --remove t", main.display()));
    assert!(world.path("README.md").exists());
}
