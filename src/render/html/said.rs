//! The text of a message: prose, and code in the fences that agents and people put around it, as in CommonMark.

use maud::{Markup, html};

use super::shown_block;

/// A part of a text.
#[derive(Debug, PartialEq)]
enum TextPart<'a> {
    Prose(Vec<&'a str>),
    Code { language: &'a str, lines: Vec<&'a str> },
}

/// A text with its code set apart.
pub(super) fn markup(text: &str) -> Markup {
    html! {
        @for part in parts(text) {
            @match part {
                TextPart::Prose(lines) => pre class="said" tabindex="0" { (shown_block(&lines.join("\n"))) },
                TextPart::Code { language, lines } => {
                    @if !language.is_empty() { p class="language" { (shown_block(language)) } }
                    pre class="code" tabindex="0" { (shown_block(&lines.join("\n"))) }
                }
            }
        }
    }
}

/// The parts of a text. A fence without an end, such as that of a text that was cut, has the rest.
fn parts(text: &str) -> Vec<TextPart<'_>> {
    let mut out = Vec::new();
    let mut prose = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((fence, language)) = opening(line) else {
            prose.push(line);
            continue;
        };
        end_prose(&mut prose, &mut out);
        let code = lines.by_ref().take_while(|line| !closes(line, fence));
        out.push(TextPart::Code {
            language,
            lines: code.collect(),
        });
    }
    end_prose(&mut prose, &mut out);
    if out.is_empty() {
        out.push(TextPart::Prose(Vec::new()));
    }
    out
}

/// Ends prose, without the empty lines around code.
fn end_prose<'a>(prose: &mut Vec<&'a str>, out: &mut Vec<TextPart<'a>>) {
    let mut lines = std::mem::take(prose);
    let is_empty = |line: &&str| line.trim().is_empty();
    while lines.last().is_some_and(is_empty) {
        lines.pop();
    }
    if !out.is_empty() {
        let start = lines.iter().position(|line| !is_empty(line)).unwrap_or(lines.len());
        lines.drain(..start);
    }
    if !lines.is_empty() {
        out.push(TextPart::Prose(lines));
    }
}

/// The fence that a line begins, and the language that it names.
fn opening(line: &str) -> Option<(&str, &str)> {
    let (fence, rest) = fence_of(line)?;
    (fence.starts_with('~') || !rest.contains('`')).then_some((fence, rest.trim()))
}

/// Whether a line ends a fence.
fn closes(line: &str, fence: &str) -> bool {
    fence_of(line).is_some_and(|(end, rest)| end.starts_with(fence) && rest.trim().is_empty())
}

/// Three or more backticks or tildes at the beginning of a line, and the rest of it.
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start_matches(' ');
    let letter = text.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let end = text.find(|next: char| next != letter).unwrap_or(text.len());
    (line.len() - text.len() < 4 && end > 2).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose<'a>(lines: &[&'a str]) -> TextPart<'a> {
        TextPart::Prose(lines.to_vec())
    }

    fn code<'a>(language: &'a str, lines: &[&'a str]) -> TextPart<'a> {
        TextPart::Code {
            language,
            lines: lines.to_vec(),
        }
    }

    #[test]
    fn code_is_what_is_in_fences() {
        for (text, wanted) in [
            ("", vec![prose(&[])]),
            ("a\n\nb\n", vec![prose(&["a", "", "b"])]),
            (
                "a\n\n```rust\n  x\n\n```\n\nb",
                vec![prose(&["a"]), code("rust", &["  x", ""]), prose(&["b"])],
            ),
            (
                "~~~~ c x\n~~~\n```\n~~~~~ \nb",
                vec![code("c x", &["~~~", "```"]), prose(&["b"])],
            ),
            ("```\nuntil the end", vec![code("", &["until the end"])]),
            ("``` a`b", vec![prose(&["``` a`b"])]),
            ("``\n    ```\nx", vec![prose(&["``", "    ```", "x"])]),
            ("```\n```\n```\n```", vec![code("", &[]), code("", &[])]),
        ] {
            assert_eq!(parts(text), wanted, "{text}");
        }
    }

    #[test]
    fn code_is_escaped() {
        let made = markup("```<script>\n<img onerror=x>\u{202e}\n```").into_string();
        assert!(
            !made.contains("<script") && !made.contains("<img") && !made.contains('\u{202e}'),
            "{made}"
        );
    }
}
