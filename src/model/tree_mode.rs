//! Modes of the entries of trees, as git shows them. Of the bits of a file, git keeps only whether it is executable.

/// A file.
pub const FILE: u32 = 0o100_644;
/// An executable file.
pub const EXECUTABLE: u32 = 0o100_755;
/// A symlink.
pub const SYMLINK: u32 = 0o120_000;
/// A directory: another tree.
pub const DIRECTORY: u32 = 0o040_000;
/// The commit of another repository.
pub const GITLINK: u32 = 0o160_000;
