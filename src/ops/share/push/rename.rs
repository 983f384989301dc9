//! Another name for a session whose automatic name the remote has given to another one.

use super::super::Error;
use crate::{
    model::{name::ShortName, selector::Selector},
    ops::{Scene, compose, ref_transaction::Aftermath, session_choice, switch},
    store::{refs, remote::Remote, session},
};

/// How many checkpoints are looked at for the branch that a session was named after.
const LOOKED_AT: usize = 1_000;
/// The longest part of a user's name that a session gets.
const USER: usize = 20;

/// A session that was renamed so that it could be pushed, or in a dry run would be.
#[derive(Debug)]
pub struct RenamedForPush {
    /// Its name before.
    pub from: ShortName,
    /// Its name now.
    pub to: ShortName,
    /// Warnings after the change.
    pub aftermath: Aftermath,
}

/// Renames a session `<name>-<user>` if its name is automatic; `None` where it was chosen.
pub(super) fn give_way(
    scene: &Scene<'_>,
    remote: &Remote,
    name: &ShortName,
    dry_run: bool,
) -> Result<Option<RenamedForPush>, Error> {
    if !is_automatic(scene, name)? {
        return Ok(None);
    }
    let user = ShortName::like(&compose::people(scene).author.name.to_string());
    let user: String = user.as_str().chars().take(USER).collect();
    let first = ShortName::slug(name.as_str(), user.trim_end_matches(['-', '.', '_']));
    let is_free = |name: &ShortName| {
        matches!(session::tip(scene.repo, name), Ok(None))
            && matches!(refs::read(scene.repo, &remote.tracking_ref(name)), Ok(None))
    };
    let numbered = (2..100_u32).map(|n| first.numbered(n));
    let Some(to) = std::iter::once(first.clone()).chain(numbered).find(is_free) else {
        return Ok(None);
    };
    let selector = Selector::parse(name.as_str()).map_err(crate::ops::Error::from)?;
    let renamed = switch::rename(scene, &selector, &to, false, dry_run)?;
    Ok(Some(RenamedForPush {
        from: renamed.from,
        to,
        aftermath: renamed.aftermath,
    }))
}

/// Whether a session is called after a branch that it was saved on, as a session without a given name is.
fn is_automatic(scene: &Scene<'_>, name: &ShortName) -> Result<bool, Error> {
    let Some(tip) = session::tip(scene.repo, name)? else {
        return Ok(false);
    };
    let is_after = |branch: &str| {
        let plain = ShortName::like(branch);
        let number = name.as_str().strip_prefix(plain.as_str());
        number.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok()))
    };
    let document = session_choice::load(scene, name.as_str(), tip)?.document;
    if document.git.branch.as_deref().is_some_and(is_after) {
        return Ok(true);
    }
    let chain = session::chain(scene.repo, tip).take(LOOKED_AT);
    Ok(chain
        .filter_map(Result::ok)
        .any(|entry| entry.trailers.branch.as_deref().is_some_and(is_after)))
}
