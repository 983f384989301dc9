//! Autosaves one after another, of which those are cheap before which nothing happened.
//!
//! Where the system reports changes, a turn without a report is over without a look at the files, however many there
//! are. Reports decide only whether to look, never what is saved: after any of them, whatever it is about, all is looked
//! through as ever, or what the watcher answers other processes (`watch_answers`). A look counts only if every
//! directory that it went through was watched before it began.
//!
//! A scan finds what no report covers: repositories in the working tree, files with more than one name, paths that
//! could not be read, file systems that others change; and every fifth turn at the latest looks at all files in any case,
//! for what no report covers (`os::reports`).

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use super::{
    Error, Scene,
    autosave::{self, AutosaveOutcome, AutosaveReceipt},
    compose, refuse, session_choice,
    watch_answers::{WatchAnswers, WatchedTree, lock, settle_doubts},
};
use crate::{
    model::id::Digest,
    os::WatchError,
    store::{self, ObjectId, change_stamp, draft, refs, restored},
    worktree::snapshot,
};

/// How many turns in a row may pass without a look at the files.
pub const MOST_SKIPPED: u32 = 4;

/// How a turn came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nothing was reported, so nothing was looked at.
    Skipped,
    /// All was looked through, for this reason.
    Looked(&'static str),
}

/// A row of autosaves of one working tree.
#[derive(Debug, Default)]
pub struct Lookout {
    /// The directories of the last look, each after the one that it is in.
    directories: Vec<PathBuf>,
    tree: Option<Arc<Mutex<WatchedTree>>>,
    answers: Option<WatchAnswers>,
    /// Result of the last scan, if inotify would have reported any change since before it began.
    sure: Option<SureResult>,
    /// Why it is not sure.
    unsure: Option<&'static str>,
    has_looked: bool,
    /// How many turns passed since all files were looked at.
    skipped: u32,
}

/// Result of a scan.
#[derive(Debug)]
struct SureResult {
    inputs: AutosaveInputs,
    /// How many changes had been reported before it began.
    changes: u64,
    made: AutosaveReceipt,
}

/// All that an autosave rests on next to the files: cheap to read, however many there are.
#[derive(Debug, PartialEq, Eq)]
struct AutosaveInputs {
    stamp: change_stamp::RepositoryStamp,
    surroundings: u64,
    session: String,
    tip: ObjectId,
    autosave: Option<ObjectId>,
    draft: (Option<String>, Option<u64>),
    restored: Option<Digest>,
}

impl AutosaveInputs {
    /// As it is now; `None` without a session.
    fn of(scene: &Scene<'_>) -> Result<Option<Self>, Error> {
        let Some(chosen) = session_choice::session_for_command(scene)? else {
            return Ok(None);
        };
        let session = chosen.tip.document.session.id;
        let draft = draft::read(scene.repo, &session)?;
        Ok(Some(Self {
            stamp: change_stamp::stamp(scene.repo, scene.index)?,
            surroundings: snapshot::surroundings(scene.repo)?,
            tip: chosen.tip.entry.id,
            autosave: refs::read(scene.repo, &store::autosave::ref_name(scene.repo, &session))?,
            draft: (draft.id.clone(), draft.last()),
            restored: restored::read(scene.repo)?,
            session,
        }))
    }
}

impl Lookout {
    /// One that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers other processes that take snapshots of the same working tree, until this is dropped. The caller holds the
    /// lock of the watcher.
    pub fn answer_others(&mut self, scene: &Scene<'_>) -> Result<(), Error> {
        if scene.settings.watcher {
            self.answers = WatchAnswers::start(&self.tree(scene)?);
        }
        Ok(())
    }

    /// Looks at the files that processes have open, where others ask and a directory is in doubt for them.
    pub fn settle_doubts(&self) {
        if let (Some(tree), Some(_)) = (&self.tree, &self.answers) {
            settle_doubts(tree, true);
        }
    }

    fn tree(&mut self, scene: &Scene<'_>) -> Result<Arc<Mutex<WatchedTree>>, Error> {
        if let Some(tree) = &self.tree {
            return Ok(Arc::clone(tree));
        }
        let root = store::work_tree(scene.repo)?;
        let tree = WatchedTree::new(root, compose::snapshot_cache(scene.repo));
        Ok(Arc::clone(self.tree.insert(Arc::new(Mutex::new(tree)))))
    }

    /// Saves what changed, as [`autosave::autosave`] does. With `look` the files are looked through in any case.
    pub fn turn(&mut self, scene: &Scene<'_>, look: bool) -> Result<(AutosaveOutcome, Way), Error> {
        refuse::too_broad(scene)?;
        let before = AutosaveInputs::of(scene)?;
        let tree = self.tree(scene)?;
        self.settle_doubts();
        let (reported, has_open_files) = {
            let mut tree = lock(&tree);
            // Without others that ask, every turn would look at all files for it.
            (tree.drain(), tree.has_open_files() && self.answers.is_some())
        };
        let is_over_due = self.skipped >= MOST_SKIPPED;
        let reason = match &self.sure {
            None => self.unsure.unwrap_or("it is the first time"),
            Some(_) if look => "it is the last time",
            Some(sure) if sure.changes != reported => "a change was reported",
            Some(_) if has_open_files => "a file is open",
            Some(sure) if Some(&sure.inputs) != before.as_ref() => "the index, a setting or the session changed",
            Some(_) if is_over_due => "reports are incomplete",
            Some(sure) => {
                self.skipped += 1;
                return Ok((AutosaveOutcome::Unchanged(sure.made.clone()), Way::Skipped));
            }
        };
        self.sure = None;
        self.unsure = Some("nothing was saved the last time");
        let mut watched = lock(&tree);
        let refused = if self.directories.is_empty() {
            None
        } else {
            watched.watch(&self.directories).err()
        };
        if look || is_over_due || !self.has_looked || self.answers.is_none() {
            self.skipped = 0;
            watched.doubt();
        } else {
            self.skipped += 1;
        }
        // What is reported from here on counts for the next turn.
        let moment = (watched.drain(), watched.position());
        drop(watched);
        let outcome = autosave::autosave(scene)?;
        self.has_looked = true;
        if let (AutosaveOutcome::Saved(made) | AutosaveOutcome::Unchanged(made), Some(mut rest)) = (&outcome, before) {
            if let AutosaveOutcome::Saved(made) = &outcome {
                rest.autosave = Some(made.id);
            }
            self.looked(scene, rest, made, moment, refused)?;
        }
        Ok((outcome, Way::Looked(reason)))
    }

    /// Notes what a look went through, and whether it is enough to go by reports now. `moment` is the count of changes and
    /// the last report before it began.
    fn looked(
        &mut self,
        scene: &Scene<'_>,
        inputs: AutosaveInputs,
        made: &AutosaveReceipt,
        (changes, position): (u64, Option<u64>),
        refused: Option<WatchError>,
    ) -> Result<(), Error> {
        let extent = &made.extent;
        let tree = self.tree(scene)?;
        let directories = extent.paths(store::work_tree(scene.repo)?);
        let is_known = directories.is_some();
        self.directories = directories.unwrap_or_default();
        let unsure = if extent.reaches_elsewhere() {
            Some("there are repositories or files with several names")
        } else if made.failed > 0 {
            Some("not everything can be read")
        } else if let Some(refused) = refused {
            Some(reason_of(refused))
        } else if !is_known {
            Some("files were saved meanwhile")
        } else if let Some(position) = position {
            let were_watched = lock(&tree).were_watched(&self.directories, position);
            (!were_watched).then_some("there are other directories than before")
        } else {
            Some("nothing was watched yet")
        };
        self.unsure = unsure;
        self.sure = unsure.is_none().then(|| SureResult {
            inputs,
            changes,
            made: made.clone(),
        });
        Ok(())
    }
}

/// Why files are looked at that are not watched.
fn reason_of(unwatched: WatchError) -> &'static str {
    match unwatched {
        WatchError::System => "this system reports no changes",
        WatchError::TooMany => "there are more directories than can be watched",
        WatchError::FileSystem => "the file system does not report every change",
        WatchError::Refused => "a directory cannot be watched",
    }
}
