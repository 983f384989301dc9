//! Accidents that users of other tools reported, and what git itself does in the same place: each shown to be right here
//! with the commands a user gives. The numbers are those under which the accidents were collected. Some are shown
//! elsewhere: E-25 by `stories::full_disk`, E-29 by the shapes `path-*`, E-30 by `snapshot::hooks`, E-32 by
//! `snapshot::moving`, E-33 by `store::races` and `stories::many`, E-39 by `model::name`, E-45 and B45 by
//! `stories::interrupted`, E-47 by `stories::damage`, E-64 by `store::swapping`.

mod edges;
mod git;
mod restore;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::World;

/// A commit, and these files saved next to it.
fn saved(files: &[(&str, &str)]) -> World {
    let world = World::with_commit();
    for (path, text) in files {
        world.file(path, text);
    }
    save(&world, "then");
    world
}

fn save(world: &World, message: &str) {
    world.checkpoint(["save", "--allow-empty", "-m", message]).success();
}

/// Runs it, which must be possible.
#[track_caller]
fn done(world: &World, args: &[&str]) -> String {
    world.checkpoint(args).success().stdout().to_owned()
}

fn text(world: &World, path: &str) -> String {
    String::from_utf8(world.read(path)).unwrap()
}

fn exists(world: &World, path: &str) -> bool {
    fs::symlink_metadata(world.path(path)).is_ok()
}

fn mode(world: &World, path: &str) -> u32 {
    fs::metadata(world.path(path)).unwrap().permissions().mode() & 0o777
}

fn chmod(world: &World, path: &str, mode: u32) {
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
}
