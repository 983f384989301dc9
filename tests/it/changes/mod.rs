//! What changed since: every fact compared with what git itself says, on histories made by git.

mod facts;
mod graph;
mod merges;
mod patch_ids;
mod patches;
mod report;
mod trees;

use std::collections::BTreeMap;

use git_checkpoint::store::{self, ObjectId, Repository};

use crate::support::World;

/// The world's repository as the program would open it.
fn open(world: &World) -> Repository {
    let vars: BTreeMap<_, _> = world
        .environment()
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
    store::open(&store::OpenEnvironment {
        cwd: world.repo(),
        vars,
        ..Default::default()
    })
    .unwrap()
}

/// The object that git takes `name` for.
#[track_caller]
fn id(world: &World, name: &str) -> ObjectId {
    ObjectId::from_hex(world.git_line(["rev-parse", "--verify", name]).as_bytes()).unwrap()
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}
