//! Lines of text whose parts carry a meaning (`Slot`) instead of a color, and the measures of text on a screen.
//!
//! A `TextLine` holds only what may be shown: everything put into it is escaped first, so widths are those of what is
//! drawn. Which color a slot has, and whether there is color at all, is decided in `commands::ui`.

use std::borrow::Cow;
use std::fmt;

use unicode_width::UnicodeWidthStr as _;

use super::escape;
use super::slot::Slot;
use super::unbroken;

/// A part of a line: escaped text and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'l> {
    slot: Slot,
    text: &'l str,
}

impl<'l> Span<'l> {
    /// Meaning of the part.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The text as shown: one line, nothing hidden in it.
    pub fn text(&self) -> &'l str {
        self.text
    }
}

/// One line without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLine {
    /// All parts, one after the other: a table has a hundred thousand lines, and most are one part.
    text: String,
    /// The parts but the last one: what each is, and where it ends.
    before: Vec<(Slot, usize)>,
    /// Meaning of the last part; `Plain` when there is none.
    last: Slot,
}

/// What a line is drawn into, part by part: a [`TextLine`], or the text that goes to a stream, for a hundred thousand of them.
pub trait DrawnLine {
    /// Adds text, which is escaped already.
    fn put(&mut self, slot: Slot, text: &str);

    /// Adds this many spaces.
    fn put_spaces(&mut self, mut count: usize) {
        const SPACES: &str = "                                                                ";
        while count > 0 {
            let some = count.min(SPACES.len());
            self.put(Slot::Plain, &SPACES[..some]);
            count -= some;
        }
    }
}

impl DrawnLine for TextLine {
    fn put(&mut self, slot: Slot, text: &str) {
        self.push_shown(slot, text);
    }
}

impl Default for TextLine {
    fn default() -> Self {
        Self {
            text: String::new(),
            before: Vec::new(),
            last: Slot::Plain,
        }
    }
}

impl TextLine {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of running text; escaped here.
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::new().with(Slot::Plain, text)
    }

    /// The line with `text` at its end, escaped, as `slot`.
    #[must_use]
    pub fn with(mut self, slot: Slot, text: impl AsRef<str>) -> Self {
        self.push(slot, text);
        self
    }

    /// Adds `text`, escaped, as `slot`.
    pub fn push(&mut self, slot: Slot, text: impl AsRef<str>) {
        self.push_shown(slot, &escape::line(text.as_ref()));
    }

    /// Adds text that is escaped already, as `slot`.
    pub(super) fn push_shown(&mut self, slot: Slot, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.last != slot {
            if !self.text.is_empty() {
                self.before.push((self.last, self.text.len()));
            }
            self.last = slot;
        }
        self.text.push_str(text);
    }

    /// Adds all of `other`.
    pub fn append(&mut self, other: &Self) {
        for span in other.spans() {
            self.push_shown(span.slot, span.text);
        }
    }

    /// Adds spaces until the line is `width` columns wide; a wider line stays as it is.
    pub fn pad_to(&mut self, width: usize) {
        self.put_spaces(width.saturating_sub(self.width()));
    }

    /// The parts, from left to right.
    pub fn spans(&self) -> impl Iterator<Item = Span<'_>> {
        let rest = (!self.text.is_empty()).then_some((self.last, self.text.len()));
        let mut start = 0;
        self.before.iter().copied().chain(rest).map(move |(slot, end)| {
            let text = &self.text[start..end];
            start = end;
            Span { slot, text }
        })
    }

    /// The text without its slots.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Columns on a screen.
    pub fn width(&self) -> usize {
        self.spans().map(|span| width(span.text)).sum()
    }

    /// The line in at most `columns` columns; what was longer ends with `..`.
    #[must_use]
    pub fn cut(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let mut out = Self::new();
        let mut left = columns.saturating_sub(ELLIPSIS.len());
        let mut last = Slot::Plain;
        for span in self.spans() {
            let part = prefix(span.text, left);
            out.push(span.slot, part);
            last = span.slot;
            left -= width(part);
            if part.len() < span.text.len() {
                break;
            }
        }
        out.push(last, &ELLIPSIS[..columns.min(ELLIPSIS.len())]);
        out
    }

    /// The same with `..` in the middle, in the color of its beginning.
    #[must_use]
    pub fn cut_middle(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let slot = self.spans().next().map_or(Slot::Plain, |span| span.slot);
        let room = columns.saturating_sub(ELLIPSIS.len());
        let start = prefix(&self.text, room.div_ceil(2));
        let end = suffix(&self.text, room - width(start).min(room));
        Self::new().with(slot, format!("{start}{ELLIPSIS}{end}")).cut(columns)
    }
}

impl TextLine {
    /// The line on as many lines as it takes to be `columns` wide at most, broken at spaces; those after the first are
    /// indented a little more. What has no space stays whole, and so does a command.
    pub fn folded(&self, columns: usize) -> Vec<Self> {
        let indent = self.text.len() - self.text.trim_start().len();
        self.folded_to(columns, (indent + 2).min(columns / 2))
    }

    /// The same; lines after the first begin below the value where the line is a label and its value. `None` for a row of
    /// more columns than these two.
    pub fn folded_value(&self, columns: usize) -> Option<Vec<Self>> {
        /// No label is wider, with its indent.
        const LABEL: usize = 16;
        let label = self.text.trim_start();
        let value = label[label.find("  ")?..].trim_start();
        let column = width(&self.text[..self.text.len() - value.len()]);
        if !value.contains(' ') {
            // Below its label it would be no shorter.
            return None;
        }
        (column <= LABEL && !value.contains("  ")).then(|| self.folded_to(columns, column.min(columns / 2)))
    }

    /// The same for any line: the lines after the first of a row begin below its last cell, or below an earlier one where
    /// that leaves too little room.
    pub fn folded_row(&self, columns: usize) -> Vec<Self> {
        let indent = self.text.len() - self.text.trim_start().len();
        let (mut hang, mut last, mut at) = (indent + 2, 0, indent);
        while let Some(gap) = self.text[at..].find("  ") {
            let rest = &self.text[at + gap..];
            at += gap + rest.len() - rest.trim_start().len();
            let column = width(&self.text[..at]);
            if column <= columns * 5 / 8 {
                hang = column;
            }
            last = column;
        }
        if last == hang && !self.text[at..].contains(' ') {
            // Below itself it would be no shorter.
            return vec![self.clone()];
        }
        if last > hang {
            hang += 2;
        }
        self.folded_to(columns, hang)
    }

    fn folded_to(&self, columns: usize, hang: usize) -> Vec<Self> {
        if self.width() <= columns {
            return vec![self.clone()];
        }
        let text = self.to_string();
        let indent = text.len() - text.trim_start().len();
        let mut out = vec![Self::plain(" ".repeat(indent))];
        // A word may be made of several parts, and the spaces behind it count only when another follows on the line.
        let (mut word, mut space) = (Self::new(), 0);
        let mut place = |word: &mut Self, space: usize| {
            let line = out.last_mut().expect("there is always one");
            let begun = line.width() > indent + 2 || (line.width() > 0 && !line.to_string().trim().is_empty());
            if begun && line.width() + space + word.width() > columns {
                out.push(Self::plain(" ".repeat(hang)));
            } else if begun {
                line.push(Slot::Plain, " ".repeat(space));
            }
            if let Some(line) = out.last_mut() {
                line.append(word);
            }
            *word = Self::new();
        };
        for span in self.spans() {
            for (n, part) in unbroken::joined(span.text).split(' ').enumerate() {
                if n > 0 {
                    if !word.is_empty() {
                        place(&mut word, space);
                        space = 0;
                    }
                    space += 1;
                }
                word.push(span.slot, unbroken::split(part));
            }
        }
        if !word.is_empty() {
            place(&mut word, space);
        }
        out
    }
}

impl fmt::Display for TextLine {
    /// The text without its slots.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Lines, from top to bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    lines: Vec<TextLine>,
}

impl Text {
    /// No line.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text with its lines [folded](TextLine::folded).
    #[must_use]
    pub fn folded(&self, columns: usize) -> Self {
        self.lines()
            .iter()
            .flat_map(|line| line.folded(columns.max(1)))
            .collect()
    }

    /// The lines of `text` as running text. A last line end makes no empty line; tabs become spaces.
    pub fn block(text: &str) -> Self {
        let text = escape::block(text);
        Self {
            lines: text.lines().map(|l| TextLine::plain(expand_tabs(l))).collect(),
        }
    }

    /// `text` as paragraphs broken at spaces but never inside a command, each line `indent` columns in and `columns`
    /// wide at most where words allow. Empty lines stay.
    pub fn wrapped(text: &str, indent: usize, columns: usize) -> Self {
        let room = columns.saturating_sub(indent).max(1);
        let mut out = Self::new();
        for paragraph in escape::block(text).lines() {
            let mut line = String::new();
            for word in unbroken::words(paragraph) {
                if !line.is_empty() && width(&line) + 1 + width(word) > room {
                    out.push(TextLine::plain(" ".repeat(indent) + &line));
                    line.clear();
                }
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            out.push(if line.is_empty() {
                TextLine::new()
            } else {
                TextLine::plain(" ".repeat(indent) + &line)
            });
        }
        out
    }

    /// Adds a line.
    pub fn push(&mut self, line: TextLine) {
        self.lines.push(line);
    }

    /// Adds a line if there is one.
    pub fn lines_of(&mut self, line: Option<TextLine>) {
        self.lines.extend(line);
    }

    /// Adds the lines of `other`.
    pub fn append(&mut self, other: Self) {
        self.lines.extend(other.lines);
    }

    /// The lines.
    pub fn lines(&self) -> &[TextLine] {
        &self.lines
    }

    /// The columns of its widest line.
    pub fn width(&self) -> usize {
        self.lines.iter().map(TextLine::width).max().unwrap_or(0)
    }
}

impl From<&str> for Text {
    fn from(line: &str) -> Self {
        TextLine::plain(line).into()
    }
}

impl From<String> for Text {
    fn from(line: String) -> Self {
        TextLine::plain(line).into()
    }
}

impl From<TextLine> for Text {
    fn from(line: TextLine) -> Self {
        Self { lines: vec![line] }
    }
}

impl FromIterator<TextLine> for Text {
    fn from_iter<I: IntoIterator<Item = TextLine>>(lines: I) -> Self {
        Self {
            lines: lines.into_iter().collect(),
        }
    }
}

impl fmt::Display for Text {
    /// The lines without their slots, each with its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|l| writeln!(f, "{l}"))
    }
}

/// Marks text that was cut. ASCII, so that it is two columns everywhere.
const ELLIPSIS: &str = "..";

/// Columns that `text` takes on a screen. Wide characters count two, combining marks none.
pub fn width(text: &str) -> usize {
    if text.as_bytes().iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.len();
    }
    text.width()
}

/// `text` in at most `columns` columns; what was longer ends with `..`.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let kept = prefix(text, columns.saturating_sub(ELLIPSIS.len()));
    Cow::Owned(format!("{kept}{}", &ELLIPSIS[..columns.min(ELLIPSIS.len())]))
}

/// The longest start of `text` that fits, with the marks that combine with its last character.
fn prefix(text: &str, columns: usize) -> &str {
    let mut end = 0;
    for (start, c) in text.char_indices() {
        let next = start + c.len_utf8();
        if width(&text[..next]) > columns {
            break;
        }
        end = next;
    }
    &text[..end]
}

/// The longest end of `text` that fits.
fn suffix(text: &str, columns: usize) -> &str {
    let mut starts = text.char_indices().rev().map(|(start, _)| start);
    let fitting = starts.by_ref().take_while(|start| width(&text[*start..]) <= columns);
    fitting.last().map_or("", |start| &text[start..])
}

/// Tabs as spaces up to the next multiple of eight columns.
pub(super) fn expand_tabs(line: &str) -> Cow<'_, str> {
    if !line.contains('\t') {
        return Cow::Borrowed(line);
    }
    let mut out = String::new();
    for (n, part) in line.split('\t').enumerate() {
        if n > 0 {
            out.push_str(&" ".repeat(8 - width(&out) % 8));
        }
        out.push_str(part);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_hold_only_what_may_be_shown() {
        let line = TextLine::new().with(Slot::Id, "7f3a\x1b[0m").with(Slot::Plain, " a\nb");
        assert_eq!(line.to_string(), "7f3a\\x1b[0m a\\nb");
        assert_eq!(line.width(), 16);
        assert_eq!(Text::block("a\tb\r\n\n\x1bc\n").to_string(), "a       b\n\n\\x1bc\n");
    }

    #[test]
    fn rows_go_on_below_their_last_cell() {
        let folded = |text: &str| -> Vec<String> {
            let lines = TextLine::plain(text).folded_row(40);
            lines.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            folded("  keep  a path  the checkpoint did not save it (a FIFO)"),
            [
                "  keep  a path  the checkpoint did not",
                "                save it (a FIFO)"
            ]
        );
        // A last cell too far right goes on a little right of an earlier one, and a line without cells below itself.
        assert_eq!(
            folded("  keep  a/path/that/is/so/long  cannot be saved first"),
            ["  keep  a/path/that/is/so/long  cannot", "          be saved first"]
        );
        assert_eq!(
            folded("words that are more than there is room for"),
            ["words that are more than there is room", "  for"]
        );
        for whole in ["short  row", "write  /a/path/that/is/wider/than/all/there/is"] {
            assert_eq!(folded(whole), [whole]);
        }
    }

    #[test]
    fn text_is_cut_by_columns() {
        for (text, columns, wanted) in [
            ("Parser done", 11, "Parser done"),
            ("Parser done", 10, "Parser d.."),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日.."),
            ("日本語", 4, "日.."),
            ("日本語", 3, ".."),
            ("abc", 1, "."),
            ("abc", 0, ""),
            ("e\u{301}e\u{301}e\u{301}e\u{301}", 3, "e\u{301}.."),
        ] {
            assert_eq!(cut(text, columns), wanted);
            assert_eq!(TextLine::plain(text).cut(columns).to_string(), wanted);
        }
        let line = TextLine::new().with(Slot::Id, "abcd").with(Slot::Date, "efgh");
        let cut = line.cut(7);
        assert_eq!(cut.to_string(), "abcde..");
        assert_eq!(cut.spans().nth(1).map(|span| span.slot()), Some(Slot::Date));
    }

    #[test]
    fn long_lines_are_folded_with_their_colors() {
        let line = TextLine::plain("  code     ")
            .with(Slot::Branch, "main")
            .with(Slot::Plain, ", 1 modified");
        let folded: Vec<_> = line.folded(20).iter().map(ToString::to_string).collect();
        assert_eq!(folded, ["  code     main, 1", "    modified"]);
        assert_eq!(line.folded(40), vec![line.clone()]);
        assert!(line.folded(20)[0].spans().any(|span| span.slot() == Slot::Branch));
        let folded: Vec<_> = TextLine::plain("unbreakable-word x")
            .folded(5)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(folded, ["unbreakable-word", "  x"]);
    }

    #[test]
    fn a_value_is_folded_below_itself_and_a_row_of_columns_is_not() {
        let folded = |text: &str| -> Option<Vec<String>> {
            let lines = TextLine::plain(text).folded_value(30)?;
            Some(lines.iter().map(ToString::to_string).collect())
        };
        assert_eq!(
            folded("  index    not restored: 1 staged; see: git checkpoint restore").unwrap(),
            [
                "  index    not restored: 1",
                "           staged; see:",
                "           git checkpoint restore"
            ]
        );
        assert_eq!(folded("  write    src/parser.rs          changed"), None);
        assert_eq!(folded("a value that is wide  and no label"), None);
    }

    #[test]
    fn paragraphs_are_broken_at_spaces() {
        let text = Text::wrapped("one two three\n\nunbreakable-word x", 2, 9);
        assert_eq!(text.to_string(), "  one two\n  three\n\n  unbreakable-word\n  x\n");
    }

    proptest! {
        #[test]
        fn parts_are_what_was_pushed(parts in proptest::collection::vec(("\\PC{0,6}", 0usize..3), 0..8)) {
            let slots = [Slot::Plain, Slot::Id, Slot::Date];
            let mut line = TextLine::new();
            let mut wanted: Vec<(Slot, String)> = Vec::new();
            for (text, slot) in &parts {
                line.push(slots[*slot], text);
                let text = escape::line(text);
                match wanted.last_mut() {
                    _ if text.is_empty() => {}
                    Some((last, whole)) if *last == slots[*slot] => whole.push_str(&text),
                    _ => wanted.push((slots[*slot], text.into_owned())),
                }
            }
            let found: Vec<_> = line.spans().map(|span| (span.slot(), span.text().to_owned())).collect();
            prop_assert_eq!(line.is_empty(), wanted.is_empty());
            prop_assert_eq!(line.width(), wanted.iter().map(|(_, text)| text.width()).sum::<usize>());
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn folding_loses_no_word(text in "[ a-c\u{e9}]{0,40}", columns in 1usize..20) {
            let line = TextLine::plain(&text);
            let folded = line.folded(columns);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let all: Vec<_> = folded.iter().map(ToString::to_string).collect();
            let all = all.join("\n");
            prop_assert_eq!(words(&all), words(&text));
            for line in &folded {
                let alone = words(&line.to_string()).len() <= 1;
                prop_assert!(line.width() <= columns || alone, "{:?}", line.to_string());
            }
        }

        #[test]
        fn cut_text_fits(text in "\\PC{0,30}", columns in 0usize..40) {
            let text = escape::line(&text).into_owned();
            let short = cut(&text, columns);
            prop_assert!(width(&short) <= columns, "{:?} is {} wide", short, width(&short));
            prop_assert_eq!(TextLine::plain(&text).cut(columns).to_string(), short);
        }
    }
}
