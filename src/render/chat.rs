//! The chat as text: a line a message, a message in full, and the part of a request that the record and the summary of
//! earlier messages make.

use super::{
    count::CountedNoun,
    escape, markdown,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    chat::Message,
    outline::{Contents, Outline},
    turn::{Ending, TurnGroup},
};

/// The width of who speaks: `assistant claude-code` and a blank.
const SPEAKER: usize = 22;

/// A message in one line: number, who, when, and how it begins.
pub fn row(number: u64, message: &Message, width: usize) -> TextLine {
    let mut line = TextLine::new().with(Slot::Id, format!("{number:>6}"));
    line.push(Slot::Plain, "  ");
    let mut speaker = TextLine::new();
    speaker.push(Slot::Person, who(message));
    line.append(&speaker.cut(SPEAKER));
    line.pad_to(8 + SPEAKER);
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

/// A line about a turn, below its texts: tool calls, helpers and tokens; `None` where there is nothing to say.
pub fn turn(number: usize, turn: &TurnGroup, width: usize) -> Option<TextLine> {
    let calls: u64 = turn.calls.iter().map(|(_, count)| count).sum();
    let mut parts = Vec::new();
    if calls > 0 {
        let names = turn.calls.iter().map(|(name, count)| match count {
            1 => name.clone(),
            _ => format!("{name} {count}"),
        });
        let number = CountedNoun::new(usize::try_from(calls).unwrap_or(usize::MAX), "tool call");
        parts.push(format!("{number}: {}", names.collect::<Vec<_>>().join(", ")));
    }
    if turn.failed_calls > 0 {
        parts.push(format!("{} failed", turn.failed_calls));
    }
    if turn.helpers > 0 {
        parts.push(CountedNoun::new(usize::try_from(turn.helpers).unwrap_or(usize::MAX), "helper").to_string());
    }
    if !turn.tokens.is_zero() {
        parts.push(format!("{} tokens in, {} out", turn.tokens.input, turn.tokens.output));
    }
    if matches!(turn.ending, Ending::Interrupted | Ending::Failed) {
        parts.push(turn.ending.word().to_owned());
    }
    if parts.is_empty() {
        return None;
    }
    let mut line = TextLine::plain("        ");
    line.push(Slot::Dim, format!("turn {number}: {}", parts.join("; ")));
    Some(line.cut(width))
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
    checkpoint_with(contents, usize::MAX)
}

/// The same with at most so many entries of each list, the open and the latest ones; how many more there are is named
/// with the command that shows them.
pub fn checkpoint_with(contents: &Contents, rows: usize) -> String {
    let document = &contents.document;
    let session = document.session.name.as_str();
    let mut outline = Outline::of(contents, session);
    let own = ["messages", "context", "agent"];
    // The history of the compactions, which follows the summary, is nothing for a model.
    let mut has_summary = false;
    outline.sections.retain(|section| {
        let is_history = section.member == "compaction" && std::mem::replace(&mut has_summary, true);
        !is_history && !own.contains(&section.member.as_str())
    });
    let mut out = format!("# Checkpoint\n\nSession: {}\n", escape::line(session));
    let record = &document.record;
    if let Some(summary) = record
        .summary
        .as_deref()
        .filter(|text| !text.trim().is_empty() && !record.auto_summary)
    {
        out.push_str(&format!("\n{}\n", markdown::block(summary)));
    }
    out.push_str(&super::outline::markdown(&outline, 2, rows));
    out.push_str(&format!(
        "\n{}; files that are not committed (`git checkpoint show {session}`)\n\n",
        super::outline::left_out_markdown(&outline)
    ));
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::chat::{Role, tests::message};

    #[test]
    fn the_columns_behind_who_speaks_are_in_line() {
        let column = |agent: Option<&str>| {
            let mut message = message("a", Role::Assistant, json!("hello"));
            message.agent = agent.map(str::to_owned);
            let row = row(3, &message, 200).to_string();
            row.find("hello").map(|at| row[..at].chars().count())
        };
        let expected = column(None);
        assert!(expected.is_some());
        for agent in ["codex", "claude-code", "an-agent-with-a-long-name"] {
            assert_eq!(column(Some(agent)), expected, "{agent}");
        }
    }

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
    fn a_turn_says_its_tools_and_tokens_in_one_line() {
        let mut said = message(
            "a",
            Role::Assistant,
            json!([{"type": "tool_use", "name": "Ba\u{1b}sh"}]),
        );
        said.meta.insert("turn".into(), "t".into());
        said.meta
            .insert("usage".into(), json!({"input_tokens": 10, "output_tokens": 2}));
        let mut groups = crate::model::turn::TurnGroups::default();
        groups.push(1, &said);
        let line = turn(2, &groups.end()[0], 80).expect("a line").to_string();
        assert_eq!(line.trim(), "turn 2: 1 tool call: Ba\\x1bsh; 10 tokens in, 2 out");
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
