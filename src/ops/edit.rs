//! A text in the user's editor: the one that git would open.

use super::{Error, Scene};
use crate::{
    os,
    store::{self, git, worktree_private_dir},
};

/// The file that is edited.
const FILE: &str = "EDIT_SUMMARY";

/// The editor that git would open, a command line of the shell.
pub fn editor(scene: &Scene<'_>) -> Result<String, Error> {
    let editor = git(scene.repo).args(["var", "GIT_EDITOR"]).text();
    Ok(editor.map_err(store::Error::from)?)
}

/// Lets the user edit a text, and gives what became of it.
pub fn edit(scene: &Scene<'_>, text: &str) -> Result<String, Error> {
    let editor = editor(scene)?;
    let path = worktree_private_dir(scene.repo)?.join(FILE);
    let failed = |action: &'static str| store::Error::io(action, &path);
    os::replace(&path, text.as_bytes(), store::sharing(scene.repo), false).map_err(failed("write"))?;
    let opened = os::open_editor(&editor, &path);
    let edited = os::read_regular(&path);
    // What was typed is of no use to anybody else.
    let _ = std::fs::remove_file(&path);
    if !opened.map_err(failed("edit"))? {
        return Err(Error::Editor { editor });
    }
    Ok(String::from_utf8_lossy(&edited.map_err(failed("read"))?).into_owned())
}
