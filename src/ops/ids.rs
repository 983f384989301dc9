//! Fresh identities.

use super::Error;
use crate::{model::id, os};

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

fn token() -> Result<String, Error> {
    os::random_token().map_err(Error::Random)
}
