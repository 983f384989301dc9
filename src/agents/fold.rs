//! The fold of a session file: what a reader has to remember from record to record, and what it gives.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    blocks,
    lines::Report,
    transcript::{Ending, HelperRun, SessionFacts, TaskItem, TokenUsage, Turn},
};
use crate::model::{
    chat::{KNOWN_AS, Message, Role, hex},
    time::Timestamp,
};

/// State of a reader between two readings of a growing file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The session so far.
    pub facts: SessionFacts,
    /// The latest turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// The time of the latest record that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest: Option<Timestamp>,
    /// Tokens counted for the latest responses, whose records repeat them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    responses: Vec<(String, TokenUsage)>,
    /// Tokens that were counted before the message they belong to.
    #[serde(skip_serializing_if = "TokenUsage::is_zero")]
    owed: TokenUsage,
    /// Tool calls without a result yet, for what their result means.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<(String, Value)>,
    /// The to-do list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<TaskItem>,
    /// State of the reader of one agent, by its own names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    marks: BTreeMap<String, String>,
    /// Records that the reader does not know, by their type, in all readings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, u64>,
}

impl State {
    /// The state before the first record of a file of this name. Where the file does not say which session it is, the
    /// name does.
    pub fn of_file(name: &str) -> Self {
        let mut state = Self::default();
        if !name.is_empty() {
            state.marks.insert("root".to_owned(), name.to_owned());
        }
        state
    }
}

/// The most responses whose tokens are remembered: records of one response lie close together.
const RESPONSES: usize = 16;
/// The most open tool calls that are remembered.
const CALLS: usize = 64;
/// The most types of unknown records that are counted apart.
const TYPES: usize = 64;

/// A message as a reader gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageUpdate {
    /// The message.
    pub message: Message,
    /// A copy of what was said before, perhaps with less in it: it counts only where the message is not known.
    pub is_copy: bool,
    /// The id under which the same message was given before, if it is another one.
    pub replaces: Option<String>,
}

/// The outcome of a reading.
#[derive(Debug)]
pub struct Reading {
    /// State from which the next reading continues.
    pub state: State,
    /// The messages, in the order of the file. One may come again as its newer state.
    pub messages: Vec<MessageUpdate>,
    /// The turns that this reading saw, the latest last.
    pub turns: Vec<Turn>,
    /// The helpers that this reading saw.
    pub helpers: Vec<HelperRun>,
    /// The agent's to-do list, if it changed in this reading.
    pub tasks: Option<Vec<TaskItem>>,
    /// Records that were read.
    pub records: u64,
    /// Records that the reader does not know, by their type. They are in the file that is kept next to the chat.
    pub unknown: BTreeMap<String, u64>,
    /// The bytes up to which all was read. What is behind them, a torn last line, waits.
    pub taken: u64,
    /// The lines before that.
    pub lines: usize,
    /// Findings about the file.
    pub report: Report,
}

/// Result into which a reader folds the records of a file.
#[derive(Debug)]
pub struct Fold {
    agent: &'static str,
    now: Timestamp,
    state: State,
    said: Vec<MessageUpdate>,
    turns: Vec<Turn>,
    helpers: Vec<HelperRun>,
    unknown: BTreeMap<String, u64>,
    records: u64,
    tasks_changed: bool,
    /// The helper that the present record belongs to.
    helper: Option<String>,
    /// The turn that the present record names, if it is not the latest.
    turn: Option<String>,
}

impl Fold {
    pub(super) fn new(agent: &'static str, state: State, now: Timestamp) -> Self {
        Self {
            agent,
            now,
            state,
            said: Vec::new(),
            turns: Vec::new(),
            helpers: Vec::new(),
            unknown: BTreeMap::new(),
            records: 0,
            tasks_changed: false,
            helper: None,
            turn: None,
        }
    }

    pub(super) fn count(&mut self) {
        self.records += 1;
        self.helper = None;
        self.turn = None;
    }

    pub(super) fn end(mut self) -> Reading {
        self.turns.extend(self.state.turn.clone());
        for (kind, count) in &self.unknown {
            *self.state.unknown.entry(kind.clone()).or_default() += count;
        }
        Reading {
            tasks: self.tasks_changed.then(|| self.state.tasks.clone()),
            state: self.state,
            messages: self.said,
            turns: self.turns,
            helpers: self.helpers,
            records: self.records,
            unknown: self.unknown,
            taken: 0,
            lines: 0,
            report: Report::default(),
        }
    }

    /// The facts on the session.
    pub(super) fn facts(&mut self) -> &mut SessionFacts {
        &mut self.state.facts
    }

    /// The latest turn.
    pub(super) fn latest_turn(&self) -> Option<&Turn> {
        self.state.turn.as_ref()
    }

    /// State under this name.
    pub(super) fn mark(&self, name: &str) -> Option<&str> {
        self.state.marks.get(name).map(String::as_str)
    }

    /// Remembers something for the next records.
    pub(super) fn set_mark(&mut self, name: &str, value: impl Into<String>) {
        self.state.marks.insert(name.to_owned(), value.into());
    }

    /// Forgets it.
    pub(super) fn clear_mark(&mut self, name: &str) {
        self.state.marks.remove(name);
    }

    /// A time in one of the forms that agents write; the latest one where there is none.
    pub(super) fn time(&mut self, value: Option<&Value>) -> Timestamp {
        let given = value.and_then(time_of);
        if let Some(given) = given {
            self.state.latest = Some(self.state.latest.map_or(given, |latest| latest.max(given)));
        }
        given.or(self.state.latest).unwrap_or(self.now)
    }

    /// Counts a record that the reader does not know.
    pub(super) fn unknown(&mut self, kind: &str) {
        let mut kind: String = kind.chars().filter(|c| !c.is_control()).take(60).collect();
        if kind.is_empty() {
            "(no type)".clone_into(&mut kind);
        }
        if self.unknown.len() >= TYPES && !self.unknown.contains_key(&kind) {
            "(others)".clone_into(&mut kind);
        }
        *self.unknown.entry(kind).or_default() += 1;
    }

    /// The present record belongs to a helper, not to the session's own conversation.
    pub(super) fn set_helper(&mut self, helper: &str) {
        self.helper = Some(helper.to_owned());
    }

    /// The present record belongs to this turn.
    pub(super) fn set_turn(&mut self, key: &str) {
        self.turn = Some(key.to_owned());
    }

    /// The next record of a document belongs to the latest turn again.
    pub(super) fn release_turn(&mut self) {
        self.turn = None;
    }

    /// An id for what has none: the digest of it and of all that was said before, from the id of the session in which
    /// the conversation began.
    pub(super) fn chained(&mut self, kind: &str, text: &str) -> String {
        let before = self.mark("chain").or(self.mark("root")).unwrap_or_default().to_owned();
        let hash = Sha256::digest(format!("{before}\n{kind}\n{text}"));
        let id = hex(&hash[..12]);
        self.set_mark("chain", id.as_str());
        id
    }

    /// Begins a turn. The one before, if it had no end, was interrupted.
    pub(super) fn begin(&mut self, key: &str, prompt: &str, at: Timestamp) {
        if let Some(turn) = &self.state.turn {
            if turn.key == key {
                return;
            }
            // A turn of before that is copied into the file again does not become the latest.
            if at < turn.started_at {
                self.set_turn(key);
                return;
            }
        }
        if let Some(mut turn) = self.state.turn.take() {
            if turn.ending == Ending::Open {
                turn.ending = Ending::Interrupted;
            }
            self.turns.push(turn);
        }
        self.state.turn = Some(Turn {
            key: key.to_owned(),
            subject: subject(prompt),
            started_at: at,
            ended_at: at,
            ending: Ending::Open,
            model: None,
            tokens: TokenUsage::default(),
            cost_micros: None,
        });
    }

    /// Counts a cost in US dollars that the agent recorded for a response of the latest turn.
    pub(super) fn cost(&mut self, dollars: Option<f64>) {
        let own = self.turn.as_deref();
        if let (Some(micros), Some(turn)) = (dollars.and_then(micros), &mut self.state.turn)
            && own.is_none_or(|key| key == turn.key)
        {
            turn.cost_micros = Some(turn.cost_micros.unwrap_or(0).saturating_add(micros));
        }
    }

    /// Gives a turn that began without a prompt its subject.
    pub(super) fn name_turn(&mut self, prompt: &str) {
        if let Some(turn) = &mut self.state.turn
            && turn.subject.is_empty()
        {
            turn.subject = subject(prompt);
        }
    }

    /// Ends the latest turn, or opens it again.
    pub(super) fn end_turn(&mut self, ending: Ending, at: Timestamp) {
        if let Some(turn) = &mut self.state.turn {
            turn.ending = ending;
            turn.ended_at = turn.ended_at.max(at);
        }
    }

    /// Counts the tokens of a response. Records that repeat them count once: what they have beyond the record before.
    /// Gives what is new, for the message that the record holds.
    pub(super) fn usage(&mut self, response: Option<&str>, usage: TokenUsage) -> TokenUsage {
        let new = match response {
            Some(id) => {
                let known = self.state.responses.iter_mut().find(|(known, _)| known == id);
                if let Some((_, counted)) = known {
                    let new = usage.minus(*counted);
                    *counted = counted.plus(new);
                    new
                } else {
                    self.state.responses.push((id.to_owned(), usage));
                    if self.state.responses.len() > RESPONSES {
                        self.state.responses.remove(0);
                    }
                    usage
                }
            }
            None => usage,
        };
        let own = self.turn.as_deref();
        if let Some(turn) = &mut self.state.turn
            && own.is_none_or(|key| key == turn.key)
        {
            turn.tokens = turn.tokens.plus(new);
        }
        new
    }

    /// Keeps tokens for the next message of the model, whose record follows.
    pub(super) fn defer_usage(&mut self, usage: TokenUsage) {
        self.state.owed = self.state.owed.plus(usage);
    }

    /// Notes the model that answers.
    pub(super) fn model(&mut self, model: &str) {
        if model.is_empty() {
            return;
        }
        self.state.facts.model = Some(model.to_owned());
        if let Some(turn) = &mut self.state.turn {
            turn.model = Some(model.to_owned());
        }
    }

    /// Gives a message; what has no part is none.
    pub(super) fn say(&mut self, id: &str, at: Timestamp, role: Role, parts: Vec<Value>) -> Option<&mut MessageUpdate> {
        if parts.is_empty() || id.is_empty() {
            return None;
        }
        let mut meta = Map::new();
        let latest = self.state.turn.as_mut().filter(|_| self.turn.is_none());
        if let Some(turn) = latest {
            turn.ended_at = turn.ended_at.max(at);
            meta.insert("turn".into(), turn.key.as_str().into());
        } else if let Some(key) = &self.turn {
            meta.insert("turn".into(), key.as_str().into());
        }
        if let Some(session) = &self.state.facts.id {
            meta.insert("session".into(), session.as_str().into());
        }
        if let Some(helper) = &self.helper {
            meta.insert("helper".into(), helper.as_str().into());
        }
        if role == Role::Assistant && !self.state.owed.is_zero() {
            meta.insert("usage".into(), std::mem::take(&mut self.state.owed).to_json());
        }
        self.said.push(MessageUpdate {
            message: Message {
                id: id.to_owned(),
                at,
                role,
                agent: Some(self.agent.to_owned()),
                content: blocks::content(parts),
                meta,
                unknown: Map::new(),
            },
            is_copy: false,
            replaces: None,
        });
        self.said.last_mut()
    }

    /// Reports that something happened to the conversation itself.
    pub(super) fn event(&mut self, id: &str, at: Timestamp, kind: &str, text: &str, details: &Value) {
        self.say(id, at, Role::System, vec![blocks::event(kind, text, details)]);
    }

    /// Remembers a tool call until its result comes.
    pub(super) fn call(&mut self, id: &str, call: Value) {
        if !id.is_empty() {
            self.state.calls.push((id.to_owned(), call));
            if self.state.calls.len() > CALLS {
                self.state.calls.remove(0);
            }
        }
    }

    /// The tool call that has its result now.
    pub(super) fn take_call(&mut self, id: &str) -> Option<Value> {
        let at = self.state.calls.iter().position(|(known, _)| known == id)?;
        Some(self.state.calls.remove(at).1)
    }

    /// The latest message was given before under this id, which it keeps as [`KNOWN_AS`]: an earlier state of the file
    /// may be read again.
    pub(super) fn replace_last(&mut self, before: &str) {
        let Some(mut last) = self.said.pop() else { return };
        last.message.meta.insert(KNOWN_AS.to_owned(), before.into());
        if let Some(said) = self.said.iter_mut().rev().find(|said| said.message.id == before) {
            last.message.at = last.message.at.min(said.message.at);
            last.replaces = said.replaces.take();
            *said = last;
        } else {
            last.replaces = Some(before.to_owned());
            self.said.push(last);
        }
    }

    /// Changes what is known of a helper.
    pub(super) fn update_helper(&mut self, id: &str, change: impl FnOnce(&mut HelperRun)) {
        let known = self.helpers.iter().position(|known| known.id == id);
        let mut run = known.map_or_else(
            || HelperRun {
                id: id.to_owned(),
                turn: None,
                kind: None,
                title: String::new(),
                prompt: String::new(),
                result: None,
                ending: Ending::Open,
            },
            |at| self.helpers.remove(at),
        );
        change(&mut run);
        self.helper(run);
    }

    /// Notes a helper.
    pub(super) fn helper(&mut self, mut run: HelperRun) {
        run.turn = run
            .turn
            .or_else(|| self.state.turn.as_ref().map(|turn| turn.key.clone()));
        match self.helpers.iter_mut().find(|known| known.id == run.id) {
            Some(known) => *known = run,
            None => self.helpers.push(run),
        }
    }

    /// Remembers a helper that continues in the background until its report comes under this call.
    pub(super) fn keep_running(&mut self, call: &str, run: &HelperRun) {
        if let Ok(kept) = serde_json::to_value(run) {
            self.call(call, json!({ "running": kept }));
        }
    }

    /// The helper that this call started and that has not reported yet. It may report again.
    pub(super) fn running_helper(&mut self, call: &str) -> Option<HelperRun> {
        let known = self.state.calls.iter().rfind(|(known, _)| known == call)?;
        crate::model::json::from_value(known.1.get("running")?.clone()).ok()
    }

    /// The to-do list as it is now.
    pub(super) fn tasks(&mut self, change: impl FnOnce(&mut Vec<TaskItem>)) {
        change(&mut self.state.tasks);
        self.tasks_changed = true;
    }
}

/// Millionths of a dollar; `None` for what is no price.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn micros(dollars: f64) -> Option<u64> {
    (0.0..1e9).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

/// The first line of a prompt that has visible text, short enough for a list.
fn subject(prompt: &str) -> String {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(200).collect()
}

/// A time in RFC 3339, or in seconds or milliseconds since 1970.
pub(super) fn time_of(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => Timestamp::parse(text).ok(),
        Value::Number(number) => {
            let digits = number.to_string();
            let whole: i64 = digits.split('.').next()?.parse().ok()?;
            // Seconds of the year 5138 are milliseconds of 1973: whatever is larger is milliseconds.
            if whole > 100_000_000_000 {
                Timestamp::from_unix_millis(whole)
            } else {
                (whole >= 0).then(|| Timestamp::from_unix(whole, 0))
            }
        }
        _ => None,
    }
}

/// The details of an event, from names and values that may be missing.
pub(super) fn details(members: &[(&str, Option<&Value>)]) -> Value {
    let mut out = Map::new();
    for (name, value) in members {
        if let Some(value) = value {
            out.insert((*name).to_owned(), (*value).clone());
        }
    }
    json!(out)
}
