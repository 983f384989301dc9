//! The durable lower half of the store, below the command line: objects, refs, locks and opening, with git as judge.

mod actor;
mod children;
mod faults;
mod listing;
mod opening;
mod packs;
mod races;
mod settings;
mod swapping;
mod tables;
mod writing;

use std::fs;
use std::path::Path;
use std::time::Duration;

use git_checkpoint::store::objects::{self, Writer};
use git_checkpoint::store::refs::{self, ExpectedValue, RefUpdate};
use git_checkpoint::store::{Error, Kind, ObjectId, OpenEnvironment, Repository, Time};

use crate::support::World;

/// Long enough for a loaded machine.
const WAIT: Duration = Duration::from_secs(20);

/// Opens the world's repository as a command there would.
fn open(world: &World) -> Repository {
    git_checkpoint::store::open(&environment(world)).unwrap_or_else(|error| panic!("{error}"))
}

fn environment(world: &World) -> OpenEnvironment {
    OpenEnvironment {
        cwd: world.repo(),
        vars: world
            .environment()
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect(),
        ..Default::default()
    }
}

fn now(seconds: i64) -> Time {
    Time {
        seconds: 1_767_323_045 + seconds,
        offset: 3600,
    }
}

fn edit(name: &str, expected: ExpectedValue, new: Option<ObjectId>) -> RefUpdate {
    RefUpdate {
        name: name.to_owned(),
        expected,
        new,
        message: format!("test: {name}"),
    }
}

/// A commit with one file, as a save would make it.
fn write_commit(writer: &Writer, content: &[u8], parent: Option<ObjectId>) -> Result<ObjectId, Error> {
    let blob = writer.write(Kind::Blob, content)?;
    let tree = [b"100644 file.txt\0", blob.as_slice()].concat();
    let tree = writer.write(Kind::Tree, &tree)?;
    let parent = parent.map(|id| format!("parent {id}\n")).unwrap_or_default();
    let who = "A U Thor <author@example.org> 1767323045 +0100";
    let text = format!(
        "tree {tree}\n{parent}author {who}\ncommitter {who}\n\n{}\n",
        String::from_utf8_lossy(content)
    );
    writer.write(Kind::Commit, text.as_bytes())
}

/// A whole save: objects, ref, release, tidying up; again when another one was faster.
fn save(repo: &Repository, session: &str, content: &[u8]) -> Result<ObjectId, Error> {
    let name = format!("refs/checkpoints/{session}");
    objects::sweep(repo)?;
    refs::recover(repo, WAIT)?;
    // What a lost race has sealed stays protected, because the next attempt finds it and does not write it again.
    let mut lost = Vec::new();
    loop {
        let tip = refs::read(repo, &name)?;
        let writer = Writer::durable(repo)?;
        let id = write_commit(&writer, content, tip)?;
        let sealed = writer.finish()?;
        let expected = tip.map_or(ExpectedValue::Absent, ExpectedValue::Is);
        let who = git_checkpoint::store::who(repo, now(0));
        match refs::update(repo, &[edit(&name, expected, Some(id))], &who, WAIT) {
            Ok(_) => {
                refs::verify_present(repo, sealed.relied_on())?;
                drop(sealed.release());
                objects::consolidate(repo)?;
                return Ok(id);
            }
            Err(Error::Moved { .. }) => lost.push(sealed),
            Err(error) => return Err(error),
        }
    }
}

/// Says why a test could not be made here.
#[expect(clippy::print_stderr, reason = "a test that is skipped must be seen")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// Fails unless git finds nothing wrong and nothing of ours is left lying about.
#[track_caller]
fn assert_clean(world: &World) {
    let fsck = world.git(["fsck", "--strict", "--full", "--no-dangling"]);
    let said = format!("{}{}", fsck.success().stdout(), fsck.stderr());
    // The only thing to be said is that a repository of only our refs has no branch yet.
    let unborn =
        |line: &&str| line.starts_with("notice: HEAD points to an unborn") || *line == "notice: No default references";
    let said: Vec<_> = said.lines().filter(|line| !unborn(line)).collect();
    assert!(said.is_empty(), "fsck has something to say: {said:?}");
    let left = leftovers(&world.path(".git"));
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Files that only a killed process leaves.
fn leftovers(git_dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![git_dir.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let ends = |wanted: &str| path.extension().is_some_and(|found| found == wanted);
            let abandoned = directory.ends_with("checkpoint/swap")
                || name.starts_with("checkpoint_tmp_")
                || name == "refs.journal"
                || (ends("keep") && directory.ends_with("pack"))
                || (ends("lock") && !["worktree.lock", "operation.lock"].contains(&name.as_str()))
                || (ends("pack") && !path.with_extension("idx").exists());
            if path.is_dir() {
                directories.push(path);
            } else if abandoned {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Lets merged packs grow old enough to go, which takes ten milliseconds, and merges what is left.
fn settle(repo: &Repository) {
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(30));
        objects::consolidate(repo).unwrap();
    }
}

/// The packs there are.
fn packs(world: &World) -> usize {
    let directory = fs::read_dir(world.path(".git/objects/pack")).unwrap();
    directory
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|found| found == "pack")
        })
        .count()
}
