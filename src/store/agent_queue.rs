//! The order of the events of one agent session: a ticket for each event whose worker runs in the background.
//!
//! The hook draws a ticket before it starts its worker; the worker waits until no earlier ticket is held. A ticket is an
//! empty file, whose name has the time of the event, and which its worker keeps locked. One that no process locks was left
//! behind by a killed worker, and counts only until its worker should have started.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use super::{Error, Repository, agents, private_dir, private_path, sharing};
use crate::{model::time::Timestamp, os};

/// How long a worker may take until it holds its ticket.
const STARTS_WITHIN: Duration = Duration::from_secs(5);
/// How often a worker looks whether it is next.
const STEP: Duration = Duration::from_millis(10);
/// The extension of a ticket's name.
const EXTENSION: &str = "ticket";

/// The ticket of an event, held by its worker until it is dropped.
#[derive(Debug)]
pub struct Ticket {
    /// How long it waited for earlier ones.
    pub waited: Duration,
    path: PathBuf,
    _held: File,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // One that stays is stale as soon as this process has ended.
        let _ = fs::remove_file(&self.path);
    }
}

/// Draws a ticket for an event at this time; gives its name.
pub fn draw(repo: &Repository, agent: &str, agent_session: &str, at: Timestamp) -> Result<String, Error> {
    let directory = private_dir(repo)?.join(agents::DIRECTORY);
    os::private_dir(&directory, sharing(repo)).map_err(Error::io("create", &directory))?;
    let millis = at.to_chrono().timestamp_millis();
    let token = os::random_token().map_err(Error::io("create a name in", &directory))?;
    let name = format!(
        "{}.{millis:016}-{token}.{EXTENSION}",
        agents::stem(agent, agent_session)
    );
    let path = directory.join(&name);
    os::replace(&path, b"", sharing(repo), false).map_err(Error::io("write", path))?;
    Ok(name)
}

/// Gives a ticket back that no worker uses.
pub fn give_back(repo: &Repository, name: &str) {
    if let Ok(directory) = private_dir(repo) {
        let _ = fs::remove_file(directory.join(agents::DIRECTORY).join(name));
    }
}

/// How long ago a ticket was drawn.
pub fn age(repo: &Repository, name: &str) -> Option<Duration> {
    os::age(&private_path(repo).join(agents::DIRECTORY).join(name))
}

/// When a ticket was drawn, by the clock of the file system.
pub fn drawn_at(repo: &Repository, name: &str) -> Option<SystemTime> {
    os::modified(&private_path(repo).join(agents::DIRECTORY).join(name))
}

/// How many events of the agent session have an earlier ticket, as far as their tickets are still there.
pub fn ahead(repo: &Repository, agent: &str, agent_session: &str, name: &str) -> usize {
    let prefix = format!("{}.", agents::stem(agent, agent_session));
    let entries = fs::read_dir(private_path(repo).join(agents::DIRECTORY));
    let earlier = entries.into_iter().flatten().flatten().filter(|entry| {
        let other = entry.file_name();
        other
            .to_str()
            .is_some_and(|other| is_ticket(other, &prefix) && other < name)
    });
    earlier.count()
}

fn is_ticket(name: &str, prefix: &str) -> bool {
    name.starts_with(prefix) && Path::new(name).extension().is_some_and(|end| end == EXTENSION)
}

/// Waits until the event with this ticket is the earliest of its agent session, at most so long. Without a ticket of this
/// session there is no order to keep.
pub fn wait_for_turn(
    repo: &Repository,
    agent: &str,
    agent_session: &str,
    name: &str,
    wait: Duration,
) -> Result<Option<Ticket>, Error> {
    let prefix = format!("{}.", agents::stem(agent, agent_session));
    if !is_ticket(name, &prefix) || name.contains(['/', '\\']) {
        return Ok(None);
    }
    let directory = private_dir(repo)?.join(agents::DIRECTORY);
    let path = directory.join(name);
    let Ok(held) = File::open(&path) else { return Ok(None) };
    // No other process holds it but for the moment of a look.
    let _ = held.lock();
    let mut ticket = Ticket {
        waited: Duration::ZERO,
        path,
        _held: held,
    };
    let begun = Instant::now();
    loop {
        let entries = fs::read_dir(&directory).map_err(Error::io("read", &directory))?;
        let mut earlier = entries.flatten().filter(|entry| {
            let other = entry.file_name();
            other.to_str().is_some_and(|other| {
                let before = millis(name).saturating_sub(millis(other));
                let age = Duration::from_millis(before) + begun.elapsed();
                is_ticket(other, &prefix) && other < name && is_pending(&entry.path(), age)
            })
        });
        if earlier.next().is_none() || begun.elapsed() >= wait {
            ticket.waited = begun.elapsed();
            return Ok(Some(ticket));
        }
        std::thread::sleep(STEP);
    }
}

/// Waits until no event has a ticket, at most so long.
pub fn wait_until_idle(repo: &Repository, wait: Duration) {
    let directory = private_path(repo).join(agents::DIRECTORY);
    let begun = Instant::now();
    let is_waiting = |entry: fs::DirEntry| {
        let path = entry.path();
        let is_ticket = path.extension().is_some_and(|end| end == EXTENSION);
        is_ticket && is_pending(&path, os::age(&path).unwrap_or_default())
    };
    while begun.elapsed() < wait && fs::read_dir(&directory).into_iter().flatten().flatten().any(is_waiting) {
        std::thread::sleep(STEP);
    }
}

/// The time in a ticket's name, in milliseconds.
fn millis(name: &str) -> u64 {
    let digits = name.rsplit('.').nth(1).and_then(|word| word.split('-').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Whether a worker holds a ticket of this age or is about to. One that was left behind is removed.
fn is_pending(path: &Path, age: Duration) -> bool {
    let Ok(file) = File::open(path) else { return false };
    if file.try_lock().is_err() || age < STARTS_WITHIN {
        return true;
    }
    let _ = fs::remove_file(path);
    false
}
