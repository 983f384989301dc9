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
        record::words,
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
    /// Those of them that lost a text, as they were.
    pub(super) former: Vec<Value>,
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
            former: Vec::new(),
            detail: DraftDetail::default(),
        }
    }

    /// The same with what the change replaced: no undo brings that back. `before` are the items as they were, in the same
    /// order.
    pub(super) fn replacing(mut self, before: Vec<Value>) -> Self {
        let Some((_, after)) = &self.items else { return self };
        let mut lines = Vec::new();
        let told = std::mem::take(&mut self.lines).into_iter();
        for ((line, was), is) in told.zip(before).zip(after) {
            lines.push(line);
            let replaced = replaced(&was, is);
            if !replaced.is_empty() {
                lines.extend(replaced.iter().map(|(member, text)| former(member, text)));
                self.former.push(was);
            }
        }
        self.lines = lines;
        self
    }

    /// The same with a line below that of each item.
    pub(super) fn with_lines(mut self, below: impl Fn(&Value) -> TextLine) -> Self {
        let Some((_, items)) = &self.items else { return self };
        let told = std::mem::take(&mut self.lines).into_iter();
        self.lines = told.zip(items).flat_map(|(line, item)| [line, below(item)]).collect();
        self
    }

    /// One line, and no items.
    pub(super) fn line(outcome: &'static str, line: TextLine) -> Self {
        Self {
            outcome,
            lines: vec![line],
            items: None,
            former: Vec::new(),
            detail: DraftDetail::default(),
        }
    }
}

/// Text that a change replaced.
pub(super) fn former(member: &str, text: &str) -> TextLine {
    TextLine::plain(format!("  former {}: {text}", member.replace('_', " ")))
}

/// The texts and lists that an item had and that a change replaced or took away: each member, and what it was.
fn replaced<'a>(was: &'a Value, is: &Value) -> Vec<(&'a str, String)> {
    // Another status is what the command is for, and its receipt says it.
    const OTHERS: [&str; 4] = ["id", "at", "by", "status"];
    let members = was.as_object().into_iter().flatten();
    let lost = members.filter(|(member, was)| !OTHERS.contains(&member.as_str()) && is[member.as_str()] != **was);
    lost.filter_map(|(member, was)| {
        let text = match was {
            Value::String(text) => text.clone(),
            Value::Array(_) => words(was),
            _ => return None,
        };
        Some((member.as_str(), text))
    })
    .filter(|(_, text)| !text.is_empty())
    .collect()
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
        let former = Some(told.former).filter(|former| !former.is_empty());
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
            former,
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

/// Does what follows a checkpoint automatically, if there is a new one.
fn export_after(context: &Context, opened: &OpenedRepository, outcome: &CheckpointOutcome) {
    if let CheckpointOutcome::Saved(receipt) = outcome {
        for trouble in share::automatic::after_checkpoint(opened, &receipt.session) {
            context.ui.warning(&trouble);
        }
    }
}

/// Warnings about a checkpoint that was made automatically.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each text that is lost is named; what is added, moved along or left as it was is not.
    #[test]
    fn what_a_change_replaces_is_named() {
        let item = |members: Value| {
            let mut item = json!({ "id": "a", "at": "1", "by": "ana", "status": "todo", "progress": 3 });
            crate::model::json::merge_patch(&mut item, members);
            item
        };
        let said = |was: Value, is: Value| -> Vec<String> {
            let (was, is) = (item(was), item(is));
            let kind = super::super::kind("task");
            let told = ChangeNotice::items("changed", "Changed", kind, vec![is]).replacing(vec![was.clone()]);
            let lost = told.lines.len() > 1;
            assert_eq!(told.former, if lost { vec![was] } else { Vec::new() });
            told.lines[1..].iter().map(ToString::to_string).collect()
        };
        for member in [
            "answer",
            "answered_by",
            "chosen",
            "reason",
            "notes",
            "title",
            "agent",
            "issue",
            "model_tier",
        ] {
            let wanted = [format!("  former {}: no", member.replace('_', " "))];
            assert_eq!(said(json!({ member: "no" }), json!({ member: "yes" })), wanted);
            assert_eq!(said(json!({ member: "no" }), json!({})), wanted);
            assert!(said(json!({ member: "no" }), json!({ member: "no" })).is_empty());
            assert!(said(json!({}), json!({ member: "yes" })).is_empty());
        }
        for member in ["files", "depends_on"] {
            let wanted = [format!("  former {}: a b", member.replace('_', " "))];
            assert_eq!(said(json!({ member: ["a", "b"] }), json!({ member: ["b"] })), wanted);
        }
        for other in [
            json!({ "status": "done" }),
            json!({ "progress": 100 }),
            json!({ "at": "2", "by": "ben" }),
        ] {
            assert!(said(json!({}), other).is_empty());
        }
    }
}
