//! Changes of theirs that ours has already, with more of its own in the same place.

use std::ops::Range;

use gix::diff::blob::{Algorithm, Diff, Hunk, InternedInput, Token, sources::byte_lines};

use crate::store::{ObjectId, Repository, tree};

/// Result where both sides changed the same lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// A conflict, as in git.
    #[default]
    Conflict,
    /// Ours, where it has the change of theirs and more; else a conflict. For changes that were in ours before.
    Contained,
    /// Ours. For changes that were brought into ours before.
    Ours,
}

/// Theirs without the changes that the overlap gives to ours; `None` if all of them stay, or a side is no text.
pub(super) fn reduced(repo: &Repository, overlap: Overlap, ids: [Option<ObjectId>; 3]) -> Option<Vec<u8>> {
    if overlap == Overlap::Conflict {
        return None;
    }
    let [base, ours, theirs] = ids.map(|id| match id {
        None => Some(Vec::new()),
        Some(id) => Some(tree::find(repo, id).ok()?.detach().data),
    });
    without_overlap(overlap, &base?, &ours?, &theirs?)
}

fn without_overlap(overlap: Overlap, base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let mut input = InternedInput::new(byte_lines(base), byte_lines(ours));
    let made = hunks(&input);
    let (base, ours) = (input.before.clone(), input.after.clone());
    input.update_after(byte_lines(theirs));
    let theirs = &input.after;
    let mut out: Vec<Token> = Vec::new();
    let (mut at, mut changed) = (0, false);
    for hunk in hunks(&input) {
        out.extend(&base[at..start(&hunk.before)]);
        at = end(&hunk.before);
        let touching = made.iter().filter(|ours| touches(&ours.before, &hunk.before));
        let is_ours = match overlap {
            Overlap::Conflict => false,
            Overlap::Ours => touching.count() > 0,
            Overlap::Contained => {
                let touching: Vec<_> = touching.collect();
                let is_removed = |line: u32| touching.iter().any(|ours| ours.before.contains(&line));
                let mut added = touching.iter().flat_map(|hunk| &ours[range(&hunk.after)]);
                !touching.is_empty()
                    && hunk.before.clone().all(is_removed)
                    && theirs[range(&hunk.after)]
                        .iter()
                        .all(|line| added.any(|other| other == line))
            }
        };
        changed |= is_ours;
        if is_ours {
            out.extend(&base[range(&hunk.before)]);
        } else {
            out.extend(&theirs[range(&hunk.after)]);
        }
    }
    out.extend(&base[at..]);
    let bytes = out.iter().flat_map(|line| input.interner[*line]).copied();
    changed.then(|| bytes.collect())
}

fn hunks<T: Eq + std::hash::Hash>(input: &InternedInput<T>) -> Vec<Hunk> {
    Diff::compute(Algorithm::Histogram, input).hunks().collect()
}

fn start(lines: &Range<u32>) -> usize {
    lines.start as usize
}

fn end(lines: &Range<u32>) -> usize {
    lines.end as usize
}

fn range(lines: &Range<u32>) -> Range<usize> {
    start(lines)..end(lines)
}

/// Whether a merge takes two changes of the same base for one place.
fn touches(a: &Range<u32>, b: &Range<u32>) -> bool {
    a.start <= b.end && b.start <= a.end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(overlap: Overlap, base: &str, ours: &str, theirs: &str) -> Option<String> {
        let lines = |text: &str| text.replace(' ', "\n") + "\n";
        let out = without_overlap(
            overlap,
            lines(base).as_bytes(),
            lines(ours).as_bytes(),
            lines(theirs).as_bytes(),
        );
        out.map(|bytes| String::from_utf8(bytes).expect("text").trim_end().replace('\n', " "))
    }

    #[test]
    fn changes_that_ours_has_are_dropped() {
        use Overlap::{Conflict, Contained, Ours};
        for (base, ours, theirs, contained) in [
            // Ours continues theirs: more lines after, before, and in between.
            ("a", "a b c", "a b", Some("a")),
            ("a", "a c b", "a b", Some("a")),
            ("a z", "x b y z", "b z", Some("a z")),
            ("a", "b c d", "b d", Some("a")),
            // Both removed a line; ours has another one there.
            ("a m n", "a m2 n", "a n", Some("a m n")),
            // Another change of the same line, or half of it.
            ("a", "c", "b", None),
            ("a", "b", "b c", None),
            // What does not overlap stays.
            ("a m n o p", "a b c m n o p", "a b m n o q", Some("a m n o q")),
            ("a m n", "a m n", "a b m n", None),
        ] {
            assert_eq!(
                reduced(Contained, base, ours, theirs).as_deref(),
                contained,
                "{base} {ours} {theirs}"
            );
            assert_eq!(reduced(Conflict, base, ours, theirs), None);
        }
        assert_eq!(
            reduced(Ours, "a x y z", "c x y z", "b x y q").as_deref(),
            Some("a x y q")
        );
        assert_eq!(reduced(Ours, "a x y z", "a x y z", "b x y q"), None);
    }
}
