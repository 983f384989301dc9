//! Executing a plan, each path in one step that either happens or does not.
//!
//! Every blob is checked before the first change. Directories are reached by descriptor, never through a link. A file is
//! replaced only after its bytes were compared with what the safety checkpoint holds; then the new file, complete under
//! a temporary name next to it, and the old one change places, and the old one is looked at once more before it is
//! removed. What changed meanwhile stays, and is reported as moved. Paths of one phase are spread over a few threads.
//! At the end everything that was changed is on the disk, not only in the memory of the system.

mod durable;
mod replace;
mod step;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Error;
use super::content::{Converter, TargetContent};
use super::parallel::{BATCH, in_parts, parts, thread_count};
use super::plan::{RestorePlan, RestoreStep};
use super::source::{VerifiedBlobs, VerifiedBlobsBuilder};
use crate::model::path::RepoPath;
use crate::os;
use crate::store::undo::PathState;
use crate::store::{ObjectId, Repository};
use step::{Executor, WrittenBytes};

/// How a plan is executed.
pub struct Execution<'a> {
    /// Makes the names of temporary files unique; letters and digits.
    pub token: &'a str,
    /// Called with the number of steps done and of all steps.
    pub progress: &'a mut dyn FnMut(usize, usize),
}

/// Result of an execution.
#[derive(Debug, Default)]
pub struct ExecutionOutcome {
    /// Files and links that were created or replaced.
    pub written: usize,
    /// Files and links that were removed.
    pub deleted: usize,
    /// Files that got other permission bits.
    pub modes: usize,
    /// Directories made because they were saved empty.
    pub directories: usize,
    /// Paths that were left alone because they are not as they were when the plan was made: plan again.
    pub moved: Vec<RepoPath>,
    /// Paths that could not be written, with the reason; they are as they were.
    pub failed: Vec<(RepoPath, String)>,
    /// Paths that were written and are not what was written: another program changed them since.
    pub differing: Vec<RepoPath>,
    /// Paths that were written, and that a save would store as something else: their filter program does not take back what
    /// it gives.
    pub unstable: Vec<RepoPath>,
    /// Result for each changed path.
    pub changes: Vec<ChangedPath>,
    /// Why it ended early; the paths before were done.
    pub stopped: Option<Error>,
    /// The file systems that were changed, by their devices, each with a directory on it.
    devices: BTreeMap<u64, Vec<u8>>,
}

/// A path that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path.
    pub path: RepoPath,
    /// The state that it was left in.
    pub state: PathState,
    /// The file that was written there, or that got other permission bits.
    pub file: Option<WrittenFile>,
}

/// A file on disk and the blob that it is stored as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenFile {
    /// Bytes of the file.
    pub length: u64,
    /// The blob.
    pub id: ObjectId,
}

impl ExecutionOutcome {
    fn add(&mut self, other: Self) {
        self.written += other.written;
        self.deleted += other.deleted;
        self.modes += other.modes;
        self.directories += other.directories;
        self.moved.extend(other.moved);
        self.failed.extend(other.failed);
        self.differing.extend(other.differing);
        self.unstable.extend(other.unstable);
        self.changes.extend(other.changes);
        self.stopped = self.stopped.take().or(other.stopped);
        self.devices.extend(other.devices);
    }

    /// Whether everything in the plan was done.
    pub fn is_complete(&self) -> bool {
        self.stopped.is_none() && self.moved.is_empty() && self.failed.is_empty()
    }
}

/// Executes a plan. Fails without having changed anything; what happens after the first change is in the result.
///
/// A plan with blocked paths must not be given here; nothing of it is executed.
pub fn execute(
    repo: &Repository,
    plan: &RestorePlan,
    execution: &mut Execution<'_>,
) -> Result<ExecutionOutcome, Error> {
    if let Some(blocked) = plan.blocked.first() {
        return Err(Error::io("replace", blocked.path.to_string())(
            io::ErrorKind::AlreadyExists.into(),
        ));
    }
    let checked = Arc::new(check_sources(repo, plan)?);
    // Opened before the first change: what fails here has changed nothing.
    let mut executor = Executor::new(repo, plan, execution.token, Arc::clone(&checked))?;
    let all = plan.steps.len();
    for phase in plan.phases() {
        let spread = ParallelSteps {
            plan,
            token: execution.token,
            checked: &checked,
            stop: AtomicBool::new(false),
        };
        let parallel = !matches!(
            plan.steps[phase.start],
            RestoreStep::RemoveDirectory { .. } | RestoreStep::RenameDirectory { .. }
        );
        spread.run(repo, &mut executor, phase, parallel, &mut |done| {
            (execution.progress)(done, all);
        });
        if executor.done.stopped.is_some() {
            break;
        }
    }
    if executor.done.stopped.is_none() {
        executor.tidy();
    }
    let changes = std::mem::take(&mut executor.done.changes);
    let root = repo.workdir();
    let devices = std::mem::take(&mut executor.done.devices);
    let sync = || durable::sync(root, &changes, &devices);
    let synced = if changes.len() > durable::SINGLE {
        // The disk is at work while what was written is read again, from the memory of the system.
        std::thread::scope(|scope| {
            let beside = os::spawn_worker(scope, sync);
            verify(repo, plan, execution.token, &mut executor);
            match beside.map(std::thread::ScopedJoinHandle::join) {
                Some(Ok(synced)) => synced,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => sync(),
            }
        })
    } else {
        verify(repo, plan, execution.token, &mut executor);
        sync()
    };
    if let Err(error) = synced {
        executor.done.stopped.get_or_insert(error);
    }
    executor.done.changes = changes;
    (execution.progress)(all, all);
    Ok(executor.done)
}

/// Every blob that is going to be written is there and has its id.
fn check_sources(repo: &Repository, plan: &RestorePlan) -> Result<VerifiedBlobs, Error> {
    let mut seen = HashSet::new();
    let mut sources = Vec::<(&[u8], &TargetContent)>::new();
    for step in &plan.steps {
        if let RestoreStep::Write { path, is, .. } = step
            && seen.insert((is.id, is.raw))
        {
            sources.push((path, is));
        }
    }
    let helpers = thread_count(repo, sources.len());
    let check = |repo: &Repository, sources: &[(&[u8], &TargetContent)]| {
        let mut converter = Converter::new(repo, &plan.settings)?;
        let mut kept = VerifiedBlobsBuilder::one_of(helpers + 1);
        for (path, content) in sources {
            converter.check(path, content, &mut kept)?;
        }
        Ok(kept.blobs)
    };
    let parts = in_parts(repo, &sources, helpers, check);
    let mut checked = VerifiedBlobs::new();
    for part in parts {
        checked.extend(part?);
    }
    Ok(checked)
}

/// Reads again what was written.
fn verify(repo: &Repository, plan: &RestorePlan, token: &str, executor: &mut Executor<'_>) {
    let written = std::mem::take(&mut executor.written);
    let verify = |repo: &Repository, written: &[(usize, WrittenBytes)]| {
        let mut executor = Executor::new(repo, plan, token, Arc::default())?;
        for (at, bytes) in written {
            executor.verify(*at, bytes);
        }
        Ok(executor.done.differing)
    };
    let helpers = thread_count(repo, written.len());
    for (part, written) in in_parts(repo, &written, helpers, verify)
        .into_iter()
        .zip(parts(&written, helpers))
    {
        match part {
            Ok(differing) => executor.done.differing.extend(differing),
            // What could not be read again there is read again here.
            Err(_) => written.iter().for_each(|(at, bytes)| executor.verify(*at, bytes)),
        }
    }
}

/// The steps of one phase, spread over threads.
struct ParallelSteps<'a> {
    plan: &'a RestorePlan,
    token: &'a str,
    checked: &'a Arc<VerifiedBlobs>,
    stop: AtomicBool,
}

impl ParallelSteps<'_> {
    fn run(
        &self,
        repo: &Repository,
        executor: &mut Executor<'_>,
        phase: Range<usize>,
        parallel: bool,
        progress: &mut dyn FnMut(usize),
    ) {
        let next = AtomicUsize::new(phase.start);
        let work = |executor: &mut Executor<'_>, progress: &mut dyn FnMut(usize)| {
            loop {
                let start = next.fetch_add(BATCH, Ordering::Relaxed);
                if start >= phase.end || self.stop.load(Ordering::Relaxed) {
                    return;
                }
                progress(start);
                for at in start..(start + BATCH).min(phase.end) {
                    if !executor.step(at) {
                        self.stop.store(true, Ordering::Relaxed);
                        return;
                    }
                }
            }
        };
        let helpers = if parallel { thread_count(repo, phase.len()) } else { 0 };
        let found = std::thread::scope(|scope| {
            let helpers: Vec<_> = (0..helpers)
                // Without them, where the system allows no more, it takes longer.
                .map_while(|_| {
                    let repo = repo.clone().into_sync();
                    let work = &work;
                    let help = move || {
                        let repo = repo.to_thread_local();
                        // One that cannot be opened leaves its work to the others.
                        let mut executor =
                            Executor::new(&repo, self.plan, self.token, Arc::clone(self.checked)).ok()?;
                        executor.postponed = Some(Vec::new());
                        work(&mut executor, &mut |_| ());
                        Some((executor.done, executor.written, executor.postponed))
                    };
                    os::spawn_worker(scope, help)
                })
                .collect();
            executor.postponed = (!helpers.is_empty()).then(Vec::new);
            work(executor, progress);
            let mut found = Vec::new();
            for helper in helpers {
                match helper.join() {
                    Ok(one) => found.extend(one),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            found
        });
        let mut postponed = executor.postponed.take().unwrap_or_default();
        for (done, written, left) in found {
            executor.done.add(done);
            executor.written.extend(written);
            postponed.extend(left.into_iter().flatten());
        }
        postponed.sort_unstable();
        for at in postponed {
            if self.stop.load(Ordering::Relaxed) || !executor.step(at) {
                return;
            }
        }
    }
}
