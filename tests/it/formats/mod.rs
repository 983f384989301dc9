//! The cases of every system against what is expected of them, and what holds for all of them: nothing is lost, and
//! nothing panics.
//!
//! `fixtures/formats/<system>/<case>/input/` are the files, `expected.json` what comes out. With `CHECKPOINT_BLESS=1`
//! the expectations are written anew, to be read before they are committed; `CHECKPOINT_MUTATIONS=10000` is the long
//! form of the mutations, `CHECKPOINT_MUTATIONS_OF=claude-flow` those of one system.

mod cases;
mod leaves;
mod mutations;
mod secrets;
mod table;

use std::{fs, path::Path};

use git_checkpoint::{formats::File, model::time::Timestamp};

/// A case: its system, its folder, and its files.
struct Case {
    system: String,
    name: String,
    folder: std::path::PathBuf,
    files: Vec<File>,
}

fn all() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats");
    let mut cases = Vec::new();
    for system in folders(&root) {
        for folder in folders(&system) {
            let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
            let mut files = Vec::new();
            read(&folder.join("input"), "", &mut files);
            cases.push(Case {
                system: name(&system),
                name: name(&folder),
                files,
                folder,
            });
        }
    }
    assert!(cases.len() > 30, "the fixtures are there");
    cases
}

fn folders(path: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(path).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut out: Vec<_> = paths.filter(|path| path.is_dir()).collect();
    out.sort();
    out
}

fn read(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("an entry")).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{path}/"), files);
        } else {
            files.push(File {
                path,
                bytes: fs::read(entry.path()).expect("a file"),
                modified: Some(Timestamp::from_unix(1_767_225_600, 0)),
            });
        }
    }
}
