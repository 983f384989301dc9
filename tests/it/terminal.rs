//! The output sink in real pseudo-terminals, pagers and pipes: what a person sees, and what a program at the other end
//! of a pipe gets. Run through `probe`, a program with nothing but the sink in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{Output, Terminal, World};

/// The probe. `cargo test` builds it next to the program; `cargo test --test it` does not, so that it may be missing or
/// older than what it shows, and then it is built here.
fn probe() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let program = Path::new(env!("CARGO_BIN_EXE_git-checkpoint"));
        let directory = program.parent().unwrap();
        let path = directory.join("examples/probe");
        let age = |p: &Path| p.metadata().and_then(|m| m.modified()).ok();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/probe.rs");
        if age(&path) < age(program) || age(&path) < age(&source) {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "--offline", "--locked", "--example", "probe"]);
            cargo.arg("--target-dir").arg(directory.parent().unwrap());
            if directory.ends_with("release") {
                cargo.arg("--release");
            }
            assert!(cargo.status().unwrap().success(), "cannot build the probe");
        }
        path
    };
    BUILT.get_or_init(build).clone()
}

fn piped(world: &World, variables: &[(&str, &str)], args: &[&str]) -> Output {
    let mut run = world.command(probe(), args);
    for (name, value) in variables {
        run = run.env(name, value);
    }
    run.run()
}

/// Runs a line of bash in which `$probe` is the probe.
fn bash(world: &World, line: &str) -> Output {
    world.command("bash", ["-c", line]).env("probe", probe()).run()
}

/// Whether bytes hold a control sequence, or another control that a screen obeys.
fn has_controls(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r'))
}

#[test]
fn color_only_where_a_terminal_shows_it() {
    let world = World::new();
    let on = |columns, kind: &str, args: &[&str]| {
        Terminal::new(columns, kind)
            .env("GIT_PAGER", "")
            .run(&world, probe(), args)
            .text()
    };
    assert_eq!(
        on(80, "xterm", &["list", "1"]),
        "\x1b[33mid0\x1b[m text\n\x1b[1;33mwarning:\x1b[m half way\n"
    );
    assert_eq!(on(80, "dumb", &["list", "1"]), "id0 text\nwarning: half way\n");
    assert_eq!(
        on(80, "xterm", &["--color=never", "list", "1"]),
        "id0 text\nwarning: half way\n"
    );
    let quiet = Terminal::new(80, "xterm")
        .env("NO_COLOR", "1")
        .env("GIT_PAGER", "cat")
        .run(&world, probe(), ["list", "1"]);
    assert!(!has_controls(&quiet.text()), "{quiet:?}");
    // In a pipe: none, unless it is asked for.
    piped(&world, &[("TERM", "xterm")], &["list", "1"])
        .success()
        .stdout_is("id0 text\n");
    piped(&world, &[("TERM", "xterm")], &["--color=always", "list", "1"])
        .success()
        .stdout_is("\x1b[33mid0\x1b[m text\n");
    piped(&world, &[], &["--set", "color.ui=always", "list", "1"])
        .success()
        .stdout_is("\x1b[33mid0\x1b[m text\n");
    piped(
        &world,
        &[("NO_COLOR", "1")],
        &["--set", "color.checkpoint=always", "list", "1"],
    )
    .success()
    .stdout_is("id0 text\n");
}

#[test]
fn width_and_glyphs_come_from_the_terminal() {
    let world = World::new();
    let facts = |columns, kind: &str, variables: &[(&str, &str)]| {
        let terminal = variables
            .iter()
            .fold(Terminal::new(columns, kind), |t, (n, v)| t.env(n, v));
        terminal.run(&world, probe(), ["facts"]).text()
    };
    assert_eq!(facts(40, "xterm", &[]), "40 ascii people=true ask=true\n");
    assert_eq!(
        facts(132, "xterm", &[("LC_ALL", "C.UTF-8")]),
        "132 unicode people=true ask=true\n"
    );
    assert_eq!(
        facts(132, "xterm", &[("COLUMNS", "100"), ("CI", "1")]),
        "100 ascii people=true ask=false\n"
    );
    assert_eq!(
        facts(80, "dumb", &[("LC_ALL", "C.UTF-8")]),
        "80 ascii people=true ask=true\n"
    );
    piped(&world, &[("TERM", "xterm")], &["facts"])
        .success()
        .stdout_is("80 ascii people=false ask=false\n");
}

#[test]
fn the_pager_is_gits() {
    let world = World::new();
    let terminal = || Terminal::new(80, "xterm").env("GIT_PAGER", "sed 's/^/paged: /'");
    // Messages go through it too when both streams are the terminal.
    let screen = terminal().run(&world, probe(), ["--color=never", "list", "1"]);
    assert_eq!(
        (screen.text().as_str(), screen.status.code()),
        ("paged: id0 text\npaged: warning: half way\n", Some(0))
    );
    let screen = terminal().run(&world, probe(), ["list", "1"]);
    assert!(
        screen.text().starts_with("paged: \x1b[33mid0\x1b[m text\n"),
        "{screen:?}"
    );
    let screen = terminal().run(&world, probe(), ["--set", "color.pager=false", "list", "1"]);
    assert!(screen.text().starts_with("paged: id0 text\n"), "{screen:?}");
    // No pager: asked for, inside git's own, in a pipe, switched off, for a program.
    for args in [
        &["--no-pager", "list", "1"][..],
        &["--set", "pager.checkpoint=false", "list", "1"],
    ] {
        let screen = terminal().run(&world, probe(), args);
        assert!(screen.text().starts_with("\x1b[33mid0"), "{screen:?}");
    }
    let screen = terminal()
        .env("GIT_PAGER_IN_USE", "true")
        .run(&world, probe(), ["list", "1"]);
    assert!(screen.text().starts_with("\x1b[33mid0"), "{screen:?}");
    let screen = terminal().pipe_stdout().run(&world, probe(), ["list", "1"]);
    assert_eq!(screen.stdout, b"id0 text\n");
    // The order of the settings, and what the pager finds in its environment.
    let show = "printf '%s %s %s\\n' \"$LESS\" \"$LV\" \"$GIT_PAGER_IN_USE\"; cat >/dev/null";
    let screen = Terminal::new(80, "xterm").env("PAGER", "false").run(
        &world,
        probe(),
        [
            "--set",
            "core.pager=false",
            "--set",
            &format!("checkpoint.pager={show}"),
            "list",
            "1",
        ],
    );
    assert_eq!(screen.text(), "FRX -c true\n");
    let screen = Terminal::new(80, "xterm")
        .env("PAGER", show)
        .env("LESS", "-R")
        .run(&world, probe(), ["list", "1"]);
    assert_eq!(screen.text(), "-R -c true\n");
    // One that cannot be started is no reason to show nothing.
    let screen = Terminal::new(80, "xterm").env("GIT_PAGER", "no-such-pager").run(
        &world,
        probe(),
        ["--color=never", "list", "1"],
    );
    assert_eq!(
        screen.text(),
        "warning: cannot run the pager 'no-such-pager': no such file or directory\nid0 text\nwarning: half way\n"
    );
}

#[test]
fn leaving_the_pager_early_is_no_failure() {
    let world = World::new();
    let screen = Terminal::new(80, "xterm").env("GIT_PAGER", "head -1").run(
        &world,
        probe(),
        ["--color=never", "list", "100000"],
    );
    assert_eq!((screen.text().as_str(), screen.status.code()), ("id0 text\n", Some(0)));
    // Ctrl-C belongs to the pager: the probe waits until that ends, and ends well.
    let pager = "trap 'echo interrupted' INT; sed -u 2q; echo ready; sleep 5 & wait $!; echo left";
    let screen = Terminal::new(80, "xterm")
        .env("GIT_PAGER", pager)
        .answer("ready", "\x03")
        .run(&world, probe(), ["--color=never", "list", "100"]);
    assert!(screen.text().ends_with("interrupted\nleft\n"), "{screen:?}");
    assert_eq!(screen.status.code(), Some(0), "{screen:?}");
}

#[test]
fn less_shows_a_short_list_and_leaves() {
    let world = World::new();
    if !world.command("sh", ["-c", "command -v less"]).run().is_success() {
        assert!(std::env::var_os("CI").is_none(), "less is not installed");
        eprintln!("less is not installed: its part is only tested in CI");
        return;
    }
    let screen = Terminal::new(80, "xterm").run(&world, probe(), ["list", "2"]);
    assert!(screen.text().contains("\x1b[33mid1\x1b[m text"), "{screen:?}");
    assert_eq!(screen.status.code(), Some(0));
    // A long one waits for `q`, also after Ctrl-C.
    let screen = Terminal::new(80, "xterm")
        .answer(":\x1b[K", "\x03")
        .keep_typing("q")
        .run(&world, probe(), ["list", "5000"]);
    assert_eq!(screen.status.code(), Some(0), "{screen:?}");
    assert!(!screen.text().contains("id100"), "{screen:?}");
}

#[test]
fn a_broken_pipe_ends_quietly() {
    let world = World::new();
    bash(
        &world,
        "\"$probe\" list 100000 2>/dev/null | head -1; echo ${PIPESTATUS[0]}",
    )
    .success()
    .stdout_is("id0 text\n141\n");
    bash(&world, "\"$probe\" list 100000 | head -1 >/dev/null")
        .success()
        .stderr_is_at_most("warning: half way\n");
    bash(&world, "\"$probe\" list 10 >/dev/full")
        .code(128)
        .stderr_has("fatal: cannot write to standard output: no space left on device\n");
    bash(&world, "\"$probe\" list 10 >&-").success();
    bash(&world, "\"$probe\" read <&-").success().stdout_is("0 bytes\n");
}

#[test]
fn progress_only_after_a_second_and_on_a_terminal() {
    let world = World::new();
    let short = Terminal::new(80, "xterm").run(&world, probe(), ["work", "2"]);
    assert_eq!(short.text(), "done\n");
    let long = Terminal::new(80, "xterm").run(&world, probe(), ["work", "130"]);
    assert!(long.text().contains("\rWorking:  "), "{long:?}");
    assert!(long.text().ends_with("\r\x1b[Kdone\n"), "{long:?}");
    let now = || Terminal::new(20, "xterm").env("GIT_PROGRESS_DELAY", "0");
    let narrow = now().run(&world, probe(), ["work", "12"]);
    assert!(narrow.text().starts_with("\rWorking:   8% (1/.."), "{narrow:?}");
    let accessible = now().env("ACCESSIBLE", "1").run(&world, probe(), ["work", "12"]);
    assert_eq!(accessible.text(), "Working:   8% (1/12)\ndone\n");
    piped(&world, &[("GIT_PROGRESS_DELAY", "0")], &["work", "3"])
        .success()
        .no_stderr();
}

#[test]
fn questions_are_asked_only_of_people() {
    let world = World::new();
    let ask = |when: &str, answer: &str, args: &[&str]| {
        Terminal::new(80, "dumb")
            .answer(when, answer)
            .run(&world, probe(), args)
            .text()
    };
    assert_eq!(
        ask("[y/N]", "y\n", &["confirm"]),
        "delete 3 checkpoints? [y/N] y\ndeleted\n"
    );
    assert_eq!(ask("[y/N]", "\n", &["confirm"]), "delete 3 checkpoints? [y/N] \nkept\n");
    assert_eq!(
        ask("[y/N]", "\x04", &["confirm"]),
        "delete 3 checkpoints? [y/N] \nkept\n"
    );
    assert_eq!(
        ask("none]", "2\n", &["choose"]),
        "1  one\n2  two\n3  three\nwhich session? [1-3, Enter for 1, q for none] 2\nSome(1)\n"
    );
    // Standard output in a pipe is no reason not to ask; the question is on standard error.
    let screen = Terminal::new(80, "dumb")
        .pipe_stdout()
        .answer("[y/N]", "y\n")
        .run(&world, probe(), ["confirm"]);
    assert_eq!(screen.stdout, b"deleted\n");
    for variables in [&[][..], &[("TERM", "xterm")]] {
        piped(&world, variables, &["confirm"]).code(129).no_stdout().stderr_has(
            "error: cannot ask 'delete 3 checkpoints?' without a terminal\nhint: give --yes to answer yes\n",
        );
    }
    for (name, value) in [
        ("CI", "true"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("CHECKPOINT_NO_PROMPT", "1"),
    ] {
        let screen = Terminal::new(80, "dumb")
            .env(name, value)
            .run(&world, probe(), ["choose"]);
        assert_eq!(screen.status.code(), Some(129), "{name}: {screen:?}");
    }
}

/// A selection by kind; `render::escape` tests the forms of many more.
const PAYLOADS: &[&str] = &[
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b]52;c;cm0=\x07",
    "\x1b]8;;http://e.org\x1b\\x\x1b]8;;\x1b\\",
    "\x1bc",
    "\x1b(0",
    "\x1bP1$q\x1b\\",
    "\x1b_x\x1b\\",
    "\x1b[6n",
    "\x1b[?1049h",
    "\u{9b}2J",
    "\u{9d}0;x\u{9c}",
    "\u{90}x\u{9c}",
    "a\rb",
    "a\x08b",
    "\x07",
    "\x0e",
    "\x7f",
    "a\u{202e}b",
    "\u{2066}x\u{2069}",
    "a\u{200b}b",
    "\u{feff}",
    "\u{ad}",
    "\u{2028}",
    "\u{e0041}",
    "\u{3164}",
    "a\x0bb\x0cc",
    "\u{85}",
    "\x1b[31m\n\x1b[0m",
    "\r\n\x1b[1A",
];

#[test]
fn nothing_from_a_repository_reaches_the_screen_raw() {
    let world = World::new();
    for payload in PAYLOADS {
        for kind in ["xterm", "dumb"] {
            let screen = Terminal::new(60, kind)
                .env("GIT_PROGRESS_DELAY", "0")
                .answer("[y/N]", "n\n")
                .answer("none]", "\n")
                .run(
                    &world,
                    probe(),
                    ["--set", &format!("advice.checkpointProbe={payload}"), "show", payload],
                );
            assert_eq!(screen.status.code(), Some(3), "{payload:?}: {screen:?}");
            // What is left after the sink's own colors and its progress line must be plain.
            let colors = regex::Regex::new("\x1b\\[([0-9;]*m|K)|\r").unwrap();
            let shown = colors.replace_all(&screen.text(), "").into_owned();
            let bad = shown
                .chars()
                .find(|&c| c != '\n' && git_checkpoint::render::escape::is_hidden(c));
            assert_eq!(bad, None, "{payload:?} on {kind}: {shown:?}");
            if kind == "dumb" {
                assert!(
                    !has_controls(&screen.text().replace('\r', "")),
                    "{payload:?}: {screen:?}"
                );
            }
        }
        let json = piped(&world, &[], &["json", payload]);
        assert_eq!(json.success().stdout_json()["text"], *payload);
        assert!(!has_controls(json.stdout()), "{json:?}");
    }
}

/// While it is drawn, and on a thread that reads a view.
#[cfg(feature = "ui")]
#[test]
fn a_panic_of_the_interface_gives_the_terminal_back() {
    let world = World::new();
    for (place, message) in [("draw", "broken while it draws"), ("thread", "broken while it reads")] {
        let line = format!(
            "before=$(stty -g); '{}' interface {place}; code=$?; test \"$before\" = \"$(stty -g)\" && echo \"ended $code\"",
            probe().display()
        );
        let screen = Terminal::new(80, "xterm").run(&world, "sh", ["-c", &line]);
        let text = screen.text();
        assert!(screen.is_given_back() && text.contains("ended 128\n"), "{text}");
        let after = text.rsplit("\u{1b}[?1049l").next().unwrap();
        assert_eq!(
            (text.matches(message).count(), after.matches(message).count()),
            (1, 1),
            "{text}"
        );
    }
}
