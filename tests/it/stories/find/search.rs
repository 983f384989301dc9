//! `search` finds what `git grep` finds in the same objects, each object once, in every place where sessions are.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::World;

/// Sessions with text in every part, two of them with a common part.
fn world() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "auth", "--agent", "opus"]).success();
    world.file("src/main.txt", "one\nTWO needle-file\nthree\n");
    world.file("bin.dat", b"\0needle-file\n");
    world
        .checkpoint([
            "message",
            "add",
            "--role",
            "user",
            "find the needle-chat, \"quoted\" text",
        ])
        .success();
    world
        .checkpoint(["message", "add", "--role", "assistant", "no needle here: über\tall"])
        .success();
    world.checkpoint(["note", "switched to needle-log"]).success();
    world
        .checkpoint(["step", "start", "needle-step", "--objective", "types first"])
        .success();
    world
        .checkpoint(["save", "-m", "first needle-record", "-d", "keep needle-decision"])
        .success();
    world.file("needle-name.txt", "content\n");
    world.file("src/main.txt", "one\nTWO needle-file\nthree\nfour\n");
    world
        .checkpoint(["message", "add", "--role", "user", "go on"])
        .success();
    world.checkpoint(["save", "-m", "second"]).success();
    world.checkpoint(["fork", "auth", "--name", "try"]).success();
    world.checkpoint(["save", "-m", "tried", "-d", "needle-fork"]).success();
    world
}

fn matches(world: &World, args: &[&str]) -> Vec<Value> {
    let out = world.checkpoint(["search", "--json=lines"].iter().chain(args));
    assert!(matches!(out.status().code(), Some(0 | 1)), "{out}");
    let lines = out.stdout().lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn texts(found: &[Value]) -> Vec<(&str, &str)> {
    let mut texts: Vec<_> = found
        .iter()
        .map(|found| (found["part"].as_str().unwrap(), found["name"].as_str().unwrap()))
        .collect();
    texts.dedup();
    texts
}

#[test]
fn every_part_is_searched_where_it_is_asked_for() {
    let world = world();
    for (part, pattern, name) in [
        ("record", "needle-decision", "checkpoint.json"),
        ("chat", "needle-chat", "chat/000000.jsonl"),
        ("log", "needle-log", "log/000000.jsonl"),
        ("files", "TWO needle-file", "src/main.txt"),
    ] {
        let found = matches(&world, &[pattern, "--in", part]);
        assert_eq!(texts(&found), [(part, name)], "{pattern}");
        let elsewhere = matches(&world, &[pattern, "--in", if part == "chat" { "log" } else { "chat" }]);
        assert!(elsewhere.is_empty(), "{pattern}");
    }
    let steps = matches(&world, &["needle-step", "--in", "steps"]);
    assert!(steps[0]["name"].as_str().unwrap().starts_with("steps/"), "{steps:?}");
    let names = matches(&world, &["needle-name", "--files"]);
    assert_eq!(
        (&names[0]["line"], &names[0]["text"]),
        (&Value::Null, &"needle-name.txt".into())
    );
    assert_eq!(names.len(), 1, "a path is found once: {names:?}");
    let binary = matches(&world, &["needle-file", "--files"]);
    assert!(
        binary
            .iter()
            .any(|found| found["name"] == "bin.dat" && found["line"].is_null()),
        "{binary:?}"
    );
    // Quotes and tabs are escaped in the stored form, and found as they were written.
    assert_eq!(matches(&world, &["-F", "\"quoted\"", "--in", "chat"]).len(), 2);
    assert_eq!(matches(&world, &["ÜBER\tALL", "-i", "--in", "chat"]).len(), 2);
    world
        .checkpoint(["search", "needle-chat"])
        .success()
        .stdout_has("user: find the needle-chat, \"quoted\" text");
    let chat = &matches(&world, &["needle-chat"])[0];
    assert_eq!(chat["message"]["role"], "user");
    let (start, end) = (&chat["marks"][0]["start"], &chat["marks"][0]["end"]);
    let range = usize::try_from(start.as_u64().unwrap()).unwrap()..usize::try_from(end.as_u64().unwrap()).unwrap();
    assert_eq!(&chat["text"].as_str().unwrap()[range], "needle-chat");
}

#[test]
fn hits_are_shown_as_they_were_written() {
    let world = World::with_commit();
    for (role, text) in [
        ("user", "chat needle"),
        ("assistant", "first line\nsecond line zebra\nthird"),
    ] {
        world.checkpoint(["message", "add", "--role", role, text]).success();
    }
    world.checkpoint(["note", "a note on the zebra"]).success();
    world
        .checkpoint(["save", "-m", "striped", "-d", "use \"zebra\" lines"])
        .success();
    let search = |args: &[&str]| world.checkpoint(["search"].iter().chain(args));
    search(&["needle"]).success().stdout_has("user: chat needle\n");
    let zebra = search(&["zebra"]).success().stdout().to_owned();
    assert!(zebra.contains("assistant: second line zebra\n"), "{zebra}");
    assert!(zebra.contains("text: use \"zebra\" lines\n"), "{zebra}");
    assert!(zebra.contains(": a note on the zebra\n"), "{zebra}");
    assert!(!zebra.contains("\"}"), "{zebra}");
    for anchored in ["^second line", "zebra$", "^third$", "\\<third"] {
        assert_eq!(matches(&world, &[anchored, "--in", "chat"]).len(), 1, "{anchored}");
    }
    // Roles and names of members are no text.
    search(&["assistant", "--advice"])
        .code(1)
        .no_stdout()
        .stderr_has("in names of members");
    search(&["assistant", "--all"])
        .success()
        .stdout_has("\"role\":\"assistant\"");
}

#[test]
fn people_see_each_line_once_under_its_latest_checkpoint() {
    let world = world();
    let out = world.checkpoint(["search", "needle-decision"]);
    let text = out.success().stdout().to_owned();
    assert_eq!(text.matches("needle-decision").count(), 2, "once a session: {text}");
    assert!(text.starts_with("try  "), "the latest session first: {text}");
    assert!(text.contains("\n\nauth  ") && text.contains("  second\n"), "{text}");
    let all = world.checkpoint(["search", "needle-decision", "--all"]);
    assert!(all.success().stdout().matches("needle-decision").count() > 2);
    world.checkpoint(["search", "needle-decision", "-n", "1"]).success();
    world.checkpoint(["search", "no such text"]).code(1).no_stdout();
    world
        .checkpoint(["search", "a\\(b"])
        .code(129)
        .stderr_has("a group is not closed")
        .stderr_has("hint: ");
    world
        .checkpoint(["search", "x", "--session", "atuh"])
        .code(3)
        .stderr_has("auth");
}

#[test]
fn filters_choose_sessions_dates_and_people() {
    let world = world();
    let sessions = |args: &[&str]| {
        let found = matches(&world, args);
        let names = found.iter().map(|found| found["session"].as_str().unwrap().to_owned());
        names.collect::<BTreeSet<_>>()
    };
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(sessions(&["needle-decision"]), set(&["auth", "try"]));
    assert_eq!(sessions(&["needle-decision", "--session", "auth"]), set(&["auth"]));
    assert_eq!(sessions(&["needle", "--author", "OPUS"]), set(&["auth", "try"]));
    assert_eq!(sessions(&["needle", "--author", "ana@example"]), set(&["auth", "try"]));
    assert_eq!(sessions(&["needle", "--author", "bert"]), set(&[]));
    assert_eq!(sessions(&["needle", "--since", "2030-01-01"]), set(&[]));
    world.checkpoint(["switch", "auth"]).success();
    world.checkpoint(["delete", "try"]).success();
    assert_eq!(sessions(&["needle-fork"]), set(&[]));
    assert_eq!(sessions(&["needle-fork", "--trash"]), set(&["try"]));
    world.git(["init", "-q", "--bare", "../origin.git"]).success();
    world.git(["remote", "add", "origin", "../origin.git"]).success();
    world.checkpoint(["push", "origin", "auth"]).success();
    world.git(["clone", "-q", "../origin.git", "../clone"]).success();
    world.enter("clone");
    world.checkpoint(["fetch", "origin"]).success();
    assert_eq!(
        matches(&world, &["needle-decision"])[0]["session"],
        "origin/auth",
        "fetched sessions are searched"
    );
}

/// The lines that git finds in the objects that sessions consist of.
fn expected(world: &World, options: &[&str], pattern: &str) -> BTreeSet<(String, u64)> {
    let mut objects = BTreeSet::new();
    for session in ["auth", "try"] {
        let chain = world.git_line(["rev-list", "--first-parent", &format!("refs/checkpoints/{session}")]);
        for commit in chain.lines() {
            let inner = world.git_line(["ls-tree", "-r", commit]);
            let files = world.git(["ls-tree", "-r", &format!("{commit}^2")]);
            for line in inner.lines() {
                let (entry, name) = line.split_once('\t').unwrap();
                let wanted = name == "checkpoint.json"
                    || ["chat/", "steps/", "log/"]
                        .iter()
                        .any(|prefix| name.starts_with(prefix));
                if wanted {
                    objects.insert(entry.split(' ').nth(2).unwrap().to_owned());
                }
            }
            for line in files.stdout().lines().filter(|_| files.is_success()) {
                objects.insert(line.split(['\t', ' ']).nth(2).unwrap().to_owned());
            }
        }
    }
    let mut args: Vec<String> = ["grep", "-n", "-I"]
        .iter()
        .chain(options)
        .map(ToString::to_string)
        .collect();
    args.extend(["-e".to_owned(), pattern.to_owned()]);
    args.extend(objects);
    let out = world.git(args);
    let lines = out.stdout().lines();
    lines
        .map(|line| {
            let mut parts = line.splitn(3, ':');
            (parts.next().unwrap().to_owned(), parts.next().unwrap().parse().unwrap())
        })
        .collect()
}

#[test]
fn the_lines_are_those_of_git_grep_over_the_same_objects() {
    let world = world();
    for (options, pattern) in [
        (&[][..], "needle"),
        (&[], "ne*dle-[cf]"),
        (&["-i"], "two NEEDLE"),
        (&["-F"], "needle-file"),
        (&["-F"], "a.b"),
        (&["-E"], "(chat|log)+"),
        (&["-E"], "^(one|three)$"),
        (&[], "\\(need\\|file\\)"),
        (&["-E"], "e{2}"),
        (&[], "e\\{2\\}"),
        (&[], "[[:upper:]][[:upper:]]"),
        (&[], "[^a-z ]$"),
        (&["-E"], "\\<t\\w+"),
        (&[], "."),
    ] {
        let mut args = vec![pattern, "--all", "--in", "record,chat,steps,log,files"];
        args.extend(options);
        let found = matches(&world, &args);
        let lines: BTreeSet<(String, u64)> = found
            .iter()
            .filter(|found| found["line"].is_u64())
            .map(|found| {
                (
                    found["object"].as_str().unwrap().to_owned(),
                    found["line"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(lines, expected(&world, options, pattern), "{options:?} {pattern}");
        let numbered = found.iter().filter(|found| found["line"].is_u64()).count();
        assert_eq!(numbered, lines.len(), "each object once: {pattern}");
    }
    // The same from a pack with deltas.
    world.git(["gc", "-q"]).success();
    let found = matches(&world, &["needle", "--all", "--in", "record,chat,steps,log,files"]);
    let lines = found.iter().filter(|found| found["line"].is_u64()).count();
    assert_eq!(lines, expected(&world, &[], "needle").len());
}

#[test]
fn large_files_and_very_many_matches_are_searched_in_bounded_parts() {
    let world = World::with_commit();
    world.checkpoint(["start", "big"]).success();
    // Above what is read whole, and with more matches than are kept.
    let mut text = String::new();
    for n in 0..200_000 {
        text.push_str(&format!("line {n} of the data\n"));
    }
    text.push_str("the needle\n");
    world.file("large.txt", &text);
    world.checkpoint(["save", "-m", "large"]).success();
    let found = matches(&world, &["needle", "--files"]);
    assert_eq!((&found[0]["line"], found.len()), (&200_001.into(), 1));
    assert_eq!(matches(&world, &["of the", "--files"]).len(), 200_000);
    assert_eq!(matches(&world, &["of the", "--files", "-n", "3"]).len(), 3);
}

#[test]
fn a_session_that_cannot_be_searched_is_named() {
    let world = world();
    // A commit that is no checkpoint.
    world.git(["update-ref", "refs/checkpoints/broken", "HEAD"]).success();
    let found = world.checkpoint(["search", "needle-fork"]);
    found.stderr_has("session 'broken' is damaged, so the session was not searched");
    assert!(found.stdout().contains("needle-fork"), "{found}");
    // Of a session that is asked for nothing is left out.
    let found = world.checkpoint(["search", "needle-fork", "--session", "try"]);
    found.stderr_lacks("damaged");
}

#[test]
fn a_saved_checkpoint_is_not_called_an_autosave() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.file("src/main.txt", "apple\n");
    world.checkpoint(["save", "-m", "one"]).success();
    world.advance(60);
    world.file("src/main.txt", "apple\npear\n");
    world.checkpoint(["watch", "--once"]).success();
    for (word, origin) in [("pear", "autosave"), ("^one$", "local")] {
        let found = matches(&world, &["--files", "--in", "record", "--autosaves", word]);
        assert!(found.iter().any(|row| row["origin"] == origin), "{word}: {found:?}");
        let saved = found.iter().filter(|row| row["kind"] == "save");
        assert!(
            saved.into_iter().all(|row| row["origin"] == "local"),
            "{word}: {found:?}"
        );
    }
    world.file("z.bin", b"\0plum\n");
    world.checkpoint(["save", "-m", "binary"]).success();
    let found = matches(&world, &["--files", "plum"]);
    assert_eq!((found.len(), &found[0]["binary"]), (1, &true.into()), "{found:?}");
}
