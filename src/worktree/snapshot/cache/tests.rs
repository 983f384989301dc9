//! Round trips of the cache.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::{Cache, CacheBuilder, CacheContent, CacheFiles, FileRecord, SKEW, UntrackedDirectory};
use crate::os::dir::{self, FileKind, FileTime, Meta};
use crate::store::ObjectId;

fn record(n: u8) -> FileRecord {
    let time = FileTime {
        seconds: -5,
        nanos: u32::from(n),
    };
    let id = |byte: u8| ObjectId::from_bytes_or_panic(&[byte; 20]);
    FileRecord {
        meta: Meta {
            kind: if n.is_multiple_of(2) {
                FileKind::File
            } else {
                FileKind::Link
            },
            mode: 0o644,
            size: 7,
            mtime: time,
            ctime: time,
            dev: 1,
            ino: u64::from(n),
            links: 1,
            uid: 3,
            gid: 4,
        },
        basis: 99,
        mode: 0o100_644,
        raw: n.is_multiple_of(3),
        pointer: n.is_multiple_of(5),
        id: id(n),
        git_id: if n.is_multiple_of(3) { id(n + 1) } else { id(n) },
    }
}

const SHA1: gix::hash::Kind = gix::hash::Kind::Sha1;

fn store(path: &Path, records: &[(Vec<u8>, FileRecord)], directories: &HashSet<u64>) {
    let next = CacheBuilder::begin(path, SHA1, 1).expect("a file");
    let old = Cache::read(path, SHA1, 1);
    let files = records
        .iter()
        .map(|(path, record)| (&path[..], record.clone()))
        .collect();
    let content = CacheContent {
        directories: directories.clone(),
        known: Vec::new(),
        files: vec![CacheFiles::Read { known: false, files }],
    };
    next.finish(&old, &content);
}

/// A known directory of two files, next to one that is not.
fn with_known(path: &Path, size: u64, again: bool) {
    let next = CacheBuilder::begin(path, SHA1, 1).expect("a file");
    let old = Cache::read(path, SHA1, 1);
    let known = UntrackedDirectory {
        path: b"b/".as_slice().into(),
        fingerprint: 8,
        size,
        tree: ObjectId::from_bytes_or_panic(&[8; 20]),
        packs: vec![7, 9],
    };
    let read = |known, paths: [&'static [u8]; 2], n: u8| CacheFiles::Read {
        known,
        files: paths.into_iter().map(|path| (path, record(n))).collect(),
    };
    let files = vec![
        read(false, [b"a/x", b"a/y"], 1),
        if again {
            CacheFiles::AsBefore(b"b/")
        } else {
            read(true, [b"b/x", b"b/y"], 2)
        },
        read(false, [b"b/c/x", b"b/c/y"], 3),
    ];
    let content = CacheContent {
        directories: HashSet::new(),
        known: vec![known],
        files,
    };
    next.finish(&old, &content);
}

#[test]
fn what_is_known_of_a_directory_is_carried_on_with_its_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("cache");
    with_known(&path, 1, false);
    let first = fs::read(&path).expect("written");
    with_known(&path, 1, true);
    assert_eq!(fs::read(&path).expect("written"), first);
    with_known(&path, 2, true);
    let cache = Cache::read(&path, SHA1, 1);
    assert_eq!(
        cache.known(b"b/").map(|known| (known.fingerprint, known.size)),
        Some((8, 2))
    );
    assert_eq!(cache.known(b"b"), None);
    assert_eq!(cache.others, 4);
    for (path, n) in [(&b"a/y"[..], 1), (b"b/x", 2), (b"b/y", 2), (b"b/c/x", 3), (b"b/c/y", 3)] {
        assert_eq!(cache.record(path, &mut 0), Some(record(n)), "{}", path.escape_ascii());
    }
}

#[test]
fn records_come_back_and_damage_is_noticed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("cache");
    let records: Vec<_> = (0..50)
        .map(|n| (format!("{n:02}/name\n").into_bytes(), record(n)))
        .collect();
    let directories = HashSet::from([5, 6]);
    store(&path, &records, &directories);
    let cache = Cache::read(&path, SHA1, 1);
    for (path, record) in &records {
        assert_eq!(cache.record(path, &mut 0).as_ref(), Some(record));
    }
    assert_eq!(cache.record(b"00/nam", &mut 0), None);
    assert!(cache.knows(5) && !cache.knows(7));
    assert_eq!(
        Cache::read(&path, SHA1, 2).record(b"00/name\n", &mut 0),
        None,
        "other settings"
    );
    let names = fs::read_dir(directory.path()).expect("listed").count();
    assert_eq!(names, 2, "nothing is left beside it but the clock");

    let good = fs::read(&path).expect("read");
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).expect("written");
        assert_eq!(
            Cache::read(&path, SHA1, 1).record(b"00/name\n", &mut 0),
            None,
            "byte {at}"
        );
        fs::write(&path, &good[..at]).expect("written");
        assert_eq!(
            Cache::read(&path, SHA1, 1).record(b"00/name\n", &mut 0),
            None,
            "cut at {at}"
        );
    }
}

#[test]
fn an_unchanged_cache_is_not_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("cache");
    let records = [(b"a".to_vec(), record(1))];
    store(&path, &records, &HashSet::from([5]));
    let before = dir::file_meta(&fs::File::open(&path).expect("opened")).expect("stat");
    store(&path, &records, &HashSet::from([5]));
    let after = dir::file_meta(&fs::File::open(&path).expect("opened")).expect("stat");
    assert_eq!((before.ino, before.mtime), (after.ino, after.mtime));
    store(&path, &records, &HashSet::from([6]));
    assert!(Cache::read(&path, SHA1, 1).knows(6));
}

#[test]
fn files_as_young_as_the_snapshot_are_not_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let next = CacheBuilder::begin(&directory.path().join("cache"), SHA1, 1).expect("a file");
    let at = |seconds: i64, nanos: u32, dev: u64| {
        let time = FileTime {
            seconds: next.began.seconds + seconds,
            nanos,
        };
        let mut meta = record(0).meta;
        (meta.mtime, meta.ctime, meta.dev) = (time, time, dev);
        next.may_keep(&meta)
    };
    assert!(at(-1, 5, next.dev));
    assert!(!at(0, next.began.nanos, next.dev), "the same moment");
    assert!(!at(1, 5, next.dev));
    assert!(!at(0, 0, next.dev), "a clock of whole seconds");
    assert!(!at(-1, 5, next.dev + 1), "another clock");
    assert!(at(-SKEW - 1, 5, next.dev + 1));
}
