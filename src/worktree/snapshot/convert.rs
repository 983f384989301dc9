//! Content on its way into the repository, as `git add` would store it, unless the way back gives other bytes.
//!
//! Line ends, `$Id$` and encoding are cheap to undo, so the way back is tried for every file that they could change: what
//! does not come back as it was is stored byte for byte. What a filter program gives is stored as it is: running it
//! backwards each time would be dear, and the other choice, storing what the filter is there to hide, is forbidden.

use std::borrow::Cow;
use std::io::{self, Read};

use gix::filter::plumbing::eol;

use super::attributes::Conversion;
use super::ident;
use super::settings::SnapshotSettings;

/// How a file is stored.
pub(super) struct StorageForm<'a> {
    /// The blob.
    pub bytes: Cow<'a, [u8]>,
    /// Whether a checkout of the blob would give other bytes than the file has, so that it must be written as it is.
    pub raw: bool,
    /// The blob that `git add` would store, when that is another.
    pub git_form: Option<Vec<u8>>,
}

/// Fills the buffer with the blob that the index has for the file; `false` when it has none.
pub(in crate::worktree) type IndexBlob<'a> = dyn FnMut(&mut Vec<u8>) -> bool + 'a;

/// Converts a whole file. Filters have been run before.
pub(super) fn to_git<'a>(
    content: &'a [u8],
    conversion: &Conversion<'_>,
    settings: &SnapshotSettings,
    hash: gix::hash::Kind,
    index_blob: &mut IndexBlob<'_>,
) -> StorageForm<'a> {
    let raw = |git_form| StorageForm {
        bytes: Cow::Borrowed(content),
        raw: true,
        git_form,
    };
    let Some(stored) = forward(content, conversion, settings, index_blob) else {
        return raw(None);
    };
    if back(&stored, conversion, settings, hash).as_deref() == Some(content) {
        return StorageForm {
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

/// Converts content as `git add` does; `None` where that would fail.
pub(in crate::worktree) fn forward<'a>(
    content: &'a [u8],
    conversion: &Conversion<'_>,
    settings: &SnapshotSettings,
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

/// Converts a blob as a checkout does; `None` where that would fail.
pub(in crate::worktree) fn back<'a>(
    blob: &'a [u8],
    conversion: &Conversion<'_>,
    settings: &SnapshotSettings,
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

/// Conversion of a file that is too large for memory and in which at most line ends are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamConversion {
    /// Stored as it is, and comes back so.
    AsIs,
    /// Stored without the carriage returns before line feeds, and comes back as it is.
    WithoutCr,
    /// Stored as it is, because it would not come back so.
    Raw {
        /// Whether git would store it without the carriage returns.
        without_cr: bool,
    },
}

/// The bytes of a file, counted piece by piece as git counts them to distinguish text from other content.
#[derive(Debug)]
pub(super) struct Counter {
    stats: eol::Stats,
    /// The last byte, if there was one.
    last: Option<u8>,
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            stats: eol::Stats::from_bytes(b""),
            last: None,
        }
    }
}

impl Counter {
    pub(super) fn add(&mut self, piece: &[u8]) {
        for byte in piece {
            let stats = &mut self.stats;
            match byte {
                b'\n' if self.last == Some(b'\r') => {
                    stats.lone_cr -= 1;
                    stats.crlf += 1;
                }
                b'\n' => stats.lone_lf += 1,
                // Lone until a line feed follows.
                b'\r' => stats.lone_cr += 1,
                0 => {
                    stats.null += 1;
                    stats.non_printable += 1;
                }
                8 | b'\t' | 12 | 27 => stats.printable += 1,
                1..32 | 127 => stats.non_printable += 1,
                _ => stats.printable += 1,
            }
            self.last = Some(*byte);
        }
    }

    /// Whether what follows cannot make it text any more.
    pub(super) fn is_surely_binary(&self) -> bool {
        self.stats.null > 0
    }

    /// Carriage returns before a line feed.
    pub(super) fn crlf(&self) -> u64 {
        self.stats.crlf as u64
    }

    fn stats(&self) -> eol::Stats {
        let mut stats = self.stats;
        // The end-of-file mark of DOS.
        if self.last == Some(0x1a) {
            stats.non_printable -= 1;
        }
        stats
    }
}

/// Decides by what was counted, in the same way as [`to_git`] does by trying.
pub(super) fn streamed(
    counter: &Counter,
    conversion: &Conversion<'_>,
    settings: &SnapshotSettings,
    index_blob: &mut IndexBlob<'_>,
) -> StreamConversion {
    let stats = counter.stats();
    let digest = conversion.eol;
    let has_crlf = |blob: &[u8]| {
        let stats = eol::Stats::from_bytes(blob);
        !stats.is_binary() && stats.crlf > 0
    };
    let mut blob = Vec::new();
    let left = digest == eol::AttributesDigest::Binary
        || stats.crlf == 0
        || (digest.is_auto_text() && (stats.is_binary() || (index_blob(&mut blob) && has_crlf(&blob))));
    if left {
        let changes = stats.will_convert_lf_to_crlf(digest, settings.eol);
        return if changes {
            StreamConversion::Raw { without_cr: false }
        } else {
            StreamConversion::AsIs
        };
    }
    let mut stored = stats;
    stored.lone_lf += stored.crlf;
    stored.crlf = 0;
    let comes_back = stored.will_convert_lf_to_crlf(digest, settings.eol) && stats.lone_lf == 0 && stats.lone_cr == 0;
    if comes_back {
        StreamConversion::WithoutCr
    } else {
        StreamConversion::Raw { without_cr: true }
    }
}

/// Reads a source leaving out carriage returns before line feeds.
pub(super) struct WithoutCr<R> {
    source: R,
    buffer: Vec<u8>,
    at: usize,
    /// A carriage return at the end of what was read, not given yet.
    held: bool,
}

impl<R: Read> WithoutCr<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            at: 0,
            held: false,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut piece = vec![0; 64 * 1024];
        let count = self.source.read(&mut piece)?;
        self.buffer.clear();
        self.at = 0;
        for byte in &piece[..count] {
            if std::mem::take(&mut self.held) && *byte != b'\n' {
                self.buffer.push(b'\r');
            }
            if *byte == b'\r' {
                self.held = true;
            } else {
                self.buffer.push(*byte);
            }
        }
        if count == 0 && std::mem::take(&mut self.held) {
            self.buffer.push(b'\r');
        }
        // A piece of one carriage return gives nothing yet, and that must not look like the end.
        if self.buffer.is_empty() && count > 0 {
            self.fill()
        } else {
            Ok(())
        }
    }
}

impl<R: Read> Read for WithoutCr<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        let count = out.len().min(self.buffer.len() - self.at);
        out[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use eol::AttributesDigest::{Binary, TextAuto, TextAutoCrlf, TextAutoInput, TextCrlf, TextInput};
    use proptest::prelude::*;

    use super::*;
    use crate::worktree::snapshot::attributes::FilterAttribute;

    fn settings(auto_crlf: eol::AutoCrlf) -> SnapshotSettings {
        SnapshotSettings {
            file_mode: true,
            symlinks: true,
            ignore_case: false,
            precompose: false,
            trust_ctime: true,
            check_stat: true,
            eol: eol::Configuration { auto_crlf, eol: None },
            drivers: Vec::new(),
        }
    }

    fn conversion(eol: eol::AttributesDigest, ident: bool) -> Conversion<'static> {
        Conversion {
            eol,
            ident,
            encoding: None,
            filter: FilterAttribute::None,
            unkept: false,
        }
    }

    proptest! {
        #[test]
        fn a_streamed_file_is_stored_as_a_whole_one(
            content in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'a'), Just(0), Just(0x1a), Just(1)], 0..40),
            blob in proptest::option::of(proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'a')], 0..6)),
            digest in prop_oneof![
                Just(Binary), Just(TextAuto), Just(TextAutoCrlf), Just(TextAutoInput), Just(TextCrlf), Just(TextInput)
            ],
            piece in 1usize..9,
        ) {
            let settings = settings(eol::AutoCrlf::Disabled);
            let conversion = conversion(digest, false);
            let mut index_blob = |buffer: &mut Vec<u8>| {
                buffer.clear();
                buffer.extend_from_slice(blob.as_deref().unwrap_or_default());
                blob.is_some()
            };
            let whole = to_git(&content, &conversion, &settings, gix::hash::Kind::Sha1, &mut index_blob);
            let mut counter = Counter::default();
            content.chunks(piece).for_each(|piece| counter.add(piece));
            let mut without_cr = Vec::new();
            WithoutCr::new(Pieces(&content, piece)).read_to_end(&mut without_cr).expect("memory");
            prop_assert_eq!(without_cr.len() as u64, content.len() as u64 - counter.crlf());
            match streamed(&counter, &conversion, &settings, &mut index_blob) {
                StreamConversion::AsIs => {
                    prop_assert!(!whole.raw);
                    prop_assert_eq!(&*whole.bytes, &content[..]);
                }
                StreamConversion::WithoutCr => {
                    prop_assert!(!whole.raw);
                    prop_assert_eq!(&*whole.bytes, &without_cr[..]);
                }
                StreamConversion::Raw { without_cr: changed } => {
                    prop_assert!(whole.raw || content.contains(&b'\r'), "raw for nothing");
                    prop_assert_eq!(*whole.bytes == content[..], whole.raw || whole.bytes.len() == content.len());
                    if let Some(form) = &whole.git_form {
                        prop_assert!(changed);
                        prop_assert_eq!(form, &without_cr);
                    }
                }
            }
        }

        #[test]
        fn what_is_not_raw_comes_back(
            content in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'$'), Just(b'I'), Just(b'd'), Just(b':')], 0..40),
            digest in prop_oneof![Just(Binary), Just(TextAuto), Just(TextAutoCrlf), Just(TextCrlf), Just(TextInput)],
            ident in any::<bool>(),
        ) {
            let settings = settings(eol::AutoCrlf::Disabled);
            let conversion = conversion(digest, ident);
            let stored = to_git(&content, &conversion, &settings, gix::hash::Kind::Sha1, &mut |_| false);
            if stored.raw {
                prop_assert_eq!(&*stored.bytes, &content[..]);
            } else {
                let back = back(&stored.bytes, &conversion, &settings, gix::hash::Kind::Sha1).expect("no encoding");
                prop_assert_eq!(&*back, &content[..]);
            }
        }
    }

    /// Gives at most so many bytes at once.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(out.len());
            self.0.read(&mut out[..count])
        }
    }
}
