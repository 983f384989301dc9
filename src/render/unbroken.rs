//! Commands in a text: a line is never broken inside one, for what is copied then would be half a command.

/// Placeholder of a space at which a line is not broken, where another program breaks the lines.
pub const UNBROKEN: char = '\u{e000}';

/// More words than any command of a hint has: a longer text is prose that mentions a command.
const LONGEST: usize = 16;

/// The words of a paragraph; a command, between quotes or after a colon, is one of them.
pub fn words(paragraph: &str) -> Vec<&str> {
    let places: Vec<&str> = paragraph.split_whitespace().collect();
    let offset = |word: &str| word.as_ptr() as usize - paragraph.as_ptr() as usize;
    let mut out = Vec::with_capacity(places.len());
    let mut at = 0;
    while at < places.len() {
        let follows_colon = at == 0 || places[at - 1].ends_with(':');
        let count = command(&places[at..], follows_colon);
        let last = places[at + count - 1];
        out.push(&paragraph[offset(places[at])..offset(last) + last.len()]);
        at += count;
    }
    out
}

/// The text with every space inside of a command replaced by [`UNBROKEN`].
pub fn joined(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let mut out = String::with_capacity(line.len());
        let mut end = 0;
        for word in words(line) {
            let start = word.as_ptr() as usize - line.as_ptr() as usize;
            out.push_str(&line[end..start]);
            out.push_str(&word.replace(' ', &UNBROKEN.to_string()));
            end = start + word.len();
        }
        out.push_str(&line[end..]);
        out
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The text with its spaces again.
pub fn split(text: &str) -> String {
    text.replace(UNBROKEN, " ")
}

/// How many of these words belong to the command that the first one begins; 1 where it begins none.
fn command(words: &[&str], follows_colon: bool) -> usize {
    let opened = words[0].trim_start_matches(['(', '[']);
    let quote = opened.chars().next().filter(|c| matches!(c, '\'' | '`' | '"'));
    let name = quote.map_or(opened, |quote| opened.trim_start_matches(quote));
    if name != "git" || words.len() < 2 {
        return 1;
    }
    if let Some(quote) = quote {
        let closes = |word: &str| {
            word.trim_end_matches(['.', ',', ';', ':', ')', ']', '?'])
                .ends_with(quote)
        };
        return words
            .iter()
            .take(LONGEST)
            .position(|word| closes(word))
            .map_or(1, |at| at + 1);
    }
    if !follows_colon {
        // In prose: the program and its command belong together.
        return 2;
    }
    let mut text = None;
    for (at, word) in words.iter().enumerate().take(LONGEST) {
        // A text between quotes may have commas of its own.
        for c in word.chars() {
            match text {
                None if matches!(c, '\'' | '"') => text = Some(c),
                Some(open) if open == c => text = None,
                _ => {}
            }
        }
        if text.is_none() && word.ends_with([';', ',', ')', '.', ':']) {
            return at + 1;
        }
    }
    if words.len() > LONGEST { 2 } else { words.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_word() {
        for (text, wanted) in [
            (
                "Not shown: ids: git checkpoint show x --json; more: git checkpoint message list --full",
                vec![
                    "Not",
                    "shown:",
                    "ids:",
                    "git checkpoint show x --json;",
                    "more:",
                    "git checkpoint message list --full",
                ],
            ),
            (
                "run 'git checkpoint undo', then (see 'git worktree remove x') go on",
                vec![
                    "run",
                    "'git checkpoint undo',",
                    "then",
                    "(see",
                    "'git worktree remove x')",
                    "go",
                    "on",
                ],
            ),
            (
                "try: git checkpoint save -m 'parser done, tests red' --next 'make it green'",
                vec![
                    "try:",
                    "git checkpoint save -m 'parser done, tests red' --next 'make it green'",
                ],
            ),
            (
                "[cut: 3 more: git checkpoint message list --full]",
                vec!["[cut:", "3", "more:", "git checkpoint message list --full]"],
            ),
            ("git checkpoint saves it", vec!["git checkpoint saves it"]),
            ("what git does here", vec!["what", "git does", "here"]),
            ("it's 'git", vec!["it's", "'git"]),
        ] {
            assert_eq!(words(text), wanted, "{text}");
            assert_eq!(split(&joined(text)), text);
        }
        let long = format!("git {}", "word ".repeat(40));
        assert_eq!(words(&long)[0], "git word");
    }
}
