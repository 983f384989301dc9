//! Guides: prose that is written once, in a small part of Markdown, and read on a terminal, as a manual page and on the
//! web alike.
//!
//! What there is: headings, paragraphs, lists, code between fences, tables, and inside of lines `code`, *stress* and
//! links; comments of one line are left out. Nothing else of Markdown is understood, and the guides use nothing else.

use super::{
    slot::Slot,
    text::{Text, TextLine, expand_tabs, width},
    unbroken::{self, UNBROKEN},
};

/// A part of a guide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuideBlock {
    /// A heading, with the number of its `#`.
    Heading(usize, String),
    /// Lines that belong together, as one.
    Paragraph(String),
    /// One item of a list.
    Item(String),
    /// Lines that are shown as they are.
    Code(Vec<String>),
    /// A row of a table. In a table with more than two columns, each cell but the first has the heading of its column.
    Row(Vec<String>),
}

/// Takes a guide apart.
pub fn blocks(source: &str) -> Vec<GuideBlock> {
    let mut out: Vec<GuideBlock> = Vec::new();
    let mut lines = source.lines().peekable();
    // Whether the next line of text begins something new.
    let mut fresh = true;
    let mut headings: Vec<String> = Vec::new();
    while let Some(line) = lines.next() {
        let text = line.trim();
        if text.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.trim().starts_with("```"));
            out.push(GuideBlock::Code(
                code.map(|line| expand_tabs(line).into_owned()).collect(),
            ));
            fresh = true;
        } else if text.is_empty() || (text.starts_with("<!--") && text.ends_with("-->")) {
            // What the tests run to prepare a block is for no reader.
            fresh = true;
        } else if let Some(title) = text.strip_prefix('#') {
            let level = 1 + title.bytes().take_while(|&byte| byte == b'#').count();
            out.push(GuideBlock::Heading(level, plain(title.trim_start_matches('#').trim())));
            fresh = true;
        } else if text.starts_with('|') {
            let cells = |line: &str| {
                let line = line.trim().trim_matches('|').replace("\\|", "\u{1}");
                line.split('|')
                    .map(|cell| cell.trim().replace('\u{1}', "|"))
                    .collect::<Vec<_>>()
            };
            // The heading row is the one above the line of dashes.
            let is_rule = |line: &str| line.trim_start_matches('|').trim_start().starts_with('-');
            if lines.peek().is_some_and(|next| is_rule(next.trim())) {
                lines.next();
                headings = cells(text);
            } else {
                out.push(GuideBlock::Row(with_headings(cells(text), &headings)));
            }
            fresh = true;
        } else if let Some(item) = text.strip_prefix("- ").or_else(|| numbered(text)) {
            out.push(GuideBlock::Item(item.to_owned()));
            fresh = false;
        } else {
            match out.last_mut() {
                Some(GuideBlock::Paragraph(before) | GuideBlock::Item(before)) if !fresh => {
                    before.push(' ');
                    before.push_str(text);
                }
                _ => out.push(GuideBlock::Paragraph(text.to_owned())),
            }
            fresh = false;
        }
    }
    out
}

/// The cells of a row; where one could not tell what they are, with the headings of their columns.
fn with_headings(mut cells: Vec<String>, headings: &[String]) -> Vec<String> {
    if headings.len() > 2 {
        let rest = cells.iter_mut().zip(headings).skip(1);
        for (cell, heading) in rest.filter(|(cell, _)| !cell.is_empty()) {
            *cell = format!("{heading}: {cell}");
        }
    }
    cells
}

/// `text` without the number in front of it.
fn numbered(text: &str) -> Option<&str> {
    let (number, rest) = text.split_once(". ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(rest)
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinePiece {
    /// Ordinary words.
    Plain(String),
    /// Something to type, or a name.
    Code(String),
    /// Words with stress.
    Strong(String),
}

/// Takes a line apart. A link becomes its words and, when it leads somewhere else, its address.
pub fn pieces(text: &str) -> Vec<LinePiece> {
    let mut out = Vec::new();
    let mut words = String::new();
    let mut rest = text;
    let flush = |words: &mut String, out: &mut Vec<LinePiece>| {
        if !words.is_empty() {
            out.push(LinePiece::Plain(std::mem::take(words)));
        }
    };
    while let Some(at) = rest.find(['`', '*', '[']) {
        words.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((code, after)) = between(rest, "`", "`") {
            flush(&mut words, &mut out);
            out.push(LinePiece::Code(code.to_owned()));
            rest = after;
        } else if let Some((strong, after)) = between(rest, "**", "**").or_else(|| between(rest, "*", "*")) {
            flush(&mut words, &mut out);
            out.push(LinePiece::Strong(strong.to_owned()));
            rest = after;
        } else if let Some((label, address, after)) = link(rest) {
            words.push_str(&plain(label));
            if address.contains("://") {
                words.push_str(&format!(" ({address})"));
            }
            rest = after;
        } else {
            words.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    words.push_str(rest);
    flush(&mut words, &mut out);
    out
}

/// Text between `open` at the start of `text` and the next `close`, and the rest. Empty text, or text that begins with
/// a space, does not count: the mark is a star.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, &'t str)> {
    let (inner, after) = text.strip_prefix(open)?.split_once(close)?;
    (!inner.is_empty() && !inner.starts_with(' ')).then_some((inner, after))
}

fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (label, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (address, after) = rest.split_once(')')?;
    (!label.contains(']')).then_some((label, address, after))
}

/// A line without its markup.
pub fn plain(text: &str) -> String {
    let word = |piece| match piece {
        LinePiece::Plain(text) | LinePiece::Code(text) | LinePiece::Strong(text) => text,
    };
    pieces(text).into_iter().map(word).collect()
}

/// A guide for a terminal of this many columns. Code is never wrapped, and a block of it is indented where that fits.
pub fn text(source: &str, columns: usize) -> Text {
    let mut out = Text::new();
    let mut last = None;
    for block in blocks(source) {
        let listed = |block: Option<&GuideBlock>| matches!(block, Some(GuideBlock::Item(_) | GuideBlock::Row(_)));
        if last.is_some() && !(listed(last.as_ref()) && listed(Some(&block))) {
            out.push(TextLine::new());
        }
        match &block {
            GuideBlock::Heading(_, title) => out.push(TextLine::new().with(Slot::Heading, title)),
            GuideBlock::Paragraph(text) => out.append(wrapped(&shown(text), 0, columns)),
            GuideBlock::Item(text) => out.append(hanging("- ", &shown(text), columns)),
            GuideBlock::Code(lines) => {
                // What a terminal of these columns showed fills them.
                let widest = lines.iter().map(|line| width(line)).max().unwrap_or(0);
                let indent = columns.saturating_sub(widest).min(2);
                for line in lines {
                    out.push(TextLine::plain(format!("{:indent$}{line}", "")));
                }
            }
            GuideBlock::Row(cells) => {
                let (first, rest) = cells.split_first().map_or(("", &[][..]), |(f, r)| (f.as_str(), r));
                let first = TextLine::plain("  ").with(Slot::Id, plain(first));
                first.folded(columns).into_iter().for_each(|line| out.push(line));
                for cell in rest.iter().filter(|cell| !cell.is_empty()) {
                    out.append(wrapped(&cell_text(cell), 6, columns));
                }
            }
        }
        last = Some(block);
    }
    out
}

/// A line as it reads without a typeface for code: between quotes as in messages, double ones where it has single ones
/// itself.
fn shown(text: &str) -> String {
    let quoted = |code: &str| match (code.contains('\''), code.contains('"')) {
        (false, _) => format!("'{code}'"),
        (true, false) => format!("\"{code}\""),
        (true, true) => code.to_owned(),
    };
    let word = |piece| match piece {
        LinePiece::Code(text) => quoted(&whole(&text)),
        LinePiece::Plain(text) | LinePiece::Strong(text) => text,
    };
    pieces(text).into_iter().map(word).collect()
}

/// Code that no line break parts: a command that is broken could not be copied.
fn whole(code: &str) -> String {
    code.replace(' ', &UNBROKEN.to_string())
}

/// A cell of a table as it reads. Commands that are all of it are by themselves, and have no quotes that would be
/// copied with them.
fn cell_text(text: &str) -> String {
    let parts = pieces(text);
    let is_code = |piece: &LinePiece| match piece {
        LinePiece::Code(_) => true,
        LinePiece::Plain(text) => text == ", ",
        LinePiece::Strong(_) => false,
    };
    if !parts.iter().all(is_code) {
        return shown(text);
    }
    let bare = |piece| match piece {
        LinePiece::Code(code) => whole(&code),
        LinePiece::Plain(text) | LinePiece::Strong(text) => text,
    };
    parts.into_iter().map(bare).collect()
}

/// Wrapped text with code on one line.
fn wrapped(text: &str, indent: usize, columns: usize) -> Text {
    let wrapped = Text::wrapped(text, indent, columns);
    let lines = wrapped.lines().iter().map(|line| unbroken::split(&line.to_string()));
    lines.map(TextLine::plain).collect()
}

/// Wrapped text whose first line begins with `mark`, the others below its words.
fn hanging(mark: &str, text: &str, columns: usize) -> Text {
    let mut out = Text::new();
    for (place, line) in wrapped(text, mark.len(), columns).lines().iter().enumerate() {
        let line = line.to_string();
        if place == 0 {
            out.push(TextLine::plain(format!("{mark}{}", line.trim_start())));
        } else {
            out.push(TextLine::plain(line));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "# The *title*\n\nOne line\nand `code`, 2 * 3, [words](README.md).\n\n- an item\n  goes on\n- two\n\n\
        ```sh\ngit log  # x\n```\n| a | b |\n|---|---|\n| `k` | v \\| w |\n\n1. first\n";

    #[test]
    fn blocks_are_taken_apart() {
        assert_eq!(
            blocks(SOURCE),
            [
                GuideBlock::Heading(1, "The title".into()),
                GuideBlock::Paragraph("One line and `code`, 2 * 3, [words](README.md).".into()),
                GuideBlock::Item("an item goes on".into()),
                GuideBlock::Item("two".into()),
                GuideBlock::Code(vec!["git log  # x".into()]),
                GuideBlock::Row(vec!["`k`".into(), "v | w".into()]),
                GuideBlock::Item("first".into()),
            ]
        );
        assert_eq!(plain("a [b](https://c.example) *d*"), "a b (https://c.example) d");
    }

    #[test]
    fn commands_alone_in_a_cell_have_no_quotes() {
        let source = "| when | do |\n|---|---|\n| you stop | `git a b`, `git c '<x>'` |\n| else | use `git d` |\n";
        assert_eq!(
            text(source, 60).to_string(),
            "  you stop\n      git a b, git c '<x>'\n  else\n      use 'git d'\n"
        );
    }

    #[test]
    fn cells_of_wide_tables_have_their_headings() {
        let source = "| agent | turns | tools |\n|---|---|---|\n| one | yes | no: `x` |\n| two | | yes |\n";
        assert_eq!(
            text(source, 60).to_string(),
            "  one\n      turns: yes\n      tools: no: 'x'\n  two\n      tools: yes\n"
        );
    }

    #[test]
    fn code_is_on_one_line() {
        let source = "In a prompt `PS1='$(git checkpoint status)'` and the words `git log -1`.";
        assert_eq!(
            text(source, 24).to_string(),
            "In a prompt\n\"PS1='$(git checkpoint status)'\"\nand the words\n'git log -1'.\n"
        );
    }

    #[test]
    fn text_fits_the_columns() {
        let text = text(SOURCE, 20).to_string();
        assert_eq!(
            text,
            "The title\n\nOne line and 'code',\n2 * 3, words.\n\n- an item goes on\n- two\n\n  git log  # x\n\n  k\n      \
             v | w\n- first\n"
        );
    }
}
