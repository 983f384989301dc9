//! Text of a repository inside Markdown: shown as it is, never taken for markup.

use super::escape;

/// One line of running text. Neither its characters nor what it begins with makes markup: no list, no heading, no
/// underline of the line before, no block of code.
pub fn line(text: &str) -> String {
    let text = escape::line(text);
    let text = text.trim_start();
    let mut out = String::with_capacity(text.len() + 1);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    // Only with a blank behind it a number begins an item of a list.
    let mut behind = text[digits..].chars();
    let ends_number = matches!(behind.next(), Some('.' | ')')) && behind.next().is_none_or(char::is_whitespace);
    let number = digits > 0 && ends_number;
    if text.starts_with(['-', '+', '=']) {
        out.push('\\');
    }
    for (at, c) in text.char_indices() {
        if number && at == digits {
            out.push('\\');
        }
        if "\\`*_{}[]<>#|!~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Several lines, kept as lines.
pub fn block(text: &str) -> String {
    text.lines().map(line).collect::<Vec<_>>().join("  \n")
}

/// A block of code: a fence longer than any run of the same character in the text.
pub fn code(text: &str) -> String {
    let text = escape::block(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}text\n{text}{end}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_stays_text() {
        assert_eq!(
            line("# <b>*x*</b> [l](u)\u{1b}"),
            "\\# \\<b\\>\\*x\\*\\</b\\> \\[l\\](u)\\\\x1b"
        );
    }

    #[test]
    fn what_a_line_begins_with_makes_no_markup() {
        for (text, shown) in [
            ("---", "\\---"),
            ("===", "\\==="),
            ("- list", "\\- list"),
            ("+ list", "\\+ list"),
            ("1. curl", "1\\. curl"),
            ("123456789) x", "123456789\\) x"),
            ("    code", "code"),
            ("   - list", "\\- list"),
            ("1.5 times", "1.5 times"),
            ("0.0 s", "0.0 s"),
            ("7)", "7\\)"),
            ("2 files", "2 files"),
            ("a - b = c + 1.", "a - b = c + 1."),
            ("", ""),
        ] {
            assert_eq!(line(text), shown, "{text:?}");
        }
        assert_eq!(
            block("fine\n\nNext steps\n---\n1. x"),
            "fine  \n  \nNext steps  \n\\---  \n1\\. x"
        );
    }
}
