//! Stories: what a user does with the program, reported command by command and checked with git.

mod accidents;
#[cfg(target_os = "linux")]
mod agent_moments;
mod agent_order;
mod agent_words;
mod agents;
mod amend;
mod apply;
mod asked_for;
mod autosave;
#[cfg(target_os = "linux")]
mod autosave_loop;
mod bad_input;
mod beside;
#[cfg(unix)]
mod borders;
mod branch_words;
mod branches;
mod broken;
mod claims;
mod cleaning;
mod columns;
mod common_base;
mod concurrency;
mod damage;
mod descriptors;
mod displaced;
mod documents;
mod draft_kept;
mod drafts;
#[cfg(target_os = "linux")]
mod elsewhere;
mod everyday;
mod everything;
mod explore;
mod export_to;
mod feature;
mod fields;
#[cfg(target_os = "linux")]
mod file_systems;
mod filtered_files;
mod find;
mod fork;
mod fork_ready;
mod fork_removal;
mod fork_submodules;
mod formats;
mod full_disk;
mod handed_back;
mod hints;
mod history;
mod hooks;
mod import;
mod interrupted;
mod journeys;
mod large_files;
mod later_commits;
mod left_out;
mod merge;
mod merge_abort;
mod merge_conclusion;
mod merge_pending;
mod merge_random;
mod merge_record;
#[cfg(unix)]
mod merge_structure;
mod merge_summary;
mod misstated;
#[cfg(unix)]
mod nested;
mod neutral;
mod newcomer;
mod operations;
#[cfg(unix)]
mod outputs;
mod owners;
mod parts;
mod prompts;
mod property;
mod prune;
mod purge;
mod purged_paths;
mod put_aside;
mod put_aside_shapes;
mod questions;
mod record;
mod record_more;
mod record_seen;
mod record_session;
mod recorded;
mod restore;
mod resume;
mod reverting;
mod rewritten;
mod said_and_done;
mod save;
#[cfg(unix)]
mod see;
mod serve;
mod session;
mod small_faults;
mod steps;
mod surface;
mod taking_up;
mod tool_errors;
mod transcript_copy;
mod transcript_growth;
mod transcripts;
mod turns;
mod unchanged;
mod undo;
#[cfg(target_os = "linux")]
mod unfiltered;
mod unreadable;
mod way_back;
mod wording;
