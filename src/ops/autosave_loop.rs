//! Autosaves one after another, of which those are cheap before which nothing happened.
//!
//! Where the system reports changes, a turn without a report is over without a look at the files, however many there
//! are. Reports decide only whether to look, never what is saved: after any of them, whatever it is about, all is looked
//! through as ever. A look counts only if every directory that it went through was watched before it began.
//!
//! A scan finds what no report covers: repositories in the working tree, files with more than one name, paths that
//! could not be read, file systems that others change; and every fifth turn at the latest looks in any case, for writes
//! through mapped memory and through names that a file was given elsewhere.

use std::{collections::HashSet, path::PathBuf};

use super::{
    Error, Scene,
    autosave::{self, AutosaveOutcome, AutosaveReceipt},
    refuse, session_choice,
};
use crate::{
    model::id::Digest,
    os::{self, News, Reports, WatchError},
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
    /// Those that are watched.
    watched: HashSet<PathBuf>,
    reports: Option<Reports>,
    /// Result of the last scan, if inotify would have reported any change since before it began.
    sure: Option<(AutosaveInputs, AutosaveReceipt)>,
    /// Why it is not sure.
    unsure: Option<&'static str>,
    skipped: u32,
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

    /// Saves what changed, as [`autosave::autosave`] does. With `look` the files are looked through in any case.
    pub fn turn(&mut self, scene: &Scene<'_>, look: bool) -> Result<(AutosaveOutcome, Way), Error> {
        refuse::too_broad(scene)?;
        let before = AutosaveInputs::of(scene)?;
        // What is reported from here on counts for the next turn.
        let news = self.reports.as_mut().map_or(News::Directories, Reports::news);
        let reason = match &self.sure {
            None => self.unsure.unwrap_or("it is the first time"),
            Some(_) if look => "it is the last time",
            Some(_) if news != News::None => "a change was reported",
            Some((rest, _)) if Some(rest) != before.as_ref() => "the index, a setting or the session changed",
            Some(_) if self.skipped >= MOST_SKIPPED => "reports are incomplete",
            Some((_, made)) => {
                self.skipped += 1;
                return Ok((AutosaveOutcome::Unchanged(made.clone()), Way::Skipped));
            }
        };
        self.skipped = 0;
        self.sure = None;
        self.unsure = Some("nothing was saved the last time");
        let are_watched = news != News::Directories
            && self
                .directories
                .iter()
                .all(|directory| self.watched.contains(directory));
        let refused = if are_watched { None } else { self.watch().err() };
        let outcome = autosave::autosave(scene)?;
        if let (AutosaveOutcome::Saved(made) | AutosaveOutcome::Unchanged(made), Some(mut rest)) = (&outcome, before) {
            if let AutosaveOutcome::Saved(made) = &outcome {
                rest.autosave = Some(made.id);
            }
            self.looked(scene, rest, made, refused)?;
        }
        Ok((outcome, Way::Looked(reason)))
    }

    /// Watches the directories of the last look; all of them, or none.
    fn watch(&mut self) -> Result<(), WatchError> {
        self.reports = None;
        self.watched.clear();
        if !self.directories.is_empty() {
            self.reports = Some(Reports::of(&self.directories)?);
            self.watched.extend(self.directories.iter().cloned());
        }
        Ok(())
    }

    /// Notes what a look went through, and whether it is enough to go by reports now.
    fn looked(
        &mut self,
        scene: &Scene<'_>,
        rest: AutosaveInputs,
        made: &AutosaveReceipt,
        refused: Option<WatchError>,
    ) -> Result<(), Error> {
        let extent = &made.extent;
        if extent.count() > os::MOST_FOLDERS {
            // Their paths are of no use then.
            self.directories.clear();
            self.unsure = Some(reason_of(WatchError::TooMany));
            return Ok(());
        }
        self.directories = extent.paths(store::work_tree(scene.repo)?);
        let unsure = if extent.reaches_elsewhere() {
            Some("there are repositories or files with several names")
        } else if made.failed > 0 {
            Some("not everything can be read")
        } else if self.reports.is_none() {
            Some(refused.map_or("nothing was watched yet", reason_of))
        } else if !self
            .directories
            .iter()
            .all(|directory| self.watched.contains(directory))
        {
            Some("there are other directories than before")
        } else {
            None
        };
        self.unsure = unsure;
        self.sure = unsure.is_none().then(|| (rest, made.clone()));
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
