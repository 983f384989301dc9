//! Which session a checkpoint belongs to, kept beside the session so that asking costs the same however much it holds.
//!
//! A note and nothing more: it counts only for the very commit it was written for, and while the pack is there that the
//! commit was in then; whoever finds none reads the document and writes one. So it need not be durable, and may be
//! deleted.

use super::{
    Error, ObjectId, Repository, objects::Commits, place, place::own_folder, private_dir, private_path, refs, session,
    sharing,
};
use crate::{
    model::{id::SESSION_ID_LEN, name::Name},
    os,
};

/// The identity noted for the newest checkpoint of the session of this name. `None` says nothing: not even that there is
/// such a session.
pub fn noted(repo: &Repository, session: &Name) -> Option<String> {
    let path = private_path(repo).join("tips").join(session.as_str());
    let text = String::from_utf8(os::read_regular(&path).ok()?).ok()?;
    let mut words = text.strip_suffix('\n')?.split(' ');
    let (Some(commit), Some(id), Some(pack), None) = (words.next(), words.next(), words.next(), words.next()) else {
        return None;
    };
    let tip = refs::read_unproved(repo, &session::ref_name(session)).ok()??;
    // The name of a pack says what is in it.
    let packs = place::objects_dir(repo).join("pack");
    let is_there = |end: &str| packs.join(pack).with_extension(end).is_file();
    let holds = tip.to_hex() == commit && id.len() == SESSION_ID_LEN && is_pack(pack);
    (holds && is_there("idx") && is_there("pack")).then(|| id.to_owned())
}

/// Notes it, where the commit is in a pack of this repository.
pub fn note(repo: &Repository, session: &Name, tip: ObjectId, id: &str) -> Result<(), Error> {
    let index = Commits::new(repo).index_with(&tip);
    let own = index.filter(|index| index.parent() == Some(&place::objects_dir(repo).join("pack")));
    let pack = own.and_then(|index| index.file_stem()?.to_str().map(str::to_owned));
    let Some(pack) = pack.filter(|pack| is_pack(pack)) else {
        return Ok(());
    };
    let folder = own_folder(repo, private_dir(repo)?.join("tips"))?;
    let path = folder.join(session.as_str());
    let text = format!("{} {id} {pack}\n", tip.to_hex());
    os::replace(&path, text.as_bytes(), sharing(repo), false).map_err(Error::io("write", path))
}

/// Whether this is the name of a pack, and of no other place.
fn is_pack(name: &str) -> bool {
    name.strip_prefix("pack-")
        .is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}
