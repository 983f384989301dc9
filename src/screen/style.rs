//! Slots as styles of the terminal. Without color, selection and importance remain: reversed, bold, dim.

use ratatui::{
    style::{Color, Modifier, Style},
    text::{Line, Span},
};

use crate::render::{
    slot::{Glyphs, Slot},
    text::TextLine,
};

/// Colors and characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    color: bool,
    glyphs: Glyphs,
}

impl Theme {
    pub(super) fn new(color: bool, glyphs: Glyphs) -> Self {
        Self { color, glyphs }
    }

    /// The style of a slot.
    pub(super) fn slot(self, slot: Slot) -> Style {
        let style = Style::new();
        let style = match slot {
            Slot::Heading
            | Slot::Session
            | Slot::AddedWord
            | Slot::RemovedWord
            | Slot::Match
            | Slot::Bad
            | Slot::Error
            | Slot::Warning
            | Slot::Prompt => style.add_modifier(Modifier::BOLD),
            Slot::Dim | Slot::Date | Slot::Graph => style.add_modifier(Modifier::DIM),
            _ => style,
        };
        let color = match slot {
            Slot::Id | Slot::Changed | Slot::Caution | Slot::Hint | Slot::Warning => Color::Yellow,
            Slot::Session | Slot::Hunk => Color::Cyan,
            Slot::Branch | Slot::Added | Slot::AddedWord | Slot::Good => Color::Green,
            Slot::Removed | Slot::RemovedWord | Slot::Bad | Slot::Error | Slot::Match => Color::Red,
            _ => return style,
        };
        if self.color { style.fg(color) } else { style }
    }

    /// The selected line of a list.
    pub(super) fn selected(self, is_focused: bool) -> Style {
        let style = Style::new();
        match (is_focused, self.color) {
            (true, _) => style.add_modifier(Modifier::REVERSED),
            (false, true) => style.bg(Color::Indexed(237)),
            (false, false) => style.add_modifier(Modifier::UNDERLINED),
        }
    }

    /// Between panes.
    pub(super) fn bar(self) -> &'static str {
        match self.glyphs {
            Glyphs::Unicode => "\u{2502}",
            Glyphs::Ascii => "|",
        }
    }

    /// Under headings and around dialogs.
    pub(super) fn rule(self) -> &'static str {
        match self.glyphs {
            Glyphs::Unicode => "\u{2500}",
            Glyphs::Ascii => "-",
        }
    }

    /// Phases of the sign of work in progress.
    pub(super) fn spinner(self, phase: usize) -> &'static str {
        const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
        const UNICODE: [&str; 8] = [
            "\u{28f7}", "\u{28ef}", "\u{28df}", "\u{287f}", "\u{28bf}", "\u{28fb}", "\u{28fd}", "\u{28fe}",
        ];
        match self.glyphs {
            Glyphs::Unicode => UNICODE[phase % UNICODE.len()],
            Glyphs::Ascii => ASCII[phase % ASCII.len()],
        }
    }

    /// A line with the styles of its slots.
    pub(super) fn line(self, line: &TextLine) -> Line<'static> {
        line.spans()
            .map(|span| Span::styled(span.text().to_owned(), self.slot(span.slot())))
            .collect()
    }
}
