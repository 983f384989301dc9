//! The time of a file that reports none itself: that of the last commit that changed it. After a clone every file is as
//! new as the clone, so the time of its last change on disk is worth less.

use std::path::{Path, PathBuf};

use super::super::Scene;
use crate::{formats::ForeignSession, model::time::Timestamp, store};

/// The most sessions for which the history is asked: each takes two git children.
const LIMIT: usize = 100;

/// Gives sessions without a time that of the last commit of their latest file. `real` finds a source on disk.
pub(super) fn from_history(scene: &Scene<'_>, sessions: &mut [ForeignSession], real: &dyn Fn(&str) -> Option<PathBuf>) {
    let Some(top) = scene.repo.workdir() else { return };
    let untimed = sessions
        .iter_mut()
        .filter(|session| session.created_at.is_none() && session.checkpoints.iter().all(|point| point.at.is_none()));
    for session in untimed.take(LIMIT) {
        let paths = session.sources.iter().filter_map(|path| real(path));
        let times = paths.filter_map(|path| committed(scene, top, &path));
        session.modified = times.max().or(session.modified);
    }
}

/// The time of the last commit of a tracked file that is as that commit left it.
fn committed(scene: &Scene<'_>, top: &Path, path: &Path) -> Option<Timestamp> {
    let git = |args: &[&str]| store::git(scene.repo).work_tree(top).args(args).arg(path).text().ok();
    let seconds = git(&["log", "-1", "--format=%ct", "--"])?;
    let seconds: i64 = seconds.trim().parse().ok()?;
    let changes = git(&["status", "--porcelain", "--ignored", "--"])?;
    changes.trim().is_empty().then(|| Timestamp::from_unix(seconds, 0))
}
