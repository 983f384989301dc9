//! Sharing through real bare repositories: what is pushed, fetched and pulled, and what is refused.

mod automatic;
#[cfg(feature = "encryption")]
mod deferred;
mod divergence;
mod dry_runs;
#[cfg(feature = "encryption")]
mod encrypted;
mod handover;
mod hostile;
mod identity;
#[cfg(feature = "encryption")]
mod inherited;
mod leaving;
#[cfg(feature = "encryption")]
mod locked;
mod many;
mod named;
mod namespaces;
mod omitted;
mod parting;
mod provenance;
mod pruned;
mod purged;
mod purged_whole;
mod refusing;
mod renamed;
mod secrets;
mod shapes;
mod signed;
mod together;
mod unsaved;

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::support::World;

/// A repository `repo` with one commit, pushed to the bare repository `hub`, its remote `origin`.
fn shared() -> World {
    let world = World::with_commit();
    let hub = world.root().join("hub");
    world
        .git([
            "init",
            "--quiet",
            "--bare",
            "--initial-branch=main",
            hub.to_str().unwrap(),
        ])
        .success();
    world.git(["remote", "add", "origin", "../hub"]).success();
    world.git(["push", "--quiet", "origin", "main"]).success();
    world
}

/// Writes a shell script next to the repository; its path.
fn script(world: &World, name: &str, text: &str) -> String {
    let path = world.root().join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Clones the hub to a directory of the world and goes there.
fn clone(world: &World, directory: &str) {
    let path = world.root().join(directory);
    world
        .git(["clone", "--quiet", "../hub", path.to_str().unwrap()])
        .success();
    world.enter(directory);
}

/// Saves with a summary and gives the id.
fn save(world: &World, summary: &str) -> String {
    let receipt = world
        .checkpoint(["save", "--json", "--allow-empty", "-m", summary])
        .success()
        .stdout_json();
    receipt["id"].as_str().unwrap().to_owned()
}

/// The commit of a ref in a directory of the world; empty if there is none.
fn at(world: &World, directory: &str, name: &str) -> String {
    let path = world.root().join(directory);
    let output = world.git(["-C", path.to_str().unwrap(), "rev-parse", "--verify", "--quiet", name]);
    output.stdout().trim().to_owned()
}

/// The summaries of a session, latest first.
fn log(world: &World, session: &str) -> Vec<String> {
    let log = world.checkpoint(["log", session, "--json"]).success().stdout_json();
    let rows = log["checkpoints"].as_array().unwrap();
    rows.iter()
        .map(|row| row["summary"].as_str().unwrap().to_owned())
        .collect()
}

/// Nothing waits in the quarantine.
#[track_caller]
fn no_quarantine(world: &World) {
    world
        .git(["for-each-ref", "refs/checkpoints-incoming"])
        .success()
        .no_stdout();
}
