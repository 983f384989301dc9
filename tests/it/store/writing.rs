//! What the writer stores, git reads; what cannot be stored leaves nothing.

use std::fs;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use git_checkpoint::store::objects::{StreamError, Writer};
use git_checkpoint::store::refs::{self, ExpectedValue};
use git_checkpoint::store::{Kind, ObjectId};

use super::actor::Noise;
use super::{assert_clean, edit, leftovers, now, open, packs, save, write_commit};
use crate::support::World;

/// Puts a ref on the commit, so that fsck looks at it.
fn point(world: &World, id: ObjectId) {
    let repo = open(world);
    let who = git_checkpoint::store::who(&repo, now(0));
    refs::update(
        &repo,
        &[edit("refs/checkpoints/s", ExpectedValue::Any, Some(id))],
        &who,
        super::WAIT,
    )
    .unwrap();
}

fn noise(size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    Noise(size as u64 + 1)
        .take(size as u64)
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

fn round_trip(world: &World) {
    let repo = open(world);
    let writer = Writer::durable(&repo).unwrap();
    let contents = [0, 1, 15, 16, 100, 70_000, 300_000].map(noise);
    let mut ids: Vec<_> = contents
        .iter()
        .map(|bytes| writer.write(Kind::Blob, bytes).unwrap())
        .collect();
    let text = "the same line over and over\n".repeat(100_000).into_bytes();
    ids.push(
        writer
            .write_stream(Kind::Blob, text.len() as u64, &mut Cursor::new(&text))
            .unwrap(),
    );
    let empty = writer.write(Kind::Tree, b"").unwrap();
    let commit = write_commit(&writer, b"hello", None).unwrap();
    assert_eq!(packs(world), 0, "a small pack stays in memory until it is finished");
    let sealed = writer.finish().unwrap();
    assert_eq!(sealed.written().len(), 8 + 1 + 3);
    assert!(sealed.relied_on().is_empty());
    assert!(
        leftovers(&world.path(".git")).iter().all(|path| path.contains(".keep")),
        "protected until released"
    );
    point(world, commit);
    assert!(sealed.release().is_none());
    for (id, bytes) in ids.iter().zip(contents.iter().chain([&text])) {
        let shown = world.git(["cat-file", "blob", &id.to_string()]);
        assert!(shown.success().stdout_bytes() == bytes, "{id}");
    }
    assert_eq!(world.git_line(["cat-file", "-t", &empty.to_string()]), "tree");
    assert_clean(world);
    let pack = fs::read_dir(world.path(".git/objects/pack"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for path in pack {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o444, "{}", path.display());
        if path.extension().is_some_and(|extension| extension == "idx") {
            world.git(["verify-pack", path.to_str().unwrap()]).success();
        }
    }
    // Once more: all of it is there, and some ref holds it.
    let writer = Writer::durable(&open(world)).unwrap();
    writer.trust(ids.iter().copied());
    for bytes in &contents {
        writer.write(Kind::Blob, bytes).unwrap();
    }
    writer
        .write_stream(Kind::Blob, text.len() as u64, &mut Cursor::new(&text))
        .unwrap();
    let sealed = writer.finish().unwrap();
    assert!(sealed.written().is_empty());
    assert_eq!(sealed.relied_on().len(), 8);
    drop(sealed);
    assert_eq!(packs(world), 1);
}

#[test]
fn git_reads_what_is_written() {
    round_trip(&World::new());
}

#[test]
fn git_reads_what_is_written_with_sha256() {
    let world = World::without_repository();
    world.git(["init", "--quiet", "--object-format=sha256"]).success();
    round_trip(&world);
}

#[test]
fn large_objects_go_through_a_file_and_changed_ones_leave_no_trace() {
    let world = World::new();
    let repo = open(&world);
    let writer = Writer::durable(&repo).unwrap();
    let before = writer.write(Kind::Blob, b"before").unwrap();
    for (announced, given) in [(20 << 20, 19 << 20), (10 << 20, 20 << 20), (100, 99), (100, 101)] {
        let result = writer.write_stream(Kind::Blob, announced, &mut Noise(7).take(given));
        let Err(StreamError::Changed { expected, found }) = result else {
            panic!("{result:?}")
        };
        assert_eq!((expected, found), (announced, given.min(announced + 1)));
    }
    let mut failing = Noise(3).take(12 << 20).chain(Failing);
    let result = writer.write_stream(Kind::Blob, 30 << 20, &mut failing);
    assert!(matches!(result, Err(StreamError::Read(_))), "{result:?}");
    let large = writer
        .write_stream(Kind::Blob, 20 << 20, &mut Noise(9).take(20 << 20))
        .unwrap();
    let after = writer.write(Kind::Blob, b"after").unwrap();
    assert_eq!(writer.get(&before).unwrap(), Some((Kind::Blob, b"before".to_vec())));
    assert_eq!(writer.get(&after).unwrap(), Some((Kind::Blob, b"after".to_vec())));
    assert_eq!(writer.get(&large).unwrap().unwrap().1.len(), 20 << 20);
    let commit = write_commit(&writer, b"hello", None).unwrap();
    let sealed = writer.finish().unwrap();
    assert_eq!(sealed.written().len(), 3 + 3);
    point(&world, commit);
    assert!(sealed.release().is_none());
    assert_clean(&world);
    let mut wanted = Vec::new();
    Noise(9).take(20 << 20).read_to_end(&mut wanted).unwrap();
    assert!(
        world
            .git(["cat-file", "blob", &large.to_string()])
            .success()
            .stdout_bytes()
            == wanted
    );
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the disk is on fire"))
    }
}

fn hash_object(world: &World, bytes: &[u8]) -> String {
    let stored = world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input(bytes)
        .run();
    stored.success().stdout().trim().to_owned()
}

fn loose(world: &World, id: &str) -> PathBuf {
    world.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]))
}

#[test]
fn a_damaged_loose_object_is_written_again() {
    let world = World::new();
    let valid_other = {
        let id = hash_object(&world, b"other");
        fs::read(loose(&world, &id)).unwrap()
    };
    for damage in [b"".to_vec(), b"garbage".to_vec(), valid_other] {
        let id = hash_object(&world, b"wanted");
        let path = loose(&world, &id);
        fs::remove_file(&path).unwrap();
        fs::write(&path, damage).unwrap();
        let writer = Writer::durable(&open(&world)).unwrap();
        writer.trust([id.parse().unwrap()]);
        assert_eq!(writer.write(Kind::Blob, b"wanted").unwrap().to_string(), id);
        let sealed = writer.finish().unwrap();
        assert_eq!(sealed.written().len(), 1);
        // git reads the sound copy although the damaged one has the name.
        assert_eq!(world.git(["cat-file", "blob", &id]).success().stdout(), "wanted");
        drop(sealed);
        fs::remove_dir_all(world.path(".git/objects/pack")).unwrap();
        fs::create_dir(world.path(".git/objects/pack")).unwrap();
        fs::remove_file(&path).unwrap();
    }
    // A truncated one, and one with bytes behind its end.
    let id = hash_object(&world, &noise(200_000));
    let path = loose(&world, &id);
    let sound = fs::read(&path).unwrap();
    for damage in [&sound[..sound.len() - 1], &[&sound, &b"x"[..]].concat()] {
        fs::remove_file(&path).unwrap();
        fs::write(&path, damage).unwrap();
        let writer = Writer::durable(&open(&world)).unwrap();
        writer.trust([id.parse().unwrap()]);
        writer.write(Kind::Blob, &noise(200_000)).unwrap();
        assert!(writer.contains(&id.parse().unwrap()));
    }
    fs::remove_file(&path).unwrap();
    fs::write(&path, &sound).unwrap();
    for trusted in [true, false] {
        let writer = Writer::durable(&open(&world)).unwrap();
        writer.trust(trusted.then(|| id.parse().unwrap()));
        writer.write(Kind::Blob, &noise(200_000)).unwrap();
        let written = writer.contains(&id.parse().unwrap());
        assert_ne!(
            written, trusted,
            "a sound one is written again only if no ref is known to hold it"
        );
    }
}

#[test]
fn what_is_found_is_freshened() {
    let world = World::with_commit();
    let old = SystemTime::now() - Duration::from_secs(40 * 24 * 3600);
    let blob = world.git_line(["rev-parse", "HEAD:README.md"]);
    let path = loose(&world, &blob);
    fs::File::open(&path).unwrap().set_modified(old).unwrap();
    let writer = Writer::durable(&open(&world)).unwrap();
    writer.trust([blob.parse().unwrap()]);
    writer.write(Kind::Blob, b"hello\n").unwrap();
    let age = |path: &PathBuf| {
        fs::metadata(path)
            .unwrap()
            .modified()
            .unwrap()
            .elapsed()
            .unwrap_or_default()
    };
    assert!(age(&path) < Duration::from_secs(3600));
    drop(writer);
    world.git(["gc", "--quiet"]).success();
    let pack = fs::read_dir(world.path(".git/objects/pack"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let pack = pack
        .into_iter()
        .find(|path| path.extension().is_some_and(|found| found == "pack"))
        .unwrap();
    fs::File::open(&pack).unwrap().set_modified(old).unwrap();
    let writer = Writer::durable(&open(&world)).unwrap();
    writer.trust([blob.parse().unwrap()]);
    writer.write(Kind::Blob, b"hello\n").unwrap();
    assert!(age(&pack) < Duration::from_secs(3600));
    let sealed = writer.finish().unwrap();
    assert_eq!(sealed.relied_on(), [blob.parse::<ObjectId>().unwrap()]);
    assert_eq!(packs(&world), 1);
}

#[test]
fn objects_of_alternates_count() {
    let world = World::with_commit();
    world.git(["clone", "--quiet", "--shared", ".", "../other"]).success();
    world.enter("other");
    let writer = Writer::durable(&open(&world)).unwrap();
    writer.trust([world.git_line(["rev-parse", "HEAD:README.md"]).parse().unwrap()]);
    writer.write(Kind::Blob, b"hello\n").unwrap();
    let sealed = writer.finish().unwrap();
    assert_eq!((sealed.written().len(), sealed.relied_on().len()), (0, 1));
}

#[test]
fn the_memory_form_stores_nothing_and_can_be_read() {
    let world = World::with_commit();
    let before = world.git(["count-objects", "-v"]).stdout().to_owned();
    let repo = open(&world);
    let writer = Writer::memory(&repo);
    let commit = write_commit(&writer, b"only in memory", None).unwrap();
    let streamed = writer.write_stream(Kind::Blob, 5, &mut Cursor::new(b"12345")).unwrap();
    assert_eq!(streamed, writer.hash_only(Kind::Blob, b"12345").unwrap());
    assert!(writer.write_stream(Kind::Blob, 5, &mut Cursor::new(b"1234")).is_err());
    let overlay = writer.overlay(&repo);
    let tree = overlay.find_commit(commit).unwrap().tree().unwrap();
    let entry = tree.lookup_entry_by_path("file.txt").unwrap().unwrap();
    assert_eq!(entry.object().unwrap().data, b"only in memory");
    assert!(!repo.has_object(commit));
    assert_eq!(writer.get(&commit).unwrap().unwrap().0, Kind::Commit);
    assert!(writer.finish().unwrap().written().is_empty());
    assert_eq!(world.git(["count-objects", "-v"]).stdout(), before);
    // The durable form shows its trees before they are in place.
    let writer = Writer::durable(&repo).unwrap();
    let commit = write_commit(&writer, b"soon on disk", None).unwrap();
    assert!(writer.overlay(&repo).find_commit(commit).unwrap().tree().is_ok());
}

#[test]
fn threads_share_a_writer() {
    let world = World::new();
    let repo = open(&world);
    let writer = Writer::durable(&repo).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let writer = &writer;
            scope.spawn(move || {
                for number in 0..300_usize {
                    // Every object is written by two threads.
                    let bytes = noise((number * 2 + thread / 2) * 40);
                    if number % 50 == 0 {
                        writer
                            .write_stream(Kind::Blob, bytes.len() as u64, &mut Cursor::new(bytes))
                            .unwrap();
                    } else {
                        writer.write(Kind::Blob, &bytes).unwrap();
                    }
                }
            });
        }
    });
    let commit = write_commit(&writer, b"hello", None).unwrap();
    let sealed = writer.finish().unwrap();
    assert_eq!(sealed.written().len(), 600 + 3);
    point(&world, commit);
    assert!(sealed.release().is_none());
    assert_clean(&world);
}

#[test]
fn an_abandoned_writer_leaves_nothing() {
    let world = World::new();
    let repo = open(&world);
    let writer = Writer::durable(&repo).unwrap();
    writer
        .write_stream(Kind::Blob, 10 << 20, &mut Noise(9).take(10 << 20))
        .unwrap();
    assert_eq!(leftovers(&world.path(".git")).len(), 1);
    drop(writer);
    let writer = Writer::durable(&repo).unwrap();
    writer.write(Kind::Blob, b"sealed, but no ref came").unwrap();
    drop(writer.finish().unwrap());
    assert_clean(&world);
    save(&repo, "s", b"hello").unwrap();
    assert_clean(&world);
}

#[test]
fn a_shared_repository_stays_shared() {
    let world = World::without_repository();
    world.git(["init", "--quiet", "--shared=group"]).success();
    let repo = open(&world);
    save(&repo, "s", b"hello").unwrap();
    let mode = |path: &std::path::Path| {
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o7777
    };
    for entry in fs::read_dir(world.path(".git/objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o440, 0o440, "{}", path.display());
        assert_eq!(mode(&path) & 0o222, 0, "{}", path.display());
    }
    assert_eq!(mode(&world.path(".git/refs/checkpoints")) & 0o2070, 0o2070);
    assert_eq!(mode(&world.path(".git/refs/checkpoints/s")) & 0o060, 0o060);
    assert_eq!(mode(&world.path(".git/logs/refs/checkpoints/s")) & 0o060, 0o060);
    assert_eq!(mode(&world.path(".git/checkpoint")), 0o2770);
    assert_clean(&world);
}

#[test]
fn own_files_are_private_elsewhere() {
    let world = World::new();
    save(&open(&world), "s", b"hello").unwrap();
    let mode = |path: &std::path::Path| {
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
    };
    let mut directories = vec![world.path(".git/checkpoint")];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                files += 1;
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
    assert!(files > 0);
}
