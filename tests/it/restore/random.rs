//! Random working trees: saved, scrambled, restored, and the scrambled one brought back.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git_checkpoint::model::plan::Act;
use proptest::prelude::*;

use super::{chmod, disk, planned, restore, save};
use crate::support::World;

/// One random change of the disk.
#[derive(Debug, Clone)]
enum Change {
    File(Vec<u8>, Vec<u8>, u32),
    Link(Vec<u8>, Vec<u8>),
    Folder(Vec<u8>),
    Remove(Vec<u8>),
    Ignore(Vec<u8>),
    Attributes(usize),
}

const ATTRIBUTES: [&str; 4] = ["", "* text=auto\n", "*a text eol=crlf\n*b -text\n", "* text eol=crlf\n"];

fn name() -> impl Strategy<Value = Vec<u8>> {
    // Few names, so that files, links and directories take each other's place.
    prop_oneof![
        8 => prop::sample::select(vec![&b"a"[..], b"b", b"c", b"d"]).prop_map(<[u8]>::to_vec),
        1 => prop::sample::select(vec![&b"nl\nx"[..], b"\xff", b" s ", b"-f", b"*", b":x", b"q\"", "\u{e9}".as_bytes()]).prop_map(<[u8]>::to_vec),
    ]
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join(&b'/'))
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"".to_vec()),
        Just(b"a\nb\n".to_vec()),
        Just(b"a\r\nb\r\n".to_vec()),
        Just(b"a\r\nb\n".to_vec()),
        Just(b"x\0\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (path(), content(), prop::sample::select(vec![0o644, 0o755, 0o600, 0o444, 0o640])).prop_map(|(p, c, m)| Change::File(p, c, m)),
        2 => (path(), path()).prop_map(|(p, t)| Change::Link(p, t)),
        2 => path().prop_map(Change::Folder),
        3 => path().prop_map(Change::Remove),
        1 => name().prop_map(Change::Ignore),
        1 => (0..ATTRIBUTES.len()).prop_map(Change::Attributes),
    ]
}

fn below(world: &World, path: &[u8]) -> PathBuf {
    world.repo().join(std::ffi::OsStr::from_bytes(path))
}

fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes room for something at a path: nothing there, and directories above it.
fn room(world: &World, path: &[u8]) -> PathBuf {
    let mut at = world.repo();
    let names: Vec<_> = path.split(|byte| *byte == b'/').collect();
    for name in &names[..names.len() - 1] {
        at.push(std::ffi::OsStr::from_bytes(name));
        if !fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_dir()) {
            clear(&at);
            fs::create_dir(&at).unwrap();
        }
    }
    at.push(std::ffi::OsStr::from_bytes(names[names.len() - 1]));
    clear(&at);
    at
}

fn apply(world: &World, change: &Change, ignoring: bool) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    match change {
        Change::File(path, content, mode) => {
            let path = room(world, path);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        Change::Link(path, target) => symlink(std::ffi::OsStr::from_bytes(target), room(world, path)).unwrap(),
        Change::Folder(path) => fs::create_dir(room(world, path)).unwrap(),
        Change::Remove(path) => {
            let parent = below(world, path);
            // Not through links.
            let canonical = parent.parent().and_then(|parent| parent.canonicalize().ok());
            if canonical.as_deref() == parent.parent() {
                clear(&parent);
            }
        }
        Change::Ignore(name) if ignoring => {
            let mut rules = fs::read(world.path(".gitignore")).unwrap_or_default();
            rules.extend_from_slice(b"/");
            rules.extend(
                name.iter()
                    .flat_map(|byte| [b'\\', *byte])
                    .filter(|byte| *byte != b'\n'),
            );
            rules.push(b'\n');
            clear(&world.path(".gitignore"));
            fs::write(world.path(".gitignore"), rules).unwrap();
        }
        Change::Ignore(_) => {}
        Change::Attributes(which) => {
            clear(&world.path(".gitattributes"));
            fs::write(world.path(".gitattributes"), ATTRIBUTES[*which]).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_saved_comes_back(
        first in prop::collection::vec(change(), 0..25),
        commit in any::<bool>(),
        second in prop::collection::vec(change(), 0..25),
        third in prop::collection::vec(change(), 0..25),
    ) {
        let world = World::with_commit();
        first.iter().for_each(|change| apply(&world, change, false));
        if commit {
            world.git(["add", "--all"]).success();
            world.git(["commit", "--quiet", "--allow-empty", "-m", "second"]).success();
        }
        second.iter().for_each(|change| apply(&world, change, false));
        let saved = save(&world);
        let before = disk(&world.repo());
        third.iter().for_each(|change| apply(&world, change, false));
        let scrambled = save(&world);
        let after = disk(&world.repo());
        let status = world.git(["status", "--porcelain=v2", "-z"]).stdout_bytes().to_vec();
        restore(&world, &saved);
        prop_assert_eq!(&disk(&world.repo()), &before);
        // The tree of what is there now is the tree that was saved.
        prop_assert_eq!(save(&world).tree, saved.tree);
        restore(&world, &scrambled);
        prop_assert_eq!(&disk(&world.repo()), &after);
        let again = world.git(["status", "--porcelain=v2", "-z"]).stdout_bytes().to_vec();
        // With line ends converted, git's status goes by the size and time that a file had when its entry was made.
        if !below(&world, b".gitattributes").exists() {
            prop_assert_eq!(again, status);
        }
    }

    #[test]
    fn ignored_files_are_never_touched(
        first in prop::collection::vec(change(), 0..25),
        second in prop::collection::vec(change(), 0..25),
    ) {
        let world = World::with_commit();
        first.iter().for_each(|change| apply(&world, change, true));
        let saved = save(&world);
        second.iter().for_each(|change| apply(&world, change, true));
        let before = disk(&world.repo());
        let ignored = world.git(["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]);
        let plan = planned(&world, &saved, super::exact()).unwrap();
        if plan.blocked.is_empty() {
            let done = super::run(&world, &plan);
            prop_assert!(done.is_complete(), "{done:?}");
        }
        let after = disk(&world.repo());
        for path in ignored.stdout_bytes().split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            prop_assert_eq!(before.get(path), after.get(path), "{}", String::from_utf8_lossy(path));
        }
        if plan.blocked.is_empty() {
            // What the checkpoint holds is there. What stayed because it was ignored may not be any more.
            let again = planned(&world, &saved, super::exact()).unwrap();
            prop_assert!(super::acts(&again, Act::Write).is_empty(), "{:?}", super::shown(&again.lines));
        }
        chmod(&world, ".git", 0o755);
    }
}

/// More with `CHECKPOINT_TEST_CASES`.
fn cases() -> u32 {
    std::env::var("CHECKPOINT_TEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(24)
}
