//! Files and directories whose contents or names must survive a power cut, and files that only their owner may read.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::system::{self, without_waiting};

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
    /// The owner of `path`, if that is another user and this process may give files away: root in a user's repository
    /// (`sudo`, a container) would otherwise lock the user out.
    pub fn other_than_root(path: &Path) -> Option<Self> {
        if !system::is_root() {
            return None;
        }
        let (user, group) = system::owner(&fs::metadata(path).ok()?)?;
        (user != 0).then_some(Self { user, group })
    }

    /// Gives a file, directory or symlink to this owner, as far as the file system knows owners.
    pub(super) fn give_path(self, path: &Path) -> io::Result<()> {
        system::give_path(path, (self.user, self.group))
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
        self.give(file)?;
        if self.bits == 0 {
            return Ok(());
        }
        let metadata = file.metadata()?;
        match system::mode(&metadata) {
            Some(mode) => set_if_other(file, mode, self.mode(mode, metadata.is_dir())),
            None => Ok(()),
        }
    }

    /// Gives an open file or directory to its owner, if it has another one.
    fn give(self, file: &File) -> io::Result<()> {
        match self.owner {
            Some(owner) => system::give(file, (owner.user, owner.group)),
            None => Ok(()),
        }
    }

    /// The mode that git would give: a read-only file stays read-only, a directory can be entered by all who can read
    /// it and hands its group down.
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

fn set_if_other(file: &File, mode: u32, wanted: u32) -> io::Result<()> {
    if mode == wanted {
        Ok(())
    } else {
        system::set_mode(file, wanted)
    }
}

/// Writes a directory's entries to the disk, so that files created, renamed or removed in it stay so after a power cut.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    if system::SYNCS_DIRECTORIES {
        super::support::sync_directory(&File::open(path)?)
    } else {
        Ok(())
    }
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
    if system::HAS_MODES && sharing != Sharing::default() {
        sharing.apply(&File::open(path)?)?;
    }
    path.parent().map_or(Ok(()), sync_dir)
}

/// Opens the regular file at `path` for reading. Never waits: a FIFO in its place is an error, as is
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
    match system::create_private_dir(path) {
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
    if system::HAS_MODES {
        set_private_mode(&File::open(path)?, 0o700, sharing)?;
    }
    path.parent().map_or(Ok(()), sync_dir)
}

/// Creates a directory for our own use among the system's temporary files: mode 0700, and a name that cannot be guessed. It
/// is the caller's to remove.
#[expect(clippy::disallowed_methods, reason = "nothing in it is renamed to anywhere")]
pub fn temporary_dir() -> io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("git-checkpoint-{}", super::random_token()?));
    system::create_private_dir(&path).map(|()| path)
}

/// Opens the file at `path` for reading and writing, creating it empty if missing: mode 0600 whatever the creation
/// mask is, wider only when the repository itself is shared. Its contents are left as they are. What is there and is no
/// regular file is an error.
pub fn private_file(path: &Path, sharing: Sharing) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    system::new_mode(&mut options, 0o600);
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
pub(super) fn set_private_mode(file: &File, mode: u32, sharing: Sharing) -> io::Result<()> {
    sharing.give(file)?;
    let metadata = file.metadata()?;
    let Some(given) = system::mode(&metadata) else {
        return Ok(());
    };
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
    set_if_other(file, given, wanted)
}

/// When the file, directory or symlink at this path was last written, by its time stamp.
pub fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::symlink_metadata(path).ok()?.modified().ok()
}

/// How long ago the file was last written, as far as its time stamp and the clock show.
pub fn age(path: &Path) -> Option<std::time::Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}
