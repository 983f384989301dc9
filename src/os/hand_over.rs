//! Files that root made in a user's repository, given to the user: git's own files among it, which no code of ours opens.

use std::io;
use std::path::Path;
use std::time::SystemTime;

#[cfg(unix)]
use super::Owner;

/// The time by the system's clock, for [`hand_over`].
#[expect(
    clippy::disallowed_methods,
    reason = "it is compared with times of the file system, and not recorded"
)]
pub fn moment() -> SystemTime {
    SystemTime::now()
}

/// Gives what root made below `directory` since a time to the owner of `of`. Does nothing for other users, and in root's own
/// repositories. Symlinks are given away themselves and not followed.
#[cfg(unix)]
pub fn hand_over(directory: &Path, of: &Path, since: SystemTime) -> io::Result<()> {
    let Some(owner) = Owner::other_than_root(of) else {
        return Ok(());
    };
    let since = since
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    // Clocks of file systems are coarser than ours.
    below(
        directory,
        owner,
        i64::try_from(since).unwrap_or(i64::MAX).saturating_sub(1),
    )
}

/// Other systems have no root that could lock users out.
#[cfg(not(unix))]
pub fn hand_over(_directory: &Path, _of: &Path, _since: SystemTime) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn below(path: &Path, owner: Owner, since: i64) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if metadata.uid() == 0 && metadata.ctime() >= since {
        owner.give_path(path)?;
    }
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            below(&entry?.path(), owner, since)?;
        }
    }
    Ok(())
}
