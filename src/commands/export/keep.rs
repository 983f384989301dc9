//! `checkpoint.exportTo`: files that are kept up to date, rewritten after each checkpoint and autosave that changes them.

use std::path::{Component, Path, PathBuf};

use super::{ExportWriter, FORMATS, contents_bytes, failure};
use crate::{
    formats::ExportExtent,
    model::{name::ShortName, step::quoted, time::Timestamp},
    ops::{Scene, export, show},
    os,
    store::{self, ObjectId, checkpoint, exports},
};

/// Rewrites the files that `checkpoint.exportTo` names with the latest checkpoint of a session. Returns a line for each
/// that could not be written.
pub(in crate::commands) fn after_save(scene: &Scene<'_>, session: &ShortName) -> Vec<String> {
    write_all(scene, session.as_str())
}

/// The same with an autosave, which is next to the session.
pub(in crate::commands) fn after_autosave(scene: &Scene<'_>, id: ObjectId) -> Vec<String> {
    write_all(scene, checkpoint::oid(id).as_str())
}

fn write_all(scene: &Scene<'_>, selector: &str) -> Vec<String> {
    let entries = scene.settings.export_to.iter();
    let failed = entries.filter_map(|entry| {
        let why = one(scene, selector, entry).err()?;
        Some(format!("checkpoint.exportTo '{entry}' was not written: {why}"))
    });
    failed.collect()
}

fn one(scene: &Scene<'_>, selector: &str, entry: &str) -> Result<(), String> {
    let (format, path) = entry.split_once(':').ok_or("it is not <format>:<path>")?;
    let format = FORMATS
        .iter()
        .map(|known| known.0)
        .find(|known| known.name == format)
        .ok_or("there is no such format")?;
    if matches!(format.make, ExportWriter::Foreign(_, extent) if extent != ExportExtent::File) {
        return Err("this format is a directory, not a file".to_owned());
    }
    if matches!(format.make, ExportWriter::Page) {
        return Err("this format differs after each save, so the working tree would never be clean".to_owned());
    }
    if matches!(format.make, ExportWriter::Agent(_)) {
        return Err("session files of agents are only written by 'export'".to_owned());
    }
    if path.is_empty() {
        return Err("it names no file".to_owned());
    }
    let top = store::work_tree(scene.repo).map_err(|error| error.to_string())?;
    let full = place(top, Path::new(path))?;
    if export::is_in_git_dir(scene, &full) {
        return Err("it is in the git directory".to_owned());
    }
    let selector = failure::selector(selector).map_err(|error| error.to_string())?;
    let scope = if matches!(format.make, ExportWriter::Json) {
        export::ExportScope::Files
    } else {
        export::ExportScope::Note
    };
    let exported = export::export(scene, &selector, scope).map_err(|error| error.to_string())?;
    let is_encrypted = exported.checkpoint.document.encrypted.is_some();
    if is_encrypted && !export::stays_here(scene, &full).map_err(|error| error.to_string())? {
        return Err(
            "the session is encrypted, and the file would be saved and pushed as plain text; exclude it first with \
             .gitignore or .checkpointignore"
                .to_owned(),
        );
    }
    let bytes = contents_bytes(&exported, format.make);
    let before = match os::read_regular(&full) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(os::reason(&error)),
    };
    // The file itself is among the files that are saved: were it rewritten for a new id or time alone, there would be
    // something new to save for ever.
    if before
        .as_deref()
        .is_some_and(|before| without_ids(before) == without_ids(&bytes))
    {
        return Ok(());
    }
    if let Some(before) = &before
        && !exports::is_own(scene.repo, path, before)
        && !(looks_alike(before, &bytes) && show::file(scene, &selector, path).is_ok_and(|held| held == *before))
    {
        return Err(format!(
            "the file there is not one that this program wrote; to let it be written: rm {}",
            quoted(path)
        ));
    }
    if let Some(directory) = full.parent() {
        std::fs::create_dir_all(directory).map_err(|error| os::reason(&error))?;
    }
    exports::note(scene.repo, path, &bytes).map_err(|error| error.to_string())?;
    os::replace_users(&full, &bytes).map_err(|error| os::reason(&error))
}

/// Whether a text begins as an export of the same format does.
fn looks_alike(before: &[u8], new: &[u8]) -> bool {
    let start = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let starts = lines.map(|line| line.split(':').next().unwrap_or_default().to_owned());
        starts.take(2).collect::<Vec<_>>()
    };
    let (before, new) = (start(before), start(new));
    // A heading has a name; a bracket alone does not.
    match new.first() {
        Some(first) if first.trim().len() > 2 => before.first() == Some(first),
        _ => before == new,
    }
}

/// Whether git ignores every file that is kept up to date, so that no cleaning of the working tree concerns them.
pub(in crate::commands) fn are_ignored(scene: &Scene<'_>) -> bool {
    let mut paths = scene
        .settings
        .export_to
        .iter()
        .filter_map(|entry| Some(entry.split_once(':')?.1));
    paths.all(|path| {
        let command = store::git(scene.repo);
        command.args(["check-ignore", "-q", "--", path]).text().is_ok()
    })
}

/// The path below the top of the working tree, which no symlink may lead away from.
fn place(top: &Path, path: &Path) -> Result<PathBuf, String> {
    let mut full = top.to_owned();
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err("the path must be inside the working tree".to_owned());
        };
        full.push(name);
        if full.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(format!("'{}' is a symlink", full.display()));
        }
    }
    Ok(full)
}

/// A text without ids of objects, digests and times.
fn without_ids(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let volatile = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let word = word.strip_prefix("sha256:").unwrap_or(word);
        let is_id = matches!(word.len(), 8 | 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        !is_id && Timestamp::parse(word).is_err()
    };
    text.split([' ', '\n', '"', '`', ','])
        .filter(volatile)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_times_are_no_difference() {
        let with = |id: &str, at: &str, text: &str| {
            format!(
                "- **Saved:** {at} on vm\n- `{id}` `sha256:{}`\n{text}\n",
                id.repeat(2).split_at(64).0
            )
        };
        let one = with(&"a".repeat(40), "2026-01-02T03:04:05+00:00", "text");
        let two = with(&"b".repeat(40), "2026-01-02T03:04:06.500+00:00", "text");
        assert_eq!(without_ids(one.as_bytes()), without_ids(two.as_bytes()));
        let other = with(&"a".repeat(40), "2026-01-02T03:04:05+00:00", "other");
        assert_ne!(without_ids(one.as_bytes()), without_ids(other.as_bytes()));
    }

    #[test]
    fn an_export_begins_as_one() {
        let alike = |before: &str, new: &str| looks_alike(before.as_bytes(), new.as_bytes());
        assert!(alike("# Hand-off: a\n\n## Status\n", "# Hand-off: b\n\n## Status\n"));
        assert!(!alike("my own notes\n", "# Hand-off: b\n"));
        assert!(!alike("", "# Hand-off: b\n"));
        assert!(alike("{\n  \"schema\": \"x\"\n}", "{\n  \"schema\": \"y\"\n}"));
        assert!(!alike("{\n  \"name\": \"x\"\n}", "{\n  \"schema\": \"y\"\n}"));
    }

    #[test]
    fn a_path_leads_down() {
        let top = Path::new("/nowhere");
        assert_eq!(
            place(top, Path::new("docs/a.md")),
            Ok(PathBuf::from("/nowhere/docs/a.md"))
        );
        for bad in ["../a", "/a", "docs/../../a"] {
            assert!(place(top, Path::new(bad)).is_err(), "{bad}");
        }
    }
}
