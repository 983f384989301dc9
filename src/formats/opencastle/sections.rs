//! The sections of the template, and the lines of them that have no place in a record.

use serde_json::{Map, Value, json};

use super::{
    super::{
        fields::ObjectFields,
        markdown::{self as md, MarkdownSection},
        notes::{NoteItem, RecordNotes},
    },
    tables,
};

/// A section with these of its lines.
pub(super) fn verbatim(section: &MarkdownSection, lines: Vec<String>) -> Value {
    let section = MarkdownSection {
        lines,
        ..section.clone()
    };
    json!({ "level": section.level, "title": section.title, "text": section.text() })
}

/// Takes a section into the record, and gives the lines of it that have no place there; `None` for a section that is
/// none of the template's.
pub(super) fn take(section: &MarkdownSection, notes: &mut RecordNotes, rest: &mut ObjectFields) -> Option<Vec<String>> {
    let key = section.key();
    let left = match key.as_str() {
        "current phase" => phase(section, notes, rest),
        "completed work" | "completed" => tables::tasks(section, "done", notes),
        "in progress" => tables::tasks(section, "in_progress", notes),
        "remaining work" | "remaining" => tables::tasks(section, "todo", notes),
        "pending approvals" => tables::approvals(section, notes),
        "delegation cost log" => tables::delegations(section, notes, rest),
        "file partitions" => partitions(section, notes),
        "summary" => {
            let text = Some(md::unescaped(section.text().trim())).filter(|text| !text.trim().is_empty());
            notes.set("summary", text);
            Vec::new()
        }
        "accomplishments" => list(section, |_| "accomplishments", notes),
        "next steps" => list(section, |_| "next_steps", notes),
        "open questions" => list(section, |_| "questions", notes),
        "todos" => list(section, |_| "todos", notes),
        "decisions & blockers" => list(section, either, notes),
        _ if key.starts_with("key decisions") || key == "decisions" => list(section, |_| "decisions", notes),
        _ if key.starts_with("blockers") => list(section, |_| "blockers", notes),
        _ if key.starts_with("resume instructions") || key.starts_with("resumption instructions") => {
            list(section, |_| "resume_instructions", notes)
        }
        _ => return None,
    };
    Some(if nothing(&left) { Vec::new() } else { left })
}

/// Where a line of the section for both belongs.
fn either(text: &str) -> &'static str {
    let lower = text.trim_start_matches(['*', '_']).to_lowercase();
    let blocks = ["blocker", "blocked", "issue", "waiting", "dlq"]
        .iter()
        .any(|word| lower.starts_with(word));
    if blocks { "blockers" } else { "decisions" }
}

pub(super) fn is_placeholder(text: &str) -> bool {
    matches!(
        text.trim().to_lowercase().as_str(),
        "none" | "(none)" | "n/a" | "-" | "\u{2014}" | "none." | "_none_"
    )
}

/// How the sentences begin that the template itself puts around its tables and lists.
const OWN_WORDS: [&str; 5] = [
    "Approval requests",
    "The `on-session-start` hook",
    "If the user answered",
    "the row from this table",
    "Track each delegation",
];

/// Whether the lines say nothing, or only what the template says itself.
fn nothing(lines: &[String]) -> bool {
    lines.iter().all(|line| {
        let line = line.trim();
        let own =
            OWN_WORDS.iter().any(|words| line.starts_with(words)) || line.starts_with("Step-by-step instructions");
        line.is_empty() || line == "---" || own || is_placeholder(line)
    })
}

/// Whether a line is one of the sentences of the template.
pub(in super::super) fn is_own_sentence(line: &str) -> bool {
    let line = line.trim();
    OWN_WORDS.iter().any(|words| line.starts_with(words)) || line.starts_with("Step-by-step instructions")
}

fn phase(section: &MarkdownSection, notes: &mut RecordNotes, rest: &mut ObjectFields) -> Vec<String> {
    let text = section.text();
    if text.trim().is_empty() {
        return Vec::new();
    }
    let line = text.lines().next().unwrap_or_default();
    let bold = line.strip_prefix("**").and_then(|line| line.strip_suffix("**"));
    let mut words = bold.unwrap_or(line).splitn(5, ' ');
    let mut next = || words.next().unwrap_or_default();
    let (first, n, of, all, title) = (next(), next(), next(), next(), next());
    let (n, all) = (n.parse::<u32>(), all.trim_end_matches([':', ',']).parse::<u32>());
    if let ("Phase", Ok(n), "of", Ok(all)) = (first, n, of, all) {
        let title = title.trim();
        let title = title
            .strip_prefix(['\u{2014}', '\u{2013}', '-', ':'])
            .unwrap_or(title)
            .trim();
        let mut phase = json!({ "n": n, "of": all });
        if !title.is_empty() {
            phase["title"] = title.into();
        }
        notes.set("phase", Some(phase));
        let more = text[line.len()..].trim();
        if !more.is_empty() {
            rest.put("current_phase", more.into());
        }
    } else {
        rest.put("current_phase", text.clone().into());
        if !notes.has("summary") {
            notes.set("summary", Some(line.to_owned()));
        }
    }
    Vec::new()
}

fn partitions(section: &MarkdownSection, notes: &mut RecordNotes) -> Vec<String> {
    let mut found = Map::new();
    let mut left = Vec::new();
    for whole in &section.lines {
        let line = whole.trim();
        if line.is_empty() || line.starts_with("```") {
            continue;
        }
        let line = line.strip_prefix("- ").unwrap_or(line);
        match line.split_once(':') {
            Some((agent, paths)) if !agent.is_empty() && !found.contains_key(agent.trim().trim_matches('*')) => {
                let paths = tables::parts(Some(paths.to_owned())).unwrap_or_default();
                found.insert(agent.trim().trim_matches('*').to_owned(), Value::Array(paths));
            }
            _ if is_placeholder(line) => {}
            _ => left.push(whole.clone()),
        }
    }
    if !found.is_empty() {
        notes.set("partitions", Some(Value::Object(found)));
    }
    left
}

/// Lines below an item: its list, the word before the colon, the member.
pub(super) const BELOW: [(&str, &str, &str); 4] = [
    ("decisions", "Reason", "reason"),
    ("blockers", "Needs", "needs"),
    ("blockers", "Ref", "ref"),
    ("questions", "Answer", "answer"),
];

/// The items of a list; a line `Reason: ...` below an item is its reason, `Needs: ...` what a blocker needs.
fn list(section: &MarkdownSection, place: impl Fn(&str) -> &'static str, notes: &mut RecordNotes) -> Vec<String> {
    let (items, other) = md::bullets(&section.lines);
    for item in items.iter().filter(|item| !is_placeholder(&item.text)) {
        let name = place(&item.text);
        let mut made = NoteItem::new(md::unescaped(&item.text));
        let (mut said, mut below): (Vec<(&str, String)>, Vec<String>) = (Vec::new(), Vec::new());
        for line in &item.below {
            let more = line.strip_prefix("  ").filter(|_| below.is_empty());
            if let (Some(more), Some((_, text))) = (more, said.last_mut()) {
                // The text of a member goes on, as far in as it began.
                text.push('\n');
                text.push_str(more.trim_end());
                continue;
            }
            let pair = line.strip_prefix("- ").and_then(|line| line.split_once(": "));
            let found = pair.and_then(|(word, value)| {
                let (.., member) = BELOW.iter().find(|(list, known, _)| *list == name && *known == word)?;
                (below.is_empty() && said.iter().all(|(one, _)| one != member)).then_some((*member, value))
            });
            match found {
                Some((member, value)) => said.push((member, value.trim().to_owned())),
                None => below.push(line.clone()),
            }
        }
        for (member, text) in said {
            made = made.with(member, Some(md::unescaped(&text)));
        }
        if name == "todos" {
            made = made.with("done", item.checked.filter(|done| *done));
        } else {
            made = made.with("checked", item.checked);
        }
        made = made.with("details", (!below.is_empty()).then(|| below.join("\n")));
        notes.add(item.list(name), made);
    }
    other
}
