//! Tests of the sink with streams in memory. Real terminals and pagers are in `tests/it/terminal.rs`.

use std::io::{self, Write};

use super::*;

/// All three streams at a terminal of 80 columns.
pub(super) const TERMINAL: Terminals = Terminals {
    input: true,
    output: true,
    error: true,
    columns: Some(80),
};

pub(super) const PIPES: Terminals = Terminals {
    input: false,
    output: false,
    error: false,
    columns: None,
};

pub(super) fn ui(
    variables: &[(&str, &str)],
    terminals: Terminals,
    options: OutputOptions,
    input: &str,
) -> (Ui, CapturedOutput) {
    let (streams, seen) = Streams::captured(input.as_bytes());
    (Ui::new(&Environment::of(variables, terminals), options, streams), seen)
}

pub(super) const XTERM: &[(&str, &str)] = &[("TERM", "xterm")];

fn settings(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> + Send + 'static {
    move |name| pairs.iter().rev().find(|p| p.0 == name).map(|p| p.1.to_owned())
}

#[test]
fn each_kind_of_output_has_its_stream() {
    let (mut ui, seen) = ui(XTERM, PIPES, OutputOptions::default(), "");
    ui.data(TextLine::new().with(Slot::Id, "7f3a").with(Slot::Plain, " x\x1b[2J"));
    ui.receipt(TextLine::plain("saved 7f3a"));
    ui.status("reading");
    ui.detail(1, TextLine::plain("not shown"));
    ui.warning("two\nlines");
    ui.hint("Save", "not at a terminal");
    ui.error(&CommandError::new(FailureKind::Fatal, "no").hint("yes"));
    ui.finish().unwrap();
    assert_eq!(seen.output(), "7f3a x\\x1b[2J\nsaved 7f3a\n");
    assert_eq!(
        seen.error(),
        "reading\nwarning: two\nwarning: lines\nfatal: no\nhint: yes\n"
    );
}

#[test]
fn quiet_leaves_out_what_is_not_asked_for() {
    let shown = |quiet| {
        let (ui, seen) = ui(
            XTERM,
            TERMINAL,
            OutputOptions {
                quiet,
                color: Some(ColorChoice::Never),
                ..OutputOptions::default()
            },
            "",
        );
        ui.data("data");
        ui.receipt(TextLine::plain("receipt"));
        ui.status("status");
        ui.hint("Save", "hint");
        ui.warning("warning");
        ui.error(&CommandError::new(FailureKind::Refused, "refused").hint("how"));
        (seen.output(), seen.error())
    };
    assert_eq!(
        shown(1),
        ("data\n".into(), "warning: warning\nerror: refused\nhint: how\n".into())
    );
    assert_eq!(shown(2), ("data\n".into(), "error: refused\n".into()));
}

#[test]
fn json_keeps_both_streams_machine_readable() {
    let (ui, seen) = ui(
        XTERM,
        TERMINAL,
        OutputOptions {
            json: true,
            ..OutputOptions::default()
        },
        "",
    );
    ui.receipt(TextLine::plain("receipt"));
    ui.status("status");
    ui.hint("Save", "hint");
    ui.warning("odd \u{202e}");
    ui.json_line(&serde_json::json!({"name": "\u{9b}31m\x1b"})).unwrap();
    ui.error(&CommandError::new(FailureKind::NotFound, "no 'x'"));
    assert!(!ui.can_ask());
    assert_eq!(seen.output(), "{\"name\":\"\\u009b31m\\u001b\"}\n");
    assert_eq!(
        seen.error(),
        "{\"warning\":{\"message\":\"odd \\u202e\"}}\n\
         {\"error\":{\"code\":\"not-found\",\"message\":\"no 'x'\",\"hints\":[]}}\n"
    );
}

#[test]
fn a_long_list_is_the_json_that_it_is_at_once() {
    #[derive(serde::Serialize)]
    struct List {
        before: &'static str,
        rows: Vec<serde_json::Value>,
    }
    let list = |rows: Vec<_>| List {
        before: "a [\"[]\"",
        rows,
    };
    let options = OutputOptions {
        json: true,
        ..OutputOptions::default()
    };
    let row = |n: usize| match n % 3 {
        0 => serde_json::json!({ "n": n, "text": "]\u{9b}[" }),
        1 => serde_json::json!([[n], []]),
        _ => serde_json::json!(n),
    };
    for count in [0, 1, 16 * 1024, 16 * 1024 + 1, 40_000] {
        let view = list((0..count).map(row).collect());
        let (whole, seen_whole) = ui(XTERM, PIPES, options.clone(), "");
        whole.json(&view).unwrap();
        let (ui, seen) = ui(XTERM, PIPES, options.clone(), "");
        ui.json_list(&view, &list(Vec::new()), &view.rows).unwrap();
        assert!(seen.output() == seen_whole.output(), "{count} rows");
    }
}

#[test]
fn lines_that_were_drawn_are_those_that_are_shown_one_by_one() {
    let lines: Vec<TextLine> = vec![
        TextLine::plain("a").with(Slot::Id, "7f3a").with(Slot::Plain, " b"),
        TextLine::new(),
        TextLine::new()
            .with(Slot::Good, "x")
            .with(Slot::Bad, "y")
            .with(Slot::Branch, "z"),
    ];
    for (terminals, color) in [
        (PIPES, ColorChoice::Never),
        (PIPES, ColorChoice::Always),
        (TERMINAL, ColorChoice::Auto),
    ] {
        let shown = |drawn: bool| {
            let options = OutputOptions {
                color: Some(color),
                ..OutputOptions::default()
            };
            let (mut ui, seen) = ui(XTERM, terminals, options, "");
            ui.configure(settings(&[("color.checkpoint.plain", "blue")]));
            if drawn {
                let pen = ui.pen().expect("nothing is folded");
                // Part by part, as a table draws them.
                let draw = |line: &TextLine, out: &mut StyledText<'_>| {
                    for span in line.spans() {
                        let (first, rest) = span.text().split_at(span.text().len() / 2);
                        out.put(span.slot(), first);
                        out.put(span.slot(), rest);
                    }
                };
                ui.drawn(&pen.lines(&lines, |line, out| draw(line, out)));
            } else {
                for line in &lines {
                    ui.data_line(line);
                }
            }
            seen.output()
        };
        assert_eq!(shown(true), shown(false), "{color:?}");
    }
    let narrow = Terminals {
        columns: Some(40),
        ..TERMINAL
    };
    assert!(ui(XTERM, narrow, OutputOptions::default(), "").0.pen().is_none());
}

#[test]
fn json_is_one_value_in_every_form() {
    let shown = |terminals, lines, value: &serde_json::Value| {
        let options = OutputOptions {
            json: true,
            lines,
            ..OutputOptions::default()
        };
        let (ui, seen) = ui(XTERM, terminals, options, "");
        ui.json(value).unwrap();
        seen.output()
    };
    let mut value: serde_json::Value =
        serde_json::from_str(r#"{"b": 1.50, "a": 123456789012345678901234567890, "c": [], "d": {"e": "\u001b"}}"#)
            .unwrap();
    let compact = "{\"b\":1.50,\"a\":123456789012345678901234567890,\"c\":[],\"d\":{\"e\":\"\\u001b\"}}\n";
    assert_eq!(shown(PIPES, false, &value), compact);
    assert_eq!(shown(PIPES, true, &value), compact);
    assert_eq!(
        shown(TERMINAL, false, &value),
        "{\n  \"b\": 1.50,\n  \"a\": 123456789012345678901234567890,\n  \"c\": [],\n  \"d\": {\n    \"e\": \"\\u001b\"\n  }\n}\n"
    );
    for _ in 0..200 {
        value = serde_json::json!([value]);
    }
    let deep = shown(PIPES, false, &value);
    assert!(deep.starts_with("[[[[") && deep.ends_with("]]]]\n"), "{deep}");
    assert_eq!(shown(TERMINAL, false, &value), deep, "too deep to be laid out");
}

#[test]
fn bytes_are_escaped_only_for_terminals() {
    let (ui, seen) = ui(XTERM, PIPES, OutputOptions::default(), "");
    ui.bytes(b"a\x1b\0\xff");
    assert_eq!(seen.output().as_bytes(), "a\x1b\0\u{fffd}".as_bytes());
    let (ui, seen) = self::ui(XTERM, TERMINAL, OutputOptions::default(), "");
    ui.bytes(b"a\x1b\0\xff\n");
    assert_eq!(seen.output(), "a\\x1b\\x00\\xff\n");
    let (ui, seen) = self::ui(&[("GIT_PAGER_IN_USE", "true")], PIPES, OutputOptions::default(), "");
    ui.bytes(b"\x9b");
    assert_eq!(seen.output(), "\\x9b");
}

#[test]
fn colors_come_from_slots_and_settings() {
    let (mut ui, seen) = ui(XTERM, TERMINAL, OutputOptions::default(), "");
    let line = TextLine::new().with(Slot::Id, "7f\x1b").with(Slot::Plain, " x");
    ui.data(line.clone());
    assert_eq!(seen.output(), "\x1b[33m7f\\x1b\x1b[m x\n");
    let problems = ui.configure(settings(&[
        ("color.checkpoint.id", "bold #ff0000"),
        ("color.checkpoint.date", "pink"),
        ("color.ui", "sometimes"),
        ("checkpoint.graph", "emoji"),
    ]));
    assert_eq!(problems.len(), 3, "{problems:?}");
    ui.data(line.clone());
    assert!(
        seen.output().ends_with("\x1b[1;38;2;255;0;0m7f\\x1b\x1b[m x\n"),
        "{:?}",
        seen.output()
    );
    assert_eq!(
        ui.configure(settings(&[("color.checkpoint", "never")])),
        Vec::<String>::new()
    );
    ui.data(line);
    assert!(seen.output().ends_with("\n7f\\x1b x\n"), "{:?}", seen.output());
}

#[test]
fn inside_gits_pager_color_follows_color_pager() {
    let inside: &[(&str, &str)] = &[("TERM", "xterm"), ("GIT_PAGER_IN_USE", "true")];
    let (mut ui, seen) = ui(inside, PIPES, OutputOptions::default(), "");
    ui.data(TextLine::new().with(Slot::Id, "7f"));
    ui.configure(settings(&[("color.pager", "false")]));
    ui.data(TextLine::new().with(Slot::Id, "7f"));
    assert_eq!(seen.output(), "\x1b[33m7f\x1b[m\n7f\n");
    assert!(ui.for_people());
}

#[test]
fn hints_can_be_switched_off() {
    let shown = |variables: &[(&str, &str)], terminals, advice, pairs: &'static [(&'static str, &'static str)]| {
        let options = OutputOptions {
            advice,
            color: Some(ColorChoice::Never),
            ..OutputOptions::default()
        };
        let (mut ui, seen) = ui(variables, terminals, options, "");
        ui.configure(settings(pairs));
        ui.hint("Save", "do this\nor that");
        ui.error(&CommandError::new(FailureKind::Refused, "no").hint("fix"));
        seen.error()
    };
    let full = "hint: do this\nhint: or that\n";
    let error = "error: no\nhint: fix\n";
    assert_eq!(shown(XTERM, TERMINAL, None, &[]), format!("{full}{error}"));
    assert_eq!(shown(XTERM, PIPES, None, &[]), error);
    assert_eq!(shown(XTERM, PIPES, Some(true), &[]), format!("{full}{error}"));
    assert_eq!(
        shown(XTERM, TERMINAL, None, &[("advice.checkpointSave", "false")]),
        error
    );
    assert_eq!(
        shown(XTERM, TERMINAL, None, &[("advice.checkpointSave", "true")]),
        format!("hint: do this\nhint: or that\n{error}")
    );
    assert_eq!(shown(&[("GIT_ADVICE", "0")], TERMINAL, None, &[]), "error: no\n");
    assert_eq!(shown(XTERM, TERMINAL, Some(false), &[]), "error: no\n");
}

#[test]
fn widths_and_glyphs() {
    let of = |variables: &[(&str, &str)], terminals, pairs: &'static [(&'static str, &'static str)]| {
        let (mut ui, _) = ui(variables, terminals, OutputOptions::default(), "");
        ui.configure(settings(pairs));
        (ui.width(), ui.table_width(), ui.glyphs())
    };
    let wide = Terminals {
        columns: Some(132),
        ..TERMINAL
    };
    let utf8: &[(&str, &str)] = &[("TERM", "xterm"), ("LANG", "C.UTF-8")];
    assert_eq!(of(utf8, wide, &[]), (132, 132, Glyphs::Unicode));
    assert_eq!(of(utf8, wide, &[("checkpoint.graph", "ascii")]).2, Glyphs::Ascii);
    assert_eq!(of(utf8, PIPES, &[]), (80, usize::MAX, Glyphs::Ascii));
    assert_eq!(of(utf8, PIPES, &[("checkpoint.graph", "unicode")]).2, Glyphs::Unicode);
    assert_eq!(
        of(&[("COLUMNS", "40"), ("TERM", "xterm")], wide, &[]),
        (40, 40, Glyphs::Ascii)
    );
    assert_eq!(
        of(&[("COLUMNS", "0"), ("TERM", "dumb"), ("LANG", "C.UTF-8")], wide, &[]),
        (132, 132, Glyphs::Ascii)
    );
}

/// A stream that fails with this kind of error once it has taken some bytes.
struct Failing(usize, io::ErrorKind);

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(self.1.into());
        }
        let count = bytes.len().min(self.0);
        self.0 -= count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failing_output_is_told_once_at_the_end() {
    let failing = |kind| {
        let (streams, seen) = Streams::captured(b"");
        let streams = streams.with_output(Failing(3, kind));
        let mut ui = Ui::new(&Environment::of(XTERM, PIPES), OutputOptions::default(), streams);
        assert!(!ui.is_closed());
        ui.data("more than three");
        assert!(ui.is_closed());
        ui.data("nothing more is written");
        ui.warning("but messages are");
        assert_eq!(seen.error(), "warning: but messages are\n");
        let error = ui.finish().unwrap_err();
        ui.finish().unwrap();
        error
    };
    let gone = failing(io::ErrorKind::BrokenPipe);
    assert!(gone.is_silent());
    assert_eq!(gone.kind().exit_code(), 141);
    let full = failing(io::ErrorKind::StorageFull);
    assert_eq!(full.kind().exit_code(), 128);
    assert!(
        full.to_string().starts_with("cannot write to standard output: "),
        "{full}"
    );
}

#[test]
fn input_has_a_limit() {
    let (ui, seen) = ui(XTERM, TERMINAL, OutputOptions::default(), "12345");
    assert_eq!(ui.read_input("the record", 5).unwrap(), b"12345");
    assert_eq!(seen.error(), "reading the record from the terminal; end with Ctrl-D\n");
    let (ui, _) = self::ui(XTERM, PIPES, OutputOptions::default(), "123456");
    let error = ui.read_input("the record", 5).unwrap_err();
    assert_eq!(error.to_string(), "the record on standard input is larger than 5 bytes");
}

#[test]
fn progress_follows_the_options() {
    let shown = |variables: &[(&str, &str)], terminals, options| {
        let (ui, seen) = ui(variables, terminals, options, "");
        let progress = ui.progress("Reading", Some(2));
        progress.update(1);
        drop(progress);
        seen.error()
    };
    let now: &[(&str, &str)] = &[("TERM", "xterm"), ("GIT_PROGRESS_DELAY", "0")];
    let drawn = "\rReading:  50% (1/2)\x1b[K\r\x1b[K";
    assert_eq!(shown(now, TERMINAL, OutputOptions::default()), drawn);
    assert_eq!(shown(XTERM, TERMINAL, OutputOptions::default()), "");
    assert_eq!(shown(now, PIPES, OutputOptions::default()), "");
    assert_eq!(
        shown(
            now,
            TERMINAL,
            OutputOptions {
                progress: Some(false),
                ..OutputOptions::default()
            }
        ),
        ""
    );
    assert_eq!(
        shown(
            now,
            TERMINAL,
            OutputOptions {
                quiet: 1,
                ..OutputOptions::default()
            }
        ),
        ""
    );
    assert_eq!(
        shown(
            now,
            TERMINAL,
            OutputOptions {
                json: true,
                ..OutputOptions::default()
            }
        ),
        ""
    );
    let lines = "Reading:  50% (1/2)\n";
    assert_eq!(
        shown(
            now,
            PIPES,
            OutputOptions {
                progress: Some(true),
                ..OutputOptions::default()
            }
        ),
        lines
    );
    let dumb: &[(&str, &str)] = &[("TERM", "dumb"), ("GIT_PROGRESS_DELAY", "0")];
    assert_eq!(shown(dumb, TERMINAL, OutputOptions::default()), lines);
    let reader: &[(&str, &str)] = &[("TERM", "xterm"), ("ACCESSIBLE", "1"), ("GIT_PROGRESS_DELAY", "0")];
    assert_eq!(shown(reader, TERMINAL, OutputOptions::default()), lines);
}
