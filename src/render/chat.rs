//! The chat as text: a line a message, a message in full, and the part of a request that the record and the summary of
//! earlier messages make.

use super::{
    escape, markdown,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    chat::Message,
    outline::{Contents, Outline},
};

/// A message in one line: number, who, when, and how it begins.
pub fn row(number: u64, message: &Message, width: usize) -> TextLine {
    let mut line = TextLine::new().with(Slot::Id, format!("{number:>6}"));
    line.push(Slot::Plain, "  ");
    line.push(Slot::Person, who(message));
    line.pad_to(28);
    line.push(Slot::Plain, "  ");
    let at = message.at.to_string();
    line.push(Slot::Date, at.get(..16).unwrap_or(&at).replace('T', " "));
    line.push(Slot::Plain, "  ");
    let text = message.text();
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // Cut before it is escaped: a line may have megabytes.
    let first: String = first.trim().chars().take(200).collect();
    line.push(Slot::Plain, first);
    line.cut(width)
}

fn who(message: &Message) -> String {
    match &message.agent {
        Some(agent) => format!("{} {agent}", message.role.word()),
        None => message.role.word().to_owned(),
    }
}

/// A message in full.
pub fn full(number: u64, message: &Message) -> Text {
    let mut out = Text::new();
    let mut head = TextLine::new().with(Slot::Id, format!("{number}"));
    head.push(Slot::Plain, "  ");
    head.push(Slot::Person, who(message));
    head.push(Slot::Plain, "  ");
    head.push(Slot::Date, message.at.to_string());
    head.push(Slot::Dim, format!("  {}", message.id));
    out.push(head);
    for line in Text::block(&message.text()).lines() {
        let mut indented = TextLine::plain("    ");
        indented.append(line);
        out.push(indented);
    }
    out.push(TextLine::new());
    out
}

/// The section `Checkpoint` of a request: session, summary, and everything that was saved but the messages, the context
/// and the agent description, which are sections of their own.
pub fn checkpoint(contents: &Contents) -> String {
    let document = &contents.document;
    let session = document.session.name.as_str();
    let mut outline = Outline::of(contents, session);
    let own = ["messages", "context", "agent"];
    outline
        .sections
        .retain(|section| !own.contains(&section.member.as_str()));
    let mut out = format!("# Checkpoint\n\nSession: {}\n", escape::line(session));
    let record = &document.record;
    if let Some(summary) = record
        .summary
        .as_deref()
        .filter(|text| !text.trim().is_empty() && !record.auto_summary)
    {
        out.push_str(&format!("\n{}\n", markdown::block(summary)));
    }
    out.push_str(&super::outline::markdown(&outline, 2, usize::MAX));
    out.push_str(&format!(
        "\n{}\n\n",
        markdown::line(&super::outline::left_out(&outline))
    ));
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::chat::{Role, tests::message};

    #[test]
    fn a_row_is_one_line_with_nothing_hidden() {
        let row = row(3, &message("a", Role::Assistant, json!("\n\n\u{1b}[31mred\nmore")), 80).to_string();
        assert!(
            row.starts_with("     3  assistant") && row.ends_with("\\x1b[31mred"),
            "{row}"
        );
        assert!(super::row(1, &message("a", Role::User, json!("x".repeat(500))), 60).width() <= 60);
    }

    #[test]
    fn the_checkpoint_has_the_session_and_its_summary() {
        let mut document = crate::model::document::tests::sample();
        document.record.summary = Some("parser done".into());
        document.record.auto_summary = false;
        let name = document.session.name.clone();
        let text = checkpoint(&Contents::new(document));
        assert!(
            text.starts_with(&format!("# Checkpoint\n\nSession: {name}\n\nparser done\n")),
            "{text}"
        );
        assert!(!text.contains("Earlier"));
    }
}
