//! Stories: what a user does with the program, told command by command and checked with git.

mod accidents;
mod apply;
mod autosave;
mod bad_input;
mod broken;
mod damage;
mod documents;
mod drafts;
mod feature;
mod fork;
mod full_disk;
mod history;
mod hooks;
mod import;
mod interrupted;
#[cfg(target_os = "linux")]
mod lookout;
mod many;
mod neutral;
mod newcomer;
mod property;
mod prune;
mod purge;
mod record;
mod record_more;
mod record_seen;
mod record_session;
mod restore;
mod save;
mod session;
mod steps;
mod undo;
