//! The parts of Markdown that session files are made of: sections, `**Key:** value` lines, lists and tables.
//!
//! Not a Markdown parser: lines are looked at one by one, and whatever has another form is given back as it is, so that
//! a caller can keep it. Inside code fences nothing is a heading.

mod escape;

pub(super) use escape::{escaped, escaped_block, unescaped};

/// A heading and the lines below it, up to the next heading of any level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkdownSection {
    /// The number of `#`; 0 for what precedes the first heading.
    pub(super) level: usize,
    /// The heading's text.
    pub(super) title: String,
    /// The lines, as they are.
    pub(super) lines: Vec<String>,
}

impl MarkdownSection {
    /// The title in lower case without signs and digits around it, for comparison.
    pub(super) fn key(&self) -> String {
        let title = self.title.split('(').next().unwrap_or_default();
        let letters = title.trim_matches(|c: char| !c.is_alphanumeric());
        letters.to_lowercase()
    }

    /// The lines as one text without blank lines around it.
    pub(super) fn text(&self) -> String {
        self.lines.join("\n").trim_matches('\n').to_owned()
    }

    /// Whether there is nothing below the heading.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.trim().is_empty())
    }
}

/// Splits a text at its headings.
pub(super) fn sections(text: &str) -> Vec<MarkdownSection> {
    let mut out = Vec::new();
    let mut now = MarkdownSection {
        level: 0,
        title: String::new(),
        lines: Vec::new(),
    };
    let mut fence = FenceState::default();
    for line in text.lines() {
        if !fence.passes(line)
            && !fence.is_open()
            && let Some((level, title)) = heading(line)
        {
            let next = MarkdownSection {
                level,
                title: title.to_owned(),
                lines: Vec::new(),
            };
            out.push(std::mem::replace(&mut now, next));
            continue;
        }
        now.lines.push(line.to_owned());
    }
    out.push(now);
    if out[0].is_empty() {
        out.remove(0);
    }
    out
}

/// Whether a code fence is open, as lines go by.
#[derive(Default)]
struct FenceState(Option<String>);

impl FenceState {
    /// Takes a line; whether it opens or closes a fence, or is one inside of another.
    fn passes(&mut self, line: &str) -> bool {
        let trimmed = line.trim_start();
        let mark: String = trimmed.chars().take_while(|c| *c == '`' || *c == '~').collect();
        if mark.len() < 3 {
            return false;
        }
        match &self.0 {
            None => self.0 = Some(mark),
            Some(open) if mark.starts_with(open.as_str()) && trimmed[mark.len()..].trim().is_empty() => {
                self.0 = None;
            }
            Some(_) => {}
        }
        true
    }

    fn is_open(&self) -> bool {
        self.0.is_some()
    }
}

/// The mark that would close the fence which is open at the end of a text.
pub(super) fn unclosed(text: &str) -> Option<String> {
    let mut fence = FenceState::default();
    for line in text.lines() {
        fence.passes(line);
    }
    fence.0
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    if !(1..=6).contains(&level) {
        return None;
    }
    let rest = &line[level..];
    let title = rest.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim_end();
    Some((level, title))
}

/// `**Key:** value`, `**Key**: value`, with or without a bullet.
pub(super) fn pair(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let line = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))
        .unwrap_or(line)
        .trim_start();
    let rest = line.strip_prefix("**")?;
    let (key, value) = rest.split_once("**")?;
    let (key, value) = match (key.strip_suffix(':'), value.strip_prefix(':')) {
        (Some(key), _) => (key, value),
        (None, Some(value)) => (key, value),
        (None, None) => return None,
    };
    Some((key.trim(), value.trim()))
}

/// `Key: value` with a key of at most four words.
pub(super) fn plain_pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let is_key = !key.is_empty()
        && key.len() <= 40
        && key.split(' ').count() <= 4
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || c == ' ' || c == '_' || c == '-');
    is_key.then(|| (key.trim(), value.trim()))
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bullet {
    /// Its text; further lines joined as they are, less the indent of the item.
    pub(super) text: String,
    /// Its checkbox, if it has one.
    pub(super) checked: Option<bool>,
    /// The lines of lists below it, less the indent of the item.
    pub(super) below: Vec<String>,
}

impl Bullet {
    /// The list of the record that an item of a list goes to: a step that is checked off is done.
    pub(super) fn list<'a>(&self, list: &'a str) -> &'a str {
        if list == "next_steps" && self.checked == Some(true) {
            "accomplishments"
        } else {
            list
        }
    }
}

/// Splits lines into the items of lists and everything else.
pub(super) fn bullets(lines: &[String]) -> (Vec<Bullet>, Vec<String>) {
    let mut items: Vec<Bullet> = Vec::new();
    let mut other = Vec::new();
    let mut open = false;
    // How far the text of the last item is from the margin: its further lines are there.
    let mut inset = 2;
    for line in lines {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let trimmed = line.trim();
        if trimmed.is_empty() {
            // A blank line ends the text of an item, but not the list.
            continue;
        }
        match (bullet(trimmed), indent) {
            (Some(text), 0 | 1) => {
                inset = trimmed.len() - text.len();
                let (checked, text) = checkbox(text);
                items.push(Bullet {
                    text: text.to_owned(),
                    checked,
                    below: Vec::new(),
                });
                open = true;
            }
            (found, 2..) if open => {
                let item = items.last_mut();
                if let Some(item) = item {
                    let line = &line[indent.min(inset)..];
                    if found.is_some() || !item.below.is_empty() {
                        item.below.push(line.to_owned());
                    } else {
                        item.text.push('\n');
                        item.text.push_str(line.trim_end());
                    }
                }
            }
            _ => {
                other.push(line.clone());
                open = false;
            }
        }
    }
    (items, other)
}

/// The text of an item's line without its bullet or number.
fn bullet(line: &str) -> Option<&str> {
    for mark in ["- ", "* ", "+ ", "\u{2022} "] {
        if let Some(text) = line.strip_prefix(mark) {
            return Some(text.trim());
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=4).contains(&digits) {
        return None;
    }
    let rest = line[digits..].strip_prefix(['.', ')'])?;
    rest.strip_prefix(' ').map(str::trim)
}

/// A value without the ticks that make it code: only where the whole of it is in one pair.
pub(super) fn unticked(value: &str) -> &str {
    let inner = value.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner
        .filter(|inner| !inner.is_empty() && !inner.contains('`'))
        .unwrap_or(value)
}

fn checkbox(text: &str) -> (Option<bool>, &str) {
    if let Some(rest) = text.strip_prefix("[ ] ") {
        return (Some(false), rest);
    }
    match text.strip_prefix("[x] ").or_else(|| text.strip_prefix("[X] ")) {
        Some(rest) => (Some(true), rest),
        None => (None, text),
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkdownTable {
    /// The heads of its columns.
    pub(super) head: Vec<String>,
    /// Its rows; a row may have fewer or more cells than the head.
    pub(super) rows: Vec<Vec<String>>,
    /// The two lines before the rows, as they are.
    pub(super) top: [String; 2],
}

/// Splits lines into tables and everything else.
pub(super) fn tables(lines: &[String]) -> (Vec<MarkdownTable>, Vec<String>) {
    let (mut found, mut other) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < lines.len() {
        let is_table = is_row(&lines[at]) && lines.get(at + 1).is_some_and(|line| is_rule(line));
        if !is_table {
            other.push(lines[at].clone());
            at += 1;
            continue;
        }
        let head = cells(&lines[at]);
        let top = [lines[at].clone(), lines[at + 1].clone()];
        let mut rows = Vec::new();
        at += 2;
        while at < lines.len() && is_row(&lines[at]) {
            rows.push(cells(&lines[at]));
            at += 1;
        }
        found.push(MarkdownTable { head, rows, top });
    }
    (found, other)
}

fn is_row(line: &str) -> bool {
    line.trim().starts_with('|') && line.trim().len() > 1
}

fn is_rule(line: &str) -> bool {
    is_row(line) && line.contains('-') && line.chars().all(|c| "|-: \t".contains(c))
}

/// The cells of a row; `\|` is a bar.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut out = vec![String::new()];
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'|') => {
                chars.next();
                push(&mut out, '|');
            }
            '|' => out.push(String::new()),
            c => push(&mut out, c),
        }
    }
    // What follows the last bar is no cell, unless the bar is missing.
    if out.len() > 1 && out.last().is_some_and(|cell| cell.trim().is_empty()) {
        out.pop();
    }
    out.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn push(out: &mut [String], c: char) {
    if let Some(cell) = out.last_mut() {
        cell.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn sections_end_at_headings_but_not_in_fences() {
        let found = sections("intro\n# A\n```\n# no\n```\n## B ##\ntext\n#no\n");
        let titles: Vec<_> = found.iter().map(|s| (s.level, s.title.as_str())).collect();
        assert_eq!(titles, [(0, ""), (1, "A"), (2, "B")]);
        assert_eq!(found[2].text(), "text\n#no");
    }

    #[test]
    fn pairs_of_both_forms() {
        assert_eq!(pair("**Key:** v"), Some(("Key", "v")));
        assert_eq!(pair("- **Key**: v: w"), Some(("Key", "v: w")));
        assert_eq!(pair("**bold** text"), None);
        assert_eq!(plain_pair("Paused At: now"), Some(("Paused At", "now")));
        assert_eq!(plain_pair("http://x"), Some(("http", "//x")));
        assert_eq!(plain_pair("a long sentence with a colon: x"), None);
    }

    #[test]
    fn lists_with_boxes_numbers_and_more_lines() {
        let (items, other) = bullets(&lines("text\n- [x] a\n  more\n2. b\n   - below\n     deep\n\n* c\nend"));
        let texts: Vec<_> = items
            .iter()
            .map(|i| (i.text.as_str(), i.checked, i.below.len()))
            .collect();
        assert_eq!(texts, [("a\nmore", Some(true), 0), ("b", None, 2), ("c", None, 0)]);
        assert_eq!(other, ["text", "end"]);
    }

    #[test]
    fn tables_keep_what_they_hold() {
        let (found, other) = tables(&lines(
            "x\n| A | B |\n|---|:-:|\n| 1 | a \\| b |\n| 2\n| 3 | | 4 |\nend",
        ));
        assert_eq!(found[0].head, ["A", "B"]);
        assert_eq!(found[0].rows, [vec!["1", "a | b"], vec!["2"], vec!["3", "", "4"]]);
        assert_eq!(other, ["x", "end"]);
    }
}
