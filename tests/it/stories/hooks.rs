//! Hooks: a checkpoint for each commit, with the user's own hooks still running and untouched.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use crate::support::{PROGRAM, World, copy_program};

/// A world with hooks installed, a session, and the user's own post-commit hook, which fails.
fn hooked() -> World {
    let world = World::with_commit();
    own_hook(&world, ".git/hooks/post-commit", OWN);
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["hooks", "install"]).success();
    world
}

/// Counts its calls, and ends with a failure.
const OWN: &str = "#!/bin/sh\necho \"own $*\" >>\"$HOME/calls\"\nexit 3\n";

fn own_hook(world: &World, path: &str, text: &str) {
    world.file(path, text);
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(0o755)).unwrap();
}

fn calls(world: &World) -> usize {
    fs::read_to_string(world.home().join("calls")).map_or(0, |text| text.lines().count())
}

/// Kind, trigger and summary of the session's checkpoints, latest first, without the start.
fn log(world: &World, session: &str) -> Vec<(String, String)> {
    let format = "--format=%(trailers:key=Checkpoint-Trigger,valueonly,separator=)%x09%s";
    let log = world.git_line(["log", "--first-parent", format, &format!("refs/checkpoints/{session}")]);
    let rows = log.lines().filter(|line| !line.ends_with(&format!("start {session}")));
    rows.map(|line| {
        line.split_once('\t')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap()
    })
    .collect()
}

fn row(trigger: &str, summary: &str) -> (String, String) {
    (trigger.to_owned(), summary.to_owned())
}

fn head_of(world: &World) -> String {
    head_in(world, "s")
}

fn head_in(world: &World, session: &str) -> String {
    let text = world.git_line(["show", &format!("refs/checkpoints/{session}:checkpoint.json")]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["git"]["operation"], serde_json::Value::Null);
    document["git"]["head"].as_str().unwrap().to_owned()
}

#[test]
fn a_commit_makes_a_checkpoint_and_the_own_hook_runs() {
    let world = hooked();
    world.file("src/main.txt", "two\n");
    world.git(["commit", "-qam", "second: it works"]).success().no_stderr();
    assert_eq!(log(&world, "s"), [row("post-commit", "second: it works")]);
    assert_eq!(calls(&world), 1);
    assert_eq!(head_of(&world), world.git_line(["rev-parse", "HEAD"]));
    let status = world.checkpoint(["hooks", "status", "--json"]).success().stdout_json();
    assert_eq!(
        (&status["active"], &status["last_run"]["outcome"]),
        (&true.into(), &"saved".into())
    );
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("post-commit, post-rewrite, post-merge");
    // Amended: one checkpoint, of the amended commit.
    world
        .git(["commit", "-q", "--amend", "-m", "second, amended"])
        .success();
    assert_eq!(log(&world, "s")[0], row("post-commit", "second, amended"));
    assert_eq!(log(&world, "s").len(), 2);
    assert_eq!(head_of(&world), world.git_line(["rev-parse", "HEAD"]));
}

#[test]
fn a_commit_of_one_path_with_its_temporary_index() {
    let world = hooked();
    world.file("src/main.txt", "committed\n");
    world.file("README.md", "staged, not committed\n");
    world.git(["add", "README.md"]).success();
    world.git(["commit", "-qm", "partial", "--", "src/main.txt"]).success();
    assert_eq!(log(&world, "s"), [row("post-commit", "partial")]);
    // The index that is saved is the user's, with what is staged, not the temporary one.
    assert_eq!(
        world.git_line(["show", "refs/checkpoints/s^2^2:README.md"]),
        "staged, not committed"
    );
    world
        .git(["status", "--porcelain"])
        .success()
        .stdout_is("M  README.md\n");
}

/// git gives the hooks of these commits an index of their own, as long as the commit lasts.
#[test]
fn a_save_within_a_commit_has_the_index_of_the_user() {
    let commits: [&[&str]; 6] = [
        &["commit", "-qm", "c"],
        &["commit", "-qpm", "c"],
        &["commit", "-qpm", "c", "--", "src/main.txt"],
        &["commit", "-qam", "c"],
        &["commit", "-qm", "c", "--", "src/main.txt"],
        &["commit", "-qim", "c", "--", "src/main.txt"],
    ];
    for commit in commits {
        let edited = |with_hook: bool| {
            let world = World::with_commit();
            world.checkpoint(["start", "s"]).success();
            if with_hook {
                let text = format!("#!/bin/sh\nexec '{PROGRAM}' save -m hooked >\"$HOME/out\" 2>&1\n");
                own_hook(&world, ".git/hooks/pre-commit", &text);
            }
            world.file("src/main.txt", "changed\n");
            world.file("README.md", "staged\n");
            world.git(["add", "README.md"]).success();
            world.file("README.md", "staged and edited\n");
            let index = world.git_line(["ls-files", "--stage"]);
            // For those that ask: the file that is not staged.
            let answers = if commit.len() > 3 { "y\n" } else { "n\ny\n" };
            world.command("git", commit).input(answers).run().success();
            (world, index)
        };
        let (world, index) = edited(true);
        let said = fs::read_to_string(world.home().join("out")).unwrap();
        assert!(said.starts_with("Saved "), "{commit:?}: {said}");
        // What was staged and what was on disk when the hook ran.
        let saved = world.git_line(["ls-tree", "-r", "refs/checkpoints/s^2^2"]);
        let staged: Vec<_> = index.lines().map(|line| line.replace(" 0\t", "\t")).collect();
        let listed: Vec<_> = saved.lines().map(|line| line.replace(" blob ", " ")).collect();
        assert_eq!(listed, staged, "{commit:?}");
        assert_eq!(
            world.git_line(["show", "refs/checkpoints/s^2:README.md"]),
            "staged and edited"
        );
        assert_eq!(world.git_line(["show", "refs/checkpoints/s^2:src/main.txt"]), "changed");
        // The commit, the index and the files are what they are without the hook.
        let (plain, _) = edited(false);
        for look in [
            &["rev-parse", "HEAD^{tree}"][..],
            &["ls-files", "--stage"],
            &["status", "--porcelain"],
        ] {
            assert_eq!(world.git_line(look), plain.git_line(look), "{commit:?} {look:?}");
        }
        let locks = fs::read_dir(world.path(".git")).unwrap();
        let locks: Vec<_> = locks.map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !locks.iter().any(|name| name.to_string_lossy().ends_with(".lock")),
            "{locks:?}"
        );
        world.git(["fsck", "--strict"]).success();
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// `core.hooksPath=/dev/null` is how people switch all hooks off.
#[test]
fn hooks_that_are_switched_off_are_not_installed() {
    let world = hooked();
    world.git(["config", "core.hooksPath", "/dev/null"]).success();
    world
        .checkpoint(["hooks", "install"])
        .code(4)
        .stderr_has("error: git runs no hooks here: core.hooksPath is '/dev/null'\n")
        .stderr_has("hint: use hooks of this repository: git config core.hooksPath .git/hooks\n");
    world
        .checkpoint(["hooks", "status"])
        .code(1)
        .stdout_has("git runs no hooks: core.hooksPath is '/dev/null'");
    world.checkpoint(["save", "-m", "saved"]).success();
    world.checkpoint(["hooks", "uninstall"]).success();
    world.git(["config", "--unset", "core.hooksPath"]).success();
    assert_eq!(fs::read_to_string(world.path(".git/hooks/post-commit")).unwrap(), OWN);
}

#[test]
fn a_rebase_of_a_hundred_commits_makes_one_checkpoint_that_maps_them() {
    let world = hooked();
    world.git(["branch", "base"]).success();
    world.file("numbers", "none\n");
    world.git(["add", "numbers"]).success();
    for n in 0..100 {
        world.file("numbers", format!("{n}\n"));
        let commit = world.command("git", ["commit", "-aqm", &format!("number {n}")]);
        commit.env("CHECKPOINT_HOOK", "off").run().success();
    }
    assert_eq!(log(&world, "s"), [], "switched off by the variable");
    let old = world.git_line(["rev-list", "base..HEAD"]);
    world.git(["switch", "-q", "base"]).success();
    world.file("upstream", "new\n");
    world.git(["add", "upstream"]).success();
    world
        .command("git", ["commit", "-qm", "upstream"])
        .env("CHECKPOINT_HOOK", "off")
        .run()
        .success();
    world.git(["switch", "-q", "main"]).success();
    world.git(["rebase", "-q", "base"]).success();
    assert_eq!(
        log(&world, "s"),
        [row("post-rewrite", "rebase: 100 commits rewritten, now at 'number 99'")]
    );
    let map = world.git_line(["show", "refs/checkpoints/s:files/0"]);
    let new = world.git_line(["rev-list", "base..HEAD"]);
    let mapped: std::collections::BTreeMap<_, _> = map.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(mapped.len(), 100);
    for (old, new) in old.lines().zip(new.lines()) {
        assert_eq!(mapped[old], new);
    }
    assert_eq!(head_of(&world), world.git_line(["rev-parse", "HEAD"]));
    assert_eq!(calls(&world), 201, "the own hook ran for each");
}

#[test]
fn merges_and_cherry_picks() {
    let world = hooked();
    world.git(["switch", "-qc", "side"]).success();
    world.file("side", "side\n");
    world.git(["add", "side"]).success();
    world.git(["commit", "-qm", "side"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("src/main.txt", "main\n");
    world.git(["commit", "-qam", "on main"]).success();
    world.git(["merge", "-q", "--no-edit", "side"]).success();
    // The first branch took the session along; the other ones have their own.
    assert_eq!(log(&world, "main")[0], row("post-merge", "Merge branch 'side'"));
    assert_eq!(head_in(&world, "main"), world.git_line(["rev-parse", "HEAD"]));
    world.git(["switch", "-qc", "picks", "HEAD~1"]).success();
    world.git(["cherry-pick", "side"]).success();
    assert_eq!(log(&world, "picks")[0], row("post-commit", "side"));
    // A merge with a conflict, resolved and committed.
    world.file("src/main.txt", "picked\n");
    world.git(["commit", "-qam", "picked"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("src/main.txt", "other\n");
    world.git(["commit", "-qam", "other"]).success();
    world.git(["merge", "picks"]).code(1);
    world.file("src/main.txt", "both\n");
    world.git(["commit", "-qam", "resolved"]).success();
    assert_eq!(log(&world, "main")[0], row("post-commit", "resolved"));
    assert_eq!(head_in(&world, "main"), world.git_line(["rev-parse", "HEAD"]));
}

#[test]
fn linked_work_trees_save_to_their_own_session() {
    let world = hooked();
    world
        .git(["worktree", "add", "-q", "-b", "other", "../linked"])
        .success();
    let before = world.git_line(["rev-parse", "refs/checkpoints/s"]);
    world.enter("linked");
    world.file("here", "x\n");
    world.git(["add", "here"]).success();
    world.git(["commit", "-qm", "without a session"]).success();
    world.checkpoint(["start", "linked"]).success();
    world.file("here", "y\n");
    world.git(["commit", "-qam", "with one"]).success();
    assert_eq!(log(&world, "linked"), [row("post-commit", "with one")]);
    assert_eq!(
        world.git_line(["rev-parse", "refs/checkpoints/s"]),
        before,
        "the other working tree's"
    );
    assert_eq!(calls(&world), 2);
}

#[test]
fn a_graphical_client_with_a_bare_path() {
    let world = hooked();
    world.file("src/main.txt", "gui\n");
    let commit = world.command("git", ["commit", "-qam", "from a client"]);
    commit.env("PATH", "/usr/bin:/bin").run().success().no_stderr();
    assert_eq!(log(&world, "s"), [row("post-commit", "from a client")]);
}

#[test]
fn a_program_that_is_gone_is_passed_over_without_a_word() {
    let world = World::with_commit();
    own_hook(&world, ".git/hooks/post-commit", OWN);
    let copy = world.root().join("it's here");
    fs::create_dir(&copy).unwrap();
    let copy = copy.join("git-checkpoint");
    copy_program(&copy);
    world.command(&copy, ["start", "s"]).run().success();
    world.command(&copy, ["hooks", "install"]).run().success();
    world.file("a", "1");
    world.git(["add", "a"]).success();
    world.git(["commit", "-qm", "one"]).success();
    assert_eq!(log(&world, "s").len(), 1);
    fs::remove_file(&copy).unwrap();
    // In PATH there is another one.
    world.file("a", "2");
    world.git(["commit", "-qam", "two"]).success();
    assert_eq!(log(&world, "s").len(), 2);
    world.file("a", "3");
    let commit = world.command("git", ["commit", "-qam", "three"]);
    commit.env("PATH", "/usr/bin:/bin").run().success().no_stderr();
    assert_eq!((log(&world, "s").len(), calls(&world)), (2, 3));
    world
        .checkpoint(["hooks", "status"])
        .code(1)
        .stdout_has("not working: the program it names is missing");
}

#[test]
fn hooks_of_every_kind_are_as_before_after_uninstall() {
    let kinds: [(&str, &[u8], u32); 6] = [
        ("shell", b"#!/bin/sh\necho shell >>\"$HOME/calls\"\n", 0o755),
        (
            "strict, ends early",
            b"#!/usr/bin/env bash\nset -eu\necho bash >>\"$HOME/calls\"\nexec true\n",
            0o700,
        ),
        ("no end of line", b"#!/bin/sh\necho x >>\"$HOME/calls\"", 0o755),
        ("no first line", b"echo plain >>\"$HOME/calls\"\n", 0o755),
        (
            "another language",
            b"#!/usr/bin/env perl\nopen(F, '>>', \"$ENV{HOME}/calls\"); print F \"perl\\n\";\n",
            0o755,
        ),
        ("switched off", b"#!/bin/sh\necho never >>\"$HOME/calls\"\n", 0o644),
    ];
    for (what, bytes, mode) in kinds {
        let world = World::with_commit();
        let path = ".git/hooks/post-commit";
        own_hook(&world, path, "");
        world.file(path, bytes);
        fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
        world.checkpoint(["start", "s"]).success();
        world.checkpoint(["hooks", "install"]).success();
        let first = world.read(path);
        world.checkpoint(["hooks", "install"]).success();
        assert_eq!(world.read(path), first, "{what}: twice is once");
        world.file("a", "1");
        world.git(["add", "a"]).success();
        world.git(["commit", "-qm", "one"]).success();
        assert_eq!(log(&world, "s").len(), 1, "{what}");
        assert_eq!(calls(&world), usize::from(mode != 0o644), "{what}");
        world
            .checkpoint(["hooks", "uninstall"])
            .success()
            .stdout_has("is unchanged");
        assert_eq!(world.read(path), bytes, "{what}");
        let metadata = fs::metadata(world.path(path)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, mode, "{what}");
        let left: Vec<_> = fs::read_dir(world.path(".git/hooks"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".sample") && name != "post-commit")
            .collect();
        assert_eq!(left, [""; 0], "{what}");
    }
}

#[test]
fn a_hook_that_is_a_link_into_the_project_is_not_written_through() {
    let world = World::with_commit();
    own_hook(&world, "tools/hook", OWN);
    symlink("../../tools/hook", world.path(".git/hooks/post-commit")).unwrap();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["hooks", "install"]).success();
    world.git(["add", "tools"]).success();
    world.git(["commit", "-qm", "tools"]).success();
    assert_eq!((log(&world, "s").len(), calls(&world)), (1, 1));
    assert_eq!(world.read("tools/hook"), OWN.as_bytes());
    world.checkpoint(["hooks", "uninstall"]).success();
    assert_eq!(
        fs::read_link(world.path(".git/hooks/post-commit")).unwrap().to_str(),
        Some("../../tools/hook")
    );
}

#[test]
fn the_input_of_post_rewrite_reaches_the_own_hook_as_well() {
    let world = World::with_commit();
    own_hook(
        &world,
        ".git/hooks/post-rewrite",
        "#!/bin/sh\nset -e\necho \"$1\" >\"$HOME/input\"\ncat >>\"$HOME/input\"\n",
    );
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["hooks", "install", "--post-rewrite"]).success();
    let old = world.git_line(["rev-parse", "HEAD"]);
    world.git(["commit", "-q", "--amend", "-m", "amended"]).success();
    let new = world.git_line(["rev-parse", "HEAD"]);
    let input = fs::read_to_string(world.home().join("input")).unwrap();
    assert_eq!(input, format!("amend\n{old} {new}\n"));
    assert_eq!(log(&world, "s"), [row("post-rewrite", "amended")]);
}

#[test]
fn core_hooks_path_is_followed_and_a_shared_one_refused() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["hooks", "install"]).success();
    world.git(["config", "core.hooksPath", "tools/hooks"]).success();
    world
        .checkpoint(["hooks", "status"])
        .code(1)
        .stdout_has("not working: core.hooksPath is now");
    world.checkpoint(["status"]).success().stdout_has("does not work");
    own_hook(&world, "tools/hooks/post-commit", OWN);
    world.checkpoint(["hooks", "install"]).success();
    world.git(["add", "src"]).success();
    world
        .git(["commit", "-q", "--allow-empty", "-m", "by another path"])
        .success();
    assert_eq!((log(&world, "s").len(), calls(&world)), (1, 1));
    world.checkpoint(["hooks", "uninstall"]).success();
    assert_eq!(world.read("tools/hooks/post-commit"), OWN.as_bytes());
    assert!(!world.path(".git/hooks/post-commit").exists());
    world.git(["config", "--unset", "core.hooksPath"]).success();
    let shared = world.command(PROGRAM, ["hooks", "install"]);
    shared
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.hooksPath")
        .env("GIT_CONFIG_VALUE_0", world.home().join("hooks"))
        .run()
        .code(4)
        .stderr_has("is shared");
    assert!(!world.home().join("hooks").exists());
}

#[test]
fn hook_managers_are_told_what_to_add() {
    let managers = [
        (
            "lefthook.yml",
            "pre-commit:\n",
            "run: git checkpoint hooks run post-commit",
            "lefthook-local.yml",
        ),
        (
            ".overcommit.yml",
            "PreCommit: {}\n",
            "'hooks', 'run', 'post-commit'",
            ".overcommit.yml",
        ),
        (
            ".husky/pre-commit",
            "true\n",
            "git-checkpoint hooks run post-commit",
            ".husky/post-commit",
        ),
    ];
    for (file, text, line, place) in managers {
        let world = World::with_commit();
        world.file(file, text);
        if file.starts_with(".husky") {
            world.git(["config", "core.hooksPath", ".husky/_"]).success();
            fs::create_dir_all(world.path(".husky/_")).unwrap();
        }
        let shown = world.checkpoint(["hooks", "install"]);
        shown.code(1).stdout_has(line).stderr_has(place);
        assert!(!world.path(".git/hooks/post-commit").exists() && !world.path(".husky/_/post-commit").exists());
        world.checkpoint(["hooks", "status"]).code(1);
        // Done as reported.
        for target in shown
            .stderr()
            .split([' ', ',', '\n'])
            .filter(|word| word.starts_with(".husky/post-"))
        {
            world.file(target, shown.stdout());
        }
        if !file.starts_with(".husky") {
            world.file(place, shown.stdout());
        }
        world
            .checkpoint(["hooks", "status"])
            .success()
            .stdout_has("active: through");
        world
            .checkpoint(["hooks", "install"])
            .success()
            .stdout_has("already installed");
    }
    // pre-commit keeps what is there, so a hook file of ours is right.
    let world = World::with_commit();
    world.file(".pre-commit-config.yaml", "repos: []\n");
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["hooks", "install"]).success();
    world.git(["commit", "-q", "--allow-empty", "-m", "x"]).success();
    assert_eq!(log(&world, "s").len(), 1);
}

#[test]
fn what_is_asked_for_alone_and_before_a_push() {
    let world = World::with_commit();
    own_hook(&world, ".git/hooks/pre-push", "#!/bin/sh\ncat >\"$HOME/refs\"\n");
    world.checkpoint(["start", "s"]).success();
    world
        .checkpoint(["hooks", "install", "--pre-push", "--post-checkout"])
        .success();
    world.git(["init", "-q", "--bare", "../remote.git"]).success();
    world.git(["remote", "add", "origin", "../remote.git"]).success();
    world.file("a", "not committed");
    world.git(["push", "-q", "origin", "main"]).success();
    assert_eq!(log(&world, "s")[0], row("pre-push", "before a push to origin"));
    assert!(
        fs::read_to_string(world.home().join("refs"))
            .unwrap()
            .contains("refs/heads/main")
    );
    // A branch that is made from main continues the session.
    world.git(["switch", "-qc", "topic"]).success();
    assert_eq!(log(&world, "s")[0], row("post-checkout", "switched to branch topic"));
    world.file("b", "on the way back");
    world.git(["switch", "-q", "main"]).success();
    assert_eq!(log(&world, "s")[0], row("post-checkout", "switched to branch main"));
    let before = log(&world, "s").len();
    world.git(["checkout", "-q", "--", "README.md"]).success();
    assert_eq!(log(&world, "s").len(), before, "files alone are no event");
    world
        .checkpoint(["hooks", "status"])
        .code(1)
        .stdout_has("post-commit    not installed");
}

#[test]
fn a_commit_does_not_wait_longer_than_its_budget_and_what_failed_is_told() {
    let world = hooked();
    let lock = fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(world.path(".git/checkpoint/worktree.lock"))
        .unwrap();
    lock.lock().unwrap();
    world.file("a", "1");
    world.git(["add", "a"]).success();
    let begun = Instant::now();
    world
        .git(["commit", "-qm", "while another saves"])
        .success()
        .no_stderr();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(calls(&world), 1);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let status = world.checkpoint(["hooks", "status", "--json"]).stdout_json();
        if status["last_run"]["outcome"] == "failed" {
            break;
        }
        assert!(Instant::now() < deadline, "{status}");
        std::thread::sleep(Duration::from_millis(50));
    }
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("post-commit")
        .stdout_has("failed:");
    drop(lock);
    world.file("a", "2");
    world.git(["commit", "-qam", "again"]).success();
    world.checkpoint(["status"]).success().stdout_lacks("failed:");
}

#[test]
fn a_hook_of_the_user_that_saves_and_commits_does_not_recurse() {
    let world = World::with_commit();
    own_hook(
        &world,
        ".git/hooks/post-commit",
        "#!/bin/sh\ngit checkpoint save -q -m 'from my hook'\n\
         test -e .git/once && exit 0\ntouch .git/once\ngit commit -q --allow-empty -m nested\n",
    );
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["hooks", "install"]).success();
    world.file("a", "1");
    world.git(["add", "a"]).success();
    world.git(["commit", "-qm", "outer"]).success();
    let triggers: Vec<_> = log(&world, "s")
        .into_iter()
        .filter(|(trigger, _)| trigger == "post-commit")
        .collect();
    assert_eq!(triggers, [row("post-commit", "nested"), row("post-commit", "outer")]);
}

#[test]
fn a_message_that_git_refuses_gets_no_trailer() {
    let world = hooked();
    world.git(["config", "checkpoint.commitTrailer", "on"]).success();
    world.checkpoint(["hooks", "install", "--commit-msg"]).success();
    world.file("template", "Why:\n\n# what git takes out\nWhat:\n");
    let head = world.git_line(["rev-parse", "HEAD"]);
    world.file("src/main.txt", "two\n");
    let commit = |args: &[&str], editor: &str| {
        let mut all = vec!["-c", "core.editor=true", "commit", "-qa"];
        all.extend(args);
        world.command("git", all).env("GIT_EDITOR", editor).run()
    };
    commit(&["-s"], "true").code(1);
    commit(&[], "true").code(1);
    world.git(["config", "commit.template", "template"]).success();
    for args in [&[][..], &["-s"]] {
        commit(args, "true").code(1);
        assert_eq!(world.git_line(["rev-parse", "HEAD"]), head, "{args:?}");
    }
    // Edited, or given, it is a message.
    commit(&["-s"], "echo because >>").success();
    let message = || world.git_line(["log", "-1", "--format=%B"]);
    let trailers = ["Signed-off-by: ", "Checkpoint-Id: ", "because", "What:"];
    assert!(trailers.iter().all(|part| message().contains(part)), "{}", message());
    world.file("src/main.txt", "three\n");
    commit(&["-m", "third"], "false").success();
    assert!(message().starts_with("third\n\nCheckpoint-Id: "), "{}", message());
}

#[test]
fn a_directory_of_hooks_that_is_tracked_is_not_changed_unasked() {
    for (place, setting) in [
        (".githooks", Some(".githooks")),
        ("tools/git/hooks", Some("tools/git/hooks")),
        ("hooks dir", Some("hooks dir")),
        (".githooks", Some("./.githooks/")),
        ("ci/häkchen", Some("ci/../ci/häkchen")),
        ("it's \"hooks\"", Some("it's \"hooks\"")),
        (".githooks", None),
    ] {
        let world = World::with_commit();
        own_hook(
            &world,
            &format!("{place}/post-commit"),
            "#!/bin/sh\necho own >>\"$HOME/calls\"\n",
        );
        if let Some(setting) = setting {
            world.git(["config", "core.hooksPath", setting]).success();
        } else {
            // The repository's own directory leads there.
            fs::remove_dir_all(world.path(".git/hooks")).unwrap();
            symlink(format!("../{place}"), world.path(".git/hooks")).unwrap();
        }
        let install = |args: &[&str]| world.checkpoint(["hooks", "install"].iter().chain(args));
        world.git(["add", "--all"]).success();
        world.git(["commit", "--quiet", "-m", "hooks of the project"]).success();
        let before = world.fingerprint();
        for args in [&[][..], &["--dry-run"], &["--quiet"]] {
            install(args).code(4).stderr_has("are tracked").stderr_has("--force");
        }
        world.fingerprint().assert_same_as(&before);
        world.checkpoint(["start", "s"]).success();
        install(&["--force"]).success();
        let text = String::from_utf8(world.read(format!("{place}/post-commit"))).unwrap();
        let machine = [world.root().to_str().unwrap(), env!("CARGO_MANIFEST_DIR")];
        assert!(machine.iter().all(|path| !text.contains(path)), "{text}");
        world.git(["commit", "--quiet", "-am", "with ours"]).success();
        assert_eq!(log(&world, "s").len(), 1);
        // A colleague without the program notices nothing.
        let clone = world.root().join("clone");
        world.git(["clone", "--quiet", ".", clone.to_str().unwrap()]).success();
        world.enter("clone");
        if let Some(setting) = setting {
            world.git(["config", "core.hooksPath", setting]).success();
        }
        let commit = world.command("git", ["commit", "--quiet", "--allow-empty", "-m", "theirs"]);
        commit.env("PATH", "/usr/bin:/bin").run().success().no_stderr();
    }
    let world = World::with_commit();
    world.git(["config", "core.hooksPath", "mine"]).success();
    own_hook(&world, "mine/post-commit", OWN);
    world.checkpoint(["hooks", "install"]).success();
}

#[test]
fn notes_follow_commits_that_are_amended_and_rebased() {
    let world = hooked();
    world.git(["config", "checkpoint.commitNotes", "on"]).success();
    let commit = |name: &str| {
        world.file(name, name);
        world.git(["add", name]).success();
        world.git(["commit", "--quiet", "-m", name]).success();
    };
    let noted = || -> Vec<bool> {
        let log = world.git_line(["log", "--format=%H", "main~1.."]);
        let commits = if log.is_empty() {
            world.git_line(["log", "--format=%H"])
        } else {
            log
        };
        let has = |id: &str| world.git(["notes", "--ref=checkpoints", "show", id]).is_success();
        commits.lines().map(has).collect()
    };
    world.git(["switch", "--quiet", "-c", "side"]).success();
    for name in ["one", "two", "three", "four"] {
        commit(name);
    }
    world.git(["switch", "--quiet", "main"]).success();
    commit("base");
    world.git(["switch", "--quiet", "side"]).success();
    world.git(["rebase", "--quiet", "main"]).success();
    assert_eq!(noted()[..4], [true; 4], "rebased");
    world
        .git(["commit", "--quiet", "--amend", "-m", "four, amended"])
        .success();
    assert_eq!(noted()[..4], [true; 4], "amended");
    // Also where no session is current any more.
    world.checkpoint(["finish"]).success();
    world.git(["switch", "--quiet", "main"]).success();
    world
        .git(["commit", "--quiet", "--allow-empty", "-m", "later"])
        .success();
    world.git(["switch", "--quiet", "side"]).success();
    world.git(["rebase", "--quiet", "main"]).success();
    assert_eq!(noted()[..4], [true; 4], "rebased without a session");
    world
        .git(["commit", "--quiet", "--amend", "-m", "four, again"])
        .success();
    assert_eq!(noted()[..4], [true; 4], "amended without a session");
}

/// Each way in which git rewrites commits, by the program that edits the list of a rebase.
#[test]
fn notes_follow_every_way_of_rewriting() {
    let ways: &[(&str, &str, &[&str])] = &[
        (
            "another order",
            "sed -i '1{h;d};2{G}'",
            &["rebase", "--quiet", "-i", "main"],
        ),
        (
            "a squash",
            "sed -i '2s/^pick/squash/'",
            &["rebase", "--quiet", "-i", "main"],
        ),
        (
            "a fixup by its message",
            "true",
            &["rebase", "--quiet", "-i", "--autosquash", "main"],
        ),
        (
            "a new message",
            "sed -i '1s/^pick/reword/'",
            &["rebase", "--quiet", "-i", "main"],
        ),
        (
            "by patches",
            "true",
            &["rebase", "--quiet", "--apply", "--force-rebase", "main"],
        ),
        (
            "with merges",
            "true",
            &["rebase", "--quiet", "--rebase-merges", "--force-rebase", "main"],
        ),
        (
            "another author",
            "true",
            &[
                "commit",
                "--quiet",
                "--amend",
                "--no-edit",
                "--author=Bo <bo@example.org>",
            ],
        ),
        (
            "onto another place",
            "true",
            &["rebase", "--quiet", "--onto", "other", "main"],
        ),
    ];
    let world = hooked();
    world.git(["config", "checkpoint.commitNotes", "on"]).success();
    world.git(["switch", "--quiet", "-c", "other"]).success();
    world
        .git(["commit", "--quiet", "--allow-empty", "-m", "other"])
        .success();
    for (what, editor, rewrite) in ways {
        world.git(["switch", "--quiet", "main"]).success();
        world
            .git(["switch", "--quiet", "-c", &what.replace(' ', "-")])
            .success();
        for (name, message) in [("one", "one"), ("two", "two"), ("three", "fixup! one")] {
            world.file(format!("{what}/{name}"), name);
            world.git(["add", "--all"]).success();
            world.git(["commit", "--quiet", "-m", message]).success();
        }
        let before = world.git_line(["rev-parse", "HEAD"]);
        let rewritten = world
            .command("git", *rewrite)
            .env("GIT_SEQUENCE_EDITOR", *editor)
            .env("GIT_EDITOR", "true")
            .run();
        rewritten.success();
        assert_ne!(world.git_line(["rev-parse", "HEAD"]), before, "{what}");
        let base = if rewrite.contains(&"--onto") { "other" } else { "main" };
        for id in world.git_line(["log", "--format=%H", &format!("{base}..")]).lines() {
            let note = world.git(["notes", "--ref=checkpoints", "show", id]);
            assert!(note.is_success(), "{what}: {id}");
        }
    }
}

#[test]
fn a_directory_of_hooks_that_cannot_be_made_is_named() {
    let world = World::with_commit();
    world.file("plain", "no directory");
    world.git(["config", "core.hooksPath", "plain/hooks"]).success();
    let refused = world.checkpoint(["hooks", "install"]);
    refused.code(3).stderr_has("core.hooksPath: no directory '");
    world
        .typed(&refused.advised("use hooks of this repository: "))
        .success();
    world.checkpoint(["hooks", "install"]).success();
    assert!(world.path(".git/hooks/post-commit").exists());
}
