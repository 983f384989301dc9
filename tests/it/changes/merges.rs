//! Three-way merges in memory, against `git merge-tree`.

use std::collections::BTreeSet;
use std::fs;

use git_checkpoint::model::report::MergeVerdict;
use git_checkpoint::store::merge::{self, Labels, MergeOptions, PathMerge, Trees};
use git_checkpoint::store::tree::TreeReader;

use super::{Dice, id, open};
use crate::support::World;

const OPTIONS: MergeOptions<'_> = MergeOptions {
    labels: Labels {
        base: "base",
        ours: "ours",
        theirs: "theirs",
    },
    drivers: false,
    rename_candidates: 1000,
    overlap: merge::Overlap::Conflict,
};

/// Three branches `base`, `ours` and `theirs`, made by changing the files of the working tree.
fn branches(world: &World, base: impl Fn(&World), ours: impl FnOnce(&World), theirs: impl FnOnce(&World)) {
    world.git(["checkout", "-q", "--orphan", "base"]).success();
    let commit = |name: &str| {
        world.git(["add", "-A"]).success();
        world.git(["commit", "-q", "--allow-empty", "-m", name]).success();
        world.git(["branch", "-f", name]).success();
    };
    base(world);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-q", "--allow-empty", "-m", "base"]).success();
    for (name, change) in [
        ("ours", Box::new(ours) as Box<dyn FnOnce(&World)>),
        ("theirs", Box::new(theirs)),
    ] {
        world.git(["checkout", "-q", "--detach", "base"]).success();
        change(world);
        commit(name);
    }
}

/// Merges and compares with git: whether there are conflicts, on which paths, and the merged tree.
#[track_caller]
fn compare(world: &World) -> Vec<PathMerge> {
    let repo = open(world).with_object_memory();
    let [base, ours, theirs] = ["base", "ours", "theirs"].map(|name| Some(id(world, name)));
    let merged = merge::three_way(&TreeReader::new(&repo), Trees { base, ours, theirs }, OPTIONS).unwrap();
    let tree = merge::tree(&repo, ours, &merged).unwrap();

    let config = ["-c", "merge.directoryRenames=false", "-c", "merge.conflictStyle=merge"];
    let args = [
        "merge-tree",
        "--write-tree",
        "-z",
        "--name-only",
        "--no-messages",
        "--merge-base=base",
        "ours",
        "theirs",
    ];
    let output = world.git(config.iter().chain(&args));
    let text = output.stdout();
    let mut fields = text.split('\0');
    let git_tree = fields.next().unwrap().trim().to_owned();
    let git_conflicts: BTreeSet<_> = fields.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let conflicts: BTreeSet<_> = merged
        .iter()
        .filter(|path| path.verdict.is_conflict())
        .map(|path| path.path.quoted())
        .collect();
    let shown = || format!("git: {git_conflicts:?}\nours: {merged:#?}");
    assert_eq!(conflicts.is_empty(), git_conflicts.is_empty(), "{}", shown());
    // Of a rename git lists both names, and next to a file in a directory's way one with another name.
    assert!(conflicts.iter().all(|path| git_conflicts.contains(path)), "{}", shown());
    let content_only = merged.iter().all(|path| {
        matches!(
            path.verdict,
            MergeVerdict::Clean | MergeVerdict::Content | MergeVerdict::ModifyDelete | MergeVerdict::AddAdd
        ) && !(path.verdict.is_conflict() && path.removes.is_some())
    });
    if content_only {
        assert_eq!(conflicts, git_conflicts, "{}", shown());
        let listing = |tree: &str| world.git_line(["ls-tree", "-r", tree]);
        if tree != git_tree.parse_id() {
            // The tree is in memory only: show what differs.
            let ours: Vec<_> = git_checkpoint::store::tree::diff(
                &repo,
                Some(git_tree.parse_id()),
                Some(tree),
                git_checkpoint::store::tree::Renames::Off,
            )
            .unwrap();
            panic!("{}\n{ours:#?}\n{}", shown(), listing(&git_tree));
        }
    }
    merged
}

trait ParseId {
    fn parse_id(&self) -> git_checkpoint::store::ObjectId;
}

impl ParseId for String {
    fn parse_id(&self) -> git_checkpoint::store::ObjectId {
        git_checkpoint::store::ObjectId::from_hex(self.as_bytes()).unwrap()
    }
}

fn lines(changed: &[(usize, &str)]) -> String {
    (0..20)
        .map(|n| {
            changed
                .iter()
                .find(|(at, _)| *at == n)
                .map_or(format!("line {n}\n"), |(_, text)| format!("{text}\n"))
        })
        .collect()
}

#[track_caller]
fn verdicts(merged: &[PathMerge]) -> Vec<(String, MergeVerdict)> {
    merged.iter().map(|path| (path.saved.quoted(), path.verdict)).collect()
}

#[test]
fn the_same_file_with_and_without_a_conflict() {
    let world = World::new();
    branches(
        &world,
        |w| {
            w.file("clean", lines(&[]));
            w.file("conflict", lines(&[]));
            w.file("same", lines(&[]));
        },
        |w| {
            w.file("clean", lines(&[(2, "ours")]));
            w.file("conflict", lines(&[(9, "ours"), (1, "more")]));
            w.file("same", lines(&[(3, "both"), (17, "ours")]));
        },
        |w| {
            w.file("clean", lines(&[(15, "theirs")]));
            w.file("conflict", lines(&[(9, "theirs"), (18, "further")]));
            w.file("same", lines(&[(3, "both")]));
        },
    );
    let merged = compare(&world);
    assert_eq!(
        verdicts(&merged),
        [
            ("clean".to_owned(), MergeVerdict::Clean),
            ("conflict".to_owned(), MergeVerdict::Content),
            ("same".to_owned(), MergeVerdict::Clean)
        ]
    );
    // What theirs changed in `same` is there already.
    assert_eq!(merged[2].result, merge::PathMergeOutcome::Keep);
}

#[test]
fn added_deleted_and_binary_files() {
    let world = World::new();
    branches(
        &world,
        |w| {
            for name in ["ours-deleted", "theirs-deleted", "both-deleted", "untouched"] {
                w.file(name, lines(&[]));
            }
            w.file("binary", b"a\0b");
            w.file("binary-one-side", b"a\0b");
        },
        |w| {
            for name in ["ours-deleted", "both-deleted"] {
                fs::remove_file(w.path(name)).unwrap();
            }
            w.file("theirs-deleted", lines(&[(1, "ours")]));
            w.file("binary", b"a\0ours");
            w.file("added-both", "ours\n");
            w.file("added-same", "same\n");
        },
        |w| {
            for name in ["theirs-deleted", "both-deleted", "untouched"] {
                fs::remove_file(w.path(name)).unwrap();
            }
            w.file("ours-deleted", lines(&[(1, "theirs")]));
            w.file("binary", b"a\0theirs");
            w.file("binary-one-side", b"a\0theirs");
            w.file("added-both", "theirs\n");
            w.file("added-same", "same\n");
            w.file("added", "theirs\n");
        },
    );
    let merged = compare(&world);
    let conflicts: Vec<_> = verdicts(&merged)
        .into_iter()
        .filter(|(_, verdict)| verdict.is_conflict())
        .collect();
    assert_eq!(
        conflicts,
        [
            ("added-both".to_owned(), MergeVerdict::AddAdd),
            ("binary".to_owned(), MergeVerdict::Binary),
            ("ours-deleted".to_owned(), MergeVerdict::ModifyDelete),
            ("theirs-deleted".to_owned(), MergeVerdict::ModifyDelete)
        ]
    );
}

#[test]
fn renames_are_followed_on_both_sides() {
    let world = World::new();
    let rename = |w: &World, from: &str, to: &str| {
        fs::create_dir_all(w.path(to).parent().unwrap()).unwrap();
        fs::rename(w.path(from), w.path(to)).unwrap();
    };
    branches(
        &world,
        |w| {
            for name in ["a", "b", "c", "d", "e", "f", "g"] {
                w.file(name, format!("{name}\n{}", lines(&[(1, name)])));
            }
        },
        |w| {
            rename(w, "a", "moved/a"); // plain rename here, edit there
            rename(w, "b", "moved/b");
            w.file("moved/b", format!("b\n{}", lines(&[(1, "b"), (5, "ours")]))); // rename and edit here, edit there
            w.file("c", format!("c\n{}", lines(&[(1, "c"), (5, "ours")]))); // edit here, rename there
            w.file("d", format!("d\n{}", lines(&[(1, "d"), (12, "ours")]))); // conflicting edit here, rename there
            rename(w, "e", "moved/e1"); // other rename there
            rename(w, "g", "moved/g"); // the same rename there
        },
        |w| {
            w.file("a", format!("a\n{}", lines(&[(1, "a"), (12, "theirs")])));
            w.file("b", format!("b\n{}", lines(&[(1, "b"), (12, "theirs")])));
            rename(w, "c", "other/c");
            rename(w, "d", "other/d");
            w.file("other/d", format!("d\n{}", lines(&[(1, "d"), (12, "theirs")])));
            rename(w, "e", "other/e2");
            rename(w, "f", "other/f");
            rename(w, "g", "moved/g");
            w.file("moved/g", format!("g\n{}", lines(&[(1, "g"), (12, "theirs")])));
        },
    );
    let merged = compare(&world);
    let shown: Vec<_> = merged
        .iter()
        .map(|path| format!("{} {} {:?}", path.saved, path.path, path.verdict))
        .collect();
    assert_eq!(
        shown,
        [
            "a moved/a Clean",
            "b moved/b Clean",
            "moved/g moved/g Clean",
            "other/c other/c Clean",
            "other/d other/d Content",
            "other/e2 moved/e1 Structure",
            "other/f other/f Clean",
        ]
    );
}

#[cfg(unix)]
#[test]
fn links_modes_and_directories() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let world = World::new();
    let executable =
        |w: &World, name: &str| fs::set_permissions(w.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    let relink = |w: &World, name: &str, to: &str| {
        let _ = fs::remove_file(w.path(name));
        symlink(to, w.path(name)).unwrap();
    };
    branches(
        &world,
        |w| {
            w.file("exec", lines(&[]));
            w.file("folder/x", "x\n");
            w.file("blocked/x", "x\n");
            w.file("file", lines(&[]));
            relink(w, "link", "base");
            relink(w, "link-one-side", "base");
        },
        |w| {
            executable(w, "exec");
            w.file("blocked/new", "new\n");
            relink(w, "link", "ours");
            w.file("in-the-way", "ours\n");
        },
        |w| {
            w.file("exec", lines(&[(3, "theirs")]));
            fs::remove_file(w.path("folder/x")).unwrap();
            let _ = fs::remove_dir(w.path("folder"));
            w.file("folder", "a file now\n");
            fs::remove_file(w.path("blocked/x")).unwrap();
            let _ = fs::remove_dir(w.path("blocked"));
            w.file("blocked", "a file now\n");
            fs::remove_file(w.path("file")).unwrap();
            w.file("file/y", "a folder now\n");
            relink(w, "link", "theirs");
            relink(w, "link-one-side", "theirs");
            w.file("in-the-way/z", "theirs\n");
        },
    );
    let repo = open(&world).with_object_memory();
    let [base, ours, theirs] = ["base", "ours", "theirs"].map(|name| Some(id(&world, name)));
    let merged = merge::three_way(&TreeReader::new(&repo), Trees { base, ours, theirs }, OPTIONS).unwrap();
    let conflicts: Vec<_> = verdicts(&merged)
        .into_iter()
        .filter(|(_, verdict)| verdict.is_conflict())
        .collect();
    assert_eq!(
        conflicts,
        [
            ("blocked".to_owned(), MergeVerdict::Structure),
            ("in-the-way/z".to_owned(), MergeVerdict::Structure),
            ("link".to_owned(), MergeVerdict::Binary)
        ]
    );
    let tree = merge::tree(&repo, ours, &merged).unwrap();
    let at = |path: &str| {
        git_checkpoint::store::tree::entry(&repo, tree, &path.into())
            .unwrap()
            .map(|entry| format!("{:o}", entry.mode))
    };
    assert_eq!(at("exec"), Some("100755".into()));
    assert_eq!(at("folder"), Some("100644".into()));
    assert_eq!(at("folder/x"), None);
    assert_eq!(at("file/y"), Some("100644".into()));
    assert_eq!(at("blocked/new"), Some("100644".into()));
    assert_eq!(at("in-the-way"), Some("100644".into()));
    assert!(
        !world
            .git(["merge-tree", "--write-tree", "--merge-base=base", "ours", "theirs"])
            .is_success()
    );
}

#[test]
fn random_changes_agree_with_git() {
    let mut dice = Dice(77);
    for _ in 0..25 {
        let world = World::new();
        let mut seed = dice.below(1_000_000);
        let mut change = |w: &World, rounds: usize| {
            for _ in 0..rounds {
                seed = seed.wrapping_mul(48271) % 2_147_483_647;
                let mut dice = Dice(seed as u64);
                let name = format!("{}/{}", ["p", "q"][dice.below(2)], dice.below(4));
                let exists = w.path(&name).exists();
                match dice.below(6) {
                    0 => drop(fs::remove_file(w.path(&name))),
                    1 if !exists => w.file(
                        &name,
                        lines(&[]).replace("line", &format!("new line {}", dice.below(2))),
                    ),
                    2 if exists => {
                        // A rename, now and then onto a file.
                        let to = format!("r{}", dice.below(9));
                        fs::rename(w.path(&name), w.path(&to)).unwrap();
                    }
                    _ if exists => {
                        let text = String::from_utf8(w.read(&name)).unwrap();
                        let at = dice.below(20);
                        let new = format!("new {}", dice.below(3));
                        let mut lines: Vec<&str> = text.lines().collect();
                        if let Some(line) = lines.get_mut(at) {
                            *line = &new;
                        }
                        w.file(&name, lines.join("\n") + "\n");
                    }
                    _ => {}
                }
            }
        };
        let base = |w: &World| {
            for directory in ["p", "q"] {
                for n in 0..4 {
                    w.file(
                        format!("{directory}/{n}"),
                        lines(&[]).replace("line", &format!("line of {directory}{n}")),
                    );
                }
            }
        };
        world.git(["checkout", "-q", "--orphan", "base"]).success();
        base(&world);
        for name in ["base", "ours", "theirs"] {
            if name != "base" {
                world.git(["checkout", "-q", "--detach", "base"]).success();
                change(&world, 6);
            }
            world.git(["add", "-A"]).success();
            world.git(["commit", "-q", "--allow-empty", "-m", name]).success();
            if name != "base" {
                world.git(["branch", "-f", name]).success();
            }
        }
        compare(&world);
    }
}

#[test]
fn content_that_a_partial_clone_lacks_spoils_its_own_path_alone() {
    let world = World::new();
    branches(
        &world,
        |w| {
            w.file("lacking", lines(&[]));
            w.file("taken", lines(&[]));
        },
        |w| w.file("lacking", lines(&[(2, "ours")])),
        |w| {
            w.file("lacking", lines(&[(15, "theirs")]));
            w.file("taken", lines(&[(15, "theirs")]));
        },
    );
    world.git(["config", "uploadpack.allowFilter", "true"]).success();
    let url = format!("file://{}", world.repo().display());
    world
        .git(["clone", "-q", "--no-checkout", "--filter=blob:none", &url, "../partial"])
        .success();
    world.enter("partial");
    let repo = open(&world).with_object_memory();
    let [base, ours, theirs] = ["base", "ours", "theirs"].map(|name| Some(id(&world, &format!("origin/{name}"))));
    let merged = merge::three_way(&TreeReader::new(&repo), Trees { base, ours, theirs }, OPTIONS).unwrap();
    assert_eq!(
        verdicts(&merged),
        [
            ("lacking".to_owned(), MergeVerdict::Unknown),
            ("taken".to_owned(), MergeVerdict::Clean)
        ]
    );
    let blob = world.git_line(["rev-parse", "origin/base:lacking"]);
    assert!(
        merged[0].failure.as_ref().unwrap().contains(&blob),
        "{:?}",
        merged[0].failure
    );
}
