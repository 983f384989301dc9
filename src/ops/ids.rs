//! Fresh identities, and ids as people read them.

use super::Error;
use crate::{model::id, os, store::ObjectId};

/// A new session's identity.
pub(super) fn session_id() -> Result<String, Error> {
    let mut text = token()? + &token()?;
    text.truncate(id::SESSION_ID_LEN);
    Ok(text)
}

/// A new id for an item, an operation, a draft or the end of a generated name.
pub(super) fn item_id() -> Result<String, Error> {
    let mut text = token()?;
    text.truncate(id::ITEM_ID_LEN);
    Ok(text)
}

/// The first digits of a commit's id.
pub(super) fn short(id: ObjectId) -> String {
    id.to_hex_with_len(8).to_string()
}

fn token() -> Result<String, Error> {
    os::random_token().map_err(Error::Random)
}
