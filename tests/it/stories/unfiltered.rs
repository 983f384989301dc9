//! Files that were written before a rule for their conversion was set up: git calls them unchanged, and they come back
//! byte for byte, whatever the rule would make of them.

use std::fs;
use std::path::PathBuf;

use crate::support::World;

/// A rule that comes after the commit.
struct Rule {
    name: &'static str,
    config: &'static [(&'static str, &'static str)],
    attributes: &'static str,
}

const TURN: &[(&str, &str)] = &[("filter.f.clean", "tr a-m n-z"), ("filter.f.smudge", "tr n-z a-m")];

const RULES: &[Rule] = &[
    Rule {
        name: "a filter that keeps sizes",
        config: TURN,
        attributes: "*.x filter=f\n",
    },
    Rule {
        name: "a filter of which only the way back changes anything",
        config: &[("filter.f.clean", "sed s/never/x/"), ("filter.f.smudge", "tr a-z A-Z")],
        attributes: "*.x filter=f\n",
    },
    Rule {
        name: "a filter without a way there",
        config: &[("filter.f.smudge", "tr a-z A-Z; echo more")],
        attributes: "*.x filter=f\n",
    },
    Rule {
        name: "a filter that drops lines and has no way back",
        config: &[("filter.f.clean", "head -n 1")],
        attributes: "*.x filter=f\n",
    },
    Rule {
        name: "a filter and other line ends",
        config: &[
            ("filter.f.clean", "tr a-m n-z"),
            ("filter.f.smudge", "tr n-z a-m"),
            ("core.autocrlf", "true"),
        ],
        attributes: "*.x filter=f\n",
    },
    Rule {
        name: "a filter and an identity",
        config: TURN,
        attributes: "*.x filter=f ident\n",
    },
    Rule {
        name: "line ends",
        config: &[],
        attributes: "*.x text eol=crlf\n",
    },
    Rule {
        name: "an identity",
        config: &[],
        attributes: "*.x ident\n",
    },
    Rule {
        name: "an encoding",
        config: &[],
        attributes: "*.x working-tree-encoding=UTF-16\n",
    },
    Rule {
        name: "git-lfs that is not set up",
        config: &[],
        attributes: "*.x filter=lfs\n",
    },
];

/// Short and long files, with line ends of each kind.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let long = |line: &str| line.repeat((1 << 20) / line.len() + 1).into_bytes();
    vec![
        ("lf.x", b"one never\ntwo $Id$\n".to_vec()),
        ("crlf.x", b"one\r\ntwo\r\n".to_vec()),
        ("mixed.x", b"one\r\ntwo\n".to_vec()),
        ("empty.x", Vec::new()),
        ("binary.x", b"a\0b\r\n".to_vec()),
        ("d/long.x", long("a long line\n")),
        ("d/long-crlf.x", long("a long line\r\n")),
    ]
}

/// A commit of these files, long enough ago that git need not read them again.
fn committed(files: &[(&str, Vec<u8>)]) -> World {
    let world = World::with_commit();
    for (path, bytes) in files {
        world.file(path, bytes);
    }
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "files"]).success();
    settle(&world, files);
    world
}

/// Makes files older than the index, for git to take them for what it has.
fn settle(world: &World, files: &[(&str, Vec<u8>)]) {
    for (path, _) in files {
        let file = fs::File::options().write(true).open(world.path(path)).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        file.set_modified(old).unwrap();
    }
    world.git(["update-index", "-q", "--refresh"]).success();
    std::thread::sleep(std::time::Duration::from_millis(30));
}

fn set_up(world: &World, rule: &Rule) {
    for (name, value) in rule.config {
        world.git(["config", name, value]).success();
    }
    world.file(".gitattributes", rule.attributes);
}

#[test]
fn a_file_comes_back_as_it_was_before_its_rule() {
    for rule in RULES {
        let files = files();
        let world = committed(&files);
        set_up(&world, rule);
        let unchanged = world.git_line(["status", "--porcelain"]);
        assert_eq!(unchanged, "?? .gitattributes", "{}", rule.name);
        // The second save has what the first one found out.
        for summary in ["first", "second"] {
            world.file("note", summary);
            world.checkpoint(["save", "-q", "-m", summary]).success();
            assert_eq!(
                world.git_line(["status", "--porcelain"]),
                "?? .gitattributes\n?? note",
                "{}",
                rule.name
            );
        }
        world.file("note", "third");
        world.checkpoint(["save", "-q", "-m", "third"]).success();
        for (path, _) in &files {
            world.file(path, "edited\n");
        }
        for summary in ["@~1", "@~2", "@"] {
            world.checkpoint(["restore", summary, "--force"]).success();
            for (path, bytes) in &files {
                assert!(world.read(path) == *bytes, "{}: {path} of {summary}", rule.name);
                world.file(path, "edited\n");
            }
        }
        world.checkpoint(["verify", "--all"]).success();
    }
}

#[test]
fn files_that_git_calls_unchanged_stay_when_the_rest_is_put_aside() {
    for rule in RULES {
        let files = files();
        let world = committed(&files);
        set_up(&world, rule);
        world.file("README.md", "changed\n");
        let times = || -> Vec<_> {
            let paths = files.iter().map(|(path, _)| world.path(path));
            paths
                .map(|path| fs::metadata(path).unwrap().modified().unwrap())
                .collect()
        };
        let before = times();
        world.checkpoint(["pause", "--clean"]).success();
        assert_eq!(world.git_line(["status", "--porcelain"]), "", "{}", rule.name);
        world.checkpoint(["resume", "--apply"]).success();
        assert_eq!(
            world.git_line(["status", "--porcelain"]),
            " M README.md\n?? .gitattributes",
            "{}",
            rule.name
        );
        assert_eq!(times(), before, "{}", rule.name);
        for (path, bytes) in &files {
            assert!(world.read(path) == *bytes, "{}: {path}", rule.name);
        }
    }
}

/// What the program would make of such a file is not asked.
#[test]
fn a_filter_that_fails_keeps_no_unchanged_file_from_being_saved() {
    let files = files();
    let world = committed(&files);
    let program = |program: &str| {
        for side in ["clean", "smudge"] {
            world.git(["config", &format!("filter.f.{side}"), program]).success();
        }
    };
    program("false");
    world.file(".gitattributes", "*.x filter=f\n");
    world.checkpoint(["save", "-q", "-m", "saved"]).success();
    program("cat");
    for (path, _) in &files {
        world.file(path, "edited\n");
    }
    program("tr a-z A-Z");
    world.checkpoint(["restore", "@", "--force"]).success();
    for (path, bytes) in &files {
        assert!(world.read(path) == *bytes, "{path}");
    }
}

/// What the programs of a filter were run for.
struct Runs(PathBuf);

impl Runs {
    /// A filter of these programs that is counted.
    fn of(world: &World, clean: &str, smudge: &str) -> Self {
        let log = world.root().join("runs");
        for (side, program) in [("clean", clean), ("smudge", smudge)] {
            let counted = format!("echo {side} >>'{}'; {program}", log.display());
            world.git(["config", &format!("filter.f.{side}"), &counted]).success();
        }
        Self(log)
    }

    /// How often they ran since this was asked.
    fn count(&self) -> usize {
        let runs = fs::read_to_string(&self.0).unwrap_or_default();
        let _ = fs::remove_file(&self.0);
        runs.lines().count()
    }
}

#[test]
fn a_filter_is_not_run_for_files_that_are_unchanged() {
    // The file is its blob, or the program made it shorter or longer: nothing is run. A file of the same size that is not
    // its blob is given to the program once.
    for (clean, smudge, is_before, runs) in [
        ("cat", "cat", true, 0),
        ("cat", "cat", false, 0),
        ("tr a-m n-z", "tr n-z a-m", false, 0),
        ("sed s/^/x/", "sed s/^x//", true, 0),
        ("tr a-m n-z", "tr n-z a-m", true, 3),
    ] {
        let files: Vec<_> = ["a.x", "b.x", "d/c.x"]
            .into_iter()
            .map(|path| (path, b"abc\n".to_vec()))
            .collect();
        let world = if is_before {
            World::with_commit()
        } else {
            committed(&files)
        };
        let counted = Runs::of(&world, clean, smudge);
        world.file(".gitattributes", "*.x filter=f\n");
        if is_before {
            for (path, bytes) in &files {
                world.file(path, bytes);
            }
            world.git(["add", "-A"]).success();
            world.git(["commit", "-qm", "files"]).success();
            settle(&world, &files);
        }
        counted.count();
        for n in 0..3 {
            world.file("note", n.to_string());
            world.checkpoint(["save", "-q", "-m", "saved"]).success();
            let expected = if n == 0 { runs } else { 0 };
            assert_eq!(counted.count(), expected, "{clean}, {is_before}, save {n}");
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        assert_eq!(
            world.git_line(["rev-parse", "checkpoints/main^2:d/c.x"]),
            world.git_line(["rev-parse", "HEAD:d/c.x"])
        );
        world.checkpoint(["status"]).success();
        assert_eq!(counted.count(), 0, "{clean}, {is_before}");
    }
}

/// What a filter makes of a blob and has no way back for came from that blob, and comes from it again.
#[test]
fn a_filter_without_a_way_there_gives_the_file_back() {
    for clean in [None, Some("cat")] {
        let files = vec![
            ("a.x", b"ABC\n".to_vec()),
            ("long.x", "ABCDE\n".repeat(200_000).into_bytes()),
        ];
        let world = World::with_commit();
        for (path, bytes) in &files {
            world.file(path, bytes.to_ascii_lowercase());
        }
        world.file(".gitattributes", "*.x filter=f\n");
        world.git(["add", "-A"]).success();
        world.git(["commit", "-qm", "files"]).success();
        world.git(["config", "filter.f.smudge", "tr a-z A-Z"]).success();
        if let Some(clean) = clean {
            world.git(["config", "filter.f.clean", clean]).success();
        }
        for (path, _) in &files {
            fs::remove_file(world.path(path)).unwrap();
        }
        world.git(["checkout", "--", "."]).success();
        settle(&world, &files);
        world.file("note", "more");
        world.checkpoint(["save", "-q", "-m", "saved"]).success();
        for (path, bytes) in &files {
            assert!(world.read(path) == *bytes, "{path}");
            world.file(path, "edited\n");
        }
        world.checkpoint(["restore", "@", "--force"]).success();
        for (path, bytes) in &files {
            assert!(world.read(path) == *bytes, "{clean:?} {path}");
        }
    }
}

/// A file that came through another program is stored as the program of now gives it: that one brings it back.
#[test]
fn a_filter_that_was_replaced_gives_the_file_back() {
    let files = vec![("a.x", b"abc\n".to_vec())];
    let world = World::with_commit();
    for (name, value) in TURN {
        world.git(["config", name, value]).success();
    }
    world.file(".gitattributes", "*.x filter=f\n");
    world.file("a.x", &files[0].1);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "files"]).success();
    settle(&world, &files);
    world.git(["config", "filter.f.clean", "tr a-z A-Z"]).success();
    world.git(["config", "filter.f.smudge", "tr A-Z a-z"]).success();
    world.file("note", "more");
    world.checkpoint(["save", "-q", "-m", "saved"]).success();
    assert_eq!(world.git_line(["status", "--porcelain"]), "?? note");
    assert_eq!(world.git_line(["show", "checkpoints/main^2:a.x"]), "ABC");
    world.file("a.x", "edited\n");
    world.checkpoint(["restore", "@", "--force"]).success();
    assert_eq!(world.read("a.x"), b"abc\n");
}
