//! Failures of git that are about single refs of a remote, by its words.

use super::Error;

/// Whether some of the refs are what failed, not the connection.
pub(super) fn is_of_some(error: &Error) -> bool {
    match error {
        Error::Unreachable {
            denied, missing, why, ..
        } => !denied && !missing && why.iter().any(|line| is_of_one(line)),
        _ => false,
    }
}

/// Whether git said that the remote lacks a ref.
pub(super) fn is_absent(line: &str) -> bool {
    line.to_ascii_lowercase().contains("couldn't find remote ref")
}

/// Whether what git said is about the objects of one ref, not about the connection.
fn is_of_one(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    [
        "did not send all necessary objects",
        "bad object",
        "invalid index-pack output",
        "unpack-objects failed",
        "index-pack failed",
        "missing",
        "fsck error",
        "not our ref",
        "corrupt",
        "unable to read",
        "couldn't find remote ref",
        "upload-pack",
    ]
    .iter()
    .any(|part| line.contains(part))
}
