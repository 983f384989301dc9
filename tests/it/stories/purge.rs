//! Content removed for good: from every chain and everything that remembers one, with all that is left still whole.

use std::fs;
use std::path::Path;

use crate::support::{Output, PROGRAM, Terminal, World};

fn save(world: &World, arguments: &[&str]) {
    world.checkpoint([&["save"], arguments].concat()).success();
}

fn blob(world: &World, text: &str) -> String {
    let made = world.command("git", ["hash-object", "--stdin"]).input(text).run();
    made.success().stdout().trim().to_owned()
}

/// Everything that git has, reachable or not.
fn objects(world: &World) -> String {
    let listed = ["cat-file", "--batch-all-objects", "--batch-check"];
    world.git(listed).success().stdout().to_owned()
}

/// Every byte of every object, and of every file of ours in the git directory.
fn everything(world: &World) -> Vec<u8> {
    let mut all = world
        .git(["cat-file", "--batch-all-objects", "--batch"])
        .success()
        .stdout_bytes()
        .to_vec();
    collect(&world.path(".git/checkpoint"), &mut all);
    collect(&world.path(".git/logs"), &mut all);
    all
}

fn collect(directory: &Path, all: &mut Vec<u8>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            collect(&entry.path(), all);
        } else {
            all.extend(fs::read(entry.path()).unwrap());
        }
    }
}

fn has(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

/// What the receipt says to run, run.
fn collect_garbage(world: &World, receipt: &Output) {
    receipt.stdout_has("git gc --prune=now");
    world.git(["gc", "-q", "--prune=now"]).success();
}

fn all_is_whole(world: &World) {
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict", "--no-dangling"]).success();
    // The recipe of the format, for the latest and the one before.
    for which in ["", "~1"] {
        let document = world.git(["show", &format!("checkpoints/auth{which}:checkpoint.json")]);
        let sum = world.command("sha256sum", [""; 0]).input(document.stdout_bytes()).run();
        let trailer = ["log", "-1", "--format=%(trailers:key=Checkpoint-Digest,valueonly)"];
        let named = world.git_line([&trailer[..], &[&format!("checkpoints/auth{which}")]].concat());
        assert_eq!(sum.stdout().split(' ').next(), named.strip_prefix("sha256:"));
    }
}

/// A session with two contents of a file to be purged, in the chain, a fork, the undo list and the trash.
fn prepared() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("a", "1");
    save(&world, &["-m", "one"]);
    world.file("conf/secret", "needle one\n");
    save(&world, &["-m", "two", "--name", "second"]);
    world.checkpoint(["pin", "@"]).success();
    world.file("conf/secret", "needle two\n");
    world.file("conf/other", "stays\n");
    save(&world, &["-m", "three"]);
    world.checkpoint(["fork", "@", "--name", "try"]).success();
    world.file("a", "2");
    save(&world, &["-m", "in the fork"]);
    world.checkpoint(["fork", "@", "--name", "gone"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.checkpoint(["delete", "gone"]).success();
    world.checkpoint(["restore", "auth~2", "--force"]).success();
    world.checkpoint(["undo"]).success();
    world.file("a", "3");
    save(&world, &["-m", "four"]);
    world
}

#[test]
fn a_file_is_removed_from_everything_that_is_kept() {
    let world = prepared();
    let contents = [blob(&world, "needle one\n"), blob(&world, "needle two\n")];
    let history = |what: &str| {
        let format = format!("--format={what}");
        let log = world.git(["log", "--first-parent", &format, "checkpoints/try"]);
        log.success().stdout().to_owned()
    };
    let before = history("%an %ae %ad %cn %cd %s");
    fs::remove_file(world.path("conf/secret")).unwrap();
    world
        .checkpoint(["purge", "--dry-run", "--", "conf/secret"])
        .success()
        .stdout_has("Would purge 1 file")
        .stdout_has("conf/secret, 2 contents");
    world
        .checkpoint(["purge", "--", "conf/secret"])
        .code(129)
        .stderr_has("give --yes");
    assert!(objects(&world).contains(&contents[0]));
    world.checkpoint(["verify", "--all"]).success();

    let receipt = world.checkpoint(["purge", "--yes", "--", "conf/secret"]);
    receipt.success().stdout_lacks("held").stdout_lacks("on disk");
    collect_garbage(&world, &receipt);
    for id in &contents {
        assert!(!objects(&world).contains(id), "{}", objects(&world));
    }
    assert!(!has(&everything(&world), "needle"));
    all_is_whole(&world);
    // What is left is as it was, but for the file.
    assert_eq!(history("%an %ae %ad %cn %cd %s"), before);
    assert_eq!(world.git_line(["show", "checkpoints/auth^2:conf/other"]), "stays");
    world
        .checkpoint(["show", "auth@second"])
        .success()
        .stdout_has("conf/secret  purged");
    let pruned = world.git(["show", "checkpoints/auth:pruned.jsonl"]);
    assert_eq!(pruned.success().stdout().lines().count(), 1);
    // A restore leaves alone what was purged, and the pin stays on the checkpoint.
    world.file("conf/secret", "another\n");
    world.checkpoint(["restore", "auth@second", "--force"]).success();
    assert_eq!(world.read("conf/secret"), b"another\n");
    world.checkpoint(["undo"]).success();
    world
        .checkpoint(["pin", "auth@second"])
        .success()
        .stdout_has("Pinned already");
    world.file("b", "more");
    save(&world, &["-m", "five"]);
    all_is_whole(&world);
    let again = world.checkpoint(["purge", "-y", "--", "nothing-of-the-kind"]);
    again.code(3).stderr_has("did not match any file in a checkpoint");
}

#[test]
fn what_was_done_before_a_purge_can_still_be_undone() {
    let world = World::with_commit();
    world.file("secret", "needle\n");
    world.file("a", "1");
    save(&world, &["-m", "one", "--session", "auth"]);
    world.file("a", "2");
    save(&world, &["-m", "two"]);
    fs::remove_file(world.path("secret")).unwrap();
    world.file("a", "mine");
    world.checkpoint(["restore", "auth~1"]).success();
    assert_eq!(world.read("secret"), b"needle\n");
    world
        .checkpoint(["purge", "-y", "--", "secret"])
        .success()
        .stdout_has("on disk");
    // The undo list names the checkpoints as they are now; what was purged is left alone on disk.
    world.checkpoint(["undo", "--force"]).success();
    assert_eq!(world.read("a"), b"mine");
    all_is_whole(&world);
}

#[test]
fn what_the_project_itself_holds_is_told() {
    let world = World::with_commit();
    world.file("secret", "needle\n");
    save(&world, &["-m", "one"]);
    world.git(["add", "secret"]).success();
    let blobs = serde_json::json!([blob(&world, "needle\n")]);
    let planned = world.checkpoint(["purge", "-n", "--json", "--", "secret"]);
    assert_eq!(planned.success().stdout_json()["still_held"], blobs);
    let told = world
        .checkpoint(["purge", "-y", "--json", "--", "secret"])
        .success()
        .stdout_json();
    assert_eq!(told["schema"], "git-checkpoint.purge/1");
    assert_eq!(told["still_held"], blobs);
    assert_eq!(told["on_disk"], serde_json::json!(["secret"]));
    assert_eq!(told["collect"], "git gc --prune=now");
}

/// The plan of a purge says what the purge says: what a commit, a former commit or a stash has, and nothing that goes.
#[test]
fn a_plan_says_what_the_project_itself_holds() {
    let ways: [(&str, &[&[&str]], bool); 5] = [
        ("nothing", &[], false),
        ("a commit", &[&["add", "secret"], &["commit", "-qm", "s"]], true),
        (
            "a former commit",
            &[&["add", "secret"], &["commit", "-qm", "s"], &["reset", "-q", "HEAD~1"]],
            true,
        ),
        (
            "a deleted branch",
            &[
                &["switch", "-qc", "b"],
                &["add", "secret"],
                &["commit", "-qm", "s"],
                &["switch", "-q", "main"],
                &["branch", "-qD", "b"],
            ],
            true,
        ),
        ("a stash", &[&["add", "secret"], &["stash", "-q"]], true),
    ];
    for (what, way, is_held) in ways {
        let world = World::with_commit();
        world.file("secret", "needle\n");
        save(&world, &["-m", "one"]);
        world.file("secret", "needle and more\n");
        save(&world, &["-m", "two"]);
        world.file("secret", "needle\n");
        for command in way {
            world.git(*command).success();
        }
        let held = |how: &str| {
            let told = world.checkpoint(["purge", how, "--json", "--", "secret"]);
            told.success().stdout_json()["still_held"].clone()
        };
        let planned = held("-n");
        let expected = is_held.then(|| blob(&world, "needle\n"));
        assert_eq!(planned, serde_json::json!(expected.as_slice()), "{what}");
        assert_eq!(held("-y"), planned, "{what}");
    }
    // Without a commit as well.
    let world = World::new();
    world.file("secret", "needle\n");
    save(&world, &["-m", "one"]);
    let told = world.checkpoint(["purge", "-n", "--json", "--", "secret"]);
    assert_eq!(told.success().stdout_json()["still_held"], serde_json::json!([]));
}

#[test]
fn what_trees_do_not_say_is_purged_as_well() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    // Unmerged in two paths, one of which goes; a private mode; a file that servers reject.
    world.git(["switch", "-qc", "side"]).success();
    world.file("clash", "needle side\n");
    world.file("other", "side\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "side"]).success();
    world.git(["switch", "-q", "main"]).success();
    world.file("clash", "needle main\n");
    world.file("other", "main\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "main"]).success();
    world.git(["merge", "side"]).code(1);
    world.file(".gitmodules", "[submodule \"..\"]\n\tpath = needle\n\turl = x\n");
    save(&world, &["-m", "in the merge"]);
    let staged = world.git(["ls-files", "-s", "other"]).stdout().to_owned();
    let names = world.git(["ls-tree", "-r", "--name-only", "checkpoints/auth"]);
    names.success().stdout_has("conflicts/3").stdout_has("held/0");

    world
        .checkpoint(["purge", "-y", "--", "clash", ".gitmodules"])
        .success();
    all_is_whole(&world);
    let names = world.git(["ls-tree", "-r", "--name-only", "checkpoints/auth"]);
    names
        .success()
        .stdout_has("conflicts/1")
        .stdout_lacks("conflicts/2")
        .stdout_lacks("held/");
    world
        .git(["show", "checkpoints/auth:lists/skipped"])
        .stdout_is("purged .gitmodules\npurged clash\n");
    // The other path comes back with its stages.
    world.git(["add", "other"]).success();
    world.checkpoint(["restore", "@", "--index", "--force"]).success();
    assert_eq!(world.git(["ls-files", "-s", "other"]).stdout(), staged);
}

#[test]
fn a_checkpoint_goes_and_those_after_it_stay() {
    let world = prepared();
    world.file("x", "only here\n");
    save(&world, &["-m", "needle five", "-d", "needle decision"]);
    let fifth = world.git_line(["rev-parse", "checkpoints/auth"]);
    fs::remove_file(world.path("x")).unwrap();
    world.checkpoint(["fork", "@", "--name", "late"]).success();
    world.checkpoint(["switch", "auth"]).success();
    let plan = world.checkpoint(["purge", "-n", &fifth]);
    plan.success().stdout_has("1 after it rewritten");
    world
        .checkpoint(["purge", "auth~5"])
        .code(4)
        .stderr_has("first of session");
    let receipt = world.checkpoint(["purge", "-y", &fifth]);
    collect_garbage(&world, &receipt);
    assert!(!objects(&world).contains(&blob(&world, "only here\n")));
    all_is_whole(&world);
    let log = world.checkpoint(["log", "auth"]);
    log.success().stdout_lacks("needle five").stdout_has("four");
    // The fork begins with what it carried over, without the files of the one that is gone.
    let document = world.git(["show", "checkpoints/late:checkpoint.json"]).stdout_json();
    assert_eq!(document["snapshot"], serde_json::Value::Null);
    let lines = world.git(["show", "checkpoints/late:pruned.jsonl"]);
    lines.success().stdout_has(&fifth).stdout_has("\"now\":null");
    world.checkpoint(["switch", "late"]).success();
    save(&world, &["-m", "goes on"]);
    all_is_whole(&world);
}

#[test]
fn a_session_goes_with_all_that_remembers_it() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    save(&world, &["-m", "stays", "--allow-empty"]);
    save(&world, &["-m", "stays too", "--allow-empty"]);
    world.checkpoint(["start", "doomed"]).success();
    world.file("f", "needle file\n");
    save(&world, &["-m", "needle one", "-d", "needle decision"]);
    world.checkpoint(["restore", "@"]).success();
    world.file("f", "needle other\n");
    world.checkpoint(["restore", "@"]).success();
    world.checkpoint(["finish", "-s", "needle end"]).success();
    fs::remove_file(world.path("f")).unwrap();
    let receipt = world.checkpoint(["purge", "-y", "doomed"]);
    receipt.success().stdout_has("Purged session doomed");
    collect_garbage(&world, &receipt);
    let all = everything(&world);
    assert!(!has(&all, "needle"), "{}", world.git(["for-each-ref"]));
    world
        .checkpoint(["list"])
        .success()
        .stdout_lacks("doomed")
        .stdout_has("auth");
    world.checkpoint(["undo"]).stderr_lacks("doomed");
    all_is_whole(&world);
}

#[test]
fn forks_outlive_the_session_they_came_from() {
    let world = prepared();
    world.checkpoint(["switch", "try"]).success();
    let receipt = world.checkpoint(["purge", "-y", "auth"]);
    receipt.success().stdout_has("where forks begin: try");
    collect_garbage(&world, &receipt);
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
    let documents = world.git(["log", "--first-parent", "--format=%s", "checkpoints/try"]);
    // The summary that the fork carried over is its own.
    documents.success().stdout_is("in the fork\nthree\nstart auth\n");
    world.file("a", "and on");
    save(&world, &["-m", "on"]);
    world
        .checkpoint(["list"])
        .success()
        .stdout_lacks("auth")
        .stdout_has("try");
}

#[test]
fn remotes_that_still_have_it_are_told() {
    let world = prepared();
    world.git(["init", "-q", "--bare", "../remote"]).success();
    world.git(["remote", "add", "origin", "../remote"]).success();
    world.git(["push", "-q", "origin", "refs/checkpoints/auth"]).success();
    let tracking = "refs/checkpoints-remote/origin/auth";
    world.git(["update-ref", tracking, "checkpoints/auth"]).success();
    fs::remove_file(world.path("conf/secret")).unwrap();
    let receipt = world.checkpoint(["purge", "-y", "--", "conf/secret"]);
    let command = "git checkpoint purge --remote -- conf/secret";
    receipt
        .success()
        .stdout_has(&format!("origin still has it in session auth: {command}"));
    collect_garbage(&world, &receipt);
    assert!(!has(&everything(&world), "needle"));
    let command = command.replace("purge", "purge --yes");
    let receipt = world.command("sh", ["-c", &command]).run();
    // It brought here once more what the remote had.
    collect_garbage(&world, &receipt);
    assert!(!has(&everything(&world), "needle"));
    world.git(["-C", "../remote", "gc", "-q", "--prune=now"]).success();
    let there = world.git(["-C", "../remote", "cat-file", "--batch-all-objects", "--batch"]);
    assert!(!has(there.stdout_bytes(), "needle"));
}

#[test]
fn other_work_trees_forget_it_too_and_an_unfinished_restore_is_waited_for() {
    let world = prepared();
    world.git(["worktree", "add", "-q", "../linked", "main"]).code(128);
    world.git(["worktree", "add", "-qb", "side", "../linked"]).success();
    let there = |args: &[&str]| world.command(PROGRAM, args).within("../linked").run();
    world.file("../linked/conf/secret", "needle three\n");
    there(&["save", "--session", "auth", "-m", "there"]).success();
    world.file("../linked/conf/secret", "needle four\n");
    there(&["restore", "auth", "--force"]).success();
    fs::remove_file(world.path("../linked/conf/secret")).unwrap();
    fs::remove_file(world.path("conf/secret")).unwrap();
    let journal = world.path(".git/worktrees/linked/checkpoint/restore.journal");
    fs::write(&journal, "{}").unwrap();
    world
        .checkpoint(["purge", "-y", "--", "conf"])
        .code(4)
        .stderr_has("interrupted");
    fs::remove_file(&journal).unwrap();
    let receipt = world.checkpoint(["purge", "-y", "--", "conf/secret"]);
    collect_garbage(&world, &receipt);
    assert!(!has(&everything(&world), "needle"));
    all_is_whole(&world);
    there(&["undo", "--force"]).code(4).stderr_has("conf/secret");
}

#[test]
fn it_works_in_other_formats_of_repositories() {
    for format in ["--ref-format=reftable", "--object-format=sha256"] {
        let world = World::without_repository();
        world.git(["init", "-q", "-b", "main", format]).success();
        world.file("secret", "needle\n");
        world.checkpoint(["start", "auth"]).success();
        save(&world, &["-m", "one"]);
        world.file("a", "1");
        save(&world, &["-m", "two"]);
        fs::remove_file(world.path("secret")).unwrap();
        let receipt = world.checkpoint(["purge", "-y", "--", ":(glob)**/sec*"]);
        collect_garbage(&world, &receipt);
        let all = world.git(["cat-file", "--batch-all-objects", "--batch"]);
        assert!(!has(all.stdout_bytes(), "needle"), "{format}");
        all_is_whole(&world);
    }
}

#[test]
fn a_person_is_asked() {
    let world = prepared();
    let answer = |answer: &str| {
        Terminal::new(80, "xterm").answer("This cannot be undone.", answer).run(
            &world,
            PROGRAM,
            ["purge", "--", "conf/secret"],
        )
    };
    let tip = || world.git_line(["rev-parse", "checkpoints/auth"]);
    let before = tip();
    let session = answer("n\r");
    assert!(session.text().contains("remove 1 file from"), "{}", session.text());
    assert!(session.text().contains("nothing was removed"), "{}", session.text());
    assert_eq!(tip(), before);
    answer("y\r");
    assert_ne!(tip(), before);
}

#[test]
fn nothing_of_a_secret_is_left_anywhere() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("conf/secret", "needle one\n");
    // In the files, attached, held next to the tree, in a chat and a record that name no content, and in an autosave.
    world.file(".gitmodules", "[submodule \"..\"]\n\tpath = needle\n\turl = x\n");
    save(&world, &["-m", "one", "--attach", "conf/secret"]);
    world
        .checkpoint(["message", "add", "--role", "user", "about the file"])
        .success();
    world.file("conf/secret", "needle two\n");
    save(
        &world,
        &["-m", "two", "--attach", "conf/secret", "--attach", "README.md"],
    );
    world
        .checkpoint(["step", "run", "--title", "look", "--", "true"])
        .success();
    save(&world, &["-m", "three"]);
    // Fetched, restored and undone, in two working trees, in a fork, and in a fork that is in the trash.
    world.git(["init", "-q", "--bare", "../remote"]).success();
    world.git(["remote", "add", "origin", "../remote"]).success();
    world.checkpoint(["push", "origin"]).success();
    world.checkpoint(["fetch", "origin"]).success();
    world.git(["worktree", "add", "-qb", "side", "../linked"]).success();
    let there = |args: &[&str]| world.command(PROGRAM, args).within("../linked").run();
    world.file("../linked/conf/secret", "needle three\n");
    there(&["restore", "auth~1", "--force"]).success();
    world.file("../linked/conf/secret", "needle four\n");
    there(&["restore", "auth~2", "--force"]).success();
    there(&["undo"]).success();
    world.checkpoint(["fork", "@", "--name", "try"]).success();
    world.checkpoint(["fork", "@", "--name", "gone"]).success();
    world.checkpoint(["switch", "auth"]).success();
    world.checkpoint(["delete", "gone"]).success();
    world.file("conf/secret", "needle five\n");
    world.checkpoint(["restore", "auth~1", "--force"]).success();
    world.checkpoint(["undo"]).success();
    world.file("conf/secret", "needle six\n");
    world.checkpoint(["watch", "--once"]).success();
    let autosaves = world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-autosave/"]);
    assert_eq!(
        world.git_line(["show", &format!("{autosaves}^2:conf/secret")]),
        "needle six"
    );
    for directory in ["conf", "../linked/conf"] {
        fs::remove_dir_all(world.path(directory)).unwrap();
    }
    for directory in ["", "../linked/"] {
        fs::remove_file(world.path(format!("{directory}.gitmodules"))).ok();
    }
    let planned = world.checkpoint(["purge", "-n", "--", "conf", ".gitmodules"]);
    planned.success().stdout_has("attached  secret, with the same content");
    let receipt = world.checkpoint(["purge", "--yes", "--", "conf", ".gitmodules"]);
    receipt
        .success()
        .stdout_has("origin still has it in session auth")
        .stdout_has("autosaves 1 ref")
        .stdout_lacks("also in the project's history");
    collect_garbage(&world, &receipt);
    // Not in any object, and not in any file of the repository, whatever wrote it.
    assert!(!has(&everything(&world), "needle"));
    let found = world.command("grep", ["-rl", "needle", ".git"]).run();
    found.code(1).stdout_is("");
    for text in [
        "needle one\n",
        "needle two\n",
        "needle three\n",
        "needle four\n",
        "needle five\n",
        "needle six\n",
    ] {
        assert!(!objects(&world).contains(&blob(&world, text)));
    }
    all_is_whole(&world);
    // The other attachment stays.
    let shown = world.git(["show", "checkpoints/auth~1:checkpoint.json"]).stdout_json();
    let names: Vec<_> = shown["record"]["attachments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| &a["name"])
        .collect();
    assert_eq!(names, ["README.md"]);
    // The remote forgets as well when it is reported to.
    let told = world.checkpoint(["purge", "--yes", "--", "conf"]);
    told.success().stdout_has("Nothing to purge");
    world
        .git(["push", "-q", "--force", "origin", "refs/checkpoints/auth"])
        .success();
    world.git(["-C", "../remote", "gc", "-q", "--prune=now"]).success();
    let remote = world.git(["-C", "../remote", "cat-file", "--batch-all-objects", "--batch"]);
    assert!(!has(remote.stdout_bytes(), "needle"));
}

#[test]
fn words_that_were_written_go_with_their_session() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    save(&world, &["-m", "stays", "--allow-empty"]);
    save(&world, &["-m", "stays too", "--allow-empty"]);
    world.checkpoint(["start", "doomed"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "the needle in the chat"])
        .success();
    save(&world, &["-m", "one", "-d", "needle decision", "--allow-empty"]);
    world
        .checkpoint(["step", "run", "--title", "look", "--", "echo", "needle output"])
        .success();
    save(&world, &["-m", "needle summary", "--allow-empty"]);
    world.checkpoint(["task", "add", "needle in the draft"]).success();
    world.checkpoint(["restore", "doomed~2", "--record-only"]).success();
    world.checkpoint(["undo"]).success();
    let receipt = world.checkpoint(["purge", "--yes", "doomed"]);
    collect_garbage(&world, &receipt);
    assert!(!has(&everything(&world), "needle"));
    world
        .command("grep", ["-rl", "needle", ".git"])
        .run()
        .code(1)
        .stdout_is("");
    all_is_whole(&world);
}

#[test]
fn what_later_checkpoints_carry_on_is_told() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.file("secret", "needle\n");
    save(&world, &["-m", "one", "-d", "needle decision"]);
    world.file("other", "1");
    save(&world, &["-m", "two"]);
    world.file("other", "2");
    save(&world, &["-m", "three"]);
    fs::remove_file(world.path("secret")).unwrap();
    save(&world, &["-m", "four"]);
    let receipt = world.checkpoint(["purge", "--yes", "auth~3"]);
    receipt
        .success()
        .stdout_has("2 other checkpoints still with files")
        .stdout_has("text is removed only with the whole session");
    world.checkpoint(["purge", "--yes", "--", "secret"]).success();
    let told = world
        .checkpoint(["purge", "--yes", "auth", "--json"])
        .success()
        .stdout_json();
    assert_eq!(told["carried"], 0);
    world.git(["gc", "-q", "--prune=now"]).success();
    assert!(!has(&everything(&world), "needle"));
    let help = world.checkpoint(["purge", "--help"]);
    help.success().stdout_has("whole session");
}

#[test]
fn attachments_are_known_by_their_content_whatever_the_line_ends() {
    let world = World::with_commit();
    world.git(["config", "core.autocrlf", "true"]).success();
    world.checkpoint(["start", "auth"]).success();
    world.file("conf/secret", "needle\r\nmore\r\n");
    world.file("other/secret", "of the same name\n");
    save(&world, &["-m", "one", "--attach", "conf/secret"]);
    save(&world, &["-m", "two", "--attach", "other/secret"]);
    fs::remove_dir_all(world.path("conf")).unwrap();
    let receipt = world.checkpoint(["purge", "--yes", "--", "conf"]);
    receipt
        .success()
        .stdout_has("secret, with the same content")
        .stdout_has("secret, same name but different content, kept");
    collect_garbage(&world, &receipt);
    assert!(!has(&everything(&world), "needle"));
    assert!(has(&everything(&world), "of the same name"));
    all_is_whole(&world);
}

/// What a purge removed here is found on the remotes later, which are asked, and a push says nothing wrong of them.
#[test]
fn a_later_purge_asks_the_remotes() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../remote"]).success();
    world.git(["remote", "add", "origin", "../remote"]).success();
    world.file("passwords.txt", "needle in a haystack\n");
    save(&world, &["-m", "s"]);
    world.checkpoint(["push"]).success();
    fs::remove_file(world.path("passwords.txt")).unwrap();
    world.checkpoint(["purge", "-y", "--", "passwords.txt"]).success();
    let there = || world.git_line(["ls-remote", "origin", "refs/checkpoints/main"]);
    let old = there();
    world
        .checkpoint(["remote"])
        .success()
        .stdout_has("main  origin still has what was purged here\n")
        .stdout_lacks("local only");
    let json = world.checkpoint(["remote", "--json"]).success().stdout_json();
    assert_eq!(json["remotes"][0]["sessions"][0]["state"], "purged-here");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("origin still has what was purged here");
    world
        .checkpoint(["purge", "-y", "--advice", "--", "passwords.txt"])
        .success()
        .stdout_has("Nothing to purge")
        .stderr_has("git checkpoint purge --remote");
    assert_eq!(there(), old);
    world
        .checkpoint(["purge", "-y", "--remote", "--", "passwords.txt"])
        .success()
        .stdout_has("Purged 1 file");
    assert_ne!(there(), old);
    assert_eq!(
        there()[..40],
        world.git_line(["rev-parse", "refs/checkpoints/main"]),
        "the remote has what was written again"
    );
    world
        .checkpoint(["push"])
        .success()
        .stdout_lacks("of your history")
        .stdout_has("Up to date");
    // One that cannot be asked is named.
    world.git(["remote", "set-url", "origin", "../nowhere"]).success();
    world
        .checkpoint(["purge", "-y", "--remote", "--", "passwords.txt"])
        .code(1)
        .stderr_has("remote 'origin' was not asked");
}

/// A push after a purge does not upload commits again that the remote has.
#[test]
fn a_push_after_a_purge_uploads_no_commit_again() {
    let world = World::with_commit();
    world.git(["init", "-q", "--bare", "../remote"]).success();
    world.git(["remote", "add", "origin", "../remote"]).success();
    world.file("passwords.txt", "needle in a haystack\n");
    save(&world, &["-m", "s"]);
    world
        .checkpoint(["push"])
        .success()
        .stdout_has("Also uploaded 1 commit of your history");
    fs::remove_file(world.path("passwords.txt")).unwrap();
    world.checkpoint(["purge", "-y", "--", "passwords.txt"]).success();
    world.checkpoint(["push"]).success().stdout_lacks("of your history");
    let there = world.git_line(["ls-remote", "origin", "refs/checkpoints/main"]);
    assert_eq!(there[..40], world.git_line(["rev-parse", "refs/checkpoints/main"]));
}
