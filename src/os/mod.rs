//! Differences between operating systems: file locks with a deadline, durable directories, private files, names of host
//! and temporary files.
//!
//! Small functions over paths and files, nothing about git. What differs between systems is in `system` and `dir`. The tests
//! run on Linux, and `scripts/windows` runs a story of the Windows program under wine; what macOS does differently is
//! type-checked and written after its documentation. Time is read here only to measure a wait.

mod browser;
mod cancellation;
pub mod child;
mod child_guard;
mod cleanup;
mod content;
pub mod dir;
mod directory;
mod editor;
mod file;
mod hand_over;
mod input;
pub mod interrupt;
mod local_socket;
mod lock;
mod loopback;
mod machine;
mod manual;
pub mod notices;
#[cfg(target_os = "linux")]
mod open_files;
mod parallel;
mod process;
mod program;
mod protocol;
mod query;
mod replace;
mod reports;
mod retry;
mod rule_files;
mod scratch;
mod substitute;
mod support;
mod symlink;
mod system;
pub mod terminal;
mod thread_placement;
mod tool;
pub mod trace;
mod unsynced;
mod worker;

pub use browser::open_in_browser;
pub use cancellation::{Cancellation, complete_this, is_cancelled};
pub use child_guard::Guard;
pub use cleanup::CleanupFailure;
pub use content::{begins_with, is_same_content};
pub use directory::{Room, directory_bits, fill, publish_directory, room, shallow};
pub use editor::{editor_on_terminal, open_editor, run_attached};
pub use file::{
    Owner, Sharing, age, create_dir_durable, modified, open_regular, open_regular_sized, private_dir, private_file,
    read_regular, regular, sync_dir, temporary_dir,
};
pub use hand_over::{hand_over, moment};
pub use input::input_within;
pub use local_socket::{LocalListener, LocalStream, connect_local};
pub use lock::{Lock, is_locked, lock, lock_named, try_lock};
pub use loopback::LoopbackServer;
pub use machine::{host_name, ignored_signals, is_running, random_token, umask};
pub use manual::{has_manual, show_manual};
pub use parallel::{parallel_edit, parallel_map, parallel_runs, parallel_stream, processors};
pub use process::{AncestorProcess, ProcessHandle, ancestors, has_ended, own_process, process_scope, processor_time};
pub use program::Program;
pub use protocol::ProtocolStreams;
pub use query::{QueryOutcome, Question, Stopwatch, query_program};
pub use replace::{make_executable, replace, replace_users, replace_with, sweep_replacements};
pub use reports::{MOST_DIRECTORIES, OpenFiles, Reports, WatchError, mount_scope};
pub use retry::retry;
pub use rule_files::{system_attributes, user_rules};
pub use scratch::scratch_file;
pub use support::{is_out_of_files, out_of_files, sync, sync_data, sync_path};
pub use symlink::symlink_on_the_way;
pub use system::{
    ask_passphrase, file_id, is_executable, is_writable, leave_terminal, links, new_mode, os_string, program_names,
    read_exact_at, real_path, same_file, set_mode, shell, suspend, terminate, touch, variables, without_waiting,
};
pub use thread_placement::spawn_worker;
pub use tool::{ToolOutput, ask_at_terminal, can_ask_at_terminal, is_without_questions, run_tool, without_questions};
pub use unsynced::{Watermark, sync_all, sync_file_systems};
pub use worker::{run_alone, run_for};

use std::io;

/// Message of an I/O error, without the error number that the standard library appends.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    clause(text.split(" (os error").next().unwrap_or_default())
}

/// A sentence of another program as a part of one of ours: its first letter is small, names are in our quotes, and what
/// readers of JSON say is said in words.
pub fn clause(text: &str) -> String {
    let text = text.replace('`', "'").replace("EOF while parsing", "it ends within");
    let mut chars = text.chars();
    match chars.next() {
        // A sentence of the system ("No space left on device") starts a clause here, an abbreviation keeps its case.
        Some(first) if !chars.as_str().starts_with(char::is_uppercase) => first.to_lowercase().chain(chars).collect(),
        _ => text.clone(),
    }
}
