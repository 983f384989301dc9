//! Conflict markers in files, as git and this program write them.

use super::Scene;
use crate::{model::path::RepoPath, os, store};

/// Whether a text has all three markers of a conflict.
pub fn has_markers(bytes: &[u8]) -> bool {
    let has = |marker: &[u8]| bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(marker));
    has(b"<<<<<<< ") && has(b"=======") && has(b">>>>>>> ")
}

/// Those of the paths whose files in the working tree have conflict markers.
pub fn marked<'a>(
    scene: &Scene<'_>,
    paths: impl IntoIterator<Item = &'a RepoPath>,
) -> Result<Vec<RepoPath>, store::Error> {
    let root = store::work_tree(scene.repo)?;
    let is_marked = |path: &&RepoPath| {
        let bytes = os::read_regular(&root.join(os::os_string(path.as_bytes()))).unwrap_or_default();
        has_markers(&bytes)
    };
    Ok(paths.into_iter().filter(is_marked).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::has_markers;

    #[test]
    fn all_three_markers_are_a_conflict() {
        assert!(has_markers(b"a\n<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs\n"));
        for text in [
            &b"<<<<<<< ours\n1\n=======\n2\n"[..],
            b"1\n=======\n2\n>>>>>>> theirs\n",
            b"Heading\n=======\n",
            b" <<<<<<< a\n =======\n >>>>>>> b\n",
            b"",
        ] {
            assert!(!has_markers(text));
        }
    }
}
