//! `fork`: a session that begins with any checkpoint, and with `--worktree` files of its own.
//!
//! The first checkpoint of a fork has the source as its parent and holds what the source holds: record, chat, steps and
//! the very snapshot commit. The source stays as it is.

mod carried;
mod cut_off;
mod filtered;
pub mod leftover;
pub mod list;
mod places;
pub mod remove;
mod setup;
mod submodule_clone;
mod submodules;
pub mod unfinished;

use std::path::PathBuf;

use self::places::{branch_of, check_places, work_tree};
use super::{
    Error, Scene, compose, fork_notes, ids, items,
    plan_runner::{AppliedPlan, ProgressCallback},
    ref_transaction::{Aftermath, UndoableRefTransaction},
    rekey,
    select::{self, SelectedCheckpoint},
    start, undo,
};
use crate::{
    model::{
        document::{CheckpointKind, Document, SessionStatus},
        id::Digest,
        list::SkippedEntry,
        name::ShortName,
        path::RepoPath,
        record::ForkPoint,
        selector::Selector,
    },
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint},
        current, lock,
        objects::{self, Writer},
        refs::{self, ExpectedValue, RefUpdate},
        session,
        undo::Effect,
    },
};

/// Request of a fork.
#[derive(Clone, Debug)]
pub struct ForkRequest {
    /// The checkpoint.
    pub selector: Selector,
    /// One fork each; one with a name made for it without any.
    pub forks: Vec<ForkTarget>,
}

/// One fork.
#[derive(Clone, Debug, Default)]
pub struct ForkTarget {
    /// The session's name; made from the source's without one.
    pub name: Option<ShortName>,
    /// The option of an open fork point that is chosen in it.
    pub option: Option<String>,
    /// The directory of a new working tree for it, absolute.
    pub worktree: Option<PathBuf>,
    /// The new branch that is checked out there; named after the session without one.
    pub branch: Option<String>,
}

/// A fork that was made.
#[derive(Debug)]
pub struct ForkOutcome {
    /// Its name.
    pub name: ShortName,
    /// Its first checkpoint.
    pub id: ObjectId,
    /// That checkpoint's digest.
    pub digest: Digest,
    /// That checkpoint's document.
    pub document: Document,
    /// The source.
    pub source: ObjectId,
    /// The session the source was found through.
    pub source_session: Option<ShortName>,
    /// The working tree that was made for it.
    pub worktree: Option<ForkWorktree>,
}

/// The forks of one call.
#[derive(Debug)]
pub struct Forks {
    /// Each, in the order in which they were asked for.
    pub made: Vec<ForkOutcome>,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// A working tree that was made.
#[derive(Debug)]
pub struct ForkWorktree {
    /// Its directory.
    pub path: PathBuf,
    /// Its branch; `None` on a detached HEAD.
    pub branch: Option<String>,
    /// File changes after the commit was checked out.
    pub brought: AppliedPlan,
    /// Files that were copied from the present working tree although they are ignored.
    pub copied: Vec<RepoPath>,
    /// Files that were to be copied and could not be, with the reason.
    pub not_copied: Vec<(RepoPath, String)>,
    /// What the checkpoint left out, and is not in the new working tree either.
    pub left_out: Vec<SkippedEntry>,
    /// Tracked files that could not be captured: the new working tree has them as they were staged or committed.
    pub outdated: Vec<SkippedEntry>,
    /// Submodules that are as in the present working tree.
    pub submodules: Vec<RepoPath>,
    /// Submodules that could not be populated, with the reason.
    pub not_populated: Vec<(RepoPath, String)>,
    /// Result of the user's own post-checkout hook; `None` without one.
    pub hook: Option<ScriptRun>,
    /// Result of the command of `checkpoint.forkSetup`; `None` without one, or before its turn came.
    pub setup: Option<ScriptRun>,
    /// Whether that command was interrupted: it is run again when the fork is continued.
    pub is_unfinished: bool,
}

impl ForkWorktree {
    /// The exit status of the set-up command; of one that was interrupted that of a signal. The files are complete even so.
    fn setup_code(&self) -> Option<i32> {
        const INTERRUPTED: i32 = 130;
        let code = self.setup.as_ref().map(|run| run.code);
        if self.is_unfinished {
            code.filter(|code| *code != 0).or(Some(INTERRUPTED))
        } else {
            code
        }
    }

    /// One whose files are complete.
    fn complete(path: PathBuf, branch: Option<String>) -> Self {
        Self {
            path,
            branch,
            brought: AppliedPlan::nothing(),
            copied: Vec::new(),
            not_copied: Vec::new(),
            left_out: Vec::new(),
            outdated: Vec::new(),
            submodules: Vec::new(),
            not_populated: Vec::new(),
            hook: None,
            setup: None,
            is_unfinished: false,
        }
    }
}

/// A run of the hook or of the set-up command.
#[derive(Debug)]
pub struct ScriptRun {
    /// Its exit status.
    pub code: i32,
    /// Its output.
    pub output: String,
}

/// A fork that a dry run reports.
#[derive(Debug)]
pub struct ForkPlan {
    /// Its name.
    pub name: ShortName,
    /// Document of its first checkpoint.
    pub document: Document,
    /// The source.
    pub source: ObjectId,
    /// The session the source was found through.
    pub source_session: Option<ShortName>,
    /// The working tree that would be made for it, and its branch.
    pub worktree: Option<(PathBuf, String)>,
}

/// Dry run of [`fork`], with the same checks; nothing is changed.
pub fn plan(scene: &Scene<'_>, request: &ForkRequest) -> Result<Vec<ForkPlan>, Error> {
    let source = select::checkpoint(scene, &request.selector)?;
    let documents = prepared(scene, request, &source)?;
    let mut planned: Vec<ForkPlan> = Vec::new();
    for (wanted, mut document) in request.forks.iter().zip(documents) {
        let taken: Vec<&ShortName> = planned.iter().map(|fork| &fork.name).collect();
        let name = match &wanted.name {
            Some(name) => name.clone(),
            None => free_name(scene, &source.checkpoint, wanted.option.as_deref(), &taken)?,
        };
        document.session.name = name.clone();
        planned.push(ForkPlan {
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
fn prepared(scene: &Scene<'_>, request: &ForkRequest, source: &SelectedCheckpoint) -> Result<Vec<Document>, Error> {
    let subject = subject(source);
    if request.forks.iter().any(|wanted| wanted.worktree.is_some()) {
        store::require_own_directory(scene.repo, "no working tree can be added")?;
    }
    let mut plans = Vec::new();
    for wanted in &request.forks {
        let plan = prepare(scene, wanted, &source.checkpoint, &subject);
        plans.push(plan.map_err(|error| with_draft(scene, error, source.session.as_ref()))?);
    }
    check_places(scene, &request.forks)?;
    Ok(plans)
}

/// How messages call the source.
fn subject(source: &SelectedCheckpoint) -> String {
    let id = source.checkpoint.entry.id;
    source
        .session
        .as_ref()
        .map_or_else(|| ids::short(id), ToString::to_string)
}

/// Forks: all of them, or none.
pub fn fork(scene: &Scene<'_>, request: &ForkRequest, progress: ProgressCallback<'_>) -> Result<Forks, Error> {
    let worktree = lock::worktree(scene.repo, scene.wait)?;
    let before = current::read_to_replace(scene.repo)?;
    refs::recover(scene.repo, scene.wait)?;
    objects::sweep(scene.repo)?;
    let source = select::checkpoint(scene, &request.selector)?;
    let (subject, plans) = (subject(&source), prepared(scene, request, &source)?);
    let SelectedCheckpoint {
        session, checkpoint, ..
    } = source;
    let writer = Writer::durable(scene.repo)?;
    let (mut made, mut edits, mut needs) = (Vec::<ForkOutcome>::new(), Vec::new(), Vec::new());
    for (wanted, mut document) in request.forks.iter().zip(plans) {
        let taken: Vec<&ShortName> = made.iter().map(|fork| &fork.name).collect();
        let name = match &wanted.name {
            Some(name) => name.clone(),
            None => free_name(scene, &checkpoint, wanted.option.as_deref(), &taken)?,
        };
        if session::tip(scene.repo, &name)?.is_some() {
            return Err(Error::Exists { name });
        }
        document.session.name = name.clone();
        if wanted.worktree.is_some() {
            // The work continues there, and not on the branch of the session that was forked.
            document.git.branch = Some(branch_of(wanted, &name));
        }
        let (forked, written) = write(scene, &writer, document, &checkpoint, &subject, name, session.clone())?;
        needs.extend(written.needs);
        edits.push(RefUpdate {
            name: session::ref_name(&forked.name),
            expected: ExpectedValue::Absent,
            new: Some(forked.id),
            message: format!("checkpoint: {}", CheckpointKind::Fork.word()),
        });
        made.push(forked);
    }
    // One fork is what is worked in from now on; of several each is as good.
    let after = match (made.as_slice(), request.forks.as_slice()) {
        ([forked], [ForkTarget { worktree: None, .. }]) => before.switched_to(current::SessionRef {
            id: forked.document.session.id.clone(),
            name: forked.name.clone(),
        }),
        _ => before.clone(),
    };
    let names: Vec<_> = made.iter().map(|forked| forked.name.to_string()).collect();
    let what = format!("forked {} to {}", ids::short(checkpoint.entry.id), names.join(", "));
    let trees = request.forks.iter().zip(&made).filter_map(|(wanted, forked)| {
        Some(Effect::WorkTree {
            path: wanted.worktree.as_ref()?.display().to_string(),
            branch: branch_of(wanted, &forked.name),
        })
    });
    let deed = UndoableRefTransaction {
        operation: "fork",
        what,
        edits: &edits,
        remedy: format!("continue there: git checkpoint switch {}", names.join(" ")),
        current: Some((before, after)),
        more: trees.collect(),
        sealed: Some(writer.finish()?),
        needs: &needs,
        ..UndoableRefTransaction::default()
    };
    // Before the sessions, so that a kill at any point leaves a note.
    let mut works = Vec::new();
    for (wanted, forked) in request.forks.iter().zip(&made) {
        if let Some(path) = &wanted.worktree {
            let note = fork_notes::ForkNote {
                session: forked.name.clone(),
                path: RepoPath::new(path.as_os_str().as_encoded_bytes()),
                branch: branch_of(wanted, &forked.name),
                setup: None,
                removal: None,
            };
            works.push(fork_notes::ForkWork::begin(scene, note)?);
        }
    }
    // Before the working trees: if one cannot be made, the sessions can still be taken back.
    let aftermath = match deed.run(scene) {
        Ok(aftermath) => aftermath,
        Err(error) => {
            works.into_iter().try_for_each(fork_notes::ForkWork::end)?;
            return Err(error);
        }
    };
    drop(worktree);
    let is_single = made.len() == 1;
    for (wanted, forked) in request.forks.iter().zip(&mut made) {
        if let Some(path) = &wanted.worktree {
            let made = match work_tree(scene, forked, wanted, path, progress) {
                Ok(made) => made,
                // git could not make the working tree, as where a filter fails in it: then nothing was made.
                Err(error) if is_single && !path.exists() && taken_back(scene) => {
                    works.into_iter().try_for_each(fork_notes::ForkWork::end)?;
                    return Err(error);
                }
                Err(error) => {
                    return Err(Error::PartiallyApplied {
                        source: Box::new(error),
                        remedy: "the sessions are made; take them back with: git checkpoint undo".to_owned(),
                    });
                }
            };
            forked.worktree = Some(made);
        }
    }
    start::merge_packs(scene);
    // Last and without a lock: the command may take long, call this program, or be interrupted; the forks are complete.
    if let Some(command) = &scene.settings.fork_setup {
        let trees = made.iter_mut().filter_map(|forked| forked.worktree.as_mut());
        setup::run_in(command, trees.filter(|tree| tree.brought.is_done()));
    }
    let trees = made.iter().filter_map(|forked| forked.worktree.as_ref());
    // Of one whose files did not all come, as where the disk was full, the note stays.
    for (work, tree) in works.into_iter().zip(trees).filter(|(_, tree)| tree.brought.is_done()) {
        work.end_after(tree.setup_code())?;
    }
    Ok(Forks { made, aftermath })
}

/// Takes the session of a fork back, the last entry of the undo list.
fn taken_back(scene: &Scene<'_>) -> bool {
    let request = undo::UndoRequest {
        direction: undo::Direction::Undo,
        dry_run: false,
        force: false,
        displaces: false,
        older: false,
        aborts: None,
    };
    undo::run(scene, request, &|_, _| {}).is_ok()
}

/// An option that is missing may be in the session's draft, and only wait for a save.
fn with_draft(scene: &Scene<'_>, mut error: Error, session: Option<&ShortName>) -> Error {
    if let Error::NoOption { option, in_draft, .. } = &mut error
        && session.is_some()
        && let Ok(now) = items::now(&Scene { session, ..*scene })
    {
        let mut options = now.record.fork_points.iter().flat_map(|point| &point.options);
        *in_draft = options.any(|known| known.key == *option);
    }
    error
}

/// The document of a fork, but for its name.
fn prepare(scene: &Scene<'_>, wanted: &ForkTarget, source: &Checkpoint, subject: &str) -> Result<Document, Error> {
    let mut document = compose::fork(scene, source, source.document.session.name.clone())?;
    document.session.status = SessionStatus::Active;
    if let Some(agent) = scene.agent {
        document.session.agent = Some(agent.to_owned());
    }
    if let Some(option) = &wanted.option {
        let point = choose_option(&mut document.record.fork_points, option, subject)?;
        if let Some(from) = &mut document.session.forked_from {
            from.option = Some(option.clone());
            from.fork_point = Some(point);
        }
    }
    Ok(document)
}

/// Chooses an option, and gives the id of its fork point.
fn choose_option(points: &mut [ForkPoint], option: &str, subject: &str) -> Result<String, Error> {
    let has = |point: &&mut ForkPoint| point.options.iter().any(|known| known.key == option);
    // The latest that is still open; else the latest that has it.
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

/// `auth-fork-1`, or with an option `auth-winnow`, and a number where that is taken, also by one of these forks.
fn free_name(
    scene: &Scene<'_>,
    source: &Checkpoint,
    option: Option<&str>,
    taken: &[&ShortName],
) -> Result<ShortName, Error> {
    let base = source.document.session.name.as_str();
    for n in 1.. {
        let suffix = match option {
            Some(option) if n == 1 => ShortName::slug(option, "x").as_str().trim_end_matches("-x").to_owned(),
            Some(option) => format!("{}-{n}", ShortName::slug(option, "x").as_str().trim_end_matches("-x")),
            None => format!("fork-{n}"),
        };
        let name = ShortName::slug(base, &suffix);
        if !taken.contains(&&name) && session::tip(scene.repo, &name)?.is_none() {
            return Ok(name);
        }
    }
    Err(Error::ConcurrentModification)
}

/// Writes the first checkpoint of a fork. It is on no ref yet.
fn write(
    scene: &Scene<'_>,
    writer: &Writer,
    mut document: Document,
    source: &Checkpoint,
    subject: &str,
    name: ShortName,
    source_session: Option<ShortName>,
) -> Result<(ForkOutcome, checkpoint::WrittenCheckpoint), Error> {
    let people = compose::people(scene);
    let siblings = rekey::carried(scene, writer, &document, source)?;
    let lists = checkpoint::lists(scene.repo, source).map_err(Error::damaged(subject))?;
    let parents = [Some(source.entry.id), source.snapshot()]
        .into_iter()
        .flatten()
        .collect();
    let written = checkpoint::write(writer, &mut document, lists.is_partial(), &siblings, parents, &people)?;
    let forked = ForkOutcome {
        name,
        id: written.id,
        digest: written.digest.clone(),
        document,
        source: source.entry.id,
        source_session,
        worktree: None,
    };
    Ok((forked, written))
}
