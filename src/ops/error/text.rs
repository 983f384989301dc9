//! Sentences of errors that list or count.

use crate::model::path::RepoPath;

/// Hints of an error, with the commands that help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedies {
    /// The hints.
    pub hints: Vec<String>,
    /// The command that does it anyway.
    pub forced: Option<String>,
}

impl From<Vec<String>> for Remedies {
    fn from(hints: Vec<String>) -> Self {
        Self { hints, forced: None }
    }
}

impl From<(Vec<String>, String)> for Remedies {
    fn from((hints, forced): (Vec<String>, String)) -> Self {
        let forced = Some(forced);
        Self { hints, forced }
    }
}

/// The end of a list that has only the first of several.
pub(super) fn first_of(listed: usize, of: usize) -> String {
    if listed < of {
        format!(", the first {listed}:")
    } else {
        String::new()
    }
}

pub(super) fn how_many(of: usize) -> String {
    match of {
        0 => ": there are none".to_owned(),
        1 => ": there is 1".to_owned(),
        n => format!(": there are {n}"),
    }
}

/// That no session is meant, and why.
pub(super) fn no_session(any: bool, damaged: &[String]) -> String {
    let text = if any {
        "no session is current in this working tree"
    } else {
        "there are no sessions yet"
    };
    match damaged {
        [] => text.to_owned(),
        _ => format!("{text}; damaged: {}", damaged.join(", ")),
    }
}

/// One a line.
pub(super) fn listed(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |out, line| out + "\n  " + line)
}

/// The paths that would be lost, the first of many.
pub(super) fn later_work(paths: &[RepoPath]) -> String {
    const SHOWN: usize = 20;
    let mut text = "files were changed since the restore was interrupted, and would be replaced".to_owned();
    for path in paths.iter().take(SHOWN) {
        text.push_str(&format!("\n  {path}"));
    }
    if paths.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", paths.len() - SHOWN));
    }
    text
}
