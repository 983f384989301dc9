//! Sessions imported before, and names that are free.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::{Error, Scene, record, redact::Redactor},
    chat::MessageDigests,
};
use crate::{
    formats::{ForeignSession, is_continued, is_shared},
    model::{
        document::CheckpointKind,
        id::Digest,
        name::{MAX_LEN, ShortName},
    },
    store::{
        ObjectId,
        checkpoint::{self, Checkpoint},
        session,
    },
};

/// A session that was imported.
pub(super) struct ImportedSession {
    /// Its name.
    pub(super) name: ShortName,
    /// Its latest checkpoint.
    pub(super) tip: ObjectId,
    /// That checkpoint.
    pub(super) checkpoint: Checkpoint,
    /// The digests of the foreign checkpoints that it holds.
    pub(super) hashes: BTreeSet<Digest>,
    /// The names of its checkpoints.
    pub(super) names: BTreeSet<String>,
    /// The latest checkpoint that an import added.
    pub(super) imported: ObjectId,
    /// Whether no checkpoint was added here.
    pub(super) is_untouched: bool,
}

/// Imported sessions by system and foreign id, in the order of their names.
pub(super) type ImportedSessions = BTreeMap<(String, String), Vec<ImportedSession>>;

/// Every imported session. Where the id is the name of a file, several have the same. Forks of them are sessions of their
/// own, and damaged ones are not looked at: what cannot be read cannot be added to.
pub(super) fn all(scene: &Scene<'_>) -> Result<ImportedSessions, Error> {
    let mut out = ImportedSessions::new();
    for found in session::all(scene.repo)? {
        let (Ok(entry), Ok(name)) = (found.tip, ShortName::new(found.name)) else {
            continue;
        };
        let Ok(tip) = checkpoint::load(scene.repo, entry.id) else {
            continue;
        };
        if tip.document.session.forked_from.is_some() {
            continue;
        }
        let Some(key) = key(&tip) else { continue };
        let mut known = ImportedSession {
            name,
            tip: entry.id,
            imported: entry.id,
            is_untouched: tip.document.kind == CheckpointKind::Import,
            checkpoint: tip,
            hashes: BTreeSet::new(),
            names: BTreeSet::new(),
        };
        let mut has_import = false;
        for entry in session::chain(scene.repo, known.tip) {
            let loaded = entry.and_then(|entry| Ok((entry.id, checkpoint::load(scene.repo, entry.id)?)));
            let (id, loaded) = loaded.map_err(Error::damaged(known.name.as_str()))?;
            if !has_import && loaded.document.kind == CheckpointKind::Import {
                (known.imported, has_import) = (id, true);
            }
            known.hashes.extend(hash(&loaded));
            known
                .names
                .extend(loaded.document.name.as_ref().map(ToString::to_string));
        }
        out.entry(key).or_default().push(known);
    }
    Ok(out)
}

/// The session among these that a foreign one of the same id became.
///
/// The name of a session or of a file is no identity: there the chat decides, of which an import has the beginning, else the
/// record, else where the file is. A name that is asked for is that of another session then.
pub(super) fn of<'a>(
    scene: &Scene<'_>,
    known: &'a [ImportedSession],
    foreign: &ForeignSession,
    wanted: Option<&ShortName>,
) -> Result<Option<&'a ImportedSession>, Error> {
    if !foreign.has_file_name_id {
        return Ok(known.first());
    }
    let is_here = |known: &&ImportedSession| foreign.checkpoints.iter().all(|one| known.hashes.contains(&one.hash()));
    if let Some(same) = known.iter().find(is_here) {
        return Ok(Some(same));
    }
    if known.is_empty() {
        return Ok(None);
    }
    let now = MessageDigests::of(scene, foreign)?;
    for known in known {
        let is_continued = if now.is_empty() {
            wanted.is_none_or(|name| *name == known.name) && known.is_continued_by(scene, foreign)?
        } else {
            now.begin_with(scene, known)?
        };
        if is_continued {
            return Ok(Some(known));
        }
    }
    Ok(None)
}

impl ImportedSession {
    /// Whether a session without a chat continues what was imported.
    fn is_continued_by(&self, scene: &Scene<'_>, foreign: &ForeignSession) -> Result<bool, Error> {
        if foreign.checkpoints.iter().any(|one| self.hashes.contains(&one.hash())) {
            return Ok(true);
        }
        let Some(last) = foreign.checkpoints.last() else {
            return Ok(false);
        };
        let damaged = |fault| Error::damaged(self.name.as_str())(fault);
        let imported = checkpoint::load(scene.repo, self.imported).map_err(damaged)?.document;
        let mut now = Value::Object(last.record.clone());
        Redactor::new(scene)?.json(&mut now, "record");
        let then = record::kept_value(&imported.record);
        let (Value::Object(then), Value::Object(now)) = (&then, &now) else {
            return Ok(false);
        };
        let metadata = &imported.session.metadata;
        let sources = metadata.get("imported").and_then(|imported| imported.get("sources"));
        let sources = sources.and_then(Value::as_array).into_iter().flatten();
        let mut sources = sources.filter_map(Value::as_str);
        // A file that is rewritten where it is may be without what it had.
        let is_there = sources.any(|path| foreign.sources.iter().any(|one| one == path));
        Ok(match is_continued(then, now) {
            Some(true) => true,
            Some(false) => is_there && is_shared(then, now),
            None => is_there,
        })
    }
}

fn key(tip: &Checkpoint) -> Option<(String, String)> {
    let imported = tip.document.session.metadata.get("imported")?;
    let text = |key: &str| imported.get(key).and_then(|value| value.as_str()).map(str::to_owned);
    Some((text("system")?, text("id")?))
}

fn hash(checkpoint: &Checkpoint) -> Option<Digest> {
    let imported = checkpoint.document.session.metadata.get("imported")?;
    Digest::parse(imported.get("checkpoint")?.get("digest")?.as_str()?).ok()
}

/// Names that are taken: of sessions, or of the checkpoints of one.
pub(super) struct TakenNames {
    taken: BTreeSet<String>,
    /// The number from which on a text may be free: thousands with the same text try nothing twice.
    next: BTreeMap<String, u64>,
}

impl TakenNames {
    /// Those of all sessions.
    pub(super) fn of_sessions(scene: &Scene<'_>) -> Result<Self, Error> {
        let all = session::all(scene.repo)?;
        Ok(Self::of(all.into_iter().map(|session| session.name).collect()))
    }

    /// These.
    pub(super) fn of(taken: BTreeSet<String>) -> Self {
        Self {
            taken,
            next: BTreeMap::new(),
        }
    }

    /// The name that was asked for, which must be free; else one like the foreign one, with a number where it is taken.
    pub(super) fn choose(&mut self, wanted: Option<&ShortName>, foreign: &str) -> Result<ShortName, ShortName> {
        match wanted {
            Some(name) if self.taken.insert(name.to_string()) => Ok(name.clone()),
            Some(name) => Err(name.clone()),
            None => Ok(self.free(foreign)),
        }
    }

    /// A name as like a text as the grammar allows, with a number where it is taken. It is taken then.
    pub(super) fn free(&mut self, text: &str) -> ShortName {
        let lower = text.to_lowercase();
        let whole = ShortName::new(lower.clone()).ok().or_else(|| {
            let kept: String = lower
                .chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() || "._-".contains(c) {
                        c
                    } else {
                        '-'
                    }
                })
                .collect();
            let kept: Vec<&str> = kept.split('-').filter(|part| !part.is_empty()).collect();
            let kept: String = kept.join("-").chars().take(MAX_LEN).collect();
            ShortName::new(kept.trim_matches(['-', '.', '_'])).ok()
        });
        if let Some(name) = whole.filter(|name| !self.taken.contains(name.as_str())) {
            self.taken.insert(name.to_string());
            return name;
        }
        let n = self.next.entry(lower.clone()).or_insert(2);
        loop {
            let name = ShortName::slug(&lower, &n.to_string());
            *n += 1;
            if self.taken.insert(name.to_string()) {
                return name;
            }
        }
    }
}
