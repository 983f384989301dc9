//! A patch for people: colored, and in changed lines the words that changed.
//!
//! Only for terminals. The text is that of the patch, line for line; where as many lines were taken away as put in
//! their place, each pair is compared word by word.

use similar::{ChangeTag, TextDiff};

use super::{
    slot::Slot,
    text::{Text, TextLine},
};

/// Lines longer than this are not compared by words: they are data, and comparing them takes long.
const WORDS_UP_TO: usize = 1000;

/// The lines of a patch as git writes it.
pub fn text(patch: &[u8]) -> Text {
    let mut out = Text::new();
    let content = String::from_utf8_lossy(patch);
    let lines: Vec<&str> = content.lines().collect();
    let mut at = 0;
    // Before its first hunk a file's part is all header, whatever its lines begin with.
    let mut in_hunk = false;
    while at < lines.len() {
        let line = lines[at];
        if line.starts_with("diff ") {
            in_hunk = false;
        } else if line.starts_with("@@") {
            in_hunk = true;
        }
        if in_hunk && line.starts_with('-') {
            let removed = run(&lines[at..], '-');
            let added = run(&lines[at + removed..], '+');
            changed(
                &mut out,
                &lines[at..at + removed],
                &lines[at + removed..at + removed + added],
            );
            at += removed + added;
            continue;
        }
        let slot = match line.as_bytes().first() {
            Some(b'+') if in_hunk => Slot::Added,
            Some(b'@') => Slot::Hunk,
            _ if in_hunk => Slot::Plain,
            _ => Slot::Heading,
        };
        out.push(TextLine::new().with(slot, line));
        at += 1;
    }
    out
}

/// The lines of `git range-diff`: a line for each pair of commits, and indented what differs between their patches.
pub fn range(text: &[u8]) -> Text {
    let mut out = Text::new();
    for line in String::from_utf8_lossy(text).lines() {
        let slot = match line.strip_prefix("    ").map(str::as_bytes) {
            None => Slot::Heading,
            Some([b'+', ..]) => Slot::Added,
            Some([b'-', ..]) => Slot::Removed,
            Some([b'@', ..]) => Slot::Hunk,
            Some(_) => Slot::Plain,
        };
        out.push(TextLine::new().with(slot, line));
    }
    out
}

fn run(lines: &[&str], sign: char) -> usize {
    lines.iter().take_while(|line| line.starts_with(sign)).count()
}

/// Lines taken away and lines put in their place.
fn changed(out: &mut Text, removed: &[&str], added: &[&str]) {
    let short = |lines: &[&str]| lines.iter().all(|line| line.len() <= WORDS_UP_TO);
    if removed.len() != added.len() || !short(removed) || !short(added) {
        for (lines, slot) in [(removed, Slot::Removed), (added, Slot::Added)] {
            for line in lines {
                out.push(TextLine::new().with(slot, line));
            }
        }
        return;
    }
    let mut new = Vec::new();
    for (old_line, new_line) in removed.iter().zip(added) {
        let (old, fresh) = words(&old_line[1..], &new_line[1..]);
        out.push(old);
        new.push(fresh);
    }
    for line in new {
        out.push(line);
    }
}

/// A pair of lines with the words that differ marked.
fn words(old: &str, new: &str) -> (TextLine, TextLine) {
    let diff = TextDiff::from_words(old, new);
    // Lines that have little in common are not one line changed.
    if diff.ratio() < 0.5 {
        return (
            TextLine::new().with(Slot::Removed, format!("-{old}")),
            TextLine::new().with(Slot::Added, format!("+{new}")),
        );
    }
    let mut before = TextLine::new().with(Slot::Removed, "-");
    let mut after = TextLine::new().with(Slot::Added, "+");
    for change in diff.iter_all_changes() {
        let word = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                before.push(Slot::Removed, word);
                after.push(Slot::Added, word);
            }
            ChangeTag::Delete => before.push(Slot::RemovedWord, word),
            ChangeTag::Insert => after.push(Slot::AddedWord, word),
        }
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str =
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-let a = old;\n+let a = new;\n\\ end\n";

    #[test]
    fn the_text_is_the_patch() {
        let shown: Vec<String> = text(PATCH.as_bytes()).lines().iter().map(ToString::to_string).collect();
        assert_eq!(shown.join("\n") + "\n", PATCH);
    }

    #[test]
    fn only_the_words_that_differ_are_marked() {
        let text = text(PATCH.as_bytes());
        let marked = |n: usize, slot: Slot| -> String {
            text.lines()[n]
                .spans()
                .filter(|s| s.slot() == slot)
                .map(|s| s.text().to_owned())
                .collect()
        };
        assert_eq!(
            (
                marked(5, Slot::RemovedWord).as_str(),
                marked(6, Slot::AddedWord).as_str()
            ),
            ("old;", "new;")
        );
        assert_eq!(marked(1, Slot::Heading), "--- a/f", "a header is no removed line");
    }

    #[test]
    fn escapes_in_a_file_do_not_reach_the_screen() {
        let shown = text(b"@@ -1 +1 @@\n-\x1b[31mred\n+\x9b31m\n")
            .lines()
            .iter()
            .map(ToString::to_string)
            .collect::<String>();
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{9b}'), "{shown:?}");
    }
}
