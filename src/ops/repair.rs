//! `repair`: lets a damaged session go on from its latest whole checkpoint, and anchors one that another tool rewrote to
//! the commits that it has now.
//!
//! Nothing is thrown away: a readable old tip moves to the trash refs, an unreadable ref's file to a quarantine
//! directory. A session that is whole is left alone.

use super::{Error, Scene, compose, purge, session_choice, verify};
use crate::{
    model::{document::CheckpointKind, name::ShortName},
    store::{
        ObjectId, lock, quarantine,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// A session that was damaged.
#[derive(Debug)]
pub struct RepairedSession {
    /// Its name.
    pub session: String,
    /// Where its ref was, when that could be read.
    pub from: Option<ObjectId>,
    /// Where it is now; `None` when no checkpoint of it is whole, and nothing was done.
    pub to: Option<ObjectId>,
    /// Location of the old tip: a ref, or the path of a file in quarantine.
    pub kept: Option<String>,
    /// Whether nothing was missing: another tool had rewritten it, and its documents name its commits again.
    pub anchored: bool,
    /// Files of ours that could not be removed.
    pub leftovers: Vec<crate::os::CleanupFailure>,
}

/// Repairs the named session, or every damaged one.
pub fn repair(scene: &Scene<'_>, name: Option<&ShortName>, dry_run: bool) -> Result<Vec<RepairedSession>, Error> {
    refs::recover(scene.repo, scene.wait)?;
    // Meant by its identity it can be found only while it is intact; a damaged one has a name alone.
    let known = name.map(|name| match session_choice::named(scene, name) {
        Ok(Some(chosen)) => chosen.name,
        _ => name.clone(),
    });
    let name = known.as_ref();
    let only = name.map(session::ref_name);
    let anchored = purge::anchor(scene, only.as_deref(), dry_run)?;
    let mut repaired: Vec<_> = anchored.into_iter().map(of_anchored).collect();
    for (full, target) in refs::list(scene.repo, session::PREFIX)? {
        let shown = full.strip_prefix(session::PREFIX).unwrap_or(&full).to_owned();
        if name.is_some_and(|name| name.as_str() != shown) {
            continue;
        }
        if repaired.iter().any(|done| done.session == shown) {
            continue;
        }
        match target {
            Ok(tip) => repaired.extend(chain(scene, &shown, &full, tip, dry_run)?),
            Err(_) => repaired.push(damaged_ref(scene, &shown, &full, dry_run)?),
        }
    }
    match name {
        Some(name) if repaired.is_empty() && session::tip(scene.repo, name)?.is_none() => Err(Error::NotFound {
            text: name.to_string(),
            candidates: super::suggestions::similar(scene, name.as_str())?,
            remote: None,
            is_deleted: false,
        }),
        _ => Ok(repaired),
    }
}

fn of_anchored((name, from, to): (String, ObjectId, ObjectId)) -> RepairedSession {
    RepairedSession {
        session: name.strip_prefix(session::PREFIX).unwrap_or(&name).to_owned(),
        from: Some(from),
        to: Some(to),
        kept: None,
        anchored: true,
        leftovers: Vec::new(),
    }
}

/// A session whose ref is well, but whose latest checkpoint is not.
fn chain(
    scene: &Scene<'_>,
    shown: &str,
    full: &str,
    tip: ObjectId,
    dry_run: bool,
) -> Result<Option<RepairedSession>, Error> {
    if verify::is_intact(scene, tip) {
        return Ok(None);
    }
    let mut out = RepairedSession {
        session: shown.to_owned(),
        from: Some(tip),
        to: None,
        kept: None,
        anchored: false,
        leftovers: Vec::new(),
    };
    let good = verify::latest_intact(scene, full, Some(tip)).or_else(|| kept_elsewhere(scene, shown));
    let Some(good) = good else {
        return Ok(Some(out));
    };
    out.to = Some(good);
    if dry_run {
        return Ok(Some(out));
    }
    let id = session_choice::load(scene, shown, good)?.document.session.id;
    let _session = lock::session(scene.repo, &id, scene.wait)?;
    let trash = free_trash(scene, &id)?;
    let message = "checkpoint: repair".to_owned();
    let edits = [
        RefUpdate {
            name: trash.clone(),
            expected: ExpectedValue::Absent,
            new: Some(tip),
            message: message.clone(),
        },
        RefUpdate {
            name: full.to_owned(),
            expected: ExpectedValue::Is(tip),
            new: Some(good),
            message,
        },
    ];
    out.leftovers = refs::update(scene.repo, &edits, &compose::people(scene).committer, scene.wait)?;
    out.kept = Some(trash);
    Ok(Some(out))
}

/// A session whose ref cannot be read: it is pointed at the latest value of its reflog that is whole.
fn damaged_ref(scene: &Scene<'_>, shown: &str, full: &str, dry_run: bool) -> Result<RepairedSession, Error> {
    let mut out = RepairedSession {
        session: shown.to_owned(),
        from: None,
        to: None,
        kept: None,
        anchored: false,
        leftovers: Vec::new(),
    };
    let good = verify::latest_intact(scene, full, None).or_else(|| kept_elsewhere(scene, shown));
    let Some(good) = good else {
        return Ok(out);
    };
    out.to = Some(good);
    if dry_run {
        return Ok(out);
    }
    out.kept = quarantine::keep_ref(scene.repo, full)?.map(|path| path.display().to_string());
    let edit = RefUpdate {
        name: full.to_owned(),
        expected: ExpectedValue::Unreadable,
        new: Some(good),
        message: "checkpoint: repair".to_owned(),
    };
    out.leftovers = refs::update(scene.repo, &[edit], &compose::people(scene).committer, scene.wait)?;
    Ok(out)
}

/// Where refs of ours keep checkpoints of sessions.
const KEEPING: [&str; 4] = [
    "refs/checkpoints-undo/",
    "refs/checkpoints-trash/",
    "refs/checkpoints-autosave/",
    "refs/checkpoints-remote/",
];

/// The latest intact checkpoint of the session of this name that other refs of ours keep: what an undo left, what is in
/// the trash, what an autosave or a safety checkpoint was saved after, or what a remote has.
fn kept_elsewhere(scene: &Scene<'_>, shown: &str) -> Option<ObjectId> {
    let mut found = Vec::new();
    for prefix in KEEPING {
        for (_, target) in refs::list(scene.repo, prefix).unwrap_or_default() {
            let chain = target.into_iter().flat_map(|tip| session::chain(scene.repo, tip));
            let is_own = |kind| !matches!(kind, Some(CheckpointKind::Autosave | CheckpointKind::Safety));
            let latest = chain.map_while(Result::ok).find(|entry| is_own(entry.trailers.kind));
            found.extend(latest.filter(|entry| entry.trailers.session.as_deref() == Some(shown)));
        }
    }
    found.sort_by_key(|entry| std::cmp::Reverse(entry.time));
    let mut found = found.into_iter().map(|entry| entry.id);
    found.find(|id| verify::is_intact(scene, *id))
}

/// The first unused ref in a session's trash.
pub(super) fn free_trash(scene: &Scene<'_>, id: &str) -> Result<String, Error> {
    let prefix = format!("refs/checkpoints-trash/{id}/");
    let taken = refs::list(scene.repo, &prefix)?;
    let numbers = taken
        .iter()
        .filter_map(|(name, _)| name.strip_prefix(&prefix)?.parse::<u64>().ok());
    let next = numbers.max().map_or(0, |n| n + 1);
    Ok(format!("{prefix}{next}"))
}
