//! Sessions are listed as git lists their refs, however many there are and wherever their commits lie.

use std::{collections::BTreeSet, fs};

use git_checkpoint::store::{session, usage};

use super::open;
use crate::support::World;

/// The sessions as they are listed, in the order of their names: name, tip and subject, or that it is damaged.
fn listed(world: &World) -> Vec<String> {
    let all = session::all(&open(world)).unwrap();
    let times: Vec<_> = all
        .iter()
        .filter_map(|session| Some(session.tip.as_ref().ok()?.time))
        .collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "latest first");
    let whole = all.iter().take_while(|session| session.tip.is_ok()).count();
    assert_eq!(whole, times.len(), "damaged ones last");
    let mut told: Vec<String> = all
        .into_iter()
        .map(|session| match session.tip {
            Ok(tip) => format!("{} {} {}", session.name, tip.id, tip.subject),
            Err(_) => format!("{} damaged", session.name),
        })
        .collect();
    told.sort_unstable();
    told
}

/// More than one thread reads: nothing may get lost or be mixed up between them.
#[test]
fn many_sessions_are_listed_as_git_lists_them() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for n in 0..30 {
        let args = ["save", "--no-files", "--allow-empty", "-m", &format!("summary {n}")];
        world.checkpoint(args).success();
    }
    let chain = world.git_line(["rev-list", "--first-parent", "refs/checkpoints/s"]);
    let chain: Vec<&str> = chain.lines().collect();
    assert_eq!(chain.len(), 31);
    let lines: String = (0..450)
        .map(|n| format!("create refs/checkpoints/n{n:03} {}\n", chain[n * 7 % 31]))
        .collect();
    let update = world
        .command("git", ["update-ref", "--stdin"])
        .input(lines.into_bytes());
    update.run().success();
    let format = "--format=%(refname:lstrip=2) %(objectname) %(contents:subject)";
    let by_git = world.git_line(["for-each-ref", format, "refs/checkpoints"]);
    let mut by_git: Vec<String> = by_git.lines().map(str::to_owned).collect();
    by_git.sort_unstable();
    assert_eq!((by_git.len(), &listed(&world)), (451, &by_git), "in our own packs");
    world.git(["repack", "-adfq", "--depth=50", "--window=50"]).success();
    assert_eq!(listed(&world), by_git, "as deltas");
    // A commit that is none of ours and in no pack, one that is gone, and a ref that says nothing.
    let loose = world.git_line(["commit-tree", "-m", "somebody's own", "HEAD^{tree}"]);
    world.git(["update-ref", "refs/checkpoints/n007", &loose]).success();
    fs::write(
        world.path(".git/refs/checkpoints/n400"),
        format!("{}\n", "1".repeat(40)),
    )
    .unwrap();
    fs::write(world.path(".git/refs/checkpoints/n100"), "").unwrap();
    let with_these: Vec<String> = by_git
        .iter()
        .map(|line| match line.split(' ').next() {
            Some(name @ ("n007" | "n100" | "n400")) => format!("{name} damaged"),
            _ => line.clone(),
        })
        .collect();
    assert_eq!(listed(&world), with_these);
    fs::remove_file(world.path(".git/refs/checkpoints/n100")).unwrap();
    world.git(["update-ref", "-d", "refs/checkpoints/n400"]).success();
    // Some in files, some packed, and some packed that a file is newer than.
    world.git(["pack-refs", "--all"]).success();
    world.git(["update-ref", "refs/checkpoints/n003", chain[30]]).success();
    world.git(["update-ref", "-d", "refs/checkpoints/n004"]).success();
    world.git(["update-ref", "refs/checkpoints/late", chain[0]]).success();
    let by_git = world.git_line(["for-each-ref", format, "refs/checkpoints"]);
    let by_git = by_git.lines().map(|line| {
        if line.starts_with("n007 ") {
            "n007 damaged".to_owned()
        } else {
            line.to_owned()
        }
    });
    let mut by_git: Vec<String> = by_git.collect();
    by_git.sort_unstable();
    assert_eq!(listed(&world), by_git, "packed and not");
    let names: Vec<String> = session::names(&open(&world)).unwrap().into_iter().collect();
    let mut expected: Vec<&str> = by_git.iter().filter_map(|line| line.split(' ').next()).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

/// What one leads to of what others lead to as well, and of what a branch and the index lead to.
#[test]
fn sizes_of_many_are_those_of_each() {
    let world = World::with_commit();
    for (n, name) in ["a", "b", "a", "c", "b"].into_iter().enumerate() {
        world.file(format!("src/{name}.txt"), format!("{name} {n}\n").repeat(40 * (n + 1)));
        world
            .checkpoint(["save", "--session", name, "-m", &format!("save {n}")])
            .success();
    }
    world.checkpoint(["fork", "a", "--name", "d"]).success();
    world.file("staged.txt", "staged\n");
    world.git(["add", "staged.txt"]).success();
    world.checkpoint(["save", "--session", "d", "-m", "staged"]).success();
    world.git(["branch", "outside", "refs/checkpoints/b^2"]).success();
    let tree = "4".repeat(40);
    let who = "A U Thor <author@example.org> 1767323045 +0000";
    let damaged = world
        .command("git", ["hash-object", "-t", "commit", "-w", "--stdin"])
        .input(format!(
            "tree {tree}\nauthor {who}\ncommitter {who}\n\nwithout its tree\n"
        ))
        .run();
    let x = damaged.success().stdout().trim().to_owned();
    world.git(["update-ref", "refs/checkpoints/x", &x]).success();
    // What one leads to, of what git counts for all of them at once, from its own lists.
    let objects = |args: &[&str]| -> BTreeSet<String> {
        let listed = world.git_line([&["rev-list", "--objects"][..], args].concat());
        let id = |line: &str| line.split(' ').next().map(str::to_owned);
        listed.lines().filter_map(id).collect()
    };
    let by_git = |tip: &str, tips: &[&str]| -> u64 {
        let others = ["--not", "--exclude=refs/checkpoints*", "--all", "--indexed-objects"];
        let counted = objects(&[tips, &others].concat());
        let own: String = objects(&[tip])
            .intersection(&counted)
            .map(|id| format!("{id}\n"))
            .collect();
        let sizes = world
            .command("git", ["cat-file", "--batch-check=%(objectsize:disk)"])
            .input(own)
            .run();
        let sizes = sizes
            .success()
            .stdout()
            .lines()
            .map(|line| line.parse::<u64>().unwrap());
        sizes.sum()
    };
    // A damaged one has no size, and takes nothing from the others.
    let repo = open(&world);
    let tips = session::tips(&repo, session::PREFIX).unwrap();
    let sizes = usage::each(&repo, &tips).unwrap();
    assert!(
        sizes[..4].iter().all(|size| size.is_some_and(|size| size > 0)),
        "{sizes:?}"
    );
    assert_eq!(sizes[4..], [None]);
    world.git(["update-ref", "-d", "refs/checkpoints/x"]).success();
    let same = || {
        let repo = open(&world);
        let tips = session::tips(&repo, session::PREFIX).unwrap();
        let texts: Vec<String> = tips.iter().map(ToString::to_string).collect();
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        let expected: Vec<_> = texts.iter().map(|tip| Some(by_git(tip, &all))).collect();
        assert_eq!(usage::each(&repo, &tips).unwrap(), expected);
        expected.len()
    };
    assert_eq!(same(), 4);
    world.git(["repack", "-adfq", "--depth=50", "--window=50"]).success();
    assert_eq!(same(), 4);
}
