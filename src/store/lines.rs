//! Lines added and removed between two blobs, as `git diff --numstat` counts them.
//!
//! In this process, because the newer blob may exist in memory only. Counted on what is stored: no conversion, no
//! `textconv`, no attribute is looked at, so a file that attributes call binary is counted as text here.

use gix::diff::blob::{Algorithm, Diff, InternedInput, sources::byte_lines};

use super::checkpoint::object_id;
use super::tree;
use super::{Error, ObjectId, Repository};
use crate::model::change::TreeChange;
use crate::model::report::Lines;

/// How far git looks for a NUL byte that shows a binary file.
const BINARY_PREFIX: usize = 8000;

/// Larger blobs are not read for a count.
pub const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The counts of a change; `None` when a side is binary, a gitlink or larger than [`MAX_BYTES`].
pub fn count(repo: &Repository, change: &TreeChange) -> Result<Option<Lines>, Error> {
    let side = |entry: &Option<crate::model::change::TreeEntryInfo>| {
        entry
            .as_ref()
            .map(|entry| (entry.mode != 0o160_000).then(|| object_id(&entry.id)))
    };
    let mut texts = [Vec::new(), Vec::new()];
    for (text, side) in texts.iter_mut().zip([side(&change.old), side(&change.new)]) {
        match side {
            None => {}
            Some(None) => return Ok(None),
            Some(Some(id)) => match text_of(repo, id)? {
                None => return Ok(None),
                Some(bytes) => *text = bytes,
            },
        }
    }
    let input = InternedInput::new(byte_lines(&texts[0]), byte_lines(&texts[1]));
    let diff = Diff::compute(Algorithm::Myers, &input);
    Ok(Some(Lines {
        added: diff.count_additions(),
        removed: diff.count_removals(),
    }))
}

/// The bytes of a blob that is text and not too large.
fn text_of(repo: &Repository, id: ObjectId) -> Result<Option<Vec<u8>>, Error> {
    let size = repo
        .find_header(id)
        .map_err(|error| Error::Object {
            id,
            why: error.to_string(),
        })?
        .size();
    if size > MAX_BYTES {
        return Ok(None);
    }
    let bytes = tree::find(repo, id)?.detach().data;
    Ok((!is_binary(&bytes)).then_some(bytes))
}

/// git's guess.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_PREFIX)].contains(&0)
}
