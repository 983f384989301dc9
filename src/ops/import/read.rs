//! The files of a source, read with bounds. Links inside directories are never followed, and nothing is written.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use super::{super::Error, ImportRequest};
use crate::{
    formats::{FILE_LIMIT, FILES_LIMIT, File, Problem, System, TOTAL_LIMIT},
    model::{path::RepoPath, time::Timestamp},
    os,
};

/// Directories that hold no sessions, however deep one looks.
const PASSED: [&str; 3] = [".git", "node_modules", "__pycache__"];
/// The deepest directory that is looked at.
const DEPTH: usize = 16;

/// Files of an import source.
#[derive(Default)]
pub(super) struct ImportSource {
    pub(super) files: Vec<File>,
    pub(super) problems: Vec<Problem>,
    pub(super) shown: PathDisplay,
    /// Where each file lies and how it was when it was read.
    read: Vec<(PathBuf, FileStamp)>,
    total: u64,
}

/// Evidence that a file changed: its length and modification time.
type FileStamp = (u64, Option<SystemTime>);

/// How often files that change meanwhile are read again.
const ROUNDS: usize = 5;

/// How paths are shown: the part before the user's own is replaced by what the user typed.
#[derive(Default)]
pub(super) struct PathDisplay(Vec<(String, String)>);

impl PathDisplay {
    /// Turns a path that `formats` was given, or a place in such a file, into one that the user knows.
    pub(super) fn translate(&self, path: &mut String) {
        for (prefix, shown) in &self.0 {
            if let Some(rest) = path.strip_prefix(prefix.as_str())
                && (rest.is_empty() || rest.starts_with(['/', ':', '#']))
            {
                *path = format!("{shown}{rest}");
                return;
            }
        }
    }
}

/// Reads all paths of a request; `progress` is called with the number of files so far.
pub(super) fn read(request: &ImportRequest, progress: &dyn Fn(usize)) -> Result<ImportSource, Error> {
    let mut found = ImportSource::default();
    for (path, shown) in &request.paths {
        let roots = roots(path, shown, request.usual_places)?;
        for (root, shown) in roots {
            found.root(&root, &shown, progress)?;
        }
    }
    found.settle();
    Ok(found)
}

/// The places to look at for one path.
fn roots(path: &Path, shown: &str, usual: bool) -> Result<Vec<(PathBuf, String)>, Error> {
    let meta = fs::metadata(path).map_err(unreadable(shown))?;
    let own = vec![(path.to_owned(), shown.to_owned())];
    // Of a whole project, what the systems left in it is imported, not each of its files.
    let project = meta.is_dir() && path.join(".git").exists();
    if !meta.is_dir() || !(usual || project) {
        return Ok(own);
    }
    let mut roots = Vec::new();
    for place in System::ALL.iter().flat_map(|system| system.places()) {
        let below = path.join(place);
        if fs::symlink_metadata(&below).is_ok_and(|meta| !meta.file_type().is_symlink()) {
            let shown = if shown == "." {
                (*place).to_owned()
            } else {
                format!("{}/{place}", shown.trim_end_matches('/'))
            };
            roots.push((below, shown));
        }
    }
    Ok(if roots.is_empty() && !project { own } else { roots })
}

fn unreadable(shown: &str) -> impl FnOnce(std::io::Error) -> Error {
    let path = shown.to_owned();
    move |source| Error::Source { path, source }
}

impl ImportSource {
    /// Where each file lies on disk.
    pub(super) fn places(&self) -> BTreeMap<String, PathBuf> {
        let paths = self.files.iter().map(|file| file.path.clone());
        paths.zip(self.read.iter().map(|(path, _)| path.clone())).collect()
    }

    fn root(&mut self, root: &Path, shown: &str, progress: &dyn Fn(usize)) -> Result<(), Error> {
        let prefix = context(root);
        self.shown.0.push((prefix.clone(), shown.to_owned()));
        let meta = fs::metadata(root).map_err(unreadable(shown))?;
        if meta.is_dir() {
            self.directory(root, &prefix, 0, progress);
            return Ok(());
        }
        // What the user names must be readable; inside a directory a file that is not is one problem among others.
        os::open_regular(root).map_err(unreadable(shown))?;
        self.file(root, &prefix);
        // A database may have its latest pages in a file next to it.
        if root.extension().is_some_and(|end| end == "db") {
            let mut beside = root.as_os_str().to_owned();
            beside.push("-wal");
            if fs::symlink_metadata(&beside).is_ok_and(|meta| meta.is_file()) {
                self.file(Path::new(&beside), &format!("{prefix}-wal"));
                self.shown.0.push((format!("{prefix}-wal"), format!("{shown}-wal")));
            }
        }
        Ok(())
    }

    fn directory(&mut self, directory: &Path, prefix: &str, depth: usize, progress: &dyn Fn(usize)) {
        let entries = fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                self.problems.push(Problem::broken(
                    prefix,
                    format!("it cannot be read: {}", os::reason(&error)),
                ));
                return;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = RepoPath::new(entry.file_name().as_encoded_bytes()).quoted();
            let path = format!("{prefix}/{name}");
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                self.problems
                    .push(Problem::note(&path, "it is a link, which is not followed"));
            } else if kind.is_dir() {
                if PASSED.contains(&name.as_str()) {
                    continue;
                }
                if depth == DEPTH {
                    self.problems.push(Problem::broken(
                        &path,
                        format!("it is nested deeper than {DEPTH} directories"),
                    ));
                } else {
                    self.directory(&entry.path(), &path, depth + 1, progress);
                }
            } else if kind.is_file() {
                self.file(&entry.path(), &path);
                progress(self.files.len());
            } else {
                self.problems
                    .push(Problem::note(&path, "it is no file, and is not opened"));
            }
        }
    }

    fn file(&mut self, file: &Path, path: &str) {
        if self.files.len() >= FILES_LIMIT {
            if self.files.len() == FILES_LIMIT && self.total != u64::MAX {
                self.problems.push(Problem::broken(
                    path,
                    format!("it and what follows is left out: more than {FILES_LIMIT} files"),
                ));
                self.total = u64::MAX;
            }
            return;
        }
        let size = fs::symlink_metadata(file).map_or(0, |meta| meta.len());
        if size > FILE_LIMIT {
            self.problems.push(Problem::broken(
                path,
                format!("it has {size} bytes, more than the {FILE_LIMIT} allowed"),
            ));
            return;
        }
        if self.total.saturating_add(size) > TOTAL_LIMIT {
            self.problems.push(Problem::broken(
                path,
                format!("it is left out: more than {TOTAL_LIMIT} bytes in all"),
            ));
            return;
        }
        match bytes_of(file) {
            Ok((bytes, stamp)) => {
                self.total += bytes.len() as u64;
                self.files.push(File {
                    path: path.to_owned(),
                    bytes,
                    modified: seconds(&stamp),
                });
                self.read.push((file.to_owned(), stamp));
            }
            Err(error) => {
                self.problems.push(Problem::broken(
                    path,
                    format!("it cannot be read: {}", os::reason(&error)),
                ));
            }
        }
    }

    /// Reads again what changed while the rest was read, until nothing does: then all of it is of one moment, a database
    /// and its log among them.
    fn settle(&mut self) {
        for round in 1.. {
            let changed: Vec<usize> = (0..self.read.len()).filter(|at| !is_as_read(&self.read[*at])).collect();
            if changed.is_empty() {
                return;
            }
            if round > ROUNDS {
                for at in changed {
                    let what = "it changes constantly; the latest part may be missing, and is imported next time";
                    self.problems.push(Problem::note(&self.files[at].path, what));
                }
                return;
            }
            for at in changed {
                // One that is gone or has outgrown the limits stays as it was read.
                if let Ok((bytes, stamp)) = bytes_of(&self.read[at].0)
                    && self.total - self.files[at].bytes.len() as u64 + bytes.len() as u64 <= TOTAL_LIMIT
                {
                    self.total -= self.files[at].bytes.len() as u64;
                    self.total += bytes.len() as u64;
                    self.files[at].modified = seconds(&stamp);
                    self.files[at].bytes = bytes;
                    self.read[at].1 = stamp;
                }
            }
        }
    }
}

/// Whether a file is as it was when it was read; one that is gone cannot change any more.
fn is_as_read((path, stamp): &(PathBuf, FileStamp)) -> bool {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => (meta.len(), meta.modified().ok()) == *stamp,
        _ => true,
    }
}

fn bytes_of(file: &Path) -> std::io::Result<(Vec<u8>, FileStamp)> {
    let open = os::open_regular(file)?;
    let meta = open.metadata()?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(open, FILE_LIMIT), &mut bytes)?;
    Ok((bytes, (meta.len(), meta.modified().ok())))
}

fn seconds((_, modified): &FileStamp) -> Option<Timestamp> {
    let since = modified.as_ref()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_unix(i64::try_from(since.as_secs()).ok()?, 0))
}

/// The last parts of a path, which show a system where a file is: `.claude/checkpoints/1.json` is recognized by its
/// directories.
fn context(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(RepoPath::new(name.as_encoded_bytes()).quoted()),
            Component::ParentDir => {
                parts.pop();
            }
            _ => {}
        }
    }
    let first = parts.len().saturating_sub(6);
    parts[first..].join("/")
}
