//! `search`: text in everything that sessions saved.

use super::{
    Context, all_repos,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs, OpenedRepository},
    row_args::DateArg,
};
use crate::{
    ops::search::{self, MatchedContent, Pattern, PatternSyntax, SearchMatch, SearchOutcome, SearchRequest},
    render::{
        age::DateStyle,
        count::CountedNoun,
        search::{MatchMark, MessageRef, SearchPrinter, SearchRow, SearchView},
        text::TextLine,
    },
    store::{checkpoint::oid, scan::BlobRole},
};

/// Search the text of all sessions: records, chats, steps, logs and files
///
/// The pattern is a basic regular expression as in 'git grep'. Fetched sessions are searched as well. Each object is
/// searched once, for the latest checkpoint that has it; a line that older checkpoints repeat is shown once. Sessions
/// come latest first. Exits with 1 when nothing matches.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Where was this discussed?
    git checkpoint search -i 'rate limit'
  Only chats, of the last week:
    git checkpoint search 'retry' --in chat --since '1 week ago'
  A function that was deleted before it was ever committed:
    git checkpoint search --files 'fn parse_header'
  In all your repositories:
    git checkpoint search 'connection pool' --all-repos
  For a script, one match per line as it is found:
    git checkpoint search -E 'timeout|retries' --files --json=lines")]
pub(super) struct Args {
    /// The pattern; put '--' before one that begins with a dash
    pattern: String,
    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,
    /// The pattern is an extended regular expression
    #[arg(short = 'E', long, conflicts_with = "fixed_strings")]
    extended_regexp: bool,
    /// The pattern is a fixed text
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Parts to search, separated by commas; all but files by default
    #[arg(
        long = "in",
        value_name = "PART",
        value_delimiter = ',',
        value_parser = ["record", "chat", "steps", "log", "files"],
    )]
    parts: Vec<String>,
    /// Search the contents and names of saved files, alone or in addition to --in
    #[arg(long)]
    files: bool,
    /// Only this session, or a fetched one such as origin/auth; repeatable
    #[arg(long = "session", value_name = "NAME")]
    sessions: Vec<String>,
    /// Only checkpoints saved at or after this date, such as '2 days ago'
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only checkpoints by this person or agent: a part of a name or address
    #[arg(long, value_name = "TEXT")]
    author: Option<String>,
    /// Also search deleted sessions
    #[arg(long)]
    trash: bool,
    /// Also search autosaves
    #[arg(long)]
    autosaves: bool,
    /// Search all repositories in which you saved sessions
    #[arg(long)]
    all_repos: bool,
    /// Also show lines that a later checkpoint of the session repeats, and matches in ids, digests, roles and names of members
    #[arg(long)]
    all: bool,
    /// Stop after this many matches
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    date: DateArg,
}

/// The parts by their words.
const PARTS: [(&str, BlobRole); 5] = [
    ("record", BlobRole::Record),
    ("chat", BlobRole::Chat),
    ("steps", BlobRole::Step),
    ("log", BlobRole::Log),
    ("files", BlobRole::File),
];

fn word(role: BlobRole) -> &'static str {
    let known = PARTS.iter().find(|(_, known)| *known == role);
    known.map_or("record", |(word, _)| word)
}

impl Args {
    fn roles(&self) -> Vec<BlobRole> {
        let named = |word: &&(&str, BlobRole)| self.parts.iter().any(|part| part == word.0);
        let mut roles: Vec<BlobRole> = PARTS.iter().filter(named).map(|(_, role)| *role).collect();
        if self.files && !roles.contains(&BlobRole::File) {
            roles.push(BlobRole::File);
        }
        if roles.is_empty() {
            roles.extend(
                PARTS
                    .iter()
                    .map(|(_, role)| *role)
                    .filter(|role| *role != BlobRole::File),
            );
        }
        roles
    }

    fn request(&self) -> Result<SearchRequest, CommandError> {
        let syntax = match () {
            () if self.fixed_strings => PatternSyntax::Fixed,
            () if self.extended_regexp => PatternSyntax::Extended,
            () => PatternSyntax::Basic,
        };
        let pattern = Pattern::new(&self.pattern, syntax, self.ignore_case).map_err(|error| {
            let message = format!("cannot use the pattern '{}': {error}", self.pattern);
            CommandError::new(FailureKind::Usage, message).hint("to search for fixed text: add -F")
        })?;
        Ok(SearchRequest {
            pattern,
            roles: self.roles(),
            sessions: self.sessions.clone(),
            since: self.since.clone(),
            author: self.author.clone(),
            trash: self.trash,
            autosaves: self.autosaves,
        })
    }
}

/// The output of a search as it goes on.
struct SearchOutput<'a> {
    args: &'a Args,
    dates: DateStyle,
    printer: SearchPrinter,
    rows: Vec<SearchRow>,
    shown: u64,
    /// Matches that were left out because only the form of a document has them.
    structural: u64,
    total: SearchOutcome,
}

impl SearchOutput<'_> {
    /// Whether more is wanted.
    fn is_open(&self, context: &Context) -> bool {
        !context.ui.is_closed() && self.args.limit.is_none_or(|limit| self.shown < limit)
    }

    /// Searches a repository; `directory` names it where there are several.
    fn search(
        &mut self,
        context: &mut Context,
        opened: &OpenedRepository,
        request: &SearchRequest,
        directory: Option<&str>,
    ) -> Result<(), CommandError> {
        let scene = opened.scene();
        let (is_json, is_lines) = (context.ui.options().json, context.ui.options().lines);
        let outcome = search::search(&scene, request, |found| {
            if !self.is_open(context) {
                return Ok(false);
            }
            let is_structure = matches!(&found.content, MatchedContent::Line(line) if line.is_structure);
            if is_structure && !self.args.all {
                self.structural += 1;
                return Ok(true);
            }
            if found.is_repeated && !self.args.all && !is_json {
                return Ok(true);
            }
            let row = SearchRow {
                repository: directory.map(str::to_owned),
                ..row(found)
            };
            self.shown += 1;
            if is_lines {
                // A row has nothing that JSON cannot have.
                context.ui.json_line(&row).ok();
            } else if is_json {
                self.rows.push(row);
            } else {
                if self.shown == 1 {
                    context.ui.page();
                }
                for line in self.printer.lines(&row, &self.dates, scene.now) {
                    context.ui.data_line(&line);
                }
            }
            Ok(self.is_open(context))
        })?;
        report(&outcome, context);
        let total = &mut self.total;
        total.sessions += outcome.sessions;
        total.checkpoints += outcome.checkpoints;
        total.objects += outcome.objects;
        total.repeated += outcome.repeated;
        total.missing += outcome.missing;
        total.locked += outcome.locked;
        total.is_stopped |= outcome.is_stopped;
        Ok(())
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let request = args.request()?;
    let mut output = SearchOutput {
        args: &args,
        dates: args.date.style()?,
        printer: SearchPrinter::default(),
        rows: Vec::new(),
        shown: 0,
        structural: 0,
        total: SearchOutcome::default(),
    };
    if args.all_repos {
        all_repos::each(context, |context, directory, opened| {
            let directory = directory.display().to_string();
            match output.search(context, opened, &request, Some(&directory)) {
                // A session that is named is in one of them.
                Err(error) if error.kind() == FailureKind::NotFound => {}
                result => result?,
            }
            Ok(output.is_open(context))
        })?;
    } else {
        let opened = opening::open(context, &IdentityArgs::default())?;
        output.search(context, &opened, &request, None)?;
    }
    let SearchOutput {
        rows,
        shown,
        structural,
        total,
        ..
    } = output;
    if structural > 0 && shown == 0 && !total.is_stopped {
        let number = usize::try_from(structural).unwrap_or(usize::MAX);
        let lines = CountedNoun::irregular(number, "match", "matches");
        context.ui.hint(
            "SearchStructure",
            &format!("{lines} only in names of members, ids and roles; to show them: add --all"),
        );
    }
    if total.repeated > 0 && !args.all && !total.is_stopped {
        let lines = CountedNoun::new(usize::try_from(total.repeated).unwrap_or(usize::MAX), "line");
        context.ui.hint(
            "SearchRepeated",
            &format!("older checkpoints repeat {lines}; to show them: add --all"),
        );
    }
    if context.ui.options().json && !context.ui.options().lines {
        context.ui.json(&SearchView {
            matches: rows,
            sessions: total.sessions,
            checkpoints: total.checkpoints,
            objects: total.objects,
            stopped: total.is_stopped,
            missing: total.missing,
            locked: total.locked,
        })?;
    }
    if shown == 0 {
        if !total.is_stopped {
            let pattern = &args.pattern;
            context
                .ui
                .status(TextLine::plain(format!("Nothing found for '{pattern}'")));
        }
        if !args.files && args.parts.is_empty() {
            let hint = "saved files are searched with --files: git checkpoint search --files <text>";
            context.ui.hint("SearchFiles", hint);
        }
        return Err(CommandError::silent(FailureKind::Negative));
    }
    Ok(())
}

/// Reports what could not be searched.
fn report(outcome: &SearchOutcome, context: &Context) {
    for remark in &outcome.remarks {
        context.ui.warning(remark);
    }
    if outcome.missing > 0 {
        let objects = usize::try_from(outcome.missing).unwrap_or(usize::MAX);
        context.ui.warning(&format!(
            "{} were not searched: this partial clone has not fetched them",
            CountedNoun::new(objects, "object")
        ));
    }
    let (sessions, checkpoints, objects) = (outcome.sessions, outcome.checkpoints, outcome.objects);
    context.ui.detail(
        1,
        TextLine::plain(format!(
            "Searched {objects} objects of {checkpoints} checkpoints in {sessions} sessions."
        )),
    );
}

fn row(found: &SearchMatch<'_>) -> SearchRow {
    let entry = found.checkpoint;
    let path = crate::model::path::RepoPath::new(found.blob.name.clone()).to_string();
    let found_line = match &found.content {
        MatchedContent::Line(line) => Some(line.clone()),
        MatchedContent::Path(_) | MatchedContent::Binary => None,
    };
    let marks = match &found.content {
        MatchedContent::Line(line) => line.marks.clone(),
        MatchedContent::Path(marks) => marks.clone(),
        MatchedContent::Binary => Vec::new(),
    };
    let text = found_line
        .as_ref()
        .map_or_else(|| path.clone(), |line| line.text.clone());
    SearchRow {
        repository: None,
        session: found.session.to_owned(),
        origin: found.origin.word(),
        id: oid(entry.id),
        at: entry.time,
        kind: entry.trailers.kind.map(crate::model::document::CheckpointKind::word),
        author: entry.author.clone(),
        agent: entry.trailers.agent.clone(),
        subject: entry.subject.clone(),
        part: word(found.blob.role),
        object: oid(found.blob.id),
        name: path,
        line: found_line.as_ref().map(|line| line.line),
        text,
        marks: marks.into_iter().map(|(start, end)| MatchMark { start, end }).collect(),
        binary: matches!(found.content, MatchedContent::Binary),
        cut: found_line.as_ref().is_some_and(|line| line.is_cut),
        member: found_line.as_ref().and_then(|line| line.member.clone()),
        structural: found_line.as_ref().is_some_and(|line| line.is_structure),
        repeated: found.is_repeated,
        message: found_line.and_then(|line| line.message).map(|message| MessageRef {
            id: message.id,
            at: message.at,
            role: message.role,
            agent: message.agent,
        }),
    }
}
