//! Whether to use color, and which: git's order of switches and git's language of colors.
//!
//! The only place that knows an escape sequence for color. Text comes in already escaped (`render::text`).

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::environment::{Environment, boolean};
use crate::render::slot::Slot;

/// When to use color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal that can.
    #[default]
    Auto,
    /// Also in a pipe.
    Always,
    /// Not at all.
    Never,
}

impl ColorChoice {
    /// Reads the value of `color.ui` and its relatives: git's booleans mean auto and never.
    pub fn parse(value: &str) -> Option<Self> {
        match value.to_ascii_lowercase().as_str() {
            "always" => Some(Self::Always),
            "never" => Some(Self::Never),
            "auto" => Some(Self::Auto),
            other => boolean(other).map(|on| if on { Self::Auto } else { Self::Never }),
        }
    }
}

/// Decides: the option, then `NO_COLOR`, then `color.checkpoint`, then `color.ui`, then auto.
///
/// `on_terminal` is whether what is written ends on a terminal (directly or through a pager that shows color). A
/// value of a setting that means nothing is passed over; the caller reports it.
pub(super) fn decide(
    option: Option<ColorChoice>,
    env: &Environment,
    checkpoint: Option<&str>,
    ui: Option<&str>,
    on_terminal: bool,
) -> bool {
    let when = option
        .or_else(|| env.variable("NO_COLOR").map(|_| ColorChoice::Never))
        .or_else(|| checkpoint.and_then(ColorChoice::parse))
        .or_else(|| ui.and_then(ColorChoice::parse))
        .unwrap_or_default();
    match when {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => on_terminal && !env.is_dumb(),
    }
}

/// The colors of slots.
#[derive(Clone, Debug)]
pub(super) struct Palette {
    /// The start sequence of each slot that was given one; empty for none.
    given: BTreeMap<Slot, String>,
}

/// Ends every color.
pub(super) const RESET: &str = "\x1b[m";

/// The colors without any setting, in git's words and as sequences: those git uses for the like. Red and green never
/// carry a meaning alone.
const DEFAULTS: [(Slot, &str, &str); 19] = [
    (Slot::Heading, "bold", "\x1b[1m"),
    (Slot::Id, "yellow", "\x1b[33m"),
    (Slot::Session, "bold cyan", "\x1b[1;36m"),
    (Slot::Branch, "green", "\x1b[32m"),
    (Slot::Added, "green", "\x1b[32m"),
    (Slot::Changed, "yellow", "\x1b[33m"),
    (Slot::Removed, "red", "\x1b[31m"),
    (Slot::AddedWord, "green reverse", "\x1b[7;32m"),
    (Slot::RemovedWord, "red reverse", "\x1b[7;31m"),
    (Slot::Hunk, "cyan", "\x1b[36m"),
    (Slot::Match, "bold red", "\x1b[1;31m"),
    (Slot::Good, "green", "\x1b[32m"),
    (Slot::Caution, "yellow", "\x1b[33m"),
    (Slot::Bad, "bold red", "\x1b[1;31m"),
    (Slot::Dim, "dim", "\x1b[2m"),
    (Slot::Hint, "yellow", "\x1b[33m"),
    (Slot::Warning, "bold yellow", "\x1b[1;33m"),
    (Slot::Error, "bold red", "\x1b[1;31m"),
    (Slot::Prompt, "bold", "\x1b[1m"),
];

impl Palette {
    /// Without any setting.
    pub(super) fn new() -> Self {
        Self { given: BTreeMap::new() }
    }

    /// Gives a slot a color in git's words, such as `bold red` or `#ff8000 black ul`.
    pub(super) fn set(&mut self, slot: Slot, spec: &str) -> Option<()> {
        self.given.insert(slot, sequence(spec)?);
        Some(())
    }

    /// Escape sequence before text of this slot; `RESET` follows it. `None` for no color.
    pub(super) fn start(&self, slot: Slot) -> Option<&str> {
        let default = || DEFAULTS.iter().find(|known| known.0 == slot).map(|known| known.2);
        let start = self.given.get(&slot).map(String::as_str).or_else(default);
        start.filter(|start| !start.is_empty())
    }
}

/// The eight colors' names, in the order of their codes.
const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/// Attributes: name, code that sets it, code that takes it back.
const ATTRIBUTES: [(&str, u8, u8); 7] = [
    ("bold", 1, 22),
    ("dim", 2, 22),
    ("italic", 3, 23),
    ("ul", 4, 24),
    ("blink", 5, 25),
    ("reverse", 7, 27),
    ("strike", 9, 29),
];

/// The escape sequence for a color in git's words: up to two colors (text, background) and any attributes, which come
/// first in the order of their codes. Empty for `normal`. None when a word means nothing.
fn sequence(spec: &str) -> Option<String> {
    let mut reset = false;
    let mut attributes = BTreeSet::new();
    let mut colors = Vec::new();
    for word in spec.split_ascii_whitespace() {
        let word = word.to_ascii_lowercase();
        if word == "reset" {
            reset = true;
        } else if let Some(code) = attribute(&word) {
            attributes.insert(code);
        } else if colors.len() < 2 {
            colors.push(color(&word, colors.len() == 1)?);
        } else {
            return None;
        }
    }
    let mut codes: Vec<String> = attributes.iter().map(u8::to_string).collect();
    codes.extend(colors.into_iter().filter(|code| !code.is_empty()));
    if reset {
        codes.insert(0, String::new()); // an empty code is 0, which takes back all others
    } else if codes.is_empty() {
        return Some(String::new());
    }
    Some(format!("\x1b[{}m", codes.join(";")))
}

fn attribute(word: &str) -> Option<u8> {
    let (name, negated) = match word.strip_prefix("no-").or_else(|| word.strip_prefix("no")) {
        Some(rest) if ATTRIBUTES.iter().any(|a| a.0 == rest) => (rest, true),
        _ => (word, false),
    };
    let (_, on, off) = ATTRIBUTES.iter().find(|a| a.0 == name)?;
    Some(if negated { *off } else { *on })
}

/// The code of a color; empty for `normal`, which changes nothing.
fn color(word: &str, background: bool) -> Option<String> {
    let base = if background { 40 } else { 30 };
    let named = |name: &str| NAMES.iter().position(|n| *n == name);
    if word == "normal" || word == "-1" {
        return Some(String::new());
    }
    if word == "default" {
        return Some((base + 9).to_string());
    }
    if let Some(place) = named(word) {
        return Some((base + place).to_string());
    }
    if let Some(place) = word.strip_prefix("bright").and_then(named) {
        return Some((base + 60 + place).to_string());
    }
    if let Some(hex) = word.strip_prefix('#') {
        let digits: Vec<u32> = hex.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
        let (r, g, b) = match digits.as_slice() {
            [r, g, b] => (r * 17, g * 17, b * 17),
            [r1, r2, g1, g2, b1, b2] => (r1 * 16 + r2, g1 * 16 + g2, b1 * 16 + b2),
            _ => return None,
        };
        return Some(format!("{};2;{r};{g};{b}", base + 8));
    }
    let number: u8 = word.parse().ok()?;
    Some(match usize::from(number) {
        n @ 0..8 => (base + n).to_string(),
        n @ 8..16 => (base + 52 + n).to_string(),
        n => format!("{};5;{n}", base + 8),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::environment::Terminals;

    #[test]
    fn the_order_of_switches() {
        let plain = Environment::of(&[("TERM", "xterm")], Terminals::default());
        let no_color = Environment::of(&[("TERM", "xterm"), ("NO_COLOR", "1")], Terminals::default());
        let empty = Environment::of(&[("TERM", "xterm"), ("NO_COLOR", "")], Terminals::default());
        let dumb = Environment::of(&[("TERM", "dumb")], Terminals::default());
        for (option, env, checkpoint, ui, terminal, wanted) in [
            (None, &plain, None, None, true, true),
            (None, &plain, None, None, false, false),
            (
                Some(ColorChoice::Always),
                &no_color,
                Some("never"),
                Some("never"),
                false,
                true,
            ),
            (
                Some(ColorChoice::Never),
                &plain,
                Some("always"),
                Some("always"),
                true,
                false,
            ),
            (Some(ColorChoice::Auto), &no_color, Some("never"), None, true, true),
            (None, &no_color, Some("always"), Some("always"), true, false),
            (None, &empty, None, None, true, true),
            (None, &plain, Some("always"), Some("never"), false, true),
            (None, &plain, Some("false"), Some("always"), true, false),
            (None, &plain, Some("true"), Some("never"), true, true),
            (None, &plain, None, Some("always"), false, true),
            (None, &plain, None, Some("never"), true, false),
            (None, &plain, Some("nonsense"), Some("never"), true, false),
            (None, &dumb, None, None, true, false),
            (None, &dumb, Some("always"), None, false, true),
        ] {
            assert_eq!(
                decide(option, env, checkpoint, ui, terminal),
                wanted,
                "{option:?} {checkpoint:?} {ui:?} {terminal}"
            );
        }
    }

    #[test]
    fn colors_in_gits_words() {
        for (spec, wanted) in [
            ("red", Some("\x1b[31m")),
            ("bold red", Some("\x1b[1;31m")),
            ("red bold", Some("\x1b[1;31m")),
            ("red blue", Some("\x1b[31;44m")),
            ("normal blue", Some("\x1b[44m")),
            ("brightred", Some("\x1b[91m")),
            ("default bold", Some("\x1b[1;39m")),
            ("12", Some("\x1b[94m")),
            ("208", Some("\x1b[38;5;208m")),
            ("normal 208", Some("\x1b[48;5;208m")),
            ("#ff8000", Some("\x1b[38;2;255;128;0m")),
            ("#f80", Some("\x1b[38;2;255;136;0m")),
            ("no-bold nodim reverse", Some("\x1b[7;22m")),
            ("reset red", Some("\x1b[;31m")),
            ("strike ul bold blue", Some("\x1b[1;4;9;34m")),
            ("-1 red", Some("\x1b[41m")),
            ("brightblack default", Some("\x1b[90;49m")),
            ("normal", Some("")),
            ("", Some("")),
            ("red green blue", None),
            ("pink", None),
            ("256", None),
            ("#12", None),
            ("#é", None),
        ] {
            assert_eq!(sequence(spec).as_deref(), wanted, "{spec}");
        }
    }

    #[test]
    fn the_colors_without_settings_are_what_their_words_say() {
        for (slot, words, wanted) in DEFAULTS {
            assert_eq!(sequence(words).as_deref(), Some(wanted), "{slot:?}");
            assert_eq!(Palette::new().start(slot), Some(wanted));
        }
    }

    #[test]
    fn slots_can_lose_their_color() {
        let mut palette = Palette::new();
        assert_eq!(palette.start(Slot::Id), Some("\x1b[33m"));
        assert_eq!(palette.start(Slot::Plain), None);
        palette.set(Slot::Id, "normal").unwrap();
        assert_eq!(palette.start(Slot::Id), None);
        assert!(palette.set(Slot::Id, "nonsense").is_none());
    }
}
