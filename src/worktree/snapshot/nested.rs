//! Repositories in the working tree: submodules and others. They are distinguished from plain directories as git does,
//! and only the commit they are at is read.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use super::globals::is_absence;
use super::walk::WalkContext;
use crate::git::Git;
use crate::os;
use crate::os::dir::{Dir, DirNames};
use crate::store::{ObjectId, Repository};

/// Kind of a directory that may be a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::worktree) enum Nested {
    /// A repository at a commit.
    At(ObjectId),
    /// A repository without commits.
    Without,
    /// A repository whose commit cannot be determined: with other ids than this one's, or broken.
    Unknown,
    /// A plain directory.
    No {
        /// Whether nothing is in it.
        empty: bool,
    },
}

/// Looks at the directory `name` of `dir`, whose path from the root is `path`.
pub(super) fn look(repo: &Repository, dir: &Dir, name: &[u8], path: &[u8], ground: &WalkContext<'_>) -> Nested {
    let mut names = DirNames::default();
    match dir
        .directory(name)
        .and_then(|directory| directory.read(&mut names).map(|()| directory))
    {
        Ok(directory) if names.find(b".git").is_some() => match inside(repo, &directory, path, ground) {
            Nested::No { .. } => Nested::No { empty: false },
            nested => nested,
        },
        Ok(_) => Nested::No {
            empty: names.is_empty(),
        },
        Err(_) => Nested::Unknown,
    }
}

/// Looks at a directory that has a `.git` of any kind.
pub(super) fn inside(repo: &Repository, _dir: &Dir, path: &[u8], ground: &WalkContext<'_>) -> Nested {
    below(repo, ground.root, path)
}

/// Looks at the directory with this path below `root`; one without a `.git`, or that is not there, is no repository.
pub(in crate::worktree) fn below(repo: &Repository, root: &Path, path: &[u8]) -> Nested {
    let Ok(relative) = gix::path::from_byte_slice(path) else {
        return Nested::Unknown;
    };
    let dot_git = root.join(relative).join(".git");
    read(repo, &dot_git).unwrap_or(Nested::Unknown)
}

/// Reads which commit a repository is at. `None` when that cannot be determined.
///
/// Without gix and, but for reftables, without git: a user who unpacks an archive did not ask for its content, and both
/// open a FIFO, a device or a file of any size that has the name of one of a repository's files.
fn read(repo: &Repository, dot_git: &Path) -> Option<Nested> {
    let git_dir = match git_dir(dot_git) {
        Ok(Some(git_dir)) => git_dir,
        Ok(None) => return Some(Nested::No { empty: false }),
        Err(_) => return None,
    };
    let common = common_dir(&git_dir)?;
    let config = Config::read(&common)?;
    if config.hash != repo.object_hash() {
        return None;
    }
    if config.reftable {
        let tables = small(&git_dir.join("reftable").join("tables.list"), SMALL).ok()??;
        let tables = tables.lines().filter_map(|name| gix::path::from_byte_slice(name).ok());
        let directories = [git_dir.join("reftable"), common.join("reftable")];
        let mut files = tables.flat_map(|name| directories.iter().map(move |directory| directory.join(name)));
        let plain = files.all(|file| is_plain(&file, LARGE)) && is_sound(&git_dir, &common);
        return plain.then(|| head_by_git(&git_dir))?;
    }
    let mut name = match parse_ref(&small(&git_dir.join("HEAD"), SMALL).ok()??, config.hash)? {
        Target::Commit(id) => return Some(Nested::At(id)),
        Target::Name(name) => name,
    };
    for _ in 0..SYMREFS {
        let file = common.join(gix::path::from_byte_slice(&name).ok()?);
        let Some(content) = small(&file, SMALL).ok()? else {
            let packed = small(&common.join("packed-refs"), LARGE).ok()?.unwrap_or_default();
            let id = find_packed(&packed, &name);
            return Some(id.map_or(Nested::Without, Nested::At));
        };
        match parse_ref(&content, config.hash)? {
            Target::Commit(id) => return Some(Nested::At(id)),
            Target::Name(next) => name = next,
        }
    }
    None
}

/// Files of a repository that are read whole have at most so many bytes: its `HEAD`, settings, loose refs.
const SMALL: u64 = 1 << 20;
/// Its packed refs and reftables.
const LARGE: u64 = 64 << 20;
/// As many refs as git follows until it gives up.
const SYMREFS: usize = 5;

/// The content of a file that may be missing; an error when it is no regular file, larger than `limit`, or cannot be read.
/// Never waits.
fn small(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let (file, length) = match os::open_regular_sized(path) {
        Ok(opened) => opened,
        Err(error) if is_absence(&error) || error.kind() == io::ErrorKind::IsADirectory => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    if length <= limit {
        file.take(limit + 1).read_to_end(&mut content)?;
    }
    if length > limit || content.len() as u64 > limit {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Some(content))
}

/// Whether a file may be opened by others: it is regular and not larger than `limit`, or missing.
fn is_plain(path: &Path, limit: u64) -> bool {
    match std::fs::metadata(path) {
        Ok(meta) => meta.is_dir() || meta.is_file() && meta.len() <= limit,
        Err(error) => is_absence(&error),
    }
}

/// Whether the files that git and gix open in any repository can be opened without harm.
fn is_sound(git_dir: &Path, common: &Path) -> bool {
    let own = ["HEAD", "config.worktree", "index", "commondir"].map(|name| git_dir.join(name));
    let shared = [
        "HEAD",
        "config",
        "packed-refs",
        "shallow",
        "info/exclude",
        "info/attributes",
    ];
    let shared = shared.map(|name| common.join(name));
    let limit = |path: &Path| match path.file_name().and_then(|name| name.to_str()) {
        Some("index" | "packed-refs") => 4 * LARGE,
        _ => SMALL,
    };
    let mut objects = vec![common.join("objects")];
    let mut at = 0;
    while let Some(directory) = objects.get(at) {
        at += 1;
        let file = directory.join("info").join("alternates");
        let Ok(list) = small(&file, SMALL) else {
            return false;
        };
        // As deep as git follows them, and no more than anybody has.
        if objects.len() > 64 {
            return false;
        }
        let directory = directory.clone();
        for line in list.unwrap_or_default().lines().filter(|line| !line.starts_with(b"#")) {
            let Ok(path) = gix::path::from_byte_slice(line) else {
                return false;
            };
            let path = directory.join(path);
            if !objects.contains(&path) {
                objects.push(path);
            }
        }
    }
    let head_ref = small(&git_dir.join("HEAD"), SMALL).ok().flatten();
    let head_ref = head_ref.and_then(|content| {
        let name = content.trim().strip_prefix(b"ref:")?.trim();
        Some(common.join(gix::path::from_byte_slice(name).ok()?))
    });
    own.iter()
        .chain(&shared)
        .chain(&head_ref)
        .all(|path| is_plain(path, limit(path)))
}

/// Whether the repository of a working tree, which the index calls a submodule, can be opened without harm.
pub(super) fn may_be_opened(root: &Path) -> bool {
    let Ok(Some(git_dir)) = git_dir(&root.join(".git")) else {
        return false;
    };
    common_dir(&git_dir).is_some_and(|common| is_sound(&git_dir, &common))
}

/// The directory that a linked working tree's repository shares with others, else its own.
fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    let Some(content) = small(&git_dir.join("commondir"), SMALL).ok()? else {
        return Some(git_dir.to_owned());
    };
    let path = content.trim_end_with(|end| end == '\n' || end == '\r');
    Some(git_dir.join(gix::path::from_byte_slice(path).ok()?))
}

/// The settings that say how refs are read.
struct Config {
    hash: gix::hash::Kind,
    reftable: bool,
}

impl Config {
    fn read(common: &Path) -> Option<Self> {
        let bytes = small(&common.join("config"), SMALL).ok()?.unwrap_or_default();
        let meta = gix::config::file::Metadata::from(gix::config::Source::Local);
        let config =
            gix::config::File::from_bytes_no_includes(&bytes, meta, gix::config::file::init::Options::default())
                .ok()?;
        let hash = match config.string("extensions.objectFormat") {
            None => gix::hash::Kind::Sha1,
            Some(name) if name == "sha1" => gix::hash::Kind::Sha1,
            Some(name) if name == "sha256" => gix::hash::Kind::Sha256,
            Some(_) => return None,
        };
        let reftable = config
            .string("extensions.refStorage")
            .is_some_and(|value| value == "reftable");
        Some(Self { hash, reftable })
    }
}

/// The value of a ref.
enum Target {
    Commit(ObjectId),
    Name(Vec<u8>),
}

fn parse_ref(content: &[u8], hash: gix::hash::Kind) -> Option<Target> {
    if let Some(name) = content.strip_prefix(b"ref:") {
        let name = name.trim();
        let safe = name.starts_with(b"refs/") && gix::validate::reference::name(name.as_bstr()).is_ok();
        return safe.then(|| Target::Name(name.to_vec()));
    }
    let hex = content.get(..hash.len_in_hex())?;
    let ends = content.get(hex.len()).is_none_or(u8::is_ascii_whitespace);
    let id = ObjectId::from_hex(hex).ok().filter(|id| ends && !id.is_null())?;
    Some(Target::Commit(id))
}

/// The commit of a name in the text of `packed-refs`.
fn find_packed(packed: &[u8], name: &[u8]) -> Option<ObjectId> {
    packed.lines().find_map(|line| {
        let (id, found) = line.split_once_str(" ")?;
        (found == name).then(|| ObjectId::from_hex(id).ok())?
    })
}

/// The commit of a repository whose refs gix cannot read.
fn head_by_git(git_dir: &Path) -> Option<Nested> {
    let asked = Git::at(git_dir)
        .own_settings()
        .args(["rev-parse", "--verify", "--quiet", "HEAD"])
        .accept([0, 1])
        .text();
    match asked {
        Ok(text) if text.trim().is_empty() => Some(Nested::Without),
        Ok(text) => ObjectId::from_hex(text.trim().as_bytes()).ok().map(Nested::At),
        Err(_) => None,
    }
}

/// The repository that a `.git` file, directory or symlink represents; `None` if it represents none, an error if that
/// cannot be determined, as for git.
fn git_dir(dot_git: &Path) -> io::Result<Option<PathBuf>> {
    let meta = match std::fs::metadata(dot_git) {
        Ok(meta) => meta,
        // A symlink to nowhere.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if meta.is_dir() {
        return Ok(is_git_dir(dot_git)?.then(|| dot_git.to_owned()));
    }
    if !meta.is_file() {
        return Ok(None);
    }
    std::fs::File::open(dot_git)?;
    let content = small(dot_git, SMALL).ok().flatten().unwrap_or_default();
    let Some(path) = content.strip_prefix(b"gitdir: ") else {
        return Ok(None);
    };
    let path = path.trim_end_with(|end| end == '\n' || end == '\r');
    let directory = dot_git.parent().unwrap_or(dot_git);
    let Ok(target) = gix::path::from_byte_slice(path).map(|path| directory.join(path)) else {
        return Ok(None);
    };
    Ok(is_git_dir(&target)?.then_some(target))
}

/// Whether a directory is a repository by git's rules: a `HEAD` that is a ref or an id, `objects` and `refs`.
fn is_git_dir(path: &Path) -> io::Result<bool> {
    let head = path.join("HEAD");
    let is_head = match std::fs::symlink_metadata(&head) {
        Ok(meta) if meta.is_symlink() && std::fs::read_link(&head)?.starts_with("refs") => true,
        Ok(_) => {
            let mut start = Vec::new();
            let (file, _) = os::open_regular_sized(&head)?;
            file.take(256).read_to_end(&mut start)?;
            let name = start.strip_prefix(b"ref:").map(<[u8]>::trim_ascii_start);
            let is_id = |len| {
                start
                    .get(..len)
                    .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            };
            name.map_or_else(|| is_id(40), |name| name.starts_with(b"refs/"))
        }
        Err(error) if is_absence(&error) => false,
        Err(error) => return Err(error),
    };
    if !is_head {
        return Ok(false);
    }
    let Some(common) = common_dir(path) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    Ok(common.join("objects").is_dir() && common.join("refs").is_dir())
}

/// Device and number of the repository's directories, if they lie in the working tree elsewhere than in its `.git`.
pub(super) fn own_directories(repo: &Repository, root: &Path) -> Vec<(u64, u64)> {
    // To resolve the paths takes a call for each part of them.
    let is_usual = repo.git_dir() == repo.common_dir() && repo.git_dir() == root.join(".git");
    if is_usual && !repo.git_dir().is_symlink() {
        return Vec::new();
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    let usual = root.join(".git");
    let mut directories: Vec<_> = [repo.git_dir(), repo.common_dir()].map(real).into();
    directories.dedup();
    let inside = directories
        .into_iter()
        .filter(|directory| directory.starts_with(&root) && !directory.starts_with(&usual));
    inside
        .filter_map(|directory| Dir::open(&directory).and_then(|dir| dir.meta()).ok())
        .map(|meta| (meta.dev, meta.ino))
        .collect()
}
