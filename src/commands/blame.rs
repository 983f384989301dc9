//! `blame` and `why`: who wrote a line, and for what.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    row_args::DateArg,
};
use crate::{
    model::{path::RepoPath, selector::Selector},
    ops::{
        Error as OpsError,
        blame::{self, BlameRequest, LineAuthor, LineOrigin},
        file_history,
    },
    render::{
        blame::{BlameHunk, BlameView, CommitRef, DecisionView, OriginView, WhyView},
        count::CountedNoun,
    },
    store::checkpoint::oid,
};

/// Show which turn introduced each line of a file
///
/// Without a checkpoint, annotates the current file; lines that no checkpoint has are 'unsaved'. Lines from before the
/// session, and those from a merge or a checkout, show the commit that 'git blame' finds, with a caret. Renames are
/// followed. Edits between two turns of an agent are attributed to the person.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "git checkpoint blame [OPTIONS] [CHECKPOINT] [--] <FILE>",
    after_long_help = "\
Examples:
  The current file:
    git checkpoint blame src/parser.rs
  Ten lines of it in a checkpoint:
    git checkpoint blame -L 20,+10 auth~3 src/parser.rs
  The reason for one line:
    git checkpoint why src/parser.rs:25"
)]
pub(super) struct Args {
    /// Only these lines, as in git: 'a,b', 'a,+n', or '/text/,+n'; repeatable
    #[arg(short = 'L', long = "lines", value_name = "RANGE")]
    ranges: Vec<String>,
    /// The file, after the checkpoint if one is given
    #[arg(required = true, num_args = 1..=2, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    words: Vec<String>,
    #[command(flatten)]
    date: DateArg,
}

/// Explain one line: its turn, prompt and decisions
///
/// Prints who wrote the line, the prompt of that turn, the decisions of the session that name the file, the commit if
/// it was committed, and the command that shows the turn.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Why is this line there?
    git checkpoint why src/parser.rs:25
  In a checkpoint:
    git checkpoint why src/parser.rs:25 --at auth~3")]
pub(super) struct WhyArgs {
    /// The file and the line number
    #[arg(value_name = "FILE:LINE", value_hint = clap::ValueHint::FilePath)]
    line: String,
    /// The checkpoint that has the file; the current files by default
    #[arg(long = "at", value_name = "CHECKPOINT")]
    selector: Option<String>,
    #[command(flatten)]
    date: DateArg,
}

/// A path as it was typed, from the root of the working tree.
fn path_of(context: &Context, opened: &OpenedRepository, typed: &str) -> Result<RepoPath, CommandError> {
    let scene = opened.scene();
    if !crate::store::has_work_tree(scene.repo) {
        return Ok(RepoPath::new(typed.as_bytes()));
    }
    let directory = opening::directory(context, opened)?;
    file_history::path_below(scene.repo, &directory, typed).ok_or_else(|| {
        CommandError::new(
            FailureKind::NotFound,
            format!("'{typed}' is outside of the working tree"),
        )
    })
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let dates = args.date.style()?;
    let (selector, file) = match &args.words[..] {
        [selector, file] => (Some(failure::selector(selector)?), file),
        [file, ..] => (None, file),
        [] => return Err(CommandError::new(FailureKind::Usage, "a file is needed")),
    };
    let request = BlameRequest {
        selector,
        path: path_of(context, &opened, file)?,
        ranges: args.ranges,
    };
    let scene = opened.scene();
    let file = blame::blame(&scene, &request)?;
    let mut hunks: Vec<(usize, BlameHunk)> = Vec::new();
    for line in file.lines {
        let text = String::from_utf8_lossy(&line.text).into_owned();
        match hunks.last_mut() {
            Some((origin, hunk))
                if *origin == line.origin && hunk.first as usize + hunk.lines.len() == line.number as usize =>
            {
                hunk.lines.push(text);
            }
            _ => hunks.push((
                line.origin,
                BlameHunk {
                    first: line.number,
                    lines: vec![text],
                    origin: view(&file.origins[line.origin]),
                },
            )),
        }
    }
    let view = BlameView {
        session: file.session,
        id: file.checkpoint.map(oid),
        path: file.path,
        hunks: hunks.into_iter().map(|(_, hunk)| hunk).collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    context.ui.page();
    let ui = &context.ui;
    view.each_line(ui.table_width(), &dates, scene.now, |line| ui.data_line(&line));
    Ok(())
}

/// The origin of lines for people and programs.
fn view(origin: &LineOrigin) -> OriginView {
    let (by, author, email, model) = match &origin.author {
        LineAuthor::Unknown => ("unknown", None, None, None),
        LineAuthor::Person { name, email } => ("person", Some(name.clone()), Some(email.clone()), None),
        LineAuthor::Agent { name, model } => ("agent", Some(name.clone()), None, model.clone()),
    };
    let entry = origin.checkpoint.as_ref();
    OriginView {
        origin: origin.kind.word(),
        checkpoint: entry.map(|entry| oid(entry.id)),
        session: entry.map(|entry| file_history::session_name(entry).to_owned()),
        kind: entry
            .and_then(|entry| entry.trailers.kind)
            .map(crate::model::document::CheckpointKind::word),
        at: origin.at,
        by,
        author,
        email,
        model,
        prompt: origin.prompt.clone(),
        turn: origin.turn.clone(),
        commit: origin.commit.as_ref().map(|(id, commit)| CommitRef {
            id: oid(*id),
            author: commit.author.clone(),
            at: commit.authored_at,
            subject: commit.subject.clone(),
        }),
    }
}

pub(super) fn why(args: WhyArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let dates = args.date.style()?;
    let parsed = args
        .line
        .rsplit_once(':')
        .and_then(|(file, line)| Some((file, line.parse::<u32>().ok().filter(|line| *line > 0)?)));
    let Some((file, line)) = parsed else {
        return Err(CommandError::new(
            FailureKind::Usage,
            format!("'{}' is not a file with a line number", args.line),
        )
        .hint("use a form such as src/parser.rs:25"));
    };
    let selector: Option<Selector> = args.selector.as_deref().map(failure::selector).transpose()?;
    let path = path_of(context, &opened, file)?;
    let scene = opened.scene();
    let found = blame::why(&scene, selector, path, line).map_err(|error| match error {
        OpsError::LineRange { total, .. } => {
            let lines = CountedNoun::new(total as usize, "line");
            let message = format!("no line {line} in '{file}', which has {lines}");
            CommandError::new(FailureKind::Usage, message).hint("use a form such as src/parser.rs:25")
        }
        error => error.into(),
    })?;
    let origin = view(&found.origin);
    let command = match (&origin.checkpoint, &origin.commit, origin.origin) {
        (Some(id), _, "checkpoint") => Some(format!("git checkpoint show {} --patch", id.short())),
        (_, Some(commit), _) => Some(format!("git show {}", commit.id.short())),
        _ => None,
    };
    let view = WhyView {
        path: found.file.path,
        line: found.line,
        text: String::from_utf8_lossy(&found.text).into_owned(),
        origin,
        full_prompt: found.prompt,
        decisions: found
            .decisions
            .into_iter()
            .map(|decision| DecisionView {
                id: decision.id,
                text: decision.text,
                reason: decision.reason,
            })
            .collect(),
        command,
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    let text = view.text(context.ui.width(), &dates, scene.now);
    context.ui.data(text);
    Ok(())
}
