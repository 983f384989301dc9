//! The programs that the tests start: copies of the built ones.
//!
//! The linker writes through a mapping, which leaves the file in single pages of the system's cache. What is written
//! whole lies there in large pieces, as an installed program does, and a start maps it in half of the system's time
//! (Linux 6.18, ext4: 10 ms of processor time instead of 16 for a `status`). The tests start it tens of thousands of times.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use super::World;

/// What cargo built.
const BUILT: &str = env!("CARGO_BIN_EXE_git-checkpoint");

/// The copy. Its directory is the first of the `PATH` of every command, so that git finds it.
pub const PROGRAM: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/program/git-checkpoint");

/// A copy of this test program, for tests that run one of its tests as a program.
const OWN: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/program/it");

/// Makes the copy of the program where it is missing or of another build.
pub(super) fn provide() {
    static PROVIDED: Once = Once::new();
    PROVIDED.call_once(|| copy_if_new(BUILT.as_ref(), PROGRAM.as_ref()));
}

/// The path of this test program's copy. What it starts as another user cannot make copies: both are there then.
pub fn own_program() -> &'static str {
    static PROVIDED: Once = Once::new();
    provide();
    PROVIDED.call_once(|| copy_if_new(&std::env::current_exe().unwrap(), OWN.as_ref()));
    OWN
}

/// The program where every user may run it: the copy, or one of its own for a world, where its directory is not for all.
pub(super) fn program_for_all(world: &World) -> PathBuf {
    let is_for_all = |directory: &Path| fs::metadata(directory).is_ok_and(|found| found.mode() & 0o001 != 0);
    if Path::new(PROGRAM).ancestors().all(is_for_all) {
        return PROGRAM.into();
    }
    let own = world.root().join("git-checkpoint");
    if !own.exists() {
        copy_program(&own);
    }
    own
}

/// A copy of the program at `to`.
pub fn copy_program(to: &Path) {
    copy(PROGRAM.as_ref(), to);
}

fn copy_if_new(from: &Path, to: &Path) {
    let facts = |path| fs::metadata(path).map(|found| (found.len(), found.mtime(), found.mtime_nsec()));
    let built = facts(from).unwrap();
    if facts(to).is_ok_and(|copied| copied == built) {
        return;
    }
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    // Under a name of its own first: other tests may run the copy of before, or make one themselves.
    let new = to.with_extension(format!("new.{}", std::process::id()));
    copy(from, &new);
    fs::rename(&new, to).unwrap();
}

/// Copies a file with its times.
///
/// A process of its own writes it: a descriptor that this process had open for writing could be inherited by a child
/// that another thread starts at that moment, and the copy would be "busy" until that child has called `exec`.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-p").args([from, to]).status().unwrap();
    assert!(status.success(), "cannot copy {} to {}", from.display(), to.display());
}
