//! Texts of any form between the marks of Markdown: written so that they are read as they were.

use super::bullet;

/// A text as lines below a heading, or of an item of a list: what would begin something else gets a backslash before it
/// as Markdown has it, and a blank line is `<br>`, since a real one would end the item.
pub(in super::super) fn escaped(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let line = |line: &str| {
        let text = line.trim_start();
        if text.is_empty() {
            return "<br>".to_owned();
        }
        let blank = &line[..line.len() - text.len()];
        let mark = if begins(text) { "\\" } else { "" };
        format!("{blank}{mark}{text}")
    };
    let text = text.trim();
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A text that is all there is below a heading: only what would be a heading or a fence, or would be taken for escaped,
/// gets a backslash.
pub(in super::super) fn escaped_block(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let line = |line: &str| {
        let text = line.trim_start();
        let opens = ["#", "```", "~~~"].iter().any(|mark| text.starts_with(mark));
        if opens || unescaped(line) != line {
            format!("{}\\{text}", &line[..line.len() - text.len()])
        } else {
            line.to_owned()
        }
    };
    let text = text.trim();
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The text that was escaped.
pub(in super::super) fn unescaped(text: &str) -> String {
    let line = |line: &str| {
        let text = line.trim_start();
        if text.trim_end() == "<br>" {
            return String::new();
        }
        let blank = &line[..line.len() - text.len()];
        match text.strip_prefix('\\') {
            Some(rest) if begins(rest) => format!("{blank}{rest}"),
            _ => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a line begins as something that is not the text of an item.
fn begins(line: &str) -> bool {
    let marks = ["#", "```", "~~~", "|", "\\", "[ ] ", "[x] ", "[X] ", "<br>"];
    marks.iter().any(|mark| line.starts_with(mark)) || bullet(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{bullets, sections, unticked},
        *,
    };

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_text_of_any_form_is_one_item() {
        for text in [
            "plain",
            "two  blanks",
            "# no heading\n\n- no item\n  1. nor this\n```\nno fence\n",
            "[x] no box",
            "\\# a backslash\n\\\\ two",
            "<br>\n\n<br>",
            "12) no number\n      deep\n| no | table |",
        ] {
            for mark in ["- ", "12. "] {
                let inset = format!("\n{}", " ".repeat(mark.len()));
                let written = format!("{mark}{}", escaped(text).replace('\n', &inset));
                let (items, other) = bullets(&lines(&written));
                assert_eq!((items.len(), other.len()), (1, 0), "{written}");
                assert_eq!(sections(&written).len(), 1, "{written}");
                assert_eq!(unescaped(&items[0].text), text.trim(), "{written}");
                assert_eq!((items[0].checked, items[0].below.len()), (None, 0), "{written}");
            }
            let found = sections(&format!("## Summary\n\n{}\n\n## Next\n", escaped_block(text)));
            assert_eq!((found.len(), unescaped(&found[0].text())), (2, text.trim().to_owned()));
        }
        assert_eq!(
            (unticked("`a`"), unticked("`a` or `b`"), unticked("`")),
            ("a", "`a` or `b`", "`")
        );
    }
}
