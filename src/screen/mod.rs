//! The terminal interface: sessions, checkpoints and one checkpoint, with actions that are commands.
//!
//! A key changes the state (`state`), which may ask for jobs (`job`): reading a view, planning an action, carrying it out.
//! Each job runs on a thread of its own and hands its result back, so that the screen never waits. What is drawn is a
//! function of the state (`view`), so that tests need no terminal.

mod drawing;
mod job;
mod overlay;
mod panes;
mod state;
mod style;
mod terminal;
mod view;

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyEventKind},
};

use crate::{os, render::slot::Glyphs, serve::ViewSource};
use job::JobRunner;
use state::ScreenState;
use style::Theme;
pub use terminal::with_terminal;

/// How long a key is waited for before results of jobs and signals are looked at.
const TICK: Duration = Duration::from_millis(30);
/// The same while a job is at work: its result, such as the first list, is shown at once.
const SHORT_TICK: Duration = Duration::from_millis(2);
/// How often the repository is asked whether something changed.
const INTERVAL: Duration = Duration::from_secs(1);

/// Settings of the terminal interface.
#[derive(Clone, Debug)]
pub struct ScreenOptions {
    /// The session to begin at.
    pub session: Option<String>,
    /// Text to search for at first.
    pub search: Option<String>,
    /// Whether to use color.
    pub color: bool,
    /// The characters of lines.
    pub glyphs: Glyphs,
}

/// Runs until the user leaves it, or a signal asks for its end. The terminal is as before in any case, also after a panic.
///
/// # Errors
/// When the terminal cannot be set up or read.
pub fn run(source: Arc<dyn ViewSource>, options: &ScreenOptions) -> io::Result<()> {
    let ending = os::interrupt::Ending::new()?;
    with_terminal(|terminal| interact(terminal, source, options, &ending))
}

fn interact(
    terminal: &mut DefaultTerminal,
    source: Arc<dyn ViewSource>,
    options: &ScreenOptions,
    ending: &os::interrupt::Ending,
) -> io::Result<()> {
    let continued = os::interrupt::Continued::new()?;
    let mut state = ScreenState::new(options);
    let theme = Theme::new(options.color, options.glyphs);
    let mut runner = JobRunner::new(source);
    let size = terminal.size()?;
    state.resize(size.width, size.height);
    let mut asked = Instant::now();
    let mut is_stale = true;
    loop {
        for job in state.take_jobs() {
            runner.start(job);
        }
        if state.wants_suspend() {
            terminal::leave(terminal);
            os::suspend();
        }
        // Others have written to the terminal meanwhile, and the shell has set its modes.
        if continued.take() {
            terminal::leave(terminal);
            terminal::enter(terminal)?;
            let size = terminal.size()?;
            state.resize(size.width, size.height);
            is_stale = true;
        }
        if is_stale {
            terminal.draw(|frame| view::draw(frame, &mut state, theme))?;
            is_stale = false;
        }
        let tick = if runner.is_quick() { SHORT_TICK } else { TICK };
        if event::poll(tick)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => state.key(key),
                Event::Resize(width, height) => state.resize(width, height),
                Event::Paste(text) => state.paste(&text),
                _ => {}
            }
            is_stale = true;
        }
        while let Some(result) = runner.next() {
            is_stale |= state.done(result);
        }
        is_stale |= state.animate(runner.longest());
        if state.wants_cancel() {
            runner.cancel();
        }
        if state.has_ended() || ending.asked().is_some() {
            runner.cancel();
            return Ok(());
        }
        if asked.elapsed() > INTERVAL {
            asked = Instant::now();
            state.ask_for_changes();
        }
    }
}

#[cfg(test)]
mod tests;
