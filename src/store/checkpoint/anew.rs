//! Files next to a document, written again: decrypted as it was, and encrypted as it is now.

use gix::objs::tree::EntryKind;

use super::{Kind, ObjectId, Repository, Siblings, WriteError, read, read_private, write_tree};
use crate::store::objects::Writer;

impl Siblings {
    /// Takes over an entry of another checkpoint's tree, with every blob in it written again, in directories up to this
    /// depth.
    pub fn rewritten(
        &mut self,
        repo: &Repository,
        other: &Self,
        name: &str,
        depth: usize,
        writer: &Writer,
    ) -> Result<(), WriteError> {
        let Some((kind, id)) = other.0.get(name) else {
            return Ok(());
        };
        let again = match kind {
            EntryKind::Tree => directory(repo, *id, name, depth, writer)?,
            _ => blob(repo, *id, name, writer)?,
        };
        self.0.insert(name.to_owned(), (*kind, again));
        Ok(())
    }
}

fn blob(repo: &Repository, id: ObjectId, name: &str, writer: &Writer) -> Result<ObjectId, WriteError> {
    Ok(writer.write_private(&read_private(repo, id, name)?)?)
}

fn directory(
    repo: &Repository,
    id: ObjectId,
    name: &str,
    depth: usize,
    writer: &Writer,
) -> Result<ObjectId, WriteError> {
    let data = read(repo, id, Kind::Tree, name)?;
    let mut entries = Vec::new();
    for entry in gix::objs::TreeRefIter::from_bytes(&data, repo.object_hash()).flatten() {
        let kind = entry.mode.kind();
        let id = entry.oid.to_owned();
        let again = match kind {
            EntryKind::Tree if depth > 0 => directory(repo, id, name, depth - 1, writer)?,
            EntryKind::Blob => blob(repo, id, name, writer)?,
            _ => id,
        };
        entries.push((kind, entry.filename.to_string(), again));
    }
    Ok(write_tree(writer, entries.into_iter())?)
}
