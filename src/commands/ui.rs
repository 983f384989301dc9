//! The one place that writes to the streams: data and receipts on standard output; messages, hints, progress and
//! questions on standard error. It decides on color, glyphs, width and the pager, by git's rules.
//!
//! Everything for people goes through `render::text`, which escapes what a repository could smuggle in; bytes for
//! programs stay as they are unless they would end on a terminal. Methods do not fail: a failure of standard output is
//! kept and reported once by [`Ui::finish`], and long work can look at [`Ui::is_closed`].

mod color;
mod message;
mod pager;
mod pen;
mod progress;
mod question;
mod sink;

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

pub use color::ColorChoice;
pub use pen::{Pen, StyledText};
pub use progress::{ProgressLine, TraceProgress};
pub use sink::{CapturedOutput, Streams};

use self::color::Palette;
use self::pager::Pager;
use self::progress::ProgressStyle;
use self::sink::{Sink, WriteFailure};
use super::environment::{Environment, Terminals, boolean};
use super::error::{CommandError, FailureKind};
use crate::os::reason;
use crate::render::escape;
use crate::render::slot::{Glyphs, Slot};
use crate::render::text::{DrawnLine as _, Text, TextLine};
use crate::serve::ProgressReceiver;
use crate::store::hints::Hints;

/// Columns when the width is unknown.
const WIDTH: usize = 80;

/// Seconds before progress is shown, as in git.
const PROGRESS_DELAY: u64 = 1;

/// Output options of the command line.
#[derive(Clone, Debug, Default)]
pub struct OutputOptions {
    /// `--color[=when]`.
    pub color: Option<ColorChoice>,
    /// `--no-pager`.
    pub no_pager: bool,
    /// `--progress` and `--no-progress`.
    pub progress: Option<bool>,
    /// `--quiet`, counted: once no receipts, hints, status and progress; twice no warnings either.
    pub quiet: u8,
    /// `--verbose`, counted.
    pub verbose: u8,
    /// `--json`: standard output is for a program, and messages are JSON lines.
    pub json: bool,
    /// `--json=lines`: one object a line where something is listed; [`json`](Self::json) is set as well.
    pub lines: bool,
    /// `--advice` and `--no-advice`.
    pub advice: Option<bool>,
}

/// Settings by their full name, such as `color.ui`.
type Lookup = Box<dyn Fn(&str) -> Option<String> + Send>;

/// The streams for a command's words.
pub struct Ui {
    env: Environment,
    options: OutputOptions,
    settings: Lookup,
    /// The hints that were given in this repository; `None` outside of one.
    hints: Option<Hints>,
    sink: Sink,
    /// The beginning of what went to standard output: what to say elsewhere if that fails.
    told: OnceLock<String>,
    palette: Palette,
    color_output: bool,
    color_error: bool,
    paging: bool,
    /// Receives progress instead of the terminal.
    receiver: Option<ProgressReceiver>,
    /// Receives the lines of standard output with their slots instead of the stream.
    gathered: Option<Arc<Mutex<Text>>>,
}

impl Ui {
    /// Before any setting is known: what the environment and the command line say.
    pub fn new(env: &Environment, options: OutputOptions, streams: Streams) -> Self {
        let mut out = Self {
            env: env.clone(),
            options,
            settings: Box::new(|_| None),
            hints: None,
            sink: Sink::new(streams),
            told: OnceLock::new(),
            palette: Palette::new(),
            color_output: false,
            color_error: false,
            paging: false,
            receiver: None,
            gathered: None,
        };
        out.decide_color();
        out
    }

    /// Hands progress to a receiver from now on.
    pub fn report_progress(&mut self, receiver: Option<ProgressReceiver>) {
        self.receiver = receiver;
    }

    /// Hands the lines of standard output to a front end from now on, as a person would read them.
    pub fn gather(&mut self, lines: Arc<Mutex<Text>>) {
        self.gathered = Some(lines);
    }

    /// Takes git's settings into account; `settings` gives the value of a full name (`color.checkpoint.id`) as text.
    /// Returns a message for each value that means nothing; it is then as if it were not set.
    pub fn configure(&mut self, settings: impl Fn(&str) -> Option<String> + Send + 'static) -> Vec<String> {
        self.settings = Box::new(settings);
        let mut problems = Vec::new();
        for slot in Slot::ALL {
            let name = format!("color.checkpoint.{}", slot.key());
            if let Some(spec) = (self.settings)(&name)
                && self.palette.set(slot, &spec).is_none()
            {
                problems.push(format!("'{spec}' is no color ('{name}')"));
            }
        }
        for name in ["color.checkpoint", "color.ui"] {
            if let Some(value) = (self.settings)(name)
                && ColorChoice::parse(&value).is_none()
            {
                problems.push(format!("'{value}' is not one of always, never, auto ('{name}')"));
            }
        }
        if let Some(value) = (self.settings)("checkpoint.graph")
            && !matches!(value.as_str(), "ascii" | "unicode" | "auto")
        {
            problems.push(format!(
                "'{value}' is not one of ascii, unicode, auto ('checkpoint.graph')"
            ));
        }
        self.decide_color();
        problems
    }

    /// Takes the record of the hints that were given in the repository: each kind is given once.
    pub fn remember_hints(&mut self, hints: Hints) {
        self.hints = Some(hints);
    }

    fn decide_color(&mut self) {
        let (checkpoint, ui) = ((self.settings)("color.checkpoint"), (self.settings)("color.ui"));
        let decide = |on_terminal| {
            color::decide(
                self.options.color,
                &self.env,
                checkpoint.as_deref(),
                ui.as_deref(),
                on_terminal,
            )
        };
        let paged = self.paging || self.inside_pager();
        let pager_shows = (self.settings)("color.pager").and_then(|v| boolean(&v)).unwrap_or(true);
        let color_output = decide(if paged { pager_shows } else { self.env.terminals.output });
        // Inside git's own pager standard error is no terminal either.
        let color_error = if self.paging && self.env.terminals.error {
            color_output
        } else {
            decide(self.env.terminals.error)
        };
        (self.color_output, self.color_error) = (color_output, color_error);
    }

    /// Whether git started a pager around this command.
    fn inside_pager(&self) -> bool {
        self.env.flag("GIT_PAGER_IN_USE") == Some(true)
    }

    /// Sends what follows through the pager, if there is to be one. For commands that show much, before their first
    /// output.
    pub fn page(&mut self) {
        let wanted = self.env.terminals.output
            && !self.options.no_pager
            && !self.options.json
            && !self.paging
            && !self.inside_pager()
            && (self.settings)("pager.checkpoint").and_then(|v| boolean(&v)) != Some(false);
        if !wanted {
            return;
        }
        let Some(command) = pager::choose(
            &self.env,
            (self.settings)("checkpoint.pager"),
            (self.settings)("core.pager"),
        ) else {
            return;
        };
        match Pager::start(&command, &self.env) {
            Ok(pager) => {
                self.sink.page(pager, self.env.terminals.error);
                self.paging = true;
                self.decide_color();
            }
            Err(error) => self.warning(&format!(
                "cannot run the pager '{}': {}",
                command.display(),
                reason(&error)
            )),
        }
    }

    /// Writes what is left and waits for the pager. The last thing a command does.
    ///
    /// # Errors
    /// When standard output failed: [`FailureKind::BrokenPipe`] without words when its reader left (a pager may be left),
    /// else [`FailureKind::Fatal`].
    pub fn finish(&mut self) -> Result<(), CommandError> {
        let failure = self.sink.finish();
        self.paging = false;
        self.decide_color();
        match failure {
            None => Ok(()),
            Some(WriteFailure::ReaderGone) => Err(CommandError::silent(FailureKind::BrokenPipe)),
            Some(WriteFailure::Other(error)) => Err(CommandError::new(
                FailureKind::Fatal,
                format!("cannot write to standard output: {}", reason(&error)),
            )),
        }
    }

    /// First line of the receipt of a changing command, for when the receipt could not be written.
    pub fn lost(&self) -> Option<String> {
        let told = self.told.get()?;
        if !self.options.json {
            return Some(told.trim_end().to_owned());
        }
        let receipt: serde_json::Value = serde_json::from_str(told).ok()?;
        let id = receipt["id"].as_str()?;
        let session = receipt["session"].as_str();
        Some(session.map_or_else(|| id.to_owned(), |session| format!("{id} of session '{session}'")))
    }

    /// Whether standard output has no reader any more, or the user stopped the pager: more output is useless.
    pub fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }

    /// Writes requested data to standard output. On a terminal long lines are broken at spaces.
    pub fn data(&self, text: impl Into<Text>) {
        text.into().lines().iter().for_each(|line| self.data_line(line));
    }

    /// A line of it, where there are too many to gather them first.
    pub fn data_line(&self, line: &TextLine) {
        let columns = self.table_width();
        if columns < WIDTH {
            line.folded(columns).iter().for_each(|line| self.line(line));
        } else if line.width() > columns {
            line.folded_row(columns).iter().for_each(|line| self.line(line));
        } else {
            self.line(line);
        }
    }

    /// The same for lines that must stay whole, those of a patch.
    pub fn verbatim(&self, text: &Text) {
        text.lines().iter().for_each(|line| self.line(line));
    }

    fn line(&self, line: &TextLine) {
        if let Some(lines) = &self.gathered {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
            return;
        }
        self.told.get_or_init(|| line.text().to_owned());
        self.sink.output((self.styled(line, false) + "\n").as_bytes());
    }

    /// Bytes on standard output exactly as they are, for programs; escaped where they would end on a terminal.
    pub fn bytes(&self, bytes: &[u8]) {
        if self.gathered.is_some() {
            let text = Text::block(&String::from_utf8_lossy(bytes));
            text.lines().iter().for_each(|line| self.line(line));
            return;
        }
        if self.env.terminals.output || self.inside_pager() {
            self.sink.output(escape::block_bytes(bytes).as_bytes());
        } else {
            self.sink.output(bytes);
        }
    }

    /// Passes on what a command that we run for the user prints, as it is and at once: it is theirs, not a
    /// repository's. With `--json` all of it goes to standard error. Returns whether the reader is still there.
    pub fn pass(&self, to_error: bool, bytes: &[u8]) -> bool {
        self.sink.pass(to_error || self.options.json, bytes)
    }

    /// Starts to show how far a job is. `title` is like `Reading files`. May be called from any thread.
    pub fn progress(&self, title: &str, total: Option<u64>) -> ProgressLine {
        if let Some(receiver) = &self.receiver {
            return ProgressLine::received(self.sink.clone(), receiver.clone(), title, total);
        }
        let terminal = self.env.terminals.error && !self.paging;
        let wanted = self.options.progress.unwrap_or(terminal) && self.options.quiet == 0 && !self.options.json;
        let style = match (wanted, terminal && !self.env.is_plain()) {
            (false, _) => ProgressStyle::Off,
            (true, true) => ProgressStyle::Redraw,
            (true, false) => ProgressStyle::Lines,
        };
        let delay = self
            .env
            .text("GIT_PROGRESS_DELAY")
            .and_then(|s| s.parse().ok())
            .unwrap_or(PROGRESS_DELAY);
        ProgressLine::new(
            self.sink.clone(),
            style,
            title,
            total,
            self.width(),
            Duration::from_secs(delay),
        )
    }

    /// The same for work that knows of no terminal: what it counts is shown while the result lives.
    pub fn counting(&self, title: &str) -> TraceProgress {
        TraceProgress::start(self.progress(title, None))
    }

    /// The name of something on standard input, in messages. Who calls a front end gave it and no stream.
    pub fn input_name(&self, what: &str) -> String {
        if self.env.is_resident {
            what.to_owned()
        } else {
            format!("{what} on standard input")
        }
    }

    /// All of standard input, for an argument `-`. `what` names it in messages; more than `limit` bytes are refused.
    ///
    /// # Errors
    /// [`FailureKind::Invalid`] when there is too much, [`FailureKind::Fatal`] when it cannot be read,
    /// [`FailureKind::Usage`] when the request of a front end has none.
    pub fn read_input(&self, what: &str, limit: u64) -> Result<Vec<u8>, CommandError> {
        if self.env.is_resident && self.env.is_without_input {
            let message = format!("{what} is to be read from the input, and the request has none");
            return Err(CommandError::new(FailureKind::Usage, message).hint("give it as 'input' of the request"));
        }
        if self.env.terminals.input {
            self.status(format!("reading {what} from the terminal; end with Ctrl-D"));
        }
        let bytes = self.sink.read_all(limit).map_err(|error| {
            CommandError::new(
                FailureKind::Fatal,
                format!("cannot read {}: {}", self.input_name(what), reason(&error)),
            )
        })?;
        if bytes.len() as u64 > limit {
            return Err(CommandError::new(
                FailureKind::Invalid,
                format!("{} is larger than {limit} bytes", self.input_name(what)),
            ));
        }
        Ok(bytes)
    }

    /// Columns to fill: `COLUMNS`, the terminal's, else 80.
    pub fn width(&self) -> usize {
        if let (Some(columns), true) = (self.env.terminals.columns, self.gathered.is_some()) {
            return columns.into();
        }
        let given = self
            .env
            .text("COLUMNS")
            .and_then(|c| c.trim().parse().ok())
            .filter(|&c: &usize| c > 0);
        given.or(self.env.terminals.columns.map(usize::from)).unwrap_or(WIDTH)
    }

    /// Columns for tables: as [`width`](Self::width) where a person reads; in a pipe nothing is cut.
    pub fn table_width(&self) -> usize {
        if self.for_people() { self.width() } else { usize::MAX }
    }

    /// Whether standard output is read by a person: a terminal, directly or through a pager. Otherwise dates are
    /// written in full.
    pub fn for_people(&self) -> bool {
        self.env.terminals.output || self.inside_pager() || self.gathered.is_some()
    }

    /// The characters for graphs: `checkpoint.graph`; by default box drawing where the terminal and the locale can.
    pub fn glyphs(&self) -> Glyphs {
        match (self.settings)("checkpoint.graph").as_deref() {
            Some("ascii") => Glyphs::Ascii,
            Some("unicode") => Glyphs::Unicode,
            _ if self.for_people() && self.env.is_utf8() && !self.env.is_plain() => Glyphs::Unicode,
            _ => Glyphs::Ascii,
        }
    }

    /// Whether standard output gets colors.
    pub fn colors_output(&self) -> bool {
        self.color_output
    }

    /// Which streams are terminals.
    pub fn terminals(&self) -> Terminals {
        self.env.terminals
    }

    /// The options of the command line.
    pub fn options(&self) -> &OutputOptions {
        &self.options
    }

    fn environment(&self) -> &Environment {
        &self.env
    }

    fn sink(&self) -> &Sink {
        &self.sink
    }

    fn write_error(&self, text: &str) {
        self.sink.error(text.as_bytes());
    }

    /// A line with the colors of its slots, if there is to be color on that stream.
    fn styled(&self, line: &TextLine, on_error: bool) -> String {
        let colored = if on_error { self.color_error } else { self.color_output };
        let mut out = StyledText::new(colored.then_some(&self.palette));
        out.text.reserve(line.text().len() + 1);
        line.spans().for_each(|span| out.put(span.slot(), span.text()));
        out.close();
        out.text
    }

    /// What lines of data are drawn with, also by other threads, before they are written with [`drawn`](Self::drawn);
    /// `None` where each has to be handed to [`data_line`](Self::data_line).
    pub fn pen(&self) -> Option<Pen<'_>> {
        let as_they_are = self.gathered.is_none() && self.table_width() >= WIDTH;
        as_they_are.then_some(Pen(self.color_output.then_some(&self.palette)))
    }

    /// Writes lines that were drawn.
    pub fn drawn(&self, lines: &StyledText<'_>) {
        self.sink.output(lines.text.as_bytes());
    }
}

impl std::fmt::Debug for Ui {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ui")
            .field("options", &self.options)
            .field("paging", &self.paging)
            .finish_non_exhaustive()
    }
}
