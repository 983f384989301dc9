//! Sets up the hooks of coding agents in the user's own settings, and removes them again.
//!
//! The user's settings, because project settings miss subdirectories, linked working trees and untrusted directories.
//! A repository takes part by `checkpoint.agents`; in any other the hooks end at once.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::super::Error;
use crate::{
    agents::hooks::{
        adapter::{Adapter, Place},
        settings,
    },
    os,
};

/// The largest settings file that is edited.
const SIZE: u64 = 4 << 20;

/// An edit of an agent's file of hooks: made, or only planned.
#[derive(Debug)]
pub struct HooksEdit {
    /// The file.
    pub path: PathBuf,
    /// Its content before, `None` where there is no file.
    pub before: Option<String>,
    /// Its content after, `None` where the file goes.
    pub after: Option<String>,
}

impl HooksEdit {
    /// Whether anything changes.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }
}

/// The state of an agent's hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HooksState {
    /// Every event calls this program.
    Installed,
    /// Some events do not, or they call a program that is not there.
    Incomplete(String),
    /// None does.
    Absent,
    /// The file cannot be read, by the agent either.
    Broken(String),
}

/// Adds the hooks; gives the edits, one for each file.
pub fn enable(adapter: &Adapter, path: &Path, program: &str, dry_run: bool) -> Result<Vec<HooksEdit>, Error> {
    if adapter.place == Place::Scripts {
        return enable_scripts(adapter, path, program, dry_run);
    }
    let before = read(path)?;
    let after = match adapter.place {
        Place::Settings { rules, .. } => {
            let ours = |group: &serde_json::Value| adapter.is_ours(group);
            settings::with_groups(before.as_deref(), rules, &adapter.groups(program), &ours)
                .map_err(|error| refused(path, &error))?
        }
        Place::OwnJson | Place::Plugin(_) | Place::Scripts => adapter.own_file(program).unwrap_or_default(),
    };
    Ok(vec![write(path, before, Some(after), dry_run)?])
}

/// A script for each event. One of the user's stays; it may call this program itself, and where it does not, nothing is
/// written.
fn enable_scripts(adapter: &Adapter, directory: &Path, program: &str, dry_run: bool) -> Result<Vec<HooksEdit>, Error> {
    let mut planned = Vec::new();
    for (event, text) in adapter.scripts(program) {
        let path = directory.join(event);
        let before = read(&path)?;
        let after = match &before {
            Some(there) if adapter.is_own_script(there) => text,
            Some(there) if calls(adapter, event, there) => there.clone(),
            Some(_) => {
                let line = format!("git-checkpoint hook {} {event}", adapter.name);
                let reason = format!(
                    "it is a hook of yours, and {} runs one for each event; let it call '{line}' with its input",
                    adapter.title
                );
                return Err(Error::AgentSettings {
                    path: path.display().to_string(),
                    reason,
                });
            }
            None => text,
        };
        planned.push((path, before, after));
    }
    let mut edits = Vec::new();
    for (path, before, after) in planned {
        let edit = write(&path, before, Some(after), dry_run)?;
        if !dry_run && edit.changes() {
            os::make_executable(&path).map_err(|source| Error::AgentFile {
                action: "write",
                path: path.display().to_string(),
                source,
            })?;
        }
        edits.push(edit);
    }
    Ok(edits)
}

/// Whether a script of the user's calls this program for an event.
fn calls(adapter: &Adapter, event: &str, text: &str) -> bool {
    let call = format!("hook {} {event}", adapter.name);
    text.lines()
        .any(|line| !line.trim_start().starts_with('#') && line.contains("git-checkpoint") && line.contains(&call))
}

/// Removes the hooks, and exactly them.
pub fn disable(adapter: &Adapter, path: &Path, dry_run: bool) -> Result<Vec<HooksEdit>, Error> {
    if adapter.place == Place::Scripts {
        let mut edits = Vec::new();
        for (event, _) in adapter.events {
            let script = path.join(event);
            let before = read(&script)?;
            let after = before.clone().filter(|text| !adapter.is_own_script(text));
            edits.push(write(&script, before, after, dry_run)?);
        }
        return Ok(edits);
    }
    let before = read(path)?;
    let after = match (&before, adapter.place) {
        (None, _) | (Some(_), Place::OwnJson | Place::Plugin(_) | Place::Scripts) => None,
        (Some(text), Place::Settings { rules, .. }) => {
            let ours = |group: &serde_json::Value| adapter.is_ours(group);
            settings::without_groups(text, rules, &ours).map_err(|error| refused(path, &error))?
        }
    };
    Ok(vec![write(path, before, after, dry_run)?])
}

/// Looks at the scripts of an agent.
fn script_state(adapter: &Adapter, directory: &Path, program: &str) -> HooksState {
    let (mut missing, mut others, mut count) = (Vec::new(), 0, 0);
    for (event, text) in adapter.scripts(program) {
        let path = directory.join(event);
        match read(&path) {
            Err(error) => return HooksState::Broken(error.to_string()),
            Ok(Some(there)) if there == text || calls(adapter, event, &there) && !adapter.is_own_script(&there) => {
                count += 1;
                if !os::is_executable(&path) {
                    return HooksState::Incomplete(format!("'{event}' is not executable"));
                }
            }
            Ok(Some(there)) if adapter.is_own_script(&there) => others += 1,
            Ok(_) => missing.push(event),
        }
    }
    match (count, others) {
        (0, 0) => HooksState::Absent,
        (_, 0) if missing.is_empty() => HooksState::Installed,
        (_, 0) => HooksState::Incomplete(format!("missing: {}", missing.join(", "))),
        _ => HooksState::Incomplete("they are of another version or program".to_owned()),
    }
}

/// Looks at the hooks.
pub fn state(adapter: &Adapter, path: &Path, program: &str) -> HooksState {
    if adapter.place == Place::Scripts {
        return script_state(adapter, path, program);
    }
    let text = match read(path) {
        Ok(Some(text)) => text,
        Ok(None) => return HooksState::Absent,
        Err(error) => return HooksState::Broken(error.to_string()),
    };
    let Place::Settings { rules, .. } = adapter.place else {
        return match adapter.own_file(program) {
            Some(own) if own == text => HooksState::Installed,
            _ => HooksState::Incomplete("they are of another version or program".to_owned()),
        };
    };
    let ours = |group: &serde_json::Value| adapter.is_ours(group);
    match settings::events_of_ours(&text, rules, &ours) {
        Err(error) => HooksState::Broken(error.to_string()),
        Ok(events) if events.is_empty() => HooksState::Absent,
        Ok(events) => {
            let missing: Vec<&str> = adapter.events.iter().map(|(event, _)| *event).collect();
            let missing: Vec<&str> = missing
                .into_iter()
                .filter(|event| !events.iter().any(|e| e == event))
                .collect();
            if !missing.is_empty() {
                return HooksState::Incomplete(format!("missing: {}", missing.join(", ")));
            }
            let wanted = settings::with_groups(Some(&text), rules, &adapter.groups(program), &ours);
            if wanted.as_deref() == Ok(text.as_str()) {
                HooksState::Installed
            } else {
                HooksState::Incomplete("they call another program".to_owned())
            }
        }
    }
}

/// Edits a text file of the user: `change` gives its new content, or `None` where the file goes.
pub fn edit_text(
    path: &Path,
    dry_run: bool,
    change: impl FnOnce(Option<&str>) -> Option<String>,
) -> Result<HooksEdit, Error> {
    let before = read(path)?;
    let after = change(before.as_deref());
    write(path, before, after, dry_run)
}

fn refused(path: &Path, error: &settings::SettingsError) -> Error {
    Error::AgentSettings {
        path: path.display().to_string(),
        reason: error.to_string(),
    }
}

pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    let failed = |source| Error::AgentFile {
        action: "read",
        path: path.display().to_string(),
        source,
    };
    let (mut file, size) = match os::open_regular_sized(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if size > SIZE {
        return Err(failed(io::Error::other(format!(
            "it is larger than {} MiB",
            SIZE >> 20
        ))));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    String::from_utf8(bytes).map(Some).map_err(|_| Error::AgentSettings {
        path: path.display().to_string(),
        reason: "it is not UTF-8".to_owned(),
    })
}

fn write(path: &Path, before: Option<String>, after: Option<String>, dry_run: bool) -> Result<HooksEdit, Error> {
    let edit = HooksEdit {
        path: path.to_owned(),
        before,
        after,
    };
    if dry_run || !edit.changes() {
        return Ok(edit);
    }
    let failed = |source| Error::AgentFile {
        action: if edit.after.is_some() { "write" } else { "remove" },
        path: path.display().to_string(),
        source,
    };
    match &edit.after {
        Some(text) => {
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory).map_err(failed)?;
            }
            os::replace_users(path, text.as_bytes()).map_err(failed)?;
        }
        None => fs::remove_file(path).map_err(failed)?,
    }
    os::trace::changed();
    Ok(edit)
}
