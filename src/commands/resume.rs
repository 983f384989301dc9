//! `resume`: a session with everything that was saved and what changed since, as text, Markdown, JSON or a prompt.

use super::{
    Context, agent_session, all_repos,
    error::{CommandError, FailureKind},
    failure, list,
    opening::{self, IdentityArgs, OpenedRepository},
    picker, put_aside, restore, resume_agent,
    resume_prompt::{missing, prompt, prompt_view},
    resume_remote::{fetched, guessed, refuse_remote},
    row_args::DateArg,
    session_word, share, switch,
};
use crate::{
    model::{selector::Selector, time::Timestamp},
    ops::{
        agent::{BrokenTurn, broken_turn},
        autosave::{Offer, OfferWay},
        list::SessionStanding,
        resume::{self, ChoiceReason, ResumeOutcome},
    },
    render::{
        age,
        count::CountedNoun,
        prompt::LEAST,
        receipt,
        resume::{Autosave, LastMessage, LostCheckpoints, Resume},
        sessions::{SessionRow, SessionTable},
        text::TextLine,
    },
    store::{self, checkpoint::oid},
};

/// Resume a session and report what has changed
///
/// No file changes unless --apply or --restore is given. A session that has ended becomes active again. The session may
/// be named as its branch is. Without one: the current one, else the latest that was paused or interrupted on this
/// branch, else the latest. A terminal asks if there are several.
///
/// After a crash, an autosave of 'git checkpoint watch' may be newer than the latest checkpoint. It is recovered as the next
/// checkpoint, which changes no file: a terminal asks first, --no-recover prevents it, and 'git checkpoint undo' undoes
/// it. If the session has later checkpoints, of others or of another working tree, the autosave stays as it is, and a
/// command that applies its changes is printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Continue where you stopped:
    git checkpoint resume
  Bring back the saved changes as well, staged ones staged:
    git checkpoint resume --apply
  See first what that would do:
    git checkpoint resume --apply --dry-run
  An older state, by name:
    git checkpoint resume auth-refactor@before-merge
  Continue in the agent, on this or another machine:
    git checkpoint resume --agent
  A session that was fetched from a remote:
    git checkpoint resume origin/auth
  List the sessions that can be resumed:
    git checkpoint resume --list")]
pub(super) struct Args {
    /// The session, its branch, or a checkpoint
    selector: Option<String>,
    #[command(flatten)]
    way: put_aside::WayArgs,
    /// List the sessions that can be resumed here, with their numbers
    #[arg(long, conflicts_with_all = ["selector", "session_id"])]
    list: bool,
    /// Resume the session with this number in the list of '--list'
    #[arg(long, value_name = "N", conflicts_with_all = ["selector", "session_id", "list"])]
    select: Option<usize>,
    /// Print nothing and exit with 0 if there is no session to resume
    #[arg(long)]
    if_any: bool,
    /// Print only the summary, the next steps and the changes
    #[arg(long)]
    brief: bool,
    /// The session, by identity or name, or a prefix of either
    #[arg(long, value_name = "ID", conflicts_with = "selector")]
    session_id: Option<String>,
    /// Show every item of every list
    #[arg(long, conflicts_with = "brief")]
    all: bool,
    /// The output format; 'prompt' is text for an agent
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = ["text", "markdown", "json", "prompt"])]
    format: String,
    /// Maximum prompt length in characters (at least 1000)
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = most)]
    max_chars: usize,
    /// Recover a newer autosave without asking, the default without a terminal
    #[arg(long, overrides_with = "no_recover")]
    recover: bool,
    /// Do not recover a newer autosave
    #[arg(long, overrides_with = "recover")]
    no_recover: bool,
    /// Write back the session of the latest coding agent, or of this one, and print the command that resumes it; an
    /// agent without a session starts with the saved context
    #[arg(long, value_name = "AGENT", num_args = 0..=1, value_parser = agent_session::agent_name)]
    #[expect(clippy::option_option, reason = "clap's form of an option with an optional value")]
    agent: Option<Option<String>>,
    /// Exit with 6 if the project changed since the checkpoint
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
        _ => Err(format!("it must be a number of at least {LEAST}")),
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let named = args.selector.clone().or_else(|| args.session_id.clone());
    let if_any = args.if_any;
    let is_known = context.env.text("CHECKPOINT_SESSION").is_some();
    let result = here(args, context);
    match result {
        Err(_) if if_any && opening::is_outside(context) => Ok(()),
        // A session that is not in this repository, or whatever was meant outside of one, may be in another one.
        Err(error) if !is_known => {
            let is_elsewhere = match error.kind() {
                FailureKind::NotFound => named.is_some(),
                FailureKind::Fatal => context.visited.is_none() && opening::is_outside(context),
                _ => false,
            };
            if !is_elsewhere {
                return Err(error);
            }
            let error = match opening::open(context, &IdentityArgs::default()) {
                Ok(opened) => restore::path_meant(context, &opened, ("restore", named.as_deref()), error),
                Err(_) => error,
            };
            let proposals = all_repos::proposals(context, named.as_deref());
            Err(proposals.into_iter().fold(error, |error, command| {
                error.hint(format!("in another repository: {command}"))
            }))
        }
        result => result,
    }
}

fn here(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = match opening::open(context, &IdentityArgs::default()) {
        Ok(opened) => opened,
        Err(error) => return without_head(&args, context, error),
    };
    opening::warn_of_store(context, &opened)?;
    share::automatic::fetch_if_due(&opened);
    if args.list {
        return candidates(context, &opened, &args);
    }
    let given = given(&args)?;
    if args.if_any && given.is_none() && args.select.is_none() && resume::candidates(&opened.scene())?.0.is_empty() {
        return Ok(());
    }
    let selector = match (given, args.select) {
        (Some(selector), _) => Some(selector),
        (None, Some(number)) => Some(numbered(&opened, number)?),
        (None, None) => ask(context, &opened)?,
    };
    let selector = selector
        .map(|selector| guessed(context, &opened, selector))
        .transpose()?;
    if let Some(selector) = selector.as_ref().filter(|_| args.selector.is_some()) {
        session_word::note_branch(&opened.scene(), selector);
    }
    let dry_run = args.way.dry_run;
    let selector = match selector {
        Some(selector) if dry_run => {
            refuse_remote(&opened, &selector)?;
            Some(selector)
        }
        Some(selector) => Some(fetched(context, &opened, selector)?),
        None => None,
    };
    let resumed = {
        let _counting = context.ui.counting("Looking at files");
        let scene = opened.scene();
        if dry_run {
            resume::look(&scene, selector.as_ref(), args.max_age)?
        } else {
            resume::resume(&scene, selector.as_ref(), args.max_age)?
        }
    };
    let mut resumed = recover(context, &opened, &args, resumed)?;
    report_reopened(context, &resumed);
    if let Some(committed) = resumed.committed.as_ref().filter(|_| !args.way.is_any()) {
        context.ui.status(format!("note: {committed}"));
    }
    if resumed.begun {
        let id = &resumed.checkpoint.document.session.id;
        switch::warn_other_worktrees(context, &opened, &resumed.session, id);
    }
    if let Some(agent) = &args.agent {
        let document = &resumed.checkpoint.document;
        let (name, is_tip) = (&resumed.session, resumed.is_tip);
        return resume_agent::resume(context, &opened, name, document, is_tip, agent.as_deref());
    }
    let id = oid(resumed.checkpoint.entry.id);
    let subject = (id.short(), resumed.is_tip);
    let is_json = context.ui.options().json || args.format == "json";
    let mut way = args.way;
    let mut brought = None;
    if way.is_any() {
        let applied = put_aside::bring(context, &opened, subject, way).map_err(|error| still_resumed(error, &resumed));
        // What is reported is what is there now.
        if applied.is_ok() && !dry_run {
            look_again(&opened, &args, &mut resumed);
        }
        brought = Some(applied);
    }
    if is_json && let Some(applied) = brought {
        let within = serde_json::to_value(view(&resumed, opened.scene().now)).unwrap_or_default();
        return put_aside::report(context, &opened, subject.0, way, &applied?, Some(within));
    }
    // First what was done, then what is there.
    let mut reported = Ok(());
    let is_quiet = context.ui.options().quiet > 0 && args.format == "text" && !is_json;
    if let Some(applied) = brought {
        let applied = applied?;
        reported = put_aside::report(context, &opened, subject.0, way, &applied, None);
        if reported.is_err() && !applied.restored.refusals().is_empty() {
            return reported;
        }
        if args.format == "text" && !is_quiet {
            context.ui.data(TextLine::default());
        }
    }
    if !is_quiet {
        print(context, &opened, &args, &resumed)?;
    }
    if !way.is_any() && !dry_run {
        way = offered(context, &args, &resumed)?;
        if way.is_any() {
            let applied = put_aside::bring(context, &opened, subject, way)?;
            reported = put_aside::report(context, &opened, subject.0, way, &applied, None);
        } else if args.format == "text" && !is_json && !is_quiet {
            if !args.brief {
                context.ui.data(TextLine::default());
            }
            context.ui.data("No file was changed.");
        }
    } else if dry_run && !way.is_any() && args.format == "text" && !is_json {
        context.ui.dry_run();
    }
    reported?;
    if args.fail_on_drift && resumed.report.drift.drifted {
        return Err(CommandError::silent(FailureKind::Drift));
    }
    Ok(())
}

/// The error of files that did not come back, where the session is resumed even so.
fn still_resumed(error: CommandError, resumed: &ResumeOutcome) -> CommandError {
    if !resumed.begun {
        return error;
    }
    error.hint(format!(
        "session '{}' is resumed; for the report without files: git checkpoint resume",
        resumed.session
    ))
}

/// Reports that a session that had ended is active again.
fn report_reopened(context: &Context, resumed: &ResumeOutcome) {
    if resumed.reopened {
        context.ui.status(format!(
            "Reopened session {}, which was {}; end it again: git checkpoint finish",
            resumed.session,
            resumed.standing.word()
        ));
    }
}

/// Takes the report anew, after files came back.
fn look_again(opened: &OpenedRepository, args: &Args, resumed: &mut ResumeOutcome) {
    let scene = opened.scene();
    let subject = if resumed.is_tip {
        resumed.session.to_string()
    } else {
        oid(resumed.checkpoint.entry.id).to_string()
    };
    // What cannot be read any more leaves the report as it was.
    let again = failure::selector(&subject).map(|selector| resume::look(&scene, Some(&selector), args.max_age));
    if let Ok(Ok(again)) = again {
        resumed.report = again.report;
        resumed.contents.put_aside = again.contents.put_aside;
    }
}

/// The session or checkpoint that was named.
fn given(args: &Args) -> Result<Option<Selector>, CommandError> {
    let text = args.selector.as_deref().or(args.session_id.as_deref());
    text.map(failure::selector).transpose()
}

/// Shows what was saved in a repository that has lost its HEAD, with the command that mends it. Nothing is changed.
fn without_head(args: &Args, context: &mut Context, error: CommandError) -> Result<(), CommandError> {
    let Some((opened, headless)) = opening::headless(context)? else {
        return Err(error);
    };
    let trouble = store::Error::NoHead {
        path: headless.path.clone(),
    };
    context.ui.warning(&trouble.to_string());
    if let Some(hint) = trouble.hint() {
        context
            .ui
            .warning(&format!("until then the record is only shown; {hint}"));
    }
    if args.list {
        return candidates(context, &opened, args);
    }
    if args.way.is_any() || args.agent.is_some() {
        return Err(error);
    }
    let selector = match args.select {
        Some(number) => Some(numbered(&opened, number)?),
        None => given(args)?,
    };
    let resumed = resume::look(&opened.scene(), selector.as_ref(), args.max_age)?;
    print(context, &opened, args, &resumed)
}

/// Asks at a terminal whether saved changes that are missing are to come back.
fn offered(context: &Context, args: &Args, resumed: &ResumeOutcome) -> Result<put_aside::WayArgs, CommandError> {
    let missing = missing(resumed);
    if missing == 0 || args.format != "text" || !context.ui.can_ask() {
        return Ok(put_aside::WayArgs::default());
    }
    let changes = match missing {
        1 => "saved change".to_owned(),
        many => CountedNoun::new(many, "saved change").to_string(),
    };
    let wanted = context.ui.confirm(&format!("Apply the {changes} now?"), "--apply")?;
    Ok(if wanted {
        put_aside::WayArgs::APPLY
    } else {
        put_aside::WayArgs::default()
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
    let is_possible = |offer: &Offer| match offer.way {
        OfferWay::Recover => true,
        OfferWay::RecoverAgain => args.recover,
        OfferWay::Apply => false,
    };
    let Some(offer) = resumed
        .autosave
        .clone()
        .filter(|offer| is_possible(offer) && !args.no_recover && !args.way.dry_run)
    else {
        return Ok(resumed);
    };
    let wanted = args.recover || !context.ui.can_ask() || {
        let question = format!(
            "An autosave from {} is newer than the latest checkpoint. Recover it?",
            age::age(offer.at, scene.now)
        );
        context.ui.agree(&question, "give --recover to answer yes")?
    };
    if wanted {
        Ok(resume::recover(&scene, &resumed, offer, args.max_age)?)
    } else {
        Ok(resumed)
    }
}

/// The turn without an end that the state comes from; of an earlier checkpoint none.
fn broken(opened: &OpenedRepository, resumed: &ResumeOutcome) -> Result<Option<BrokenTurn>, CommandError> {
    if !resumed.is_tip {
        return Ok(None);
    }
    Ok(broken_turn(&opened.scene(), &resumed.checkpoint.document, None)?)
}

fn print(
    context: &Context,
    opened: &OpenedRepository,
    args: &Args,
    resumed: &ResumeOutcome,
) -> Result<(), CommandError> {
    if context.ui.options().json && args.format == "prompt" {
        let broken = broken(opened, resumed)?;
        let view = prompt_view(resumed, broken.as_ref(), opened.scene().now, args.max_chars)?;
        return context.ui.json(&view);
    }
    if context.ui.options().json || args.format == "json" {
        return context.ui.json(&view(resumed, opened.scene().now));
    }
    if let Some((fault, lost)) = &resumed.lost {
        context.ui.warning(&format!(
            "the latest checkpoint is damaged ({fault}); {} skipped",
            CountedNoun::new(*lost, "checkpoint")
        ));
    }
    let now = opened.scene().now;
    if let Some(offer) = &resumed.recovered {
        let id = oid(resumed.checkpoint.entry.id);
        let words = format!(
            "recovered the autosave from {} as {}",
            age::age(offer.at, now),
            id.short()
        );
        // The user was asked, so the reason is known.
        if args.recover || context.ui.can_ask() {
            context.ui.status(words);
        } else {
            context.ui.warning(&format!(
                "{words}, which was newer than the latest checkpoint; to undo that: git checkpoint undo"
            ));
        }
        if !args.way.is_any() {
            context.ui.hint(
                "Recovered",
                "no file was changed; to restore the files: git checkpoint restore @",
            );
        }
    }
    if let Some(offer) = &resumed.autosave {
        let age = age::age(offer.at, now);
        context.ui.warning(&match offer.way {
            OfferWay::Apply => format!(
                "an autosave from {age} has changes that no checkpoint of this working tree has; apply them with: git \
                 checkpoint apply {}",
                oid(offer.id).short()
            ),
            OfferWay::Recover | OfferWay::RecoverAgain => format!(
                "an autosave from {age} is newer than this checkpoint; recover it with: git checkpoint resume {} --recover",
                resumed.session
            ),
        });
    }
    for trouble in &resumed.unread {
        context.ui.warning(trouble);
    }
    let view = view(resumed, now);
    match args.format.as_str() {
        "markdown" => context.ui.bytes(view.markdown().as_bytes()),
        "prompt" => {
            let broken = broken(opened, resumed)?;
            let text = prompt(resumed, broken.as_ref(), now, args.max_chars)?;
            context.ui.bytes(text.as_bytes());
        }
        _ => {
            context.ui.data(view.text(args.brief, args.all, context.ui.width()));
            if !args.brief {
                context.ui.detail(1, view.left_out(context.ui.width()));
            }
        }
    }
    let lists = store::checkpoint::lists(opened.scene().repo, &resumed.checkpoint);
    if let Some(words) = lists.ok().and_then(|lists| receipt::left_out(&lists.skipped)) {
        context.ui.warning(&format!("the checkpoint was saved without {words}"));
    }
    // What was put aside is in the text, with its command.
    let is_named = !resumed.contents.put_aside.is_empty() || args.way.is_any();
    if missing(resumed) > 0 && !is_named && !context.ui.can_ask() {
        let name = if resumed.is_tip {
            resumed.session.to_string()
        } else {
            oid(resumed.checkpoint.entry.id).short().to_owned()
        };
        context.ui.hint(
            "Missing",
            &format!("bring the saved changes back: git checkpoint apply {name} --index"),
        );
    }
    match resumed.chosen {
        ChoiceReason::OnBranch => context.ui.hint(
            "Chosen",
            "this was the last session paused or interrupted on this branch",
        ),
        ChoiceReason::Newest => context.ui.hint(
            "Chosen",
            "this was the latest session; for others see: git checkpoint list",
        ),
        ChoiceReason::Named | ChoiceReason::Current => {}
    }
    Ok(())
}

/// The session with a number in the list of `--list`.
fn numbered(opened: &OpenedRepository, number: usize) -> Result<Selector, CommandError> {
    let rows = resume::resumable(&opened.scene())?;
    let row = number.checked_sub(1).and_then(|at| rows.get(at));
    match row {
        Some(row) => failure::selector(&row.name),
        None => Err(
            CommandError::new(FailureKind::NotFound, format!("no session has the number {number}"))
                .hint("see the numbers: git checkpoint resume --list"),
        ),
    }
}

fn candidates(context: &mut Context, opened: &OpenedRepository, args: &Args) -> Result<(), CommandError> {
    let dates = &args.date.style()?;
    let scene = opened.scene();
    let rows = list::rows(&scene, resume::resumable(&scene)?, context.ui.options().json);
    let view = SessionTable {
        sessions: rows
            .into_iter()
            .zip(1..)
            .map(|(row, number)| SessionRow {
                number: Some(number),
                ..row
            })
            .collect(),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    let ui = &context.ui;
    if view.sessions.is_empty() {
        if !args.if_any {
            ui.status("No sessions found.");
        }
        return Ok(());
    }
    view.each_line(ui.table_width(), dates, scene.now, scene.host, |line| {
        ui.data_line(&line);
    });
    Ok(())
}

/// Asks for the session when several match and the user is at a terminal.
fn ask(context: &Context, opened: &OpenedRepository) -> Result<Option<Selector>, CommandError> {
    let scene = opened.scene();
    let (rows, chosen) = resume::candidates(&scene)?;
    if rows.len() < 2 || chosen == ChoiceReason::Current || !context.ui.can_ask() {
        return Ok(None);
    }
    picker::pick(context, &rows, scene.now, "specify it: git checkpoint resume <session>").map(Some)
}

fn offer_of(offer: &Offer) -> Autosave {
    Autosave {
        id: oid(offer.id),
        at: offer.at,
        draft_operations: offer.changes,
        is_recoverable: offer.way != OfferWay::Apply,
    }
}

/// The output.
fn view(resumed: &ResumeOutcome, now: Timestamp) -> Resume<'_> {
    let checkpoint = &resumed.checkpoint;
    Resume {
        session: &resumed.session,
        session_id: &checkpoint.document.session.id,
        id: oid(checkpoint.entry.id),
        digest: &checkpoint.digest,
        is_latest: resumed.is_tip,
        status_before: resumed.standing.word(),
        interrupted: resumed.standing == SessionStanding::Interrupted,
        fetched_from: &resumed.fetched,
        draft_operations: resumed.draft,
        autosave: resumed.autosave.as_ref().map(offer_of),
        recovered: resumed.recovered.as_ref().map(offer_of),
        lost: resumed.lost.as_ref().map(|(damage, checkpoints)| LostCheckpoints {
            checkpoints: *checkpoints,
            damage,
        }),
        last_message: resumed.said.as_ref().map(|said| LastMessage {
            id: oid(said.id),
            created_at: said.at,
            summary: &said.summary,
            is_own_locked: said.is_own_locked,
        }),
        report: &resumed.report,
        put_aside: resumed.contents.put_aside.first(),
        document: &checkpoint.document,
        contents: &resumed.contents,
        files: None,
        author: &checkpoint.entry.author,
        is_resumed: resumed.begun,
        now,
    }
}
