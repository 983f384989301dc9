//! Which session of this repository a fetched one is. A session may have another name here than there, if it was renamed.

use super::{
    super::{ChainRelation, Error, Wire, chain, fetch, find},
    PullMode, PullRequest,
};
use crate::{
    model::name::ShortName,
    ops::{Error as OpsError, Scene, remote_names, session_choice},
    store::{ObjectId, refs, remote::Remote, session},
};

/// The name that a fetched session has or gets here: `<session>-<remote>` where another session has its own.
pub(super) fn name_here(scene: &Scene<'_>, remote: &Remote, name: &ShortName) -> Result<ShortName, Error> {
    match known_here(scene, remote, name, PullMode::Done)? {
        KnownSession::As(known) => return Ok(known),
        KnownSession::No => return Ok(name.clone()),
        KnownSession::NameTaken => {}
    }
    let other = ShortName::like(&format!("{name}-{}", remote.name));
    let is_free = |name: &ShortName| matches!(session::tip(scene.repo, name), Ok(None));
    let mut names = std::iter::once(other.clone()).chain((2..1000).map(|n| other.numbered(n)));
    names.find(is_free).ok_or(OpsError::Exists { name: other }.into())
}

/// The name that a session of this repository has at the remote of a pull, as it was last seen there.
pub(super) fn there(scene: &Scene<'_>, request: &PullRequest, name: &ShortName) -> Result<ShortName, Error> {
    let remote = find(scene, request.remote.as_deref(), false)?;
    Ok(remote_names::name_there(scene, &remote, name)?)
}

/// Fetches a session. One that is not there any more under its name is looked for among all that the remote has: it may have
/// been renamed.
pub(super) fn fetch_under_its_name(
    scene: &Scene<'_>,
    request: &PullRequest,
    name: ShortName,
    wire: Wire<'_>,
) -> Result<(ShortName, fetch::FetchOutcome), Error> {
    let fetch = |session: Option<&ShortName>| {
        let fetch = fetch::FetchRequest {
            remote: request.remote.clone(),
            session: session.cloned(),
            only: None,
            since: None,
            accept: request.accept && session.is_some(),
            dry_run: request.dry_run,
        };
        if request.dry_run {
            fetch::look(scene, &fetch, wire)
        } else {
            fetch::fetch(scene, &fetch, wire)
        }
    };
    let renamed = |fetched: &fetch::FetchOutcome| {
        let found = fetched.sessions.iter().find(|found| found.name == name);
        found.and_then(|found| found.renamed.clone())
    };
    let fetched = fetch(Some(&name))?;
    let is_gone = fetched
        .sessions
        .iter()
        .any(|found| found.name == name && found.change == fetch::RemoteChange::Deleted && !found.taken);
    let mut other = renamed(&fetched);
    if is_gone {
        other = renamed(&fetch(None)?);
    }
    match other {
        Some(other) => {
            let fetched = fetch(Some(&other))?;
            Ok((other, fetched))
        }
        None => Ok((name, fetched)),
    }
}

/// Whether a fetched session is one of this repository.
pub(super) enum KnownSession {
    /// It is, by this name.
    As(ShortName),
    /// It is not, and another session has its name.
    NameTaken,
    /// It is not.
    No,
}

/// Finds the session that was fetched among those of this repository. One that was renamed here or there is the same: two refs
/// of one identity would share draft, chat and autosaves.
pub(super) fn known_here(
    scene: &Scene<'_>,
    remote: &Remote,
    name: &ShortName,
    mode: PullMode,
) -> Result<KnownSession, Error> {
    let ours = session_choice::named(scene, name)?;
    let Some(theirs) = fetched_tip(scene, remote, name, mode)? else {
        return Ok(ours.map_or(KnownSession::No, |_| KnownSession::NameTaken));
    };
    let theirs = session_choice::load(scene, &format!("{}/{name}", remote.name), theirs)?;
    let id = &theirs.document.session.id;
    if let Some(ours) = &ours {
        let is_same = ours.tip.document.session.id == *id
            || chain::relation(scene.repo, ours.tip.entry.id, theirs.entry.id)? != ChainRelation::Unrelated;
        if is_same {
            return Ok(KnownSession::As(ours.name.clone()));
        }
    }
    Ok(match session_choice::of_identity(scene, id)? {
        Some(known) => KnownSession::As(known.name),
        None if ours.is_some() => KnownSession::NameTaken,
        None => KnownSession::No,
    })
}

/// The latest checkpoint of a session as it was fetched.
pub(super) fn fetched_tip(
    scene: &Scene<'_>,
    remote: &Remote,
    there: &ShortName,
    mode: PullMode,
) -> Result<Option<ObjectId>, Error> {
    match mode {
        PullMode::Planned(Some(tip)) => Ok(Some(tip)),
        _ => Ok(refs::read(scene.repo, &remote.tracking_ref(there))?),
    }
}
