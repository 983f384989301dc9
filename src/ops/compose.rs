//! From the present state and a session to the document and commit of its next checkpoint.
//!
//! Nothing here touches a ref: what is composed may be thrown away and composed again on a newer tip.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Map;

use super::{Error, Scene, ids};
use crate::{
    model::{
        document::{
            CheckpointKind, Document, ForkSource, SCHEMA, Session, SessionStatus, SnapshotRef, Tool, WorktreeInfo,
        },
        facts::{BoundedList, GitFacts, GitOperation, OperationHead},
        id::Digest,
        list::{Lists, SkipReason},
        name::ShortName,
        path::RepoPath,
        record::Record,
    },
    os,
    store::{
        self, ObjectId, Repository, change_stamp,
        checkpoint::{self, Checkpoint, People, Siblings, WrittenCheckpoint},
        facts,
        objects::Writer,
        operation, tree,
    },
    worktree::snapshot::{self as files, Extent, PathSummary, Snapshot},
};

/// How often the files are read again when HEAD or the index changes meanwhile.
const SETTLE_TRIES: u32 = 3;

/// The repository and its files at one moment.
pub(super) struct CurrentSnapshot {
    /// Current state of the repository.
    pub(super) facts: GitFacts,
    /// The files of the operation that the facts name.
    pub(super) operation: Vec<Vec<u8>>,
    /// The commits of that operation that are here.
    pub(super) heads: Vec<ObjectId>,
    /// The files, unless they are not to be saved.
    pub(super) snapshot: Option<Snapshot>,
}

impl CurrentSnapshot {
    /// Everything on disk that the snapshot does not hold, and more that git cannot say.
    pub(super) fn lists(&self) -> Lists {
        self.snapshot.as_ref().map(|s| s.lists.clone()).unwrap_or_default()
    }

    /// Where the files were looked for.
    pub(super) fn extent(&self) -> Extent {
        let snapshot = self.snapshot.as_ref();
        snapshot.map(|s| s.extent.clone()).unwrap_or_default()
    }

    fn is_partial(&self) -> bool {
        self.snapshot.as_ref().is_some_and(|s| s.lists.is_partial())
    }
}

/// Reads the repository's state and, if asked, the files, writing their objects.
///
/// HEAD and the index are read before and after the files: when a commit came in between, all is read again.
///
/// `held` are trees that refs hold, next to HEAD's.
pub(super) fn present(
    scene: &Scene<'_>,
    writer: &Writer,
    files: bool,
    held: &[ObjectId],
) -> Result<CurrentSnapshot, Error> {
    let own = exported(scene);
    for _ in 0..SETTLE_TRIES {
        let before = change_stamp::stamp(scene.repo, scene.index)?;
        let mut snapshot = files.then(|| scan(scene, writer, held, &own)).transpose()?;
        if let Some(snapshot) = &mut snapshot {
            drop_exported(snapshot, &own);
        }
        let overlay = writer.overlay(scene.repo);
        let index = snapshot.as_ref().map(|s| (s.index_tree, &s.lists.conflicts[..]));
        let mut facts = facts::git_facts(&overlay, index)?;
        let unfinished = operation::unfinished(scene.repo)?;
        let (operation, contents) = unfinished.map(|found| (found.operation, found.contents)).unzip();
        facts.operation = operation;
        let heads = operation::commits(scene.repo, facts.operation.as_ref());
        if let Some(snapshot) = &snapshot {
            let status = &snapshot.status;
            facts.modified = bounded(&status.modified);
            facts.deleted = bounded(&status.deleted);
            facts.untracked = bounded(&status.untracked);
            facts.conflicted = bounded(&status.conflicted);
            let submodules = |known| {
                let those = snapshot.submodules.iter().filter(move |s| s.known == known);
                those.map(|submodule| submodule.path.clone()).collect()
            };
            facts.submodules_changed = submodules(true);
            facts.submodules_unseen = submodules(false);
            facts.settle();
        }
        if change_stamp::stamp(scene.repo, scene.index)? == before {
            return Ok(CurrentSnapshot {
                facts,
                operation: contents.unwrap_or_default(),
                heads,
                snapshot,
            });
        }
    }
    Err(Error::ConcurrentModification)
}

/// The files and the index as they are, whatever happens meanwhile.
pub(super) fn snapshot(scene: &Scene<'_>, writer: &Writer, held: &[ObjectId]) -> Result<Snapshot, Error> {
    scan(scene, writer, held, &exported(scene))
}

/// A snapshot without the untracked files among `own`, the files that this program exported.
fn scan(scene: &Scene<'_>, writer: &Writer, held: &[ObjectId], own: &[RepoPath]) -> Result<Snapshot, Error> {
    let settings = scene.settings;
    let patterns = own.iter().filter_map(ignore_pattern);
    let exclude: Vec<String> = settings.exclude.iter().cloned().chain(patterns).collect();
    // Without our directory this is a command that only looks: it makes none.
    let cache = snapshot_cache(scene.repo);
    let cache = cache.parent().is_some_and(Path::is_dir).then_some(cache);
    let options = files::SnapshotOptions {
        rules: files::SnapshotRules {
            max_file_size: settings.max_file_size,
            max_total_size: Some(settings.max_total_size),
            exclude: &exclude,
            no_secrets: !settings.save_secrets,
            tracked_only: settings.tracked_only,
            umask: os::umask().unwrap_or(0o022),
            index_path: scene.index,
        },
        cache: cache.as_deref(),
        held,
        threads: os::processors().min(4),
        watcher: settings.watcher,
    };
    Ok(files::take(scene.repo, writer, &options)?)
}

/// The files of `checkpoint.exportTo` that are as this program wrote them.
pub(super) fn exported(scene: &Scene<'_>) -> Vec<RepoPath> {
    if scene.settings.export_to.is_empty() {
        return Vec::new();
    }
    store::exports::own(scene.repo)
}

/// The line of a `.gitignore` at the root that matches this path alone; `None` for one that no setting can name.
fn ignore_pattern(path: &RepoPath) -> Option<String> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    let mut pattern = String::from("/");
    for character in text.chars() {
        if !character.is_alphanumeric() && character.is_ascii() && character != '/' {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    Some(pattern)
}

/// Says nothing of the untracked files that this program exported: they are neither work nor left out.
fn drop_exported(snapshot: &mut Snapshot, own: &[RepoPath]) {
    let is_own = |path: &RepoPath| own.contains(path);
    let skipped = &mut snapshot.lists.skipped;
    let before = skipped.len();
    skipped.retain(|entry| entry.reason != SkipReason::Excluded || !is_own(&entry.path));
    let untracked = &mut snapshot.status.untracked;
    untracked.count = untracked.count.saturating_sub(before - skipped.len());
    untracked.first.retain(|path| !is_own(path));
}

/// Where snapshots keep what they found out.
pub(super) fn snapshot_cache(repo: &Repository) -> PathBuf {
    store::worktree_private_path(repo).join("cache")
}

fn bounded(summary: &PathSummary) -> BoundedList<RepoPath> {
    let first = summary
        .first
        .iter()
        .take(crate::model::facts::LISTED)
        .cloned()
        .collect();
    BoundedList {
        count: summary.count as u64,
        first,
    }
}

/// Who the commits of this command are by.
pub(super) fn people(scene: &Scene<'_>) -> People {
    let time = checkpoint::git_time(scene.now);
    People {
        author: store::author(scene.repo, time),
        committer: store::who(scene.repo, time),
    }
}

/// Whom items of the record are by: the agent, else the git user.
pub(super) fn by(scene: &Scene<'_>, people: &People) -> String {
    scene
        .agent
        .map_or_else(|| people.author.name.to_string(), str::to_owned)
}

/// A session that does not exist yet.
pub(super) fn new_session(scene: &Scene<'_>, name: ShortName) -> Result<Session, Error> {
    Ok(Session {
        id: ids::session_id()?,
        name,
        title: None,
        status: SessionStatus::Active,
        kind: None,
        feature: None,
        feature_id: None,
        task_id: None,
        task_state: None,
        issues: Vec::new(),
        agent: scene.agent.map(str::to_owned),
        task: None,
        created_at: scene.now,
        forked_from: None,
        claim: None,
        metadata: Map::new(),
        unknown: Map::new(),
    })
}

/// A document of a session with everything but what its caller decides: no name, trigger, snapshot or predecessor.
pub(super) fn document(scene: &Scene<'_>, session: Session, kind: CheckpointKind, facts: GitFacts) -> Document {
    Document {
        schema: SCHEMA.to_owned(),
        session,
        name: None,
        kind,
        trigger: None,
        turn: None,
        request: None,
        created_at: scene.now,
        tool: tool(),
        host: scene.host.to_owned(),
        worktree: worktree(scene),
        subject: None,
        record: Record::default(),
        git: facts,
        snapshot: None,
        trees: BTreeMap::new(),
        encrypted: None,
        chat: None,
        transcripts: Vec::new(),
        tokens: None,
        compaction: None,
        previous: None,
        merged: None,
        restored_from: None,
        restored_part: false,
        put_aside: Vec::new(),
        folded: BTreeMap::new(),
        included: None,
        unknown: Map::new(),
    }
}

/// The document of a checkpoint that begins with all that another one has, but for what belongs to that one alone.
pub(super) fn successor(scene: &Scene<'_>, source: &Checkpoint, kind: CheckpointKind) -> Document {
    let mut document = source.document.clone();
    document.leave_out_own();
    document.kind = kind;
    document.created_at = scene.now;
    document.tool = tool();
    scene.host.clone_into(&mut document.host);
    document.previous = Some(source.digest.clone());
    document
}

/// The first document of a session that begins as a checkpoint of another one; `named` is the name of that session.
pub(super) fn fork(scene: &Scene<'_>, source: &Checkpoint, named: ShortName) -> Result<Document, Error> {
    let mut document = successor(scene, source, CheckpointKind::Fork);
    document.session.id = ids::session_id()?;
    document.session.created_at = scene.now;
    // Who works in the source alone does so there.
    document.session.claim = None;
    document.session.forked_from = Some(ForkSource {
        digest: source.digest.clone(),
        session: named,
        option: None,
        fork_point: None,
    });
    document.worktree = worktree(scene);
    document.folded.clear();
    Ok(document)
}

/// This working tree, as documents name it.
pub(super) fn worktree(scene: &Scene<'_>) -> WorktreeInfo {
    let path = scene.repo.workdir().unwrap_or_else(|| scene.repo.git_dir());
    WorktreeInfo {
        id: store::worktree_id(scene.repo),
        path: in_documents(path),
    }
}

/// The path of a working tree of this repository, as documents name it; `None` where it is not there any more.
pub(super) fn worktree_named(scene: &Scene<'_>, id: &str) -> Option<String> {
    let here = worktree(scene);
    if here.id == id {
        return Some(here.path);
    }
    store::worktree_path(scene.repo, id).map(|path| in_documents(&path))
}

fn in_documents(path: &Path) -> String {
    RepoPath::new(path.as_os_str().as_encoded_bytes()).quoted()
}

/// This program, as documents name it.
pub(super) fn tool() -> Tool {
    Tool {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
    }
}

/// Writes the first checkpoint of a session.
pub(super) fn write_start(
    scene: &Scene<'_>,
    writer: &Writer,
    session: Session,
    facts: GitFacts,
    people: &People,
) -> Result<(Document, WrittenCheckpoint), Error> {
    let mut document = document(scene, session, CheckpointKind::Start, facts);
    let written = checkpoint::write(writer, &mut document, false, &Siblings::default(), Vec::new(), people)?;
    Ok((document, written))
}

/// Predecessor of a checkpoint.
pub(super) struct Predecessor<'a> {
    /// Its commit.
    pub(super) id: ObjectId,
    /// Its digest.
    pub(super) digest: Digest,
    /// The whole of it, when it was not made a moment ago.
    pub(super) checkpoint: Option<&'a Checkpoint>,
}

impl<'a> Predecessor<'a> {
    /// One that was read.
    pub(super) fn of(checkpoint: &'a Checkpoint) -> Self {
        Self {
            id: checkpoint.entry.id,
            digest: checkpoint.digest.clone(),
            checkpoint: Some(checkpoint),
        }
    }
}

/// Writes a checkpoint with the current files, which comes after another one.
pub(super) fn write(
    repo: &Repository,
    writer: &Writer,
    document: &mut Document,
    siblings: &mut Siblings,
    (present, before): (&CurrentSnapshot, &Predecessor<'_>),
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    let snapshot = attach_snapshot(repo, writer, document, siblings, present, before, people)?;
    let parents = [Some(before.id), snapshot].into_iter().flatten().collect();
    Ok(checkpoint::write(
        writer,
        document,
        is_partial(present),
        siblings,
        parents,
        people,
    )?)
}

/// Writes the snapshot's commits, or finds that the checkpoint before has the same, and names the trees in the
/// document.
pub(super) fn attach_snapshot(
    repo: &Repository,
    writer: &Writer,
    document: &mut Document,
    siblings: &mut Siblings,
    present: &CurrentSnapshot,
    before: &Predecessor<'_>,
    people: &People,
) -> Result<Option<ObjectId>, Error> {
    let Some(snapshot) = &present.snapshot else {
        return Ok(None);
    };
    // A file that is left out and grows is nothing new.
    let known = before.checkpoint.and_then(|tip| checkpoint::lists(repo, tip).ok());
    let known = known.filter(|known| known.is_same_but_sizes(&snapshot.lists));
    let lists = known.as_ref().unwrap_or(&snapshot.lists);
    siblings.lists(writer, lists, &snapshot.conflict_blobs, &snapshot.held_blobs)?;
    // A hook that ends an operation saves a state in which there is none.
    let heads: &[ObjectId] = match &document.git.operation {
        Some(_) => {
            let mut blobs = Vec::new();
            for content in &present.operation {
                blobs.push(writer.write(store::Kind::Blob, content)?);
            }
            siblings.numbered(writer, "operation", &blobs)?;
            &present.heads
        }
        None => &[],
    };
    document.snapshot = Some(SnapshotRef {
        tree: checkpoint::oid(snapshot.tree),
        index: checkpoint::oid(snapshot.index_tree),
        umask: format!("{:03o}", snapshot.umask),
        unknown: Map::new(),
    });
    if let Some(tip) = before.checkpoint
        && let (Some(commit), Some(old), Some(new)) = (tip.snapshot(), &tip.document.snapshot, &document.snapshot)
        && (&old.tree, &old.index, &tip.document.git.head) == (&new.tree, &new.index, &document.git.head)
        && heads_of(tip.document.git.operation.as_ref()) == heads_of(document.git.operation.as_ref())
    {
        os::trace::say(1, || {
            "the files are as in the checkpoint before, whose snapshot is used again".to_owned()
        });
        return Ok(Some(commit));
    }
    let head = document.git.head.as_ref().map(checkpoint::object_id);
    let trees = (snapshot.tree, snapshot.index_tree);
    Ok(Some(checkpoint::write_snapshot(writer, head, heads, trees, people)?))
}

fn heads_of(operation: Option<&GitOperation>) -> &[OperationHead] {
    operation.map(|operation| &operation.heads[..]).unwrap_or_default()
}

/// Whether a checkpoint of these files is partial.
pub(super) fn is_partial(present: &CurrentSnapshot) -> bool {
    present.is_partial()
}

/// The document with the files of the one before, where only files of `checkpoint.exportTo` changed and are as this
/// program wrote them, after the checkpoint before.
pub(super) fn without_exports(
    scene: &Scene<'_>,
    overlay: &Repository,
    new: &Document,
    old: &Document,
) -> Result<Document, Error> {
    let mut document = new.clone();
    let (Some(now), Some(then)) = (&mut document.snapshot, &old.snapshot) else {
        return Ok(document);
    };
    if scene.settings.export_to.is_empty() || now.tree == then.tree {
        return Ok(document);
    }
    let trees = [then, &*now].map(|snapshot| checkpoint::object_id(&snapshot.tree));
    if differ_in_exports(scene, overlay, trees)? {
        now.tree = then.tree.clone();
    }
    Ok(document)
}

/// Whether two trees differ in files of `checkpoint.exportTo` alone, which are as this program wrote them.
pub(super) fn differ_in_exports(
    scene: &Scene<'_>,
    repo: &Repository,
    [then, now]: [ObjectId; 2],
) -> Result<bool, Error> {
    let own = exported(scene);
    if own.is_empty() {
        return Ok(then == now);
    }
    let changes = tree::diff(repo, Some(then), Some(now), tree::Renames::Off)?;
    Ok(changes.iter().all(|change| own.contains(&change.path)))
}
