//! Values to text: what people, programs and agents read. Pure functions of their arguments: no git, no clock, no
//! terminal; width, time and style come in.

pub mod age;
pub mod checkpoint;
pub mod count;
pub mod diff;
pub mod escape;
pub mod fork;
pub mod format;
pub mod graph;
pub mod items;
pub mod markdown;
pub mod patch;
pub mod prompt;
pub mod receipt;
pub mod report;
pub mod restore;
pub mod sessions;
pub mod slot;
pub mod table;
pub mod text;
