//! gzip, zlib and zip: unpacked within bounds, cleaned and packed again.

use std::io::{Cursor, Read, Write};

use flate2::{
    Compression,
    read::{MultiGzDecoder, ZlibDecoder},
    write::{GzEncoder, ZlibEncoder},
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::{BEYOND_LIMITS, Search, UNSEARCHED};
use crate::secrets::RedactionMode;

/// A form that is recognized by its first bytes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    Gzip,
    Zlib,
    Zip,
}

/// The form of some bytes.
pub(super) fn form(bytes: &[u8]) -> Option<Form> {
    match bytes {
        [0x1f, 0x8b, 8, ..] => Some(Form::Gzip),
        [b'P', b'K', 3, 4, ..] => Some(Form::Zip),
        // The letter `x` begins words too: only what unpacks is packed.
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => {
            let is_one = ZlibDecoder::new(bytes).read(&mut [0; 1]).is_ok();
            is_one.then_some(Form::Zlib)
        }
        _ => None,
    }
}

/// Whether data is addressed by offsets, so that nothing in it may move: a tar archive, a SQLite database.
pub(super) fn is_addressed(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SQLite format 3\0") || bytes.get(257..262) == Some(b"ustar")
}

/// The name of a form that is not read: other compression, or encryption.
pub(super) fn unread_form(bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 12] = [
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"LZIP\x01", "lzip"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"Rar!\x1a\x07", "rar"),
        (b"%PDF-", "PDF"),
        (b"age-encryption.org/", "age"),
        (b"-----BEGIN AGE ENCRYPTED FILE", "age"),
        (b"-----BEGIN PGP MESSAGE", "PGP"),
        (b"Salted__", "openssl"),
        // A zip archive without an entry at its start: it begins with a program, or is one of several parts.
        (b"PK\x07\x08", "zip in parts"),
    ];
    let is_known = |magic: &[u8]| magic.first() == bytes.first() && bytes.starts_with(magic);
    let known = MAGIC.iter().find(|(magic, _)| is_known(magic));
    let is_bzip2 = || bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"1AY&SY");
    known
        .map(|(_, name)| *name)
        .or_else(|| is_bzip2().then_some("bzip2"))
        .or_else(|| is_encrypted_at_rest(bytes).then_some("encryption at rest"))
}

/// Whether a file was encrypted by claude-flow: its mark, and bytes that no text has, because a text may begin so too.
fn is_encrypted_at_rest(bytes: &[u8]) -> bool {
    bytes.starts_with(b"RFE1") && std::str::from_utf8(bytes).is_err()
}

impl Search<'_> {
    pub(super) fn archive(&mut self, form: Form, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = match form {
            Form::Gzip => self.stream("gzip", bytes, &mut MultiGzDecoder::new(bytes), |clean| {
                let mut out = GzEncoder::new(Vec::new(), Compression::default());
                out.write_all(clean)?;
                out.finish()
            }),
            Form::Zlib => self.stream("zlib", bytes, &mut ZlibDecoder::new(bytes), |clean| {
                let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
                out.write_all(clean)?;
                out.finish()
            }),
            Form::Zip => self.zip(bytes),
        };
        if !self.fixed {
            return clean;
        }
        // Nothing may move: all of it goes.
        clean.map(|_| vec![b'x'; bytes.len()])
    }

    /// The bytes of a reader, up to the bound, and whether they are all of it; `None` beyond the bound.
    fn unpack(&self, reader: &mut dyn Read) -> Option<(Vec<u8>, bool)> {
        let mut out = Vec::new();
        let is_intact = reader.take(self.left as u64 + 1).read_to_end(&mut out).is_ok();
        (out.len() <= self.left).then_some((out, is_intact))
    }

    /// The content of a stream, and what is outside of it: the name of the file in its header, bytes behind its end.
    fn stream(
        &mut self,
        name: &'static str,
        bytes: &[u8],
        reader: &mut dyn Read,
        pack: impl Fn(&[u8]) -> std::io::Result<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let Some((content, is_intact)) = self.unpack(reader) else {
            return self.beyond(name);
        };
        let clean = self.inside(name, &content);
        // A damaged stream is packed again only where a secret was seen in it: a text may begin as a stream does.
        if clean.is_none() && !is_intact {
            if name == "gzip" {
                self.leave("a damaged gzip stream");
            }
            return self.text(bytes);
        }
        if clean.is_none() && !self.is_outside(name, bytes) {
            return None;
        }
        Some(pack(&clean.unwrap_or(content)).unwrap_or_else(|_| UNSEARCHED.into()))
    }

    /// Whether a secret is in the bytes of an archive outside of its contents; packing it again leaves that out.
    fn is_outside(&mut self, name: &'static str, bytes: &[u8]) -> bool {
        self.forms.push(name);
        let found = self.letters(bytes).is_some() || self.runs(bytes).is_some();
        self.forms.pop();
        found
    }

    /// Data that unpacks to more than the bound.
    fn beyond(&mut self, name: &'static str) -> Option<Vec<u8>> {
        let is_on = self.scanner.mode() == RedactionMode::On;
        self.note(BEYOND_LIMITS.into(), is_on, name);
        is_on.then(|| UNSEARCHED.into())
    }

    fn zip(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let Ok(mut archive) = ZipArchive::new(Cursor::new(bytes)) else {
            self.leave("a damaged zip archive");
            return self.text(bytes);
        };
        let mut entries = Vec::new();
        let mut changed = false;
        for n in 0..archive.len() {
            let Ok(mut entry) = archive.by_index(n) else {
                let raw = archive.by_index_raw(n).ok();
                let is_encrypted = raw.as_ref().is_some_and(zip::read::ZipFile::encrypted);
                self.leave(if is_encrypted {
                    "an encrypted zip archive"
                } else {
                    "a zip archive packed in a form that is not read"
                });
                let name = raw.and_then(|entry| entry.name().map(std::borrow::Cow::into_owned).ok());
                let name = name.unwrap_or_default();
                let named = self.inside("zip", name.as_bytes());
                changed |= named.is_some();
                entries.push(Entry::Raw(n, text_of(named).unwrap_or(name)));
                continue;
            };
            let name = entry.name().map(std::borrow::Cow::into_owned).unwrap_or_default();
            let is_directory = entry.is_dir();
            let Some((content, is_intact)) = self.unpack(&mut entry) else {
                return self.beyond("zip");
            };
            if !is_intact {
                self.leave("a damaged zip archive");
            }
            let clean = self.inside("zip", &content);
            let named = self.inside("zip", name.as_bytes());
            changed |= clean.is_some() || named.is_some();
            let name = text_of(named).unwrap_or(name);
            entries.push(Entry::Plain(name, is_directory, clean.unwrap_or(content)));
        }
        // Comments and further fields lie outside of the entries, and do not come along.
        if !changed && !self.is_outside("zip", bytes) {
            return None;
        }
        let packed = packed(&mut archive, entries);
        Some(packed.unwrap_or_else(|_| UNSEARCHED.into()))
    }
}

/// An entry of an archive.
enum Entry {
    /// Its name, whether it is a directory, its content.
    Plain(String, bool, Vec<u8>),
    /// One that was not read: its number, and its name.
    Raw(usize, String),
}

fn text_of(bytes: Option<Vec<u8>>) -> Option<String> {
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The archive with these entries.
fn packed(archive: &mut ZipArchive<Cursor<&[u8]>>, entries: Vec<Entry>) -> zip::result::ZipResult<Vec<u8>> {
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for entry in entries {
        match entry {
            Entry::Raw(n, name) => out.raw_copy_file_rename(archive.by_index_raw(n)?, name)?,
            Entry::Plain(name, true, _) => out.add_directory(name, options)?,
            Entry::Plain(name, false, content) => {
                out.start_file(name, options)?;
                out.write_all(&content)?;
            }
        }
    }
    Ok(out.finish()?.into_inner())
}
