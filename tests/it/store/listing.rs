//! Sessions are listed as git lists their refs, however many there are and wherever their commits lie.

use std::fs;

use git_checkpoint::store::session;

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
}
