//! A repository that has lost its HEAD file, opened to read what was saved in it.
//!
//! Neither git nor gix takes a directory without HEAD for a repository. Next to the lost file everything is there, so a
//! directory of ours replaces it: it has a HEAD that names nothing and refers to the repository for the rest, as that
//! of a linked working tree does. It is made in the system's directory for temporary files; the repository is not changed.

use std::path::{Path, PathBuf};

use super::{Error, OpenEnvironment, Repository, open, paths};
use crate::os;

/// A repository without HEAD; the directory in its place goes when this is dropped.
#[derive(Debug)]
pub struct HeadlessRepository {
    /// The git directory without HEAD.
    pub path: PathBuf,
    directory: PathBuf,
}

impl Drop for HeadlessRepository {
    fn drop(&mut self) {
        // What stays is a few bytes among temporary files.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Opens the repository that an environment means where it has lost its HEAD; `None` where that is not what is wrong.
/// Nothing may be written through it.
pub fn open_headless(environment: &OpenEnvironment) -> Result<Option<(Repository, HeadlessRepository)>, Error> {
    let Err(Error::NoHead { path }) = open(environment) else {
        return Ok(None);
    };
    // Whose repository it is would be asked of the directory in its place, which is ours.
    let is_ours = gix::sec::Trust::from_path_ownership(&path).is_ok_and(|trust| trust == gix::sec::Trust::Full);
    if !is_ours {
        return Ok(None);
    }
    let directory = os::temporary_dir().map_err(Error::io("create a temporary directory for", &path))?;
    let headless = HeadlessRepository { path, directory };
    headless.fill()?;
    let mut environment = environment.clone();
    let mut set = |name: &str, path: &Path| {
        environment.vars.insert(name.into(), path.as_os_str().to_owned());
    };
    set("GIT_DIR", &headless.directory);
    if let Some(top) = headless.top() {
        set("GIT_WORK_TREE", &top);
    }
    let repo = open(&environment)?;
    Ok(Some((repo, headless)))
}

impl HeadlessRepository {
    /// The directory with the refs and objects, where that is another one: then HEAD was lost by a linked working tree.
    fn common(&self) -> Option<PathBuf> {
        let named = os::read_regular(&self.path.join("commondir")).ok()?;
        Some(self.path.join(gix::path::from_byte_slice(named.trim_ascii_end()).ok()?))
    }

    /// The working tree, where it is known.
    fn top(&self) -> Option<PathBuf> {
        if let Ok(named) = os::read_regular(&self.path.join("gitdir")) {
            let dot_git = gix::path::from_byte_slice(named.trim_ascii_end());
            return dot_git.ok()?.parent().map(Path::to_owned);
        }
        let is_dot_git = self.path.file_name().is_some_and(|name| name == ".git");
        self.path.parent().filter(|_| is_dot_git).map(Path::to_owned)
    }

    /// Writes the files of a git directory that refers to the repository.
    fn fill(&self) -> Result<(), Error> {
        let write = |name: &str, bytes: &[u8]| {
            let path = self.directory.join(name);
            std::fs::write(&path, bytes).map_err(Error::io("write", &path))
        };
        let line = |path: &Path| [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
        // No branch and no commit: whatever asks for them learns that they are not known.
        write("HEAD", b"lost\n")?;
        let common = self.common();
        write("commondir", &line(common.as_ref().unwrap_or(&self.path)))?;
        let name = match (&common, self.path.file_name()) {
            (Some(_), Some(name)) => format!("linked-{}", name.to_string_lossy()),
            _ => "main".to_owned(),
        };
        write(paths::STANDS_FOR, name.as_bytes())?;
        let top = self.top().unwrap_or_else(|| self.path.clone());
        write("gitdir", &line(&top.join(".git")))?;
        // Which session is current is known without HEAD.
        let current = Path::new("checkpoint").join("current");
        if let Ok(bytes) = os::read_regular(&self.path.join(&current)) {
            let below = self.directory.join("checkpoint");
            std::fs::create_dir(&below).map_err(Error::io("create", &below))?;
            let path = self.directory.join(current);
            std::fs::write(&path, bytes).map_err(Error::io("write", &path))?;
        }
        Ok(())
    }
}
