//! `--format`: a line a row, of text and atoms, in the form of `git for-each-ref`.
//!
//! `%(atom)` is replaced by a value, `%%` by a per cent sign, `%0a` by the character of that number in hexadecimal.
//! The values are written as they are: on a terminal the sink escapes what is hidden in them.

use super::age::DateStyle;
use crate::model::{id::Oid, time::Timestamp};

/// A format that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<FormatPiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum FormatPiece {
    Text(String),
    Atom(String),
}

/// Why a text is not a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFormat {
    /// `%(` without `)`.
    #[error("'%(' is not closed")]
    Open,
    /// `%` before anything else.
    #[error("'%' must be followed by '(', '%' or two hexadecimal digits")]
    Stray,
    /// An atom that does not exist.
    #[error("unknown field '{0}'; available: {1}")]
    Unknown(String, String),
}

impl Template {
    /// Reads a format whose atoms must be among these; an atom may have `:` and an argument after it.
    pub fn parse(text: &str, atoms: &[&str]) -> Result<Self, InvalidFormat> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('%') {
            pieces.push(FormatPiece::Text(before.to_owned()));
            if let Some(after) = after.strip_prefix('(') {
                let (atom, after) = after.split_once(')').ok_or(InvalidFormat::Open)?;
                let name = atom.split(':').next().unwrap_or_default();
                if !atoms.contains(&name) {
                    return Err(InvalidFormat::Unknown(atom.to_owned(), atoms.join(", ")));
                }
                pieces.push(FormatPiece::Atom(atom.to_owned()));
                rest = after;
            } else if let Some(after) = after.strip_prefix('%') {
                pieces.push(FormatPiece::Text("%".to_owned()));
                rest = after;
            } else {
                let number = after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
                let number = number.filter(u8::is_ascii).ok_or(InvalidFormat::Stray)?;
                pieces.push(FormatPiece::Text(char::from(number).to_string()));
                rest = &after[2..];
            }
        }
        pieces.push(FormatPiece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// The text for one row; `value` returns the value of an atom (with its argument, if any).
    pub fn fill(&self, value: impl Fn(&str, Option<&str>) -> String) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            FormatPiece::Text(text) => text.clone(),
            FormatPiece::Atom(atom) => match atom.split_once(':') {
                Some((name, argument)) => value(name, Some(argument)),
                None => value(atom, None),
            },
        });
        pieces.collect()
    }
}

/// How the value of an atom is shown.
#[derive(Clone, Copy, Debug)]
pub struct AtomStyle<'a> {
    /// The form asked for with the atom, as in `%(id:short)`.
    pub form: Option<&'a str>,
    /// The style of dates without one.
    pub dates: &'a DateStyle,
    /// The time of this output.
    pub now: Timestamp,
}

impl AtomStyle<'_> {
    /// A date, in its own style or the one asked for.
    pub fn date(&self, at: Option<Timestamp>) -> String {
        let style = self.form.and_then(|style| DateStyle::parse(style).ok());
        at.map(|at| style.as_ref().unwrap_or(self.dates).show(at, self.now))
            .unwrap_or_default()
    }

    /// An id, in full or `:short`.
    pub fn id(&self, id: Option<&Oid>) -> String {
        let is_short = self.form == Some("short");
        id.map(|id| if is_short { id.short() } else { id.as_str() })
            .unwrap_or_default()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn atoms_per_cent_signs_and_characters() {
        let template = Template::parse("%(id) %(date:short)%0a100%%", &["id", "date"]).expect("valid");
        let filled = template.fill(|name, argument| format!("<{name}{}>", argument.unwrap_or_default()));
        assert_eq!(filled, "<id> <dateshort>\n100%");
        assert_eq!(
            Template::parse("%(nonsense)", &["id"])
                .expect_err("unknown")
                .to_string(),
            "unknown field 'nonsense'; available: id"
        );
        assert_eq!(Template::parse("%(id", &["id"]), Err(InvalidFormat::Open));
        assert_eq!(Template::parse("%z", &["id"]), Err(InvalidFormat::Stray));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = Template::parse(&text, &["id"]);
        }
    }
}
