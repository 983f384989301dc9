//! Lines added and removed between two blobs, as `git diff --numstat` counts them.
//!
//! In this process, because the newer blob may exist in memory only. Counted on what is stored: no conversion, no
//! `textconv`, no attribute is looked at, so a file that attributes call binary is counted as text here.

use gix::bstr::ByteSlice as _;
use gix::diff::blob::{Algorithm, Diff, InternedInput, sources::byte_lines};

use super::checkpoint::object_id;
use super::tree;
use super::{Error, ObjectId, Repository};
use crate::model::change::{TreeChange, TreeEntryInfo};
use crate::model::report::Lines;
use crate::model::tree_mode;

/// How far git looks for a NUL byte that shows a binary file.
const BINARY_PREFIX: usize = 8000;

/// Larger blobs are not read for a count.
pub const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The counts of a change; `None` when a side is binary, a gitlink or larger than [`MAX_BYTES`].
pub fn count(repo: &Repository, change: &TreeChange) -> Result<Option<Lines>, Error> {
    let side = |entry: &Option<TreeEntryInfo>| {
        entry
            .as_ref()
            .map(|entry| (entry.mode != tree_mode::GITLINK).then(|| object_id(&entry.id)))
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

/// Lines of a changed file that none of its earlier states has, and lines that all of them have and it has not; `None` for
/// what is no text.
pub fn count_against(
    repo: &Repository,
    change: &TreeChange,
    others: &[Option<TreeEntryInfo>],
) -> Result<Option<Lines>, Error> {
    let Some(mut total) = count(repo, change)? else {
        return Ok(None);
    };
    let text = |entry: &Option<TreeEntryInfo>| match entry {
        Some(entry) if entry.mode != tree_mode::GITLINK => Ok(text_of(repo, object_id(&entry.id))?.unwrap_or_default()),
        _ => Ok::<_, Error>(Vec::new()),
    };
    let new = text(&change.new)?;
    let mut is_known = vec![false; count_lines(&new) as usize];
    for other in std::iter::once(&change.old).chain(others) {
        let old = text(other)?;
        let mut kept = 0;
        for run in common_runs(&old, &new) {
            kept += run.count;
            let known = is_known.iter_mut().skip(run.new as usize).take(run.count as usize);
            known.for_each(|line| *line = true);
        }
        total.removed = total.removed.min(count_lines(&old).saturating_sub(kept));
    }
    total.added = u32::try_from(is_known.iter().filter(|known| !**known).count()).unwrap_or(u32::MAX);
    Ok(Some(total))
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

/// A run of lines that two texts have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRun {
    /// Its first line in the older text, from 0.
    pub old: u32,
    /// Its first line in the newer text, from 0.
    pub new: u32,
    /// How many lines it has.
    pub count: u32,
}

/// The lines that two texts have in common, in order.
pub fn common_runs(old: &[u8], new: &[u8]) -> Vec<LineRun> {
    let (start, end) = common_ends(old, new);
    let mut runs = Vec::new();
    let before = count_lines(&old[..start]);
    push_run(&mut runs, 0, 0, before);
    let middle = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let input = InternedInput::new(byte_lines(middle.0), byte_lines(middle.1));
    // Histogram starts from lines that are unique, which are those that people recognize.
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let (mut old_at, mut new_at) = (before, before);
    for hunk in diff.hunks() {
        push_run(&mut runs, old_at, new_at, before + hunk.before.start - old_at);
        (old_at, new_at) = (before + hunk.before.end, before + hunk.after.end);
    }
    let left = before + u32::try_from(input.before.len()).unwrap_or(u32::MAX) - old_at;
    push_run(&mut runs, old_at, new_at, left + count_lines(&old[old.len() - end..]));
    runs
}

fn push_run(runs: &mut Vec<LineRun>, old: u32, new: u32, count: u32) {
    if count > 0 {
        runs.push(LineRun { old, new, count });
    }
}

/// How many bytes two texts have in common at their beginning and at their end, in whole lines.
fn common_ends(old: &[u8], new: &[u8]) -> (usize, usize) {
    let mut start = common_start(old, new);
    if start < old.len() || start < new.len() {
        start = after_line_end(&old[..start]);
    }
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let same = common_end(old_rest, new_rest);
    let begins = |rest: &[u8]| rest.len() == same || rest[..rest.len() - same].ends_with(b"\n");
    let end = if begins(old_rest) && begins(new_rest) {
        same
    } else {
        // The first line of the common end begins before it in one of the texts.
        let tail = &old[old.len() - same..];
        tail.find_byte(b'\n').map_or(0, |at| same - at - 1)
    };
    (start, end)
}

/// Bytes that are compared at once.
const PIECE: usize = 256;

fn common_start(a: &[u8], b: &[u8]) -> usize {
    let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
    let at: usize = pieces.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum();
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

fn common_end(a: &[u8], b: &[u8]) -> usize {
    let pieces = a.rchunks(PIECE).zip(b.rchunks(PIECE));
    let at: usize = pieces.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum();
    let (a, b) = (&a[..a.len() - at], &b[..b.len() - at]);
    let rest = a.iter().rev().zip(b.iter().rev());
    at + rest.take_while(|(a, b)| a == b).count()
}

/// Where the last line of a text begins; its end, where that is a line end.
fn after_line_end(text: &[u8]) -> usize {
    text.rfind_byte(b'\n').map_or(0, |at| at + 1)
}

/// How many lines a text has; one without a line end at the end of the text counts.
pub fn count_lines(text: &[u8]) -> u32 {
    let ends = text.find_iter(b"\n").count();
    let open = usize::from(!text.is_empty() && !text.ends_with(b"\n"));
    u32::try_from(ends + open).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &[u8]) -> Vec<&[u8]> {
        text.split_inclusive(|byte| *byte == b'\n').collect()
    }

    proptest! {
        #[test]
        fn runs_are_common_ordered_and_cover_what_is_at_both_ends(
            old in "([a-c]{0,2}\n){0,12}[a-c]{0,2}",
            new in "([a-c]{0,2}\n){0,12}[a-c]{0,2}",
        ) {
            let (one, other) = (lines(old.as_bytes()), lines(new.as_bytes()));
            let (mut old_end, mut new_end, mut count) = (0, 0, 0);
            for run in common_runs(old.as_bytes(), new.as_bytes()) {
                prop_assert!(run.old >= old_end && run.new >= new_end && run.count > 0);
                for n in 0..run.count {
                    prop_assert_eq!(one[(run.old + n) as usize], other[(run.new + n) as usize]);
                }
                (old_end, new_end) = (run.old + run.count, run.new + run.count);
                count += run.count as usize;
            }
            let both = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
            prop_assert!(count >= both);
            prop_assert_eq!(count_lines(old.as_bytes()) as usize, one.len());
            if old == new {
                prop_assert_eq!(count, one.len());
            }
        }
    }

    #[test]
    fn only_changed_lines_are_not_common() {
        let old = b"a\nb\nc\nd\n";
        let runs = common_runs(old, b"a\nB\nc\nnew\nd\n");
        let shape: Vec<_> = runs.iter().map(|run| (run.old, run.new, run.count)).collect();
        assert_eq!(shape, [(0, 0, 1), (2, 2, 1), (3, 4, 1)]);
    }
}
