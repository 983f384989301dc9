//! The page: nothing of others is markup, nothing is fetched, and long chats are cut with a word.

use super::*;
use crate::model::{document::tests::sample, outline::Contents, record::ForkOption};

const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "\" onmouseover=\"alert(1)",
    "' onload='x",
    "javascript:alert(1)//</style></title><img src=x onerror=alert(1)>",
    "a\u{202e}b\u{1b}[31mc",
    "]]><!--<svg onload=alert(1)>",
];

fn message(role: Role, text: &str) -> Message {
    serde_json::from_value(serde_json::json!({
        "id": "m", "at": "2026-01-02T03:04:05Z", "role": role.word(), "content": text,
    }))
    .expect("a message")
}

fn page(document: &Document, messages: &[Message], patch: &str) -> String {
    let contents = Contents::new(document.clone());
    let outline = Outline::of(&contents, "auth");
    let (files, more_files) = files(patch.as_bytes());
    let timeline = [TimelineEntry {
        id: Oid::new("a".repeat(40)).expect("an id"),
        at: document.created_at,
        by: HOSTILE[0].to_owned(),
        kind: Some(CheckpointKind::Save),
        subject: HOSTILE[3].to_owned(),
    }];
    HtmlReport {
        place: ReportPlace::File,
        session: "auth",
        id: "a",
        digest: "sha256:b",
        document,
        outline: &outline,
        messages,
        timeline: &timeline,
        has_older: true,
        changes: Some(&Text::block(HOSTILE[5])),
        files: &files,
        more_files,
    }
    .page()
}

/// The tags of a page: whatever is between `<` and `>`.
fn tags(page: &str) -> Vec<&str> {
    page.split('<')
        .skip(1)
        .filter_map(|rest| rest.split('>').next())
        .collect()
}

#[test]
fn texts_of_others_are_no_markup() {
    let plain = page(&sample(), &[], "");
    for hostile in HOSTILE {
        let mut document = sample();
        document.record.summary = Some(hostile.to_owned());
        document.host = hostile.to_owned();
        document.session.task = Some(hostile.to_owned());
        let patch = format!(
            "diff --git a/{hostile} b/{hostile}\n--- a/x\n+++ b/{hostile}\n@@ -1 +1 @@\n-{hostile}\n+{hostile}\n"
        );
        let messages = [
            message(Role::User, hostile),
            message(Role::Assistant, hostile),
            message(Role::Tool, hostile),
        ];
        let made = page(&document, &messages, &patch);
        for tag in tags(&made) {
            let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap_or_default();
            assert!(!matches!(name, "script" | "img" | "iframe" | "object" | "a\""), "{tag}");
            assert!(
                !tag.contains("onmouseover=\"") && !tag.contains("onload=\"") && !tag.contains("onerror=\""),
                "{tag}"
            );
            assert!(!tag.contains("href=\"javascript:"), "{tag}");
        }
        assert_eq!(made.matches("<style>").count(), 1);
        assert!(!made.contains('\u{202e}') && !made.contains('\u{1b}'));
        assert!(made.len() > plain.len());
    }
}

#[test]
fn the_policy_names_the_style_and_nothing_is_asked_for() {
    let made = page(&sample(), &[], "");
    assert!(
        made.contains("default-src &#39;none&#39;") || made.contains("default-src 'none'"),
        "{made}"
    );
    for tag in tags(&made) {
        assert!(!tag.contains("://") && !tag.contains(" src="), "{tag}");
    }
    for forbidden in ["@import", "url(", "<link", "<script"] {
        assert!(!made.contains(forbidden), "{forbidden}");
    }
    assert!(made.contains("<html lang=\"en\">") && made.contains("<main"));
}

#[test]
fn the_latest_turns_of_a_long_chat_are_shown_and_the_rest_is_counted() {
    let text = "x".repeat(MESSAGE_LIMIT);
    let turns = CHAT_LIMIT / MESSAGE_LIMIT + 10;
    let messages: Vec<Message> = (0..turns)
        .map(|n| message(Role::User, &format!("turn {n} {text}")))
        .collect();
    let made = page(&sample(), &messages, "");
    assert!(made.contains(&format!("turn {}", turns - 1)) && !made.contains("turn 0 "));
    assert!(made.contains("turns are left out"));
    assert!(made.len() < 15_000_000, "{}", made.len());
}

#[test]
fn fork_points_are_drawn_with_the_chosen_option() {
    let option = |key: &str| ForkOption {
        key: key.to_owned(),
        title: format!("way {key}"),
        pros: Vec::new(),
        cons: Vec::new(),
        files: Vec::new(),
        unknown: serde_json::Map::new(),
    };
    let mut fork: ForkPoint = serde_json::from_value(serde_json::json!({
        "id": "aaaa", "at": "2026-01-02T03:04:05Z", "by": "ana", "title": "which parser", "chosen": "b",
    }))
    .expect("a fork point");
    fork.options = vec![option("a"), option("b")];
    let mut document = sample();
    document.record.fork_points = vec![fork];
    let made = page(&document, &[], "");
    assert!(made.contains("b: way b (chosen)") && made.contains("a: way a<"));
    assert_eq!(made.matches("<circle").count(), 3);
}

#[test]
fn a_patch_is_split_into_its_files() {
    let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-x\n+y\n+z\ndiff --git a/c b/c\ndeleted file mode 100644\n--- a/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    let (files, more) = files(patch.as_bytes());
    let found: Vec<_> = files
        .iter()
        .map(|file| (file.path.as_str(), file.added, file.removed))
        .collect();
    assert_eq!((found, more), (vec![("a", 2, 1), ("c", 0, 1)], 0));
}
