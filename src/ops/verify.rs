//! `verify`: whether every byte a checkpoint needs is there and is what it was.
//!
//! The commits, trees and documents of the chain, the digests that link them, and every object of the snapshots are
//! read and hashed again. What lies before a checkpoint's HEAD is the project's own history and is git's to check.

pub(super) mod chain;

use std::collections::{BTreeMap, HashSet};

use chain::ChainWalk;

use super::{Error, Scene, select, session_choice};
use crate::{
    model::{
        document::CheckpointKind,
        id::{Digest, Oid},
        name::ShortName,
        path::RepoPath,
        selector::Selector,
    },
    store::{
        self, Kind, ObjectId,
        checkpoint::{self, Checkpoint, Fault},
        objects::ObjectProblem,
        refs::{self, RefDamage},
        rewrite, session,
        signature::{self, CommitSignature, SignatureVerdict},
        walk::ObjectWalk,
    },
};

/// The problem of a checkpoint whose commits another tool rewrote. Nothing of it is missing.
pub const REWRITTEN: &str = "rewritten";

/// The problem of a checkpoint whose signature is bad.
pub const SIGNATURE: &str = "signature";

/// The problem of a session whose ref has a name that no session can have. Nothing of it is missing.
pub const NAME: &str = "name";

/// Findings.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Sessions looked at.
    pub sessions: usize,
    /// How many other refs of ours were: autosaves, safety checkpoints, the trash.
    pub other_refs: usize,
    /// Checkpoints looked at.
    pub checkpoints: usize,
    /// Objects read and hashed.
    pub objects: usize,
    /// Objects that a partial clone has not fetched; no damage.
    pub promised: usize,
    /// The signatures of the checkpoints that have one, from new to old.
    pub signatures: Vec<(ObjectId, CommitSignature)>,
    /// For each session with a name that none can have, one that is free.
    pub free_names: BTreeMap<String, ShortName>,
    /// Everything that is wrong, in the order of sessions and from new to old.
    pub issues: Vec<Issue>,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_valid(&self) -> bool {
        self.issues.is_empty()
    }

    /// Whether every damaged session has a checkpoint that is whole.
    pub fn is_recoverable(&self) -> bool {
        self.issues
            .iter()
            .all(|issue| ["pack", SIGNATURE, NAME].contains(&issue.problem) || issue.good.is_some())
    }
}

/// One thing that is wrong.
#[derive(Debug)]
pub struct Issue {
    /// The session or ref.
    pub session: String,
    /// The checkpoint, when it is one of the session's.
    pub checkpoint: Option<ObjectId>,
    /// The file of its snapshot, when it is about one.
    pub path: Option<RepoPath>,
    /// A word for the kind of damage.
    pub problem: &'static str,
    /// Description, in words.
    pub message: String,
    /// The latest checkpoint of the session that is whole.
    pub good: Option<ObjectId>,
    /// Whether the session's latest checkpoint, or its ref, is damaged, so that it cannot go on as it is.
    pub latest: bool,
}

/// Checks one session, or every session and every other ref of ours.
pub fn verify(
    scene: &Scene<'_>,
    selector: Option<&Selector>,
    progress: &mut dyn FnMut(usize),
) -> Result<VerifyReport, Error> {
    let mut check = VerifyRun::new(scene, progress)?;
    match selector {
        Some(selector) => match select::session(scene, selector) {
            Err(Error::Store(store::Error::Damaged { name, damage })) => {
                check.report.sessions = 1;
                check.damaged_ref(&name, &damage);
            }
            found => {
                let (name, tip) = found?;
                check.session(name.as_str(), &session::ref_name(&name), tip);
            }
        },
        None => {
            for (full, target) in refs::list(scene.repo, "refs/checkpoints")? {
                let shown = full.strip_prefix(session::PREFIX).unwrap_or(&full).to_owned();
                match target {
                    Ok(tip) => {
                        check.session(&shown, &full, tip);
                        check.name(&full, tip)?;
                    }
                    Err(damage) => {
                        check.count(&full);
                        check.damaged_ref(&full, &damage);
                    }
                }
            }
        }
    }
    check.packs();
    check.signatures()?;
    Ok(check.report)
}

struct VerifyRun<'a, 'p> {
    scene: &'a Scene<'a>,
    report: VerifyReport,
    walk: ObjectWalk<'a>,
    chain: ChainWalk,
    /// Directories of steps that were read.
    steps: HashSet<Oid>,
    gaps: Option<HashSet<Digest>>,
    /// Checkpoints whose signatures are to be checked, with their sessions.
    signed: Vec<(String, ObjectId)>,
    progress: &'p mut dyn FnMut(usize),
}

impl<'a, 'p> VerifyRun<'a, 'p> {
    fn new(scene: &'a Scene<'a>, progress: &'p mut dyn FnMut(usize)) -> Result<Self, Error> {
        Ok(Self {
            scene,
            report: VerifyReport::default(),
            walk: ObjectWalk::new(scene.repo)?,
            chain: ChainWalk::default(),
            steps: HashSet::new(),
            gaps: None,
            signed: Vec::new(),
            progress,
        })
    }

    /// The latest good value of a damaged ref is looked for in its reflog.
    fn damaged_ref(&mut self, full: &str, damage: &RefDamage) {
        let log = refs::reflog(self.scene.repo, full).unwrap_or_default();
        let mut values = log.iter().map(|entry| entry.new);
        let good = values.find(|id| checkpoint::load(self.scene.repo, *id).is_ok());
        self.report.issues.push(Issue {
            session: full.strip_prefix(session::PREFIX).unwrap_or(full).to_owned(),
            checkpoint: None,
            path: None,
            problem: "ref",
            message: format!("the ref '{full}' is damaged: {damage}"),
            good,
            latest: true,
        });
    }

    /// Whether the ref of a session has a name that commands take.
    fn name(&mut self, full: &str, tip: ObjectId) -> Result<(), Error> {
        let Some((name, Err(invalid))) = full
            .strip_prefix(session::PREFIX)
            .map(|name| (name, ShortName::new(name)))
        else {
            return Ok(());
        };
        let free = select::free_name(&session::names(self.scene.repo)?, name);
        self.report.free_names.insert(name.to_owned(), free);
        self.report.issues.push(Issue {
            session: name.to_owned(),
            checkpoint: None,
            path: None,
            problem: NAME,
            message: format!("its name is not valid: {}", invalid.reason),
            good: Some(tip),
            latest: false,
        });
        Ok(())
    }

    fn count(&mut self, full: &str) {
        let is_session = full.starts_with(session::PREFIX) || full.starts_with(session::REMOTE_PREFIX);
        *if is_session {
            &mut self.report.sessions
        } else {
            &mut self.report.other_refs
        } += 1;
    }

    fn session(&mut self, name: &str, full: &str, tip: ObjectId) {
        self.count(full);
        let from = self.report.issues.len();
        let mut good = None;
        self.chain.begin(tip);
        while let Some(id) = self.chain.advance() {
            self.signed.push((name.to_owned(), id));
            self.report.checkpoints += 1;
            (self.progress)(self.report.checkpoints);
            let before = self.report.issues.len();
            let previous = self.checkpoint(name, id);
            let is_whole = |issue: &Issue| issue.problem == REWRITTEN;
            if self.chain.is_own() && good.is_none() && self.report.issues[before..].iter().all(is_whole) {
                good = Some(id);
            }
            self.chain.follow(previous);
        }
        // A chain that breaks off is looked for in the reflog, as repairing does.
        if good.is_none() && self.report.issues.len() > from {
            good = latest_intact(self.scene, full, None);
        }
        for issue in &mut self.report.issues[from..] {
            issue.good = good;
            issue.latest = good != Some(tip);
        }
    }

    /// The signatures of all checkpoints that were looked at. A bad one means that the commit was made again.
    fn signatures(&mut self) -> Result<(), Error> {
        let all = std::mem::take(&mut self.signed);
        let ids: Vec<_> = all.iter().map(|(_, id)| *id).collect();
        let mut found = signature::check(self.scene.repo, &ids)?;
        for (session, id) in all {
            let Some(signature) = found.remove(&id) else { continue };
            if signature.verdict == SignatureVerdict::Bad {
                self.report.issues.push(Issue {
                    session,
                    checkpoint: Some(id),
                    path: None,
                    problem: SIGNATURE,
                    message: signature.words(),
                    good: None,
                    latest: false,
                });
            }
            if signature.verdict != SignatureVerdict::Unsigned {
                self.report.signatures.push((id, signature));
            }
        }
        Ok(())
    }

    fn issue(&mut self, session: &str, id: ObjectId, path: Option<RepoPath>, problem: &'static str, message: String) {
        let session = session.to_owned();
        self.report.issues.push(Issue {
            session,
            checkpoint: Some(id),
            path,
            problem,
            message,
            good: None,
            latest: true,
        });
    }

    fn fault(&mut self, session: &str, id: ObjectId, fault: &Fault) {
        self.issue(session, id, None, problem_of(fault), fault.to_string());
    }

    /// The packs that saves wrote, each as a whole: git uses none whose checksum is not the one its index names.
    fn packs(&mut self) {
        for (file, why) in self.walk.packs() {
            let file = file.display().to_string();
            self.report.issues.push(Issue {
                message: format!("the file '{file}' is damaged: {why}"),
                session: file,
                checkpoint: None,
                path: None,
                problem: "pack",
                good: None,
                latest: true,
            });
        }
    }

    /// The digests of all checkpoints that a prune or purge took, as the chains of every ref note them: a gap that one
    /// chain notes is no damage of another one on the same checkpoint. Read when a chain has a gap of which
    /// it notes nothing itself.
    fn gaps(&mut self) -> &HashSet<Digest> {
        let repo = self.scene.repo;
        self.gaps.get_or_insert_with(|| {
            let (mut gaps, mut seen) = (HashSet::new(), HashSet::new());
            for (_, target) in refs::list(repo, "refs/checkpoints").unwrap_or_default() {
                let chain = target
                    .into_iter()
                    .flat_map(|tip| session::chain(repo, tip))
                    .map_while(Result::ok);
                for entry in chain.take_while(|entry| seen.insert(entry.id)) {
                    let lines = rewrite::lines(repo, &entry).unwrap_or_default();
                    let gone = lines.into_iter().filter(|line| line.now.as_ref() != Some(&line.digest));
                    gaps.extend(gone.map(|line| line.digest));
                }
            }
            gaps
        })
    }

    /// A commit that a checkpoint needs.
    fn commit(&mut self, session: &str, checkpoint: ObjectId, id: ObjectId, what: &str) -> bool {
        let Some(unsound) = self.walk.commit(id) else {
            return true;
        };
        let (problem, how) = in_words(&unsound);
        self.issue(session, checkpoint, None, problem, format!("{what} '{id}' {how}"));
        false
    }

    /// Checks one checkpoint and gives the one before it in the same session.
    fn checkpoint(&mut self, name: &str, id: ObjectId) -> Option<ObjectId> {
        let entry = match checkpoint::entry(self.scene.repo, id) {
            Ok(entry) => entry,
            Err(fault) => {
                self.fault(name, id, &fault);
                return None;
            }
        };
        let previous = session::before(&entry);
        let checkpoint = match checkpoint::load_compared(self.scene.repo, id) {
            Ok(checkpoint) => checkpoint,
            Err(fault) => {
                self.fault(name, id, &fault);
                self.chain.expected = None;
                return previous;
            }
        };
        if let Some(expected) = self.chain.expected.take()
            && expected != checkpoint.digest
            && !self.gaps().contains(&expected)
        {
            let message = format!(
                "digest mismatch: its successor expects {expected}, found {}",
                checkpoint.digest
            );
            self.issue(name, id, None, "chain", message);
        }
        let expected = checkpoint.document.previous.clone();
        match (&checkpoint.document.merged, checkpoint.merged()) {
            (Some(merged), Some(commit)) => self.chain.push(commit, Some(merged.digest.clone())),
            (None, None) => {}
            _ => self.issue(
                name,
                id,
                None,
                "chain",
                "its document and its commit do not agree on what was merged".to_owned(),
            ),
        }
        if let Some(digest) = &expected
            && rewrite::lines(self.scene.repo, &checkpoint.entry)
                .is_ok_and(|gone| gone.iter().any(|l| l.digest == *digest))
        {
            // Its predecessor was pruned or purged, as it notes.
            return self.rest(name, id, previous, &checkpoint);
        }
        if previous.is_none()
            && checkpoint.document.kind == CheckpointKind::Start
            && expected.as_ref().is_some_and(|digest| !self.gaps().contains(digest))
        {
            self.issue(
                name,
                id,
                None,
                "chain",
                "it is the session's first, but names a predecessor".to_owned(),
            );
        }
        if previous.is_some() && expected.is_none() {
            self.issue(
                name,
                id,
                None,
                "chain",
                "it names no predecessor, but has one".to_owned(),
            );
        }
        self.chain.expected = expected;
        self.rest(name, id, previous, &checkpoint)
    }

    /// The part that does not concern the chain. Where another tool rewrote the commits, the objects are theirs.
    fn rest(
        &mut self,
        name: &str,
        id: ObjectId,
        previous: Option<ObjectId>,
        checkpoint: &Checkpoint,
    ) -> Option<ObjectId> {
        if checkpoint.is_rewritten {
            let message =
                "another tool rewrote it: its document names other files or another HEAD than its commits have";
            self.issue(name, id, None, REWRITTEN, message.to_owned());
        }
        if self.commit(name, id, id, "commit") {
            self.objects(name, checkpoint);
        }
        previous
    }

    /// Every object of a checkpoint but its first parent.
    fn objects(&mut self, name: &str, checkpoint: &Checkpoint) {
        let id = checkpoint.entry.id;
        self.tree(name, id, checkpoint.entry.tree, "the checkpoint");
        self.steps(name, checkpoint);
        self.transcripts(name, checkpoint);
        let document = &checkpoint.document;
        let (Some(commit), Some(snapshot)) = (checkpoint.snapshot(), &document.snapshot) else {
            if document.snapshot.is_some() {
                self.issue(
                    name,
                    id,
                    None,
                    "snapshot",
                    "the document names a snapshot, the commit has none".to_owned(),
                );
            }
            return;
        };
        if !self.commit(name, id, commit, "the snapshot commit") {
            return;
        }
        if let Err(fault) = self.snapshot_commits(checkpoint, commit) {
            match fault {
                Some(fault) => self.fault(name, id, &fault),
                // The other tool may have dropped a commit that changes nothing; a repair makes it anew.
                None if checkpoint.is_rewritten => {}
                None => self.issue(
                    name,
                    id,
                    None,
                    "snapshot",
                    format!("the snapshot commit '{commit}' is not the one the document describes"),
                ),
            }
        }
        let index = checkpoint::commit_parts(self.scene.repo, commit)
            .ok()
            .and_then(|(_, parents)| parents.get(1).copied());
        if let Some(index) = index {
            self.commit(name, id, index, "the index commit");
        }
        self.tree(name, id, checkpoint::object_id(&snapshot.tree), "the snapshot");
        self.tree(name, id, checkpoint::object_id(&snapshot.index), "the index");
    }

    /// The steps next to the document; those that many checkpoints share are read once.
    fn steps(&mut self, name: &str, checkpoint: &Checkpoint) {
        let directory = checkpoint.document.trees.get(store::steps::DIRECTORY);
        let new = directory.is_some_and(|directory| self.steps.insert(directory.clone()));
        if new && let Err(fault @ Fault::Step { .. }) = store::steps::read(self.scene.repo, checkpoint) {
            self.fault(name, checkpoint.entry.id, &fault);
        }
    }

    /// The session files next to the document; those that many checkpoints share are read once.
    fn transcripts(&mut self, name: &str, checkpoint: &Checkpoint) {
        let directory = checkpoint.document.trees.get(store::transcripts::DIRECTORY);
        let is_new = directory.is_some_and(|directory| self.steps.insert(directory.clone()));
        if is_new && let Ok(Some(message)) = store::transcripts::check(self.scene.repo, &checkpoint.document) {
            self.issue(name, checkpoint.entry.id, None, "transcript", message);
        }
    }

    /// Whether the snapshot commit has the trees and the HEAD that the document names; `None` when it has others.
    fn snapshot_commits(&self, checkpoint: &Checkpoint, commit: ObjectId) -> Result<(), Option<Fault>> {
        let repo = self.scene.repo;
        let document = &checkpoint.document;
        let snapshot = document.snapshot.as_ref().ok_or(None)?;
        let (tree, parents) = checkpoint::commit_parts(repo, commit)?;
        let [head, index] = parents.as_slice() else {
            return Err(None);
        };
        let (index_tree, index_parents) = checkpoint::commit_parts(repo, *index)?;
        let head_ok = document
            .git
            .head
            .as_ref()
            .is_none_or(|id| checkpoint::object_id(id) == *head);
        let of_operation = |id: &ObjectId| document.git.operation_needs(&checkpoint::oid(*id));
        let same = tree == checkpoint::object_id(&snapshot.tree)
            && index_tree == checkpoint::object_id(&snapshot.index)
            && index_parents.first() == Some(head)
            && index_parents[1..].iter().all(of_operation)
            && head_ok;
        if !same {
            return Err(None);
        }
        // A shallow clone has the commit of HEAD itself at the least, and so does every other.
        checkpoint::read(repo, *head, Kind::Commit, "the commit of HEAD")?;
        Ok(())
    }

    fn tree(&mut self, name: &str, id: ObjectId, tree: ObjectId, what: &str) {
        for damage in self.walk.tree(tree).iter() {
            let (problem, how) = in_words(&damage.problem);
            let path = Some(damage.path.clone()).filter(|p| !p.as_bytes().is_empty());
            let message = format!("object '{}' of {what} {how}", damage.id);
            self.issue(name, id, path, problem, message);
        }
        self.report.objects = self.walk.whole();
        self.report.promised = self.walk.promised();
    }
}

/// A word for what is wrong with an object, and the words to its name.
fn in_words(unsound: &ObjectProblem) -> (&'static str, String) {
    match unsound {
        ObjectProblem::Missing => ("missing", "is missing".to_owned()),
        ObjectProblem::Corrupt(why) => ("corrupt", format!("is corrupt: {why}")),
    }
}

fn problem_of(fault: &Fault) -> &'static str {
    match fault {
        Fault::Missing { .. } => "missing",
        Fault::Corrupt { .. } => "corrupt",
        Fault::NotACheckpoint { .. } => "not-a-checkpoint",
        Fault::Digest { .. } => "digest",
        Fault::Sibling { .. } => "sibling",
        Fault::Document(_) if fault.is_newer() => "newer",
        Fault::Document(_) => "document",
        Fault::List(_) => "list",
        Fault::Step { .. } => "step",
        Fault::Encrypted { .. } => "encrypted",
    }
}

/// Whether a checkpoint and everything it needs is there and is what it was.
pub(super) fn is_intact(scene: &Scene<'_>, id: ObjectId) -> bool {
    let mut quiet = |_| {};
    let Ok(mut check) = VerifyRun::new(scene, &mut quiet) else {
        return false;
    };
    check.checkpoint("", id);
    check.report.issues.iter().all(|issue| issue.problem == REWRITTEN)
}

/// An object that a checkpoint needs and that is missing.
pub(super) fn missing(scene: &Scene<'_>, id: ObjectId) -> Option<String> {
    let mut quiet = |_| {};
    let mut check = VerifyRun::new(scene, &mut quiet).ok()?;
    check.checkpoint("", id);
    let mut missing = check.report.issues.into_iter();
    Some(missing.find(|issue| issue.problem == "missing")?.message)
}

/// The latest whole checkpoint of a session: of its chain before a damaged tip, else of its ref's reflog.
pub(super) fn latest_intact(scene: &Scene<'_>, full: &str, tip: Option<ObjectId>) -> Option<ObjectId> {
    let chain = tip
        .into_iter()
        .flat_map(|tip| session::chain(scene.repo, tip))
        .map_while(Result::ok);
    let log = refs::reflog(scene.repo, full).unwrap_or_default();
    let logged = log.into_iter().map(|entry| entry.new);
    chain
        .map(|entry| entry.id)
        .chain(logged)
        .find(|id| is_intact(scene, *id))
}

/// The latest whole checkpoint before a damaged one, for commands that go on with it.
pub(super) fn latest_good(scene: &Scene<'_>, name: &ShortName, tip: ObjectId) -> Option<(Checkpoint, usize)> {
    let mut lost = 0;
    for entry in session::chain(scene.repo, tip) {
        if let Ok(entry) = entry
            && let Ok(checkpoint) = checkpoint::load(scene.repo, entry.id)
        {
            return Some((checkpoint, lost));
        }
        lost += 1;
    }
    let log = refs::reflog(scene.repo, &session::ref_name(name)).ok()?;
    let mut older = log.iter().map(|entry| entry.new).filter(|id| *id != tip);
    older
        .find_map(|id| session_choice::load(scene, name.as_str(), id).ok())
        .map(|checkpoint| (checkpoint, lost))
}
