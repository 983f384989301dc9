//! Plain values: what a session, a checkpoint and its record are, and how they are written as bytes.
//!
//! No I/O, no clock, no randomness and no git library: times and identities come in as arguments, and bytes go out.
//! Everything a stored checkpoint consists of can therefore be tested, and read again, without a repository.

pub mod agent_turn;
pub mod binary_text;
pub mod change;
pub mod chat;
pub mod claim;
pub mod comparison;
pub mod document;
pub mod encryption;
pub mod excerpt;
pub mod facts;
pub mod hook;
pub mod id;
pub mod item;
pub mod json;
pub mod list;
pub mod merge;
pub mod message;
pub mod name;
pub mod operation;
pub mod outline;
pub mod patch;
pub mod path;
pub mod plan;
pub mod record;
pub mod report;
mod schema;
pub mod selector;
pub mod session;
pub mod spelling;
pub mod splice;
pub mod step;
pub mod time;
pub mod transcript;
pub mod tree_mode;
pub mod turn;
pub mod watch;
