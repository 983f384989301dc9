//! `log -- PATH`: the versions of files over the checkpoints and autosaves of a session.
//!
//! The states are compared pairwise from the latest back; equal directories are never read. A file that appears is
//! followed to the one it was renamed from, as `git log --follow` does: by the same content, else by similarity, for which
//! git is asked. What the oldest state has in common with its HEAD was there before the session.

mod patches;

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    path::{Component, Path, PathBuf},
};

pub use patches::PatchLog;

use super::{
    Error, Scene, ids, select, suggestions,
    timeline::{self, FileState},
};
use crate::{
    model::{
        change::{ChangeKind, TreeChange, TreeEntryInfo},
        path::RepoPath,
        report::Lines,
        selector::Selector,
    },
    os::os_string,
    store::{
        self, ObjectId, Repository,
        checkpoint::CheckpointCommit,
        lines,
        pathspec::PathFilter,
        tree::{self, Renames, TreeReader},
    },
};

/// How alike two files must be to count as renamed, in per cent, as in git.
const SIMILAR: u8 = 50;

/// Request of a history.
#[derive(Debug)]
pub struct FileHistoryRequest {
    /// The session, or the checkpoint to begin at.
    pub selector: Option<Selector>,
    /// Pathspecs.
    pub specs: Vec<RepoPath>,
    /// The directory that they are relative to.
    pub directory: RepoPath,
    /// No state before this date, in any form git reads.
    pub since: Option<String>,
    /// At most so many versions.
    pub limit: Option<usize>,
}

/// How a version came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionOrigin {
    /// By a change between two states.
    Change(ChangeKind),
    /// It was in HEAD at the oldest state.
    Base,
}

impl VersionOrigin {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Change(ChangeKind::Added) => "added",
            Self::Change(ChangeKind::Deleted) => "deleted",
            Self::Change(ChangeKind::Modified) => "modified",
            Self::Change(ChangeKind::Renamed) => "renamed",
            Self::Change(ChangeKind::TypeChanged) => "type-changed",
        }
    }
}

/// A distinct version of a file.
#[derive(Clone, Debug)]
pub struct FileVersion {
    /// The path.
    pub path: RepoPath,
    /// The path before, where the version came by a rename.
    pub from: Option<RepoPath>,
    /// How it came to be.
    pub origin: VersionOrigin,
    /// The file; `None` for a deletion.
    pub entry: Option<TreeEntryInfo>,
    /// Lines added and removed, where that can be counted.
    pub lines: Option<Lines>,
    /// The states that hold it, as places in the list of states, the latest first; of a deletion the state that is first
    /// without the file.
    pub holders: Vec<usize>,
    /// The trees between which it came to be: the older one, and the newer one.
    pub trees: (ObjectId, ObjectId),
}

/// The history of files.
#[derive(Debug)]
pub struct FileHistory {
    /// The session; one that was fetched as `<remote>/<session>`.
    pub session: String,
    /// The states, latest first.
    pub states: Vec<FileState>,
    /// The versions, those that were held last first.
    pub versions: Vec<FileVersion>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

/// Reads the history.
pub fn history(scene: &Scene<'_>, request: &FileHistoryRequest) -> Result<FileHistory, Error> {
    let current = Selector::current();
    let selector = request.selector.as_ref().unwrap_or(&current);
    let (session, from) = session_of(scene, selector)?;
    let since = request
        .since
        .as_deref()
        .map(|date| select::unix_time(scene, date))
        .transpose()?;
    let (mut states, beginning) = timeline::states_since_start(scene, from, true)?;
    let total = states.len();
    states.retain(|state| since.is_none_or(|since| state.entry.time.unix() >= since));
    let directory = PathBuf::from(os_string(request.directory.as_bytes()));
    let specs: Vec<&[u8]> = request.specs.iter().map(RepoPath::as_bytes).collect();
    let filter = PathFilter::new(scene.repo, &specs, &directory)?;
    let mut walk = HistoryWalk {
        repo: scene.repo,
        filter: &filter,
        tracks: HashMap::new(),
        runs: Vec::new(),
        names: 0,
    };
    if let Some(latest) = states.first() {
        // What is named as it is counts although it may never change.
        for spec in &request.specs {
            let path = if directory.as_os_str().is_empty() {
                spec.clone()
            } else {
                RepoPath::new([request.directory.as_bytes(), b"/", spec.as_bytes()].concat())
            };
            if filter.keeps(&path) && tree::entry(scene.repo, latest.tree, &path)?.is_some() {
                walk.track(path, 0);
            }
        }
    }
    let is_whole = states.len() == total;
    walk.run(&states, beginning.filter(|_| is_whole).map(|state| state.tree))?;
    let mut versions = walk.versions(&states);
    if versions.is_empty() {
        return Err(Error::NoMatch {
            spec: request.specs.first().cloned().unwrap_or_default(),
            what: "file of the session",
        });
    }
    let more = request.limit.is_some_and(|limit| versions.len() > limit);
    versions.truncate(request.limit.unwrap_or(usize::MAX));
    for version in &mut versions {
        version.lines = count(scene.repo, version)?;
    }
    Ok(FileHistory {
        session,
        states,
        versions,
        more,
    })
}

/// The session that a selector means, as it is shown, and the checkpoint.
pub(super) fn session_of(scene: &Scene<'_>, selector: &Selector) -> Result<(String, ObjectId), Error> {
    let (session, from) = select::commit(scene, selector)?;
    let fetched = select::remote(scene, selector);
    let name = match (session, fetched) {
        (Some(session), _) => session.to_string(),
        (None, Some((remote, session, _))) => format!("{remote}/{session}"),
        (None, None) => ids::short(from),
    };
    if name.is_empty() {
        return Err(suggestions::none_current(scene));
    }
    Ok((name, from))
}

/// Lines added and removed by the change that made a version.
fn count(repo: &Repository, version: &FileVersion) -> Result<Option<Lines>, Error> {
    let VersionOrigin::Change(kind) = version.origin else {
        return Ok(None);
    };
    let before = version.from.as_ref().unwrap_or(&version.path);
    let old = tree::entry(repo, version.trees.0, before)?;
    let change = TreeChange {
        kind,
        path: version.path.clone(),
        from: version.from.clone(),
        similarity: None,
        old,
        new: version.entry.clone(),
    };
    Ok(lines::count(repo, &change)?)
}

/// The changes of a file between two trees, with the renames that lead to one of the wanted paths.
pub(super) fn changes_with_renames(
    repo: &Repository,
    reader: &TreeReader<'_>,
    old: ObjectId,
    new: ObjectId,
    is_wanted: impl Fn(&RepoPath) -> bool,
) -> Result<Vec<TreeChange>, Error> {
    let changes = reader.diff(Some(old), Some(new), Renames::Exact)?;
    let appears = |change: &TreeChange| change.kind == ChangeKind::Added && is_wanted(&change.path);
    let disappears = |change: &TreeChange| change.kind == ChangeKind::Deleted;
    if changes.iter().any(appears) && changes.iter().any(disappears) {
        // Costs a child process, so only where a file may have been renamed.
        if let Ok(similar) = tree::diff(repo, Some(old), Some(new), Renames::Similar(SIMILAR)) {
            return Ok(similar);
        }
    }
    Ok(changes)
}

/// A file that is followed.
#[derive(Clone, Copy, Debug)]
struct Track {
    name: usize,
    /// The latest state of the run that is open.
    start: usize,
}

/// States in a row that have the same file.
#[derive(Debug)]
struct VersionRun {
    name: usize,
    path: RepoPath,
    from: Option<RepoPath>,
    entry: Option<TreeEntryInfo>,
    origin: VersionOrigin,
    /// The latest state, and the oldest.
    states: (usize, usize),
    trees: (ObjectId, ObjectId),
}

struct HistoryWalk<'a> {
    repo: &'a Repository,
    filter: &'a PathFilter,
    /// The files that are followed, by their paths in the state that was reached.
    tracks: HashMap<RepoPath, Track>,
    runs: Vec<VersionRun>,
    names: usize,
}

impl HistoryWalk<'_> {
    fn track(&mut self, path: RepoPath, start: usize) -> Track {
        let track = Track {
            name: self.names,
            start,
        };
        self.names += 1;
        self.tracks.insert(path, track);
        track
    }

    /// Walks back to the commit that the session began at, if its tree is known; else to HEAD of the oldest state.
    fn run(&mut self, states: &[FileState], beginning: Option<ObjectId>) -> Result<(), Error> {
        let reader = TreeReader::new(self.repo);
        for at in 0..states.len() {
            let new = states[at].tree;
            let older = states.get(at + 1);
            let old = match (older, beginning) {
                (Some(older), _) => older.tree,
                (None, Some(beginning)) => beginning,
                (None, None) => tree::tree_of(self.repo, Some(states[at].head))?,
            };
            let changes = if old == new {
                Vec::new()
            } else {
                changes_with_renames(self.repo, &reader, old, new, |path| self.is_wanted(path))?
            };
            for change in changes {
                self.change(change, at, (old, new));
            }
            if older.is_none() {
                self.close_all(at, states)?;
            }
        }
        Ok(())
    }

    fn is_wanted(&self, path: &RepoPath) -> bool {
        self.tracks.contains_key(path) || self.filter.keeps(path)
    }

    /// Ends the run of a file that changed between a state and the one before.
    fn change(&mut self, change: TreeChange, at: usize, trees: (ObjectId, ObjectId)) {
        if !self.is_wanted(&change.path) {
            return;
        }
        let track = if let Some(track) = self.tracks.remove(&change.path) {
            track
        } else {
            let track = self.track(change.path.clone(), 0);
            self.tracks.remove(&change.path);
            track
        };
        let is_deletion = change.new.is_none();
        self.runs.push(VersionRun {
            name: track.name,
            path: change.path.clone(),
            from: change.from.clone(),
            entry: change.new,
            origin: VersionOrigin::Change(change.kind),
            states: if is_deletion { (at, at) } else { (track.start, at) },
            trees,
        });
        if change.old.is_some() {
            let before = change.from.unwrap_or(change.path);
            self.tracks.insert(
                before,
                Track {
                    name: track.name,
                    start: at + 1,
                },
            );
        }
    }

    /// Ends the runs of files that were there before the oldest state.
    fn close_all(&mut self, oldest: usize, states: &[FileState]) -> Result<(), Error> {
        for (path, track) in std::mem::take(&mut self.tracks) {
            if track.start > oldest {
                continue;
            }
            let tree = states[oldest].tree;
            self.runs.push(VersionRun {
                name: track.name,
                entry: tree::entry(self.repo, tree, &path)?,
                path,
                from: None,
                origin: VersionOrigin::Base,
                states: (track.start, oldest),
                trees: (tree, tree),
            });
        }
        Ok(())
    }

    /// The distinct versions: the runs of a file with the same content and path are one.
    fn versions(self, states: &[FileState]) -> Vec<FileVersion> {
        let mut places: HashMap<(usize, RepoPath, TreeEntryInfo), usize> = HashMap::new();
        let mut out: Vec<FileVersion> = Vec::new();
        let mut runs = self.runs;
        // The latest runs first, so that the oldest one decides how a version came to be.
        runs.sort_by_key(|run| run.states);
        for run in runs {
            let holders = (run.states.0..=run.states.1).filter(|at| *at < states.len());
            let known = run.entry.clone().and_then(|entry| {
                let place = *places.entry((run.name, run.path.clone(), entry)).or_insert(out.len());
                (place < out.len()).then_some(place)
            });
            if let Some(place) = known {
                let version = &mut out[place];
                version.holders.extend(holders);
                version.from = run.from;
                (version.origin, version.trees) = (run.origin, run.trees);
                continue;
            }
            out.push(FileVersion {
                path: run.path,
                from: run.from,
                origin: run.origin,
                entry: run.entry,
                lines: None,
                holders: holders.collect(),
                trees: run.trees,
            });
        }
        for version in &mut out {
            let mut seen = HashSet::new();
            version.holders.retain(|at| seen.insert(*at));
        }
        out.retain(|version| !version.holders.is_empty());
        out.sort_by(|a, b| (a.holders[0], &a.path).cmp(&(b.holders[0], &b.path)));
        out
    }
}

impl FileHistory {
    /// The checkpoint that first has a version.
    pub fn introduced(&self, version: &FileVersion) -> Option<&FileState> {
        version.holders.last().and_then(|at| self.states.get(*at))
    }

    /// The latest checkpoint that has a version.
    pub fn latest(&self, version: &FileVersion) -> Option<&FileState> {
        version.holders.first().and_then(|at| self.states.get(*at))
    }
}

/// The name of the session that a checkpoint belonged to when it was written.
pub fn session_name(entry: &CheckpointCommit) -> &str {
    entry.trailers.session.as_deref().unwrap_or_default()
}

/// A path as it was typed in a directory of the working tree, from the root; `None` outside of it.
pub fn path_below(repo: &Repository, directory: &RepoPath, typed: &str) -> Option<RepoPath> {
    let typed = Path::new(typed);
    let mut parts: Vec<&OsStr> = Vec::new();
    let start = PathBuf::from(os_string(directory.as_bytes()));
    let real;
    let below = if typed.is_absolute() {
        let root = store::work_tree(repo).ok()?;
        real = (root.canonicalize().ok()?, root);
        typed
            .strip_prefix(&real.0)
            .or_else(|_| typed.strip_prefix(real.1))
            .ok()?
    } else {
        parts.extend(start.iter());
        typed
    };
    for component in below.components() {
        match component {
            Component::Normal(name) => parts.push(name),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_encoded_bytes()).collect();
    Some(RepoPath::new(parts.join(&b'/')))
}
