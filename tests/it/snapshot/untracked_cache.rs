//! Directories of untracked files that are taken at once when nothing in them changed: each kind of change must be seen, and
//! what is saved must be the same as without any memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, UNIX_EPOCH};

use crate::support::World;

use super::child::{Setting, Taken, take_with};

struct Known {
    world: World,
    cache: String,
    first: Taken,
}

/// Lets the file system's clock go on, so that files written before may be remembered.
fn wait() {
    std::thread::sleep(Duration::from_millis(30));
}

impl Known {
    /// A working tree with untracked directories, one in another, and a snapshot of it.
    fn new() -> Self {
        let world = World::with_commit();
        world.file(".git/info/exclude", "*.ignored\n");
        for path in ["one", "two", "more/three", "more/deep/four"] {
            world.file(format!("new/{path}"), format!("{:5}\n", path.len()));
        }
        for n in 0..5 {
            world.file(format!("beside/{n}"), "11111\n");
            set_time(&world, &format!("beside/{n}"), 1_000_000);
        }
        std::os::unix::fs::symlink("0", world.path("beside/link")).unwrap();
        wait();
        let cache = world.root().join("cache").to_str().unwrap().to_owned();
        let options = serde_json::json!({ "cache": cache });
        let first = take(&world, options);
        Self { world, cache, first }
    }

    fn options(&self) -> serde_json::Value {
        serde_json::json!({ "cache": self.cache, "held": [self.first.tree(), self.first.index_tree()] })
    }

    /// With the memory of the first snapshot, and as it would be without any.
    fn same(&self, what: &str) -> Taken {
        self.same_with(what, &serde_json::json!({}))
    }

    fn same_with(&self, what: &str, more: &serde_json::Value) -> Taken {
        let mut options = self.options();
        for (name, value) in more.as_object().unwrap() {
            options[name] = value.clone();
        }
        let with = take(&self.world, options.clone());
        options.as_object_mut().unwrap().remove("cache");
        let without = take(&self.world, options);
        assert_eq!(with.json, without.json, "{what}");
        self.world.git(["fsck", "--strict", "--no-dangling"]).success();
        with
    }

    fn write(&self, path: &str, content: &str) {
        self.world.file(path, content);
    }
}

fn take(world: &World, options: serde_json::Value) -> Taken {
    // What else is remembered would leave nothing to do.
    let _ = options["cache"]
        .as_str()
        .map(|path| fs::remove_file(format!("{path}.seen")));
    let setting = Setting {
        options,
        ..Setting::default()
    };
    let taken = take_with(world, &setting);
    assert_eq!(taken.error(), None);
    taken
}

fn set_time(world: &World, path: &str, seconds: u64) {
    let file = fs::File::options().write(true).open(world.path(path)).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(seconds)))
        .unwrap();
}

#[test]
fn an_unchanged_directory_is_taken_at_once() {
    let known = Known::new();
    // In which packs the blobs are is noted when they are met there first.
    take(&known.world, known.options());
    // The records of single files are at the end of the cache. Broken, they could not be used, and all files would be
    // read and the cache written anew.
    let mut bytes = fs::read(&known.cache).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&known.cache, &bytes).unwrap();
    let again = take(&known.world, known.options());
    assert_eq!(again.json, known.first.json);
    assert_eq!(fs::read(&known.cache).unwrap(), bytes, "taken without the records");
    // A tree that no ref is known to hold does not count.
    let without = take(&known.world, serde_json::json!({ "cache": known.cache }));
    assert_eq!(without.json, known.first.json);
    assert_ne!(fs::read(&known.cache).unwrap(), bytes, "all was read");
}

#[test]
fn one_changed_directory_leaves_the_others_known() {
    let known = Known::new();
    for round in 0..3 {
        known.write("new/more/deep/four", &format!("round {round}\n"));
        wait();
        let taken = known.same("changed below");
        let blob = format!("{}:new/more/deep/four", taken.tree());
        assert_eq!(
            known.world.git_line(["cat-file", "blob", &blob]),
            format!("round {round}")
        );
    }
    let bytes = fs::read(&known.cache).unwrap();
    let has = |path: &str| bytes.windows(path.len()).any(|window| window == path.as_bytes());
    assert!(has("beside/4") && has("new/more/three"), "carried on");
}

#[test]
fn each_change_of_a_file_is_seen() {
    type Change = fn(&Known);
    let changes: [(&str, Change); 18] = [
        ("same size, time set back", |known| {
            known.write("beside/1", "22222\n");
            set_time(&known.world, "beside/1", 1_000_000);
        }),
        ("replaced by a file as old and as large", |known| {
            known.write("fresh", "33333\n");
            set_time(&known.world, "fresh", 1_000_000);
            fs::rename(known.world.path("fresh"), known.world.path("beside/2")).unwrap();
        }),
        ("edited through another name", |known| {
            fs::hard_link(known.world.path("beside/3"), known.world.root().join("elsewhere")).unwrap();
            wait();
            take(&known.world, known.options());
            fs::write(known.world.root().join("elsewhere"), "44444\n").unwrap();
            set_time(&known.world, "beside/3", 1_000_000);
        }),
        ("executable", |known| {
            known.world.command("chmod", ["0755", "beside/1"]).run().success();
        }),
        ("private", |known| {
            known.world.command("chmod", ["0600", "beside/1"]).run().success();
        }),
        ("another link", |known| {
            fs::remove_file(known.world.path("beside/link")).unwrap();
            std::os::unix::fs::symlink("1", known.world.path("beside/link")).unwrap();
        }),
        ("new", |known| known.write("beside/new", "1\n")),
        ("gone", |known| fs::remove_file(known.world.path("beside/0")).unwrap()),
        ("renamed", |known| {
            fs::rename(known.world.path("beside/0"), known.world.path("beside/00")).unwrap();
        }),
        ("two exchanged", |known| {
            known.write("beside/1", "99999\n");
            wait();
            take(&known.world, known.options());
            fs::rename(known.world.path("beside/0"), known.world.path("beside/x")).unwrap();
            fs::rename(known.world.path("beside/1"), known.world.path("beside/0")).unwrap();
            fs::rename(known.world.path("beside/x"), known.world.path("beside/1")).unwrap();
        }),
        ("a folder instead", |known| {
            fs::remove_file(known.world.path("beside/0")).unwrap();
            known.write("beside/0/inside", "1\n");
        }),
        ("a folder added to files", |known| {
            known.write("beside/below/inside", "1\n");
        }),
        ("a folder gone", |known| {
            fs::remove_dir_all(known.world.path("new/more")).unwrap();
        }),
        ("a folder gone, and back", |known| {
            fs::rename(known.world.path("new/more"), known.world.root().join("aside")).unwrap();
            take(&known.world, known.options());
            fs::rename(known.world.root().join("aside"), known.world.path("new/more")).unwrap();
        }),
        ("a FIFO", |known| {
            known.world.command("mkfifo", ["beside/fifo"]).run().success();
        }),
        ("an empty directory", |known| {
            fs::create_dir(known.world.path("beside/empty")).unwrap();
        }),
        ("a repository", |known| {
            known.world.git(["init", "--quiet", "new/more"]).success();
        }),
        ("tracked", |known| {
            known.world.git(["add", "new/more/three"]).success();
        }),
    ];
    for (what, change) in changes {
        let known = Known::new();
        change(&known);
        known.same(what);
        wait();
        known.same(what);
    }
}

#[test]
fn each_change_of_the_rules_is_seen() {
    let rules = [
        (".gitignore", "[0-2]\n"),
        (".gitignore", "new/more\n"),
        ("beside/.gitignore", "3\n"),
        ("new/.gitignore", "deep/\n"),
        (".git/info/exclude", "*.ignored\nthree\n"),
        (".gitattributes", "* text eol=crlf\n"),
        ("new/.gitattributes", "four filter=upper\n"),
        (".git/info/attributes", "* filter=upper\n"),
    ];
    for (path, content) in rules {
        let known = Known::new();
        known
            .world
            .git(["config", "filter.upper.clean", "tr 0-9 A-J"])
            .success();
        take(&known.world, known.options());
        known.write(path, content);
        known.same(path);
        fs::remove_file(known.world.path(path)).unwrap();
        known.same(path);
    }
    let known = Known::new();
    for more in [
        serde_json::json!({ "exclude": ["three"] }),
        serde_json::json!({ "exclude": ["beside"] }),
        serde_json::json!({ "max_file_size": 5 }),
        serde_json::json!({ "max_total_size": 20 }),
        serde_json::json!({ "max_total_size": 54 }),
        serde_json::json!({ "threads": 1 }),
        serde_json::json!({ "memory": true }),
    ] {
        known.same_with(&more.to_string(), &more);
    }
    known.world.git(["config", "core.autocrlf", "true"]).success();
    known.same("core.autocrlf");
    known.world.git(["config", "core.fileMode", "false"]).success();
    known.world.command("chmod", ["0755", "beside/1"]).run().success();
    known.same("core.fileMode");
}

#[test]
fn a_tree_that_is_gone_is_stored_again() {
    let known = Known::new();
    known.world.git(["gc", "--quiet", "--prune=now"]).success();
    let tree = known.first.tree();
    assert!(!known.world.git(["cat-file", "-e", tree]).is_success());
    let taken = known.same("collected");
    let names = known
        .world
        .git_line(["ls-tree", "--name-only", &format!("{}:beside", taken.tree())]);
    assert!(names.starts_with('0'), "{names}");
}

/// Unpacks all packs into loose objects.
fn unpack(world: &World) {
    let directory = world.path(".git/objects/pack");
    let aside = world.root().join("packs");
    fs::create_dir_all(&aside).unwrap();
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let to = aside.join(path.file_name().unwrap());
        fs::rename(&path, &to).unwrap();
        if to.extension().is_some_and(|extension| extension == "pack") {
            let script = format!("git unpack-objects -q < '{}'", to.display());
            world.command("sh", ["-c", &script]).run().success();
        }
    }
}

#[test]
fn a_lost_loose_blob_of_a_known_directory_is_stored_again() {
    type Loss = fn(&std::path::Path);
    let losses: [(&str, Loss); 3] = [
        ("gone", |path| fs::remove_file(path).unwrap()),
        ("emptied", |path| fs::write(path, "").unwrap()),
        ("garbage", |path| fs::write(path, "garbage").unwrap()),
    ];
    for (what, loss) in losses {
        // A directory alone, one with a directory in it, and one in another.
        for path in ["beside/1", "new/two", "new/more/deep/four"] {
            let known = Known::new();
            known.world.file("beside/1", "only here\n");
            wait();
            let mut held = known.first.tree().to_owned();
            let mut again = || {
                let options = serde_json::json!({ "cache": known.cache, "held": [held] });
                let taken = take(&known.world, options);
                held = taken.tree().to_owned();
                taken
            };
            (0..3).for_each(|_| drop(again()));
            unpack(&known.world);
            again();
            let id = known.world.git_line(["hash-object", path]);
            let object = known.world.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
            fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
            loss(&object);
            let taken = again();
            let blob = format!("{}:{path}", taken.tree());
            let content = fs::read_to_string(known.world.path(path)).unwrap();
            let stored = known.world.git_line(["cat-file", "blob", &blob]);
            assert_eq!(stored, content.trim_end(), "{what}: {path}");
        }
    }
}

#[test]
fn a_known_directory_stays_known_when_its_packs_are_merged() {
    let known = Known::new();
    known
        .world
        .git(["update-ref", "refs/kept", known.first.tree()])
        .success();
    take(&known.world, known.options());
    let before = fs::read(&known.cache).unwrap();
    known.world.git(["repack", "-adq"]).success();
    assert_eq!(take(&known.world, known.options()).json, known.first.json);
    let mut bytes = fs::read(&known.cache).unwrap();
    assert_ne!(bytes, before, "the new pack is noted");
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&known.cache, &bytes).unwrap();
    assert_eq!(take(&known.world, known.options()).json, known.first.json);
    assert_eq!(fs::read(&known.cache).unwrap(), bytes, "taken without the records");
}

#[test]
fn an_edit_in_the_moment_of_the_snapshot_is_seen() {
    let known = Known::new();
    for n in 0..30 {
        // No pause: file, snapshot and next edit fall into one tick of the clock as often as not.
        let content = format!("{n:05}\n");
        fs::write(known.world.path("beside/1"), &content).unwrap();
        let taken = take(&known.world, known.options());
        let blob = format!("{}:beside/1", taken.tree());
        assert_eq!(known.world.git_line(["cat-file", "blob", &blob]), content.trim_end());
    }
}
