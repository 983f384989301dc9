//! The settings of git that decide what a file on disk is in git's eyes, read once per snapshot.

use gix::bstr::ByteSlice;
use gix::filter::plumbing::{Driver, eol};
use gix::glob::pattern::Case;

use super::Error;
use super::cache;
use crate::store::Repository;

/// Values of `core.*` and `filter.*`.
#[derive(Debug, Clone)]
pub(in crate::worktree) struct Settings {
    /// `core.fileMode`: whether the executable bit on disk means anything.
    pub file_mode: bool,
    /// `core.symlinks`: whether links are links; if not, git writes them as files that hold the target.
    pub symlinks: bool,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// `core.trustCtime`.
    pub trust_ctime: bool,
    /// `core.checkStat` is not `minimal`.
    pub check_stat: bool,
    /// `core.autocrlf` and `core.eol`.
    pub eol: eol::Configuration,
    /// `filter.<name>.*`.
    pub drivers: Vec<Driver>,
}

impl Settings {
    pub(in crate::worktree) fn of(repo: &Repository) -> Result<Self, Error> {
        let config = repo.config_snapshot();
        let flag = |key: &str, default| config.boolean(key).unwrap_or(default);
        let stat = repo.stat_options().map_err(Error::gix("read the settings for stat"))?;
        let filter = gix::filter::Pipeline::options(repo).map_err(Error::gix("read the settings for filters"))?;
        Ok(Self {
            file_mode: flag("core.fileMode", !cfg!(windows)),
            symlinks: flag("core.symlinks", true),
            ignore_case: flag("core.ignoreCase", false),
            trust_ctime: stat.trust_ctime,
            check_stat: stat.check_stat,
            eol: filter.eol_config,
            drivers: filter.drivers,
        })
    }

    /// A number that differs when other blobs could come from the same files.
    pub(super) fn digest(&self) -> u64 {
        let drivers: Vec<_> = self.drivers.iter().map(|driver| format!("{driver:?}")).collect();
        cache::digest((
            self.file_mode,
            self.symlinks,
            self.ignore_case,
            format!("{:?}", self.eol),
            drivers,
        ))
    }

    /// How names are matched with patterns.
    pub(in crate::worktree) fn case(&self) -> Case {
        if self.ignore_case { Case::Fold } else { Case::Sensitive }
    }

    /// What line ends do where no attribute says anything.
    pub(super) fn default_eol(&self) -> eol::AttributesDigest {
        self.eol.auto_crlf.into()
    }

    pub(super) fn driver(&self, name: &[u8]) -> Option<&Driver> {
        self.drivers.iter().find(|driver| driver.name.as_bytes() == name)
    }
}
