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
pub mod fence;
pub mod file_log;
pub mod fork;
pub mod format;
pub mod graph;
pub mod guide;
<<<<<<< HEAD
pub mod import;
=======
pub mod html;
>>>>>>> 6a6d4d3 (export: a page of HTML)
pub mod items;
pub mod markdown;
pub mod merge;
pub mod outline;
pub mod patch;
pub mod prompt;
pub mod purge;
pub mod receipt;
pub mod remove;
pub mod report;
pub mod restore;
pub mod resume;
pub mod retry;
pub mod schemas;
pub mod search;
pub mod sessions;
pub mod slot;
pub mod stats;
pub mod step;
pub mod table;
pub mod text;
