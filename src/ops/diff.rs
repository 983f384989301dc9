//! `diff`: two checkpoints, or a checkpoint and the present, record and files.

use std::path::Path;

use super::{
    Error, Scene, bases,
    compose::{self, CurrentSnapshot},
    ids::short,
    select, session_choice, step,
};
use crate::{
    model::{
        change::TreeChange,
        comparison::{self, RecordDifference},
        id::Oid,
        path::RepoPath,
        record::Record,
        selector::{Selector, SelectorStep},
        step::Step,
    },
    store::{
        self, ObjectId, Repository,
        ancestry::MergeEdges,
        checkpoint::{self, Checkpoint, oid},
        objects::Writer,
        patch::{self, PatchOptions},
        pathspec, refs,
        spill::SpillDirectory,
        tree::{self, Renames},
    },
};

/// Request of a diff.
#[derive(Debug, Default)]
pub struct DiffRequest {
    /// The older side.
    pub old: Option<Selector>,
    /// The newer side; the present without one.
    pub new: Option<Selector>,
    /// Whether the older side is where both come from: the common checkpoint, else the common commit.
    pub merge_base: bool,
    /// Whether what is staged is compared, instead of the files.
    pub index: bool,
    /// How files are written.
    pub patch: PatchOptions,
}

/// The differences.
#[derive(Debug)]
pub struct DiffOutcome {
    /// The older checkpoint.
    pub old: Oid,
    /// The newer one; `None` is the present.
    pub new: Option<Oid>,
    /// Differences of the records.
    pub record: Vec<RecordDifference>,
    /// The files that differ.
    pub files: Vec<TreeChange>,
    /// Whether a side has no files, so that they could not be compared.
    pub without_files: bool,
    /// The files as git writes them in the wanted format.
    pub text: Vec<u8>,
    /// The first pathspec that matches no file of either side.
    unmatched: Option<RepoPath>,
}

/// Compares. A pathspec that matches nothing is refused: most often it is misspelled, and "no difference" would hide that.
pub fn diff(scene: &Scene<'_>, request: &DiffRequest) -> Result<DiffOutcome, Error> {
    let outcome = compared(scene, request)?;
    match outcome.unmatched {
        Some(spec) => Err(Error::NoMatch {
            spec,
            what: "file of either side",
        }),
        None => Ok(outcome),
    }
}

fn compared(scene: &Scene<'_>, request: &DiffRequest) -> Result<DiffOutcome, Error> {
    let current = Selector::current();
    let old = side(scene, request.old.as_ref().unwrap_or(&current))?;
    let index = request.index;
    if request.merge_base {
        return since_base(scene, &old, request);
    }
    if let Some(selector) = &request.new {
        let new = side(scene, selector)?;
        return match (&old, &new) {
            (Side::Checkpoint(old), Side::Checkpoint(new)) if !index => checkpoints(scene, old, new, &request.patch),
            _ => between(
                scene.repo,
                &request.patch,
                old.files(index),
                Some(new.files(index).0),
                match (&old, &new) {
                    (Side::Checkpoint(old), Side::Checkpoint(new)) => records(scene, old, new)?,
                    _ => Vec::new(),
                },
                new.files(index).1,
            ),
        };
    }
    let Side::Checkpoint(old) = old else {
        let writer = Writer::memory(scene.repo);
        let present = compose::present(scene, &writer, store::has_files(scene.repo)?, &[])?;
        let files = current_files(&present, index);
        return between(
            &writer.overlay(scene.repo),
            &request.patch,
            old.files(index),
            None,
            Vec::new(),
            files,
        );
    };
    let writer = Writer::memory(scene.repo);
    let present = compose::present(scene, &writer, store::has_files(scene.repo)?, &[])?;
    let (record, steps) = present_record(scene, &old)?;
    let files = current_files(&present, index);
    let record = comparison::with_steps((&old.document.record, &steps_of(scene, &old)?), (&record, &steps));
    between(
        &writer.overlay(scene.repo),
        &request.patch,
        (oid(old.entry.id), files_of(&old, index)),
        None,
        record,
        files,
    )
}

/// The tree of the current files, or of the index.
fn current_files(present: &CurrentSnapshot, index: bool) -> Option<ObjectId> {
    let snapshot = present.snapshot.as_ref();
    snapshot.map(|snapshot| if index { snapshot.index_tree } else { snapshot.tree })
}

/// Compares the newer side with the state that both sides come from.
fn since_base(scene: &Scene<'_>, old: &Side, request: &DiffRequest) -> Result<DiffOutcome, Error> {
    if let Some(selector) = &request.new {
        let new = side(scene, selector)?;
        let base = Base::of(scene, old, &new, request.index)?;
        let record = match (&base.record, &new) {
            (Some(base), Side::Checkpoint(new)) => records(scene, base, new)?,
            _ => Vec::new(),
        };
        let (id, files) = new.files(request.index);
        return between(
            scene.repo,
            &request.patch,
            (base.id, base.files),
            Some(id),
            record,
            files,
        );
    }
    // The working tree comes from the latest checkpoint of its session, without one from HEAD.
    let ours = if let Some(chosen) = session_choice::session_for_command(scene)? {
        Side::Checkpoint(Box::new(chosen.tip))
    } else {
        let head = refs::head(scene.repo)?.id;
        let head = head.ok_or(Error::NoCommits { id: "HEAD".to_owned() })?;
        Side::Commit(head, bases::tree_of_commit(scene, &oid(head))?)
    };
    let base = Base::of(scene, old, &ours, request.index)?;
    let record = match (&base.record, &ours) {
        (Some(base), Side::Checkpoint(tip)) => {
            let (record, steps) = present_record(scene, tip)?;
            comparison::with_steps((&base.document.record, &steps_of(scene, base)?), (&record, &steps))
        }
        _ => Vec::new(),
    };
    let writer = Writer::memory(scene.repo);
    let present = compose::present(scene, &writer, store::has_files(scene.repo)?, &[])?;
    let files = current_files(&present, request.index);
    let repo = writer.overlay(scene.repo);
    between(&repo, &request.patch, (base.id, base.files), None, record, files)
}

/// The state that two sides come from.
struct Base {
    id: Oid,
    files: Option<ObjectId>,
    /// The checkpoint whose record is the base, if there is one.
    record: Option<Checkpoint>,
}

impl Base {
    fn of(scene: &Scene<'_>, old: &Side, new: &Side, index: bool) -> Result<Self, Error> {
        let load = |id: ObjectId| checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)));
        let mut record = None;
        if let (Side::Checkpoint(old), Side::Checkpoint(new)) = (old, new) {
            let nearest = |edges| bases::nearest(scene, old.entry.id, new.entry.id, edges);
            record = nearest(MergeEdges::All)?.map(|(id, _)| load(id)).transpose()?;
            let base = nearest(MergeEdges::Files)?.map(|(id, _)| load(id)).transpose()?;
            if let Some(base) = base.filter(|base| base.document.snapshot.is_some()) {
                return Ok(Self {
                    id: oid(base.entry.id),
                    files: files_of(&base, index),
                    record,
                });
            }
        }
        let unrelated = || Error::Unrelated {
            old: old.files(index).0.short().to_owned(),
            new: new.files(index).0.short().to_owned(),
        };
        let (one, other) = old.head().zip(new.head()).ok_or_else(unrelated)?;
        let commit = bases::merge_base(scene, &one, &other)?.ok_or_else(unrelated)?;
        Ok(Self {
            files: Some(bases::tree_of_commit(scene, &commit)?),
            id: commit,
            record,
        })
    }
}

/// A side of a comparison.
enum Side {
    Checkpoint(Box<Checkpoint>),
    /// A commit of the project, with its tree.
    Commit(ObjectId, ObjectId),
}

impl Side {
    /// Its id and its files, or what was staged in it.
    fn files(&self, index: bool) -> (Oid, Option<ObjectId>) {
        match self {
            Self::Checkpoint(checkpoint) => (oid(checkpoint.entry.id), files_of(checkpoint, index)),
            Self::Commit(id, tree) => (oid(*id), Some(*tree)),
        }
    }

    /// The commit of the project that it was saved at.
    fn head(&self) -> Option<Oid> {
        match self {
            Self::Checkpoint(checkpoint) => checkpoint.document.git.head.clone(),
            Self::Commit(id, _) => Some(oid(*id)),
        }
    }
}

/// The checkpoint that a selector means; where it means none, the commit of that name, such as `HEAD` or a tag.
fn side(scene: &Scene<'_>, selector: &Selector) -> Result<Side, Error> {
    let error = match select::checkpoint(scene, selector) {
        Ok(selected) => return Ok(Side::Checkpoint(Box::new(selected.checkpoint))),
        Err(error @ (Error::NotFound { .. } | Error::NoSession { .. })) => error,
        Err(error) => return Err(error),
    };
    // Only a checkpoint has a name of its own.
    if selector.steps.iter().any(|step| matches!(step, SelectorStep::Named(_))) {
        return Err(error);
    }
    let name = format!("{selector}^{{commit}}");
    let asked = store::git(scene.repo).args(["rev-parse", "--quiet", "--verify", "--end-of-options", &name]);
    let found = asked.accept([1, 128]).text().map_err(store::Error::from)?;
    let Ok(id) = ObjectId::from_hex(found.trim().as_bytes()) else {
        return Err(error);
    };
    let tree = checkpoint::tree_of(scene.repo, id).map_err(Error::damaged(short(id)))?;
    Ok(Side::Commit(id, tree))
}

/// Compares a commit of the project with the files of a checkpoint that was selected already.
pub(super) fn from_commit(
    scene: &Scene<'_>,
    old: ObjectId,
    new: &Checkpoint,
    patch: &PatchOptions,
) -> Result<DiffOutcome, Error> {
    let tree = checkpoint::tree_of(scene.repo, old).map_err(Error::damaged(short(old)))?;
    let files = files_of(new, false);
    between(
        scene.repo,
        patch,
        (oid(old), Some(tree)),
        Some(oid(new.entry.id)),
        Vec::new(),
        files,
    )
}

/// Compares two checkpoints that were selected already.
pub(super) fn checkpoints(
    scene: &Scene<'_>,
    old: &Checkpoint,
    new: &Checkpoint,
    patch: &PatchOptions,
) -> Result<DiffOutcome, Error> {
    let record = records(scene, old, new)?;
    between(
        scene.repo,
        patch,
        (oid(old.entry.id), files_of(old, false)),
        Some(oid(new.entry.id)),
        record,
        files_of(new, false),
    )
}

/// Differences between the records and steps of two checkpoints.
pub(super) fn records(scene: &Scene<'_>, old: &Checkpoint, new: &Checkpoint) -> Result<Vec<RecordDifference>, Error> {
    Ok(comparison::with_steps(
        (&old.document.record, &steps_of(scene, old)?),
        (&new.document.record, &steps_of(scene, new)?),
    ))
}

fn steps_of(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<Vec<Step>, Error> {
    store::steps::read(scene.repo, checkpoint).map_err(Error::damaged(short(checkpoint.entry.id)))
}

/// The record and the steps a save would store now: those of the session the checkpoint belongs to, with its draft.
fn present_record(scene: &Scene<'_>, old: &Checkpoint) -> Result<(Record, Vec<Step>), Error> {
    let chosen =
        session_choice::session_for_command(scene)?.filter(|c| c.tip.document.session.id == old.document.session.id);
    let Some(chosen) = chosen else {
        return Ok((old.document.record.clone(), steps_of(scene, old)?));
    };
    let mut subject = session_choice::carried(&chosen.tip, &chosen.name);
    session_choice::with_draft(scene, &chosen.tip, &mut subject)?;
    // A summary is written anew by each save: that it is not written yet is no difference.
    subject.record.summary.clone_from(&old.document.record.summary);
    let steps = step::with_draft(scene, &chosen.tip, chosen.name.as_str())?;
    Ok((subject.record, steps))
}

fn files_of(checkpoint: &Checkpoint, index: bool) -> Option<ObjectId> {
    let snapshot = checkpoint.document.snapshot.as_ref()?;
    let tree = if index { &snapshot.index } else { &snapshot.tree };
    Some(checkpoint::object_id(tree))
}

fn between(
    repo: &Repository,
    options: &PatchOptions,
    (old, old_files): (Oid, Option<ObjectId>),
    new: Option<Oid>,
    record: Vec<RecordDifference>,
    new_files: Option<ObjectId>,
) -> Result<DiffOutcome, Error> {
    let mut diff = DiffOutcome {
        old,
        new,
        record,
        files: Vec::new(),
        without_files: false,
        text: Vec::new(),
        unmatched: None,
    };
    let (Some(old_files), Some(new_files)) = (old_files, new_files) else {
        diff.without_files = true;
        return Ok(diff);
    };
    let renames = options.renames.map_or(Renames::Off, |_| Renames::Exact);
    diff.files = tree::diff(repo, Some(old_files), Some(new_files), renames)?;
    if !options.pathspecs.is_empty() {
        // git takes the directory as it is; the filter wants it below the top of the working tree.
        let directory = options.directory.clone().unwrap_or_default();
        let below = repo
            .workdir()
            .and_then(|top| directory.strip_prefix(top).ok())
            .unwrap_or(Path::new(""));
        let specs: Vec<_> = options
            .pathspecs
            .iter()
            .map(|s| s.as_encoded_bytes().to_vec())
            .collect();
        let filter = pathspec::PathFilter::new(repo, &specs, below)?;
        diff.files.retain(|change| filter.keeps(&change.path));
        let mut unmatched = filter.unmatched();
        unmatched.tree(repo, old_files)?;
        unmatched.tree(repo, new_files)?;
        diff.unmatched = unmatched.first().cloned();
    }
    if !diff.files.is_empty() {
        let spilled = SpillDirectory::new(repo)?;
        let git = patch::command(repo, Some(old_files), Some(new_files), options, spilled.as_ref());
        diff.text = git.run().map_err(store::Error::from)?.stdout;
    }
    Ok(diff)
}
