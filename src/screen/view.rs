//! The screen as a function of the state.

use ratatui::{
    Frame,
    layout::{Position, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::{Clear, Paragraph},
};

use super::{
    drawing::{list, put, text},
    overlay::overlay,
    panes::{Focus, panes},
    state::{ScreenState, Search, Tab, same_id},
    style::Theme,
};
use crate::render::{
    age,
    slot::Slot,
    text::{TextLine, cut, width},
};

/// Draws all.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut ScreenState, theme: Theme) {
    let area = frame.area();
    (state.width, state.height) = (area.width, area.height);
    if area.height < 4 || area.width < 20 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let row = |y: u16| Rect::new(area.x, y, area.width, 1);
    top(frame, row(0), state, theme);
    let body = Rect::new(area.x, 2, area.width, area.height - 4);
    let panes = panes(state.width, state.focus);
    let mut x = body.x;
    for (pane, columns) in [
        (Focus::Sessions, panes.sessions),
        (Focus::Checkpoints, panes.checkpoints),
    ] {
        if columns == 0 {
            continue;
        }
        // A column between the text and the bar, where there is one.
        let gap = u16::from(x + columns + 2 < area.width);
        let place = Rect::new(x, body.y, columns.min(area.width - x) - gap, body.height);
        match pane {
            Focus::Sessions => sessions(frame, place, state, theme),
            _ => checkpoints(frame, place, state, theme),
        }
        x += columns;
        if x + 2 < area.width {
            for y in body.y..body.bottom() {
                frame.buffer_mut().set_string(x, y, theme.bar(), theme.slot(Slot::Dim));
            }
            x += 2;
        }
    }
    if panes.detail && x < area.width {
        detail(frame, Rect::new(x, body.y, area.width - x, body.height), state, theme);
    }
    bottom(frame, area, state, theme);
    overlay(frame, area, state, theme);
}

fn top(frame: &mut Frame<'_>, area: Rect, state: &ScreenState, theme: Theme) {
    let line = match &state.indicator {
        Some(view) => view.line(),
        None if state.now.is_some() => TextLine::new().with(Slot::Dim, "no current session"),
        None => TextLine::new(),
    };
    put(frame, area, theme.line(&line.cut(area.width.into())));
}

/// The last line; a message takes as many as it needs.
fn bottom(frame: &mut Frame<'_>, area: Rect, state: &ScreenState, theme: Theme) {
    let columns = usize::from(area.width);
    let line = if let Some((text, phase)) = &state.work {
        TextLine::new()
            .with(Slot::Caution, theme.spinner(*phase))
            .with(Slot::Plain, format!(" {text}"))
            .with(Slot::Dim, "  Esc cancels")
    } else if let Some(message) = &state.message {
        let folded = message.folded(columns);
        let rows = u16::try_from(folded.len()).unwrap_or(1).min(area.height - 3);
        let place = Rect::new(area.x, area.bottom() - rows, area.width, rows);
        frame.render_widget(Clear, place);
        for (line, y) in folded.iter().zip(place.y..place.bottom()) {
            let row = Rect { y, height: 1, ..place };
            put(frame, row, theme.line(&line.cut(columns)));
        }
        return;
    } else {
        keys_that_fit(columns)
    };
    let last = Rect::new(area.x, area.bottom() - 1, area.width, 1);
    put(frame, last, theme.line(&line.cut(columns)));
}

/// The most important keys; where there is little room, how to see all of them and how to leave come first.
fn keys_that_fit(columns: usize) -> TextLine {
    let mut keys = vec![
        ("Enter", "open"),
        ("1-4", "part"),
        ("/", "search"),
        ("r", "restore"),
        ("f", "fork"),
        ("a", "actions"),
        ("?", "keys"),
        ("q", "quit"),
    ];
    let line = |keys: &[(&str, &str)]| {
        keys.iter()
            .enumerate()
            .fold(TextLine::new(), |line, (at, (key, word))| {
                let gap = if at > 0 { "  " } else { "" };
                line.with(Slot::Plain, format!("{gap}{key}"))
                    .with(Slot::Dim, format!(" {word}"))
            })
    };
    for less in ["f", "r", "1-4", "/", "a", "Enter"] {
        if line(&keys).width() <= columns {
            break;
        }
        keys.retain(|(key, _)| *key != less);
    }
    line(&keys)
}

/// The heading of a pane; the place below it.
fn heading(frame: &mut Frame<'_>, area: Rect, title: Line<'_>) -> Rect {
    put(frame, Rect { height: 1, ..area }, title);
    Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    }
}

fn title(text: impl Into<String>, is_focused: bool) -> Line<'static> {
    let style = if is_focused {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    } else {
        Style::new().add_modifier(Modifier::DIM)
    };
    Line::from(Span::styled(text.into(), style))
}

fn sessions(frame: &mut Frame<'_>, area: Rect, state: &ScreenState, theme: Theme) {
    let is_focused = state.focus == Focus::Sessions;
    let count = state.sessions.len();
    let place = heading(frame, area, title(format!("Sessions {count}"), is_focused));
    let columns = usize::from(area.width);
    let names = state.sessions.iter().map(|row| width(&row.session));
    let name_columns = names.max().unwrap_or(0).min(columns / 3);
    let statuses = state.sessions.iter().map(|row| width(row.status));
    let status_columns = statuses.max().unwrap_or(0);
    list(frame, place, count, state.session_at, is_focused, theme, |at| {
        let row = &state.sessions[at];
        let (mark, slot) = match (row.status, row.current) {
            ("damaged", _) => ("! ", Slot::Bad),
            (_, true) => ("@ ", Slot::Good),
            _ => ("  ", Slot::Plain),
        };
        let age = match (row.at, state.now) {
            (Some(at), Some(now)) => short_age(&age::age(at, now)),
            _ => String::new(),
        };
        let room = match columns {
            0..=50 => columns.saturating_sub(width(&age) + 4),
            _ => name_columns,
        };
        let mut line = TextLine::new()
            .with(slot, mark)
            .with(Slot::Session, cut(&row.session, room));
        if columns > 50 {
            line.pad_to(2 + name_columns);
            line.push(Slot::Dim, format!("  {}", row.status));
            line.pad_to(2 + name_columns + 2 + status_columns + 2);
            let summary = row.damage.as_ref().unwrap_or(&row.summary);
            let rest = columns.saturating_sub(line.width() + width(&age) + 2);
            line.push(Slot::Plain, cut(&crate::render::escape::line(summary), rest));
        }
        line.pad_to(columns.saturating_sub(width(&age)));
        line.push(Slot::Date, age);
        line
    });
}

/// `4 minutes ago` as `4m`.
fn short_age(age: &str) -> String {
    let mut words = age.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some(number), Some(unit), Some("ago")) => format!("{number}{}", &unit[..1]),
        (Some("just"), ..) => "now".to_owned(),
        (Some("yesterday"), ..) => "1d".to_owned(),
        _ => age.to_owned(),
    }
}

fn checkpoints(frame: &mut Frame<'_>, area: Rect, state: &ScreenState, theme: Theme) {
    let is_focused = state.focus == Focus::Checkpoints;
    if let Some(search) = &state.search {
        found(frame, area, search, is_focused, theme);
        return;
    }
    let name = state.session().map(|row| row.session.as_str()).unwrap_or_default();
    let name = crate::render::escape::line(name);
    let words = cut(&name, usize::from(area.width).saturating_sub(14)).into_owned();
    let place = heading(frame, area, title(format!("Checkpoints {words}"), is_focused));
    let lines = &state.checkpoints;
    list(
        frame,
        place,
        lines.len(),
        state.checkpoint_at,
        is_focused,
        theme,
        |at| {
            let line = &lines[at];
            let Some(marked) = &state.marked else {
                return line.line.clone();
            };
            // A column of its own, so that the graph stays in line.
            let is_marked = same_id(line.id.as_ref(), marked);
            let mut out = TextLine::new().with(Slot::Caution, if is_marked { "* " } else { "  " });
            out.append(&line.line);
            out
        },
    );
}

fn found(frame: &mut Frame<'_>, area: Rect, search: &Search, is_focused: bool, theme: Theme) {
    let columns = usize::from(area.width);
    let mut words = TextLine::new().with(Slot::Prompt, "/").with(Slot::Plain, &search.words);
    let end = u16::try_from(words.width()).unwrap_or(0);
    match &search.found {
        Some(_) => words.push(Slot::Dim, format!("  {} matches", search.hits.len())),
        None if search.words.is_empty() => words.push(Slot::Dim, "  text in records, chats and steps"),
        None => {}
    }
    let place = heading(frame, area, theme.line(&words.cut(columns)));
    if search.is_typed {
        frame.set_cursor_position(Position::new(
            (area.x + end).min(area.right().saturating_sub(1)),
            area.y,
        ));
    }
    let is_chosen = is_focused && !search.is_typed;
    list(frame, place, search.hits.len(), search.at, is_chosen, theme, |at| {
        let hit = &search.hits[at];
        TextLine::new()
            .with(Slot::Id, hit.id.get(..8).unwrap_or(&hit.id))
            .with(Slot::Session, format!(" {}", hit.session))
            .with(Slot::Dim, format!(" {} ", hit.part))
            .with(Slot::Plain, hit.text.trim())
    });
}

fn detail(frame: &mut Frame<'_>, area: Rect, state: &mut ScreenState, theme: Theme) {
    let is_focused = state.focus == Focus::Detail;
    let mut tabs = Vec::new();
    for (number, (tab, name)) in (1..).zip(Tab::ALL) {
        let style = match (tab == state.tab, is_focused) {
            (true, true) => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            (true, false) => Style::new().add_modifier(Modifier::BOLD),
            _ => Style::new().add_modifier(Modifier::DIM),
        };
        tabs.push(Span::styled(format!("{number} {name}"), style));
        tabs.push(Span::raw("  "));
    }
    let lines = state.detail.lines().len();
    let place = heading(frame, area, Line::from(tabs));
    state.page = usize::from(place.height);
    if lines > state.page {
        let last = (state.scroll + state.page).min(lines);
        let share = format!("{}%", last * 100 / lines);
        let at = area.right().saturating_sub(u16::try_from(share.len()).unwrap_or(0));
        frame.buffer_mut().set_string(at, area.y, &share, theme.slot(Slot::Dim));
    }
    text(frame, place, &state.detail, state.scroll, theme);
}
