//! The directory `steps/` next to a document: one file for each step.
//!
//! A save reads only the steps that its draft changes; the blobs of all others are taken over by their ids. Numbers of
//! steps follow from how many there are, so that nothing has to be read for them either.

use std::collections::BTreeMap;

use super::{
    Error, ObjectId, Repository,
    checkpoint::{self, Checkpoint, Fault, Siblings, object_id},
    objects::Writer,
};
use crate::model::{
    patch,
    step::{self, Step, StepChange},
};

/// The directory's name in a checkpoint's tree.
pub const DIRECTORY: &str = "steps";
/// The end of each file's name; what is before it is the step's id.
const END: &str = ".json";

/// Why steps could not be folded in.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// Stored data is damaged.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A change does not fit.
    #[error(transparent)]
    Patch(#[from] patch::Error),
    /// The objects could not be written.
    #[error(transparent)]
    Store(#[from] Error),
}

/// The steps of a checkpoint, in their order.
pub fn read(repo: &Repository, checkpoint: &Checkpoint) -> Result<Vec<Step>, Fault> {
    let directory = checkpoint.document.trees.get(DIRECTORY).map(object_id);
    let mut steps = Vec::new();
    for (id, blob) in entries(repo, directory)? {
        steps.push(read_one(repo, &id, blob)?);
    }
    sort(&mut steps);
    Ok(steps)
}

/// Puts steps in their order.
pub fn sort(steps: &mut [Step]) {
    steps.sort_by(|a, b| (a.n, a.at, &a.id).cmp(&(b.n, b.at, &b.id)));
}

/// Applies changes to steps that were read; a step that is not there is new.
pub fn apply(steps: &mut Vec<Step>, changes: &[StepChange]) -> Result<(), patch::Error> {
    for change in changes {
        let at = steps.iter().position(|step| step.id == change.id);
        let at = if let Some(at) = at {
            at
        } else {
            steps.push(new_step(change, steps.len())?);
            steps.len() - 1
        };
        steps[at] = steps[at].patched(change)?;
    }
    sort(steps);
    Ok(())
}

/// Writes the directory of the next checkpoint: what the one before had, with the changes applied.
pub fn fold(
    repo: &Repository,
    writer: &Writer,
    previous: &Siblings,
    changes: &[StepChange],
    siblings: &mut Siblings,
) -> Result<(), FoldError> {
    if changes.is_empty() {
        siblings.keep(previous, DIRECTORY);
        return Ok(());
    }
    let mut blobs = entries(repo, previous.get(DIRECTORY))?;
    let mut changed: BTreeMap<&str, Step> = BTreeMap::new();
    let mut count = blobs.len();
    for change in changes {
        let step = match (changed.remove(change.id.as_str()), blobs.get(&change.id)) {
            (Some(step), _) => step,
            (None, Some(blob)) => read_one(repo, &change.id, *blob)?,
            (None, None) => {
                count += 1;
                new_step(change, count - 1)?
            }
        };
        changed.insert(&change.id, step.patched(change)?);
    }
    for (id, step) in changed {
        blobs.insert(id.to_owned(), writer.write_private(&step.to_bytes())?);
    }
    let files = blobs.into_iter().map(|(id, blob)| (format!("{id}{END}"), blob));
    Ok(siblings.files(writer, DIRECTORY, files.collect())?)
}

/// Writes a directory of steps.
pub fn write(writer: &Writer, steps: &[Step], siblings: &mut Siblings) -> Result<(), Error> {
    let mut files = Vec::with_capacity(steps.len());
    for step in steps {
        let blob = writer.write_private(&step.to_bytes())?;
        files.push((format!("{}{END}", step.id), blob));
    }
    siblings.files(writer, DIRECTORY, files)
}

fn new_step(change: &StepChange, before: usize) -> Result<Step, patch::Error> {
    if !step::is_id(&change.id) {
        return Err(patch::Error::Member {
            member: "step".into(),
            reason: format!("'{}' is not the id of a step", change.id.escape_debug()),
        });
    }
    let n = u32::try_from(before + 1).unwrap_or(u32::MAX);
    Ok(Step::new(&change.id, n, change.at, &change.by))
}

/// Ids and blobs of a directory of steps. Files with other names are of a later version.
fn entries(repo: &Repository, directory: Option<ObjectId>) -> Result<BTreeMap<String, ObjectId>, Fault> {
    let Some(directory) = directory else {
        return Ok(BTreeMap::new());
    };
    let found = checkpoint::directory(repo, directory, DIRECTORY)?.into_iter();
    let step = |(name, is_directory, id): (String, bool, ObjectId)| {
        let stem = name
            .strip_suffix(END)
            .filter(|stem| !is_directory && step::is_id(stem))?;
        Some((stem.to_owned(), id))
    };
    Ok(found.filter_map(step).collect())
}

fn read_one(repo: &Repository, id: &str, blob: ObjectId) -> Result<Step, Fault> {
    let bytes = checkpoint::read_private(repo, blob, "step")?;
    let malformed = |why: String| Fault::Step { id: id.to_owned(), why };
    let step = Step::from_bytes(&bytes).map_err(malformed)?;
    if step.id == id {
        Ok(step)
    } else {
        Err(malformed(format!("it calls itself '{}'", step.id.escape_debug())))
    }
}
