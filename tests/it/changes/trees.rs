//! Trees against trees, as `git diff-tree` prints them.

use std::fs;
use std::path::Path;

use git_checkpoint::model::change::TreeChange;
use git_checkpoint::store::tree::{self, Renames, TreeReader};

use super::{Dice, id, open};
use crate::support::World;

/// Changes in the form of `git diff-tree --raw -z`, the fields separated by spaces and lines.
fn raw(changes: &[TreeChange]) -> String {
    let none = "0".repeat(40);
    let side = |entry: &Option<git_checkpoint::model::change::TreeEntryInfo>| match entry {
        None => (0, none.clone()),
        Some(entry) => (entry.mode, entry.id.to_string()),
    };
    let mut out = String::new();
    for change in changes {
        let ((old_mode, old), (new_mode, new)) = (side(&change.old), side(&change.new));
        let score = change.similarity.map_or(String::new(), |score| format!("{score:03}"));
        let from = change
            .from
            .as_ref()
            .map_or(String::new(), |from| format!("\0{}", lossy(from)));
        let (letter, path) = (change.kind.letter(), lossy(&change.path));
        out.push_str(&format!(
            ":{old_mode:06o} {new_mode:06o} {old} {new} {letter}{score}{from}\0{path}\0"
        ));
    }
    out
}

fn lossy(path: &git_checkpoint::model::path::RepoPath) -> String {
    String::from_utf8_lossy(path.as_bytes()).into_owned()
}

#[track_caller]
fn same_as_git(world: &World, old: &str, new: &str) -> Vec<TreeChange> {
    let repo = open(world);
    let [a, b] = [old, new].map(|name| Some(id(world, name)));
    for (renames, option) in [
        (Renames::Off, "--no-renames"),
        (Renames::Exact, "-M100%"),
        (Renames::Similar(50), "-M50%"),
    ] {
        let ours = tree::diff(&repo, a, b, renames).unwrap();
        let git = world.git(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", option, old, new]);
        assert_eq!(
            raw(&ours),
            String::from_utf8_lossy(git.success().stdout_bytes()),
            "{renames:?}"
        );
    }
    let found = tree::diff(&repo, a, b, Renames::Exact).unwrap();
    assert_eq!(TreeReader::new(&repo).diff(a, b, Renames::Exact).unwrap(), found);
    found
}

/// A reader takes trees from packs by itself: in whatever form they are there, and whatever of them is missing.
#[test]
fn trees_that_git_has_packed_are_compared_as_git_does() {
    let world = World::new();
    // This makes each tree of the one before.
    let mut stream = String::new();
    for n in 0..40 {
        stream += &format!(
            "commit refs/heads/main\ncommitter A <a> {n} +0000\ndata 1\n{}\n",
            n % 10
        );
        for file in (0..if n == 0 { 50 } else { n % 3 + 1 }).map(|file| (file + n) % 50) {
            for directory in 0..4 {
                stream += &format!("M 644 inline top/folder{directory}/file{file:02}\ndata 2\n{n:02}\n");
            }
        }
    }
    let import = ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"];
    world.command("git", import).input(stream).run().success();
    let compare = |reader: &dyn Fn(&str, &str) -> Vec<TreeChange>| {
        for (old, new) in [
            ("HEAD~39", "HEAD"),
            ("HEAD~20", "HEAD~3"),
            ("HEAD~1", "HEAD"),
            ("HEAD", "HEAD~7"),
        ] {
            let git = world.git([
                "diff-tree",
                "-r",
                "-z",
                "--raw",
                "--no-abbrev",
                "--no-renames",
                old,
                new,
            ]);
            assert_eq!(
                raw(&reader(old, new)),
                String::from_utf8_lossy(git.success().stdout_bytes())
            );
        }
    };
    let anew = || {
        let repo = open(&world);
        let reader = TreeReader::new(&repo);
        compare(&|old, new| {
            let [old, new] = [old, new].map(|name| Some(id(&world, name)));
            reader.diff(old, new, Renames::Off).unwrap()
        });
    };
    let directory = world.path(".git/objects/pack");
    let packs = |end: &str| {
        let paths = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        let found = paths.filter(|path| path.extension().is_some_and(|found| found == end));
        found.collect::<Vec<_>>()
    };
    let listed = world.git(["verify-pack", "-v", packs("idx")[0].to_str().unwrap()]);
    let depth = |line: &str| line.split_whitespace().nth(5)?.parse::<u32>().ok();
    let trees = listed.success().stdout().lines().filter(|line| line.contains(" tree "));
    let deepest = trees.filter_map(depth).max();
    assert!(deepest >= Some(9), "{deepest:?}: no tree is made of nine others");
    anew();
    // Packed anew behind the back of a reader.
    let repo = open(&world);
    let reader = TreeReader::new(&repo);
    world.git(["repack", "-adfq"]).success();
    compare(&|old, new| {
        let [old, new] = [old, new].map(|name| Some(id(&world, name)));
        reader.diff(old, new, Renames::Off).unwrap()
    });
    anew();
    // An index of the version before: nothing is found in it but by the repository.
    let pack = packs("pack").remove(0);
    let index = pack.with_extension("idx");
    fs::remove_file(&index).unwrap();
    world
        .git(["index-pack", "--index-version=1", pack.to_str().unwrap()])
        .success();
    anew();
}

#[cfg(unix)]
#[test]
fn every_kind_of_change_is_as_git_prints_it() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let world = World::new();
    for path in [
        "same",
        "edited",
        "gone",
        "exec",
        "to-link",
        "to-folder",
        "sub/moved",
        "sub/deep/er/x",
        "a.b",
        "a/c",
        "twin1",
        "d/twin2",
    ] {
        world.file(
            path,
            if path.contains("twin") {
                "twin\n".into()
            } else {
                format!("{path}\n1\n2\n3\n4\n")
            },
        );
    }
    world.file("folder/x", "x\n");
    world.file("caf\u{e9} \n", "odd\n");
    world.file("empty1", "");
    world.git(["add", "-A"]).success();
    world
        .git([
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{},module", "1".repeat(40)),
        ])
        .success();
    world.git(["commit", "-qm", "one"]).success();
    world.file("edited", "edited\n1\n2\n3\n5\n");
    for path in [
        "gone",
        "to-link",
        "to-folder",
        "folder/x",
        "sub/moved",
        "twin1",
        "d/twin2",
        "empty1",
    ] {
        fs::remove_file(world.path(path)).unwrap();
    }
    fs::remove_dir(world.path("folder")).unwrap();
    fs::set_permissions(world.path("exec"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("same", world.path("to-link")).unwrap();
    world.file("to-folder/y", "y\n");
    world.file("folder", "x\n");
    world.file("moved", "sub/moved\n1\n2\n3\n4\n");
    world.file("e/twin2", "twin\n");
    world.file("e/twin3", "twin\n");
    world.file("e/twin4", "twin\n");
    world.file("empty2", "");
    world.file("renamed-edited", "gone\n1\n2\n3\n9\n");
    world.git(["add", "-A"]).success();
    world
        .git([
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{},module", "2".repeat(40)),
        ])
        .success();
    world.git(["commit", "-qm", "two"]).success();
    let changes = same_as_git(&world, "HEAD~1", "HEAD");
    assert!(changes.len() > 12, "{changes:?}");
    same_as_git(&world, "HEAD", "HEAD~1");
    same_as_git(&world, "HEAD", "HEAD");
}

#[test]
fn random_trees_agree_with_git() {
    let mut dice = Dice(9);
    let world = World::new();
    let mut contents = 0;
    for _ in 0..12 {
        for _ in 0..30 {
            let path = format!(
                "{}/{}/{}",
                ["a", "a.b", "a-", "b"][dice.below(4)],
                ["x", "y", "x.y"][dice.below(3)],
                dice.below(9)
            );
            match dice.below(3) {
                0 => drop(fs::remove_file(world.path(&path))),
                // Few different contents, so that there is a choice of rename sources.
                1 => world.file(&path, format!("{}\n", dice.below(6))),
                _ => {
                    contents += 1;
                    world.file(&path, format!("{contents}\n"));
                }
            }
        }
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "next", "--allow-empty"]).success();
    }
    for n in 0..11 {
        same_as_git(&world, &format!("HEAD~{}", n + 1), &format!("HEAD~{n}"));
    }
    same_as_git(&world, "HEAD~11", "HEAD");
}

#[test]
fn the_empty_tree_needs_no_object() {
    let world = World::with_commit();
    let repo = open(&world);
    let head = Some(id(&world, "HEAD"));
    let added = tree::diff(&repo, None, head, Renames::Exact).unwrap();
    let deleted = tree::diff(&repo, head, None, Renames::Exact).unwrap();
    assert_eq!((added.len(), deleted.len()), (2, 2));
    let empty = git_checkpoint::store::ObjectId::empty_tree(repo.object_hash());
    assert_eq!(tree::diff(&repo, Some(empty), head, Renames::Exact).unwrap(), added);
    assert_eq!(tree::diff(&repo, None, head, Renames::Similar(50)).unwrap(), added);
}

#[test]
fn old_file_modes_are_no_change() {
    let world = World::with_commit();
    let listing = world.git_line(["ls-tree", "HEAD"]).replace("100644", "100664");
    // mktree writes modes as they come.
    let odd = world
        .command("git", ["mktree"])
        .input(listing + "\n")
        .run()
        .success()
        .stdout()
        .trim()
        .to_owned();
    same_as_git(&world, "HEAD^{tree}", &odd);
}

#[test]
fn a_blobless_clone_is_enough() {
    let world = World::with_commit();
    world.file("src/main.txt", "other\n");
    world.git(["commit", "-qam", "second"]).success();
    world.git(["config", "uploadpack.allowFilter", "true"]).success();
    let url = format!("file://{}", world.repo().display());
    world
        .git(["clone", "-q", "--no-checkout", "--filter=blob:none", &url, "../partial"])
        .success();
    world.enter("partial");
    let before = objects(&world.path(".git/objects"));
    same_as_git(&world, "HEAD~1", "HEAD");
    assert_eq!(objects(&world.path(".git/objects")), before, "nothing was fetched");
}

fn objects(directory: &Path) -> usize {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| if path.is_dir() { objects(&path) } else { 1 })
        .sum()
}

#[test]
fn an_entry_is_found_by_path() {
    let world = World::with_commit();
    let repo = open(&world);
    let at = |path: &str| {
        tree::entry(&repo, id(&world, "HEAD"), &path.into())
            .unwrap()
            .map(|entry| entry.id.to_string())
    };
    assert_eq!(
        at("src/main.txt"),
        Some(world.git_line(["rev-parse", "HEAD:src/main.txt"]))
    );
    for absent in ["src", "src/main.txt/x", "nothing", "src/nothing", ""] {
        assert_eq!(at(absent), None, "{absent}");
    }
}

/// More directories than are kept between two paths, small and large ones, asked in turn.
#[test]
fn entries_of_large_directories_are_those_of_git() {
    let world = World::new();
    for directory in 0..12 {
        let size = if directory % 3 == 0 { 5 } else { 150 + directory };
        for n in 0..size {
            world.file(format!("d{directory}/name-{n}"), format!("{directory} {n}\n"));
        }
        // Names that git orders by the slash behind a directory.
        world.file(format!("d{directory}/dir/inside"), "inside\n");
        world.file(format!("d{directory}/dir.txt"), "beside\n");
        world.file(format!("d{directory}/dir-a/deep/file"), "deep\n");
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "many"]).success();
    let repo = open(&world);
    let root = id(&world, "HEAD^{tree}");
    let listed = world.git(["ls-tree", "-r", "HEAD"]).success().stdout().to_owned();
    let mut rows: Vec<(&str, &str)> = listed
        .lines()
        .map(|line| (line.rsplit_once('\t').unwrap().1, line.split(' ').nth(2).unwrap()))
        .map(|(path, id)| (path, id.split('\t').next().unwrap()))
        .collect();
    // Not in the order of the directories.
    rows.sort_by_key(|(path, _)| path.rsplit_once('/').map(|(directory, name)| (name, directory)));
    assert!(rows.len() > 1000, "{}", rows.len());
    for (path, wanted) in &rows {
        let found = tree::entry(&repo, root, &(*path).into()).unwrap();
        assert_eq!(
            found.map(|entry| entry.id.to_string()).as_deref(),
            Some(*wanted),
            "{path}"
        );
        for absent in [format!("{path}x"), format!("{path}/x"), path.replace("name", "nam")] {
            let found = tree::entry(&repo, root, &absent.as_str().into()).unwrap();
            let is_there = rows.iter().any(|(path, _)| *path == absent);
            assert_eq!(found.is_some(), is_there, "{absent}");
        }
    }
    for (path, wanted) in [
        ("d1", true),
        ("d1/dir", true),
        ("d1/dir-a/deep", true),
        ("d1/name-2", false),
        ("d1/none", false),
    ] {
        assert_eq!(
            tree::has_directory(&repo, root, &path.into()).unwrap(),
            wanted,
            "{path}"
        );
    }
}

#[test]
fn similar_renames_see_objects_in_memory() {
    let world = World::new();
    world.file("a", (0..20).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat());
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "one"]).success();
    let repo = open(&world).with_object_memory();
    let text = (1..21).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
    let blob = repo.write_blob(text).unwrap().detach();
    let mut editor = repo.edit_tree(repo.empty_tree().id).unwrap();
    editor.upsert("b", gix::objs::tree::EntryKind::Blob, blob).unwrap();
    let new = editor.write().unwrap().detach();
    let changes = tree::diff(&repo, Some(id(&world, "HEAD")), Some(new), Renames::Similar(50)).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (changes[0].old_path().quoted(), changes[0].path.quoted()),
        ("a".into(), "b".into())
    );
    assert!((80..100).contains(&changes[0].similarity.unwrap()));
}
