//! Random work on both sides of a fork: `merge` and `apply` give what `git merge-tree` gives, and lose nothing.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use crate::support::{Output, World};

fn text(world: &World, path: &str) -> String {
    String::from_utf8(world.read(path)).unwrap()
}

fn unmerged(world: &World) -> String {
    world.git_line(["diff", "--name-only", "--diff-filter=U"])
}

/// What a side does to a file.
#[derive(Clone, Debug)]
enum FileEdit {
    Keep,
    Line(usize, char),
    Delete,
    /// Deleted in the index as well.
    Remove,
    /// As the commit has it.
    Reset,
    Replace(char),
    Execute,
    Symlink,
    Rename,
}

impl FileEdit {
    /// Whether git names the paths of a conflict as this program does.
    fn has_plain_paths(&self) -> bool {
        !matches!(self, Self::Symlink | Self::Rename)
    }
}

fn file_edit() -> impl Strategy<Value = FileEdit> {
    prop_oneof![
        3 => Just(FileEdit::Keep),
        4 => (0..12_usize, prop::char::range('a', 'c')).prop_map(|(at, word)| FileEdit::Line(at, word)),
        1 => Just(FileEdit::Delete),
        1 => Just(FileEdit::Remove),
        2 => Just(FileEdit::Reset),
        1 => prop::char::range('a', 'b').prop_map(FileEdit::Replace),
        1 => Just(FileEdit::Execute),
        1 => Just(FileEdit::Symlink),
        1 => Just(FileEdit::Rename),
    ]
}

/// Files in the tests: the first ones are tracked, and changed since their commit.
const FILES: usize = 5;
const TRACKED: usize = 2;

type Side = (Vec<FileEdit>, Vec<String>, bool);

fn side() -> impl Strategy<Value = Side> {
    (
        prop::collection::vec(file_edit(), FILES),
        prop::collection::vec("[a-z]{3,6}", 0..3),
        any::<bool>(),
    )
}

fn common_lines(n: usize) -> Vec<String> {
    (0..12).map(|line| format!("{n} {line}")).collect()
}

fn edit(world: &World, side: &Side, new: &str) {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    for (n, edit) in side.0.iter().enumerate() {
        let path = format!("f{n}");
        let file = world.path(&path);
        let mut lines = common_lines(n);
        match edit {
            FileEdit::Keep => continue,
            FileEdit::Line(at, word) => lines[*at] = word.to_string(),
            FileEdit::Replace(word) => lines = vec![word.to_string()],
            FileEdit::Reset if n < TRACKED => {
                world.git(["checkout", "-q", "HEAD", "--", &path]).success();
                continue;
            }
            FileEdit::Delete | FileEdit::Reset => {
                std::fs::remove_file(file).unwrap();
                continue;
            }
            FileEdit::Remove => {
                world.git(["rm", "-q", "--cached", "--ignore-unmatch", &path]).success();
                std::fs::remove_file(file).unwrap();
                continue;
            }
            FileEdit::Execute => {
                std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
                continue;
            }
            FileEdit::Symlink => {
                std::fs::remove_file(&file).unwrap();
                symlink("nowhere", file).unwrap();
                continue;
            }
            FileEdit::Rename => {
                std::fs::rename(file, world.path(format!("moved-{n}"))).unwrap();
                continue;
            }
        }
        world.file(&path, lines.join("\n") + "\n");
    }
    if side.2 {
        world.file(format!("new-{new}"), new);
    }
    for text in &side.1 {
        world.checkpoint(["todo", "add", text]).success();
    }
}

/// A session with tracked and untracked files, and a fork of it.
fn forked() -> World {
    let world = World::with_commit();
    for n in 0..TRACKED {
        let mut lines = common_lines(n);
        "as committed".clone_into(&mut lines[5]);
        world.file(format!("f{n}"), lines.join("\n") + "\n");
    }
    world.git(["add", "--all"]).success();
    world.git(["commit", "-qm", "files"]).success();
    for n in 0..FILES {
        world.file(format!("f{n}"), common_lines(n).join("\n") + "\n");
    }
    world
        .checkpoint(["save", "--session", "base", "-m", "common"])
        .success();
    world.checkpoint(["switch", "base"]).success();
    world
        .checkpoint(["fork", "@", "--name", "f", "--worktree", "../f"])
        .success();
    world
}

/// The same edit of a tracked and an untracked file, saved in the fork.
fn edit_fork(world: &World) -> [String; 2] {
    world.enter("f");
    for path in ["f0", "f3"] {
        world.file(path, text(world, path).replace(" 5\n", " five\n"));
    }
    world.checkpoint(["save", "-m", "theirs"]).success();
    let theirs = [text(world, "f0"), text(world, "f3")];
    world.enter("repo");
    theirs
}

/// What `git merge-tree` makes of the latest files of both sessions.
fn merge_tree(world: &World, common: &str) -> Output {
    let commit = |tree: &str, parent: Option<&str>| {
        let mut args = vec!["commit-tree", "-m", "x", tree];
        args.extend(parent.into_iter().flat_map(|parent| ["-p", parent]));
        world.git_line(args)
    };
    let base = commit(common, None);
    let [ours, theirs] = ["base", "f"].map(|name| commit(&format!("checkpoints/{name}^2^{{tree}}"), Some(&base)));
    world.git(["merge-tree", "--write-tree", &ours, &theirs])
}

fn record(world: &World) -> Value {
    let document = world.git(["show", "checkpoints/base:checkpoint.json"]);
    document.success().stdout_json()["record"].clone()
}

fn todos(record: &Value) -> Vec<String> {
    let items = record["todos"].as_array().into_iter().flatten();
    let mut all: Vec<_> = items.map(|item| item["text"].as_str().unwrap().to_owned()).collect();
    all.sort();
    all
}

/// What a person deletes or resets is a change of theirs.
#[test]
fn a_deletion_by_hand_is_a_change() {
    type Removal = fn(&World);
    let removals: [(&str, Removal); 4] = [
        ("f3", |world| std::fs::remove_file(world.path("f3")).unwrap()),
        ("f0", |world| std::fs::remove_file(world.path("f0")).unwrap()),
        ("f0", |world| {
            world.git(["checkout", "-q", "HEAD", "--", "f0"]).success();
        }),
        ("f0", |world| {
            world.git(["rm", "-qf", "f0"]).success();
        }),
    ];
    for (path, removal) in removals {
        let world = forked();
        edit_fork(&world);
        removal(&world);
        for command in ["apply", "merge"] {
            world.checkpoint([command, "f"]).code(1).stdout_has("conflict");
            assert_eq!(unmerged(&world), path, "{command}");
            world.checkpoint(["undo"]).success();
        }
    }
}

/// What `pause --clean` removed or reset is no change of anybody, until it came back.
#[test]
fn a_cleaning_is_no_change() {
    for command in ["apply", "merge"] {
        let world = forked();
        let theirs = edit_fork(&world);
        world.checkpoint(["pause", "--clean"]).success();
        let paused = world.git_line(["rev-parse", "checkpoints/base"]);
        world.file("later", "x\n");
        world.checkpoint(["save", "-m", "later"]).success();
        world.checkpoint([command, "f"]).success();
        assert_eq!([text(&world, "f0"), text(&world, "f3")], theirs, "{command}");
        world.checkpoint(["undo"]).success();
        world.checkpoint(["restore", &paused, "--", "f3"]).success();
        world.checkpoint(["save", "-m", "f3 is back"]).success();
        std::fs::remove_file(world.path("f3")).unwrap();
        world.checkpoint([command, "f"]).code(1).stdout_has("conflict");
        assert_eq!(unmerged(&world), "f3", "{command}");
        // Brought back in full and reset then, all of it is a change.
        world.checkpoint(["undo"]).success();
        world.git(["clean", "-qfd"]).success();
        world.checkpoint(["restore", &paused, "--force"]).success();
        world.git(["checkout", "-q", "HEAD", "--", "f0"]).success();
        world.checkpoint([command, "f"]).code(1).stdout_has("conflict");
        assert_eq!(unmerged(&world), "f0", "{command}");
    }
}

/// A few cases, or as many as `CHECKPOINT_TEST_CASES` asks for.
fn cases() -> u32 {
    let asked = std::env::var("CHECKPOINT_TEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn random_forks_merge_as_git_merges_them(ours in side(), theirs in side()) {
        let world = forked();
        let common = world.git_line(["rev-parse", "checkpoints/base^2^{tree}"]);
        world.enter("f");
        edit(&world, &theirs, "theirs");
        world.checkpoint(["save", "--allow-empty", "-m", "theirs"]).success();
        world.enter("repo");
        edit(&world, &ours, "ours");
        // What is not saved is compared with the same base.
        let applied = world.checkpoint(["apply", "f", "--dry-run", "--json"]).stdout_json();
        world.checkpoint(["save", "--allow-empty", "-m", "ours"]).success();
        let git = merge_tree(&world, &common);
        let merged = world.checkpoint(["merge", "f", "--json"]);
        let has_conflicts = |out: &Value| !out["conflicts"].as_array().unwrap().is_empty();
        let shown = merged.stdout_json();
        prop_assert_eq!(has_conflicts(&shown["files"]), !git.is_success(), "{}\n{}", merged.stdout(), git.stdout());
        prop_assert_eq!(has_conflicts(&applied), !git.is_success(), "{}\n{}", applied, git.stdout());
        if git.is_success() {
            merged.success();
            prop_assert_eq!(world.git_line(["rev-parse", "checkpoints/base^2^{tree}"]), git.stdout().trim());
        } else {
            merged.code(1);
            if ours.0.iter().chain(&theirs.0).all(FileEdit::has_plain_paths) {
                // The same paths are unmerged.
                let paths = |text: &str| -> BTreeSet<String> {
                    let path = |line: &str| Some(line.split_once('\t')?.1.to_owned());
                    text.lines().filter(|line| line.len() > 48).filter_map(path).collect()
                };
                prop_assert_eq!(paths(&world.git_line(["ls-files", "-u"])), paths(git.stdout()));
            }
        }
        let mut all = [ours.1.clone(), theirs.1.clone()].concat();
        all.sort();
        prop_assert_eq!(todos(&record(&world)), all);
        let refs = world.git_line(["for-each-ref", "refs/checkpoints"]);
        let is_open = !world.git_line(["ls-files", "-u"]).is_empty();
        world
            .checkpoint(["merge", "f"])
            .code(i32::from(is_open))
            .stdout_has("Up to date");
        prop_assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]), refs);
        world.checkpoint(["verify", "--all"]).success();
    }
}
