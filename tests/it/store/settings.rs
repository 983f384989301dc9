//! Settings from all places, the identity that signs, and the locks.

use std::ffi::OsStr;
use std::time::Duration;

use git_checkpoint::store::config::{self, Redact, Settings};
use git_checkpoint::store::{self, Error};

use super::opening::with;
use super::{WAIT, assert_clean, open, save};
use crate::support::World;

#[test]
fn settings_come_from_files_and_the_command_line() {
    let world = World::with_commit();
    let settings = Settings::read(&open(&world)).unwrap();
    assert_eq!(settings.max_file_size, 50 << 20);
    assert_eq!(settings.lock_timeout, Duration::from_secs(30));
    assert!(settings.exclude.is_empty(), "what is left out is decided by content");
    assert_eq!(settings.redact, Redact::On);
    world.git(["config", "checkpoint.maxFileSize", "1k"]).success();
    world.git(["config", "--add", "checkpoint.exclude", "*.iso"]).success();
    world
        .git(["config", "checkpoint.saveOn", "task-complete, agent-spawn"])
        .success();
    let settings = Settings::read(&open(&world)).unwrap();
    assert_eq!(settings.max_file_size, 1024);
    assert_eq!(settings.exclude.last().unwrap(), "*.iso");
    assert_eq!(settings.save_on, ["task-complete", "agent-spawn"]);
    let line = "'checkpoint.maxfilesize=2m' 'checkpoint.exclude'='' 'checkpoint.exclude'='a b' 'checkpoint.redact'=";
    let given = store::open(&with(&world, &[("GIT_CONFIG_PARAMETERS", OsStr::new(line))])).unwrap();
    let settings = Settings::read(&given).unwrap();
    assert_eq!((settings.max_file_size, settings.redact), (2 << 20, Redact::On));
    assert_eq!(settings.exclude, ["a b"]);
    let listed = config::list(&given).unwrap();
    let size = listed
        .iter()
        .find(|current| current.setting.name == "maxFileSize")
        .unwrap();
    assert_eq!(
        (size.values[0].as_str(), size.place.as_deref()),
        ("2m", Some("the command line"))
    );
    world.git(["config", "checkpoint.lockTimeout", "soon"]).success();
    world.git(["config", "checkpoint.lockTimout", "1s"]).success();
    let repo = open(&world);
    let error = Settings::read(&repo).unwrap_err().to_string();
    assert!(
        error.starts_with("bad value 'soon' for 'checkpoint.lockTimeout' in file '"),
        "{error}"
    );
    let unknown = config::unknown(&repo);
    assert_eq!(unknown.len(), 1);
    assert!(
        unknown[0].0.eq_ignore_ascii_case("checkpoint.lockTimout"),
        "{unknown:?}"
    );
    let broken = with(&world, &[("GIT_CONFIG_PARAMETERS", OsStr::new("'a.b=c"))]);
    assert!(matches!(
        store::open(&broken),
        Err(Error::Environment {
            name: "GIT_CONFIG_PARAMETERS",
            ..
        })
    ));
}

#[test]
fn somebody_always_signs() {
    let world = World::new();
    let configured = |vars: &str| {
        let settings = format!("GIT_CONFIG_PARAMETERS={vars}");
        let under = [
            "env",
            "-u",
            "GIT_COMMITTER_NAME",
            "-u",
            "GIT_COMMITTER_EMAIL",
            &settings,
        ];
        super::actor::start_under(&world, &under, "who").finish().unwrap()
    };
    assert_eq!(configured(""), "git-checkpoint <git-checkpoint@localhost>");
    assert_eq!(configured("'user.name'='Ana'"), "Ana <git-checkpoint@localhost>");
    assert_eq!(
        configured("'user.name'='Ana' 'user.email'='a@x' 'committer.name'='Carl'"),
        "Carl <a@x>"
    );
    assert_eq!(
        configured("'user.name'=' <A\nna>, ' 'user.email'='.'"),
        "Ana <git-checkpoint@localhost>"
    );
    let given = super::actor::start(&world, "who").finish().unwrap();
    assert_eq!(given, "Carl Committer <carl@example.org>");
    let repo = open(&world);
    save(&repo, "s", b"unsigned").unwrap();
    assert_clean(&world);
}

#[test]
fn locks_exclude_and_say_for_whom_they_waited() {
    let world = World::new();
    let repo = open(&world);
    let held = store::lock::session(&repo, "abc", WAIT).unwrap();
    let error = store::lock::session(&repo, "abc", Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }) && error.is_transient());
    assert_eq!(
        error.to_string(),
        "session 'abc' is in use by another process (waited 0.1 s)"
    );
    let _other = store::lock::session(&repo, "abd", Duration::ZERO).unwrap();
    let _draft = store::lock::draft(&repo, "abc", Duration::ZERO).unwrap();
    let _tree = store::lock::worktree(&repo, Duration::ZERO).unwrap();
    drop(held);
    // Not at once: a process that another test is starting just now has the open file until it runs its program.
    drop(store::lock::session(&repo, "abc", WAIT).unwrap());
}
