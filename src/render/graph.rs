//! `log --graph`: checkpoints with lines that show what came of what, as git draws them.

use renderdag::{Ancestor, GraphRowRenderer, Renderer};

use super::{
    age::DateStyle,
    sessions::LogRow,
    slot::{Glyphs, Slot},
    text::{Text, TextLine},
};
use crate::model::{id::Oid, time::Timestamp};

/// A checkpoint in a graph.
pub struct GraphNode<'a> {
    /// Row of the log.
    pub row: &'a LogRow,
    /// Its session.
    pub session: &'a str,
    /// Whether it is its session's latest.
    pub is_tip: bool,
    /// Of the first checkpoint of a fork: the option of a fork point that it explores.
    pub option: Option<&'a str>,
    /// The checkpoint before it.
    pub previous: Option<&'a Oid>,
    /// Checkpoint that it merged in.
    pub merged: Option<&'a Oid>,
}

/// Children before parents, a line each; what is below a cut is shown as going on. `dates` are left out with one line for each
/// checkpoint.
pub fn text(nodes: &[GraphNode<'_>], columns: usize, dates: Option<(&DateStyle, Timestamp)>, glyphs: Glyphs) -> Text {
    let mut text = Text::new();
    match glyphs {
        Glyphs::Ascii => {
            let renderer = GraphRowRenderer::new().output().with_min_row_height(0).build_ascii();
            draw(renderer, nodes, columns, dates, &mut text);
        }
        Glyphs::Unicode => {
            let renderer = GraphRowRenderer::new()
                .output()
                .with_min_row_height(0)
                .build_box_drawing();
            draw(renderer, nodes, columns, dates, &mut text);
        }
    }
    text
}

/// Represents a row's text in what the renderer draws; the text is put in its place with its colors.
const MARK: char = '\u{1}';

fn draw(
    mut renderer: impl Renderer<Oid, Output = String>,
    nodes: &[GraphNode<'_>],
    columns: usize,
    dates: Option<(&DateStyle, Timestamp)>,
    text: &mut Text,
) {
    for node in nodes {
        let parents = node
            .previous
            .into_iter()
            .chain(node.merged)
            .map(|id| Ancestor::Parent(id.clone()))
            .collect();
        let glyph = if node.is_tip { "@" } else { "o" };
        let drawn = renderer.next_row(node.row.id.clone(), parents, glyph.to_owned(), MARK.to_string());
        for line in drawn.lines().filter(|line| !line.trim().is_empty()) {
            let (graph, has_text) = match line.split_once(MARK) {
                Some((graph, _)) => (graph, true),
                None => (line, false),
            };
            let mut out = TextLine::new().with(Slot::Graph, graph.trim_end());
            if has_text {
                out.push(Slot::Plain, "  ");
                out.append(&message(node, dates));
            }
            text.push(out.cut(columns));
        }
    }
}

fn message(node: &GraphNode<'_>, dates: Option<(&DateStyle, Timestamp)>) -> TextLine {
    let row = node.row;
    let mut line = TextLine::new().with(Slot::Id, row.id.short());
    if let Some((dates, now)) = dates {
        line.push(Slot::Plain, "  ");
        line.push(Slot::Date, dates.show(row.at, now));
    }
    if node.is_tip {
        line.push(Slot::Plain, "  ");
        line.push(Slot::Session, node.session);
    }
    line.push(Slot::Plain, format!("  {}", row.summary));
    if let Some(name) = &row.name {
        line.push(Slot::Session, format!("  ({name})"));
    }
    if row.kind == Some("fork") {
        line.push(Slot::Dim, "  fork");
        if let Some(option) = node.option {
            line.push(Slot::Dim, ", option ");
            line.push(Slot::Session, option);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u8, summary: &str) -> LogRow {
        let id = Oid::new(format!("{n:02x}").repeat(20)).expect("hexadecimal");
        let at = Timestamp::from_unix(1_767_323_045, 0);
        LogRow {
            kind: Some("save"),
            ..LogRow::new(id, at, summary.into(), "Ana".into())
        }
    }

    #[test]
    fn a_fork_is_drawn_beside_its_source() {
        let rows = [
            row(4, "latest"),
            row(3, "on the fork"),
            row(2, "middle"),
            row(1, "first"),
        ];
        let node = |n: usize, session, is_tip, previous: Option<usize>| GraphNode {
            row: &rows[n],
            session,
            is_tip,
            option: None,
            previous: previous.map(|p| &rows[p].id),
            merged: None,
        };
        let nodes = [
            node(0, "main", true, Some(2)),
            node(1, "fork", true, Some(2)),
            node(2, "main", false, Some(3)),
            node(3, "main", false, None),
        ];
        let dates = DateStyle::parse("short").expect("a style");
        let lines: Vec<String> = text(&nodes, 80, Some((&dates, rows[0].at)), Glyphs::Ascii)
            .lines()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            lines,
            [
                "@  04040404  2026-01-02  main  latest",
                "| @  03030303  2026-01-02  fork  on the fork",
                "|/",
                "o  02020202  2026-01-02  middle",
                "o  01010101  2026-01-02  first",
            ]
        );
    }
}
