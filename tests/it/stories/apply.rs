//! `apply`: the changes of a checkpoint merged into the present, with every way in which both sides do not fit.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{Output, World};

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n";

/// A commit with these files, the changes of `then` saved and taken back, and those of `now` made.
fn parted(files: &[(&str, &str)], then: impl Fn(&World), now: impl Fn(&World)) -> World {
    let world = World::with_commit();
    for (path, text) in files {
        world.file(path, text);
    }
    world.git(["add", "--all"]).success();
    world.git(["commit", "-q", "--allow-empty", "-m", "common"]).success();
    then(&world);
    world.checkpoint(["save", "--allow-empty", "-m", "then"]).success();
    world.git(["reset", "-q", "--hard"]).success();
    world.git(["clean", "-qfd"]).success();
    now(&world);
    world
}

fn text(world: &World, path: &str) -> String {
    String::from_utf8(world.read(path)).unwrap()
}

fn exists(world: &World, path: &str) -> bool {
    fs::symlink_metadata(world.path(path)).is_ok()
}

fn bits(world: &World, path: &str) -> u32 {
    fs::metadata(world.path(path)).unwrap().permissions().mode() & 0o777
}

fn chmod(world: &World, path: &str, mode: u32) {
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// A path without the id of the checkpoint whose side it holds.
fn normal(path: &str) -> String {
    match path.split_once("~checkpoint-") {
        Some((path, _)) => format!("{path}~theirs"),
        None => path.to_owned(),
    }
}

/// Applies, checks that nothing is staged and that conflicts are unmerged for git, and that undo and redo lead there and back; gives what apply said.
#[track_caller]
fn apply(world: &World, conflicts: &[(&str, &str)]) -> Output {
    let disk = || crate::restore::disk(&world.repo());
    let index = || world.git_line(["ls-files", "--stage", "-v"]);
    let (before, staged) = (disk(), index());
    let applied = world.checkpoint(["apply", "@", "--json"]);
    applied.code(i32::from(!conflicts.is_empty()));
    let told = applied.stdout_json()["conflicts"].clone();
    let told: Vec<_> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|c| {
            (
                normal(c["path"].as_str().unwrap()),
                c["why"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let told: Vec<_> = told.iter().map(|(path, why)| (path.as_str(), why.as_str())).collect();
    assert_eq!(told, conflicts);
    let unmerged = world
        .git(["diff", "--name-only", "--diff-filter=U"])
        .success()
        .stdout()
        .to_owned();
    let others = |entries: &str| -> Vec<String> {
        let path = |line: &str| normal(line.rsplit('\t').next().unwrap_or_default());
        let is_other = |line: &&str| !conflicts.iter().any(|(conflict, _)| path(line) == *conflict);
        entries.lines().filter(is_other).map(str::to_owned).collect()
    };
    assert_eq!(others(&index()), others(&staged), "nothing is staged");
    for path in unmerged.lines() {
        assert!(
            conflicts.iter().any(|(conflict, _)| *conflict == normal(path)),
            "{path} is unmerged"
        );
    }
    let after = disk();
    if before != after {
        world.checkpoint(["undo"]).success();
        assert_eq!(disk(), before);
        world.checkpoint(["redo"]).success();
        assert_eq!(disk(), after);
    }
    assert_eq!(others(&index()), others(&staged));
    applied
}

#[test]
fn markers_name_the_checkpoint_and_the_present() {
    let world = parted(
        &[("a", LINES)],
        |world| world.file("a", LINES.replace('4', "then")),
        |world| world.file("a", LINES.replace('4', "now")),
    );
    let id = world.checkpoint(["show", "@", "--json"]).success().stdout_json()["id"].clone();
    let short = &id.as_str().unwrap()[..8];
    let applied = apply(&world, &[("a", "same lines")]);
    applied.stderr_lacks("panicked");
    assert_eq!(
        text(&world, "a"),
        format!("1\n2\n3\n<<<<<<< current files\nnow\n=======\nthen\n>>>>>>> checkpoint {short}\n5\n6\n7\n")
    );
    // The user's own style of markers shows what both began with.
    world.checkpoint(["undo"]).success();
    world.git(["config", "merge.conflictStyle", "diff3"]).success();
    apply(&world, &[("a", "same lines")]);
    assert!(
        text(&world, "a").contains("||||||| saved at\n4\n=======\n"),
        "{}",
        text(&world, "a")
    );
}

#[test]
fn changes_on_one_side_only_are_all_brought() {
    let world = parted(
        &[
            ("edit", LINES),
            ("gone", "x"),
            ("dir/f", "x"),
            ("file", "x"),
            ("run", "#!"),
            ("both", LINES),
        ],
        |world| {
            world.file("edit", LINES.replace('1', "then"));
            fs::remove_file(world.path("gone")).unwrap();
            world.file("new/deep/file", "then");
            symlink("edit", world.path("link")).unwrap();
            fs::remove_dir_all(world.path("dir")).unwrap();
            world.file("dir", "a file now");
            fs::remove_file(world.path("file")).unwrap();
            world.file("file/inside", "a folder now");
            chmod(world, "run", 0o755);
            world.file("both", LINES.replace('1', "then"));
            world.file("bytes", "\0\u{1}\u{2}");
        },
        |world| {
            world.file("both", LINES.replace('7', "now"));
            world.file("other", "now");
            chmod(world, "edit", 0o755);
        },
    );
    apply(&world, &[]);
    assert_eq!(text(&world, "edit"), LINES.replace('1', "then"));
    assert_eq!(bits(&world, "edit"), 0o755, "the present's own change of mode stays");
    assert!(!exists(&world, "gone"));
    assert_eq!(text(&world, "new/deep/file"), "then");
    assert_eq!(fs::read_link(world.path("link")).unwrap(), std::path::Path::new("edit"));
    assert_eq!(
        (text(&world, "dir"), text(&world, "file/inside")),
        ("a file now".into(), "a folder now".into())
    );
    assert_eq!(bits(&world, "run"), 0o755);
    assert_eq!(text(&world, "both"), LINES.replace('1', "then").replace('7', "now"));
    assert_eq!(text(&world, "other"), "now");
    // Once more there is nothing left to bring.
    world
        .checkpoint(["apply", "@"])
        .success()
        .stdout_has("lready up to date");
}

#[test]
fn deleted_on_one_side_and_changed_on_the_other() {
    let why = "changed on one side, deleted on the other";
    let world = parted(
        &[("then-gone", LINES), ("now-gone", LINES), ("both-gone", LINES)],
        |world| {
            fs::remove_file(world.path("then-gone")).unwrap();
            world.file("now-gone", LINES.replace('1', "then"));
            fs::remove_file(world.path("both-gone")).unwrap();
        },
        |world| {
            world.file("then-gone", LINES.replace('1', "now"));
            fs::remove_file(world.path("now-gone")).unwrap();
            fs::remove_file(world.path("both-gone")).unwrap();
        },
    );
    apply(&world, &[("now-gone", why), ("then-gone", why)]);
    // No side's work is gone: the changed file is there in both cases.
    assert_eq!(text(&world, "then-gone"), LINES.replace('1', "now"));
    assert_eq!(text(&world, "now-gone"), LINES.replace('1', "then"));
    assert!(!exists(&world, "both-gone"));
}

#[test]
fn added_on_both_sides() {
    let world = parted(
        &[],
        |world| {
            world.file("differ", "then\n");
            world.file("same", "the same\n");
            world.file("bytes", "\0then");
            world.file("place", "a file then\n");
            symlink("then", world.path("link")).unwrap();
            world.file("kind", "a file then\n");
        },
        |world| {
            world.file("differ", "now\n");
            world.file("same", "the same\n");
            world.file("bytes", "\0now");
            world.file("place/inside", "a folder now\n");
            symlink("now", world.path("link")).unwrap();
            symlink("README.md", world.path("kind")).unwrap();
        },
    );
    let applied = apply(
        &world,
        &[
            ("bytes", "not text"),
            ("differ", "added on both sides"),
            ("kind", "renamed, or a file against a directory"),
            ("kind~theirs", "renamed, or a file against a directory"),
            ("link", "not text"),
            ("place", "renamed, or a file against a directory"),
            ("place~theirs", "renamed, or a file against a directory"),
        ],
    );
    assert!(text(&world, "differ").starts_with("<<<<<<< current files\nnow\n=======\nthen\n>>>>>>> checkpoint "));
    // What takes no markers stays as it is.
    assert_eq!(
        (text(&world, "bytes"), text(&world, "place/inside")),
        ("\0now".into(), "a folder now\n".into())
    );
    assert_eq!(fs::read_link(world.path("link")).unwrap(), std::path::Path::new("now"));
    assert_eq!(
        fs::read_link(world.path("kind")).unwrap(),
        std::path::Path::new("README.md")
    );
    drop(applied);
    world.checkpoint(["undo"]).success();
    // And it is said how to have the other side.
    let said = world.checkpoint(["apply", "@", "--advice"]);
    said.code(1)
        .stderr_has("edit the files between the conflict markers")
        .stderr_has("files without conflict markers are unchanged")
        .stderr_has("git show");
}

#[test]
fn modes_links_and_renames() {
    let [moved, mine, twice, private] = ["moved", "mine", "twice", "private"].map(|name| LINES.replace('4', name));
    let world = parted(
        &[
            ("run", LINES),
            ("moved", &moved),
            ("mine", &mine),
            ("twice", &twice),
            ("private", &private),
            ("link", "a file"),
        ],
        |world| {
            world.file("run", LINES.replace('1', "then"));
            chmod(world, "run", 0o755);
            fs::rename(world.path("moved"), world.path("elsewhere")).unwrap();
            world.file("mine", mine.replace('1', "then"));
            fs::rename(world.path("twice"), world.path("then-name")).unwrap();
            fs::rename(world.path("private"), world.path("still-private")).unwrap();
            fs::remove_file(world.path("link")).unwrap();
            symlink("run", world.path("link")).unwrap();
        },
        |world| {
            world.file("run", LINES.replace('7', "now"));
            chmod(world, "run", 0o600);
            world.file("moved", moved.replace('7', "now"));
            fs::rename(world.path("mine"), world.path("renamed")).unwrap();
            fs::rename(world.path("twice"), world.path("now-name")).unwrap();
            chmod(world, "private", 0o600);
            world.file("private", private.replace('7', "secret"));
        },
    );
    let why = "renamed, or a file against a directory";
    apply(&world, &[("now-name", why), ("then-name", why), ("twice", why)]);
    assert_eq!(text(&world, "run"), LINES.replace('1', "then").replace('7', "now"));
    assert_eq!(bits(&world, "run"), 0o700, "it may be run now, and by nobody else");
    // Changes follow a file to its new name, whichever side gave it.
    assert_eq!(text(&world, "elsewhere"), moved.replace('7', "now"));
    assert_eq!(text(&world, "renamed"), mine.replace('1', "then"));
    assert!(!exists(&world, "moved") && !exists(&world, "mine"));
    assert_eq!(text(&world, "now-name"), twice);
    assert_eq!(
        (text(&world, "still-private"), bits(&world, "still-private")),
        (private.replace('7', "secret"), 0o600)
    );
    assert_eq!(fs::read_link(world.path("link")).unwrap(), std::path::Path::new("run"));
}

#[test]
fn line_ends_stay_as_each_line_has_them() {
    for (setting, attributes) in [("true", "* text=auto\n"), ("false", ""), ("false", "* text eol=crlf\n")] {
        let world = World::with_commit();
        world.git(["config", "core.autocrlf", setting]).success();
        let windows = LINES.replace('\n', "\r\n");
        let mixed = format!("{windows}{LINES}");
        world.file(".gitattributes", attributes);
        world.file("windows", &windows);
        world.git(["add", "--all"]).success();
        world.git(["commit", "-qm", "common"]).success();
        world.file("windows", windows.replace('1', "then"));
        world.file("mixed", mixed.replacen('1', "then", 1));
        world.checkpoint(["save", "-m", "then"]).success();
        world.file("windows", windows.replace('7', "now"));
        world.file("mixed", mixed.replacen('1', "now", 1));
        let applied = world.checkpoint(["apply", "@"]);
        applied.code(1).stdout_has("mixed");
        assert_eq!(
            text(&world, "windows"),
            windows.replace('1', "then").replace('7', "now"),
            "autocrlf={setting} {attributes:?}"
        );
        let marked = text(&world, "mixed");
        assert!(
            marked.ends_with(LINES) && marked.contains("now\r\n") && marked.contains("then\r\n"),
            "{marked:?}"
        );
        world.checkpoint(["undo"]).success();
        assert_eq!(text(&world, "mixed"), mixed.replacen('1', "now", 1));
    }
}

#[test]
fn what_the_present_cannot_hold_is_in_the_way_of_an_apply_too() {
    let world = parted(
        &[],
        |world| {
            world.file("ignored", "then");
            world.file("d/x", "then");
        },
        |world| {
            world.file(".gitignore", "ignored\n");
            world.file("ignored", "precious");
            world.git(["init", "-q", "d"]).success();
            world.file("d/mine", "precious");
        },
    );
    let refused = world.checkpoint(["apply", "@"]);
    refused.code(4).stderr_has("ignored");
    assert_eq!(
        (text(&world, "ignored"), text(&world, "d/mine")),
        ("precious".into(), "precious".into())
    );
    world.checkpoint(["apply", "@", "--force"]);
    assert_eq!(text(&world, "d/mine"), "precious");
}

#[test]
fn bits_and_empty_directories_are_brought_as_well() {
    let world = World::with_commit();
    world.file("tracked", "1\n");
    world.git(["add", "tracked"]).success();
    world.git(["commit", "-qm", "tracked"]).success();
    let bits = |name: &str| fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o777;
    let chmod = |name: &str, mode| fs::set_permissions(world.path(name), fs::Permissions::from_mode(mode)).unwrap();
    chmod("tracked", 0o600);
    fs::create_dir_all(world.path("empty/deep")).unwrap();
    fs::create_dir_all(world.path("taken")).unwrap();
    world.checkpoint(["save", "--allow-empty", "-m", "then"]).success();
    chmod("tracked", 0o644);
    world.file("tracked", "1\nmore\n");
    fs::remove_dir_all(world.path("empty")).unwrap();
    fs::remove_dir(world.path("taken")).unwrap();
    world.file("taken", "a file now");
    chmod("tracked", 0o644);

    world
        .checkpoint(["apply", "@", "--dry-run", "--", "empty"])
        .success()
        .stdout_has("empty/deep")
        .stdout_lacks("tracked");
    world.checkpoint(["apply", "@"]).success();
    assert_eq!(bits("tracked"), 0o600);
    assert_eq!(world.read("tracked"), b"1\nmore\n");
    assert!(world.path("empty/deep").is_dir());
    assert_eq!(world.read("taken"), b"a file now");
    world
        .checkpoint(["apply", "@"])
        .success()
        .stdout_has("Nothing to apply of");
    world.checkpoint(["undo"]).success();
    assert_eq!(bits("tracked"), 0o644);
    assert!(!world.path("empty").exists());
    world.checkpoint(["redo"]).success();
    assert_eq!(bits("tracked"), 0o600);
    assert!(world.path("empty/deep").is_dir());
}

/// A file that was written with other line ends differs in every line, which says nothing of what was changed.
#[test]
fn other_line_ends_are_no_conflict() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let (first, last) = (LINES.replace("1\n", "one\n"), LINES.replace("7\n", "seven\n"));
    let both = LINES.replace("1\n", "one\n").replace("7\n", "seven\n");
    for attributes in ["", "* text=auto\n"] {
        for (base, then, now, result) in [
            // The side that changed the line ends has them changed.
            (LINES.to_owned(), first.clone(), crlf(&last), crlf(&both)),
            (LINES.to_owned(), crlf(&first), last.clone(), crlf(&both)),
            (LINES.to_owned(), crlf(&first), crlf(&last), crlf(&both)),
            (crlf(LINES), first.clone(), crlf(&last), both.clone()),
            (crlf(LINES), crlf(&first), last.clone(), both.clone()),
            // The same change.
            (LINES.to_owned(), first.clone(), crlf(&first), crlf(&first)),
        ] {
            // What git itself stores has no such line ends.
            if !attributes.is_empty() && base.contains('\r') {
                continue;
            }
            let world = parted(
                &[(".gitattributes", attributes), ("f", &base)],
                |world| world.file("f", &then),
                |world| world.file("f", &now),
            );
            apply(&world, &[]);
            assert_eq!(text(&world, "f"), result, "{attributes:?} {base:?} {then:?} {now:?}");
        }
    }
    // A conflict has the lines that differ, not all of them.
    let world = parted(
        &[("f", LINES)],
        |world| world.file("f", LINES.replace('4', "four")),
        |world| world.file("f", crlf(&LINES.replace('4', "vier"))),
    );
    apply(&world, &[("f", "same lines")]);
    let merged = text(&world, "f");
    assert!(merged.starts_with("1\r\n2\r\n3\r\n<<<<<<<"), "{merged:?}");
    assert!(merged.ends_with("\r\n5\r\n6\r\n7\r\n"), "{merged:?}");
    assert!(!merged.replace("\r\n", "").contains('\n'), "{merged:?}");
    // Which lines of a file with both ends keep theirs cannot be known.
    let mixed = "1\r\n2\n3\n4\nfive\n6\n7\n";
    let world = parted(
        &[("f", LINES)],
        |world| world.file("f", crlf(&first)),
        |world| world.file("f", mixed),
    );
    apply(&world, &[("f", "same lines")]);
}
