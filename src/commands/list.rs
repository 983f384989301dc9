//! `list`: the sessions of a repository.

use super::{
    Context, all_repos,
    error::CommandError,
    opening::{self, IdentityArgs, OpenedRepository},
    row_args::{DateArg, FormatArg},
    ui::Ui,
    views,
};
use crate::{
    model::{item, record::TaskStatus, time::Timestamp},
    ops::{
        Scene, autosave_list,
        hands::{self, Hands},
        list::{self, SessionFilter, SessionStanding, SessionSummaryRow},
        share, stats, trash,
    },
    os,
    render::{
        age::DateStyle,
        count::CountedNoun,
        file_log::{AutosaveRow, AutosaveTable},
        format::{AtomStyle, Template},
        sessions::{ReplacedCheckpointRow, SessionRow, SessionTable, TrashRow, TrashTable},
    },
    store::{
        self, IdentitySource,
        checkpoint::{self, object_id, oid},
    },
};

/// List sessions, latest first
///
/// '@' marks the current session of this working tree, '!' a damaged one. An active session without activity for longer
/// than checkpoint.interruptedAfter is shown as interrupted. SUMMARY is the one that was given for the session, which
/// automatic checkpoints leave as it is, else the subject of the latest checkpoint; 'log' shows the subject of each.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "ls",
    after_long_help = "\
Examples:
  List the paused sessions of a branch:
    git checkpoint list --branch main --status paused
  The latest three sessions of all your repositories:
    git checkpoint list --all-repos -n 3
  List autosaves, also those that a later checkpoint covers:
    git checkpoint list --autosaves
  For a script:
    git checkpoint list --json"
)]
pub(super) struct Args {
    /// Show at most this many, the latest
    #[arg(short = 'n', long = "max-count", value_name = "N", conflicts_with_all = ["trash", "autosaves"])]
    limit: Option<usize>,
    /// Only sessions with this status
    #[arg(long, value_parser = ["active", "paused", "completed", "failed", "interrupted"])]
    status: Option<String>,
    /// Only sessions last saved on this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only sessions whose name, branch or summary has this text
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
    /// Only sessions last saved at or after this date, such as '2 days ago'
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// The sessions fetched from remotes instead of the local ones
    #[arg(short = 'r', long = "remotes", visible_alias = "remote")]
    remotes: bool,
    /// The local sessions and those fetched from remotes
    #[arg(short = 'a', long, conflicts_with = "remotes")]
    all: bool,
    /// List the trash: deleted sessions for 'undelete', and amended checkpoints for 'show'
    #[arg(long, conflicts_with_all = ["remotes", "all", "format", "trust"])]
    trash: bool,
    /// List autosaves, with a mark where a later checkpoint covers one; 'resume' and 'restore' accept their ids
    #[arg(long, conflicts_with_all = ["remotes", "all", "format", "trash", "size", "trust", "all_repos"])]
    autosaves: bool,
    /// List the sessions of all repositories in which you saved some
    #[arg(long, conflicts_with_all = ["trash"])]
    all_repos: bool,
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only sessions with this task, in words or by id; a task of the record counts by its id, issue or title
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only sessions whose task, or one of whose tasks, is in this state, such as 'blocked' or 'in_progress'
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only sessions, or sessions with a task, for this issue
    #[arg(long, value_name = "ISSUE")]
    issue: Option<String>,
    /// Only sessions for this feature, by name or id
    #[arg(long, value_name = "FEATURE")]
    feature: Option<String>,
    /// Show the size of each session in the object store; slow
    #[arg(long)]
    size: bool,
    /// Check the signature of each session's latest checkpoint, and show who signed it
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    form: FormatArg,
    #[command(flatten)]
    date: DateArg,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if args.all_repos {
        return everywhere(args, context);
    }
    let opened = opening::open(context, &IdentityArgs::default())?;
    opening::warn_of_store(context, &opened)?;
    let scene = opened.scene();
    let dates = args.date.style_with(&args.form)?;
    if args.trash {
        return trash(context, &opened, &dates);
    }
    if args.autosaves {
        return autosaves(context, &opened, &dates);
    }
    let filter = args.filter();
    let view = SessionTable {
        sessions: args.rows(&scene, &filter, context.ui.options().json)?,
    };
    if context.ui.options().json {
        return json(&context.ui, &view);
    }
    if let Some(template) = args.form.template(&SessionRow::atoms(), &NAMED)? {
        write_rows(context, &args.form, &template, &view.sessions, (&dates, scene.now));
        return Ok(());
    }
    if args.limit == Some(0) {
        return Ok(());
    }
    if view.sessions.is_empty() {
        context.ui.status("No sessions found.");
        if filter.has_state_of_no_task() {
            let states = TaskStatus::ALL.map(item::status_word).join(", ");
            context.ui.warning(&format!("states of tasks: {states}"));
        }
        fetched_only(context, &scene, &filter, true)?;
        if filter.remote {
            for remote in share::status::status(&scene, None)?
                .iter()
                .filter(|remote| remote.seen.is_none())
            {
                let name = &remote.remote.name;
                let what = format!("{name} was not fetched yet: git checkpoint fetch {name}");
                context.ui.status(what);
            }
        } else if let Some(remote) = store::remote::default(scene.repo, false) {
            let hint = format!("see what others pushed: git checkpoint fetch {}", remote.name);
            context.ui.hint("Fetch", &hint);
        }
        return Ok(());
    }
    context.ui.page();
    show(&context.ui, &view, &dates, scene.now, scene.host);
    fetched_only(context, &scene, &filter, false)?;
    for (remote, name) in share::status::deleted(&scene)? {
        let what =
            format!("Deleted on {remote}: {name}; to push it again: git checkpoint push {remote} {name} --force");
        context.ui.status(what);
    }
    if view.sessions.iter().any(|s| s.status == "damaged") {
        context
            .ui
            .hint("Damaged", "see what is damaged: git checkpoint verify --all");
    }
    if !context.env.is_resident {
        // The process ends next, which frees a hundred thousand rows faster than one by one.
        std::mem::forget(view);
    }
    Ok(())
}

impl Args {
    /// The sessions that are wanted.
    fn filter(&self) -> SessionFilter {
        SessionFilter {
            agent: self.agent.clone(),
            status: self.status.as_deref().and_then(|s| s.parse::<SessionStanding>().ok()),
            task: self.task.clone(),
            state: self.state.clone(),
            feature: self.feature.clone(),
            issue: self.issue.clone(),
            branch: self.branch.clone(),
            grep: self.grep.clone(),
            since: self.since.clone(),
            remote: self.remotes,
            all: self.all,
        }
    }

    /// The rows of these sessions, with the facts that are read where an option asks for them.
    fn rows(
        &self,
        scene: &Scene<'_>,
        filter: &SessionFilter,
        identified: bool,
    ) -> Result<Vec<SessionRow>, CommandError> {
        let mut rows = listed(scene, filter, identified)?;
        rows.truncate(self.limit.unwrap_or(usize::MAX));
        if self.size {
            weigh(scene, &mut rows)?;
        }
        if self.trust {
            check(scene, &mut rows)?;
        }
        Ok(rows)
    }
}

/// The rows of the sessions that a filter lets through; `identified`, with their identities, which only their documents have.
fn listed(scene: &Scene<'_>, filter: &SessionFilter, identified: bool) -> Result<Vec<SessionRow>, CommandError> {
    let now = scene.now;
    let mut rows = if identified {
        with_identities(
            scene,
            list::each_session(scene, filter, |found| with_source(found, now))?,
        )
    } else {
        list::each_session(scene, filter, |found| row(found, now))?
    };
    find_people(scene, &mut rows);
    Ok(rows)
}

/// The rows of these sessions.
pub(super) fn rows(scene: &Scene<'_>, found: Vec<SessionSummaryRow>, identified: bool) -> Vec<SessionRow> {
    let mut rows = if identified {
        let made = found.into_iter().map(|found| with_source(found, scene.now));
        with_identities(scene, made.collect())
    } else {
        found.into_iter().map(|found| row(found, scene.now)).collect()
    };
    find_people(scene, &mut rows);
    rows
}

/// Decides about the checkpoints that a person may have made in the session of an agent.
fn find_people(scene: &Scene<'_>, rows: &mut [SessionRow]) {
    for row in rows.iter_mut().filter(|row| row.is_by_person) {
        let entry = row.id.as_ref().map(|id| checkpoint::entry(scene.repo, object_id(id)));
        // Damage is reported where the checkpoint is read.
        row.is_by_person = match entry {
            Some(Ok(entry)) => Hands::new(scene).is_of_person(&entry).unwrap_or(false),
            _ => false,
        };
    }
}

/// A row, and what its identity is to be read from.
type RowWithSource = (SessionRow, Option<IdentitySource>);

fn with_source(found: SessionSummaryRow, now: Timestamp) -> RowWithSource {
    let source = found.tip.as_ref().ok().map(|(entry, _)| IdentitySource::of(entry));
    (row(found, now), source)
}

fn with_identities(scene: &Scene<'_>, mut made: Vec<RowWithSource>) -> Vec<SessionRow> {
    let sources = made.iter_mut().filter_map(|(_, source)| source.take());
    let ids = store::session_ids(scene.repo, &sources.collect::<Vec<_>>());
    // In the order of the rows that have one: those of damaged sessions have none.
    let identified = made.iter_mut().filter(|(row, _)| row.id.is_some());
    for ((row, _), id) in identified.zip(ids) {
        row.session_id = id;
    }
    made.into_iter().map(|(row, _)| row).collect()
}

/// Asks git how much each session takes.
fn weigh(scene: &Scene<'_>, rows: &mut [SessionRow]) -> Result<(), CommandError> {
    let tips: Vec<_> = rows.iter().filter_map(|row| row.id.as_ref().map(object_id)).collect();
    let mut sizes = stats::sizes(scene, &tips)?.into_iter();
    for row in rows.iter_mut().filter(|row| row.id.is_some()) {
        row.size = sizes.next().flatten();
    }
    Ok(())
}

/// Checks the signatures of the latest checkpoints, all with one run of git.
fn check(scene: &Scene<'_>, rows: &mut [SessionRow]) -> Result<(), CommandError> {
    let (rows, ids): (Vec<_>, Vec<_>) = rows
        .iter_mut()
        .filter_map(|row| row.id.clone().map(|id| (row, id)))
        .unzip();
    for (row, signature) in rows.into_iter().zip(views::signatures(scene, &ids)?) {
        row.signature = signature;
    }
    Ok(())
}

/// The sessions of all repositories of the user, the latest first.
fn everywhere(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let dates = args.date.style_with(&args.form)?;
    let filter = args.filter();
    let template = args.form.template(&SessionRow::atoms(), &NAMED)?;
    let mut view = SessionTable { sessions: Vec::new() };
    all_repos::each(context, |context, directory, opened| {
        let scene = opened.scene();
        for mut row in args.rows(&scene, &filter, context.ui.options().json)? {
            row.repository = Some(directory.display().to_string());
            row.current = false;
            view.sessions.push(row);
        }
        Ok(true)
    })?;
    view.sessions.sort_by_key(|row| std::cmp::Reverse(row.at));
    view.sessions.truncate(args.limit.unwrap_or(usize::MAX));
    if context.ui.options().json {
        return json(&context.ui, &view);
    }
    let now = context.env.now;
    if let Some(template) = template {
        write_rows(context, &args.form, &template, &view.sessions, (&dates, now));
        return Ok(());
    }
    if view.sessions.is_empty() {
        context.ui.status("No repository with such a session was found.");
        return Ok(());
    }
    context.ui.page();
    show(&context.ui, &view, &dates, now, &os::host_name());
    Ok(())
}

fn json(ui: &Ui, view: &SessionTable) -> Result<(), CommandError> {
    ui.json_list(view, &SessionTable { sessions: Vec::new() }, &view.sessions)
}

/// Shows the table. Of a hundred thousand sessions to draw it takes as long as to read them, so two threads do.
fn show(ui: &Ui, view: &SessionTable, dates: &DateStyle, now: Timestamp, host: &str) {
    /// Rows that are drawn before they are written.
    const AT_ONCE: usize = 16 * 1024;
    let tables = os::parallel_map(&view.sessions, |rows| vec![view.table(rows, dates, now, host)]);
    let mut tables = tables.into_iter();
    let Some(mut table) = tables.next() else { return };
    tables.for_each(|more| table.append(&more));
    let layout = table.layout(ui.table_width());
    layout.heading().iter().for_each(|line| ui.data_line(line));
    let Some(pen) = ui.pen().filter(|_| layout.is_single()) else {
        layout.each_line(0..table.len(), |line| ui.data_line(&line));
        return;
    };
    let rows: Vec<usize> = (0..table.len()).collect();
    for some in rows.chunks(AT_ONCE) {
        if ui.is_closed() {
            return;
        }
        let draw = |rows: &[usize]| vec![pen.lines(rows, |row, line| layout.draw(*row, line))];
        for lines in os::parallel_map(some, draw) {
            ui.drawn(&lines);
        }
    }
}

/// Names the sessions that were fetched and are none of this repository yet. `is_empty` is whether none was listed.
fn fetched_only(
    context: &Context,
    scene: &Scene<'_>,
    filter: &SessionFilter,
    is_empty: bool,
) -> Result<(), CommandError> {
    if filter.remote || filter.all {
        return Ok(());
    }
    let list::FetchedSessions {
        not_here: fetched,
        renamed,
    } = list::fetched_only(scene, filter)?;
    for list::RenamedSession { remote, there, here } in &renamed {
        context
            .ui
            .status(format!("Renamed: {here} is known as {there} on {remote}"));
    }
    let Some(first) = fetched.first() else {
        let is_none_here = || store::session::names(scene.repo).map(|names| names.is_empty());
        let may_fetch = is_empty && !store::remote::all(scene.repo).is_empty();
        if may_fetch && is_none_here()? {
            let what = "Sessions of a remote: git checkpoint fetch, or one of them: git checkpoint pull <session>";
            context.ui.status(what);
        }
        return Ok(());
    };
    let what = match fetched.len() - 1 {
        0 => format!("Fetched, not resumed here: {first}"),
        more => format!("Fetched, not resumed here: {first} and {more} more; see: git checkpoint list -r"),
    };
    context.ui.status(what);
    Ok(())
}

/// Lists the autosaves.
fn autosaves(context: &mut Context, opened: &OpenedRepository, dates: &DateStyle) -> Result<(), CommandError> {
    let scene = opened.scene();
    let rows = autosave_list::autosaves(&scene)?
        .into_iter()
        .map(|autosave| AutosaveRow {
            state: views::state_ref(&autosave.entry),
            worktree: autosave.worktree,
            after: autosave.entry.parents.first().copied().map(oid),
            latest: autosave.is_latest,
            covered: autosave.is_covered,
        });
    let view = AutosaveTable {
        autosaves: rows.collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if view.autosaves.is_empty() {
        context.ui.status("No autosaves found.");
        return Ok(());
    }
    context.ui.page();
    let ui = &context.ui;
    view.each_line(ui.table_width(), dates, scene.now, |line| ui.data_line(&line));
    ui.hint(
        "Autosaves",
        "show one: git checkpoint show <id>; restore its files: git checkpoint restore <id>",
    );
    Ok(())
}

/// Lists what is in the trash.
fn trash(context: &mut Context, opened: &OpenedRepository, dates: &DateStyle) -> Result<(), CommandError> {
    let scene = opened.scene();
    let (all, amended) = (trash::deleted(&scene)?, trash::replaced(&scene)?);
    let rows = all.iter().map(|deleted| TrashRow {
        session: &deleted.name,
        id: oid(deleted.tip.id),
        deleted_at: Timestamp::from_unix(deleted.at, 0),
        summary: &deleted.tip.subject,
        trash: &deleted.trash,
    });
    let replaced = amended.iter().map(|replaced| ReplacedCheckpointRow {
        session: &replaced.name,
        id: oid(replaced.tip.id),
        replaced_at: Timestamp::from_unix(replaced.at, 0),
        summary: &replaced.tip.subject,
        trash: &replaced.trash,
    });
    let view = TrashTable {
        sessions: rows.collect(),
        replaced: replaced.collect(),
        older_states: trash::older_states(&scene)?,
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    if all.is_empty() && amended.is_empty() {
        let older = view.older_states;
        let text = match older {
            0 => "The trash is empty.".to_owned(),
            _ => format!(
                "The trash has no deleted session. It keeps {} of sessions that a prune or another command changed.",
                CountedNoun::new(older, "older state")
            ),
        };
        context.ui.status(text);
        if older > 0 {
            context.ui.hint(
                "Trash",
                "they come back with the command that undoes it: git checkpoint undo",
            );
        }
        return Ok(());
    }
    context.ui.data(view.text(context.ui.width(), dates, scene.now));
    if !all.is_empty() {
        context
            .ui
            .hint("Trash", "bring one back: git checkpoint undelete <session>");
    }
    if let Some(latest) = amended.first() {
        let id = oid(latest.tip.id);
        context.ui.hint(
            "Amended",
            &format!("see an amended checkpoint: git checkpoint show {}", id.short()),
        );
    }
    Ok(())
}

/// The formats that have a name.
const NAMED: [(&str, &str); 3] = [
    ("oneline", "%(session) %(status) %(summary)"),
    ("short", "%(session) %(status), %(date)\n    %(summary)\n"),
    (
        "full",
        "session %(session)\nStatus:  %(status)\nId:      %(id)\nDate:    %(date)\nAuthor:  %(author)\nAgent:   \
         %(agent)\nTask:    %(task)\nBranch:  %(branch)\nHost:    %(host)\n\n    %(summary)\n",
    ),
];

/// Writes each row as the template has it.
fn write_rows(
    context: &Context,
    form: &FormatArg,
    template: &Template,
    rows: &[SessionRow],
    (dates, now): (&DateStyle, Timestamp),
) {
    for row in rows {
        let line = template.fill(|name, form| row.atom(name, &AtomStyle { form, dates, now }));
        form.write(context, &line);
    }
}

fn row(row: SessionSummaryRow, now: Timestamp) -> SessionRow {
    let mut view = SessionRow {
        session: row.name,
        current: row.current,
        status: "damaged",
        ..SessionRow::default()
    };
    match row.tip {
        Err(broken) => view.damage = Some(broken.to_string()),
        Ok((entry, standing)) => {
            view.status = standing.word();
            view.is_by_person = hands::may_be_of_person(&entry.trailers);
            view.id = Some(oid(entry.id));
            view.at = Some(entry.time);
            match entry.trailers.summary {
                Some(summary) => {
                    view.summary = summary;
                    view.subject = Some(entry.subject);
                }
                None => view.summary = entry.subject,
            }
            view.author = entry.author;
            view.agent = entry.trailers.agent;
            view.task = entry.trailers.task;
            view.branch = entry.trailers.branch;
            view.host = entry.trailers.host;
            let holds = |until: &Option<Timestamp>| until.is_none_or(|until| now < until);
            let claim = entry.trailers.claim.filter(|(_, until)| holds(until));
            view.claimed_by = claim.map(|(by, _)| by);
        }
    }
    view
}
