//! Compare-and-swap of refs in files, with git as judge; damage is reported and never overwritten.

use std::fs;
use std::time::{Duration, Instant};

use git_checkpoint::store::refs::{self, ExpectedValue, RefDamage};
use git_checkpoint::store::{Error, ObjectId, Repository};

use super::{WAIT, assert_clean, edit, now, open, save};
use crate::support::World;

const NAME: &str = "refs/checkpoints/s";

/// Two commits that exist, the second on top of the first, kept by a branch.
fn commits(world: &World) -> (ObjectId, ObjectId) {
    world.file("a", "1");
    world.git(["add", "a"]).success();
    world.git(["commit", "--quiet", "-m", "one"]).success();
    world.git(["commit", "--quiet", "--allow-empty", "-m", "two"]).success();
    let id = |name: &str| world.git_line(["rev-parse", name]).parse().unwrap();
    (id("HEAD~1"), id("HEAD"))
}

fn update(repo: &Repository, edits: &[refs::RefUpdate]) -> Result<(), Error> {
    refs::update(repo, edits, &git_checkpoint::store::who(repo, now(0)), WAIT).map(drop)
}

/// The story of one ref, reported in every kind of repository.
pub fn story(world: &World) {
    let (one, two) = commits(world);
    let repo = open(world);
    assert_eq!(refs::read(&repo, NAME).unwrap(), None);
    update(&repo, &[edit(NAME, ExpectedValue::Absent, Some(one))]).unwrap();
    assert_eq!(refs::read(&repo, NAME).unwrap(), Some(one));
    assert_eq!(world.git_line(["rev-parse", NAME]), one.to_string());
    let again = update(&repo, &[edit(NAME, ExpectedValue::Absent, Some(two))]);
    assert!(
        matches!(&again, Err(Error::Moved { found: Some(found), expected: None, .. }) if *found == one),
        "{again:?}"
    );
    let wrong = update(&repo, &[edit(NAME, ExpectedValue::Is(two), Some(one))]);
    assert!(
        matches!(&wrong, Err(Error::Moved { found: Some(found), .. }) if *found == one),
        "{wrong:?}"
    );
    let absent = update(&repo, &[edit("refs/checkpoints/t", ExpectedValue::Is(two), Some(one))]);
    assert!(matches!(&absent, Err(Error::Moved { found: None, .. })), "{absent:?}");
    update(&repo, &[edit(NAME, ExpectedValue::Is(one), Some(two))]).unwrap();
    update(&repo, &[edit(NAME, ExpectedValue::Is(two), Some(two))]).unwrap();
    // git moves it, we see it; we move it, git sees it; packed or not.
    world
        .git(["update-ref", NAME, &one.to_string(), &two.to_string()])
        .success();
    assert_eq!(refs::read(&repo, NAME).unwrap(), Some(one));
    world.git(["pack-refs", "--all"]).success();
    assert_eq!(refs::read(&repo, NAME).unwrap(), Some(one));
    update(&repo, &[edit(NAME, ExpectedValue::Is(one), Some(two))]).unwrap();
    assert_eq!(world.git_line(["rev-parse", NAME]), two.to_string());
    // Three of ours and one of git's, which wrote no line because the log must exist for that, and it does.
    let log = refs::reflog(&repo, NAME).unwrap();
    let steps: Vec<_> = log.iter().map(|entry| (entry.old, entry.new)).collect();
    assert_eq!(
        steps,
        [(Some(one), two), (Some(two), one), (Some(one), two), (None, one)]
    );
    assert_eq!(log[0].message, "test: refs/checkpoints/s");
    assert_eq!(log[0].who.time, now(0));
    assert_eq!(log[3].old, None);
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s@{1}"]), one.to_string());
    // Several at once: a rename and a copy.
    let other = "refs/checkpoints-trash/abc/1";
    update(
        &repo,
        &[
            edit(NAME, ExpectedValue::Is(two), None),
            edit("refs/checkpoints/renamed", ExpectedValue::Absent, Some(two)),
            edit(other, ExpectedValue::Any, Some(two)),
        ],
    )
    .unwrap();
    let listed = world.git_line([
        "for-each-ref",
        "--format=%(refname)",
        "refs/checkpoints*",
        "refs/checkpoints*/**",
    ]);
    assert_eq!(listed, "refs/checkpoints-trash/abc/1\nrefs/checkpoints/renamed");
    assert_eq!(refs::reflog(&repo, NAME).unwrap(), []);
    let found = refs::list(&repo, "refs/checkpoints/").unwrap();
    assert_eq!(found, [("refs/checkpoints/renamed".to_owned(), Ok(two))]);
    // All or nothing.
    let mixed = update(
        &repo,
        &[
            edit("refs/checkpoints/new", ExpectedValue::Absent, Some(one)),
            edit(other, ExpectedValue::Is(one), Some(two)),
        ],
    );
    assert!(matches!(mixed, Err(Error::Moved { .. })), "{mixed:?}");
    assert_eq!(refs::read(&repo, "refs/checkpoints/new").unwrap(), None);
    // Names that exclude each other.
    let below = update(
        &repo,
        &[edit("refs/checkpoints/renamed/x", ExpectedValue::Absent, Some(one))],
    );
    assert!(below.is_err());
    let above = update(
        &repo,
        &[edit("refs/checkpoints-trash/abc", ExpectedValue::Absent, Some(one))],
    );
    assert!(above.is_err());
    for name in [
        "refs/checkpoints/",
        "refs/heads/a..b",
        "HEAD",
        "refs/worktree/x",
        "refs/x/../y",
        "refs/x.lock",
    ] {
        assert!(
            matches!(
                update(&repo, &[edit(name, ExpectedValue::Any, Some(one))]),
                Err(Error::RefName { .. })
            ),
            "{name}"
        );
    }
    update(
        &repo,
        &[
            edit(other, ExpectedValue::Any, None),
            edit("refs/checkpoints/renamed", ExpectedValue::Any, None),
        ],
    )
    .unwrap();
    update(&repo, &[edit(other, ExpectedValue::Any, None)]).unwrap();
    assert_eq!(refs::list(&repo, "refs/checkpoints").unwrap(), []);
    assert_eq!(
        refs::head(&repo).unwrap(),
        refs::Head {
            branch: Some("refs/heads/main".to_owned()),
            id: Some(two)
        }
    );
    world.git(["checkout", "--quiet", "--detach", "HEAD~1"]).success();
    assert_eq!(
        refs::head(&open(world)).unwrap(),
        refs::Head {
            branch: None,
            id: Some(one)
        }
    );
    world.git(["checkout", "--quiet", "--orphan", "unborn"]).success();
    assert_eq!(
        refs::head(&open(world)).unwrap(),
        refs::Head {
            branch: Some("refs/heads/unborn".to_owned()),
            id: None
        }
    );
    world.git(["checkout", "--quiet", "--force", "main"]).success();
    assert_clean(world);
}

#[test]
fn refs_in_files() {
    let world = World::new();
    story(&world);
    assert!(
        !world.path(".git/refs/checkpoints-trash/abc").exists(),
        "empty directorys go"
    );
    assert!(!world.path(".git/logs/refs/checkpoints-trash/abc").exists());
}

#[test]
fn refs_in_a_repository_that_keeps_no_reflogs() {
    let world = World::new();
    world.git(["config", "core.logAllRefUpdates", "false"]).success();
    story(&world);
}

#[test]
fn refs_with_sha256() {
    let world = World::without_repository();
    world
        .git(["init", "--quiet", "--object-format=sha256", "--initial-branch=main"])
        .success();
    story(&world);
}

#[test]
fn refs_from_a_linked_work_tree_are_shared() {
    let world = World::new();
    let (one, _) = commits(&world);
    world
        .git(["worktree", "add", "--quiet", "--detach", "../linked"])
        .success();
    world.enter("linked");
    let repo = open(&world);
    update(&repo, &[edit(NAME, ExpectedValue::Absent, Some(one))]).unwrap();
    world.enter("repo");
    assert_eq!(refs::read(&open(&world), NAME).unwrap(), Some(one));
    assert_eq!(world.git_line(["rev-parse", NAME]), one.to_string());
    assert_clean(&world);
}

#[test]
fn damage_is_told_apart_and_refused() {
    let world = World::new();
    let (one, two) = commits(&world);
    let repo = open(&world);
    let missing: ObjectId = "0123456789012345678901234567890123456789".parse().unwrap();
    let cases: [(&[u8], RefDamage); 6] = [
        (b"", RefDamage::Empty),
        (b"garbage\n", RefDamage::Garbage),
        (&[0; 41], RefDamage::Garbage),
        (b"012345678901234567890123456789012345678x\n", RefDamage::Garbage),
        (
            b"ref: refs/heads/main\n",
            RefDamage::Symbolic("refs/heads/main".to_owned()),
        ),
        (
            b"0123456789012345678901234567890123456789\n",
            RefDamage::Dangling(missing),
        ),
    ];
    for (bytes, damage) in cases {
        fs::create_dir_all(world.path(".git/refs/checkpoints")).unwrap();
        fs::write(world.path(".git/refs/checkpoints/s"), bytes).unwrap();
        let read = refs::read(&repo, NAME);
        assert!(
            matches!(&read, Err(Error::Damaged { damage: found, .. }) if *found == damage),
            "{read:?}"
        );
        assert_eq!(
            refs::list(&repo, "refs/checkpoints/").unwrap(),
            [(NAME.to_owned(), Err(damage.clone()))]
        );
        if !matches!(damage, RefDamage::Dangling(_)) {
            for expected in [ExpectedValue::Absent, ExpectedValue::Any, ExpectedValue::Is(one)] {
                for new in [Some(two), None] {
                    let refused = update(&repo, &[edit(NAME, expected, new)]);
                    assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
                }
            }
        }
        assert_eq!(fs::read(world.path(".git/refs/checkpoints/s")).unwrap(), bytes);
        update(&repo, &[edit(NAME, ExpectedValue::Unreadable, Some(two))]).unwrap();
        assert_eq!(refs::read(&repo, NAME).unwrap(), Some(two));
        update(&repo, &[edit(NAME, ExpectedValue::Is(two), None)]).unwrap();
    }
    fs::write(world.path(".git/refs/checkpoints/s"), "").unwrap();
    update(&repo, &[edit(NAME, ExpectedValue::Unreadable, None)]).unwrap();
    assert_clean(&world);
}

#[test]
fn a_lock_of_git_is_waited_for_and_then_named() {
    let world = World::new();
    let (one, _) = commits(&world);
    let repo = open(&world);
    save(&repo, "other", b"x").unwrap();
    let lock = world.path(".git/refs/checkpoints/s.lock");
    fs::write(&lock, "").unwrap();
    let who = git_checkpoint::store::who(&repo, now(0));
    let edits = [edit(NAME, ExpectedValue::Absent, Some(one))];
    let started = Instant::now();
    let refused = refs::update(&repo, &edits, &who, Duration::from_millis(300));
    assert!(started.elapsed() >= Duration::from_millis(300) && started.elapsed() < Duration::from_secs(10));
    let Err(error @ Error::RefLocked { .. }) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.to_string().contains("s.lock' exists ("), "{error}");
    assert!(lock.exists(), "it is not ours to remove");
    assert!(refs::recover(&repo, WAIT).is_ok() && lock.exists());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            fs::remove_file(&lock).unwrap();
        });
        update(&repo, &edits).unwrap();
    });
    assert_clean(&world);
}

#[test]
fn a_thousand_refs_are_listed_quickly_packed_or_not() {
    let world = World::new();
    let (one, _) = commits(&world);
    let lines: Vec<_> = (0..1000)
        .map(|number| format!("create refs/checkpoints/s{number} {one}\n"))
        .collect();
    let input = lines.concat();
    world
        .command("git", ["update-ref", "--stdin"])
        .input(input)
        .run()
        .success();
    let repo = open(&world);
    for _ in 0..2 {
        let started = Instant::now();
        let found = refs::list(&repo, "refs/checkpoints/").unwrap();
        assert_eq!(found.len(), 1000);
        assert!(found.iter().all(|(_, value)| *value == Ok(one)));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_eq!(refs::list(&repo, "refs/checkpoints/s99").unwrap().len(), 11);
        world.git(["pack-refs", "--all"]).success();
    }
    update(&repo, &[edit("refs/checkpoints/s7", ExpectedValue::Is(one), None)]).unwrap();
    assert_eq!(refs::list(&repo, "refs/checkpoints/").unwrap().len(), 999);
    assert_eq!(
        world
            .git_line(["for-each-ref", "--format=x", "refs/checkpoints"])
            .lines()
            .count(),
        999
    );
    assert_clean(&world);
}

#[test]
fn a_users_ref_in_the_way_is_named() {
    let world = World::new();
    let (one, _) = commits(&world);
    world
        .git(["update-ref", "refs/checkpoints", &one.to_string()])
        .success();
    for _ in 0..2 {
        let repo = open(&world);
        let refused = update(&repo, &[edit(NAME, ExpectedValue::Absent, Some(one))]);
        let Err(Error::InTheWay { other, .. }) = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!(other, "refs/checkpoints");
        world.git(["pack-refs", "--all"]).success();
    }
    assert_clean(&world);
}

#[test]
fn a_torn_reflog_line_does_not_swallow_the_next_one() {
    let world = World::new();
    let (one, two) = commits(&world);
    let repo = open(&world);
    update(&repo, &[edit(NAME, ExpectedValue::Absent, Some(one))]).unwrap();
    let log = world.path(".git/logs/refs/checkpoints/s");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, [&whole[..], &whole[..whole.len() / 2]].concat()).unwrap();
    update(&repo, &[edit(NAME, ExpectedValue::Is(one), Some(two))]).unwrap();
    assert_eq!(refs::reflog(&repo, NAME).unwrap()[0].new, two);
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s@{1}"]), one.to_string());
}
