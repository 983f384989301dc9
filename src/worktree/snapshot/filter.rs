//! The user's filter programs, run as `git add` runs them: once a file, or one long-running process for all.

use gix::bstr::{BStr, ByteSlice};
use gix::filter::plumbing::Driver;
use gix::filter::plumbing::driver::apply::Context;
use gix::filter::plumbing::driver::{Operation, State, shutdown};

use super::Error;
use crate::store::Repository;

/// The filter gave no content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed;

/// Running filters, and what they are told.
pub(super) struct Filters {
    state: State,
}

impl Filters {
    pub(super) fn new(repo: &Repository) -> Result<Self, Error> {
        let context = repo.command_context().map_err(Error::gix("prepare filters"))?;
        Ok(Self {
            state: State::new(context),
        })
    }

    /// What the filter makes of a file's content; `None` if it has no program for that, so that the content stays.
    ///
    /// A failing filter is [`Failed`] even where git would then store the content as it is: what a filter is there to
    /// hide must not get into a commit because its program is missing.
    pub(super) fn clean(&mut self, driver: &Driver, content: &[u8], path: &[u8]) -> Result<Option<Vec<u8>>, Failed> {
        if driver.clean.is_none() && driver.process.is_none() {
            return if driver.required { Err(Failed) } else { Ok(None) };
        }
        // With `required` gix reports failures instead of giving the content back.
        let driver = Driver {
            required: true,
            ..driver.clone()
        };
        let path: &BStr = path.as_bstr();
        let context = Context {
            rela_path: path,
            ref_name: None,
            treeish: None,
            blob: None,
        };
        let mut source = content;
        let output = self
            .state
            .apply(&driver, &mut source, Operation::Clean, context)
            .map_err(|_| Failed)?;
        let Some(mut output) = output else {
            return Err(Failed);
        };
        let mut cleaned = Vec::new();
        std::io::Read::read_to_end(&mut output, &mut cleaned).map_err(|_| Failed)?;
        Ok(Some(cleaned))
    }
}

impl Drop for Filters {
    fn drop(&mut self) {
        // How a filter ends after it gave all content does not matter, to git neither.
        let _ = self.state.shutdown(shutdown::Mode::WaitForProcesses);
    }
}
