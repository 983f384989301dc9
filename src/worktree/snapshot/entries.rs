//! A tree in the making: entries in any order become the bytes of the object.

use super::Error;
use crate::store::objects::Writer;
use crate::store::{Kind, ObjectId};

// The modes of `model::tree_mode`, as narrow as gix has them: a walk holds one for each file.
pub(super) const FILE: u16 = 0o100_644;
pub(super) const EXECUTABLE: u16 = 0o100_755;
pub(super) const SYMLINK: u16 = 0o120_000;
pub(super) const DIRECTORY: u16 = 0o040_000;
pub(super) const GITLINK: u16 = 0o160_000;

/// Entries of a tree in the making.
#[derive(Default)]
pub(super) struct Entries<'a> {
    list: Vec<(&'a [u8], u16, ObjectId)>,
}

impl<'a> Entries<'a> {
    pub(super) fn add(&mut self, name: &'a [u8], mode: u16, id: ObjectId) {
        self.list.push((name, mode, id));
    }

    /// Writes the tree; `None` if it would be empty, since git stores no empty directories.
    pub(super) fn write(mut self, writer: &Writer) -> Result<Option<ObjectId>, Error> {
        if self.list.is_empty() {
            return Ok(None);
        }
        // git sorts directories as if a slash ended their names.
        self.list.sort_unstable_by(|(a, a_mode, _), (b, b_mode, _)| {
            let common = a.len().min(b.len());
            let next = |name: &[u8], mode: u16| name.get(common).copied().or((mode == DIRECTORY).then_some(b'/'));
            a[..common]
                .cmp(&b[..common])
                .then_with(|| next(a, *a_mode).cmp(&next(b, *b_mode)))
        });
        let mut tree = Vec::with_capacity(
            self.list
                .iter()
                .map(|(name, _, id)| name.len() + 8 + id.as_bytes().len())
                .sum(),
        );
        for (name, mode, id) in &self.list {
            match *mode {
                FILE => tree.extend_from_slice(b"100644 "),
                DIRECTORY => tree.extend_from_slice(b"40000 "),
                mode => tree.extend_from_slice(format!("{mode:o} ").as_bytes()),
            }
            tree.extend_from_slice(name);
            tree.push(0);
            tree.extend_from_slice(id.as_bytes());
        }
        Ok(Some(writer.write(Kind::Tree, &tree)?))
    }
}
