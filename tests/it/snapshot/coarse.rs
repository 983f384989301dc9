//! Settings and file systems for which stat data says less: what git sees as edited is stored as it is on disk.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use crate::support::World;

use super::child::{Setting, take, take_with};

/// The time of the index file, and of a file as the index has it.
fn set_time(world: &World, path: &str, seconds: u64, nanos: u32) {
    let file = fs::OpenOptions::new().write(true).open(world.path(path)).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::new(seconds, nanos)).unwrap();
}

const NOW: u64 = 1_767_000_000;

/// Settings, the nanoseconds of the file when it was added, of the index, and of the file after its edit.
const CASES: &[(&[&str], u32, u32, u32)] = &[
    (&["core.checkStat=minimal"], 100_000_000, 200_000_000, 300_000_000),
    (&["core.checkStat=minimal", "core.trustctime=false"], 100, 200, 300),
    (&["core.checkStat=minimal"], 0, 0, 0),
    (&["core.trustctime=false"], 0, 0, 0),
    (&["core.trustctime=false"], 100, 100, 100),
    (&["core.trustctime=false"], 0, 500_000_000, 900_000_000),
    (&["core.trustctime=false"], 100_000_000, 200_000_000, 0),
    (&["core.trustctime=false"], 100_000_000, 0, 0),
    (&["core.trustctime=false"], 100_000_000, 0, 300_000_000),
    (&[], 100_000_000, 200_000_000, 300_000_000),
    (&[], 0, 0, 0),
];

#[test]
fn an_edit_in_the_second_of_the_index_is_seen_as_git_sees_it() {
    for (settings, added, index, edited) in CASES {
        let case = format!("{settings:?} {added} {index} {edited}");
        let world = World::with_commit();
        for setting in *settings {
            let (name, value) = setting.split_once('=').unwrap();
            world.git(["config", name, value]).success();
        }
        world.file("a", "aaa\n");
        set_time(&world, "a", NOW, *added);
        world.git(["add", "a"]).success();
        world.git(["commit", "--quiet", "-m", "a"]).success();
        // In place, so that no other stat data but the times differs.
        fs::write(world.path("a"), "bbb\n").unwrap();
        set_time(&world, "a", NOW, *edited);
        set_time(&world, ".git/index", NOW, *index);
        let taken = take(&world);
        // git is asked afterwards: it would mark the entry.
        assert_eq!(world.git_line(["diff-files", "--name-only"]), "a", "{case}");
        let blob = world.git_line(["cat-file", "blob", &format!("{}:a", taken.tree())]);
        assert_eq!(blob, "bbb", "{case}");
        assert_eq!(taken.status("modified"), ["a"], "{case}");
    }
}

/// What `git add` makes of everything, in another index.
fn added(world: &World) -> String {
    let index = world.root().join("other-index");
    let _ = fs::copy(world.path(".git/index"), &index);
    let run = |arguments: &[&str]| world.command("git", arguments).env("GIT_INDEX_FILE", &index).run();
    run(&["add", "--all"]).success();
    let tree = run(&["write-tree"]);
    tree.success().stdout().trim().to_owned()
}

#[test]
fn the_mode_of_the_index_is_never_remembered_for_the_file() {
    for setting in ["core.fileMode", "core.symlinks"] {
        let world = World::with_commit();
        world.git(["config", setting, "false"]).success();
        for path in ["f", "folder/g", "folder/h.txt"] {
            world.file(path, "1\n");
        }
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", "plain"]).success();
        let modes = if setting == "core.fileMode" {
            ["100755", "100644"]
        } else {
            ["120000", "100644"]
        };
        for path in ["f", "folder/g", "folder/h.txt", "new", "folder/fresh"] {
            world.file(path, "22\n");
        }
        let cache = world.root().join("cache").to_str().unwrap().to_owned();
        let step = |what: &str| {
            std::thread::sleep(Duration::from_millis(30));
            let options = json!({ "cache": cache });
            let taken = take_with(
                &world,
                &Setting {
                    options,
                    ..Setting::default()
                },
            );
            assert_eq!(taken.tree(), added(&world), "{setting}: {what}");
        };
        step("as added");
        step("the same again");
        for mode in modes {
            for path in ["f", "folder/g"] {
                let id = world.git_line(["rev-parse", &format!(":{path}")]);
                let info = format!("{mode},{id},{path}");
                world.git(["update-index", "--cacheinfo", &info]).success();
            }
            step(mode);
        }
        // Untracked and tracked again, with the mode that the index gives.
        world.git(["rm", "--cached", "--quiet", "f"]).success();
        step("untracked");
        let id = world.git_line(["rev-parse", "HEAD:f"]);
        let info = format!("{},{id},f", modes[0]);
        world.git(["update-index", "--add", "--cacheinfo", &info]).success();
        step("tracked");
        world.git(["config", setting, "true"]).success();
        step("the setting taken back");
    }
}
