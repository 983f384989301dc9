//! Registration of the tool server with coding agents: each agent has a command of its own for that, which knows its
//! configuration and keeps the rest of it.

use std::path::{Path, PathBuf};

/// The name of the server in the agents' configurations.
pub const SERVER: &str = "git-checkpoint";

/// How an agent registers the server.
#[derive(Clone, Copy, Debug)]
pub struct ServerCommands {
    /// The agent's name on the command line.
    pub agent: &'static str,
    /// The words behind its program that add a server; `@PROGRAM@` is replaced by the path of this program.
    add: &'static [&'static str],
    /// The words that remove it; `None` where the agent has no such command.
    remove: Option<&'static [&'static str]>,
    /// Files in the home directory that hold its servers, without its variable.
    files: &'static [&'static str],
    /// The same below the directory that its variable names.
    moved: &'static str,
}

/// The agents that know tool servers.
const COMMANDS: &[ServerCommands] = &[
    ServerCommands {
        agent: "claude-code",
        add: &["mcp", "add", "--scope", "user", SERVER, "--", "@PROGRAM@", "mcp"],
        remove: Some(&["mcp", "remove", "--scope", "user", SERVER]),
        files: &[".claude.json"],
        moved: ".claude.json",
    },
    ServerCommands {
        agent: "codex",
        add: &["mcp", "add", SERVER, "--", "@PROGRAM@", "mcp"],
        remove: Some(&["mcp", "remove", SERVER]),
        files: &[".codex/config.toml"],
        moved: "config.toml",
    },
    ServerCommands {
        agent: "copilot",
        add: &["mcp", "add", SERVER, "--", "@PROGRAM@", "mcp"],
        remove: Some(&["mcp", "remove", SERVER]),
        files: &[".copilot/mcp-config.json"],
        moved: "mcp-config.json",
    },
    ServerCommands {
        agent: "gemini",
        add: &["mcp", "add", "--scope", "user", SERVER, "@PROGRAM@", "mcp"],
        remove: Some(&["mcp", "remove", "--scope", "user", SERVER]),
        files: &[".gemini/settings.json"],
        moved: "settings.json",
    },
    ServerCommands {
        agent: "qwen",
        add: &["mcp", "add", "--scope", "user", SERVER, "@PROGRAM@", "mcp"],
        remove: Some(&["mcp", "remove", "--scope", "user", SERVER]),
        files: &[".qwen/settings.json"],
        moved: "settings.json",
    },
    ServerCommands {
        agent: "opencode",
        add: &["mcp", "add", SERVER, "--", "@PROGRAM@", "mcp"],
        remove: None,
        files: &[".config/opencode/opencode.jsonc", ".config/opencode/opencode.json"],
        moved: "opencode.json",
    },
];

/// The commands of an agent; `None` for one that knows no tool servers.
pub fn commands(agent: &str) -> Option<&'static ServerCommands> {
    COMMANDS.iter().find(|commands| commands.agent == agent)
}

impl ServerCommands {
    /// The words that add the server, which is this program.
    pub fn add(&self, program: &str) -> Vec<String> {
        let word = |word: &&str| if *word == "@PROGRAM@" { program } else { *word }.to_owned();
        self.add.iter().map(word).collect()
    }

    /// The words that remove it.
    pub fn remove(&self) -> Option<Vec<String>> {
        Some(self.remove?.iter().map(|word| (*word).to_owned()).collect())
    }

    /// The files that hold the agent's servers, for a home directory and the value of the agent's variable.
    pub fn files(&self, home: &Path, moved: Option<&str>) -> Vec<PathBuf> {
        match moved.filter(|path| !path.is_empty()) {
            Some(directory) => vec![Path::new(directory).join(self.moved)],
            None => self.files.iter().map(|file| home.join(file)).collect(),
        }
    }
}

/// Whether a configuration has the server.
pub fn is_registered(configuration: &str) -> bool {
    let plain: String = configuration.chars().filter(|c| !c.is_whitespace()).collect();
    plain.contains(&format!("\"{SERVER}\":{{")) || plain.contains(&format!("[mcp_servers.{SERVER}]"))
}

/// Whether a configuration that has the server starts this program. Paths are compared as JSON and TOML write them.
pub fn starts(configuration: &str, program: &str) -> bool {
    is_registered(configuration) && configuration.contains(&serde_json::Value::from(program).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_is_told_the_program_and_its_word() {
        for commands in COMMANDS {
            let add = commands.add("/a b/git-checkpoint");
            assert_eq!(
                add[add.len() - 2..],
                ["/a b/git-checkpoint", "mcp"],
                "{}",
                commands.agent
            );
            assert!(add.iter().any(|word| word == SERVER), "{}", commands.agent);
            assert!(crate::agents::hooks::adapter::named(commands.agent).is_some());
        }
        assert!(commands("pi").is_none());
    }

    #[test]
    fn configurations_are_recognized_as_the_agents_write_them() {
        let json = "{\n \"mcpServers\": {\n \"git-checkpoint\" : {\"command\": \"/x/y\", \"args\": [\"mcp\"]}}}";
        let toml = "[mcp_servers.git-checkpoint]\ncommand = \"/x/y\"\nargs = [\"mcp\"]\n";
        for text in [json, toml] {
            assert!(
                is_registered(text) && starts(text, "/x/y") && !starts(text, "/x/z"),
                "{text}"
            );
        }
        for text in ["", "{}", "{\"hooks\": [\"git-checkpoint\"]}", "command = \"/x/y\""] {
            assert!(!is_registered(text) && !starts(text, "/x/y"), "{text}");
        }
    }
}
