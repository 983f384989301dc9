//! The directory `transcript/` next to a document: for each session file of an agent a directory of chunks, in order.
//!
//! Chunks end at the ends of lines. One that has `SMALL` bytes never changes; a shorter one, if it is the last, is
//! written again with what is added, so that short turns do not leave thousands of files, and a save still writes
//! little more than what is new.

use std::collections::{BTreeMap, btree_map::Entry};

use gix::objs::tree::EntryKind;

use super::{
    Error, ObjectId, Repository,
    blob_batch::BlobBatch,
    checkpoint::{self, Fault, Siblings, WriteError, object_id},
    objects::Writer,
};
use crate::model::{
    document::Document,
    transcript::{TranscriptInfo, TranscriptPart},
};

/// The directory's name in a checkpoint's tree.
pub const DIRECTORY: &str = "transcript";
/// The most bytes of a chunk. A longer line is a chunk of its own.
const BYTES: usize = 256 << 10;
/// A chunk with fewer bytes is extended by the next save.
const SMALL: usize = 32 << 10;

/// The chunks of one session file.
type Chunks = Vec<(String, ObjectId)>;

/// A session file that is being extended.
#[derive(Default)]
struct OpenFile {
    /// The chunks that stay.
    chunks: Chunks,
    /// The chunks after them.
    added: BlobBatch,
    /// The beginning of the next one.
    open: Vec<u8>,
}

/// Writes the directory of the next checkpoint: what the one before had, with parts added. A part that does not fit,
/// because the chain went back meanwhile, is left out; the next reading of the file begins where the chain is.
pub fn fold<'p>(
    repo: &Repository,
    writer: &Writer,
    parts: impl Iterator<Item = &'p TranscriptPart>,
    document: &mut Document,
    siblings: &mut Siblings,
) -> Result<(), WriteError> {
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return Ok(());
    }
    let mut all = chunks(repo, siblings.get(DIRECTORY))?;
    let list = &mut document.transcripts;
    all.resize(list.len(), Chunks::new());
    let mut files = BTreeMap::<usize, OpenFile>::new();
    for part in parts.filter(|part| part.info.bytes > 0) {
        if !part.fits(list) {
            continue;
        }
        let at = part.place(list).unwrap_or_else(|| {
            list.push(TranscriptInfo::default());
            all.push(Chunks::new());
            list.len() - 1
        });
        if part.after.is_none() {
            files.insert(at, OpenFile::default());
        }
        let file = match files.entry(at) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(place) => place.insert(opened(repo, std::mem::take(&mut all[at]))?),
        };
        file.append(writer, part.text.as_bytes())?;
        list[at] = part.info.clone();
    }
    for (at, file) in files {
        all[at] = file.close(writer)?;
    }
    let directories = all.into_iter().enumerate().map(|(n, chunks)| (n.to_string(), chunks));
    let mut entries = Vec::new();
    for (name, chunks) in directories {
        let chunks = chunks.into_iter().map(|(name, id)| (EntryKind::Blob, name, id));
        entries.push((EntryKind::Tree, name, checkpoint::write_tree(writer, chunks)?));
    }
    Ok(siblings.directory(writer, DIRECTORY, entries.into_iter())?)
}

/// The chunks of a file, of which a short last one is open again.
fn opened(repo: &Repository, chunks: Chunks) -> Result<OpenFile, Fault> {
    let mut file = OpenFile {
        chunks,
        ..OpenFile::default()
    };
    if let Some((_, last)) = file.chunks.last() {
        let last = checkpoint::read_private(repo, *last, "a chunk of a transcript")?;
        if last.len() < SMALL {
            file.open = last;
            file.chunks.pop();
        }
    }
    Ok(file)
}

impl OpenFile {
    fn append(&mut self, writer: &Writer, text: &[u8]) -> Result<(), Error> {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if !self.open.is_empty() && self.open.len() + line.len() > BYTES && self.open.ends_with(b"\n") {
                self.added.push(writer, std::mem::take(&mut self.open))?;
            }
            self.open.extend_from_slice(line);
        }
        Ok(())
    }

    /// Stores what is open; gives all chunks.
    fn close(mut self, writer: &Writer) -> Result<Chunks, Error> {
        if !self.open.is_empty() {
            self.added.push(writer, self.open)?;
        }
        for id in self.added.finish(writer)? {
            self.chunks.push((format!("{:06}.jsonl", self.chunks.len()), id));
        }
        Ok(self.chunks)
    }
}

/// The chunks of every session file, in the order of the document's list.
fn chunks(repo: &Repository, directory: Option<ObjectId>) -> Result<Vec<Chunks>, Fault> {
    let Some(directory) = directory else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for (name, _, id) in checkpoint::directory(repo, directory, DIRECTORY)? {
        // Names of a later version are none of ours.
        let Ok(n) = name.parse::<usize>() else { continue };
        let chunks = checkpoint::directory(repo, id, DIRECTORY)?;
        let chunks = chunks.into_iter().map(|(name, _, id)| (name, id)).collect();
        all.push((n, chunks));
    }
    all.sort_by_key(|(n, _)| *n);
    let most = all.last().map_or(0, |(n, _)| n + 1).min(all.len());
    let mut out = vec![Chunks::new(); most];
    for (n, chunks) in all {
        if let Some(place) = out.get_mut(n) {
            *place = chunks;
        }
    }
    Ok(out)
}

/// The bytes that are kept of a session file, by its place in the document's list.
pub fn read(repo: &Repository, document: &Document, n: usize) -> Result<Vec<u8>, Fault> {
    let directory = document.trees.get(DIRECTORY).map(object_id);
    let mut out = Vec::new();
    for (_, id) in chunks(repo, directory)?.get(n).into_iter().flatten() {
        out.extend(checkpoint::read_private(repo, *id, "a chunk of a transcript")?);
    }
    Ok(out)
}

/// Checks that the transcripts are as long as the document has it; gives what is wrong.
pub fn check(repo: &Repository, document: &Document) -> Result<Option<String>, Fault> {
    for (n, info) in document.transcripts.iter().enumerate() {
        let bytes = read(repo, document, n)?;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
        if lines != info.lines {
            let name = format!("'{DIRECTORY}/{n}'");
            return Ok(Some(format!(
                "{name} has {lines} lines, its document says {}",
                info.lines
            )));
        }
    }
    Ok(None)
}
