//! `search`: text in everything that sessions saved.
//!
//! Sessions are walked latest first, in parts that grow: the first results come at once, and the bulk is read in the order
//! of the packs. Each object is searched once, for the latest checkpoint that has it. A selective pattern costs one pass;
//! where more matches than are worth keeping, those objects are read again when their turn to be shown comes.

mod lines;
mod pattern;
mod sources;

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

pub use lines::{LineMatch, MessageHead};
use lines::{LineSearch, LineStream};
pub use pattern::{Pattern, PatternError, PatternSyntax};
pub use sources::SessionOrigin;
use sources::{Source, sources};

use super::{Error, Scene, ids, select};
use crate::{
    model::{document::CheckpointKind, path::RepoPath},
    store::{
        ObjectId,
        checkpoint::CheckpointCommit,
        encryption::{self, KeyFiles},
        lines::is_binary,
        scan::{self, BlobRole, BlobScan, ChainPart, NamedBlob, ObjectReader, WalkStep},
    },
};

/// Checkpoints of the first part; each part has eight times as many, up to [`MOST`].
const FIRST: usize = 64;

/// Checkpoints of a part at most: a bound for what is kept of them.
const MOST: usize = 1 << 13;

/// Bytes of matches that are kept until their turn comes.
const KEPT: usize = 2 << 20;

/// Fingerprints of lines that are kept to recognize what an older checkpoint repeats.
const FINGERPRINTS: usize = 3 << 17;

/// Request of a search.
#[derive(Debug)]
pub struct SearchRequest {
    /// The pattern.
    pub pattern: Pattern,
    /// Parts of checkpoints to search.
    pub roles: Vec<BlobRole>,
    /// Only these sessions, as `<session>` or `<remote>/<session>`; all when empty.
    pub sessions: Vec<String>,
    /// Only checkpoints saved at or after this date, in any form git reads.
    pub since: Option<String>,
    /// Only checkpoints whose author, address or agent has this text, in any case.
    pub author: Option<String>,
    /// Also sessions that were deleted.
    pub trash: bool,
    /// Also autosaves.
    pub autosaves: bool,
}

/// A match.
#[derive(Debug)]
pub struct SearchMatch<'a> {
    /// The session, one that was fetched as `<remote>/<session>`.
    pub session: &'a str,
    /// Where the session was found.
    pub origin: SessionOrigin,
    /// The latest checkpoint that has the object.
    pub checkpoint: &'a CheckpointCommit,
    /// The object and its name.
    pub blob: &'a NamedBlob,
    /// The content that matches.
    pub content: MatchedContent,
    /// Whether a later checkpoint of the session has the same line.
    pub is_repeated: bool,
}

/// The content that matches.
#[derive(Debug)]
pub enum MatchedContent {
    /// A line.
    Line(LineMatch),
    /// The path of a file; where in it the matches are, in bytes.
    Path(Vec<(usize, usize)>),
    /// A binary file.
    Binary,
}

/// Figures of a search, and what could not be searched.
#[derive(Clone, Debug, Default)]
pub struct SearchOutcome {
    /// Sessions that were searched.
    pub sessions: u64,
    /// Checkpoints that were searched.
    pub checkpoints: u64,
    /// Distinct objects that were searched.
    pub objects: u64,
    /// Matches that were found.
    pub matches: u64,
    /// Matches that repeat a line of a later checkpoint.
    pub repeated: u64,
    /// Whether the search ended because no more was wanted.
    pub is_stopped: bool,
    /// Objects that a partial clone has not fetched.
    pub missing: u64,
    /// Encrypted objects that no key opens.
    pub locked: u64,
    /// Remarks about what could not be searched as it should.
    pub remarks: Vec<String>,
}

/// Matches in an object.
enum ObjectMatches {
    None,
    Lines(Vec<LineMatch>),
    Binary,
    /// More than is kept.
    Many,
}

/// Searches. Each match goes to `each`, which returns whether more is wanted.
pub fn search(
    scene: &Scene<'_>,
    request: &SearchRequest,
    mut each: impl FnMut(&SearchMatch<'_>) -> Result<bool, Error>,
) -> Result<SearchOutcome, Error> {
    let since = request
        .since
        .as_deref()
        .map(|date| select::unix_time(scene, date))
        .transpose()?;
    let author = request.author.as_deref().map(str::to_lowercase);
    let (sources, damaged) = sources(scene, request)?;
    let mut run = SearchRun {
        scene,
        request,
        sources,
        seen: HashSet::new(),
        trees: HashSet::new(),
        fingerprints: HashSet::new(),
        locked: BTreeSet::new(),
        outcome: SearchOutcome::default(),
    };
    let step = |entry: &CheckpointCommit| match () {
        () if since.is_some_and(|since| entry.time.unix() < since) => WalkStep::Stop,
        () if author.as_deref().is_some_and(|wanted| !is_by(entry, wanted)) => WalkStep::Skip,
        () => WalkStep::Take,
    };
    let mut waiting: Vec<(usize, ObjectId)> = run.sources.iter().map(|source| source.tip).enumerate().collect();
    waiting.reverse();
    // What was merged in may be in no chain any more: it is searched at the end, where its objects are new.
    let mut known: HashSet<ObjectId> = run.sources.iter().map(|source| source.tip).collect();
    let sessions = run.sources.len() as u64;
    let mut budget = FIRST;
    let (mut walked, mut ended) = (0_usize, 0_usize);
    while !waiting.is_empty() {
        // As many sessions as fill the budget, by those walked so far; one whose part is cut off is walked alone.
        let average = walked.checked_div(ended).unwrap_or(budget).max(1);
        let count = (budget / average).clamp(1, waiting.len());
        let batch: Vec<(usize, ObjectId)> = waiting.split_off(waiting.len() - count).into_iter().rev().collect();
        let from: Vec<ObjectId> = batch.iter().map(|(_, id)| *id).collect();
        let limit = if count == 1 { budget } else { MOST };
        let mut parts = scan::chains(scene.repo, &from, limit, &request.roles, step);
        let cut = parts.iter().position(|part| part.next.is_some());
        if let Some(cut) = cut {
            // What comes behind one that is cut off has to wait for its rest.
            parts.truncate(cut + 1);
            waiting.extend(batch[cut + 1..].iter().rev());
            if let Some(next) = parts[cut].next {
                waiting.push((batch[cut].0, next));
            }
        }
        walked += parts.iter().map(|part| part.checkpoints.len()).sum::<usize>();
        ended += parts.len() - usize::from(cut.is_some());
        for ((source, _), part) in batch.iter().zip(&parts) {
            for tip in part.merged.iter().filter(|tip| known.insert(**tip)) {
                let merging = &run.sources[*source];
                let side = Source {
                    tip: *tip,
                    ..merging.clone()
                };
                waiting.insert(0, (run.sources.len(), *tip));
                run.sources.push(side);
            }
        }
        if !run.part(&batch, parts, &mut each)? {
            run.outcome.is_stopped = true;
            break;
        }
        budget = budget.saturating_mul(8).min(MOST);
    }
    run.outcome.sessions = sessions;
    for name in damaged {
        let remark = format!("the latest checkpoint of session '{name}' is damaged, so the session was not searched");
        run.outcome.remarks.push(remark);
    }
    if !run.locked.is_empty() {
        let names: Vec<String> = run.locked.iter().map(|name| format!("'{name}'")).collect();
        let be = if names.len() == 1 { "session is" } else { "sessions are" };
        let (count, names) = (names.len(), names.join(", "));
        let words = "encrypted, and none of your keys opens the record, so its text was not searched";
        run.outcome.remarks.push(format!("{count} {be} {words}: {names}"));
    }
    Ok(run.outcome)
}

/// Whether a checkpoint is by this person or agent, in lower case.
fn is_by(entry: &CheckpointCommit, wanted: &str) -> bool {
    let agent = entry.trailers.agent.as_deref().unwrap_or_default();
    [entry.author.as_str(), entry.email.as_str(), agent]
        .iter()
        .any(|text| text.to_lowercase().contains(wanted))
}

/// A search on its way.
struct SearchRun<'a> {
    scene: &'a Scene<'a>,
    request: &'a SearchRequest,
    sources: Vec<Source>,
    /// Objects that were searched.
    seen: HashSet<ObjectId>,
    /// Trees of files that were listed.
    trees: HashSet<ObjectId>,
    /// Lines that were found.
    fingerprints: HashSet<u64>,
    /// Sessions with encrypted objects that no key opens.
    locked: BTreeSet<String>,
    outcome: SearchOutcome,
}

/// An object to search, of a checkpoint of a source.
struct Target {
    source: usize,
    checkpoint: ObjectId,
    blob: NamedBlob,
    /// Whether its content is searched; else only its path.
    is_content: bool,
}

impl SearchRun<'_> {
    /// Searches a part of the chains. Gives whether more is wanted.
    fn part(
        &mut self,
        batch: &[(usize, ObjectId)],
        parts: Vec<ChainPart>,
        each: &mut impl FnMut(&SearchMatch<'_>) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let targets = self.targets(batch, parts);
        let contents: Vec<usize> = (0..targets.len()).filter(|at| targets[*at].is_content).collect();
        let ids: Vec<ObjectId> = contents.iter().map(|at| targets[*at].blob.id).collect();
        let kept = AtomicUsize::new(0);
        let pattern = &self.request.pattern;
        let keys = KeyFiles::of(self.scene.repo);
        let locked = Mutex::new(HashSet::new());
        let found = scan::blobs(self.scene.repo, &ids, |at, data| {
            let blob = &targets[contents[at]].blob;
            if let Some(data) = plain(&keys, blob, data) {
                return matches(pattern, blob, &data, &kept);
            }
            let mut locked = locked.lock().unwrap_or_else(PoisonError::into_inner);
            locked.insert(contents[at]);
            ObjectMatches::None
        });
        let locked = locked.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.outcome.locked += locked.len() as u64;
        self.locked.extend(
            locked
                .into_iter()
                .map(|at| self.sources[targets[at].source].name.clone()),
        );
        self.outcome.objects += ids.len() as u64;
        let mut found: HashMap<usize, BlobScan<ObjectMatches>> = contents
            .into_iter()
            .zip(found)
            .filter(|(_, found)| !matches!(found, BlobScan::Read(ObjectMatches::None)))
            .collect();
        let mut reader = ObjectReader::of(self.scene.repo);
        let mut entry: Option<CheckpointCommit> = None;
        for (at, target) in targets.iter().enumerate() {
            let marks = self.path_marks(target);
            let content = found.remove(&at);
            if marks.is_empty() && content.is_none() {
                continue;
            }
            if entry.as_ref().is_none_or(|entry| entry.id != target.checkpoint) {
                let read = reader.checkpoint(target.checkpoint);
                entry = Some(read.map_err(Error::damaged(target.checkpoint.to_string()))?);
            }
            let Some(entry) = &entry else { continue };
            if !marks.is_empty() && !self.emit(target, entry, MatchedContent::Path(marks), each)? {
                return Ok(false);
            }
            if let Some(content) = content
                && !self.content(target, (entry, &mut reader), content, each)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The objects of these parts that were not searched yet, and the paths.
    fn targets(&mut self, batch: &[(usize, ObjectId)], parts: Vec<ChainPart>) -> Vec<Target> {
        let mut out = Vec::new();
        let mut reader = ObjectReader::of(self.scene.repo);
        for ((source, _), part) in batch.iter().zip(parts) {
            self.outcome.checkpoints += part.checkpoints.len() as u64;
            for checkpoint in part.checkpoints {
                let mut files = Vec::new();
                if let Some(snapshot) = checkpoint.snapshot {
                    let listed = reader
                        .commit_parts(snapshot)
                        .and_then(|(tree, _)| reader.files(tree, &mut self.trees, &mut files));
                    if let Err(fault) = listed {
                        self.outcome.remarks.push(format!("{}: {fault}", checkpoint.id));
                    }
                }
                for blob in checkpoint.blobs.into_iter().chain(files) {
                    let is_content = self.seen.insert(blob.id);
                    if is_content || blob.role == BlobRole::File {
                        out.push(Target {
                            source: *source,
                            checkpoint: checkpoint.id,
                            blob,
                            is_content,
                        });
                    }
                }
            }
            if let Some(fault) = part.damage {
                let name = &self.sources[*source].name;
                self.outcome
                    .remarks
                    .push(format!("session '{name}' is damaged: {fault}"));
            }
        }
        out
    }

    /// Where a path that was not met in the session before matches.
    fn path_marks(&mut self, target: &Target) -> Vec<(usize, usize)> {
        let blob = &target.blob;
        if blob.role != BlobRole::File {
            return Vec::new();
        }
        let path = RepoPath::new(blob.name.clone()).to_string();
        let found = self.request.pattern.matcher(false).find_iter(path.as_bytes());
        found
            .map(|found| (found.start(), found.end()))
            .filter(|(start, end)| start < end)
            .collect()
    }

    /// Passes on what was found in the content of an object.
    fn content(
        &mut self,
        target: &Target,
        (entry, reader): (&CheckpointCommit, &mut ObjectReader),
        found: BlobScan<ObjectMatches>,
        each: &mut impl FnMut(&SearchMatch<'_>) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        match found {
            BlobScan::Read(ObjectMatches::None) => Ok(true),
            BlobScan::Read(ObjectMatches::Binary) => self.emit(target, entry, MatchedContent::Binary, each),
            BlobScan::Read(ObjectMatches::Lines(lines)) => {
                for line in lines {
                    if !self.emit(target, entry, MatchedContent::Line(line), each)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            BlobScan::Read(ObjectMatches::Many) | BlobScan::Large => self.streamed(target, (entry, reader), each),
            BlobScan::Missing => {
                self.outcome.missing += 1;
                Ok(true)
            }
            BlobScan::Damaged(why) => {
                let (id, name) = (target.blob.id, &target.blob.name);
                self.outcome.remarks.push(format!("cannot read '{name}' ({id}): {why}"));
                Ok(true)
            }
        }
    }

    /// Searches an object in pieces, and passes on each match at once.
    fn streamed(
        &mut self,
        target: &Target,
        (entry, reader): (&CheckpointCommit, &mut ObjectReader),
        each: &mut impl FnMut(&SearchMatch<'_>) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let request = self.request;
        let blob = &target.blob;
        let mut lines = LineStream::new(LineSearch::new(&request.pattern, blob));
        let mut result = Ok(true);
        let mut is_first = true;
        let mut is_binary_file = false;
        let repo = self.scene.repo;
        let mut take = |run: &mut Self, piece: &[u8]| {
            if std::mem::take(&mut is_first) && blob.role == BlobRole::File {
                is_binary_file = is_binary(piece);
            }
            lines.push(piece, |found| {
                let content = if is_binary_file {
                    MatchedContent::Binary
                } else {
                    MatchedContent::Line(found)
                };
                result = run.emit(target, entry, content, each);
                matches!(result, Ok(true)) && !is_binary_file
            })
        };
        // What is not large is at hand without a child process.
        let is_all = if let Some(data) = reader.blob(blob.id) {
            plain(&KeyFiles::of(repo), blob, &data).is_none_or(|data| take(self, &data))
        } else if let BlobScan::Read(data) = scan::whole(repo, blob.id, <[u8]>::to_vec) {
            plain(&KeyFiles::of(repo), blob, &data).is_none_or(|data| take(self, &data))
        } else {
            let mut is_all = true;
            scan::stream(repo, blob.id, |piece| {
                is_all = take(self, piece);
                is_all
            })?;
            is_all
        };
        if is_all {
            take(self, b"");
        }
        if lines.has_split_line {
            let name = &blob.name;
            self.outcome.remarks.push(format!(
                "'{name}' of {} has a line so long that it was searched in pieces",
                ids::short(entry.id)
            ));
        }
        result
    }

    fn emit(
        &mut self,
        target: &Target,
        entry: &CheckpointCommit,
        content: MatchedContent,
        each: &mut impl FnMut(&SearchMatch<'_>) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let source = &self.sources[target.source];
        let blob = &target.blob;
        let mut hasher = DefaultHasher::new();
        (source.name.as_str(), blob.role).hash(&mut hasher);
        match &content {
            MatchedContent::Line(line) => {
                line.fingerprint.hash(&mut hasher);
                if blob.role == BlobRole::File {
                    blob.name.hash(&mut hasher);
                }
            }
            MatchedContent::Path(_) => (0, &blob.name).hash(&mut hasher),
            MatchedContent::Binary => (1, &blob.name).hash(&mut hasher),
        }
        let fingerprint = hasher.finish();
        let is_repeated = if self.fingerprints.len() < FINGERPRINTS {
            !self.fingerprints.insert(fingerprint)
        } else {
            self.fingerprints.contains(&fingerprint)
        };
        // A path is the same match in every checkpoint; lines are kept apart by their objects.
        if is_repeated && matches!(content, MatchedContent::Path(_)) {
            return Ok(true);
        }
        self.outcome.matches += 1;
        self.outcome.repeated += u64::from(is_repeated);
        // Behind an autosave come the checkpoints of its session.
        let is_saved =
            source.origin == SessionOrigin::Autosave && entry.trailers.kind != Some(CheckpointKind::Autosave);
        each(&SearchMatch {
            session: &source.name,
            origin: if is_saved { SessionOrigin::Local } else { source.origin },
            checkpoint: entry,
            blob,
            content,
            is_repeated,
        })
    }
}

/// The text of a blob, decrypted where a checkpoint has it encrypted; `None` where no key opens it.
fn plain<'d>(keys: &KeyFiles, blob: &NamedBlob, data: &'d [u8]) -> Option<Cow<'d, [u8]>> {
    if blob.role == BlobRole::File || !encryption::is_encrypted(data) {
        return Some(data.into());
    }
    keys.decrypted(data.to_vec()).ok().map(Cow::Owned)
}

/// Searches the bytes of an object.
fn matches(pattern: &Pattern, blob: &NamedBlob, data: &[u8], kept: &AtomicUsize) -> ObjectMatches {
    let search = LineSearch::new(pattern, blob);
    if !search.may_match(data) {
        return ObjectMatches::None;
    }
    if blob.role == BlobRole::File && is_binary(data) {
        return ObjectMatches::Binary;
    }
    let size =
        |found: &LineMatch| found.text.len() + found.member.as_ref().map_or(0, String::len) + size_of::<LineMatch>();
    let mut lines = Vec::new();
    let is_kept = search.each_match(data, 1, |found| {
        let fits = kept.fetch_add(size(&found), Ordering::Relaxed) + size(&found) <= KEPT;
        lines.push(found);
        fits
    });
    lines.shrink_to_fit();
    if !is_kept {
        kept.fetch_sub(lines.iter().map(size).sum(), Ordering::Relaxed);
        return ObjectMatches::Many;
    }
    if lines.is_empty() {
        ObjectMatches::None
    } else {
        ObjectMatches::Lines(lines)
    }
}
