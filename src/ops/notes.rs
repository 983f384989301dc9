//! The session log: lines that people and agents noted, saved or not.

use super::{Error, Scene, items, select};
use crate::{
    model::{json, name::ShortName, operation::LogLine, selector::Selector},
    store::checkpoint::{self, Checkpoint},
};

/// A session's log.
#[derive(Debug)]
pub struct NoteList {
    /// The session.
    pub session: ShortName,
    /// The lines, latest first, and whether each is saved.
    pub lines: Vec<(LogLine, bool)>,
    /// How many there are altogether.
    pub total: usize,
    /// How many stored lines could not be understood.
    pub unreadable: usize,
}

/// The latest lines of a session's log, at most `limit`, none older than `since`. With a selector that is not the
/// current session's, what is saved at that checkpoint.
pub fn notes(
    scene: &Scene<'_>,
    selector: Option<&Selector>,
    limit: Option<usize>,
    since: Option<&str>,
) -> Result<NoteList, Error> {
    let (session, tip, fresh) = if let Some(selector) = selector {
        let selected = select::checkpoint(scene, selector)?;
        let session = selected
            .session
            .ok_or_else(|| Error::absent(selected.checkpoint.entry.id))?;
        // The draft goes on from the latest checkpoint only.
        let named = Scene {
            session: Some(&session),
            ..*scene
        };
        let now = items::now(&named)?;
        let is_tip = now.tip.entry.id == selected.checkpoint.entry.id;
        let fresh = if is_tip { now.log } else { Vec::new() };
        (session, selected.checkpoint, fresh)
    } else {
        let now = items::now(scene)?;
        (now.session, now.tip, now.log)
    };
    let since = since.map(|date| select::unix_time(scene, date)).transpose()?;
    let (saved, unreadable) = saved(scene, &session, &tip)?;
    let all = saved.into_iter().map(|line| (line, true));
    let mut lines: Vec<_> = all.chain(fresh.into_iter().map(|line| (line, false))).collect();
    let total = lines.len();
    lines.reverse();
    lines.retain(|(line, _)| since.is_none_or(|since| line.at.unix() >= since));
    lines.truncate(limit.unwrap_or(usize::MAX));
    Ok(NoteList {
        session,
        lines,
        total,
        unreadable,
    })
}

/// The lines that a checkpoint holds, oldest first, and how many were not understood.
pub(super) fn saved(scene: &Scene<'_>, session: &ShortName, tip: &Checkpoint) -> Result<(Vec<LogLine>, usize), Error> {
    let damaged = || Error::damaged(session.as_str());
    let (siblings, _) = checkpoint::siblings(scene.repo, &tip.entry).map_err(damaged())?;
    let (mut lines, mut unreadable) = (Vec::new(), 0);
    let Some(directory) = siblings.get("log") else {
        return Ok((lines, 0));
    };
    for (_, _, id) in checkpoint::directory(scene.repo, directory, "the session log").map_err(damaged())? {
        let bytes = checkpoint::read_private(scene.repo, id, "the session log").map_err(damaged())?;
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            let value = json::parse(line, json::INPUT_LIMIT).ok();
            match value.and_then(|value| json::from_value::<LogLine>(value).ok()) {
                Some(line) => lines.push(line),
                None => unreadable += 1,
            }
        }
    }
    Ok((lines, unreadable))
}
