//! Many processes at once: nothing acknowledged is lost, nothing is left behind.

use std::collections::BTreeSet;

use git_checkpoint::store::refs;

use super::{actor, assert_clean, open};
use crate::support::World;

#[test]
fn thirty_two_processes_save_on_one_session() {
    let world = World::with_commit();
    let started: Vec<_> = (0..32)
        .map(|number| actor::start(&world, &format!("save s 1 {number}")))
        .collect();
    let ids: Vec<_> = started.into_iter().map(|process| process.finish().unwrap()).collect();
    let chain = world.git_line(["rev-list", "refs/checkpoints/s"]);
    let chain: BTreeSet<_> = chain.lines().collect();
    assert_eq!(chain.len(), 32);
    assert!(
        ids.iter().all(|id| chain.contains(&**id)),
        "an acknowledged save is not on the chain"
    );
    assert_eq!(refs::reflog(&open(&world), "refs/checkpoints/s").unwrap().len(), 32);
    assert_clean(&world);
}

#[test]
fn saves_and_gc_at_once() {
    let world = World::with_commit();
    let tasks = (0..6).map(|number| format!("save s{} 12 {number}", number % 3));
    let started: Vec<_> = tasks.map(|task| actor::start(&world, &task)).collect();
    for _ in 0..4 {
        world.git(["gc", "--quiet", "--prune=now"]).success();
        // It may meet a lock of ours on a ref, and then leaves that ref for the next time.
        world.git(["pack-refs", "--all"]);
    }
    for process in started {
        process.finish().unwrap();
    }
    for session in 0..3 {
        let count = world.git_line(["rev-list", "--count", &format!("refs/checkpoints/s{session}")]);
        assert_eq!(count, "24");
    }
    assert_clean(&world);
}
