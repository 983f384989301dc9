//! Files that root made in a user's repository, given to the user: git's own files among it, which no code of ours opens.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Owner, system};

/// The time by the system's clock, for [`hand_over`].
#[expect(
    clippy::disallowed_methods,
    reason = "it is compared with times of the file system, and not recorded"
)]
pub fn moment() -> SystemTime {
    SystemTime::now()
}

/// Gives what root made below `directory` since a time to the owner of `of`. Does nothing for other users, in root's own
/// repositories, and where no root could lock users out. Symlinks are given away themselves and not followed.
pub fn hand_over(directory: &Path, of: &Path, since: SystemTime) -> io::Result<()> {
    let Some(owner) = Owner::other_than_root(of) else {
        return Ok(());
    };
    let seconds = since.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    // Clocks of file systems are coarser than ours.
    below(
        directory,
        owner,
        UNIX_EPOCH + Duration::from_secs(seconds.saturating_sub(1)),
    )
}

fn below(path: &Path, owner: Owner, since: SystemTime) -> io::Result<()> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_of_root = system::owner(&metadata).is_some_and(|(user, _)| user == 0);
    if is_of_root && system::changed(&metadata).is_some_and(|at| at >= since) {
        owner.give_path(path)?;
    }
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            below(&entry?.path(), owner, since)?;
        }
    }
    Ok(())
}
