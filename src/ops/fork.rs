//! `fork`: a session that begins with any checkpoint, and with `--worktree` files of its own.
//!
//! The first checkpoint of a fork has the source as its parent and holds what the source holds: record, chat, steps and
//! the very snapshot commit. The source stays as it is.
//! Over 400 lines because what is planned and what is done must make the same checks.

use std::path::PathBuf;

use super::{
    Error, Scene,
    bring::Brought,
    choose, compose, fresh, items, place,
    restore::{self, Progress},
    select::{self, Selected},
    start, undo as taking_back,
};
use crate::{
    model::{
        document::{Document, ForkedFrom, Kind, Status},
        id::Digest,
        name::Name,
        record::ForkPoint,
        selector::Selector,
    },
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint, Siblings, oid},
        current, lock,
        objects::{self, Writer},
        refs, session,
        undo::Effect,
    },
};

/// What is to be forked, and into what.
#[derive(Clone, Debug)]
pub struct Request {
    /// The checkpoint.
    pub selector: Selector,
    /// One fork each; one with a name made for it without any.
    pub forks: Vec<Wanted>,
}

/// One fork.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The session's name; made from the source's without one.
    pub name: Option<Name>,
    /// The option of an open fork point that is chosen in it.
    pub option: Option<String>,
    /// The folder of a new work tree for it, absolute.
    pub worktree: Option<PathBuf>,
    /// The new branch that is checked out there; named after the session without one.
    pub branch: Option<String>,
}

/// A fork that was made.
#[derive(Debug)]
pub struct Forked {
    /// Its name.
    pub name: Name,
    /// Its first checkpoint.
    pub id: ObjectId,
    /// That checkpoint's digest.
    pub digest: Digest,
    /// That checkpoint's document.
    pub document: Document,
    /// The source.
    pub source: ObjectId,
    /// The session the source was found through.
    pub source_session: Option<Name>,
    /// The work tree that was made for it.
    pub worktree: Option<Made>,
}

/// A work tree that was made.
#[derive(Debug)]
pub struct Made {
    /// Its folder.
    pub path: PathBuf,
    /// Its branch; `None` on a detached HEAD.
    pub branch: Option<String>,
    /// What was done to its files after the commit was checked out.
    pub brought: Brought,
}

/// A fork that a dry run tells of.
#[derive(Debug)]
pub struct Planned {
    /// Its name.
    pub name: Name,
    /// What its first checkpoint would hold.
    pub document: Document,
    /// The source.
    pub source: ObjectId,
    /// The session the source was found through.
    pub source_session: Option<Name>,
    /// The work tree that would be made for it, and its branch.
    pub worktree: Option<(PathBuf, String)>,
}

/// What [`fork`] would do, with the same checks; nothing is changed.
pub fn plan(scene: &Scene<'_>, request: &Request) -> Result<Vec<Planned>, Error> {
    let source = select::checkpoint(scene, &request.selector)?;
    let documents = prepared(scene, request, &source)?;
    let mut planned: Vec<Planned> = Vec::new();
    for (wanted, mut document) in request.forks.iter().zip(documents) {
        let taken: Vec<&Name> = planned.iter().map(|fork| &fork.name).collect();
        let name = match &wanted.name {
            Some(name) => name.clone(),
            None => free_name(scene, &source.checkpoint, wanted.option.as_deref(), &taken)?,
        };
        document.session.name = name.clone();
        planned.push(Planned {
            worktree: wanted.worktree.clone().map(|path| (path, branch_of(wanted, &name))),
            name,
            document,
            source: source.checkpoint.entry.id,
            source_session: source.session.clone(),
        });
    }
    Ok(planned)
}

/// The documents of all forks, but for their names; fails where something is in the way.
fn prepared(scene: &Scene<'_>, request: &Request, source: &Selected) -> Result<Vec<Document>, Error> {
    let subject = subject(source);
    let mut plans = Vec::new();
    for wanted in &request.forks {
        let plan = prepare(scene, wanted, &source.checkpoint, &subject);
        plans.push(plan.map_err(|error| with_draft(scene, error, source.session.as_ref()))?);
    }
    check_places(scene, &request.forks)?;
    Ok(plans)
}

/// How messages call the source.
fn subject(source: &Selected) -> String {
    let id = source.checkpoint.entry.id;
    source
        .session
        .as_ref()
        .map_or_else(|| restore::short(id), ToString::to_string)
}

/// Forks.
pub fn fork(scene: &Scene<'_>, request: &Request, progress: Progress<'_>) -> Result<Vec<Forked>, Error> {
    let before = current::read(scene.repo)?;
    refs::recover(scene.repo, scene.wait)?;
    objects::sweep(scene.repo)?;
    let source = select::checkpoint(scene, &request.selector)?;
    let (subject, plans) = (subject(&source), prepared(scene, request, &source)?);
    let Selected {
        session, checkpoint, ..
    } = source;
    let (mut made, mut moves) = (Vec::new(), Vec::new());
    for (wanted, mut document) in request.forks.iter().zip(plans) {
        let name = match &wanted.name {
            Some(name) => name.clone(),
            None => free_name(scene, &checkpoint, wanted.option.as_deref(), &[])?,
        };
        if session::tip(scene.repo, &name)?.is_some() {
            return Err(Error::Exists { name });
        }
        document.session.name = name.clone();
        let forked = write(scene, document, &checkpoint, &subject, name, session.clone())?;
        moves.push((session::ref_name(&forked.name), None, Some(oid(forked.id))));
        made.push(forked);
    }
    // One fork is what is worked in from now on; of several each is as good.
    if let ([forked], [Wanted { worktree: None, .. }]) = (made.as_slice(), request.forks.as_slice()) {
        start::make_current(scene, &forked.document, &forked.name)?;
    }
    let names: Vec<_> = made.iter().map(|forked| forked.name.to_string()).collect();
    let what = format!("forked {} to {}", restore::short(checkpoint.entry.id), names.join(", "));
    let trees = request.forks.iter().zip(&made).filter_map(|(wanted, forked)| {
        Some(Effect::WorkTree {
            path: wanted.worktree.as_ref()?.display().to_string(),
            branch: branch_of(wanted, &forked.name),
        })
    });
    let current = Some((before, current::read(scene.repo)?));
    // Before the work trees: if one cannot be made, the sessions can still be taken back.
    taking_back::note(scene, "fork", what, moves, current, trees.collect())?;
    for (wanted, forked) in request.forks.iter().zip(&mut made) {
        if let Some(path) = &wanted.worktree {
            forked.worktree = Some(work_tree(scene, forked, wanted, path, progress)?);
        }
    }
    start::merge_packs(scene);
    Ok(made)
}

/// The branch of a fork in a work tree.
fn branch_of(wanted: &Wanted, name: &Name) -> String {
    let branch = wanted.branch.clone();
    branch.unwrap_or_else(|| format!("checkpoint/{name}"))
}

/// Before anything is written: that names, folders and branches are free.
fn check_places(scene: &Scene<'_>, forks: &[Wanted]) -> Result<(), Error> {
    let taken = |what: String| Err(Error::NoPlace { what });
    for (at, wanted) in forks.iter().enumerate() {
        let earlier = &forks[..at];
        if let Some(name) = &wanted.name
            && (session::tip(scene.repo, name)?.is_some()
                || earlier.iter().any(|other| other.name.as_ref() == Some(name)))
        {
            return Err(Error::Exists { name: name.clone() });
        }
        let Some(path) = &wanted.worktree else { continue };
        let is_free = match std::fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        if !is_free || earlier.iter().any(|other| other.worktree.as_ref() == Some(path)) {
            return taken(format!(
                "'{}' is there already; a work tree needs a folder of its own",
                path.display()
            ));
        }
        let Some(branch) = wanted
            .branch
            .clone()
            .or_else(|| wanted.name.as_ref().map(|name| branch_of(wanted, name)))
        else {
            continue;
        };
        let full = format!("refs/heads/{branch}");
        let is_name = store::git(scene.repo)
            .args(["check-ref-format", "--branch"])
            .arg(&branch)
            .run()
            .is_ok();
        if !is_name || branch.starts_with('-') {
            return taken(format!("'{branch}' is no name for a branch"));
        }
        if refs::read(scene.repo, &full)?.is_some()
            || earlier.iter().any(|other| other.branch.as_ref() == Some(&branch))
        {
            return taken(format!(
                "branch '{branch}' exists already; name another one with --branch"
            ));
        }
    }
    Ok(())
}

/// An option that is missing may be in the session's draft, and only wait for a save.
fn with_draft(scene: &Scene<'_>, mut error: Error, session: Option<&Name>) -> Error {
    if let Error::NoOption { option, in_draft, .. } = &mut error
        && session.is_some()
        && let Ok(now) = items::now(&Scene { session, ..*scene })
    {
        let mut options = now.record.fork_points.iter().flat_map(|point| &point.options);
        *in_draft = options.any(|known| known.key == *option);
    }
    error
}

/// A session that explores an option of a fork point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The fork point's id.
    pub point: String,
    /// The option's key.
    pub option: String,
    /// The session's name.
    pub session: Name,
}

/// All sessions that began as an option of a fork point. Reads the newest document of every session; damaged ones are
/// passed over.
pub fn explored(scene: &Scene<'_>) -> Result<Vec<Explored>, Error> {
    let mut found = Vec::new();
    for session in session::all(scene.repo)? {
        let (Ok(name), Ok(tip)) = (Name::new(session.name), session.tip) else {
            continue;
        };
        let Ok(tip) = checkpoint::load(scene.repo, tip.id) else {
            continue;
        };
        if let Some(ForkedFrom {
            option: Some(option),
            fork_point: Some(point),
            ..
        }) = tip.document.session.forked_from
        {
            found.push(Explored {
                point,
                option,
                session: name,
            });
        }
    }
    found.sort_by(|a, b| a.session.cmp(&b.session));
    Ok(found)
}

/// The document of a fork, but for its name.
fn prepare(scene: &Scene<'_>, wanted: &Wanted, source: &Checkpoint, subject: &str) -> Result<Document, Error> {
    let mut document = source.document.clone();
    let now = compose::document(scene, document.session.clone(), Kind::Fork, document.git.clone());
    document.session.id = fresh::session_id()?;
    document.session.status = Status::Active;
    document.session.created_at = scene.now;
    document.session.forked_from = Some(ForkedFrom {
        digest: source.digest.clone(),
        session: source.document.session.name.clone(),
        option: wanted.option.clone(),
        fork_point: None,
    });
    if let Some(agent) = scene.agent {
        document.session.agent = Some(agent.to_owned());
    }
    if let Some(option) = &wanted.option {
        let point = choose_option(&mut document.record.fork_points, option, subject)?;
        if let Some(from) = &mut document.session.forked_from {
            from.fork_point = Some(point);
        }
    }
    document.name = None;
    document.kind = Kind::Fork;
    document.trigger = None;
    document.created_at = scene.now;
    document.tool = now.tool;
    document.host = now.host;
    document.worktree = now.worktree;
    document.previous = Some(source.digest.clone());
    document.folded.clear();
    document.included = None;
    Ok(document)
}

/// Chooses an option, and gives the id of its fork point.
fn choose_option(points: &mut [ForkPoint], option: &str, subject: &str) -> Result<String, Error> {
    let has = |point: &&mut ForkPoint| point.options.iter().any(|known| known.key == option);
    // The newest that is still open; else the newest that has it.
    let open = points
        .iter()
        .rposition(|point| point.chosen.is_none() && point.options.iter().any(|o| o.key == option));
    let found = match open {
        Some(at) => points.get_mut(at),
        None => points.iter_mut().rev().find(has),
    };
    match found {
        Some(point) => {
            point.chosen = Some(option.to_owned());
            Ok(point.id.clone())
        }
        None => Err(Error::NoOption {
            subject: subject.to_owned(),
            option: option.to_owned(),
            in_draft: false,
        }),
    }
}

/// `auth-fork-1`, or with an option `auth-winnow`, and a number where that is taken, also by one that is only planned.
fn free_name(scene: &Scene<'_>, source: &Checkpoint, option: Option<&str>, taken: &[&Name]) -> Result<Name, Error> {
    let base = source.document.session.name.as_str();
    for n in 1.. {
        let suffix = match option {
            Some(option) if n == 1 => Name::slug(option, "x").as_str().trim_end_matches("-x").to_owned(),
            Some(option) => format!("{}-{n}", Name::slug(option, "x").as_str().trim_end_matches("-x")),
            None => format!("fork-{n}"),
        };
        let name = Name::slug(base, &suffix);
        if !taken.contains(&&name) && session::tip(scene.repo, &name)?.is_none() {
            return Ok(name);
        }
    }
    Err(Error::Unsettled)
}

fn write(
    scene: &Scene<'_>,
    mut document: Document,
    source: &Checkpoint,
    subject: &str,
    name: Name,
    source_session: Option<Name>,
) -> Result<Forked, Error> {
    let people = compose::people(scene);
    let writer = Writer::durable(scene.repo)?;
    let (held, _) = checkpoint::siblings(scene.repo, &source.entry).map_err(Error::damaged(subject))?;
    let mut siblings = Siblings::default();
    for kept in held.named().keys() {
        siblings.keep(&held, kept);
    }
    let lists = checkpoint::lists(scene.repo, source).map_err(Error::damaged(subject))?;
    let parents = [Some(source.entry.id), source.snapshot()]
        .into_iter()
        .flatten()
        .collect();
    let written = checkpoint::write(&writer, &mut document, lists.is_partial(), &siblings, parents, &people)?;
    place::tip(scene, &name, None, &written, writer.finish()?, Kind::Fork)?;
    Ok(Forked {
        name,
        id: written.id,
        digest: written.digest,
        document,
        source: source.entry.id,
        source_session,
        worktree: None,
    })
}

/// Makes a work tree at the commit of the source, and brings its files to what the source holds.
fn work_tree(
    scene: &Scene<'_>,
    forked: &Forked,
    wanted: &Wanted,
    path: &std::path::Path,
    progress: Progress<'_>,
) -> Result<Made, Error> {
    let head = forked.document.git.head.as_ref();
    let branch = branch_of(wanted, &forked.name);
    let mut git = store::git(scene.repo)
        .args(["worktree", "add", "--quiet", "-b"])
        .arg(&branch);
    if head.is_none() {
        git = git.arg("--orphan");
    }
    git = git.arg("--").arg(path);
    if let Some(head) = head {
        git = git.arg(head.as_str());
    }
    git.run().map_err(store::Error::from)?;
    let repo = store::open_beside(scene.repo, path)?;
    let there = Scene {
        repo: &repo,
        index: None,
        ..*scene
    };
    let _worktree = lock::worktree(there.repo, there.wait)?;
    start::make_current(&there, &forked.document, &forked.name)?;
    let checkpoint = choose::load(&there, forked.name.as_str(), forked.id)?;
    let brought = restore::into_new(&there, checkpoint, &forked.name, progress)?;
    Ok(Made {
        path: path.to_owned(),
        branch: Some(branch),
        brought,
    })
}
