//! Content of a merge's checkpoint: record, chat, steps, session log and texts of both sides.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{
    super::{
        Error, Scene, chat,
        compose::{self, CurrentSnapshot, Predecessor},
        ids::short,
        put_aside,
        save::content::attach_log,
    },
    MergeMethod, MergeReport, MergeTips,
};
use crate::{
    model::{
        chat::Compaction,
        claim::Claim,
        comparison,
        document::{CheckpointKind, Document, MergedCheckpoint, Session, SessionStatus},
        id::ITEM_ID_LEN,
        merge::{self, MemberConflict, RecordSides},
        operation::LogLine,
        record::{Record, RecordConflict},
    },
    store::{
        ObjectId,
        ancestry::{self, MergeEdges},
        chat::{self as stored, ChatSides},
        checkpoint::{self, Checkpoint, Siblings, WrittenCheckpoint, object_id},
        objects::Writer,
        steps,
    },
};

/// Entries next to a document that belong to its snapshot.
const OF_SNAPSHOT: [&str; 4] = ["lists", "conflicts", "held", "operation"];
/// Entries that do not carry over, and those that are merged here.
const NOT_CARRIED: [&str; 2] = ["files", checkpoint::PRUNED];

/// A merge that was composed and written, but is on no ref yet.
pub(super) struct ComposedMerge {
    pub(super) written: WrittenCheckpoint,
    pub(super) report: MergeReport,
    pub(super) base: Option<ObjectId>,
}

/// The common checkpoint, with one record for all where merges in both directions left several.
struct CommonBase {
    checkpoint: Checkpoint,
    record: Record,
}

/// Composes the merge and writes it. `present` are the files once they are merged; without them the checkpoint keeps those of
/// ours.
pub(super) fn compose_merge(
    scene: &Scene<'_>,
    writer: &Writer,
    sides: &MergeTips,
    how: &MergeMethod,
    present: Option<&CurrentSnapshot>,
) -> Result<ComposedMerge, Error> {
    let (ours, theirs) = (&sides.ours, &sides.theirs);
    let base = common_base(scene, sides)?;
    let mut report = MergeReport::default();
    let mut conflicts = Vec::new();
    let is_later = |one: &Checkpoint, other: &Checkpoint| {
        // Of two of one moment the text decides, so that each merge of the two gives the same.
        let text = |side: &Checkpoint| side.document.record.summary.clone();
        let key = |side: &Checkpoint| (side.document.created_at, text(side), side.digest.to_string());
        key(one) > key(other)
    };
    let empty = Record::default();
    let merged = merge::records(RecordSides {
        base: base.as_ref().map_or(&empty, |base| &base.record),
        ours: &ours.document.record,
        theirs: &theirs.document.record,
        ours_is_later: is_later(ours, theirs),
    });
    conflicts.extend(merged.conflicts);
    let session = session(sides, base.as_ref(), &mut conflicts);
    let facts = present.map_or_else(|| ours.document.git.clone(), |present| present.facts.clone());
    let (first, second) = if sides.continues_theirs {
        (theirs, ours)
    } else {
        (ours, theirs)
    };
    writer.protect([&first.digest, &second.digest])?;
    let mut document = compose::document(scene, session, CheckpointKind::Merge, facts);
    document.record = merged.record;
    document.record.error = None;
    document.record.attachments.clear();
    decide(&mut document.record, ours, theirs, how, &mut report);
    let (held, _) = checkpoint::siblings(scene.repo, &ours.entry).map_err(Error::damaged(sides.session.as_str()))?;
    let (other, _) = checkpoint::siblings(scene.repo, &theirs.entry).map_err(Error::damaged(sides.from.as_str()))?;
    let mut siblings = Siblings::default();
    for (side, is_ours) in [(&other, false), (&held, true)] {
        for name in side.named().keys() {
            let of_snapshot = OF_SNAPSHOT.contains(&name.as_str());
            let is_kept = !of_snapshot || (is_ours && present.is_none());
            if is_kept && !NOT_CARRIED.contains(&name.as_str()) {
                siblings.keep(side, name);
            }
        }
    }
    let mut parts = Parts {
        scene,
        writer,
        sides,
        base: base.as_ref().map(|base| &base.checkpoint),
        held: (&held, &other),
        document: &mut document,
        siblings: &mut siblings,
        report: &mut report,
        conflicts: &mut conflicts,
    };
    parts.chat()?;
    parts.steps()?;
    parts.log()?;
    parts.texts()?;
    let by = compose::by(scene, &compose::people(scene));
    for conflict in conflicts {
        let conflict = stored_conflict(scene, sides, &by, conflict);
        if document.record.conflicts.iter().all(|known| known.id != conflict.id) {
            document.record.conflicts.push(conflict.clone());
        }
        report.conflicts.push(conflict);
    }
    report.record = differences(scene, writer, ours, &document, &siblings)?;
    summarize(&mut document, sides, how);
    document.folded = ours.document.folded.clone();
    for (id, last) in &theirs.document.folded {
        let known = document.folded.entry(id.clone()).or_default();
        *known = (*known).max(*last);
    }
    document.previous = Some(first.digest.clone());
    document.merged = Some(MergedCheckpoint {
        session: if sides.continues_theirs {
            sides.holder().clone()
        } else {
            sides.from.clone()
        },
        session_id: second.document.session.id.clone(),
        digest: second.digest.clone(),
        base: base.as_ref().map(|base| base.checkpoint.digest.clone()),
        files: present.is_some(),
        unknown: Map::new(),
    });
    document.restored_from.clone_from(&ours.document.restored_from);
    document.restored_part = ours.document.restored_part;
    document.put_aside = put_aside::for_document(scene, ours);
    let people = compose::people(scene);
    let before = Predecessor {
        id: ours.entry.id,
        digest: ours.digest.clone(),
        checkpoint: Some(ours),
    };
    let (snapshot, partial) = if let Some(present) = present {
        let snapshot = compose::attach_snapshot(
            scene.repo,
            writer,
            &mut document,
            &mut siblings,
            present,
            &before,
            &people,
        )?;
        (snapshot, compose::is_partial(present))
    } else {
        document.snapshot.clone_from(&ours.document.snapshot);
        document.worktree = ours.document.worktree.clone();
        let lists = checkpoint::lists(scene.repo, ours).map_err(Error::damaged(sides.session.as_str()))?;
        (ours.snapshot(), lists.is_partial())
    };
    let parents = [Some(first.entry.id), snapshot, Some(second.entry.id)]
        .into_iter()
        .flatten()
        .collect();
    let written = checkpoint::write(writer, &mut document, partial, &siblings, parents, &people)?;
    Ok(ComposedMerge {
        written,
        report,
        base: base.map(|base| base.checkpoint.entry.id),
    })
}

fn common_base(scene: &Scene<'_>, sides: &MergeTips) -> Result<Option<CommonBase>, Error> {
    let load = |id: ObjectId| checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)));
    let relation = sides.relation(scene, MergeEdges::All)?;
    let Some((first, others)) = relation.bases.split_first() else {
        return Ok(None);
    };
    let checkpoint = load(*first)?;
    let mut record = checkpoint.document.record.clone();
    for other in others {
        let below = ancestry::relation(scene.repo, *first, *other, MergeEdges::All)?;
        let base = match below.bases.first() {
            Some(base) => load(*base)?.document.record,
            None => Record::default(),
        };
        let other = load(*other)?.document.record;
        record = merge::records(RecordSides {
            base: &base,
            ours: &record,
            theirs: &other,
            ours_is_later: true,
        })
        .record;
    }
    Ok(Some(CommonBase { checkpoint, record }))
}

/// The members of the session: those of the target; of two states of one session, what each changed.
fn session(sides: &MergeTips, base: Option<&CommonBase>, conflicts: &mut Vec<MemberConflict>) -> Session {
    let (ours, theirs) = (&sides.ours.document.session, &sides.theirs.document.session);
    let mut out = ours.clone();
    if sides.aside.is_some() {
        out = theirs.clone();
        out.status = ours.status;
        out.agent.clone_from(&ours.agent);
    }
    out.name = sides.session.clone();
    if out.status == SessionStatus::Paused {
        out.status = SessionStatus::Active;
    }
    if ours.id != theirs.id && sides.aside.is_none() {
        return out;
    }
    let before = base.and_then(|base| base.checkpoint.document.session.claim.as_ref());
    // A fork starts without the claim of its source, which is no release of it.
    let of_theirs = theirs.claim.as_ref().or(before.filter(|_| ours.id != theirs.id));
    out.claim = Claim::merged(before, ours.claim.as_ref(), of_theirs);
    let members = |session: &Session| {
        let mut map = match serde_json::to_value(session) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        };
        for fixed in ["id", "name", "status", "created_at", "forked_from", "claim", "agent"] {
            map.shift_remove(fixed);
        }
        map
    };
    let base = base
        .map(|base| members(&base.checkpoint.document.session))
        .unwrap_or_default();
    let (merged, found) = merge::objects("session", [&base, &members(ours), &members(theirs)]);
    conflicts.extend(found);
    let start = members(&out);
    let removed = start
        .keys()
        .filter(|key| !merged.contains_key(*key))
        .map(|key| (key.clone(), Value::Null));
    let mut patch: Map<String, Value> = removed.collect();
    patch.extend(merged);
    out.patched(&Value::Object(patch)).unwrap_or(out)
}

/// Fork points that the merge decides, and the reason for it.
fn decide(record: &mut Record, ours: &Checkpoint, theirs: &Checkpoint, how: &MergeMethod, report: &mut MergeReport) {
    for point in &mut record.fork_points {
        let Some(chosen) = point.chosen.clone() else { continue };
        let before = ours
            .document
            .record
            .fork_points
            .iter()
            .find(|known| known.id == point.id);
        if before.is_some_and(|before| before.chosen.is_some()) {
            continue;
        }
        let from = theirs.document.session.forked_from.as_ref();
        if from.is_some_and(|from| from.fork_point.as_ref() == Some(&point.id)) && how.reason.is_some() {
            point.reason.clone_from(&how.reason);
        }
        report.decided.push((point.title.clone(), chosen));
    }
}

/// A conflict as the record keeps it. Its id follows from its content: two people who merge the same have one conflict.
fn stored_conflict(scene: &Scene<'_>, sides: &MergeTips, by: &str, conflict: MemberConflict) -> RecordConflict {
    let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut values = [text(&conflict.ours), text(&conflict.theirs)];
    values.sort();
    let digest = Sha256::digest(
        [&conflict.member, &values[0], &values[1]]
            .map(String::as_str)
            .join("\0"),
    );
    let letters = b"abcdefghijklmnopqrstuvwxyz234567";
    let letter = |byte: &u8| char::from(letters[usize::from(byte & 31)]);
    RecordConflict {
        id: digest.iter().take(ITEM_ID_LEN).map(letter).collect(),
        at: scene.now,
        by: by.to_owned(),
        member: conflict.member,
        session: Some(sides.label_of_theirs()),
        base: conflict.base,
        ours: conflict.ours,
        theirs: conflict.theirs,
        unknown: Map::new(),
    }
}

/// A summary that was given is the session's; the subject of the checkpoint names what was merged.
fn summarize(document: &mut Document, sides: &MergeTips, how: &MergeMethod) {
    if let Some(summary) = &how.summary {
        document.record.summary = Some(summary.clone());
        document.record.auto_summary = false;
        return;
    }
    let theirs = sides.theirs.document.subject();
    let line = theirs.lines().next().unwrap_or_default();
    let what = if sides.continues_theirs {
        format!("{} of the remote", sides.from)
    } else {
        sides.from.to_string()
    };
    let said = if line.is_empty() {
        String::new()
    } else {
        format!(": {line}")
    };
    document.subject = Some(format!("merged {what}{said}"));
}

fn differences(
    scene: &Scene<'_>,
    writer: &Writer,
    ours: &Checkpoint,
    document: &Document,
    siblings: &Siblings,
) -> Result<Vec<comparison::RecordDifference>, Error> {
    let overlay = writer.overlay(scene.repo);
    let before = steps::read(scene.repo, ours).map_err(Error::damaged(short(ours.entry.id)))?;
    let mut merged = ours.clone();
    merged.document.trees = siblings.named();
    let after = steps::read(&overlay, &merged).map_err(Error::damaged(short(ours.entry.id)))?;
    Ok(comparison::with_steps(
        (&ours.document.record, &before),
        (&document.record, &after),
    ))
}

/// Parts next to the document.
struct Parts<'a, 's> {
    scene: &'a Scene<'s>,
    writer: &'a Writer,
    sides: &'a MergeTips,
    base: Option<&'a Checkpoint>,
    /// The siblings of ours and of theirs.
    held: (&'a Siblings, &'a Siblings),
    document: &'a mut Document,
    siblings: &'a mut Siblings,
    report: &'a mut MergeReport,
    conflicts: &'a mut Vec<MemberConflict>,
}

impl Parts<'_, '_> {
    fn chat(&mut self) -> Result<(), Error> {
        let (ours, theirs) = (&self.sides.ours.document, &self.sides.theirs.document);
        let base = self.base.map(|base| &base.document);
        let of = |document: Option<&Document>| document.and_then(chat::compaction);
        let found = [of(base), of(Some(ours)), of(Some(theirs))];
        let summarized = summarized_side(&found);
        let sides = ChatSides {
            base,
            ours: (ours, self.held.0),
            theirs: (theirs, self.held.1),
            summarized: summarized
                .as_ref()
                .map(|(side, compaction)| (*side, compaction.messages)),
        };
        let merged = stored::merge(self.scene.repo, self.writer, &sides, self.document, self.siblings)
            .map_err(Error::writing(self.sides.session.as_str()))?;
        let total = self.document.chat.as_ref().map_or(0, |chat| chat.messages);
        self.document.compaction = summarized.and_then(|(_, compaction)| {
            let messages = merged.summarized.min(total);
            serde_json::to_value(Compaction { messages, ..compaction }).ok()
        });
        let live = total - chat::compaction(self.document).map_or(0, |compaction| compaction.messages.min(total));
        // Bytes bound tokens: those of both sides where it is not known which lines a summary replaces.
        let known = chat::Length::of(ours).bytes + merged.bytes;
        self.document.tokens = chat::Length {
            messages: live,
            bytes: known,
            count: None,
            encoding: None,
        }
        .value();
        self.report.chat = merged;
        Ok(())
    }

    fn steps(&mut self) -> Result<(), Error> {
        let read = |side: &Checkpoint| steps::read(self.scene.repo, side).map_err(Error::damaged(short(side.entry.id)));
        let base = self.base.map(read).transpose()?.unwrap_or_default();
        let (ours, theirs) = (read(&self.sides.ours)?, read(&self.sides.theirs)?);
        let (merged, found) = merge::steps(&base, &ours, &theirs);
        self.conflicts.extend(found);
        self.report.steps = merged
            .iter()
            .filter(|step| ours.iter().all(|known| known.id != step.id))
            .count();
        if merged == ours {
            self.siblings.remove(steps::DIRECTORY);
            self.siblings.keep(self.held.0, steps::DIRECTORY);
        } else {
            self.siblings.remove(steps::DIRECTORY);
            steps::write(self.writer, &merged, self.siblings)?;
        }
        Ok(())
    }

    /// The lines of both logs by time.
    fn log(&mut self) -> Result<(), Error> {
        let (ours, theirs) = (self.sides.session.as_str(), self.sides.label_of_theirs());
        let read = |directory: Option<ObjectId>, subject: &str| -> Result<Vec<LogLine>, Error> {
            let Some(directory) = directory else {
                return Ok(Vec::new());
            };
            let damaged = || Error::damaged(subject);
            let mut lines = Vec::new();
            for (_, _, id) in checkpoint::directory(self.scene.repo, directory, "log").map_err(damaged())? {
                let bytes = checkpoint::read_private(self.scene.repo, id, "its log").map_err(damaged())?;
                let found = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                lines.extend(found.filter_map(|line| serde_json::from_slice(line).ok()));
            }
            Ok(lines)
        };
        let base = self.base.and_then(|base| base.document.trees.get("log"));
        let base = read(base.map(object_id), ours)?;
        let (ours, theirs) = (
            read(self.held.0.get("log"), ours)?,
            read(self.held.1.get("log"), &theirs)?,
        );
        let news = without(&theirs, &base);
        let news = without(&news, &without(&ours, &base));
        self.report.log = news.len();
        self.siblings.remove("log");
        if news.is_empty() {
            self.siblings.keep(self.held.0, "log");
            return Ok(());
        }
        let mut merged = ours;
        for line in news {
            let place = merged.partition_point(|known| known.at <= line.at);
            merged.insert(place, line);
        }
        attach_log(self.scene, self.writer, &merged, &Siblings::default(), self.siblings)
    }

    fn texts(&mut self) -> Result<(), Error> {
        for name in chat::TEXTS {
            let read =
                |document: &Document| stored::read_text(self.scene.repo, document, name).map_err(Error::damaged(name));
            let base = self.base.map(|base| read(&base.document)).transpose()?.flatten();
            let ours = read(&self.sides.ours.document)?;
            let theirs = read(&self.sides.theirs.document)?;
            let sides = [base.as_deref(), ours.as_deref(), theirs.as_deref()];
            let merged = merge::texts(name, sides, self.conflicts);
            self.siblings.remove(name);
            if merged == ours {
                self.siblings.keep(self.held.0, name);
            } else if merged == theirs {
                self.siblings.keep(self.held.1, name);
            }
        }
        Ok(())
    }
}

/// The summary of a chat that counts, and whose it is: the one that a side made since the base, of two the later.
fn summarized_side(found: &[Option<Compaction>; 3]) -> Option<(usize, Compaction)> {
    let [base, ours, theirs] = found;
    let side = if ours == theirs || theirs == base {
        0
    } else if ours == base {
        1
    } else {
        let key = |side: &Option<Compaction>| {
            let made = side.as_ref();
            made.map(|made| {
                (
                    made.at,
                    made.messages,
                    serde_json::to_string(&made.summary).unwrap_or_default(),
                )
            })
        };
        usize::from(key(theirs) > key(ours))
    };
    found[side + 1].clone().map(|compaction| (side, compaction))
}

/// The lines that are not among others, as often as they are there more often.
fn without(lines: &[LogLine], others: &[LogLine]) -> Vec<LogLine> {
    let mut left: Vec<&LogLine> = others.iter().collect();
    let is_new = |line: &&LogLine| match left.iter().position(|known| known == line) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    lines.iter().filter(is_new).cloned().collect()
}
