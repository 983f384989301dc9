//! The settings of git that decide what a file on disk is in git's eyes, read once per snapshot.

use gix::bstr::ByteSlice;
use gix::config::Snapshot;
use gix::filter::plumbing::{Driver, eol};
use gix::glob::pattern::Case;

use super::Error;
use super::cache;
use crate::store::Repository;

/// Values of `core.*` and `filter.*`.
#[derive(Debug, Clone)]
pub(in crate::worktree) struct SnapshotSettings {
    /// `core.fileMode`: whether the executable bit on disk means anything.
    pub file_mode: bool,
    /// `core.symlinks`: whether links are links; if not, git writes them as files that hold the target.
    pub symlinks: bool,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// `core.precomposeUnicode`: whether names are listed with their accents composed.
    pub precompose: bool,
    /// `core.trustCtime`.
    pub trust_ctime: bool,
    /// `core.checkStat` is not `minimal`.
    pub check_stat: bool,
    /// `core.autocrlf` and `core.eol`.
    pub eol: eol::Configuration,
    /// `filter.<name>.*`.
    pub drivers: Vec<Driver>,
}

impl SnapshotSettings {
    pub(in crate::worktree) fn of(repo: &Repository) -> Result<Self, Error> {
        let config = repo.config_snapshot();
        let flag = |key: &str, default| config.boolean(key).unwrap_or(default);
        let checked = |key: &'static str, default| checked_flag(&config, key, default);
        Ok(Self {
            file_mode: flag("core.fileMode", !cfg!(windows)),
            symlinks: flag("core.symlinks", true),
            ignore_case: flag("core.ignoreCase", false),
            precompose: flag("core.precomposeUnicode", false),
            trust_ctime: checked("core.trustCtime", true)?,
            check_stat: check_stat(&config)?,
            eol: eol::Configuration {
                auto_crlf: auto_crlf(&config)?,
                eol: default_eol(&config),
            },
            drivers: drivers(&config)?,
        })
    }

    /// A number that differs when other blobs could come from the same files.
    pub(super) fn digest(&self) -> u64 {
        // Of every member, those of gix by their debug form, as they have no hash.
        cache::digest(format!("{self:?}"))
    }

    /// How names are matched with patterns.
    pub(in crate::worktree) fn case(&self) -> Case {
        if self.ignore_case { Case::Fold } else { Case::Sensitive }
    }

    /// Conversion of line ends where no attribute applies.
    pub(super) fn default_eol(&self) -> eol::AttributesDigest {
        self.eol.auto_crlf.into()
    }

    pub(super) fn driver(&self, name: &[u8]) -> Option<&Driver> {
        self.drivers.iter().find(|driver| driver.name.as_bytes() == name)
    }
}

// gix gives other words than git's for what is wrong, takes some of it for unset, and fails on what git takes for unset:
// a wrong `core.autocrlf` would store other bytes than `git add`.

/// A yes or no; anything else is an error, as for git.
fn checked_flag(config: &Snapshot<'_>, key: &'static str, default: bool) -> Result<bool, Error> {
    match config.try_boolean(key) {
        Ok(None) => Ok(default),
        Ok(Some(flag)) => Ok(flag),
        Err(_) => Err(bad(config, key, "it must be true or false")),
    }
}

fn bad(config: &Snapshot<'_>, key: impl Into<String>, why: &str) -> Error {
    let key = key.into();
    let value = config.string(key.as_str()).unwrap_or_default().to_string();
    let why = why.to_owned();
    Error::Setting { key, value, why }
}

fn check_stat(config: &Snapshot<'_>) -> Result<bool, Error> {
    const KEY: &str = "core.checkStat";
    match config.string(KEY) {
        None => Ok(true),
        Some(value) if value.eq_ignore_ascii_case(b"default") => Ok(true),
        Some(value) if value.eq_ignore_ascii_case(b"minimal") => Ok(false),
        Some(_) => Err(bad(config, KEY, "it must be default or minimal")),
    }
}

fn auto_crlf(config: &Snapshot<'_>) -> Result<eol::AutoCrlf, Error> {
    const KEY: &str = "core.autocrlf";
    if config
        .string(KEY)
        .is_some_and(|value| value.eq_ignore_ascii_case(b"input"))
    {
        return Ok(eol::AutoCrlf::Input);
    }
    match config.try_boolean(KEY) {
        Ok(None | Some(false)) => Ok(eol::AutoCrlf::Disabled),
        Ok(Some(true)) => Ok(eol::AutoCrlf::Enabled),
        Err(_) => Err(bad(config, KEY, "it must be true, false or input")),
    }
}

/// Default conversion of line ends; as in git, an unknown value counts as unset.
fn default_eol(config: &Snapshot<'_>) -> Option<eol::Mode> {
    let value = config.string("core.eol")?.to_ascii_lowercase();
    match value.as_slice() {
        b"lf" => Some(eol::Mode::Lf),
        b"crlf" => Some(eol::Mode::CrLf),
        b"native" => Some(if cfg!(windows) { eol::Mode::CrLf } else { eol::Mode::Lf }),
        _ => None,
    }
}

/// The filters in the settings, from files that may name programs.
fn drivers(config: &Snapshot<'_>) -> Result<Vec<Driver>, Error> {
    let mut drivers = Vec::<Driver>::new();
    let sections = config.plumbing().sections_by_name("filter").into_iter().flatten();
    for section in sections.filter(|section| section.meta().trust == gix::sec::Trust::Full) {
        let Some(name) = section.header().subsection_name() else {
            continue;
        };
        let at = drivers
            .iter()
            .position(|driver| driver.name == name)
            .unwrap_or_else(|| {
                drivers.push(Driver {
                    name: name.to_owned(),
                    clean: None,
                    smudge: None,
                    process: None,
                    required: false,
                });
                drivers.len() - 1
            });
        let driver = &mut drivers[at];
        driver.clean = section.value("clean").or(driver.clean.take());
        driver.smudge = section.value("smudge").or(driver.smudge.take());
        driver.process = section.value("process").or(driver.process.take());
        let key = format!("filter.{name}.required");
        driver.required = match config.try_boolean(key.as_str()) {
            Ok(required) => required.unwrap_or(false),
            Err(_) => return Err(bad(config, key, "it must be true or false")),
        };
    }
    Ok(drivers)
}
