//! Text with the colors of its slots, ready for a stream.

use super::color::{self, Palette};
use crate::render::slot::Slot;
use crate::render::text::DrawnLine;

/// Draws lines for standard output.
#[derive(Clone, Copy, Debug)]
pub struct Pen<'p>(pub(super) Option<&'p Palette>);

impl<'p> Pen<'p> {
    /// The lines that `draw` draws for each of the rows.
    pub fn lines<R>(self, rows: &[R], mut draw: impl FnMut(&R, &mut StyledText<'p>)) -> StyledText<'p> {
        let mut out = StyledText::new(self.0);
        for row in rows {
            draw(row, &mut out);
            out.close();
            out.text.push('\n');
        }
        out
    }
}

/// Text with control sequences for the colors of its parts, if there is to be color.
#[derive(Debug)]
pub struct StyledText<'p> {
    palette: Option<&'p Palette>,
    pub(super) text: String,
    /// The slot whose color is on.
    open: Option<Slot>,
}

impl<'p> StyledText<'p> {
    pub(super) fn new(palette: Option<&'p Palette>) -> Self {
        Self {
            palette,
            text: String::new(),
            open: None,
        }
    }

    /// Ends the color that is on.
    pub(super) fn close(&mut self) {
        if self.open.take().is_some() {
            self.text.push_str(color::RESET);
        }
    }
}

impl DrawnLine for StyledText<'_> {
    fn put(&mut self, slot: Slot, text: &str) {
        if let Some(palette) = self.palette
            && self.open != Some(slot)
        {
            self.close();
            if let Some(start) = palette.start(slot) {
                self.text.push_str(start);
                self.open = Some(slot);
            }
        }
        self.text.push_str(text);
    }
}
