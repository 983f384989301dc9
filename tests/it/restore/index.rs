//! The index brought back, judged by git.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use git_checkpoint::model::path::RepoPath;
use git_checkpoint::store::ObjectId;
use git_checkpoint::store::pathspec::PathFilter;
use git_checkpoint::worktree::restore::index::{self, IndexChange, IndexState};
use git_checkpoint::worktree::restore::{Error, WrittenFile, include};
use git_checkpoint::worktree::snapshot::Snapshot;

use super::{Writer, disk, exact, files, open, planned, restore, run, save, save_with, shown, umask};
use crate::support::World;

fn staged(snapshot: &Snapshot) -> IndexState<'_> {
    IndexState {
        tree: snapshot.index_tree,
        lists: &snapshot.lists,
        blobs: &snapshot.conflict_blobs,
        is_exact: false,
    }
}

fn bring_back(world: &World, then: &Snapshot, specs: &[&str]) -> Result<IndexChange, Error> {
    let repo = open(world);
    let now = save(world);
    let mut filter = (!specs.is_empty()).then(|| PathFilter::new(&repo, specs, std::path::Path::new("")).unwrap());
    let mut changed = index::compare(&repo, staged(&now), staged(then), filter.as_mut())?;
    let lock = index::lock(&repo, None, "token", Duration::ZERO)?;
    index::write(&repo, &lock, staged(then), &mut changed)?;
    Ok(changed)
}

/// Everything git knows of the index but the stat data.
fn state(world: &World) -> String {
    let entries = world
        .git(["ls-files", "--stage", "-t", "-v"])
        .success()
        .stdout()
        .to_owned();
    let status = world
        .git(["status", "--porcelain=v2", "--untracked-files=all"])
        .success()
        .stdout()
        .to_owned();
    format!("{entries}{status}")
}

fn conflicted(world: &World) {
    for (branch, text) in [("one", "1\n"), ("two", "2\n")] {
        world.git(["checkout", "--quiet", "-B", branch, "main"]).success();
        world.file("both", text);
        world.file("README.md", text);
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", branch]).success();
    }
    world.git(["merge", "--quiet", "one"]).code(1);
}

#[test]
fn staged_unmerged_and_intended_files_come_back() {
    let world = World::with_commit();
    world.file("gone", "x");
    world.git(["add", "gone"]).success();
    world.git(["commit", "--quiet", "-m", "gone"]).success();
    conflicted(&world);
    world.file("staged", "1");
    world.git(["add", "staged"]).success();
    world.file("staged", "2");
    world.file("intended", "3");
    world.git(["add", "--intent-to-add", "intended"]).success();
    world.git(["rm", "--quiet", "--cached", "src/main.txt"]).success();
    let saved = save(&world);
    let (before, files_before) = (state(&world), disk(&world.repo()));

    world.git(["reset", "--quiet"]).success();
    world.git(["checkout", "--quiet", "--", "."]).success();
    world.file("later", "4");
    world.git(["add", "--all"]).success();
    restore(&world, &saved);
    let changed = bring_back(&world, &saved, &[]).unwrap();
    assert_eq!(changed.lacking, []);
    assert_eq!(disk(&world.repo()), files_before);
    assert_eq!(state(&world), before);
    world.git(["fsck", "--strict"]).success();
    assert_eq!(bring_back(&world, &saved, &[]).unwrap(), IndexChange::default());
}

#[test]
fn a_conflict_of_now_goes_and_paths_narrow_it() {
    let world = World::with_commit();
    world.file("a", "1");
    world.git(["add", "a"]).success();
    let saved = save(&world);
    world.git(["commit", "--quiet", "-m", "a"]).success();
    conflicted(&world);
    let changed = bring_back(&world, &saved, &["both"]).unwrap();
    assert_eq!(changed.paths.len(), 1);
    let unmerged = world.git_line(["ls-files", "--unmerged"]);
    assert!(
        unmerged.contains("README.md") && !unmerged.contains("both"),
        "{unmerged}"
    );
    bring_back(&world, &saved, &[]).unwrap();
    assert_eq!(world.git_line(["ls-files", "--unmerged"]), "");
    assert_eq!(world.git_line(["write-tree"]), saved.index_tree.to_string());
}

#[test]
fn a_file_takes_the_place_of_a_directory_and_back() {
    let world = World::with_commit();
    world.file("d/x", "1");
    world.git(["add", "d/x"]).success();
    let directory = save(&world);
    world.git(["rm", "--quiet", "--cached", "d/x"]).success();
    fs::remove_dir_all(world.path("d")).unwrap();
    world.file("d", "2");
    world.git(["add", "d"]).success();
    let file = save(&world);
    for saved in [&directory, &file, &directory] {
        bring_back(&world, saved, &[]).unwrap();
        assert_eq!(world.git_line(["write-tree"]), saved.index_tree.to_string());
    }
}

#[test]
fn flags_and_stat_data_of_other_entries_stay() {
    let world = World::with_commit();
    world.file("a", "1");
    world.git(["add", "a"]).success();
    let saved = save(&world);
    world.file("a", "2");
    world.git(["add", "a"]).success();
    world.git(["update-index", "--assume-unchanged", "README.md"]).success();
    world.git(["update-index", "--skip-worktree", "src/main.txt"]).success();
    bring_back(&world, &saved, &[]).unwrap();
    let flags = world.git_line(["ls-files", "-v"]);
    assert!(
        flags.contains("h README.md") && flags.contains("S src/main.txt"),
        "{flags}"
    );
    // Nothing is left of our work, and nothing was split off.
    let left = world
        .command(
            "find",
            [
                ".git",
                "-name",
                "*.lock",
                "-o",
                "-name",
                "*.tmp",
                "-o",
                "-name",
                "sharedindex*",
            ],
        )
        .run();
    assert_eq!(left.stdout(), "");
}

#[test]
fn an_unborn_branch_without_index_gets_one() {
    let world = World::new();
    world.file("a", "1");
    world.git(["add", "a"]).success();
    let saved = save(&world);
    fs::remove_file(world.path(".git/index")).unwrap();
    bring_back(&world, &saved, &[]).unwrap();
    assert_eq!(world.git_line(["write-tree"]), saved.index_tree.to_string());
}

#[test]
fn a_lock_of_somebody_else_is_respected_and_ours_is_known() {
    let world = World::with_commit();
    world.file("a", "1");
    world.git(["add", "a"]).success();
    let saved = save(&world);
    world.git(["rm", "--quiet", "--cached", "a"]).success();
    world.file(".git/index.lock", "");
    let error = bring_back(&world, &saved, &[]).unwrap_err();
    assert!(
        matches!(&error, Error::IndexLocked { .. }) && error.is_transient(),
        "{error}"
    );
    index::unlock(&open(&world), None, "token").unwrap();
    assert!(world.path(".git/index.lock").exists(), "not ours");
    world.file(".git/index.lock", "git-checkpoint token\n");
    index::unlock(&open(&world), None, "other").unwrap();
    assert!(world.path(".git/index.lock").exists(), "another restore's");
    index::unlock(&open(&world), None, "token").unwrap();
    bring_back(&world, &saved, &[]).unwrap();
}

#[test]
fn what_is_in_the_way_can_be_taken_into_the_safety_checkpoint() {
    let world = World::with_commit();
    world.file("config", "saved");
    world.file("big", "saved");
    world.file("d", "saved");
    let saved = save(&world);
    world.file(".gitignore", "config\nd/\n");
    world.file("config", "precious\r\n");
    super::chmod(&world, "config", 0o600);
    world.file("big", "0123456789 and more");
    fs::remove_file(world.path("d")).unwrap();
    world.file("d/inner", "precious too");
    let before = disk(&world.repo());

    let repo = open(&world);
    let mut present = save_with(&world, 16, &[]);
    let refused = restore::plan(&repo, files(&present), files(&saved), exact()).unwrap();
    let blocked: Vec<_> = refused.blocked.iter().map(|blocked| blocked.path.clone()).collect();
    assert_eq!(
        blocked.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["big", "config", "d/inner"]
    );

    let writer = Writer::durable(&repo).unwrap();
    include(&repo, &writer, &mut present, &blocked).unwrap();
    assert!(writer.finish().unwrap().release().is_none());
    let blocked = blocked.into_iter().collect();
    let mut options = exact();
    options.included = Some(&blocked);
    let plan = restore::plan(&repo, files(&present), files(&saved), options).unwrap();
    assert_eq!(plan.blocked, []);
    assert!(run(&world, &plan).is_complete());
    for path in ["config", "big", "d"] {
        assert_eq!(world.read(path), b"saved", "{path}");
    }
    // And back, with its ignore rules; ignored files are in the way of nothing.
    let mut options = exact();
    options.umask = umask();
    let plan = planned(&world, &present, options).unwrap();
    assert_eq!(plan.blocked, [], "{:?}", shown(&plan.lines));
    assert!(run(&world, &plan).is_complete());
    assert_eq!(disk(&world.repo()), before);
}

/// Lengths are settled in an index that another process holds when it is read: what that process stages until it lets the
/// index go stays, and the other files are settled.
#[test]
fn what_is_staged_before_the_lock_is_taken_stays() {
    let world = World::with_commit();
    world.file(".gitattributes", "*.txt text\n");
    for name in ["a.txt", "b.txt"] {
        world.file(name, format!("{name}\n"));
    }
    world.git(["add", "-A"]).success();
    let other = world.git_line(["rev-parse", ":.gitattributes"]);
    let mut written = BTreeMap::new();
    for name in ["a.txt", "b.txt"] {
        let content = format!("{name}\r\n");
        let file = WrittenFile {
            length: content.len() as u64,
            id: ObjectId::from_hex(world.git_line(["rev-parse", &format!(":{name}")]).as_bytes()).unwrap(),
        };
        world.file(name, content);
        written.insert(RepoPath::from(name.as_bytes()), file);
    }
    // The other process holds the index, with what it is going to be.
    let (held, next) = (world.path(".git/index.lock"), world.path(".git/next"));
    fs::copy(world.path(".git/index"), &next).unwrap();
    let entry = format!("100644,{other},a.txt");
    let staging = world.command("git", ["update-index", "--cacheinfo", &entry]);
    staging.env("GIT_INDEX_FILE", &next).run().success();
    fs::rename(&next, &held).unwrap();
    let repo = open(&world).into_sync();
    std::thread::scope(|scope| {
        let (repo, written) = (&repo, &written);
        let settled = scope.spawn(move || {
            let (repo, wait) = (repo.to_thread_local(), Duration::from_secs(60));
            index::settle_lengths(&repo, None, (written, &[]), "token", wait)
        });
        // It has read the index when it waits for the lock, whose text it has written by then.
        let began = Instant::now();
        let waits = world.path(".git/checkpoint/index.lock.tmp");
        while !waits.exists() {
            assert!(began.elapsed() < Duration::from_secs(60) && !settled.is_finished());
            std::thread::sleep(Duration::from_millis(1));
        }
        fs::rename(&held, world.path(".git/index")).unwrap();
        settled.join().unwrap().unwrap();
    });
    assert_eq!(world.git_line(["rev-parse", ":a.txt"]), other);
    let debug = world
        .git(["ls-files", "--debug", "b.txt"])
        .success()
        .stdout()
        .to_owned();
    assert!(debug.contains("size: 7\t"), "{debug}");
    assert!(!held.exists());
}
