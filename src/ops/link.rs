//! Links from the project's own commits to checkpoints, where settings ask for them: a note on each commit that a
//! checkpoint was made for, and a trailer in the message of a commit that is being made.
//!
//! Both are off by default, as they write where the project's history is: the note to `refs/notes/checkpoints`, which
//! `git checkpoint push` takes along, the trailer into the commit. Nothing here reads them; they are for people and for git.

use std::collections::HashSet;
use std::path::Path;

use super::{Error, Scene, session_choice};
use crate::{
    model::{id::Oid, name::ShortName},
    os,
    store::{self, ObjectId},
};

/// The ref of the notes.
pub const NOTES: &str = "refs/notes/checkpoints";
/// The trailer, in notes and in messages.
pub const TRAILER: &str = "Checkpoint-Id";
/// Behind a line that ends like this git cuts the message off.
const SCISSORS: &[u8] = b"------------------------ >8 ------------------------\n";

/// Notes on a commit which checkpoint was made for it. A note of ours that is there is replaced.
pub(super) fn note(scene: &Scene<'_>, commit: &Oid, checkpoint: ObjectId, session: &ShortName) -> Result<(), Error> {
    let text = format!("{TRAILER}: {checkpoint}\nCheckpoint-Session: {session}");
    let git = store::git(scene.repo).args(["notes", "--ref", NOTES, "add", "--force", "--message", &text]);
    git.arg(commit.as_str()).run().map_err(store::Error::from)?;
    sync_names(scene)
}

/// Copies the notes of commits that others replaced; the lines are `old SP new`.
pub(super) fn follow(scene: &Scene<'_>, pairs: &[Vec<u8>]) -> Result<(), Error> {
    let notes = store::git(scene.repo).args(["notes", "--ref", NOTES, "list"]).run();
    let notes = notes.map_err(store::Error::from)?.stdout;
    // A line: the note, and the commit that it is of.
    let lines = notes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(1));
    let noted: HashSet<&[u8]> = lines.collect();
    // One that has a note by now was amended, and a checkpoint was made for it since.
    let is_noted = |pair: &&Vec<u8>| {
        let mut words = pair.trim_ascii_end().split(|byte| *byte == b' ');
        let mut has_note = || words.next().is_some_and(|id| noted.contains(id));
        has_note() && !has_note()
    };
    let input: Vec<u8> = pairs.iter().filter(is_noted).flatten().copied().collect();
    if input.is_empty() {
        return Ok(());
    }
    let git = store::git(scene.repo).args(["notes", "--ref", NOTES, "copy", "--force", "--stdin"]);
    git.input(input).run().map_err(store::Error::from)?;
    sync_names(scene)
}

/// Makes the name of the notes' ref durable: git syncs the file of a ref before it has its name, and not the directory.
fn sync_names(scene: &Scene<'_>) -> Result<(), Error> {
    let common = scene.repo.common_dir();
    for directory in ["refs/notes", "refs"].map(|name| common.join(name)) {
        if directory.is_dir() {
            os::sync_dir(&directory).map_err(store::Error::io("sync", &directory))?;
        }
    }
    Ok(())
}

/// Puts the trailer into a message that is about to be committed: the latest checkpoint of the current session, replacing
/// one of ours. A message that git is going to refuse stays as it is: one that has no text next to sign-offs and other
/// trailers, and the unedited template.
pub fn trailer(scene: &Scene<'_>, message: &Path) -> Result<(), Error> {
    if !scene.settings.commit_trailer {
        return Ok(());
    }
    let current = session_choice::session_for_command(scene)?;
    let Some(chosen) = current.filter(|chosen| !chosen.tip.document.session.status.is_finished()) else {
        return Ok(());
    };
    let text = std::fs::read(message).map_err(|source| Error::Source {
        path: message.display().to_string(),
        source,
    })?;
    let git = |args: &[&str]| store::git(scene.repo).args(args.iter().copied());
    let stripped = |text: &[u8]| {
        let git = git(&["stripspace", "--strip-comments"]).input(before_scissors(text));
        git.run().map(|output| output.stdout).map_err(store::Error::from)
    };
    let said = stripped(&text)?;
    if says_nothing(&said) {
        return Ok(());
    }
    if let Some(template) = template(scene)? {
        let template = stripped(&template)?;
        if !template.is_empty() && said.strip_prefix(template.as_slice()).is_some_and(says_nothing) {
            return Ok(());
        }
    }
    let line = format!("{TRAILER}: {}", chosen.tip.entry.id);
    let git = git(&[
        "interpret-trailers",
        "--in-place",
        "--no-divider",
        "--if-exists",
        "replace",
    ]);
    let git = git.args(["--if-missing", "add", "--trailer", &line]);
    git.arg(message).run().map_err(store::Error::from)?;
    Ok(())
}

/// Whether there is nothing but sign-offs, which git takes for no message.
fn says_nothing(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.all(|line| line.starts_with(b"Signed-off-by: ") || line.trim_ascii().is_empty())
}

/// Content of `commit.template`. Hooks do not learn of one that was named with `git commit -t`.
fn template(scene: &Scene<'_>) -> Result<Option<Vec<u8>>, Error> {
    let git = store::git(scene.repo).args(["config", "--type=path", "--get", "commit.template"]);
    let found = git.accept([0, 1]).text().map_err(store::Error::from)?;
    let found = found.trim_end_matches('\n');
    // Hooks run at the top, which a relative path is taken from.
    let top = scene.repo.workdir().unwrap_or(Path::new(""));
    Ok((!found.is_empty())
        .then(|| os::read_regular(&top.join(found)).ok())
        .flatten())
}

/// The part of a message that git keeps.
fn before_scissors(text: &[u8]) -> &[u8] {
    let mut end = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.ends_with(SCISSORS) {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_git_takes_for_none() {
        for none in [
            "",
            "\n \n",
            "Signed-off-by: A <a@b>\n",
            "\nSigned-off-by: A <a@b>\n\nSigned-off-by: B\n",
        ] {
            assert!(says_nothing(none.as_bytes()), "{none:?}");
        }
        for some in ["x", "Signed-off-by\n", "Signed-off-by: A\nx\n", "Reviewed-by: A\n"] {
            assert!(!says_nothing(some.as_bytes()), "{some:?}");
        }
    }

    #[test]
    fn what_git_cuts_off() {
        let text = [b"subject\n# ", SCISSORS, b"diff\n"].concat();
        assert_eq!(before_scissors(&text), b"subject\n");
        assert_eq!(before_scissors(b"subject"), b"subject");
    }
}
