//! Patches, stats and lists of names between two trees, written by a `git diff-tree` child.
//!
//! git itself writes patches: it is always there, `git apply` takes them, and color, binary files, long lines and
//! rename scores come out as users know them. It is the plumbing command, so that no setting (`diff.noprefix`,
//! `diff.external`) makes a patch that does not apply; settings that only choose between right answers are handed on.
//! For everything that is not text for people or for `git apply`, see [`super::tree`].

use std::ffi::OsString;
use std::path::PathBuf;

use gix::bstr::ByteSlice as _;

use super::spill::SpillDirectory;
use super::{ObjectId, Repository};
use crate::git::Git;

/// Format of a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchFormat {
    /// A patch that `git apply` takes, binary files included.
    #[default]
    Patch,
    /// Names with bars for the numbers of lines, and a sum.
    Stat,
    /// The numbers of lines, for programs.
    NumStat,
    /// Names alone.
    NameOnly,
    /// Names with the letter of the change.
    NameStatus,
}

/// How to write it.
#[derive(Clone, Debug, Default)]
pub struct PatchOptions {
    /// The kind of fault.
    pub format: PatchFormat,
    /// NUL instead of LF after each record, and names unquoted.
    pub nul: bool,
    /// Look for renames whose files are alike to this many per cent.
    pub renames: Option<u8>,
    /// With colors.
    pub color: bool,
    /// Run the filters of `textconv` and the user's external diff. A patch made so does not apply.
    pub converted: bool,
    /// Columns a stat may take.
    pub width: Option<usize>,
    /// Only what these pathspecs choose, in git's own syntax.
    pub pathspecs: Vec<OsString>,
    /// The directory that pathspecs are relative to; the root of the working tree unless given.
    pub directory: Option<PathBuf>,
}

/// The child that writes the differences between two trees to its standard output. `None` is the empty tree; ids may
/// be those of commits.
///
/// Objects that `repo` holds in memory (the present files, for one) are written to `spilled`, see [`SpillDirectory`].
pub fn command(
    repo: &Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    options: &PatchOptions,
    spilled: Option<&SpillDirectory>,
) -> Git {
    let empty = ObjectId::empty_tree(repo.object_hash());
    let mut git = super::git(repo);
    if let Some(spilled) = spilled {
        git = spilled.show(git);
    }
    if let Some(directory) = &options.directory {
        git = git.cwd(directory);
    }
    if !options.pathspecs.is_empty() {
        git = git.env("GIT_LITERAL_PATHSPECS", "0");
    }
    git = git.args(["diff-tree", "-r", "--no-commit-id"]);
    git = git.args(match options.format {
        PatchFormat::Patch => &["--patch", "--binary"][..],
        PatchFormat::Stat => &["--stat", "--summary"],
        PatchFormat::NumStat => &["--numstat"],
        PatchFormat::NameOnly => &["--name-only"],
        PatchFormat::NameStatus => &["--name-status"],
    });
    git = match options.renames {
        Some(percent) => git.arg(format!("-M{}%", percent.min(100))),
        None => git.arg("--no-renames"),
    };
    if options.nul {
        git = git.arg("-z");
    }
    git = git.arg(if options.color { "--color=always" } else { "--no-color" });
    git = git.args(if options.converted {
        ["--textconv", "--ext-diff"]
    } else {
        ["--no-textconv", "--no-ext-diff"]
    });
    if let (PatchFormat::Stat, Some(width)) = (options.format, options.width) {
        git = git.arg(format!("--stat={width}"));
    }
    // Settings that plumbing leaves alone although any value gives a right patch.
    let config = repo.config_snapshot();
    if let (true, Ok(program)) = (
        options.converted,
        config.string("diff.external").unwrap_or_default().to_os_str(),
    ) {
        // The plumbing command does not read this one itself.
        if !program.is_empty() {
            git = git.env("GIT_EXTERNAL_DIFF", program);
        }
    }
    for (key, option) in [
        ("diff.algorithm", "--diff-algorithm="),
        ("diff.context", "--unified="),
        ("diff.colorMoved", "--color-moved="),
    ] {
        let wanted = options.color || key != "diff.colorMoved";
        if let Some(value) = config
            .string(key)
            .filter(|_| wanted && options.format == PatchFormat::Patch)
        {
            git = git.arg(format!("{option}{value}"));
        }
    }
    let ids = [old, new].map(|id| id.unwrap_or(empty).to_string());
    git.args(ids).arg("--").args(&options.pathspecs)
}
