//! Which session a checkpoint belongs to, kept beside the session so that asking costs the same however much it holds.
//!
//! A note and nothing more: it counts only for the very commit it was written for, and whoever finds none reads the
//! document and writes one. So it need not be durable, and may be deleted.

use super::{Error, ObjectId, Repository, place::own_folder, private_dir, private_path, sharing};
use crate::{
    model::{id::SESSION_ID_LEN, name::Name},
    os,
};

/// The identity noted for this checkpoint, the newest of the session of this name.
pub fn noted(repo: &Repository, session: &Name, tip: ObjectId) -> Option<String> {
    let path = private_path(repo).join("tips").join(session.as_str());
    let text = String::from_utf8(os::read_regular(&path).ok()?).ok()?;
    let (commit, id) = text.strip_suffix('\n')?.split_once(' ')?;
    (tip.to_hex() == commit && id.len() == SESSION_ID_LEN).then(|| id.to_owned())
}

/// Notes it.
pub fn note(repo: &Repository, session: &Name, tip: ObjectId, id: &str) -> Result<(), Error> {
    let folder = own_folder(repo, private_dir(repo)?.join("tips"))?;
    let path = folder.join(session.as_str());
    let text = format!("{} {id}\n", tip.to_hex());
    os::replace(&path, text.as_bytes(), sharing(repo), false).map_err(Error::io("write", path))
}
