//! Sides of a merge that have other line ends: a file that was written with CRLF differs from its base in every line, which
//! says nothing of what was changed.

use gix::bstr::BString;

use super::{Merge, content::MergeOutcome};
use crate::store::{Error, ObjectId, Repository, tree};

/// How all lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    Lf,
    CrLf,
}

impl Merge<'_> {
    /// Merges contents. Where both sides changed the same lines, and not all sides end their lines alike, the ends do not
    /// count, as in a merge of git's that normalizes.
    pub(super) fn content_or_ours(
        &mut self,
        names: [&BString; 3],
        ids: [Option<ObjectId>; 3],
    ) -> Result<MergeOutcome, Error> {
        let merged = self.overlapping(names, ids)?;
        if !matches!(merged, MergeOutcome::Marked(_)) {
            return Ok(merged);
        }
        let Some(alike) = AlikeSides::of(self.repo, ids)? else {
            return Ok(merged);
        };
        Ok(match self.overlapping(names, alike.ids)? {
            MergeOutcome::Clean(id) => MergeOutcome::Clean(alike.finished(self.repo, id)?),
            MergeOutcome::Marked(id) => MergeOutcome::Marked(alike.finished(self.repo, id)?),
            MergeOutcome::Binary => merged,
        })
    }
}

/// The sides of a merge with LF alone, and how the lines of the result are to end.
struct AlikeSides {
    /// Base, ours and theirs.
    ids: [Option<ObjectId>; 3],
    result: LineEnds,
}

impl AlikeSides {
    /// Those of sides that do not end their lines alike; `None` if they do, or if one cannot be read or has both ends:
    /// which of its lines are to keep theirs could not be known. The blobs are written to the repository or its memory.
    fn of(repo: &Repository, ids: [Option<ObjectId>; 3]) -> Result<Option<Self>, Error> {
        let mut bytes: [Vec<u8>; 3] = Default::default();
        let mut ends = [None; 3];
        for (at, id) in ids.into_iter().enumerate() {
            let Some(id) = id else { continue };
            let Ok(found) = tree::find(repo, id) else {
                return Ok(None);
            };
            bytes[at] = found.detach().data;
            ends[at] = match counted(&bytes[at]) {
                (0, 0) => None,
                (_, 0) => Some(LineEnds::Lf),
                (0, _) => Some(LineEnds::CrLf),
                _ => return Ok(None),
            };
        }
        if !ends.contains(&Some(LineEnds::Lf)) || !ends.contains(&Some(LineEnds::CrLf)) {
            return Ok(None);
        }
        let mut alike = [None; 3];
        for (at, id) in ids.iter().enumerate() {
            if id.is_some() {
                alike[at] = Some(written(repo, &with_lf(&bytes[at]))?);
            }
        }
        // As of any other change: the side that changed the line ends has them changed.
        let [base, ours, theirs] = ends;
        let result = if ours == base { theirs.or(ours) } else { ours.or(theirs) };
        Ok(Some(Self {
            ids: alike,
            result: result.unwrap_or(LineEnds::Lf),
        }))
    }

    /// A merged blob with the line ends of the result.
    fn finished(&self, repo: &Repository, merged: ObjectId) -> Result<ObjectId, Error> {
        match self.result {
            LineEnds::Lf => Ok(merged),
            LineEnds::CrLf => written(repo, &with_crlf(&tree::find(repo, merged)?.detach().data)),
        }
    }
}

fn written(repo: &Repository, bytes: &[u8]) -> Result<ObjectId, Error> {
    let blob = repo.write_blob(bytes);
    Ok(blob.map_err(Error::gix("write a blob"))?.detach())
}

/// How many lines of a text end in LF alone, and how many in CRLF.
fn counted(text: &[u8]) -> (usize, usize) {
    let all = text.split(|byte| *byte == b'\n').count() - 1;
    let crlf = text.windows(2).filter(|pair| pair == b"\r\n").count();
    (all - crlf, crlf)
}

fn with_lf(text: &[u8]) -> Vec<u8> {
    let is_kept = |at: &usize| text[*at] != b'\r' || text.get(at + 1) != Some(&b'\n');
    (0..text.len()).filter(is_kept).map(|at| text[at]).collect()
}

/// A text without CRLF, with it.
fn with_crlf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 16);
    for byte in text {
        if *byte == b'\n' {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_counted_and_changed() {
        for (text, counts) in [
            ("", (0, 0)),
            ("a", (0, 0)),
            ("a\n", (1, 0)),
            ("a\r\nb\r\n", (0, 2)),
            ("a\r\nb\n\n", (2, 1)),
            ("a\rb\n", (1, 0)),
        ] {
            assert_eq!(counted(text.as_bytes()), counts, "{text:?}");
        }
        assert_eq!(with_lf(b"a\r\nb\rc\n\r\n\r"), b"a\nb\rc\n\n\r");
        assert_eq!(with_crlf(b"a\nb\rc\n\n"), b"a\r\nb\rc\r\n\r\n");
    }
}
