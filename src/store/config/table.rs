//! The settings there are: name, kind, default and purpose of each, for reading, listing and completing them.

/// Kind of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// Bytes, with git's suffixes `k`, `m`, `g`.
    Size,
    /// A number, with the same suffixes.
    Count,
    /// A time: a number of seconds, or with `ms`, `s`, `m`, `h` or `d`.
    Span,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// Texts, one a line of the configuration.
    List,
    /// Words, several in one value with commas or spaces between them, or one a line.
    Words,
}

/// A setting there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The name after `checkpoint.`.
    pub name: &'static str,
    /// Kind of the value.
    pub kind: SettingKind,
    /// The default value; of lists, values separated by spaces.
    pub default: &'static str,
    /// Purpose, in one line.
    pub doc: &'static str,
}

/// All settings, by name.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "agents",
        kind: SettingKind::Word(&["off", "on"]),
        default: "off",
        doc: "save a checkpoint for each turn of the coding agents that 'git checkpoint enable' set up",
    },
    Setting {
        name: "allowHome",
        kind: SettingKind::Word(&["off", "on"]),
        default: "off",
        doc: "save even when the repository is the home directory or the root of the file system",
    },
    Setting {
        name: "autoFetch",
        kind: SettingKind::Text,
        default: "",
        doc: "remote from which sessions are fetched in the background, at most every five minutes",
    },
    Setting {
        name: "autoPrune",
        kind: SettingKind::Word(&["off", "on"]),
        default: "off",
        doc: "prune automatically after each save, by the rules of checkpoint.keep*",
    },
    Setting {
        name: "autoPush",
        kind: SettingKind::Text,
        default: "",
        doc: "remote to which each saved session is pushed in the background; records that diverged are merged, files never",
    },
    Setting {
        name: "commitNotes",
        kind: SettingKind::Word(&["off", "on"]),
        default: "off",
        doc: "the hooks note on each commit, in refs/notes/checkpoints, which checkpoint was made for it",
    },
    Setting {
        name: "commitTrailer",
        kind: SettingKind::Word(&["off", "on"]),
        default: "off",
        doc: "the hook commit-msg puts the trailer Checkpoint-Id, the session's latest checkpoint, into messages",
    },
    Setting {
        name: "compactAt",
        kind: SettingKind::Count,
        default: "100000",
        doc: "compact the chat at this many tokens; 0 disables it",
    },
    Setting {
        name: "compactCommand",
        kind: SettingKind::Text,
        default: "",
        doc: "program that summarizes the chat, read from its standard input",
    },
    Setting {
        name: "compactTimeout",
        kind: SettingKind::Span,
        default: "30s",
        doc: "time limit of checkpoint.compactCommand; after it the built-in rules are used",
    },
    Setting {
        name: "encryptTo",
        kind: SettingKind::List,
        default: "",
        doc: "public keys of age or ssh, or files of them, that what you and agents write is encrypted to",
    },
    Setting {
        name: "exclude",
        kind: SettingKind::List,
        default: "",
        doc: "untracked files that are not saved, as patterns of a .gitignore",
    },
    Setting {
        name: "exportTo",
        kind: SettingKind::List,
        default: "",
        doc: "files that each checkpoint and autosave rewrites, as <format>:<path> in the working tree, such as handoff:HANDOFF.md",
    },
    Setting {
        name: "forkCopy",
        kind: SettingKind::List,
        default: "",
        doc: "ignored files that are copied to the working tree of a fork, as patterns of .gitignore; also '.worktreeinclude'",
    },
    Setting {
        name: "forkSetup",
        kind: SettingKind::Text,
        default: "",
        doc: "a shell command that runs in the new working tree of each fork, such as 'npm ci'",
    },
    Setting {
        name: "graph",
        kind: SettingKind::Word(&["auto", "ascii", "unicode"]),
        default: "auto",
        doc: "characters for drawing graphs",
    },
    Setting {
        name: "identity",
        kind: SettingKind::List,
        default: "",
        doc: "files of private keys that open what is encrypted, instead of those in ~/.config/age and ~/.ssh",
    },
    Setting {
        name: "interruptedAfter",
        kind: SettingKind::Span,
        default: "30m",
        doc: "an active session without a watcher counts as interrupted after this time without activity",
    },
    Setting {
        name: "keepCompleted",
        kind: SettingKind::Word(&["auto", "on", "off"]),
        default: "auto",
        doc: "whether a prune leaves completed sessions alone (on), removes them (off), or treats them as any other",
    },
    Setting {
        name: "keepDaily",
        kind: SettingKind::Count,
        default: "0",
        doc: "a prune keeps the latest checkpoint of each of this many days; 0 disables the rule",
    },
    Setting {
        name: "keepFailed",
        kind: SettingKind::Word(&["auto", "on", "off"]),
        default: "auto",
        doc: "whether a prune leaves failed sessions alone (on), removes them (off), or treats them as any other",
    },
    Setting {
        name: "keepFor",
        kind: SettingKind::Span,
        default: "0",
        doc: "a prune drops checkpoints older than this; 0 disables the rule",
    },
    Setting {
        name: "keepHourly",
        kind: SettingKind::Count,
        default: "0",
        doc: "a prune keeps the latest checkpoint of each of this many hours; 0 disables the rule",
    },
    Setting {
        name: "keepLast",
        kind: SettingKind::Count,
        default: "0",
        doc: "a prune keeps this many latest checkpoints of each session; 0 disables the rule",
    },
    Setting {
        name: "keepSessions",
        kind: SettingKind::Count,
        default: "0",
        doc: "a prune keeps this many latest sessions; 0 disables the rule",
    },
    Setting {
        name: "keepWeekly",
        kind: SettingKind::Count,
        default: "0",
        doc: "a prune keeps the latest checkpoint of each of this many weeks; 0 disables the rule",
    },
    Setting {
        name: "lockTimeout",
        kind: SettingKind::Span,
        default: "30s",
        doc: "how long to wait for another process that saves or restores",
    },
    Setting {
        name: "maxFetchSize",
        kind: SettingKind::Size,
        default: "4g",
        doc: "a fetch that receives more, or a fetched checkpoint whose files are larger, is refused",
    },
    Setting {
        name: "maxFileSize",
        kind: SettingKind::Size,
        default: "50m",
        doc: "untracked files above this size are not saved",
    },
    Setting {
        name: "maxTotalSize",
        kind: SettingKind::Size,
        default: "1g",
        doc: "limit of the total size of untracked files that are saved",
    },
    Setting {
        name: "pager",
        kind: SettingKind::Text,
        default: "",
        doc: "pager for list, log, show and diff; GIT_PAGER precedes it, core.pager and PAGER follow",
    },
    Setting {
        name: "redact",
        kind: SettingKind::Word(&["on", "warn", "off"]),
        default: "on",
        doc: "what to do with secrets in records: replace them, only warn, or nothing",
    },
    Setting {
        name: "redactAllow",
        kind: SettingKind::List,
        default: "",
        doc: "regular expressions of text that is not secret",
    },
    Setting {
        name: "redactRule",
        kind: SettingKind::List,
        default: "",
        doc: "additional secrets, each as NAME=REGEX",
    },
    Setting {
        name: "repositoryList",
        kind: SettingKind::Word(&["off", "on"]),
        default: "on",
        doc: "note this repository's directory in your own list of repositories with sessions, for --all-repos",
    },
    Setting {
        name: "requireSigned",
        kind: SettingKind::Word(&["off", "on"]),
        default: "off",
        doc: "accept only remote sessions whose new checkpoints have a good signature by a trusted key",
    },
    Setting {
        name: "saveEvery",
        kind: SettingKind::Count,
        default: "0",
        doc: "save automatically after this many changes of the draft; 0 disables it",
    },
    Setting {
        name: "saveOn",
        kind: SettingKind::Words,
        default: "",
        doc: "events that save automatically, by the names of their triggers",
    },
    Setting {
        name: "saveSecrets",
        kind: SettingKind::Word(&["off", "on"]),
        default: "off",
        doc: "save untracked files that are secrets by their content: private keys, credentials, .env with values",
    },
    Setting {
        name: "sign",
        kind: SettingKind::Word(&["off", "on"]),
        default: "off",
        doc: "sign checkpoints as git signs commits, by gpg.format and user.signingKey",
    },
    Setting {
        name: "store",
        kind: SettingKind::Text,
        default: "",
        doc: "directory for sessions if the repository's own is read-only, as in a sandbox",
    },
    Setting {
        name: "subjectTemplate",
        kind: SettingKind::Text,
        default: "%s",
        doc: "form of generated subjects, such as 'chore: %s', for servers that check commit messages",
    },
    Setting {
        name: "transcripts",
        kind: SettingKind::Word(&["full", "chat", "off"]),
        default: "full",
        doc: "what hooks and 'message import' store of an agent's session file: chat and file, only the chat, or nothing",
    },
    Setting {
        name: "watcher",
        kind: SettingKind::Word(&["on", "off"]),
        default: "on",
        doc: "ask a running 'git checkpoint watch' which directories changed instead of scanning all files",
    },
];
