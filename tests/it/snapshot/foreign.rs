//! A directory that looks like a repository and is none that one may open: nothing in it makes a snapshot wait, or take
//! memory without bound.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use crate::support::{PROGRAM, World};

fn fifo(world: &World, path: &str) {
    let path = world.path(path);
    let _ = fs::remove_file(&path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn huge(world: &World, path: &str) {
    let _ = fs::remove_file(world.path(path));
    let file = fs::File::create(world.path(path)).unwrap();
    file.set_len(3 << 30).unwrap();
}

fn link(world: &World, target: &str, path: &str) {
    let _ = fs::remove_file(world.path(path));
    symlink(target, world.path(path)).unwrap();
}

/// How a nested repository `f` is spoiled.
type Spoiled = (&'static str, fn(&World));

const SPOILED: &[Spoiled] = &[
    ("HEAD a device", |w| link(w, "/dev/zero", "f/.git/HEAD")),
    ("HEAD a FIFO", |w| fifo(w, "f/.git/HEAD")),
    ("HEAD large", |w| huge(w, "f/.git/HEAD")),
    ("config a FIFO", |w| fifo(w, "f/.git/config")),
    ("config a device", |w| link(w, "/dev/zero", "f/.git/config")),
    ("config large", |w| huge(w, "f/.git/config")),
    ("branch a FIFO", |w| fifo(w, "f/.git/refs/heads/main")),
    ("branch large", |w| huge(w, "f/.git/refs/heads/main")),
    ("branch a device", |w| link(w, "/dev/zero", "f/.git/refs/heads/main")),
    ("packed-refs a FIFO", |w| {
        fs::remove_file(w.path("f/.git/refs/heads/main")).unwrap();
        fifo(w, "f/.git/packed-refs");
    }),
    ("packed-refs large", |w| {
        fs::remove_file(w.path("f/.git/refs/heads/main")).unwrap();
        huge(w, "f/.git/packed-refs");
    }),
    ("alternates a FIFO", |w| fifo(w, "f/.git/objects/info/alternates")),
    ("alternates a device", |w| {
        link(w, "/dev/zero", "f/.git/objects/info/alternates");
    }),
    ("alternates of alternates", |w| {
        fs::create_dir_all(w.path("f/more/info")).unwrap();
        fs::write(w.path("f/.git/objects/info/alternates"), "../../more\n").unwrap();
        fifo(w, "f/more/info/alternates");
    }),
    ("commondir a FIFO", |w| fifo(w, "f/.git/commondir")),
    ("commondir large", |w| huge(w, "f/.git/commondir")),
    ("index a FIFO", |w| fifo(w, "f/.git/index")),
    ("the head object a FIFO", |w| {
        let id = w.git_line(["-C", "f", "rev-parse", "HEAD"]);
        fifo(w, &format!("f/.git/objects/{}/{}", &id[..2], &id[2..]));
    }),
    (".git large", |w| {
        fs::remove_dir_all(w.path("f/.git")).unwrap();
        huge(w, "f/.git");
    }),
    (".git a FIFO", |w| {
        fs::remove_dir_all(w.path("f/.git")).unwrap();
        fifo(w, "f/.git");
    }),
    (".git names one with a FIFO", |w| {
        fs::rename(w.path("f/.git"), w.path("f/moved")).unwrap();
        fs::write(w.path("f/.git"), "gitdir: moved\n").unwrap();
        fifo(w, "f/moved/config");
    }),
    ("refs that go round", |w| {
        fs::write(w.path("f/.git/refs/heads/main"), "ref: refs/heads/other\n").unwrap();
        fs::write(w.path("f/.git/refs/heads/other"), "ref: refs/heads/main\n").unwrap();
    }),
    ("a ref that climbs", |w| {
        fs::write(w.path("f/.git/HEAD"), "ref: refs/../../../.git/refs/heads/main\n").unwrap();
    }),
    ("reftables with a FIFO", |w| {
        let config = "[core]\nrepositoryFormatVersion = 1\n[extensions]\nrefStorage = reftable\n";
        fs::write(w.path("f/.git/config"), config).unwrap();
        fs::create_dir(w.path("f/.git/reftable")).unwrap();
        fs::write(w.path("f/.git/reftable/tables.list"), "one.ref\n").unwrap();
        fifo(w, "f/.git/reftable/one.ref");
    }),
];

/// A repository that has `f` below it, untracked or as a submodule.
fn nested(as_submodule: bool) -> World {
    let world = World::with_commit();
    world.git(["init", "--quiet", "--initial-branch=main", "f"]).success();
    world.file("f/file", "of its own");
    world.git(["-C", "f", "add", "file"]).success();
    world.git(["-C", "f", "commit", "--quiet", "-m", "x"]).success();
    if as_submodule {
        world.git(["-c", "advice.addEmbeddedRepo=false", "add", "f"]).success();
        world.git(["commit", "--quiet", "-m", "f"]).success();
    }
    world.checkpoint(["start", "s"]).success();
    world
}

#[test]
fn nothing_is_opened_without_asking_what_it_is() {
    for as_submodule in [false, true] {
        for (what, spoil) in SPOILED {
            let world = nested(as_submodule);
            spoil(&world);
            world.file("README.md", *what);
            for line in [&["status"][..], &["save", "-m", "one"], &["diff"], &["resume"]] {
                let script = format!("ulimit -v 4000000; exec {PROGRAM} \"$@\"");
                let start = [&["-c", &script, "sh"][..], line].concat();
                let run = world.command("sh", start).limit(Duration::from_secs(20)).run();
                run.code(0);
            }
            assert_eq!(world.git_line(["show", "checkpoints/s^2:README.md"]), *what, "{what}");
        }
    }
}

#[test]
fn the_commit_of_a_tracked_one_is_what_git_adds_and_an_untracked_one_is_only_listed() {
    let ways: &[Spoiled] = &[
        ("as it is", |_| {}),
        ("packed refs", |w| drop(w.git(["-C", "f", "pack-refs", "--all"]))),
        ("detached", |w| {
            drop(w.git(["-C", "f", "checkout", "--quiet", "--detach"]));
        }),
        ("a symbolic branch", |w| {
            w.git(["-C", "f", "symbolic-ref", "refs/heads/alias", "refs/heads/main"])
                .success();
            w.git(["-C", "f", "symbolic-ref", "HEAD", "refs/heads/alias"]).success();
        }),
        ("HEAD a symlink", |w| link(w, "refs/heads/main", "f/.git/HEAD")),
        (".git elsewhere", |w| {
            fs::rename(w.path("f/.git"), w.root().join("elsewhere")).unwrap();
            fs::write(w.path("f/.git"), "gitdir: ../../elsewhere\n").unwrap();
        }),
        (".git a symlink", |w| {
            fs::rename(w.path("f/.git"), w.root().join("elsewhere")).unwrap();
            symlink("../../elsewhere", w.path("f/.git")).unwrap();
        }),
        ("a linked working tree", |w| {
            fs::rename(w.path("f"), w.root().join("origin")).unwrap();
            let add = ["-C", "../origin", "worktree", "add", "--quiet", "--detach"];
            w.git([&add[..], &[w.path("f").to_str().unwrap()]].concat()).success();
        }),
        ("reftables", |w| {
            fs::remove_dir_all(w.path("f/.git")).unwrap();
            w.git(["init", "--quiet", "--ref-format=reftable", "f"]).success();
            w.git(["-C", "f", "commit", "--quiet", "--allow-empty", "-m", "y"])
                .success();
        }),
        ("no commit", |w| {
            fs::remove_dir_all(w.path("f/.git")).unwrap();
            w.git(["init", "--quiet", "f"]).success();
        }),
    ];
    for (what, change) in ways {
        let world = nested(true);
        world
            .git(["-C", "f", "commit", "--quiet", "--allow-empty", "-m", "later"])
            .success();
        change(&world);
        world.checkpoint(["save", "-m", "one"]).success();
        let ours = world.git_line(["ls-tree", "checkpoints/s^2", "f"]);
        // git refuses one without a commit, and the entry stays.
        world.git(["add", "f"]);
        let git = world.git_line(["ls-files", "-s", "f"]);
        let id = |text: &str| text.split_whitespace().find(|word| word.len() == 40).map(str::to_owned);
        assert_eq!(id(&ours), id(&git), "{what}");

        let world = nested(false);
        change(&world);
        world.checkpoint(["save", "-m", "one"]).success();
        assert_eq!(world.git_line(["ls-tree", "checkpoints/s^2", "f"]), "", "{what}");
        let skipped = world.git_line(["show", "checkpoints/s:lists/skipped"]);
        assert_eq!(skipped, "nested-repository f", "{what}");
    }
}
