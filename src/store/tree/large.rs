//! Names of large directories, kept for the next path that is asked for: operations compare files one by one, and to
//! read a directory of thousands of entries anew for each of them takes a time that grows with the square of their number.
//!
//! A tree never changes under its id, so what is kept cannot be out of date.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gix::ObjectId;
use gix::bstr::BString;
use gix::objs::TreeRefIter;

use super::{Error, Repository, TreeItem, find};

/// Trees with fewer bytes are read again: about a hundred entries.
const LARGE: usize = 4 * 1024;
/// Directories that are kept: an operation compares a few trees with one another.
const KEPT: usize = 8;
/// Entries of all directories that are kept, about 100 bytes each.
const MOST: usize = 500_000;

type Listing = HashMap<BString, TreeItem>;

thread_local! {
    /// The directories of this thread, the one that was asked for last first.
    static DIRECTORIES: RefCell<Vec<(ObjectId, Rc<Listing>)>> = const { RefCell::new(Vec::new()) };
}

/// Entry of a directory by its name. `id` is that of its tree.
pub(super) fn entry_of(repo: &Repository, id: ObjectId, name: &[u8]) -> Result<Option<TreeItem>, Error> {
    if let Some(listing) = known(id) {
        return Ok(listing.get(name).copied());
    }
    let object = find(repo, id)?;
    let entries = TreeRefIter::from_bytes(&object.data, repo.object_hash()).map(|entry| {
        let entry = entry.map_err(|error| Error::Object {
            id,
            why: error.to_string(),
        })?;
        let id = entry.oid.to_owned();
        Ok::<_, Error>((entry.filename, TreeItem { mode: entry.mode, id }))
    });
    if object.data.len() < LARGE {
        for entry in entries {
            let (found, item) = entry?;
            if found == name {
                return Ok(Some(item));
            }
        }
        return Ok(None);
    }
    let mut listing = Listing::new();
    for entry in entries {
        let (name, item) = entry?;
        // Of two entries of one name, which no program should write, the first counts.
        listing.entry(name.to_owned()).or_insert(item);
    }
    let found = listing.get(name).copied();
    keep(id, listing);
    Ok(found)
}

fn known(id: ObjectId) -> Option<Rc<Listing>> {
    DIRECTORIES.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(known, _)| *known == id)?;
        kept[..=at].rotate_right(1);
        Some(Rc::clone(&kept[0].1))
    })
}

fn keep(id: ObjectId, listing: Listing) {
    DIRECTORIES.with_borrow_mut(|kept| {
        kept.insert(0, (id, Rc::new(listing)));
        kept.truncate(KEPT);
        let mut entries = 0;
        kept.retain(|(_, listing)| {
            entries += listing.len();
            entries <= MOST
        });
    });
}
