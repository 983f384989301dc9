//! Content of a push: checkpoints and autosaves, commits of the user's own history that their snapshots need, secrets
//! in any of it, and pointers of git-lfs whose content has to go as well.
//!
//! Whatever leaves is looked at: contents of files, their names, messages and people of commits, and contents of git-lfs.
//! Only what the remote lacks is looked at, by what was last seen of it: files are compared with those of the
//! checkpoint before and of HEAD. An object that the remote has under another name may be looked at once more.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{super::ids::short, Error, Leak, LeakedCommit, Wire};
use crate::{
    model::{document::CheckpointKind, path::RepoPath},
    ops::{Error as OpsError, Scene},
    os,
    secrets::{self, RedactionMode, RedactionSettings, Scanner, Severity},
    store::{
        self, Kind as ObjectKind, ObjectId,
        checkpoint::{self, CheckpointCommit},
        graph, history,
        incoming::{self, LimitedBlob},
        refs,
        remote::Remote,
        remote_state::RemoteState,
    },
    worktree::snapshot,
};

/// A file above this size is not looked at for secrets, and named; in bytes.
const MAX_SCANNED: u64 = 32 << 20;
/// When so much was looked at, the rest is named; in bytes. A minute's work.
const MAX_TOTAL: u64 = 2 << 30;

/// How many commits are walked to learn whether HEAD's history has one.
const WALKED: usize = 200_000;

/// The entry of the allow-list for private keys.
const ALLOWED_KEYS: &str = "kind:private-key";

/// Upload of a push.
#[derive(Debug, Default)]
pub(super) struct UploadPlan {
    /// Commits of the user's own history that the remote lacks, latest first.
    pub(super) commits: Vec<ObjectId>,
    /// Secrets in what the remote lacks.
    pub(super) leaks: BTreeSet<Leak>,
    /// The first of the commits that have one.
    pub(super) leaked_commit: Option<LeakedCommit>,
    /// Files that were not looked at, because they are too large.
    pub(super) unscanned: Vec<String>,
    /// Contents of git-lfs that the snapshots point to: SHA-256 in hexadecimal.
    pub(super) pointers: BTreeSet<String>,
}

/// A ref that is to be pushed.
pub(super) struct Going {
    /// Description for people.
    pub(super) what: String,
    /// The checkpoint or autosave it is at.
    pub(super) tip: ObjectId,
    /// State of it at the remote as of the last fetch.
    pub(super) tracking: Option<ObjectId>,
}

/// Finds out what pushing these refs, and the notes on commits at `notes`, would upload. What an earlier one rests on is not looked at again for a later one.
pub(super) fn of(
    scene: &Scene<'_>,
    remote: &Remote,
    going: &[Going],
    notes: Option<ObjectId>,
    wire: Wire<'_>,
) -> Result<UploadPlan, Error> {
    let mut look = UploadScan {
        scene,
        scanner: scanner(scene)?,
        out: UploadPlan::default(),
        seen: HashSet::new(),
        scanned: 0,
        in_snapshot: false,
        wire,
    };
    let there = RemoteView::of(scene, remote)?;
    let mut heads = Vec::new();
    let mut chains = Vec::new();
    let mut boundary = there.sessions.clone();
    boundary.extend(going.iter().filter_map(|going| going.tracking));
    for Going { what, tip, .. } in going {
        let chain = UploadChain::read(scene, *tip, &boundary)?;
        boundary.extend(chain.new.iter().map(|new| new.entry.id));
        let files = chain.new.iter().filter_map(|new| new.files.as_ref());
        let new_heads = files.flat_map(|files| std::iter::once(files.head).chain(files.operation.iter().copied()));
        heads.extend(new_heads.filter(|head| !chain.known_heads.contains(head)));
        chains.push((what, chain));
    }
    heads.sort();
    heads.dedup();
    heads.retain(|head| !there.commits.contains(head));
    look.history(&heads, &there)?;
    for (what, chain) in &chains {
        look.chain(what, chain)?;
    }
    if let Some(notes) = notes {
        let tree = checkpoint::tree_of(scene.repo, notes).map_err(OpsError::damaged(short(notes)))?;
        look.commit(notes, "notes on commits")?;
        look.files(tree, &[], "notes on commits")?;
    }
    look.contents()?;
    Ok(look.out)
}

/// The user's own rules and allow-list; whether records are redacted is another question than what is published.
fn scanner(scene: &Scene<'_>) -> Result<Scanner, Error> {
    let rule = |text: &String| crate::ops::redact::own_rule(text);
    Ok(Scanner::new(&RedactionSettings {
        mode: RedactionMode::Warn,
        allow: scene.settings.redact_allow.clone(),
        rules: scene.settings.redact_rule.iter().map(rule).collect(),
    })?)
}

/// Last seen state of the remote.
struct RemoteView {
    commits: HashSet<ObjectId>,
    sessions: HashSet<ObjectId>,
}

impl RemoteView {
    fn of(scene: &Scene<'_>, remote: &Remote) -> Result<Self, Error> {
        let ids = |prefix: &str| -> Result<HashSet<ObjectId>, Error> {
            let found = refs::list(scene.repo, prefix)?;
            Ok(found.into_iter().filter_map(|(_, id)| id.ok()).collect())
        };
        // A name that no ref has, such as one with a space, has no branches that were fetched.
        let branches = ids(&format!("refs/remotes/{}/", remote.name)).unwrap_or_default();
        let mut commits = branches;
        let purged = RemoteState::of(scene.repo, &remote.name);
        commits.extend(purged.purged_commits().filter(|id| scene.repo.has_object(id)));
        Ok(Self {
            commits,
            sessions: ids(&remote.tracking())?,
        })
    }
}

/// A checkpoint that the remote lacks.
struct UploadCheckpoint {
    entry: CheckpointCommit,
    /// The tree of the checkpoint before it.
    before: Option<ObjectId>,
    files: Option<SnapshotTrees>,
    /// Those of the checkpoint before it.
    files_before: Option<SnapshotTrees>,
}

/// The trees of a snapshot.
#[derive(Clone)]
struct SnapshotTrees {
    commit: ObjectId,
    tree: ObjectId,
    index_commit: ObjectId,
    index: ObjectId,
    head: ObjectId,
    /// The other commits of an operation of git's that was in progress.
    operation: Vec<ObjectId>,
}

impl SnapshotTrees {
    fn of(scene: &Scene<'_>, entry: &CheckpointCommit) -> Result<Option<Self>, checkpoint::Fault> {
        let Some(commit) = entry.snapshot_commit() else {
            return Ok(None);
        };
        let (tree, parents) = checkpoint::commit_parts(scene.repo, commit)?;
        let [head, index] = parents.as_slice() else {
            return Ok(None);
        };
        let (index_tree, index_parents) = checkpoint::commit_parts(scene.repo, *index)?;
        Ok(Some(Self {
            commit,
            tree,
            index_commit: *index,
            index: index_tree,
            head: *head,
            operation: index_parents.into_iter().filter(|parent| parent != head).collect(),
        }))
    }
}

/// The checkpoints of a session that the remote lacks, and those of its source.
struct UploadChain {
    new: Vec<UploadCheckpoint>,
    /// HEAD commits of the latest checkpoint that the remote has.
    known_heads: HashSet<ObjectId>,
}

impl UploadChain {
    fn read(scene: &Scene<'_>, tip: ObjectId, boundary: &HashSet<ObjectId>) -> Result<Self, Error> {
        let damaged = |fault| OpsError::damaged(short(tip))(fault);
        let (mut new, mut known_heads) = (Vec::<UploadCheckpoint>::new(), HashSet::new());
        let mut seen = HashSet::new();
        // What was merged in goes as well.
        let mut waiting = vec![tip];
        while let Some(tip) = waiting.pop() {
            let mut next = Some(checkpoint::entry(scene.repo, tip).map_err(damaged)?);
            let mut files = next
                .as_ref()
                .map(|entry| SnapshotTrees::of(scene, entry))
                .transpose()
                .map_err(damaged)?
                .flatten();
            while let Some(entry) = next.take() {
                if boundary.contains(&entry.id) {
                    known_heads.extend(files.map(|files| files.head));
                    break;
                }
                if !seen.insert(entry.id) {
                    break;
                }
                waiting.extend(entry.merged_commit());
                let parent = entry.parents.first().copied();
                let before = parent
                    .map(|id| checkpoint::entry(scene.repo, id))
                    .transpose()
                    .map_err(damaged)?;
                let files_before = before
                    .as_ref()
                    .map(|entry| SnapshotTrees::of(scene, entry))
                    .transpose()
                    .map_err(damaged)?
                    .flatten();
                new.push(UploadCheckpoint {
                    entry,
                    before: before.as_ref().map(|entry| entry.tree),
                    files,
                    files_before: files_before.clone(),
                });
                (next, files) = (before, files_before);
            }
        }
        Ok(Self { new, known_heads })
    }
}

/// Whether a commit is the one that represents HEAD on an unborn branch: none of the user's.
fn is_unborn(scene: &Scene<'_>, commit: ObjectId) -> Result<bool, Error> {
    let info = history::commit_info(scene.repo, commit)?;
    Ok(info.subject == "unborn branch" && info.authored_at.unix() == 0 && info.email == "git-checkpoint@localhost")
}

struct UploadScan<'a> {
    scene: &'a Scene<'a>,
    scanner: Scanner,
    out: UploadPlan,
    seen: HashSet<ObjectId>,
    scanned: u64,
    /// Whether files of the working tree in a checkpoint are looked at.
    in_snapshot: bool,
    wire: Wire<'a>,
}

impl UploadScan<'_> {
    /// Commits of the project that the remote lacks, and what is in them.
    fn history(&mut self, heads: &[ObjectId], there: &RemoteView) -> Result<(), Error> {
        if heads.is_empty() {
            return Ok(());
        }
        let mut input = String::new();
        for head in heads {
            input.push_str(&format!("{head}\n"));
        }
        for known in there.commits.iter().chain(&there.sessions) {
            input.push_str(&format!("^{known}\n"));
        }
        let output = store::git(self.scene.repo)
            .args(["rev-list", "--topo-order", "--parents", "--stdin"])
            .input(input)
            .run()
            .map_err(store::Error::from)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut parents = BTreeMap::new();
        for line in text.lines() {
            let mut ids = line.split(' ').filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok());
            let Some(commit) = ids.next() else { continue };
            parents.insert(commit, ids.collect::<Vec<_>>());
            if !is_unborn(self.scene, commit)? {
                self.out.commits.push(commit);
            }
        }
        let total = self.out.commits.len() as u64;
        for (done, commit) in self.out.commits.clone().into_iter().enumerate() {
            (self.wire.progress)("Looking for secrets", done as u64, total);
            let tree = |id: &ObjectId| checkpoint::tree_of(self.scene.repo, *id);
            let new = tree(&commit).map_err(OpsError::damaged(short(commit)))?;
            // The parents of a commit at the border of a shallow clone are not here.
            let bases: Vec<_> = parents[&commit].iter().filter_map(|id| tree(id).ok()).collect();
            let of = format!("commit {}", short(commit));
            let known = self.out.leaks.len();
            self.commit(commit, &of)?;
            self.files(new, &bases, &of)?;
            if self.out.leaks.len() > known {
                self.leaked(commit, parents[&commit].is_empty())?;
            }
        }
        Ok(())
    }

    /// Keeps the first commit that has a secret. The latest ones come first.
    fn leaked(&mut self, commit: ObjectId, is_root: bool) -> Result<(), Error> {
        let repo = self.scene.repo;
        let is_in_head = match refs::head(repo)?.id {
            Some(head) => graph::is_ancestor(repo, commit, head, WALKED)? == Some(true),
            None => false,
        };
        if is_in_head || !self.out.leaked_commit.as_ref().is_some_and(|known| known.is_in_head) {
            self.out.leaked_commit = Some(LeakedCommit {
                id: checkpoint::oid(commit),
                is_in_head,
                is_root,
            });
        }
        Ok(())
    }

    fn chain(&mut self, name: &str, chain: &UploadChain) -> Result<(), Error> {
        let total = chain.new.len() as u64;
        let mut heads = HashMap::new();
        // From old to new, so that a secret is reported for the checkpoint that introduced it.
        for (done, new) in chain.new.iter().rev().enumerate() {
            (self.wire.progress)("Looking for secrets", done as u64, total);
            let word = match new.entry.trailers.kind {
                Some(CheckpointKind::Autosave) => "autosave",
                _ => "checkpoint",
            };
            let of = format!("{name}, {word} {}", short(new.entry.id));
            let bases: Vec<_> = new.before.into_iter().collect();
            self.commit(new.entry.id, &of)?;
            self.files(new.entry.tree, &bases, &of)?;
            let Some(files) = &new.files else { continue };
            if new
                .files_before
                .as_ref()
                .is_some_and(|before| before.commit == files.commit)
            {
                continue;
            }
            self.commit(files.commit, &of)?;
            self.commit(files.index_commit, &of)?;
            let head = *heads
                .entry(files.head)
                .or_insert_with(|| checkpoint::tree_of(self.scene.repo, files.head).ok());
            let before = new.files_before.as_ref();
            let bases = [
                head,
                before.map(|before| before.tree),
                before.map(|before| before.index),
            ];
            let bases: Vec<_> = bases.into_iter().flatten().collect();
            self.in_snapshot = true;
            self.files(files.tree, &bases, &of)?;
            self.files(files.index, &[bases, vec![files.tree]].concat(), &of)?;
            self.in_snapshot = false;
        }
        Ok(())
    }

    /// Looks at what is new in a tree.
    fn files(&mut self, tree: ObjectId, bases: &[ObjectId], of: &str) -> Result<(), Error> {
        if (self.wire.stopped)() {
            return Err(Error::Stopped);
        }
        // What the bases hold is there only as far as it is here: a partial clone has not all of it.
        let bases: Vec<_> = bases
            .iter()
            .copied()
            .filter(|id| self.scene.repo.has_object(id))
            .collect();
        let (mut found, mut names) = (Vec::new(), Vec::new());
        let mut each = |path: &[u8], id: Option<ObjectId>| {
            let path = RepoPath::new(path).quoted();
            names.extend_from_slice(path.as_bytes());
            names.push(b'\n');
            found.extend(id.map(|id| (path, id)));
        };
        incoming::new_files(self.scene.repo, tree, &bases, &mut self.seen, &mut each)?;
        for (path, id) in found {
            self.blob(&path, id, of)?;
        }
        let in_snapshot = std::mem::take(&mut self.in_snapshot);
        self.secrets(&names, of, |_| "the name of a file".to_owned());
        self.in_snapshot = in_snapshot;
        Ok(())
    }

    /// Looks at the message of a commit and at who made it.
    fn commit(&mut self, id: ObjectId, of: &str) -> Result<(), Error> {
        if !self.seen.insert(id) {
            return Ok(());
        }
        let data = checkpoint::read(self.scene.repo, id, ObjectKind::Commit, "commit");
        let data = data.map_err(OpsError::damaged(short(id)))?;
        let header = data.windows(2).position(|ends| ends == b"\n\n").unwrap_or(data.len());
        let lines = data[..header].split(|byte| *byte == b'\n').count();
        self.secrets(&data, of, |line| {
            let part = if line <= lines { "author" } else { "message" };
            format!("the {part} of commit {}", short(id))
        });
        Ok(())
    }

    /// Looks at the contents of git-lfs that go along.
    fn contents(&mut self) -> Result<(), Error> {
        for pointer in self.out.pointers.clone() {
            let Some(path) = snapshot::lfs_content(self.scene.repo, &pointer).map_err(OpsError::from)? else {
                continue;
            };
            let (of, limit) = ("git-lfs", MAX_SCANNED.min(MAX_TOTAL.saturating_sub(self.scanned)));
            let name = format!("content {}", &pointer[..8]);
            match os::open_regular_sized(&path) {
                Ok((_, length)) if length > limit => self.out.unscanned.push(format!("{name} ({of})")),
                Ok(_) => {
                    let bytes = os::read_regular(&path).map_err(store::Error::io("read", path))?;
                    self.scanned += bytes.len() as u64;
                    self.secrets(&bytes, of, |_| name.clone());
                }
                // What is not here cannot be sent, and git-lfs reports that.
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn secrets(&mut self, bytes: &[u8], of: &str, place: impl Fn(usize) -> String) {
        for finding in self.scanner.scan(bytes) {
            if finding.severity == Severity::Secret {
                self.out.leaks.insert(Leak {
                    of: of.to_owned(),
                    path: place(finding.line),
                    line: Some(finding.line),
                    kind: finding.kind.to_string(),
                    is_file: self.in_snapshot,
                });
            }
        }
    }

    /// Looks at what is in base64, escapes or an archive. What is packed beyond the limits is named as not searched.
    fn packed_secrets(&mut self, bytes: &[u8], of: &str, path: &str) {
        for finding in self.scanner.redact_packed(bytes).1.findings {
            if finding.kind == secrets::BEYOND_LIMITS {
                self.out.unscanned.push(format!("{path} ({of})"));
                continue;
            }
            self.out.leaks.insert(Leak {
                of: of.to_owned(),
                path: path.to_owned(),
                line: None,
                kind: format!("{} in {}", finding.kind, finding.forms.join(" in ")),
                is_file: self.in_snapshot,
            });
        }
    }

    fn blob(&mut self, path: &str, id: ObjectId, of: &str) -> Result<(), Error> {
        let limit = MAX_SCANNED.min(MAX_TOTAL.saturating_sub(self.scanned));
        match incoming::limited_blob(self.scene.repo, id, limit)? {
            LimitedBlob::Content(bytes) => {
                self.scanned += bytes.len() as u64;
                if bytes.len() as u64 <= snapshot::LFS_POINTER {
                    self.out.pointers.extend(snapshot::lfs_pointer(&bytes));
                }
                let known = self.out.leaks.len();
                self.secrets(&bytes, of, |_| path.to_owned());
                if self.out.leaks.len() == known {
                    self.packed_secrets(&bytes, of, path);
                }
                // A key may be in a form that is no text.
                let is_allowed = self
                    .scene
                    .settings
                    .redact_allow
                    .iter()
                    .any(|allowed| allowed == ALLOWED_KEYS);
                if self.out.leaks.len() == known && !is_allowed && secrets::file::is_key(&bytes) {
                    self.out.leaks.insert(Leak {
                        of: of.to_owned(),
                        path: path.to_owned(),
                        line: None,
                        kind: "private-key".to_owned(),
                        is_file: self.in_snapshot,
                    });
                }
            }
            // A partial clone has not fetched it: the remote has it.
            LimitedBlob::Absent => {}
            LimitedBlob::TooLarge => self.out.unscanned.push(format!("{path} ({of})")),
        }
        Ok(())
    }
}
