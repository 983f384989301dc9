//! Where the temporary directories of tests lie: in memory, where a sync costs nothing. On a disk each takes some
//! milliseconds, and a save makes six.
//!
//! `TMPDIR` decides where it is set: with it the tests run on any file system.

use std::path::Path;
use std::sync::OnceLock;

use tempfile::{Builder, TempDir};

/// The file system in memory that Linux has for everyone.
const MEMORY: &str = "/dev/shm";

/// What must be free there. All worlds that exist at a time need less than a tenth of it.
const FREE: u64 = 2 << 30;

/// A new directory for one test, removed afterwards.
pub fn temporary() -> TempDir {
    static IN_MEMORY: OnceLock<bool> = OnceLock::new();
    let mut builder = Builder::new();
    builder.prefix("checkpoint-world-");
    if *IN_MEMORY.get_or_init(|| std::env::var_os("TMPDIR").is_none() && is_roomy(Path::new(MEMORY))) {
        builder.tempdir_in(MEMORY).unwrap()
    } else {
        builder.tempdir().unwrap()
    }
}

/// Whether there is enough free memory, and tests may write there and run programs from there: containers often have less
/// of it, and without that right.
#[cfg(target_os = "linux")]
fn is_roomy(memory: &Path) -> bool {
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    let available = || {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib << 10)
    };
    statvfs(memory).is_ok_and(|found| {
        !found
            .f_flag
            .intersects(StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY)
            && found.f_bavail.saturating_mul(found.f_frsize) >= FREE
    }) && access(memory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
        && available().is_some_and(|free| free >= FREE)
}

#[cfg(not(target_os = "linux"))]
fn is_roomy(_: &Path) -> bool {
    false
}
