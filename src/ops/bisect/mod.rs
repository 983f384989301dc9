//! `bisect`: the first checkpoint at which something is bad.
//!
//! The states of a session are one line, so the search needs no more than halving it. States with the same files are
//! tested once. Unless it is said otherwise the latest state is bad, and what was there before the session is good.

mod search;

use std::path::PathBuf;

pub use search::BisectStep;
use search::StateLine;

use super::{
    Error, Scene,
    file_history::session_of,
    select,
    timeline::{self, FileState},
};
use crate::{
    model::{id::Oid, selector::Selector},
    store::{
        ObjectId,
        bisect::{self, BisectState},
        checkpoint::{object_id, oid},
        lock::HeldLock,
    },
};

pub use crate::store::bisect::BisectVerdict;

/// Why a bisection cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    /// One was begun and not ended.
    #[error("a bisection is in progress")]
    Bisecting,
    /// None was begun.
    #[error("no bisection is in progress")]
    NotBisecting,
    /// There is no state with files that could be tested.
    #[error("there is no checkpoint to test")]
    NothingToTest,
    /// A checkpoint is none of those that are bisected.
    #[error("checkpoint {id} is not one of those that are bisected, or has no files")]
    NotInLine {
        /// Its first digits.
        id: String,
    },
    /// A good checkpoint is not older than a bad one.
    #[error("a good checkpoint is not older than a bad one")]
    GoodAfterBad,
}

/// How far a bisection is.
#[derive(Debug)]
pub struct BisectProgress {
    /// The session.
    pub session: String,
    /// The directory to test in.
    pub directory: PathBuf,
    /// The next step.
    pub step: BisectStep,
    /// The states, latest first.
    pub states: Vec<FileState>,
    /// Verdicts in the order in which they were given.
    pub verdicts: Vec<(Oid, BisectVerdict)>,
}

impl BisectProgress {
    /// A state by its place.
    pub fn state(&self, place: usize) -> Option<&FileState> {
        self.states.get(place)
    }
}

/// A bisection that this process may change.
#[derive(Debug)]
pub struct HeldBisection {
    lock: HeldLock,
    state: BisectState,
}

impl HeldBisection {
    /// Whether `run` began it.
    pub fn is_automatic(&self) -> bool {
        self.state.is_automatic
    }
}

/// Removes what an interrupted `run` left. Gives whether there was something.
pub fn sweep(scene: &Scene<'_>) -> Result<bool, Error> {
    Ok(bisect::sweep(scene.repo, scene.wait)?)
}

fn read(scene: &Scene<'_>) -> Result<Option<BisectState>, Error> {
    Ok(bisect::read(scene.repo)?)
}

/// Begins a bisection, of a checkpoint that is bad and one that is good, if they are named.
pub fn start(
    scene: &Scene<'_>,
    bad: Option<&Selector>,
    good: Option<&Selector>,
    is_automatic: bool,
) -> Result<HeldBisection, Error> {
    let lock = bisect::lock(scene.repo, scene.wait)?;
    if read(scene)?.is_some_and(|state| !state.is_automatic) {
        return Err(BisectError::Bisecting.into());
    }
    bisect::remove(scene.repo)?;
    let current = Selector::current();
    let (session, from) = session_of(scene, bad.unwrap_or(&current))?;
    let mut state = BisectState {
        session,
        from: oid(from),
        verdicts: Vec::new(),
        current: None,
        is_automatic,
    };
    if bad.is_some() {
        state.verdicts.push((oid(from), BisectVerdict::Bad));
    }
    if let Some(good) = good {
        let (_, good) = select::commit(scene, good)?;
        state.verdicts.push((oid(good), BisectVerdict::Good));
    }
    // A mistake is found before anything is written.
    StateLine::new(&timeline::states(scene, from)?, &state.verdicts)?;
    bisect::write(scene.repo, &state)?;
    Ok(HeldBisection { lock, state })
}

/// The bisection that was begun.
pub fn open(scene: &Scene<'_>) -> Result<Option<HeldBisection>, Error> {
    let lock = bisect::lock(scene.repo, scene.wait)?;
    Ok(read(scene)?.map(|state| HeldBisection { lock, state }))
}

/// How far it is; the working tree is brought to what is to be tested next.
pub fn proceed(scene: &Scene<'_>, held: &mut HeldBisection) -> Result<BisectProgress, Error> {
    let progress = look(scene, held)?;
    if let BisectStep::Test { place, .. } = progress.step {
        let state = &progress.states[place];
        held.state.current = Some(oid(state.entry.id));
        bisect::write(scene.repo, &held.state)?;
        bisect::check_out(scene.repo, state.snapshot, &held.lock)?;
    }
    Ok(progress)
}

/// How far it is.
pub fn look(scene: &Scene<'_>, held: &HeldBisection) -> Result<BisectProgress, Error> {
    let states = timeline::states(scene, object_id(&held.state.from))?;
    let line = StateLine::new(&states, &held.state.verdicts)?;
    Ok(BisectProgress {
        session: held.state.session.clone(),
        directory: bisect::work_tree(scene.repo),
        step: line.step(),
        states,
        verdicts: held.state.verdicts.clone(),
    })
}

/// The states on which an answer rests that were assumed and not tested, with what they were assumed to be: a first bad
/// checkpoint that is the latest itself, and the state before one that is the first of the session.
pub fn assumptions(held: &HeldBisection, progress: &BisectProgress) -> Vec<(usize, BisectVerdict)> {
    let BisectStep::Done { place } = progress.step else {
        return Vec::new();
    };
    let is_missing = |wanted: BisectVerdict| held.state.verdicts.iter().all(|(_, verdict)| *verdict != wanted);
    let mut out = Vec::new();
    if is_missing(BisectVerdict::Bad) {
        out.push((place, BisectVerdict::Bad));
    }
    if is_missing(BisectVerdict::Good) {
        out.push((place + 1, BisectVerdict::Good));
    }
    out
}

/// Brings the working tree to the state on which an answer rests. Gives whether there is one: before the first checkpoint
/// of a session it is what HEAD was then.
pub fn check_out_assumed(
    scene: &Scene<'_>,
    held: &HeldBisection,
    progress: &BisectProgress,
    place: usize,
) -> Result<bool, Error> {
    let commit = match (progress.state(place), place.checked_sub(1)) {
        (Some(state), _) => state.snapshot,
        (None, Some(first)) => match progress.state(first) {
            Some(first) => first.head,
            None => return Ok(false),
        },
        (None, None) => return Ok(false),
    };
    bisect::check_out(scene.repo, commit, &held.lock)?;
    Ok(true)
}

/// Brings the working tree to the oldest state that is known to be good, or to the oldest of all, for a command that
/// could not be run.
pub fn check_out_good(scene: &Scene<'_>, held: &HeldBisection, progress: &BisectProgress) -> Result<(), Error> {
    let is_good = |state: &&FileState| {
        let id = oid(state.entry.id);
        progress
            .verdicts
            .iter()
            .any(|(other, verdict)| *other == id && *verdict == BisectVerdict::Good)
    };
    let state = progress.states.iter().find(is_good).or(progress.states.last());
    if let Some(state) = state {
        bisect::check_out(scene.repo, state.snapshot, &held.lock)?;
    }
    Ok(())
}

/// Notes a verdict about a checkpoint, or about the one that is being tested.
pub fn judge(
    scene: &Scene<'_>,
    held: &mut HeldBisection,
    selector: Option<&Selector>,
    verdict: BisectVerdict,
) -> Result<(), Error> {
    let id: Oid = match selector {
        Some(selector) => oid(select::commit(scene, selector)?.1),
        None => held.state.current.clone().ok_or(BisectError::NothingToTest)?,
    };
    let mut verdicts = held.state.verdicts.clone();
    verdicts.push((id, verdict));
    let from: ObjectId = object_id(&held.state.from);
    StateLine::new(&timeline::states(scene, from)?, &verdicts)?;
    held.state.verdicts = verdicts;
    held.state.current = None;
    Ok(bisect::write(scene.repo, &held.state)?)
}

/// Ends a bisection and removes its working tree. Gives whether there was one.
pub fn reset(scene: &Scene<'_>) -> Result<bool, Error> {
    let _lock = bisect::lock(scene.repo, scene.wait)?;
    let was_there = read(scene).map_or(true, |state| state.is_some());
    bisect::remove(scene.repo)?;
    Ok(was_there)
}

/// Ends a bisection that is held.
pub fn end(scene: &Scene<'_>, held: HeldBisection) -> Result<(), Error> {
    bisect::remove(scene.repo)?;
    drop(held);
    Ok(())
}
