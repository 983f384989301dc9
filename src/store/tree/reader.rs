//! Trees read for several comparisons of one operation.
//!
//! Old trees lie scattered over a pack, each made of a dozen others; read through `objects::Packed` they take little
//! memory, and what one comparison made serves the next. New ones, which are loose or held in memory, come from the
//! repository.

use std::cell::RefCell;

use gix::ObjectId;
use gix::objs::{Data, Find, Kind, TreeRefIter};

use super::{
    BoundedRecorder, Error, Renames, Repository, TreeDiff, from_record, join_replaced, pair_exact, renames, tree_id,
};
use crate::model::change::TreeChange;
use crate::store::objects::PackReader;

/// With more packs than this all trees come from the repository, which has the packs open: to open them again takes
/// longer than it saves.
const PACKS: usize = 100;

/// Reads trees of a repository.
pub struct TreeReader<'repo> {
    repo: &'repo Repository,
    packed: Option<RefCell<PackReader>>,
}

impl<'repo> TreeReader<'repo> {
    /// For several comparisons. Knows the packs there are now; what comes later is found by the repository.
    pub fn new(repo: &'repo Repository) -> Self {
        let packed = Some(PackReader::new(repo)).filter(|packed| packed.packs() <= PACKS);
        Self {
            repo,
            packed: packed.map(RefCell::new),
        }
    }

    /// For a single comparison.
    pub(super) fn single(repo: &'repo Repository) -> Self {
        Self { repo, packed: None }
    }

    /// The repository that is read.
    pub(in crate::store) fn repo(&self) -> &'repo Repository {
        self.repo
    }

    /// The differences between two trees, as [`diff`](super::diff) gives them.
    pub fn diff(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        renames: Renames,
    ) -> Result<Vec<TreeChange>, Error> {
        let found = match renames {
            Renames::Off => self.raw(old, new)?,
            Renames::Exact => pair_exact(self.raw(old, new)?),
            Renames::Similar(percent) => return renames::similar(self.repo, old, new, percent),
        };
        Ok(found.into_iter().map(TreeChange::from).collect())
    }

    /// All differences without pairing renames, by path.
    pub(in crate::store) fn raw(&self, old: Option<ObjectId>, new: Option<ObjectId>) -> Result<Vec<TreeDiff>, Error> {
        let found = self.raw_up_to(old, new, usize::MAX)?;
        Ok(found.expect("no tree has so many entries"))
    }

    /// All differences, or `None` when there are more than `limit`.
    pub(super) fn raw_up_to(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        limit: usize,
    ) -> Result<Option<Vec<TreeDiff>>, Error> {
        if old == new {
            return Ok(Some(Vec::new()));
        }
        // A commit and its tree are equal, too.
        let (old, new) = (tree_id(self.repo, old)?, tree_id(self.repo, new)?);
        if old == new {
            return Ok(Some(Vec::new()));
        }
        let hash = self.repo.object_hash();
        let subject = new.or(old);
        let old = self.tree(old)?;
        let new = self.tree(new)?;
        let mut bounded = BoundedRecorder {
            recorder: gix::diff::tree::Recorder::default(),
            left: limit,
            is_too_deep: false,
        };
        let compared = gix::diff::tree(
            TreeRefIter::from_bytes(&old, hash),
            TreeRefIter::from_bytes(&new, hash),
            gix::diff::tree::State::default(),
            self,
            &mut bounded,
        );
        match compared {
            Ok(()) => {}
            Err(gix::diff::tree::Error::Cancelled) if bounded.is_too_deep => {
                return Err(super::too_deep(subject.unwrap_or_else(|| ObjectId::empty_tree(hash))));
            }
            Err(gix::diff::tree::Error::Cancelled) => return Ok(None),
            Err(gix::diff::tree::Error::Failure(source)) => return Err(Error::gix("compare trees")(source)),
        }
        let mut found: Vec<_> = bounded.recorder.records.into_iter().filter_map(from_record).collect();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        join_replaced(&mut found);
        Ok(Some(found))
    }

    /// The bytes of a tree.
    fn tree(&self, id: Option<ObjectId>) -> Result<Vec<u8>, Error> {
        let mut buffer = Vec::new();
        let Some(id) = id else { return Ok(buffer) };
        if self.packed(&id, &mut buffer).is_some() {
            return Ok(buffer);
        }
        Ok(super::find(self.repo, id)?.detach().data)
    }

    /// The kind of an object whose bytes were put into the buffer; `None` when it must come from the repository.
    fn packed(&self, id: &ObjectId, buffer: &mut Vec<u8>) -> Option<Kind> {
        let (kind, data) = self.packed.as_ref()?.borrow_mut().object(id)?;
        buffer.clear();
        buffer.extend_from_slice(&data);
        Some(kind)
    }
}

impl Find for TreeReader<'_> {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::error::Result<Option<Data<'a>>> {
        match self.packed(&id.to_owned(), buffer) {
            Some(kind) => Ok(Some(Data::new(buffer, kind, id.kind()))),
            None => self.repo.objects.try_find(id, buffer),
        }
    }
}
