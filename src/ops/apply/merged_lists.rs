//! Lists of what trees cannot represent, of a merge with the current files.

use crate::{
    model::{list::Lists, path::RepoPath, tree_mode},
    store::merge::{PathMerge, PathMergeOutcome},
};

/// The permission bits of a file, where they are not the usual ones.
fn bits_of(lists: &Lists, path: &RepoPath) -> Option<u32> {
    let found = lists.modes.iter().find(|(listed, _)| listed == path);
    found.map(|(_, bits)| *bits)
}

/// The present's lists, with what the checkpoint's say of the files that come from there as they are.
pub(super) fn lists(ours: &Lists, theirs: &Lists, merged: &[PathMerge]) -> Lists {
    let mut lists = Lists {
        modes: ours.modes.clone(),
        raw: ours.raw.clone(),
        held: ours.held.clone(),
        empty_dirs: ours.empty_dirs.clone(),
        // Flags of the index stay.
        origin: ours.origin.clone(),
        ..Lists::default()
    };
    for path in merged {
        if let Some((aside, _)) = &path.aside {
            lists
                .raw
                .extend(theirs.raw.contains(&path.saved).then(|| aside.clone()));
            let bits = bits_of(theirs, &path.saved);
            lists.modes.extend(bits.map(|bits| (aside.clone(), bits)));
        }
        let PathMergeOutcome::Write(entry) = &path.result else {
            continue;
        };
        // A file of the present that moves to a new name is, but for what is merged in, as it was at the old one.
        let before = path.removes.as_ref().unwrap_or(&path.path);
        let whole = path.theirs.as_ref().is_some_and(|theirs| theirs.id == entry.id);
        let is_raw = if whole {
            theirs.raw.contains(&path.saved)
        } else {
            ours.raw.contains(before)
        };
        lists.raw.retain(|raw| *raw != path.path);
        lists.raw.extend(is_raw.then(|| path.path.clone()));
        let bits = match &path.ours {
            None => bits_of(theirs, &path.saved),
            Some(was) => bits_of(ours, before).map(|bits| match (was.mode, entry.mode) {
                (from, to) if from == to => bits,
                // Those who may read it may run it now; or no one any more.
                (_, tree_mode::EXECUTABLE) => bits | (bits & 0o444) >> 2,
                _ => bits & !0o111,
            }),
        };
        lists.modes.retain(|(mode, _)| *mode != path.path);
        lists.modes.extend(bits.map(|bits| (path.path.clone(), bits)));
    }
    lists.sort();
    lists
}
