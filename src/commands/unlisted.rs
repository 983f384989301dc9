//! Commands that ran and that no `undo` reverts: noted, so that `undo` says so instead of undoing an older one silently.

use std::ffi::OsString;

use super::all_repos::VisitedRepository;
use crate::model::time::Timestamp;

/// Commands that a person may want to undo although they changed nothing.
const EXPECTED_TO_CHANGE: [&str; 13] = [
    "apply", "clear", "delete", "finish", "merge", "pause", "prune", "rename", "restore", "resume", "rewind", "save",
    "switch",
];

/// Commands of programs and servers, what only looks at remotes, and those that move along the undo list.
const PASSED_OVER: [&str; 11] = [
    "undo", "redo", "hook", "watch", "mcp", "batch", "ui", "serve", "fetch", "pull", "setup",
];

/// Options with which a command only shows something.
const SHOWING: [&str; 3] = ["--list", "--help", "--version"];

/// Notes a command that succeeded, where the undo list does not have it; `changed` says whether it changed anything.
pub(super) fn note(visited: &VisitedRepository, word: &'static str, args: &[OsString], at: Timestamp, changed: bool) {
    let is_idle = !changed && EXPECTED_TO_CHANGE.contains(&word) && !only_shows(args);
    if (changed || is_idle) && !PASSED_OVER.contains(&word) {
        visited.list.note(word, at, changed);
    }
}

/// Whether the arguments ask for a dry run or a list.
fn only_shows(args: &[OsString]) -> bool {
    let mut options = args
        .iter()
        .take_while(|arg| *arg != "--")
        .filter_map(|arg| arg.to_str());
    options.any(|arg| {
        let is_dry_run = arg.len() > "--d".len() && "--dry-run".starts_with(arg);
        let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let is_short =
            letters.is_some_and(|letters| letters.contains('n') && letters.chars().all(|c| "nqv".contains(c)));
        is_dry_run || is_short || SHOWING.contains(&arg)
    })
}

#[cfg(test)]
mod tests {
    use super::only_shows;

    #[test]
    fn a_dry_run_is_known_by_every_way_to_write_it() {
        let shows = |args: &[&str]| only_shows(&args.iter().map(Into::into).collect::<Vec<_>>());
        for args in [
            &["x", "save", "-n"][..],
            &["x", "save", "--dry-run"],
            &["x", "save", "--dry"],
            &["x", "prune", "-qn"],
            &["x", "resume", "--list"],
        ] {
            assert!(shows(args), "{args:?}");
        }
        for args in [
            &["x", "save"][..],
            &["x", "save", "-m", "no"],
            &["x", "save", "-mno"],
            &["x", "restore", "@", "--", "-n"],
            &["x", "save", "--next", "do it"],
        ] {
            assert!(!shows(args), "{args:?}");
        }
    }
}
