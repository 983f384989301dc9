//! Renamed files whose content changed as well: pairs of a deleted and an added file that are alike to half at least.
//!
//! Measured as git measures it: the share of bytes in equal lines (or pieces of 64 bytes of long ones). Bounded by the
//! number of files read; only the few deleted files that matter are compared, so it need not be fast.

use std::collections::{HashMap, HashSet};

use gix::bstr::BString;

use crate::store::Repository;
use crate::store::tree::{self, TreeDiff, TreeItem};

/// A pair is a rename from this many per cent on, as in git.
const THRESHOLD: u64 = 50;
/// Larger files are not compared.
const MAX_BYTES: u64 = 1024 * 1024;
/// The longest piece of a line that counts as one.
const PIECE: usize = 64;

/// Pairs what is still unpaired, reading at most `limit` files. Where that is not enough for all, only deleted files
/// that are `wanted` are looked for, and only among added files of the same name.
pub(super) fn pair(
    repo: &Repository,
    mut diffs: Vec<TreeDiff>,
    limit: usize,
    wanted: impl Fn(&BString) -> bool,
) -> Vec<TreeDiff> {
    let indices = |wanted: fn(&TreeDiff) -> Option<TreeItem>| -> Vec<(usize, TreeItem)> {
        diffs
            .iter()
            .enumerate()
            .filter_map(|(at, diff)| Some((at, wanted(diff)?)))
            .filter(|(_, side)| side.mode.is_blob())
            .collect()
    };
    let mut sources = indices(|diff| diff.old.filter(|_| diff.new.is_none()));
    let mut targets = indices(|diff| diff.new.filter(|_| diff.old.is_none()));
    if sources.len() + targets.len() > limit {
        sources.retain(|(at, _)| wanted(&diffs[*at].path));
        let names: HashSet<&[u8]> = sources.iter().map(|(at, _)| file_name(&diffs[*at])).collect();
        targets.retain(|(at, _)| names.contains(file_name(&diffs[*at])));
    }
    if sources.is_empty() || targets.is_empty() || sources.len() + targets.len() > limit {
        return diffs;
    }
    let mut sketches: HashMap<usize, Option<Sketch>> = HashMap::new();
    for (at, side) in sources.iter().chain(&targets) {
        sketches.insert(*at, Sketch::of(repo, *side));
    }
    let mut pairs = Vec::new();
    for (source, _) in &sources {
        for (target, _) in &targets {
            if let (Some(a), Some(b)) = (&sketches[source], &sketches[target])
                && let Some(score) = a.likeness(b)
            {
                let same_name = file_name(&diffs[*source]) == file_name(&diffs[*target]);
                pairs.push((score, same_name, *source, *target));
            }
        }
    }
    // The best first; among equals the same file name, then the order of paths.
    pairs.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then_with(|| (a.2, a.3).cmp(&(b.2, b.3))));
    let mut used = vec![false; diffs.len()];
    for (_, _, source, target) in pairs {
        if used[source] || used[target] {
            continue;
        }
        used[source] = true;
        used[target] = true;
        diffs[target].from = Some(diffs[source].path.clone());
        diffs[target].old = diffs[source].old;
    }
    let mut at = 0;
    diffs.retain(|diff| {
        at += 1;
        // A source has gone into its target; a target has a `from` now.
        !used[at - 1] || diff.from.is_some()
    });
    diffs
}

fn file_name(diff: &TreeDiff) -> &[u8] {
    diff.path.rsplit(|byte| *byte == b'/').next().unwrap_or(&diff.path)
}

/// Bytes in each different piece of a file.
struct Sketch {
    size: u64,
    pieces: HashMap<Vec<u8>, u64>,
}

impl Sketch {
    /// `None` for a file that is empty, too large, or not here (in a partial clone): nothing is like it.
    fn of(repo: &Repository, side: TreeItem) -> Option<Self> {
        let size = repo.find_header(side.id).ok()?.size();
        if size == 0 || size > MAX_BYTES {
            return None;
        }
        Some(Self::of_bytes(&tree::find(repo, side.id).ok()?.detach().data))
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        let mut pieces = HashMap::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            for piece in line.chunks(PIECE) {
                *pieces.entry(piece.to_vec()).or_default() += piece.len() as u64;
            }
        }
        Self {
            size: bytes.len() as u64,
            pieces,
        }
    }

    /// How alike two files are, in 60,000ths as in git; `None` below the threshold.
    fn likeness(&self, other: &Self) -> Option<u64> {
        const WHOLE: u64 = 60_000;
        let larger = self.size.max(other.size);
        let difference = larger - self.size.min(other.size);
        if larger * (100 - THRESHOLD) < difference * 100 {
            return None;
        }
        let common = |(piece, size): (&Vec<u8>, &u64)| other.pieces.get(piece).map_or(0, |other| (*other).min(*size));
        let score = self.pieces.iter().map(common).sum::<u64>() * WHOLE / larger;
        (score * 100 >= THRESHOLD * WHOLE).then_some(score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_bytes_is_enough() {
        let sketch = |text: &str| Sketch::of_bytes(text.as_bytes());
        assert!(sketch("a\nb\nc\nd\n").likeness(&sketch("a\nb\nx\ny\n")).is_some());
        assert!(sketch("a\nb\nc\nd\n").likeness(&sketch("a\nw\nx\ny\n")).is_none());
        assert!(sketch("a\n").likeness(&sketch("a\nb\nc\nd\ne\n")).is_none());
    }
}
