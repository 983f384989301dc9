//! Layers over the panes: help, menu, input, plan and outcome. Nothing in it is cut: long lines are folded, and what
//! does not fit is scrolled.

use ratatui::{
    Frame,
    layout::{Position, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::Clear,
};

use super::{
    drawing::{list, put, text},
    state::{KEYS, Overlay, ScreenState, failure_text, warning_lines},
    style::Theme,
};
use crate::render::{
    slot::Slot,
    text::{Text, TextLine},
};

/// The column of the words next to a name in a menu.
const WORDS: usize = 24;

/// Draws what lies over the panes, and notes how far it can be scrolled.
pub(super) fn overlay(frame: &mut Frame<'_>, area: Rect, state: &mut ScreenState, theme: Theme) {
    let Some(overlay) = &state.overlay else { return };
    state.overlay_end = match overlay {
        Overlay::Help { scroll } => {
            let mut lines = Text::new();
            for (keys, words) in KEYS {
                let mut line = TextLine::new().with(Slot::Heading, keys);
                line.pad_to(14);
                line.push(Slot::Plain, words);
                lines.push(line);
            }
            scrolled(frame, area, "Keys", &lines, *scroll, theme)
        }
        Overlay::Menu { items, at } => {
            let columns = columns_within(area);
            let is_cut = items.iter().any(|action| WORDS + action.about.len() > columns);
            // Words that do not fit next to the name are below, for the action that is chosen.
            let about = TextLine::new().with(Slot::Dim, items[*at].about);
            let below = Text::from(about).folded(columns);
            let below = if is_cut { below } else { Text::new() };
            let rows = below.lines().len();
            let mut place = dialog(frame, area, "Actions", items.len() + rows, theme);
            let rows = u16::try_from(rows).unwrap_or(0).min(place.height / 2);
            place.height -= rows;
            list(frame, place, items.len(), *at, true, theme, |index| {
                let action = items[index];
                let slot = if action.destroys { Slot::Caution } else { Slot::Plain };
                let mut line = TextLine::new().with(slot, action.title);
                if is_cut {
                    return line;
                }
                line.pad_to(WORDS);
                line.with(Slot::Dim, action.about)
            });
            let under = Rect {
                y: place.bottom(),
                height: rows,
                ..place
            };
            text(frame, under, &below, 0, theme);
            0
        }
        Overlay::Input {
            action, text: value, ..
        } => {
            let label = action.field.as_ref().map(|field| field.label).unwrap_or_default();
            let columns = columns_within(area);
            let mut lines = Text::from(TextLine::plain(action.about)).folded(columns);
            lines.push(TextLine::new());
            let entry_row = u16::try_from(lines.lines().len()).unwrap_or(0);
            let prompt = TextLine::new().with(Slot::Prompt, format!("{label}: "));
            let start = prompt.width();
            let entry = prompt.with(Slot::Plain, value);
            lines.push(entry.clone());
            lines.push(TextLine::new());
            lines.push(TextLine::new().with(Slot::Dim, "Enter shows the plan, Esc cancels"));
            let place = dialog(frame, area, action.title, lines.lines().len(), theme);
            text(frame, place, &lines, 0, theme);
            let column = u16::try_from(entry.width().max(start)).unwrap_or(0);
            frame.set_cursor_position(Position::new(
                (place.x + column).min(place.right().saturating_sub(1)),
                (place.y + entry_row).min(place.bottom().saturating_sub(1)),
            ));
            0
        }
        Overlay::Plan {
            action, run, scroll, ..
        } => {
            let mut lines = Text::new();
            let question = match run {
                None => "Planning ...  Esc cancels",
                Some(run) => {
                    lines.append(run.text.clone());
                    lines.append(warning_lines(&run.warnings));
                    if let Some(failure) = &run.failure {
                        lines.append(failure_text(failure));
                        "Esc goes back"
                    } else if action.destroys {
                        "y does it, Esc cancels"
                    } else {
                        "Enter does it, Esc cancels"
                    }
                }
            };
            let columns = columns_within(area);
            let about = Text::from(TextLine::new().with(Slot::Dim, action.about)).folded(columns);
            let lines = lines.folded(columns);
            let count = lines.lines().len();
            let rows = u16::try_from(about.lines().len()).unwrap_or(1);
            let mut place = dialog(frame, area, action.title, count + 3 + usize::from(rows), theme);
            let above = Rect { height: rows, ..place };
            text(frame, above, &about, 0, theme);
            let last = Rect {
                y: place.bottom().saturating_sub(1),
                height: 1,
                ..place
            };
            place.y += rows + 1;
            place.height = place.height.saturating_sub(rows + 3);
            let most = count.saturating_sub(place.height.into());
            text(frame, place, &lines, (*scroll).min(most), theme);
            let question = TextLine::new().with(Slot::Prompt, question);
            put(
                frame,
                last,
                theme.line(&with_more(question, *scroll, most).cut(columns)),
            );
            most
        }
        Overlay::Outcome {
            text: lines,
            is_failure,
            scroll,
        } => {
            let name = if *is_failure { "Not done" } else { "Done" };
            scrolled(frame, area, name, lines, *scroll, theme)
        }
    };
}

/// A box with a text; how far it can be scrolled.
fn scrolled(frame: &mut Frame<'_>, area: Rect, name: &str, lines: &Text, scroll: usize, theme: Theme) -> usize {
    let columns = columns_within(area);
    let lines = lines.folded(columns);
    let count = lines.lines().len();
    let mut place = dialog(frame, area, name, count, theme);
    if count <= place.height.into() {
        text(frame, place, &lines, 0, theme);
        return 0;
    }
    place.height = place.height.saturating_sub(1);
    let most = count.saturating_sub(place.height.into());
    text(frame, place, &lines, scroll.min(most), theme);
    let last = Rect {
        y: place.bottom(),
        height: 1,
        ..place
    };
    let words = TextLine::new().with(Slot::Dim, "Esc closes");
    put(frame, last, theme.line(&with_more(words, scroll, most).cut(columns)));
    most
}

/// A line that also shows that there is more to see.
fn with_more(line: TextLine, scroll: usize, most: usize) -> TextLine {
    match (scroll.min(most), most) {
        (_, 0) => line,
        (at, most) if at < most => line.with(Slot::Dim, "  Down shows more"),
        _ => line.with(Slot::Dim, "  Up shows more"),
    }
}

/// The width of a box over the panes.
fn dialog_columns(area: Rect) -> u16 {
    area.width.saturating_sub(4).min(92)
}

/// The width of what is in a box.
fn columns_within(area: Rect) -> usize {
    usize::from(dialog_columns(area)).saturating_sub(4)
}

/// A box over the panes for this many lines; the place in it.
fn dialog(frame: &mut Frame<'_>, area: Rect, name: &str, lines: usize, theme: Theme) -> Rect {
    let wanted = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(4);
    let height = wanted.min(area.height.saturating_sub(2));
    let columns = dialog_columns(area);
    let place = Rect::new(
        area.x + (area.width - columns) / 2,
        area.y + (area.height - height) / 2,
        columns,
        height,
    );
    // All of the rows: the panes would read on next to the box.
    let rows = Rect {
        x: area.x,
        width: area.width,
        ..place
    };
    frame.render_widget(Clear, rows);
    let rule = theme.rule().repeat(usize::from(columns));
    let style = theme.slot(Slot::Dim);
    frame.buffer_mut().set_string(place.x, place.y, &rule, style);
    frame.buffer_mut().set_string(place.x, place.bottom() - 1, &rule, style);
    let heading = Span::styled(format!(" {name} "), Style::new().add_modifier(Modifier::BOLD));
    put(
        frame,
        Rect::new(place.x + 2, place.y, columns.saturating_sub(4), 1),
        Line::from(heading),
    );
    Rect::new(
        place.x + 2,
        place.y + 2,
        columns.saturating_sub(4),
        height.saturating_sub(4),
    )
}
