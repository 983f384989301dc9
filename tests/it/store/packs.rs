//! Many saves make few packs, whatever else works on them at the same time.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use git_checkpoint::store::objects::{self, Writer};
use git_checkpoint::store::refs::{self, ExpectedValue};
use git_checkpoint::store::{Kind, checkpoint, session};

use super::{assert_clean, edit, leftovers, now, open, packs, save, settle, write_commit};
use crate::support::World;

#[test]
fn packs_stay_few_and_keep_their_objects() {
    let world = World::new();
    let repo = open(&world);
    for round in 0..60 {
        save(&repo, "s", format!("{round}").as_bytes()).unwrap();
        assert!(packs(&world) <= 10, "{} packs after {round} saves", packs(&world));
    }
    settle(&repo);
    assert!(packs(&world) <= 10, "{} packs", packs(&world));
    for round in 0..70 {
        // Slow enough for some merges to be completed.
        std::thread::sleep(std::time::Duration::from_millis(20));
        save(&repo, "s", format!("slow {round}").as_bytes()).unwrap();
        assert!(packs(&world) <= 10, "{} packs after {round} saves", packs(&world));
    }
    settle(&repo);
    assert!(packs(&world) <= 10, "{} packs", packs(&world));
    let log = world.git_line(["rev-list", "--count", "refs/checkpoints/s"]);
    assert_eq!(log, "130");
    assert_clean(&world);
    for entry in fs::read_dir(world.path(".git/objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "idx") {
            world.git(["verify-pack", path.to_str().unwrap()]).success();
        }
    }
}

/// Whatever the repository is like, and whatever limits are set: git's own collection never begins because of us.
#[test]
fn packs_stay_few_in_every_kind_of_repository() {
    type Kind<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);
    let kinds: &[Kind<'_>] = &[
        ("sha256", &["--object-format=sha256"], &[]),
        ("reftable", &["--ref-format=reftable"], &[]),
        ("shared", &["--shared=group"], &[]),
        ("a low limit", &[], &[("gc.autoPackLimit", "12")]),
        (
            "small packs",
            &[],
            &[("pack.packSizeLimit", "1m"), ("core.bigFileThreshold", "1k")],
        ),
        (
            "no delta and no compression",
            &[],
            &[("pack.window", "0"), ("core.compression", "0")],
        ),
        (
            "a multi-pack index",
            &[],
            &[("core.multiPackIndex", "true"), ("gc.writeCommitGraph", "true")],
        ),
    ];
    for (what, options, settings) in kinds {
        let world = World::without_repository();
        let init = [&["init", "--quiet", "--initial-branch=main"], *options].concat();
        world.git(init).success();
        for (key, value) in *settings {
            world.git(["config", key, value]).success();
        }
        let repo = open(&world);
        for round in 0..15 {
            save(&repo, "s", format!("{what} {round}").as_bytes()).unwrap();
            assert!(
                packs(&world) <= 10,
                "{what}: {} packs after {round} saves",
                packs(&world)
            );
            if round == 12 && what.contains("multi-pack") {
                world.git(["multi-pack-index", "write"]).success();
            }
        }
        settle(&repo);
        assert!(packs(&world) <= 10, "{what}: {} packs", packs(&world));
        world.git(["gc", "--auto"]).success().stderr_lacks("packing");
        assert_clean(&world);
    }
}

/// The ids, subjects and trailers that a chain's entries show; where it breaks, `Err`.
fn chain(world: &World) -> Vec<Result<String, String>> {
    let repo = open(world);
    let tip = refs::read(&repo, "refs/checkpoints/s").unwrap().unwrap();
    let entries = session::chain(&repo, tip);
    let told = |entry: checkpoint::CheckpointCommit| {
        let host = entry.trailers.host.unwrap_or_default();
        format!("{} {} {} {host}", entry.id, entry.subject, entry.author)
    };
    entries
        .map(|entry| entry.map(told).map_err(|fault| fault.to_string()))
        .collect()
}

#[test]
fn chains_that_git_has_packed_are_read_as_git_reads_them() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for n in 0..30 {
        // Each is most like the one before it, so that deltas become a chain.
        let words = (n..n + 40).map(|word: u32| format!("{:06x}", word.wrapping_mul(7_919_777) & 0xff_ffff));
        let summary = format!("summary {n:02} {}", words.collect::<Vec<_>>().join(" "));
        let args = ["save", "--no-files", "--allow-empty", "-m", &summary];
        world.checkpoint(args).success();
    }
    let by_git = world.git_line([
        "log",
        "--first-parent",
        "--format=%H %s %an %(trailers:key=Checkpoint-Host,valueonly,separator=)",
        "refs/checkpoints/s",
    ]);
    let by_git: Vec<Result<String, String>> = by_git.lines().map(|line| Ok(line.to_owned())).collect();
    assert_eq!((by_git.len(), &chain(&world)), (31, &by_git), "in our own packs");
    world.git(["repack", "-adfq", "--depth=50", "--window=10"]).success();
    let index = only_index(&world);
    let packed = world
        .git(["verify-pack", "-v", index.to_str().unwrap()])
        .success()
        .stdout()
        .to_owned();
    let deltas = packed
        .lines()
        .filter(|line| line.contains(" commit ") && line.split_whitespace().count() == 7);
    assert!(deltas.count() > 10 && packed.contains("chain length = 3"), "{packed}");
    assert_eq!(chain(&world), by_git, "as deltas");
    world.git(["repack", "-adfq", "--depth=0"]).success();
    assert_eq!(chain(&world), by_git, "as whole objects");
    let pack = only_index(&world).with_extension("pack");
    let loose = world.root().join("pack");
    fs::rename(&pack, &loose).unwrap();
    fs::remove_file(pack.with_extension("idx")).unwrap();
    let bytes = fs::read(&loose).unwrap();
    let unpack = world.command("git", ["unpack-objects", "-q"]).input(bytes).run();
    unpack.success();
    assert_eq!(chain(&world), by_git, "as loose objects");
}

/// Whatever byte is wrong: what is reported for a commit is what the commit says, or that it is damaged.
#[test]
fn damaged_deltas_tell_nothing_wrong() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    for n in 0..12 {
        let args = ["save", "--no-files", "--allow-empty", "-m", &format!("summary {n}")];
        world.checkpoint(args).success();
    }
    world.git(["repack", "-adfq", "--depth=50", "--window=50"]).success();
    let whole = chain(&world);
    let path = only_index(&world).with_extension("pack");
    let bytes = fs::read(&path).unwrap();
    let mut damaged = 0;
    for place in (12..bytes.len() - 20).step_by(7) {
        let mut wrong = bytes.clone();
        wrong[place] ^= 0x55;
        fs::remove_file(&path).unwrap();
        fs::write(&path, wrong).unwrap();
        for (found, wanted) in chain(&world).iter().zip(&whole) {
            match found {
                Ok(_) => assert_eq!(found, wanted, "byte {place}"),
                Err(_) => damaged += 1,
            }
        }
    }
    assert!(damaged > 5, "{damaged}");
}

fn only_index(world: &World) -> PathBuf {
    let directory = fs::read_dir(world.path(".git/objects/pack")).unwrap();
    let paths = directory.map(|entry| entry.unwrap().path());
    let found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "idx"))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn many_sessions_are_few_packs() {
    let world = World::with_commit();
    for n in 0..40 {
        world.checkpoint(["start", &format!("s{n}")]).success();
    }
    for n in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(30));
        world.checkpoint(["start", &format!("t{n}")]).success();
    }
    assert!(packs(&world) <= 19, "{} packs", packs(&world));
    let listed = world.checkpoint(["list", "--json"]).success().stdout_json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 43);
    let fine = |session: &serde_json::Value| session["status"] == "active";
    assert!(listed["sessions"].as_array().unwrap().iter().all(fine), "{listed}");
    assert_clean(&world);
}

#[test]
fn others_packs_and_kept_ones_are_left_alone() {
    let world = World::with_commit();
    world.git(["gc", "--quiet"]).success();
    let repo = open(&world);
    save(&repo, "s", b"kept by the user").unwrap();
    let ours = || {
        let directory = fs::read_dir(world.path(".git/objects/pack")).unwrap();
        let mut found: Vec<_> = directory.map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found.retain(|path| path.extension().is_some_and(|extension| extension == "pack"));
        found
    };
    let before = ours();
    assert_eq!(before.len(), 2);
    for pack in &before {
        fs::write(pack.with_extension("keep"), "the user's").unwrap();
    }
    for round in 0..40 {
        save(&repo, "s", format!("{round}").as_bytes()).unwrap();
    }
    for pack in &before {
        assert!(
            pack.exists() && pack.with_extension("keep").exists(),
            "{}",
            pack.display()
        );
        fs::remove_file(pack.with_extension("keep")).unwrap();
    }
    settle(&repo);
    assert!(packs(&world) <= 19, "{} packs", packs(&world));
    assert_clean(&world);
}

#[test]
fn a_damaged_pack_is_neither_copied_nor_removed() {
    // In its first entry, and in its last one, before which others would have been copied.
    for from_end in [false, true] {
        damaged(from_end);
    }
}

fn damaged(from_end: bool) {
    let world = World::new();
    let repo = open(&world);
    save(&repo, "s", b"to be damaged").unwrap();
    let directory = || {
        fs::read_dir(world.path(".git/objects/pack"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let pack = directory()
        .find(|path| path.extension().is_some_and(|extension| extension == "pack"))
        .unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    let at = if from_end { bytes.len() - 23 } else { 30 };
    bytes[at] ^= 0x40;
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, bytes).unwrap();
    for round in 0..30 {
        let writer = Writer::durable(&repo).unwrap();
        let id = write_commit(&writer, format!("{round}").as_bytes(), None).unwrap();
        let sealed = writer.finish().unwrap();
        let who = git_checkpoint::store::who(&repo, now(0));
        let name = format!("refs/checkpoints/s{round}");
        refs::update(
            &repo,
            &[edit(&name, ExpectedValue::Absent, Some(id))],
            &who,
            super::WAIT,
        )
        .unwrap();
        assert!(sealed.release().is_none());
        objects::consolidate(&repo).unwrap();
    }
    settle(&repo);
    assert!(pack.exists());
    assert!(packs(&world) <= 18, "{} packs", packs(&world));
    for index in directory().filter(|path| path.extension().is_some_and(|extension| extension == "idx")) {
        if index.with_extension("pack") != pack {
            world.git(["verify-pack", index.to_str().unwrap()]).success();
        }
    }
}

#[test]
fn a_reader_finds_every_object_while_packs_are_merged() {
    let world = World::new();
    let repo = open(&world);
    let first = save(&repo, "s", b"first").unwrap();
    let mut reader = std::process::Command::new("git")
        .args(["cat-file", "--batch-check"])
        .current_dir(world.repo())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut questions = reader.stdin.take().unwrap();
    let mut answers = BufReader::new(reader.stdout.take().unwrap());
    let mut ids = vec![first];
    for round in 0..60 {
        ids.push(save(&repo, "s", format!("{round}").as_bytes()).unwrap());
        for id in &ids {
            writeln!(questions, "{id}").unwrap();
            let mut answer = String::new();
            answers.read_line(&mut answer).unwrap();
            assert!(
                answer.starts_with(&format!("{id} commit ")),
                "after {round} saves: {answer}"
            );
        }
        // gix as well, with a handle from before.
        assert!(ids.iter().all(|id| repo.find_commit(*id).is_ok()));
    }
    drop(questions);
    reader.wait().unwrap();
    assert_clean(&world);
}

#[test]
fn a_gc_at_once_removes_neither_what_is_sealed_nor_what_is_written() {
    let world = World::new();
    let repo = open(&world);
    let writer = Writer::durable(&repo).unwrap();
    let id = write_commit(&writer, b"not named yet", None).unwrap();
    // Large enough for a temporary file, which git must not take for its own.
    writer
        .write_stream(
            Kind::Blob,
            10 << 20,
            &mut std::io::Read::take(super::actor::Noise(5), 10 << 20),
        )
        .unwrap();
    world.git(["gc", "--quiet", "--prune=now"]).success();
    let sealed = writer.finish().unwrap();
    world.git(["gc", "--quiet", "--prune=now"]).success();
    world.git(["repack", "-a", "-d", "--quiet"]).success();
    let who = git_checkpoint::store::who(&repo, now(0));
    refs::update(
        &repo,
        &[edit("refs/checkpoints/s", ExpectedValue::Absent, Some(id))],
        &who,
        super::WAIT,
    )
    .unwrap();
    assert!(sealed.release().is_none());
    world.git(["gc", "--quiet", "--prune=now"]).success();
    assert_clean(&world);
    assert_eq!(world.git_line(["show", "refs/checkpoints/s:file.txt"]), "not named yet");
}

#[test]
fn what_dead_processes_left_is_swept_and_nothing_else() {
    let world = World::new();
    let repo = open(&world);
    save(&repo, "s", b"hello").unwrap();
    let directory = world.path(".git/objects/pack");
    let pack = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let pack = pack
        .into_iter()
        .find(|path| path.extension().is_some_and(|found| found == "pack"))
        .unwrap();
    // Of a dead process: a temporary file, a keep with and without text, a pack without an index.
    fs::write(directory.join("checkpoint_tmp_abc"), "half a pack").unwrap();
    fs::write(pack.with_extension("keep"), "").unwrap();
    // Somebody else's.
    fs::write(directory.join("tmp_pack_abc"), "git's").unwrap();
    fs::write(directory.join("pack-da39a3ee5e6b4b0d3255bfef95601890afd80709.keep"), "").unwrap();
    fs::write(directory.join("pack-da39a3ee5e6b4b0d3255bfef95601890afd80709.pack"), "").unwrap();
    // Of a living one.
    let writer = Writer::durable(&repo).unwrap();
    writer
        .write_stream(
            Kind::Blob,
            10 << 20,
            &mut std::io::Read::take(super::actor::Noise(5), 10 << 20),
        )
        .unwrap();
    let other = Writer::durable(&repo).unwrap();
    write_commit(&other, b"sealed", None).unwrap();
    let sealed = other.finish().unwrap();
    objects::sweep(&repo).unwrap();
    let left = leftovers(&world.path(".git"));
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(directory.join("tmp_pack_abc").exists());
    drop((writer, sealed));
    fs::remove_file(pack.with_extension("idx")).unwrap();
    objects::sweep(&repo).unwrap();
    assert!(!pack.exists());
    let left = leftovers(&world.path(".git"));
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_gc_at_work_is_left_alone_and_a_dead_one_is_not_waited_for() {
    let world = World::new();
    let repo = open(&world);
    let host = git_checkpoint::os::host_name();
    fs::write(world.path(".git/gc.pid"), format!("{} {host}", std::process::id())).unwrap();
    for round in 0..20 {
        save(&repo, "s", format!("{round}").as_bytes()).unwrap();
    }
    settle(&repo);
    assert_eq!(packs(&world), 20);
    // No process has this number: it is above what the kernel gives.
    fs::write(world.path(".git/gc.pid"), format!("999999999 {host}")).unwrap();
    settle(&repo);
    assert!(packs(&world) <= 10, "{} packs", packs(&world));
    fs::remove_file(world.path(".git/gc.pid")).unwrap();
    assert_clean(&world);
}
