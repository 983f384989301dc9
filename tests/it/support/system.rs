//! What the administrator of a world's machine has set: a file of settings for git, and a template of repositories.
//!
//! Both are about processes and files that no test is about. After each commit and fetch git starts `git maintenance`, which
//! finds nothing to do in a repository this small, and to make a repository it copies a dozen examples of hooks: half
//! of the time of a `git commit`, and of a `git init`.

use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The file of settings, for `GIT_CONFIG_SYSTEM`.
pub(super) fn settings(root: &Path) -> PathBuf {
    root.join("system/gitconfig")
}

/// Writes both in the directory of a world.
pub(super) fn write(root: &Path) {
    let template = root.join("system/template");
    let directories = DirBuilder::new();
    for directory in [
        "system",
        "system/template",
        "system/template/hooks",
        "system/template/info",
    ] {
        directories.create(root.join(directory)).unwrap();
    }
    fs::write(template.join("description"), "Unnamed repository\n").unwrap();
    fs::write(template.join("info/exclude"), "# Paths that are ignored\n").unwrap();
    let hook = template.join("hooks/pre-commit.sample");
    let mut options = fs::File::options();
    let mut hook = options.write(true).create_new(true).mode(0o755).open(hook).unwrap();
    hook.write_all(b"#!/bin/sh\nexit 1\n").unwrap();
    let text = format!(
        "[maintenance]\n\tauto = false\n[init]\n\ttemplateDir = {}\n",
        template.display()
    );
    fs::write(settings(root), text).unwrap();
}
