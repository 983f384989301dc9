//! What git makes of `git init`, and of a first commit: made by git once, and written from memory for each world. With
//! git itself these are four processes for each of a thousand worlds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use gix::index::entry::Stat;
use gix::index::fs::Metadata;
use gix::index::write::{Extensions, Options};

use super::World;

/// All of a directory, each directory before what is in it.
pub(super) struct Template(Vec<(PathBuf, Content)>);

enum Content {
    Directory,
    File(Vec<u8>, fs::Permissions),
}

impl Template {
    /// An empty repository on branch `main`.
    pub(super) fn empty() -> &'static Self {
        static EMPTY: OnceLock<Template> = OnceLock::new();
        EMPTY.get_or_init(|| {
            let world = World::without_repository();
            world.git(["init", "--quiet", "--initial-branch=main"]).success();
            Self::of(&world.repo())
        })
    }

    /// The same with one commit of `README.md` and `src/main.txt`, made when the third command of a world runs.
    pub(super) fn with_commit() -> &'static Self {
        static WITH_COMMIT: OnceLock<Template> = OnceLock::new();
        WITH_COMMIT.get_or_init(|| {
            let world = World::new();
            world.file("README.md", "hello\n");
            world.file("src/main.txt", "one\ntwo\nthree\n");
            world.git(["add", "--all"]).success();
            world.git(["commit", "--quiet", "-m", "first"]).success();
            Self::of(&world.repo())
        })
    }

    fn of(root: &Path) -> Self {
        let mut all = Vec::new();
        let mut directories = vec![PathBuf::new()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(root.join(&directory)).unwrap() {
                let path = directory.join(entry.unwrap().file_name());
                let full = root.join(&path);
                let data = fs::symlink_metadata(&full).unwrap();
                if data.is_dir() {
                    all.push((path.clone(), Content::Directory));
                    directories.push(path);
                } else {
                    assert!(data.is_file(), "{}", full.display());
                    all.push((path, Content::File(fs::read(&full).unwrap(), data.permissions())));
                }
            }
        }
        Self(all)
    }

    /// Writes it to an empty directory. The index, if there is one, knows the files as they are then.
    pub(super) fn write(&self, to: &Path) {
        // As long ago as between a file and its commit at the terminal: git trusts no file that is as young as its index.
        let before = SystemTime::now() - Duration::from_secs(2);
        for (path, content) in &self.0 {
            let full = to.join(path);
            match content {
                Content::Directory => fs::create_dir(&full).unwrap(),
                Content::File(bytes, permissions) => {
                    fs::write(&full, bytes).unwrap();
                    if !path.starts_with(".git") {
                        fs::File::options()
                            .write(true)
                            .open(&full)
                            .and_then(|file| file.set_modified(before))
                            .unwrap();
                    }
                    if permissions.readonly() || path.starts_with(".git/hooks") {
                        fs::set_permissions(&full, permissions.clone()).unwrap();
                    }
                }
            }
        }
        let index = to.join(".git/index");
        if index.exists() {
            refresh(to, index);
        }
    }
}

/// Gives the entries of an index the stat data of the files.
fn refresh(worktree: &Path, index: PathBuf) {
    let mut index = gix::index::File::at(
        index,
        gix::hash::Kind::Sha1,
        false,
        gix::index::decode::Options::default(),
    )
    .unwrap();
    for (entry, path) in index.entries_mut_with_paths() {
        let file = Metadata::from_path_no_follow(&worktree.join(path.to_string())).unwrap();
        entry.stat = Stat::from_fs(&file).unwrap();
    }
    // What git wrote, and nothing that it did not.
    let extensions = Extensions::Given {
        tree_cache: true,
        end_of_index_entry: false,
    };
    let mut bytes = Vec::new();
    let options = Options {
        extensions,
        skip_hash: false,
    };
    index.write_to(&mut bytes, options).unwrap();
    fs::write(index.path(), bytes).unwrap();
}
