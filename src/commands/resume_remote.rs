//! `resume` of a session that is not in this repository: fetched from a remote, or named as its branch is there.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::OpenedRepository,
};
use crate::{
    model::{
        name::ShortName,
        selector::{Base, Selector},
    },
    ops::{
        branch_sessions,
        list::{self as session_list, SessionFilter, SessionSummaryRow},
        select,
        share::pull,
    },
    render::{View as _, text::TextLine},
    store,
};

/// A session that is none here but was fetched from one remote, as `git switch` takes a branch: by its name or its branch.
pub(super) fn guessed(
    context: &Context,
    opened: &OpenedRepository,
    selector: Selector,
) -> Result<Selector, CommandError> {
    let scene = opened.scene();
    let Base::Word(word) = &selector.base else {
        return Ok(selector);
    };
    let is_here = match ShortName::new(word.as_str()) {
        Ok(name) => store::session::tip(scene.repo, &name)?.is_some(),
        Err(_) => store::remote::named_ref(word)
            .is_some_and(|(remote, ..)| store::remote::find(scene.repo, &remote).is_some()),
    };
    if is_here {
        return Ok(selector);
    }
    if let Some((name, tip)) = branch_sessions::of_branch(&scene, word)? {
        for other in other_of_name(opened, word, tip)? {
            context.ui.status(TextLine::plain(format!(
                "'{word}' is your session '{name}' here; the one on {other}: git checkpoint resume {other}/{word}"
            )));
        }
        return Ok(selector);
    }
    let remote = SessionFilter {
        remote: true,
        ..SessionFilter::default()
    };
    let rows = session_list::sessions(&scene, &remote)?;
    let is_named = |row: &&SessionSummaryRow| row.name.rsplit('/').next() == Some(word.as_str());
    let is_of_branch = |row: &&SessionSummaryRow| {
        let tip = row.tip.as_ref().ok();
        tip.is_some_and(|(tip, _)| tip.trailers.branch.as_ref() == Some(word))
    };
    let mut found: Vec<&SessionSummaryRow> = rows.iter().filter(is_named).collect();
    if found.is_empty() {
        found = rows.iter().filter(is_of_branch).collect();
    }
    match found.as_slice() {
        [] => Ok(selector),
        [row] => Ok(Selector {
            base: Base::Word(row.name.clone()),
            ..selector
        }),
        several => {
            let names: Vec<&str> = several.iter().map(|row| row.name.as_str()).collect();
            let error = CommandError::new(
                FailureKind::NotFound,
                format!("'{word}' is the name or branch of several fetched sessions"),
            );
            Err(error.hint(format!("use one of: {}", names.join(", "))))
        }
    }
}

/// The remotes with a session of this name that is another one than the session of this latest checkpoint.
fn other_of_name(opened: &OpenedRepository, word: &str, tip: store::ObjectId) -> Result<Vec<String>, CommandError> {
    let repo = opened.scene().repo;
    let Ok(name) = ShortName::new(word) else {
        return Ok(Vec::new());
    };
    let id = |tip| Some(store::checkpoint::load(repo, tip).ok()?.document.session.id);
    let mut others = Vec::new();
    for remote in store::remote::all(repo) {
        let there = store::refs::read(repo, &remote.tracking_ref(&name))?;
        if there.is_some_and(|there| id(there) != id(tip)) {
            others.push(remote.name);
        }
    }
    Ok(others)
}

/// Brings a session that is named as `<remote>/<session>` to what was fetched of it; from there on it is a session of
/// this repository.
pub(super) fn fetched(
    context: &Context,
    opened: &OpenedRepository,
    selector: Selector,
) -> Result<Selector, CommandError> {
    let scene = opened.scene();
    let Base::Word(word) = &selector.base else {
        return Ok(selector);
    };
    let Some((remote, session, _)) = store::remote::named_ref(word) else {
        return Ok(selector);
    };
    // What is the name of no remote is a branch, or a mistake.
    let Some(remote) = store::remote::find(scene.repo, &remote) else {
        return Ok(selector);
    };
    if select::remote(&scene, &selector).is_none() {
        return if branch_sessions::of_branch(&scene, word)?.is_some() {
            Ok(selector)
        } else {
            Err(super::pull::not_fetched(&remote.name, session.as_str()))
        };
    }
    let pulled = pull::bring(&scene, &remote, &session)?;
    if pulled.name != session {
        context.ui.status(TextLine::plain(format!(
            "'{session}' is your session here; the one on {} is '{}'",
            remote.name, pulled.name
        )));
    }
    failure::warn_aftermath(&context.ui, &pulled.aftermath);
    super::share::pulled::warn_purged(context, &pulled.name, &pulled.purged_again, "--remote ");
    if !context.ui.options().json {
        context.ui.status(super::share::pulled::receipt(&pulled, false).text());
    }
    Ok(Selector {
        base: Base::Word(pulled.name.to_string()),
        ..selector
    })
}

/// Refuses to plan with a session that was only fetched: it becomes one of this repository when it is resumed.
pub(super) fn refuse_remote(opened: &OpenedRepository, selector: &Selector) -> Result<(), CommandError> {
    let Some((remote, session, _)) = select::remote(&opened.scene(), selector) else {
        return Ok(());
    };
    let name = format!("{remote}/{session}");
    let error = CommandError::new(FailureKind::NotFound, format!("session '{name}' is only fetched"));
    Err(error
        .hint(format!(
            "see what it would change: git checkpoint apply {name} --index --dry-run"
        ))
        .hint(format!(
            "or make it a session of this repository: git checkpoint pull {remote} {session}"
        )))
}
