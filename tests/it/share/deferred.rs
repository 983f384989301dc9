//! What hooks save where the key of the record has a passphrase and there is no terminal: the files, the turn and the messages
//! are durable and encrypted at once, and the next save with the key puts them on the session.

use std::{fs, io::Write as _};

use age_format::secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::encrypted::set;
use super::shared;
use crate::support::{PROGRAM, Terminal, World};

/// A session that is encrypted to a key with a passphrase.
struct Locked {
    world: World,
}

impl Locked {
    fn new() -> Self {
        let world = shared();
        let this = Self { world };
        let line = ["-q", "-t", "ed25519", "-N", "pass", "-f", &this.key()];
        this.world.command("ssh-keygen", line).run().success();
        let public = fs::read_to_string(format!("{}.pub", this.key())).unwrap();
        set(&this.world, "checkpoint.encryptTo", public.trim());
        set(&this.world, "checkpoint.identity", &this.key());
        set(&this.world, "checkpoint.agents", "true");
        fs::write(this.transcript(), "").unwrap();
        this
    }

    fn key(&self) -> String {
        self.world.root().join("kp").to_str().unwrap().to_owned()
    }

    fn transcript(&self) -> String {
        self.world.root().join("S1.jsonl").to_str().unwrap().to_owned()
    }

    /// Takes the passphrase away, as a person gives it at a terminal.
    fn unlock(&self) {
        let line = ["-q", "-p", "-P", "pass", "-N", "", "-f", &self.key()];
        self.world.command("ssh-keygen", line).run().success();
    }

    fn says(&self, role: &str, id: &str, text: &str) {
        let content = json!([{ "type": "text", "text": text }]);
        let line = json!({ "type": role, "uuid": id, "sessionId": "S1", "timestamp": "2026-01-02T03:04:05Z",
            "message": { "id": id, "role": role, "content": content } });
        let before = fs::read_to_string(self.transcript()).unwrap();
        fs::write(self.transcript(), format!("{before}{line}\n")).unwrap();
    }

    fn event(&self, name: &str, prompt: &str) {
        let payload = json!({ "session_id": "S1", "hook_event_name": name, "prompt": prompt,
            "cwd": self.world.repo(), "transcript_path": self.transcript() });
        // In the foreground: what it does is there when it ends.
        let hook = self.world.command(PROGRAM, ["hook", "claude-code", name]);
        let hook = hook.env("CHECKPOINT_AGENT_HOOK", "worker");
        hook.input(payload.to_string()).run().success();
    }

    fn turn(&self, n: usize, file: &str) {
        self.event("UserPromptSubmit", &format!("markprompt{n}"));
        self.says("user", &format!("u{n}"), &format!("markprompt{n}"));
        self.world.file(file, format!("by the agent {n}\n"));
        self.says("assistant", &format!("a{n}"), &format!("markanswer{n}"));
        self.event("Stop", "");
    }

    fn deferred(&self) -> Vec<String> {
        let refs = self
            .world
            .git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints-deferred"]);
        refs.lines().map(str::to_owned).collect()
    }

    fn turns(&self) -> Vec<(Value, Value)> {
        let listed = self
            .world
            .checkpoint(["turns", "--all", "--json"])
            .success()
            .stdout_json();
        let turns = listed["turns"].as_array().unwrap().iter();
        turns
            .map(|turn| (turn["subject"].clone(), turn["files"].clone()))
            .collect()
    }

    fn messages(&self) -> Vec<String> {
        let listed = self
            .world
            .checkpoint(["message", "list", "--full", "--json"])
            .success()
            .stdout_json();
        let messages = listed["messages"].as_array().unwrap().iter();
        messages.map(|message| message["content"].to_string()).collect()
    }
}

#[test]
fn turns_without_the_passphrase_wait_and_are_taken_in_by_the_next_save() {
    let this = Locked::new();
    let world = &this.world;
    world.checkpoint(["start", "s"]).success();
    let before = world.git_line(["rev-parse", "refs/checkpoints/s"]);
    this.event("SessionStart", "");
    this.turn(1, "one.txt");
    world.file("mine.txt", "by hand\n");
    this.turn(2, "two.txt");
    // Nothing new: nothing is saved.
    this.event("PreCompact", "");
    this.event("Stop", "");
    assert_eq!(world.git_line(["rev-parse", "refs/checkpoints/s"]), before);
    let [name] = &this.deferred()[..] else {
        panic!("{:?}", this.deferred())
    };
    // The files, for git itself, also after a collection of garbage.
    world.git(["gc", "-q", "--prune=now"]).success();
    for (file, text) in [
        ("one.txt", "by the agent 1"),
        ("mine.txt", "by hand"),
        ("two.txt", "by the agent 2"),
    ] {
        assert_eq!(world.git_line(["show", &format!("{name}^2:{file}")]), text);
    }
    let private = world
        .git(["show", &format!("{name}:checkpoint.json")])
        .stdout()
        .to_owned();
    assert!(
        !private.contains("mark") && private.contains("\"encrypted\""),
        "{private}"
    );
    let drafts = fs::read_dir(world.path(".git/checkpoint/drafts")).unwrap().flatten();
    for draft in drafts {
        let text = fs::read_to_string(draft.path()).unwrap();
        assert!(!text.contains("markprompt") && !text.contains("markanswer"), "{text}");
    }
    let count = world.checkpoint(["status", "--json"]).success().stdout_json()["current"]["deferred"].clone();
    assert!(count.as_u64().unwrap() >= 3, "{count}");
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("of hooks wait for your key")
        .stdout_has("git checkpoint save");
    world.checkpoint(["verify", "--all"]).success();
    // A save of a person without the passphrase is refused as ever, and takes nothing.
    world
        .checkpoint(["save", "-m", "x"])
        .code(4)
        .stderr_has("needs its passphrase");
    assert_eq!(this.deferred().len(), 1);

    this.unlock();
    world.checkpoint(["save", "-m", "with the key"]).success();
    assert!(this.deferred().is_empty());
    let kinds = world.git_line([
        "log",
        "--reverse",
        "--first-parent",
        "--format=%(trailers:key=Checkpoint-Kind,valueonly,separator=)",
        "refs/checkpoints/s",
    ]);
    let kinds: Vec<_> = kinds.lines().filter(|kind| *kind != "event").collect();
    assert_eq!(kinds, ["start", "edit", "turn", "edit", "turn", "save"]);
    assert_eq!(
        this.turns(),
        [
            (json!("markprompt1"), json!(["one.txt"])),
            (json!("markprompt2"), json!(["two.txt"]))
        ]
    );
    let messages = this.messages();
    assert_eq!(messages.len(), 4, "each once: {messages:?}");
    world.checkpoint(["verify", "--all"]).success();
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["current"]["deferred"], 0);
    // The next turn is as ever, and the file is read again for what needs the record.
    this.turn(3, "three.txt");
    assert_eq!(this.turns()[2], (json!("markprompt3"), json!(["three.txt"])));
    assert_eq!(this.messages().len(), 6);
}

/// Messages that are saved already, and cannot be read, come again from the session file.
#[test]
fn messages_that_were_saved_with_the_key_are_not_saved_again() {
    let this = Locked::new();
    let world = &this.world;
    this.unlock();
    world.checkpoint(["start", "s"]).success();
    this.event("SessionStart", "");
    this.turn(1, "one.txt");
    assert_eq!(this.messages().len(), 2);
    let line = ["-q", "-p", "-P", "", "-N", "pass", "-f", &this.key()];
    world.command("ssh-keygen", line).run().success();
    // The recipients are those of the session.
    world.git(["config", "--unset", "checkpoint.encryptTo"]).success();
    this.turn(2, "two.txt");
    this.turn(3, "three.txt");
    let name = this.deferred().remove(0);
    let document = world
        .git(["show", &format!("{name}:checkpoint.json")])
        .stdout()
        .to_owned();
    assert!(
        document.contains("\"recipients\"") && !document.contains("mark"),
        "{document}"
    );
    this.unlock();
    world.checkpoint(["save", "-m", "with the key"]).success();
    assert_eq!(this.messages().len(), 6, "{:?}", this.messages());
    let files: Vec<_> = this.turns().into_iter().map(|(_, files)| files).collect();
    assert_eq!(files, [json!(["one.txt"]), json!(["two.txt"]), json!(["three.txt"])]);
    world.checkpoint(["verify", "--all"]).success();
}

/// A purge of a file takes it from what waits as well.
#[test]
fn a_purge_reaches_what_waits_for_the_key() {
    let this = Locked::new();
    let world = &this.world;
    world.checkpoint(["start", "s"]).success();
    this.event("SessionStart", "");
    this.turn(1, "one.txt");
    this.turn(2, "two.txt");
    world.checkpoint(["purge", "--yes", "--", "one.txt"]).success();
    let name = this.deferred().remove(0);
    world.git(["cat-file", "-e", &format!("{name}^2:one.txt")]).code(128);
    this.unlock();
    fs::remove_file(world.path("one.txt")).unwrap();
    world.checkpoint(["save", "-m", "with the key"]).success();
    assert!(this.deferred().is_empty());
    assert_eq!(this.turns().len(), 2);
    world.checkpoint(["verify", "--all"]).success();
}

/// What 'age -p' makes of a file of keys.
#[test]
fn a_file_of_keys_of_age_may_have_a_passphrase() {
    let this = Locked::new();
    let world = &this.world;
    let key = age_format::x25519::Identity::generate();
    let mut passphrase = age_format::scrypt::Recipient::new(SecretString::from("words".to_owned()));
    passphrase.set_work_factor(2);
    let encryptor = age_format::Encryptor::with_recipients(std::iter::once(&passphrase as _)).unwrap();
    let mut file = Vec::new();
    let mut writer = encryptor.wrap_output(&mut file).unwrap();
    writer.write_all(key.to_string().expose_secret().as_bytes()).unwrap();
    writer.finish().unwrap();
    let path = world.root().join("key.age");
    fs::write(&path, file).unwrap();
    set(world, "checkpoint.encryptTo", &key.to_public().to_string());
    set(world, "checkpoint.identity", path.to_str().unwrap());
    world.checkpoint(["start", "s"]).success();
    this.event("SessionStart", "");
    this.turn(1, "one.txt");
    assert_eq!(this.deferred().len(), 1);
    world
        .checkpoint(["save", "-m", "x"])
        .code(4)
        .stderr_has("needs its passphrase");
    let save = |answer: &str| {
        let line = ["--no-pager", "save", "-m", "at a terminal"];
        Terminal::new(80, "dumb")
            .answer("Passphrase of", answer)
            .run(world, PROGRAM, line)
    };
    let refused = save("wrong\r");
    assert!(
        !refused.status.success() && refused.text().contains("is wrong"),
        "{}",
        refused.text()
    );
    let saved = save("words\r");
    assert!(saved.status.success(), "{}", saved.text());
    assert_eq!(saved.text().matches("Passphrase of").count(), 1, "{}", saved.text());
    assert!(this.deferred().is_empty());
}
