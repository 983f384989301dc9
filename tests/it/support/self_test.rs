//! Tests of the test world itself: a fingerprint that misses a change or a terminal that is none would make every
//! story that leans on it worthless.

use std::fs;
use std::path::Path;

use super::{World, normal};

#[test]
fn worlds_are_alike_and_apart_from_the_machine() {
    let (one, two) = (World::with_commit(), World::with_commit());
    assert_eq!(one.git_line(["rev-parse", "HEAD"]), two.git_line(["rev-parse", "HEAD"]));
    assert_eq!(one.git_line(["log", "-1", "--format=%ct %an"]), "1767323047 Ana Author");
    let settings = one.git_line(["config", "--list", "--show-scope"]);
    let others: Vec<&str> = settings.lines().filter(|line| !line.starts_with("local")).collect();
    let template = one.root().join("system/template");
    assert_eq!(
        others,
        [
            "system\tmaintenance.auto=false".to_owned(),
            format!("system\tinit.templatedir={}", template.display()),
        ]
    );
    one.command("git", ["rev-parse", "--show-prefix"])
        .within("src")
        .run()
        .success()
        .stdout_is("src/\n");
    one.command("git", ["hash-object", "--stdin"])
        .input("hello\n")
        .run()
        .success()
        .stdout_has("ce013625030ba8dba906f756967f9e9ca394464a");
}

/// A repository that was written from memory, and one that git makes at the same moment: the same down to each byte of the
/// git directory. Of the index it is what counts, and git takes its stat data for true without reading a file.
#[test]
fn a_written_repository_is_what_git_makes() {
    let (written, made) = (World::with_commit(), World::without_repository());
    made.git(["init", "--quiet", "--initial-branch=main"]).success();
    made.file("README.md", "hello\n");
    made.file("src/main.txt", "one\ntwo\nthree\n");
    made.git(["add", "--all"]).success();
    made.git(["commit", "--quiet", "-m", "first"]).success();
    assert_eq!(written.now(), made.now());
    for world in [&written, &made] {
        world.git(["diff-files"]).success().stdout_is("");
        world.git(["fsck", "--strict"]).success();
    }
    let index = |world: &World| {
        let all = [&["ls-files", "--stage"][..], &["ls-files", "--debug"]];
        let text = all.map(|args| world.git(args).success().stdout().to_owned()).concat();
        let stat = |line: &&str| {
            !["ctime: ", "mtime: ", "dev: "]
                .iter()
                .any(|name| line.trim().starts_with(name))
        };
        let kept: Vec<_> = text.lines().filter(stat).map(str::to_owned).collect();
        (kept, fs::metadata(world.path(".git/index")).unwrap().len())
    };
    assert_eq!(index(&written), index(&made));
    let files = |world: &World| {
        let found = world
            .command(
                "find",
                [
                    ".", "-type", "f", "!", "-name", "index", "-exec", "sha1sum", "{}", "+", "-printf", "%m %p\n",
                ],
            )
            .run();
        let mut lines: Vec<_> = found.success().stdout().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(files(&written), files(&made));
    assert!(files(&made).len() > 30);
}

/// Something that happens to a repository, and the entry in which it must show.
type Change = (&'static str, Box<dyn Fn(&World)>);

#[test]
fn a_fingerprint_sees_every_change_and_only_those() {
    let git = |args: &'static [&'static str]| Box::new(move |w: &World| drop(w.git(args).success().clone()));
    let changes: Vec<Change> = vec![
        ("README.md", Box::new(|w| w.file("README.md", "other\n"))),
        ("new", Box::new(|w| w.file("new", ""))),
        (
            "src/main.txt",
            Box::new(|w| fs::remove_file(w.path("src/main.txt")).unwrap()),
        ),
        (
            "README.md",
            Box::new(|w| {
                let file = fs::File::open(w.path("README.md")).unwrap();
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }),
        ),
        ("<git>/HEAD", git(&["symbolic-ref", "HEAD", "refs/heads/other"])),
        ("<git>/refs/heads/topic", git(&["branch", "topic"])),
        ("<git>/refs/tags/v1", git(&["tag", "v1"])),
        ("<git>/config", git(&["config", "a.b", "c"])),
        ("<git>/index", git(&["update-index", "--chmod=+x", "README.md"])),
        ("<git>/logs/HEAD", git(&["reset", "--quiet", "--soft", "HEAD"])),
        ("<git>/packed-refs", git(&["pack-refs", "--all"])),
        #[cfg(unix)]
        (
            "README.md",
            Box::new(|w| {
                use std::os::unix::fs::PermissionsExt as _;
                fs::set_permissions(w.path("README.md"), fs::Permissions::from_mode(0o600)).unwrap();
            }),
        ),
    ];
    for (entry, change) in changes {
        let world = World::with_commit();
        let before = world.fingerprint();
        change(&world);
        let differences = world.fingerprint().differences(&before);
        assert!(
            differences.iter().any(|d| d.starts_with(&format!("{entry}:"))),
            "{entry} is not in {differences:?}"
        );
    }
    let world = World::with_commit();
    world.git(["branch", "before"]).success();
    let before = world.fingerprint();
    world
        .git(["update-ref", "--create-reflog", "refs/checkpoints/x", "HEAD"])
        .success();
    world
        .git(["update-ref", "refs/checkpoints-undo/main/1", "HEAD"])
        .success();
    world
        .command("git", ["hash-object", "-w", "--stdin"])
        .input("x")
        .run()
        .success();
    world.file(".git/checkpoint/current", "x");
    world.git(["log", "--oneline"]).success();
    world.fingerprint().assert_same_as(&before);
}

#[test]
fn normal_text_keeps_who_is_who() {
    let text = "/tmp/w/repo: 0123456789abcdef0123456789abcdef01234567 at 2026-01-02T03:04:05+01:00,\n\
                0123456 and fedcba9, session abcdefghijklmnopqrstuvwx23 on main-abcdefg2, 1234567 bytes, defaced";
    assert_eq!(
        normal::normal(text, &[(Path::new("/tmp/w"), "<world>")]),
        "<world>/repo: <id-1> at <time>,\n\
         <id-1> and <id-2>, session <session-id-1> on main-<random-1>, 1234567 bytes, defaced"
    );
    assert_eq!(normal::normal("0123abc 0123abcd 7654fff", &[]), "<id-1> <id-1> <id-2>");
}

#[cfg(unix)]
#[test]
fn a_terminal_is_one() {
    use super::Terminal;
    let world = World::new();
    let screen = Terminal::new(57, "xterm-256color").answer("name?", "Ana\n").run(
        &world,
        "sh",
        [
            "-c",
            "test -t 0 && test -t 1 && test -t 2 && stty size && printf 'name? ' && read n && echo $TERM $n && exit 3",
        ],
    );
    assert_eq!(screen.status.code(), Some(3));
    assert_eq!(screen.text(), "24 57\nname? Ana\nxterm-256color Ana\n");
    let screen =
        Terminal::new(80, "dumb")
            .pipe_stdout()
            .run(&world, "sh", ["-c", "echo out; echo err >&2; test ! -t 1"]);
    assert_eq!(
        (screen.text().as_str(), screen.stdout.as_slice()),
        ("err\n", b"out\n".as_slice())
    );
    assert_eq!(screen.status.code(), Some(0));
}
