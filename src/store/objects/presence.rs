//! Which objects the repository has already, judged more strictly than git does.
//!
//! git and gix take an object for stored when a file has its name. After a power cut that file may be empty, and what
//! is then built on it is lost; so a loose object counts only if it inflates to its id. A packed one counts if its
//! index lists it: packs carry a checksum and are not written piecemeal. What counts is freshened, as git does, so that
//! a `gc` that looks at ages leaves it alone until our ref names it.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::odb::pack::index;

use super::loose;
use crate::os;
use crate::store::{Error, Repository, paths};

/// How often a missing object is looked for: each time, a merge would have to come to its end just then.
const LOOKS: usize = 3;

/// The objects stored when it was made. Packs that come later are not seen, packs that go are noticed.
pub(in crate::store) struct ObjectPresence {
    directories: Vec<PathBuf>,
    packs: Vec<PresentPack>,
}

struct PresentPack {
    /// Opened when it is asked first, as the latest packs answer most questions; `None` in it if it cannot be read.
    index: OnceCell<Option<index::File>>,
    hash: gix::hash::Kind,
    path: PathBuf,
    /// A digest of its path, its size and that of its index: what was found in it is there as long as it is.
    mark: u64,
    fresh: bool,
}

impl PresentPack {
    fn lists(&self, id: &ObjectId) -> bool {
        let open = || index::File::at(self.path.with_extension("idx"), self.hash).ok();
        let index = self.index.get_or_init(open).as_ref();
        index.is_some_and(|index| index.lookup(id).is_some())
    }

    /// Whether it is still there, after freshening it.
    fn freshen(&mut self) -> bool {
        self.fresh = self.fresh || freshened(os::touch(&self.path));
        self.fresh
    }
}

impl ObjectPresence {
    /// Reads the list of packs of the repository and its alternates.
    pub(in crate::store) fn new(repo: &Repository) -> Result<Self, Error> {
        let directories = directories(repo)?;
        let hash = repo.object_hash();
        let packs = directories
            .iter()
            .flat_map(|directory| packs_in(&directory.join("pack"), hash))
            .collect();
        Ok(Self { directories, packs })
    }

    /// Whether a pack lists the object.
    pub(in crate::store) fn is_packed(&self, id: &ObjectId) -> bool {
        self.packs.iter().any(|pack| pack.lists(id))
    }

    /// Whether all packs with these marks are still there, after freshening them; not so without any.
    pub(in crate::store) fn stand(&mut self, marks: &[u64]) -> bool {
        let is_there = |mark: &u64| {
            let mut packs = self.packs.iter_mut();
            packs.find(|pack| pack.mark == *mark).is_some_and(PresentPack::freshen)
        };
        !marks.is_empty() && marks.iter().all(is_there)
    }

    /// The marks of packs that list all these objects, after freshening them; `None` if one is in no pack.
    pub(in crate::store) fn packs_of(&mut self, ids: &[ObjectId]) -> Option<Vec<u64>> {
        let mut used = Vec::<usize>::new();
        for id in ids {
            let lists = |at: &usize| self.packs[*at].lists(id);
            // What was stored together mostly lies together.
            if !used.iter().rev().any(lists) {
                used.push((0..self.packs.len()).find(lists)?);
            }
        }
        used.into_iter()
            .map(|at| {
                let pack = &mut self.packs[at];
                pack.freshen().then_some(pack.mark)
            })
            .collect()
    }

    /// Whether the object is packed, or there is a file for it.
    pub(in crate::store) fn lists(&self, id: &ObjectId) -> bool {
        let is_loose = |directory: &PathBuf| std::fs::symlink_metadata(loose::path(directory, id)).is_ok();
        self.is_packed(id) || self.directories.iter().any(is_loose)
    }

    /// Whether the object is stored, looked for anew on the disk, for when gix has not found it.
    ///
    /// gix lists the packs once for each miss, and while packs are merged the listing may show neither the old ones nor
    /// the new one; besides, a handle knows a limited number of packs in its life.
    pub(in crate::store) fn finds(repo: &Repository, id: &ObjectId) -> bool {
        (0..LOOKS).any(|_| Self::new(repo).is_ok_and(|mut present| present.has(id)))
    }

    /// Whether the object is stored soundly, after freshening it.
    pub(in crate::store) fn has(&mut self, id: &ObjectId) -> bool {
        // The latest pack is the likeliest, as the list is in order of age.
        while let Some(position) = self.packs.iter().position(|pack| pack.lists(id)) {
            if self.packs[position].freshen() {
                return true;
            }
            // A gc has removed it since; its objects may be elsewhere.
            self.packs.remove(position);
        }
        self.directories
            .iter()
            .map(|directory| loose::path(directory, id))
            .any(|path| matches!(loose::verify(&path, id), Ok(true)) && freshened(os::touch(&path)))
    }
}

/// The object directories of a repository, its own first.
pub(in crate::store) fn directories(repo: &Repository) -> Result<Vec<PathBuf>, Error> {
    let objects = paths::objects_dir(repo);
    let mut directories = vec![objects.clone()];
    let beside = gix::odb::alternate::resolve(objects, repo.current_dir()).map_err(Error::gix("read alternates"))?;
    directories.extend(beside);
    directories.extend(paths::further_object_dirs(repo));
    Ok(directories)
}

/// Whether the file is there to be freshened. That of another user, or on a read-only disk, cannot be, and no gc of ours
/// touches those either.
fn freshened(result: io::Result<()>) -> bool {
    !matches!(result, Err(error) if error.kind() == io::ErrorKind::NotFound)
}

/// The packs of a directory, latest first. What cannot be read counts as empty, so that its objects are written again.
fn packs_in(directory: &Path, hash: gix::hash::Kind) -> Vec<PresentPack> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut packs: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "idx"))
        .filter_map(|path| {
            let data = path.with_extension("pack");
            let meta = std::fs::metadata(&data).ok()?;
            let age = meta.modified().ok();
            let mut hasher = DefaultHasher::new();
            (&data, meta.len(), std::fs::metadata(&path).ok()?.len()).hash(&mut hasher);
            Some((
                age,
                PresentPack {
                    index: OnceCell::new(),
                    hash,
                    path: data,
                    mark: hasher.finish(),
                    fresh: false,
                },
            ))
        })
        .collect();
    packs.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
    packs.into_iter().map(|(_, pack)| pack).collect()
}
