//! Lines, lists and texts on the screen, cut or folded to their place.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use super::style::Theme;
use crate::render::text::{Text, TextLine};

/// Draws one line.
pub(super) fn put(frame: &mut Frame<'_>, area: Rect, line: Line<'_>) {
    frame.render_widget(line, area);
}

/// The first line of a list to show, so that the chosen one is in sight.
fn first_line(at: usize, count: usize, rows: usize) -> usize {
    at.saturating_sub(rows / 2).min(count.saturating_sub(rows))
}

/// Draws the lines of a list, with the chosen one in sight and marked.
pub(super) fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    count: usize,
    at: usize,
    is_focused: bool,
    theme: Theme,
    line: impl Fn(usize) -> TextLine,
) {
    let rows = usize::from(area.height);
    let first = first_line(at, count, rows);
    for (index, y) in (first..count.min(first + rows)).zip(area.y..) {
        let mut shown = line(index).cut(area.width.into());
        let place = Rect::new(area.x, y, area.width, 1);
        if index == at {
            shown.pad_to(area.width.into());
            let plain = Line::from(Span::styled(shown.text().to_owned(), theme.selected(is_focused)));
            put(frame, place, plain);
        } else {
            put(frame, place, theme.line(&shown));
        }
    }
}

/// The lines of a text that fit; longer ones are folded.
pub(super) fn text(frame: &mut Frame<'_>, area: Rect, text: &Text, scroll: usize, theme: Theme) {
    let folded = text
        .lines()
        .iter()
        .skip(scroll)
        .take(area.height.into())
        .flat_map(|line| line.folded(area.width.into()));
    for (line, y) in folded.zip(area.y..area.bottom()) {
        put(
            frame,
            Rect::new(area.x, y, area.width, 1),
            theme.line(&line.cut(area.width.into())),
        );
    }
}
