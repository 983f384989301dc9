//! Output of a change of the draft: its receipt, warnings, and the checkpoint that an event made.

use serde_json::Value;

use crate::{
    commands::{Context, error::CommandError, opening::OpenedRepository, redactions, share, views},
    model::item::{ItemKind, id_of},
    ops::{
        draft::DraftReceipt,
        events::{self, EventOutcome},
        receipt::{CheckpointOutcome, SessionOrigin},
    },
    render::{
        draft::{DraftDetail, DraftView},
        slot::Slot,
        text::{Text, TextLine},
    },
    store::checkpoint::oid,
};

/// Receipt of a change of the draft.
pub(super) struct ChangeNotice {
    /// The word in JSON.
    pub(super) outcome: &'static str,
    pub(super) lines: Vec<TextLine>,
    /// The list, and its items as they are afterwards.
    pub(super) items: Option<(&'static ItemKind, Vec<Value>)>,
    /// Changes that are no item, for the JSON form.
    pub(super) detail: DraftDetail,
}

impl ChangeNotice {
    /// A line for each item.
    pub(super) fn items(outcome: &'static str, word: &str, kind: &'static ItemKind, items: Vec<Value>) -> Self {
        let line = |item: &Value| {
            let mut line = TextLine::new().with(Slot::Good, word);
            line.push(Slot::Plain, format!(" {} ", kind.word));
            line.push(Slot::Id, id_of(item));
            line.push(Slot::Plain, format!(": {}", kind.text_of(item)));
            line
        };
        Self {
            outcome,
            lines: items.iter().map(line).collect(),
            items: Some((kind, items)),
            detail: DraftDetail::default(),
        }
    }

    /// One line, and no items.
    pub(super) fn line(outcome: &'static str, line: TextLine) -> Self {
        Self {
            outcome,
            lines: vec![line],
            items: None,
            detail: DraftDetail::default(),
        }
    }
}

/// The receipt of a change that is in the draft; then the checkpoint that it causes, if any.
pub(super) fn report(
    context: &mut Context,
    opened: &OpenedRepository,
    appended: &DraftReceipt,
    told: ChangeNotice,
    triggers: &[&str],
) -> Result<(), CommandError> {
    let about = told.lines.first().map(ToString::to_string);
    let event = events::after(&opened.scene(), appended, triggers, about.as_deref());
    redactions::warn(context, &appended.redactions);
    for session in &appended.passed_over {
        context.ui.warning(&format!(
            "session '{session}' is damaged and was skipped; see: git checkpoint verify {session}"
        ));
    }
    if let EventOutcome::Failed { trigger, error } = &event {
        context.ui.warning(&format!(
            "the change is recorded, but saving on '{trigger}' failed: {error}; the next save includes it"
        ));
    }
    let saved = match &event {
        EventOutcome::Saved(outcome) => {
            warn_save(context, outcome);
            export_after(context, opened, outcome);
            Some(outcome)
        }
        _ => None,
    };
    if context.ui.options().json {
        let ids = saved.map(|outcome| views::Ids::of(outcome.receipt()));
        let receipt = saved
            .zip(ids.as_ref())
            .map(|(outcome, ids)| views::receipt(outcome, ids));
        let (list, items) = told.items.map(|(kind, items)| (kind.list, items)).unzip();
        let view = DraftView {
            outcome: told.outcome,
            session: &appended.session,
            session_id: &appended.session_id,
            session_is: word_of(appended.session_is),
            operations: appended.operations.iter().map(|o| o.id.as_str()).collect(),
            draft_operations: appended.waiting,
            redactions: views::redactions(&appended.redactions),
            checkpoint: receipt,
            list,
            items,
            detail: told.detail,
        };
        return context.ui.json(&view);
    }
    if context.ui.options().quiet > 0 {
        return Ok(());
    }
    let mut text: Text = told.lines.into_iter().collect();
    match appended.session_is {
        SessionOrigin::Meant => {}
        is => {
            let word = if is == SessionOrigin::Started {
                ", new"
            } else {
                ", resumed"
            };
            let line = TextLine::plain("  session ").with(Slot::Session, appended.session.as_str());
            text.push(line.with(Slot::Plain, word));
        }
    }
    if let Some(CheckpointOutcome::Saved(receipt)) = saved.map(AsRef::as_ref) {
        let mut line = TextLine::new().with(Slot::Good, "Saved").with(Slot::Plain, " ");
        if let Some(id) = receipt.id {
            line.push(Slot::Id, oid(id).short());
        }
        line.push(Slot::Plain, " on ");
        line.push(Slot::Plain, receipt.document.trigger.as_deref().unwrap_or_default());
        text.push(line);
    }
    context.ui.data(text);
    context
        .ui
        .hint("Draft", "recorded; included in the next save: git checkpoint save");
    Ok(())
}

/// Warnings about a checkpoint that was made automatically.
/// Does what follows a checkpoint automatically, if there is a new one.
fn export_after(context: &Context, opened: &OpenedRepository, outcome: &CheckpointOutcome) {
    if let CheckpointOutcome::Saved(receipt) = outcome {
        for trouble in share::automatic::after_checkpoint(opened, &receipt.session) {
            context.ui.warning(&trouble);
        }
    }
}

fn warn_save(context: &Context, outcome: &CheckpointOutcome) {
    let receipt = outcome.receipt();
    if receipt.is_partial() {
        for line in views::skipped_lines(&receipt.skipped) {
            context.ui.warning(&line);
        }
    }
    for trouble in &receipt.trouble {
        context.ui.warning(&format!("the checkpoint is saved, but: {trouble}"));
    }
}

fn word_of(is: SessionOrigin) -> &'static str {
    match is {
        SessionOrigin::Meant => "meant",
        SessionOrigin::Continued => "continued",
        SessionOrigin::Started => "started",
    }
}
