//! The repositories in which sessions were saved: a list of directories in the user's own state directory.
//!
//! Paths and nothing else, one a line, C-quoted where they must be; the directory is 0700, the file 0600. What is not there
//! any more is forgotten when it is next looked for.

use std::{
    io,
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
};

use super::Error;
use crate::{
    model::path::RepoPath,
    os::{self, Sharing, os_string},
    store::{self, Repository},
};

/// The program's directory below the user's state directory.
const DIRECTORY: &str = "git-checkpoint";
/// The list.
const FILE: &str = "repositories";

/// The list of one user.
#[derive(Clone, Debug)]
pub struct RepositoryList {
    directory: PathBuf,
}

impl RepositoryList {
    /// The list below a state directory, such as `~/.local/state`.
    pub fn below(state: &Path) -> Self {
        Self {
            directory: state.join(DIRECTORY),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = self.path().display().to_string();
        move |source| Error::RepositoryList { action, path, source }
    }

    /// The directories, in the order in which they were noted.
    pub fn read(&self) -> Result<Vec<PathBuf>, Error> {
        let bytes = match os::read_regular(&self.path()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read")(error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let path = |line: &str| RepoPath::from_quoted(line).map(|path| PathBuf::from(os_string(path.as_bytes())));
        Ok(text
            .lines()
            .filter(|line| !line.is_empty())
            .filter_map(path)
            .filter(|path| path.is_absolute())
            .collect())
    }

    /// Notes a directory; one that is noted already costs a reading.
    pub fn note(&self, directory: &Path) -> Result<(), Error> {
        if self.read()?.iter().any(|known| known == directory) {
            return Ok(());
        }
        let line = format!("{}\n", quoted(directory));
        self.change(|mut lines| {
            lines.push_str(&line);
            lines
        })
    }

    /// Forgets directories.
    pub fn forget(&self, directories: &[PathBuf]) -> Result<(), Error> {
        if directories.is_empty() || !self.path().exists() {
            return Ok(());
        }
        let gone: Vec<String> = directories.iter().map(|directory| quoted(directory)).collect();
        self.change(|lines| {
            let stays = |line: &&str| !gone.iter().any(|gone| gone == line);
            lines.lines().filter(stays).flat_map(|line| [line, "\n"]).collect()
        })
    }

    /// Creates the directory with those above it. They belong to whom the first one that exists belongs to: root in a
    /// user's repository leaves nothing that the user cannot use.
    fn create_directory(&self) -> io::Result<()> {
        let missing: Vec<&Path> = self.directory.ancestors().take_while(|path| !path.exists()).collect();
        for path in missing.into_iter().rev() {
            let sharing = path.parent().map(Sharing::as_in).unwrap_or_default();
            os::private_dir(path, sharing)?;
        }
        os::private_dir(&self.directory, Sharing::as_in(&self.directory))
    }

    /// Whether the list lies below a directory.
    pub fn is_below(&self, directory: &Path) -> bool {
        self.directory.starts_with(directory)
    }

    /// Changes the list while no other process does.
    fn change(&self, change: impl FnOnce(String) -> String) -> Result<(), Error> {
        self.create_directory().map_err(self.failed("create"))?;
        let sharing = Sharing::as_in(&self.directory);
        let mut file = os::private_file(&self.path(), sharing).map_err(self.failed("open"))?;
        os::lock(&file).map_err(self.failed("lock"))?;
        let bytes = os::read_regular(&self.path()).map_err(self.failed("read"))?;
        let mut before = String::from_utf8_lossy(&bytes).into_owned();
        // A line that a power cut has torn spoils no other.
        if !before.is_empty() && !before.ends_with('\n') {
            before.push('\n');
        }
        let after = change(before);
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(after.as_bytes()));
        written.map_err(self.failed("write"))
    }
}

fn quoted(path: &Path) -> String {
    RepoPath::new(path.as_os_str().as_encoded_bytes()).quoted()
}

/// The directory by which a repository is noted: its main working tree, else its own directory.
pub fn directory_of(repo: &Repository) -> PathBuf {
    let common = repo.common_dir();
    let common = os::real_path(common).unwrap_or_else(|_| common.to_owned());
    if common.file_name().is_some_and(|name| name == ".git") {
        return common.parent().map(Path::to_owned).unwrap_or(common);
    }
    match store::work_tree(repo) {
        Ok(root) if store::worktree_id(repo) == "main" => os::real_path(root).unwrap_or_else(|_| root.to_owned()),
        _ => common,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn directories_are_noted_once_and_forgotten() {
        let state = tempfile::tempdir().expect("a directory");
        let list = RepositoryList::below(&state.path().join("not/yet"));
        assert!(list.read().expect("nothing").is_empty());
        let paths = ["/a/b", "/with space/ü", "/line\nend", "/quote\"d"].map(PathBuf::from);
        for path in paths.iter().chain(&paths) {
            list.note(path).expect("noted");
        }
        assert_eq!(list.read().expect("a list"), paths);
        list.forget(&paths[1..3]).expect("forgotten");
        assert_eq!(list.read().expect("a list"), [paths[0].clone(), paths[3].clone()]);
        // A line that was torn, and one that is no path.
        let mut bytes = fs::read(list.path()).expect("read");
        bytes.extend(b"relative\n/torn");
        fs::write(list.path(), bytes).expect("written");
        list.note(&paths[1]).expect("noted");
        assert_eq!(list.read().expect("a list").last(), Some(&paths[1]));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
            assert_eq!((mode(&list.directory), mode(&list.path())), (0o700, 0o600));
        }
    }
}
