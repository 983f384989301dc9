//! `show`: one checkpoint.

use std::borrow::Cow;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure, log,
    opening::{self, IdentityArgs, OpenedRepository},
    record,
    row_args::DateArg,
};
use crate::{
    model::step::quoted,
    ops::{contents, fork_points, show},
    render::{
        checkpoint::{Author, CheckpointView, StagedRow},
        signature::SignatureView,
    },
    store::{
        self,
        checkpoint::oid,
        patch::PatchFormat,
        signature::{self, CommitSignature},
    },
};

/// Show a checkpoint: its record and changed files
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The latest of the current session:
    git checkpoint show
  The one before, with its files as a patch against its HEAD:
    git checkpoint show @~1 --patch
  A file as it was saved:
    git checkpoint show auth-refactor:src/parser.rs
  The stored document, byte for byte:
    git checkpoint show auth-refactor --raw | sha256sum")]
pub(super) struct Args {
    /// The checkpoint, or a file of it as CHECKPOINT:PATH; the latest of the current session by default
    #[arg(default_value = "@", hide_default_value = true)]
    selector: String,
    /// Print the stored document, byte for byte
    #[arg(long, conflicts_with_all = ["stat", "patch"])]
    raw: bool,
    /// Print how much each file changes against the checkpoint's HEAD
    #[arg(long, conflicts_with = "patch")]
    stat: bool,
    /// Print the files as a patch against the checkpoint's HEAD
    #[arg(short, long)]
    patch: bool,
    /// Show every item of every list
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    date: DateArg,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let dates = args.date.style()?;
    if let Some((checkpoint, path)) = file_of(&args.selector) {
        if context.ui.options().json || args.stat || args.patch {
            let message = "the content of a file is shown as it is: --json, --stat and --patch are for checkpoints";
            return Err(CommandError::new(FailureKind::Usage, message)
                .hint(format!("show it: git checkpoint show {}", quoted(&args.selector))));
        }
        let path = from_root(context, &opened, path)?;
        let bytes = show::file(&scene, &failure::selector(checkpoint)?, &path)?;
        context.ui.page();
        context.ui.bytes(&bytes);
        return Ok(());
    }
    let selector = failure::selector(&args.selector)?;
    if args.raw {
        let bytes = show::raw(&scene, &selector)?;
        context.ui.bytes(&bytes);
        return Ok(());
    }
    let diff = (args.stat || args.patch)
        .then(|| show::diff(&scene, &selector, args.stat))
        .transpose()?;
    if let Some(bytes) = diff.as_ref().filter(|_| !context.ui.options().json) {
        let format = if args.stat {
            PatchFormat::Stat
        } else {
            PatchFormat::Patch
        };
        context.ui.page();
        log::write_patch(context, bytes, format);
        return Ok(());
    }
    let shown = show::show(&scene, &selector)?;
    let checkpoint = &shown.selected.checkpoint;
    let id = oid(checkpoint.entry.id);
    let session = shown.selected.session.as_ref();
    let (mut contents, trouble) = contents::read(&scene, checkpoint, session, shown.selected.is_tip);
    for trouble in trouble {
        context.ui.warning(&trouble);
    }
    if let Some(session) = session.filter(|_| shown.draft > 0) {
        // The draft is counted below: it is no part of the checkpoint.
        contents::keep_saved_notes(&scene, session, checkpoint, &mut contents)?;
    }
    if let Some(points) = contents.record["fork_points"]
        .as_array_mut()
        .filter(|points| !points.is_empty())
    {
        let explored = fork_points::sessions(&scene)?;
        for point in points {
            record::name_sessions(point, &explored);
        }
    }
    let signature = signature::of_commit(scene.repo, checkpoint.entry.id)?;
    let selector = match session {
        Some(name) if shown.selected.is_tip => name.to_string(),
        _ => id.short().to_owned(),
    };
    let view = CheckpointView {
        id,
        digest: &checkpoint.digest,
        session: session.map(crate::model::name::ShortName::as_str),
        selector: &selector,
        fetched_from: shown.selected.remote.as_deref(),
        parents: checkpoint.entry.parents.iter().map(|parent| oid(*parent)).collect(),
        author: Author {
            name: &checkpoint.entry.author,
            email: &checkpoint.entry.email,
        },
        locked: checkpoint.document.is_locked(),
        signature: signature.as_ref().map(|found| {
            let (signer, key) = (&found.signer, &found.key);
            SignatureView::of(oid(checkpoint.entry.id), found.verdict.word(), signer, key)
        }),
        signed: signature.as_ref().map(CommitSignature::words),
        partial: shown.lists.is_partial(),
        skipped: shown.lists.skipped.iter().map(Into::into).collect(),
        changes: &shown.changes,
        staged: shown
            .staged
            .iter()
            .map(|staged| StagedRow {
                path: &staged.change.path,
                whole: staged.is_whole,
                letter: staged.change.kind.letter(),
            })
            .collect(),
        draft_operations: shown.draft,
        document: &checkpoint.document,
        contents: &contents,
        lists: &shown.lists,
        all: args.all,
        patch: diff.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    context.ui.page();
    context.ui.data(view.text(context.ui.width(), &dates, scene.now));
    context.ui.detail(1, view.left_out(context.ui.width()));
    Ok(())
}

/// The path from the root of the working tree. As in git one that begins with `./` or `../` counts from the directory.
fn from_root<'p>(context: &Context, opened: &OpenedRepository, path: &'p str) -> Result<Cow<'p, str>, CommandError> {
    let is_relative = |path: &str| path == "." || path == ".." || path.starts_with("./") || path.starts_with("../");
    if !is_relative(path) || !store::has_work_tree(opened.scene().repo) {
        return Ok(path.into());
    }
    let directory = opening::directory(context, opened)?;
    let below = String::from_utf8_lossy(directory.as_bytes()).into_owned();
    let mut parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." if parts.pop().is_none() => {
                let message = format!("'{path}' is outside the repository");
                return Err(CommandError::new(FailureKind::Fatal, message));
            }
            "" | "." | ".." => {}
            part => parts.push(part),
        }
    }
    Ok(parts.join("/").into())
}

/// The checkpoint and the path of `CHECKPOINT:PATH`. A colon in braces belongs to a date, and one after `sha256` to a
/// digest.
fn file_of(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let at = text.char_indices().find_map(|(at, letter)| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (letter == ':' && depth == 0).then_some(at)
    })?;
    let (checkpoint, path) = (&text[..at], &text[at + 1..]);
    (!checkpoint.is_empty() && checkpoint != "sha256").then_some((checkpoint, path))
}
