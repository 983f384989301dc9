//! `stats`: turns, tokens, cost and changed lines of sessions, by session, day, agent or model.
//!
//! Every figure is counted from what checkpoints hold: turns and their tokens as agents reported them, lines by comparing
//! the files of a checkpoint with those of the one before. Who changed them is decided as by `blame`.

mod changed;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use changed::LineCounter;

use super::{
    Error, Scene,
    agent::running::{RunningTurn, is_since, running_turns},
    select,
};
use crate::{
    model::{document::CheckpointKind, report::Lines, selector::Selector, time::Timestamp, turn::TokenUsage},
    store::{
        ObjectId,
        checkpoint::{self, Checkpoint, CheckpointCommit},
        session, usage,
    },
};

/// Grouping of the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatsGroup {
    /// By session.
    #[default]
    Session,
    /// By the day on which a checkpoint was saved, in its own time zone.
    Day,
    /// By agent.
    Agent,
    /// By model.
    Model,
}

/// Request of statistics.
#[derive(Debug, Default)]
pub struct StatsRequest {
    /// Only these sessions; all when empty.
    pub sessions: Vec<Selector>,
    /// Only checkpoints saved at or after this date, in any form git reads.
    pub since: Option<String>,
    /// Grouping of the figures.
    pub group: StatsGroup,
    /// Whether lines are counted, for which the files have to be compared.
    pub lines: bool,
}

/// Figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Sessions with a checkpoint that counts here.
    pub sessions: BTreeSet<String>,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Turns of agents.
    pub turns: u64,
    /// Turns whose tokens were recorded.
    pub counted_turns: u64,
    /// Their tokens, as the provider counted them.
    pub tokens: TokenUsage,
    /// Tokens of the chat, counted or estimated here, where no turn has recorded any.
    pub estimated: Option<u64>,
    /// Cost, where it was recorded.
    pub cost: Option<f64>,
    /// Lines that agents changed.
    pub by_agents: Lines,
    /// Lines that people changed.
    pub by_people: Lines,
    /// Bytes on disk of what only this session's checkpoints have; `None` where it was not asked for.
    pub size: Option<u64>,
}

impl Figures {
    fn add(&mut self, other: &Self) {
        self.sessions.extend(other.sessions.iter().cloned());
        self.checkpoints += other.checkpoints;
        self.turns += other.turns;
        self.counted_turns += other.counted_turns;
        self.tokens = self.tokens.plus(other.tokens);
        self.cost = sum(self.cost, other.cost, |a, b| a + b);
        self.estimated = sum(self.estimated, other.estimated, u64::saturating_add);
        self.size = sum(self.size, other.size, u64::saturating_add);
        add_lines(&mut self.by_agents, other.by_agents);
        add_lines(&mut self.by_people, other.by_people);
    }
}

fn sum<T>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}

fn add_lines(to: &mut Lines, more: Lines) {
    to.added = to.added.saturating_add(more.added);
    to.removed = to.removed.saturating_add(more.removed);
}

/// The figures of all groups, and their sum.
#[derive(Debug, Default)]
pub struct Statistics {
    /// By the name of the group; sessions latest first, everything else by name.
    pub groups: Vec<(String, Figures)>,
    /// The sum.
    pub total: Figures,
    /// Sessions that are damaged and were left out.
    pub damaged: Vec<String>,
}

/// Sessions whose latest checkpoints are read at one time.
const AHEAD: usize = 4096;

/// The name of a group for what has no agent or no model.
const NONE: &str = "(none)";

/// Counts.
pub fn stats(scene: &Scene<'_>, request: &StatsRequest) -> Result<Statistics, Error> {
    let since = request
        .since
        .as_deref()
        .map(|date| select::unix_time(scene, date))
        .transpose()?;
    let mut out = Statistics::default();
    let mut tips: Vec<(String, ObjectId)> = Vec::new();
    if request.sessions.is_empty() {
        for session in session::all(scene.repo)? {
            match session.tip {
                Ok(tip) => tips.push((session.name, tip.id)),
                Err(_) => out.damaged.push(session.name),
            }
        }
    } else {
        for selector in &request.sessions {
            let (name, tip) = super::file_history::session_of(scene, selector)?;
            tips.push((name, tip));
        }
    }
    let ids: Vec<ObjectId> = tips.iter().map(|(_, tip)| *tip).collect();
    let sizes = match request.group {
        StatsGroup::Session => sizes(scene, &ids)?,
        _ => vec![None; ids.len()],
    };
    // Once for all sessions: what is running, which packs there are, and the latest documents by two threads.
    let mut running: HashMap<String, RunningTurn> = HashMap::new();
    for (session, turn) in running_turns(scene)? {
        running.entry(session).or_insert(turn);
    }
    let facts = checkpoint::load_each(scene.repo, &ids, TipFacts::of);
    let mut chains = session::ChainReader::new(scene.repo);
    let mut counted = own_checkpoints(&mut chains, &ids);
    let mut lines = LineCounter::new(scene);
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (n, (((name, tip), facts), size)) in tips.iter().zip(facts).zip(sizes).enumerate() {
        if n % AHEAD == 0 {
            chains.read_ahead(&ids[n..ids.len().min(n + AHEAD)]);
        }
        lines.begin(name);
        let mut count = SessionCount {
            scene,
            request,
            name,
            size,
            running: &running,
            chains: &mut chains,
            counted: &mut counted,
            lines: &mut lines,
            groups: BTreeMap::new(),
        };
        let done = facts
            .map_err(Error::damaged(name.as_str()))
            .and_then(|facts| count.run(*tip, &facts, since));
        if let Err(error) = done {
            match error {
                Error::Damaged { .. } => out.damaged.push(name.clone()),
                error => return Err(error),
            }
        }
        for (key, figures) in count.groups {
            let place = *places.entry(key.clone()).or_insert_with(|| {
                out.groups.push((key, Figures::default()));
                out.groups.len() - 1
            });
            out.groups[place].1.add(&figures);
        }
    }
    if request.group != StatsGroup::Session {
        out.groups.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let mut total = Figures::default();
    for (_, figures) in &out.groups {
        total.add(figures);
    }
    out.total = total;
    Ok(out)
}

/// The bytes on disk of what each session has and nothing outside of sessions; `None` where git does not know.
pub fn sizes(scene: &Scene<'_>, tips: &[ObjectId]) -> Result<Vec<Option<u64>>, Error> {
    Ok(usage::each(scene.repo, tips)?)
}

/// The checkpoints that are in the chain of one of the sessions: in another one that merged them they are not counted.
fn own_checkpoints(chains: &mut session::ChainReader<'_>, tips: &[ObjectId]) -> HashSet<ObjectId> {
    let mut own = HashSet::new();
    for tips in tips.chunks(AHEAD) {
        chains.read_ahead(tips);
        for tip in tips {
            // A damaged chain is reported where it is counted.
            own.extend(chains.chain(*tip).flatten().map(|entry| entry.id));
        }
    }
    own
}

/// Facts of the document of a session's latest checkpoint.
struct TipFacts {
    session: String,
    /// Tokens of the chat, counted or estimated.
    tokens: Option<u64>,
}

impl TipFacts {
    fn of(tip: Checkpoint) -> Self {
        let document = tip.document;
        let of_tokens = |member: &str| document.tokens.as_ref().and_then(|tokens| tokens[member].as_u64());
        let chat = document.chat.as_ref().and_then(|chat| chat.tokens);
        // Four bytes a token is the usual estimate.
        let estimate = || of_tokens("bytes").map(|bytes| bytes.div_ceil(4));
        Self {
            tokens: of_tokens("count").or(chat).or_else(estimate),
            session: document.session.id,
        }
    }
}

/// The count of one session.
struct SessionCount<'a, 's> {
    scene: &'s Scene<'s>,
    request: &'a StatsRequest,
    name: &'a str,
    /// Bytes on disk of what only it has.
    size: Option<u64>,
    /// The turns that agents are at, by the identity of the session.
    running: &'a HashMap<String, RunningTurn>,
    chains: &'a mut session::ChainReader<'s>,
    /// Checkpoints that are counted here or in another session.
    counted: &'a mut HashSet<ObjectId>,
    lines: &'a mut LineCounter<'s>,
    groups: BTreeMap<String, Figures>,
}

/// Who worked at a checkpoint.
#[derive(Clone, Debug, Default)]
struct Worker {
    agent: Option<String>,
    model: Option<String>,
    /// When the turn began; the checkpoints since then are of the same worker.
    since: Option<Timestamp>,
    /// The turn, where it has not ended.
    running: Option<RunningTurn>,
}

impl Worker {
    /// Whether a checkpoint was saved in the turn, where none before it is later than the turn's begin.
    fn is_at_work(&self, entry: &CheckpointCommit) -> bool {
        match &self.running {
            Some(running) => running.has(entry),
            None => self.since.is_some_and(|since| is_since(entry, since)),
        }
    }
}

impl SessionCount<'_, '_> {
    /// Counts a session and what was merged into it, as far as no session has it.
    fn run(&mut self, tip: ObjectId, facts: &TipFacts, since: Option<i64>) -> Result<(), Error> {
        let mut merged = self.chain(tip, since, Some(facts))?;
        while let Some(tip) = merged.pop() {
            let more = self.chain(tip, since, None)?;
            merged.extend(more);
        }
        if self.request.group == StatsGroup::Session {
            let figures = self.groups.entry(self.name.to_owned()).or_default();
            figures.size = self.size;
            if figures.counted_turns == 0 {
                figures.estimated = facts.tokens;
            }
        }
        Ok(())
    }

    /// Counts a chain, of the session itself, with its facts, or one that was merged. Gives the checkpoints that were
    /// merged into it.
    fn chain(&mut self, tip: ObjectId, since: Option<i64>, own: Option<&TipFacts>) -> Result<Vec<ObjectId>, Error> {
        let is_own = own.is_some();
        let mut merged = Vec::new();
        let mut entries: Vec<CheckpointCommit> = Vec::new();
        for entry in self.chains.chain(tip) {
            let entry = entry.map_err(Error::damaged(self.name))?;
            // One more, for its files.
            let is_older = since.is_some_and(|since| entry.time.unix() < since);
            // What a session has before the merge is counted there.
            let is_counted = !is_own && self.counted.contains(&entry.id);
            entries.push(entry);
            if is_older || is_counted {
                break;
            }
        }
        let mut turn = own.map_or_else(Worker::default, |facts| self.running(facts));
        let has_turns = turn.agent.is_some()
            || entries
                .iter()
                .any(|entry| entry.trailers.kind == Some(CheckpointKind::Turn));
        for at in 0..entries.len() {
            let entry = &entries[at];
            if since.is_some_and(|since| entry.time.unix() < since) {
                break;
            }
            if !self.counted.insert(entry.id) && !is_own {
                break;
            }
            merged.extend(entry.merged_commit().filter(|id| !self.counted.contains(id)));
            let mut figures = Figures {
                checkpoints: 1,
                ..Figures::default()
            };
            figures.sessions.insert(self.name.to_owned());
            let worker = self.worker(entry, has_turns, &mut turn, &mut figures)?;
            if self.request.lines {
                let changed = self.lines.count(entry, &entries[at + 1..])?;
                if worker.agent.is_some() {
                    figures.by_agents = changed;
                } else {
                    figures.by_people = changed;
                }
            }
            let key = match self.request.group {
                StatsGroup::Session => self.name.to_owned(),
                StatsGroup::Day => entry.time.to_chrono().format("%Y-%m-%d").to_string(),
                StatsGroup::Agent => worker.agent.unwrap_or_else(|| NONE.to_owned()),
                StatsGroup::Model => worker.model.unwrap_or_else(|| NONE.to_owned()),
            };
            self.groups.entry(key).or_default().add(&figures);
        }
        Ok(merged)
    }

    /// The agent that is at a turn in the session, as a worker.
    fn running(&self, facts: &TipFacts) -> Worker {
        let running = self.running.get(&facts.session);
        running.map_or_else(Worker::default, |running| Worker {
            agent: Some(running.agent.clone()),
            model: None,
            since: Some(running.turn.started_at),
            running: Some(running.clone()),
        })
    }

    /// Who worked at a checkpoint; counts the turn that it was saved for.
    fn worker(
        &self,
        entry: &CheckpointCommit,
        has_turns: bool,
        turn: &mut Worker,
        figures: &mut Figures,
    ) -> Result<Worker, Error> {
        if entry.trailers.kind == Some(CheckpointKind::Turn) {
            let loaded = checkpoint::load(self.scene.repo, entry.id).map_err(Error::damaged(self.name))?;
            if let Some(found) = loaded.document.turn {
                figures.turns = 1;
                if let Some(tokens) = found.tokens {
                    figures.counted_turns = 1;
                    figures.tokens = tokens;
                }
                figures.cost = found.cost();
                *turn = Worker {
                    agent: Some(found.agent),
                    model: found.model,
                    since: found.started_at.or(Some(entry.time)),
                    running: None,
                };
                return Ok(turn.clone());
            }
        }
        let is_edit = entry.trailers.kind == Some(CheckpointKind::Edit);
        if turn.is_at_work(entry) && !is_edit {
            return Ok(turn.clone());
        }
        let agent = entry.trailers.agent.clone().filter(|_| !has_turns && !is_edit);
        Ok(Worker {
            agent,
            ..Worker::default()
        })
    }
}
