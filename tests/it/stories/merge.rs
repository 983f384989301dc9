//! `merge`: what went apart comes together, and git agrees.

use serde_json::Value;

use crate::support::World;

fn line(world: &World, args: &[&str]) -> String {
    world.git_line(args.iter().copied())
}

fn text(world: &World, path: &str) -> String {
    String::from_utf8(world.read(path)).unwrap()
}

fn record(world: &World, session: &str) -> Value {
    let document = world.git(["show", &format!("checkpoints/{session}:checkpoint.json")]);
    document.success().stdout_json()["record"].clone()
}

fn titles(record: &Value, list: &str, member: &str) -> Vec<String> {
    let items = record[list].as_array().into_iter().flatten();
    items.map(|item| item[member].as_str().unwrap().to_owned()).collect()
}

/// What is not saved is a part of our side: the dry run merges it, and says that it would be saved first.
#[test]
fn a_dry_run_shows_all_that_the_merge_does() {
    let world = World::with_commit();
    world.file("both", "one\ntwo\nthree\n");
    world.file("moved", "a file\nof its own\n");
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "files"]).success();
    world.checkpoint(["start", "ours"]).success();
    world.checkpoint(["state", "patch", r#"{"x": 1, "y": 1}"#]).success();
    world.checkpoint(["todo", "add", "common"]).success();
    world
        .checkpoint(["fork-point", "add", "Which?", "--option", "a:one", "--option", "b:two"])
        .success();
    world.checkpoint(["save", "-m", "common"]).success();
    world
        .checkpoint([
            "fork",
            "@",
            "--option",
            "a",
            "--worktree",
            "../a",
            "--option",
            "b",
            "--worktree",
            "../b",
        ])
        .success();
    world.enter("a");
    world.checkpoint(["state", "patch", r#"{"x": 2, "z": 1}"#]).success();
    world.checkpoint(["decision", "theirs"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "theirs"])
        .success();
    world.checkpoint(["note", "theirs"]).success();
    world
        .checkpoint(["step", "run", "--title", "theirs", "--", "true"])
        .success();
    world.file("both", "one\ntwo of theirs\nthree\n");
    world.file("new", "theirs\n");
    world.git(["mv", "moved", "renamed"]).success();
    world.git(["add", "-A"]).success();
    world.advance(10);
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    // Nothing of this is saved.
    world.checkpoint(["state", "patch", r#"{"x": 3}"#]).success();
    world.checkpoint(["todo", "add", "ours"]).success();
    world.file("both", "one\ntwo of ours\nthree\n");
    world.file("mine", "ours\n");
    let state = |world: &World| {
        let refs = world.git_line(["for-each-ref"]);
        (
            crate::restore::disk(&world.repo()),
            refs,
            world.git_line(["ls-files", "--stage"]),
        )
    };
    let before = state(&world);
    let merge = ["merge", "ours-a", "--index", "--finish-others"];
    let line = [&merge[..], &["--dry-run"]].concat();
    world
        .checkpoint(&line)
        .success()
        .stdout_has("  what is not saved would be saved first\n")
        .stdout_has("  not chosen, finished: ours-b\n")
        .stdout_has("entries in the index\n");
    let planned = world
        .checkpoint([&line[..], &["--json"]].concat())
        .success()
        .stdout_json();
    assert!(state(&world) == before);
    let merged = world
        .checkpoint([&merge[..], &["--json"]].concat())
        .code(1)
        .stdout_json();
    assert_eq!(
        (&planned["would_save"], &merged["would_save"]),
        (&true.into(), &Value::Null)
    );
    for member in [
        "session", "from", "merged", "base", "record", "messages", "steps", "notes", "decided", "finished",
    ] {
        assert_eq!(planned[member], merged[member], "{member}");
    }
    for member in ["changed", "conflicts", "skipped", "index"] {
        assert_eq!(planned["files"][member], merged["files"][member], "{member}");
    }
    let conflict = |view: &Value| {
        let conflicts = view["conflicts"].as_array().unwrap();
        let shown = conflicts
            .iter()
            .map(|one| [&one["member"], &one["ours"], &one["theirs"]].map(Value::clone));
        shown.collect::<Vec<_>>()
    };
    assert_eq!(conflict(&planned), conflict(&merged));
    assert_eq!(conflict(&merged).len(), 1, "{merged}");
    world.checkpoint(["merge", "--abort"]).success();
    assert_eq!((state(&world).0, state(&world).2), (before.0, before.2));
}

/// Two agents take one option each of a decision, in a working tree each; the better one comes home.
#[test]
fn two_agents_in_two_forks_and_a_decision() {
    let world = World::with_commit();
    world.file("app", "v0\nparser: none\nend\n");
    world.checkpoint(["start", "base"]).success();
    world.checkpoint(["task", "add", "parse the input"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "which parser?"])
        .success();
    world
        .checkpoint([
            "fork-point",
            "add",
            "Which parser?",
            "--option",
            "nom:combinators",
            "--option",
            "winnow:its successor",
        ])
        .success();
    world.checkpoint(["save", "-m", "two ways to go"]).success();
    world
        .checkpoint([
            "fork",
            "@",
            "--option",
            "nom",
            "--worktree",
            "../nom",
            "--option",
            "winnow",
            "--worktree",
            "../winnow",
        ])
        .success();
    for option in ["nom", "winnow"] {
        world.enter(option);
        world.file("app", format!("v0\nparser: {option}\nend\n"));
        world.file(format!("{option}.rs"), format!("use {option};\n"));
        world
            .checkpoint(["decision", &format!("{option} needs no macro")])
            .success();
        world
            .checkpoint(["message", "add", "--role", "assistant", &format!("{option} works")])
            .success();
        world.advance(10);
        world.checkpoint(["save", "-m", &format!("{option} parses")]).success();
    }
    world.enter("repo");
    // Meanwhile the target goes on as well, uncommitted and unsaved.
    world.file("notes", "kept\n");
    world.checkpoint(["todo", "add", "write docs"]).success();
    world.advance(10);
    let before = crate::restore::disk(&world.repo());
    let refs = world.git_line(["for-each-ref"]);
    let planned = world
        .checkpoint(["merge", "base-winnow", "--dry-run", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&planned["outcome"], &planned["decided"][0]["option"]),
        (&"planned".into(), &"winnow".into())
    );
    assert_eq!(
        (world.git_line(["for-each-ref"]), crate::restore::disk(&world.repo())),
        (refs, before.clone())
    );

    let merged = world
        .checkpoint([
            "merge",
            "base-winnow",
            "--reason",
            "clearer errors",
            "--finish-others",
            "--json",
        ])
        .success()
        .stdout_json();
    assert_eq!(merged["finished"], serde_json::json!(["base-nom"]));
    assert_eq!(text(&world, "app"), "v0\nparser: winnow\nend\n");
    assert_eq!(
        (text(&world, "winnow.rs"), text(&world, "notes")),
        ("use winnow;\n".into(), "kept\n".into())
    );
    assert!(!world.path("nom.rs").exists());
    assert_eq!(
        world.git_line(["diff", "--cached", "--name-only"]),
        "",
        "nothing is staged"
    );
    let record = record(&world, "base");
    let point = &record["fork_points"][0];
    assert_eq!(
        (&point["chosen"], &point["reason"]),
        (&"winnow".into(), &"clearer errors".into())
    );
    assert_eq!(titles(&record, "decisions", "text"), ["winnow needs no macro"]);
    assert_eq!(titles(&record, "todos", "text"), ["write docs"]);
    assert_eq!(record.get("conflicts"), None);
    // The merged tip is the last parent, and the snapshot has the files as they are.
    let tip = line(&world, &["rev-parse", "checkpoints/base-winnow"]);
    assert_eq!(line(&world, &["rev-parse", "checkpoints/base^3"]), tip);
    assert_eq!(
        line(&world, &["show", "checkpoints/base^2:app"]),
        "v0\nparser: winnow\nend"
    );
    let chat = world.checkpoint(["message", "list", "--json"]).success().stdout_json();
    assert_eq!(titles(&chat, "messages", "id").len(), 2);
    world
        .checkpoint(["list", "--all", "--json"])
        .success()
        .stdout_has("\"completed\"");
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
    world
        .checkpoint(["log", "--graph"])
        .success()
        .stdout_has("merged base-winnow");
    world.checkpoint(["show", "@"]).success().stdout_has("Merged:");

    // A second merge changes nothing.
    let now = world.git_line(["for-each-ref"]);
    world
        .checkpoint(["merge", "base-winnow"])
        .success()
        .stdout_has("Up to date");
    assert_eq!(world.git_line(["for-each-ref"]), now);

    // Undo takes back files, record and the ends of the others; redo makes it again.
    world.checkpoint(["undo"]).success();
    assert_eq!(crate::restore::disk(&world.repo()), before);
    world
        .checkpoint(["log", "base-nom", "--oneline"])
        .success()
        .stdout_lacks("not chosen");
    world.checkpoint(["redo"]).success();
    assert_eq!(text(&world, "app"), "v0\nparser: winnow\nend\n");
    world.checkpoint(["verify", "--all"]).success();

    // The loser merged after all contradicts the decision; both are kept until that is resolved.
    world.checkpoint(["merge", "base-nom"]).code(1).stdout_has("conflict");
    let unmerged = world.git_line(["diff", "--name-only", "--diff-filter=U"]);
    assert_eq!(unmerged, "app");
    let list = world.checkpoint(["conflict", "list", "--json"]).success().stdout_json();
    assert_eq!(list["items"][0]["theirs"], "nom");
    world.checkpoint(["merge", "--continue"]).code(1).stderr_has("app");
    world.file("app", "v0\nparser: winnow\nend\n");
    world.git(["add", "app"]).success();
    world.checkpoint(["merge", "--continue"]).success();
    world.checkpoint(["conflict", "resolve", "--all", "--theirs"]).success();
    world.checkpoint(["save", "-m", "both are in"]).success();
    let record = self::record(&world, "base");
    assert_eq!(
        (record.get("conflicts"), &record["fork_points"][0]["chosen"]),
        (None, &"nom".into())
    );
    assert_eq!(titles(&record, "decisions", "text").len(), 2);
    // What was merged in stays readable when its session goes, and a prune keeps the merges.
    world.checkpoint(["delete", "base-nom"]).success();
    world.advance(5_000_000);
    world.checkpoint(["prune", "--keep-last", "1"]).success();
    world.checkpoint(["verify", "--all"]).success();
    world.git(["fsck", "--strict"]).success();
    world
        .checkpoint(["merge", "base-winnow"])
        .success()
        .stdout_has("Up to date");
}

/// After a save there is no way back in one step; the commands that help are named.
#[test]
fn undo_after_a_pause_names_what_helps() {
    let world = World::with_commit();
    world.file("f", "0\n");
    world.checkpoint(["save", "--session", "base", "-m", "one"]).success();
    world.checkpoint(["switch", "base"]).success();
    world
        .checkpoint(["fork", "@", "--name", "other", "--worktree", "../other"])
        .success();
    world.enter("other");
    world.file("f", "1\n");
    world.checkpoint(["save", "-m", "other"]).success();
    world.enter("repo");
    world.checkpoint(["merge", "other"]).success();
    let before = line(&world, &["rev-parse", "--short=8", "checkpoints/base^"]);
    world.checkpoint(["pause", "-m", "later"]).success();
    let back = format!("git checkpoint restore {before}");
    world
        .checkpoint(["undo", "--older"])
        .code(4)
        .stderr_has("has changed since")
        .stderr_has("git checkpoint log base")
        .stderr_has(&back);
    world.checkpoint(["restore", &before]).success();
    assert_eq!(text(&world, "f"), "0\n");
}

/// What both have contradicted, resolved value by value.
#[test]
fn contradictions_are_resolved_by_a_command() {
    let world = World::with_commit();
    world.checkpoint(["start", "base"]).success();
    world.checkpoint(["task", "add", "one"]).success();
    world
        .checkpoint(["state", "set", "--at", "/db", "{\"host\": \"a\", \"port\": 1}"])
        .success();
    world.checkpoint(["phase", "1", "3"]);
    world.checkpoint(["save", "-m", "start"]).success();
    world
        .checkpoint(["fork", "@", "--name", "other", "--worktree", "../other"])
        .success();
    world.enter("other");
    world.checkpoint(["task", "done", "one"]).success();
    world
        .checkpoint(["state", "set", "--at", "/db/host", "\"b\""])
        .success();
    world
        .checkpoint(["state", "set", "--at", "/db/user", "\"x\""])
        .success();
    world.checkpoint(["save", "-m", "other"]).success();
    world.enter("repo");
    world.checkpoint(["task", "drop", "one"]);
    world.checkpoint(["task", "edit", "one", "--notes", "mine"]).success();
    world
        .checkpoint(["state", "set", "--at", "/db/host", "\"c\""])
        .success();
    let merged = world.checkpoint(["merge", "other", "--json"]);
    let merged = merged.stdout_json();
    let places: Vec<_> = merged["conflicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["member"].as_str().unwrap().to_owned())
        .collect();
    assert!(places.contains(&"state/db/host".to_owned()), "{places:?}");
    let saved = record(&world, "base");
    assert_eq!(
        saved["state"]["db"],
        serde_json::json!({"host": "c", "port": 1, "user": "x"})
    );
    assert_eq!(saved["conflicts"].as_array().unwrap().len(), places.len());
    world
        .checkpoint(["resume"])
        .success()
        .stdout_has("Conflicts of a merge");
    world
        .checkpoint(["conflict", "resolve", "state/db/host", "--value", "d"])
        .success();
    world.checkpoint(["conflict", "resolve", "--all", "--ours"]);
    world.checkpoint(["save", "-m", "resolved"]).success();
    let saved = record(&world, "base");
    assert_eq!(
        (saved.get("conflicts"), &saved["state"]["db"]["host"]),
        (None, &"d".into())
    );
}

/// A merge of files is what git makes of the same three trees.
#[test]
fn files_are_merged_as_git_merges_them() {
    let world = World::with_commit();
    let lines = |edit: &[(usize, &str)]| {
        let mut all: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
        for (at, word) in edit {
            (*word).clone_into(&mut all[*at]);
        }
        all.join("\n") + "\n"
    };
    for path in ["both", "ours", "theirs", "moved", "gone", "dir/deep"] {
        world.file(path, lines(&[]));
    }
    world.file("untracked", "as it was\n");
    world
        .checkpoint(["save", "--session", "base", "-m", "common"])
        .success();
    world.checkpoint(["switch", "base"]).success();
    world
        .checkpoint(["fork", "@", "--name", "f", "--worktree", "../f"])
        .success();
    world.enter("f");
    world.file("both", lines(&[(17, "theirs")]));
    world.file("theirs", lines(&[(3, "theirs")]));
    std::fs::rename(world.path("moved"), world.path("dir/moved")).unwrap();
    std::fs::remove_file(world.path("gone")).unwrap();
    world.file("new", "new\n");
    world.checkpoint(["save", "-m", "theirs"]).success();
    world.enter("repo");
    world.file("both", lines(&[(2, "ours")]));
    world.file("ours", lines(&[(9, "ours")]));
    world.file("moved", lines(&[(0, "ours")]));
    world.checkpoint(["merge", "f"]).success();
    // The same with git: commits of the three trees.
    let commit = |tree: &str, parent: Option<&str>| {
        let mut args = vec!["commit-tree", "-m", "x", tree];
        args.extend(parent.into_iter().flat_map(|parent| ["-p", parent]));
        world.git_line(args)
    };
    let base = commit("checkpoints/base~2^2^{tree}", None);
    let ours = commit("checkpoints/base~1^2^{tree}", Some(&base));
    let theirs = commit("checkpoints/f^2^{tree}", Some(&base));
    let tree = world.git_line(["merge-tree", "--write-tree", &ours, &theirs]);
    assert_eq!(world.git_line(["rev-parse", "checkpoints/base^2^{tree}"]), tree);
}

/// Sessions of one working tree have one set of files: only what was written down is merged.
#[test]
fn sessions_of_one_working_tree_merge_their_records() {
    let world = World::with_commit();
    world.file("f", "0\n");
    world.checkpoint(["save", "--session", "one", "-m", "one"]).success();
    world.checkpoint(["switch", "one"]).success();
    world.checkpoint(["fork", "@", "--name", "two"]).success();
    world.file("f", "1\n");
    world.checkpoint(["todo", "add", "from two"]).success();
    world.checkpoint(["save", "-m", "two"]).success();
    world.checkpoint(["switch", "one"]).success();
    world.file("f", "2\n");
    world
        .checkpoint(["merge", "two"])
        .success()
        .stdout_has("the files were not merged: both sessions were saved in this working tree");
    assert_eq!(text(&world, "f"), "2\n");
    assert_eq!(titles(&record(&world, "one"), "todos", "text"), ["from two"]);
    // Asked for, they are merged as well, with the common checkpoint as base.
    world.checkpoint(["merge", "two", "--files"]).code(1);
    assert!(text(&world, "f").contains("<<<<<<<"));
    world.checkpoint(["merge", "--abort"]).success();
    assert_eq!(text(&world, "f"), "2\n");
    world.checkpoint(["merge", "nosuch"]).code(3);
    world.checkpoint(["verify", "--all"]).success();
}
