//! Files next to a document, written again: decrypted as it was, and encrypted as it is now.

use gix::objs::tree::EntryKind;

use super::{Error, Fault, Kind, ObjectId, Repository, Siblings, read, read_private, write_tree};
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
    ) -> Result<Result<(), Fault>, Error> {
        let Some((kind, id)) = other.0.get(name) else {
            return Ok(Ok(()));
        };
        let again = match kind {
            EntryKind::Tree => directory(repo, *id, name, depth, writer)?,
            _ => blob(repo, *id, name, writer)?,
        };
        Ok(again.map(|id| {
            self.0.insert(name.to_owned(), (*kind, id));
        }))
    }
}

fn blob(repo: &Repository, id: ObjectId, name: &str, writer: &Writer) -> Result<Result<ObjectId, Fault>, Error> {
    match read_private(repo, id, name) {
        Ok(bytes) => writer.write_private(&bytes).map(Ok),
        Err(fault) => Ok(Err(fault)),
    }
}

fn directory(
    repo: &Repository,
    id: ObjectId,
    name: &str,
    depth: usize,
    writer: &Writer,
) -> Result<Result<ObjectId, Fault>, Error> {
    let data = match read(repo, id, Kind::Tree, name) {
        Ok(data) => data,
        Err(fault) => return Ok(Err(fault)),
    };
    let mut entries = Vec::new();
    for entry in gix::objs::TreeRefIter::from_bytes(&data, repo.object_hash()).flatten() {
        let kind = entry.mode.kind();
        let id = entry.oid.to_owned();
        let again = match kind {
            EntryKind::Tree if depth > 0 => directory(repo, id, name, depth - 1, writer)?,
            EntryKind::Blob => blob(repo, id, name, writer)?,
            _ => Ok(id),
        };
        match again {
            Ok(id) => entries.push((kind, entry.filename.to_string(), id)),
            Err(fault) => return Ok(Err(fault)),
        }
    }
    write_tree(writer, entries.into_iter()).map(Ok)
}
