//! Settings that are edited and come back.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const PLAIN: JsonRules = JsonRules {
    comments: false,
    byte_order_mark: true,
    version: None,
};
const VERSIONED: JsonRules = JsonRules {
    version: Some(1),
    ..PLAIN
};
const COMMENTED: JsonRules = JsonRules {
    comments: true,
    byte_order_mark: false,
    version: None,
};

fn groups() -> Vec<HookGroup> {
    let group = |event| HookGroup {
        event,
        value: json!({ "hooks": [{ "type": "command", "command": format!("git-checkpoint hook x {event}") }] }),
    };
    vec![group("SessionStart"), group("UserPromptSubmit"), group("Stop")]
}

fn is_ours(value: &Value) -> bool {
    value.to_string().contains("git-checkpoint hook")
}

fn round_trip(text: &str, rules: JsonRules) -> String {
    let once = with_groups(Some(text), rules, &groups(), &is_ours).expect(text);
    let twice = with_groups(Some(&once), rules, &groups(), &is_ours).expect("own output");
    assert_eq!(twice, once, "a second edit changes nothing");
    let events = events_of_ours(&once, rules, &is_ours).expect("own output");
    assert_eq!(events.len(), 3, "{once}");
    let back = without_groups(&once, rules, &is_ours).expect("own output");
    assert_eq!(back.as_deref(), Some(text), "{once}");
    once
}

#[test]
fn an_edit_and_its_removal_leave_the_bytes() {
    for text in [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "{\r\n}\r\n",
        "{\"model\": \"opus\"}",
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n\t\"model\": \"opus\",\n\t\"hooks\": {}\n}",
        "{\r\n    \"hooks\": {\r\n    },\r\n    \"x\": [1, 2]\r\n}\r\n",
        "{\"hooks\":{\"Stop\":[]}}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [] }\n    ]\n  }\n}\n",
        "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": []}]\n  }\n}\n",
        "\u{feff}{\n  \"a\": null\n}\n",
        "{\n\n  \"a\": 1,\n\n  \"b\": {\"hooks\": 3}\n\n}\n\n",
    ] {
        round_trip(text, PLAIN);
        let once = round_trip(text, VERSIONED);
        let has_hooks = value(text).is_some_and(|value| value.get("hooks").is_some());
        assert_eq!(
            value(&once).and_then(|value| value["version"].as_u64()) == Some(1),
            !has_hooks,
            "{once}"
        );
    }
}

#[test]
fn a_version_of_the_users_stays() {
    for text in [
        "{\"version\": 1}",
        "{\n  \"version\": 1\n}\n",
        "{\"hooks\": {}, \"version\": 1}",
        "{\"hooks\": {\"Stop\": []}, \"version\": 1}",
        "{\"version\": 2, \"hooks\": {\"Stop\": [{\"command\": \"x\"}]}}",
        "{\"hooks\": {\"Stop\": [{\"command\": \"x\"}]}}",
    ] {
        let once = round_trip(text, VERSIONED);
        assert_eq!(
            once.matches("version").count(),
            text.matches("version").count(),
            "{once}"
        );
    }
    let fresh = with_groups(None, VERSIONED, &groups(), &is_ours).expect("fresh");
    let value: Value = serde_json::from_str(&fresh).expect("JSON");
    assert_eq!(value["version"], 1);
    assert_eq!(without_groups(&fresh, VERSIONED, &is_ours).expect("own"), None);
}

#[test]
fn comments_stay_where_they_are() {
    let text = "// mine\n{\n  /* a */ \"a\": 1, // one\n  \"b\": 2 // two, with a comma\n  // the end\n}\n// after\n";
    let once = round_trip(text, COMMENTED);
    assert!(once.contains("\"b\": 2, // two, with a comma\n  \"hooks\""), "{once}");
    round_trip("{ /* nothing */ }", COMMENTED);
    round_trip("{\"hooks\": {\"Stop\": [ // none\n]}}", COMMENTED);
}

#[test]
fn a_file_of_our_own_goes_again() {
    let text = with_groups(None, PLAIN, &groups(), &is_ours).expect("fresh");
    assert!(
        text.starts_with("{\n  \"hooks\": {\n    \"SessionStart\": [\n"),
        "{text}"
    );
    assert_eq!(without_groups(&text, PLAIN, &is_ours).expect("own"), None);
    assert_eq!(with_groups(Some(&text), PLAIN, &groups(), &is_ours).expect("own"), text);
}

#[test]
fn an_older_group_is_updated_in_place() {
    let text = "{\"hooks\": {\"Stop\": [{\"hooks\": [\"git-checkpoint hook old\"]}, {\"hooks\": []}]}}";
    let edited = with_groups(Some(text), PLAIN, &groups()[2..], &is_ours).expect("edited");
    let value: Value = serde_json::from_str(&edited).expect("JSON");
    let stop = value["hooks"]["Stop"].as_array().expect("a list");
    assert_eq!((stop.len(), &stop[0]), (2, &groups()[2].value), "{edited}");
}

#[test]
fn groups_between_those_of_others_are_removed() {
    let ours = "{\"hooks\": [\"git-checkpoint hook\"]}";
    let text = format!("{{\"hooks\": {{\"Stop\": [1, {ours}, 2], \"Other\": [{ours}, 3]}}}}");
    let back = without_groups(&text, PLAIN, &is_ours).expect("removed");
    assert_eq!(back.as_deref(), Some("{\"hooks\": {\"Stop\": [1, 2], \"Other\": [3]}}"));
}

#[test]
fn a_file_that_the_agent_cannot_read_is_refused() {
    for text in [
        "",
        "[]",
        "{",
        "{\"a\": 1,}",
        "{\"a\" 1}",
        "{'a': 1}",
        "{a: 1}",
        "null",
        "{\"a\": 01}",
        "{} x",
        "// c\n{}",
        "{\"hooks\": [1]}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{\"hooks\": {}, \"hooks\": {}}",
        "{\"hooks\": {\"Stop\": [], \"Stop\": []}}",
    ] {
        let edited = with_groups(Some(text), PLAIN, &groups(), &is_ours);
        assert!(edited.is_err(), "{text:?} gave {edited:?}");
    }
    assert!(with_groups(Some("\u{feff}{}"), COMMENTED, &groups(), &is_ours).is_err());
}

/// Settings as people and programs lay them out: values, white space and comments at random.
fn settings() -> impl Strategy<Value = String> {
    let space = prop_oneof![
        Just(String::new()),
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("\n  ".to_owned()),
        Just("\r\n\t".to_owned()),
        Just(" // note, {[\n  ".to_owned()),
        Just("/* \"hooks\": [ */".to_owned()),
    ];
    let value = prop_oneof![
        Just("1".to_owned()),
        Just("\"a \\\"b\\\" { } [ ] , // c\"".to_owned()),
        Just("{}".to_owned()),
        Just("[ ]".to_owned()),
        Just("[{\"hooks\": []}]".to_owned()),
        Just("{\"x\":[1,2,{\"y\":null}]}".to_owned()),
    ];
    let list = prop::collection::vec((space.clone(), value.clone(), space.clone()), 0..3).prop_map(|items| {
        let items: Vec<_> = items.into_iter().map(|(a, v, b)| format!("{a}{v}{b}")).collect();
        format!("[{}]", items.join(","))
    });
    let events = prop::sample::subsequence(vec!["SessionStart", "Stop", "PreToolUse"], 0..3);
    let hooks = (
        events,
        prop::collection::vec((space.clone(), list, space.clone()), 3),
        space.clone(),
    )
        .prop_map(|(events, lists, inner)| {
            let members: Vec<_> = events
                .iter()
                .zip(lists)
                .map(|(name, (a, list, b))| format!("{a}\"{name}\":{b}{list}"))
                .collect();
            format!("{{{}{inner}}}", members.join(","))
        });
    let member = (space.clone(), value, space.clone());
    (
        prop::collection::vec(member, 0..4),
        prop::option::of(hooks),
        any::<bool>(),
        space.clone(),
        space,
    )
        .prop_map(|(members, hooks, first, inner, end)| {
            let mut all: Vec<String> = members
                .into_iter()
                .enumerate()
                .map(|(n, (a, value, b))| format!("{a}\"m{n}\"{b}:{value}"))
                .collect();
            if let Some(hooks) = hooks {
                all.insert(if first { 0 } else { all.len() }, format!("\"hooks\": {hooks}"));
            }
            format!("{{{}{inner}}}{end}", all.join(","))
        })
}

proptest! {
    #[test]
    fn any_settings_come_back(text in settings()) {
        prop_assume!(parse(&text, COMMENTED).is_ok());
        round_trip(&text, COMMENTED);
    }

    #[test]
    fn damaged_settings_never_panic(text in settings(), cut in any::<prop::sample::Index>(), with in "\\PC?") {
        let at = cut.index(text.len() + 1);
        let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let text = format!("{}{with}", &text[..at]);
        if let Ok(edited) = with_groups(Some(&text), COMMENTED, &groups(), &is_ours) {
            let _ = without_groups(&edited, COMMENTED, &is_ours);
        }
    }
}
