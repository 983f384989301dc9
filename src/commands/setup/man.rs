//! Manual pages from the command's own definition, in the order of git's pages: examples come right after the
//! description. `git checkpoint --help` opens them through `man`.
//!
//! Sections come from the help text: a line at its start that ends with a colon is a heading, indented lines below it are
//! shown as they are. Options that every command takes are described once, on the page of `git-checkpoint`.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::guides;
use crate::commands::{error::exit_codes, help};

/// The first line of each page: by it `setup` knows that a file is its own.
pub(super) const MARK: &str = ".\\\" Written by `git checkpoint setup`";

/// A manual page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// Its file's name, `git-checkpoint-save.1`.
    pub(super) file: String,
    /// Its text in the language of `man`.
    pub(super) text: String,
}

/// The pages of the program and of each of its commands that is not hidden. Commands of a command (`task add`) are
/// described on its page.
pub(super) fn pages(command: &Command) -> Vec<Page> {
    let mut command = command
        .clone()
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .bin_name("git checkpoint");
    command = command
        .subcommand_help_heading("COMMANDS")
        .subcommand_value_name("command");
    command.build();
    let version = command.get_version().unwrap_or(env!("CARGO_PKG_VERSION")).to_owned();
    let mut out = vec![page(&command, None, &version)];
    for sub in command.get_subcommands().filter(|s| !s.is_hide_set()) {
        out.push(page(sub, Some(&command), &version));
    }
    out
}

/// One page. Writing to memory cannot fail, hence the `expect`.
fn page(command: &Command, parent: Option<&Command>, version: &str) -> Page {
    const MEMORY: &str = "writing to memory cannot fail";
    let command = if parent.is_some() {
        without_globals(command)
    } else {
        command.clone()
    };
    let man = Man::new(command.clone());
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut sections = sections(&command);
    // The title is written here because `clap_mangen` leaves out the quotes of an empty date, which shifts the rest.
    let title = name.to_uppercase();
    let head = format!("{MARK}\n.TH \"{title}\" \"1\" \"\" \"git-checkpoint {version}\" \"Git-checkpoint Manual\"\n");
    let mut out = head.into_bytes();
    man.render_name_section(&mut out).expect(MEMORY);
    man.render_synopsis_section(&mut out).expect(MEMORY);
    man.render_description_section(&mut out).expect(MEMORY);
    // The short table for the terminal; the page has the whole one.
    sections.retain(|s| s.heading != "EXIT CODES");
    if let Some(place) = sections.iter().position(|s| s.heading == "EXAMPLES") {
        write_section(&mut out, &sections.remove(place)).expect(MEMORY);
    }
    if command.get_arguments().any(|a| !a.is_hide_set()) {
        man.render_options_section(&mut out).expect(MEMORY);
    }
    if let Some(parent) = parent {
        write_commands(&mut out, &command).expect(MEMORY);
        write_globals(&mut out, parent).expect(MEMORY);
    } else if command.get_subcommands().any(|s| !s.is_hide_set()) {
        man.render_subcommands_section(&mut out).expect(MEMORY);
    }
    for section in &sections {
        write_section(&mut out, section).expect(MEMORY);
    }
    if parent.is_none() {
        write_exit_codes(&mut out).expect(MEMORY);
        guides::configuration(&mut out).expect(MEMORY);
    }
    write_see_also(&mut out, parent.is_none()).expect(MEMORY);
    Page {
        file: man.get_filename(),
        text: String::from_utf8_lossy(&out).into_owned(),
    }
}

/// The command with the options of all commands left out.
fn without_globals(command: &Command) -> Command {
    command.clone().mut_args(|arg| {
        let hide = arg.is_hide_set() || arg.is_global_set();
        arg.hide(hide)
    })
}

/// A heading and its lines.
struct ManSection {
    heading: String,
    lines: Vec<String>,
}

/// The sections in the text after the help. Lines before the first heading become NOTES.
fn sections(command: &Command) -> Vec<ManSection> {
    let text = command.get_after_long_help().or_else(|| command.get_after_help());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let mut out: Vec<ManSection> = Vec::new();
    for line in text.lines() {
        match line.strip_suffix(':') {
            Some(heading) if !heading.is_empty() && !line.starts_with(' ') => {
                out.push(ManSection {
                    heading: heading.to_uppercase(),
                    lines: Vec::new(),
                });
            }
            _ if out.is_empty() && line.trim().is_empty() => {}
            _ => {
                if out.is_empty() {
                    out.push(ManSection {
                        heading: "NOTES".to_owned(),
                        lines: Vec::new(),
                    });
                }
                out.last_mut()
                    .expect("a session was pushed just now")
                    .lines
                    .push(line.to_owned());
            }
        }
    }
    out
}

fn write_section(out: &mut Vec<u8>, section: &ManSection) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", [section.heading.as_str()]);
    let mut verbatim = false;
    for line in trimmed(&section.lines) {
        let indented = line.starts_with(' ');
        // An empty line belongs to its block.
        if indented != verbatim && !line.is_empty() {
            if indented {
                roff.control("RS", ["4"]).control("nf", []);
            } else {
                roff.control("fi", []).control("RE", []);
            }
            verbatim = indented;
        }
        match line.trim() {
            "" if verbatim => roff.control("sp", []),
            "" => roff.control("PP", []),
            text if verbatim => roff.text([roman(line.strip_prefix("  ").unwrap_or(text))]),
            text => roff.text([roman(text)]),
        };
    }
    if verbatim {
        roff.control("fi", []).control("RE", []);
    }
    roff.to_writer(out)
}

/// Lines without the empty ones at their start and end.
fn trimmed(lines: &[String]) -> &[String] {
    let is_text = |l: &String| !l.trim().is_empty();
    let start = lines.iter().position(is_text).unwrap_or(lines.len());
    let end = lines.iter().rposition(is_text).map_or(start, |last| last + 1);
    &lines[start..end]
}

/// The commands of a command, each with its options.
fn write_commands(out: &mut Vec<u8>, command: &Command) -> io::Result<()> {
    let mut heading = Roff::new();
    heading.control("SH", ["COMMANDS"]);
    let mut first = true;
    for sub in command.get_subcommands().filter(|s| !s.is_hide_set()) {
        if std::mem::take(&mut first) {
            heading.to_writer(out)?;
        }
        let sub = without_globals(sub);
        let man = Man::new(sub.clone());
        let mut roff = Roff::new();
        roff.control("SS", [sub.get_bin_name().unwrap_or_else(|| sub.get_name())]);
        roff.to_writer(out)?;
        // The parts of a page of its own, without their headings.
        for part in [Man::render_synopsis_section, Man::render_description_section] {
            write_part(out, |bytes| part(&man, bytes))?;
            Roff::new().control("PP", []).to_writer(out)?;
        }
        if sub.get_arguments().any(|a| !a.is_hide_set()) {
            write_part(out, |bytes| man.render_options_section(bytes))?;
        }
    }
    Ok(())
}

fn write_part(out: &mut Vec<u8>, render: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    let mut part = Vec::new();
    render(&mut part)?;
    for line in part.split_inclusive(|&b| b == b'\n').filter(|l| !l.starts_with(b".SH")) {
        out.extend_from_slice(line);
    }
    Ok(())
}

/// Where the options of all commands are described.
fn write_globals(out: &mut Vec<u8>, parent: &Command) -> io::Result<()> {
    let names: Vec<String> = parent
        .get_arguments()
        .filter(|a| a.is_global_set() && !a.is_hide_set())
        .filter_map(|a| a.get_long().map(|l| format!("--{l}")))
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut line: Vec<Inline> = vec![roman("Every command also takes ")];
    for (place, name) in names.iter().enumerate() {
        if place > 0 {
            line.push(roman(", "));
        }
        line.push(bold(name.as_str()));
    }
    line.extend([roman("; see "), bold("git-checkpoint"), roman("(1).")]);
    Roff::new().control("PP", []).text(line).to_writer(out)
}

/// The exit codes, from the kinds of failure themselves.
fn write_exit_codes(out: &mut Vec<u8>) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning, _) in exit_codes() {
        roff.control("TP", ["5"])
            .text([bold(code.to_string())])
            .text([roman(meaning)]);
    }
    roff.to_writer(out)
}

fn write_see_also(out: &mut Vec<u8>, is_root: bool) -> io::Result<()> {
    let mut pages: Vec<(String, String)> = Vec::new();
    if is_root {
        let guide = |guide: &help::Guide| (help::manual_name(guide), guide.section.to_string());
        pages.extend(help::GUIDES.iter().map(guide));
        let other = [("git", "1"), ("git-stash", "1"), ("gitrevisions", "7")];
        pages.extend(other.map(|(name, section)| (name.to_owned(), section.to_owned())));
    } else {
        pages.push(("git-checkpoint".to_owned(), "1".to_owned()));
    }
    let mut line = Vec::new();
    for (place, (name, section)) in pages.iter().enumerate() {
        if place > 0 {
            line.push(roman(", "));
        }
        line.extend([italic(name), roman(format!("({section})"))]);
    }
    Roff::new().control("SH", ["SEE ALSO"]).text(line).to_writer(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        Command::new("git-checkpoint")
            .version("1.2.3")
            .about("save and resume work")
            .arg(
                clap::Arg::new("json")
                    .long("json")
                    .help("write JSON")
                    .action(clap::ArgAction::SetTrue)
                    .global(true),
            )
            .subcommand(
                Command::new("save")
                    .about("save now")
                    .long_about("Saves.\n\n.Not a control line.")
                    .arg(
                        clap::Arg::new("summary")
                            .short('s')
                            .long("summary")
                            .help("what was done"),
                    )
                    .after_help("Examples:\n  git checkpoint save -s 'a\\b'\n\n  .dot\n\nFiles:\nNone."),
            )
            .subcommand(
                Command::new("task").subcommand(
                    Command::new("add")
                        .about("adds a task")
                        .arg(clap::Arg::new("title").value_name("TITLE").required(true)),
                ),
            )
            .subcommand(Command::new("internal").hide(true))
    }

    fn text(file: &str) -> String {
        let pages = pages(&command());
        let page = pages.iter().find(|p| p.file == file);
        page.unwrap_or_else(|| panic!("no {file} in {:?}", pages.iter().map(|p| &p.file).collect::<Vec<_>>()))
            .text
            .clone()
    }

    fn headings(text: &str) -> Vec<&str> {
        text.lines()
            .filter_map(|l| l.strip_prefix(".SH "))
            .map(|h| h.trim_matches('"'))
            .collect()
    }

    #[test]
    fn there_is_a_page_for_each_command() {
        let files: Vec<String> = pages(&command()).into_iter().map(|p| p.file).collect();
        assert_eq!(
            files,
            ["git-checkpoint.1", "git-checkpoint-save.1", "git-checkpoint-task.1"]
        );
    }

    #[test]
    fn sections_are_in_gits_order() {
        let save = text("git-checkpoint-save.1");
        assert!(save.starts_with(MARK));
        assert_eq!(
            headings(&save),
            [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "EXAMPLES",
                "OPTIONS",
                "FILES",
                "SEE ALSO"
            ]
        );
        let root = text("git-checkpoint.1");
        assert_eq!(
            headings(&root),
            [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "OPTIONS",
                "COMMANDS",
                "EXIT STATUS",
                "CONFIGURATION",
                "SEE ALSO"
            ]
        );
        assert!(root.contains("128"), "{root}");
    }

    #[test]
    fn text_is_no_markup() {
        let save = text("git-checkpoint-save.1");
        assert!(
            save.contains("a\\\\b") || save.contains("a\\eb") || save.contains("a\\(rsb"),
            "{save}"
        );
        for line in save
            .lines()
            .filter(|l| l.contains("dot") || l.contains("Not a control"))
        {
            assert!(!line.starts_with('.'), "{line}");
        }
    }

    #[test]
    fn common_options_are_only_on_the_first_page() {
        let save = text("git-checkpoint-save.1");
        assert!(
            !save.contains("write JSON") && save.contains("Every command also takes"),
            "{save}"
        );
        assert!(text("git-checkpoint.1").contains("write JSON"));
    }

    #[test]
    fn commands_of_a_command_are_on_its_page() {
        let task = text("git-checkpoint-task.1");
        assert!(task.contains(".SS \"git checkpoint task add\""), "{task}");
        assert!(task.contains("adds a task") && task.contains("TITLE"), "{task}");
        assert_eq!(
            headings(&task),
            ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "SEE ALSO"]
        );
    }
}
