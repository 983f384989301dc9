//! Relations of commits on random histories, against `git rev-list` and `git merge-base`.

use std::fmt::Write as _;

use git_checkpoint::store::{ObjectId, graph};

use super::{Dice, id, open};
use crate::support::World;

/// A history of `size` commits with random merges; refs `c0`, `c1` and so on. `jitter` is by how many seconds the
/// clock may be wrong, commits being 10 seconds apart.
fn random_history(world: &World, dice: &mut Dice, size: usize, jitter: usize) {
    let mut stream = String::new();
    for n in 0..size {
        let date = 1_700_000_000 + 10 * n + dice.below(jitter + 1);
        write!(
            stream,
            "commit refs/heads/c{n}\nmark :{}\ncommitter C <c@e> {date} +0000\ndata 0\n",
            n + 1
        )
        .unwrap();
        let mut parents = Vec::new();
        // One commit in twelve starts a history of its own; a quarter are merges.
        if n > 0 && dice.below(12) != 0 {
            for _ in 0..=usize::from(dice.below(4) == 0) {
                parents.push(n - dice.below(n.min(6)));
            }
        }
        parents.dedup();
        for (at, parent) in parents.iter().enumerate() {
            writeln!(stream, "{} :{parent}", if at == 0 { "from" } else { "merge" }).unwrap();
        }
        stream.push('\n');
    }
    world
        .command("git", ["fast-import", "--quiet"])
        .input(stream)
        .run()
        .success();
}

/// The commits of the refs `c0`, `c1` and so on.
fn tips(world: &World, size: usize) -> Vec<ObjectId> {
    let names = (0..size).map(|n| format!("c{n}"));
    let ids = world.git_line(std::iter::once("rev-parse".to_owned()).chain(names));
    let ids: Vec<_> = ids.lines().map(|id| id.parse().unwrap()).collect();
    assert_eq!(ids.len(), size);
    ids
}

fn compare_with_git(world: &World, dice: &mut Dice, size: usize, pairs: usize) {
    let repo = open(world);
    let ids = tips(world, size);
    for _ in 0..pairs {
        let [a, b] = [0, 1].map(|_| dice.below(size));
        let (a_id, b_id) = (ids[a], ids[b]);
        let [a, b] = [a, b].map(|n| format!("c{n}"));
        let relation = graph::relation(&repo, a_id, b_id, usize::MAX).unwrap();
        let counts = world.git_line(["rev-list", "--left-right", "--count", &format!("{a}...{b}")]);
        assert_eq!(
            format!("{}\t{}", relation.ahead.len(), relation.behind.len()),
            counts,
            "{a} {b}"
        );
        let bases = world.git(["merge-base", "--all", &a, &b]);
        let mut bases = bases.stdout().lines();
        match relation.base {
            None => assert_eq!(bases.next(), None, "{a} {b}"),
            Some(base) => assert!(bases.any(|line| base.to_string().as_str() == line), "{a} {b}"),
        }
        let is_ancestor = world.git(["merge-base", "--is-ancestor", &a, &b]).is_success();
        assert_eq!(
            graph::is_ancestor(&repo, a_id, b_id, usize::MAX).unwrap(),
            Some(is_ancestor),
            "{a} {b}"
        );
        assert!(relation.complete && !relation.shallow);
    }
}

#[test]
fn random_histories_agree_with_git() {
    let mut dice = Dice(1);
    for _ in 0..8 {
        let world = World::new();
        random_history(&world, &mut dice, 60, 0);
        compare_with_git(&world, &mut dice, 60, 12);
    }
}

#[test]
fn wrong_clocks_agree_with_git() {
    let mut dice = Dice(2);
    for _ in 0..4 {
        let world = World::new();
        random_history(&world, &mut dice, 60, 40);
        compare_with_git(&world, &mut dice, 60, 12);
    }
}

#[test]
fn a_commit_graph_changes_nothing() {
    let mut dice = Dice(3);
    let world = World::new();
    random_history(&world, &mut dice, 60, 0);
    world.git(["commit-graph", "write", "--reachable"]).success();
    compare_with_git(&world, &mut dice, 60, 20);
}

#[test]
fn branches_that_contain_a_commit_are_those_git_lists() {
    let mut dice = Dice(4);
    let world = World::new();
    random_history(&world, &mut dice, 60, 0);
    let repo = open(&world);
    let names: Vec<_> = (0..60).map(|n| format!("c{n}")).collect();
    let tips = tips(&world, 60);
    for n in [0, 7, 20, 41, 59] {
        let found = graph::containing(&repo, tips[n], &tips, usize::MAX).unwrap();
        let ours: Vec<_> = names
            .iter()
            .zip(found)
            .filter(|(_, found)| *found == Some(true))
            .map(|(name, _)| name.clone())
            .collect();
        let listed = world.git_line(["branch", "--contains", &names[n], "--format=%(refname:short)"]);
        let mut listed: Vec<_> = listed.lines().map(str::to_owned).collect();
        listed.sort_by_key(|name| name[1..].parse::<usize>().unwrap());
        assert_eq!(ours, listed, "{n}");
    }
}

#[test]
fn a_bounded_walk_says_so() {
    let world = World::new();
    let mut stream = String::new();
    for (branch, start) in [("a", 1), ("b", 101)] {
        for n in start..start + 100 {
            write!(
                stream,
                "commit refs/heads/{branch}\nmark :{n}\ncommitter C <c@e> {n} +0000\ndata 0\n\n"
            )
            .unwrap();
        }
    }
    world
        .command("git", ["fast-import", "--quiet"])
        .input(stream)
        .run()
        .success();
    let repo = open(&world);
    let [a, b] = ["a", "b"].map(|name| id(&world, name));
    let bounded = graph::relation(&repo, a, b, 50).unwrap();
    assert!(!bounded.complete);
    assert_eq!((bounded.ahead.len(), bounded.behind.len(), bounded.base), (0, 50, None));
    assert_eq!(graph::is_ancestor(&repo, a, b, 50).unwrap(), None);
    let whole = graph::relation(&repo, a, b, usize::MAX).unwrap();
    assert_eq!(
        (whole.ahead.len(), whole.behind.len(), whole.complete),
        (100, 100, true)
    );
}

#[test]
fn a_shallow_clone_is_told_from_a_short_history() {
    let world = World::with_commit();
    for n in 0..5 {
        world
            .git(["commit", "--quiet", "--allow-empty", "-m", &format!("c{n}")])
            .success();
    }
    let old = id(&world, "HEAD~3");
    let url = format!("file://{}", world.repo().display());
    world
        .git(["clone", "--quiet", "--depth=2", &url, "../shallow"])
        .success();
    world.enter("shallow");
    let repo = open(&world);
    let relation = graph::relation(&repo, id(&world, "HEAD"), id(&world, "HEAD~1"), usize::MAX).unwrap();
    assert_eq!(
        (relation.ahead.len(), relation.behind.len(), relation.base),
        (1, 0, Some(id(&world, "HEAD~1")))
    );
    assert!(relation.shallow);
    let error = graph::relation(&repo, old, id(&world, "HEAD"), usize::MAX).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot read object '{old}': it is not in this repository")
    );
}
