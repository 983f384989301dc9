//! `resume`: a session taken up again, in text, Markdown, JSON or as a prompt.

use serde_json::json;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    list::{self, DateArg},
    opening::{self, IdentityArgs, OpenedRepository},
    share,
};
use crate::{
    model::{
        selector::{Base, Selector},
        step::Step,
        time::Timestamp,
    },
    ops::{
        autosave::Offer,
        list::{SessionStanding, SessionSummaryRow},
        resume::{self, ChoiceReason, ResumeOutcome},
        select,
        share::pull,
        step,
    },
    os,
    render::{
        age, checkpoint, markdown,
        prompt::{LEAST, ResumePrompt},
        report,
        sessions::SessionTable,
        slot::Slot,
        text::{Text, TextLine},
    },
    store::{self, checkpoint::oid},
};

/// Take a session up again: its record, and what changed since
///
/// Changes no file. Without a session: the current one, else the latest that was paused or interrupted on this branch,
/// else the latest. On a terminal you are asked when there are several.
///
/// When work was cut off, an autosave of 'git checkpoint watch' may be newer than the latest checkpoint. It is taken up
/// as a checkpoint of its own: on a terminal you are asked, otherwise it is done unless --no-recover is given, as it
/// loses nothing and changes no file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Go on where you stopped:
    git checkpoint resume
  An older state, by name:
    git checkpoint resume auth-refactor@before-merge
  A session that was fetched from a remote:
    git checkpoint resume origin/auth
  See what could be resumed:
    git checkpoint resume --list")]
pub(super) struct Args {
    /// The session or checkpoint
    selector: Option<String>,
    /// The session, by name or the beginning of one
    #[arg(long, value_name = "ID", conflicts_with = "selector")]
    session_id: Option<String>,
    /// List what could be resumed, and do nothing
    #[arg(long)]
    list: bool,
    /// Print only the summary, what comes next, and what changed
    #[arg(long)]
    brief: bool,
    /// How to print it; 'prompt' is text for an agent
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = ["text", "markdown", "json", "prompt"])]
    format: String,
    /// The most characters of a prompt, 1000 at least
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = most)]
    max_chars: usize,
    /// Take up an autosave that is newer than the latest checkpoint without asking, as is done without a terminal
    #[arg(long, overrides_with = "no_recover")]
    recover: bool,
    /// Leave an autosave that is newer alone
    #[arg(long, overrides_with = "recover")]
    no_recover: bool,
    /// Exit with 6 when the project is not as the checkpoint left it
    #[arg(long)]
    fail_on_drift: bool,
    /// Count a checkpoint older than this as drift, such as 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = store::config::span)]
    max_age: Option<std::time::Duration>,
    #[command(flatten)]
    date: DateArg,
}

fn most(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n >= LEAST => Ok(n),
        _ => Err(format!("it must be a number, {LEAST} at least")),
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let dates = args.date.style(context)?;
    if args.list {
        return candidates(context, &opened, &dates);
    }
    let given = args
        .selector
        .as_deref()
        .or(args.session_id.as_deref())
        .map(failure::selector)
        .transpose()?;
    let selector = match given {
        Some(selector) => Some(selector),
        None => ask(context, &opened)?,
    };
    let selector = selector
        .map(|selector| fetched(context, &opened, selector))
        .transpose()?;
    let resumed = {
        let _counting = context.ui.counting("Looking at files");
        resume::resume(&opened.scene(), selector.as_ref(), args.max_age)?
    };
    let resumed = recover(context, &opened, &args, resumed)?;
    print(context, &opened, &args, &resumed)?;
    if args.fail_on_drift && resumed.report.drift.drifted {
        return Err(CommandError::silent(FailureKind::Drift));
    }
    Ok(())
}

/// Brings a session that is named as `<remote>/<session>` to what was fetched of it; from there on it is a session of
/// this repository.
fn fetched(context: &Context, opened: &OpenedRepository, selector: Selector) -> Result<Selector, CommandError> {
    let scene = opened.scene();
    let Base::Word(word) = &selector.base else {
        return Ok(selector);
    };
    let Some((remote, session, _)) = store::remote::named_ref(word) else {
        return Ok(selector);
    };
    let found = store::remote::find(scene.repo, &remote);
    let (Some(remote), Some(_)) = (found, select::remote(&scene, &selector)) else {
        return Err(share::pull::not_fetched(&remote, session.as_str()));
    };
    let pulled = pull::bring(&scene, &remote, &session)?;
    failure::warn_aftermath(&context.ui, &pulled.aftermath);
    if !context.ui.options().json {
        context.ui.status(share::pull::text_of(&pulled));
    }
    Ok(Selector {
        base: Base::Word(session.to_string()),
        ..selector
    })
}

/// Takes up a newer autosave if that is wanted.
fn recover(
    context: &Context,
    opened: &OpenedRepository,
    args: &Args,
    resumed: ResumeOutcome,
) -> Result<ResumeOutcome, CommandError> {
    let scene = opened.scene();
    let Some(offer) = resumed.autosave.clone().filter(|_| !args.no_recover) else {
        return Ok(resumed);
    };
    let wanted = args.recover || !context.ui.can_ask() || {
        let question = format!(
            "an autosave of {} is newer than the newest checkpoint: take it up?",
            age::age(offer.at, scene.now)
        );
        context.ui.confirm(&question, "--recover")?
    };
    if wanted {
        Ok(resume::recover(&scene, &resumed, offer, args.max_age)?)
    } else {
        Ok(resumed)
    }
}

fn print(
    context: &Context,
    opened: &OpenedRepository,
    args: &Args,
    resumed: &ResumeOutcome,
) -> Result<(), CommandError> {
    if context.ui.options().json || args.format == "json" {
        return context.ui.json(&json_of(resumed));
    }
    if let Some((fault, lost)) = &resumed.lost {
        context.ui.warning(&format!(
            "the newest checkpoint is damaged ({fault}); {} passed over",
            crate::render::count::CountedNoun::new(*lost, "checkpoint")
        ));
    }
    let now = opened.scene().now;
    if let Some(offer) = &resumed.recovered {
        context.ui.warning(&format!(
            "the autosave of {} was newer than the newest checkpoint and is now {}",
            age::age(offer.at, now),
            oid(resumed.checkpoint.entry.id).short()
        ));
        context.ui.hint(
            "Recovered",
            "no file was changed; bring files back with: git checkpoint restore @",
        );
    }
    if let Some(offer) = &resumed.autosave {
        context.ui.warning(&format!(
            "an autosave of {} is newer than this checkpoint; take it up with: git checkpoint resume {} --recover",
            age::age(offer.at, now),
            resumed.session
        ));
    }
    match args.format.as_str() {
        "markdown" => context.ui.bytes(markdown(resumed, now).as_bytes()),
        "prompt" => context
            .ui
            .bytes(prompt(resumed, &steps(context, opened, resumed), now, args.max_chars)?.as_bytes()),
        _ => context.ui.data(text(resumed, args.brief, context.ui.width(), now)),
    }
    let lost = |saved: &crate::model::report::SavedFiles| saved.missing + saved.reverted > 0;
    if resumed.report.saved.as_ref().is_some_and(lost) {
        let name = if resumed.is_tip {
            resumed.session.to_string()
        } else {
            oid(resumed.checkpoint.entry.id).short().to_owned()
        };
        context.ui.hint(
            "Missing",
            &format!(
                "bring saved changes back: git checkpoint apply {name}; every file as it was: git checkpoint restore {name}"
            ),
        );
    }
    match resumed.chosen {
        ChoiceReason::OnBranch => context.ui.hint(
            "Chosen",
            "the newest session paused or interrupted on this branch was taken",
        ),
        ChoiceReason::Newest => context.ui.hint(
            "Chosen",
            "the newest session was taken; 'git checkpoint list' shows others",
        ),
        ChoiceReason::Named | ChoiceReason::Current => {}
    }
    Ok(())
}

/// Headings, the change report as a table, the record as lists.
fn markdown(resumed: &ResumeOutcome, now: Timestamp) -> String {
    let document = &resumed.checkpoint.document;
    let mut out = format!(
        "# Session {}\n\nCheckpoint {}, saved {} by {} on {}.\n\n",
        resumed.session,
        oid(resumed.checkpoint.entry.id).short(),
        age::age(document.created_at, now),
        markdown::line(&resumed.checkpoint.entry.author),
        markdown::line(&document.host),
    );
    if let Some(said) = &resumed.said {
        out.push_str(&format!("{}\n\n", markdown::block(&said.summary)));
    }
    if let Some(summary) = &document.record.summary {
        out.push_str(&format!("{}\n\n", markdown::block(summary)));
    }
    out.push_str(&report::markdown(&resumed.report));
    out.push_str(&markdown::record(&document.record));
    out
}

/// The steps of what was resumed, unsaved ones too where that is the latest checkpoint. Without them the rest is still
/// worth having.
fn steps(context: &Context, opened: &OpenedRepository, resumed: &ResumeOutcome) -> Vec<Step> {
    let word = if resumed.is_tip {
        resumed.session.to_string()
    } else {
        oid(resumed.checkpoint.entry.id).to_string()
    };
    let selector = Selector {
        base: Base::Word(word),
        ..Selector::current()
    };
    match step::steps(&opened.scene(), Some(&selector)) {
        Ok(found) => found.steps,
        Err(error) => {
            context.ui.warning(&format!("the steps cannot be read: {error}"));
            Vec::new()
        }
    }
}

fn prompt(resumed: &ResumeOutcome, steps: &[Step], now: Timestamp, limit: usize) -> Result<String, CommandError> {
    let token = os::random_token().map_err(|e| {
        CommandError::new(
            FailureKind::Fatal,
            format!("cannot get random bytes: {}", os::reason(&e)),
        )
    })?;
    let id = oid(resumed.checkpoint.entry.id);
    let prompt = ResumePrompt {
        session: resumed.session.as_str(),
        checkpoint: id.short(),
        fetched: &resumed.fetched,
        document: &resumed.checkpoint.document,
        steps,
        report: &resumed.report,
        now,
        token: &token,
    };
    Ok(prompt.text(limit))
}

fn candidates(context: &mut Context, opened: &OpenedRepository, dates: &age::DateStyle) -> Result<(), CommandError> {
    let scene = opened.scene();
    let (rows, _) = resume::candidates(&scene)?;
    let view = SessionTable {
        schema: "git-checkpoint.list/1",
        sessions: rows.into_iter().map(list::row).collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    let ui = &context.ui;
    view.each_line(ui.table_width(), dates, scene.now, scene.host, |line| {
        ui.data_line(&line);
    });
    Ok(())
}

/// Asks which session is meant when several are and somebody is there to answer.
fn ask(context: &Context, opened: &OpenedRepository) -> Result<Option<Selector>, CommandError> {
    let scene = opened.scene();
    let (rows, chosen) = resume::candidates(&scene)?;
    if rows.len() < 2 || chosen == ChoiceReason::Current || !context.ui.can_ask() {
        return Ok(None);
    }
    let choices: Vec<TextLine> = rows.iter().map(|row| choice(row, scene.now)).collect();
    let answer = context
        .ui
        .choose("Which session?", &choices, "name it: git checkpoint resume <session>")?;
    let Some(at) = answer else {
        return Err(CommandError::silent(FailureKind::Negative));
    };
    failure::selector(&rows[at].name).map(Some)
}

fn choice(row: &SessionSummaryRow, now: Timestamp) -> TextLine {
    let mut line = TextLine::new().with(Slot::Session, &row.name);
    if let Ok((entry, standing)) = &row.tip {
        line.push(Slot::Plain, format!("  {}  ", standing.word()));
        line.push(Slot::Date, age::age(entry.time, now));
        line.push(Slot::Plain, format!("  {}", entry.subject));
    }
    line
}

fn text(resumed: &ResumeOutcome, brief: bool, columns: usize, now: Timestamp) -> Text {
    let document = &resumed.checkpoint.document;
    let mut text = Text::new();
    let mut first = TextLine::plain("Session ").with(Slot::Session, resumed.session.as_str());
    first.push(Slot::Plain, ", checkpoint ");
    first.push(Slot::Id, oid(resumed.checkpoint.entry.id).short());
    if !resumed.is_tip {
        first.push(Slot::Caution, " (not the newest)");
    }
    text.push(first);
    // Whoever imported it need not be who did the work.
    let did = if document.kind == crate::model::document::CheckpointKind::Import {
        "Imported "
    } else {
        "Saved "
    };
    let mut saved = TextLine::plain(did).with(Slot::Date, age::age(document.created_at, now));
    saved.push(Slot::Plain, " by ");
    saved.push(Slot::Person, &resumed.checkpoint.entry.author);
    saved.push(Slot::Plain, format!(" on {}", document.host));
    if let Some(agent) = &document.session.agent {
        saved.push(Slot::Plain, ", agent ");
        saved.push(Slot::Person, agent);
    }
    match resumed.standing {
        SessionStanding::Interrupted => saved.push(Slot::Caution, ", interrupted"),
        SessionStanding::Stated(status) if status.is_finished() => {
            saved.push(Slot::Caution, format!(", was {}: it is active again", status.word()));
        }
        SessionStanding::Stated(status) => saved.push(Slot::Plain, format!(", was {}", status.word())),
    }
    if !resumed.fetched.is_empty() {
        saved.push(Slot::Caution, format!(", from remote {}", resumed.fetched.join(", ")));
    }
    text.push(saved);
    if let Some(task) = &document.session.task {
        text.push(TextLine::plain("Task: ").with(Slot::Plain, task));
    }
    if let Some(said) = &resumed.said {
        text.push(TextLine::new());
        text.append(Text::wrapped(&said.summary, 4, columns));
        let since = format!(
            "(said {} in {}; this one has no message)",
            age::age(said.at, now),
            oid(said.id).short()
        );
        text.append(Text::wrapped(&since, 4, columns));
    }
    if let Some(summary) = &document.record.summary {
        text.push(TextLine::new());
        text.append(Text::wrapped(summary, 4, columns));
    }
    text.push(TextLine::new());
    text.append(report::text(&resumed.report, columns));
    if brief {
        let record = crate::model::record::Record {
            next_steps: document.record.next_steps.clone(),
            ..crate::model::record::Record::default()
        };
        text.append(checkpoint::record(&record, columns, true));
    } else {
        text.append(checkpoint::record(&document.record, columns, false));
    }
    if resumed.draft > 0 {
        text.push(TextLine::new());
        let changes = crate::render::count::CountedNoun::new(resumed.draft, "change");
        text.push(TextLine::plain(format!(
            "{changes} of the draft not saved yet: 'git checkpoint save' saves them"
        )));
    }
    text.push(TextLine::new());
    text.push(TextLine::plain("No file was changed."));
    text
}

fn offer_of(offer: &Offer) -> serde_json::Value {
    json!({ "id": oid(offer.id), "at": offer.at, "draft_operations": offer.changes })
}

fn json_of(resumed: &ResumeOutcome) -> serde_json::Value {
    let checkpoint = &resumed.checkpoint;
    json!({
        "schema": "git-checkpoint.resume/1",
        "session": resumed.session,
        "session_id": checkpoint.document.session.id,
        "id": oid(checkpoint.entry.id),
        "digest": checkpoint.digest,
        "is_newest": resumed.is_tip,
        "status_before": resumed.standing.word(),
        "interrupted": resumed.standing == SessionStanding::Interrupted,
        "fetched_from": resumed.fetched,
        "draft_operations": resumed.draft,
        "autosave": resumed.autosave.as_ref().map(offer_of),
        "recovered": resumed.recovered.as_ref().map(offer_of),
        "lost": resumed.lost.as_ref().map(|(fault, n)| json!({ "checkpoints": n, "damage": fault })),
        "last_message": resumed.said.as_ref().map(|said| json!({
            "id": oid(said.id),
            "created_at": said.at,
            "summary": said.summary,
        })),
        "report": resumed.report,
        "document": checkpoint.document,
    })
}
