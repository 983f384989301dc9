//! `import`: sessions of other systems, with their own times, ids and order.
//!
//! Files are read (bounded, links inside directories never followed), parsed by `formats`, cleaned of secrets, written as
//! `start` and `import` checkpoints, and all refs move in one go at the end; one `undo` takes the whole import back. A
//! session is known again by its system and foreign id, a checkpoint by the digest of its content: what is here already
//! is not imported again, and what came since is added, unless the session was continued here.

mod agent_file;
mod chat;
mod clean;
mod commit;
mod existing;
mod read;
mod times;
mod write;

use std::path::PathBuf;

use self::{existing::ImportedSession, write::SessionError};
use super::{
    Error, Scene,
    plan_runner::ProgressCallback,
    redact::{RedactedSecret, Redactor, UnsearchedContent},
    ref_transaction::Aftermath,
    refuse, start,
};
use crate::{
    formats::{self, ForeignCheckpoint, ForeignSession, Problem, ProblemSeverity, System},
    model::{name::ShortName, time::Timestamp},
    store::{
        self, ObjectId,
        objects::Writer,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// Request of an import.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// The system, when the files do not show it.
    pub from: Option<System>,
    /// Files and directories, absolute, each with how the user calls it.
    pub paths: Vec<(PathBuf, String)>,
    /// The name of the session; only for one session.
    pub name: Option<ShortName>,
    /// Whether to look below each path where the known systems leave their files, rather than at the path itself.
    pub usual_places: bool,
    /// Whether nothing is changed.
    pub dry_run: bool,
}

/// Result of an import, or of its dry run.
#[derive(Debug)]
pub struct ImportOutcome {
    /// Every session that was found, in the order of its source.
    pub items: Vec<ImportItem>,
    /// Problems of the source.
    pub problems: Vec<Problem>,
    /// Files that no system knows.
    pub unknown: Vec<String>,
    /// Secrets that were found and, unless disabled, replaced.
    pub redactions: Vec<RedactedSecret>,
    /// Content that could not be searched for secrets.
    pub unsearched: Vec<UnsearchedContent>,
    /// The leaves of the sources, and where they are now.
    pub leaves: formats::receipt::Leaves,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

impl ImportOutcome {
    /// How many sessions came in, or would.
    pub fn imported(&self) -> usize {
        self.items
            .iter()
            .filter(|item| matches!(item.what, ImportStatus::New | ImportStatus::Grown))
            .count()
    }

    /// Whether something of the source is not here.
    pub fn is_partial(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.weight == ProblemSeverity::Broken)
            || self
                .items
                .iter()
                .any(|item| matches!(item.what, ImportStatus::Refused(_)))
    }
}

/// Status of a foreign session in an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportStatus {
    /// It becomes a session.
    New,
    /// Checkpoints are added to the session that it became before.
    Grown,
    /// It is here already.
    Same,
    /// It does not come in, for this reason.
    Refused(String),
}

/// A foreign session.
#[derive(Clone, Debug)]
pub struct ImportItem {
    /// Its system.
    pub system: &'static str,
    /// Its id there.
    pub foreign_id: String,
    /// The files it was read from.
    pub sources: Vec<String>,
    /// The session's name here.
    pub name: ShortName,
    /// Status of the session.
    pub what: ImportStatus,
    /// Checkpoints that come in.
    pub checkpoints: usize,
    /// Messages of the chat that it has.
    pub messages: usize,
    /// The summary of its latest checkpoint.
    pub summary: String,
    /// When its latest checkpoint was made.
    pub at: Timestamp,
    /// The latest checkpoint here; `None` in a dry run of a new one.
    pub tip: Option<ObjectId>,
    /// State of the session.
    pub status: String,
}

/// Imports; `reading` is called with the number of files read so far, `progress` how many checkpoints of how many are
/// written.
pub fn import(
    scene: &Scene<'_>,
    request: &ImportRequest,
    reading: &dyn Fn(usize),
    progress: ProgressCallback<'_>,
) -> Result<ImportOutcome, Error> {
    let mut again = 0;
    loop {
        match once(scene, request, reading, progress) {
            // Another import was faster: what it brought in is here already.
            Err(Error::Store(store::Error::Moved { .. })) if again < ATTEMPTS => again += 1,
            done => return done,
        }
    }
}

/// How often an import is tried again because a ref moved meanwhile.
const ATTEMPTS: usize = 4;

fn once(
    scene: &Scene<'_>,
    request: &ImportRequest,
    reading: &dyn Fn(usize),
    progress: ProgressCallback<'_>,
) -> Result<ImportOutcome, Error> {
    refuse::too_broad(scene)?;
    let mut redactor = Redactor::new(scene)?;
    let agent = redactor.agent(scene);
    let scene = &Scene {
        agent: agent.as_deref(),
        ..*scene
    };
    let found = read::read(request, reading)?;
    let places = found.places();
    let mut problems = found.problems;
    let (mut parsed, mut unknown) = match request.from {
        Some(system) => (system.parse(&found.files), Vec::new()),
        None => formats::parse_with(found.files, &|file| agent_file::session(file, scene.now)),
    };
    for path in &mut unknown {
        found.shown.translate(path);
    }
    times::from_history(scene, &mut parsed.sessions, &|path| places.get(path).cloned());
    problems.append(&mut parsed.problems);
    for problem in &mut problems {
        found.shown.translate(&mut problem.path);
    }
    if let Some(name) = &request.name
        && parsed.sessions.len() > 1
    {
        return Err(Error::ManySessions {
            name: name.clone(),
            count: parsed.sessions.len(),
        });
    }
    if !request.dry_run {
        refs::recover(scene.repo, scene.wait)?;
    }
    let known = existing::all(scene)?;
    let mut names = existing::TakenNames::of_sessions(scene)?;
    let writer = if request.dry_run {
        Writer::memory(scene.repo)
    } else {
        Writer::durable(scene.repo)?
    };
    let all: usize = parsed.sessions.iter().map(|session| session.checkpoints.len()).sum();
    let (mut items, mut edits, mut needs, mut done) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let (mut seen, mut grown) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for mut session in parsed.sessions {
        for path in &mut session.sources {
            found.shown.translate(path);
        }
        clean::names(&mut session, &mut redactor);
        let count = session.checkpoints.len();
        // Files of one name are one session where they say the same; what they say tells others apart.
        let content = session.has_file_name_id.then(|| {
            session
                .checkpoints
                .iter()
                .map(ForeignCheckpoint::hash)
                .collect::<Vec<_>>()
        });
        if seen.insert((session.system, session.id.clone(), content)) {
            let key = (session.system.to_owned(), session.id.clone());
            let known = known.get(&key).map_or(&[][..], Vec::as_slice);
            let before = existing::of(scene, known, &session, request.name.as_ref())?;
            let before = before.filter(|known| grown.insert(known.name.clone()));
            let each = |n: usize| progress(done + n, all);
            match one(
                scene,
                request,
                &writer,
                session,
                before,
                (&mut names, &mut redactor),
                &each,
            )? {
                ImportStep::Draft(mut made) => {
                    problems.append(&mut made.notes);
                    needs.append(&mut made.needs);
                    edits.extend(made.edit);
                    items.push(made.item);
                }
                ImportStep::LeftOut(problem) => problems.push(problem),
            }
        } else {
            let what = format!(
                "session '{}' is there twice; the first one counts",
                session.id.escape_debug()
            );
            problems.push(Problem::broken(&session.sources.join(", "), what));
        }
        done += count;
        progress(done, all);
    }
    let aftermath = if request.dry_run || edits.is_empty() {
        Aftermath::default()
    } else {
        let aftermath = commit::commit(scene, writer, &edits, &needs, &items)?;
        start::merge_packs(scene);
        aftermath
    };
    Ok(ImportOutcome {
        items,
        problems,
        unknown,
        redactions: redactor.found,
        unsearched: redactor.unsearched,
        leaves: parsed.leaves,
        aftermath,
    })
}

/// One foreign session as it becomes one of ours.
struct ImportDraft {
    item: ImportItem,
    edit: Option<RefUpdate>,
    needs: Vec<ObjectId>,
    notes: Vec<Problem>,
}

/// Result for one foreign session.
#[allow(clippy::large_enum_variant, reason = "one at a time, and nearly all are drafts")]
enum ImportStep {
    Draft(ImportDraft),
    /// It is left out; the others are not.
    LeftOut(Problem),
}

type ImportTools<'a> = (&'a mut existing::TakenNames, &'a mut Redactor);

/// Writes what of a session is new.
fn one(
    scene: &Scene<'_>,
    request: &ImportRequest,
    writer: &Writer,
    foreign: ForeignSession,
    before: Option<&ImportedSession>,
    tools: ImportTools<'_>,
    progress: &dyn Fn(usize),
) -> Result<ImportStep, Error> {
    let (names, redactor) = tools;
    let path = foreign.sources.join(", ");
    let fallback = foreign.modified.unwrap_or(scene.now);
    let summary = foreign
        .checkpoints
        .last()
        .and_then(|last| last.record.get("summary")?.as_str().map(str::to_owned));
    let mut item = ImportItem {
        system: foreign.system,
        foreign_id: foreign.id.clone(),
        sources: foreign.sources.clone(),
        name: match before {
            Some(known) => known.name.clone(),
            None => match names.choose(request.name.as_ref(), &foreign.name) {
                Ok(name) => name,
                Err(name) => return Err(Error::Exists { name }),
            },
        },
        what: ImportStatus::New,
        checkpoints: foreign.checkpoints.len(),
        messages: foreign
            .checkpoints
            .iter()
            .map(|checkpoint| checkpoint.messages.len())
            .sum(),
        summary: summary.unwrap_or_default(),
        at: foreign
            .checkpoints
            .iter()
            .filter_map(|checkpoint| checkpoint.at)
            .max()
            .unwrap_or(fallback),
        tip: before.map(|known| known.tip),
        status: foreign
            .members
            .get("status")
            .and_then(|status| status.as_str())
            .unwrap_or("active")
            .to_owned(),
    };
    redactor.text(&mut item.summary, "summary");
    let renamed = match (before, &request.name) {
        (Some(known), Some(name)) if known.name != *name => Some(Problem::note(
            &path,
            format!(
                "it is session '{0}' here already, not '{name}'; to rename it: git checkpoint rename {0} {name}",
                known.name
            ),
        )),
        _ => None,
    };
    if let Some(known) = before {
        let new = foreign
            .checkpoints
            .iter()
            .filter(|checkpoint| !known.hashes.contains(&checkpoint.hash()))
            .count();
        item.checkpoints = new;
        item.what = if new == 0 {
            ImportStatus::Same
        } else if known.is_untouched {
            ImportStatus::Grown
        } else {
            ImportStatus::Refused(format!(
                "session '{}' continued here since it was imported; delete or rename it first",
                known.name
            ))
        };
    }
    if matches!(item.what, ImportStatus::Same | ImportStatus::Refused(_)) {
        item.checkpoints = 0;
        return Ok(ImportStep::Draft(ImportDraft {
            item,
            edit: None,
            needs: Vec::new(),
            notes: renamed.into_iter().collect(),
        }));
    }
    // A chain only grows: what is older than its end comes after it even so.
    let older = before.and_then(|known| {
        let is_new = |checkpoint: &&ForeignCheckpoint| !known.hashes.contains(&checkpoint.hash());
        let times = foreign
            .checkpoints
            .iter()
            .filter(is_new)
            .filter_map(|checkpoint| checkpoint.at);
        let older = times.min()? < known.checkpoint.document.created_at;
        older.then(|| {
            Problem::note(
                &path,
                format!(
                    "some of it is older than what session '{}' has, and is added after that",
                    known.name
                ),
            )
        })
    });
    let written = match write::session(scene, writer, foreign, &item.name, before, (redactor, progress)) {
        Ok(written) => written,
        Err(SessionError::Unstorable(why)) => return Ok(ImportStep::LeftOut(Problem::broken(&path, why))),
        Err(SessionError::Ops(error)) => return Err(error),
    };
    item.tip = (!request.dry_run).then_some(written.tip);
    item.summary = written.summary;
    item.messages = written.messages;
    let edit = RefUpdate {
        name: session::ref_name(&item.name),
        expected: before.map_or(ExpectedValue::Absent, |known| ExpectedValue::Is(known.tip)),
        new: Some(written.tip),
        message: "checkpoint: import".to_owned(),
    };
    Ok(ImportStep::Draft(ImportDraft {
        item,
        edit: Some(edit),
        needs: written.needs,
        notes: renamed.into_iter().chain(older).collect(),
    }))
}
