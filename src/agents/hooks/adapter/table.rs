//! The table of agents whose hooks call this program. A new agent is one line of it, and a plug-in text if it needs one.

use super::{
    super::{event::Occasion, settings::JsonRules},
    Adapter, CommandForm, HookForm, Injection, Place, TrustGate,
};

const STRICT: JsonRules = JsonRules {
    comments: false,
    byte_order_mark: false,
    version: None,
};
const STRICT_WITH_MARK: JsonRules = JsonRules {
    byte_order_mark: true,
    ..STRICT
};
const WITH_COMMENTS: JsonRules = JsonRules {
    comments: true,
    ..STRICT
};
const STRICT_WITH_VERSION: JsonRules = JsonRules {
    version: Some(1),
    ..STRICT
};

/// Every agent, in the order in which they are listed.
pub const ADAPTERS: &[Adapter] = &[
    Adapter {
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        variable: Some("CLAUDE_CONFIG_DIR"),
        directory: ".claude",
        file: "settings.json",
        project: ".claude/settings.json",
        commands: Some(("commands", CommandForm::Markdown)),
        place: Place::Settings {
            rules: STRICT_WITH_MARK,
            timeout_unit: 1,
            form: HookForm::Group,
        },
        events: &[
            ("SessionStart", Occasion::SessionStart),
            ("UserPromptSubmit", Occasion::Prompt),
            ("Stop", Occasion::TurnEnd),
            ("PreCompact", Occasion::Compaction),
            ("SessionEnd", Occasion::SessionEnd),
        ],
        injection: Injection::Nested(Occasion::SessionStart),
        trust: TrustGate::None,
    },
    Adapter {
        name: "codex",
        title: "Codex",
        program: "codex",
        variable: Some("CODEX_HOME"),
        directory: ".codex",
        file: "hooks.json",
        project: ".codex/hooks.json",
        commands: None,
        place: Place::Settings {
            rules: STRICT,
            timeout_unit: 1,
            form: HookForm::Group,
        },
        events: &[
            ("SessionStart", Occasion::SessionStart),
            ("UserPromptSubmit", Occasion::Prompt),
            ("Stop", Occasion::TurnEnd),
            ("Interrupt", Occasion::Interruption),
            ("PreCompact", Occasion::Compaction),
            ("SessionEnd", Occasion::SessionEnd),
        ],
        injection: Injection::Nested(Occasion::SessionStart),
        trust: TrustGate::EachHook {
            step: "start codex once and choose 'Trust all' when it says that hooks need review",
        },
    },
    Adapter {
        name: "copilot",
        title: "Copilot CLI",
        program: "copilot",
        variable: Some("COPILOT_HOME"),
        directory: ".copilot",
        file: "hooks/git-checkpoint.json",
        project: ".github/hooks/git-checkpoint.json",
        commands: None,
        place: Place::OwnJson,
        events: &[
            ("sessionStart", Occasion::SessionStart),
            ("userPromptSubmitted", Occasion::Prompt),
            ("agentStop", Occasion::TurnEnd),
            ("errorOccurred", Occasion::Failure),
            ("preCompact", Occasion::Compaction),
            ("sessionEnd", Occasion::SessionEnd),
        ],
        injection: Injection::Flat(Occasion::SessionStart),
        trust: TrustGate::None,
    },
    Adapter {
        name: "gemini",
        title: "Gemini CLI",
        program: "gemini",
        variable: None,
        directory: ".gemini",
        file: "settings.json",
        project: ".gemini/settings.json",
        commands: Some(("commands", CommandForm::Toml)),
        place: Place::Settings {
            rules: WITH_COMMENTS,
            timeout_unit: 1000,
            form: HookForm::Group,
        },
        // PreCompress fires before every call of the model, and SessionStart names a wrong session file on a resume.
        events: &[
            ("BeforeAgent", Occasion::Prompt),
            ("AfterAgent", Occasion::TurnEnd),
            ("SessionEnd", Occasion::SessionEnd),
        ],
        // At SessionStart it would be in front of the user's words, and a resume drops such messages.
        injection: Injection::Nested(Occasion::Prompt),
        trust: TrustGate::Directory {
            step: "start gemini once in this directory and choose 'Trust folder'; elsewhere it runs no hooks",
        },
    },
    Adapter {
        name: "qwen",
        title: "Qwen Code",
        program: "qwen",
        variable: None,
        directory: ".qwen",
        file: "settings.json",
        project: ".qwen/settings.json",
        commands: Some(("commands", CommandForm::Toml)),
        place: Place::Settings {
            rules: JsonRules {
                byte_order_mark: true,
                ..WITH_COMMENTS
            },
            timeout_unit: 1,
            form: HookForm::Group,
        },
        events: &[
            ("SessionStart", Occasion::SessionStart),
            ("UserPromptSubmit", Occasion::Prompt),
            ("Stop", Occasion::TurnEnd),
            ("PreCompact", Occasion::Compaction),
        ],
        injection: Injection::Nested(Occasion::SessionStart),
        trust: TrustGate::None,
    },
    Adapter {
        name: "opencode",
        title: "OpenCode",
        program: "opencode",
        variable: None,
        directory: ".config/opencode",
        file: "plugins/git-checkpoint.js",
        project: ".opencode/plugins/git-checkpoint.js",
        commands: Some(("commands", CommandForm::Markdown)),
        place: Place::Plugin(include_str!("../opencode.js")),
        events: &[
            ("prompt", Occasion::Prompt),
            ("idle", Occasion::TurnEnd),
            ("compacting", Occasion::Compaction),
        ],
        injection: Injection::Flat(Occasion::Prompt),
        trust: TrustGate::None,
    },
    Adapter {
        name: "pi",
        title: "Pi",
        program: "pi",
        variable: None,
        directory: ".pi/agent",
        file: "extensions/git-checkpoint.js",
        project: ".pi/extensions/git-checkpoint.js",
        commands: Some(("prompts", CommandForm::Markdown)),
        place: Place::Plugin(include_str!("../pi.js")),
        events: &[
            ("before_agent_start", Occasion::Prompt),
            ("agent_settled", Occasion::TurnEnd),
            ("session_before_compact", Occasion::Compaction),
        ],
        injection: Injection::Flat(Occasion::Prompt),
        trust: TrustGate::None,
    },
    Adapter {
        name: "cline",
        title: "Cline",
        program: "cline",
        variable: None,
        // The command line and the editor's extension both read this one.
        directory: "Documents/Cline",
        file: "Hooks",
        project: ".clinerules/hooks",
        commands: None,
        place: Place::Scripts,
        // The command line reports a prompt by the start of a task alone, the extension in both ways.
        events: &[
            ("TaskStart", Occasion::Prompt),
            ("TaskResume", Occasion::Prompt),
            ("UserPromptSubmit", Occasion::Prompt),
            ("TaskComplete", Occasion::TurnEnd),
            ("TaskCancel", Occasion::Interruption),
            ("TaskError", Occasion::Failure),
        ],
        // It takes context after a call of a tool alone.
        injection: Injection::None,
        trust: TrustGate::None,
    },
    Adapter {
        name: "cursor",
        title: "Cursor",
        program: "cursor-agent",
        variable: None,
        directory: ".cursor",
        file: "hooks.json",
        project: ".cursor/hooks.json",
        commands: None,
        place: Place::Settings {
            rules: STRICT_WITH_VERSION,
            timeout_unit: 1,
            form: HookForm::Entry,
        },
        events: &[
            ("sessionStart", Occasion::SessionStart),
            ("beforeSubmitPrompt", Occasion::Prompt),
            ("stop", Occasion::TurnEnd),
            ("preCompact", Occasion::Compaction),
            ("sessionEnd", Occasion::SessionEnd),
        ],
        injection: Injection::Underscored(Occasion::SessionStart),
        trust: TrustGate::None,
    },
];
