//! The files of a patch, each with its lines.

use maud::{Markup, html};

use crate::render::{
    escape, patch,
    text::{Text, TextLine},
};

/// The patch of one file.
#[derive(Debug)]
pub struct FilePatch {
    /// The path.
    pub path: String,
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
    /// The patch, with the slots of its lines.
    pub text: Text,
}

/// The files of a patch as git writes it, and how many are left out to keep the page small.
pub fn files(patch: &[u8]) -> (Vec<FilePatch>, usize) {
    /// The most bytes of patches that are shown.
    const LIMIT: usize = 2 << 20;
    let text = String::from_utf8_lossy(patch);
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices("\ndiff --git ").map(|(at, _)| at + 1))
        .filter(|at| text[*at..].starts_with("diff --git "))
        .collect();
    let ends = starts.iter().skip(1).copied().chain(std::iter::once(text.len()));
    let (mut out, mut size, mut more) = (Vec::new(), 0, 0);
    for part in starts.iter().zip(ends).map(|(start, end)| &text[*start..end]) {
        size += part.len();
        if size > LIMIT {
            more += 1;
            size -= part.len();
            continue;
        }
        out.push(file(part));
    }
    (out, more)
}

fn file(part: &str) -> FilePatch {
    let header = part.lines().next().unwrap_or_default();
    let named = |prefix: &str| {
        part.lines()
            .find_map(|line| line.strip_prefix(prefix))
            .map(str::to_owned)
    };
    let path = named("+++ b/")
        .or_else(|| named("--- a/"))
        .or_else(|| header.split_once(" b/").map(|(_, path)| path.to_owned()))
        .unwrap_or_else(|| header.trim_start_matches("diff --git ").to_owned());
    let body = part.split_once("\n@@").map_or("", |(_, body)| body);
    let count = |mark: char| body.lines().filter(|line| line.starts_with(mark)).count();
    FilePatch {
        path: path.trim_end_matches('\t').to_owned(),
        added: count('+'),
        removed: count('-'),
        text: patch::text(part.as_bytes()),
    }
}

/// The lines of a patch, each with a background by its kind. Its header has nothing that the heading has not.
pub(super) fn patch_lines(text: &Text) -> Markup {
    let is_body = |line: &&TextLine| line.text().starts_with("@@");
    let start = text.lines().iter().position(|line| is_body(&line)).unwrap_or(0);
    html! {
        @for line in &text.lines()[start..] {
            span class=(match line.text().as_bytes().first() {
                Some(b'+') => "line added",
                Some(b'-') => "line removed",
                Some(b'@') => "line hunk",
                _ => "line",
            }) {
                @for span in line.spans() { span class=(format!("t-{}", span.slot().key())) { (escape::line(span.text())) } }
                "\n"
            }
        }
    }
}
