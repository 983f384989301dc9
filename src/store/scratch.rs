//! A handle on a repository whose new objects go to a directory that is removed again: what is fetched only to be looked at.
//!
//! The directory lies next to the objects, with the real ones as its alternates, and has a name that `git prune` and
//! `git gc` clear away, for when we are killed. No ref is moved through the handle.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use super::{Error, ObjectId, Repository, elsewhere, open, paths, spill};
use crate::{git::Git, os};

/// How the name of the directory begins: git removes what is called so and old.
const PREFIX: &str = "tmp_objdir-checkpoint-";

/// A directory next to the objects of a repository, removed when this is dropped.
struct TemporaryDirectory {
    path: PathBuf,
}

impl TemporaryDirectory {
    /// An empty one.
    fn new(repo: &Repository) -> Result<Self, Error> {
        let objects = paths::objects_dir(repo);
        let token = os::random_token().map_err(Error::io("create a directory in", &objects))?;
        // Absolute, since git may run elsewhere.
        let path =
            std::path::absolute(objects.join(format!("{PREFIX}{token}"))).map_err(Error::io("find", &objects))?;
        os::private_dir(&path, paths::sharing(repo)).map_err(Error::io("create", &path))?;
        Ok(Self { path })
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What cannot be removed is cleared away by git.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The directory, removed when this is dropped.
pub struct Scratch {
    repo: Repository,
    /// Held until the handle goes.
    _directory: TemporaryDirectory,
}

impl Scratch {
    /// A handle on the same repository whose new objects do not stay.
    pub fn new(repo: &Repository) -> Result<Self, Error> {
        let directory = TemporaryDirectory::new(repo)?;
        let read = std::iter::once(paths::objects_dir(repo)).chain(paths::further_object_dirs(repo));
        spill::read_also(&directory.path, read)?;
        let cwd = repo.current_dir().to_owned();
        let mut repo = repo.clone();
        open::use_objects(&mut repo, &directory.path, cwd)?;
        Ok(Self {
            repo,
            _directory: directory,
        })
    }

    /// The handle.
    pub fn repo(&self) -> &Repository {
        &self.repo
    }
}

/// A repository of its own, removed when this is dropped: what is fetched into it is shallow and has no files, which no
/// repository of a user may become.
pub struct ProbeRepository {
    directory: TemporaryDirectory,
    /// Where the user's repository runs git, for addresses that are relative.
    cwd: PathBuf,
    settings: Vec<OsString>,
}

impl ProbeRepository {
    /// An empty repository that knows this remote of a repository.
    pub fn new(repo: &Repository, remote: &str) -> Result<Self, Error> {
        let root = repo.workdir().unwrap_or_else(|| repo.git_dir());
        let probe = Self {
            cwd: std::path::absolute(root).map_err(Error::io("find", root))?,
            settings: settings_of(repo, remote)?,
            directory: TemporaryDirectory::new(repo)?,
        };
        Git::outside()
            .args(["init", "-q", "--bare", "--template="])
            .arg(format!("--object-format={}", repo.object_hash()))
            .arg(&probe.directory.path)
            .cwd(&probe.cwd)
            .run()?;
        Ok(probe)
    }

    /// A git child on it.
    pub fn git(&self) -> Git {
        let git = Git::at(&self.directory.path).cwd(&self.cwd);
        self.settings
            .iter()
            .fold(git, |git, setting| git.config(setting.clone()))
    }
}

/// A git directory with chosen refs and no other, over the objects and settings of a repository; removed when this is
/// dropped.
///
/// A pattern is matched against all refs at once; each ref that is named is looked for among all of them, which takes git
/// minutes for ten thousand.
pub struct ChosenRefs<'r> {
    repo: &'r Repository,
    directory: TemporaryDirectory,
}

impl<'r> ChosenRefs<'r> {
    /// A directory with these refs.
    pub fn new(repo: &'r Repository, refs: &BTreeMap<&str, ObjectId>) -> Result<Self, Error> {
        let directory = TemporaryDirectory::new(repo)?;
        let at = |name: &str| directory.path.join(name);
        os::private_dir(&at("refs"), paths::sharing(repo)).map_err(Error::io("create", at("refs")))?;
        let mut packed = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
        for (name, id) in refs {
            packed.push_str(&format!("{id} {name}\n"));
        }
        let write = |name: &str, bytes: &[u8]| fs::write(at(name), bytes).map_err(Error::io("write", at(name)));
        write("packed-refs", packed.as_bytes())?;
        write("HEAD", b"ref: refs/heads/main\n")?;
        write("config", elsewhere::settings(repo)?.as_bytes())?;
        let shallow = repo.common_dir().join("shallow");
        if let Ok(border) = os::read_regular(&shallow) {
            write("shallow", &border)?;
        }
        Ok(Self { repo, directory })
    }

    /// A git child on it.
    pub fn git(&self) -> Git {
        paths::git_in(self.repo, &self.directory.path)
    }
}

/// The settings of a repository by which it talks to a remote.
fn settings_of(repo: &Repository, remote: &str) -> Result<Vec<OsString>, Error> {
    const KEPT: [&str; 8] = [
        "url.",
        "http.",
        "credential.",
        "core.sshcommand",
        "core.gitproxy",
        "core.askpass",
        "ssh.",
        "protocol.",
    ];
    /// Of the remote itself: the setting of which refs are fetched, and in what form, is not meant here.
    const LEFT: [&str; 4] = ["fetch", "promisor", "partialclonefilter", "tagopt"];
    let own = format!("remote.{remote}.");
    let listed = paths::git(repo)
        .args(["config", "--local", "--list", "-z"])
        .run()?
        .stdout;
    let settings = listed.split(|byte| *byte == 0).filter(|setting| !setting.is_empty());
    let kept = settings.filter(|setting| {
        let name = setting.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        match name.strip_prefix(own.as_str()) {
            Some(rest) => !LEFT.contains(&rest),
            None => KEPT.iter().any(|kept| name.starts_with(kept)),
        }
    });
    let as_option = |setting: &[u8]| {
        let mut option = setting.to_vec();
        if let Some(end) = option.iter().position(|byte| *byte == b'\n') {
            option[end] = b'=';
        }
        os::os_string(&option)
    };
    Ok(kept.map(as_option).collect())
}
