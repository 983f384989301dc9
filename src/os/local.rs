//! Which file systems are this machine's own, so that what they say of a directory is all that happened to it.
//!
//! By the numbers of statfs(2) on Linux; nothing is known elsewhere. A network, FUSE or overlay file system may change
//! behind the back of the system that looks at it, or keep times that are not those of the changes.

use rustix::fs::StatFs;

/// ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, bcachefs.
const LOCAL: [u32; 6] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994, 0xca45_1a4e];

/// Whether this is a file system on the disks or in the memory of this machine.
pub(super) fn is_local(system: &StatFs) -> bool {
    // The width of this field differs between architectures; the numbers have 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    LOCAL.contains(&(system.f_type as u32))
}
