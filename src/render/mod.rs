//! Values to text: what people, programs and agents read. Pure functions of their arguments: no git, no clock, no
//! terminal; width, time and style come in.

pub mod age;
pub mod agent_servers;
pub mod agents;
pub mod amend;
pub mod batch;
pub mod bisect;
pub mod blame;
pub mod chat;
pub mod checkpoint;
pub mod count;
pub mod diff;
pub mod document;
pub mod draft;
pub mod escape;
pub mod export;
pub mod exported_commit;
pub mod fence;
pub mod file_log;
pub mod fork;
pub mod forks;
pub mod format;
pub mod graph;
pub mod guide;
pub mod help;
pub mod hooks;
#[cfg(feature = "report")]
pub mod html;
pub mod import;
pub mod indicator;
pub mod items;
pub mod markdown;
pub mod merge;
pub mod messages;
pub mod outline;
#[cfg(feature = "serve")]
pub mod page;
pub mod page_address;
pub mod patch;
pub mod prompt;
pub mod prune;
pub mod purge;
pub mod push_queue;
pub mod receipt;
pub mod record;
pub mod rekey;
pub mod report;
pub mod restore;
pub mod resume;
pub mod retry;
pub mod schemas;
pub mod search;
pub mod session_change;
pub mod sessions;
pub mod setup;
pub mod share;
pub mod signature;
pub mod slot;
pub mod stats;
pub mod status;
pub mod step;
pub mod table;
pub mod text;
pub mod tokens;
pub mod turns;
pub mod unbroken;
pub mod verify;
pub mod watch;

use schemars::JsonSchema;
use serde::Serialize;

/// The output of a command: JSON for programs, whose schema is that of the type, and text for people.
pub trait View: Serialize + JsonSchema {
    /// The text, on standard output.
    fn text(&self) -> text::Text;

    /// Whether it is the plan of a dry run whose text does not say so: a line below it does then.
    fn is_dry_run(&self) -> bool {
        false
    }

    /// The message on standard error where there is nothing to show.
    fn nothing(&self) -> Option<String> {
        None
    }
}
