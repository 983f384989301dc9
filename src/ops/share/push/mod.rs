//! `push`: sessions to a remote.
//!
//! git pushes exactly the commits that were looked at, and the remote takes a session only if it goes on from what is
//! there: so of two pushes at the same time one is refused, and neither drops anything. A chain that was pruned here
//! replaces the same chain there only if it is what it was when it was last seen. Where the remote has moved, it is
//! fetched and compared, and what is only here is pushed again if that is possible.

mod answer;
mod command;
mod notes;
mod otherwise;
mod prune;
mod purge;
mod remove;
mod rename;
mod send;

use std::collections::BTreeMap;

use super::{
    Error, Leak, Wire, find,
    outgoing::{self, Going},
};
use crate::{
    model::{name::ShortName, report::CommitInfo, selector::Selector},
    ops::{Scene, returned, select, session_choice, suggestions},
    store::{self, ObjectId, history, refs, remote::Remote, scratch::Scratch, session},
};
pub use otherwise::NamedElsewhere;
pub use prune::{PruneCandidate, PruneReason, RemotePruneRequest, candidates, prune};
pub use purge::{PurgedAtRemote, place, purge_there};
pub use remove::{RemovedSession, remove, usual_remote};
pub use rename::RenamedForPush;
use send::Push;
pub(super) use send::is_deleted_from_here;

/// How many commits of the user's history are named.
const LISTED: usize = 10;

/// Which sessions.
#[derive(Clone, Debug)]
pub enum PushSelection {
    /// The current one.
    Current,
    /// These.
    Named(Vec<Selector>),
    /// All of this repository.
    All,
}

/// Request of a push.
#[derive(Clone, Debug)]
pub struct PushRequest {
    /// The remote; the usual one without a name.
    pub remote: Option<String>,
    /// The sessions.
    pub which: PushSelection,
    /// Whether their autosaves go as well.
    pub autosaves: bool,
    /// Whether nothing is sent.
    pub dry_run: bool,
    /// Whether secrets may be published.
    pub allow_secrets: bool,
    /// Whether sessions go that the remote had and deleted.
    pub force: bool,
    /// Whether it runs without a user: no session is renamed.
    pub unattended: bool,
}

/// Result of a push.
#[derive(Debug)]
pub struct PushOutcome {
    /// The remote.
    pub remote: String,
    /// Where that is.
    pub url: String,
    /// The beginning of the refs that sessions have there.
    pub namespace: String,
    /// Every session that was to be pushed, in the order given.
    pub sessions: Vec<PushedSession>,
    /// Sessions that got another name, as the remote has other ones called as they were.
    pub renamed: Vec<RenamedForPush>,
    /// Commits of the user's own history that went, or would go, as well: how many, and the first of them.
    pub commits: (usize, Vec<CommitInfo>),
    /// Files that were too large to be looked at for secrets.
    pub unscanned: Vec<String>,
    /// Secrets that were published because that was allowed.
    pub allowed: Vec<Leak>,
    /// Contents of git-lfs that were sent first.
    pub lfs: usize,
    /// How many autosaves went.
    pub autosaves: usize,
    /// Why the notes on commits did not go, where they were to.
    pub notes_stay: Option<String>,
    /// Whether nothing was sent.
    pub dry_run: bool,
}

/// A session that was to be pushed.
#[derive(Debug)]
pub struct PushedSession {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint here.
    pub id: ObjectId,
    /// Outcome for the session.
    pub fate: PushFate,
    /// The paths that are unmerged in that checkpoint.
    pub unmerged: usize,
    /// How many of them have conflict markers in that checkpoint.
    pub marked: usize,
}

/// Outcome of a push for one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushFate {
    /// The remote had it.
    UpToDate,
    /// The remote has more.
    Behind(usize),
    /// It is new there.
    New(usize),
    /// It went on there.
    Forward(usize),
    /// It had been there, and was not any more.
    PutBack,
    /// It replaced the same chain as it was before a prune.
    Pruned,
    /// Both went on.
    Diverged {
        /// Checkpoints that are only here.
        ours: usize,
        /// Checkpoints that are only there.
        theirs: usize,
    },
    /// It was pruned there, and not here: it would bring back what is gone there.
    PrunedThere {
        /// Checkpoints that are only here.
        ours: usize,
        /// How many checkpoints are gone there.
        dropped: usize,
        /// Whether there is something to push: checkpoints, or a prune of others.
        has_new: bool,
    },
    /// Another session has the name there.
    Another,
    /// The remote had it, and deleted it.
    Deleted,
    /// The remote has it under another name.
    NamedOtherwise(NamedElsewhere),
    /// The remote refused it.
    Refused {
        /// Message of the remote.
        why: String,
        /// Cause of the refusal.
        cause: RefusalCause,
    },
}

/// Cause for which a remote refuses a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCause {
    /// It takes no refs of this kind at all.
    Namespace,
    /// Commits that a shallow clone lacks are missing there as well.
    Shallow,
    /// Another one, such as a hook.
    Other,
}

impl PushFate {
    /// Whether nothing is left to push, or what is left may stay.
    pub fn is_good(&self) -> bool {
        !matches!(
            self,
            Self::Diverged { .. }
                | Self::PrunedThere { has_new: true, .. }
                | Self::Another
                | Self::Deleted
                | Self::NamedOtherwise(_)
                | Self::Refused { .. }
        )
    }

    /// Whether checkpoints went there.
    pub fn is_sent(&self) -> bool {
        self.is_good() && !matches!(self, Self::UpToDate | Self::Behind(_) | Self::PrunedThere { .. })
    }

    /// Whether another push is in the way, so that it may work later.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Refused { why, .. } if answer::is_busy(why))
    }

    /// A word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::UpToDate => "up-to-date",
            Self::Behind(_) => "behind",
            Self::New(_) => "new",
            Self::Forward(_) => "forward",
            Self::PutBack => "put-back",
            Self::Pruned => "pruned",
            Self::Diverged { .. } => "diverged",
            Self::PrunedThere { .. } => "pruned-there",
            Self::Another => "another-session",
            Self::Deleted => "deleted",
            Self::NamedOtherwise(_) => "named-otherwise",
            Self::Refused { .. } => "refused",
        }
    }
}

/// Pushes.
pub fn push(scene: &Scene<'_>, request: &PushRequest, wire: Wire<'_>) -> Result<PushOutcome, Error> {
    if !request.dry_run {
        let mut pushed = push_with(scene, request, wire)?;
        if request.unattended {
            return Ok(pushed);
        }
        push_renamed(scene, request, &mut pushed, wire)?;
        return Ok(pushed);
    }
    // What the remote has may have to be looked at.
    let scratch = Scratch::new(scene.repo)?;
    let scene = Scene {
        repo: scratch.repo(),
        ..*scene
    };
    let mut pushed = push_with(&scene, request, wire)?;
    push_renamed(&scene, request, &mut pushed, wire)?;
    Ok(pushed)
}

/// Gives sessions whose name another one has at the remote another name if the one they have was not chosen, and pushes
/// them under it.
fn push_renamed(
    scene: &Scene<'_>,
    request: &PushRequest,
    pushed: &mut PushOutcome,
    wire: Wire<'_>,
) -> Result<(), Error> {
    let remote = find(scene, Some(&pushed.remote), true)?;
    let mut selectors = Vec::new();
    for at in (0..pushed.sessions.len()).rev() {
        if pushed.sessions[at].fate != PushFate::Another {
            continue;
        }
        let Some(renamed) = rename::give_way(scene, &remote, &pushed.sessions[at].name, request.dry_run)? else {
            continue;
        };
        pushed.sessions.remove(at);
        selectors.push(Selector::parse(renamed.to.as_str()).map_err(crate::ops::Error::from)?);
        pushed.renamed.push(renamed);
    }
    if request.dry_run || selectors.is_empty() {
        return Ok(());
    }
    let again = PushRequest {
        remote: Some(pushed.remote.clone()),
        which: PushSelection::Named(selectors),
        ..request.clone()
    };
    let more = push_with(scene, &again, wire)?;
    pushed.sessions.extend(more.sessions);
    pushed.autosaves += more.autosaves;
    Ok(())
}

/// The same; in a dry run with a repository whose new objects do not stay.
fn push_with(scene: &Scene<'_>, request: &PushRequest, wire: Wire<'_>) -> Result<PushOutcome, Error> {
    let remote = find(scene, request.remote.as_deref(), true)?;
    if remote.mirror {
        return Err(Error::Mirror { remote: remote.name });
    }
    if !request.dry_run {
        refs::recover(scene.repo, scene.wait)?;
    }
    let mut sessions = with_tracking(scene, &remote, chosen(scene, &request.which)?)?;
    if otherwise::look_first(scene, request, &remote, &sessions, wire)? {
        let chosen = sessions.into_iter().map(|(name, id, _)| (name, id));
        sessions = with_tracking(scene, &remote, chosen.collect())?;
    }
    let push = Push {
        scene,
        request,
        remote: &remote,
        otherwise: otherwise::fates(scene, &remote, &sessions, wire)?,
        wire,
    };
    if !request.allow_secrets {
        for (name, tip, tracking) in &sessions {
            let content = returned::content_beyond(scene, *tip, *tracking)?;
            if !content.is_empty() {
                let session = name.clone();
                return Err(Error::PurgedAgain { session, content });
            }
        }
    }
    let autosaves = push.autosaves(&sessions)?;
    let mut going: Vec<_> = sessions
        .iter()
        .map(|(name, tip, tracking)| Going {
            what: name.to_string(),
            tip: *tip,
            tracking: *tracking,
        })
        .collect();
    going.extend(autosaves.iter().filter_map(|spec| spec.id).map(|tip| Going {
        what: "autosaves".to_owned(),
        tip,
        tracking: None,
    }));
    let notes = notes::tip(&push)?;
    let outgoing = outgoing::of(scene, &remote, &going, notes, wire)?;
    let leaks: Vec<_> = outgoing.leaks.into_iter().collect();
    if !leaks.is_empty() && !request.allow_secrets {
        return Err(Error::Secrets {
            leaks,
            commit: outgoing.leaked_commit,
        });
    }
    if !outgoing.pointers.is_empty() && !request.dry_run {
        push.contents(&outgoing.pointers.iter().cloned().collect::<Vec<_>>())?;
    }
    let first = outgoing.commits.iter().take(LISTED);
    let first = first
        .map(|id| history::commit_info(scene.repo, *id))
        .collect::<Result<_, _>>()?;
    let (sessions, autosaves) = push.run(sessions, autosaves)?;
    let goes = notes.is_some() && !request.dry_run && sessions.iter().any(|sent| sent.fate.is_good());
    let notes_stay = if goes { notes::send(&push)? } else { None };
    // Of a push that was refused the commits did not go either.
    let is_taken = sessions.iter().any(|sent| sent.fate.is_good()) || autosaves > 0;
    let commits = if is_taken { outgoing.commits.len() } else { 0 };
    Ok(PushOutcome {
        url: remote.push_url.clone().unwrap_or_else(|| remote.url.clone()),
        namespace: remote.namespace.clone(),
        remote: remote.name.clone(),
        sessions,
        renamed: Vec::new(),
        commits: (commits, first),
        unscanned: outgoing.unscanned,
        allowed: leaks,
        lfs: outgoing.pointers.len(),
        autosaves,
        notes_stay,
        dry_run: request.dry_run,
    })
}

/// Adds what the remote was last seen to have of each session: of a few by name, else from one list of all.
fn with_tracking(
    scene: &Scene<'_>,
    remote: &Remote,
    chosen: Vec<(ShortName, ObjectId)>,
) -> Result<Vec<SessionToPush>, Error> {
    /// For more, a list of all refs costs less.
    const ONE_BY_ONE: usize = 8;
    let is_few = chosen.len() <= ONE_BY_ONE;
    let mut all = BTreeMap::new();
    if !is_few {
        all.extend(refs::list(scene.repo, &remote.tracking())?);
    }
    let mut sessions = Vec::with_capacity(chosen.len());
    for (name, id) in chosen {
        let full = remote.tracking_ref(&name);
        let tracking = if is_few {
            refs::read(scene.repo, &full)?
        } else {
            let found = all.remove(&full).transpose();
            found.map_err(|damage| store::Error::Damaged { name: full, damage })?
        };
        sessions.push((name, id, tracking));
    }
    Ok(sessions)
}

/// The sessions and their latest checkpoints. A damaged one is an error only if it was named.
fn chosen(scene: &Scene<'_>, which: &PushSelection) -> Result<Vec<(ShortName, ObjectId)>, Error> {
    let load = |name: ShortName, id: ObjectId| -> Result<(ShortName, ObjectId), Error> {
        session_choice::load(scene, name.as_str(), id)?;
        Ok((name, id))
    };
    match which {
        PushSelection::Current => {
            let chosen = session_choice::session_for_command(scene)?
                .map_or_else(|| session_choice::just_left(scene), |chosen| Ok(Some(chosen)))?;
            let chosen = chosen.ok_or_else(|| suggestions::none_current(scene))?;
            Ok(vec![(chosen.name, chosen.tip.entry.id)])
        }
        PushSelection::Named(selectors) => {
            let mut found = Vec::<(ShortName, ObjectId)>::new();
            for selector in selectors {
                let (name, id) = select::session(scene, selector)?;
                if !found.iter().any(|(other, _)| *other == name) {
                    found.push(load(name, id)?);
                }
            }
            Ok(found)
        }
        PushSelection::All => {
            let mut found = Vec::new();
            for session in session::all(scene.repo)? {
                if let (Ok(name), Ok(tip)) = (ShortName::new(session.name), session.tip) {
                    found.push((name, tip.id));
                }
            }
            found.sort();
            if found.is_empty() {
                return Err(suggestions::none_current(scene).into());
            }
            Ok(found)
        }
    }
}

/// A session, its latest checkpoint, and what the remote was last seen to have of it.
type SessionToPush = (ShortName, ObjectId, Option<ObjectId>);
