//! Gates that agents put before hooks: whether an agent runs ours, by the files in which it keeps what its user trusts.

use std::path::Path;

use serde_json::Value;

use super::setup;
use crate::{
    agents::hooks::{
        adapter::{Adapter, Place, TrustGate},
        settings::{self, HookPlace},
    },
    os,
};

/// The largest file that is read.
const SIZE: u64 = 4 << 20;

/// The place in which an agent is about to work.
#[derive(Clone, Copy, Debug)]
pub struct TrustPlace<'a> {
    /// The agent's file of hooks.
    pub file: &'a Path,
    /// The agent's directory of settings.
    pub directory: &'a Path,
    /// The working tree.
    pub root: &'a Path,
    /// Whether a variable of the environment trusts every directory.
    pub trusts_all: bool,
}

/// Step that a person has to take in the agent before it runs the hooks; `None` where none is known to be needed.
pub fn missing(adapter: &Adapter, place: &TrustPlace<'_>) -> Option<String> {
    match adapter.trust {
        TrustGate::None => None,
        TrustGate::EachHook { step } => {
            let ours = ours(adapter, place.file);
            let config = text(&place.directory.join("config.toml")).unwrap_or_default();
            let trusted = trusted_hooks(&config);
            let file = place.file.to_string_lossy();
            let is_trusted = |hook: &&HookPlace| {
                let event = snake(&hook.event);
                trusted.contains(&format!("{file}:{event}:{}:0", hook.index))
            };
            let count = ours.iter().filter(is_trusted).count();
            match count {
                _ if count == ours.len() => None,
                0 => Some(step.to_owned()),
                _ => Some(format!("{step}; {} of {} are trusted", count, ours.len())),
            }
        }
        TrustGate::Directory { step } => {
            let enabled =
                text(place.file).and_then(|text| settings::boolean(&text, &["security", "folderTrust", "enabled"]));
            if place.trusts_all || enabled == Some(false) {
                return None;
            }
            let rules = text(&place.directory.join("trustedFolders.json"));
            let rules = rules.and_then(|text| settings::value(&text));
            (!is_trusted_directory(rules.as_ref(), place.root)).then(|| step.to_owned())
        }
    }
}

fn ours(adapter: &Adapter, file: &Path) -> Vec<HookPlace> {
    let Place::Settings { rules, .. } = adapter.place else {
        return Vec::new();
    };
    let is_ours = |group: &Value| adapter.is_ours(group);
    let text = setup::read(file).ok().flatten();
    text.and_then(|text| settings::places_of_ours(&text, rules, &is_ours).ok())
        .unwrap_or_default()
}

fn text(path: &Path) -> Option<String> {
    let (_, size) = os::open_regular_sized(path).ok()?;
    if size > SIZE {
        return None;
    }
    String::from_utf8(os::read_regular(path).ok()?).ok()
}

/// The hooks that Codex trusts, as `FILE:EVENT:GROUP:HOOK`: each is a table of its `config.toml`.
fn trusted_hooks(config: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut open: Option<String> = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            open = line
                .strip_prefix("[hooks.state.")
                .and_then(|rest| {
                    rest.split_once(']')
                        .map_or(Some(rest), |_| rest.rsplit_once(']').map(|(key, _)| key))
                })
                .and_then(key);
        } else if line.starts_with("trusted_hash") {
            out.extend(open.take());
        }
    }
    out
}

/// A quoted key of TOML.
fn key(quoted: &str) -> Option<String> {
    if let Some(plain) = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Some(plain.to_owned());
    }
    // Its escapes are those of JSON, but for a long form of Unicode escapes.
    serde_json::from_str(quoted).ok()
}

fn snake(event: &str) -> String {
    let mut out = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// Whether the rule with the longest path that a directory lies below trusts it.
fn is_trusted_directory(rules: Option<&Value>, root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    let Some(Value::Object(rules)) = rules else {
        return false;
    };
    let rule = rules
        .iter()
        .filter(|(path, trust)| {
            let path = Path::new(path);
            let path = if trust.as_str() == Some("TRUST_PARENT") {
                path.parent().unwrap_or(path)
            } else {
                path
            };
            root.starts_with(real(path))
        })
        .max_by_key(|(path, _)| path.len());
    rule.is_some_and(|(_, trust)| matches!(trust.as_str(), Some("TRUST_FOLDER" | "TRUST_PARENT")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hooks_are_trusted_by_file_event_and_place() {
        let config = "model = \"m\"\n[hooks.state]\n\n[hooks.state.\"/h/a b/hooks.json:pre_compact:0:0\"]\n\
                      trusted_hash = \"sha256:00\"\n[hooks.state.'/h/it:stop:1:0']\nenabled = false\ntrusted_hash = 'x'\n\
                      [hooks.state.\"/h/\\\"q\\\"]:stop:2:0\"]\nenabled = true\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n";
        assert_eq!(
            trusted_hooks(config),
            ["/h/a b/hooks.json:pre_compact:0:0", "/h/it:stop:1:0"]
        );
        assert!(trusted_hooks("[hooks.state.").is_empty() && trusted_hooks("").is_empty());
        assert_eq!(snake("UserPromptSubmit"), "user_prompt_submit");
    }

    #[test]
    fn the_longest_rule_decides() {
        let rules = json!({
            "/w": "TRUST_FOLDER", "/w/secret": "DO_NOT_TRUST", "/v/one": "TRUST_PARENT", "/u": "SOMETHING",
        });
        let is_trusted = |path: &str| is_trusted_directory(Some(&rules), Path::new(path));
        for path in ["/w", "/w/app", "/v/two"] {
            assert!(is_trusted(path), "{path}");
        }
        for path in ["/w/secret/app", "/wide", "/u", "/x"] {
            assert!(!is_trusted(path), "{path}");
        }
        assert!(!is_trusted_directory(None, Path::new("/w")));
        assert!(!is_trusted_directory(Some(&json!([])), Path::new("/w")));
    }
}
