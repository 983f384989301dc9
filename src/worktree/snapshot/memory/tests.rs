//! Round trips of the memory, and cases in which it must not be trusted.

use std::fs;
use std::path::Path;

use super::{CachedDirectory, SnapshotInputs, SnapshotMemory};
use crate::os::dir::{Dir, DirNames, FileTime, Meta};
use crate::worktree::snapshot::cache::CacheBuilder;

const SHA1: gix::hash::Kind = gix::hash::Kind::Sha1;

/// A directory with a few files, and what is next to it.
struct Place {
    directory: tempfile::TempDir,
}

/// Where they lie, if that is a file system that is believed.
fn place() -> Option<Place> {
    let place = Place::new();
    let dir = Dir::open(&place.root()).expect("opened");
    dir.local_device().map(|_| place)
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(directory.path().join("root/in")).expect("made");
        for name in ["root/one", "root/two", "root/in/three"] {
            fs::write(directory.path().join(name), name).expect("written");
        }
        std::thread::sleep(std::time::Duration::from_millis(30));
        Self { directory }
    }

    fn cache(&self) -> std::path::PathBuf {
        self.directory.path().join("cache")
    }

    fn root(&self) -> std::path::PathBuf {
        self.directory.path().join("root")
    }

    fn next(&self) -> CacheBuilder {
        CacheBuilder::begin(&self.cache(), SHA1, 1).expect("a file")
    }

    fn write(&self) {
        let next = self.next();
        let of = |path: &Path| {
            let (meta, names, metas) = listed(path);
            CachedDirectory::of(&meta, &names, &metas, &next).expect("old enough")
        };
        let (root, inside) = (of(&self.root()), of(&self.root().join("in")));
        let directories = [(Vec::new(), &root), (b"in/".to_vec(), &inside)];
        let around = SnapshotInputs {
            digest: 1,
            index: Some(2),
        };
        SnapshotMemory::read(&self.cache()).replace(&self.cache(), &around, None, (&directories, false));
    }

    /// Whether each of the two directories has the names that it had, and whether all is as it was.
    fn look(&self) -> ([Option<usize>; 2], bool) {
        let device = Dir::open(&self.root()).expect("opened").meta().expect("told").dev;
        let seen = SnapshotMemory::read(&self.cache());
        let look = seen.look(&self.root(), Some(device), None, (None, 2));
        let names = [&b""[..], b"in/"].map(|path| {
            let mut names = DirNames::default();
            look.take(path, &mut names).map(|metas| {
                assert_eq!(metas.len(), names.len());
                names.len()
            })
        });
        (names, look.is_same())
    }
}

/// A directory, its names, and what is said of the files in it.
fn listed(path: &Path) -> (Meta, DirNames, Vec<Option<Meta>>) {
    let dir = Dir::open(path).expect("opened");
    let mut names = DirNames::default();
    dir.read(&mut names).expect("listed");
    let metas = (0..names.len())
        .map(|at| {
            dir.stat_at(&names, at)
                .ok()
                .filter(|meta| meta.kind == crate::os::dir::FileKind::File)
        })
        .collect();
    (dir.meta().expect("told"), names, metas)
}

#[test]
fn what_was_seen_comes_back_and_changes_are_told() {
    let Some(place) = place() else { return };
    assert_eq!(place.look(), ([None, None], false), "nothing yet");
    place.write();
    assert_eq!(place.look(), ([Some(3), Some(1)], true));
    fs::write(place.root().join("in/three"), "other").expect("written");
    assert_eq!(place.look(), ([Some(3), Some(1)], false), "an edit");
    fs::write(place.root().join("in/four"), "new").expect("written");
    assert_eq!(place.look(), ([Some(3), None], false), "a name");
    fs::remove_file(place.root().join("one")).expect("removed");
    assert_eq!(place.look(), ([None, None], false), "a name less");
}

#[test]
fn the_same_is_not_written_again() {
    let Some(place) = place() else { return };
    place.write();
    let path = super::place(&place.cache());
    let file = |path: &Path| crate::os::dir::file_meta(&fs::File::open(path).expect("opened")).expect("told");
    let before = file(&path);
    place.write();
    assert_eq!(file(&path), before);
    fs::write(place.root().join("one"), "other").expect("written");
    std::thread::sleep(std::time::Duration::from_millis(30));
    place.write();
    assert_ne!(file(&path).ino, before.ino);
    assert_eq!(place.look(), ([Some(3), Some(1)], true));
}

#[test]
fn damage_is_noticed() {
    let Some(place) = place() else { return };
    place.write();
    let path = super::place(&place.cache());
    let good = fs::read(&path).expect("read");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).expect("written");
        assert!(!place.look().1, "byte {at}");
        fs::write(&path, &good[..at]).expect("written");
        assert!(!place.look().1, "cut at {at}");
    }
}

#[test]
fn what_is_as_young_as_the_snapshot_is_not_believed() {
    let Some(place) = place() else { return };
    let (meta, names, metas) = listed(&place.root());
    let next = place.next();
    assert!(CachedDirectory::of(&meta, &names, &metas, &next).is_some_and(|directory| directory.is_sure()));
    // As a name or an edit of the moment at which the snapshot began would be, and one after it.
    for seconds in [0, 1] {
        let young = |meta: &Meta| {
            let clock =
                crate::os::dir::file_meta(&fs::File::open(place.cache().with_extension("clock")).expect("opened"));
            let began = clock.expect("told").mtime;
            let time = FileTime {
                seconds: began.seconds + seconds,
                ..began
            };
            Meta {
                mtime: time,
                ctime: time,
                ..*meta
            }
        };
        assert!(
            CachedDirectory::of(&young(&meta), &names, &metas, &next).is_none(),
            "the directory"
        );
        let files: Vec<_> = metas.iter().map(|meta| meta.as_ref().map(young)).collect();
        let directory = CachedDirectory::of(&meta, &names, &files, &next).expect("its names are old");
        assert!(!directory.is_sure(), "its files");
    }
    let elsewhere = |meta: &Meta| Meta {
        dev: meta.dev + 1,
        ..*meta
    };
    let files: Vec<_> = metas.iter().map(|meta| meta.as_ref().map(elsewhere)).collect();
    let directory = CachedDirectory::of(&meta, &names, &files, &next).expect("its names are old");
    assert!(!directory.is_sure(), "a file of another device");
}
