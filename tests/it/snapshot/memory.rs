//! What a snapshot remembers from the one before: it must save work and never hide an edit.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use crate::support::World;

use super::child::{Setting, Taken, take_with};
use super::reference::{assert_same, faultless};

struct Remembering {
    world: World,
    cache: String,
}

impl Remembering {
    fn new(world: World) -> Self {
        let cache = world.root().join("cache").to_str().unwrap().to_owned();
        Self { world, cache }
    }

    fn take(&self) -> Taken {
        // What else is remembered would leave nothing to do.
        let _ = fs::remove_file(format!("{}.seen", self.cache));
        let options = serde_json::json!({ "cache": self.cache });
        let setting = Setting {
            options,
            ..Setting::default()
        };
        let taken = take_with(&self.world, &setting);
        assert_eq!(taken.error(), None);
        faultless(&self.world, &setting, &taken);
        taken
    }

    fn set_time(&self, path: &str, seconds: u64) {
        let file = fs::File::options().write(true).open(self.world.path(path)).unwrap();
        file.set_times(fs::FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(seconds)))
            .unwrap();
    }

    /// The paths in the cache.
    fn remembers(&self, path: &str) -> bool {
        let bytes = fs::read(&self.cache).unwrap();
        bytes.windows(path.len()).any(|window| window == path.as_bytes())
    }
}

/// Lets the file system's clock go on, so that files written before may be remembered.
fn wait() {
    std::thread::sleep(Duration::from_millis(30));
}

#[test]
fn untracked_and_changed_files_are_remembered() {
    let this = Remembering::new(World::with_commit());
    this.world.file("untracked-one", "1\n");
    this.world.file("src/main.txt", "changed\n");
    wait();
    let first = this.take();
    assert!(this.remembers("untracked-one") && this.remembers("src/main.txt"));
    // What is believed is not read: the second snapshot sees nothing of a file that it may not open.
    let written = fs::metadata(&this.cache).unwrap().modified().unwrap();
    let second = this.take();
    assert_eq!(first.tree(), second.tree());
    assert_eq!(second.status("modified"), ["src/main.txt"]);
    assert_eq!(
        fs::metadata(&this.cache).unwrap().modified().unwrap(),
        written,
        "nothing new, nothing written"
    );
    fs::remove_file(this.world.path("untracked-one")).unwrap();
    this.take();
    assert!(!this.remembers("untracked-one"), "forgotten when gone");
}

#[test]
fn edits_of_the_same_size_and_time_are_seen() {
    let this = Remembering::new(World::with_commit());
    this.world.file("untracked", "11111\n");
    this.world.file("README.md", "22222\n");
    for path in ["untracked", "README.md"] {
        this.set_time(path, 1_000_000);
    }
    wait();
    this.take();
    for (path, content) in [("untracked", "33333\n"), ("README.md", "44444\n")] {
        fs::write(this.world.path(path), content).unwrap();
        this.set_time(path, 1_000_000);
    }
    let taken = this.take();
    assert_same(&this.world, &Setting::default(), &taken);
    assert_eq!(
        this.world
            .git_line(["cat-file", "blob", &format!("{}:untracked", taken.tree())]),
        "33333"
    );
}

#[test]
fn edits_in_the_moment_of_the_snapshot_are_seen() {
    let this = Remembering::new(World::with_commit());
    // No pause: file, snapshot and next edit fall into one tick of the clock as often as not.
    for n in 0..40 {
        let content = format!("{:05}\n", n % 10);
        fs::write(this.world.path("same-size"), &content).unwrap();
        let taken = this.take();
        let blob = this
            .world
            .git_line(["cat-file", "blob", &format!("{}:same-size", taken.tree())]);
        assert_eq!(format!("{blob}\n"), content);
    }
}

#[test]
fn a_replaced_file_and_one_edited_through_another_name_are_seen() {
    let this = Remembering::new(World::with_commit());
    this.world.file("one", "11111\n");
    fs::hard_link(this.world.path("one"), this.world.root().join("other-name")).unwrap();
    this.world.file("two", "22222\n");
    this.set_time("two", 1_000_000);
    wait();
    this.take();
    fs::write(this.world.root().join("other-name"), "99999\n").unwrap();
    this.world.file("new", "88888\n");
    this.set_time("new", 1_000_000);
    fs::rename(this.world.path("new"), this.world.path("two")).unwrap();
    let taken = this.take();
    assert_same(&this.world, &Setting::default(), &taken);
}

#[test]
fn objects_that_a_gc_removed_are_written_again() {
    let this = Remembering::new(World::with_commit());
    this.world.file("untracked", "precious\n");
    wait();
    this.take();
    this.world.git(["update-ref", "-d", "refs/checkpoints/test"]).success();
    this.world.git(["reflog", "expire", "--expire=now", "--all"]).success();
    this.world.git(["gc", "--quiet", "--prune=now"]).success();
    let taken = this.take();
    assert_eq!(
        this.world
            .git_line(["cat-file", "blob", &format!("{}:untracked", taken.tree())]),
        "precious"
    );
}

#[test]
fn attributes_and_settings_that_change_are_noticed() {
    let this = Remembering::new(World::with_commit());
    this.world.file("a.txt", "a\r\nb\r\n");
    this.world.file("b.up", "text\n");
    wait();
    this.take();
    this.world
        .file(".gitattributes", "*.txt text eol=crlf\n*.up filter=upper\n");
    let taken = this.take();
    assert_same(&this.world, &Setting::default(), &taken);
    this.world.git(["config", "filter.upper.clean", "tr a-z A-Z"]).success();
    let taken = this.take();
    assert_same(&this.world, &Setting::default(), &taken);
    assert_eq!(
        this.world
            .git_line(["cat-file", "blob", &format!("{}:b.up", taken.tree())]),
        "TEXT"
    );
}

/// A change of the rules, and its name.
type SetUp<'s> = (&'s str, &'s dyn Fn(&World));

/// A filter that is set up in the second of the commit: git reads the file again as soon as it writes the index, and then it
/// is a modification.
#[test]
fn what_git_calls_modified_later_is_not_taken_for_the_file_that_it_called_unchanged() {
    let set_up: [SetUp<'_>; 3] = [
        ("a filter", &|world| {
            world.git(["config", "filter.f.clean", "tr a-z A-Z"]).success();
        }),
        ("attributes", &|world| {
            world.git(["config", "filter.g.clean", "tr a-z A-Z"]).success();
            world.file(".git/info/attributes", "*.x filter=g\n");
        }),
        ("another filter", &|world| {
            world.git(["config", "filter.f.clean", "tr a-z b-za"]).success();
            world.git(["config", "filter.f.clean", "tr a-z A-Z"]).success();
        }),
    ];
    let write_index: [&[&str]; 3] = [&["read-tree", "HEAD"], &["add", "other"], &["reset", "--quiet"]];
    for (case, set_up) in set_up {
        for write_index in write_index {
            let this = Remembering::new(World::new());
            this.world.file(".gitattributes", "*.x filter=f\n");
            this.world.file("d/a.x", "text\n");
            this.world.git(["add", "--all"]).success();
            this.world.git(["commit", "--quiet", "-m", "x"]).success();
            set_up(&this.world);
            this.world.file("other", "x\n");
            wait();
            for _ in 0..2 {
                this.take();
            }
            let before = fs::metadata(this.world.path(".git/index")).unwrap();
            this.world.git(write_index.iter().copied()).success();
            let taken = this.take();
            // git judges by whole seconds whether it has to look again.
            let file = fs::metadata(this.world.path("d/a.x")).unwrap();
            let second = |metadata: &fs::Metadata| {
                metadata
                    .modified()
                    .unwrap()
                    .duration_since(UNIX_EPOCH)
                    .unwrap()
                    .as_secs()
            };
            if second(&before) == second(&file) || write_index[0] != "add" {
                let stored = this.world.git_line(["rev-parse", &format!("{}:d/a.x", taken.tree())]);
                let by_git = this.world.git_line(["hash-object", "--path=d/a.x", "d/a.x"]);
                assert_eq!(stored, by_git, "{case}, {write_index:?}");
                assert_eq!(taken.status("modified"), ["d/a.x"], "{case}, {write_index:?}");
            }
            assert_same(&this.world, &Setting::default(), &taken);
        }
    }
}

#[test]
fn unchanged_files_whose_blobs_do_not_give_their_bytes_stay_listed() {
    let this = Remembering::new(World::new());
    this.world.git(["config", "core.autocrlf", "input"]).success();
    this.world.file("d/crlf", "a\r\nb\r\n");
    this.world.file("d/lf", "a\nb\n");
    for path in ["d/crlf", "d/lf"] {
        this.set_time(path, 1_000_000);
    }
    this.world.git(["add", "--all"]).success();
    this.world.git(["commit", "--quiet", "-m", "x"]).success();
    wait();
    for _ in 0..3 {
        let taken = this.take();
        assert_eq!(taken.list("raw"), ["d/crlf"]);
        assert_eq!(taken.count("modified"), 0, "git calls it clean");
        let blob = this
            .world
            .git(["cat-file", "blob", &format!("{}:d/crlf", taken.tree())]);
        assert_eq!(blob.stdout_bytes(), b"a\r\nb\r\n");
    }
    // The same blobs, and now the bytes are theirs.
    this.world.file("d/crlf", "a\nb\n");
    this.world.git(["add", "--all"]).success();
    let taken = this.take();
    assert!(taken.list("raw").is_empty());
    assert_same(&this.world, &Setting::default(), &taken);
}

#[test]
fn a_damaged_cache_is_as_good_as_none() {
    let this = Remembering::new(World::with_commit());
    this.world.file("untracked", "x\n");
    wait();
    let first = this.take();
    let bytes = fs::read(&this.cache).unwrap();
    for bad in [
        &bytes[..bytes.len() / 2],
        b"",
        b"nonsense",
        &[bytes.as_slice(), b"more"].concat(),
    ] {
        fs::write(&this.cache, bad).unwrap();
        assert_eq!(this.take().tree(), first.tree());
        assert_eq!(fs::read(&this.cache).unwrap().len(), bytes.len(), "written anew");
    }
    fs::remove_file(&this.cache).unwrap();
    fs::create_dir(&this.cache).unwrap();
    assert_eq!(this.take().tree(), first.tree(), "where none can be kept");
}

#[test]
fn git_lfs_content_that_is_pruned_later_is_noticed() {
    let this = Remembering::new(World::new());
    this.world.file(".gitattributes", "*.bin filter=lfs\n");
    this.world.file("a.bin", "large content");
    let sum = this.world.command("sha256sum", ["a.bin"]).run();
    let sum = sum.success().stdout().split(' ').next().unwrap().to_owned();
    let stored = this
        .world
        .path(format!(".git/lfs/objects/{}/{}/{sum}", &sum[..2], &sum[2..4]));
    fs::create_dir_all(stored.parent().unwrap()).unwrap();
    fs::copy(this.world.path("a.bin"), &stored).unwrap();
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sum}\nsize 13\n");
    fs::write(this.world.root().join("pointer"), &pointer).unwrap();
    let clean = format!("cat {}", this.world.root().join("pointer").display());
    this.world.git(["config", "filter.lfs.clean", &clean]).success();
    this.set_time("a.bin", 1_000_000);
    this.world.git(["add", "--all"]).success();
    wait();
    for _ in 0..2 {
        assert!(this.take().list("raw").is_empty());
    }
    // What `git lfs prune` removes is kept under a second name; without that it is stored again from the file.
    let kept = this
        .world
        .path(format!(".git/lfs/checkpoint/{}/{}/{sum}", &sum[..2], &sum[2..4]));
    for gone in [&[&stored][..], &[&kept], &[&stored, &kept]] {
        for path in gone {
            fs::remove_file(path).unwrap();
        }
        for _ in 0..2 {
            let taken = this.take();
            assert!(taken.list("raw").is_empty());
            assert_eq!(fs::read(&kept).unwrap(), b"large content");
            assert_eq!(taken.count("modified"), 0);
            let blob = this.world.git(["cat-file", "blob", &format!("{}:a.bin", taken.tree())]);
            blob.success().stdout_is(&pointer);
        }
        fs::create_dir_all(stored.parent().unwrap()).unwrap();
        let _ = fs::copy(&kept, &stored);
    }
}
