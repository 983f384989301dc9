//! Lines of files next to the repository, such as drafts: one that holds text of a person or agent is encrypted as a
//! whole, in base64, but for its number.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{DecryptionFailure, Encryptor, KeyFiles, keys};
use crate::model::json::to_line;
use crate::store::{Error, Repository};

/// The member that has the line.
const MEMBER: &str = "encrypted";

/// The line for a value with its number `n`, which stays readable at the line's end; in plain text without an encryptor.
pub fn encrypted_line<T: serde::Serialize>(encryptor: Option<&Encryptor>, line: &T, n: u64) -> Result<Vec<u8>, Error> {
    let plain = to_line(line);
    let Some(encryptor) = encryptor else { return Ok(plain) };
    let text = STANDARD.encode(encryptor.encrypt(&plain)?);
    Ok(to_line(&json!({ MEMBER: text, "n": n })))
}

/// Whether a line is an encrypted one.
pub fn is_encrypted_line(line: &[u8]) -> bool {
    line.starts_with(b"{\"encrypted\":")
}

/// The line as it was before; the same one where it was not encrypted.
pub fn decrypted_line<'l>(repo: &Repository, line: &'l [u8]) -> Result<Cow<'l, [u8]>, DecryptionFailure> {
    // Most lines are not, and are parsed once.
    if !is_encrypted_line(line) {
        return Ok(line.into());
    }
    let damaged = |why: &str| DecryptionFailure::Damaged(why.to_owned());
    let value: Value = serde_json::from_slice(line).map_err(|error| DecryptionFailure::Damaged(error.to_string()))?;
    let text = value[MEMBER].as_str().ok_or_else(|| damaged("it has no text"))?;
    let bytes = STANDARD.decode(text).map_err(|_| damaged("it is no base64"))?;
    keys::decrypt(&KeyFiles::of(repo), &bytes).map(Cow::Owned)
}
