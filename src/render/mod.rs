//! Values to text: what people, programs and agents read. Pure functions of their arguments: no git, no clock, no
//! terminal; width, time and style come in.

pub mod age;
pub mod agent_servers;
pub mod agents;
pub mod batch;
pub mod chat;
pub mod checkpoint;
pub mod count;
pub mod diff;
pub mod document;
pub mod draft;
pub mod escape;
pub mod fence;
pub mod fork;
pub mod format;
pub mod graph;
pub mod guide;
pub mod import;
pub mod items;
pub mod markdown;
pub mod merge;
pub mod outline;
pub mod patch;
pub mod prompt;
pub mod purge;
pub mod receipt;
pub mod report;
pub mod restore;
pub mod resume;
pub mod retry;
pub mod schemas;
pub mod sessions;
pub mod slot;
pub mod step;
pub mod table;
pub mod text;
