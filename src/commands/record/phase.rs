//! `phase`: the phase of the work.

use serde_json::json;

use super::{ChangeNotice, SessionArg};
use crate::{
    commands::{Context, error::CommandError, save},
    model::record::Phase,
    ops::{
        draft::{self, DraftChange},
        items,
    },
    render::record::{self, PhaseView},
};

/// Show or set the phase of the work
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint phase 2/5 'port the queries'
    git checkpoint phase

Advancing to a later phase saves automatically if checkpoint.saveOn has 'phase-complete'.")]
pub(in crate::commands) struct Args {
    /// Number and total
    #[arg(value_name = "N/M", value_parser = save::step)]
    phase: Option<(u32, u32)>,
    /// Title of the phase
    #[arg(value_name = "TITLE")]
    title: Option<String>,
    #[command(flatten)]
    whose: SessionArg,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = args.whose.open(context)?;
    let Some((n, of)) = args.phase else {
        let now = items::now(&opened.scene())?;
        return context.ui.show(&PhaseView {
            session: &now.session,
            phase: now.record.phase.as_ref(),
        });
    };
    // Only a save that follows looks at the phase before, which takes time.
    let asked = opened
        .scene()
        .settings
        .save_on
        .iter()
        .any(|word| word == "phase-complete");
    let before = if asked {
        items::to_change(&opened.scene()).ok()
    } else {
        None
    };
    let before = before.and_then(|now| now.record.phase);
    let triggers: &[&str] = match before {
        Some(before) if before.n < n => &["phase-complete"],
        _ => &[],
    };
    let patch = json!({ "phase": { "n": n, "of": of, "title": args.title } });
    // The old title goes with the old phase.
    let changes = vec![DraftChange::Record(patch)];
    let appended = draft::append(&opened.scene(), changes)?;
    let stored = appended
        .operations
        .iter()
        .find_map(|o| o.record.as_ref()?.get("phase").cloned());
    let title = stored
        .as_ref()
        .and_then(|phase| phase["title"].as_str())
        .map(str::to_owned);
    let phase = Phase { n, of, title };
    let mut told = ChangeNotice::line("set", record::phase(&phase));
    told.detail.phase = Some(phase);
    super::report(context, &opened, &appended, told, triggers)
}
