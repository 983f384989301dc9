//! Symlinks that a path leads through, one by one.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many symlinks as Linux follows in one path.
const MOST: usize = 40;

/// The first symlink on the way to `path`, which is absolute, that `is_refused` of the place where it lies; the last part
/// counts as well. A symlink that is not refused is followed, and so are `..` parts, as the file system does it.
pub fn symlink_on_the_way(path: &Path, is_refused: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut at = PathBuf::new();
    let mut rest: VecDeque<OsString> = VecDeque::new();
    let queue = |rest: &mut VecDeque<OsString>, path: &Path| {
        for part in path.components().rev() {
            rest.push_front(part.as_os_str().to_owned());
        }
    };
    queue(&mut rest, path);
    let mut followed = 0;
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                at.pop();
                continue;
            }
            Some(Component::Normal(_)) => {}
            // The root, or a drive: whatever was before is left.
            _ => {
                at.push(&part);
                continue;
            }
        }
        let next = at.join(&part);
        let Ok(target) = std::fs::read_link(&next) else {
            at = next;
            continue;
        };
        followed += 1;
        if followed > MOST || is_refused(&next) {
            return Some(next);
        }
        queue(&mut rest, &target);
    }
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn symlinks_are_met_where_they_lie() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("tree/d")).unwrap();
        fs::create_dir_all(root.join("own/deep")).unwrap();
        symlink("../own", root.join("tree/out")).unwrap();
        symlink("own/deep", root.join("link")).unwrap();
        symlink("tree", root.join("in")).unwrap();
        symlink(root.join("tree/out"), root.join("through")).unwrap();
        symlink("around", root.join("around")).unwrap();
        let tree = root.join("tree");
        let met = |path: &str| {
            let path = tree.join(path);
            let met = symlink_on_the_way(&path, &|link| link.starts_with(&tree))?;
            Some(met.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
        };
        for path in [
            "x",
            "d/x",
            "../own/x",
            "../link/x",
            "../link",
            "../link/../x",
            "../in/x",
            "./d/../x",
        ] {
            assert_eq!(met(path), None, "{path}");
        }
        for path in [
            "out",
            "out/x",
            "d/../out/x",
            "../in/out/x",
            "../through/x",
            "../link/../../in/out",
        ] {
            assert_eq!(met(path).as_deref(), Some("tree/out"), "{path}");
        }
        assert_eq!(met("../around/x").as_deref(), Some("around"));
    }
}
