//! `log`: the checkpoints of a session.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    pathspecs::Pathspecs,
    restore,
    row_args::{DateArg, FormatArg},
    views,
};
use crate::{
    model::{path::RepoPath, selector::Selector, time::Timestamp},
    ops::{
        self,
        file_history::{self, FileHistoryRequest, PatchLog},
        hands::Hands,
        list,
        timeline::FileState,
    },
    render::{
        age::DateStyle,
        count::CountedNoun,
        file_log::{self, FileLog, FileVersionRow, StateRef},
        format::AtomStyle,
        graph, patch,
        record::{NoteRow, SessionNotes},
        sessions::{CheckpointLog, LogRow, LogTable},
        text::TextLine,
    },
    store::{
        checkpoint::{CheckpointCommit, oid},
        patch::PatchFormat,
    },
};

/// List the checkpoints of a session, latest first
///
/// With pathspecs, lists each distinct version of these files once, with the checkpoints and autosaves that have it.
/// Renames are followed, also into the session that this one was forked from.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The current session:
    git checkpoint log
  The last five of another one, one per line:
    git checkpoint log auth-refactor -5 --oneline
  The versions of a file, autosaves included:
    git checkpoint log -- src/parser.rs
  What each checkpoint changed in one directory:
    git checkpoint log -p -- src
  Notes of the last hour:
    git checkpoint log --notes --since '1 hour ago'")]
pub(super) struct Args {
    /// The session, or the checkpoint to begin at; the current session by default
    session: Option<String>,
    /// Show at most this many; also -3
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    limit: Option<usize>,
    /// Only checkpoints saved at or after this date, such as '2 days ago'
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Print one line per checkpoint: its id and its subject
    #[arg(long, conflicts_with = "format")]
    oneline: bool,
    /// Show the session log instead: what 'note' wrote, latest first
    #[arg(long, conflicts_with_all = ["graph", "format", "oneline"])]
    notes: bool,
    /// Draw the history as a graph, with the session's forks and its source
    #[arg(long, conflicts_with_all = ["format", "since"])]
    graph: bool,
    /// Show the files that each checkpoint changed as a patch
    #[arg(short, long, conflicts_with_all = ["graph", "format", "oneline", "notes"])]
    patch: bool,
    /// Show how much each checkpoint changed the files
    #[arg(long, conflicts_with_all = ["graph", "format", "oneline", "notes", "patch"])]
    stat: bool,
    /// Check the signature of each checkpoint, and show who signed it
    #[arg(long, conflicts_with_all = ["graph", "oneline", "notes", "patch", "stat", "pathspecs"])]
    trust: bool,
    #[command(flatten)]
    pathspecs: Pathspecs,
    #[command(flatten)]
    form: FormatArg,
    #[command(flatten)]
    date: DateArg,
}

impl Args {
    /// The format of the changes to show, if any.
    fn patch_format(&self) -> Option<PatchFormat> {
        match (self.patch, self.stat) {
            (true, _) => Some(PatchFormat::Patch),
            (_, true) => Some(PatchFormat::Stat),
            _ => None,
        }
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let dates = args.date.style_with(&args.form)?;
    let selector = args.session.as_deref().map(failure::selector).transpose()?;
    if args.notes {
        return notes(context, &opened, selector.as_ref(), &args, &dates);
    }
    if !args.pathspecs.is_empty() {
        if args.graph || args.oneline || args.form.is_given() {
            let message = "--graph, --oneline and --format cannot be used with pathspecs";
            return Err(CommandError::new(FailureKind::Usage, message)
                .hint("for programs: git checkpoint log --json -- <pathspec>"));
        }
        return files(context, &opened, selector, &args, &dates);
    }
    if let Some(format) = args.patch_format() {
        return patches(context, &opened, selector.as_ref(), &args, format, &dates);
    }
    if args.graph && args.form.is_nul() {
        return Err(CommandError::new(FailureKind::Usage, "-z cannot be used with --graph"));
    }
    if args.graph && !context.ui.options().json {
        return draw(context, &opened, selector.as_ref(), &args, &dates);
    }
    let oneline = args.oneline.then_some("oneline");
    let template = args.form.template_or(oneline, &ATOMS.map(|(name, _)| name), &NAMED)?;
    let as_table = !context.ui.options().json && template.is_none() && !args.oneline;
    let mut table = LogTable::new(&dates, scene.now);
    let mut checkpoints = Vec::new();
    let (limit, since) = (args.limit, args.since.as_deref());
    let mut hands = Hands::new(&scene);
    let log = list::log(&scene, selector.as_ref(), limit, since, |entry| {
        if as_table && !args.trust {
            table.row(&row(entry, &mut hands));
        } else {
            checkpoints.push(row(entry, &mut hands));
        }
    })
    .map_err(|error| restore::path_meant(context, &opened, ("log", args.session.as_deref()), error.into()))?;
    if args.trust {
        let ids: Vec<_> = checkpoints.iter().map(|row| row.id.clone()).collect();
        for (row, signature) in checkpoints.iter_mut().zip(views::signatures(&scene, &ids)?) {
            row.signature = signature;
        }
        if as_table {
            checkpoints.drain(..).for_each(|row| table.row(&row));
        }
    }
    let view = CheckpointLog {
        session: log.session,
        checkpoints,
        forked_from: log.source.map(oid),
        damage: log.damage.map(|fault| fault.to_string()),
        more: log.more,
    };
    if context.ui.options().json {
        // Details that no line has.
        if let (true, Some(damage)) = (context.ui.options().lines, &view.damage) {
            context
                .ui
                .warning(&format!("the chain is damaged after these: {damage}"));
        }
        return context.ui.json(&view);
    }
    if let Some(template) = template {
        for row in &view.checkpoints {
            let line = template.fill(|name, form| {
                atom(
                    &view,
                    row,
                    name,
                    &AtomStyle {
                        form,
                        dates: &dates,
                        now: scene.now,
                    },
                )
            });
            args.form.write(context, &line);
        }
        return Ok(());
    }
    context.ui.page();
    let ui = &context.ui;
    if args.oneline {
        view.each_oneline(ui.table_width(), |line| ui.data_line(&line));
    } else {
        view.each_line(&table, ui.table_width(), |line| ui.data_line(&line));
    }
    Ok(())
}

/// The checkpoints, each with what it changed in the files.
fn patches(
    context: &mut Context,
    opened: &OpenedRepository,
    selector: Option<&Selector>,
    args: &Args,
    format: PatchFormat,
    dates: &DateStyle,
) -> Result<(), CommandError> {
    let scene = opened.scene();
    let mut entries = Vec::new();
    let log = list::log(&scene, selector, args.limit, args.since.as_deref(), |entry| {
        entries.push(entry);
    })?;
    let width = (format == PatchFormat::Stat).then(|| context.ui.width());
    let mut changes = PatchLog::new(&scene, format, width);
    let mut view = CheckpointLog {
        session: log.session,
        checkpoints: Vec::new(),
        forked_from: log.source.map(oid),
        damage: log.damage.map(|fault| fault.to_string()),
        more: log.more,
    };
    let mut hands = Hands::new(&scene);
    context.ui.page();
    for (at, entry) in entries.into_iter().enumerate() {
        let patch = changes.checkpoint(&entry)?;
        if context.ui.options().json {
            let patch = patch.map(|patch| String::from_utf8_lossy(&patch).into_owned());
            view.checkpoints.push(LogRow {
                patch,
                ..row(entry, &mut hands)
            });
            continue;
        }
        if context.ui.is_closed() {
            return Ok(());
        }
        heading(context, at, &views::state_ref(&entry), dates, scene.now);
        write_patch(context, &patch.unwrap_or_default(), format);
    }
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    Ok(())
}

/// The heading of a patch, with an empty line before all but the first.
fn heading(context: &Context, at: usize, state: &StateRef, dates: &DateStyle, now: Timestamp) {
    if at > 0 {
        context.ui.data_line(&TextLine::new());
    }
    for line in file_log::heading(state, dates, now) {
        context.ui.data_line(&line);
    }
}

/// A patch, colored for people; in a pipe its bytes are git's own.
pub(super) fn write_patch(context: &Context, patch: &[u8], format: PatchFormat) {
    if format == PatchFormat::Patch && context.ui.for_people() {
        context.ui.verbatim(&patch::text(patch));
    } else {
        context.ui.bytes(patch);
    }
}

/// The versions of files.
fn files(
    context: &mut Context,
    opened: &OpenedRepository,
    selector: Option<Selector>,
    args: &Args,
    dates: &DateStyle,
) -> Result<(), CommandError> {
    let scene = opened.scene();
    let request = FileHistoryRequest {
        selector,
        specs: args.pathspecs.bytes(context)?.into_iter().map(RepoPath::new).collect(),
        directory: opening::directory(context, opened)?,
        since: args.since.clone(),
        limit: args.limit,
    };
    let history = file_history::history(&scene, &request).map_err(|error| args.pathspecs.as_given(error))?;
    let format = args.patch_format();
    let width = (format == Some(PatchFormat::Stat)).then(|| context.ui.width());
    let changes = PatchLog::new(&scene, format.unwrap_or_default(), width);
    let is_json = context.ui.options().json;
    let mut rows = Vec::new();
    for version in &history.versions {
        let (Some(introduced), Some(latest)) = (history.introduced(version), history.latest(version)) else {
            continue;
        };
        let held: Vec<&FileState> = version
            .holders
            .iter()
            .filter_map(|at| history.states.get(*at))
            .collect();
        let row = FileVersionRow {
            path: version.path.clone(),
            from: version.from.clone(),
            change: version.origin.word(),
            object: version.entry.as_ref().map(|entry| entry.id.clone()),
            mode: version.entry.as_ref().map(|entry| format!("{:06o}", entry.mode)),
            lines: version.lines,
            introduced: views::state_ref(&introduced.entry),
            latest: views::state_ref(&latest.entry),
            checkpoints: held.iter().map(|state| oid(state.entry.id)).collect(),
            autosaves: held.iter().filter(|state| state.is_autosave).count(),
            patch: None,
        };
        rows.push((version, row));
    }
    if let (Some(format), false) = (format, is_json) {
        context.ui.page();
        for (at, (version, row)) in rows.iter().enumerate() {
            if context.ui.is_closed() {
                return Ok(());
            }
            heading(context, at, &row.introduced, dates, scene.now);
            write_patch(context, &changes.version(version)?, format);
        }
        return Ok(());
    }
    let mut view = FileLog {
        session: history.session.clone(),
        versions: Vec::new(),
        more: history.more,
    };
    for (version, mut row) in rows {
        if format.is_some() {
            row.patch = Some(String::from_utf8_lossy(&changes.version(version)?).into_owned());
        }
        view.versions.push(row);
    }
    if is_json {
        return context.ui.json(&view);
    }
    context.ui.page();
    let ui = &context.ui;
    view.each_line(ui.table_width(), dates, scene.now, |line| ui.data_line(&line));
    ui.hint(
        "FileVersion",
        "show a version: git checkpoint show <id>:<path>; restore it: git checkpoint restore <id> -- <path>",
    );
    Ok(())
}

fn draw(
    context: &mut Context,
    opened: &OpenedRepository,
    selector: Option<&Selector>,
    args: &Args,
    dates: &DateStyle,
) -> Result<(), CommandError> {
    let scene = opened.scene();
    let nodes = ops::graph::graph(&scene, selector, args.limit)?;
    let ids: Vec<_> = nodes
        .iter()
        .map(|node| (node.previous.map(oid), node.merged.map(oid)))
        .collect();
    // Several sessions meet in it, so each is looked at alone.
    let rows: Vec<_> = nodes
        .iter()
        .map(|node| row(node.entry.clone(), &mut Hands::new(&scene)))
        .collect();
    let drawn: Vec<_> = nodes
        .iter()
        .zip(&rows)
        .zip(&ids)
        .map(|((node, row), (previous, merged))| graph::GraphNode {
            row,
            session: &node.session,
            is_tip: node.is_tip,
            option: node.option.as_deref(),
            previous: previous.as_ref(),
            merged: merged.as_ref(),
        })
        .collect();
    context.ui.page();
    let dates = (!args.oneline).then_some((dates, scene.now));
    let text = graph::text(&drawn, context.ui.table_width(), dates, context.ui.glyphs());
    context.ui.data(text);
    Ok(())
}

/// The session log.
fn notes(
    context: &mut Context,
    opened: &OpenedRepository,
    selector: Option<&Selector>,
    args: &Args,
    dates: &DateStyle,
) -> Result<(), CommandError> {
    let scene = opened.scene();
    let found = ops::notes::notes(&scene, selector, args.limit, args.since.as_deref())?;
    if found.unreadable > 0 {
        context.ui.warning(&format!(
            "{} of the session log cannot be read",
            CountedNoun::new(found.unreadable, "line")
        ));
    }
    let notes = found.lines.iter().map(|(line, saved)| NoteRow {
        at: line.at,
        level: &line.level,
        message: &line.message,
        agent: line.agent.as_deref(),
        saved: *saved,
    });
    let view = SessionNotes {
        session: &found.session,
        total: found.total,
        notes: notes.collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if found.lines.is_empty() {
        context.ui.status(format!("Session {} has no notes.", found.session));
        return Ok(());
    }
    context.ui.page();
    let text = view.text(context.ui.table_width(), dates, scene.now);
    context.ui.data(text);
    Ok(())
}

/// The formats that have a name.
const NAMED: [(&str, &str); 3] = [
    ("oneline", "%(id:short) %(summary)"),
    ("short", "checkpoint %(id)\nAuthor: %(author)\n\n    %(summary)\n"),
    (
        "full",
        "checkpoint %(id)\nDigest: %(digest)\nKind:   %(kind)\nName:   %(name)\nAuthor: %(author)\nAgent:  \
         %(agent)\nDate:   %(date)\n\n    %(summary)\n",
    ),
];

/// The atoms of `--format`, each with its value in a row.
const ATOMS: [(&str, LogAtom); 10] = [
    ("session", |log, _, _| log.session.clone()),
    ("id", |_, row, style| style.id(Some(&row.id))),
    ("date", |_, row, style| style.date(Some(row.at))),
    ("kind", |_, row, _| row.kind.unwrap_or_default().to_owned()),
    ("name", |_, row, _| row.name.clone().unwrap_or_default()),
    ("trigger", |_, row, _| row.trigger.clone().unwrap_or_default()),
    ("summary", |_, row, _| row.summary.clone()),
    ("author", |_, row, _| row.author.clone()),
    ("agent", |_, row, _| row.agent.clone().unwrap_or_default()),
    ("digest", |_, row, _| row.digest.clone().unwrap_or_default()),
];

/// The value of an atom in a row of a log.
type LogAtom = fn(&CheckpointLog, &LogRow, &AtomStyle<'_>) -> String;

fn atom(log: &CheckpointLog, row: &LogRow, name: &str, style: &AtomStyle<'_>) -> String {
    let found = ATOMS.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value(log, row, style)).unwrap_or_default()
}

/// A checkpoint as a log shows it.
pub(super) fn row(entry: CheckpointCommit, hands: &mut Hands<'_>) -> LogRow {
    // Damage is reported where the checkpoint is read.
    let is_of_person = hands.is_of_person(&entry).unwrap_or(false);
    let merged = entry.merged_commit().map(oid);
    let trailers = entry.trailers;
    LogRow {
        kind: trailers.kind.map(crate::model::document::CheckpointKind::word),
        name: trailers.name,
        trigger: trailers.trigger,
        agent: trailers.agent.filter(|_| !is_of_person),
        branch: trailers.branch,
        partial: trailers.partial,
        digest: trailers.digest.map(Into::into),
        merged,
        ..LogRow::new(oid(entry.id), entry.time, entry.subject, entry.author)
    }
}
