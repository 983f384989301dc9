//! Repositories below the working tree that the index does not know: named as left out, no change while nothing of the
//! project changed, and never touched.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use crate::support::World;

/// How a repository comes to lie at a path.
struct Shape {
    name: &'static str,
    path: &'static str,
    make: fn(&World, &str),
    /// Whether it is listed as left out: not where git ignores it, or takes it for plain files.
    listed: bool,
}

fn init(world: &World, path: &str) {
    world.git(["init", "--quiet", "--initial-branch=main", path]).success();
    world.file(format!("{path}/own"), "of its own\n");
}

fn commit(world: &World, path: &str) {
    world.git(["-C", path, "add", "own"]).success();
    world.git(["-C", path, "commit", "--quiet", "-m", "inner"]).success();
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "with a commit",
        path: "in",
        make: |w, path| {
            init(w, path);
            commit(w, path);
        },
        listed: true,
    },
    Shape {
        name: "no commits yet",
        path: "deep/er/in",
        make: init,
        listed: true,
    },
    Shape {
        name: "detached, with changes",
        path: "in",
        make: |w, path| {
            init(w, path);
            commit(w, path);
            w.git(["-C", path, "checkout", "--quiet", "--detach"]).success();
            w.file(format!("{path}/own"), "edited\n");
        },
        listed: true,
    },
    Shape {
        name: "a linked working tree of another repository",
        path: "in",
        make: |w, path| {
            init(w, "../origin");
            commit(w, "../origin");
            let place = w.path(path);
            let add = ["-C", "../origin", "worktree", "add", "--quiet", "--detach"];
            w.git([&add[..], &[place.to_str().unwrap()]].concat()).success();
        },
        listed: true,
    },
    Shape {
        name: "a linked working tree of this repository",
        path: ".trees/in",
        make: |w, path| {
            w.git(["worktree", "add", "--quiet", "--detach", path]).success();
        },
        listed: true,
    },
    Shape {
        name: "a submodule that no .gitmodules names",
        path: "in",
        make: |w, path| {
            init(w, path);
            commit(w, path);
            fs::create_dir_all(w.path(".git/modules")).unwrap();
            fs::rename(w.path(path).join(".git"), w.path(".git/modules/in")).unwrap();
            w.file(format!("{path}/.git"), "gitdir: ../.git/modules/in\n");
        },
        listed: true,
    },
    Shape {
        name: "names with a line feed and an umlaut",
        path: "o\nü/in",
        make: |w, path| {
            init(w, path);
            commit(w, path);
        },
        listed: true,
    },
    Shape {
        name: "other ids",
        path: "in",
        make: |w, path| {
            w.git(["init", "--quiet", "--object-format=sha256", path]).success();
            w.file(format!("{path}/own"), "of its own\n");
            commit(w, path);
        },
        listed: true,
    },
    Shape {
        name: ".git a symlink",
        path: "in",
        make: |w, path| {
            init(w, path);
            commit(w, path);
            fs::rename(w.path(path).join(".git"), w.root().join("elsewhere")).unwrap();
            symlink("../../elsewhere", w.path(path).join(".git")).unwrap();
        },
        listed: true,
    },
    Shape {
        name: "in an ignored directory",
        path: "build/in",
        make: |w, path| {
            w.file(".git/info/exclude", "/build\n");
            init(w, path);
            commit(w, path);
        },
        listed: false,
    },
    Shape {
        name: "a bare one, which git takes for files",
        path: "in.git",
        make: |w, path| {
            w.git(["init", "--quiet", "--bare", "--template=", path]).success();
        },
        listed: false,
    },
    Shape {
        name: "a .git file that leads nowhere",
        path: "in",
        make: |w, path| {
            w.file(format!("{path}/.git"), "gitdir: ../nowhere\n");
            w.file(format!("{path}/own"), "of its own\n");
        },
        listed: false,
    },
];

/// Everything below a path: names, bytes, and the numbers of files, which change when one is written anew.
fn all(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let bytes = meta.is_file().then(|| fs::read(&path).unwrap());
        found.push(format!("{path:?} {} {:o} {bytes:?}", meta.ino(), meta.mode()));
        if meta.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_nested_repository_is_named_and_never_touched() {
    for shape in SHAPES {
        let name = shape.name;
        let world = World::with_commit();
        world.checkpoint(["start", "s"]).success();
        world.file("work", "before\n");
        world
            .checkpoint(["save", "-m", "before it", "--name", "before"])
            .success();
        (shape.make)(&world, shape.path);
        world.file("work", "with it\n");
        let there = all(&world.path(shape.path));
        let stays = |what: &str| assert_eq!(all(&world.path(shape.path)), there, "{name}: {what}");

        let receipt = world
            .checkpoint(["save", "-m", "with it", "--json"])
            .success()
            .stdout_json();
        let skipped = receipt["skipped"].as_array().unwrap();
        let is_named = skipped.iter().any(|entry| entry["reason"] == "nested-repository");
        assert_eq!(is_named, shape.listed, "{name}: {receipt}");
        let links = world.git(["ls-tree", "-r", "checkpoints/s^2"]);
        links.success().stdout_lacks("160000");
        world.checkpoint(["save"]).success().stdout_has("othing");
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        assert_eq!(status["something_to_save"], false, "{name}: {status}");
        let named = status["left_out"].as_array().unwrap().len();
        assert_eq!(named > 0, shape.listed || name.contains("nowhere"), "{name}: {status}");
        if shape.listed {
            world.checkpoint(["status", "--exit-code"]).code(1);
            let shown = world.checkpoint(["show", "s"]);
            shown.success().stdout_has("a nested repository");
        }
        stays("save");

        // A fork's working tree does not have it, and that is no change.
        let forked = world.checkpoint(["fork", "s", "--name", "f", "--worktree", "../fk"]);
        forked.success();
        if shape.listed {
            forked.stdout_has("not saved, so not there").stdout_lacks("in the way");
            assert!(!world.path("../fk").join(shape.path).exists(), "{name}");
        }
        world.enter("fk");
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        assert_eq!(status["current"]["files_changed"], 0, "{name}: {status}");
        world
            .checkpoint(["save", "-m", "in the fork"])
            .success()
            .stdout_lacks("deleted");
        let report = world.checkpoint(["resume", "s", "--json"]).success().stdout_json();
        assert_eq!(report["report"]["files"]["verdict"], "unchanged", "{name}: {report}");
        world.enter("repo");
        stays("fork");

        // Back to before it was there, and again; what is put aside, and brought back.
        if shape.listed || name.contains("ignored") {
            world.checkpoint(["restore", "before", "--force"]).success();
            assert_eq!(world.read("work"), b"before\n", "{name}");
            stays("restore");
            world.checkpoint(["undo"]).success();
            stays("undo");
            world.checkpoint(["redo"]).success();
            stays("redo");
            world.checkpoint(["undo"]).success();
            world.checkpoint(["pause", "--clean", "-m", "aside"]);
            stays("pause --clean");
            world.checkpoint(["resume", "s", "--apply"]);
            stays("resume --apply");
            assert_eq!(world.read("work"), b"with it\n", "{name}");
        }
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// Saved files whose directory is a repository by now, which may be ignored, are not written into it.
#[test]
fn saved_files_are_not_written_into_what_is_a_repository_now() {
    for rule in ["", "/in\n", "in/\n", "own\n", "*\n"] {
        for path in ["in", "deep/in"] {
            for committed in [false, true] {
                let case = format!("{rule:?} {path} {committed}");
                let world = World::with_commit();
                world.file(format!("{path}/saved"), "saved\n");
                world.checkpoint(["save", "--session", "s", "-m", "plain"]).success();
                fs::remove_dir_all(world.path(path)).unwrap();
                world.file(".git/info/exclude", rule);
                init(&world, path);
                if committed {
                    commit(&world, path);
                }
                let before = all(&world.path(path));
                for line in [&["restore", "s"][..], &["restore", "s", "--force"]] {
                    let output = world.checkpoint(line);
                    output.code(4).stderr_has("repository");
                    assert_eq!(all(&world.path(path)), before, "{case} {line:?}");
                }
            }
        }
    }
}
