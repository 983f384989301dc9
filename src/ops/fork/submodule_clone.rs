//! One submodule of a new working tree: cloned and checked out in a directory of our own, then put in place by two
//! renames.
//!
//! What is in its directory or where git keeps its repository is never deleted and never written over: it may be a user's
//! work, whatever it looks like. What a kill leaves is below our own directory, or has a name that is noted there.

use std::{
    fmt::Write as _,
    fs,
    io::{self, ErrorKind},
    path::{Component, Path, PathBuf},
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};

use crate::{
    git::{self, Git},
    os,
};

/// Where clones are made, below the git directory of the new working tree.
const BEGUN: &str = "checkpoint/submodules";
/// How long a directory is removed again and again into which a process still writes.
const PATIENCE: Duration = Duration::from_secs(2);
/// Starts the name of the directory in which the files are checked out, next to the one where they go.
const TREE: &str = ".checkpoint-submodule-";

/// A submodule of a new working tree.
pub(super) struct SubmoduleClone {
    /// Its directory.
    target: PathBuf,
    /// Where git keeps its repository.
    git_dir: PathBuf,
    /// Where the directories of ours are in which it is cloned, each with the repository `git`, and the path of the files in
    /// `tree`. Each try has one of its own: what a killed process started may still write to the one before.
    begun: PathBuf,
    /// How the names of those directories begin.
    prefix: String,
}

/// A try to clone it.
struct Attempt {
    /// Its directory.
    directory: PathBuf,
    /// Where the files are checked out.
    tree: PathBuf,
}

impl SubmoduleClone {
    /// The submodule of a name, at a directory; `own` is the git directory of the working tree.
    pub(super) fn new(own: &Path, name: &str, target: PathBuf) -> Self {
        let digest = Sha256::digest(name)
            .iter()
            .take(8)
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
        Self {
            target,
            git_dir: own.join("modules").join(name),
            begun: own.join(BEGUN),
            prefix: digest,
        }
    }

    /// Clones from the repository `there` and checks out a commit; `url` is that of its remote. Else gives the reason.
    pub(super) fn populate(&self, there: &str, url: &str, commit: &str) -> Result<(), String> {
        let io = |error: io::Error| os::reason(&error);
        if self.settle().map_err(io)? {
            return Ok(());
        }
        let is_free = match fs::read_dir(&self.target) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if !is_free {
            return Err("its directory is not empty".to_owned());
        }
        let done = if self.git_dir.symlink_metadata().is_ok() {
            self.check_out_again()
        } else {
            self.clone(there, url, commit)
        };
        // What is not in place by now is of no use.
        self.settle().map_err(io)?;
        done
    }

    /// Ends what an earlier process began: completes it if its files are in place, else removes what it made. Returns whether
    /// it was completed.
    pub(super) fn settle(&self) -> io::Result<bool> {
        let is_ours = fs::read(self.target.join(".git")).is_ok_and(|link| link == self.link().as_bytes());
        let mut is_completed = false;
        for begun in self.attempts() {
            if is_ours && begun.join("git").is_dir() && self.git_dir.symlink_metadata().is_err() {
                self.place_repository(&begun)?;
                is_completed = true;
            }
            let tree = fs::read(begun.join("tree")).unwrap_or_default();
            let tree = PathBuf::from(os::os_string(&tree));
            let name = tree.file_name().unwrap_or_default();
            if name.as_encoded_bytes().starts_with(TREE.as_bytes()) {
                remove(&tree)?;
            }
            remove(&begun)?;
        }
        // Also where a kill came before this.
        for directory in self.begun.ancestors().take(2) {
            // Those that are not empty stay.
            let _ = fs::remove_dir(directory);
        }
        Ok(is_completed)
    }

    /// The directories of all tries that left one.
    fn attempts(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.begun).into_iter().flatten().flatten();
        let is_own = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(self.prefix.as_bytes());
        entries.filter(is_own).map(|entry| entry.path()).collect()
    }

    fn clone(&self, there: &str, url: &str, commit: &str) -> Result<(), String> {
        let io = |error: io::Error| os::reason(&error);
        let Attempt { directory, tree } = self.begin().map_err(io)?;
        let parent = tree.parent().unwrap_or(&tree);
        let repository = directory.join("git");
        let clone = Git::outside().cwd(parent).own_settings();
        let clone = clone.args([
            "clone",
            "--quiet",
            "--no-checkout",
            "--origin=origin",
            "--separate-git-dir",
        ]);
        clone
            .arg(&repository)
            .args(["--", there])
            .arg(&tree)
            .run()
            .map_err(why)?;
        let git = || Git::at(&repository).work_tree(&tree).own_settings();
        // The remote is that of the source's, not its directory.
        let remote = git().accept([2, 128]);
        let remote = if url.is_empty() {
            remote.args(["remote", "remove", "origin"])
        } else {
            remote.args(["remote", "set-url", "origin", url])
        };
        remote.run().map_err(why)?;
        let asked = git()
            .accept([1, 128])
            .args(["cat-file", "-e", &format!("{commit}^{{commit}}")]);
        if asked.run().map_err(why)?.code != 0 {
            let fetch = git().args([
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--",
                there,
                commit,
            ]);
            fetch.run().map_err(why)?;
        }
        let checkout = git().args(["checkout", "--quiet", "--detach", commit]);
        checkout.run().map_err(why)?;
        self.place_files(&repository, &tree)?;
        self.place_repository(&directory).map_err(io)
    }

    /// Checks out once more what a repository has that is there already: its submodule was populated before. Of the repository
    /// nothing changes but an index that is missing.
    fn check_out_again(&self) -> Result<(), String> {
        let io = |error: io::Error| os::reason(&error);
        let Attempt { tree, .. } = self.begin().map_err(io)?;
        fs::create_dir(&tree).map_err(io)?;
        let git = || Git::at(&self.git_dir).work_tree(&tree).own_settings();
        if self.git_dir.join("index").symlink_metadata().is_err() {
            git().args(["read-tree", "HEAD"]).run().map_err(why)?;
        }
        git().args(["checkout-index", "--all"]).run().map_err(why)?;
        self.place_files(&self.git_dir, &tree)
    }

    /// Makes a directory of ours, and names the one for the files, which is not made yet.
    fn begin(&self) -> io::Result<Attempt> {
        let parent = self.target.parent().unwrap_or(&self.target);
        fs::create_dir_all(parent)?;
        let token = os::random_token()?;
        let directory = self.begun.join(format!("{}.{token}", self.prefix));
        fs::create_dir_all(&directory)?;
        let tree = parent.join(format!("{TREE}{token}"));
        fs::write(directory.join("tree"), tree.as_os_str().as_encoded_bytes())?;
        Ok(Attempt { directory, tree })
    }

    /// Lets a repository and its files know each other, and puts the files in place.
    fn place_files(&self, repository: &Path, tree: &Path) -> Result<(), String> {
        let io = |error: io::Error| os::reason(&error);
        let worktree = relative(&self.git_dir, &self.target);
        let config = Git::at(repository).own_settings().args(["config", "core.worktree"]);
        config.arg(worktree).run().map_err(why)?;
        fs::write(tree.join(".git"), self.link()).map_err(io)?;
        // Only an empty directory can be removed.
        match fs::remove_dir(&self.target) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        fs::rename(tree, &self.target).map_err(io)
    }

    /// Puts the repository of a try where git looks for it; nothing that is there is replaced.
    fn place_repository(&self, begun: &Path) -> io::Result<()> {
        if let Some(parent) = self.git_dir.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(begun.join("git"), &self.git_dir)
    }

    /// The content of the file `.git` in its directory.
    fn link(&self) -> String {
        format!("gitdir: {}\n", relative(&self.target, &self.git_dir).display())
    }
}

/// A failure of git in its own words.
pub(super) fn why(error: git::Error) -> String {
    match error {
        git::Error::Failed { stderr, .. } => {
            let line = stderr.lines().find(|line| !line.is_empty()).unwrap_or("git failed");
            line.trim_start_matches("fatal: ")
                .trim_start_matches("error: ")
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// Removes a directory of ours with all that is in it, if it is there. A git that outlived the process which started it may
/// still write into it, and is given two seconds to fail.
fn remove(directory: &Path) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

/// The path from one directory to another, both absolute, as git writes it.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from
        .components()
        .zip(to.components())
        .take_while(|(one, other)| one == other);
    let common = common.count();
    let up = from.components().skip(common).map(|_| Path::new("..").as_os_str());
    let down = to.components().skip(common).map(Component::as_os_str);
    up.chain(down).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_leads_from_one_to_the_other() {
        for (from, to, expected) in [
            ("/a/f/lib", "/a/r/.git/modules/lib", "../../r/.git/modules/lib"),
            ("/a", "/a/b/c", "b/c"),
            ("/a/b/c", "/a", "../.."),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), Path::new(expected));
        }
    }
}
