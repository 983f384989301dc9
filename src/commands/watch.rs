//! `watch`: an autosave at every interval, until a signal or a limit ends it.
//!
//! The repository is opened anew each time: what a long-lived handle remembers may be gone, and that it vanished is
//! noticed so. Between two looks only flags are read; a look where nothing was reported reads no files
//! (`ops::autosave_loop`). A look that takes long makes the interval longer, so that watching costs less than a hundredth
//! of a processor. A thread answers other commands that ask which directories changed (`ops::watch_answers`).

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{
    Context,
    error::{CommandError, FailureKind},
    export,
    opening::{self, IdentityArgs, OpenedRepository},
};
use crate::{
    model::document::CheckpointKind,
    ops::{
        autosave::{self, AutosaveOutcome},
        autosave_loop::{Lookout, Way},
        save,
    },
    os::{self, interrupt::Ending},
    render::{
        age,
        count::CountedNoun,
        watch::{OnceResult, WatchTimes, WatchView},
    },
    store::{
        self,
        checkpoint::oid,
        watch::{self, WatchAutosave, WatchFailure, WatcherEnd, WatcherState},
    },
};

/// The time between two looks at the flags.
const PAUSE: Duration = Duration::from_millis(200);
/// The share of a processor that watching may take is one in this many.
const SHARE: u32 = 100;

/// Autosave periodically for crash recovery
///
/// An autosave has the content of a save but adds no checkpoint to the session. If nothing changed, nothing is saved.
/// After a crash 'git checkpoint resume' finds the latest autosave automatically, and 'session@{10 minutes ago}'
/// selects earlier ones. Without a current session one is resumed or started.
///
/// If the system reports changes (Linux, local disks, up to 65,536 directories), files are scanned only after a change,
/// and all of them every fifth time in any case. '-v' shows the reason.
///
/// While it runs, other commands in this working tree ask it which directories changed, and scan only those; '-v' says
/// in how many. They scan all files when it is not certain: after a change of the index or of settings, after a directory
/// was moved, when reports were lost, where files have several names or there are nested repositories. A directory is
/// scanned as long as a file in it is open for writing, or may be.
///
/// The system does not report what is written through a name of a file in an ignored directory or outside of the working
/// tree (a hard link), by an NFS server, or through a file that a process of another user, or of a container, opened in a
/// way that reports do not show: before the watcher started, twice at a time, or under another name. The same goes for a
/// loop device whose file /sys does not show. The scan of all files every fifth time finds that.
/// 'git config checkpoint.watcher off' makes all commands scan all files.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  In a separate terminal, until Ctrl-C, with a final save:
    git checkpoint watch
  As long as an agent runs:
    git checkpoint watch --interval 1m --until-exit $AGENT_PID &
  From your own scheduler:
    git checkpoint watch --once --quiet")]
pub(super) struct Args {
    /// The time between two saves, such as 30s or 5m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = store::config::span)]
    interval: Duration,
    /// End, after a last save, when this process has ended
    #[arg(long, value_name = "PID")]
    until_exit: Option<u32>,
    /// Save once, if anything changed, and end
    #[arg(long, conflicts_with = "until_exit")]
    once: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    if args.once {
        return once(context, &opened);
    }
    if args.interval < Duration::from_secs(1) {
        return Err(CommandError::new(
            FailureKind::Usage,
            "the interval must be a second or longer",
        ));
    }
    let process = args.until_exit.map(process).transpose()?;
    let scene = opened.scene();
    let Some(_held) = watch::hold(scene.repo)? else {
        return Err(already(&opened));
    };
    let ending = Ending::new()
        .map_err(|e| CommandError::new(FailureKind::Fatal, format!("cannot hold signals: {}", os::reason(&e))))?;
    let session = ensure_session(&opened)?;
    let mut watcher = WatchLoop {
        context,
        whom: &args.whom,
        started: Instant::now(),
        interval: args.interval,
        places: vec![
            context.env.cwd.clone(),
            store::work_tree(scene.repo)?.to_owned(),
            store::git_dir(scene.repo).join("HEAD"),
            store::private_path(scene.repo),
        ],
        told: false,
        state: WatcherState {
            process: os::own_process(),
            host: scene.host.to_owned(),
            since: scene.now,
            interval: millis(args.interval),
            real_interval: millis(args.interval),
            session: None,
            tip: None,
            looked: None,
            saved: None,
            failure: None,
            ended: None,
        },
        counts: WatchCounts::default(),
        lookout: Lookout::new(),
    };
    watcher.lookout.answer_others(&scene)?;
    watcher.say(&format!(
        "watching session {session}: autosaves every {}; press Ctrl-C to stop",
        seconds(args.interval)
    ));
    drop(opened);
    let ended = watcher.until(&ending, process.as_ref());
    watcher.report(ended)
}

/// The process to wait for.
pub(super) fn process(id: u32) -> Result<os::ProcessHandle, CommandError> {
    match os::ProcessHandle::find(id) {
        Ok(Some(process)) => Ok(process),
        Ok(None) => Err(CommandError::new(
            FailureKind::NotFound,
            format!("there is no process {id}"),
        )),
        Err(_) => Err(CommandError::new(
            FailureKind::Fatal,
            "this system cannot check whether a process is running",
        )),
    }
}

fn already(opened: &OpenedRepository) -> CommandError {
    let process = match watch::here(opened.scene().repo) {
        Ok(Some(watch::Watcher::Alive(Some(state)))) => format!(", process {}", state.process),
        _ => String::new(),
    };
    CommandError::new(
        FailureKind::Locked,
        format!("this working tree is already watched{process}"),
    )
    .hint("one watcher is enough; see its state: git checkpoint status")
}

/// A session to save to: the current one, else what a save would take up or start. Gives its name.
fn ensure_session(opened: &OpenedRepository) -> Result<String, CommandError> {
    let scene = opened.scene();
    if let Some(name) = autosave::session(&scene)? {
        return Ok(name.to_string());
    }
    let mut request = save::SaveRequest::new(CheckpointKind::Event);
    request.trigger = Some("watch".to_owned());
    let outcome = save::save(&scene, request)?;
    Ok(outcome.receipt().session.to_string())
}

fn once(context: &Context, opened: &OpenedRepository) -> Result<(), CommandError> {
    let outcome = autosave::autosave(&opened.scene())?;
    if let AutosaveOutcome::Saved(made) = &outcome {
        for trouble in export::after_autosave(&opened.scene(), made.id) {
            context.ui.warning(&trouble);
        }
    }
    let (word, made) = match &outcome {
        AutosaveOutcome::Saved(made) => ("saved", Some(made)),
        AutosaveOutcome::Unchanged(made) => ("unchanged", Some(made)),
        AutosaveOutcome::NoSession => ("no-session", None),
    };
    if let Some(made) = made {
        for trouble in &made.trouble {
            context.ui.warning(&format!("saved, but: {trouble}"));
        }
    }
    context.ui.report(&WatchView {
        ended: "once",
        session: made.map(|made| made.session.name.as_str()),
        autosaves: u64::from(word == "saved"),
        unchanged: u64::from(word == "unchanged"),
        without_session: u64::from(made.is_none()),
        once: Some(OnceResult {
            outcome: word,
            id: made.map(|made| oid(made.id)),
            partial: made.is_some_and(|made| made.failed > 0),
            new_bytes: made.map(|made| made.new_bytes),
        }),
        ..WatchView::default()
    })?;
    if made.is_none() {
        context
            .ui
            .hint("NoSession", "start one: git checkpoint start, or: git checkpoint save");
    }
    if made.is_some_and(|made| made.failed > 0) {
        return Err(CommandError::silent(FailureKind::Partial));
    }
    Ok(())
}

#[derive(Debug, Default)]
struct WatchCounts {
    saved: u64,
    unchanged: u64,
    idle: u64,
    failed: u64,
}

/// The reason for the end of a watch.
#[derive(Debug)]
enum WatchEnd {
    Signal(&'static str),
    Process,
    Vanished(CommandError),
}

struct WatchLoop<'a> {
    context: &'a Context,
    whom: &'a IdentityArgs,
    started: Instant,
    interval: Duration,
    /// Where the working tree, its git directory and that of the repository are.
    places: Vec<PathBuf>,
    /// Whether it was said that the interval is longer than asked for.
    told: bool,
    state: WatcherState,
    counts: WatchCounts,
    lookout: Lookout,
}

impl WatchLoop<'_> {
    /// Saves until something ends it, and a last time then.
    fn until(&mut self, ending: &Ending, process: Option<&os::ProcessHandle>) -> WatchEnd {
        let ended = || match ending.asked() {
            Some(signal) => Some(WatchEnd::Signal(signal)),
            None => process.filter(|process| !process.is_alive()).map(|_| WatchEnd::Process),
        };
        loop {
            let begun = Instant::now();
            if let Err(vanished) = self.look(None) {
                return WatchEnd::Vanished(vanished);
            }
            let real = self.real_interval(begun.elapsed());
            if real > self.interval * 2 && !self.told {
                self.told = true;
                self.say(&format!(
                    "scanning is slow here: autosaving every {} instead",
                    seconds(real)
                ));
            }
            self.state.real_interval = millis(real);
            self.note();
            while begun.elapsed() < real {
                if let Some(end) = ended() {
                    let how = match &end {
                        WatchEnd::Process => WatcherEnd::Process,
                        _ => WatcherEnd::Asked,
                    };
                    return match self.look(Some(how)) {
                        Ok(()) => end,
                        Err(vanished) => WatchEnd::Vanished(vanished),
                    };
                }
                std::thread::sleep(PAUSE.min(real.saturating_sub(begun.elapsed())));
            }
        }
    }

    /// The time from one look to the next: as asked for, but so long that no more of a processor is used than allowed.
    fn real_interval(&self, took: Duration) -> Duration {
        let cost = match os::processor_time() {
            Some(all) => (all * SHARE).saturating_sub(self.started.elapsed()),
            None => took * SHARE,
        };
        self.interval.max(cost)
    }

    /// Saves what changed and notes how it went. An error means that there is nothing to save to any more.
    fn look(&mut self, ended: Option<WatcherEnd>) -> Result<(), CommandError> {
        let now = self.context.env.later();
        let opened = match opening::at(&self.context.env, self.whom, now) {
            Ok(opened) => opened,
            // Out of memory or file handles is no reason to give up; that there is no repository is.
            Err(error) if self.has_vanished() => return Err(error),
            Err(error) => {
                self.failed(error.message().to_owned(), now);
                return Ok(());
            }
        };
        let scene = opened.scene();
        let begun = Instant::now();
        match self.lookout.turn(&scene, ended.is_some()) {
            Ok((outcome, way)) => {
                trace_turn(way, begun.elapsed());
                if let AutosaveOutcome::Saved(made) = &outcome {
                    // A file that cannot be written is reported by the next save of a person.
                    let _ = export::after_autosave(&scene, made.id);
                }
                if let Some(failure) = self.state.failure.take() {
                    let times = CountedNoun::new(usize::try_from(failure.times).unwrap_or(usize::MAX), "failure");
                    self.say(&format!("saving works again, after {times}"));
                    // The log is for people; that it cannot be written is no failure to save.
                    let _ = autosave::log(&scene, "info", format!("autosave works again after {times}"));
                }
                self.worked(&outcome, now);
            }
            Err(error) if self.has_vanished() => return Err(error.into()),
            Err(error) => {
                let message = error.to_string();
                if self.state.failure.is_none() {
                    let _ = autosave::log(&scene, "error", format!("autosave failed: {message}"));
                }
                self.failed(message, now);
            }
        }
        self.state.looked = Some(now);
        self.state.ended = ended;
        // On a full disk this fails as well; the lock shows that we are gone.
        let _ = watch::write(scene.repo, &self.state);
        Ok(())
    }

    /// Whether the working tree or the repository is gone.
    fn has_vanished(&self) -> bool {
        self.places.iter().any(|place| !place.exists())
    }

    fn worked(&mut self, outcome: &AutosaveOutcome, now: crate::model::time::Timestamp) {
        let made = match outcome {
            AutosaveOutcome::NoSession => {
                self.counts.idle += 1;
                self.state.session = None;
                self.state.tip = None;
                return;
            }
            AutosaveOutcome::Unchanged(made) => {
                self.counts.unchanged += 1;
                made
            }
            AutosaveOutcome::Saved(made) => {
                self.counts.saved += 1;
                self.state.saved = Some(WatchAutosave {
                    id: oid(made.id),
                    at: now,
                });
                made
            }
        };
        for trouble in &made.trouble {
            self.context.ui.warning(&format!("saved, but: {trouble}"));
        }
        self.state.session = Some(made.session.clone());
        self.state.tip = Some(oid(made.tip));
    }

    fn failed(&mut self, message: String, now: crate::model::time::Timestamp) {
        self.counts.failed += 1;
        if let Some(failure) = &mut self.state.failure {
            failure.times += 1;
            failure.message = message;
            return;
        }
        let text = format!("cannot save now: {message}; trying again");
        self.context.ui.warning(&text);
        self.state.failure = Some(WatchFailure {
            since: now,
            times: 1,
            message,
        });
    }

    fn note(&self) {
        if let Ok(opened) = opening::at(&self.context.env, self.whom, self.context.env.later()) {
            let _ = watch::write(opened.scene().repo, &self.state);
        }
    }

    fn say(&self, text: &str) {
        self.context.ui.status(text);
    }

    fn report(self, end: WatchEnd) -> Result<(), CommandError> {
        let WatchCounts {
            saved,
            unchanged,
            idle,
            failed,
        } = self.counts;
        let why = match &end {
            WatchEnd::Signal(signal) => *signal,
            WatchEnd::Process => "process-ended",
            WatchEnd::Vanished(_) => "vanished",
        };
        self.context.ui.report(&WatchView {
            ended: why,
            session: self.state.session.as_ref().map(|session| session.name.as_str()),
            autosaves: saved,
            unchanged,
            without_session: idle,
            failures: failed,
            times: Some(WatchTimes {
                interval_ms: self.state.interval,
                real_interval_ms: self.state.real_interval,
                last: self.state.saved.as_ref(),
                seconds: self.started.elapsed().as_secs(),
            }),
            once: None,
        })?;
        match (end, self.state.failure) {
            (WatchEnd::Vanished(error), _) => Err(error.hint("the repository is missing: watching has ended")),
            (_, Some(failure)) => Err(CommandError::new(
                FailureKind::Fatal,
                format!("the last save failed: {}", failure.message),
            )),
            _ => Ok(()),
        }
    }
}

/// Traces one turn of the loop for `--verbose`.
fn trace_turn(way: Way, took: Duration) {
    let took = took.as_secs_f64() * 1000.0;
    os::trace::say(1, || match way {
        Way::Skipped => format!("files not scanned, as no change was reported: {took:.1} ms"),
        Way::Looked(why) => format!("scanned files, as {why}: {took:.1} ms"),
    });
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 && time.as_secs() < 120 {
        format!("{} s", time.as_secs())
    } else {
        age::duration(time.as_secs())
    }
}
