//! A store elsewhere, for where the repository's own directory cannot be written: in the sandbox of an agent, say.
//!
//! `checkpoint.store` names it. It is a repository of its own, with the project's objects as alternate, the project's
//! settings included, and the project's working tree. Whenever it is opened, HEAD, the index, refs and what git keeps of
//! an operation in progress are brought up to what the project has, so that git and gix work there as they would in the
//! project; new objects and refs stay in it. Nothing of the project's own directory is ever written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::refs::{self, Head};
use super::{EncryptedSessions, Error, ObjectId, Repository, paths};
use crate::git::Git;
use crate::os;

/// Files next to HEAD that are taken over, besides the index.
const FILES: &[&str] = &[
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_AUTOSTASH",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_NAMES",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
    "info/sparse-checkout",
];
/// Directories next to HEAD that are taken over, with the files in them.
const DIRECTORIES: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];
/// Files of the common directory that are taken over.
const SHARED: &[&str] = &["info/exclude", "info/attributes", "shallow"];
/// A larger one of them is none that git wrote.
const MAX_FILE: u64 = 16 << 20;
/// Namespaces of our own refs: those stay where they were made.
const OURS: &str = "refs/checkpoints";
/// The sessions, which are taken over once, to go on from.
const SESSIONS: &str = "refs/checkpoints/";

/// The directory of the store that is to be used instead of the repository's own, if there is one and that cannot be
/// written.
pub(super) fn wanted(project: &Repository) -> Result<Option<PathBuf>, Error> {
    let Some(path) = configured(project)? else {
        return Ok(None);
    };
    let common = project.common_dir();
    let is_writable = os::is_writable(common) && os::is_writable(&paths::objects_dir(project));
    Ok((!is_writable).then_some(path))
}

/// A store with sessions that the repository lacks although it can be written.
#[derive(Debug)]
pub struct ForgottenStore {
    /// Its directory.
    pub path: PathBuf,
    /// Those sessions.
    pub sessions: Vec<String>,
}

/// The store that `checkpoint.store` names, if the sessions in it have checkpoints that the repository, which can be
/// written, does not have: what was saved while it could not be.
pub fn forgotten(project: &Repository) -> Result<Option<ForgottenStore>, Error> {
    let Some(path) = configured(project)? else {
        return Ok(None);
    };
    let alternates = os::read_regular(&path.join("objects/info/alternates")).unwrap_or_default();
    let objects = absolute(&paths::objects_dir(project));
    if alternates.trim_ascii_end() != objects.as_os_str().as_encoded_bytes() {
        return Ok(None);
    }
    let store = open_bare(&path)?;
    let all = refs::list_unproved(&store, SESSIONS)?.into_iter();
    // The store borrows the project's objects, and a tip that was taken over from there may be purged since.
    let is_lacking = |id: Result<ObjectId, _>| id.is_ok_and(|id| !project.has_object(id) && store.has_object(id));
    let sessions = all.filter_map(|(name, id)| is_lacking(id).then_some(name));
    let sessions: Vec<_> = sessions
        .filter_map(|name| Some(name.strip_prefix(SESSIONS)?.to_owned()))
        .collect();
    Ok((!sessions.is_empty()).then_some(ForgottenStore { path, sessions }))
}

/// The directory that `checkpoint.store` names.
fn configured(project: &Repository) -> Result<Option<PathBuf>, Error> {
    let config = project.config_snapshot();
    let path = config
        .trusted_path("checkpoint.store")
        .map_err(Error::gix("read 'checkpoint.store'"))?
        .filter(|path| !path.as_os_str().is_empty());
    let base = project.workdir().unwrap_or(project.common_dir());
    Ok(path.map(|path| absolute(&base.join(path))))
}

/// Opens a store for its refs: no setting counts.
fn open_bare(store: &Path) -> Result<Repository, Error> {
    let here = gix::open_opts(store, gix::open::Options::isolated())
        .map_err(|source| Error::gix(format!("open store '{}'", store.display()))(source))?;
    Ok(Repository::new(here, EncryptedSessions::default()))
}

/// Makes the store if it is not there, brings it up to the project, and gives the directory to be opened: of a linked
/// working tree its own one.
pub(super) fn refresh(project: &Repository, store: &Path) -> Result<PathBuf, Error> {
    let sharing = os::Sharing {
        owner: os::Owner::other_than_root(project.common_dir()),
        ..os::Sharing::default()
    };
    if let Some(parent) = store.parent() {
        os::create_dir_durable(parent, sharing).map_err(Error::io("create", parent))?;
    }
    os::private_dir(store, sharing).map_err(Error::io("create", store))?;
    let lock = store.join("store.lock");
    let lock_file = os::private_file(&lock, sharing).map_err(Error::io("open", &lock))?;
    os::lock(&lock_file).map_err(Error::io("lock", &lock))?;
    if !store.join("HEAD").exists() {
        let format = format!("--object-format={}", project.object_hash());
        Git::outside()
            .args(["init", "--quiet", "--bare", "--ref-format=files", "--template="])
            .arg(format)
            .arg("--")
            .arg(store)
            .run()?;
    }
    for directory in ["info", "objects/info"] {
        let path = store.join(directory);
        fs::create_dir_all(&path).map_err(Error::io("create", &path))?;
    }
    let objects = absolute(&paths::objects_dir(project));
    let mut alternates = objects.as_os_str().as_encoded_bytes().to_vec();
    alternates.push(b'\n');
    put(&store.join("objects/info/alternates"), &alternates)?;
    put(&store.join("config"), settings(project)?.as_bytes())?;
    let git_dir = match paths::worktree_id(project).strip_prefix("linked-") {
        None => store.to_owned(),
        Some(name) => {
            let own = store.join("worktrees").join(name);
            fs::create_dir_all(&own).map_err(Error::io("create", &own))?;
            put(&own.join("commondir"), b"../..\n")?;
            let root = absolute(project.workdir().unwrap_or(project.git_dir())).join(".git");
            put(
                &own.join("gitdir"),
                &[root.as_os_str().as_encoded_bytes(), b"\n"].concat(),
            )?;
            own
        }
    };
    let from = project.git_dir();
    for (names, from, to) in [(SHARED, project.common_dir(), store), (FILES, from, &*git_dir)] {
        for name in names {
            take_file(&from.join(name), &to.join(name))?;
        }
    }
    for name in DIRECTORIES {
        take_directory(&from.join(name), &git_dir.join(name))?;
    }
    take_index(from, &git_dir)?;
    let head = match refs::head(project)? {
        Head {
            branch: Some(branch), ..
        } => format!("ref: {branch}\n"),
        Head { id: Some(id), .. } => format!("{id}\n"),
        Head { .. } => "ref: refs/heads/main\n".to_owned(),
    };
    put(&git_dir.join("HEAD"), head.as_bytes())?;
    if git_dir != store {
        // git wants one there.
        put(&store.join("HEAD"), b"ref: refs/heads/main\n")?;
    }
    take_refs(project, store)?;
    if sharing.owner.is_some() {
        hand_over(store, sharing).map_err(Error::io("give away", store))?;
    }
    Ok(git_dir)
}

/// Gives what root and its children made to the owner of the project. Objects are given away where they are written.
fn hand_over(directory: &Path, sharing: os::Sharing) -> io::Result<()> {
    sharing.apply(&File::open(directory)?)?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && directory.file_name().is_none_or(|name| name != "objects") {
            hand_over(&entry.path(), sharing)?;
        } else if kind.is_dir() || kind.is_file() {
            sharing.apply(&File::open(entry.path())?)?;
        }
    }
    Ok(())
}

/// The settings of the project, and what is otherwise in the store. What comes last counts.
pub(super) fn settings(project: &Repository) -> Result<String, Error> {
    let common = absolute(project.common_dir());
    let quoted = |path: &Path| {
        let text = path.to_str().ok_or_else(|| Error::Environment {
            name: "checkpoint.store",
            value: path.display().to_string(),
            why: "the path of the repository is not UTF-8".to_owned(),
        })?;
        Ok::<_, Error>(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
    };
    let mut text = "# Written by git checkpoint each time that it opens this store.\n".to_owned();
    // Before what is included: hooks and contents are the project's unless it names others.
    text.push_str(&format!("[core]\n\thooksPath = {}\n", quoted(&common.join("hooks"))?));
    text.push_str(&format!("[lfs]\n\tstorage = {}\n", quoted(&common.join("lfs"))?));
    text.push_str(&format!("[include]\n\tpath = {}\n", quoted(&common.join("config"))?));
    let own = absolute(project.git_dir()).join("config.worktree");
    if own.is_file() {
        text.push_str(&format!("[include]\n\tpath = {}\n", quoted(&own)?));
    }
    let root = project.workdir().map(absolute);
    text.push_str("[core]\n\trepositoryFormatVersion = 1\n");
    match root.filter(|_| project.git_dir() == project.common_dir()) {
        Some(root) => text.push_str(&format!("\tbare = false\n\tworktree = {}\n", quoted(&root)?)),
        None => text.push_str("\tbare = false\n"),
    }
    text.push_str(&format!(
        "[extensions]\n\tobjectFormat = {}\n\trefStorage = files\n\tworktreeConfig = false\n",
        project.object_hash()
    ));
    Ok(text)
}

/// Takes the index over, with its time: that decides which of its entries may be outdated.
fn take_index(from: &Path, to: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(from).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    for name in names.filter(|name| name == "index" || name.starts_with("sharedindex.")) {
        let (from, to) = (from.join(&name), to.join(&name));
        let stamp = |path: &Path| {
            let found = fs::metadata(path).ok()?;
            Some((found.len(), found.modified().ok()?))
        };
        if stamp(&from) == stamp(&to) {
            continue;
        }
        let new = to.with_file_name(format!("{name}.new"));
        let time = fs::metadata(&from).and_then(|found| found.modified());
        let mut original = File::open(&from).map_err(Error::io("read", &from))?;
        // Not with its mode: where the directory is read-only, so are often the files in it.
        let copied = remove_file(&new)
            .and_then(|()| File::create_new(&new))
            .and_then(|mut copy| {
                io::copy(&mut original, &mut copy)?;
                copy.set_modified(time?)
            })
            .and_then(|()| fs::rename(&new, &to));
        copied.map_err(Error::io("write", &to))?;
    }
    if !from.join("index").exists() {
        remove(&to.join("index"))?;
    }
    Ok(())
}

/// Removes a file that need not be there.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn take_directory(from: &Path, to: &Path) -> Result<(), Error> {
    if !from.is_dir() {
        return match fs::remove_dir_all(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", to)(error)),
            _ => Ok(()),
        };
    }
    fs::create_dir_all(to).map_err(Error::io("create", to))?;
    let names = |path: &Path| -> Vec<_> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    };
    let there = names(from);
    for name in names(to).iter().filter(|name| !there.contains(name)) {
        remove(&to.join(name))?;
    }
    for name in &there {
        take_file(&from.join(name), &to.join(name))?;
    }
    Ok(())
}

/// Gives a file of the store what the project's has; one that the project has not goes.
fn take_file(from: &Path, to: &Path) -> Result<(), Error> {
    let is_small = os::open_regular_sized(from).is_ok_and(|(_, length)| length <= MAX_FILE);
    match os::read_regular(from) {
        Ok(bytes) if is_small => {
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
            }
            put(to, &bytes)
        }
        _ => remove(to),
    }
}

/// Gives the refs of the store what the project's are. Sessions of the project that the store has not are taken over.
fn take_refs(project: &Repository, store: &Path) -> Result<(), Error> {
    let here = open_bare(store)?;
    let known = |repo: &Repository| -> Result<BTreeMap<String, ObjectId>, Error> {
        let found = refs::list_unproved(repo, "refs/")?.into_iter();
        Ok(found.filter_map(|(name, id)| Some((name, id.ok()?))).collect())
    };
    let (theirs, ours) = (known(project)?, known(&here)?);
    let mut lines = String::new();
    for (name, id) in &theirs {
        let is_own = name.starts_with(OURS);
        match ours.get(name) {
            Some(now) if now == id || is_own => {}
            None if is_own && !name.starts_with(SESSIONS) => {}
            _ => lines.push_str(&format!("update {name} {id}\n")),
        }
    }
    for name in ours.keys().filter(|name| !name.starts_with(OURS)) {
        if !theirs.contains_key(name) {
            lines.push_str(&format!("delete {name}\n"));
        }
    }
    if !lines.is_empty() {
        Git::at(store)
            .args(["update-ref", "--stdin", "--no-deref"])
            .input(lines)
            .run()?;
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if os::read_regular(path).ok().as_deref() == Some(bytes) {
        return Ok(());
    }
    os::replace(path, bytes, os::Sharing::default(), false).map_err(Error::io("write", path))
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned())
}
