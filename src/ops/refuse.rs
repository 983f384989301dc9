//! Why files are not changed although the plan is sound: circumstances in which that would surprise or lose work.
//!
//! Each is found with what proves it, so that the refusal can list it. `--force` is the answer to all but blocked paths
//! that nothing can save.

mod later;

use std::{collections::HashSet, fmt};

use serde::Serialize;

use super::{
    ClaimOfOther, Error, Scene,
    compose::{self, CurrentSnapshot},
};
use crate::{
    model::{
        claim::Claim,
        document::Session,
        facts::OperationKind,
        id::Oid,
        name::ShortName,
        path::RepoPath,
        plan::{BlockedPath, LatestCommit},
        spelling::with_article,
    },
    store::{
        self, ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
        graph, history,
        merge_state::ConflictCommand,
        restored, tree, walk,
    },
    worktree::restore::RestorePlan,
};

/// Commits looked through to find out whether one comes after another; the history of the largest projects.
const HISTORY: usize = 2_000_000;
/// Commits looked through for those that changed the paths of a plan.
const SEARCHED: usize = 10_000;
/// Fewer deletions than this are never too many: in a small project half of the files is not much.
const MANY: usize = 10;

/// The claim of another one that a session is under.
pub(super) fn claim_of_other<'a>(scene: &Scene<'_>, session: &'a Session) -> Option<&'a Claim> {
    let by = compose::by(scene, &compose::people(scene));
    let claim = session.claim.as_ref();
    claim.filter(|claim| claim.holds_against(&by, scene.now))
}

/// Refuses to take a session from another one who has claimed it.
pub(super) fn claimed(scene: &Scene<'_>, name: &ShortName, session: &Session) -> Result<(), Error> {
    match claim_of_other(scene, session) {
        Some(claim) => Err(Error::Claimed {
            session: name.clone(),
            claim: Box::new(ClaimOfOther::new(claim, scene.agent)),
        }),
        None => Ok(()),
    }
}

/// A reason not to change files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Refusal {
    /// git has begun something and not finished.
    OperationInProgress {
        /// Its name in the message.
        operation: OperationKind,
    },
    /// The conflicts of an earlier merge or apply are not resolved, or their resolution is not saved.
    NotConcluded {
        /// The command.
        operation: ConflictCommand,
        /// Where its changes came from.
        from: String,
    },
    /// HEAD does not come after the commit at which the checkpoint was saved.
    OtherHistory {
        /// HEAD when it was saved.
        saved: Oid,
        /// HEAD now.
        now: Option<Oid>,
    },
    /// The checkpoint was saved in another working tree of this repository.
    OtherWorktree {
        /// That working tree.
        path: String,
    },
    /// Another session saved these paths in this working tree since.
    LaterSaves {
        /// The session.
        session: ShortName,
        /// The paths, those of the plan that it changed.
        paths: Vec<RepoPath>,
    },
    /// Commits made since would be reverted.
    Reverts {
        /// The paths, each with the latest commit that changed it.
        paths: Vec<Reversal>,
    },
    /// More than half of the files would be deleted.
    ManyDeletions {
        /// How many would be.
        deleted: usize,
        /// How many there are.
        files: usize,
    },
    /// Paths are in the way that no checkpoint holds.
    Blocked {
        /// Which, and why.
        paths: Vec<BlockedPath>,
    },
    /// Value to revert was changed since.
    ChangedSince {
        /// The paths.
        paths: Vec<RepoPath>,
    },
    /// All that is left to take back has to stay as it is.
    LeftAlone {
        /// The paths with the reasons.
        paths: Vec<LeftPath>,
    },
}

/// A path that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftPath {
    /// The path.
    pub path: RepoPath,
    /// The reason in words.
    pub why: String,
}

/// A path of which a restore takes back what commits changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reversal {
    /// The path.
    pub path: RepoPath,
    /// The latest commit that changed it, where it is known.
    #[serde(serialize_with = "as_text")]
    pub commit: Option<LatestCommit>,
}

#[expect(clippy::ref_option, reason = "serde gives the member so")]
fn as_text<S: serde::Serializer>(commit: &Option<LatestCommit>, serializer: S) -> Result<S::Ok, S::Error> {
    commit.as_ref().map(ToString::to_string).serialize(serializer)
}

impl Refusal {
    /// Whether `--force` gets past it.
    pub fn yields_to_force(&self) -> bool {
        match self {
            Self::Blocked { paths } => paths.iter().all(|blocked| blocked.why.yields_to_force()),
            Self::LeftAlone { .. } => false,
            _ => true,
        }
    }

    /// The paths it is about, each with a reason where there are several.
    pub fn paths(&self) -> Vec<(&RepoPath, Option<String>)> {
        match self {
            Self::LaterSaves { paths, .. } | Self::ChangedSince { paths } => {
                paths.iter().map(|path| (path, None)).collect()
            }
            Self::LeftAlone { paths } => paths.iter().map(|left| (&left.path, Some(left.why.clone()))).collect(),
            Self::Reverts { paths } => paths
                .iter()
                .map(|reversal| {
                    let commit = reversal.commit.as_ref();
                    (
                        &reversal.path,
                        commit.map(|commit| format!("changed since by {commit}")),
                    )
                })
                .collect(),
            Self::Blocked { paths } => paths
                .iter()
                .map(|blocked| (&blocked.path, Some(blocked.why.to_string())))
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = |n: usize| {
            if n == 1 {
                "1 path".to_owned()
            } else {
                format!("{n} paths")
            }
        };
        match self {
            Self::OperationInProgress { operation } => write!(f, "{} is in progress", with_article(operation.word())),
            Self::NotConcluded { operation, from } => write!(f, "the {operation} of {from} is not concluded"),
            Self::OtherHistory { saved, now: None } => {
                write!(f, "it was saved at commit {}, and HEAD has no commit", short(saved))
            }
            Self::OtherHistory { saved, now: Some(now) } => write!(
                f,
                "it was saved at commit {}, which is not an ancestor of HEAD {}",
                short(saved),
                short(now)
            ),
            Self::OtherWorktree { path } => write!(f, "it was saved in another working tree, '{path}'"),
            Self::LaterSaves { session, paths: list } => {
                write!(f, "session '{session}' saved {} of these since", paths(list.len()))
            }
            Self::Reverts { paths: list } => {
                write!(f, "it would revert what was committed since in {}", paths(list.len()))
            }
            Self::ManyDeletions { deleted, files } => write!(f, "it would delete {deleted} of {files} files"),
            Self::Blocked { paths: list } => write!(
                f,
                "{} in the way",
                if list.len() == 1 {
                    "1 path is".to_owned()
                } else {
                    format!("{} paths are", list.len())
                }
            ),
            Self::ChangedSince { paths: list } => write!(f, "{} changed since", paths(list.len())),
            Self::LeftAlone { paths: list } => write!(
                f,
                "{} cannot be changed, and nothing else has to be done",
                paths(list.len())
            ),
        }
    }
}

fn short(id: &Oid) -> &str {
    &id.as_str()[..8]
}

/// Refuses what is no project: a bare repository, the home directory, the root of the file system.
pub(super) fn too_broad(scene: &Scene<'_>) -> Result<(), Error> {
    let top = store::work_tree(scene.repo)?;
    let what = if scene.home.is_some_and(|home| same_directory(home, top)) {
        "your home directory"
    } else if top.parent().is_none() {
        "the root of the file system"
    } else {
        return Ok(());
    };
    if scene.settings.allow_home {
        return Ok(());
    }
    Err(Error::TooBroad {
        path: top.display().to_string(),
        what,
    })
}

fn same_directory(a: &std::path::Path, b: &std::path::Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Refusals because of the state of the repository, for files restored from `checkpoint`.
pub(super) fn by_place(
    scene: &Scene<'_>,
    checkpoint: &Checkpoint,
    present: &CurrentSnapshot,
) -> Result<Vec<Refusal>, Error> {
    let mut refusals = Vec::new();
    let document = &checkpoint.document;
    // A save in the middle of a merge is made to come back to it there.
    let (now, saved) = (&present.facts.operation, &document.git.operation);
    let is_same = now
        .as_ref()
        .zip(saved.as_ref())
        .is_some_and(|(now, saved)| now.is_same(saved));
    refusals.extend(in_progress(present).filter(|_| !is_same));
    if let Some(saved) = &document.git.head
        && !comes_after(scene, saved, present.facts.head.as_ref())?
    {
        refusals.push(Refusal::OtherHistory {
            saved: saved.clone(),
            now: present.facts.head.clone(),
        });
    }
    let own = store::worktree_id(scene.repo);
    // What a working tree was brought to once, as the working tree of a fork was when it was made, is no surprise there.
    let is_known = restored::read(scene.repo)?.is_some_and(|digest| digest == checkpoint.digest);
    if !is_known
        && document.host == scene.host
        && document.worktree.id != own
        && let Some(path) = store::worktree_path(scene.repo, &document.worktree.id)
        && RepoPath::new(path.as_os_str().as_encoded_bytes()).quoted() == document.worktree.path
    {
        refusals.push(Refusal::OtherWorktree {
            path: document.worktree.path.clone(),
        });
    }
    Ok(refusals)
}

/// An operation of git that is not finished.
pub(super) fn in_progress(present: &CurrentSnapshot) -> Option<Refusal> {
    let operation = present.facts.operation.as_ref()?;
    Some(Refusal::OperationInProgress {
        operation: operation.kind,
    })
}

fn comes_after(scene: &Scene<'_>, saved: &Oid, now: Option<&Oid>) -> Result<bool, Error> {
    let Some(now) = now else { return Ok(false) };
    if saved == now {
        return Ok(true);
    }
    let (saved, now) = (object_id(saved), object_id(now));
    if checkpoint::commit_parts(scene.repo, saved).is_err() {
        // A commit that is not here is no ancestor of one that is, unless the clone is shallow.
        return Ok(false);
    }
    Ok(graph::is_ancestor(scene.repo, saved, now, HISTORY)?.unwrap_or(false))
}

/// The reasons that have to do with what the plan does. `repo` reads the present.
pub(super) fn by_plan(
    scene: &Scene<'_>,
    repo: &Repository,
    checkpoint: &Checkpoint,
    present: &CurrentSnapshot,
    plan: &RestorePlan,
) -> Result<Vec<Refusal>, Error> {
    let mut refusals = later::later_saves(scene, repo, checkpoint, present, plan)?;
    refusals.extend(many_deletions(repo, present, plan)?);
    Ok(refusals)
}

/// The paths of a plan of which it takes back what was committed since the checkpoint was saved, each with the latest
/// commit that changed it. None where HEAD does not come after the commit of then: that is a reason of its own.
pub(super) fn reversals(
    scene: &Scene<'_>,
    checkpoint: &Checkpoint,
    present: &CurrentSnapshot,
    plan: &RestorePlan,
) -> Result<Vec<Reversal>, Error> {
    let (Some(saved), Some(now)) = (&checkpoint.document.git.head, &present.facts.head) else {
        return Ok(Vec::new());
    };
    let Some(files) = &checkpoint.document.snapshot else {
        return Ok(Vec::new());
    };
    if saved == now || !comes_after(scene, saved, Some(now))? {
        return Ok(Vec::new());
    }
    let (saved, now, files) = (object_id(saved), object_id(now), object_id(&files.tree));
    let committed = differing(scene.repo, Some(saved), now)?;
    let touched: HashSet<RepoPath> = plan.touched().filter(|path| committed.contains(path)).collect();
    let mut paths = Vec::new();
    for path in touched {
        // What was committed may be what the checkpoint has, uncommitted.
        if tree::entry(scene.repo, files, &path)? != tree::entry(scene.repo, now, &path)? {
            paths.push(path);
        }
    }
    paths.sort();
    let since = graph::relation(scene.repo, saved, now, HISTORY)?.behind;
    let mut latest = history::last_touched(scene.repo, &since, &paths, SEARCHED)?;
    let reversal = |path: RepoPath| Reversal {
        commit: latest.remove(&path).map(|commit| LatestCommit {
            id: commit.id,
            subject: commit.subject,
        }),
        path,
    };
    Ok(paths.into_iter().map(reversal).collect())
}

/// Whether more than half of the files would go.
fn many_deletions(repo: &Repository, present: &CurrentSnapshot, plan: &RestorePlan) -> Result<Option<Refusal>, Error> {
    let (deleted, Some(snapshot)) = (plan.deletions(), &present.snapshot) else {
        return Ok(None);
    };
    if deleted < MANY {
        return Ok(None);
    }
    let files = walk::count_files(repo, snapshot.tree, deleted * 2)?;
    Ok((deleted * 2 > files).then_some(Refusal::ManyDeletions { deleted, files }))
}

/// The paths at which two trees differ.
fn differing(repo: &Repository, one: Option<ObjectId>, other: ObjectId) -> Result<HashSet<RepoPath>, Error> {
    let changes = tree::diff(repo, one, Some(other), tree::Renames::Off)?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}
