//! The summary of a session: the written one, else one from git's facts.

use super::Scene;
use crate::{
    model::{
        document::{CheckpointKind, Document},
        facts::GitFacts,
    },
    store::{
        checkpoint::{self, Checkpoint},
        session,
    },
};

/// How many checkpoints are searched for a written summary.
const SEARCHED: usize = 50;

/// The written summary that holds at a checkpoint.
///
/// Earlier versions let automatic checkpoints replace it: behind those it is looked for in the checkpoints before.
pub(super) fn written(scene: &Scene<'_>, at: &Checkpoint) -> Option<String> {
    let document = &at.document;
    if let Some(text) = document.written_summary() {
        return Some(text.to_owned());
    }
    let automatic = matches!(
        document.kind,
        CheckpointKind::Commit | CheckpointKind::Event | CheckpointKind::Compact | CheckpointKind::Clear
    );
    if !automatic || document.record.auto_summary {
        return None;
    }
    earlier(scene, at).map(|(_, text)| text)
}

/// The latest checkpoint before this one with a written summary, and the summary.
pub(super) fn earlier(scene: &Scene<'_>, at: &Checkpoint) -> Option<(Checkpoint, String)> {
    if is_cleared(&at.document) {
        return None;
    }
    let before = session::chain(scene.repo, at.entry.id).skip(1).take(SEARCHED);
    for entry in before.filter_map(Result::ok) {
        let Ok(found) = checkpoint::load(scene.repo, entry.id) else {
            continue;
        };
        if is_cleared(&found.document) {
            return None;
        }
        if let Some(text) = found.document.written_summary().map(str::to_owned) {
            return Some((found, text));
        }
    }
    None
}

/// Whether a summary before this checkpoint was cleared with the record: none that was written held on.
fn is_cleared(document: &Document) -> bool {
    document.kind == CheckpointKind::Clear && document.record.auto_summary
}

/// How many paths a summary names.
const NAMED: usize = 3;

/// One line: branch, what is changed, and where HEAD is.
pub(super) fn of(git: &GitFacts) -> String {
    let place = match (&git.branch, &git.head) {
        (Some(branch), _) => branch.clone(),
        (None, Some(head)) => format!("detached at {}", head.short()),
        (None, None) => "unborn branch".to_owned(),
    };
    let place = match &git.operation {
        Some(operation) => format!("{place}, {}", operation.describe()),
        None => place,
    };
    let counts = [
        (git.conflicted.count, "conflicted"),
        (git.staged.count, "staged"),
        (git.modified.count, "modified"),
        (git.deleted.count, "deleted"),
        (git.untracked.count, "untracked"),
        (git.submodules_changed.count, "in submodules"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    if counts.is_empty() && !git.has_status() {
        let subject = git.head_subject.as_ref().map(|subject| format!(" '{subject}'"));
        return match &git.head {
            Some(head) => format!("{place}: at {}{}", head.short(), subject.unwrap_or_default()),
            None => place,
        };
    }
    if counts.is_empty() {
        return match (&git.head, &git.head_subject) {
            (Some(head), Some(subject)) => format!("{place}: clean at {} '{subject}'", head.short()),
            (Some(head), None) => format!("{place}: clean at {}", head.short()),
            (None, _) => format!("{place}: no changes"),
        };
    }
    let mut names: Vec<String> = Vec::new();
    for list in [
        &git.conflicted,
        &git.modified,
        &git.staged,
        &git.untracked,
        &git.deleted,
        &git.submodules_changed,
    ] {
        for path in &list.first {
            let name = path.quoted();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let more = if names.len() > NAMED { ", .." } else { "" };
    names.truncate(NAMED);
    format!("{place}: {} ({}{more})", counts.join(", "), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{facts::BoundedList, id::Oid, path::RepoPath};

    #[test]
    fn it_says_where_and_what() {
        let paths = |names: &[&str]| {
            names
                .iter()
                .map(|n| RepoPath::from(*n))
                .collect::<BoundedList<RepoPath>>()
        };
        let mut git = GitFacts {
            branch: Some("main".into()),
            ..GitFacts::default()
        };
        assert_eq!(of(&git), "main: no changes");
        git.head = Some(Oid::new("4c1d9e2".to_owned() + &"0".repeat(33)).expect("hex"));
        git.head_subject = Some("Add parser".into());
        assert_eq!(of(&git), "main: clean at 4c1d9e20 'Add parser'");
        git.leave_out_status();
        assert_eq!(of(&git), "main: at 4c1d9e20 'Add parser'");
        git.modified = paths(&["a.rs", "b.rs"]);
        git.staged = paths(&["a.rs", "c.rs", "d.rs"]);
        assert_eq!(of(&git), "main: 3 staged, 2 modified (a.rs, b.rs, c.rs, ..)");
    }
}
