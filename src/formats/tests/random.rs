//! Random sessions, with texts that look like what the forms are made of.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::model::{
    document::{Document, tests::sample},
    record::Record,
    time::Timestamp,
};

/// Whether a text is one of the forms that people write for "nothing".
fn says(text: &str) -> bool {
    !["none", "n/a", "-", "(none)", "none."].contains(&text.to_lowercase().as_str())
}

/// Texts of one line, as people write them; with signs that the forms use themselves.
pub(super) fn line() -> impl Strategy<Value = String> {
    "[a-zA-Z\u{e9}\u{4e2d}][a-zA-Z0-9 .,:;|\"'\\\\{}\\[\\]*_#&!?()/<>\u{e9}-]{0,30}[a-z0-9]"
        .prop_map(|text| text.trim().to_owned())
        .prop_filter("a placeholder", |text| says(text))
}

/// Texts of several lines that look like what the forms are made of.
pub(super) fn text() -> impl Strategy<Value = String> {
    let odd = [
        "# heading",
        "## Summary",
        "- item",
        "* item",
        "12. item",
        "3) item",
        "```",
        "~~~ sh",
        "| a | b |",
        "|---|",
        "[x] box",
        "[ ] box",
        "<br>",
        "\\# sign",
        "\\\\",
        "",
        "  inset",
        "      - deep",
        "**Key:** value",
        "Reason: none",
        "- Reason: x",
        "---",
        "a<br>b",
        "a&lt;br>b &amp;lt;br/> &amp; <br/",
        "a\\|b\\",
        "\u{3000}wide",
        "two  blanks",
        "a\ttab",
    ];
    let piece = prop_oneof![line(), proptest::sample::select(odd.to_vec()).prop_map(str::to_owned)];
    prop_oneof![
        3 => line(),
        1 => proptest::collection::vec(piece, 1..5)
            .prop_map(|pieces| pieces.join("\n").trim().to_owned())
            .prop_filter("nothing, or a placeholder", |text| !text.is_empty() && says(text) && text != "---"),
    ]
}

/// A word without signs: agents, issues, files.
fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9./-]{0,10}[a-z0-9]".prop_filter("a placeholder", |text| says(text))
}

fn item(list: &str, n: usize, text: &str) -> Value {
    let field = crate::model::patch::LISTS
        .iter()
        .find(|(name, _)| *name == list)
        .map_or("text", |(_, field)| field);
    json!({ "id": format!("i{n}"), "at": "2026-01-01T00:00:00+00:00", "by": "ana", field: text })
}

fn items(list: &'static str, texts: &[String]) -> Value {
    texts.iter().enumerate().map(|(n, text)| item(list, n, text)).collect()
}

prop_compose! {
    fn task()(title in text(), status in 0..5_usize, agent in proptest::option::of(word()), issue in proptest::option::of(word()),
              files in proptest::collection::vec(word(), 0..3), depends in proptest::collection::vec(word(), 0..3),
              notes in proptest::option::of(text())) -> Value {
        let mut task = item("tasks", 0, &title);
        task["status"] = ["todo", "in_progress", "done", "blocked", "dropped"][status].into();
        for (key, value) in [("agent", agent), ("issue", issue), ("notes", notes)] {
            if let Some(value) = value {
                task[key] = value.into();
            }
        }
        for (key, values) in [("files", files), ("depends_on", depends)] {
            if !values.is_empty() {
                task[key] = json!(values);
            }
        }
        task
    }
}

prop_compose! {
    pub(super) fn document()(summary in text(), done in proptest::collection::vec(text(), 0..4), next in proptest::collection::vec(text(), 0..4),
                  todos in proptest::collection::vec((text(), any::<bool>()), 0..4), tasks in proptest::collection::vec(task(), 0..5),
                  decisions in proptest::collection::vec((text(), proptest::option::of(text())), 0..3),
                  blockers in proptest::collection::vec((text(), proptest::option::of(text())), 0..3),
                  questions in proptest::collection::vec((text(), proptest::option::of(text())), 0..3),
                  approvals in proptest::collection::vec((text(), proptest::option::of(word())), 0..2),
                  delegations in proptest::collection::vec((word(), proptest::option::of(0..10_000_000_u64), any::<bool>()), 0..3),
                  resume in proptest::collection::vec(text(), 0..4), open in proptest::collection::vec(word(), 0..3),
                  phase in proptest::option::of((1..9_u32, line())), state in proptest::option::of(line()),
                  seconds in 1_700_000_000..1_800_000_000_i64) -> Document {
        let mut record = json!({
            "summary": summary,
            "accomplishments": items("accomplishments", &done),
            "next_steps": items("next_steps", &next),
            "tasks": tasks,
            "resume_instructions": items("resume_instructions", &resume),
            "open_files": items("open_files", &open),
        });
        record["todos"] = todos.into_iter().map(|(text, done)| {
            let mut todo = item("todos", 0, &text);
            todo["done"] = done.into();
            todo
        }).collect();
        record["decisions"] = decisions.into_iter().map(|(text, reason)| {
            let mut decision = item("decisions", 0, &text);
            if let Some(reason) = reason {
                decision["reason"] = reason.into();
            }
            decision
        }).collect();
        for (list, key, given) in [("blockers", "needs", blockers), ("questions", "answer", questions), ("approvals", "channel", approvals)] {
            record[list] = given.into_iter().map(|(text, more)| {
                let mut item = item(list, 0, &text);
                if let Some(more) = more {
                    item[key] = more.into();
                }
                item
            }).collect();
        }
        record["delegations"] = delegations.into_iter().map(|(agent, tokens, estimated)| {
            let mut item = item("delegations", 0, &agent);
            if let Some(tokens) = tokens {
                item["tokens"] = tokens.into();
                item["estimated"] = estimated.into();
            }
            item
        }).collect();
        if let Some((n, title)) = phase {
            record["phase"] = json!({ "n": n, "of": 9, "title": title });
        }
        if let Some(state) = state {
            record["state"] = json!({ "said": state });
        }
        let mut document = sample();
        document.record = serde_json::from_value::<Record>(record).expect("a record");
        document.created_at = Timestamp::from_unix(seconds, 0);
        document
    }
}
