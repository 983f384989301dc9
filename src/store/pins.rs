//! Pins: checkpoints that a prune keeps, by digest, in `<common>/checkpoint/pins`.
//!
//! By digest because a prune gives checkpoints other commit ids. Of this clone alone: what other users keep is
//! their choice.

use std::collections::BTreeSet;
use std::time::Duration;
use std::{fs, io, io::Write as _};

use super::{Error, OwnFile, Repository, lock, private_dir, private_path, sharing};
use crate::{model::id::Digest, os};

/// The digests that are pinned. A line that is no digest is an error: a pin must not get lost.
pub fn read(repo: &Repository) -> Result<BTreeSet<Digest>, Error> {
    let path = private_path(repo).join("pins");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    text.lines()
        .map(|line| Digest::parse(line).map_err(Error::malformed(OwnFile::Pins, &path)))
        .collect()
}

/// Changes the pins under their lock; nothing is written if `change` returns that it changed nothing.
pub fn update(
    repo: &Repository,
    wait: Duration,
    change: impl FnOnce(&mut BTreeSet<Digest>) -> bool,
) -> Result<bool, Error> {
    let _held = lock::common(repo, "pins", "the list of pins", wait)?;
    let mut pins = read(repo)?;
    if !change(&mut pins) {
        return Ok(false);
    }
    let path = private_dir(repo)?.join("pins");
    let fresh = path.with_extension("tmp");
    let mut text = String::new();
    for pin in &pins {
        text.push_str(pin.as_str());
        text.push('\n');
    }
    let written = os::private_file(&fresh, sharing(repo)).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        os::sync(&file)
    });
    written.map_err(Error::io("write", &fresh))?;
    fs::rename(&fresh, &path).map_err(Error::io("write", &path))?;
    path.parent()
        .map_or(Ok(()), os::sync_dir)
        .map_err(Error::io("write", &path))?;
    os::trace::changed();
    Ok(true)
}
