//! `status`: how things stand in this work tree.

use serde_json::json;

use super::{
    Context,
    error::{CommandError, Kind},
    opened::{self, Whom},
};
use crate::{
    ops::{
        events::TRIGGERS,
        status::{self, Current, Status},
    },
    render::{
        age, receipt,
        slot::Slot,
        text::{Line, Text},
    },
    store::checkpoint::oid,
};

/// Show the current session and what a save would add to it
#[derive(Debug, Default, clap::Args)]
#[command(after_long_help = "\
Examples:
  At a glance:
    git checkpoint
  In a prompt or a script, whether there is something to save:
    git checkpoint status --exit-code --quiet || git checkpoint save")]
pub(super) struct Args {
    /// Exit with 1 when there is something to save
    #[arg(long)]
    exit_code: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opened::open(context, &Whom::default())?;
    let scene = opened.scene();
    let status = status::status(&scene)?;
    let dirty = status.session.as_ref().is_none_or(Current::is_dirty);
    if context.ui.options().json {
        context.ui.json(&json_of(&status, dirty))?;
    } else if context.ui.options().quiet == 0 {
        context.ui.data(text(&status, dirty, scene.now));
        for remote in &status.mirrors {
            context.ui.warning(&format!(
                "remote '{remote}' mirrors every ref: a push there publishes the checkpoints"
            ));
        }
        for (key, place) in crate::store::config::unknown(scene.repo) {
            context.ui.warning(&format!("unknown setting '{key}' in {place}"));
        }
        for word in &scene.settings.save_on {
            if !TRIGGERS.contains(&word.as_str()) {
                let known = TRIGGERS.join(", ");
                let warning = format!("nothing saves on '{word}' of checkpoint.saveOn; there are: {known}");
                context.ui.warning(&warning);
            }
        }
    }
    if args.exit_code && dirty {
        Err(CommandError::silent(Kind::Negative))
    } else {
        Ok(())
    }
}

fn json_of(status: &Status, dirty: bool) -> serde_json::Value {
    let session = status.session.as_ref().map(|current| {
        json!({
            "session": current.name,
            "session_id": current.document.session.id,
            "status": current.standing.word(),
            "tip": oid(current.tip),
            "saved_at": current.document.created_at,
            "draft_operations": current.draft,
            "draft": current.record,
            "draft_notes": current.notes,
            "draft_unreadable": current.unreadable,
            "files_changed": current.changed,
        })
    });
    json!({
        "schema": "git-checkpoint.status/1",
        "current": session,
        "damaged": status.damaged.as_ref().map(|(name, fault)| json!({ "session": name, "damage": fault })),
        "interrupted": status.interrupted,
        "sessions": status.sessions,
        "something_to_save": dirty,
        "git": status.facts,
        "mirror_remotes": status.mirrors,
    })
}

fn text(status: &Status, dirty: bool, now: crate::model::time::Timestamp) -> Text {
    let mut text = Text::new();
    let mut row = |label: &str, value: Line| {
        let mut line = Line::new().with(Slot::Heading, label);
        line.pad_to(11);
        line.append(&value);
        text.push(line);
    };
    match &status.session {
        None if status.damaged.is_some() => {
            let (name, fault) = status.damaged.clone().unwrap_or_default();
            let mut line = Line::new().with(Slot::Session, name.as_str());
            line.push(Slot::Bad, ", damaged: ");
            line.push(Slot::Plain, fault);
            row("session", line);
            row("fix", Line::plain(format!("git checkpoint repair {name}")));
        }
        None if status.sessions == 0 => row(
            "session",
            Line::plain("none yet; 'git checkpoint save' makes the first"),
        ),
        None => {
            let others = receipt_count(status.sessions);
            row(
                "session",
                Line::plain(format!(
                    "none is current; {others}: 'git checkpoint resume' takes one up"
                )),
            );
        }
        Some(current) => {
            let mut line = Line::new().with(Slot::Session, current.name.as_str());
            line.push(Slot::Plain, format!(", {}", current.standing.word()));
            row("session", line);
            let summary = current.document.record.summary.as_deref().unwrap_or_default();
            let mut line = Line::new().with(Slot::Id, oid(current.tip).short());
            line.push(Slot::Plain, "  ");
            line.push(Slot::Date, age::age(current.document.created_at, now));
            line.push(Slot::Plain, format!("  {}", summary.lines().next().unwrap_or_default()));
            row("newest", line.cut(69));
            if current.draft > 0 {
                row(
                    "draft",
                    Line::plain(format!(
                        "{} not saved yet",
                        crate::render::count::Count::new(current.draft, "change")
                    )),
                );
                for line in changes(current) {
                    row("", line);
                }
            }
        }
    }
    if let Some(operation) = &status.interrupted {
        row(
            "pending",
            Line::new().with(Slot::Bad, format!("a {operation} was interrupted:")),
        );
        row("", Line::plain("git checkpoint restore --continue, or --abort"));
    }
    row("code", receipt::code(&status.facts));
    if let Some(current) = &status.session {
        let line = match (dirty, current.changed) {
            (false, _) => Line::new().with(Slot::Good, "everything is saved"),
            (true, Some(n)) if n > 0 => {
                let files = crate::render::count::Count::new(n, "file");
                Line::new().with(Slot::Caution, format!("{files} changed since the newest checkpoint"))
            }
            _ => Line::new().with(Slot::Caution, "there is something to save"),
        };
        row("to save", line);
    }
    text
}

/// How many changes of the record are shown.
const SHOWN: usize = 10;

/// What the draft changes in the record that is saved.
fn changes(current: &Current) -> Vec<Line> {
    let mut lines: Vec<Line> = current
        .record
        .iter()
        .take(SHOWN)
        .map(|change| {
            let (sign, slot) = if change.added {
                ("+", Slot::Added)
            } else {
                ("-", Slot::Removed)
            };
            let mut line = Line::new().with(slot, format!("{sign} {}", change.item));
            line.pad_to(13);
            line.push(Slot::Plain, format!(" {}", change.text));
            line.cut(69)
        })
        .collect();
    if current.record.len() > SHOWN {
        lines.push(Line::new().with(Slot::Dim, format!("... {} more", current.record.len() - SHOWN)));
    }
    if current.notes > 0 {
        let notes = crate::render::count::Count::new(current.notes, "note");
        lines.push(Line::new().with(Slot::Added, format!("+ {notes}")));
    }
    lines
}

fn receipt_count(sessions: usize) -> String {
    format!(
        "there {} {}",
        if sessions == 1 { "is" } else { "are" },
        crate::render::count::Count::new(sessions, "session")
    )
}
