//! What is reported, and what is not known any more.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{OpenFiles, Reports, WatchError};

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

/// Which directories may have changed since a position, once it was looked which files are open.
fn changed(directory: &tempfile::TempDir, reports: &mut Reports, position: u64) -> Vec<&'static str> {
    reports.drain();
    reports.settle_doubts();
    changed_unsettled(directory, reports, position)
}

fn changed_unsettled(directory: &tempfile::TempDir, reports: &mut Reports, position: u64) -> Vec<&'static str> {
    reports.drain();
    let all = ["", "a", "a/b", "a/b/c", "d"].into_iter();
    all.filter(|path| {
        let at = reports.find(&directory.path().join(path).components().collect::<PathBuf>());
        at.is_none_or(|at| reports.may_have_changed(at, position))
    })
    .collect()
}

fn settle(reports: &mut Reports) {
    reports.drain();
    reports.settle_doubts();
}

/// Whether nothing may have changed that was not reported until now.
fn is_quiet(directory: &tempfile::TempDir, reports: &mut Reports) -> bool {
    settle(reports);
    let position = reports.position();
    changed(directory, reports, position).is_empty()
}

fn open_for_writing(file: &Path) -> File {
    File::options().read(true).write(true).open(file).expect("opened")
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
    settle(&mut reports);
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
    assert_eq!(
        changed_unsettled(&directory, &mut reports, position),
        ["d"],
        "it may be open"
    );
    assert_eq!(changed(&directory, &mut reports, position), ["d"], "it is");
    drop(outside);
    settle(&mut reports);
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
fn two_opens_that_are_reported_as_one_are_both_closed_before_it_is_quiet() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    let file = directory.path().join("a/b/file");
    // Nothing comes between them, and nothing is read meanwhile.
    let (one, two) = (open_for_writing(&file), open_for_writing(&file));
    reports.drain();
    drop(one);
    settle(&mut reports);
    let position = reports.position();
    assert_eq!(changed(&directory, &mut reports, position), ["a/b"], "one is left");
    drop(two);
    assert!(is_quiet(&directory, &mut reports));
    assert!(!reports.has_open_files());
    // Without a look nothing is known of any open.
    drop(File::open(&file).expect("opened"));
    let position = reports.position();
    assert_eq!(changed_unsettled(&directory, &mut reports, position), ["a/b"]);
    assert!(reports.has_doubts());
}

#[test]
fn names_that_are_exchanged_take_their_open_files_along() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    for (is_open, was) in [
        ([true, false], "first"),
        ([false, true], "second"),
        ([true, true], "both"),
    ] {
        let Some((directory, mut reports)) = watched() else {
            return;
        };
        let (one, other) = (directory.path().join("a/b/file"), directory.path().join("d/other"));
        fs::write(&other, "other").expect("written");
        assert!(is_quiet(&directory, &mut reports));
        let files = [(&one, is_open[0]), (&other, is_open[1])];
        let [first, second] = files.map(|(file, is_open)| is_open.then(|| open_for_writing(file)));
        assert!(!is_quiet(&directory, &mut reports));
        if renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_err() {
            return;
        }
        // As if they were open in processes that this user may not see: the counts alone have to say it.
        reports.drain();
        let moment = reports.doubt_moment();
        reports.settle(moment, &OpenFiles::default());
        let position = reports.position();
        let expected: &[_] = match is_open {
            [true, false] => &["d"],
            [false, true] => &["a/b"],
            _ => &["a/b", "d"],
        };
        assert_eq!(changed_unsettled(&directory, &mut reports, position), expected, "{was}");
        assert_eq!(changed(&directory, &mut reports, position), expected, "{was}");
        drop((first, second));
        assert!(is_quiet(&directory, &mut reports), "{was}");
    }
}

#[test]
fn a_file_that_is_moved_there_and_back_again_is_still_open() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    let (here, there) = (directory.path().join("a/b/file"), directory.path().join("d/there"));
    let file = open_for_writing(&here);
    fs::rename(&here, &there).expect("moved");
    fs::rename(&there, &here).expect("moved back");
    reports.drain();
    let moment = reports.doubt_moment();
    reports.settle(moment, &OpenFiles::default());
    let position = reports.position();
    assert_eq!(changed_unsettled(&directory, &mut reports, position), ["a/b"]);
    drop(file);
    assert!(is_quiet(&directory, &mut reports));
}

#[test]
fn a_file_that_got_its_name_while_it_was_open_may_change_until_it_is_closed() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    reports.had_single_names(reports.position());
    let (temporary, name) = (directory.path().join("d/.tmp"), directory.path().join("a/b/new"));
    let file = File::create(&temporary).expect("created");
    fs::hard_link(&temporary, &name).expect("linked");
    let position = reports.position();
    assert!(
        changed(&directory, &mut reports, position).contains(&"a/b"),
        "two names"
    );
    fs::remove_file(&temporary).expect("removed");
    settle(&mut reports);
    let position = reports.position();
    assert!(changed(&directory, &mut reports, position).contains(&"a/b"), "one name");
    drop(file);
    // What was written until then was not reported.
    assert_eq!(
        changed(&directory, &mut reports, position),
        ["", "a", "a/b", "a/b/c", "d"]
    );
    assert!(is_quiet(&directory, &mut reports));
}

/// Between two looks at the processes, the reports alone have to say what may be open.
#[test]
fn a_name_that_goes_while_its_file_is_open_leaves_others_in_doubt() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    reports.had_single_names(reports.position());
    let (one, other) = (directory.path().join("d/one"), directory.path().join("a/b/other"));
    fs::write(&one, "text").expect("written");
    fs::hard_link(&one, &other).expect("linked");
    assert!(is_quiet(&directory, &mut reports));
    let (file, position) = (open_for_writing(&one), reports.position());
    assert_eq!(changed_unsettled(&directory, &mut reports, position), ["d"]);
    fs::remove_file(&one).expect("removed");
    assert_eq!(changed_unsettled(&directory, &mut reports, position), ["a/b", "d"]);
    drop(file);
    settle(&mut reports);
    assert_eq!(changed(&directory, &mut reports, position), ["a/b", "d"]);
    assert!(is_quiet(&directory, &mut reports));
    // Where no name is a further one, only its own directory is concerned.
    reports.had_single_names(reports.position());
    fs::write(&one, "text").expect("written");
    let position = reports.position();
    fs::remove_file(&one).expect("removed");
    assert_eq!(changed_unsettled(&directory, &mut reports, position), ["d"]);
}

#[test]
fn a_look_settles_only_what_was_in_doubt_when_it_began() {
    let Some((directory, mut reports)) = watched() else {
        return;
    };
    let file = directory.path().join("a/b/file");
    let moment = reports.doubt_moment();
    let look = OpenFiles::find(directory.path());
    let (one, two) = (open_for_writing(&file), open_for_writing(&file));
    reports.drain();
    drop(one);
    reports.drain();
    reports.settle(moment, &look);
    let position = reports.position();
    assert_eq!(changed_unsettled(&directory, &mut reports, position), ["a/b"]);
    drop(two);
    assert!(is_quiet(&directory, &mut reports));
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
    reports.settle_doubts();
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
