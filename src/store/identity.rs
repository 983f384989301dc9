//! Which session a checkpoint belongs to and its state, kept next to the session so that asking costs the same however
//! much it holds.
//!
//! A note and nothing more: it counts only for the very commit it was written for, and while the pack is there that the
//! commit was in then; without one the document is read and one is written. So it need not be durable, and may be
//! deleted.

use super::{
    Error, ObjectId, Repository, checkpoint::Checkpoint, objects::PackReader, paths, paths::own_directory, private_dir,
    private_path, refs, session, sharing,
};
use crate::{
    model::{document::SessionStatus, id::SESSION_ID_LEN, name::ShortName},
    os,
};

/// Note about a session's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// Its identity.
    pub id: String,
    /// Its status in the latest checkpoint's document.
    pub status: SessionStatus,
}

/// Note for the latest checkpoint of the session of this name. `None` means unknown: the session may not exist.
pub fn noted(repo: &Repository, session: &ShortName) -> Option<SessionRecord> {
    let path = private_path(repo).join("tips").join(session.as_str());
    let text = String::from_utf8(os::read_regular(&path).ok()?).ok()?;
    let words: Vec<&str> = text.strip_suffix('\n')?.split(' ').collect();
    let [commit, id, pack, status] = words[..] else {
        return None;
    };
    let status = status.parse().ok()?;
    let tip = refs::read_unproved(repo, &session::ref_name(session)).ok()??;
    // The name of a pack follows from what is in it.
    let packs = paths::objects_dir(repo).join("pack");
    let is_there = |end: &str| packs.join(pack).with_extension(end).is_file();
    let holds = tip.to_hex() == commit && id.len() == SESSION_ID_LEN && is_pack(pack);
    let id = id.to_owned();
    (holds && is_there("idx") && is_there("pack")).then_some(SessionRecord { tip, id, status })
}

/// Notes the identity in the document of the latest checkpoint, where that is in a pack of this repository.
pub fn note(repo: &Repository, session: &ShortName, tip: &Checkpoint) -> Result<(), Error> {
    // To add to an encrypted session, its recipients must have been read.
    if tip.document.encrypted.is_some() {
        return Ok(());
    }
    let said = &tip.document.session;
    let tip = tip.entry.id;
    let index = PackReader::new(repo).index_with(&tip);
    let own = index.filter(|index| index.parent() == Some(&paths::objects_dir(repo).join("pack")));
    let pack = own.and_then(|index| index.file_stem()?.to_str().map(str::to_owned));
    let Some(pack) = pack.filter(|pack| is_pack(pack)) else {
        return Ok(());
    };
    let directory = own_directory(repo, private_dir(repo)?.join("tips"))?;
    let path = directory.join(session.as_str());
    let text = format!("{} {} {pack} {}\n", tip.to_hex(), said.id, said.status.word());
    os::replace(&path, text.as_bytes(), sharing(repo), false).map_err(Error::io("write", path))
}

/// Whether this is the name of a pack, and of no other place.
fn is_pack(name: &str) -> bool {
    name.strip_prefix("pack-")
        .is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}
