//! The patch id of a change: equal for commits that make the same change at another place of the history.
//!
//! Computed as git does for `git cherry` and `git patch-id --stable`: file by file a hash over the names and the lines
//! of the diff with three lines of context, without white space and line numbers, summed up so that the order of files
//! does not matter. In this process, because git would have to be fed each pair of trees; hashes are git's own, so that
//! a test can compare them. Of binary and very large files only the ids count.

use std::fmt;

use gix::diff::blob::{Algorithm, Diff as LineDiff, InternedInput, sources::byte_lines};
use gix::hash::Hasher;

use super::lines::is_binary;
use super::tree::{self, TreeDiff, TreeItem};
use super::{Error, ObjectId, Repository};

/// Lines around a change that belong to it.
const CONTEXT: u32 = 3;
/// Larger blobs are distinguished by their ids, as binary ones are.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// A change of more files has no patch id: the work would be felt, and such commits are rarely picked.
pub(crate) const MAX_FILES: usize = 1000;

/// A patch id: a sum of hashes, shown as git prints it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PatchId(Vec<u8>);

impl fmt::Display for PatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The paths and modes of a change: equal patch ids have equal headers, and a header costs no blob.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PatchHeader(Vec<(Vec<u8>, u32, u32)>);

impl PatchHeader {
    /// `None` for no change.
    pub(crate) fn of(diffs: &[TreeDiff]) -> Option<Self> {
        let mode = |side: Option<TreeItem>| side.map_or(0, tree::mode);
        let header = |diff: &TreeDiff| (diff.path.to_vec(), mode(diff.old), mode(diff.new));
        (!diffs.is_empty()).then(|| Self(diffs.iter().map(header).collect()))
    }
}

/// The patch id of a change without renames; of no change it is all zeros.
pub(crate) fn patch_id(repo: &Repository, diffs: &[TreeDiff]) -> Result<PatchId, Error> {
    let mut sum = PatchId(vec![0; repo.object_hash().len_in_bytes()]);
    for diff in diffs {
        sum.add(file_hash(repo, diff)?);
    }
    Ok(sum)
}

impl PatchId {
    fn add(&mut self, hash: ObjectId) {
        let mut carry = 0u16;
        for (byte, more) in self.0.iter_mut().zip(hash.as_bytes()) {
            carry += u16::from(*byte) + u16::from(*more);
            [*byte, _] = carry.to_le_bytes();
            carry >>= 8;
        }
    }
}

fn file_hash(repo: &Repository, diff: &TreeDiff) -> Result<ObjectId, Error> {
    let mut hasher = gix::hash::hasher(repo.object_hash());
    let path = without_space(&diff.path);
    let from = diff
        .from
        .as_ref()
        .map_or_else(|| path.clone(), |from| without_space(from));
    for piece in [&b"diff--gita/"[..], &from, b"b/", &path] {
        hasher.update(piece);
    }
    let modes = [diff.old, diff.new].map(|side| side.map(tree::mode));
    match modes {
        [None, Some(mode)] => hasher.update(format!("newfilemode{mode:06o}").as_bytes()),
        [Some(mode), None] => hasher.update(format!("deletedfilemode{mode:06o}").as_bytes()),
        [Some(old), Some(new)] if old != new => {
            hasher.update(format!("oldmode{old:06o}newmode{new:06o}").as_bytes());
        }
        _ => {}
    }
    let texts = [content(repo, diff.old)?, content(repo, diff.new)?];
    if let [Some(old), Some(new)] = &texts {
        let (old_name, new_name): ([&[u8]; 2], [&[u8]; 2]) = match modes {
            [None, _] => ([b"---/dev/null", b""], [b"+++b/", &path]),
            [_, None] => ([b"---a/", &from], [b"+++/dev/null", b""]),
            _ => ([b"---a/", &from], [b"+++b/", &path]),
        };
        for piece in old_name.into_iter().chain(new_name) {
            hasher.update(piece);
        }
        hash_lines(&mut hasher, old, new);
    } else {
        let null = ObjectId::null(repo.object_hash());
        for side in [diff.old, diff.new] {
            hasher.update(side.map_or(null, |side| side.id).to_string().as_bytes());
        }
    }
    hasher.try_finalize().map_err(|error| Error::Object {
        id: diff
            .new
            .or(diff.old)
            .map_or(ObjectId::null(repo.object_hash()), |side| side.id),
        why: error.to_string(),
    })
}

/// The text of a side, `None` when it is compared by id.
fn content(repo: &Repository, side: Option<TreeItem>) -> Result<Option<Vec<u8>>, Error> {
    let bytes = match side {
        None => Vec::new(),
        Some(side) if side.mode.is_commit() => format!("Subproject commit {}\n", side.id).into_bytes(),
        Some(side) => tree::find(repo, side.id)?.detach().data,
    };
    Ok((bytes.len() <= MAX_BYTES && !is_binary(&bytes)).then_some(bytes))
}

/// The lines of the diff: removed, added, and those around them.
fn hash_lines(hasher: &mut Hasher, old: &[u8], new: &[u8]) {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let mut diff = LineDiff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let mut emit = |sign: &[u8], line: &[u8]| {
        hasher.update(sign);
        hasher.update(&without_space(line));
    };
    let lines = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let text = |tokens: &[gix::diff::blob::Token], at: u32| input.interner[tokens[at as usize]];
    // The first line that was not yet handed out.
    let mut at = 0;
    let hunks: Vec<_> = diff.hunks().collect();
    for (n, hunk) in hunks.iter().enumerate() {
        for line in at.max(hunk.before.start.saturating_sub(CONTEXT))..hunk.before.start {
            emit(b"", text(&input.before, line));
        }
        for line in hunk.before.clone() {
            emit(b"-", text(&input.before, line));
        }
        for line in hunk.after.clone() {
            emit(b"+", text(&input.after, line));
        }
        at = hunk.before.end;
        // Context after the change ends where the next change begins; what lies between is given once.
        let end = hunks
            .get(n + 1)
            .map_or(lines, |next| next.before.start)
            .min(at + CONTEXT);
        for line in at..end {
            emit(b"", text(&input.before, line));
        }
        at = end;
    }
}

/// Without the bytes git takes for white space.
fn without_space(text: &[u8]) -> Vec<u8> {
    text.iter()
        .copied()
        .filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
        .collect()
}

/// The patch id of what lies between two trees, given by the ids of trees or commits; renames are not looked for.
pub fn between(repo: &Repository, old: Option<ObjectId>, new: Option<ObjectId>) -> Result<PatchId, Error> {
    patch_id(repo, &tree::raw(repo, old, new)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_carry_from_the_first_byte_on() {
        let mut sum = PatchId(vec![0; 20]);
        let mut bytes = [0; 20];
        bytes[0] = 200;
        bytes[1] = 1;
        sum.add(ObjectId::from(bytes));
        sum.add(ObjectId::from(bytes));
        assert!(sum.to_string().starts_with("900300"), "{sum}");
    }

    #[test]
    fn only_what_git_calls_space_is_dropped() {
        assert_eq!(without_space(b" a\tb\r\n\x0b\x0cc"), b"ab\x0b\x0cc");
    }
}
