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
/// The member that has the mark.
const MARK: &str = "mark";

/// The line for a value with its number `n`, which stays readable at the line's end; in plain text without an encryptor.
pub fn encrypted_line<T: serde::Serialize>(encryptor: Option<&Encryptor>, line: &T, n: u64) -> Result<Vec<u8>, Error> {
    match encryptor {
        None => Ok(to_line(line)),
        Some(encryptor) => line_known_by(encryptor, line, None, n),
    }
}

/// The encrypted line for a value, with a mark by which who cannot read the line knows what it is.
pub fn line_known_by<T: serde::Serialize>(
    encryptor: &Encryptor,
    line: &T,
    mark: Option<&str>,
    n: u64,
) -> Result<Vec<u8>, Error> {
    let text = STANDARD.encode(encryptor.encrypt(&to_line(line))?);
    // The number is looked for at the end of the line.
    Ok(match mark {
        Some(mark) => to_line(&json!({ MEMBER: text, MARK: mark, "n": n })),
        None => to_line(&json!({ MEMBER: text, "n": n })),
    })
}

/// The mark of an encrypted line.
pub fn mark_of(line: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(line).ok()?;
    Some(value[MARK].as_str()?.to_owned())
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
