//! Files and directories whose contents or names must survive a power cut, and files that only their owner may read.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// How much of a file is read at first, at most.
const FIRST: usize = 1 << 20;

/// Who besides the owner may use what we create: git's `core.sharedRepository`.
///
/// The default leaves repository files to the creation mask and keeps our private files to their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sharing {
    /// Permission bits (of 0666) that are added to, or with `exact` replace, those of repository files.
    pub bits: u32,
    /// Whether `bits` are the whole mode rather than an addition (`core.sharedRepository = 0640`).
    pub exact: bool,
    /// Whom files are given to, when it is not the user who makes them.
    pub owner: Option<Owner>,
}

/// A user and a group, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    /// The owner of `path`, if that is somebody else and this process may give files away: root in a user's repository
    /// (`sudo`, a container) would otherwise lock the user out.
    pub fn other_than_root(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            if !rustix::process::geteuid().is_root() {
                return None;
            }
            let metadata = fs::metadata(path).ok()?;
            let (user, group) = (metadata.uid(), metadata.gid());
            (user != 0).then_some(Self { user, group })
        }
        #[cfg(not(unix))]
        {
            let _ = path;
            None
        }
    }
}

#[cfg(unix)]
impl Owner {
    /// Gives a file, directory or symlink to this owner, as far as the file system knows owners.
    pub(super) fn give_path(self, path: &Path) -> io::Result<()> {
        use rustix::fs::{AtFlags, CWD, Gid, Uid};
        use rustix::io::Errno;
        let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
        match rustix::fs::chownat(CWD, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::PERM | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Sharing {
    /// For private files in a directory of ours: they belong to whom it belongs to.
    pub fn as_in(directory: &Path) -> Self {
        Self {
            owner: Owner::other_than_root(directory),
            ..Self::default()
        }
    }

    /// Gives an open repository file or directory the bits that `core.sharedRepository` asks for, if it asks at all.
    pub fn apply(self, file: &File) -> io::Result<()> {
        #[cfg(unix)]
        self.give(file)?;
        if self.bits == 0 {
            return Ok(());
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let metadata = file.metadata()?;
            let mode = metadata.permissions().mode() & 0o7777;
            let wanted = self.mode(mode, metadata.is_dir());
            if wanted != mode {
                file.set_permissions(fs::Permissions::from_mode(wanted))?;
            }
        }
        #[cfg(not(unix))]
        let _ = file;
        Ok(())
    }

    /// Gives an open file or directory to its owner. Where the file system does not know owners, or the user namespace not
    /// this one, it stays as it is.
    #[cfg(unix)]
    fn give(self, file: &File) -> io::Result<()> {
        if let Some(owner) = self.owner {
            use rustix::io::Errno;
            let (user, group) = (
                rustix::fs::Uid::from_raw(owner.user),
                rustix::fs::Gid::from_raw(owner.group),
            );
            match rustix::fs::fchown(file, Some(user), Some(group)) {
                Err(Errno::PERM | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) | Ok(()) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The mode that git would give: a read-only file stays read-only, a directory can be entered by whoever can read
    /// it and hands its group down.
    #[cfg(unix)]
    fn mode(self, mode: u32, is_dir: bool) -> u32 {
        let mut bits = self.bits;
        if mode & 0o200 == 0 {
            bits &= !0o222;
        }
        if mode & 0o100 != 0 {
            bits |= (bits & 0o444) >> 2;
        }
        let mut wanted = if self.exact {
            (mode & !0o777) | bits
        } else {
            mode | bits
        };
        if is_dir && wanted & 0o060 != 0 {
            wanted |= 0o2000 | (wanted & 0o444) >> 2;
        }
        wanted
    }
}

/// Writes a directory's entries to the disk, so that files created, renamed or removed in it stay so after a power cut.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    // Windows has no such call for directories; its file systems journal the names themselves.
    if cfg!(windows) {
        return Ok(());
    }
    super::support::sync_directory(&File::open(path)?)
}

/// Creates `path` and its missing parents as git would (mode 0777 less the creation mask, plus `sharing`), and makes
/// every new name durable. An existing directory costs one call.
pub fn create_dir_durable(path: &Path, sharing: Sharing) -> io::Result<()> {
    match fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
                return Err(error);
            };
            create_dir_durable(parent, sharing)?;
            match fs::create_dir(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Err(error) => return Err(error),
    }
    if cfg!(unix) && sharing != Sharing::default() {
        sharing.apply(&File::open(path)?)?;
    }
    path.parent().map_or(Ok(()), sync_dir)
}

/// Whether this process may make files in a directory; where that cannot be asked, whether it is not marked read-only.
pub fn is_writable(directory: &Path) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::Access;
        rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    }
    #[cfg(not(unix))]
    {
        fs::metadata(directory).is_ok_and(|found| !found.permissions().readonly())
    }
}

/// Opens the regular file at `path` for reading. Never waits: a FIFO that somebody put there is an error, as is
/// everything else that is no file ([`io::ErrorKind::IsADirectory`] for a directory).
pub fn open_regular(path: &Path) -> io::Result<File> {
    Ok(open_regular_sized(path)?.0)
}

/// The same with the length that the file has now.
pub fn open_regular_sized(path: &Path) -> io::Result<(File, u64)> {
    let file = without_waiting(OpenOptions::new().read(true)).open(path)?;
    let metadata = of_regular(&file)?;
    Ok((file, metadata.len()))
}

/// The content of the regular file at `path`; see [`open_regular`].
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, length) = open_regular_sized(path)?;
    let known = usize::try_from(length).unwrap_or(usize::MAX).min(FIRST);
    let mut bytes = vec![0; known + 1];
    let count = loop {
        match io::Read::read(&mut file, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    bytes.truncate(count);
    // Exactly what it holds, though there was room for more: to ask once more would be for nothing.
    if count == 0 || count as u64 != length {
        io::Read::read_to_end(&mut file, &mut bytes)?;
    }
    Ok(bytes)
}

/// Fills `bytes` with the file's content from `at` on, wherever the file is read otherwise.
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, at);
    #[cfg(windows)]
    {
        let (mut bytes, mut at) = (bytes, at);
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(file, bytes, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    bytes = &mut bytes[count..];
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The options with the wish that opening a FIFO or device does not wait for anybody. Files are not concerned.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
    options
}

/// The open file, if it is one.
pub fn regular(file: File) -> io::Result<File> {
    of_regular(&file)?;
    Ok(file)
}

/// Metadata of an open file, if it is a regular file.
fn of_regular(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok(metadata)
    } else if metadata.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Creates the directory `path` for our own use if it is missing: mode 0700 whatever the creation mask is, wider only
/// when the repository itself is shared. Its parent must exist. Anything else of that name is an error, also a link to
/// a directory: what is in it would not be private.
pub fn private_dir(path: &Path, sharing: Sharing) -> io::Result<()> {
    match create_private_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return if fs::symlink_metadata(path)?.is_dir() {
                Ok(())
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            };
        }
        Err(error) => return Err(error),
    }
    if cfg!(unix) {
        set_private_mode(&File::open(path)?, 0o700, sharing)?;
    }
    path.parent().map_or(Ok(()), sync_dir)
}

/// Creates a directory for our own use among the system's temporary files: mode 0700, and a name that nobody can guess. It
/// is the caller's to remove.
#[expect(clippy::disallowed_methods, reason = "nothing in it is renamed to anywhere")]
pub fn temporary_dir() -> io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("git-checkpoint-{}", super::random_token()?));
    create_private_dir(&path).map(|()| path)
}

#[cfg(unix)]
fn create_private_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// Elsewhere a directory has the rights of its parent.
#[cfg(not(unix))]
fn create_private_dir(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Opens the file at `path` for reading and writing, creating it empty if missing: mode 0600 whatever the creation
/// mask is, wider only when the repository itself is shared. Its contents are left as they are. What is there and is no
/// regular file is an error.
pub fn private_file(path: &Path, sharing: Sharing) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Opening an existing file is the common case; creating comes second, so that its mode is set exactly once.
    let existing = || regular(without_waiting(OpenOptions::new().read(true).write(true)).open(path)?);
    match existing() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.open(path) {
        Ok(file) => {
            set_private_mode(&file, 0o600, sharing)?;
            Ok(file)
        }
        // Another process was faster, or a link leads nowhere, which is no file of ours.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => existing(),
        Err(error) => Err(error),
    }
}

/// Sets the mode of something just created: the mask may have taken bits from the owner, and sharing may add some.
#[cfg_attr(
    not(unix),
    expect(clippy::unnecessary_wraps, reason = "there are no owners and mode bits there")
)]
pub(super) fn set_private_mode(file: &File, mode: u32, sharing: Sharing) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        sharing.give(file)?;
        let metadata = file.metadata()?;
        // Others than the group never see drafts, however widely the repository itself is shared.
        let group = Sharing {
            bits: sharing.bits & 0o660,
            ..Sharing::default()
        };
        let wanted = if group.bits == 0 {
            mode
        } else {
            group.mode(mode, metadata.is_dir())
        };
        if metadata.permissions().mode() & 0o7777 != wanted {
            file.set_permissions(fs::Permissions::from_mode(wanted))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (file, mode, sharing);
    Ok(())
}

/// Sets the modification time of `path` to now, as git does with an object it finds already stored, so that the next
/// `gc` takes it for fresh.
pub fn touch(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
    }
    #[cfg(not(unix))]
    {
        #[expect(clippy::disallowed_methods, reason = "the time of a file, not of a record")]
        let now = std::time::SystemTime::now();
        File::options().write(true).open(path)?.set_modified(now)
    }
}

/// How many names an open file has: 0 when it was removed after it was opened.
pub fn links(file: &File) -> io::Result<u64> {
    #[cfg(unix)]
    {
        Ok(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?))
    }
    #[cfg(not(unix))]
    {
        // An open file cannot be removed there.
        let _ = file;
        Ok(1)
    }
}

/// Whether two descriptions are of one and the same file, not merely of equal ones.
pub fn same_file(one: &Metadata, other: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        one.ino() == other.ino() && one.dev() == other.dev()
    }
    #[cfg(not(unix))]
    {
        one.created().ok() == other.created().ok() && one.len() == other.len() && one.is_file() && other.is_file()
    }
}

/// Identity of a file apart from its path, so that a replacement is noticed; 0 where the system has no such identity.
pub fn file_id(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        metadata.ino()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        0
    }
}

/// How long ago the file was last written, as far as its time stamp and the clock show.
pub fn age(path: &Path) -> Option<std::time::Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}
