//! The block that calls this program from a git hook: how it is written into a hook, found there, and taken out again.
//!
//! Text alone, no files. The block is right behind the first line, as hooks like to end in `exec` or `exit`; it changes
//! neither the variables, the options, the exit status nor the standard input of what follows, and taking it out gives
//! the bytes that were there before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// A hook of git's that can make checkpoints, or tie commits to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// After a commit was made.
    PostCommit,
    /// After commits were replaced by others: amended, rebased.
    PostRewrite,
    /// After a merge or pull that made no conflict.
    PostMerge,
    /// After another branch was checked out.
    PostCheckout,
    /// Before refs are pushed.
    PrePush,
    /// Before a commit is made, with the file of its message.
    CommitMsg,
}

impl Hook {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::PostCommit,
        Self::PostRewrite,
        Self::PostMerge,
        Self::PostCheckout,
        Self::PrePush,
        Self::CommitMsg,
    ];
    /// Those that together give a checkpoint for each commit.
    pub const DEFAULT: [Self; 3] = [Self::PostCommit, Self::PostRewrite, Self::PostMerge];

    /// git's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PostCommit => "post-commit",
            Self::PostRewrite => "post-rewrite",
            Self::PostMerge => "post-merge",
            Self::PostCheckout => "post-checkout",
            Self::PrePush => "pre-push",
            Self::CommitMsg => "commit-msg",
        }
    }

    /// The hook of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }
}

/// The last run of a hook of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookRun {
    /// The hook.
    pub hook: String,
    /// When it began.
    pub at: Timestamp,
    /// `running`, `saved`, `unchanged`, `skipped` or `failed`.
    #[schemars(extend("enum" = ["running", "saved", "unchanged", "skipped", "failed"]))]
    pub outcome: String,
    /// The checkpoint, or the reason.
    pub what: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub took: u64,
    /// Its process.
    pub process: u32,
}

const BEGIN: &str = "# >>> git-checkpoint hooks >>>";
/// The same where the line before had no end, which is to be taken away again.
const BEGIN_JOINED: &str = "# >>> git-checkpoint hooks, joined >>>";
const END: &str = "# <<< git-checkpoint hooks <<<\n";
/// The first line of a hook that is ours alone.
const SHELL: &[u8] = b"#!/bin/sh\n";
/// Lines after the block in a hook that runs a previous hook from a file of its own.
const CHAIN: &str = "if test -x \"$0.before-checkpoint\"; then exec \"$0.before-checkpoint\" \"$@\"; fi\n";
/// The end of the name of a file that keeps a hook which is no shell script.
pub const KEPT: &str = ".before-checkpoint";

/// The lines between the marks. They name no path of this machine, as a hook may lie among the files of a project: the
/// program is found in `PATH`, else by a file in the repository's own directory.
fn block(hook: Hook, joined: bool) -> Vec<u8> {
    let mut out = if joined {
        format!("\n{BEGIN_JOINED}\n").into_bytes()
    } else {
        format!("{BEGIN}\n").into_bytes()
    };
    out.extend_from_slice(
        b"# From 'git checkpoint hooks install'; 'git checkpoint hooks uninstall' takes it away.\n\
          if test -z \"${CHECKPOINT_HOOK-}\"; then\n",
    );
    let reads = hook == Hook::PostRewrite;
    if reads {
        out.extend_from_slice(b"checkpoint_input=$(cat)\n");
    }
    out.extend_from_slice(
        b"(\n\tp=$(command -v git-checkpoint) || \
          p=$(cat \"$(git rev-parse --git-common-dir)/checkpoint/program\" 2>/dev/null) || exit 0\n\t\
          test -x \"$p\" || exit 0\n\t",
    );
    let name = hook.name();
    let call = if reads {
        format!(
            "printf '%s\\n' \"$checkpoint_input\" | CHECKPOINT_HOOK=1 \"$p\" hooks run {name} \"$@\" >/dev/null 2>&1\n"
        )
    } else {
        format!("CHECKPOINT_HOOK=1 exec \"$p\" hooks run {name} \"$@\" </dev/null >/dev/null 2>&1\n")
    };
    out.extend_from_slice(call.as_bytes());
    out.extend_from_slice(b") || :\n");
    if reads {
        // Whatever follows reads it as well.
        out.extend_from_slice(
            b"exec <<CHECKPOINT_INPUT\n$checkpoint_input\nCHECKPOINT_INPUT\nunset checkpoint_input\n",
        );
    }
    out.extend_from_slice(b"fi\n");
    out.extend_from_slice(END.as_bytes());
    out
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// The place of the block: the beginning and the end of its bytes.
fn place(text: &[u8]) -> Option<(usize, usize)> {
    let joined = format!("\n{BEGIN_JOINED}\n");
    let plain = format!("{BEGIN}\n");
    let start = find(text, joined.as_bytes()).or_else(|| {
        let at = find(text, plain.as_bytes())?;
        (at == 0 || text[at - 1] == b'\n').then_some(at)
    })?;
    let end = start + find(&text[start..], END.as_bytes())? + END.len();
    Some((start, end))
}

/// Whether a hook calls this program.
pub fn is_in(text: &[u8]) -> bool {
    place(text).is_some()
}

/// The path of the program that the block of an earlier version calls; `None` where it names none.
pub fn program(text: &[u8]) -> Option<Vec<u8>> {
    let (start, end) = place(text)?;
    let block = &text[start..end];
    let from = find(block, b"\tp='")? + 4;
    let line = block[from..].split(|byte| *byte == b'\n').next()?;
    let inner = line.strip_suffix(b"'")?;
    let mut out = Vec::new();
    let mut rest = inner;
    while let Some(at) = find(rest, b"'\\''") {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\'');
        rest = &rest[at + 4..];
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// Whether lines of the shell may be put into this hook.
pub fn is_shell(text: &[u8]) -> bool {
    if text.iter().take(512).any(|byte| *byte == 0) {
        return false;
    }
    let Some(line) = text.strip_prefix(b"#!") else {
        // git gives what names no interpreter to the shell.
        return true;
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line
        .split_whitespace()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut interpreter = words.next();
    if interpreter == Some("env") {
        interpreter = words.find(|word| !word.starts_with('-') && !word.contains('='));
    }
    matches!(
        interpreter,
        Some("sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "zsh")
    )
}

/// A hook with the block in it; `None` makes one that is ours alone. A block that is there already is replaced.
pub fn with_block(text: Option<&[u8]>, hook: Hook) -> Vec<u8> {
    let Some(text) = text else {
        return [SHELL, &block(hook, false)].concat();
    };
    let text = without_block(text).unwrap_or_else(|| text.to_owned());
    let at = match (text.starts_with(b"#!"), text.iter().position(|byte| *byte == b'\n')) {
        (false, _) => 0,
        (true, Some(end)) => end + 1,
        (true, None) => text.len(),
    };
    let joined = at > 0 && text[at - 1] != b'\n';
    [&text[..at], &block(hook, joined), &text[at..]].concat()
}

/// A hook that calls this program and then the hook that is kept next to it, see [`KEPT`].
pub fn before_kept(hook: Hook) -> Vec<u8> {
    [SHELL, &block(hook, false), CHAIN.as_bytes()].concat()
}

/// The hook as it was before the block came; `None` if there is none in it.
pub fn without_block(text: &[u8]) -> Option<Vec<u8>> {
    let (start, end) = place(text)?;
    Some([&text[..start], &text[end..]].concat())
}

/// Content of a hook without our block: nothing of the user's, or the user's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRemainder {
    /// It was ours alone.
    Ours,
    /// It only goes on to the hook that is kept next to it.
    Chain,
    /// The user's own hook.
    Theirs,
}

/// Classifies the result of [`without_block`].
pub fn rest(text: &[u8]) -> HookRemainder {
    match text.strip_prefix(SHELL) {
        Some(b"") => HookRemainder::Ours,
        Some(rest) if rest == CHAIN.as_bytes() => HookRemainder::Chain,
        _ => HookRemainder::Theirs,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn interpreters() {
        for shell in [
            "#!/bin/sh\n",
            "#!/usr/bin/env bash\nset -eu\n",
            "#! /bin/dash -e",
            "#!/usr/bin/env -S bash -e\n",
            "echo\n",
        ] {
            assert!(is_shell(shell.as_bytes()), "{shell}");
        }
        for other in [
            "#!/usr/bin/env python3\n",
            "#!/usr/bin/ruby\n",
            "\x7fELF\0\0",
            "#!/usr/bin/fish\n",
            "#!",
        ] {
            assert!(!is_shell(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn the_program_that_an_earlier_version_named_is_read() {
        let text = "#!/bin/sh\n# >>> git-checkpoint hooks >>>\n(\n\tp='/a b/it'\\''s'\n\ttest -x\n)\n# <<< git-checkpoint hooks <<<\n";
        assert_eq!(program(text.as_bytes()).as_deref(), Some(&b"/a b/it's"[..]));
    }

    #[test]
    fn a_hook_of_our_own_and_one_before_another() {
        for hook in Hook::ALL {
            assert_eq!(Hook::parse(hook.name()), Some(hook));
            let own = with_block(None, hook);
            assert_eq!(program(&own), None, "no path of this machine");
            assert_eq!(rest(&without_block(&own).unwrap()), HookRemainder::Ours);
            let chained = before_kept(hook);
            assert_eq!(rest(&without_block(&chained).unwrap()), HookRemainder::Chain);
            assert!(!is_in(b"#!/bin/sh\necho git-checkpoint hooks\n"));
        }
    }

    proptest! {
        #[test]
        fn what_was_there_comes_back(text in "(#!/bin/sh)?(\n?[a-z# ]{0,8}){0,6}") {
            let bytes = text.as_bytes();
            let once = with_block(Some(bytes), Hook::PostCommit);
            prop_assert!(is_in(&once));
            prop_assert_eq!(&with_block(Some(&once), Hook::PostCommit), &once);
            prop_assert_eq!(without_block(&once), Some(bytes.to_owned()));
        }
    }
}
