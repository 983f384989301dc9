//! Items of the record as a table: number, id, where each is, its text, and what else is known of it.

use serde_json::Value;

use super::{
    count::CountedNoun,
    merge,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::{Text, TextLine},
};
use crate::model::item::{ItemKind, Totals, id_of};

/// The items of one kind, each with its number, counted from 1 in the whole list.
pub fn table(kind: &ItemKind, items: &[(usize, Value)], columns: usize) -> Text {
    let mut table = TextTable::new([
        TableColumn::right("#"),
        TableColumn::left("id"),
        TableColumn::left("status"),
        TableColumn::left(kind.word).flexible(20),
        TableColumn::left("more").flexible(12),
    ]);
    for (number, item) in items {
        let standing = kind.standing(item);
        table.row([
            TextLine::new().with(Slot::Dim, number.to_string()),
            TextLine::new().with(Slot::Id, id_of(item)),
            TextLine::new().with(slot(standing), standing.replace('_', " ")),
            TextLine::plain(kind.text_of(item)),
            TextLine::new().with(Slot::Dim, more(kind, item)),
        ]);
    }
    let mut text = table.render(columns);
    if kind.list == "fork_points" {
        text = Text::new();
        for (number, item) in items {
            text.append(fork_point(*number, item));
        }
    }
    text
}

fn slot(standing: &str) -> Slot {
    match standing {
        "done" | "approve" | "pass" | "decided" | "answered" | "completed" => Slot::Good,
        "blocked" | "reject" | "fail" | "failed" => Slot::Bad,
        "in_progress" => Slot::Caution,
        "dropped" => Slot::Dim,
        _ => Slot::Plain,
    }
}

/// Further details of an item, in a few words.
fn more(kind: &ItemKind, item: &Value) -> String {
    let text = |member: &str| item[member].as_str().map(str::to_owned);
    let with = |word: &str, member: &str| text(member).map(|value| format!("{word} {value}"));
    let list = |member: &str| {
        let items = item[member].as_array().map(Vec::as_slice).unwrap_or_default();
        let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let parts = match kind.list {
        "tasks" => vec![
            text("agent"),
            item["claim"]["by"].as_str().map(|who| format!("claimed by {who}")),
            text("issue"),
            item["progress"].as_u64().map(|n| format!("{n}%")),
            list("depends_on").map(|ids| format!("after {ids}")),
            list("files"),
            text("notes"),
        ],
        "decisions" => vec![with("because", "reason")],
        "blockers" => vec![with("needs", "needs"), text("ref")],
        "questions" => vec![text("answer")],
        "approvals" => {
            let place: Vec<String> = ["provider", "channel", "thread"].into_iter().filter_map(text).collect();
            let answer = text("answer").filter(|answer| !matches!(answer.as_str(), "approve" | "reject"));
            vec![
                answer,
                with("by", "answered_by"),
                with("because", "reason"),
                (!place.is_empty()).then(|| place.join(" ")),
            ]
        }
        "delegations" => vec![
            text("issue"),
            text("model_tier"),
            item["tokens"].as_u64().map(|n| {
                let about = if item["estimated"] == true { "about " } else { "" };
                format!("{about}{n} tokens")
            }),
            item["duration"].as_u64().map(seconds),
            (item["panel"] == true).then(|| "panel review".to_owned()),
        ],
        "open_files" => {
            let number = |member: &str| item[member].as_u64().map(|n| format!("{member} {n}"));
            vec![number("line"), number("column")]
        }
        "agent_history" => vec![text("agent")],
        "checks" => vec![text("text")],
        "conflicts" => {
            let side = |member: &str, place: &str| Some(format!("{} {place}", merge::value(item.get(member))));
            let from = text("session").map_or_else(|| "there".to_owned(), |session| format!("in {session}"));
            vec![side("ours", "here"), side("theirs", &from), side("base", "before")]
        }
        _ => Vec::new(),
    };
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Seconds in the two largest units: `1h 5m`, `3m 20s`, `4s`.
pub fn seconds(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A fork point with its options, what speaks for and against each, and which sessions explore it, where known: each
/// option may have a list `sessions`.
pub fn fork_point(number: usize, point: &Value) -> Text {
    let text = |value: &Value, member: &str| value[member].as_str().unwrap_or_default().to_owned();
    let mut out = Text::new();
    let mut line = TextLine::new().with(Slot::Dim, format!("{number}  "));
    line.push(Slot::Id, id_of(point));
    line.push(Slot::Plain, "  ");
    line.push(Slot::Heading, text(point, "title"));
    let chosen = point["chosen"].as_str();
    match (chosen, point["decider"].as_str()) {
        (Some(chosen), _) => line.push(Slot::Good, format!("  decided: {chosen}")),
        (None, Some(decider)) => line.push(Slot::Caution, format!("  open, {decider} decides")),
        (None, None) => line.push(Slot::Caution, "  open"),
    }
    out.push(line);
    if let Some(reason) = point["reason"].as_str() {
        out.push(TextLine::plain(format!("     because {reason}")));
    }
    for option in point["options"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let key = text(option, "key");
        let mark = if chosen == Some(key.as_str()) { "  *  " } else { "     " };
        let mut line = TextLine::plain(mark).with(Slot::Session, &key);
        line.push(Slot::Plain, format!("  {}", text(option, "title")));
        for session in list(option, "sessions") {
            line.push(Slot::Plain, "  -> ");
            line.push(Slot::Session, session);
        }
        out.push(line);
        for (member, sign, slot) in [("pros", "+", Slot::Added), ("cons", "-", Slot::Removed)] {
            for reason in list(option, member) {
                out.push(TextLine::plain("       ").with(slot, format!("{sign} {reason}")));
            }
        }
        for file in list(option, "files") {
            out.push(TextLine::plain("         ").with(Slot::Path, file));
        }
    }
    out
}

fn list<'a>(value: &'a Value, member: &str) -> Vec<&'a str> {
    let items = value[member].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).collect()
}

/// Totals of delegations, in a line.
pub fn totals(totals: &Totals) -> TextLine {
    let mut words = vec![CountedNoun::new(totals.delegations, "delegation").to_string()];
    if totals.panel_reviews > 0 {
        words.push(format!(
            "{} of them with {} tokens",
            CountedNoun::new(totals.panel_reviews, "panel review"),
            totals.panel_tokens
        ));
    }
    let mut tokens = format!("{} tokens", totals.tokens);
    if totals.estimated_tokens > 0 {
        tokens += &format!(" ({} estimated)", totals.estimated_tokens);
    }
    words.push(tokens);
    if totals.without_tokens > 0 {
        words.push(format!("{} without a number", totals.without_tokens));
    }
    words.push(seconds(totals.duration));
    TextLine::new()
        .with(Slot::Heading, "total")
        .with(Slot::Plain, format!("  {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_says_what_there_is() {
        let kind = ItemKind::of("task").expect("there is one");
        let items = vec![
            (
                1,
                json!({"id": "abcd2345", "title": "port", "status": "in_progress", "agent": "ana", "progress": 40, "files": ["a", "b"]}),
            ),
            (3, json!({"id": "x\u{1b}", "title": "rest"})),
        ];
        assert_eq!(
            table(kind, &items, 80).to_string(),
            "#  id        status       task  more\n\
             1  abcd2345  in progress  port  ana, 40%, a b\n\
             3  x\\x1b     todo         rest\n"
        );
        assert_eq!([0, 59, 60, 3660].map(seconds), ["0s", "59s", "1m 0s", "1h 1m"]);
    }
}
