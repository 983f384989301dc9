//! Failures of the store as those of an operation, and an error that several places make.

use super::{super::ids, Error};
use crate::{
    model::name::ShortName,
    store::{
        self,
        ancestry::AncestryFault,
        checkpoint::{Fault, WriteError},
        rewrite::RewriteError,
    },
};

impl Error {
    /// The error for a text that means nothing and is like nothing.
    pub(in crate::ops) fn absent(text: impl std::fmt::Display) -> Self {
        Self::NotFound {
            text: text.to_string(),
            candidates: Vec::new(),
            remote: None,
            is_deleted: false,
        }
    }
}

impl From<RewriteError> for Error {
    fn from(error: RewriteError) -> Self {
        match error {
            RewriteError::Store(error) => Self::Store(error),
            error @ RewriteError::Fault(_) => Self::Rewriting(error),
        }
    }
}

impl From<AncestryFault> for Error {
    fn from(faulty: AncestryFault) -> Self {
        Self::damaged(ids::short(faulty.id))(*faulty.fault)
    }
}

impl Error {
    /// A damaged checkpoint, for `map_err`.
    pub(in crate::ops) fn damaged(subject: impl Into<String>) -> impl FnOnce(Fault) -> Self {
        let subject = subject.into();
        move |fault| Self::Damaged {
            subject,
            fault: Box::new(fault),
        }
    }

    /// A failure to write what is next to a document, for `map_err`.
    pub(in crate::ops) fn writing(subject: impl Into<String>) -> impl FnOnce(WriteError) -> Self {
        let subject = subject.into();
        move |error| match error {
            WriteError::Fault(fault) => Self::damaged(subject)(fault),
            WriteError::Store(error) => error.into(),
        }
    }

    /// Steps of a session that could not be folded in, for `map_err`.
    pub(in crate::ops) fn steps(session: &ShortName) -> impl FnOnce(store::steps::FoldError) -> Self {
        move |error| match error {
            store::steps::FoldError::Fault(fault) => Self::damaged(session.as_str())(fault),
            store::steps::FoldError::Patch(error) => error.into(),
            store::steps::FoldError::Store(error) => error.into(),
        }
    }
}
