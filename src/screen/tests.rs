//! The interface without a terminal: keys in, screens out, jobs done at once by a source that notes the commands.

use std::sync::Mutex;

use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};

use super::{
    job::{self, Job, JobLane},
    state::ScreenState,
    style::Theme,
    *,
};
use crate::{
    model::{id::Oid, time::Timestamp},
    render::{
        indicator::IndicatorView,
        sessions::{CheckpointLog, LogRow, SessionRow, SessionTable},
        slot::Slot,
        text::{Text, TextLine},
    },
    serve::{CallMonitor, CommandFailure, CommandLine, CommandRun, CommandRunner, FailureKind, source::TextRun},
};

fn time() -> Timestamp {
    Timestamp::parse("2026-01-02T03:04:05Z").expect("a time")
}

fn id(number: usize) -> Oid {
    Oid::new(format!("{number:040x}")).expect("an id")
}

/// Two sessions with this many checkpoints.
struct NotingSource {
    count: usize,
    lines: Mutex<Vec<String>>,
}

impl NotingSource {
    fn new(count: usize) -> Self {
        Self {
            count,
            lines: Mutex::default(),
        }
    }

    fn note(&self, line: &CommandLine) -> String {
        let words: Vec<_> = line
            .words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let words = words.join(" ");
        self.lines.lock().expect("no panic").push(words.clone());
        words
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().expect("no panic"))
    }
}

impl CommandRunner for NotingSource {
    fn run(&self, line: &CommandLine, _: &CallMonitor) -> CommandRun {
        let words = self.note(line);
        let output = if words.starts_with("search") {
            serde_json::json!({ "matches": [
                { "session": "auth", "id": id(3), "part": "chat", "text": "a rate limit\u{1b}[31m" },
                { "session": "other", "id": id(9), "part": "record", "text": "\u{202e}limit" },
            ] })
        } else {
            serde_json::json!({ "plan_token": "token" })
        };
        CommandRun {
            exit_code: 0,
            output: output.to_string(),
            warnings: Vec::new(),
            failure: None,
        }
    }
}

impl ViewSource for NotingSource {
    fn text(&self, line: &CommandLine, _: usize, _: &CallMonitor) -> TextRun {
        let words = self.note(line);
        let mut text = Text::new();
        if words.starts_with("log --graph") {
            for number in (1..=self.count.min(200)).rev() {
                let line = TextLine::new()
                    .with(Slot::Graph, "o  ")
                    .with(Slot::Id, id(number).short());
                text.push(line.with(Slot::Plain, format!(" checkpoint {number}")));
                text.push(TextLine::new().with(Slot::Graph, "|"));
            }
        } else {
            text.push(TextLine::plain(format!("output of {words}")));
        }
        TextRun {
            text,
            warnings: Vec::new(),
            failure: words.contains("fork").then(|| CommandFailure {
                hints: vec!["choose another name".to_owned()],
                ..CommandFailure::new(FailureKind::Refused, "", "there is one")
            }),
        }
    }

    fn sessions(&self) -> Result<(SessionTable, Timestamp), CommandFailure> {
        let row = |name: &str, current| SessionRow {
            session: name.to_owned(),
            current,
            status: "active",
            id: Some(id(1)),
            at: Some(time()),
            summary: "\u{65e5}\u{672c}\u{8a9e} \u{5e9}\u{5dc}\u{5d5}\u{5dd}\u{202e}".to_owned(),
            author: "ana".to_owned(),
            ..SessionRow::default()
        };
        let table = SessionTable {
            sessions: vec![row("auth", true), row("\u{5e9}\u{5dc}-\u{65e5}\u{672c}", false)],
        };
        Ok((table, time()))
    }

    fn log(&self, selector: Option<&str>, limit: usize) -> Result<CheckpointLog, CommandFailure> {
        let row = |number| LogRow {
            kind: Some("save"),
            ..LogRow::new(id(number), time(), format!("checkpoint {number}"), "ana".to_owned())
        };
        Ok(CheckpointLog {
            session: selector.unwrap_or_default().to_owned(),
            checkpoints: (1..=self.count).rev().take(limit).map(row).collect(),
            forked_from: None,
            damage: None,
            more: self.count > limit,
        })
    }

    fn indicator(&self) -> Result<Option<IndicatorView>, CommandFailure> {
        Ok(None)
    }

    #[cfg(feature = "serve")]
    fn article(&self, _: &str) -> Result<String, CommandFailure> {
        unreachable!()
    }

    fn stamp(&self) -> Result<u64, CommandFailure> {
        Ok(1)
    }
}

/// The interface with its jobs done at once.
struct Driven {
    state: ScreenState,
    source: NotingSource,
    terminal: Terminal<TestBackend>,
}

impl Driven {
    fn new(width: u16, height: u16, count: usize) -> Self {
        let options = ScreenOptions {
            session: None,
            search: None,
            color: false,
            glyphs: Glyphs::Ascii,
        };
        let mut out = Self {
            state: ScreenState::new(&options),
            source: NotingSource::new(count),
            terminal: Terminal::new(TestBackend::new(width, height)).expect("memory"),
        };
        out.state.resize(width, height);
        out.settle();
        out
    }

    fn settle(&mut self) {
        loop {
            let jobs = self.state.take_jobs();
            if jobs.is_empty() {
                return;
            }
            for job in jobs {
                let result = job::perform(&self.source, job, &CallMonitor::default());
                self.state.done(result);
            }
        }
    }

    /// Presses keys, one a letter; `\n` is Enter, `\u{1b}` Esc.
    fn keys(&mut self, keys: &str) -> &mut Self {
        for letter in keys.chars() {
            let code = match letter {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                letter => KeyCode::Char(letter),
            };
            self.state.key(KeyEvent::new(code, KeyModifiers::NONE));
            self.settle();
        }
        self
    }

    fn screen(&mut self) -> String {
        let theme = Theme::new(false, Glyphs::Ascii);
        let state = &mut self.state;
        self.terminal
            .draw(|frame| view::draw(frame, state, theme))
            .expect("memory");
        let buffer = self.terminal.backend().buffer();
        let columns = usize::from(buffer.area.width);
        let cells: Vec<_> = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        let rows = cells.chunks(columns).map(|row| row.concat().trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn sessions_checkpoints_and_the_record_are_shown() {
    let mut driven = Driven::new(130, 24, 5);
    let screen = driven.screen();
    for part in [
        "@ auth",
        "checkpoint 5",
        "output of show 00000000",
        "1 Record",
        "q quit",
    ] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    driven.keys("2");
    assert!(driven.screen().contains("output of show --patch"));
    driven.keys("j4");
    assert_eq!(
        driven.source.taken().last().expect("a command"),
        "message show --full --at=00000000"
    );
}

#[test]
fn every_size_can_be_drawn() {
    for (width, height) in [(1, 1), (20, 4), (60, 15), (80, 24), (84, 10), (120, 40), (300, 90)] {
        let mut driven = Driven::new(width, height, 30);
        for keys in [
            "", "h", "?", "\u{1b}", "a", "\u{1b}", "l", "l", "G", "/", "x", "\n", "j", "\u{1b}", "r",
        ] {
            driven.keys(keys);
            let screen = driven.screen();
            assert_eq!(
                screen.lines().count().max(1),
                usize::from(height),
                "{width}x{height} {keys:?}"
            );
        }
    }
}

#[test]
fn little_room_still_shows_how_to_leave_and_the_part_that_was_asked_for() {
    let mut driven = Driven::new(60, 15, 5);
    let screen = driven.screen();
    let keys = screen.lines().last().expect("a line");
    assert!(
        keys.starts_with("Enter open") && keys.ends_with("? keys  q quit"),
        "{keys}"
    );
    driven.keys("4");
    let screen = driven.screen();
    assert!(
        screen.contains("4 Chat") && screen.contains("output of message show"),
        "{screen}"
    );
    let mut driven = Driven::new(20, 15, 5);
    assert_eq!(driven.screen().lines().last(), Some("? keys  q quit"));
}

#[test]
fn nothing_reads_on_next_to_a_box() {
    let mut driven = Driven::new(60, 15, 5);
    driven.keys("a");
    let screen = driven.screen();
    let rows: Vec<_> = screen.lines().collect();
    let rules = (0..rows.len()).filter(|at| rows[*at].contains("--------"));
    let rules: Vec<_> = rules.collect();
    assert_eq!(rules.len(), 2, "{screen}");
    for row in &rows[rules[0]..=rules[1]] {
        assert!(row.is_empty() || row.starts_with("  "), "{screen}");
        assert!(row.chars().skip(58).all(|letter| letter == ' '), "{screen}");
    }
}

#[test]
fn a_mark_leaves_the_graph_in_line() {
    let mut driven = Driven::new(80, 24, 5);
    driven.keys("mj");
    let screen = driven.screen();
    let columns: Vec<_> = screen.lines().filter_map(|line| line.find("o  ")).collect();
    assert!(screen.contains("* o  ") && columns.len() == 5, "{screen}");
    assert!(columns.iter().all(|column| *column == columns[0]), "{screen}");
}

#[test]
fn checkpoints_of_a_session_that_is_gone_are_not_shown() {
    let mut driven = Driven::new(80, 24, 5);
    assert!(driven.screen().contains("checkpoint 5"));
    driven
        .state
        .done(job::JobResult::Sessions(Ok((Vec::new(), None, time()))));
    driven.settle();
    assert!(!driven.screen().contains("checkpoint 5"));
    driven.keys("\n");
    assert!(driven.screen().contains("No session. Start one: git checkpoint save"));
}

#[test]
fn a_graph_that_comes_before_the_list_stays() {
    let mut driven = Driven::new(100, 30, 5);
    let is_graph = |driven: &Driven| driven.state.checkpoints.iter().any(|line| line.id.is_none());
    assert!(is_graph(&driven), "lines between the checkpoints");
    let list = Job::Log {
        session: "auth".to_owned(),
        limit: 10,
    };
    let late = job::perform(&driven.source, list, &CallMonitor::default());
    driven.state.done(late);
    assert!(is_graph(&driven), "the list came later");
}

#[test]
fn a_plan_is_shown_before_anything_is_done() {
    let mut driven = Driven::new(80, 24, 5);
    driven.source.taken();
    driven.keys("jr");
    let planned = driven.source.taken();
    assert!(
        planned
            .iter()
            .all(|line| line.starts_with("show") || line.contains("--dry-run")),
        "{planned:?}"
    );
    assert!(driven.screen().contains("output of restore"), "{}", driven.screen());
    driven.keys("\u{1b}");
    assert_eq!(driven.source.taken(), Vec::<String>::new());
    driven.keys("ry");
    let done = driven.source.taken();
    let restored: Vec<_> = done.iter().filter(|line| line.contains("--plan=token")).collect();
    assert_eq!(restored.len(), 1, "{done:?}");
    assert!(!restored[0].contains("--dry-run"));
}

#[test]
fn what_takes_something_away_needs_another_key_than_the_menu() {
    let mut driven = Driven::new(80, 24, 5);
    driven.keys("D");
    assert!(driven.screen().contains("y does it"), "{}", driven.screen());
    driven.source.taken();
    driven.keys("\n\n");
    assert_eq!(driven.source.taken(), Vec::<String>::new());
    driven.keys("y");
    let done = driven.source.taken();
    assert!(
        done.iter()
            .any(|line| line.starts_with("delete") && !line.contains("--dry-run")),
        "{done:?}"
    );
}

#[test]
fn a_refused_plan_cannot_be_carried_out() {
    let mut driven = Driven::new(80, 24, 5);
    driven.keys("ftry\n");
    let screen = driven.screen();
    assert!(
        screen.contains("there is one") && screen.contains("choose another name"),
        "{screen}"
    );
    driven.source.taken();
    driven.keys("y\n");
    assert_eq!(driven.source.taken(), Vec::<String>::new());
}

#[test]
fn a_search_follows_the_keys() {
    let mut driven = Driven::new(130, 24, 5);
    driven.keys("/li");
    let taken = driven.source.taken();
    assert!(taken.iter().any(|line| line.ends_with("-- l")) && taken.iter().any(|line| line.ends_with("-- li")));
    let screen = driven.screen();
    assert!(
        screen.contains("a rate limit\\x1b[31m") && screen.contains("2 matches"),
        "{screen}"
    );
    assert!(!screen.contains('\u{202e}') && !screen.contains('\u{1b}'));
    driven.keys("\nj");
    assert!(
        driven
            .source
            .taken()
            .last()
            .expect("a command")
            .ends_with(id(9).as_str())
    );
    driven.keys("\u{1b}");
    assert!(driven.screen().contains("checkpoint 5"));
}

#[test]
fn what_is_pasted_is_text_and_no_keys() {
    let mut driven = Driven::new(130, 24, 5);
    driven.state.paste("r\n\nyq");
    driven.settle();
    let acts = |driven: &Driven| driven.source.taken().iter().any(|line| line.starts_with("restore"));
    assert!(!acts(&driven) && !driven.state.has_ended());
    driven.keys("/");
    driven
        .state
        .paste(&format!("\n lim\u{1b}it\nq\n{}", "x".repeat(1 << 20)));
    driven.settle();
    let search = |driven: &Driven| {
        let taken = driven.source.taken();
        taken
            .into_iter()
            .rfind(|line| line.starts_with("search"))
            .expect("a search")
    };
    let last = search(&driven);
    assert!(
        last.ends_with("-- limit") && driven.screen().contains("2 matches"),
        "{last}"
    );
    driven.state.paste(&"y".repeat(1 << 20));
    driven.settle();
    assert!(search(&driven).len() < 2000);
    // Nor does it confirm what is shown.
    driven.keys("\u{1b}r");
    driven.source.taken();
    driven.state.paste("y\n\n");
    driven.settle();
    assert!(!acts(&driven));
    driven.keys("\u{1b}f");
    driven.state.paste("second\nthird");
    driven.settle();
    assert!(driven.screen().contains("second") && !driven.screen().contains("third"));
}

#[test]
fn the_end_of_the_list_asks_for_more() {
    let mut driven = Driven::new(80, 24, 10_000);
    driven.source.taken();
    driven.keys("G");
    let taken = driven.source.taken();
    assert!(taken.iter().any(|line| line.contains("--max-count=800")), "{taken:?}");
}

#[test]
fn only_the_latest_job_of_a_lane_counts() {
    let mut runner = JobRunner::new(Arc::new(NotingSource::new(1)));
    for number in 0..5 {
        runner.start(Job::Detail {
            line: CommandLine::new("show").operands([&number.to_string()]),
            columns: 80,
        });
    }
    let begun = Instant::now();
    let mut results = Vec::new();
    while begun.elapsed() < Duration::from_secs(20) && (results.is_empty() || runner.longest().is_some()) {
        results.extend(runner.next());
    }
    assert_eq!(results.len(), 1);
    assert!(format!("{:?}", results[0]).contains("-- 4"), "{results:?}");
    assert_ne!(JobLane::Detail, JobLane::Search);
}

#[test]
fn nothing_that_is_said_is_cut_on_a_small_screen() {
    let failure = |message: &str, hints: &[&str]| CommandFailure {
        hints: hints.iter().map(|hint| (*hint).to_owned()).collect(),
        ..CommandFailure::new(FailureKind::Refused, "", message)
    };
    // The panes go on at the sides of a box.
    let words = |screen: &str, side: usize| {
        let within = |row: &str| row.chars().skip(side).take(60 - 2 * side).collect::<String>();
        let rows: Vec<_> = screen.lines().map(within).collect();
        let words: Vec<_> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
        words.join(" ")
    };
    let stale = "something changed since the plan was shown; look at the new plan";
    let mut driven = Driven::new(60, 15, 5);
    let act = |failure: CommandFailure| job::JobResult::Act {
        run: TextRun {
            text: Text::new(),
            warnings: vec!["a warning\n  of two lines".to_owned()],
            failure: Some(failure),
        },
    };
    driven.state.done(act(failure(stale, &["one hint\nand another"])));
    let screen = driven.screen();
    assert!(words(&screen, 4).contains(stale), "{screen}");
    for part in [
        "Not done",
        "a warning",
        "of two lines",
        "hint: one hint",
        "hint: and another",
    ] {
        assert!(screen.contains(part) && !screen.contains("\\n"), "{part}: {screen}");
    }
    // What does not fit is scrolled to.
    let hints: Vec<String> = (0..30).map(|n| format!("hint number {n}")).collect();
    let hints: Vec<&str> = hints.iter().map(String::as_str).collect();
    driven.state.done(act(failure("many", &hints)));
    let mut seen = driven.screen();
    assert!(seen.contains("Down shows more"), "{seen}");
    for _ in 0..40 {
        driven.keys("j");
        seen.push_str(&driven.screen());
    }
    for hint in &hints {
        assert!(seen.contains(hint), "{hint}");
    }
    assert!(seen.ends_with(&driven.screen()) && driven.screen().contains("Up shows more"));
    driven.keys("\u{1b}");
    // A message takes as many lines as it needs.
    driven.state.done(job::JobResult::Sessions(Err(failure(
        &format!("{stale}; {stale}"),
        &[],
    ))));
    let screen = driven.screen();
    assert!(words(&screen, 0).contains(&format!("{stale}; {stale}")), "{screen}");
    // So do the words of an action in the menu, and the keys.
    driven.keys("a");
    let screen = driven.screen();
    assert!(screen.contains("Saves the record, the chat and the files."), "{screen}");
    let mut seen = driven.keys("\u{1b}?").screen();
    for _ in 0..20 {
        driven.keys("j");
        seen.push_str(&driven.screen());
    }
    for words in ["next pane", "push the session", "quit"] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
}
