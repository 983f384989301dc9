//! Content on its way into the repository, as `git add` would store it, unless the way back gives other bytes.
//!
//! Line ends, `$Id$` and encoding are cheap to undo, so the way back is tried for every file that they could change: what
//! does not come back as it was is stored byte for byte. What a filter program gives is stored as it is: running it
//! backwards each time would be dear, and the other choice, storing what the filter is there to hide, is forbidden.

use std::borrow::Cow;

use gix::filter::plumbing::eol;

use super::attributes::Conversion;
use super::ident;
use super::settings::Settings;

/// How a file is stored.
pub(super) struct Stored<'a> {
    /// The blob.
    pub bytes: Cow<'a, [u8]>,
    /// Whether a checkout of the blob would give other bytes than the file has, so that it must be written as it is.
    pub raw: bool,
    /// The blob that `git add` would store, when that is another.
    pub git_form: Option<Vec<u8>>,
}

/// Fills the buffer with the blob that the index has for the file; `false` when it has none.
pub(super) type IndexBlob<'a> = dyn FnMut(&mut Vec<u8>) -> bool + 'a;

/// Converts a whole file. Filters have been run before.
pub(super) fn to_git<'a>(
    content: &'a [u8],
    conversion: &Conversion<'_>,
    settings: &Settings,
    hash: gix::hash::Kind,
    index_blob: &mut IndexBlob<'_>,
) -> Stored<'a> {
    let raw = |git_form| Stored {
        bytes: Cow::Borrowed(content),
        raw: true,
        git_form,
    };
    let Some(stored) = forward(content, conversion, settings, index_blob) else {
        return raw(None);
    };
    if back(&stored, conversion, settings, hash).as_deref() == Some(content) {
        return Stored {
            bytes: stored,
            raw: false,
            git_form: None,
        };
    }
    match stored {
        Cow::Owned(stored) => raw(Some(stored)),
        Cow::Borrowed(_) => raw(None),
    }
}

/// What `git add` stores; `None` where it would fail.
pub(super) fn forward<'a>(
    content: &'a [u8],
    conversion: &Conversion<'_>,
    settings: &Settings,
    index_blob: &mut IndexBlob<'_>,
) -> Option<Cow<'a, [u8]>> {
    let mut bytes = Cow::Borrowed(content);
    if let Some(encoding) = conversion.encoding
        && !content.is_empty()
    {
        bytes = Cow::Owned(encoding.decode(content)?);
    }
    let mut buffer = Vec::new();
    let options = eol::convert_to_git::Options {
        round_trip_check: None,
        config: settings.eol,
    };
    let mut index_blob = |buffer: &mut Vec<u8>| Ok(index_blob(buffer).then_some(()));
    if eol::convert_to_git(&bytes, conversion.eol, &mut buffer, &mut index_blob, options).ok()? {
        bytes = Cow::Owned(std::mem::take(&mut buffer));
    }
    if conversion.ident
        && let Some(collapsed) = ident::collapse(&bytes)
    {
        bytes = Cow::Owned(collapsed);
    }
    Some(bytes)
}

/// What a checkout writes for a blob; `None` where it would fail.
fn back<'a>(
    blob: &'a [u8],
    conversion: &Conversion<'_>,
    settings: &Settings,
    hash: gix::hash::Kind,
) -> Option<Cow<'a, [u8]>> {
    let mut bytes = Cow::Borrowed(blob);
    if conversion.ident
        && let Some(expanded) = ident::expand(blob, hash)
    {
        bytes = Cow::Owned(expanded);
    }
    let mut buffer = Vec::new();
    if eol::convert_to_worktree(&bytes, conversion.eol, &mut buffer, settings.eol).ok()? {
        bytes = Cow::Owned(std::mem::take(&mut buffer));
    }
    if let Some(encoding) = conversion.encoding
        && !bytes.is_empty()
    {
        bytes = Cow::Owned(encoding.encode(&bytes)?);
    }
    Some(bytes)
}
