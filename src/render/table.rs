//! Columns aligned by what they take on a screen. A table never wraps: what does not fit is cut with `..`, and on a
//! narrow screen each row becomes two lines.
//!
//! The design width is 80; a wider screen gives its room to the flexible column only.

use std::ops::Range;

use super::escape;
use super::slot::Slot;
use super::text::{DrawnLine, Text, TextLine, cut, width};

/// Columns between two columns.
const GAP: usize = 2;

/// Below this many columns a row is two lines.
const NARROW: usize = 60;
/// From here on one line for each row is enough where all columns fit.
const USUAL: usize = 80;
/// Columns in which a summary can be read.
const LEGIBLE: usize = 20;

/// A column's title and how it behaves.
#[derive(Clone, Debug)]
pub struct TableColumn {
    title: String,
    right: bool,
    /// Columns it keeps at least when room is short; `None` means it is never cut.
    least: Option<usize>,
    /// Whether it is cut in the middle: names differ at their ends.
    middle: bool,
}

impl TableColumn {
    /// Aligned left, never cut.
    pub fn left(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            right: false,
            least: None,
            middle: false,
        }
    }

    /// Aligned right, never cut: for numbers.
    pub fn right(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            right: true,
            least: None,
            middle: false,
        }
    }

    /// May be cut down to `least` columns. The last such column is cut first, and is the second line of a narrow table.
    #[must_use]
    pub fn flexible(mut self, least: usize) -> Self {
        self.least = Some(least);
        self
    }

    /// The same, cut in the middle.
    #[must_use]
    pub fn flexible_name(mut self, least: usize) -> Self {
        self.middle = true;
        self.flexible(least)
    }
}

/// Rows of cells under titled columns. Everything is kept in a few long pieces: it may be a hundred thousand rows.
#[derive(Clone, Debug)]
pub struct TextTable {
    columns: Vec<TableColumn>,
    /// The text of all cells, row by row.
    text: String,
    /// The parts of cells: what each is, and where its text ends.
    parts: Vec<(Slot, usize)>,
    /// The cells.
    cells: Vec<TableCell>,
    /// The widest cell of each column; `None` where no cell has any text.
    widest: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug)]
struct TableCell {
    /// How many parts there are up to its end.
    parts: usize,
    /// Columns on a screen.
    width: usize,
}

impl TextTable {
    /// No rows yet. Without any title no line of titles is drawn.
    pub fn new(columns: impl IntoIterator<Item = TableColumn>) -> Self {
        let columns: Vec<TableColumn> = columns.into_iter().collect();
        Self {
            widest: vec![None; columns.len()],
            columns,
            text: String::new(),
            parts: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Adds a row. Missing cells are empty; cells beyond the columns are left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = TextLine>) {
        let mut cells = cells.into_iter();
        for _ in 0..self.columns.len() {
            self.cell(&cells.next().unwrap_or_default());
        }
    }

    /// Adds the next cell of a row. For tables of very many rows, as is [`cell_of`](Self::cell_of): the caller adds as
    /// many as there are columns.
    pub(super) fn cell(&mut self, line: &TextLine) {
        let mut width = 0;
        for span in line.spans() {
            self.text.push_str(span.text());
            self.parts.push((span.slot(), self.text.len()));
            width += super::text::width(span.text());
        }
        self.end_cell(width);
    }

    /// The same of one part, which is escaped here.
    pub(super) fn cell_of(&mut self, slot: Slot, text: &str) {
        let text = escape::line(text);
        if !text.is_empty() {
            self.text.push_str(&text);
            self.parts.push((slot, self.text.len()));
        }
        self.end_cell(width(&text));
    }

    fn end_cell(&mut self, width: usize) {
        let column = self.cells.len() % self.columns.len();
        let before = self.cells.last().map_or(0, |cell| cell.parts);
        let parts = self.parts.len();
        if parts > before {
            self.widest[column] = self.widest[column].max(Some(width));
        }
        self.cells.push(TableCell { parts, width });
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.cells.len() / self.columns.len().max(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The table in at most `columns` columns, as far as its columns may be cut. `usize::MAX` cuts nothing, which is
    /// for pipes.
    pub fn render(&self, columns: usize) -> Text {
        let mut out = Text::new();
        self.each_line(columns, |line| out.push(line));
        out
    }

    /// The lines of [`render`](Self::render), one at a time.
    pub fn each_line(&self, columns: usize, mut each: impl FnMut(TextLine)) {
        let layout = self.layout(columns);
        layout.heading().into_iter().for_each(&mut each);
        layout.each_line(0..self.len(), each);
    }

    /// Adds the rows of another table with the same columns, which another thread may have made.
    pub fn append(&mut self, other: &Self) {
        let (text, parts) = (self.text.len(), self.parts.len());
        self.text.push_str(&other.text);
        self.parts
            .extend(other.parts.iter().map(|(slot, end)| (*slot, end + text)));
        self.cells.extend(other.cells.iter().map(|cell| TableCell {
            parts: cell.parts + parts,
            width: cell.width,
        }));
        for (widest, other) in self.widest.iter_mut().zip(&other.widest) {
            *widest = (*widest).max(*other);
        }
    }

    /// How [`render`](Self::render) draws it.
    pub fn layout(&self, columns: usize) -> TableLayout<'_> {
        let mut used: Vec<usize> = (0..self.columns.len()).filter(|&c| !self.is_blank(c)).collect();
        let second = used
            .iter()
            .rev()
            .copied()
            .find(|&c| self.columns[c].least.is_some())
            .filter(|&second| used.len() > 1 && (columns < NARROW || self.is_tight(&used, second, columns)));
        used.retain(|&c| Some(c) != second);
        TableLayout {
            table: self,
            widths: self.widths(&used, columns),
            used,
            second,
            columns,
        }
    }

    /// Whether one line for each row does not fit, or leaves next to nothing of its last flexible column.
    fn is_tight(&self, used: &[usize], second: usize, columns: usize) -> bool {
        let widths = self.widths(used, columns);
        let total = widths.iter().sum::<usize>() + GAP * used.len().saturating_sub(1);
        if columns >= USUAL {
            return total > columns;
        }
        let widest = self.widest[second].unwrap_or(0);
        let shown = used
            .iter()
            .zip(&widths)
            .find(|(column, _)| **column == second)
            .map_or(0, |(_, width)| *width);
        total > columns || (shown < LEGIBLE && shown < widest)
    }

    fn cell_at(&self, row: usize, column: usize) -> TableCell {
        self.cells[row * self.columns.len() + column]
    }

    /// Adds a cell to a line, in at most `columns` columns.
    fn put(&self, line: &mut impl DrawnLine, row: usize, column: usize, columns: usize) {
        let place = row * self.columns.len() + column;
        let first = place.checked_sub(1).map_or(0, |before| self.cells[before].parts);
        let mut start = first.checked_sub(1).map_or(0, |before| self.parts[before].1);
        let cell = self.cells[place];
        let parts = self.parts[first..cell.parts].iter().map(|&(slot, end)| {
            let text = &self.text[start..end];
            start = end;
            (slot, text)
        });
        if cell.width <= columns {
            parts.for_each(|(slot, text)| line.put(slot, text));
        } else {
            let mut whole = TextLine::new();
            parts.for_each(|(slot, text)| whole.put(slot, text));
            let cut = if self.columns[column].middle {
                whole.cut_middle(columns)
            } else {
                whole.cut(columns)
            };
            cut.spans().for_each(|span| line.put(span.slot(), span.text()));
        }
    }

    /// Whether a column has nothing to show in any row: it would only take room.
    fn is_blank(&self, column: usize) -> bool {
        !self.is_empty() && self.widest[column].is_none()
    }

    /// The width of each used column: its widest cell, less what must be saved, from the last flexible one on.
    fn widths(&self, used: &[usize], columns: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = used
            .iter()
            .map(|&c| self.widest[c].unwrap_or(0).max(width(&self.columns[c].title)))
            .collect();
        let total = widths.iter().sum::<usize>() + GAP * used.len().saturating_sub(1);
        let mut excess = total.saturating_sub(columns);
        for (place, &column) in used.iter().enumerate().rev() {
            if let Some(least) = self.columns[column].least {
                let saved = excess.min(widths[place].saturating_sub(least));
                widths[place] -= saved;
                excess -= saved;
            }
        }
        widths
    }

    /// How far from the left of its column of `width` columns something of `taken` columns begins.
    fn lead(&self, column: usize, width: usize, taken: usize) -> usize {
        if self.columns[column].right {
            width - taken.min(width)
        } else {
            0
        }
    }

    /// One line of cells, without spaces at its end.
    fn join(&self, line: &mut impl DrawnLine, row: usize, used: &[usize], widths: &[usize]) {
        // Where the line ends, and where the column begins.
        let (mut at, mut start) = (0, 0);
        for (&column, &width) in used.iter().zip(widths) {
            let cell = self.cell_at(row, column);
            // Only one that is cut has to be measured again.
            let taken = if cell.width > width {
                let mut cut = TextLine::new();
                self.put(&mut cut, row, column, width);
                cut.width()
            } else {
                cell.width
            };
            if taken > 0 {
                let place = start + self.lead(column, width, taken);
                line.put_spaces(place.saturating_sub(at));
                self.put(line, row, column, width);
                at = at.max(place) + taken;
            }
            start += width + GAP;
        }
    }
}

/// The columns of a table as they are drawn.
#[derive(Clone, Debug)]
pub struct TableLayout<'t> {
    table: &'t TextTable,
    used: Vec<usize>,
    widths: Vec<usize>,
    /// The column that is on a line of its own.
    second: Option<usize>,
    columns: usize,
}

impl TableLayout<'_> {
    /// The line of titles; none where each row is two lines, or no column has one.
    pub fn heading(&self) -> Option<TextLine> {
        let title = |column: usize| &self.table.columns[column].title;
        if self.second.is_some() || self.used.iter().all(|&c| title(c).is_empty()) {
            return None;
        }
        let mut titles = TextLine::new();
        let (mut at, mut start) = (0, 0);
        for (&c, &w) in self.used.iter().zip(&self.widths) {
            let title = cut(title(c), w);
            if !title.is_empty() {
                let place = start + self.table.lead(c, w, width(&title));
                titles.put_spaces(place - at);
                titles.push(Slot::Heading, &title);
                at = place + width(&title);
            }
            start += w + GAP;
        }
        Some(titles)
    }

    /// Whether each row is one line.
    pub fn is_single(&self) -> bool {
        self.second.is_none()
    }

    /// Draws the first line of a row.
    pub fn draw(&self, row: usize, line: &mut impl DrawnLine) {
        self.table.join(line, row, &self.used, &self.widths);
    }

    /// The lines of some rows.
    pub fn each_line(&self, rows: Range<usize>, mut each: impl FnMut(TextLine)) {
        for row in rows {
            let mut line = TextLine::new();
            self.draw(row, &mut line);
            let Some(second) = self.second else {
                each(line);
                continue;
            };
            // Columns that may not be cut can still be too wide for this screen: then the line is.
            each(line.cut(self.columns));
            let mut line = TextLine::new();
            self.table.put(&mut line, row, second, self.columns.saturating_sub(4));
            if !line.is_empty() {
                let mut indented = TextLine::plain("    ");
                indented.append(&line);
                each(indented);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> TextTable {
        let mut table = TextTable::new([
            TableColumn::left(""),
            TableColumn::left("ID"),
            TableColumn::left("WHEN"),
            TableColumn::left("SESSION").flexible(8),
            TableColumn::right("CODE"),
            TableColumn::left("MESSAGE").flexible(12),
        ]);
        let row = |cells: [&str; 6]| cells.map(TextLine::plain).into_iter();
        table.row(row([
            "@",
            "7f3ad2e1",
            "4 minutes ago",
            "auth-refactor",
            "+142 -38",
            "Parser done, tests are still red",
        ]));
        table.row(row([
            "",
            "c40a9f02",
            "2 hours ago",
            "日本語セッション",
            "+61 -20",
            "e\u{301}te\u{301}",
        ]));
        table.row(row(["!", "20bb18d3", "3 days ago", "ci", "", ""]));
        table
    }

    #[test]
    fn eighty_columns() {
        assert_eq!(
            sample().render(80).to_string(),
            "\x20  ID        WHEN           SESSION               CODE  MESSAGE
@  7f3ad2e1  4 minutes ago  auth-refactor     +142 -38  Parser done, tests are..
   c40a9f02  2 hours ago    日本語セッション   +61 -20  e\u{301}te\u{301}
!  20bb18d3  3 days ago     ci
"
        );
    }

    #[test]
    fn other_widths() {
        let narrow = "\
@  7f3ad2e1  4 minutes ago  auth-..  +142 -38
    Parser done, tests are still red
   c40a9f02  2 hours ago    日本..    +61 -20
    e\u{301}te\u{301}
!  20bb18d3  3 days ago     ci
";
        assert_eq!(
            sample().render(46).to_string(),
            narrow
                .replace("auth-..  ", "auth-r..  ")
                .replace("日本..    ", "日本語..   ")
        );
        assert!(sample().render(40).width() <= 40);
        assert!(sample().render(200).to_string().contains("tests are still red"));
        assert!(sample().render(usize::MAX).to_string().contains("tests are still red"));
    }

    #[test]
    fn a_row_that_does_not_fit_eighty_columns_is_two_lines() {
        let mut table = sample();
        let row = [
            "@",
            "7f3ad2e1",
            "2026-11-25 18:04:11 +0100",
            "a-long-session-name",
            "+142000 -38000",
            "Done",
        ];
        table.row(row.map(TextLine::plain));
        assert!(table.layout(80).is_single());
        let row = [
            "@",
            "7f3ad2e1",
            "Wed, 25 Nov 2026 18:04:11 +0100 of Nina",
            "ci",
            "+142000 -38000",
            "Done",
        ];
        table.row(row.map(TextLine::plain));
        assert!(!table.layout(80).is_single());
        assert!(table.render(80).width() <= 80);
        assert!(table.render(80).to_string().ends_with("\n    Done\n"));
    }

    #[test]
    fn columns_without_content_take_no_room() {
        let mut table = TextTable::new([TableColumn::left("A"), TableColumn::left("B"), TableColumn::left("C")]);
        table.row([TextLine::plain("1"), TextLine::new(), TextLine::plain("3")]);
        table.row([TextLine::plain("1")]);
        assert_eq!((table.len(), table.is_empty()), (2, false));
        assert_eq!(table.render(80).to_string(), "A  C\n1  3\n1\n");
        assert_eq!(TextTable::new([TableColumn::left("A")]).render(80).to_string(), "A\n");
    }

    proptest! {
        #[test]
        fn a_table_fits_from_sixty_columns_on(cells in proptest::collection::vec("\\PC{0,40}", 0..12), columns in 20usize..120) {
            let mut table = TextTable::new([TableColumn::left("A"), TableColumn::left("B").flexible(4), TableColumn::left("C").flexible(4)]);
            for pair in cells.chunks(2) {
                table.row([TextLine::plain("x"), TextLine::plain(&pair[0]), TextLine::plain(pair.last().unwrap())]);
            }
            prop_assert!(table.render(columns).width() <= columns);
        }

        #[test]
        fn halves_make_the_table(cells in proptest::collection::vec("\\PC{0,20}", 0..16), at in 0usize..16, columns in 20usize..120) {
            let columns_of = || [TableColumn::left("A").flexible(4), TableColumn::right(""), TableColumn::left("C").flexible(4)];
            let made = |cells: &[String]| {
                let mut table = TextTable::new(columns_of());
                for cell in cells {
                    let both = TextLine::plain(cell).with(Slot::Id, cell);
                    table.row([TextLine::plain(cell), TextLine::new().with(Slot::Good, "x"), both]);
                }
                table
            };
            let whole = made(&cells);
            let (first, second) = cells.split_at(at.min(cells.len()));
            let mut joined = made(first);
            joined.append(&made(second));
            prop_assert_eq!(joined.render(columns), whole.render(columns));
            let mut lines = Text::new();
            let layout = whole.layout(columns);
            layout.heading().into_iter().for_each(|line| lines.push(line));
            for rows in [0..first.len(), first.len()..cells.len()] {
                layout.each_line(rows, |line| lines.push(line));
            }
            prop_assert_eq!(lines, whole.render(columns));
        }
    }
}
