//! Paths given on the command line, as they are stored.

use std::path::{Component, Path, PathBuf};

use crate::{
    commands::{Context, opening::OpenedRepository},
    ops,
};

/// A path of the working tree as it is stored: from the root of the repository, with `/`; one outside of it absolute.
pub(super) fn stored_path(context: &Context, opened: &OpenedRepository, given: &str) -> String {
    let full = context.env.cwd.join(given);
    let mut parts = PathBuf::new();
    for component in full.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    let root = ops::paths::root(&opened.scene());
    let inside = root.and_then(|root| {
        let real = root.canonicalize().unwrap_or_else(|_| root.clone());
        let cwd = context
            .env
            .cwd
            .canonicalize()
            .unwrap_or_else(|_| context.env.cwd.clone());
        let below = |base: &Path| parts.strip_prefix(base).map(Path::to_owned).ok();
        // The current directory may have been reached by links.
        below(&root).or_else(|| below(&real)).or_else(|| {
            let rest = parts.strip_prefix(&context.env.cwd).ok()?;
            cwd.join(rest).strip_prefix(&real).map(Path::to_owned).ok()
        })
    });
    let path = inside.unwrap_or(parts);
    let bytes = path.as_os_str().as_encoded_bytes();
    let out = crate::model::path::RepoPath::new(bytes).quoted();
    if out.is_empty() { ".".to_owned() } else { out }
}
