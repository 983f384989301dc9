//! A file takes the place of another, which is looked at once more before it is gone.

use std::io;

use super::step::StepResult;
use crate::os::dir::{Dir, Meta};

/// Gives the new file the name, if what has the name is still what it was before.
pub(super) fn replace(
    dir: &Dir,
    temporary: &[u8],
    name: &[u8],
    before: Option<&Meta>,
    ours: &Meta,
) -> io::Result<StepResult> {
    let Some(before) = before else {
        return match dir.rename_to_free(temporary, name) {
            Ok(()) => Ok(StepResult::Done),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                dir.remove(temporary)?;
                Ok(StepResult::Moved)
            }
            Err(error) => Err(error),
        };
    };
    if dir.stat(name).ok().as_ref() != Some(before) {
        dir.remove(temporary)?;
        return Ok(StepResult::Moved);
    }
    match dir.exchange(temporary, name) {
        Ok(true) => {}
        Ok(false) => {
            // No such call: between the look above and this there is an instant that is not checked.
            dir.rename(temporary, name)?;
            return Ok(StepResult::Done);
        }
        Err(error) if is_gone(&error) => {
            dir.remove(temporary)?;
            return Ok(StepResult::Moved);
        }
        Err(error) => return Err(error),
    }
    // The old file has the temporary name now. No other process knows that name, so it is the replaced file.
    if dir.stat(temporary).is_ok_and(|old| is_same(before, &old)) {
        dir.remove(temporary)?;
        return Ok(StepResult::Done);
    }
    // It was changed in the last instant: back with it, and only what is ours goes.
    match dir.exchange(temporary, name) {
        Ok(true) if dir.stat(temporary).is_ok_and(|now| is_same(ours, &now)) => {
            dir.remove(temporary)?;
            Ok(StepResult::Moved)
        }
        _ => Ok(left_as(temporary)),
    }
}

pub(super) fn left_as(temporary: &[u8]) -> StepResult {
    let name = String::from_utf8_lossy(temporary);
    StepResult::Failed(format!(
        "it changed at the same moment; the former file is next to it as '{name}'"
    ))
}

/// Whether a file that got another name is the one it was. Its change time is not compared: the new name changed it.
pub(super) fn is_same(before: &Meta, now: &Meta) -> bool {
    let key = |meta: &Meta| (meta.kind, meta.dev, meta.ino, meta.size, meta.mtime, meta.mode);
    key(before) == key(now)
}

/// The path or its directory is not there any more, or is something else.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
