//! Putting an agent's own session into place, so that the agent resumes it: on another machine, in another directory, or
//! a copy of it that ends at an earlier turn.
//!
//! A file of the agent's is never replaced. Where its session is there already and is not an earlier state of ours, the
//! agent continues with what it has.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::super::{Error, Scene};
use crate::{
    agents::{
        self, Agent,
        session_file::{SessionCopy, SessionFile},
    },
    model::{document::Document, path, transcript::TranscriptInfo},
    os,
    store::{
        self,
        agents::{self as bindings},
        checkpoint::Fault,
        current::SessionRef,
        transcripts,
    },
};

/// The largest small file of an agent that is read.
const SMALL: u64 = 4 << 20;

/// A session of an agent that a checkpoint keeps.
#[derive(Clone, Debug)]
pub struct KeptSession {
    /// The agent.
    pub agent: &'static dyn Agent,
    /// Its entry in the document.
    pub info: TranscriptInfo,
    /// The place of the entry.
    pub n: usize,
}

/// The agent's session that a checkpoint is about: that of its turn, else the last one that was kept. With `agent` one of
/// that agent.
pub fn kept(document: &Document, agent: Option<&str>) -> Option<KeptSession> {
    let is_of = |info: &&TranscriptInfo| agent.is_none_or(|name| info.agent == name);
    let of_turn = document.turn.as_ref().and_then(|turn| {
        let is_same = |info: &&TranscriptInfo| info.agent == turn.agent && info.agent_session == turn.agent_session;
        document.transcripts.iter().filter(is_of).find(is_same)
    });
    let info = of_turn.or_else(|| document.transcripts.iter().rfind(is_of))?;
    Some(KeptSession {
        agent: agents::named(&info.agent)?,
        n: document.transcripts.iter().position(|known| known == info)?,
        info: info.clone(),
    })
}

/// The same, of an agent that resumes a session from a file.
pub fn resumable(document: &Document, agent: Option<&str>) -> Option<KeptSession> {
    kept(document, agent).filter(KeptSession::resumes)
}

impl KeptSession {
    /// Whether its agent resumes a session from a file.
    pub fn resumes(&self) -> bool {
        !self.agent.resume_command("").is_empty()
    }
}

/// The place in which a session is to be resumed.
#[derive(Clone, Debug)]
pub struct ResumePlace<'a> {
    /// The agent's directory of settings and sessions.
    pub directory: &'a Path,
    /// The root of the working tree.
    pub root: &'a Path,
    /// Whether it is a copy under an id of its own.
    pub is_copy: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// Outcome for an agent's session.
#[derive(Clone, Debug)]
pub struct ResumedSession {
    /// The agent's name.
    pub agent: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The id by which it is resumed.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// Whether the file was written, or would be.
    pub written: bool,
    /// The command that has to come first, where the agent imports the file.
    pub import: Vec<String>,
    /// The command that resumes it.
    pub command: Vec<String>,
}

/// Makes the file of a session, for a root of a working tree.
pub fn file(
    scene: &Scene<'_>,
    document: &Document,
    kept: &KeptSession,
    root: &Path,
    fresh_id: Option<&str>,
    read: &dyn Fn(&Path) -> Option<Vec<u8>>,
) -> Result<SessionFile, Error> {
    let damaged = |fault: Fault| Error::damaged(document.session.name.as_str())(fault);
    let bytes = transcripts::read(scene.repo, document, kept.n).map_err(damaged)?;
    let layout = agents::layout(kept.agent, &bytes);
    let mut facts = agents::read(kept.agent, layout, &bytes, scene.now).state.facts;
    facts.id = Some(kept.info.agent_session.clone());
    let from = path::unquote(document.worktree.path.as_bytes()).unwrap_or_default();
    let from = String::from_utf8_lossy(&from);
    let to = root.to_string_lossy();
    let copy = SessionCopy {
        bytes: &bytes,
        layout,
        facts: &facts,
        from: &from,
        to: &to,
        fresh_id,
        now: scene.now,
        read,
    };
    kept.agent.session_file(&copy).map_err(|reason| Error::AgentSession {
        agent: kept.agent.title(),
        reason,
    })
}

/// Puts a session into place and binds it to the session here.
pub fn resume(
    scene: &Scene<'_>,
    session: SessionRef,
    document: &Document,
    kept: &KeptSession,
    place: &ResumePlace<'_>,
) -> Result<ResumedSession, Error> {
    let read = |path: &Path| small(&place.directory.join(path));
    let fresh = fresh_id(kept.agent.name())?;
    let mut made = file(
        scene,
        document,
        kept,
        place.root,
        place.is_copy.then_some(&fresh),
        &read,
    )?;
    let mut path = place.directory.join(&made.path);
    let mut written = true;
    match length(&path)? {
        None => {}
        // The agent has it, and more than we have.
        Some(there) if there >= made.bytes.len() as u64 => written = false,
        Some(_) => {
            made = file(scene, document, kept, place.root, Some(&fresh), &read)?;
            path = place.directory.join(&made.path);
        }
    }
    if written && !place.dry_run {
        write(&path, &made.bytes)?;
        for (other, bytes) in &made.also {
            let other = place.directory.join(other);
            if length(&other)?.is_none() {
                write(&other, bytes)?;
            }
        }
    }
    if !place.dry_run {
        let _ordered = bindings::lock(scene.repo, kept.agent.name(), &made.id, scene.wait)?;
        let mut binding = bindings::read(scene.repo, kept.agent.name(), &made.id);
        binding.session = Some(session);
        binding.worktree = store::worktree_id(scene.repo);
        bindings::write(scene.repo, &binding)?;
    }
    let command = kept.agent.resume_command(&made.id);
    let imports = kept.agent.name() == "opencode" && written;
    let import = ["opencode".to_owned(), "import".to_owned(), path.display().to_string()];
    Ok(ResumedSession {
        agent: kept.agent.name(),
        title: kept.agent.title(),
        command: command.into_iter().map(str::to_owned).collect(),
        import: if imports { import.to_vec() } else { Vec::new() },
        id: made.id,
        path,
        written,
    })
}

/// The length of a file; `None` where there is none.
fn length(path: &Path) -> Result<Option<u64>, Error> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::AgentFile {
            action: "read",
            path: path.display().to_string(),
            source,
        }),
    }
}

fn small(path: &Path) -> Option<Vec<u8>> {
    let (_, size) = os::open_regular_sized(path).ok()?;
    (size <= SMALL).then(|| os::read_regular(path).ok())?
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::AgentFile {
        action: "write",
        path: path.display().to_string(),
        source,
    };
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    os::replace_users(path, bytes).map_err(failed)?;
    os::trace::changed();
    Ok(())
}

/// A new id in the form that the agent gives its sessions.
pub fn fresh_id(agent: &str) -> Result<String, Error> {
    let random = super::super::ids::session_id()? + &super::super::ids::session_id()?;
    let mut bytes: [u8; 16] = Sha256::digest(random)[..16].try_into().unwrap_or_default();
    if agent == "opencode" {
        return Ok(format!("ses_{}", crate::model::chat::hex(&bytes[..13])));
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = crate::model::chat::hex(&bytes);
    let part = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default().to_owned();
    Ok([part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-"))
}

/// The words of a command for a shell.
pub fn shell_line(words: &[String]) -> String {
    words
        .iter()
        .map(|word| crate::model::step::quoted(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The words with which an agent starts with a prompt, and where the prompt goes.
pub fn prompt_command(agent: &str) -> Option<&'static [&'static str]> {
    match agent {
        "claude-code" => Some(&["claude"]),
        "codex" => Some(&["codex"]),
        "gemini" => Some(&["gemini", "--prompt-interactive"]),
        "qwen" => Some(&["qwen", "--prompt-interactive"]),
        "copilot" => Some(&["copilot", "--interactive"]),
        "opencode" => Some(&["opencode", "--prompt"]),
        "pi" => Some(&["pi"]),
        "cline" => Some(&["cline", "--tui"]),
        "cursor" => Some(&["cursor-agent"]),
        _ => None,
    }
}
