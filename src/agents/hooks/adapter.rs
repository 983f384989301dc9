//! How an agent is made to call this program: the form of its settings, and what we put there.

mod table;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use table::ADAPTERS;

use super::{
    event::Occasion,
    settings::{HookGroup, JsonRules},
};

/// How an agent is made to call this program, and what it takes back.
#[derive(Clone, Copy, Debug)]
pub struct Adapter {
    /// The name on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Its program, by which it is found in `PATH`.
    pub program: &'static str,
    /// The variable that moves its directory of settings, if it has one.
    pub variable: Option<&'static str>,
    /// Its directory of settings in the home directory.
    pub directory: &'static str,
    /// The file below that directory in which hooks are configured.
    pub file: &'static str,
    /// The file below the root of a working tree in which a project configures hooks.
    pub project: &'static str,
    /// The directory of commands that people type after a slash, below the directory of settings, and their form.
    pub commands: Option<(&'static str, CommandForm)>,
    /// Form of the file of hooks.
    pub place: Place,
    /// The agent's events that are registered, and what each one means.
    pub events: &'static [(&'static str, Occasion)],
    /// Where and how context is injected.
    pub injection: Injection,
    /// The gate that the agent puts before hooks in the user's settings.
    pub trust: TrustGate,
}

/// A gate before hooks, and the step by which a person opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustGate {
    /// None: hooks in the user's settings run in every directory.
    None,
    /// Each hook is trusted by itself, and again whenever it changes or moves.
    EachHook {
        /// The step.
        step: &'static str,
    },
    /// Hooks run in trusted directories alone.
    Directory {
        /// The step.
        step: &'static str,
    },
}

impl TrustGate {
    /// The step, if there is a gate.
    pub fn step(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::EachHook { step } | Self::Directory { step } => Some(step),
        }
    }
}

/// Form of a file with a command that people type after a slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandForm {
    /// Markdown with a head in YAML.
    Markdown,
    /// TOML with a member `prompt`.
    Toml,
}

/// Form of the file of hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The user's settings, which get our groups. Timeouts are in units of this many to the second.
    Settings {
        /// The rules of the agent's parser.
        rules: JsonRules,
        /// Units of a timeout in a second.
        timeout_unit: u64,
        /// Form of a hook in the list of its event.
        form: HookForm,
    },
    /// A directory with an executable script for each event, under the event's name: the agent runs one file for each.
    Scripts,
    /// A file of our own in a directory that the agent reads.
    OwnJson,
    /// A plug-in of our own: its text, in which `@PROGRAM@` is replaced by the program's path as a JSON string.
    Plugin(&'static str),
}

/// Form of a hook in the list of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookForm {
    /// In a group: `{"hooks": [{"type": "command", "command": "..."}]}`.
    Group,
    /// By itself: `{"command": "..."}`.
    Entry,
}

/// The form in which an agent takes context from a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// It takes none before the model is asked.
    None,
    /// A top-level `additional_context` at this occasion.
    Underscored(Occasion),
    /// `hookSpecificOutput.additionalContext` at this occasion.
    Nested(Occasion),
    /// A top-level `additionalContext` at this occasion.
    Flat(Occasion),
}

/// The program as the files of a project name it: every clone finds its own in `PATH`.
pub const PROJECT_PROGRAM: &str = "git-checkpoint";

/// End of a command that is to succeed in silence where the program is not installed.
const OPTIONAL: &str = " 2>/dev/null || :";

/// Seconds an agent waits for a hook. Generous: the hook itself detaches long before.
const TIMEOUT: u64 = 20;

/// The agent of this name.
pub fn named(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.name == name)
}

impl Adapter {
    /// The file of hooks, for a home directory and the value of [`Self::variable`].
    pub fn path(&self, home: &Path, moved: Option<&str>) -> PathBuf {
        self.directory(home, moved).join(self.file)
    }

    /// The agent's directory, for a home directory and the value of [`Self::variable`].
    pub fn directory(&self, home: &Path, moved: Option<&str>) -> PathBuf {
        moved
            .filter(|path| !path.is_empty())
            .map_or_else(|| home.join(self.directory), PathBuf::from)
    }

    /// Occasion of an event of this agent; `None` for one that is not registered.
    pub fn occasion(&self, event: &str) -> Option<Occasion> {
        self.events
            .iter()
            .find(|(name, _)| *name == event)
            .map(|(_, occasion)| *occasion)
    }

    /// The groups of hooks that call `program`.
    pub fn groups(&self, program: &str) -> Vec<HookGroup> {
        let (unit, form) = match self.place {
            Place::Settings { timeout_unit, form, .. } => (timeout_unit, form),
            Place::Scripts | Place::OwnJson | Place::Plugin(_) => (1, HookForm::Group),
        };
        let group = |event: &'static str| {
            let hook = json!({
                "type": "command",
                "command": self.command(program, event),
                "timeout": TIMEOUT * unit,
            });
            let value = match form {
                HookForm::Group => json!({ "hooks": [hook] }),
                HookForm::Entry => hook,
            };
            HookGroup { event, value }
        };
        self.events.iter().map(|(event, _)| group(event)).collect()
    }

    /// The whole text of a file of our own.
    pub fn own_file(&self, program: &str) -> Option<String> {
        match self.place {
            Place::Settings { .. } | Place::Scripts => None,
            Place::OwnJson => {
                let hooks: serde_json::Map<String, Value> = self
                    .events
                    .iter()
                    .map(|(event, _)| {
                        let hook = json!({
                            "type": "command", "bash": self.command(program, event), "timeoutSec": TIMEOUT,
                        });
                        ((*event).to_owned(), json!([hook]))
                    })
                    .collect();
                let text = serde_json::to_string_pretty(&json!({ "version": 1, "hooks": hooks }));
                Some(text.expect("a JSON value is serialized to memory") + "\n")
            }
            Place::Plugin(text) => Some(text.replace("@PROGRAM@", &Value::from(program).to_string())),
        }
    }

    /// The script of each event, where hooks are scripts.
    pub fn scripts(&self, program: &str) -> Vec<(&'static str, String)> {
        if self.place != Place::Scripts {
            return Vec::new();
        }
        let script = |event: &'static str| {
            let command = self.command(program, event);
            (event, format!("{}{command}\n", self.script_head()))
        };
        self.events.iter().map(|(event, _)| script(event)).collect()
    }

    /// The first lines of each script, by which it is recognized.
    fn script_head(&self) -> String {
        let name = self.name;
        format!("#!/bin/sh\n# Added by 'git checkpoint enable {name}', removed by 'git checkpoint disable {name}'.\n")
    }

    /// Whether a script is one of ours, wherever the program is.
    pub fn is_own_script(&self, text: &str) -> bool {
        text.starts_with(&self.script_head())
    }

    /// The shell command of an event. It never changes between versions: Codex would ask for trust again.
    fn command(&self, program: &str, event: &str) -> String {
        let line = format!("{} hook {} {event}", quoted(program), self.name);
        // A bare name is for the files of a project, which also those have who did not install the program.
        if program == PROJECT_PROGRAM {
            line + OPTIONAL
        } else {
            line
        }
    }

    /// Whether a group of hooks calls this program for this agent, wherever the program is.
    pub fn is_ours(&self, group: &Value) -> bool {
        let hooks = match self.place {
            Place::Settings {
                form: HookForm::Entry, ..
            } => std::slice::from_ref(group),
            _ => group
                .get("hooks")
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice),
        };
        let is_ours = |hook: &Value| {
            let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
            let command = command.strip_suffix(OPTIONAL).unwrap_or(command);
            let mut words = command.rsplitn(4, ' ');
            let (event, agent, word) = (words.next(), words.next(), words.next());
            let program = words.next().unwrap_or_default().trim_matches(['\'', '"']);
            event.is_some_and(|event| self.occasion(event).is_some())
                && agent == Some(self.name)
                && word == Some("hook")
                && Path::new(program)
                    .file_stem()
                    .is_some_and(|stem| stem == "git-checkpoint")
        };
        !hooks.is_empty() && hooks.iter().all(is_ours)
    }

    /// Output of the hook with which the agent's model sees `context`; `None` where it takes none at this occasion.
    pub fn injected(&self, event: &str, context: &str) -> Option<Value> {
        let occasion = self.occasion(event)?;
        match self.injection {
            Injection::Nested(at) if at == occasion => Some(json!({
                "hookSpecificOutput": { "hookEventName": event, "additionalContext": context },
            })),
            Injection::Flat(at) if at == occasion => Some(json!({ "additionalContext": context })),
            Injection::Underscored(at) if at == occasion => Some(json!({ "additional_context": context })),
            _ => None,
        }
    }

    /// Whether context is injected at this event.
    pub fn injects_at(&self, event: &str) -> bool {
        match self.injection {
            Injection::None => false,
            Injection::Nested(at) | Injection::Flat(at) | Injection::Underscored(at) => {
                self.occasion(event) == Some(at)
            }
        }
    }
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_recognized_by_its_agent_alone() {
        for program in [
            "/usr/bin/git-checkpoint",
            "/home/a b/it's/git-checkpoint",
            "git-checkpoint",
        ] {
            for adapter in ADAPTERS {
                for group in adapter.groups(program) {
                    for other in ADAPTERS {
                        assert_eq!(
                            other.is_ours(&group.value),
                            other.name == adapter.name,
                            "{program} {} {}",
                            adapter.name,
                            group.event
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn groups_of_others_are_not_ours() {
        let adapter = named("claude-code").expect("listed");
        for command in [
            "echo git-checkpoint hook claude-code Stop",
            "/x/git-checkpoint hook claude-code PreToolUse",
            "/x/git-checkpoint hooks run post-commit",
            "/x/not-git-checkpoint-at-all hook claude-code Stop",
            "",
        ] {
            let group = json!({ "hooks": [{ "type": "command", "command": command }] });
            assert!(!adapter.is_ours(&group), "{command}");
        }
        assert!(!adapter.is_ours(&json!({ "hooks": [] })));
        assert!(!adapter.is_ours(&json!("git-checkpoint hook claude-code Stop")));
    }

    #[test]
    fn scripts_are_recognized_and_call_the_program() {
        let adapter = named("cline").expect("listed");
        for program in ["/opt/it's/git-checkpoint", PROJECT_PROGRAM] {
            let scripts = adapter.scripts(program);
            assert_eq!(scripts.len(), adapter.events.len());
            for (event, text) in scripts {
                assert!(
                    adapter.is_own_script(&text) && text.contains(&format!(" hook cline {event}")),
                    "{text}"
                );
                assert_eq!(
                    text.ends_with(" 2>/dev/null || :\n"),
                    program == PROJECT_PROGRAM,
                    "{text}"
                );
            }
        }
        assert!(!adapter.is_own_script("#!/bin/sh\ngit-checkpoint hook cline TaskStart\n"));
        assert!(named("claude-code").is_some_and(|claude| claude.scripts("x").is_empty()));
    }

    #[test]
    fn files_of_our_own_hold_the_program() {
        for adapter in ADAPTERS {
            let text = adapter.own_file("/opt/a \"b\"/git-checkpoint");
            match adapter.place {
                Place::Settings { .. } | Place::Scripts => assert_eq!(text, None),
                Place::OwnJson => {
                    let value: Value = serde_json::from_str(&text.expect("a file")).expect("JSON");
                    assert_eq!(
                        value["hooks"].as_object().map(serde_json::Map::len),
                        Some(adapter.events.len())
                    );
                }
                Place::Plugin(_) => {
                    let text = text.expect("a file");
                    assert!(
                        text.contains(r#""/opt/a \"b\"/git-checkpoint""#) && !text.contains('@'),
                        "{text}"
                    );
                }
            }
        }
    }
}
