//! Texts from which agents learn about this program: a skill in the directory they read, and a paragraph in `AGENTS.md`.

use std::path::{Path, PathBuf};

use super::{
    Context,
    error::{CommandError, FailureKind},
    help::{GUIDES, SKILL},
    opening::OpenedRepository,
};
use crate::{
    agents::hooks::adapter::Adapter,
    ops::agent::setup::{self, HooksEdit},
    store,
};

/// The head of the skill, by which it is recognized.
const HEAD: &str = "\
---
name: git-checkpoint
description: Save and resume work sessions with git checkpoint - notes and exact files. Use before risky changes, at
  milestones, when stopping, to go back to an earlier turn, to try two ways, and when work is resumed.
---

";

/// The line before the paragraph.
const BEGIN: &str = "<!-- git-checkpoint:agents:begin -->";
/// The line after it.
const END: &str = "<!-- git-checkpoint:agents:end -->";

const PARAGRAPH: &str = "\
Work in this repository is saved with `git checkpoint`: notes, chat and exact files, on their own refs. Before something
risky run `git checkpoint save -m '<what is done>'`; when you begin, `git checkpoint resume --if-any --format prompt`; to
go back, `git checkpoint turns` and `git checkpoint rewind`. More: `git checkpoint help skill`.
";

/// The text of the skill. Lines that only tests read are left out.
fn skill() -> String {
    let guide = GUIDES.iter().find(|guide| guide.name == SKILL);
    let source = guide.map_or("", |guide| guide.source);
    let mut text = HEAD.to_owned();
    let mut is_after_note = false;
    for line in source.split_inclusive('\n') {
        let is_note = line.starts_with("<!-- run:");
        let is_gap = is_after_note && line.trim().is_empty();
        if !is_note && !is_gap {
            text.push_str(line);
        }
        is_after_note = is_note;
    }
    text
}

/// The files of the skill for these agents. Claude Code has a directory of its own, the others share one.
fn skill_files(context: &Context, agents: &[&Adapter]) -> Result<Vec<PathBuf>, CommandError> {
    let Some(home) = context.env.home() else {
        let message = "HOME is not set, so the agents' directories cannot be found";
        return Err(CommandError::new(FailureKind::Fatal, message));
    };
    let name = Path::new("skills/git-checkpoint/SKILL.md");
    let mut files = Vec::new();
    for adapter in agents {
        let file = if adapter.name == "claude-code" {
            let moved = adapter.variable.and_then(|name| context.env.text(name));
            adapter.directory(home, moved.as_deref()).join(name)
        } else {
            home.join(".agents").join(name)
        };
        if !files.contains(&file) {
            files.push(file);
        }
    }
    Ok(files)
}

/// Writes the skill for these agents.
pub(super) fn skills(context: &Context, agents: &[&Adapter], dry_run: bool) -> Result<Vec<HooksEdit>, CommandError> {
    let write = |file: PathBuf| Ok(setup::edit_text(&file, dry_run, |_| Some(skill()))?);
    skill_files(context, agents)?.into_iter().map(write).collect()
}

/// Puts the paragraph into `AGENTS.md`, and into `CLAUDE.md` where that is a file of its own.
pub(super) fn paragraphs(opened: &OpenedRepository, dry_run: bool) -> Result<Vec<HooksEdit>, CommandError> {
    let root = store::work_tree(opened.scene().repo)?;
    let mut edits = Vec::new();
    for name in ["AGENTS.md", "CLAUDE.md"] {
        let file = root.join(name);
        let is_own = file.symlink_metadata().is_ok_and(|found| found.is_file());
        if is_own || (name == "AGENTS.md" && !file.exists()) {
            edits.push(setup::edit_text(&file, dry_run, |before| Some(with_paragraph(before)))?);
        }
    }
    Ok(edits)
}

/// Removes skills and paragraphs, and nothing else.
pub(super) fn remove(
    context: &Context,
    opened: &OpenedRepository,
    dry_run: bool,
) -> Result<Vec<HooksEdit>, CommandError> {
    let all: Vec<&Adapter> = crate::agents::hooks::adapter::ADAPTERS.iter().collect();
    let mut edits = Vec::new();
    for file in skill_files(context, &all)? {
        if file.is_file() {
            let is_ours = |text: &str| text.starts_with("---\nname: git-checkpoint\n");
            edits.push(setup::edit_text(&file, dry_run, |before| {
                before.filter(|text| !is_ours(text)).map(str::to_owned)
            })?);
        }
    }
    let root = store::work_tree(opened.scene().repo)?;
    for name in ["AGENTS.md", "CLAUDE.md"] {
        let file = root.join(name);
        if file.symlink_metadata().is_ok_and(|found| found.is_file()) {
            edits.push(setup::edit_text(&file, dry_run, |before| {
                before.and_then(without_paragraph)
            })?);
        }
    }
    Ok(edits)
}

/// The place of the paragraph, with its markers and the empty line before it.
fn place(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find(BEGIN)?;
    let end = start + text[start..].find(END)? + END.len();
    let end = end + usize::from(text[end..].starts_with('\n'));
    Some(start..end)
}

fn with_paragraph(before: Option<&str>) -> String {
    let block = format!("{BEGIN}\n{PARAGRAPH}{END}\n");
    let before = before.unwrap_or_default();
    if let Some(place) = place(before) {
        return format!("{}{block}{}", &before[..place.start], &before[place.end..]);
    }
    let gap = match before {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{before}{gap}{block}")
}

/// The file without the paragraph; `None` where nothing else was in it.
fn without_paragraph(text: &str) -> Option<String> {
    let Some(place) = place(text) else {
        return Some(text.to_owned());
    };
    let before = &text[..place.start];
    // The empty line is ours where the paragraph is the end of the file.
    let before = if text[place.end..].is_empty() {
        before.strip_suffix('\n').unwrap_or(before)
    } else {
        before
    };
    let left = format!("{before}{}", &text[place.end..]);
    (!left.is_empty()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::PublishedEncoding;

    #[test]
    fn the_skill_is_short() {
        let tokens = PublishedEncoding::O200k.count(&skill());
        assert!(tokens <= 700, "{tokens} tokens");
        assert!(!skill().contains("<!--"));
    }

    #[test]
    fn the_paragraph_comes_and_goes() {
        for before in ["", "# A\n", "# A\n\nb\n", "no end"] {
            let with = with_paragraph(Some(before));
            assert_eq!(with_paragraph(Some(&with)), with, "{before:?}");
            let left = without_paragraph(&with).unwrap_or_default();
            assert_eq!(left.trim_end(), before.trim_end(), "{before:?}");
            if before.ends_with('\n') {
                assert_eq!(left, before);
            }
        }
        let edited = format!("# A\n\n{BEGIN}\nold\n{END}\nbehind\n");
        assert_eq!(without_paragraph(&edited).as_deref(), Some("# A\n\nbehind\n"));
        assert!(with_paragraph(Some(&edited)).ends_with("-->\nbehind\n"));
    }
}
