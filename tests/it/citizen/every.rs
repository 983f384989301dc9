//! What holds for every command, whatever it does: help, usage, no control sequences in a pipe, no waiting for an
//! answer, no network, messages in git's form.

use std::fs;
use std::ops::ControlFlow::{Break, Continue};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::Value;

use super::{commands, schemas::story, words};
use crate::support::{Output, PROGRAM, World};

/// Whether an output has control characters other than the ends of lines.
fn has_controls(out: &Output) -> bool {
    let control = |text: &str| text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\0'));
    control(out.stdout()) || control(out.stderr())
}

/// Every command, those of commands too, with what the program shows about it.
fn all(world: &World) -> Vec<(String, Value)> {
    fn collect(command: &Value, before: &str, out: &mut Vec<(String, Value)>) {
        for sub in command["commands"].as_array().unwrap() {
            let name = format!("{before}{}", sub["name"].as_str().unwrap());
            collect(sub, &format!("{name} "), out);
            out.push((name, sub.clone()));
        }
    }
    let help = world.checkpoint(["help", "--json"]).success().stdout_json();
    let mut out = Vec::new();
    collect(&help["command"], "", &mut out);
    out
}

/// Row 1: `-h` is short, `--help` has examples, both are answers and no errors, and `help` says the same. No page is
/// wider than a terminal of 80 columns, examples and what they show of outputs among it.
#[test]
fn row_01_help_at_all_levels() {
    let world = World::without_repository();
    let (mut lacking, mut wide) = (Vec::new(), Vec::new());
    let mut help_on = |name: &str| {
        let page = world.command(PROGRAM, std::iter::once("help".to_owned()).chain(words(name)));
        let text = page
            .env("COLUMNS", "80")
            .run()
            .success()
            .no_stderr()
            .stdout()
            .to_owned();
        let lines = text.lines().filter(|line| line.chars().count() > 80);
        wide.extend(lines.map(|line| format!("{name}: {line}")));
        text
    };
    for (name, _) in all(&world) {
        let help = help_on(&name);
        let mut args = words(&name);
        args.push("-h".to_owned());
        let short = world.checkpoint(&args).success().no_stderr().stdout().to_owned();
        args.pop();
        args.push("--help".to_owned());
        let long = world.checkpoint(&args).success().no_stderr().stdout().to_owned();
        if name == "agent" {
            // An agent that asks so gets its own page as well.
            let rest = help.strip_prefix(&long).expect("the command's help is the beginning");
            assert!(rest.contains("For agents"), "{rest}");
        } else {
            assert_eq!(help, long, "{name}");
        }
        // Commands of a command may have their examples on its page.
        if !name.contains(' ') && !long.contains("\nExamples:\n") {
            lacking.push(name.clone());
        }
        for line in short.lines().chain(long.lines()) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        assert!(short.contains(&format!("Usage: git checkpoint {name}")), "{short}");
        let narrow = world
            .command(PROGRAM, words(&name))
            .arg("-h")
            .env("COLUMNS", "40")
            .run();
        narrow.success();
    }
    assert!(lacking.is_empty(), "without examples in --help: {lacking:?}");
    world
        .checkpoint(["-h"])
        .success()
        .no_stderr()
        .stdout_has("Usage: git checkpoint");
    world.checkpoint(["--nonsense"]).code(129).no_stdout();
    // The pages that are of no command are found from the first page on.
    let (whole, list) = (world.checkpoint(["help"]), world.checkpoint(["help", "guides"]));
    let topics = world.checkpoint(["help", "--json"]).success().stdout_json();
    for topic in topics["topics"].as_array().unwrap() {
        let topic = topic.as_str().unwrap();
        whole.success().stdout_has(&format!("\n  {topic} "));
        list.success().no_stderr().stdout_has(topic);
        help_on(topic);
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// Row 29: one wrong letter leads to a suggestion.
#[test]
fn row_29_typing_errors_get_suggestions() {
    let world = World::without_repository();
    for (name, _) in all(&world)
        .iter()
        .filter(|(name, _)| name.len() > 4 && !name.contains(' '))
    {
        let wrong: String = name
            .chars()
            .enumerate()
            .filter(|(n, _)| *n != 2)
            .map(|(_, c)| c)
            .collect();
        let out = world.checkpoint([&wrong]);
        out.code(129).no_stdout().stderr_has("hint: ");
        assert!(out.stderr().contains("similar"), "{out}");
    }
    world
        .checkpoint(["save", "--sumary", "x"])
        .code(129)
        .stderr_has("'--summary'");
    world.checkpoint(["help", "recovry"]).code(3).stderr_has("hint: ");
}

/// Rows 10 and 41: no control sequence in a pipe, whatever `TERM` is, unless it is asked for; row 8: what is data goes
/// to standard output, and with `-qq` nothing else is said when all is well.
#[test]
fn row_08_and_10_pipes_get_no_control_sequences() {
    story(
        &World::with_commit(),
        &["-qq"],
        &[("TERM", "xterm-256color")],
        |line, out| {
            assert!(!has_controls(out), "{line}: {out}");
            if out.is_success() {
                out.no_stderr();
            }
            Continue(())
        },
    );
    let mut colored = 0;
    story(
        &World::with_commit(),
        &["--color=always"],
        &[("TERM", "xterm")],
        |_, out| {
            colored += usize::from(out.stdout().contains("\x1b["));
            if colored > 15 { Break(()) } else { Continue(()) }
        },
    );
    assert!(colored > 15, "{colored} lines of the story are colored");
}

/// Rows 10, 19 and 30, which one run of every command shows: `NO_COLOR` counts; messages are in lower case without a full
/// stop, and each command that a hint names exists; nothing speaks to another machine unless a command is there to do so.
#[test]
fn rows_10_19_and_30_colors_messages_and_network() {
    let world = World::with_commit();
    let known = commands(&world);
    let groups: Vec<_> = known.iter().map(|name| words(name)[0].clone()).collect();
    let mut seen = 0;
    let mut check = |out: &Output| {
        for line in out.stderr().lines() {
            if let Some(text) = ["error: ", "fatal: ", "warning: "]
                .iter()
                .find_map(|label| line.strip_prefix(label))
            {
                seen += 1;
                let first = text.chars().next().unwrap();
                assert!(!first.is_uppercase(), "{line}");
                assert!(!text.ends_with('.') || text.ends_with(".."), "{line}");
            }
            for rest in line.split("git checkpoint ").skip(1) {
                let command = rest.split([' ', '\'', '"', ';', ',', ':']).next().unwrap();
                let fine = command.is_empty()
                    || command.starts_with(['-', '[', '<', '.'])
                    || groups.contains(&command.to_owned());
                assert!(fine, "'{command}' is no command: {line}");
            }
        }
    };
    // A git in front of the real one notes what it is called with.
    let (bin, log) = (world.root().join("spy"), world.root().join("calls"));
    fs::create_dir(&bin).unwrap();
    let real = world.command("sh", ["-c", "command -v git"]).run();
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{}'\nexec '{}' \"$@\"\n",
        log.display(),
        real.success().stdout().trim()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let variables = [("PATH", path.as_str()), ("TERM", "xterm"), ("NO_COLOR", "1")];
    let mut calls = Vec::new();
    story(&world, &["--advice"], &variables, |line, out| {
        assert!(!has_controls(out), "{line}: {out}");
        check(out);
        let called = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        // `unbundle` asks a file, which git treats as a remote.
        let asked = ["push", "fetch", "pull", "remote", "unbundle", "delete --remote"]
            .iter()
            .any(|word| line.starts_with(word));
        calls.extend(called.lines().map(|call| (asked, line.to_owned(), call.to_owned())));
        Continue(())
    });
    assert!(!calls.is_empty(), "the spy is called");
    for (asked, line, call) in calls {
        let network = call
            .split(' ')
            .any(|word| ["push", "fetch", "pull", "ls-remote", "clone", "fetch-pack", "send-pack"].contains(&word));
        assert!(asked || !network, "'{line}' calls git {call}");
    }
    let nowhere = World::without_repository();
    for name in &known {
        check(&world.checkpoint(words(name).iter().chain([&"--no-such-option".to_owned()])));
        check(&nowhere.checkpoint(words(name)));
    }
    assert!(seen > known.len());
}

/// Row 21: without a terminal nothing is asked and nothing waits; a command either does its work or says what it needs.
#[test]
fn row_21_nothing_waits_without_a_terminal() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one", "--session", "a"]).success();
    world.checkpoint(["pause"]).success();
    world.checkpoint(["save", "-m", "two", "--session", "b"]).success();
    world.checkpoint(["pause"]).success();
    for name in commands(&world) {
        // A watcher is there to wait, and a page too.
        if name == "watch" || name == "serve" || name.starts_with("hooks") {
            continue;
        }
        world
            .command(PROGRAM, words(&name))
            .limit(Duration::from_secs(20))
            .run();
    }
}
