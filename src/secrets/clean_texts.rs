//! Texts that were found clean in one piece of work, so that a copy of one is not scanned again: agents write what a tool
//! printed twice into a record, and the chat has once more what is in the session file.
//!
//! A text is known by a hash with a random key and its length. That two texts of a hundred thousand share both by chance
//! has a probability of 10^-10, and the key is another one in each process, so that such texts cannot be chosen.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::{Mutex, PoisonError},
};

/// Shorter texts are scanned faster than looked up.
const SHORT: usize = 64;

/// How a text is scanned; in one way it may be clean and in another one not.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScanContext<'n> {
    /// As the value of a member of this name, or of none.
    Member(Option<&'n str>),
    /// As the value of such a member of an image.
    Image(Option<&'n str>),
    /// For packed data.
    Packed,
}

/// The memory; threads share it.
#[derive(Debug, Default)]
pub(super) struct CleanTexts {
    key: RandomState,
    seen: Mutex<HashSet<(u64, usize)>>,
}

impl CleanTexts {
    /// Whether this text was clean in this context. Gives what [`add`](Self::add) takes where it is not known yet, and
    /// `None` where it is too short.
    pub(super) fn look_up(&self, context: ScanContext<'_>, text: &str) -> Option<MemoryAnswer> {
        if text.len() < SHORT {
            return None;
        }
        let mut hasher = self.key.build_hasher();
        let (number, name) = match context {
            ScanContext::Member(name) => (0, name),
            ScanContext::Image(name) => (1, name),
            ScanContext::Packed => (2, None),
        };
        hasher.write_u8(number);
        hasher.write_u8(u8::from(name.is_some()));
        let name = name.unwrap_or_default();
        hasher.write_usize(name.len());
        hasher.write(name.as_bytes());
        hasher.write(text.as_bytes());
        let key = (hasher.finish(), text.len());
        let is_clean = self.seen.lock().unwrap_or_else(PoisonError::into_inner).contains(&key);
        Some(if is_clean {
            MemoryAnswer::Clean
        } else {
            MemoryAnswer::New(key)
        })
    }

    /// Notes a text that was clean.
    pub(super) fn add(&self, key: (u64, usize)) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }
}

/// Answer of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAnswer {
    /// The text was clean.
    Clean,
    /// It is not known; this is its key.
    New((u64, usize)),
}
