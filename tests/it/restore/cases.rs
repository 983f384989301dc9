//! Each rule of a plan with the smallest repository that shows it. The numbers B.. and E.. are those of the reported
//! accidents of other tools that a rule is there to prevent.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use git_checkpoint::model::path::RepoPath;
use git_checkpoint::model::plan::{Act, BlockReason};
use git_checkpoint::store::pathspec::PathFilter;
use git_checkpoint::worktree::restore::{Execution, RestoreOptions, RestorePlan};

use super::{acts, chmod, disk, exact, files, open, planned, restore, run, save, save_with, shown, written};
use crate::support::World;

fn blocked(plan: &RestorePlan) -> Vec<(String, BlockReason)> {
    plan.blocked
        .iter()
        .map(|blocked| (blocked.path.to_string(), blocked.why.clone()))
        .collect()
}

fn chosen<'a>(world: &World, specs: &[&str]) -> RestoreOptions<'a> {
    let filter = PathFilter::new(&open(world), specs, std::path::Path::new("")).unwrap();
    RestoreOptions {
        paths: Some(filter),
        ..exact()
    }
}

#[test]
fn every_kind_of_change_is_taken_back() {
    let world = World::with_commit();
    world.file("staged", "1");
    world.git(["add", "staged"]).success();
    world.file("staged", "2");
    world.file("deep/er/untracked", "x");
    world.file("script", "#!");
    chmod(&world, "script", 0o755);
    symlink("nowhere", world.path("link")).unwrap();
    world.file("private", "s");
    chmod(&world, "private", 0o600);
    fs::create_dir_all(world.path("empty/inner")).unwrap();
    let saved = save(&world);
    let before = disk(&world.repo());

    world.file("README.md", "edited");
    fs::remove_file(world.path("staged")).unwrap();
    fs::remove_dir_all(world.path("deep")).unwrap();
    world.file("deep", "a file now");
    chmod(&world, "script", 0o644);
    fs::remove_file(world.path("link")).unwrap();
    fs::create_dir(world.path("link")).unwrap();
    world.file("link/inside", "y");
    fs::remove_file(world.path("private")).unwrap();
    fs::remove_dir_all(world.path("empty")).unwrap();
    world.file("later/on", "z");
    fs::create_dir(world.path("hollow")).unwrap();
    let (plan, done) = restore(&world, &saved);

    assert_eq!(
        shown(&plan.lines),
        [
            "write README.md (changed)",
            "delete deep (in the way)",
            "write deep/er/untracked (missing)",
            "write empty/inner (empty directory)",
            "delete hollow (empty directory, not in the checkpoint)",
            "delete later/on (not in the checkpoint)",
            "write link (another kind of file now)",
            "delete link/inside (in the way)",
            "write private (missing)",
            "mode script (0644 to 0755)",
            "write staged (missing)",
        ]
    );
    assert_eq!(disk(&world.repo()), before);
    assert_eq!((done.written, done.deleted, done.modes, done.directories), (5, 3, 1, 1));
    assert!(plan.is_done() || !plan.lines.is_empty());
    let again = planned(&world, &saved, exact()).unwrap();
    assert!(again.is_done(), "{:?}", shown(&again.lines));
}

#[test]
fn untouched_files_are_not_written() {
    let world = World::with_commit();
    world.file("other", "x");
    let saved = save(&world);
    let before = written(&world, "other");
    let ino = |path: &str| std::os::unix::fs::MetadataExt::ino(&fs::metadata(world.path(path)).unwrap());
    let inode = ino("src/main.txt");
    world.file("README.md", "edited");
    restore(&world, &saved);
    assert_eq!(written(&world, "other"), before);
    assert_eq!(ino("src/main.txt"), inode);
}

#[test]
fn head_branches_stash_and_index_do_not_move() {
    let world = World::with_commit();
    world.file("staged", "1");
    world.git(["add", "staged"]).success();
    let saved = save(&world);
    world.git(["commit", "--quiet", "-m", "later"]).success();
    world.file("again", "2");
    world.git(["add", "again"]).success();
    let state = || {
        let index = world.read(".git/index");
        (
            world.git_line(["for-each-ref"]),
            world.git_line(["rev-parse", "HEAD"]),
            index,
        )
    };
    let before = state();
    // B29, B30: neither the commit nor what is staged is lost.
    restore(&world, &saved);
    assert_eq!(state(), before);
}

#[test]
fn files_that_were_ignored_at_either_time_stay() {
    let world = World::with_commit();
    world.file(".gitignore", "secret\n*.log\n");
    world.file("secret", "now ignored");
    let saved = save(&world);
    // B26: the rule is uncommitted, and restoring would take it away or bring it back.
    world.file(".gitignore", "*.log\n");
    world.file("build.log", "ignored");
    world.file("other.log", "ignored");
    let (plan, _) = restore(&world, &saved);
    assert_eq!(acts(&plan, Act::Keep), ["secret"]);
    assert!(world.path("secret").exists() && world.path("build.log").exists());

    let world = World::with_commit();
    let saved = save(&world);
    world.file(".gitignore", "secret\n");
    world.file("secret", "ignored now");
    let (plan, _) = restore(&world, &saved);
    assert_eq!(acts(&plan, Act::Delete), [".gitignore"]);
    assert_eq!(world.read("secret"), b"ignored now");
}

#[test]
fn an_ignored_file_in_the_way_stops_everything() {
    let world = World::with_commit();
    world.file("config", "saved");
    world.file("folder/a", "saved");
    world.file("b", "saved");
    let saved = save(&world);
    // E-31: git overwrites these without a word.
    world.file(".gitignore", "config\nfolder\n/b/c\n");
    world.file("config", "precious");
    fs::remove_dir_all(world.path("folder")).unwrap();
    world.file("folder", "precious");
    fs::remove_file(world.path("b")).unwrap();
    world.file("b/c", "precious");
    world.file("b/d", "held");
    let before = disk(&world.repo());
    let plan = planned(&world, &saved, exact()).unwrap();
    let expected = ["b/c", "config", "folder"].map(|path| (path.to_owned(), BlockReason::Ignored));
    assert_eq!(blocked(&plan), expected);
    assert!(
        restore::execute(
            &open(&world),
            &plan,
            &mut Execution {
                token: "t",
                progress: &mut |_, _| {}
            }
        )
        .is_err()
    );
    assert_eq!(disk(&world.repo()), before);
}

#[test]
fn an_ignored_file_that_is_as_it_was_is_not_in_the_way() {
    let world = World::with_commit();
    world.file("config", "the same");
    let saved = save(&world);
    world.file(".gitignore", "config\n");
    let (plan, _) = restore(&world, &saved);
    assert_eq!(shown(&plan.lines), ["delete .gitignore (not in the checkpoint)"]);
}

#[test]
fn skipped_is_not_absent() {
    let world = World::with_commit();
    world.file("big", "0123456789");
    world.file("gone", "0123456789");
    world.file(".env", "secret");
    let saved = save_with(&world, 8, &[".env".to_owned()]);
    // B35: above the limit then, below it now.
    world.file("big", "small");
    world.file(".env", "changed");
    fs::remove_file(world.path("gone")).unwrap();
    let (plan, _) = restore(&world, &saved);
    assert_eq!(
        shown(&plan.lines),
        [
            "keep .env (the checkpoint did not save it (excluded))",
            "keep big (the checkpoint did not save it (too large))",
            "skip gone (the checkpoint did not save it (too large))",
        ]
    );
    assert_eq!(world.read("big"), b"small");
    assert_eq!(world.read(".env"), b"changed");
}

#[test]
fn what_cannot_be_held_is_neither_deleted_nor_overwritten() {
    let world = World::with_commit();
    world.file("big", "small");
    let saved = save(&world);
    world.file("big", "0123456789");
    world.file("bigger", "0123456789");
    let present = save_with(&world, 8, &[]);
    let plan = restore::plan(&open(&world), files(&present), files(&saved), exact()).unwrap();
    let reason = git_checkpoint::model::list::SkipReason::TooLarge;
    assert_eq!(blocked(&plan), [("big".to_owned(), BlockReason::NotHeld(reason))]);
    world.file("big", "small");
    let present = save_with(&world, 8, &[]);
    let plan = restore::plan(&open(&world), files(&present), files(&saved), exact()).unwrap();
    assert_eq!(blocked(&plan), []);
    assert!(run(&world, &plan).is_complete());
    assert!(world.path("bigger").exists());
}

#[test]
fn other_repositories_are_left_alone() {
    let world = World::with_commit();
    world.file("was-file", "x");
    world.file("folder/x", "y");
    let saved = save(&world);
    // B22: a repository that came later, and one in the way.
    for name in ["nested", "empty-nested"] {
        world.git(["init", "--quiet", name]).success();
    }
    world.file("nested/f", "1");
    world.git(["-C", "nested", "add", "f"]).success();
    world.git(["-C", "nested", "commit", "--quiet", "-m", "n"]).success();
    world.file("nested/dirty", "2");
    let before = disk(&world.path("nested"));
    let (plan, _) = restore(&world, &saved);
    assert_eq!(acts(&plan, Act::Delete), [""; 0]);
    assert_eq!(disk(&world.path("nested")), before);
    // Where there was an empty directory, none is made in what is a repository now.
    for name in ["hollow", "with-commits"] {
        fs::create_dir_all(world.path(name).join("inner")).unwrap();
    }
    let hollow = save(&world);
    for name in ["hollow", "with-commits"] {
        fs::remove_dir_all(world.path(name)).unwrap();
        world.git(["init", "--quiet", name]).success();
    }
    let commit = ["-C", "with-commits", "commit", "--quiet", "--allow-empty", "-m", "n"];
    world.git(commit).success();
    let (plan, _) = restore(&world, &hollow);
    assert_eq!(acts(&plan, Act::Skip), ["hollow/inner", "with-commits/inner"]);
    assert!(!world.path("hollow/inner").exists() && !world.path("with-commits/inner").exists());
    for name in ["hollow", "with-commits"] {
        fs::remove_dir_all(world.path(name)).unwrap();
    }

    fs::remove_file(world.path("was-file")).unwrap();
    world.git(["init", "--quiet", "was-file"]).success();
    fs::remove_dir_all(world.path("folder")).unwrap();
    world.git(["init", "--quiet", "folder"]).success();
    world.file("folder/mine", "z");
    let plan = planned(&world, &saved, exact()).unwrap();
    let paths: Vec<_> = plan.blocked.iter().map(|blocked| blocked.path.to_string()).collect();
    assert_eq!(paths, ["folder", "was-file"], "{:?}", plan.blocked);
}

#[test]
fn submodules_are_left_alone() {
    let world = World::with_commit();
    let library = world.root().join("library");
    world
        .git(["clone", "--quiet", ".", library.to_str().unwrap()])
        .success();
    world
        .git([
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            "../library",
            "lib",
        ])
        .success();
    let saved = save(&world);
    world
        .git(["-C", "lib", "commit", "--quiet", "--allow-empty", "-m", "moved"])
        .success();
    let plan = planned(&world, &saved, exact()).unwrap();
    assert_eq!(shown(&plan.lines), ["skip lib (submodules are left alone)"]);
    // As git does: a submodule without a directory gets an empty one, or it would be deleted for git.
    fs::remove_dir_all(world.path("lib")).unwrap();
    let (plan, _) = restore(&world, &saved);
    assert_eq!(shown(&plan.lines), ["write lib (empty directory)"]);
    assert!(fs::read_dir(world.path("lib")).unwrap().next().is_none());
}

#[test]
fn overlay_and_pathspecs_narrow_what_is_done() {
    let world = World::with_commit();
    world.file("a/one", "1");
    world.file("b/two", "2");
    let saved = save(&world);
    world.file("a/one", "edited");
    world.file("b/two", "edited");
    world.file("a/later", "3");
    world.file("b/later", "4");
    let overlay = RestoreOptions {
        overlay: true,
        ..exact()
    };
    let plan = planned(&world, &saved, overlay).unwrap();
    assert_eq!(shown(&plan.lines), ["write a/one (changed)", "write b/two (changed)"]);
    let plan = planned(&world, &saved, chosen(&world, &["a"])).unwrap();
    assert_eq!(
        shown(&plan.lines),
        ["delete a/later (not in the checkpoint)", "write a/one (changed)"]
    );
    let plan = planned(&world, &saved, chosen(&world, &[":(glob)**/two", ":(exclude)a"])).unwrap();
    assert_eq!(shown(&plan.lines), ["write b/two (changed)"]);
    assert!(run(&world, &plan).is_complete());
    assert_eq!(world.read("b/later"), b"4");
    assert_eq!(world.read("a/one"), b"edited");
}

#[test]
fn a_file_that_is_in_the_way_of_what_is_meant_goes_too() {
    let world = World::with_commit();
    world.file("d/x", "1");
    let saved = save(&world);
    fs::remove_dir_all(world.path("d")).unwrap();
    world.file("d", "a file");
    for options in [
        chosen(&world, &["d/x"]),
        RestoreOptions {
            overlay: true,
            ..exact()
        },
    ] {
        let plan = planned(&world, &saved, options).unwrap();
        assert_eq!(shown(&plan.lines), ["delete d (in the way)", "write d/x (missing)"]);
    }
    let plan = planned(&world, &saved, chosen(&world, &["README.md"])).unwrap();
    assert!(plan.is_done());
}

#[test]
fn modes_come_back_but_not_setuid() {
    let world = World::with_commit();
    for (name, mode) in [("a", 0o600), ("b", 0o400), ("c", 0o4755), ("d", 0o666), ("e", 0o711)] {
        world.file(name, name);
        chmod(&world, name, mode);
    }
    let saved = save(&world);
    let before = disk(&world.repo());
    for name in ["a", "b", "d", "e"] {
        chmod(&world, name, 0o644);
    }
    // E-54: git would give 0644.
    fs::remove_file(world.path("a")).unwrap();
    restore(&world, &saved);
    assert_eq!(disk(&world.repo()), before);
    fs::remove_file(world.path("c")).unwrap();
    restore(&world, &saved);
    assert_eq!(disk(&world.repo())[&b"c"[..]], "file 755 \"c\"");
    let plan = planned(&world, &saved, exact()).unwrap();
    assert_eq!(
        shown(&plan.lines),
        ["skip c (setuid, setgid and sticky bits are not given)"]
    );
}

#[test]
fn a_private_file_does_not_become_public_under_another_mask() {
    let world = World::with_commit();
    let mut saved = save(&world);
    saved.umask = 0o077;
    saved.lists.modes.clear();
    fs::remove_file(world.path("README.md")).unwrap();
    restore(&world, &saved);
    assert_eq!(disk(&world.repo())[&b"README.md"[..]], "file 600 \"hello\\n\"");
    // And one saved under a wider mask is no wider than the present one makes files.
    saved.umask = 0o000;
    fs::remove_file(world.path("README.md")).unwrap();
    restore(&world, &saved);
    assert_eq!(disk(&world.repo())[&b"README.md"[..]], "file 644 \"hello\\n\"");
}

#[test]
fn odd_names_come_back() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let world = World::with_commit();
    // B47, B48, E-09.
    for name in [
        &b"nl\nname"[..],
        b"q\"uote",
        b"-x",
        b":colon",
        b"*",
        b"[",
        b" lead",
        b"trail ",
        b"\xff\xfe",
        b"\xe5\x85\xac",
    ] {
        fs::write(world.repo().join(OsStr::from_bytes(name)), name).unwrap();
    }
    let saved = save(&world);
    let before = disk(&world.repo());
    for entry in fs::read_dir(world.repo()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::write(path, "changed").unwrap();
        }
    }
    restore(&world, &saved);
    assert_eq!(disk(&world.repo()), before);
}

#[test]
fn a_linked_parent_leads_nowhere() {
    let world = World::with_commit();
    world.file("d/x", "saved");
    let saved = save(&world);
    let outside = world.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "precious").unwrap();
    fs::remove_dir_all(world.path("d")).unwrap();
    // B50, E-08b: the link is untracked, so it is held and goes; its target is not looked at.
    symlink(&outside, world.path("d")).unwrap();
    let (plan, _) = restore(&world, &saved);
    assert_eq!(shown(&plan.lines), ["delete d (in the way)", "write d/x (missing)"]);
    assert_eq!(fs::read(outside.join("x")).unwrap(), b"precious");
    assert_eq!(world.read("d/x"), b"saved");

    // An ignored link stops it.
    fs::remove_dir_all(world.path("d")).unwrap();
    symlink(&outside, world.path("d")).unwrap();
    fs::write(world.path(".git/info/exclude"), "d\n").unwrap();
    let plan = planned(&world, &saved, exact()).unwrap();
    assert_eq!(blocked(&plan), [("d".to_owned(), BlockReason::Ignored)]);
    assert_eq!(fs::read(outside.join("x")).unwrap(), b"precious");
}

#[test]
fn links_are_kept_as_text_and_links_into_the_repository_need_consent() {
    let world = World::with_commit();
    symlink("/etc/passwd", world.path("absolute")).unwrap();
    symlink("../../..", world.path("upwards")).unwrap();
    symlink(".git/hooks", world.path("hooks")).unwrap();
    let saved = save(&world);
    let before = disk(&world.repo());
    // One that is there already stays.
    assert!(planned(&world, &saved, exact()).unwrap().is_done());
    for name in ["absolute", "upwards", "hooks"] {
        fs::remove_file(world.path(name)).unwrap();
    }
    let refused = planned(&world, &saved, exact()).unwrap();
    assert_eq!(
        blocked(&refused),
        [("hooks".to_owned(), BlockReason::LinkIntoRepository)]
    );
    let trusted = RestoreOptions {
        trusted: true,
        ..exact()
    };
    let plan = planned(&world, &saved, trusted).unwrap();
    assert!(run(&world, &plan).is_complete());
    assert_eq!(disk(&world.repo()), before);
}

#[test]
fn what_changes_between_plan_and_execution_stays() {
    let world = World::with_commit();
    for name in ["edit", "delete", "create", "same-size", "mode"] {
        world.file(name, "saved");
    }
    let saved = save(&world);
    for name in ["edit", "same-size"] {
        world.file(name, "later");
    }
    fs::remove_file(world.path("create")).unwrap();
    chmod(&world, "mode", 0o600);
    world.file("new", "later");
    world.file("new-too", "later");
    let plan = planned(&world, &saved, exact()).unwrap();
    world.file("edit", "in between");
    world.file("same-size", "LATER");
    world.file("create", "in between");
    world.file("new", "in between");
    world.file("mode", "in between");
    fs::remove_file(world.path("new-too")).unwrap();
    let before = disk(&world.repo());
    let done = run(&world, &plan);
    let moved: Vec<_> = done.moved.iter().map(ToString::to_string).collect();
    assert_eq!(moved, ["new", "new-too", "create", "edit", "same-size", "mode"]);
    assert_eq!(
        disk(&world.repo()),
        before,
        "nothing is overwritten and no temporary file is left"
    );
}

#[test]
fn a_directory_that_is_not_empty_after_all_stays() {
    let world = World::with_commit();
    world.file("d", "a file");
    let saved = save(&world);
    fs::remove_file(world.path("d")).unwrap();
    world.file("d/x", "1");
    let plan = planned(&world, &saved, exact()).unwrap();
    world.file("d/y", "in between");
    let done = run(&world, &plan);
    let moved: Vec<_> = done.moved.iter().map(ToString::to_string).collect();
    assert_eq!(moved, ["d", "d"]);
    assert_eq!(world.read("d/y"), b"in between");
}

#[test]
fn what_the_sparse_checkout_leaves_out_is_left_out() {
    let world = World::with_commit();
    world.file("in/a", "1");
    world.file("out/b", "1");
    world.git(["add", "--all"]).success();
    world.git(["commit", "--quiet", "-m", "two"]).success();
    world.file("in/a", "2");
    world.file("out/b", "2");
    let saved = save(&world);
    world.git(["checkout", "--quiet", "--", "."]).success();
    for arguments in [&["--no-sparse-index"][..], &["--sparse-index"]] {
        world
            .git([&["sparse-checkout", "set"], arguments, &["in"]].concat())
            .success();
        assert!(!world.path("out").exists());
        let plan = planned(&world, &saved, exact()).unwrap();
        assert_eq!(
            shown(&plan.lines),
            ["write in/a (changed)", "skip out/b (left out by sparse checkout)"],
            "{arguments:?}"
        );
    }
}

#[test]
fn the_current_directory_stays() {
    let world = World::with_commit();
    let saved = save(&world);
    world.file("new/deep/x", "1");
    let options = RestoreOptions {
        cwd: Some(RepoPath::from("new/deep")),
        ..exact()
    };
    let plan = planned(&world, &saved, options.clone()).unwrap();
    assert!(run(&world, &plan).is_complete());
    assert!(world.path("new/deep").exists());
    let plan = planned(&world, &saved, options).unwrap();
    assert_eq!(shown(&plan.lines), ["keep new/deep (the current directory)"]);
    restore(&world, &saved);
    assert!(!world.path("new").exists());
}

#[test]
fn leftovers_of_a_killed_restore_are_held_and_removed() {
    let world = World::with_commit();
    let saved = save(&world);
    world.file("src/.checkpoint-restore-abc-1", "whatever it was");
    let overlay = RestoreOptions {
        overlay: true,
        ..exact()
    };
    let plan = planned(&world, &saved, overlay).unwrap();
    assert_eq!(
        shown(&plan.lines),
        ["delete src/.checkpoint-restore-abc-1 (left by an interrupted restore)"]
    );
}

/// More files than are synced one by one: what was written is read again while the disk is at work.
#[test]
fn a_file_that_another_program_changes_after_the_write_is_reported_among_many() {
    let world = World::with_commit();
    let names: Vec<String> = (0..200).map(|n| format!("many/{n:03}")).collect();
    for name in &names {
        world.file(name, "saved\n");
    }
    let saved = save(&world);
    for name in &names {
        world.file(name, "edited\n");
    }
    let plan = planned(&world, &saved, exact()).unwrap();
    let first = world.path(&names[0]);
    let mut is_changed = false;
    let mut progress = |done: usize, all: usize| {
        // Those before are written by now, or about to be by another thread.
        if done == 0 || done == all || is_changed {
            return;
        }
        let began = Instant::now();
        while fs::read(&first).unwrap_or_default() != b"saved\n" {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
        fs::write(&first, "of another program\n").unwrap();
        is_changed = true;
    };
    let mut execution = Execution {
        token: "test",
        progress: &mut progress,
    };
    let done = restore::execute(&open(&world), &plan, &mut execution).unwrap();
    assert!(is_changed);
    assert_eq!(done.changes.len(), names.len());
    let differing: Vec<String> = done.differing.iter().map(ToString::to_string).collect();
    assert_eq!(differing, [names[0].clone()]);
    assert_eq!(fs::read(&first).unwrap(), b"of another program\n");
    assert!(
        names[1..]
            .iter()
            .all(|name| fs::read(world.path(name)).unwrap() == b"saved\n")
    );
}
