//! The repository that a command opened, for what is done after the command.

use std::path::PathBuf;

use crate::{
    ops::{Scene, repositories},
    store::undo::ListMark,
};

/// A repository that a command opened.
#[derive(Clone, Debug)]
pub(super) struct VisitedRepository {
    pub(super) directory: PathBuf,
    pub(super) is_listed: bool,
    /// Its git directory, which linked working trees share.
    pub(super) common: PathBuf,
    /// The undo list of the working tree when the command began.
    pub(super) list: ListMark,
}

impl VisitedRepository {
    /// The repository, and whether its settings let it be noted.
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        Self {
            directory: repositories::directory_of(scene.repo),
            is_listed: scene.settings.repository_list,
            common: scene.repo.common_dir().to_owned(),
            list: ListMark::of(scene.repo),
        }
    }
}
