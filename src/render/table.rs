//! Columns aligned by what they take on a screen. A table never wraps: what does not fit is cut with `..`, and on a
//! narrow screen each row becomes two lines.
//!
//! The design width is 80; a wider screen gives its room to the flexible column only.

use super::slot::Slot;
use super::text::{Line, Text, cut, width};

/// Columns between two columns.
const GAP: usize = 2;

/// Below this many columns a row is two lines.
const NARROW: usize = 60;

/// A column's title and how it behaves.
#[derive(Clone, Debug)]
pub struct Column {
    title: String,
    right: bool,
    /// Columns it keeps at least when room is short; `None` means it is never cut.
    least: Option<usize>,
}

impl Column {
    /// Aligned left, never cut.
    pub fn left(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            right: false,
            least: None,
        }
    }

    /// Aligned right, never cut: for numbers.
    pub fn right(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            right: true,
            least: None,
        }
    }

    /// May be cut down to `least` columns. The last such column is cut first, and is the second line of a narrow table.
    #[must_use]
    pub fn flexible(mut self, least: usize) -> Self {
        self.least = Some(least);
        self
    }
}

/// Rows of cells under titled columns.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Line>>,
}

impl Table {
    /// No rows yet. Without any title no line of titles is drawn.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Missing cells are empty; cells beyond the columns are left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Line>) {
        let mut cells: Vec<Line> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), Line::new());
        self.rows.push(cells);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in at most `columns` columns, as far as its columns may be cut. `usize::MAX` cuts nothing, which is
    /// for pipes. Uses the table up, a row at a time: it may have a hundred thousand.
    pub fn render(self, columns: usize) -> Text {
        let used: Vec<usize> = (0..self.columns.len()).filter(|&c| !self.is_blank(c)).collect();
        if columns >= NARROW {
            return self.wide(&used, columns);
        }
        let second = used.iter().rev().copied().find(|&c| self.columns[c].least.is_some());
        match second {
            Some(second) if used.len() > 1 => self.narrow(&used, second, columns),
            _ => self.wide(&used, columns),
        }
    }

    /// Whether a column has nothing to show in any row: it would only take room.
    fn is_blank(&self, column: usize) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|r| r[column].is_empty())
    }

    fn wide(mut self, used: &[usize], columns: usize) -> Text {
        let widths = self.widths(used, columns);
        let mut out = Text::new();
        if used.iter().any(|&c| !self.columns[c].title.is_empty()) {
            out.push(self.join(used, &widths, |c, w| {
                Line::new().with(Slot::Heading, cut(&self.columns[c].title, w))
            }));
        }
        for row in std::mem::take(&mut self.rows) {
            out.push(self.join(used, &widths, |c, w| row[c].cut(w)));
        }
        out
    }

    /// Two lines for each row: all columns but `second`, then `second`, indented.
    fn narrow(mut self, used: &[usize], second: usize, columns: usize) -> Text {
        let first: Vec<usize> = used.iter().copied().filter(|&c| c != second).collect();
        let widths = self.widths(&first, columns);
        let mut out = Text::new();
        for row in std::mem::take(&mut self.rows) {
            // Columns that may not be cut can still be too wide for this screen: then the line is.
            out.push(self.join(&first, &widths, |c, w| row[c].cut(w)).cut(columns));
            if !row[second].is_empty() {
                let mut line = Line::plain("    ");
                line.append(&row[second].cut(columns.saturating_sub(4)));
                out.push(line);
            }
        }
        out
    }

    /// The width of each used column: its widest cell, less what must be saved, from the last flexible one on.
    fn widths(&self, used: &[usize], columns: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = used
            .iter()
            .map(|&c| {
                self.rows
                    .iter()
                    .map(|r| r[c].width())
                    .chain([width(&self.columns[c].title)])
                    .max()
                    .unwrap_or(0)
            })
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

    /// One line of cells, without spaces at its end.
    fn join(&self, used: &[usize], widths: &[usize], cell: impl Fn(usize, usize) -> Line) -> Line {
        let mut line = Line::new();
        let mut start = 0;
        for (&column, &width) in used.iter().zip(widths) {
            let cell = cell(column, width);
            if !cell.is_empty() {
                let lead = if self.columns[column].right {
                    width - cell.width().min(width)
                } else {
                    0
                };
                line.pad_to(start + lead);
                line.append(&cell);
            }
            start += width + GAP;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Table {
        let mut table = Table::new([
            Column::left(""),
            Column::left("ID"),
            Column::left("WHEN"),
            Column::left("SESSION").flexible(8),
            Column::right("CODE"),
            Column::left("MESSAGE").flexible(12),
        ]);
        let row = |cells: [&str; 6]| cells.map(Line::plain).into_iter();
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
    fn columns_without_content_take_no_room() {
        let mut table = Table::new([Column::left("A"), Column::left("B"), Column::left("C")]);
        table.row([Line::plain("1"), Line::new(), Line::plain("3")]);
        table.row([Line::plain("1")]);
        assert_eq!((table.len(), table.is_empty()), (2, false));
        assert_eq!(table.render(80).to_string(), "A  C\n1  3\n1\n");
        assert_eq!(Table::new([Column::left("A")]).render(80).to_string(), "A\n");
    }

    proptest! {
        #[test]
        fn a_table_fits_from_sixty_columns_on(cells in proptest::collection::vec("\\PC{0,40}", 0..12), columns in 20usize..120) {
            let mut table = Table::new([Column::left("A"), Column::left("B").flexible(4), Column::left("C").flexible(4)]);
            for pair in cells.chunks(2) {
                table.row([Line::plain("x"), Line::plain(&pair[0]), Line::plain(pair.last().unwrap())]);
            }
            prop_assert!(table.render(columns).width() <= columns);
        }
    }
}
