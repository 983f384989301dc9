//! Forks, comparisons of them, the trash, and taking all of that back.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{PROGRAM, World};

fn save(world: &World, arguments: &[&str]) -> String {
    let line = [&["save", "--json"], arguments].concat();
    let receipt = world.checkpoint(line).success().stdout_json();
    receipt["id"].as_str().unwrap().to_owned()
}

fn document(world: &World, name: &str) -> serde_json::Value {
    world
        .git(["show", &format!("{name}:checkpoint.json")])
        .success()
        .stdout_json()
}

#[test]
fn a_fork_is_a_real_parent_edge_and_leaves_its_source_alone() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("a", "1");
    let first = save(&world, &["-m", "one", "-d", "keep v1", "--next", "parser"]);
    world.file("a", "2");
    let second = save(&world, &["-m", "two"]);

    // From the middle of a chain, twice, and a fork of a fork.
    world
        .checkpoint(["fork", "auth~1", "--name", "try-a"])
        .success()
        .stdout_has("Forked")
        .stdout_has("1 decision");
    world.checkpoint(["status"]).success().stdout_has("try-a");
    world.checkpoint(["fork", &first]).success().stdout_has("auth-fork-1");
    world.checkpoint(["fork", "try-a", "--name", "deeper"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), second);
    assert_eq!(world.git_line(["rev-parse", "checkpoints/try-a^1"]), first);
    assert_eq!(
        world.git_line(["rev-parse", "checkpoints/try-a^2"]),
        world.git_line(["rev-parse", &format!("{first}^2")])
    );
    assert_eq!(
        world.git_line(["rev-parse", "checkpoints/deeper^1"]),
        world.git_line(["rev-parse", "checkpoints/try-a"])
    );
    assert_eq!(
        world.git_line(["merge-base", "checkpoints/auth", "checkpoints/deeper"]),
        first
    );

    let (source, fork) = (document(&world, &first), document(&world, "checkpoints/try-a"));
    let digest = world.git_line([
        "log",
        "-1",
        "--format=%(trailers:key=Checkpoint-Digest,valueonly)",
        &first,
    ]);
    assert_eq!(fork["kind"], "fork");
    assert_eq!(fork["previous"], digest.trim());
    assert_eq!(fork["session"]["forked_from"]["digest"], digest.trim());
    assert_ne!(fork["session"]["id"], source["session"]["id"]);
    assert_eq!(
        (&fork["record"], &fork["snapshot"], &fork["git"]),
        (&source["record"], &source["snapshot"], &source["git"])
    );
    assert_eq!(fork["folded"], serde_json::json!({}));
    world.checkpoint(["verify"]).success();

    // The log of a fork is its own.
    world.checkpoint(["log", "try-a"]).success().stdout_lacks("two");
    world.checkpoint(["fork", "nothing"]).code(3);
    world
        .checkpoint(["fork", "@", "--name", "auth"])
        .code(4)
        .stderr_has("already exists");
}

#[test]
fn a_fork_in_a_work_tree_of_its_own_has_everything_as_it_was() {
    let world = World::with_commit();
    world.file(".gitattributes", "*.crlf text eol=crlf\n");
    world.file("dos.crlf", "a\r\nb\r\n");
    world.git(["add", "--all"]).success();
    world.git(["commit", "-qm", "second"]).success();
    world.checkpoint(["start", "auth"]).success();
    world.file("staged", "1");
    world.git(["add", "staged"]).success();
    world.file("staged", "2");
    world.file("untracked", "3");
    world.file("dos.crlf", "a\nb\r\n");
    world.file("script", "#!");
    super::restore::executable(&world, "script");
    fs::remove_file(world.path("README.md")).unwrap();
    fs::create_dir(world.path("empty")).unwrap();
    save(&world, &["-m", "then", "--next", "go on"]);
    let state = || {
        (
            world.git_line(["status", "--porcelain=v2", "--untracked-files=all"]),
            world.git_line(["ls-files", "--stage"]),
            world.git_line(["rev-parse", "HEAD"]),
        )
    };
    let mut then = state();
    // git takes a file of another length for changed without reading it; the fork has the length of its own file.
    then.0 = then
        .0
        .lines()
        .filter(|line| !line.ends_with(" dos.crlf"))
        .collect::<Vec<_>>()
        .join("\n");
    world.file("staged", "later");
    world.git(["commit", "-qam", "third"]).success();
    let main = world.git_line(["rev-parse", "main"]);

    let made = world
        .checkpoint(["fork", "auth", "--name", "try", "--worktree", "../try", "--json"])
        .success()
        .stdout_json();
    assert_eq!(made["forks"][0]["worktree"]["branch"], "checkpoint/try");
    assert_eq!(world.read("staged"), b"later", "the present working tree stays");
    assert_eq!(world.git_line(["rev-parse", "main"]), main);
    world.checkpoint(["status"]).success().stdout_has("auth");
    world.enter("try");
    assert_eq!(state(), then);
    assert_eq!(world.read("dos.crlf"), b"a\nb\r\n");
    assert!(world.path("empty").is_dir());
    assert_eq!(world.git_line(["branch", "--show-current"]), "checkpoint/try");
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("Session try")
        .stdout_has("go on");
    world.file("more", "4");
    save(&world, &["-m", "in the fork"]);
    world.git(["fsck", "--strict"]).success();
    // A branch that exists is not taken over, and a session that cannot have its working tree is reported.
    world
        .checkpoint([
            "fork",
            "@",
            "--name",
            "again",
            "--worktree",
            "../again",
            "--branch",
            "main",
        ])
        .code(4);
}

#[test]
fn options_of_a_fork_point_are_tried_side_by_side() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    let record = serde_json::json!({ "fork_points": [{
        "title": "which parser", "options": [{"key": "nom", "title": "nom"}, {"key": "winnow", "title": "winnow"}]
    }]});
    world
        .command("git-checkpoint", ["save", "-m", "choose", "--record", "-"])
        .input(record.to_string())
        .run()
        .success();
    world
        .checkpoint(["fork", "@", "--option", "nom", "--option", "winnow"])
        .success()
        .stdout_has("option    nom");
    let chosen = |name: &str| document(&world, name)["record"]["fork_points"][0]["chosen"].clone();
    assert_eq!(
        (chosen("checkpoints/auth-nom"), chosen("checkpoints/auth-winnow")),
        ("nom".into(), "winnow".into())
    );
    assert!(chosen("checkpoints/auth").is_null());
    assert_eq!(
        document(&world, "checkpoints/auth-nom")["session"]["forked_from"]["option"],
        "nom"
    );
    // Of several none becomes current.
    world.checkpoint(["status"]).success().stdout_has("auth,");
    world
        .checkpoint(["fork", "@", "--option", "peg"])
        .code(3)
        .stderr_has("no fork point with option 'peg'");
    world
        .checkpoint(["fork", "@", "--option", "nom", "--name", "a", "--name", "b"])
        .code(129);
    world.checkpoint(["undo"]).success();
    assert_eq!(
        world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints"]),
        "refs/checkpoints/auth"
    );
    world.checkpoint(["redo"]).success();
    assert_eq!(chosen("checkpoints/auth-nom"), "nom");
}

#[test]
fn forks_are_compared_with_what_they_come_from() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("both", "1\n2\n3\n");
    save(&world, &["-m", "common", "-d", "keep v1"]);
    world.checkpoint(["fork", "auth", "--name", "one"]).success();
    world.file("both", "one\n2\n3\n");
    world.file("only-one", "x");
    save(&world, &["-m", "one", "-d", "use nom"]);
    world.checkpoint(["fork", "auth", "--name", "two"]).success();
    world
        .checkpoint(["step", "run", "--title", "parse", "--", "true"])
        .success();
    world.file("both", "two\n2\n3\n");
    fs::remove_file(world.path("only-one")).unwrap();
    save(&world, &["-m", "two", "-d", "use winnow"]);
    save(&world, &["-m", "two again", "--allow-empty"]);

    let shown = world.checkpoint(["compare", "one", "two"]).success().clone();
    shown
        .stdout_has("Both come from")
        .stdout_has("common")
        .stdout_has("+ use nom")
        .stdout_has("+ use winnow");
    shown.stdout_has("1 file changed by both").stdout_has("same lines");
    shown.stdout_has("+ 1 parse: done");
    let json = world
        .checkpoint(["compare", "one", "two", "--json"])
        .success()
        .stdout_json();
    assert_eq!(json["common"]["id"], world.git_line(["rev-parse", "checkpoints/auth"]));
    assert_eq!(
        (&json["common"]["a"]["checkpoints"], &json["common"]["b"]["checkpoints"]),
        (&2.into(), &3.into())
    );
    assert_eq!(json["common"]["both"][0]["path"], "both");
    let files: Vec<_> = json["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap())
        .collect();
    assert_eq!(files, ["both", "only-one"]);
    world
        .checkpoint(["compare", "one", "two", "--patch", "--", "both"])
        .success()
        .stdout_has("-one\n+two\n");
    world.checkpoint(["start", "alone"]).success();
    save(&world, &["-m", "alone"]);
    world
        .checkpoint(["compare", "one", "alone"])
        .success()
        .stdout_has("no common checkpoint");
}

#[test]
fn what_was_done_to_sessions_is_taken_back() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("a", "1");
    let tip = save(&world, &["-m", "one", "--next", "more"]);
    let refs = || world.git_line(["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints"]);
    let before = refs();

    world.checkpoint(["rename", "auth", "login"]).success();
    world.checkpoint(["undo"]).success().stdout_has("renamed auth to login");
    assert_eq!(refs(), before);
    world.checkpoint(["redo"]).success();
    assert_eq!(refs(), format!("refs/checkpoints/login {tip}"));
    world.checkpoint(["undo"]).success();

    world.checkpoint(["finish", "-m", "done"]).success();
    world.checkpoint(["status"]).success().stdout_has("no current session");
    world.checkpoint(["undo"]).success().stdout_has("finished session auth");
    assert_eq!(refs(), before);
    world.checkpoint(["status"]).success().stdout_has("auth");
    world.checkpoint(["save", "-m", "on"]).success();
    let record = document(&world, "checkpoints/auth")["record"].clone();
    assert_eq!(record["next_steps"][0]["text"], "more", "what was said is not lost");

    let before = refs();
    world
        .checkpoint(["delete", "auth"])
        .success()
        .stdout_has("Deleted")
        .stdout_has("3 checkpoints");
    assert_eq!(refs(), "");
    world.git(["reflog", "expire", "--expire=now", "--all"]).success();
    world.git(["gc", "-q", "--prune=now"]).success();
    world.checkpoint(["undo"]).success();
    assert_eq!(refs(), before);
    world.checkpoint(["redo"]).success();
    world.checkpoint(["undo"]).success();
    // What has moved on is not taken back.
    world.checkpoint(["rename", "auth", "login"]).success();
    world.file("a", "2");
    world.checkpoint(["save", "-m", "two"]).success();
    world
        .checkpoint(["undo", "--older"])
        .code(4)
        .stderr_has("session 'login' has changed since");
    world.git(["fsck", "--strict"]).success();
}

#[test]
fn pins_are_kept_by_digest() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("a", "1");
    save(&world, &["-m", "one"]);
    world.checkpoint(["pin"]).success().stdout_has("Pinned");
    world.checkpoint(["pin", "auth"]).success().stdout_has("Pinned already");
    let digest = world.git_line([
        "log",
        "-1",
        "--format=%(trailers:key=Checkpoint-Digest,valueonly)",
        "checkpoints/auth",
    ]);
    assert_eq!(
        String::from_utf8(world.read(".git/checkpoint/pins")).unwrap(),
        format!("{}\n", digest.trim())
    );
    let unpinned = world.checkpoint(["unpin", "auth", "--json"]).success().stdout_json();
    assert_eq!(
        (&unpinned["pinned"], &unpinned["changed"]),
        (&false.into(), &true.into())
    );
    assert_eq!(world.read(".git/checkpoint/pins"), b"");
}

#[test]
fn a_fork_that_has_no_place_leaves_nothing_behind() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    save(&world, &["-m", "one", "--allow-empty"]);
    world.file("../full/file", "mine");
    world.git(["branch", "taken"]).success();
    let refs = || world.git_line(["for-each-ref", "--format=%(refname) %(objectname)"]);
    let before = refs();
    let fork = |args: &[&str]| world.checkpoint([&["fork", "@", "--name", "try"], args].concat());
    fork(&["--worktree", "../full"])
        .code(4)
        .stderr_has("full' exists already");
    fork(&["--worktree", "../new", "--branch", "taken"])
        .code(4)
        .stderr_has("branch 'taken' exists already");
    fork(&["--worktree", "../new", "--branch", "a..b"])
        .code(4)
        .stderr_has("'a..b' is no name for a branch");
    fork(&["--worktree", "../new", "--name", "more", "--worktree", "../new"])
        .code(4)
        .stderr_has("new' exists already");
    fork(&["--name", "try"])
        .code(4)
        .stderr_has("session 'try' already exists");
    assert_eq!(refs(), before);
    assert!(!world.path("../new").exists());
    world.checkpoint(["undo"]).code(1).stderr_has("nothing to undo");
}

#[test]
fn taking_a_fork_back_tells_of_its_work_tree() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("README.md", "edited\n");
    save(&world, &["-m", "one"]);
    let made = world.checkpoint(["fork", "@", "--name", "try", "--worktree", "../try", "--json"]);
    let path = made.success().stdout_json()["forks"][0]["worktree"]["path"].clone();
    assert!(!path.as_str().unwrap().contains(".."), "{path}");
    let undone = world.checkpoint(["undo", "--advice"]);
    undone
        .success()
        .stdout_has("the working tree, with branch checkpoint/try")
        .stdout_has("git worktree remove")
        .stderr_lacks("git worktree remove");
    assert_eq!(world.read("../try/README.md"), b"edited\n");
    world.checkpoint(["redo"]).success().stdout_lacks("the working tree");
    let there = |args: &[&str]| world.command(PROGRAM, args).within("../try").run();
    there(&["status"]).success().stdout_has("try");
    // Gone, it is not reported any more.
    world.git(["worktree", "remove", "--force", "../try"]).success();
    let undone = world.checkpoint(["undo", "--json"]).success().stdout_json();
    assert_eq!(undone["stays"], serde_json::json!([]));
}

/// Runs forks of these checkpoints at once, and kills every third of them after a while.
fn at_once(world: &World, sources: &[&str], round: usize) -> Vec<Option<i32>> {
    let spawn = |(n, source): (usize, &&str)| {
        Command::new(PROGRAM)
            .args(["fork", source, "--name", &format!("r{round}-{n}"), "--json"])
            .current_dir(world.repo())
            .env_clear()
            .envs(world.environment())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut children: Vec<_> = sources.iter().enumerate().map(spawn).collect();
    for (n, child) in children.iter_mut().enumerate().filter(|(n, _)| n % 3 == 2) {
        std::thread::sleep(std::time::Duration::from_millis((5 * n + 7 * round) as u64 % 60));
        child.kill().unwrap();
    }
    children.iter_mut().map(|child| child.wait().unwrap().code()).collect()
}

#[test]
fn sixteen_forks_at_once_some_of_them_killed() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    for n in 1..=4 {
        world.file("a", format!("{n}"));
        save(&world, &["-m", &format!("save {n}"), "-d", &format!("decision {n}")]);
    }
    world.checkpoint(["fork", "auth~2", "--name", "deep"]).success();
    world.file("a", "in the fork");
    save(&world, &["-m", "in the fork"]);
    world.checkpoint(["switch", "auth"]).success();
    let auth = world.git_line(["rev-parse", "checkpoints/auth"]);
    // From the tip, from the middle, from the first save, and forks of a fork.
    let sources = ["auth", "auth~1", "auth~3", "deep", "deep~1", "auth", "auth~2", "deep"].repeat(2);
    let mut expected = 2;
    for round in 0..3 {
        let ends = at_once(&world, &sources, round);
        for (n, end) in ends.iter().enumerate() {
            let name = format!("checkpoints/r{round}-{n}");
            let made = world.git(["rev-parse", "-q", "--verify", &name]);
            // Whoever was not killed has its session; whoever was, a whole one or none.
            assert!(made.is_success() || end.is_none(), "{name} {end:?}");
            if !made.is_success() {
                continue;
            }
            expected += 1;
            let source = world.git_line(["rev-parse", &format!("{name}^1")]);
            let (made, from) = (document(&world, &name), document(&world, &source));
            assert_eq!(
                (&made["record"], &made["snapshot"]),
                (&from["record"], &from["snapshot"])
            );
            assert_eq!(made["session"]["name"], name.strip_prefix("checkpoints/").unwrap());
        }
        assert!(ends.iter().filter(|end| **end == Some(0)).count() >= 10, "{ends:?}");
    }
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), auth);
    // The next command clears up; then there is no empty ref, no lock and nothing that is not whole.
    world.checkpoint(["fork", "deep", "--name", "last"]).success();
    let sessions = world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints/"]);
    assert_eq!(sessions.lines().count(), expected + 1);
    let ids: std::collections::BTreeSet<_> = sessions
        .lines()
        .map(|name| document(&world, name)["session"]["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), expected + 1, "each session is one of its own");
    let left = world
        .command("find", [".git", "-name", "*.lock", "-path", "*refs*"])
        .run();
    left.success().stdout_is("");
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
    world.git(["gc", "-q", "--prune=now"]).success();
    world.checkpoint(["verify", "--all"]).success();
    // Each of them goes on by itself.
    world.checkpoint(["switch", "r0-3"]).success();
    save(&world, &["-m", "goes on", "--allow-empty"]);
    world
        .checkpoint(["log", "r0-3"])
        .success()
        .stdout_has("goes on")
        .stdout_lacks("save 4");
}

/// What goes along with a fork is counted with the questions that are open.
#[test]
fn the_record_of_a_fork_is_counted_with_its_questions() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["question", "add", "which port?"]).success();
    world.checkpoint(["question", "add", "which host?"]).success();
    world.checkpoint(["task", "add", "T"]).success();
    world.checkpoint(["save", "-m", "x"]).success();
    world.checkpoint(["question", "answer", "2", "localhost"]).success();
    world.checkpoint(["save", "-m", "y"]).success();
    world
        .checkpoint(["fork", "--name", "k", "--worktree", "../k"])
        .success()
        .stdout_has("1 task")
        .stdout_has("1 question");
}
