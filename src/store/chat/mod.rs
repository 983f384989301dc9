//! The chat of a session on disk: what waits to be saved, and the chunks next to a document.
//!
//! Messages are appended to a file of their own next to the record's draft, so that adding one costs the same whatever
//! the chat's length; a save moves them into chunks, of which it rewrites the last one only. A document names the last
//! line it took from the file, as it does for drafts, so a save that was killed takes nothing twice.

mod chunks;
mod known;
mod marks;
mod merge;
mod pending;

pub use chunks::{AppendOutcome, Chunks, ReplacedMessage, SavedMessages, append, read_text};
pub use known::{Fingerprint, Known, Pending, UnreadMessages, pending};
pub use marks::{lock_reading, lock_transcripts, read_marks, write_marks};
pub use merge::{ChatMerge, ChatSides, merge};
pub use pending::{PendingChat, PendingMessage, add, forget, last_entry, read, remove, take_out, waits};
