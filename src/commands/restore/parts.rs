//! `-p`: git asks which hunks are meant, and what it shows reaches the terminal without control characters.

use std::io::Read as _;

use crate::{
    commands::{Context, error::CommandError},
    git::Git,
    ops::{Error, Scene, edit},
    os, store,
};

/// Refuses where no user can choose.
pub(super) fn require_person(context: &Context) -> Result<(), CommandError> {
    context.require_person(
        "--patch",
        "asks which hunks are meant",
        "name the files instead: -- <path>...",
    )
}

/// Why there is nothing to do: no hunk was wanted, or there was none.
pub(super) fn nothing(is_asked: bool) -> &'static str {
    if is_asked {
        "no hunk was chosen"
    } else {
        "no text file differs, so there is no hunk to choose"
    }
}

/// Runs the child that asks. It reads our standard input; what it writes is passed on as it comes. The editor for a hunk
/// has the terminal for itself.
pub(super) fn ask(context: &Context, scene: &Scene<'_>, git: Git) -> Result<(), Error> {
    let failed = |error| Error::from(store::Error::from(error));
    let ui = &context.ui;
    let mut git = git;
    if ui.colors_output() {
        git = git.config("color.interactive=always").config("color.diff=always");
    }
    if ui.terminals().output
        && let Ok(editor) = edit::editor(scene)
    {
        git = git.env("GIT_EDITOR", os::editor_on_terminal(&editor));
    }
    let mut running = git.start().map_err(failed)?;
    let mut filter = Filter::default();
    if let Some(pipe) = running.stdout.as_mut() {
        let mut buffer = [0; 8192];
        // The end of the child is what counts, not how its pipe ends.
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            ui.pass(false, &filter.pass(&buffer[..read]));
        }
    }
    ui.pass(false, &filter.rest());
    running.finish().map_err(failed)?;
    Ok(())
}

/// Filters output of the child: files are written, not the index that it is given, and nothing but text and colors gets
/// through.
#[derive(Default)]
struct Filter {
    /// The line so far.
    line: Vec<u8>,
    /// How much of the line was passed on.
    passed: usize,
}

impl Filter {
    /// Takes bytes and gives what is to be written: whole lines, and the last one as far as it came, for a question has
    /// no line end.
    fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for byte in bytes {
            self.line.push(*byte);
            if *byte == b'\n' {
                out.extend(self.rest());
            }
        }
        let is_question = self.line.ends_with(b"? ") || self.line.ends_with(b"\x1b[m");
        if is_question && self.passed == 0 {
            out.extend(shown(&self.line));
            self.passed = self.line.len();
        }
        out
    }

    /// The rest of the line.
    fn rest(&mut self) -> Vec<u8> {
        let line = std::mem::take(&mut self.line);
        let passed = std::mem::take(&mut self.passed);
        // What was asked is there already; then only what came after it is new.
        if passed > 0 {
            escaped(&line[passed..])
        } else {
            shown(&line)
        }
    }
}

/// A line as it is shown: a question or its explanation speaks of the working tree.
fn shown(line: &[u8]) -> Vec<u8> {
    let plain = without_colors(line);
    let text = String::from_utf8_lossy(&plain);
    // The answer may not be echoed: then what comes next is behind a line end.
    let is_question = text.starts_with('(') && text.trim_end_matches('\n').ends_with("? ");
    // A line of a file begins with a space, a plus or a minus.
    let is_help = text.starts_with(|key: char| !" +-".contains(key)) && text.get(1..4) == Some(" - ");
    if !is_question && !is_help {
        return escaped(line);
    }
    let line = String::from_utf8_lossy(line).replace(" to index", " to worktree");
    escaped(line.as_bytes())
}

/// The bytes without color sequences.
fn without_colors(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, more)) = rest.split_first() {
        if let Some(length) = color(rest) {
            rest = &rest[length..];
        } else {
            out.push(*first);
            rest = more;
        }
    }
    out
}

/// The length of the color sequence that some bytes begin with.
fn color(bytes: &[u8]) -> Option<usize> {
    let inner = bytes.strip_prefix(b"\x1b[")?;
    let end = inner
        .iter()
        .position(|byte| !(byte.is_ascii_digit() || *byte == b';'))?;
    (inner[end] == b'm').then_some(end + 3)
}

/// Text and colors as they are; other control characters in caret notation, as git shows them in names.
fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, more)) = rest.split_first() {
        if let Some(length) = color(rest) {
            out.extend(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        match first {
            b'\n' | b'\t' => out.push(*first),
            0..=31 => out.extend([b'^', first + 64]),
            127 => out.extend(b"^?"),
            _ => out.push(*first),
        }
        rest = more;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_in_a_pipe_that_comes_with_more_is_one() {
        let said = Filter::default().pass(b"(1/2) Apply this hunk to index [y,n]? \ndiff --git a/x b/x\n");
        assert!(said.starts_with(b"(1/2) Apply this hunk to worktree [y,n]? \n"));
    }

    #[test]
    fn questions_speak_of_the_working_tree_and_nothing_controls_the_terminal() {
        let mut filter = Filter::default();
        let said = |filter: &mut Filter, text: &str| String::from_utf8(filter.pass(text.as_bytes())).expect("text");
        assert_eq!(said(&mut filter, "+add to index\n"), "+add to index\n");
        assert_eq!(said(&mut filter, "(1/2) Apply this hunk to "), "");
        assert_eq!(
            said(&mut filter, "index [y,n,q,a,d,?]? "),
            "(1/2) Apply this hunk to worktree [y,n,q,a,d,?]? "
        );
        assert_eq!(said(&mut filter, "@@ -1 +1 @@\n"), "@@ -1 +1 @@\n");
        for line in ["  - add to index\n", "+ - add to index\n", "- - add to index\n"] {
            assert_eq!(said(&mut filter, line), line);
        }
        assert_eq!(
            said(&mut filter, "y - apply this hunk to index\n"),
            "y - apply this hunk to worktree\n"
        );
        assert_eq!(said(&mut filter, "+\x1b]0;title\x07\r\n"), "+^[]0;title^G^M\n");
        assert_eq!(said(&mut filter, "\x1b[32m+x\x1b[m\n"), "\x1b[32m+x\x1b[m\n");
        assert_eq!(String::from_utf8(filter.rest()).expect("text"), "");
    }
}
