//! Shows what it is reported through the output sink, as a command would, so that the tests can look at it in real
//! terminals and pipes. `cargo test` builds it as an example because it must be a program of its own.
//!
//! Usage: probe [--color=WHEN] [--json] [--quiet] [--no-pager] [--set NAME=VALUE]... WHAT [ARGUMENT]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test program")]

use std::process::ExitCode;
use std::time::Duration;

use git_checkpoint::commands::environment::Environment;
use git_checkpoint::commands::error::{CommandError, FailureKind};
use git_checkpoint::commands::ui::{ColorChoice, OutputOptions, Streams, Ui};
use git_checkpoint::render::slot::{Glyphs, Slot};
use git_checkpoint::render::table::{TableColumn, TextTable};
use git_checkpoint::render::text::{Text, TextLine};

#[cfg(feature = "ui")]
fn interface(place: &str) -> std::io::Result<()> {
    use git_checkpoint::screen::{ScreenOptions, run, with_terminal};

    if place == "thread" {
        let options = ScreenOptions {
            session: None,
            search: None,
            color: true,
            glyphs: Glyphs::Ascii,
        };
        return run(std::sync::Arc::new(faulty::FaultySource), &options);
    }
    with_terminal(|terminal| {
        terminal.draw(|frame| {
            frame.render_widget("drawn", frame.area());
        })?;
        terminal.draw(|_| panic!("broken while it draws")).map(|_| ())
    })
}

/// Views of which none can be made.
#[cfg(feature = "ui")]
mod faulty {
    use git_checkpoint::model::time::Timestamp;
    use git_checkpoint::render::indicator::IndicatorView;
    use git_checkpoint::render::sessions::{CheckpointLog, SessionTable};
    use git_checkpoint::serve::source::TextRun;
    use git_checkpoint::serve::{CallMonitor, CommandFailure, CommandLine, CommandRun, CommandRunner, ViewSource};

    pub(super) struct FaultySource;

    impl CommandRunner for FaultySource {
        fn run(&self, _: &CommandLine, _: &CallMonitor) -> CommandRun {
            unreachable!("nothing is asked for")
        }
    }

    impl ViewSource for FaultySource {
        fn text(&self, _: &CommandLine, _: usize, _: &CallMonitor) -> TextRun {
            unreachable!("nothing is asked for")
        }

        fn sessions(&self) -> Result<(SessionTable, Timestamp), CommandFailure> {
            // The screen is there by now.
            std::thread::sleep(std::time::Duration::from_millis(300));
            panic!("broken while it reads")
        }

        fn log(&self, _: Option<&str>, _: usize) -> Result<CheckpointLog, CommandFailure> {
            unreachable!("there is no session")
        }

        fn indicator(&self) -> Result<Option<IndicatorView>, CommandFailure> {
            Ok(None)
        }

        #[cfg(feature = "serve")]
        fn article(&self, _: &str) -> Result<String, CommandFailure> {
            unreachable!("there is no page")
        }

        fn stamp(&self) -> Result<u64, CommandFailure> {
            Ok(0)
        }
    }
}

fn main() -> ExitCode {
    let mut options = OutputOptions::default();
    let mut settings = Vec::new();
    let mut rest = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--color=always" => options.color = Some(ColorChoice::Always),
            "--color=never" => options.color = Some(ColorChoice::Never),
            "--json" => options.json = true,
            "--quiet" => options.quiet += 1,
            "--no-pager" => options.no_pager = true,
            "--set" => settings.push(
                args.next()
                    .unwrap()
                    .split_once('=')
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
                    .unwrap(),
            ),
            _ => rest.push(arg),
        }
    }
    let env = Environment::read().unwrap();
    let mut ui = Ui::new(&env, options, Streams::standard());
    let find = move |name: &str| settings.iter().rev().find(|s| s.0 == name).map(|s| s.1.clone());
    for problem in ui.configure(find) {
        ui.warning(&problem);
    }
    let argument = rest.get(1).map_or("", String::as_str);
    let mut result = run(&mut ui, rest.first().map_or("", String::as_str), argument);
    if let Err(error) = &result {
        ui.error(error);
    }
    if let Err(error) = ui.finish() {
        ui.error(&error);
        result = result.and(Err(error));
    }
    result.map_or_else(|error| error.exit_code(), |()| ExitCode::SUCCESS)
}

fn run(ui: &mut Ui, what: &str, argument: &str) -> Result<(), CommandError> {
    match what {
        // That many lines through the pager, and a warning in the middle.
        "list" => {
            ui.page();
            let count: usize = argument.parse().unwrap();
            for n in 0..count {
                if ui.is_closed() {
                    break;
                }
                ui.data(
                    TextLine::new()
                        .with(Slot::Id, format!("id{n}"))
                        .with(Slot::Plain, " text"),
                );
                if n == count / 2 {
                    ui.warning("half way");
                }
            }
        }
        // The argument, through every way to the screen.
        "show" => {
            ui.data(TextLine::new().with(Slot::Id, argument));
            ui.data(Text::block(argument));
            ui.data(Text::wrapped(argument, 2, 40));
            ui.bytes(argument.as_bytes());
            ui.receipt(TextLine::plain(argument));
            ui.status(TextLine::plain(argument));
            ui.warning(argument);
            ui.hint("Probe", argument);
            let mut table = TextTable::new([TableColumn::left("A"), TableColumn::left("B").flexible(10)]);
            table.row([TextLine::plain(argument), TextLine::plain(argument)]);
            ui.data(table.render(ui.width()));
            let progress = ui.progress(argument, None);
            progress.update(1);
            drop(progress);
            if ui.can_ask() {
                ui.confirm(argument, "--yes")?;
                ui.choose(argument, &[TextLine::plain(argument)], argument)?;
            }
            return Err(CommandError::new(FailureKind::NotFound, argument).hint(argument));
        }
        "json" => ui.json(&serde_json::json!({ "text": argument }))?,
        "facts" => {
            let glyphs = if ui.glyphs() == Glyphs::Unicode {
                "unicode"
            } else {
                "ascii"
            };
            ui.data(TextLine::plain(format!(
                "{} {glyphs} people={} ask={}",
                ui.width(),
                ui.for_people(),
                ui.can_ask()
            )));
        }
        "confirm" => {
            let answer = ui.confirm("delete 3 checkpoints?", "--yes")?;
            ui.data(TextLine::plain(if answer { "deleted" } else { "kept" }));
        }
        "choose" => {
            let choices = ["one", "two", "three"].map(TextLine::plain);
            let answer = ui.choose("which session?", &choices, "name a session")?;
            ui.data(TextLine::plain(format!("{answer:?}")));
        }
        // Work of so many steps of 10 milliseconds.
        "work" => {
            let steps: u64 = argument.parse().unwrap();
            let progress = ui.progress("Working", Some(steps));
            for n in 1..=steps {
                std::thread::sleep(Duration::from_millis(10));
                progress.update(n);
            }
            drop(progress);
            ui.data(TextLine::plain("done"));
        }
        // The terminal interface, with a panic where the argument says.
        #[cfg(feature = "ui")]
        "interface" => interface(argument).unwrap(),
        "read" => {
            let bytes = ui.read_input("the record", 10)?;
            ui.data(TextLine::plain(format!("{} bytes", bytes.len())));
        }
        _ => return Err(CommandError::new(FailureKind::Usage, format!("unknown probe '{what}'"))),
    }
    Ok(())
}
