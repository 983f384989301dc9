//! Stories: what a user does with the program, reported command by command and checked with git.

mod accidents;
mod agents;
mod apply;
mod autosave;
#[cfg(target_os = "linux")]
mod autosave_loop;
mod bad_input;
mod beside;
mod branches;
mod broken;
mod concurrency;
mod damage;
mod documents;
mod drafts;
mod everything;
mod feature;
#[cfg(target_os = "linux")]
mod file_systems;
mod fork;
mod full_disk;
mod history;
mod hooks;
mod import;
mod interrupted;
mod left_out;
mod neutral;
mod newcomer;
mod operations;
mod owners;
mod property;
mod prune;
mod purge;
mod put_aside;
mod record;
mod record_more;
mod record_seen;
mod record_session;
mod restore;
mod resume;
mod rewritten;
mod save;
mod session;
mod steps;
mod transcripts;
mod undo;
