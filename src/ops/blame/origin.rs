//! Who wrote a line, and for what.

use std::{collections::HashMap, ops::Range};

use super::{BlameRun, BlamedText, LinePlace, Source, Text};
use crate::{
    model::{agent_turn::AgentTurn, document::CheckpointKind, time::Timestamp},
    ops::{
        Error,
        agent::running::{RunningTurn, is_since},
    },
    store::{ObjectId, blame::BlamedCommit, checkpoint::CheckpointCommit, lines},
};

/// The change that brought a line in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginKind {
    /// It is in the current files and not saved yet.
    Unsaved,
    /// A checkpoint.
    Checkpoint,
    /// A commit from before the session, or one that came with a merge, a pull or a checkout.
    Commit,
}

impl OriginKind {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unsaved => "unsaved",
            Self::Checkpoint => "checkpoint",
            Self::Commit => "commit",
        }
    }
}

/// Who wrote a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineAuthor {
    /// Not known yet.
    Unknown,
    /// A person.
    Person {
        /// Their name.
        name: String,
        /// Their address.
        email: String,
    },
    /// A coding agent.
    Agent {
        /// Its name.
        name: String,
        /// The model.
        model: Option<String>,
    },
}

/// The origin of lines.
#[derive(Clone, Debug)]
pub struct LineOrigin {
    /// The change that brought them in.
    pub kind: OriginKind,
    /// The checkpoint that first has them; `None` for what was there before the session, and for what is not saved.
    pub checkpoint: Option<CheckpointCommit>,
    /// Who wrote them.
    pub author: LineAuthor,
    /// When.
    pub at: Option<Timestamp>,
    /// The prompt of the turn, else the summary of the checkpoint or the subject of the commit.
    pub prompt: Option<String>,
    /// The key of the turn, in the agent's own session.
    pub turn: Option<String>,
    /// The commit that has them.
    pub commit: Option<(ObjectId, BlamedCommit)>,
}

impl BlameRun<'_> {
    /// The lines that were asked for, and their origins, each once.
    pub(super) fn results(
        &mut self,
        text: &Text,
        asked: &[LinePlace],
    ) -> Result<(Vec<BlamedText>, Vec<LineOrigin>), Error> {
        let all: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let mut places: HashMap<(Source, Option<ObjectId>), usize> = HashMap::new();
        let (mut lines, mut origins) = (Vec::new(), Vec::new());
        for place in asked {
            let source = self.sources.get(&place.asked).cloned().unwrap_or(Source::Unsaved);
            let later = self.later.get(&place.asked).copied();
            let key = (source.clone(), later);
            let origin = if let Some(origin) = places.get(&key) {
                *origin
            } else {
                origins.push(self.origin(&source, later)?);
                places.insert(key, origins.len() - 1);
                origins.len() - 1
            };
            let line = all.get(place.asked as usize).copied().unwrap_or_default();
            lines.push(BlamedText {
                number: place.asked + 1,
                text: line.strip_suffix(b"\n").unwrap_or(line).to_vec(),
                origin,
            });
        }
        Ok((lines, origins))
    }

    fn origin(&mut self, source: &Source, later: Option<ObjectId>) -> Result<LineOrigin, Error> {
        match source {
            Source::Unsaved => Ok(LineOrigin {
                kind: OriginKind::Unsaved,
                checkpoint: None,
                author: LineAuthor::Unknown,
                at: None,
                prompt: None,
                turn: None,
                commit: None,
            }),
            Source::Commit(id, with) => {
                let commit = self.commits.get(id).cloned().unwrap_or_default();
                Ok(LineOrigin {
                    kind: OriginKind::Commit,
                    checkpoint: with.map(|at| self.states[at].entry.clone()),
                    author: LineAuthor::Person {
                        name: commit.author.clone(),
                        email: commit.email.clone(),
                    },
                    at: commit.authored_at,
                    prompt: Some(commit.subject.clone()),
                    turn: None,
                    commit: Some((*id, commit)),
                })
            }
            Source::State(at) => {
                let commit = later.map(|id| (id, self.commits.get(&id).cloned().unwrap_or_default()));
                let entry = self.states[*at].entry.clone();
                let (author, prompt, turn) = self.author(*at)?;
                Ok(LineOrigin {
                    kind: OriginKind::Checkpoint,
                    at: Some(entry.time),
                    prompt: Some(prompt.unwrap_or_else(|| entry.subject.clone())),
                    checkpoint: Some(entry),
                    author,
                    turn,
                    commit,
                })
            }
        }
    }

    /// Who made a checkpoint's changes: of a turn the agent; of edits between turns the person. Of another checkpoint the
    /// agent whose turn it was saved in, which is known by when the next turn began; outside of turns the person, unless an
    /// agent without turns saves in this session.
    fn author(&mut self, at: usize) -> Result<(LineAuthor, Option<String>, Option<String>), Error> {
        let entry = &self.states[at].entry.clone();
        let person = LineAuthor::Person {
            name: entry.author.clone(),
            email: entry.email.clone(),
        };
        let kind = entry.trailers.kind;
        let agent = entry.trailers.agent.clone();
        if kind == Some(CheckpointKind::Edit) {
            return Ok((person, None, None));
        }
        let is_turn = |place: &usize| self.states[*place].entry.trailers.kind == Some(CheckpointKind::Turn);
        let segment = self.segments.of(at);
        let has_older_turn = (at..segment.end).any(|place| is_turn(&place));
        let next = if kind == Some(CheckpointKind::Turn) {
            Some(at)
        } else {
            (segment.start..at).rev().find(is_turn)
        };
        if let Some(next) = next {
            let document = self.document(next)?;
            let turn = document.document.turn.as_ref();
            let is_within =
                |turn: &&AgentTurn| next == at || turn.started_at.is_some_and(|started| is_since(entry, started));
            if let Some(turn) = turn.filter(is_within) {
                let author = LineAuthor::Agent {
                    name: turn.agent.clone(),
                    model: turn.model.clone(),
                };
                return Ok((author, Some(turn.subject.clone()), Some(turn.key.clone())));
            }
        }
        let running = self.running_turn(at)?;
        if let Some(running) = running.as_ref().filter(|running| next.is_none() && running.has(entry)) {
            let author = LineAuthor::Agent {
                name: running.agent.clone(),
                model: None,
            };
            let turn = &running.turn;
            return Ok((author, Some(turn.subject.clone()), turn.key.clone()));
        }
        let has_turns = next.is_some() || has_older_turn || running.is_some();
        match agent.filter(|_| !has_turns) {
            Some(name) => Ok((LineAuthor::Agent { name, model: None }, None, None)),
            None => Ok((person, None, None)),
        }
    }
}

impl BlameRun<'_> {
    /// The turn that an agent is at in the session of a state.
    fn running_turn(&mut self, at: usize) -> Result<Option<RunningTurn>, Error> {
        if self.running.is_empty() {
            return Ok(None);
        }
        // A session keeps its identity from its first checkpoint on, or from the fork.
        let beginning = self.beginning(at);
        if !self.identities.contains_key(&beginning) {
            let id = self.document(at)?.document.session.id.clone();
            self.identities.insert(beginning, id);
        }
        let id = &self.identities[&beginning];
        let mut running = self.running.iter();
        Ok(running.find(|(session, _)| session == id).map(|(_, turn)| turn.clone()))
    }

    /// The oldest state of the session of a state: a fork, or the last one of its chain.
    fn beginning(&self, at: usize) -> usize {
        let segment = self.segments.of(at);
        let is_fork = |place: &usize| self.states[*place].entry.trailers.kind == Some(CheckpointKind::Fork);
        (at..segment.end).find(is_fork).unwrap_or(segment.end)
    }
}

/// The lines that ranges mean, from 0; all when there is no range. As in git: `a,b`, `a,+n`, `a,-n`, `a`, `a,`, `,b`, and
/// `/text/` for the first line from the start of the range on that has the text.
pub(super) fn ranges(text: &[u8], ranges: &[String]) -> Result<Vec<Range<u32>>, Error> {
    let total = lines::count_lines(text);
    if ranges.is_empty() {
        return Ok(std::iter::once(0..total).collect());
    }
    let mut out: Vec<Range<u32>> = Vec::new();
    for range in ranges {
        out.push(one_range(text, range, total).ok_or_else(|| Error::LineRange {
            range: range.clone(),
            total,
        })?);
    }
    out.sort_by_key(|range| range.start);
    // Ranges that overlap are one.
    let mut joined: Vec<Range<u32>> = Vec::new();
    for range in out {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    Ok(joined)
}

fn one_range(text: &[u8], range: &str, total: u32) -> Option<Range<u32>> {
    let (start, end) = match split(range) {
        (start, None) if start.starts_with('/') => (start, Some("")),
        (start, end) => (start, end),
    };
    let first = match start {
        "" => 1,
        start => place(text, start, 1)?,
    };
    let last = match end {
        // As in git, a number alone means from there to the end.
        None | Some("") if first > total => return None,
        None | Some("") => total,
        Some(end) => match (end.strip_prefix('+'), end.strip_prefix('-')) {
            (Some(count), _) => first.checked_add(count.parse::<u32>().ok()?)?.checked_sub(1)?,
            (_, Some(count)) => {
                let from = (first + 1).saturating_sub(count.parse::<u32>().ok()?).max(1);
                return (first <= total && from <= first).then(|| from - 1..first);
            }
            (None, None) => place(text, end, first + 1)?,
        },
    };
    let (first, last) = (first.min(last), first.max(last));
    (first >= 1 && first <= total).then(|| first - 1..last.min(total))
}

/// The two ends of a range; a comma between slashes is a part of the text.
fn split(range: &str) -> (&str, Option<&str>) {
    let from = match range.strip_prefix('/') {
        Some(rest) => rest.find('/').map_or(range.len(), |at| at + 2),
        None => 0,
    };
    match range[from..].find(',') {
        Some(at) => (&range[..from + at], Some(&range[from + at + 1..])),
        None => (range, None),
    }
}

/// The number of a line, from 1, or of the first line from `from` on that has the text between slashes.
fn place(text: &[u8], end: &str, from: u32) -> Option<u32> {
    let Some(wanted) = end.strip_prefix('/') else {
        return end.parse().ok();
    };
    let wanted = wanted.strip_suffix('/')?;
    let matcher = regex::bytes::Regex::new(wanted).ok()?;
    let lines = text.split(|byte| *byte == b'\n').enumerate().skip(from as usize - 1);
    let mut matching = lines.filter(|(_, line)| matcher.is_match(line));
    matching.next().and_then(|(at, _)| u32::try_from(at + 1).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_git() {
        let text = b"one\ntwo, three\nfour\nfive\nsix\n";
        let of = |range: &str| ranges(text, &[range.to_owned()]).ok().map(|found| found[0].clone());
        for (range, expected) in [
            ("2,3", Some(1..3)),
            ("3,2", Some(1..3)),
            ("2,+2", Some(1..3)),
            ("3,-2", Some(1..3)),
            ("4", Some(3..5)),
            ("4,", Some(3..5)),
            (",2", Some(0..2)),
            ("4,9", Some(3..5)),
            ("/two, t/,+1", Some(1..2)),
            ("/two/,/five/", Some(1..4)),
            ("6,7", None),
            ("0,1", None),
            ("x", None),
            ("/nothing/", None),
        ] {
            assert_eq!(of(range), expected, "{range}");
        }
        let several = ranges(text, &["4,5".to_owned(), "1,2".to_owned(), "2,3".to_owned()]).expect("ranges");
        assert!(several.len() == 1 && several[0] == (0..5));
    }
}
