//! Sessions that somebody made with plain git to do harm: each is refused, the good ones next to it come even so, and
//! nothing is run or written outside.

use std::fs;

use super::{at, clone, no_quarantine, save, shared};
use crate::support::World;

/// Writes a git object of any form and gives its id.
fn object(world: &World, kind: &str, bytes: impl Into<Vec<u8>>) -> String {
    let output = world
        .command("git", ["hash-object", "-w", "--literally", "-t", kind, "--stdin"])
        .input(bytes)
        .run();
    output.success().stdout().trim().to_owned()
}

/// A tree of any form: mode, name and object of each entry.
fn tree(world: &World, entries: &[(&str, &[u8], &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend((0..id.len() / 2).map(|n| u8::from_str_radix(&id[2 * n..2 * n + 2], 16).unwrap()));
    }
    object(world, "tree", bytes)
}

/// The last checkpoint of a session with its document changed, signed with its digest, and with other entries next to it.
struct Forger<'w> {
    world: &'w World,
    tip: String,
    document: String,
}

impl<'w> Forger<'w> {
    fn new(world: &'w World, session: &str) -> Self {
        let tip = world.git_line(["rev-parse", &format!("refs/checkpoints/{session}")]);
        let document = world
            .git(["show", &format!("{tip}:checkpoint.json")])
            .success()
            .stdout()
            .to_owned();
        Self { world, tip, document }
    }

    /// A commit with this document, tree and parents, and the trailers that fit.
    fn commit(&self, document: &str, more: &[(&str, &[u8], &str)], parents: &[&str]) -> String {
        let blob = object(self.world, "blob", document);
        let mut entries = vec![("100644", &b"checkpoint.json"[..], blob.as_str())];
        entries.extend_from_slice(more);
        self.commit_tree(document, &tree(self.world, &entries), parents)
    }

    fn commit_tree(&self, document: &str, tree: &str, parents: &[&str]) -> String {
        let sum = self.world.command("sha256sum", [""; 0]).input(document).run();
        let digest = sum.stdout().split(' ').next().unwrap().to_owned();
        let message = self
            .world
            .git(["log", "-1", "--format=%B", &self.tip])
            .success()
            .stdout()
            .to_owned();
        let message: String = message
            .lines()
            .map(|line| match line.strip_prefix("Checkpoint-Digest: ") {
                Some(_) => format!("Checkpoint-Digest: sha256:{digest}\n"),
                None => format!("{line}\n"),
            })
            .collect();
        let mut args = vec!["commit-tree", tree];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        let output = self
            .world
            .command("git", args)
            .input(message.trim_end().to_owned() + "\n")
            .run();
        output.success().stdout().trim().to_owned()
    }

    /// The same checkpoint with another snapshot tree, consistently.
    fn with_files(&self, files: &str) -> String {
        let world = self.world;
        let rev = |what: &str| world.git_line(["rev-parse", &format!("{}{what}", self.tip)]);
        let (head, index, old) = (rev("^2^1"), rev("^2^2"), rev("^2^{tree}"));
        let snapshot = world.git_line(["commit-tree", files, "-p", &head, "-p", &index, "-m", "files on disk"]);
        let document = self.document.replace(&old, files);
        assert_ne!(document, self.document);
        self.commit(&document, &[], &[&rev("^1"), &snapshot])
    }
}

/// What is in a directory of the world besides git's own directories.
fn listing(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    for directory in ["", "bob"] {
        let entries = fs::read_dir(world.root().join(directory)).unwrap();
        found.extend(entries.map(|entry| format!("{directory}/{}", entry.unwrap().file_name().to_string_lossy())));
    }
    found.sort();
    found
}

#[test]
fn crafted_sessions_are_refused_and_good_ones_come() {
    let world = shared();
    world.checkpoint(["start", "good"]).success();
    world.file("new.txt", "new\n");
    save(&world, "one");
    let forger = Forger::new(&world, "good");
    let rev = |what: &str| world.git_line(["rev-parse", &format!("{}{what}", forger.tip)]);
    let (parent, snapshot) = (rev("^1"), rev("^2"));
    let parents = [parent.as_str(), snapshot.as_str()];
    let blob = object(&world, "blob", "evil\n");
    let inner = tree(&world, &[("100644", b"config", &blob)]);
    let document = &forger.document;
    let changed = |from: &str, to: &str| {
        let text = document.replacen(from, to, 1);
        assert_ne!(&text, document, "{from}");
        text
    };
    let names = |entries: &[(&str, &[u8], &str)]| forger.with_files(&tree(&world, entries));
    let deep = world.deep_tree(&format!("040000 tree {inner}\td"), 1500);
    let bomb = (0..13).fold(inner.clone(), |below, _| {
        let entries: Vec<(&str, Vec<u8>, &str)> =
            (0..10_u8).map(|n| ("40000", vec![b'a' + n], below.as_str())).collect();
        let entries: Vec<_> = entries
            .iter()
            .map(|(mode, name, id)| (*mode, name.as_slice(), *id))
            .collect();
        tree(&world, &entries)
    });
    let id = document
        .split("\"id\": \"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let wrong_digest = {
        let blob = object(&world, "blob", changed("\"host\": \"", "\"host\": \"x"));
        let tree = tree(&world, &[("100644", b"checkpoint.json", &blob)]);
        forger.commit_tree(document, &tree, &parents)
    };
    let cases: Vec<(&str, String, &str)> = vec![
        ("dot-git", names(&[("40000", b".git", &inner)]), "'.git'"),
        ("dot-git-case", names(&[("40000", b".GIT", &inner)]), "'.GIT'"),
        ("short-name", names(&[("40000", b"git~1", &inner)]), "'git~1'"),
        ("dots", names(&[("40000", b"..", &inner)]), "'..'"),
        ("slash", names(&[("100644", b"../../evil", &blob)]), "evil"),
        ("backslash", names(&[("100644", b"..\\evil", &blob)]), "evil"),
        (
            "ignorable",
            names(&[("40000", ".g\u{200c}it".as_bytes(), &inner)]),
            "git",
        ),
        (
            "stream",
            names(&[("100644", b".git::$INDEX_ALLOCATION", &blob)]),
            ".git::",
        ),
        (
            "linked-modules",
            names(&[("120000", b".gitmodules", &blob)]),
            ".gitmodules",
        ),
        (
            "twice",
            names(&[("100644", b"a", &blob), ("40000", b"a", &inner)]),
            "'a'",
        ),
        (
            "link-and-folder",
            names(&[("120000", b"A", &blob), ("40000", b"a", &inner)]),
            "link",
        ),
        ("odd-mode", names(&[("100777", b"a", &blob)]), "mode"),
        ("deep", forger.with_files(&deep), "deeper"),
        ("bomb", forger.with_files(&bomb), "more than 5000000 files"),
        ("wrong-digest", wrong_digest, "digest"),
        (
            "hidden-file",
            forger.commit(document, &[("100644", b"..", &blob)], &parents),
            "no name",
        ),
        (
            "linked-steps",
            forger.commit(document, &[("120000", b"steps", &blob)], &parents),
            "no plain file",
        ),
        (
            "extra",
            forger.commit(document, &[("100644", b"context.md", &blob)], &parents),
            "context.md",
        ),
        (
            "escaping-id",
            forger.commit(&document.replace(&id, "../../../../canary"), &[], &parents),
            "session id",
        ),
        (
            "escaping-worktree",
            forger.commit(
                &changed("\"id\": \"main\"", "\"id\": \"linked-../../x\""),
                &[],
                &parents,
            ),
            "working tree",
        ),
        (
            "newer",
            forger.commit(&changed("git-checkpoint/1", "git-checkpoint/9"), &[], &parents),
            "version 9",
        ),
        (
            "duplicate-key",
            forger.commit(&changed("\"host\":", "\"host\": \"a\",\n  \"host\":"), &[], &parents),
            "damaged",
        ),
        ("no-json", forger.commit("{", &[], &parents), "damaged"),
        ("no-snapshot", forger.commit(document, &[], &[&parent]), "snapshot"),
        (
            "no-start",
            forger.commit(document, &[], &[&rev("^2^1"), &snapshot]),
            "no 'checkpoint.json'",
        ),
        ("branch", rev("^2^1"), "no 'checkpoint.json'"),
        (
            "deep-json",
            forger.commit(
                &changed(
                    "\"host\":",
                    &format!("\"x\": {}{},\n  \"host\":", "[".repeat(10_000), "]".repeat(10_000)),
                ),
                &[],
                &parents,
            ),
            "damaged",
        ),
    ];
    let hub = world.root().join("hub");
    let hub = hub.to_str().unwrap();
    world.checkpoint(["push", "origin", "good"]).success();
    for (name, commit, _) in &cases {
        let to = format!("{commit}:refs/checkpoints/{name}");
        let output = world.git(["push", "--quiet", "origin", &to]);
        output.success();
    }
    // Names that are none.
    for name in [
        "CON",
        "-x",
        "--upload-pack=x",
        "UPPER",
        "a..lock-",
        "x.y/z",
        "\u{fc}ber",
    ] {
        let full = format!("refs/checkpoints/{name}");
        let _ = world.git(["-C", hub, "update-ref", &full, &forger.tip]);
    }
    clone(&world, "bob");
    let before = (world.fingerprint(), listing(&world));
    let output = world.checkpoint(["fetch", "--json"]);
    let fetched = output.code(1).stdout_json();
    assert_eq!(before, (world.fingerprint(), listing(&world)));
    let good = fetched["sessions"].as_array().unwrap();
    assert_eq!(good.len(), 1, "{output}");
    assert_eq!(good[0]["session"], "good");
    let refused = fetched["refused"].as_array().unwrap();
    for (name, _, why) in &cases {
        let found = refused.iter().find(|found| found["session"] == *name);
        let reason = found.unwrap_or_else(|| panic!("{name} was not refused\n{output}"))["reason"]
            .as_str()
            .unwrap();
        assert!(reason.contains(why), "{name}: {reason}");
    }
    assert!(refused.iter().any(|found| found["session"] == "-x"), "{output}");
    no_quarantine(&world);
    world
        .git(["for-each-ref", "--format=%(refname)", "refs/checkpoints-remote"])
        .stdout_is("refs/checkpoints-remote/origin/good\n");
    world
        .checkpoint(["pull", "origin", "bomb"])
        .code(128)
        .stderr_has("was refused");
    world.checkpoint(["resume", "origin/dot-git"]).code(3);
    assert_eq!(at(&world, "bob", "refs/checkpoints/bomb"), "");
    world.checkpoint(["resume", "origin/good"]).success();
}

#[test]
fn a_session_that_is_too_large_is_refused_within_bounds() {
    let world = shared();
    world.checkpoint(["start", "large"]).success();
    world.file("zeros", vec![0; 3 << 20]);
    save(&world, "one");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    world.git(["config", "checkpoint.maxFetchSize", "1m"]).success();
    world
        .checkpoint(["fetch"])
        .code(1)
        .stdout_has("more than 1048576 bytes (checkpoint.maxFetchSize)");
    world.git(["config", "checkpoint.maxFetchSize", "1g"]).success();
    world.checkpoint(["fetch"]).success();
    // Also what does not compress, which is reported while it comes.
    world.enter("repo");
    let noise = (0..1_000_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).rotate_left(n % 31).to_le_bytes());
    world.file("noise", noise.collect::<Vec<_>>());
    save(&world, "two");
    world.checkpoint(["push"]).success();
    world.enter("bob");
    world.git(["config", "checkpoint.maxFetchSize", "1m"]).success();
    world
        .checkpoint(["fetch"])
        .code(128)
        .stderr_has("the remote sends more than 1048576 bytes")
        .stderr_has("checkpoint.maxFetchSize=");
    no_quarantine(&world);
}

#[test]
fn a_session_with_objects_missing_keeps_no_other_from_coming() {
    let world = shared();
    world.checkpoint(["start", "good"]).success();
    save(&world, "one");
    world.checkpoint(["start", "bad"]).success();
    world.file("lost.txt", "lost\n");
    save(&world, "two");
    world.checkpoint(["push", "--all"]).success();
    let blob = world.git_line(["rev-parse", "refs/checkpoints/bad^2:lost.txt"]);
    let hub = world.root().join("hub");
    let loose = hub.join("objects").join(&blob[..2]).join(&blob[2..]);
    assert!(loose.exists());
    fs::remove_file(loose).unwrap();
    clone(&world, "bob");
    world
        .checkpoint(["fetch"])
        .code(1)
        .stdout_has("good")
        .stdout_has("refused   bad");
    assert!(!at(&world, "bob", "refs/checkpoints-remote/origin/good").is_empty());
    no_quarantine(&world);
}

#[test]
fn what_others_wrote_moves_no_terminal_and_gives_no_orders() {
    let world = shared();
    world.checkpoint(["start", "auth"]).success();
    save(&world, "one\u{1b}]0;title\u{7} \u{202e}");
    world.checkpoint(["push"]).success();
    clone(&world, "bob");
    for line in [
        &["fetch"][..],
        &["list", "-r"],
        &["log", "origin/auth"],
        &["show", "origin/auth"],
        &["resume", "origin/auth"],
        &["resume", "--format", "prompt"],
        &["remote", "status"],
    ] {
        let output = world.checkpoint(line);
        for hidden in ["\u{1b}", "\u{7}", "\u{202e}"] {
            output.stdout_lacks(hidden).stderr_lacks(hidden);
        }
    }
}
