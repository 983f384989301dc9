//! Work on threads of its own: views that are read, plans, actions.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    model::time::Timestamp,
    os::Cancellation,
    render::{
        indicator::IndicatorView,
        sessions::{LogRow, SessionRow},
        text::Text,
    },
    serve::{
        CallMonitor, CommandFailure, CommandLine, FailureKind, ViewSource,
        actions::{Action, ActionRequest},
        source::TextRun,
    },
};

/// Columns that a graph is drawn for; the pane cuts it.
const GRAPH_COLUMNS: usize = 200;

/// A kind of work of which only the latest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum JobLane {
    Sessions,
    Log,
    Graph,
    Detail,
    Search,
    Action,
    Stamp,
}

/// Work.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// Sessions and the state of the current one.
    Sessions,
    /// The latest checkpoints of a session, at once.
    Log { session: String, limit: usize },
    /// The same as a graph, which has to read more.
    Graph { session: String, limit: usize },
    /// Output of a command.
    Detail { line: CommandLine, columns: usize },
    /// Lines that contain a text.
    Search { words: String },
    /// The plan of an action.
    Plan { request: ActionRequest, columns: usize },
    /// An action.
    Act { request: ActionRequest },
    /// Whether something changed.
    Stamp,
}

impl Job {
    fn lane(&self) -> JobLane {
        match self {
            Self::Sessions => JobLane::Sessions,
            Self::Log { .. } => JobLane::Log,
            Self::Graph { .. } => JobLane::Graph,
            Self::Detail { .. } => JobLane::Detail,
            Self::Search { .. } => JobLane::Search,
            Self::Plan { .. } | Self::Act { .. } => JobLane::Action,
            Self::Stamp => JobLane::Stamp,
        }
    }

    /// Words for the time that it takes; none where the user does not wait for it.
    fn title(&self) -> Option<&'static str> {
        match self {
            Self::Sessions => Some("Reading sessions"),
            Self::Log { .. } => Some("Reading checkpoints"),
            Self::Graph { .. } | Self::Stamp => None,
            Self::Detail { .. } => Some("Reading"),
            Self::Search { .. } => Some("Searching"),
            Self::Plan { .. } => Some("Planning"),
            Self::Act { .. } => Some("Working"),
        }
    }
}

/// A match of a search.
#[derive(Clone, Debug)]
pub(super) struct SearchHit {
    pub(super) session: String,
    pub(super) id: String,
    pub(super) part: String,
    pub(super) text: String,
}

/// How long a job takes whose result is waited for closely.
const QUICK: Duration = Duration::from_millis(300);

/// Result of a job.
#[derive(Debug)]
pub(super) enum JobResult {
    Sessions(Result<(Vec<SessionRow>, Option<IndicatorView>, Timestamp), CommandFailure>),
    Log {
        session: String,
        rows: Result<(Vec<LogRow>, bool), CommandFailure>,
    },
    Graph {
        session: String,
        run: TextRun,
    },
    Detail(TextRun),
    Search {
        words: String,
        hits: Result<Vec<SearchHit>, CommandFailure>,
    },
    Plan {
        request: ActionRequest,
        run: TextRun,
    },
    Act {
        run: TextRun,
    },
    Stamp(u64),
    /// Nothing came of it.
    Nothing,
}

/// Does a job.
pub(super) fn perform(source: &dyn ViewSource, job: Job, monitor: &CallMonitor) -> JobResult {
    match job {
        Job::Sessions => JobResult::Sessions(source.sessions().map(|(table, now)| {
            // A session that cannot be read at a glance is still listed.
            let indicator = source.indicator().ok().flatten();
            (table.sessions, indicator, now)
        })),
        Job::Log { session, limit } => {
            let rows = source.log(Some(&session), limit).map(|log| (log.checkpoints, log.more));
            JobResult::Log { session, rows }
        }
        Job::Graph { session, limit } => {
            let line = CommandLine::new("log")
                .flag("graph", true)
                .option("max-count", Some(limit));
            match line.selector(Some(&session)) {
                Ok(line) => JobResult::Graph {
                    run: source.text(&line, GRAPH_COLUMNS, monitor),
                    session,
                },
                Err(_) => JobResult::Nothing,
            }
        }
        Job::Detail { line, columns } => JobResult::Detail(source.text(&line, columns, monitor)),
        Job::Search { words } => {
            let line = CommandLine::new("search")
                .flag("fixed-strings", true)
                .flag("ignore-case", true)
                .option("max-count", Some(200))
                .operands([&words]);
            let run = source.run(&line, monitor);
            let hits = match run.failure {
                // 1: nothing matches.
                Some(failure) if failure.exit_code != 1 => Err(failure),
                _ => Ok(hits(&run.output)),
            };
            JobResult::Search { words, hits }
        }
        Job::Plan { mut request, columns } => {
            let Some(action) = Action::find(&request.action) else {
                return JobResult::Nothing;
            };
            let run = match action.planned(&request, source, columns, monitor) {
                Ok(Some(plan)) => {
                    request.plan = Some(plan.token);
                    plan.run
                }
                Ok(None) => TextRun {
                    text: Text::new(),
                    warnings: Vec::new(),
                    failure: None,
                },
                Err(message) => refused(message),
            };
            JobResult::Plan { request, run }
        }
        Job::Act { request } => {
            let Some(action) = Action::find(&request.action) else {
                return JobResult::Nothing;
            };
            let done = action.carried_out(&request, source, GRAPH_COLUMNS, monitor);
            JobResult::Act {
                run: done.unwrap_or_else(|refusal| refused(refusal.to_string())),
            }
        }
        Job::Stamp => source.stamp().map_or(JobResult::Nothing, JobResult::Stamp),
    }
}

/// Answer to a request that no command can be made of.
fn refused(message: String) -> TextRun {
    TextRun {
        text: Text::new(),
        warnings: Vec::new(),
        failure: Some(CommandFailure::new(FailureKind::Usage, "", message)),
    }
}

fn hits(output: &str) -> Vec<SearchHit> {
    let value: Value = serde_json::from_str(output).unwrap_or_default();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let rows = value["matches"].as_array().into_iter().flatten();
    rows.map(|row| SearchHit {
        session: text(row, "session"),
        id: text(row, "id"),
        part: text(row, "part"),
        text: text(row, "text"),
    })
    .collect()
}

/// A job at work.
struct RunningJob {
    lane: JobLane,
    number: u64,
    title: Option<&'static str>,
    begun: Instant,
    cancellation: Cancellation,
    progress: Arc<Mutex<String>>,
}

/// Runs jobs, each on a thread; of a lane only the latest.
pub(super) struct JobRunner {
    source: Arc<dyn ViewSource>,
    running: Vec<RunningJob>,
    number: u64,
    sender: Sender<(u64, JobResult)>,
    receiver: Receiver<(u64, JobResult)>,
}

impl JobRunner {
    /// Whether the result of a job may come at any moment: not of one that takes long.
    pub(super) fn is_quick(&self) -> bool {
        self.running.iter().any(|running| running.begun.elapsed() < QUICK)
    }

    pub(super) fn new(source: Arc<dyn ViewSource>) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            source,
            running: Vec::new(),
            number: 0,
            sender,
            receiver,
        }
    }

    /// Starts a job, in the place of the one before in its lane.
    pub(super) fn start(&mut self, job: Job) {
        let lane = job.lane();
        if lane == JobLane::Stamp && self.running.iter().any(|running| running.lane == lane) {
            return;
        }
        self.running.retain(|running| {
            let is_replaced = running.lane == lane;
            if is_replaced {
                running.cancellation.cancel();
            }
            !is_replaced
        });
        self.number += 1;
        let number = self.number;
        let progress = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&progress);
        let monitor = CallMonitor {
            progress: Some(Arc::new(move |title: &str, done: u64, total: Option<u64>| {
                let text = match total {
                    Some(total) => format!("{title} {done}/{total}"),
                    None => format!("{title} {done}"),
                };
                *shown.lock().unwrap_or_else(PoisonError::into_inner) = text;
            })),
            cancellation: Cancellation::default(),
        };
        self.running.push(RunningJob {
            lane,
            number,
            title: job.title(),
            begun: Instant::now(),
            cancellation: monitor.cancellation.clone(),
            progress,
        });
        let (source, sender) = (Arc::clone(&self.source), self.sender.clone());
        let spawned = std::thread::Builder::new().name("job".to_owned()).spawn(move || {
            // The screen may have ended meanwhile.
            let _ = sender.send((number, perform(source.as_ref(), job, &monitor)));
        });
        if spawned.is_err() {
            self.running.retain(|running| running.number != number);
        }
    }

    /// The next result that still counts.
    pub(super) fn next(&mut self) -> Option<JobResult> {
        loop {
            let (number, result) = self.receiver.try_recv().ok()?;
            let at = self.running.iter().position(|running| running.number == number);
            if let Some(at) = at {
                self.running.remove(at);
                return Some(result);
            }
        }
    }

    /// Words and duration of the job that has run for longest.
    pub(super) fn longest(&self) -> Option<(String, Instant)> {
        let waiting = self.running.iter().filter(|running| running.title.is_some());
        let longest = waiting.min_by_key(|running| running.begun)?;
        let progress = longest.progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = if progress.is_empty() {
            longest.title.unwrap_or_default().to_owned()
        } else {
            progress
        };
        Some((text, longest.begun))
    }

    /// Asks all jobs to stop. One that changes something stops only while it has changed nothing.
    pub(super) fn cancel(&mut self) {
        for running in &self.running {
            running.cancellation.cancel();
        }
        // The result of an action is wanted in any case.
        self.running.retain(|running| running.lane == JobLane::Action);
    }
}
