//! The hook files that git runs here, who manages them, and what our hooks last did.
//!
//! Only files that git would run count: `core.hooksPath` is followed, and a hook that is not executable is none. A hook
//! of the user's that is no shell script, no plain file, or switched off, is not written into but kept next to ours.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;

use super::{Error, Repository, git, private_dir, private_path, sharing, worktree_private_dir, worktree_private_path};
use crate::model::{
    hook::{self, Hook, HookRemainder, HookRun},
    json,
};
use crate::os;

/// Where git looks for hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HooksDirectory {
    /// The directory.
    pub path: PathBuf,
    /// Whether `core.hooksPath` names it for more than this repository: for the user or the machine.
    pub is_shared: bool,
    /// Whether it is the repository's own, `hooks` in its git directory.
    pub is_own: bool,
    /// Whether it is no directory, such as `/dev/null`, so that git runs no hooks.
    pub is_off: bool,
}

/// The directory of the hooks that git runs here.
pub fn directory(repo: &Repository) -> HooksDirectory {
    let own = repo.common_dir().join("hooks");
    let config = repo.config_snapshot();
    let value = config.trusted_path("core.hooksPath").ok().flatten();
    let Some(value) = value.filter(|path| !path.as_os_str().is_empty()) else {
        return HooksDirectory {
            path: own,
            is_shared: false,
            is_own: true,
            is_off: false,
        };
    };
    let root = repo.workdir().unwrap_or_else(|| repo.git_dir());
    let path = root.join(&*value);
    let sections = config.plumbing().sections_by_name("core").into_iter().flatten();
    let named: Vec<_> = sections
        .filter(|section| section.value("hooksPath").is_some())
        .map(|section| section.meta().source)
        .collect();
    let is_shared = named
        .last()
        .is_some_and(|source| !matches!(source, gix::config::Source::Local | gix::config::Source::Worktree));
    HooksDirectory {
        is_own: same(&path, &own),
        is_shared: is_shared && !same(&path, &own),
        is_off: fs::metadata(&path).is_ok_and(|metadata| !metadata.is_dir()),
        path,
    }
}

fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// A program that manages the hooks of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// <https://typicode.github.io/husky>: hooks are files in `.husky`.
    Husky,
    /// <https://lefthook.dev>: writes hook files anew from its configuration.
    Lefthook,
    /// <https://pre-commit.com>: keeps a hook that is there already and runs it.
    PreCommit,
    /// <https://github.com/sds/overcommit>: puts a program of its own in the place of every hook.
    Overcommit,
}

impl Manager {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Husky => "husky",
            Self::Lefthook => "lefthook",
            Self::PreCommit => "pre-commit",
            Self::Overcommit => "overcommit",
        }
    }
}

/// Files in which lefthook is configured, shared and personal.
const LEFTHOOK: [&str; 12] = [
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    ".lefthook.json",
    ".config/lefthook.yml",
    ".config/lefthook.yaml",
    "lefthook-local.yml",
    ".lefthook-local.yml",
];

/// Who manages the hooks of this working tree, if anybody does.
pub fn manager(repo: &Repository) -> Option<Manager> {
    let root = repo.workdir()?;
    let there = |name: &str| root.join(name).is_file();
    if husky(root, &directory(repo).path) {
        Some(Manager::Husky)
    } else if LEFTHOOK.iter().any(|name| there(name)) {
        Some(Manager::Lefthook)
    } else if there(".overcommit.yml") {
        Some(Manager::Overcommit)
    } else if there(".pre-commit-config.yaml") {
        Some(Manager::PreCommit)
    } else {
        None
    }
}

fn husky(root: &Path, directory: &Path) -> bool {
    let husky = root.join(".husky");
    same(directory, &husky) || same(directory, &husky.join("_"))
}

/// Whether a manager's configuration calls this program in a hook.
fn managed(repo: &Repository, manager: Manager, hook: Hook) -> bool {
    let Some(root) = repo.workdir() else { return false };
    let call = format!("hooks run {}", hook.name());
    let words = format!("'run', '{}'", hook.name());
    let calls = |path: PathBuf| {
        fs::read(path).is_ok_and(|text| {
            let text = text.to_str_lossy();
            text.contains(&call) || text.contains(&words)
        })
    };
    match manager {
        Manager::Husky => calls(root.join(".husky").join(hook.name())),
        Manager::Lefthook => LEFTHOOK.iter().any(|name| calls(root.join(name))),
        Manager::Overcommit => calls(root.join(".overcommit.yml")),
        Manager::PreCommit => calls(root.join(".pre-commit-config.yaml")),
    }
}

/// Whether a hook makes checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookState {
    /// git runs it, and it calls this program.
    Active,
    /// The configuration of a hook manager calls this program.
    Managed(Manager),
    /// It does not call this program.
    Absent,
    /// It was installed, but git does not run it, or it finds no program; the reason.
    Broken(String),
}

/// The state of a hook.
pub fn state(repo: &Repository, hook: Hook) -> HookState {
    let directory = directory(repo);
    let path = directory.path.join(hook.name());
    let text = fs::read(&path).unwrap_or_default();
    if hook::is_in(&text) {
        return match () {
            () if !os::is_executable(&path) => HookState::Broken("its file is not executable".to_owned()),
            () if !finds_program(repo, &text) => {
                HookState::Broken("the program it names is missing; install the hooks again".to_owned())
            }
            () => HookState::Active,
        };
    }
    if let Some(manager) = manager(repo)
        && managed(repo, manager, hook)
    {
        return HookState::Managed(manager);
    }
    let own = repo.common_dir().join("hooks").join(hook.name());
    if !directory.is_own && fs::read(own).is_ok_and(|text| hook::is_in(&text)) {
        let path = directory.path.display();
        return HookState::Broken(if directory.is_off {
            format!("git runs no hooks: core.hooksPath is '{path}'")
        } else {
            format!("core.hooksPath is now '{path}'")
        });
    }
    HookState::Absent
}

/// Whether the program is where the hook, or the note next to our other files, has it. A hook that came with the project has
/// no note here; this program runs, so it is found where this one was.
fn finds_program(repo: &Repository, text: &[u8]) -> bool {
    let named = hook::program(text).or_else(|| os::read_regular(&private_path(repo).join(PROGRAM)).ok());
    let path = |bytes: &Vec<u8>| gix::path::from_byte_slice(bytes).is_ok_and(os::is_executable);
    named.as_ref().is_none_or(path)
}

/// The file with the path of this program, for hooks that run without it in `PATH`.
const PROGRAM: &str = "program";

/// Notes where this program is.
pub fn note_program(repo: &Repository, program: &Path) -> Result<(), Error> {
    let path = private_dir(repo)?.join(PROGRAM);
    let bytes = program.as_os_str().as_encoded_bytes();
    os::replace(&path, bytes, sharing(repo), true).map_err(Error::io("write", path))
}

/// The files of a directory of hooks that the project tracks, which are not this user's alone.
pub fn tracked(repo: &Repository, directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let Some(root) = repo.workdir().and_then(|root| root.canonicalize().ok()) else {
        return Ok(Vec::new());
    };
    // Also by a symlink: `.git/hooks` that leads to a directory of the project.
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let Ok(below) = directory.strip_prefix(&root) else {
        return Ok(Vec::new());
    };
    let list = git(repo)
        .args(["ls-files", "-z", "--"])
        .arg(if below.as_os_str().is_empty() {
            Path::new(".")
        } else {
            below
        });
    let output = list.run()?;
    let paths = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| os::os_string(path).into()).collect())
}

/// Change of a hook file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookFileChange {
    /// It was made.
    Created,
    /// The block was put into the user's own hook, or put right there.
    Added,
    /// The user's own hook is kept in a file next to it and runs after ours.
    Chained,
    /// It was so already.
    Unchanged,
    /// The block was taken out; the user's own hook is as it was.
    Restored,
    /// It was ours alone and is gone.
    Removed,
}

/// Makes a hook call this program; a dry run only reports what would be done.
pub fn install(repo: &Repository, hook: Hook, dry_run: bool) -> Result<HookFileChange, Error> {
    super::require_own_directory(repo, "its hooks stay as they are")?;
    let directory = directory(repo).path;
    let path = directory.join(hook.name());
    if !dry_run {
        fs::create_dir_all(&directory).map_err(Error::io("create", &directory))?;
    }
    let put = |path: &Path, bytes: &[u8], old: Option<&fs::Metadata>| {
        if dry_run { Ok(()) } else { put(path, bytes, old) }
    };
    let metadata = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            put(&path, &hook::with_block(None, hook), None)?;
            return Ok(HookFileChange::Created);
        }
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let text = fs::read(&path).map_err(Error::io("read", &path))?;
    if hook::is_in(&text) {
        let rest = hook::without_block(&text).unwrap_or_default();
        let wanted = match hook::rest(&rest) {
            HookRemainder::Chain => hook::before_kept(hook),
            _ => hook::with_block(Some(&text), hook),
        };
        if wanted == text && os::is_executable(&path) {
            return Ok(HookFileChange::Unchanged);
        }
        put(&path, &wanted, Some(&metadata))?;
        return Ok(HookFileChange::Added);
    }
    if metadata.is_file() && os::is_executable(&path) && hook::is_shell(&text) {
        put(&path, &hook::with_block(Some(&text), hook), Some(&metadata))?;
        return Ok(HookFileChange::Added);
    }
    let kept = kept(&path);
    if fs::symlink_metadata(&kept).is_ok() {
        return Err(Error::io("keep the hook in", kept)(io::ErrorKind::AlreadyExists.into()));
    }
    if dry_run {
        return Ok(HookFileChange::Chained);
    }
    fs::rename(&path, &kept).map_err(Error::io("rename", &path))?;
    let placed = put(&path, &hook::before_kept(hook), None);
    if placed.is_err() {
        // Without ours the user's own must be in its old place.
        let _ = fs::rename(&kept, &path);
    }
    placed.map(|()| HookFileChange::Chained)
}

/// Takes a hook's call of this program away, wherever it was put: also where `core.hooksPath` no longer leads. A dry
/// run only reports what would be done.
pub fn uninstall(repo: &Repository, hook: Hook, dry_run: bool) -> Result<HookFileChange, Error> {
    super::require_own_directory(repo, "its hooks stay as they are")?;
    let own = repo.common_dir().join("hooks");
    let mut done = HookFileChange::Unchanged;
    for directory in [directory(repo).path, own] {
        let path = directory.join(hook.name());
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        let Some(rest) = hook::without_block(&text) else {
            continue;
        };
        done = match hook::rest(&rest) {
            HookRemainder::Chain if fs::symlink_metadata(kept(&path)).is_ok() => {
                if !dry_run {
                    fs::rename(kept(&path), &path).map_err(Error::io("rename", &path))?;
                }
                HookFileChange::Restored
            }
            HookRemainder::Ours | HookRemainder::Chain => {
                if !dry_run {
                    fs::remove_file(&path).map_err(Error::io("remove", &path))?;
                }
                HookFileChange::Removed
            }
            HookRemainder::Theirs => {
                let metadata = fs::metadata(&path).map_err(Error::io("read", &path))?;
                if !dry_run {
                    put(&path, &rest, Some(&metadata))?;
                }
                HookFileChange::Restored
            }
        };
    }
    Ok(done)
}

fn kept(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(hook::KEPT);
    PathBuf::from(name)
}

/// Puts a hook in place in one step, with the mode of the one before, or executable.
fn put(path: &Path, bytes: &[u8], old: Option<&fs::Metadata>) -> Result<(), Error> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".checkpoint-new");
    let fresh = PathBuf::from(fresh);
    let write = || {
        fs::write(&fresh, bytes)?;
        match old {
            Some(old) => fs::set_permissions(&fresh, old.permissions())?,
            None => os::make_executable(&fresh)?,
        }
        fs::rename(&fresh, path)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written.map_err(Error::io("write", path))
}

/// Whether a rebase is at work: its commits are not the user's, and one checkpoint follows at its end.
pub fn is_rebasing(repo: &Repository) -> bool {
    let directory = repo.git_dir();
    directory.join("rebase-merge").is_dir() || directory.join("rebase-apply").join("rebasing").exists()
}

const RUN: &str = "hook.json";

/// Notes what a hook did. Not synced: nothing rests on it.
pub fn note(repo: &Repository, run: &HookRun) -> Result<(), Error> {
    let path = worktree_private_dir(repo)?.join(RUN);
    os::replace(&path, &json::to_bytes(run), sharing(repo), false).map_err(Error::io("write", path))
}

/// Last run of a hook in this working tree.
pub fn last(repo: &Repository) -> Option<HookRun> {
    let bytes = os::read_regular(&worktree_private_path(repo).join(RUN)).ok()?;
    serde_json::from_slice(&bytes).ok()
}
