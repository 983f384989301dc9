//! Which repositories take part: the setting `checkpoint.agents`.

use super::super::{Error, Scene};
use crate::{git::Git, store};

/// Where the setting is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// This repository.
    Repository,
    /// All repositories of the user.
    User,
}

/// Switches the setting on, or takes it out again. Both may be done twice.
pub fn set(scene: &Scene<'_>, extent: Extent, on: bool) -> Result<(), Error> {
    let place = match extent {
        Extent::Repository => "--local",
        Extent::User => "--global",
    };
    let git: Git = store::git(scene.repo);
    let git = if on {
        git.args(["config", place, "checkpoint.agents", "on"])
    } else {
        // 5: the setting is not there.
        git.args(["config", place, "--unset-all", "checkpoint.agents"])
            .accept([5])
    };
    git.run().map_err(store::Error::from)?;
    crate::os::trace::changed();
    Ok(())
}
