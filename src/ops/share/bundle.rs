//! `bundle` and `unbundle`: sessions with their files in one file, for a hand-over without a server.
//!
//! The file is a bundle of git's own, which `git fetch FILE` reads as well. It holds everything that the checkpoints
//! lead to, the project's history among it. What comes in goes through the same quarantine and the same checks as a fetch.

use std::path::{Path, PathBuf};

use super::{Error, Wire, exchange, fetch, pull};
use crate::{
    model::name::ShortName,
    ops::{Error as OpsError, Scene, compose, session_choice, suggestions},
    store::{
        self, ObjectId,
        refs::{self, ExpectedValue, RefUpdate},
        remote::Remote,
        session,
    },
};

/// The sessions that are to be written.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The file, absolute.
    pub file: PathBuf,
    /// The sessions; the current one when there are none.
    pub sessions: Vec<ShortName>,
    /// Whether all sessions are meant.
    pub all: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// A bundle that was written.
#[derive(Debug)]
pub struct Bundled {
    /// The sessions in it with their latest checkpoints.
    pub sessions: Vec<(ShortName, ObjectId)>,
    /// The size of the file in bytes; none in a dry run.
    pub bytes: Option<u64>,
    /// Commits in it whose parents are not: this clone is shallow. Only a repository that has the parents can read it.
    pub border: Vec<ObjectId>,
}

/// Writes a bundle. The file must not be there yet.
pub fn create(scene: &Scene<'_>, request: &Request, wire: Wire<'_>) -> Result<Bundled, Error> {
    if !request.dry_run {
        refs::recover(scene.repo, scene.wait)?;
    }
    let mut names = request.sessions.clone();
    if request.all {
        names = session::all(scene.repo)?
            .into_iter()
            .filter(|found| found.tip.is_ok())
            .filter_map(|found| ShortName::new(found.name).ok())
            .collect();
    } else if names.is_empty() {
        names.push(
            session_choice::session_for_command(scene)?
                .ok_or_else(|| suggestions::none_current(scene))?
                .name,
        );
    }
    names.sort();
    names.dedup();
    let mut sessions = Vec::new();
    for name in names {
        let found = session_choice::named(scene, &name)?.ok_or_else(|| OpsError::absent(name))?;
        sessions.push((found.name, found.tip.entry.id));
    }
    let border = border(scene, sessions.iter().map(|(_, tip)| *tip))?;
    if request.dry_run {
        return Ok(Bundled {
            sessions,
            bytes: None,
            border,
        });
    }
    let refs = sessions.iter().map(|(name, _)| session::ref_name(name));
    let git = store::git(scene.repo)
        .args(["bundle", "create", "--progress"])
        .arg(&request.file)
        .args(refs);
    let exchange = exchange(git, wire, None)?;
    if exchange.code != Some(0) {
        return Err(Error::BundleNotWritten {
            file: request.file.clone(),
            why: super::reasons(&exchange.words),
        });
    }
    let bytes = std::fs::metadata(&request.file).map_or(0, |meta| meta.len());
    Ok(Bundled {
        sessions,
        bytes: Some(bytes),
        border,
    })
}

/// The commits at the border of a shallow clone that checkpoints lead to.
fn border(scene: &Scene<'_>, tips: impl Iterator<Item = ObjectId>) -> Result<Vec<ObjectId>, Error> {
    let shallow = scene.repo.shallow_commits();
    let shallow = shallow.map_err(|error| store::Error::gix("read the shallow commits")(error))?;
    let Some(shallow) = shallow else {
        return Ok(Vec::new());
    };
    let tips: Vec<String> = tips.map(|tip| tip.to_string()).collect();
    let listed = store::git(scene.repo)
        .args(["rev-list", "--stdin"])
        .input(tips.join("\n"))
        .run();
    let listed = listed.map_err(store::Error::from)?.stdout;
    let mut border: Vec<_> = listed
        .split(|byte| *byte == b'\n')
        .filter_map(|line| ObjectId::from_hex(line).ok())
        .collect();
    border.retain(|id| shallow.contains(id));
    Ok(border)
}

/// Outcome of reading a bundle.
#[derive(Debug)]
pub struct Unbundled {
    /// The sessions that are here now, or would be.
    pub sessions: Vec<pull::PulledSession>,
    /// Sessions that are not safe to use, each with the reason.
    pub refused: Vec<(String, String)>,
}

/// Brings in the sessions of a bundle: those of these names, or all without one. A session that is here already and went
/// on in both places is kept beside the one that comes, as a pull does.
pub fn open(scene: &Scene<'_>, file: &Path, wanted: &[ShortName], wire: Wire<'_>) -> Result<Unbundled, Error> {
    let remote = remote(file);
    let request = fetch::FetchRequest::default();
    let fetched = fetch::from(scene, &request, remote.clone(), wire).map_err(|error| match error {
        Error::Unreachable { why, .. } => Error::BundleNotRead {
            file: file.to_owned(),
            why,
        },
        error => error,
    })?;
    let refused = fetched.refused;
    let mut sessions = Vec::new();
    let mut failed = None;
    for name in fetched.sessions.iter().map(|found| &found.name) {
        if !wanted.is_empty() && !wanted.contains(name) {
            continue;
        }
        match pull::bring(scene, &remote, name) {
            Ok(pulled) => sessions.push(pulled),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    // A bundle is read once; nothing is known of it afterwards.
    let left = refs::list(scene.repo, &remote.tracking())?;
    let edits: Vec<RefUpdate> = left
        .into_iter()
        .map(|(name, _)| RefUpdate {
            name,
            expected: ExpectedValue::Unreadable,
            new: None,
            message: String::new(),
        })
        .collect();
    let committer = compose::people(scene).committer;
    refs::update(scene.repo, &edits, &committer, scene.wait)?;
    match failed {
        Some(error) => Err(error),
        None => Ok(Unbundled { sessions, refused }),
    }
}

/// A bundle as the remote that git takes it for.
fn remote(file: &Path) -> Remote {
    let path = file.to_string_lossy().into_owned();
    Remote {
        name: path.clone(),
        url: path,
        push_url: None,
        mirror: false,
        namespace: session::PREFIX.to_owned(),
        namespace_fault: None,
    }
}
