//! The work of git's hooks: a checkpoint for what just happened, on the session that is current on this branch.
//!
//! Without one, a commit goes into the session that was paused last on this branch, which stays paused, else starts a
//! session named after the branch; a checkout or a push starts none. During a rebase nothing is done either; one checkpoint comes at
//! its end and keeps which commit became which. The cost is that of a save and does not depend on how many sessions
//! or checkpoints there are, as only the current session is looked at.

use super::{Error, Scene, conclude, fork_notes, link, receipt::CheckpointOutcome, save, session_choice};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        hook::Hook,
    },
    store::{self, ObjectId, current, facts, hooks},
};

/// Outcome of a hook.
#[derive(Debug)]
pub enum HookOutcome {
    /// It made a checkpoint.
    Saved(ObjectId),
    /// It made a checkpoint, but the commit's note of it could not be written; the reason.
    SavedOnly(ObjectId, String),
    /// There was nothing new.
    Unchanged,
    /// Nothing was to be done; the reason.
    Skipped(&'static str),
}

/// Whether a hook has anything to do here at all; looks at one small file.
pub fn is_wanted(scene: &Scene<'_>, hook: Hook) -> bool {
    makes_commit(hook) || scene.session.is_some() || current::is_any(scene.repo)
}

/// Whether git ran the hook because there is a new commit.
fn makes_commit(hook: Hook) -> bool {
    matches!(hook, Hook::PostCommit | Hook::PostMerge | Hook::PostRewrite)
}

/// Does what a hook is for. `args` and `input` are what git gave it.
pub fn run(scene: &Scene<'_>, hook: Hook, args: &[String], input: &[u8]) -> Result<HookOutcome, Error> {
    if hook == Hook::PostRewrite && scene.settings.commit_notes {
        link::follow(scene, &rewritten(input))?;
    }
    if fork_notes::here(scene)?.is_some() {
        return Ok(HookOutcome::Skipped("the working tree of this fork is not complete"));
    }
    let chosen = session_choice::session_for_command(scene)?;
    let open = chosen.filter(|chosen| !chosen.tip.document.session.status.is_finished());
    if open.is_none() && (scene.session.is_some() || !makes_commit(hook)) {
        return Ok(HookOutcome::Skipped("no session is current on this branch"));
    }
    let arg = |at: usize| args.get(at).map(String::as_str);
    let ends = hook == Hook::PostRewrite && arg(0) == Some("rebase");
    if hooks::is_rebasing(scene.repo) && !ends {
        return Ok(HookOutcome::Skipped("a rebase is in progress"));
    }
    let facts = facts::git_facts(scene.repo, None)?;
    let subject = facts.head_subject.clone();
    let mut request = save::SaveRequest::new(CheckpointKind::Commit);
    if let Some(chosen) = &open {
        request.start = false;
        request.status = chosen.tip.document.session.status;
    } else {
        let here = store::worktree_id(scene.repo);
        let (paused, _) = session_choice::paused_here(scene, facts.branch.as_deref(), &here)?;
        if paused.is_some() {
            request.status = SessionStatus::Paused;
            request.leave = true;
        }
    }
    request.trigger = Some(hook.name().to_owned());
    let commit = facts.head.clone();
    match hook {
        // Its work is done before a commit, see `link::trailer`.
        Hook::CommitMsg => return Ok(HookOutcome::Skipped("it makes no checkpoint")),
        Hook::PostRewrite if ends => {
            let pairs = rewritten(input);
            let commits = count(pairs.len());
            let onto = subject
                .map(|subject| format!(", now at '{subject}'"))
                .unwrap_or_default();
            request.summary = Some(format!("rebase: {commits} rewritten{onto}"));
            request.attachments = vec![("rewritten-commits".to_owned(), pairs.concat())];
            request.operation_ends = true;
        }
        Hook::PostMerge => {
            // git takes its note of the merge away after this.
            request.summary = subject;
            request.operation_ends = true;
        }
        Hook::PostCommit | Hook::PostRewrite => request.summary = subject,
        Hook::PostCheckout => {
            if arg(2) != Some("1") {
                return Ok(HookOutcome::Skipped("only files were checked out"));
            }
            request.kind = CheckpointKind::Event;
            request.summary = Some(match &facts.branch {
                Some(branch) => format!("switched to branch {branch}"),
                None => "switched to a detached HEAD".to_owned(),
            });
        }
        Hook::PrePush => {
            request.kind = CheckpointKind::Event;
            request.summary = Some(format!("before a push to {}", arg(0).unwrap_or("a remote")));
        }
    }
    let mut outcome = save::save(scene, request)?;
    conclude::conclude(scene, &mut outcome);
    match outcome {
        CheckpointOutcome::Saved(receipt) => {
            let Some(id) = receipt.id else {
                return Ok(HookOutcome::Unchanged);
            };
            if let (true, true, Some(commit)) = (makes_commit(hook), scene.settings.commit_notes, &commit)
                && let Err(error) = link::note(scene, commit, id, &receipt.session)
            {
                return Ok(HookOutcome::SavedOnly(id, error.to_string()));
            }
            Ok(HookOutcome::Saved(id))
        }
        CheckpointOutcome::Planned(_) | CheckpointOutcome::Unchanged(_) => Ok(HookOutcome::Unchanged),
    }
}

fn count(commits: usize) -> String {
    format!("{commits} commit{}", if commits == 1 { "" } else { "s" })
}

/// The lines `old SP new` that git gives to post-rewrite, without what may follow.
fn rewritten(input: &[u8]) -> Vec<Vec<u8>> {
    let line = |line: &[u8]| {
        let mut words = line.split(|byte| *byte == b' ');
        let (old, new) = (words.next()?, words.next()?);
        let is_id = |word: &[u8]| word.len() >= 40 && word.iter().all(u8::is_ascii_hexdigit);
        (is_id(old) && is_id(new)).then(|| [old, b" ", new, b"\n"].concat())
    };
    input.split(|byte| *byte == b'\n').filter_map(line).collect()
}
