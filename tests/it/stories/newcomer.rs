//! What confused somebody who tried the program for the first time: words that say less, or other, than what is there.

use crate::support::World;

#[test]
fn the_task_and_the_last_message_are_where_one_looks() {
    let world = World::with_commit();
    let start = world
        .checkpoint(["start", "auth", "--task", "move login to tokens"])
        .success()
        .stdout()
        .to_owned();
    assert!(start.contains("auth, new"), "{start}");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("task       move login to tokens")
        .stdout_has("start auth");
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("  task: move login to tokens");
    world
        .checkpoint(["pause", "--message", "login page half done", "--next", "wire it"])
        .success()
        .stdout_has("login page half done")
        .stdout_has("next: wire it");
    world.file("src/main.txt", "changed\n");
    world.checkpoint(["save"]).success().stdout_has("1 modified");
    let resumed = world.checkpoint(["resume"]).success().stdout().to_owned();
    assert!(resumed.contains("\n    login page half done\n"), "{resumed}");
    let json = world.checkpoint(["resume", "--json"]).success().stdout_json();
    assert_eq!(json["document"]["record"]["summary"], "login page half done");
    assert!(
        json["document"]["subject"]
            .as_str()
            .unwrap()
            .starts_with("main: 1 modified"),
        "{json}"
    );
    // The log has the subject of each checkpoint, the list the summary of the session.
    world.checkpoint(["log"]).success().stdout_has("main: 1 modified");
    world.checkpoint(["list"]).success().stdout_has("login page half done");
    world.checkpoint(["save", "-m", "done"]).success();
    let json = world.checkpoint(["resume", "--json"]).success().stdout_json();
    assert!(json["last_message"].is_null());
}

#[test]
fn a_finished_session_is_told_as_finished() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["finish", "-m", "merged"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("there is 1 session, finished")
        .stdout_has("resumes the latest");
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("was completed: it is active again");
    world.checkpoint(["pause"]).success();
    world.checkpoint(["status"]).success().stdout_lacks("finished");
}

#[test]
fn the_first_save_names_its_parent() {
    let world = World::with_commit();
    let receipt = world.checkpoint(["save", "--json"]).success().stdout_json();
    let id = receipt["id"].as_str().expect("an id");
    assert_eq!(
        receipt["parent"],
        world.git_line(["rev-parse", &format!("{id}^")]).as_str()
    );
}

#[test]
fn words_that_are_not_near_are_no_suggestion() {
    let world = World::with_commit();
    for word in ["config", "version", "clone"] {
        world.checkpoint([word]).code(129).stderr_lacks("similar");
    }
    world
        .checkpoint(["svae"])
        .code(129)
        .stderr_has("a similar command exists: 'save'");
    world
        .checkpoint(["save", "--mesage", "x"])
        .code(129)
        .stderr_has("'--message'");
    // What has no effect is taken, and offered nowhere.
    world.checkpoint(["save", "--no-commit"]).success();
    world.checkpoint(["help", "save"]).success().stdout_lacks("no-commit");
}

#[test]
fn a_command_of_other_lists_is_no_file() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["open-file", "add", "src/main.txt:1"])
        .code(129)
        .stderr_has("'add' looks like a command")
        .stderr_has("git checkpoint open-file src/main.txt:1");
    world.checkpoint(["note", "add"]).code(129);
    world.file("add", "a file\n");
    world.checkpoint(["open-file", "add", "src/main.txt:1"]).success();
}

#[test]
fn what_looks_like_a_password_is_told_and_an_attachment_is_not_the_file() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world
        .checkpoint(["save", "-m", "see password=hunter2"])
        .success()
        .stderr_has("looks like a secret");
    let token = format!("ghp_{}", "q7Zs2Lx9Rw4Tb8Nd1Kf6Hj3Mv5Pc0YgUaEo1");
    world.file("sec.txt", &token);
    world
        .checkpoint(["save", "-m", "one", "--attach", "sec.txt"])
        .success()
        .stderr_has("1 secret was replaced")
        .stderr_has("the file in the working tree is saved unchanged");
    assert_eq!(
        world.git_line(["show", "checkpoints/auth^2:sec.txt"]).len(),
        token.len()
    );
}

#[test]
fn a_fork_says_which_files_it_means() {
    let world = World::with_commit();
    world.file("src/main.txt", "changed\n");
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    world.git(["checkout", "-q", "src/main.txt"]).success();
    world
        .checkpoint(["fork", "auth", "--name", "here"])
        .success()
        .stdout_has("saved     main @")
        .stdout_has("none changed");
    world
        .checkpoint(["fork", "auth", "--name", "there", "--worktree", "../there"])
        .success();
    world
        .command(crate::support::PROGRAM, ["status"])
        .within("../there")
        .run()
        .success()
        .stdout_lacks("unsaved changes")
        .stdout_has("all files are saved");
    world.checkpoint(["save", "--no-files", "-m", "words"]).success();
    world
        .checkpoint(["compare", "here", "auth"])
        .success()
        .stdout_has("A has no files");
}

#[test]
fn an_export_says_only_what_is_known_of_a_commit() {
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    world.checkpoint(["save", "-m", "one"]).success();
    world
        .checkpoint(["export", "auth", "--format", "claude-mpm", "-o", "../out.json"])
        .success();
    let tree: serde_json::Value = serde_json::from_slice(&world.read("../out.json")).expect("JSON");
    let commit = tree["git_context"]["recent_commits"][0].as_object().expect("a commit");
    assert_eq!(commit["sha"], world.git_line(["rev-parse", "HEAD"]).as_str());
    assert!(!commit.contains_key("author") && !commit.contains_key("timestamp"));
}
