//! Encrypted checkpoints: nothing of what people and agents wrote is anywhere in plain text, whoever has a key reads all of
//! it, and whoever has none can do with the session what needs no reading.

use std::fs;
use std::path::{Path, PathBuf};

use age_format::secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{at, clone, save, shared};
use crate::support::{PROGRAM, Terminal, World};

/// Makes a key of age and writes it to a file; gives the public key.
pub(super) fn key(world: &World, who: &str) -> String {
    let key = age_format::x25519::Identity::generate();
    let text = format!("# {who}\n{}\n", key.to_string().expose_secret());
    fs::write(key_file(world, who), text).unwrap();
    key.to_public().to_string()
}

fn key_file(world: &World, who: &str) -> PathBuf {
    world.root().join(format!("{who}.key"))
}

pub(super) fn set(world: &World, name: &str, value: &str) {
    world.git(["config", name, value]).success();
}

/// Uses somebody's key from now on, or nobody's.
pub(super) fn be(world: &World, who: &str) {
    set(world, "checkpoint.identity", key_file(world, who).to_str().unwrap());
}

/// A repository whose sessions are encrypted to `ana`, who works in it.
fn encrypted() -> World {
    let world = shared();
    let ana = key(&world, "ana");
    key(&world, "eve");
    set(&world, "checkpoint.encryptTo", &ana);
    be(&world, "ana");
    world
}

/// Words that are found nowhere else, each given once.
#[derive(Default)]
struct Marks(Vec<String>);

impl Marks {
    fn next(&mut self) -> String {
        let word = format!("mark{:04}x{}", self.0.len(), "q".repeat(self.0.len() % 7));
        self.0.push(word.clone());
        word
    }

    /// A record in which every text is a mark, three items to a list.
    fn record(&mut self) -> Value {
        let mut record = json!({ "summary": self.next() });
        let lists: &[(&str, &[&str])] = &[
            ("accomplishments", &["text"]),
            ("next_steps", &["text"]),
            ("todos", &["text"]),
            ("tasks", &["title", "agent", "issue", "notes"]),
            ("decisions", &["text", "reason"]),
            ("blockers", &["text", "needs", "ref"]),
            ("questions", &["text"]),
            (
                "approvals",
                &["provider", "channel", "thread", "question", "answer", "reason"],
            ),
            ("delegations", &["agent", "issue", "model_tier"]),
            ("resume_instructions", &["text"]),
            ("memory_refs", &["text"]),
            ("agent_history", &["agent", "text"]),
        ];
        for (list, members) in lists {
            let items: Vec<Value> = (0..9)
                .map(|_| {
                    let item = members
                        .iter()
                        .map(|member| ((*member).to_owned(), Value::from(self.next())));
                    Value::Object(item.collect())
                })
                .collect();
            record[*list] = items.into();
        }
        record["fork_points"] = json!([{ "title": self.next(), "options": [
            { "key": "a", "title": self.next(), "pros": [self.next()], "cons": [self.next()] },
            { "key": "b", "title": self.next(), "pros": [self.next()], "cons": [self.next()] },
        ]}]);
        record["phase"] = json!({ "n": 1, "of": 2, "title": self.next() });
        record["state"] = (0..40)
            .map(|n| (format!("k{n}"), Value::from(self.next())))
            .collect::<serde_json::Map<_, _>>()
            .into();
        record["extra"] = json!({ "deep": [{ "er": self.next() }], "name": self.next() });
        record
    }
}

/// The marks that are in a text.
fn found(marks: &Marks, text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    marks
        .0
        .iter()
        .filter(|mark| text.contains(mark.as_str()))
        .cloned()
        .collect()
}

/// Every file below a directory.
fn files(directory: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            files(&path, out);
        } else {
            out.push(path);
        }
    }
}

/// No mark is in any object, file of the git directory, commit message or reflog.
#[track_caller]
fn nothing_in_plain(world: &World, marks: &Marks) {
    let objects = world.git(["cat-file", "--batch-all-objects", "--batch", "--unordered"]);
    assert_eq!(found(marks, objects.success().stdout_bytes()), Vec::<String>::new());
    let messages = world.git(["log", "--all", "--reflog", "--format=%B%gs"]);
    assert_eq!(found(marks, messages.success().stdout_bytes()), Vec::<String>::new());
    let mut all = Vec::new();
    files(&world.path(".git"), &mut all);
    assert!(all.len() > 20);
    for path in all {
        // Work in the background removes its own files.
        let Ok(bytes) = fs::read(&path) else { continue };
        assert_eq!(found(marks, &bytes), Vec::<String>::new(), "{}", path.display());
        let name = path.to_string_lossy().into_owned();
        assert_eq!(found(marks, name.as_bytes()), Vec::<String>::new());
    }
}

/// What the commit does not say its document does, for whoever has a key.
#[test]
fn lists_show_what_a_key_opens() {
    let world = encrypted();
    world
        .checkpoint(["start", "auth", "--task", "the hidden task"])
        .success();
    for summary in ["hidden first", "hidden second"] {
        world.file("a.txt", summary);
        world.checkpoint(["save", "-m", summary]).success();
    }
    let list = |args: &[&str]| world.checkpoint([&["list"], args].concat());
    list(&[]).success().stdout_has("hidden second");
    list(&["--grep", "hidden second"]).success().stdout_has("auth");
    let json = list(&["--json"]).success().stdout_json();
    assert_eq!(json["sessions"][0]["summary"], "hidden second");
    assert_eq!(json["sessions"][0]["task"], "the hidden task");
    let log = |args: &[&str]| world.checkpoint([&["log", "auth"], args].concat());
    log(&[])
        .success()
        .stdout_has("hidden first")
        .stdout_has("hidden second");
    log(&["--oneline"]).success().stdout_has("hidden first");
    // Not asked for with each line.
    be(&world, "eve");
    for shown in [list(&[]), list(&["--json"]), log(&[]), log(&["--oneline"])] {
        shown.success().stdout_has("auth").stdout_lacks("hidden");
    }
    list(&["--grep", "hidden"]).success().stdout_lacks("auth");
}

#[test]
fn nothing_that_was_written_is_anywhere_in_plain_text_and_the_key_reads_all_of_it() {
    let world = encrypted();
    let mut marks = Marks::default();
    let at = |name: &str| world.root().join(name).to_str().unwrap().to_owned();
    world
        .checkpoint([
            "start",
            "auth",
            "--agent",
            &marks.next(),
            "--task",
            &marks.next(),
            "--title",
            &marks.next(),
            "--type",
            &marks.next(),
            "--feature",
            &marks.next(),
            "--issue",
            &marks.next(),
        ])
        .success();
    fs::write(at("record.json"), marks.record().to_string()).unwrap();
    fs::write(at("context.md"), format!("# {}\n{}\n", marks.next(), marks.next())).unwrap();
    fs::write(at("attached.txt"), marks.next()).unwrap();
    fs::write(at("agent.md"), marks.next()).unwrap();
    let step = |line: &[&str]| {
        world.checkpoint(line).success();
    };
    // What waits in drafts.
    step(&["note", &marks.next()]);
    step(&["task", "add", &marks.next()]);
    step(&["decision", "add", &marks.next(), "--reason", &marks.next()]);
    step(&["state", "set", &format!("{{\"key\":\"{}\"}}", marks.next())]);
    step(&["message", "add", "--role", "user", &marks.next()]);
    step(&[
        "message",
        "add",
        "--role",
        "assistant",
        "--meta",
        &format!("{{\"k\":\"{}\"}}", marks.next()),
        &marks.next(),
    ]);
    step(&["context", "set", &at("context.md")]);
    step(&["agent", "describe", &at("agent.md")]);
    step(&[
        "step",
        "start",
        &marks.next(),
        "--objective",
        &marks.next(),
        "--issue",
        &marks.next(),
    ]);
    step(&[
        "step",
        "done",
        "1",
        "--context",
        &marks.next(),
        "--output",
        &marks.next(),
    ]);
    nothing_in_plain(&world, &marks);
    step(&["watch", "--once"]);
    nothing_in_plain(&world, &marks);
    let trigger = marks.next();
    step(&[
        "save",
        "--record",
        &at("record.json"),
        "--attach",
        &at("attached.txt"),
        "--trigger",
        &trigger,
        "--key",
        &marks.next(),
    ]);
    nothing_in_plain(&world, &marks);
    step(&["message", "add", "--role", "user", &marks.next()]);
    step(&["compact"]);
    step(&["fork", "auth", "--name", "other"]);
    step(&["switch", "auth"]);
    step(&["finish", "-m", &marks.next()]);
    step(&["undo"]);
    step(&["redo"]);
    nothing_in_plain(&world, &marks);
    assert!(marks.0.len() >= 300, "{}", marks.0.len());
    world.git(["fsck", "--strict"]).success();
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["push", "origin", "auth"]).success();
    let hub = world.root().join("hub");
    let there = world.git([
        "-C",
        hub.to_str().unwrap(),
        "cat-file",
        "--batch-all-objects",
        "--batch",
    ]);
    assert_eq!(found(&marks, there.success().stdout_bytes()), Vec::<String>::new());
    // All of it is there for who has the key.
    let mut seen = Vec::new();
    for line in [
        vec!["show", "auth", "--json"],
        vec!["show", "auth~1", "--json"],
        vec!["show", "auth~2", "--json"],
        vec!["log", "auth", "--notes", "--json"],
        vec!["message", "list", "--full", "--json", "--session", "auth"],
        vec!["context", "show", "--session", "auth"],
        vec!["agent", "show", "--session", "auth"],
        vec!["step", "list", "auth", "--json"],
        vec!["export", "auth", "--format", "json"],
    ] {
        seen.extend_from_slice(world.checkpoint(&line).stdout_bytes());
    }
    let missing: Vec<_> = marks
        .0
        .iter()
        .filter(|mark| !found(&Marks(vec![(*mark).clone()]), &seen).contains(mark))
        .collect();
    // The key of a request and texts that the compaction left out of `show` are asked for nowhere.
    assert!(missing.len() <= 3, "{missing:?}");
    world
        .checkpoint(["search", &marks.0[20]])
        .success()
        .stdout_has(&marks.0[20]);
}

#[test]
fn without_a_key_everything_works_that_needs_no_reading() {
    let world = encrypted();
    world.file("a.txt", "one\n");
    world.checkpoint(["start", "auth", "--title", "hidden title"]).success();
    let tip = save(&world, "hidden words");
    world.checkpoint(["push", "origin", "auth"]).success();
    let read = |world: &World| {
        let shown = world.checkpoint(["show", "auth", "--json"]).success().stdout_json();
        shown["document"]["record"]["summary"].as_str().map(str::to_owned)
    };
    assert_eq!(read(&world).as_deref(), Some("hidden words"));
    world
        .checkpoint(["show", "auth"])
        .success()
        .stdout_has("to 1 recipient");

    be(&world, "eve");
    let shown = world.checkpoint(["show", "auth"]);
    shown
        .success()
        .stdout_has("none of your keys opens it")
        .stderr_has("is encrypted");
    assert!(!shown.stdout().contains("hidden"));
    for line in [&["show", "auth"][..], &["resume", "auth"], &["status"], &["save"]] {
        let output = world.checkpoint(line);
        assert_eq!(output.stderr().matches("warning: ").count(), 1, "{line:?}: {output}");
    }
    // Who cannot read it is not helped by being a recipient.
    let rekeyed = world.checkpoint(["rekey", "auth"]);
    rekeyed
        .code(4)
        .stderr_has("checkpoint.identity <file>")
        .stderr_lacks("encryptTo");
    let json = world.checkpoint(["show", "auth", "--json"]).success().stdout_json();
    assert_eq!((&json["locked"], read(&world)), (&true.into(), None));
    let listed = world.checkpoint(["list", "--json"]).success().stdout_json();
    assert_eq!(listed["sessions"][0]["id"], tip.as_str());
    world.checkpoint(["verify", "--all"]).success();
    world.checkpoint(["log", "auth"]).success();
    // Every document says so, and no plan promises what would be refused.
    for format in ["html", "markdown", "handoff"] {
        world
            .checkpoint(["export", "--format", format, "auth"])
            .success()
            .stdout_has("to 1 recipient, and none of your keys opens it");
    }
    for line in [
        ["clear", "--messages", "--dry-run"],
        ["clear", "--all", "--dry-run"],
        ["clear", "--messages", "--yes"],
        ["clear", "--all", "--yes"],
        ["compact", "--force", "--dry-run"],
        ["compact", "--force", "--quiet"],
    ] {
        world
            .checkpoint(line)
            .code(4)
            .stderr_has("without a key, nothing can be read from the record of ")
            .stderr_has("checkpoint.identity");
    }
    let before = world.fingerprint();
    for line in [
        vec!["save", "-m", "mine", "--allow-empty"],
        vec!["save", "--amend", "-m", "mine"],
        vec!["fork", "auth"],
        vec!["finish"],
    ] {
        let refused = world.checkpoint(&line);
        refused
            .code(4)
            .stderr_has("none of your keys opens it")
            .stderr_has("checkpoint.identity");
        assert_eq!(world.fingerprint(), before, "{line:?}");
    }
    world.file("a.txt", "two\n");
    world.checkpoint(["restore", "auth"]).success();
    assert_eq!(world.read("a.txt"), b"one\n");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), tip);

    clone(&world, "eve-clone");
    be(&world, "eve");
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["pull", "origin", "auth"]).success();
    world.checkpoint(["restore", "auth", "--dry-run"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), tip);
    be(&world, "ana");
    assert_eq!(read(&world).as_deref(), Some("hidden words"));
    // Who has the key and no setting goes on encrypted, with the same recipients.
    world.checkpoint(["resume", "auth"]).success();
    world.checkpoint(["note", "hidden note"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "hidden message"])
        .success();
    let marks = Marks(
        ["hidden words", "hidden note", "hidden message", "more words"]
            .map(str::to_owned)
            .into(),
    );
    nothing_in_plain(&world, &marks);
    save(&world, "more words");
    world.checkpoint(["fork", "auth", "--name", "again"]).success();
    nothing_in_plain(&world, &marks);
    let forked = world.checkpoint(["show", "again", "--json"]).success().stdout_json();
    assert_eq!(forked["document"]["record"]["summary"], "more words");
}

#[test]
fn what_is_damaged_is_reported_and_nothing_is_lost() {
    let world = encrypted();
    world.checkpoint(["start", "auth"]).success();
    let tip = save(&world, "hidden words");
    let blob = world.git_line(["rev-parse", "checkpoints/auth:record.age"]);
    let whole = world.git(["cat-file", "blob", &blob]).success().stdout_bytes().to_vec();
    assert!(whole.starts_with(b"age-encryption.org/v1\n-> git-checkpoint 1\n"));
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    let mut header = whole.clone();
    let mac = String::from_utf8_lossy(&whole).find("\n--- ").unwrap();
    header[mac + 8] ^= 1;
    for (bytes, name) in [
        (&changed[..], "changed"),
        (&whole[..whole.len() - 20], "cut"),
        (&header[..], "header"),
        (&whole[..45], "beginning"),
    ] {
        // A checkpoint whose document names the damaged blob, as if it had been written so.
        let id = world
            .command("git", ["hash-object", "-w", "--stdin"])
            .input(bytes)
            .run();
        let id = id.success().stdout().trim().to_owned();
        let document = world
            .git(["show", "checkpoints/auth:checkpoint.json"])
            .stdout()
            .replace(&blob, &id);
        let document = world
            .command("git", ["hash-object", "-w", "--stdin"])
            .input(document.clone())
            .run();
        let document = document.success().stdout().trim().to_owned();
        let text = world.git(["cat-file", "blob", &document]).stdout().to_owned();
        let tree = world.git(["ls-tree", "checkpoints/auth"]).stdout().to_owned();
        let old = world.git_line(["rev-parse", "checkpoints/auth:checkpoint.json"]);
        let tree = tree.replace(&blob, &id).replace(&old, &document);
        let tree = world.command("git", ["mktree"]).input(tree).run();
        let tree = tree.success().stdout().trim().to_owned();
        let commit = world.git(["cat-file", "commit", &tip]).stdout().to_owned();
        let old_tree = world.git_line(["rev-parse", "checkpoints/auth^{tree}"]);
        let (message, _) = commit.rsplit_once("Checkpoint-Digest: ").unwrap();
        let digest = git_checkpoint::model::id::Digest::of(text.as_bytes());
        let commit = format!("{}Checkpoint-Digest: {digest}\n", message.replace(&old_tree, &tree));
        let commit = world
            .command("git", ["hash-object", "-w", "-t", "commit", "--stdin"])
            .input(commit)
            .run();
        let commit = commit.success().stdout().trim().to_owned();
        let session = format!("refs/checkpoints/{name}");
        world.git(["update-ref", &session, &commit]).success();
        world
            .checkpoint(["show", name])
            .code(128)
            .stderr_has("the encrypted record")
            .stderr_has("damaged");
        world
            .checkpoint(["verify", name])
            .code(1)
            .stdout_has("the encrypted record");
        assert_eq!(world.git_line(["rev-parse", &session]), commit);
        world.git(["update-ref", "-d", &session]).success();
    }
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), tip);
    world.checkpoint(["show", "auth"]).success().stdout_has("hidden words");
    // A recipient that is none stops every save, and saves nothing in plain text.
    for (value, why) in [
        ("age1nonsense", "is no recipient"),
        ("ssh-ed25519 AAAA", "is no recipient"),
        ("no-such-file", "cannot read the recipients"),
    ] {
        world.git(["config", "checkpoint.encryptTo", value]).success();
        let config = world.fingerprint();
        world
            .checkpoint(["save", "-m", "words", "--allow-empty"])
            .code(128)
            .stderr_has("cannot encrypt")
            .stderr_has(why);
        world
            .checkpoint(["note", "words"])
            .code(128)
            .stderr_has("cannot encrypt");
        assert_eq!(world.fingerprint(), config, "{value}");
    }
}

#[test]
fn full_chunks_stay_the_same_objects_and_a_rekey_opens_all_to_somebody_new() {
    let world = encrypted();
    world.checkpoint(["start", "auth"]).success();
    let lines: String = (0..600)
        .map(|n| format!("{{\"role\":\"user\",\"content\":\"hidden {n}\"}}\n"))
        .collect();
    world.file("../chat.jsonl", &lines);
    let chat = world.root().join("chat.jsonl");
    world
        .checkpoint(["message", "import", chat.to_str().unwrap()])
        .success();
    save(&world, "one");
    let chunk = |at: &str| world.git_line(["rev-parse", &format!("{at}:chat/000000.jsonl")]);
    let first = chunk("checkpoints/auth");
    world
        .checkpoint(["message", "add", "--role", "user", "hidden last"])
        .success();
    save(&world, "two");
    assert_eq!(chunk("checkpoints/auth"), first);
    // Without news nothing is saved, though every encryption of the same text differs.
    let tip = world.git_line(["rev-parse", "checkpoints/auth"]);
    world.checkpoint(["save"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), tip);

    // A second recipient, by a file of the project, and by a key of ssh.
    let bob = key(&world, "bob");
    let ana = world.git_line(["config", "checkpoint.encryptTo"]);
    world.file("recipients", format!("# ours\n{ana}\n\n{bob}\n"));
    set(&world, "checkpoint.encryptTo", "recipients");
    world
        .checkpoint(["rekey", "--dry-run"])
        .success()
        .stdout_has("to 2 recipients");
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth"]), tip);
    world.checkpoint(["rekey"]).success().stdout_has("to 2 recipients");
    assert_ne!(chunk("checkpoints/auth"), first);
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth~1"]), tip);
    world.checkpoint(["verify", "--all"]).success();
    let messages = |world: &World| {
        let list = world
            .checkpoint(["message", "list", "--full", "--json"])
            .success()
            .stdout()
            .to_owned();
        (
            list.contains("hidden 0"),
            list.contains("hidden 599"),
            list.contains("hidden last"),
        )
    };
    be(&world, "bob");
    assert_eq!(messages(&world), (true, true, true));
    world
        .checkpoint(["show", "auth~1"])
        .success()
        .stdout_has("none of your keys opens it");
    // Taken away again: what is written from then on is ana's alone.
    set(&world, "checkpoint.encryptTo", &ana);
    be(&world, "ana");
    world.checkpoint(["rekey"]).success().stdout_has("to 1 recipient");
    be(&world, "bob");
    world
        .checkpoint(["show", "auth"])
        .success()
        .stdout_has("none of your keys opens it");
    be(&world, "ana");
    assert_eq!(messages(&world), (true, true, true));
    let marks = Marks(
        (0..600)
            .step_by(50)
            .map(|n| format!("hidden {n}"))
            .chain(["hidden last".to_owned()])
            .collect(),
    );
    nothing_in_plain(&world, &marks);
}

#[test]
fn keys_of_ssh_and_files_of_age_that_were_attached() {
    let world = shared();
    let ssh = world.home().join(".ssh");
    fs::create_dir_all(&ssh).unwrap();
    let file = ssh.join("id_ed25519");
    let line = [
        "-q",
        "-t",
        "ed25519",
        "-N",
        "",
        "-C",
        "somebody@home",
        "-f",
        file.to_str().unwrap(),
    ];
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.command("ssh-keygen", line).run()));
    let Ok(made) = made else { return };
    made.success();
    let public = fs::read_to_string(ssh.join("id_ed25519.pub")).unwrap();
    set(&world, "checkpoint.encryptTo", public.trim());
    world.checkpoint(["start", "auth"]).success();
    // An age file of somebody else's stays what it is.
    let other = b"age-encryption.org/v1\n-> X25519 abc\nxyz\n--- mac\n\x01\x02";
    let attached = world.root().join("secret.age");
    fs::write(&attached, other).unwrap();
    world
        .checkpoint(["save", "-m", "hidden words", "--attach", attached.to_str().unwrap()])
        .success();
    let document = world
        .git(["show", "checkpoints/auth:checkpoint.json"])
        .stdout()
        .to_owned();
    assert!(
        document.contains("ssh-ed25519 AAAA") && !document.contains("somebody@home"),
        "{document}"
    );
    world.checkpoint(["show", "auth"]).success().stdout_has("hidden words");
    // A key with a passphrase, where nobody can be asked.
    world
        .command("ssh-keygen", ["-q", "-p", "-N", "secret", "-f", file.to_str().unwrap()])
        .run()
        .success();
    world
        .checkpoint(["show", "auth"])
        .success()
        .stdout_has("none of your keys opens it");
    // At a terminal it is asked for once, and never for a key that is no recipient.
    let at_terminal = |answer: &str| {
        let screen = Terminal::new(80, "dumb").answer("Passphrase of", answer).run(
            &world,
            PROGRAM,
            ["--no-pager", "show", "auth"],
        );
        let text = screen.text();
        assert!(screen.status.success(), "{text}");
        assert_eq!(text.matches("Passphrase of").count(), 1, "{text}");
        text
    };
    // A list asks for none.
    for line in [&["--no-pager", "list"][..], &["--no-pager", "log", "auth"]] {
        let screen = Terminal::new(80, "dumb").run(&world, PROGRAM, line);
        let text = screen.text();
        assert!(!text.contains("Passphrase of") && !text.contains("hidden"), "{text}");
    }
    let text = at_terminal("secret\r");
    assert!(text.contains("hidden words") && !text.contains("secret\n"), "{text}");
    assert!(at_terminal("wrong\r").contains("is wrong"));
    for answer in ["\r", "\x03"] {
        assert!(at_terminal(answer).contains("none of your keys opens it"), "{answer:?}");
    }
    fs::rename(&file, ssh.join("id_rsa")).unwrap();
    let line = ["-q", "-t", "ed25519", "-N", "other", "-f", file.to_str().unwrap()];
    world.command("ssh-keygen", line).run().success();
    assert!(at_terminal("secret\r").contains("hidden words"));
}

#[test]
fn turns_of_agents_leave_no_plain_text_with_or_without_the_setting() {
    let world = encrypted();
    world.checkpoint(["enable", "claude-code"]).success();
    world.checkpoint(["start", "auth"]).success();
    let marks = Marks(["markprompt", "markreply", "markmore"].map(str::to_owned).into());
    let file = world.root().join("S1.jsonl");
    let line = |role: &str, id: &str, text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        let line = json!({ "type": role, "uuid": id, "sessionId": "S1", "timestamp": "2026-01-02T03:04:05Z",
            "message": { "id": id, "role": role, "content": content } });
        format!("{line}\n")
    };
    let event = |name: &str| {
        let payload = json!({ "session_id": "S1", "hook_event_name": name, "prompt": "markprompt",
            "cwd": world.repo().to_str().unwrap(), "transcript_path": file.to_str().unwrap() });
        // In the foreground: what it does is there when it ends.
        let hook = world.command(PROGRAM, ["hook", "claude-code", name]);
        let hook = hook.env("CHECKPOINT_AGENT_HOOK", "worker");
        hook.input(payload.to_string()).run().success();
        nothing_in_plain(&world, &marks);
    };
    fs::write(&file, "").unwrap();
    event("SessionStart");
    event("UserPromptSubmit");
    let turn = line("user", "u1", "markprompt") + &line("assistant", "u2", "markreply");
    fs::write(&file, &turn).unwrap();
    event("Stop");
    let list = world.checkpoint(["message", "list", "--full"]);
    list.success().stdout_has("markprompt").stdout_has("markreply");
    // Who has no setting goes on in the same way.
    world.git(["config", "--unset-all", "checkpoint.encryptTo"]).success();
    event("UserPromptSubmit");
    fs::write(
        &file,
        turn + &line("user", "u3", "markmore") + &line("assistant", "u4", "markmore"),
    )
    .unwrap();
    event("Stop");
    world
        .checkpoint(["message", "list", "--full"])
        .success()
        .stdout_has("markmore");
}

#[test]
fn a_purge_without_a_key_takes_files_and_keeps_what_is_encrypted() {
    let world = encrypted();
    world.file("a.txt", "secret file\n");
    world.checkpoint(["start", "auth"]).success();
    save(&world, "hidden words");
    let sealed = world.git_line(["rev-parse", "checkpoints/auth:record.age"]);
    be(&world, "eve");
    world.checkpoint(["purge", "--yes", "--", "a.txt"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/auth:record.age"]), sealed);
    world.git(["cat-file", "-e", "checkpoints/auth^2:a.txt"]).code(128);
    world.checkpoint(["verify", "auth"]).success();
    be(&world, "ana");
    world.checkpoint(["show", "auth"]).success().stdout_has("hidden words");
}

/// A key that only lacks its passphrase can save later what was written without a terminal.
#[test]
fn without_a_terminal_the_passphrase_is_named_and_notes_wait() {
    let world = shared();
    let file = world.root().join("kp");
    let line = ["-q", "-t", "ed25519", "-N", "pass", "-f", file.to_str().unwrap()];
    world.command("ssh-keygen", line).run().success();
    let public = fs::read_to_string(file.with_extension("pub")).unwrap();
    set(&world, "checkpoint.encryptTo", public.trim());
    set(&world, "checkpoint.identity", file.to_str().unwrap());
    world.checkpoint(["start", "s"]).success();
    let refused = world.checkpoint(["save", "--allow-empty", "-m", "x"]);
    refused
        .code(4)
        .stderr_has("needs its passphrase")
        .stderr_lacks("none of your keys");
    world.checkpoint(["decision", "add", "waiting words"]).success();
    let screen = Terminal::new(80, "dumb").answer("Passphrase of", "pass\r").run(
        &world,
        PROGRAM,
        ["--no-pager", "save", "-m", "at a terminal"],
    );
    assert!(screen.status.success(), "{}", screen.text());
    world.git(["config", "--unset", "checkpoint.encryptTo"]).success();
}

/// The first checkpoint that is encrypted has nothing in plain text of those before it.
#[test]
fn what_was_saved_before_is_carried_on_encrypted() {
    let world = shared();
    let ana = key(&world, "ana");
    be(&world, "ana");
    for line in [
        vec!["start", "s"],
        vec!["message", "add", "--role", "user", "markchat"],
        vec!["note", "marknote"],
        vec!["step", "start", "markstep"],
    ] {
        world.checkpoint(&line).success();
    }
    world
        .command("sh", ["-c", &format!("echo markcontext | '{PROGRAM}' context set -")])
        .run()
        .success();
    save(&world, "marksummary");
    set(&world, "checkpoint.encryptTo", &ana);
    let plain = |commit: &str| {
        let names = world
            .git(["ls-tree", "-r", "-z", "--name-only", commit])
            .success()
            .stdout()
            .to_owned();
        let own = names.split('\0').filter(|name| !name.is_empty());
        own.filter(|name| {
            let blob = world.git(["cat-file", "blob", &format!("{commit}:{name}")]);
            blob.success().stdout_bytes().windows(4).any(|window| window == b"mark")
        })
        .map(str::to_owned)
        .collect::<Vec<_>>()
    };
    assert!(
        plain("refs/checkpoints/s").len() >= 5,
        "{:?}",
        plain("refs/checkpoints/s")
    );
    world.checkpoint(["fork", "s", "--name", "f"]).success();
    assert_eq!(plain("refs/checkpoints/f"), Vec::<String>::new(), "a fork");
    world.checkpoint(["switch", "s"]).success();
    save(&world, "with the setting");
    assert_eq!(plain("refs/checkpoints/s"), Vec::<String>::new());
    for text in ["markchat", "marknote", "markcontext"] {
        world.checkpoint(["search", text]).success().stdout_has(text);
    }
    // Nothing in plain text is left once those from before are gone.
    let before = world.git_line(["rev-parse", "refs/checkpoints/s~2"]);
    world.checkpoint(["purge", "--yes", &before]).success();
    world.checkpoint(["verify", "s"]).success();
}

/// The recipients may come from a file of another branch, which lacks the key of who writes.
#[test]
fn nothing_is_encrypted_to_others_alone() {
    let world = shared();
    let (ana, eve) = (key(&world, "ana"), key(&world, "eve"));
    world.file(".readers", format!("{eve}\n"));
    world.git(["add", ".readers"]).success();
    world.git(["commit", "-q", "-m", "readers"]).success();
    world.git(["switch", "-q", "-c", "feature"]).success();
    world.file(".readers", format!("{eve}\n{ana}\n"));
    world.git(["commit", "-q", "-a", "-m", "ana as well"]).success();
    set(&world, "checkpoint.encryptTo", ".readers");
    be(&world, "ana");
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["decision", "add", "first"]).success();
    save(&world, "one");
    world.git(["switch", "-q", "main"]).success();
    world.checkpoint(["switch", "s"]).success();
    for line in [
        vec!["decision", "add", "second"],
        vec!["save", "-m", "two"],
        vec!["start", "another"],
        vec!["fork", "s", "--name", "f"],
        vec!["rekey"],
    ] {
        world
            .checkpoint(&line)
            .code(4)
            .stderr_has("none of your keys is a recipient")
            .stderr_has("checkpoint.encryptTo");
    }
    // Reading, and everything else that writes no words, works.
    world.checkpoint(["status"]).success();
    world.checkpoint(["decision", "list"]).success().stdout_has("first");
    world.git(["switch", "-q", "feature"]).success();
    world.checkpoint(["switch", "s"]).success();
    world.checkpoint(["decision", "add", "third"]).success();
    save(&world, "three");
    world.checkpoint(["decision", "list"]).success().stdout_has("third");
}

/// Whoever has no key is refused before a text is taken: a draft is not shared, so nobody would ever get it.
#[test]
fn without_a_key_no_command_takes_a_text_that_nobody_could_read() {
    let world = encrypted();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["decision", "add", "readable"]).success();
    save(&world, "one");
    world.checkpoint(["push", "origin", "s"]).success();
    clone(&world, "other");
    be(&world, "eve");
    world.checkpoint(["fetch"]).success();
    world.checkpoint(["pull", "s"]).success();
    world.checkpoint(["switch", "s"]).success();
    let lines: &[&[&str]] = &[
        &["decision", "add", "lost"],
        &["note", "lost"],
        &["message", "add", "--role", "user", "lost"],
        &["task", "add", "lost"],
        &["todo", "add", "lost"],
        &["state", "set", "a", "1"],
        &["state", "patch", r#"{"a":1}"#],
        &["blocker", "add", "lost"],
        &["question", "add", "lost"],
        &["instruction", "add", "lost"],
        &["phase", "set", "1", "--of", "2"],
        &["delegation", "add", "agent"],
        &["save", "-m", "lost", "--allow-empty"],
    ];
    for line in lines {
        let refused = world.checkpoint(*line);
        assert!(!refused.is_success(), "{line:?}: {}", refused.stdout());
        if refused.status().code() != Some(129) {
            refused.code(4).stderr_has("or added to it");
        }
    }
    // What needs no key goes on.
    world.checkpoint(["resume", "s"]).success();
    world.checkpoint(["restore", "@"]).success();
    world.checkpoint(["list"]).success();
    // And who has one adds.
    be(&world, "ana");
    world.checkpoint(["decision", "add", "kept"]).success();
    world
        .checkpoint(["decision", "list"])
        .success()
        .stdout_has("kept")
        .stdout_has("readable");
}

#[test]
fn a_search_says_what_it_could_not_read() {
    let world = encrypted();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["decision", "add", "needle"]).success();
    save(&world, "one");
    world
        .checkpoint(["search", "needle"])
        .success()
        .stderr_lacks("encrypted");
    be(&world, "eve");
    world
        .checkpoint(["search", "needle"])
        .code(1)
        .stderr_has("1 session is encrypted")
        .stderr_has("'s'");
    let json = world.checkpoint(["search", "--json", "needle"]);
    assert!(json.code(1).stdout_json()["locked"].as_u64().unwrap() > 0);
}

/// Our own plain output of an encrypted session is written only where no snapshot takes it.
#[test]
fn files_of_export_to_do_not_carry_plain_text_into_objects() {
    let world = encrypted();
    set(&world, "checkpoint.exportTo", "handoff:H.md");
    world.checkpoint(["start", "s"]).success();
    let saved = world.checkpoint(["save", "-m", "SECRETWORD", "--allow-empty"]);
    saved.success().stderr_has("H.md").stderr_has("encrypted");
    assert!(!world.path("H.md").exists());
    let plain = |world: &World| {
        let all = world.git(["cat-file", "--batch-all-objects", "--batch"]);
        String::from_utf8_lossy(all.stdout_bytes()).contains("SECRETWORD")
    };
    for (file, n) in [(".gitignore", 1), (".checkpointignore", 2), (".git/info/exclude", 3)] {
        let _ = fs::remove_file(world.path("H.md"));
        world.file(file, "H.md\n");
        for _ in 0..2 {
            world.file("file", format!("{n}\n"));
            world
                .checkpoint(["save", "-m", "SECRETWORD", "--allow-empty"])
                .success();
        }
        assert!(world.path("H.md").exists(), "{file}");
        assert!(!plain(&world), "{file}");
        fs::remove_file(world.path(file)).unwrap();
        fs::remove_file(world.path("H.md")).unwrap();
    }
}

#[test]
fn a_recipient_that_is_none_is_named_in_words() {
    let world = shared();
    for bad in [
        "ssh-ed25519 AAAA",
        "ssh-rsa AAAA",
        "ssh-dss AAAAB3NzaC1kc3M=",
        "nothing",
    ] {
        set(&world, "checkpoint.encryptTo", bad);
        let refused = world.checkpoint(["save", "-m", "x"]);
        assert!(!refused.is_success(), "{bad}");
        refused
            .stderr_has("recipient")
            .stderr_lacks("Invalid(")
            .stderr_lacks("Unsupported(");
    }
}

/// Keys are found where age keeps them.
#[test]
fn a_key_in_the_configuration_of_age_is_found() {
    for place in [".config/age/keys.txt", ".config/age/identities", ".config/age/a.txt"] {
        let world = encrypted();
        world.checkpoint(["start", "s"]).success();
        world.checkpoint(["decision", "add", "needle"]).success();
        save(&world, "one");
        world.git(["config", "--unset", "checkpoint.identity"]).success();
        world.checkpoint(["show", "s"]).success().stdout_lacks("needle");
        let file = world.home().join(place);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::copy(key_file(&world, "ana"), &file).unwrap();
        world.checkpoint(["show", "s"]).success().stdout_has("needle");
    }
}

/// Without files there is nothing plain but what is public.
#[test]
fn encryption_without_files_leaves_no_tree_of_files() {
    let world = encrypted();
    world.file("secret-file", "plain content\n");
    world.checkpoint(["start", "s"]).success();
    world
        .checkpoint(["save", "--no-files", "-m", "one", "--allow-empty"])
        .success();
    let parents = world.git_line(["rev-list", "--parents", "-n1", "checkpoints/s"]);
    assert_eq!(parents.split(' ').count(), 2, "no snapshot commit: {parents}");
    let all = world.git(["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!String::from_utf8_lossy(all.stdout_bytes()).contains("plain content"));
    world.checkpoint(["verify", "--all"]).success();
}

/// A session of somebody else whose log cannot be read is named by its own name where it cannot be merged.
#[test]
fn a_merge_without_the_key_names_the_session() {
    let world = encrypted();
    world.file("a.txt", "one\n");
    world.checkpoint(["start", "theirs"]).success();
    world.checkpoint(["note", "hidden note"]).success();
    let tip = save(&world, "hidden words");
    be(&world, "eve");
    world.git(["config", "--unset", "checkpoint.encryptTo"]).success();
    world.checkpoint(["start", "mine"]).success();
    save(&world, "plain words");
    let merged = world.checkpoint(["merge", "theirs"]);
    assert!(!merged.is_success(), "{merged}");
    merged.stderr_has("'theirs").stderr_lacks("'log'");
    assert_eq!(at(&world, "repo", "refs/checkpoints/theirs"), tip);
}
