//! Reading a session file with its agent, as a whole or on from where the last reading ended.

use serde_json::Value;

use super::{Agent, Fold, Layout, Reading, State, lines::Splitter};
use crate::model::time::Timestamp;

/// Reads the session file of an agent in pieces.
#[derive(Debug)]
pub struct Reader {
    agent: &'static dyn Agent,
    layout: Layout,
    fold: Fold,
    splitter: Splitter,
    /// A file that is one document.
    whole: Vec<u8>,
}

impl Reader {
    /// A reader that goes on from a state, behind so many lines. `now` is the time of records that have none.
    pub fn new(agent: &'static dyn Agent, layout: Layout, state: State, lines: usize, now: Timestamp) -> Self {
        Self {
            agent,
            layout,
            fold: Fold::new(agent.name(), state, now),
            splitter: Splitter::after(lines),
            whole: Vec::new(),
        }
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.layout == Layout::Lines {
            let (agent, fold) = (self.agent, &mut self.fold);
            self.splitter.feed(bytes, &mut |_, value| take(agent, &value, fold));
        } else {
            self.whole.extend_from_slice(bytes);
        }
    }

    /// Takes a whole line, and the record that it consists of where it was parsed ahead; see [`super::lines::record`].
    pub fn feed_line(&mut self, line: &[u8], value: Option<Value>) {
        if self.layout == Layout::Lines {
            let (agent, fold) = (self.agent, &mut self.fold);
            let each = &mut |_, value| take(agent, &value, fold);
            self.splitter.feed_line(line, value, each);
        } else {
            self.whole.extend_from_slice(line);
        }
    }

    /// Whether the bytes so far end with a whole line.
    pub fn is_settled(&self) -> bool {
        self.splitter.is_settled()
    }

    /// Ends the reading.
    pub fn end(mut self) -> Reading {
        let (agent, fold) = (self.agent, &mut self.fold);
        let taken = match self.layout {
            Layout::Lines => self.splitter.end(&mut |_, value| take(agent, &value, fold)),
            Layout::Text => {
                let text = String::from_utf8_lossy(&self.whole).into_owned();
                take(agent, &Value::String(text), fold);
                self.whole.len() as u64
            }
            Layout::Document => {
                // A document that is being written is not whole yet; the next reading takes it.
                let (found, report) = super::lines::document(&self.whole);
                self.splitter.report = report;
                match found {
                    Some(document) => {
                        take(agent, &document, fold);
                        self.whole.len() as u64
                    }
                    None => 0,
                }
            }
        };
        let mut reading = self.fold.end();
        reading.taken = taken;
        reading.lines = self.splitter.lines();
        reading.report = self.splitter.report;
        reading
    }
}

fn take(agent: &dyn Agent, value: &Value, fold: &mut Fold) {
    fold.count();
    agent.take(value, fold);
}

/// Reads a whole file that is in memory.
pub fn read(agent: &'static dyn Agent, layout: Layout, bytes: &[u8], now: Timestamp) -> Reading {
    let mut reader = Reader::new(agent, layout, State::default(), 0, now);
    reader.feed(bytes);
    reader.end()
}
