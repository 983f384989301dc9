//! Session files for Claude Code: `projects/<slug of the directory>/<id>.jsonl`.

use std::path::PathBuf;

use super::super::session_file::{SessionCopy, SessionFile, slug};

/// Longer slugs are cut and get a hash that only the program knows.
const SLUG: usize = 200;

pub(super) fn session_file(copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
    let id = copy.id()?;
    let directory = slug(&copy.directory());
    if directory.len() > SLUG {
        return Err("the path of the directory is too long".to_owned());
    }
    let old = copy.facts.directory.as_deref().map(slug);
    let pairs: Vec<_> = old.map(|old| (old, directory.clone())).into_iter().collect();
    Ok(SessionFile {
        path: PathBuf::from("projects").join(&directory).join(format!("{id}.jsonl")),
        bytes: copy.relocated(&pairs)?,
        also: Vec::new(),
        id,
    })
}
