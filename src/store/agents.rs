//! The sessions of coding agents that are bound to sessions here: one small file for each in the private directory.
//!
//! Everything that must not be lost is in the checkpoints. A lost file costs at most a second copy of injected context and a new
//! binding to the current session.

use std::{fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    Error, Repository, checkpoint, current::SessionRef, encryption, identity, lock, private_dir, private_path, session,
    session_recipients, sharing,
};
use crate::{
    model::{agent_turn::NO_PROMPT, chat::hex, id::Oid, json, time::Timestamp},
    os,
};

/// The directory below the private one.
pub(super) const DIRECTORY: &str = "agents";
/// How many keys of past turns are kept to recognize a late report.
const KEYS: usize = 64;

/// A session of an agent, and the state of the conversation between its hooks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// The agent's name.
    pub agent: String,
    /// The agent's own id of its session.
    pub agent_session: String,
    /// The session that its checkpoints go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionRef>,
    /// The working tree of its last event.
    #[serde(default)]
    pub worktree: String,
    /// The turn that has begun and not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<OpenTurn>,
    /// How many prompts were reported.
    #[serde(default)]
    pub prompts: u64,
    /// Keys of turns that are saved, the latest last.
    #[serde(default)]
    pub saved: Vec<String>,
    /// SHA-256 of the context that was injected last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected: Option<String>,
    /// The agent's session file, as of its last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The key of the latest turn in that file when a turn ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_turn: Option<String>,
    /// Its last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastEvent>,
    /// The last event that failed, until it was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<LastEvent>,
    /// Whether the agent reported the end of its session.
    #[serde(default)]
    pub ended: bool,
    /// The process of the agent, where the system shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<AgentProcess>,
    /// The last turn that was saved without a report of its prompt, which may still come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unannounced: Option<UnannouncedTurn>,
}

/// The process that an agent's session runs in, as its last events showed it. Numbers of processes are used again, so
/// each one is known by its number and by when it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProcess {
    /// The boot of the machine and the namespace in which the numbers are valid.
    pub scope: String,
    /// The agent, last; before it those that may have been started for one event alone.
    pub chain: Vec<ProcessId>,
    /// Whether two events had the agent in common: then its end proves that the session has ended.
    #[serde(default)]
    pub is_confirmed: bool,
}

/// A process, which no other one is mistaken for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub id: u32,
    /// When it started, in the words of the system.
    pub started: String,
}

/// A turn whose end was reported without its prompt, by an agent that gives turns no ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnannouncedTurn {
    /// The first line of its prompt, redacted, from the agent's session file.
    pub subject: String,
    /// The time of its end.
    pub at: Timestamp,
}

/// A turn between its prompt and its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenTurn {
    /// The agent's id of the turn, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The number of the prompt in the agent's session, from 1.
    pub number: u64,
    /// The first line of the prompt, redacted.
    pub subject: String,
    /// The whole prompt, redacted, where the agent had no session file to read it from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The time of the prompt.
    pub started_at: Timestamp,
    /// The latest checkpoint of the session at the prompt: the state in which the turn began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Oid>,
    /// Whether the prompt was handled so late that the files of its time were not saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inexact: bool,
}

impl OpenTurn {
    /// Whether its prompt is not known yet.
    pub fn has_no_subject(&self) -> bool {
        self.subject == NO_PROMPT
    }
}

/// The last event of an agent's session, for `agents` and `status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastEvent {
    /// The occasion's word.
    pub occasion: String,
    /// Its time.
    pub at: Timestamp,
    /// Outcome: `saved`, `unchanged`, `bound`, `ignored` or `failed`.
    pub outcome: String,
    /// The checkpoint, or the reason.
    pub detail: String,
    /// How long it took, in milliseconds.
    pub took: u64,
}

impl Binding {
    /// Notes that a turn is saved.
    pub fn remember(&mut self, key: &str) {
        self.saved.push(key.to_owned());
        let excess = self.saved.len().saturating_sub(KEYS);
        self.saved.drain(..excess);
    }
}

/// The name of a binding's file: the agent and a digest of its session's id, which may hold anything and may differ
/// from another in case alone.
fn file_name(agent: &str, agent_session: &str) -> String {
    format!("{}.json", stem(agent, agent_session))
}

/// The name of a binding's file without its extension.
pub(super) fn stem(agent: &str, agent_session: &str) -> String {
    let digest = Sha256::digest(format!("{agent}\0{agent_session}"));
    format!("{agent}-{}", hex(&digest[..8]))
}

fn path(repo: &Repository, agent: &str, agent_session: &str) -> PathBuf {
    private_path(repo).join(DIRECTORY).join(file_name(agent, agent_session))
}

/// The lock under which events of one agent session are handled one after the other.
pub fn lock(
    repo: &Repository,
    agent: &str,
    agent_session: &str,
    wait: std::time::Duration,
) -> Result<lock::HeldLock, Error> {
    lock::agent(repo, &stem(agent, agent_session), wait)
}

/// The binding of an agent's session; a new one where there is none, or where the file is damaged.
pub fn read(repo: &Repository, agent: &str, agent_session: &str) -> Binding {
    let read = os::read_regular(&path(repo, agent, agent_session)).ok();
    let read = read.and_then(|bytes| parsed(repo, bytes));
    read.filter(|binding| binding.agent == agent && binding.agent_session == agent_session)
        .unwrap_or_else(|| Binding {
            agent: agent.to_owned(),
            agent_session: agent_session.to_owned(),
            ..Binding::default()
        })
}

/// A binding, decrypted where it is encrypted.
fn parsed(repo: &Repository, bytes: Vec<u8>) -> Option<Binding> {
    let bytes = encryption::decrypted(repo, bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The bytes that are written: a binding has the subject of a prompt.
fn stored(repo: &Repository, binding: &Binding) -> Result<Vec<u8>, Error> {
    let Some(session) = &binding.session else {
        let encryptor = encryption::Encryptor::configured(repo)?;
        return sealed(repo, binding, encryptor.as_ref());
    };
    // Of an encrypted session nothing is noted, so that its latest checkpoint is read, which shows to whom.
    if identity::noted(repo, &session.name).is_none()
        && let Ok(Some(tip)) = session::tip(repo, &session.name)
    {
        // One that cannot be read is reported where it is needed.
        let _ = checkpoint::load(repo, tip);
    }
    sealed(
        repo,
        binding,
        session_recipients::of_session(repo, &session.id)?.as_deref(),
    )
}

/// The bytes, encrypted. What could not be read here without a question would be lost with the next event, and with it that the
/// event failed: that is written in the clear, without what is private.
fn sealed(repo: &Repository, binding: &Binding, encryptor: Option<&encryption::Encryptor>) -> Result<Vec<u8>, Error> {
    let Some(encryptor) = encryptor else {
        return Ok(json::to_bytes(binding));
    };
    let sealed = encryptor.encrypt(&json::to_bytes(binding))?;
    if encryption::opened_unasked(repo, &sealed).is_some() {
        return Ok(sealed);
    }
    let mut public = binding.clone();
    public.unannounced = None;
    if let Some(turn) = &mut public.turn {
        NO_PROMPT.clone_into(&mut turn.subject);
        turn.prompt = None;
    }
    Ok(json::to_bytes(&public))
}

/// Writes a binding. Not synced: see the module.
pub fn write(repo: &Repository, binding: &Binding) -> Result<(), Error> {
    let directory = private_dir(repo)?.join(DIRECTORY);
    let failed = Error::io("create", &directory);
    os::private_dir(&directory, sharing(repo)).map_err(failed)?;
    let path = directory.join(file_name(&binding.agent, &binding.agent_session));
    os::replace(&path, &stored(repo, binding)?, sharing(repo), false).map_err(Error::io("write", path))
}

/// Forgets that an event failed, once it was said.
pub fn forget_error(repo: &Repository, binding: &Binding, wait: std::time::Duration) -> Result<(), Error> {
    let _lock = lock(repo, &binding.agent, &binding.agent_session, wait)?;
    let mut now = read(repo, &binding.agent, &binding.agent_session);
    if now.error == binding.error {
        now.error = None;
        write(repo, &now)?;
    }
    Ok(())
}

/// Removes bindings whose last event is older than this. An agent that resumes such a session is bound anew.
pub fn clean(repo: &Repository, before: Timestamp) -> Result<(), Error> {
    for binding in all(repo)? {
        if binding.last.as_ref().is_some_and(|last| last.at < before) {
            let path = path(repo, &binding.agent, &binding.agent_session);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", path)(error)),
                _ => {}
            }
        }
    }
    Ok(())
}

/// All bindings, the latest event first. Damaged files are left out, and so are all where another user keeps them.
pub fn all(repo: &Repository) -> Result<Vec<Binding>, Error> {
    let directory = private_path(repo).join(DIRECTORY);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(Error::io("read", directory)(error)),
    };
    let mut all: Vec<Binding> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
        .filter_map(|entry| os::read_regular(&entry.path()).ok())
        .filter_map(|bytes| parsed(repo, bytes))
        .collect();
    all.sort_by(|one, other| {
        let at = |binding: &Binding| binding.last.as_ref().map(|last| last.at);
        at(other)
            .cmp(&at(one))
            .then_with(|| one.agent_session.cmp(&other.agent_session))
    });
    Ok(all)
}
