//! Makes text from a repository safe to show: whatever a terminal would obey instead of draw, or a reader would not
//! see, becomes a visible form such as `\x1b` or `\u{202e}`.
//!
//! It is for display only and not reversible (a backslash stays one). Paths are quoted as git does in `model::path`.
//! It is not a filter for shells or HTML. Everything that reaches a terminal goes through here once more in
//! `commands::ui`, so that a forgotten call is no hole; a second pass changes nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// Characters that are drawn as nothing or rule how others are drawn: Unicode 16's general category `Cf`, the property
/// `Default_Ignorable_Code_Point`, line and paragraph separators, and non-characters of the first plane. Sorted.
const HIDDEN: &[(u32, u32)] = &[
    (0x00ad, 0x00ad),   // soft hyphen
    (0x034f, 0x034f),   // combining grapheme joiner
    (0x0600, 0x0605),   // Arabic number signs
    (0x061c, 0x061c),   // Arabic letter mark: bidirectional
    (0x06dd, 0x06dd),   // Arabic end of ayah
    (0x070f, 0x070f),   // Syriac abbreviation mark
    (0x0890, 0x0891),   // Arabic currency marks above
    (0x08e2, 0x08e2),   // Arabic disputed end of ayah
    (0x115f, 0x1160),   // Hangul fillers
    (0x17b4, 0x17b5),   // Khmer inherent vowels
    (0x180b, 0x180f),   // Mongolian variation selectors and vowel separator
    (0x200b, 0x200f),   // zero-width space, joiners, direction marks
    (0x2028, 0x202e),   // separators, embeddings and overrides: bidirectional
    (0x2060, 0x206f),   // word joiner, invisible operators, isolates: bidirectional
    (0x3164, 0x3164),   // Hangul filler
    (0xfdd0, 0xfdef),   // non-characters
    (0xfe00, 0xfe0f),   // variation selectors (see `shown_as_is`)
    (0xfeff, 0xfeff),   // byte order mark
    (0xffa0, 0xffa0),   // half-width Hangul filler
    (0xfff0, 0xfffb),   // interlinear annotations
    (0xfffe, 0xffff),   // non-characters
    (0x110bd, 0x110bd), // Kaithi number sign
    (0x110cd, 0x110cd), // Kaithi number sign above
    (0x13430, 0x1343f), // hieroglyph format controls
    (0x1bca0, 0x1bca3), // shorthand format controls
    (0x1d173, 0x1d17a), // musical format controls
    (0xe0000, 0xe0fff), // tags and more variation selectors
];

/// How many combining marks one character may carry. Written languages need three or four; stacks of dozens draw over
/// the lines around them.
const MARKS: usize = 6;

/// Whether `c` is a control, a format character or otherwise invisible, and so must not be shown as it is.
pub fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    if code < 0x7f {
        return code < 0x20;
    }
    if code < 0xa0 || code & 0xfffe == 0xfffe {
        return true; // DEL and C1; the last two of every plane are non-characters
    }
    HIDDEN
        .binary_search_by(|&(first, last)| {
            if last < code {
                std::cmp::Ordering::Less
            } else if first > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// Text as one line: everything hidden is made visible, line ends and tabs too.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, false)
}

/// Text as lines: LF and tabs stay, CR LF becomes LF, everything else hidden is made visible.
pub fn block(text: &str) -> Cow<'_, str> {
    escape(text, true)
}

/// Bytes as lines: like [`block`], and bytes that are not UTF-8 become `\xNN`.
pub fn block_bytes(bytes: &[u8]) -> String {
    let mut state = Escaper::new(true, bytes.len());
    for chunk in bytes.utf8_chunks() {
        state.text(chunk.valid());
        for byte in chunk.invalid() {
            state.byte(*byte);
        }
    }
    state.out
}

/// JSON text with everything hidden beyond ASCII as `\uNNNN`. `json` must be JSON: there such characters can only occur
/// in strings, where the escape means the same. (C0 controls are escaped by every JSON writer; DEL and the rest are
/// not.)
pub fn json(json: &str) -> Cow<'_, str> {
    let hidden = |c: char| u32::from(c) >= 0x7f && is_hidden(c);
    // Nearly all of it is, and a list may have forty megabytes.
    if json.is_ascii() && !json.contains('\x7f') {
        return Cow::Borrowed(json);
    }
    if !json.contains(hidden) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("writing to a string cannot fail");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn escape(text: &str, keep_lines: bool) -> Cow<'_, str> {
    // Nearly all text is plain ASCII, which needs one pass and no copy.
    if text
        .as_bytes()
        .iter()
        .all(|b| matches!(b, 0x20..0x7f) || (keep_lines && matches!(b, b'\n' | b'\t')))
    {
        return Cow::Borrowed(text);
    }
    let mut state = Escaper::new(keep_lines, text.len());
    state.text(text);
    if state.out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(state.out)
    }
}

/// Output so far, and what the next character may do to it.
struct Escaper {
    out: String,
    keep_lines: bool,
    /// Combining marks since the last base character; `MARKS` where there is nothing they may combine with.
    marks: usize,
}

impl Escaper {
    fn new(keep_lines: bool, length: usize) -> Self {
        Self {
            out: String::with_capacity(length + 16),
            keep_lines,
            marks: MARKS,
        }
    }

    fn text(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\n' | '\t' if self.keep_lines => {
                    self.out.push(c);
                    self.marks = MARKS;
                }
                '\r' if self.keep_lines && chars.peek() == Some(&'\n') => {}
                _ if self.shown_as_is(c) => self.out.push(c),
                _ => self.visible(c),
            }
        }
    }

    /// Whether `c` may be here unescaped; counts combining marks.
    fn shown_as_is(&mut self, c: char) -> bool {
        // The text and emoji selectors choose between two drawings of the character before them. One is harmless and
        // common; a row of them can carry a hidden message.
        let selector = matches!(c, '\u{fe0e}' | '\u{fe0f}') && !self.out.ends_with(['\u{fe0e}', '\u{fe0f}']);
        if is_hidden(c) && !selector {
            return false;
        }
        if c.width().unwrap_or(0) > 0 {
            self.marks = 0;
            return true;
        }
        let fits = self.marks < MARKS;
        self.marks += usize::from(fits);
        fits
    }

    fn visible(&mut self, c: char) {
        match c {
            '\n' => self.out.push_str("\\n"),
            '\r' => self.out.push_str("\\r"),
            '\t' => self.out.push_str("\\t"),
            c if u32::from(c) < 0x80 => self.hex(u32::from(c)),
            c => write!(self.out, "\\u{{{:x}}}", u32::from(c)).expect("writing to a string cannot fail"),
        }
        self.marks = MARKS;
    }

    fn byte(&mut self, byte: u8) {
        self.hex(u32::from(byte));
        self.marks = MARKS;
    }

    fn hex(&mut self, code: u32) {
        write!(self.out, "\\x{code:02x}").expect("writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Payloads of attackers in names, messages and file content, with their expected escaped form.
    const PAYLOADS: &[(&str, &str)] = &[
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"),
        ("\x1b[1A\x1b[2K", "\\x1b[1A\\x1b[2K"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b]0;title\x1b\\", "\\x1b]0;title\\x1b\\"),
        (
            "\x1b]8;;http://e.org\x1b\\click\x1b]8;;\x1b\\",
            "\\x1b]8;;http://e.org\\x1b\\click\\x1b]8;;\\x1b\\",
        ),
        ("\x1b]52;c;cm0gLXJm\x07", "\\x1b]52;c;cm0gLXJm\\x07"),
        ("\x1b]50;font\x07", "\\x1b]50;font\\x07"),
        ("\x1b]1337;File=x:y\x07", "\\x1b]1337;File=x:y\\x07"),
        ("\x1bP+q544e\x1b\\", "\\x1bP+q544e\\x1b\\"),
        ("\x1b_Gf=100\x1b\\", "\\x1b_Gf=100\\x1b\\"),
        ("\x1b^private\x1b\\", "\\x1b^private\\x1b\\"),
        ("\x1bXstring\x1b\\", "\\x1bXstring\\x1b\\"),
        ("\x1b[6n", "\\x1b[6n"),
        ("\x1b[c", "\\x1b[c"),
        ("\x1b[?1049h", "\\x1b[?1049h"),
        ("\x1b[?25l", "\\x1b[?25l"),
        ("\x1b[?2004l", "\\x1b[?2004l"),
        ("\x1bc", "\\x1bc"),
        ("\x1b(0", "\\x1b(0"),
        ("\x1b#8", "\\x1b#8"),
        ("\x1b[8m hidden", "\\x1b[8m hidden"),
        ("\x1b[20t", "\\x1b[20t"),
        ("\u{9b}31m", "\\u{9b}31m"),
        ("\u{9d}0;t\u{9c}", "\\u{9d}0;t\\u{9c}"),
        ("\u{90}q\u{9c}", "\\u{90}q\\u{9c}"),
        ("\u{9f}app\u{9c}", "\\u{9f}app\\u{9c}"),
        ("\u{84}\u{85}\u{8d}", "\\u{84}\\u{85}\\u{8d}"),
        ("\x07\x07", "\\x07\\x07"),
        ("ok\x08\x08no", "ok\\x08\\x08no"),
        ("pass\rfail", "pass\\rfail"),
        ("a\nb", "a\\nb"),
        ("a\r\nb", "a\\r\\nb"),
        ("a\tb", "a\\tb"),
        ("a\x0bb\x0cc", "a\\x0bb\\x0cc"),
        ("a\x00b", "a\\x00b"),
        ("\x0e\x0f", "\\x0e\\x0f"),
        ("\x05\x11\x13\x1a", "\\x05\\x11\\x13\\x1a"),
        ("\x7f", "\\x7f"),
        ("a\u{202e}txt.exe", "a\\u{202e}txt.exe"),
        (
            "\u{202a}\u{202b}\u{202c}\u{202d}",
            "\\u{202a}\\u{202b}\\u{202c}\\u{202d}",
        ),
        ("\u{2066}if\u{2069}", "\\u{2066}if\\u{2069}"),
        ("\u{2067}\u{2068}", "\\u{2067}\\u{2068}"),
        ("\u{200e}\u{200f}\u{61c}", "\\u{200e}\\u{200f}\\u{61c}"),
        ("ad\u{200b}min", "ad\\u{200b}min"),
        ("ad\u{200c}\u{200d}\u{2060}min", "ad\\u{200c}\\u{200d}\\u{2060}min"),
        ("\u{feff}bom", "\\u{feff}bom"),
        ("soft\u{ad}hyphen", "soft\\u{ad}hyphen"),
        ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        ("\u{3164}\u{115f}\u{ffa0}", "\\u{3164}\\u{115f}\\u{ffa0}"),
        ("\u{e0041}\u{e007f}", "\\u{e0041}\\u{e007f}"),
        ("x\u{fe00}\u{e0100}", "x\\u{fe00}\\u{e0100}"),
        ("x\u{fe0f}\u{fe0f}", "x\u{fe0f}\\u{fe0f}"),
        ("\u{301}mark first", "\\u{301}mark first"),
        (
            "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}!",
            "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\\u{301}\\u{301}!",
        ),
        ("\u{fff9}a\u{fffa}b\u{fffb}", "\\u{fff9}a\\u{fffa}b\\u{fffb}"),
        (
            "\u{fffe}\u{ffff}\u{1ffff}\u{10fffe}\u{fdd0}",
            "\\u{fffe}\\u{ffff}\\u{1ffff}\\u{10fffe}\\u{fdd0}",
        ),
        (
            "\u{1d173}\u{110bd}\u{13430}\u{1bca0}",
            "\\u{1d173}\\u{110bd}\\u{13430}\\u{1bca0}",
        ),
        ("\u{180e}\u{34f}\u{17b4}", "\\u{180e}\\u{34f}\\u{17b4}"),
    ];

    #[test]
    fn payloads_are_made_visible() {
        assert!(PAYLOADS.len() >= 50, "{}", PAYLOADS.len());
        for (payload, shown) in PAYLOADS {
            assert_eq!(line(payload), *shown, "{payload:?}");
            assert_eq!(block_bytes(payload.as_bytes()), block(payload), "{payload:?}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "",
            "plain ~",
            "C:\\x",
            "größer",
            "日本語",
            "한국어",
            "한국어",
            "שלום",
            "e\u{301}te\u{301}",
            "❤\u{fe0f}",
            "a\u{a0}b",
            "👍🏽",
            "नमस्ते",
        ] {
            assert_eq!(line(text), text);
            assert!(matches!(line(text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn blocks_keep_their_lines() {
        assert_eq!(block("a\r\nb\tc\rd\n"), "a\nb\tc\\rd\n");
        assert_eq!(block("a\n\u{301}b"), "a\n\\u{301}b");
        assert!(matches!(block("a\n\tb"), Cow::Borrowed(_)));
        assert_eq!(block_bytes(b"a\xff\n\x9b1m\xc3\xa9"), "a\\xff\n\\x9b1m\u{e9}");
        assert_eq!(block_bytes(b"\xed\xa0\x80\n"), "\\xed\\xa0\\x80\n");
    }

    #[test]
    fn json_means_the_same_after_escaping() {
        let value = "a\u{7f}\u{9b}\u{202e}\u{e0041}\x1b\u{e9}\"\\";
        let plain = serde_json::to_string(value).unwrap();
        let escaped = json(&plain);
        assert_eq!(escaped, "\"a\\u007f\\u009b\\u202e\\udb40\\udc41\\u001b\u{e9}\\\"\\\\\"");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), value);
        assert!(matches!(json("{\"a\": \"\u{e9}\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn ranges_are_sorted() {
        assert!(HIDDEN.windows(2).all(|w| w[0].1 < w[1].0) && HIDDEN.iter().all(|(a, b)| a <= b));
    }

    /// A character that must not come out; the two selectors may follow a character.
    fn unexpected(out: &str) -> Option<char> {
        out.chars()
            .find(|&c| is_hidden(c) && !matches!(c, '\u{fe0e}' | '\u{fe0f}'))
    }

    /// Any characters, with many more of the bad ones than chance gives.
    fn nasty() -> impl Strategy<Value = String> {
        let bad = prop_oneof![
            any::<char>(),
            (0u32..0x20).prop_map(|c| char::from_u32(c).unwrap_or('x')),
            (0x7fu32..0xa0).prop_map(|c| char::from_u32(c).unwrap_or('x')),
            (0x2000u32..0x2070).prop_map(|c| char::from_u32(c).unwrap_or('x')),
            (0x300u32..0x370).prop_map(|c| char::from_u32(c).unwrap_or('x')),
            (0xfe00u32..0xfe10).prop_map(|c| char::from_u32(c).unwrap_or('x')),
            Just('\r'),
            Just('\n'),
            Just('a'),
        ];
        proptest::collection::vec(bad, 0..40).prop_map(|v| v.into_iter().collect())
    }

    proptest! {
        #[test]
        fn nothing_hidden_comes_out(text in nasty()) {
            let out = line(&text);
            prop_assert_eq!(unexpected(&out), None);
            prop_assert!(!out.chars().any(char::is_control));
            prop_assert_eq!(line(&out), &*out);
            let out = block(&text);
            prop_assert!(!out.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert_eq!(block(&out), &*out);
        }

        #[test]
        fn no_bytes_get_through(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let out = block_bytes(&bytes).replace(['\n', '\t'], "");
            prop_assert_eq!(unexpected(&out), None);
        }
    }
}
