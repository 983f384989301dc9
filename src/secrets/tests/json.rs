//! JSON values: names as context, names as secrets, what is left alone, pointers.

use serde_json::{Value, json};

use super::super::{JsonFinding, OwnRule, RedactionMode, RedactionSettings, Scanner, Severity};
use super::{make, scanner};

fn redact(template: &str, seed: u64) -> (Value, Vec<JsonFinding>) {
    let mut value: Value = serde_json::from_str(&make(template, seed).text).unwrap();
    let found = scanner().redact_json(&mut value);
    let again = scanner().redact_json(&mut value.clone());
    assert!(again.iter().all(|finding| !finding.replaced), "again: {again:?}");
    (value, found)
}

fn places(found: &[JsonFinding]) -> Vec<(&str, &str)> {
    found
        .iter()
        .filter(|finding| finding.replaced)
        .map(|finding| (finding.pointer.as_str(), finding.kind.as_ref()))
        .collect()
}

#[test]
fn strings_at_any_depth_are_redacted() {
    let (value, found) = redact(
        r#"{"a": [1, {"b/c~d": "x ghp_{w36} y"}], "n": 1.50, "t": "AKIA{L16}", "ok": null}"#,
        1,
    );
    assert_eq!(
        value.to_string(),
        r#"{"a":[1,{"b/c~d":"x [REDACTED:github-token] y"}],"n":1.50,"t":"[REDACTED:aws-access-key-id]","ok":null}"#
    );
    assert_eq!(
        places(&found),
        [("/a/1/b~1c~0d", "github-token"), ("/t", "aws-access-key-id")]
    );
    assert_eq!(found[0].range, 2..42);
    assert_eq!(found[0].to_string(), "github-token at '/a/1/b~1c~0d'");
    let mut text = Value::String(make("ghp_{w36}", 1).text);
    assert_eq!(scanner().redact_json(&mut text)[0].pointer, "");
    assert_eq!(text, "[REDACTED:github-token]");
}

#[test]
fn the_name_of_a_member_tells_what_its_value_is() {
    for (template, pointer, kind) in [
        (
            r#"{"aws_secret_access_key": "{w40}"}"#,
            "/aws_secret_access_key",
            "aws-secret-access-key",
        ),
        (
            r#"{"SecretAccessKey": "{w40}"}"#,
            "/SecretAccessKey",
            "aws-secret-access-key",
        ),
        (
            r#"{"headers": {"Authorization": "Bearer {w30}"}}"#,
            "/headers/Authorization",
            "bearer-token",
        ),
        (
            r#"{"Authorization": ["Basic {w20}"]}"#,
            "/Authorization/0",
            "basic-auth",
        ),
        (
            r#"{"env": [{"name": "HEROKU_API_KEY", "value": "{U}"}]}"#,
            "/env/0/value",
            "heroku-api-key",
        ),
        (
            r#"{"name": "X-Vault-Token", "value": "{w30}"}"#,
            "/value",
            "http-header-token",
        ),
        (
            r#"{"auths": {"r.example": {"auth": "dXNl|cm5hbWU6aHVudGVyMjI="}}}"#,
            "/auths/r.example/auth",
            "docker-registry-auth",
        ),
        (r#"{"kty": "EC", "d": "{u43}"}"#, "/d", "jwk-private-key"),
        (r#"{"refresh_token": "{w40}"}"#, "/refresh_token", "oauth-token"),
        (r#"{"DD_API_KEY": "{h32}"}"#, "/DD_API_KEY", "datadog-key"),
    ] {
        let (_, found) = redact(template, 3);
        assert_eq!(places(&found), [(pointer, kind)], "{template}");
    }
    // The same values without their names.
    let (value, found) = redact(r#"{"a": "{h40}", "b": "{h32}", "c": "{U}"}"#, 3);
    assert_eq!(found, [], "{value}");
}

#[test]
fn names_of_members_are_redacted_in_order_and_none_is_lost() {
    let (value, found) = redact(
        r#"{"x": 1, "ghp_{w36}": 2, "y": 3, "ghp_{w37}": {"deep": "AKIA{L16}"}, "z": 5}"#,
        1,
    );
    assert_eq!(
        value.to_string(),
        r#"{"x":1,"[REDACTED:github-token]":2,"y":3,"[REDACTED:github-token] (2)":{"deep":"[REDACTED:aws-access-key-id]"},"z":5}"#
    );
    assert!(found[0].in_name && found[1].in_name && !found[2].in_name);
    assert_eq!(found[2].pointer, "/[REDACTED:github-token]/deep");
    assert_eq!(
        found[0].to_string(),
        "github-token in the name of '/[REDACTED:github-token]'"
    );
}

#[test]
fn images_signatures_and_ids_stay() {
    let (_, found) = redact(
        r#"{"uuid": "{U}", "message": {"id": "msg_01{w22}", "content": [
            {"type": "thinking", "thinking": "x", "signature": "EqQB{b400}=="},
            {"type": "redacted_thinking", "data": "{b400}"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo{b900}/AKIA{L16}/{b90}"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo{b600}"}},
            {"inlineData": {"mimeType": "image/png", "data": "{b400}"}},
            {"type": "reasoning", "encrypted_content": "gAAAAAB{u400}-eyJ{w40}.{w9}"}
        ]}, "requestId": "req_{w30}", "session_id": "{w32}", "sha": "{h40}", "etag": "{w32}"}"#,
        1,
    );
    assert_eq!(found, []);
    // A token in their place is no image and no signature.
    let (_, found) = redact(
        r#"{"signature": "ghp_{w80}", "type": "base64", "data": "AKIA{L16}", "id": "glpat-{w20}"}"#,
        1,
    );
    assert_eq!(
        places(&found),
        [
            ("/signature", "github-token"),
            ("/data", "aws-access-key-id"),
            ("/id", "gitlab-token")
        ]
    );
}

#[test]
fn json_inside_json_is_understood() {
    let inner = make(r#"{"Authorization": "Bearer {w30}", "AccountKey": "{b86}=="}"#, 4);
    let mut value = json!({ "arguments": inner.text, "escaped": inner.text.replace('"', "\\\"") });
    let found = scanner().redact_json(&mut value);
    assert_eq!(places(&found).len(), 4, "{value}");
    assert!(
        inner.parts.iter().all(|part| !value.to_string().contains(part)),
        "{value}"
    );
}

#[test]
fn warn_mode_leaves_the_value_and_hides_secrets_in_pointers() {
    let mut value: Value = serde_json::from_str(&make(r#"{"ghp_{w36}": "AKIA{L16}"}"#, 1).text).unwrap();
    let before = value.clone();
    let warn = Scanner::new(&RedactionSettings {
        mode: RedactionMode::Warn,
        ..RedactionSettings::default()
    })
    .unwrap();
    let found = warn.redact_json(&mut value);
    assert_eq!(value, before);
    assert_eq!(found.len(), 2);
    assert!(
        found
            .iter()
            .all(|finding| !finding.replaced && finding.severity == Severity::Secret)
    );
    assert!(
        found
            .iter()
            .all(|finding| finding.pointer == "/[REDACTED:github-token]"),
        "{found:?}"
    );
}

#[test]
fn own_rules_see_the_value_alone() {
    let rules = vec![OwnRule {
        kind: "code".to_owned(),
        pattern: "^[0-9]{6}$".to_owned(),
    }];
    let scanner = Scanner::new(&RedactionSettings {
        rules,
        ..RedactionSettings::default()
    })
    .unwrap();
    let mut value = json!({ "otp": "123456", "n": 123_456, "text": "at 123456" });
    scanner.redact_json(&mut value);
    assert_eq!(
        value,
        json!({ "otp": "[REDACTED:code]", "n": 123_456, "text": "at 123456" })
    );
}
