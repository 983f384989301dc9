//! State of the terminal interface: what is listed, chosen and asked. Keys and results change it; it asks for jobs.

mod keys;

use std::time::Instant;

use super::{
    ScreenOptions,
    job::{Job, JobResult, SearchHit},
    panes::{Focus, panes},
};
use crate::{
    model::time::Timestamp,
    render::{
        indicator::IndicatorView,
        sessions::{LogRow, SessionRow},
        slot::Slot,
        text::{Text, TextLine},
    },
    serve::{
        CommandFailure, CommandLine,
        actions::{Action, ActionRequest},
        source::TextRun,
    },
};

/// Checkpoints that are read at first; the end of the list asks for more.
const LIMIT: usize = 200;

pub(super) use keys::KEYS;

/// The part of a checkpoint that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Record,
    Files,
    Since,
    Chat,
}

impl Tab {
    pub(super) const ALL: [(Self, &'static str); 4] = [
        (Self::Record, "Record"),
        (Self::Files, "Files"),
        (Self::Since, "Since"),
        (Self::Chat, "Chat"),
    ];
}

/// A line of the list of checkpoints. Lines of a graph between checkpoints have no id.
#[derive(Clone, Debug)]
pub(super) struct CheckpointLine {
    pub(super) line: TextLine,
    pub(super) id: Option<String>,
}

/// Something above the panes that takes the keys.
#[derive(Debug)]
pub(super) enum Overlay {
    /// The keys.
    Help { scroll: usize },
    /// Actions to choose from.
    Menu { items: Vec<&'static Action>, at: usize },
    /// A value to fill in for an action.
    Input {
        request: ActionRequest,
        action: &'static Action,
        text: String,
    },
    /// The plan of an action, to be confirmed.
    Plan {
        request: ActionRequest,
        action: &'static Action,
        run: Option<TextRun>,
        scroll: usize,
    },
    /// Receipt or failure of an action.
    Outcome {
        text: Text,
        is_failure: bool,
        scroll: usize,
    },
}

/// A search.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) words: String,
    /// Whether keys change the words.
    pub(super) is_typed: bool,
    pub(super) hits: Vec<SearchHit>,
    pub(super) at: usize,
    /// The words that the hits belong to.
    pub(super) found: Option<String>,
}

/// The state.
#[derive(Debug)]
pub(super) struct ScreenState {
    pub(super) width: u16,
    pub(super) height: u16,
    pub(super) focus: Focus,
    pub(super) tab: Tab,
    pub(super) sessions: Vec<SessionRow>,
    pub(super) session_at: usize,
    pub(super) checkpoints: Vec<CheckpointLine>,
    pub(super) checkpoint_at: usize,
    /// The latest checkpoint of the session in that list.
    checkpoint_home: usize,
    pub(super) has_more: bool,
    pub(super) detail: Text,
    pub(super) scroll: usize,
    /// Lines of the detail that fit, as drawn last.
    pub(super) page: usize,
    pub(super) overlay: Option<Overlay>,
    /// How far the overlay can be scrolled, as drawn last.
    pub(super) overlay_end: usize,
    pub(super) search: Option<Search>,
    pub(super) indicator: Option<IndicatorView>,
    pub(super) now: Option<Timestamp>,
    pub(super) message: Option<TextLine>,
    /// Work in progress, and the phase of its sign.
    pub(super) work: Option<(String, usize)>,
    /// The checkpoint to compare others with.
    pub(super) marked: Option<String>,
    wanted: Option<String>,
    /// The session whose checkpoints are listed.
    listed: Option<String>,
    /// Whether they are listed as a graph, which takes longer than the list and may yet come first.
    has_graph: bool,
    limit: usize,
    stamp: Option<u64>,
    jobs: Vec<Job>,
    cancels: bool,
    suspends: bool,
    ended: bool,
}

impl ScreenState {
    pub(super) fn new(options: &ScreenOptions) -> Self {
        let mut out = Self {
            width: 80,
            height: 24,
            focus: Focus::Checkpoints,
            tab: Tab::Record,
            sessions: Vec::new(),
            session_at: 0,
            checkpoints: Vec::new(),
            checkpoint_at: 0,
            checkpoint_home: 0,
            has_more: false,
            detail: Text::new(),
            scroll: 0,
            page: 10,
            overlay: None,
            overlay_end: 0,
            search: None,
            indicator: None,
            now: None,
            message: None,
            work: None,
            marked: None,
            wanted: options.session.clone(),
            listed: None,
            has_graph: false,
            limit: LIMIT,
            stamp: None,
            jobs: vec![Job::Sessions],
            cancels: false,
            suspends: false,
            ended: false,
        };
        if let Some(words) = &options.search {
            out.search = Some(Search {
                words: words.clone(),
                ..Search::default()
            });
            out.jobs.push(Job::Search { words: words.clone() });
        }
        out
    }

    /// The jobs that are asked for.
    pub(super) fn take_jobs(&mut self) -> Vec<Job> {
        std::mem::take(&mut self.jobs)
    }

    /// Whether running jobs are to be cancelled.
    pub(super) fn wants_cancel(&mut self) -> bool {
        std::mem::take(&mut self.cancels)
    }

    /// Whether the process is to be stopped until the shell continues it.
    pub(super) fn wants_suspend(&mut self) -> bool {
        std::mem::take(&mut self.suspends)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn ask_for_changes(&mut self) {
        self.jobs.push(Job::Stamp);
    }

    pub(super) fn resize(&mut self, width: u16, height: u16) {
        (self.width, self.height) = (width, height);
        if self.selected().is_some() {
            self.read_detail();
        }
    }

    /// Shows that work is in progress; whether that changes the screen.
    pub(super) fn animate(&mut self, longest: Option<(String, Instant)>) -> bool {
        let work = longest
            .map(|(text, begun)| (text, begun.elapsed().as_millis()))
            .filter(|(_, millis)| *millis > 150)
            .map(|(text, millis)| (text, usize::try_from(millis / 100).unwrap_or(0)));
        let is_new = work != self.work;
        self.work = work;
        is_new
    }

    /// The session that is chosen.
    pub(super) fn session(&self) -> Option<&SessionRow> {
        self.sessions.get(self.session_at)
    }

    /// The checkpoint that is chosen: of the search, if there is one.
    pub(super) fn selected(&self) -> Option<String> {
        if let Some(search) = &self.search {
            return search.hits.get(search.at).map(|hit| hit.id.clone());
        }
        self.checkpoints.get(self.checkpoint_at)?.id.clone()
    }

    /// Columns of the pane with the detail.
    pub(super) fn detail_columns(&self) -> usize {
        usize::from(panes(self.width, self.focus).detail_width(self.width)).max(20)
    }

    fn read_checkpoints(&mut self) {
        let Some(session) = self.session() else {
            self.listed = None;
            self.checkpoints.clear();
            self.checkpoint_at = 0;
            self.checkpoint_home = 0;
            self.detail = Text::block("No session. Start one: git checkpoint save");
            return;
        };
        if session.status == "damaged" {
            let damage = session.damage.clone().unwrap_or_default();
            self.checkpoints.clear();
            self.detail = Text::block(&format!("This session is damaged: {damage}\n\ngit checkpoint verify"));
            return;
        }
        let session = session.session.clone();
        if self.listed.as_ref() != Some(&session) {
            self.limit = LIMIT;
            self.checkpoints.clear();
            self.checkpoint_at = 0;
            self.checkpoint_home = 0;
            self.detail = Text::new();
        }
        self.listed = Some(session.clone());
        let limit = self.limit;
        self.jobs.push(Job::Log {
            session: session.clone(),
            limit,
        });
        self.jobs.push(Job::Graph { session, limit });
        self.has_graph = false;
    }

    fn read_detail(&mut self) {
        let Some(id) = self.selected() else {
            self.detail = Text::new();
            return;
        };
        let line = match self.tab {
            Tab::Record => CommandLine::new("show").selector(Some(&id)),
            Tab::Files => CommandLine::new("show").flag("patch", true).selector(Some(&id)),
            Tab::Since => CommandLine::new("diff").selector(Some(&id)),
            Tab::Chat => Ok(CommandLine::new("message show")
                .flag("full", true)
                .option("at", Some(&id))),
        };
        if let Ok(line) = line {
            let columns = self.detail_columns();
            self.jobs.push(Job::Detail { line, columns });
        }
    }

    /// Takes the result of a job; whether the screen changes.
    pub(super) fn done(&mut self, result: JobResult) -> bool {
        match result {
            JobResult::Sessions(Ok((sessions, indicator, now))) => self.list_sessions(sessions, indicator, now),
            JobResult::Sessions(Err(failure)) | JobResult::Log { rows: Err(failure), .. } => self.fail(&failure),
            JobResult::Log {
                session,
                rows: Ok((rows, more)),
            } => {
                self.has_more = more;
                if self.listed.as_ref() == Some(&session) && !self.has_graph {
                    let now = self.now;
                    self.list_checkpoints(rows.iter().map(|row| line_of(row, now)).collect());
                }
            }
            JobResult::Graph { session, run } => {
                if self.listed.as_ref() == Some(&session) && run.failure.is_none() {
                    self.has_graph = true;
                    self.list_checkpoints(run.text.lines().iter().map(graph_line).collect());
                }
            }
            JobResult::Detail(run) => {
                self.detail = match &run.failure {
                    Some(failure) => failure_text(failure),
                    None if run.text.lines().is_empty() => Text::block("Nothing here."),
                    None => run.text,
                };
                // What does not fit in a line takes several, so that scrolling reaches all of it.
                self.detail = self.detail.folded(self.detail_columns());
                self.scroll = self.scroll.min(self.detail.lines().len().saturating_sub(1));
            }
            JobResult::Search { words, hits } => match hits {
                Ok(hits) => {
                    if let Some(search) = self.search.as_mut().filter(|search| search.words == words) {
                        search.at = 0;
                        search.hits = hits;
                        search.found = Some(words);
                        self.scroll = 0;
                        self.read_detail();
                    }
                }
                Err(failure) => self.fail(&failure),
            },
            JobResult::Plan { request, run } => {
                if let Some(Overlay::Plan {
                    request: asked,
                    run: shown,
                    ..
                }) = &mut self.overlay
                    && asked.action == request.action
                {
                    *asked = request;
                    *shown = Some(run);
                }
            }
            JobResult::Act { run } => self.acted(run),
            JobResult::Stamp(stamp) => {
                let is_new = self.stamp.is_some_and(|last| last != stamp);
                self.stamp = Some(stamp);
                if is_new {
                    self.jobs.push(Job::Sessions);
                }
                return false;
            }
            JobResult::Nothing => return false,
        }
        true
    }

    fn list_sessions(&mut self, sessions: Vec<SessionRow>, indicator: Option<IndicatorView>, now: Timestamp) {
        let wanted = self
            .wanted
            .take()
            .or_else(|| self.session().map(|row| row.session.clone()));
        self.sessions = sessions;
        self.indicator = indicator;
        self.now = Some(now);
        let named = wanted.and_then(|name| self.sessions.iter().position(|row| row.session == name));
        let current = self.sessions.iter().position(|row| row.current);
        self.session_at = named.or(current).unwrap_or(0);
        self.read_checkpoints();
    }

    fn list_checkpoints(&mut self, lines: Vec<CheckpointLine>) {
        let before = self
            .checkpoints
            .get(self.checkpoint_at)
            .and_then(|line| line.id.clone());
        let was_home = self.checkpoint_at == self.checkpoint_home;
        self.checkpoints = lines;
        let named = before
            .as_ref()
            .filter(|_| !was_home)
            .and_then(|id| self.checkpoints.iter().position(|line| same_id(line.id.as_ref(), id)));
        // In a graph the latest checkpoint of a fork may be above that of the session.
        let latest = self
            .session()
            .and_then(|row| Some(row.id.as_ref()?.as_str().to_owned()));
        let latest = latest.and_then(|id| self.checkpoints.iter().position(|line| same_id(line.id.as_ref(), &id)));
        self.checkpoint_home = latest
            .or_else(|| self.checkpoints.iter().position(|line| line.id.is_some()))
            .unwrap_or(0);
        self.checkpoint_at = named.unwrap_or(self.checkpoint_home);
        let now = self
            .checkpoints
            .get(self.checkpoint_at)
            .and_then(|line| line.id.clone());
        let is_same = before.as_ref().is_some_and(|before| same_id(now.as_ref(), before));
        if self.search.is_none() && (!is_same || self.detail.lines().is_empty()) {
            self.scroll = 0;
            self.read_detail();
        }
    }

    fn acted(&mut self, run: TextRun) {
        let mut text = run.text;
        text.append(warning_lines(&run.warnings));
        let is_failure = run.failure.is_some();
        if let Some(failure) = &run.failure {
            text.append(failure_text(failure));
        }
        if text.lines().len() <= 1 && !is_failure {
            self.overlay = None;
            self.message = text.lines().first().cloned().or_else(|| Some(TextLine::plain("Done")));
        } else {
            self.message = None;
            self.overlay = Some(Overlay::Outcome {
                text,
                is_failure,
                scroll: 0,
            });
        }
        self.jobs.push(Job::Sessions);
        self.read_detail();
    }

    /// Shows a failure; in a box where it has several lines, unless something is there already.
    fn fail(&mut self, failure: &CommandFailure) {
        let text = failure_text(failure);
        if text.lines().len() > 1 && self.overlay.is_none() {
            self.overlay = Some(Overlay::Outcome {
                text,
                is_failure: true,
                scroll: 0,
            });
        } else {
            self.message = text.lines().first().cloned();
        }
    }
}

/// Whether two ids, of which one may be cut, are of the same checkpoint.
pub(super) fn same_id(id: Option<&String>, other: &str) -> bool {
    id.is_some_and(|id| id.starts_with(other) || other.starts_with(id.as_str()))
}

/// A checkpoint before its graph was read.
fn line_of(row: &LogRow, now: Option<Timestamp>) -> CheckpointLine {
    let mut line = TextLine::new().with(Slot::Id, row.id.short());
    if let Some(now) = now {
        line.push(Slot::Date, format!("  {}", crate::render::age::age(row.at, now)));
    }
    line.push(Slot::Plain, format!("  {}", row.summary));
    CheckpointLine {
        line,
        id: Some(row.id.as_str().to_owned()),
    }
}

fn graph_line(line: &TextLine) -> CheckpointLine {
    let id = line.spans().find(|span| span.slot() == Slot::Id);
    CheckpointLine {
        id: id.map(|span| span.text().trim().to_owned()),
        line: line.clone(),
    }
}

/// Message and hints of a failure.
pub(super) fn failure_text(failure: &CommandFailure) -> Text {
    let mut text = Text::new();
    for (at, line) in failure.message.lines().enumerate() {
        let label = if at == 0 { "error: " } else { "" };
        text.push(TextLine::new().with(Slot::Error, label).with(Slot::Plain, line));
    }
    for hint in failure.hints.iter().flat_map(|hint| hint.lines()) {
        text.push(TextLine::new().with(Slot::Hint, "hint: ").with(Slot::Plain, hint));
    }
    text
}

/// Warnings, each with its lines.
pub(super) fn warning_lines(warnings: &[String]) -> Text {
    let mut text = Text::new();
    for warning in warnings {
        for (at, line) in warning.lines().enumerate() {
            let label = if at == 0 { "warning: " } else { "" };
            text.push(TextLine::new().with(Slot::Warning, label).with(Slot::Plain, line));
        }
    }
    text
}
