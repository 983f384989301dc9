//! The same story where refs lie in reftables.

use super::swapping::story;
use super::{assert_clean, open, save};
use crate::support::World;

#[test]
fn refs_in_a_reftable() {
    let world = World::without_repository();
    let made = world.git(["init", "--quiet", "--ref-format=reftable", "--initial-branch=main"]);
    if !made.is_success() {
        super::skipped("this git makes no reftables");
        return;
    }
    story(&world);
    let id = save(&open(&world), "s", b"hello").unwrap();
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), id.to_string());
    assert!(
        !world.path(".git/refs/checkpoints").exists(),
        "nothing is written where git would not see it"
    );
    assert_clean(&world);
}
