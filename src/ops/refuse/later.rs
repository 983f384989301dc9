//! Later work of other sessions in the files that a plan changes.

use std::collections::HashSet;

use super::{
    super::{
        Error, Scene,
        compose::CurrentSnapshot,
        session_choice::{self, SessionChoice},
    },
    Refusal, differing,
};
use crate::{
    model::{change::TreeEntryInfo, document::CheckpointKind, name::ShortName, path::RepoPath, time::Timestamp},
    store::{
        self, Kind, ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
        session, tree, undo,
    },
    worktree::restore::RestorePlan,
};

/// Other sessions whose later work is in the present files, with the paths of the plan that hold it.
///
/// It is not there where HEAD has the very same (a commit holds it). While the checkpoint's own session is current, another
/// content than the other session saved may continue from that, or be this session's own: what came after that save decides,
/// and else the lines. While another session is current, what is not saved continues from what was.
pub(super) fn later_saves(
    scene: &Scene<'_>,
    repo: &Repository,
    checkpoint: &Checkpoint,
    present: &CurrentSnapshot,
    plan: &RestorePlan,
) -> Result<Vec<Refusal>, Error> {
    let Some(now) = present.snapshot.as_ref().map(|snapshot| snapshot.tree) else {
        return Ok(Vec::new());
    };
    let mut touched: HashSet<RepoPath> = plan.touched().collect();
    let uncommitted = differing(repo, tree::of_head(repo)?, now)?;
    touched.retain(|path| uncommitted.contains(path));
    if touched.is_empty() {
        return Ok(Vec::new());
    }
    let current = session_choice::session_for_command(scene).ok().flatten();
    let is_own = |current: &SessionChoice| current.tip.document.session.id == checkpoint.document.session.id;
    let current = current.filter(is_own);
    let mut refusals = Vec::new();
    for other in session::all(scene.repo)? {
        let (Ok(name), Ok(tip)) = (ShortName::new(other.name), other.tip) else {
            continue;
        };
        let Some(mut later) = later(scene, checkpoint, &tip, &touched)? else {
            continue;
        };
        if let Some(current) = &current {
            later.retain_beneath(scene, repo, current, now)?;
        }
        let paths = later.paths;
        if !paths.is_empty() {
            let mut paths: Vec<_> = paths.into_iter().collect();
            paths.sort();
            refusals.push(Refusal::LaterSaves { session: name, paths });
        }
    }
    Ok(refusals)
}

/// Save by one session in this working tree after a checkpoint of another one.
struct LaterSave {
    /// The paths that it changed.
    paths: HashSet<RepoPath>,
    /// The tree of its latest files.
    latest: ObjectId,
    /// When those were saved.
    at: Timestamp,
    /// The identity of the session.
    session: String,
}

impl LaterSave {
    /// Keeps the paths whose content is what this session saved, or continues from that.
    fn retain_beneath(
        &mut self,
        scene: &Scene<'_>,
        repo: &Repository,
        current: &SessionChoice,
        now: ObjectId,
    ) -> Result<(), Error> {
        let edited = differing(repo, Some(self.latest), now)?;
        if self.paths.is_disjoint(&edited) {
            return Ok(());
        }
        let head = tree::of_head(repo)?;
        let replaced = self.replaced(scene)?;
        let own = self.own_files(scene, current);
        let mut beneath = HashSet::new();
        for path in &self.paths {
            let is_beneath = if !edited.contains(path) {
                true
            } else if replaced.contains(path) {
                false
            } else {
                let at = |tree: Option<ObjectId>| tree.map_or(Ok(None), |tree| tree::entry(repo, tree, path));
                let saved = at(Some(self.latest))?;
                let is_replaced = match own {
                    Some(own) => at(Some(own))? != saved,
                    None => false,
                };
                !is_replaced && goes_on(repo, at(head)?.as_ref(), saved.as_ref(), at(Some(now))?.as_ref())
            };
            if is_beneath {
                beneath.insert(path.clone());
            }
        }
        self.paths = beneath;
        Ok(())
    }

    /// The paths that a command has put other files at since, unless those came from this session as well.
    fn replaced(&self, scene: &Scene<'_>) -> Result<HashSet<RepoPath>, Error> {
        let list = undo::read(scene.repo)?;
        let mut out = HashSet::new();
        for (entry, _) in list
            .entries()
            .filter(|(entry, in_force)| *in_force && entry.at >= self.at)
        {
            let is_own = entry.files.as_ref().is_some_and(|files| files.session == self.session);
            if entry.files_before().is_none() || is_own {
                continue;
            }
            // What cannot be read speaks for no path.
            let changes = undo::changes(scene.repo, entry.n).unwrap_or_default();
            out.extend(changes.into_iter().map(|(path, _)| path));
        }
        Ok(out)
    }

    /// The files that the current session saved last in this working tree, if that was after this one's.
    fn own_files(&self, scene: &Scene<'_>, current: &SessionChoice) -> Option<ObjectId> {
        let own = (scene.host, store::worktree_id(scene.repo));
        // Damage in the own chain is reported where the chain is needed.
        for entry in session::chain(scene.repo, current.tip.entry.id).map_while(Result::ok) {
            let Ok(saved) = checkpoint::load(scene.repo, entry.id) else {
                break;
            };
            let document = &saved.document;
            if document.created_at <= self.at {
                break;
            }
            let is_here = (document.host.as_str(), document.worktree.id.clone()) == own;
            if let Some(snapshot) = document.snapshot.as_ref().filter(|_| is_here) {
                return Some(object_id(&snapshot.tree));
            }
        }
        None
    }
}

/// Whether a file that is not what another session saved continues from that, and not from what HEAD has.
fn goes_on(
    repo: &Repository,
    head: Option<&TreeEntryInfo>,
    saved: Option<&TreeEntryInfo>,
    now: Option<&TreeEntryInfo>,
) -> bool {
    let (Some(saved), Some(now)) = (saved, now) else {
        return false;
    };
    let read = |entry: &TreeEntryInfo| checkpoint::read(repo, object_id(&entry.id), Kind::Blob, "file").ok();
    let head = match head {
        Some(head) => read(head),
        None => Some(Vec::new()),
    };
    // Of what cannot be compared it is not known.
    let (Some(head), Some(saved), Some(now)) = (head, read(saved), read(now)) else {
        return true;
    };
    continues(&head, &saved, &now)
}

/// Whether a text continues `saved` rather than `head`: it has lines that only `saved` has, or none that only `head` has
/// and not more of its beginning and end.
fn continues(head: &[u8], saved: &[u8], now: &[u8]) -> bool {
    fn lines(text: &[u8]) -> HashSet<&[u8]> {
        text.split_inclusive(|byte| *byte == b'\n').collect()
    }
    let (of_head, of_saved, of_now) = (lines(head), lines(saved), lines(now));
    if of_saved.difference(&of_head).any(|line| of_now.contains(line)) {
        return true;
    }
    if of_head.difference(&of_saved).any(|line| of_now.contains(line)) {
        return false;
    }
    shared(saved, now) >= shared(head, now)
}

/// The bytes that two texts have in common at their beginnings and ends.
fn shared(one: &[u8], other: &[u8]) -> usize {
    let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let ends = one[start..].iter().rev().zip(other[start..].iter().rev());
    start + ends.take_while(|(a, b)| a == b).count()
}

/// Later save of these paths by the session with this tip; `None` if there is none.
fn later(
    scene: &Scene<'_>,
    checkpoint: &Checkpoint,
    tip: &checkpoint::CheckpointCommit,
    touched: &HashSet<RepoPath>,
) -> Result<Option<LaterSave>, Error> {
    let own = (scene.host, store::worktree_id(scene.repo));
    let then = checkpoint.document.created_at;
    // Times are in seconds: what was saved in the same one counts as later.
    if tip.time < then {
        return Ok(None);
    }
    let mut paths = HashSet::new();
    let mut session_id = String::new();
    let mut latest: Option<(ObjectId, Timestamp)> = None;
    let mut newer: Option<ObjectId> = None;
    // Damage in another session is no reason to refuse here; what can be read of it counts.
    for entry in session::chain(scene.repo, tip.id).map_while(Result::ok) {
        let Ok(saved) = checkpoint::load(scene.repo, entry.id) else {
            break;
        };
        let document = &saved.document;
        if document.session.id == checkpoint.document.session.id {
            break;
        }
        session_id.clone_from(&document.session.id);
        let here = (document.host.as_str(), document.worktree.id.clone()) == own;
        let files = document
            .snapshot
            .as_ref()
            .filter(|_| here)
            .map(|snapshot| object_id(&snapshot.tree));
        if let (Some(newer), Some(older)) = (newer, files) {
            add_changes(scene, older, newer, touched, &mut paths)?;
        }
        // The first checkpoint of a fork repeats what its source has.
        if entry.time < then || document.kind == CheckpointKind::Fork {
            newer = None;
            break;
        }
        newer = files.or(newer);
        latest = latest.or(files.map(|files| (files, document.created_at)));
    }
    // The first save after the checkpoint has nothing older of its session to be compared with.
    if let (Some(newer), Some(snapshot)) = (newer, &checkpoint.document.snapshot) {
        add_changes(scene, object_id(&snapshot.tree), newer, touched, &mut paths)?;
    }
    Ok(latest.map(|(latest, at)| LaterSave {
        paths,
        latest,
        at,
        session: session_id,
    }))
}

fn add_changes(
    scene: &Scene<'_>,
    old: ObjectId,
    new: ObjectId,
    touched: &HashSet<RepoPath>,
    paths: &mut HashSet<RepoPath>,
) -> Result<(), Error> {
    let changes = differing(scene.repo, Some(old), new)?;
    paths.extend(changes.into_iter().filter(|path| touched.contains(path)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::continues;

    #[test]
    fn a_text_continues_what_it_was_made_from() {
        for (head, saved, now, expected) in [
            // Edits on top of what was saved.
            ("a\nb\n", "a\nB\n", "a\nB\nc\n", true),
            ("base", "of b", "of b and more", true),
            ("", "new\n", "new edited\n", true),
            ("a\nb\nc\n", "a\nc\n", "a\nc\nd\n", true),
            // Edits of what HEAD has.
            ("a\nb\n", "a\nB\n", "a\nb\nc\n", false),
            ("base", "of b", "base and more", false),
            ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n", false),
        ] {
            let is_so = continues(head.as_bytes(), saved.as_bytes(), now.as_bytes());
            assert_eq!(is_so, expected, "{head:?} {saved:?} {now:?}");
        }
    }
}
