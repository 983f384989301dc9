//! The `ident` attribute: `$Id$` in the repository, `$Id: <blob id> $` on disk.
//!
//! Not gix's, which writes the expanded form without the space before the second dollar sign, so that no file that git
//! checked out would come back as it was.

use gix::bstr::ByteSlice;

/// `$Id: anything $` to `$Id$`; `None` when there is nothing to do.
pub(super) fn collapse(content: &[u8]) -> Option<Vec<u8>> {
    rewrite(content, false, b"Id$")
}

/// `$Id$` to the form with the id of the blob; `None` when there is nothing to do.
///
/// An expanded form that got into the repository is replaced, unless there are spaces inside as another version
/// control system leaves them.
pub(super) fn expand(blob: &[u8], hash: gix::hash::Kind) -> Option<Vec<u8>> {
    if !blob.contains_str("$Id") {
        return None;
    }
    let id = gix::objs::compute_hash(hash, gix::objs::Kind::Blob, blob).ok()?;
    rewrite(blob, true, format!("Id: {id} $").as_bytes())
}

fn rewrite(content: &[u8], on_checkout: bool, replacement: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(dollar) = content[at..].find_byte(b'$') {
        at += dollar + 1;
        let rest = &content[at..];
        let len = if on_checkout && rest.starts_with(b"Id$") {
            3
        } else if rest.starts_with(b"Id:") {
            let Some(end) = rest[3..].find_byte(b'$') else {
                break;
            };
            let inside = &rest[3..3 + end];
            // git looks for the space from the second character on, and allows it at the very end.
            let spaced = inside
                .get(1..)
                .and_then(|text| text.find_byte(b' '))
                .is_some_and(|space| space + 2 < end);
            if inside.contains(&b'\n') || (on_checkout && spaced) {
                continue;
            }
            3 + end + 1
        } else {
            continue;
        };
        out.extend_from_slice(&content[copied..at]);
        out.extend_from_slice(replacement);
        at += len;
        copied = at;
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(&content[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collapsing_keeps_what_is_no_id() {
        let collapse = |text: &str| collapse(text.as_bytes()).map(|out| String::from_utf8(out).expect("text"));
        assert_eq!(collapse("a $Id: 12 $ b $Id:x$").as_deref(), Some("a $Id$ b $Id$"));
        assert_eq!(collapse("$Id$"), None);
        assert_eq!(collapse("$Id: no end"), None);
        assert_eq!(collapse("$Id: line\n$"), None);
        assert_eq!(collapse("$$Id:$$"), Some("$$Id$$".to_owned()));
    }

    #[test]
    fn expanding_and_collapsing_are_inverse() {
        let blob = b"$Id$ and $Id$\n";
        let file = expand(blob, gix::hash::Kind::Sha1).expect("expanded");
        // The id is what `git hash-object` prints for the blob.
        assert!(file.starts_with(b"$Id: "), "{}", file.as_bstr());
        assert_eq!(file.find_byte(b'$'), Some(0));
        assert!(file.ends_with(b" $\n"));
        assert_eq!(collapse(&file).as_deref(), Some(&blob[..]));
        assert_eq!(expand(b"$Id: some thing $", gix::hash::Kind::Sha1), None);
        assert_eq!(expand(b"no dollar", gix::hash::Kind::Sha1), None);
    }
}
