//! Text of a repository inside Markdown: shown as it is, never taken for markup.

use super::escape;

/// One line of running text.
pub fn line(text: &str) -> String {
    let text = escape::line(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
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
}
