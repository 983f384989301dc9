//! Everything is looked at before anything is read, and nothing more is done when all is as it was: each kind of change
//! must be seen then too, and what is saved must be the same as without any memory.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use git_checkpoint::os::dir::Dir;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use serde_json::json;

use crate::support::World;

use super::child::{Setting, Taken, take_with};

/// A working tree with a memory.
struct Remembering {
    world: World,
    cache: String,
    /// The trees of the last snapshot, as a ref would hold them.
    held: RefCell<Vec<String>>,
}

/// Lets the file system's clock go on, so that files written before may be remembered.
fn wait() {
    std::thread::sleep(Duration::from_millis(30));
}

impl Remembering {
    /// Tracked files in directories, one of them changed, untracked and ignored ones.
    fn new() -> Self {
        let world = World::with_commit();
        for path in ["lib/a", "lib/b", "lib/deep/c", "lib/deep/d", "top"] {
            world.file(path, format!("{path}\n"));
        }
        world.file("lib/.gitignore", "*.o\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "files"]).success();
        world.file("lib/b", "edited\n");
        for path in [
            "new/one",
            "new/two",
            "new/more/three",
            "lib/fresh",
            "lib/x.o",
            "lib/deep/z.o",
            "out/y.o",
        ] {
            world.file(path, "11111\n");
        }
        world.file(".git/info/exclude", "/out/\n");
        world.file("new/.gitignore", ".gitignore\n*.z\n");
        world.file("new/1.z", "ignored\n");
        let cache = world.root().join("cache").to_str().unwrap().to_owned();
        let held = RefCell::default();
        let this = Self { world, cache, held };
        this.settle("at first");
        // What is known of the directories is reported only by a walk that finds them known.
        this.after("something new", |_| {});
        this
    }

    fn take(&self, options: &serde_json::Value) -> Taken {
        let setting = Setting {
            options: options.clone(),
            ..Setting::default()
        };
        let taken = take_with(&self.world, &setting);
        assert_eq!(taken.error(), None);
        taken
    }

    /// A snapshot with the memory, and one as it would be without any; they are the same.
    fn same(&self, what: &str) -> Taken {
        let without = self.take(&json!({}));
        let with = self.take(&json!({ "cache": self.cache, "held": *self.held.borrow() }));
        assert_eq!(with.json, without.json, "{what}");
        *self.held.borrow_mut() = [with.tree(), with.index_tree()].map(str::to_owned).into();
        with
    }

    /// Whether a snapshot reads nothing. It leaves even a broken cache as it is then, and otherwise writes it anew.
    fn is_at_once(&self) -> bool {
        let good = fs::read(&self.cache).unwrap();
        fs::write(&self.cache, "broken").unwrap();
        self.same("at once");
        let is_at_once = fs::read(&self.cache).unwrap() == b"broken";
        fs::write(&self.cache, good).unwrap();
        is_at_once
    }

    /// Has everything remembered, and asserts that it is.
    fn settle(&self, what: &str) {
        wait();
        self.same(what);
        self.same(what);
        self.assert_at_once(what);
    }

    /// Asserts that a snapshot reads nothing, where the file system is one that is believed.
    fn assert_at_once(&self, what: &str) {
        let is_believed = Dir::open(&self.world.repo()).unwrap().local_device().is_some();
        assert!(self.is_at_once() || !is_believed, "{what}: not remembered");
    }

    /// Does something that must be seen at once, whatever is remembered, and what may be remembered after it.
    fn after(&self, what: &str, change: impl FnOnce(&World)) {
        change(&self.world);
        self.same(what);
        wait();
        self.same(what);
        self.same(what);
        // Something elsewhere, so that this is found known next to it.
        self.world.file("pulse", format!("after {what}\n"));
        self.same(what);
        wait();
        self.same(what);
        self.same(what);
    }

    /// The same where the next snapshot but one reads nothing.
    fn settled_after(&self, what: &str, change: impl FnOnce(&World)) {
        self.after(what, change);
        self.assert_at_once(what);
    }
}

/// Sets when a file, link or directory was changed, which anybody may.
fn set_time(path: &Path, time: SystemTime) {
    let since = time.duration_since(UNIX_EPOCH).unwrap();
    let time = Timespec {
        tv_sec: since.as_secs().try_into().unwrap(),
        tv_nsec: since.subsec_nanos().into(),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Does something to what is at a path, and sets the times of it and of its directory back if that changed them.
fn unseen(world: &World, path: &str, change: impl FnOnce(&Path)) {
    let path = world.path(path);
    let directory = path.parent().unwrap();
    let time = |path: &Path| fs::symlink_metadata(path).and_then(|data| data.modified());
    let (of_file, of_directory) = (time(&path), time(directory).unwrap());
    change(&path);
    let is_changed = time(directory).unwrap() != of_directory;
    if let Ok(of_file) = of_file
        && path.symlink_metadata().is_ok()
    {
        set_time(&path, of_file);
    }
    if is_changed {
        set_time(directory, of_directory);
    }
}

#[test]
fn each_change_of_the_files_is_seen() {
    let this = Remembering::new();
    let write = |content: &'static str| move |path: &Path| fs::write(path, content).unwrap();
    for path in [
        "lib/a",
        "lib/b",
        "lib/deep/c",
        "top",
        "new/one",
        "new/more/three",
        "lib/fresh",
    ] {
        let content = fs::read_to_string(this.world.path(path)).unwrap();
        let other = "x".repeat(content.len());
        this.settled_after(&format!("{path} edited, its time set back"), |world| {
            unseen(world, path, |path| fs::write(path, other).unwrap());
        });
    }
    this.settled_after("replaced by a file as old and as large", |world| {
        unseen(world, "lib/deep/d", |path| {
            fs::write(world.root().join("aside"), "another of\n").unwrap();
            fs::rename(world.root().join("aside"), path).unwrap();
        });
    });
    for (what, mode) in [("executable", 0o755), ("private", 0o600)] {
        for path in ["lib/a", "lib/deep/c", "new/two"] {
            this.settled_after(&format!("{path} {what}"), |world| {
                fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
            });
        }
    }
    this.settled_after("new next to tracked ones", |world| {
        unseen(world, "lib/deep/e", write("1\n"));
    });
    this.settled_after("new at the top", |world| unseen(world, "beside", write("1\n")));
    this.settled_after("new next to untracked ones", |world| {
        unseen(world, "new/more/four", write("1\n"));
    });
    this.settled_after("gone", |world| {
        unseen(world, "lib/deep/e", |path| fs::remove_file(path).unwrap());
    });
    this.settled_after("a tracked one gone", |world| {
        unseen(world, "lib/deep/c", |path| fs::remove_file(path).unwrap());
    });
    this.settled_after("renamed", |world| {
        unseen(world, "new/one", |path| {
            fs::rename(path, path.with_file_name("uno")).unwrap();
        });
    });
    this.settled_after("a link instead", |world| {
        unseen(world, "lib/deep/d", |path| {
            fs::remove_file(path).unwrap();
            symlink("../a", path).unwrap();
        });
    });
    this.settled_after("the link changed", |world| {
        unseen(world, "lib/deep/d", |path| {
            fs::remove_file(path).unwrap();
            symlink("../b", path).unwrap();
        });
    });
    this.settled_after("a folder instead", |world| {
        unseen(world, "new/two", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
            fs::write(path.join("inside"), "1\n").unwrap();
        });
    });
    this.settled_after("an empty directory", |world| {
        unseen(world, "lib/empty", |path| fs::create_dir(path).unwrap());
    });
    this.settled_after("no longer empty", |world| unseen(world, "lib/empty/now", write("1\n")));
    this.settled_after("a FIFO", |world| {
        unseen(world, "lib/fifo", |path| {
            world.command("mkfifo", [path]).run().success();
        });
    });
    this.settled_after("a folder renamed", |world| {
        unseen(world, "new/more", |path| {
            fs::rename(path, path.with_file_name("less")).unwrap();
        });
    });
    this.settled_after("two folders exchanged", |world| {
        world.file("new/less2/three", "other\n");
        wait();
        unseen(world, "new/less", |path| {
            fs::rename(path, path.with_file_name("x")).unwrap();
            fs::rename(path.with_file_name("less2"), path).unwrap();
            fs::rename(path.with_file_name("x"), path.with_file_name("less2")).unwrap();
        });
    });
    this.settled_after("a folder replaced by a link to it", |world| {
        unseen(world, "new/less", |path| {
            fs::rename(path, world.root().join("elsewhere")).unwrap();
            symlink(world.root().join("elsewhere"), path).unwrap();
        });
    });
    this.settled_after("a tracked folder replaced by a link to it", |world| {
        unseen(world, "lib/deep", |path| {
            fs::rename(path, world.root().join("depth")).unwrap();
            symlink(world.root().join("depth"), path).unwrap();
        });
    });
    this.settled_after("an ignored file edited, which changes nothing", |world| {
        unseen(world, "lib/x.o", write("22222\n"));
    });
}

#[test]
fn what_can_change_without_a_trace_is_not_remembered() {
    let this = Remembering::new();
    let other = this.world.root().join("other-name");
    fs::hard_link(this.world.path("lib/a"), &other).unwrap();
    this.after("another name", |_| {});
    this.after("edited through it", |world| {
        unseen(world, "lib/a", |_| fs::write(&other, "lib/x\n").unwrap());
    });
    fs::remove_file(&other).unwrap();
    this.settle("without the other name");
    this.after("a repository", |world| {
        world.git(["init", "-q", "new/more"]).success();
    });
    this.after("a commit in it", |world| {
        world
            .git(["-C", "new/more", "commit", "-qm", "first", "--allow-empty"])
            .success();
    });
    this.after("another commit in it", |world| {
        world
            .git(["-C", "new/more", "commit", "-qm", "second", "--allow-empty"])
            .success();
    });
    fs::remove_dir_all(this.world.path("new/more/.git")).unwrap();
    this.settle("no repository any more");
    // Times that lie ahead show nothing of what comes before them.
    let ahead = SystemTime::now() + Duration::from_secs(1000);
    set_time(&this.world.path("new/two"), ahead);
    set_time(&this.world.path("lib"), ahead);
    this.after("times that lie ahead", |_| {});
    this.after("written with the time of before", |world| {
        let path = world.path("new/two");
        fs::write(&path, "22222\n").unwrap();
        set_time(&path, ahead);
    });
    this.after("a name next to it", |world| {
        world.file("lib/fourth", "1\n");
        set_time(&world.path("lib"), ahead);
    });
    assert!(!this.is_at_once(), "not believed");
}

#[test]
fn each_change_of_rules_and_settings_is_seen() {
    let this = Remembering::new();
    let write = |content: &'static str| move |path: &Path| fs::write(path, content).unwrap();
    this.settled_after("rules that are tracked", |world| {
        unseen(world, "lib/.gitignore", write("*.p\n"));
    });
    this.settled_after("rules that are ignored", |world| {
        unseen(world, "new/.gitignore", write(".gitignore\n*.y\n"));
    });
    this.settled_after("new rules that ignore themselves", |world| {
        unseen(world, "lib/deep/.gitignore", write("*\n"));
    });
    for (path, content) in [
        (".git/info/exclude", "/lib/fresh\n"),
        (".git/info/attributes", "* text eol=crlf\n"),
    ] {
        this.settled_after(path, |world| world.file(path, content));
    }
    // Whether a server would take those that are new depends on HEAD, so they are read each time.
    for (path, content) in [
        (".gitattributes", "* text eol=crlf\n"),
        ("new/.gitattributes", "one text\n"),
    ] {
        this.after(path, |world| world.file(path, content));
        fs::remove_file(this.world.path(path)).unwrap();
        this.settle(path);
    }
    for (key, value) in [
        ("core.fileMode", "false"),
        ("core.autocrlf", "input"),
        ("filter.upper.clean", "tr a-z A-Z"),
        ("core.excludesFile", "excluded"),
    ] {
        this.settled_after(key, |world| {
            world.git(["config", key, value]).success();
        });
    }
    this.settled_after("the user's rules", |world| {
        world.file("excluded", "two\n");
    });
    let base = json!({ "cache": this.cache });
    let none = this.same("as usual");
    for more in [
        json!({ "exclude": ["one"] }),
        json!({ "max_file_size": 5 }),
        json!({ "max_total_size": 20 }),
    ] {
        let mut options = more.clone();
        let without = this.take(&options);
        options["cache"] = base["cache"].clone();
        options["held"] = json!([none.tree(), none.index_tree(), without.tree()]);
        assert_eq!(this.take(&options).json, without.json, "{more}");
        assert_eq!(this.take(&options).json, without.json, "{more}");
    }
}

#[test]
fn each_change_of_the_index_is_seen() {
    let this = Remembering::new();
    let git = |args: &'static [&'static str]| {
        move |world: &World| {
            world.git(args).success();
        }
    };
    this.settled_after("added", git(&["add", "lib/fresh", "lib/b"]));
    this.settled_after("committed", git(&["commit", "-qm", "more"]));
    this.settled_after("a commit of nothing", git(&["commit", "-qm", "none", "--allow-empty"]));
    this.settled_after("forgotten", git(&["rm", "-q", "--cached", "top"]));
    this.settled_after("executable", git(&["update-index", "--chmod=+x", "lib/a"]));
    this.settled_after(
        "assumed unchanged",
        git(&["update-index", "--assume-unchanged", "lib/a"]),
    );
    this.settled_after("edited then", |world| world.file("lib/a", "hidden\n"));
    this.after("announced", git(&["add", "-N", "new/one"]));
    this.settled_after("added after all", git(&["add", "new/one"]));
    this.settled_after("version 4", git(&["update-index", "--index-version", "4"]));
    this.after("split", git(&["update-index", "--split-index"]));
    this.after("added to a split one", git(&["add", "new/two"]));
    this.settled_after("whole again", git(&["update-index", "--no-split-index"]));
    this.settled_after("reset", git(&["reset", "-q", "HEAD~1"]));
    this.settled_after("no index", |world| fs::remove_file(world.path(".git/index")).unwrap());
    this.settled_after("back", git(&["reset", "-q"]));
    // An index that is damaged is refused, also where all files are as they were.
    let index = this.world.path(".git/index");
    let mut bytes = fs::read(&index).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    unseen(&this.world, ".git/index", |path| fs::write(path, bytes).unwrap());
    let setting = Setting {
        options: json!({ "cache": this.cache }),
        ..Setting::default()
    };
    assert!(take_with(&this.world, &setting).error().is_some());
}

#[test]
fn a_snapshot_that_is_not_stored_soundly_is_stored_again() {
    let this = Remembering::new();
    let taken = this.same("first");
    let held = json!({ "cache": this.cache, "held": [taken.tree(), taken.index_tree()] });
    this.take(&held);
    // No ref holds it here, so all of it goes.
    this.world.git(["gc", "--quiet", "--prune=now"]).success();
    assert!(!this.world.git(["cat-file", "-e", taken.tree()]).is_success());
    let again = this.take(&held);
    assert_eq!(again.json, taken.json);
    this.world.git(["cat-file", "-e", taken.tree()]).success();
    // One blob of a file that is not in the index is lost.
    let id = this.world.git_line(["hash-object", "lib/b"]);
    this.world.git(["update-ref", "refs/kept", taken.tree()]).success();
    this.world.git(["repack", "-adq"]).success();
    this.take(&held);
    loosen(&this.world);
    this.take(&held);
    let object = this.world.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    for loss in ["gone", "", "garbage"] {
        if loss == "gone" {
            fs::remove_file(&object).unwrap();
        } else {
            let _ = fs::remove_file(&object);
            fs::write(&object, loss).unwrap();
        }
        assert_eq!(this.take(&held).json, taken.json);
        let blob = format!("{}:lib/b", taken.tree());
        assert_eq!(this.world.git_line(["cat-file", "blob", &blob]), "edited", "{loss:?}");
    }
}

/// Makes all objects loose ones.
fn loosen(world: &World) {
    let packs = world.root().join("packs");
    fs::rename(world.path(".git/objects/pack"), &packs).unwrap();
    fs::create_dir(world.path(".git/objects/pack")).unwrap();
    let unpack = format!(
        "for pack in '{}'/*.pack; do git unpack-objects -q <$pack; done",
        packs.display()
    );
    world.command("sh", ["-c", &unpack]).run().success();
}

#[test]
fn whatever_is_lost_of_a_snapshot_is_stored_again() {
    let this = Remembering::new();
    this.world.file("lib/deep/c", "staged\n");
    this.world.git(["add", "lib/deep/c"]).success();
    this.settle("staged");
    let taken = this.same("staged");
    let trees = [taken.tree(), taken.index_tree()];
    for (name, tree) in ["refs/files", "refs/index"].into_iter().zip(trees) {
        this.world.git(["update-ref", name, tree]).success();
    }
    loosen(&this.world);
    this.settle("loose");
    let objects = |tree: &str| -> Vec<String> {
        let listed = this
            .world
            .git_line(["ls-tree", "-r", "-t", "--format=%(objectname)", tree]);
        listed.lines().map(str::to_owned).chain([tree.to_owned()]).collect()
    };
    let head = objects(&this.world.git_line(["rev-parse", "HEAD^{tree}"]));
    let mut lost = 0;
    for id in trees.into_iter().flat_map(&objects).filter(|id| !head.contains(id)) {
        let path = this.world.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        // Twice the same: it is in a pack by now.
        if fs::remove_file(&path).is_err() {
            continue;
        }
        lost += 1;
        let held = json!({ "cache": this.cache, "held": trees });
        assert_eq!(this.take(&held).json, taken.json, "{id}");
        this.world.git(["cat-file", "-e", &id]).success();
    }
    assert!(lost > 9, "{lost}");
}

#[test]
fn a_broken_memory_is_as_good_as_none() {
    let this = Remembering::new();
    let path = format!("{}.seen", this.cache);
    let good = fs::read(&path).unwrap();
    let step = good.len() / 40;
    for at in (0..good.len()).step_by(step) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        this.same(&format!("byte {at} changed"));
        fs::write(&path, &good[..at]).unwrap();
        this.same(&format!("cut at {at}"));
    }
    this.assert_at_once("written anew");
}
