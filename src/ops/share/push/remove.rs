//! Deletion of a session at a remote: exactly what was last seen of it there, and nothing that came since.
//!
//! What no session here holds goes to the trash, from which `undelete` brings it back.

use super::{
    super::{ChainRelation, Error, Wire, chain, exchange, find, unreachable},
    answer::RemoteAnswer,
};
use crate::{
    model::name::ShortName,
    ops::{Scene, compose, session_choice},
    store::{
        self, ObjectId, lock,
        refs::{self, ExpectedValue, RefUpdate},
        remote::Remote,
        session,
    },
};

/// A session that was deleted at a remote, or in a dry run would be.
#[derive(Debug)]
pub struct RemovedSession {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint there.
    pub tip: ObjectId,
    /// Whether a session here holds everything that was there.
    pub is_here: bool,
    /// The ref that keeps it here, where no session does.
    pub trash: Option<String>,
}

/// Deletes sessions at a remote, as they were last seen there.
pub fn remove(
    scene: &Scene<'_>,
    remote: &str,
    names: &[ShortName],
    dry_run: bool,
    wire: Wire<'_>,
) -> Result<Vec<RemovedSession>, Error> {
    let remote = find(scene, Some(remote), true)?;
    let mut removed = Vec::<RemovedSession>::new();
    for name in names {
        // A session may be meant by its identity, where it is here.
        let here = session_choice::named(scene, name).ok().flatten();
        let name = &here.map_or_else(|| name.clone(), |chosen| chosen.name);
        if removed.iter().any(|done| done.name == *name) {
            continue;
        }
        let Some(tip) = refs::read(scene.repo, &remote.tracking_ref(name))? else {
            return Err(Error::NotThere {
                remote: remote.name.clone(),
                session: name.to_string(),
            });
        };
        let here = session::tip(scene.repo, name)?;
        let relation = here.map(|here| chain::relation(scene.repo, here, tip)).transpose()?;
        removed.push(RemovedSession {
            name: name.clone(),
            tip,
            is_here: matches!(relation, Some(ChainRelation::Same | ChainRelation::Ahead(_))),
            trash: None,
        });
    }
    transfer(scene, &remote, &removed, dry_run, wire)?;
    if !dry_run {
        forget(scene, &remote, &mut removed)?;
    }
    Ok(removed)
}

/// Asks the remote, which deletes all of them or says why not.
fn transfer(
    scene: &Scene<'_>,
    remote: &Remote,
    removed: &[RemovedSession],
    dry_run: bool,
    wire: Wire<'_>,
) -> Result<(), Error> {
    let mut git = store::git(scene.repo)
        .user_hooks()
        .config("push.useForceIfIncludes=false")
        .args([
            "push",
            "--porcelain",
            "--progress",
            "--no-follow-tags",
            "--recurse-submodules=no",
        ]);
    if dry_run {
        git = git.arg("--dry-run");
    }
    for one in removed {
        git = git.arg(format!(
            "--force-with-lease={}:{}",
            session::ref_name(&one.name),
            one.tip
        ));
    }
    git = git.arg("--").arg(&remote.name);
    for one in removed {
        git = git.arg(format!(":{}", session::ref_name(&one.name)));
    }
    let exchange = exchange(git, wire, None)?;
    let output = String::from_utf8_lossy(&exchange.stdout);
    let answers: Vec<_> = output.lines().filter_map(RemoteAnswer::read).collect();
    for one in removed {
        let target = session::ref_name(&one.name);
        let answer = answers.iter().find(|(known, _)| *known == target);
        let why = match answer {
            Some((_, RemoteAnswer::Done | RemoteAnswer::UpToDate)) => continue,
            Some((_, RemoteAnswer::Moved(_))) => "it is not what was last fetched of it".to_owned(),
            Some((_, RemoteAnswer::Refused(why))) => why.clone(),
            None => return Err(unreachable(remote, &exchange.words)),
        };
        return Err(Error::NotDeleted {
            remote: remote.name.clone(),
            session: one.name.clone(),
            why,
        });
    }
    Ok(())
}

/// Removes what was noted of the sessions at the remote, and keeps what no session here has.
fn forget(scene: &Scene<'_>, remote: &Remote, removed: &mut [RemovedSession]) -> Result<(), Error> {
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    let mut edits = Vec::new();
    for one in removed.iter_mut() {
        // The message by which `undelete` knows what was a session.
        let message = format!("checkpoint: delete {}", one.name);
        if !one.is_here {
            let id = session_choice::load(scene, one.name.as_str(), one.tip)?
                .document
                .session
                .id;
            let prefix = format!("refs/checkpoints-trash/{id}/");
            let trash = format!("{prefix}{}", refs::next_number(scene.repo, &prefix)?);
            edits.push(RefUpdate {
                name: trash.clone(),
                expected: ExpectedValue::Absent,
                new: Some(one.tip),
                message: message.clone(),
            });
            one.trash = Some(trash);
        }
        edits.push(RefUpdate {
            name: remote.tracking_ref(&one.name),
            expected: ExpectedValue::Any,
            new: None,
            message,
        });
    }
    refs::update(scene.repo, &edits, &compose::people(scene).committer, scene.wait)?;
    Ok(())
}
