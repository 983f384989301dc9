//! `blame`: for each line of a file the checkpoint that brought it in.
//!
//! As in git, lines are passed on from a state to the one before while they are the same there, also under another name;
//! what cannot be passed on was brought in. A state has up to four states before it: the previous checkpoint, the one
//! that was restored meanwhile, the latest of a session that was merged, and HEAD, from which a merge, a pull or a checkout
//! of git brings lines. What was in HEAD before the session is `git blame`'s.

mod files;
mod origin;
mod segments;
mod why;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
    rc::Rc,
};

use files::{FileReader, Text};
pub use origin::{LineAuthor, LineOrigin, OriginKind};
use segments::Segments;
pub use why::{LineReason, NamedDecision, why};

use super::{
    Error, Scene,
    agent::running::{self, RunningTurn},
    compose,
    file_history::{changes_with_renames, session_of},
    made_here::LocalCommits,
    timeline::FileState,
};
use crate::{
    model::{id::Digest, path::RepoPath, selector::Selector},
    store::{
        self, ObjectId, Repository,
        blame::{self, BlamedCommit},
        checkpoint::{self, Checkpoint},
        lines::{self, LineRun},
        objects::Writer,
        refs,
        tree::{self, TreeReader},
    },
};

/// Request of a blame.
#[derive(Debug)]
pub struct BlameRequest {
    /// The checkpoint; the current files without one.
    pub selector: Option<Selector>,
    /// The file, from the root of the working tree.
    pub path: RepoPath,
    /// Ranges of lines as git's `-L` takes them; all lines when empty.
    pub ranges: Vec<String>,
}

/// A file with the origin of its lines.
#[derive(Debug)]
pub struct BlamedFile {
    /// The session, one that was fetched as `<remote>/<session>`.
    pub session: String,
    /// The checkpoint; `None` for the current files.
    pub checkpoint: Option<ObjectId>,
    /// The latest checkpoint that was looked at.
    pub latest: ObjectId,
    /// The path.
    pub path: RepoPath,
    /// All paths under which states had the file, as far as its lines were followed.
    pub paths: BTreeSet<RepoPath>,
    /// The lines that were asked for, in order.
    pub lines: Vec<BlamedText>,
    /// The origins.
    pub origins: Vec<LineOrigin>,
}

/// A line and its origin.
#[derive(Clone, Debug)]
pub struct BlamedText {
    /// The number, from 1.
    pub number: u32,
    /// The bytes, without the line end.
    pub text: Vec<u8>,
    /// The place among the origins.
    pub origin: usize,
}

/// Where a line comes from, before it is known who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Source {
    /// It is in the current files only.
    Unsaved,
    /// A state brought it in.
    State(usize),
    /// A commit that the user made before the session, or that a merge or checkout brought in with a state.
    Commit(ObjectId, Option<usize>),
}

/// A line of the file that is asked about, and its place in the file of a state, both from 0.
#[derive(Clone, Copy, Debug)]
struct LinePlace {
    asked: u32,
    here: u32,
}

struct BlameRun<'a> {
    repo: &'a Repository,
    scene: &'a Scene<'a>,
    reader: TreeReader<'a>,
    states: Vec<FileState>,
    segments: Segments,
    /// Lines that wait at a state under a path.
    waiting: BTreeMap<usize, HashMap<RepoPath, Vec<LinePlace>>>,
    /// Lines that HEAD at a state has, with the place of the state.
    committed: BTreeMap<usize, HashMap<RepoPath, Vec<LinePlace>>>,
    sources: HashMap<u32, Source>,
    commits: HashMap<ObjectId, BlamedCommit>,
    /// The commit that a line is in now, of a line that a state brought in.
    later: HashMap<u32, ObjectId>,
    files: FileReader,
    /// By the place of a state the checkpoint that was restored before it was saved.
    restored: HashMap<usize, Option<Digest>>,
    documents: HashMap<usize, Rc<Checkpoint>>,
    local: LocalCommits,
    /// The turns that agents are at, by the identity of the session.
    running: Vec<(String, RunningTurn)>,
    /// The identities of the sessions of states, by the beginning of a part of a chain.
    identities: HashMap<usize, String>,
    paths: BTreeSet<RepoPath>,
}

/// Finds the origin of the lines of a file.
pub fn blame(scene: &Scene<'_>, request: &BlameRequest) -> Result<BlamedFile, Error> {
    let current = Selector::current();
    let (session, from) = session_of(scene, request.selector.as_ref().unwrap_or(&current))?;
    let (states, segments) = segments::load(scene, from)?;
    let writer = Writer::memory(scene.repo);
    let present = if request.selector.is_none() && store::has_work_tree(scene.repo) {
        Some(compose::snapshot(scene, &writer, &[])?.tree)
    } else {
        None
    };
    let overlay = writer.overlay(scene.repo);
    let mut run = BlameRun {
        repo: &overlay,
        scene,
        reader: TreeReader::new(&overlay),
        states,
        segments,
        waiting: BTreeMap::new(),
        committed: BTreeMap::new(),
        sources: HashMap::new(),
        commits: HashMap::new(),
        later: HashMap::new(),
        files: FileReader::new(&overlay),
        restored: HashMap::new(),
        documents: HashMap::new(),
        local: LocalCommits::default(),
        running: running::running_turns(scene)?,
        identities: HashMap::new(),
        paths: BTreeSet::from([request.path.clone()]),
    };
    let absent = || Error::NoMatch {
        spec: request.path.clone(),
        what: "file of the checkpoint",
    };
    let top = present
        .or_else(|| run.states.first().map(|state| state.tree))
        .ok_or_else(absent)?;
    let text = run.files.text_at(top, &request.path)?.ok_or_else(absent)?;
    let wanted = origin::ranges(&text, &request.ranges)?;
    let asked: Vec<LinePlace> = wanted
        .iter()
        .flat_map(Clone::clone)
        .map(|line| LinePlace {
            asked: line,
            here: line,
        })
        .collect();
    match present {
        Some(present) if run.states.first().is_none_or(|state| state.tree != present) => {
            run.unsaved(present, &request.path, asked.clone())?;
        }
        _ => run.wait(0, request.path.clone(), asked.clone()),
    }
    run.pass_on()?;
    run.blame_commits()?;
    run.find_later_commits(top, &request.path, &text)?;
    let (lines, origins) = run.results(&text, &asked)?;
    Ok(BlamedFile {
        session,
        checkpoint: request.selector.is_some().then_some(from),
        latest: from,
        path: request.path.clone(),
        paths: run.paths,
        lines,
        origins,
    })
}

impl BlameRun<'_> {
    fn wait(&mut self, state: usize, path: RepoPath, places: Vec<LinePlace>) {
        if !places.is_empty() {
            self.paths.insert(path.clone());
            let waiting = self.waiting.entry(state).or_default();
            waiting.entry(path).or_default().extend(places);
        }
    }

    /// The path that a file had in an older tree.
    fn path_before(&mut self, old: ObjectId, new: ObjectId, path: &RepoPath) -> Result<Option<RepoPath>, Error> {
        if self.files.blob_at(old, path)?.is_some() {
            return Ok(Some(path.clone()));
        }
        let changes = changes_with_renames(self.repo, &self.reader, old, new, |other| other == path)?;
        let renamed = changes.into_iter().find(|change| change.path == *path);
        Ok(renamed.and_then(|change| change.from))
    }

    /// Splits lines into those that an older tree has, by their places there and with the path, and the others.
    fn split(
        &mut self,
        text: &Text,
        old: ObjectId,
        path: &RepoPath,
        places: Vec<LinePlace>,
    ) -> Result<(Vec<LinePlace>, Vec<LinePlace>), Error> {
        let Some(before) = self.files.text_at(old, path)? else {
            return Ok((Vec::new(), places));
        };
        Ok(passed(&lines::common_runs(&before, text), places))
    }

    /// Passes on the lines of the current files.
    fn unsaved(&mut self, present: ObjectId, path: &RepoPath, mut places: Vec<LinePlace>) -> Result<(), Error> {
        if let (Some(text), Some(state)) = (self.files.text_at(present, path)?, self.states.first().cloned())
            && let Some(before) = self.path_before(state.tree, present, path)?
        {
            let (passed, rest) = self.split(&text, state.tree, &before, places)?;
            self.wait(0, before, passed);
            places = rest;
        }
        // A restore since the latest checkpoint.
        if !places.is_empty()
            && let Some(text) = self.files.text_at(present, path)?
            && let Some(restored) = self.restored_since()?
        {
            let (passed, rest) = self.split(&text, self.states[restored].tree, path, places)?;
            self.wait(restored, path.clone(), passed);
            places = rest;
        }
        // A commit, pull or checkout since the latest checkpoint.
        if let (Some(text), Some(head)) = (self.files.text_at(present, path)?, refs::head(self.scene.repo)?.id)
            && !places.is_empty()
            && self.states.first().is_none_or(|state| state.head != head)
        {
            let committed = tree::tree_of(self.repo, Some(head))?;
            if let Some(before) = self.path_before(committed, present, path)? {
                let (passed, rest) = self.split(&text, committed, &before, places)?;
                places = rest;
                if !passed.is_empty() {
                    let found = blame::blame(self.repo, head, None, &before, Some(&joined(&passed)))?;
                    self.commits.extend(found.commits);
                    for place in passed {
                        let source = found
                            .lines
                            .get(&place.here)
                            .map_or(Source::Unsaved, |line| Source::Commit(line.commit, None));
                        self.sources.insert(place.asked, source);
                    }
                }
            }
        }
        for place in places {
            self.sources.insert(place.asked, Source::Unsaved);
        }
        Ok(())
    }

    fn pass_on(&mut self) -> Result<(), Error> {
        while let Some((at, files)) = self.waiting.pop_first() {
            for (path, places) in files {
                self.pass_on_from(at, path, places)?;
            }
        }
        Ok(())
    }

    fn pass_on_from(&mut self, at: usize, path: RepoPath, places: Vec<LinePlace>) -> Result<(), Error> {
        let (tree, head) = (self.states[at].tree, self.states[at].head);
        let older = self.segments.older(at);
        let previous = older.map(|older| (self.states[older].tree, self.states[older].head));
        let blob = self.files.blob_at(tree, &path)?;
        if let (Some((old, _)), Some(blob)) = (previous, blob)
            && (old == tree || self.files.blob_at(old, &path)? == Some(blob))
        {
            self.wait(older.unwrap_or(at + 1), path, places);
            return Ok(());
        }
        let Some(blob) = blob else { return Ok(()) };
        let text = self.files.text(blob)?;
        let mut rest = places;
        if let Some((old, _)) = previous
            && let Some(before) = self.path_before(old, tree, &path)?
        {
            let (passed, left) = self.split(&text, old, &before, rest)?;
            self.wait(older.unwrap_or(at + 1), before, passed);
            rest = left;
        }
        if !rest.is_empty()
            && let Some(merged) = self.segments.merged(at)
            && let Some(before) = self.path_before(self.states[merged].tree, tree, &path)?
        {
            let (passed, left) = self.split(&text, self.states[merged].tree, &before, rest)?;
            self.wait(merged, before, passed);
            rest = left;
        }
        if !rest.is_empty()
            && let Some(restored) = self.restored(at)?
        {
            let (passed, left) = self.split(&text, self.states[restored].tree, &path, rest)?;
            self.wait(restored, path.clone(), passed);
            rest = left;
        }
        // A HEAD that did not move brings nothing in that the state before does not have.
        if !rest.is_empty() && previous.is_none_or(|(_, before)| before != head) {
            let committed = tree::tree_of(self.repo, Some(head))?;
            if let Some(before) = self.path_before(committed, tree, &path)? {
                let (passed, left) = self.split(&text, committed, &before, rest)?;
                let files = self.committed.entry(at).or_default();
                files.entry(before).or_default().extend(passed);
                rest = left;
            }
        }
        for place in rest {
            self.sources.insert(place.asked, Source::State(at));
        }
        Ok(())
    }

    /// The state that was restored between a state and the one before it.
    fn restored(&mut self, at: usize) -> Result<Option<usize>, Error> {
        let Some(digest) = self.restored_from(at)? else {
            return Ok(None);
        };
        let before = match self.segments.older(at) {
            Some(older) => self.restored_from(older)?,
            None => None,
        };
        if before.as_ref() == Some(&digest) {
            return Ok(None);
        }
        Ok(self.state_of(&digest, at + 1))
    }

    /// The state that was restored after the latest checkpoint.
    fn restored_since(&mut self) -> Result<Option<usize>, Error> {
        let Some(digest) = store::restored::read(self.repo)? else {
            return Ok(None);
        };
        if self.states.is_empty() || self.restored_from(0)?.as_ref() == Some(&digest) {
            return Ok(None);
        }
        Ok(self.state_of(&digest, 0))
    }

    /// The state of a digest, from a place on.
    fn state_of(&self, digest: &Digest, from: usize) -> Option<usize> {
        let has = |state: &FileState| state.entry.trailers.digest.as_ref() == Some(digest);
        (from..self.states.len()).find(|place| has(&self.states[*place]))
    }

    fn restored_from(&mut self, at: usize) -> Result<Option<Digest>, Error> {
        if let Some(known) = self.restored.get(&at) {
            return Ok(known.clone());
        }
        let digest = self.files.restored_from(&self.states[at].entry)?;
        self.restored.insert(at, digest.clone());
        Ok(digest)
    }

    fn document(&mut self, at: usize) -> Result<Rc<Checkpoint>, Error> {
        if let Some(known) = self.documents.get(&at) {
            return Ok(Rc::clone(known));
        }
        let id = self.states[at].entry.id;
        let loaded = checkpoint::load(self.repo, id).map_err(Error::damaged(id.to_string()))?;
        let loaded = Rc::new(loaded);
        self.documents.insert(at, Rc::clone(&loaded));
        Ok(loaded)
    }

    /// Asks git for the commits of the lines that HEAD had.
    fn blame_commits(&mut self) -> Result<(), Error> {
        for (at, files) in std::mem::take(&mut self.committed) {
            let head = self.states[at].head;
            for (path, places) in files {
                if places.is_empty() {
                    continue;
                }
                let found = blame::blame(self.repo, head, None, &path, Some(&joined(&places)))?;
                self.commits.extend(found.commits);
                for place in places {
                    let Some(line) = found.lines.get(&place.here) else {
                        continue;
                    };
                    let is_own = self.was_made_before(at, line.commit)?;
                    let source = if is_own {
                        self.later.insert(place.asked, line.commit);
                        Source::State(at)
                    } else {
                        Source::Commit(line.commit, self.segments.older(at).map(|_| at))
                    };
                    self.sources.insert(place.asked, source);
                }
            }
        }
        Ok(())
    }

    /// Whether a commit was made here between a state and the one before: on the line of first parents from one HEAD to the
    /// other, in that time. A commit that a merge, pull or checkout brought was not.
    fn was_made_before(&self, at: usize, commit: ObjectId) -> Result<bool, Error> {
        let Some(older) = self.segments.older(at).map(|older| &self.states[older]) else {
            return Ok(false);
        };
        let newer = &self.states[at];
        let since = older.entry.time.unix();
        let Some(known) = self.commits.get(&commit) else {
            return Ok(false);
        };
        let until = newer.entry.time.unix();
        let (by, at) = ((commit, known.email.as_str()), (newer.head, newer.entry.email.as_str()));
        if !(since..=until).contains(&known.committed_at) || !self.local.has(self.scene, by, at)? {
            return Ok(false);
        }
        let mut next = newer.head;
        for _ in 0..COMMITS {
            if next == commit {
                return Ok(true);
            }
            if next == older.head {
                return Ok(false);
            }
            let (_, parents) = checkpoint::commit_parts(self.repo, next).map_err(Error::damaged(next.to_string()))?;
            match parents.first() {
                Some(first) => next = *first,
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Finds the commits that have lines which states brought in.
    fn find_later_commits(&mut self, top: ObjectId, path: &RepoPath, text: &Text) -> Result<(), Error> {
        let is_open =
            |line: &u32, source: &Source| matches!(source, Source::State(_)) && !self.later.contains_key(line);
        let mut open: Vec<u32> = self
            .sources
            .iter()
            .filter(|(line, source)| is_open(line, source))
            .map(|(line, _)| *line)
            .collect();
        open.sort_unstable();
        let (Some(first), Some(oldest)) = (self.states.first(), self.segments.oldest()) else {
            return Ok(());
        };
        let (latest_head, oldest_head) = (first.head, self.states[oldest].head);
        if open.is_empty() {
            return Ok(());
        }
        let mut heads: Vec<ObjectId> = refs::head(self.scene.repo)?.id.into_iter().collect();
        if !heads.contains(&latest_head) {
            heads.push(latest_head);
        }
        for head in heads.into_iter().filter(|head| *head != oldest_head) {
            let committed = tree::tree_of(self.repo, Some(head))?;
            let Some(before) = self.path_before(committed, top, path)? else {
                continue;
            };
            let Some(there) = self.files.text_at(committed, &before)? else {
                continue;
            };
            let places = open
                .iter()
                .map(|line| LinePlace {
                    asked: *line,
                    here: *line,
                })
                .collect();
            let (passed, rest) = passed(&lines::common_runs(&there, text), places);
            if passed.is_empty() {
                continue;
            }
            let found = blame::blame(self.repo, head, Some(oldest_head), &before, Some(&joined(&passed)))?;
            for place in passed {
                let Some(line) = found.lines.get(&place.here) else {
                    continue;
                };
                if found
                    .commits
                    .get(&line.commit)
                    .is_some_and(|commit| !commit.is_boundary)
                {
                    self.later.insert(place.asked, line.commit);
                }
            }
            self.commits.extend(found.commits);
            open = rest.iter().map(|place| place.asked).collect();
        }
        Ok(())
    }
}

/// First parents that are looked at to find a commit between two checkpoints.
const COMMITS: usize = 10_000;

/// Splits lines by the runs that the older text has in common with theirs.
fn passed(runs: &[LineRun], mut places: Vec<LinePlace>) -> (Vec<LinePlace>, Vec<LinePlace>) {
    places.sort_unstable_by_key(|place| place.here);
    let (mut passed, mut rest) = (Vec::new(), Vec::new());
    let mut runs = runs.iter().peekable();
    for place in places {
        while runs.next_if(|run| run.new + run.count <= place.here).is_some() {}
        match runs.peek().filter(|run| run.new <= place.here) {
            Some(run) => passed.push(LinePlace {
                here: run.old + (place.here - run.new),
                ..place
            }),
            None => rest.push(place),
        }
    }
    (passed, rest)
}

/// The places as ranges of lines in a row.
fn joined(places: &[LinePlace]) -> Vec<Range<u32>> {
    let mut lines: Vec<u32> = places.iter().map(|place| place.here).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some(last) if last.end == line => last.end += 1,
            _ => ranges.push(line..line + 1),
        }
    }
    ranges
}
