//! What is reported, and what is not known any more.

use std::fs::{self, File};
use std::path::PathBuf;

use super::{Reports, WatchError};

/// A root with directories that are watched, where the system reports what happens in directories for temporary files.
fn watched() -> Option<(tempfile::TempDir, Reports)> {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    fs::create_dir_all(root.join("a/b/c")).expect("made");
    fs::create_dir_all(root.join("d")).expect("made");
    fs::write(root.join("a/b/file"), "text").expect("written");
    let mut reports = match Reports::of(root) {
        Err(WatchError::FileSystem) => return None,
        other => other.expect("watched"),
    };
    let all = ["a/b/c", "d"].map(|path| root.join(path));
    reports.watch(&all).expect("watched");
    reports.drain();
    Some((directory, reports))
}

/// Which directories may have changed since a position.
fn changed(directory: &tempfile::TempDir, reports: &mut Reports, position: u64) -> Vec<&'static str> {
    reports.drain();
    let all = ["", "a", "a/b", "a/b/c", "d"].into_iter();
    all.filter(|path| {
        let at = reports.find(&directory.path().join(path).components().collect::<PathBuf>());
        at.is_none_or(|at| reports.may_have_changed(at, position))
    })
    .collect()
}

#[test]
fn a_change_is_one_of_its_directory_alone() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    let position = reports.position();
    assert_eq!(
        changed(&directory, &mut reports, position),
        [""; 0],
        "parents are watched as well"
    );
    fs::write(directory.path().join("a/b/file"), "other").expect("written");
    assert_eq!(changed(&directory, &mut reports, position), ["a/b"]);
    let position = reports.position();
    assert_eq!(changed(&directory, &mut reports, position), [""; 0]);
    File::open(directory.path().join("a/b/file"))
        .and_then(|file| file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)))
        .expect("set");
    assert_eq!(changed(&directory, &mut reports, position), ["a/b"]);
}

#[test]
fn an_open_file_may_change_until_it_is_closed() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    let file = directory.path().join("a/b/file");
    let position = reports.position();
    let (one, two) = (File::open(&file).expect("opened"), {
        reports.drain();
        File::open(&file).expect("opened")
    });
    assert_eq!(changed(&directory, &mut reports, position), ["a/b"]);
    assert!(reports.has_open_files());
    drop(one);
    assert_eq!(changed(&directory, &mut reports, position), ["a/b"], "the other one");
    fs::rename(&file, directory.path().join("d/moved")).expect("moved");
    reports.drain();
    let position = reports.position();
    assert_eq!(
        changed(&directory, &mut reports, position),
        ["d"],
        "it goes with its name"
    );
    drop(two);
    assert_eq!(changed(&directory, &mut reports, position), [""; 0]);
    let outside = tempfile::NamedTempFile::new_in(directory.path().parent().expect("one")).expect("created");
    fs::rename(outside.path(), directory.path().join("d/came")).expect("moved");
    reports.drain();
    let position = reports.position();
    assert_eq!(changed(&directory, &mut reports, position), ["d"], "it may be open");
    reports.find_held();
    assert_eq!(changed(&directory, &mut reports, position), ["d"], "it is");
    drop(outside);
    reports.find_held();
    let writer = File::options()
        .append(true)
        .open(directory.path().join("d/moved"))
        .expect("opened");
    reports.drain();
    let position = reports.position();
    drop(writer);
    assert_eq!(
        changed(&directory, &mut reports, position),
        ["d"],
        "it may have been written"
    );
    assert!(!reports.has_open_files());
}

#[test]
fn files_that_were_open_before_count() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    let late = directory.path().join("late");
    fs::create_dir(&late).expect("made");
    let file = File::create(late.join("file")).expect("created");
    reports.watch(std::slice::from_ref(&late)).expect("watched");
    reports.drain();
    let (at, position) = (reports.find(&late).expect("watched"), reports.position());
    assert!(reports.may_have_changed(at, position));
    drop(file);
    reports.find_held();
    assert!(!reports.may_have_changed(at, position) || reports.position() > position);
    reports.drain();
    assert!(reports.may_have_changed(at, position), "its end is reported");
    assert!(!reports.may_have_changed(at, reports.position()));
}

#[test]
fn another_directory_of_the_same_name_is_another_one() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    let path = directory.path().join("a/b/c");
    let (old, position) = (reports.find(&path).expect("watched"), reports.position());
    fs::remove_dir(&path).expect("removed");
    fs::create_dir(&path).expect("made");
    reports.drain();
    assert_eq!(reports.find(&path), None);
    assert!(reports.may_have_changed(old, u64::MAX));
    reports.watch(std::slice::from_ref(&path)).expect("watched");
    assert!(!reports.was_watched(&path, position));
    assert!(reports.was_watched(&path, reports.position()));
    // With all that is in it.
    fs::remove_dir_all(directory.path().join("a")).expect("removed");
    reports.drain();
    assert_eq!(reports.find(&path), None);
    assert_eq!(reports.losses(), 0);
}

#[test]
fn all_is_lost_when_a_directory_moves() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    fs::rename(directory.path().join("a/b"), directory.path().join("d/b")).expect("moved");
    let position = reports.position();
    reports.drain();
    assert_eq!(reports.losses(), 1);
    assert!(reports.position() > position);
    assert_eq!(reports.root(), None);
    reports.watch(&[directory.path().join("d/b")]).expect("watched");
    assert!(reports.root().is_some());
    assert!(!reports.was_watched(&directory.path().join("d"), position));
}

#[test]
fn symlinks_and_what_is_elsewhere_is_not_watched() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    let (link, elsewhere) = (directory.path().join("link"), tempfile::tempdir().expect("a directory"));
    fs::create_dir(elsewhere.path().join("in")).expect("made");
    std::os::unix::fs::symlink(elsewhere.path(), &link).expect("linked");
    let all = [link.clone(), link.join("in"), elsewhere.path().to_owned()];
    reports.watch(&all).expect("nothing is refused");
    assert!(all.iter().all(|path| reports.find(path).is_none()));
    let moved = directory.path().with_extension("moved");
    fs::rename(directory.path(), &moved).expect("moved");
    fs::create_dir(directory.path()).expect("made");
    assert_eq!(reports.root(), None, "another root has its place");
    fs::remove_dir_all(&moved).expect("removed");
}
