//! Result of parsing files: sessions, those with one id joined, and problems.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::{ForeignCheckpoint, ForeignSession, continuity::is_continued, receipt::Leaves};
use crate::model::json;

/// Sessions and problems from the files of one system.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ParseOutcome {
    /// The sessions.
    pub sessions: Vec<ForeignSession>,
    /// Problems and remarks.
    pub problems: Vec<Problem>,
    /// The count of the source's leaves, and where they are now.
    pub leaves: Leaves,
}

impl ParseOutcome {
    /// Adds what came out of other files.
    pub fn extend(&mut self, other: Self) {
        self.sessions.extend(other.sessions);
        self.problems.extend(other.problems);
        self.leaves.add(other.leaves);
    }

    /// Makes one session of those with the same id: a file that was copied, or the states of one session in several
    /// files. Their checkpoints are in the order of their times, whatever the order of the files; a duplicate is kept
    /// once. Files that only have one name are states of one session where one chat or record begins with the other.
    pub(super) fn merge(&mut self) {
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut groups: Vec<Vec<ForeignSession>> = Vec::new();
        for session in std::mem::take(&mut self.sessions) {
            let places = places.entry(session.id.clone()).or_default();
            let is_of = |at: &&usize| {
                let mut all = groups[**at].iter();
                !session.has_file_name_id || all.any(|other| !other.has_file_name_id || is_one(other, &session))
            };
            if let Some(at) = places.iter().find(is_of).copied() {
                groups[at].push(session);
            } else {
                places.push(groups.len());
                groups.push(vec![session]);
            }
        }
        self.sessions = groups.into_iter().filter_map(joined).collect();
    }
}

/// Whether two sessions of one name are states of one.
fn is_one(one: &ForeignSession, other: &ForeignSession) -> bool {
    if messages(one).next().is_some() && messages(other).next().is_some() {
        return begins(one, other) || begins(other, one);
    }
    let hashes: BTreeSet<_> = one.checkpoints.iter().map(ForeignCheckpoint::hash).collect();
    if other.checkpoints.iter().any(|point| hashes.contains(&point.hash())) {
        return true;
    }
    let last = |session: &ForeignSession| session.checkpoints.last().map(|point| point.record.clone());
    let records = last(one).zip(last(other));
    records.and_then(|(one, other)| is_continued(&one, &other)) == Some(true)
}

/// Whether the chat of a session begins with that of another one.
fn begins(first: &ForeignSession, session: &ForeignSession) -> bool {
    let (first, all) = (messages(first), messages(session));
    first.clone().count() <= all.clone().count() && first.zip(all).all(|(one, other)| one == other)
}

fn messages(session: &ForeignSession) -> impl Iterator<Item = &Value> + Clone {
    session.checkpoints.iter().flat_map(|point| &point.messages)
}

/// The sessions of one id as one.
fn joined(mut group: Vec<ForeignSession>) -> Option<ForeignSession> {
    if group.len() < 2 {
        return group.pop();
    }
    group.sort_by_key(|session| session.checkpoints.iter().filter_map(|point| point.at).max());
    let (mut seen, mut lines) = (BTreeSet::new(), BTreeSet::new());
    let mut out: Option<ForeignSession> = None;
    for mut session in group {
        session.checkpoints.retain(|point| seen.insert(point.hash()));
        session.log.retain(|line| lines.insert(json::to_bytes(line)));
        let Some(all) = &mut out else {
            out = Some(session);
            continue;
        };
        all.has_file_name_id &= session.has_file_name_id;
        // The newer one is right about the session.
        all.members.extend(session.members);
        all.created_at = match (all.created_at, session.created_at) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        all.modified = all.modified.max(session.modified);
        all.checkpoints.extend(session.checkpoints);
        all.log.extend(session.log);
        for source in session.sources {
            if !all.sources.contains(&source) {
                all.sources.push(source);
            }
        }
    }
    let mut all = out?;
    if all.checkpoints.iter().all(|point| point.at.is_some()) {
        all.checkpoints.sort_by_key(|point| point.at);
    }
    all.log.sort_by_key(|line| line.at);
    Some(all)
}

/// How much a problem weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemSeverity {
    /// Something of the source did not come in.
    Broken,
    /// Everything came in; something about it is odd.
    Note,
}

/// Something about a source that its importer should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, and where in it.
    pub path: String,
    /// Description: a sentence in lower case without a full stop.
    pub what: String,
    /// How much it weighs.
    pub weight: ProblemSeverity,
}

impl Problem {
    /// Something did not come in.
    pub fn broken(path: &str, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            what: what.into(),
            weight: ProblemSeverity::Broken,
        }
    }

    /// Something is odd.
    pub fn note(path: &str, what: impl Into<String>) -> Self {
        Self {
            weight: ProblemSeverity::Note,
            ..Self::broken(path, what)
        }
    }
}
