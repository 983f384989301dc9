//! gzip, zlib and zip: unpacked within bounds, cleaned and packed again.

use std::io::{Cursor, Read, Write};

use flate2::{
    Compression,
    read::{MultiGzDecoder, ZlibDecoder},
    write::{GzEncoder, ZlibEncoder},
};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::{Search, UNSEARCHED};
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
        [0x78, flags @ (0x01 | 0x5e | 0x9c | 0xda), ..] => {
            // The letter `x` begins words too: only what unpacks is packed.
            let mut some = [0; 1];
            let _ = flags;
            let is_one = ZlibDecoder::new(bytes).read(&mut some).is_ok();
            is_one.then_some(Form::Zlib)
        }
        _ => None,
    }
}

/// Whether data is addressed by offsets, so that nothing in it may move: a tar archive, a SQLite database.
pub(super) fn is_addressed(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SQLite format 3\0") || bytes.get(257..262) == Some(b"ustar")
}

/// Whether it is a zip archive with an encrypted entry.
pub(super) fn is_locked(bytes: &[u8]) -> bool {
    if form(bytes) != Some(Form::Zip) {
        return false;
    }
    let Ok(mut archive) = ZipArchive::new(Cursor::new(bytes)) else {
        return false;
    };
    (0..archive.len()).any(|n| archive.by_index_raw(n).is_ok_and(|entry| entry.encrypted()))
}

impl Search<'_> {
    pub(super) fn archive(&mut self, form: Form, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = match form {
            Form::Gzip => {
                let content = self.unpack(&mut MultiGzDecoder::new(bytes));
                self.stream("gzip", content, |clean| {
                    let mut out = GzEncoder::new(Vec::new(), Compression::default());
                    out.write_all(clean)?;
                    out.finish()
                })
            }
            Form::Zlib => {
                let content = self.unpack(&mut ZlibDecoder::new(bytes));
                self.stream("zlib", content, |clean| {
                    let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
                    out.write_all(clean)?;
                    out.finish()
                })
            }
            Form::Zip => self.zip(bytes),
        };
        if !self.fixed {
            return clean;
        }
        // Nothing may move: all of it goes.
        clean.map(|_| vec![b'x'; bytes.len()])
    }

    /// What a reader gives, up to the bound; `None` beyond it. Of a damaged one, what can be read.
    fn unpack(&self, reader: &mut dyn Read) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let _ = reader.take(self.left as u64 + 1).read_to_end(&mut out);
        (out.len() <= self.left).then_some(out)
    }

    fn stream(
        &mut self,
        name: &'static str,
        content: Option<Vec<u8>>,
        pack: impl Fn(&[u8]) -> std::io::Result<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let Some(content) = content else {
            return self.beyond(name);
        };
        let clean = self.inside(name, &content)?;
        Some(pack(&clean).unwrap_or_else(|_| UNSEARCHED.into()))
    }

    /// Data that unpacks to more than the bound.
    fn beyond(&mut self, name: &'static str) -> Option<Vec<u8>> {
        let is_on = self.scanner.mode() == RedactionMode::On;
        self.note("packed-data".into(), is_on, name);
        is_on.then(|| UNSEARCHED.into())
    }

    fn zip(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
        let mut entries = Vec::new();
        let mut changed = false;
        for n in 0..archive.len() {
            let Ok(mut entry) = archive.by_index(n) else {
                // Encrypted, or packed in a form that is not read.
                entries.push(Entry::Raw(n));
                continue;
            };
            let name = entry.name().map(std::borrow::Cow::into_owned).unwrap_or_default();
            let is_directory = entry.is_dir();
            let Some(content) = self.unpack(&mut entry) else {
                return self.beyond("zip");
            };
            let clean = self.inside("zip", &content);
            let named = self.inside("zip", name.as_bytes());
            changed |= clean.is_some() || named.is_some();
            let name = named.map_or(name, |clean| String::from_utf8_lossy(&clean).into_owned());
            entries.push(Entry::Plain(name, is_directory, clean.unwrap_or(content)));
        }
        // Comments and further fields lie outside of the entries, and do not come along.
        let comment = archive.comment().to_vec();
        changed |= self.inside("zip", &comment).is_some();
        if !changed {
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
    /// One that was not read, by its number.
    Raw(usize),
}

/// The archive with these entries.
fn packed(archive: &mut ZipArchive<Cursor<&[u8]>>, entries: Vec<Entry>) -> zip::result::ZipResult<Vec<u8>> {
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for entry in entries {
        match entry {
            Entry::Raw(n) => out.raw_copy_file(archive.by_index_raw(n)?)?,
            Entry::Plain(name, true, _) => out.add_directory(name, options)?,
            Entry::Plain(name, false, content) => {
                out.start_file(name, options)?;
                out.write_all(&content)?;
            }
        }
    }
    Ok(out.finish()?.into_inner())
}
