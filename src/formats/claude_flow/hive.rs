//! The hive-mind database, and the planned `sessions.db` with the same three tables of sessions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::SYSTEM;
use super::{
    super::{
        File, ForeignCheckpoint, ForeignLogLine, ForeignSession, ParseOutcome, Problem, database_rows,
        fields::ObjectFields,
        notes::{RecordNotes, session_status},
        sqlite::Database,
        time, wrappers,
    },
    related_tables,
};
use crate::model::session::SessionStatus;

/// The rows of all tables.
pub(super) type Tables = BTreeMap<String, Vec<ObjectFields>>;

pub(super) fn parse(file: &File, log: Option<&File>, out: &mut ParseOutcome) {
    let opened = Database::open(&file.bytes, log.map(|log| log.bytes.as_slice()));
    let database = match opened {
        Ok(database) => database,
        Err(why) => return out.problems.push(Problem::broken(&file.path, why)),
    };
    if let Some(why) = database.damage() {
        out.problems.push(Problem::broken(&file.path, why));
    }
    let mut all = Tables::new();
    for table in database.tables() {
        let mut rows = database.rows(table);
        if let Some(damage) = rows.damage.take() {
            out.problems
                .push(Problem::broken(&format!("{}#{table}", file.path), damage));
        }
        all.insert(
            table.clone(),
            database_rows::objects(rows).map(ObjectFields::new).collect(),
        );
    }
    if !["sessions", "session_checkpoints", "swarms"]
        .iter()
        .any(|name| all.contains_key(*name))
    {
        out.problems
            .push(Problem::broken(&file.path, "the database has no table of sessions"));
        return;
    }
    for name in database.virtual_tables() {
        let path = format!("{}#{name}", file.path);
        out.problems
            .push(Problem::note(&path, "the table is a virtual one, which is not read"));
    }
    let first = out.sessions.len();
    sessions(file, all, out);
    for session in &mut out.sessions[first..] {
        if let Some(log) = log {
            session.source(log);
        }
    }
}

/// The rows of a table by the id in a column; under the empty text those that have none.
fn grouped(rows: Vec<ObjectFields>, key: &str) -> Groups {
    let mut out = Groups::new();
    for row in rows {
        out.entry(row.peek_id(key).unwrap_or_default()).or_default().push(row);
    }
    out
}

fn sessions(file: &File, mut tables: Tables, out: &mut ParseOutcome) {
    let mut take = |name: &str| tables.remove(name).unwrap_or_default();
    let mut rows = take("sessions");
    let mut checkpoints = grouped(take("session_checkpoints"), "session_id");
    let mut logs = grouped(take("session_logs"), "session_id");
    let swarms = take("swarms");
    let of = |rows: &[ObjectFields], key: &str| -> BTreeSet<String> {
        rows.iter().filter_map(|row| row.peek_id(key)).collect()
    };
    let without = swarms.iter().filter(|swarm| !swarm.has("id")).count();
    let mut lost = Vec::new();
    // A hive that was never paused has no session: the swarm represents one.
    let known = of(&rows, "swarm_id");
    for swarm in &swarms {
        let Some(id) = swarm.peek_id("id").filter(|id| !known.contains(id)) else {
            continue;
        };
        let mut row = swarm.clone();
        row.put("swarm_id", id.into());
        if let Some(name) = row.take("name") {
            row.put("swarm_name", name);
        }
        rows.push(row);
    }
    lost.push(("swarms", without));
    lost.push((
        "sessions",
        rows.iter().filter(|row| row.peek_id("id").is_none()).count(),
    ));
    rows.retain(|row| row.peek_id("id").is_some());
    // Checkpoints and logs of a session whose row is gone.
    let mut known = of(&rows, "id");
    for id in checkpoints.keys().chain(logs.keys()).filter(|id| !id.is_empty()) {
        if known.insert(id.clone()) {
            let what = format!("session '{}' has no row of its own", id.escape_debug());
            out.problems.push(Problem::note(&file.path, what));
            rows.push(ObjectFields::new(Map::from_iter([(
                "id".to_owned(),
                id.as_str().into(),
            )])));
        }
    }
    let swarms: BTreeMap<String, ObjectFields> = swarms
        .into_iter()
        .filter_map(|row| Some((row.peek_id("id")?, row)))
        .collect();
    // The other tables by what their rows belong to: a session, else a swarm, which several sessions may share.
    let mut others: BTreeMap<String, (Groups, Groups)> = BTreeMap::new();
    for (name, rows) in tables {
        let is_known = |row: &ObjectFields| row.peek_id("session_id").is_some_and(|id| known.contains(&id));
        let (of_sessions, of_swarms): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_known);
        let groups = (grouped(of_sessions, "session_id"), grouped(of_swarms, "swarm_id"));
        others.insert(name, groups);
    }
    // Each session of a swarm has the swarm's rows, unless that would be too many: then the last one has them.
    let mut sharing: BTreeMap<String, usize> = BTreeMap::new();
    for swarm in rows.iter().filter_map(|row| row.peek_id("swarm_id")) {
        *sharing.entry(swarm).or_default() += 1;
    }
    for (swarm, sessions) in &mut sharing {
        let size: usize = others
            .values()
            .filter_map(|(_, groups)| groups.get(swarm))
            .map(Vec::len)
            .sum();
        if size.saturating_mul(*sessions) > SHARED_LIMIT && *sessions > 1 {
            let what = format!(
                "swarm '{}' has {size} rows and {sessions} sessions; the last of these holds the rows",
                swarm.escape_debug()
            );
            out.problems.push(Problem::note(&file.path, what));
        } else {
            *sessions = 1;
        }
    }
    let (mut ids, mut hives) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        let id = row.peek_id("id").unwrap_or_default();
        let swarm = row.peek_id("swarm_id");
        ids.insert(id.clone());
        hives.extend(swarm.clone());
        let has_rows = swarm
            .as_ref()
            .and_then(|swarm| sharing.get_mut(swarm))
            .is_some_and(|left| {
                *left = left.saturating_sub(1);
                *left == 0
            });
        let belonging = |(of_sessions, of_swarms): &(Groups, Groups)| -> Vec<ObjectFields> {
            let own = of_sessions.get(&id).into_iter();
            let shared = swarm
                .as_ref()
                .filter(|_| has_rows)
                .and_then(|swarm| of_swarms.get(swarm));
            own.chain(shared).flatten().cloned().collect()
        };
        let parts = HiveTables {
            checkpoints: checkpoints.remove(&id).unwrap_or_default(),
            logs: logs.remove(&id).unwrap_or_default(),
            swarm: swarm.as_ref().and_then(|swarm| swarms.get(swarm)).cloned(),
            others: others
                .iter()
                .map(|(name, groups)| (name.clone(), belonging(groups)))
                .filter(|(_, rows)| !rows.is_empty())
                .collect(),
        };
        out.sessions.push(session(file, &id, row, parts));
    }
    let rest = |groups: &Groups, taken: &BTreeSet<String>| -> usize {
        let left = groups.iter().filter(|(id, _)| id.is_empty() || !taken.contains(*id));
        left.map(|(_, rows)| rows.len()).sum()
    };
    lost.push(("session_checkpoints", rest(&checkpoints, &BTreeSet::new())));
    lost.push(("session_logs", rest(&logs, &BTreeSet::new())));
    for (name, (of_sessions, of_swarms)) in &others {
        lost.push((name, rest(of_sessions, &ids) + rest(of_swarms, &hives)));
    }
    for (name, count) in lost.into_iter().filter(|(_, count)| *count > 0) {
        let what = match count {
            1 => "1 row belongs to no session and stays where it is".to_owned(),
            _ => format!("{count} rows belong to no session and stay where they are"),
        };
        out.problems.push(Problem::note(&format!("{}#{name}", file.path), what));
    }
}

/// The most rows that sessions which share a swarm hold of it together: 100,000, some 50 MiB.
const SHARED_LIMIT: usize = 100_000;

/// Rows by the id of what they belong to.
type Groups = BTreeMap<String, Vec<ObjectFields>>;

/// Rows of the other tables that belong to a session.
pub(super) struct HiveTables {
    pub(super) checkpoints: Vec<ObjectFields>,
    pub(super) logs: Vec<ObjectFields>,
    pub(super) swarm: Option<ObjectFields>,
    pub(super) others: Tables,
}

/// A session from its row and its parts; also of the files that hold both.
pub(super) fn session(file: &File, id: &str, mut row: ObjectFields, mut parts: HiveTables) -> ForeignSession {
    let mut session = ForeignSession::new(SYSTEM, id, file);
    row.id("id");
    let word = row.peek_text("status").map(str::to_owned);
    let status = word
        .as_deref()
        .and_then(session_status)
        .unwrap_or(SessionStatus::Active);
    session.status(status);
    if word.as_deref() == Some(status.word()) {
        row.take("status");
    }
    session.member("title", row.text("swarm_name").or_else(|| row.text("name")));
    session.member(
        "task",
        ["objective", "task_description", "task"]
            .iter()
            .find_map(|key| row.text(key)),
    );
    session.member("agent", row.text("agent_type").or_else(|| row.text("agent")));
    session.member("task_state", row.text("task_state"));
    let times = ["updated_at", "paused_at", "resumed_at", "created_at"];
    session.created_at = row.time("created_at");
    let latest = times.iter().filter_map(|key| row.peek_time(key)).max();
    parts
        .checkpoints
        .sort_by_key(|checkpoint| checkpoint.peek_time("created_at"));
    for checkpoint in parts.checkpoints {
        session.checkpoints.push(point(checkpoint));
    }
    let mut last = ForeignCheckpoint::new(format!("{id}#session"));
    last.at = latest
        .max(session.checkpoints.iter().filter_map(|point| point.at).max())
        .or(session.created_at);
    let mut notes = RecordNotes::default();
    let words = ["task", "title"]
        .iter()
        .find_map(|key| session.members.get(*key)?.as_str().map(str::to_owned));
    notes.set("summary", words);
    // A session without data of its own is where its latest checkpoint was.
    let latest = session.checkpoints.last();
    let state = row
        .take("checkpoint_data")
        .or_else(|| latest.and_then(|point| point.record.get("state").cloned()));
    notes.set("state", state);
    if let Some(latest) = latest {
        last.git.branch.clone_from(&latest.git.branch);
        last.git.clean = latest.git.clean;
    }
    let mut kept = Vec::new();
    for mut line in parts.logs {
        let whole = line.clone();
        session.log.push(ForeignLogLine {
            at: line.time("timestamp").or_else(|| line.time("created_at")),
            level: line
                .text("log_level")
                .or_else(|| line.text("level"))
                .unwrap_or_else(|| "info".to_owned()),
            message: line.text("message").unwrap_or_default(),
            agent: line.text("agent_id"),
        });
        line.take("session_id");
        if !line.is_empty() {
            kept.push(Value::Object(whole.rest()));
        }
    }
    session.log.sort_by_key(|line| line.at);
    if !kept.is_empty() {
        row.put("session_logs", Value::Array(kept));
    }
    if let Some(swarm) = parts.swarm {
        row.put("swarm", Value::Object(swarm.rest()));
    }
    related_tables::others(parts.others, &mut notes, &mut row);
    notes.extra(SYSTEM, row.rest());
    last.record = notes.finish();
    session.checkpoints.push(last);
    session
}

/// A row of `session_checkpoints`, or an item of a file's list of them.
fn point(mut row: ObjectFields) -> ForeignCheckpoint {
    let id = row.id("id").or_else(|| row.id("checkpointId"));
    let name = row.text("checkpoint_name").or_else(|| row.text("name"));
    let data = row
        .take("checkpoint_data")
        .or_else(|| row.take("data"))
        .map(|data| match data {
            Value::String(text) => wrappers::inside(&text),
            other => wrappers::plain(other),
        });
    row.take("session_id");
    let mut point = ForeignCheckpoint::default();
    point.git.branch = row.text("git_branch");
    point.git.clean = match row.get("git_uncommitted") {
        Some(Value::Bool(changed)) => Some(!changed),
        Some(Value::Number(count)) => count.as_i64().map(|count| count == 0),
        _ => None,
    };
    point.git.commit = row.text("git_commit");
    let created = row.time("created_at").or_else(|| row.time("timestamp"));
    // The column has seconds; the data may have the same moment more exactly.
    let exact = data.as_ref().and_then(|data| time::of_value(data.get("timestamp")?));
    let same = |exact: &crate::model::time::Timestamp| {
        created.is_none_or(|created| (exact.unix() - created.unix()).abs() <= 2)
    };
    point.id = id.or_else(|| name.clone()).unwrap_or_default();
    point.at = exact.filter(same).or(created);
    let mut notes = RecordNotes::default();
    let changes = data.as_ref().and_then(|data| data.get("changeCount")?.as_u64());
    let words = match (&name, changes) {
        (Some(name), Some(changes)) => Some(format!("{name}: {changes} changes")),
        (Some(name), None) => Some(name.clone()),
        _ => None,
    };
    notes.set("summary", words);
    if name.as_deref().is_some_and(|name| name.starts_with("auto-save")) {
        point.trigger = Some("auto-save".to_owned());
    }
    point.name = name;
    notes.set("state", data.filter(|data| !data.is_null()));
    notes.extra(SYSTEM, row.rest());
    point.record = notes.finish();
    point
}
