//! `mcp` and `batch`: the tool server and the batch mode, spoken to as programs do.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the arguments of a call are written where it is made"
)]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{PROGRAM, World, schema::faults};

/// A running server and the one client it has.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: i64,
    /// Answers that came before they were asked for.
    early: BTreeMap<i64, Value>,
    /// The version that each request names, in the era without a handshake.
    version: Option<&'static str>,
}

impl Client {
    fn start(world: &World) -> Self {
        Self::started(world, &world.repo())
    }

    /// One in another directory.
    fn started(world: &World, directory: &Path) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("mcp").current_dir(directory).env_clear();
        command.envs(world.environment());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        Self {
            input: server.stdin.take(),
            output: BufReader::new(server.stdout.take().unwrap()),
            server,
            id: 0,
            early: BTreeMap::new(),
            version: None,
        }
    }

    /// One that shakes hands.
    fn initialized(world: &World) -> Self {
        let mut client = Self::start(world);
        client.initialize("2025-06-18");
        client
    }

    fn initialize(&mut self, version: &str) -> Value {
        let params =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}});
        let result = self.request("initialize", params);
        self.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        result["result"].clone()
    }

    fn line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// Sends a request and gives its id.
    fn send(&mut self, method: &str, mut params: Value) -> i64 {
        self.id += 1;
        if let Some(version) = self.version {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.line(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).to_string());
        self.id
    }

    /// The next message. Every line must be one of the protocol.
    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        if line.is_empty() {
            return None;
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        Some(message)
    }

    fn answer(&mut self, id: i64) -> Value {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return answer;
            }
            let message = self.receive().expect("an answer");
            if let Some(id) = message["id"].as_i64() {
                self.early.insert(id, message);
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The structured result of a call that succeeds.
    fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    /// The text of a call that fails.
    fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input, and gives what still comes until the server ends, which must be with success.
    fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = Vec::new();
        while let Some(message) = self.receive() {
            rest.push(message);
        }
        assert!(self.server.wait().unwrap().success());
        rest
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // One that has ended needs nothing.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// All refs with their values.
fn refs(world: &World) -> String {
    world.git_line(["for-each-ref", "--format=%(refname) %(objectname)"])
}

#[test]
fn every_tool_answers_as_its_schema_says_in_both_eras() {
    for (version, discover) in [("2024-11-05", false), ("2025-11-25", false), ("2026-07-28", true)] {
        let world = World::with_commit();
        let mut client = Client::start(&world);
        if discover {
            client.version = Some(version);
            let found = client.request("server/discover", json!({}));
            let versions = found["result"]["supportedVersions"].as_array().unwrap();
            assert!(versions.contains(&version.into()), "{found}");
        } else {
            assert_eq!(client.initialize(version)["protocolVersion"], version);
        }
        let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
        let schemas: BTreeMap<String, Value> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool["outputSchema"].clone()))
            .collect();
        assert_eq!(schemas.len(), 10, "{schemas:?}");
        let held = |client: &mut Client, tool: &str, arguments: Value| {
            let result = client.result(tool, arguments.clone());
            assert_eq!(
                faults(&schemas[tool], &result),
                Vec::<String>::new(),
                "{tool} {arguments}: {result}"
            );
            result
        };
        let record = json!({"summary": "parser done", "next_steps": ["refresh tests"], "decisions": ["keep v1"]});
        let first = held(
            &mut client,
            "checkpoint_save",
            json!({"record": record, "session": "auth"}),
        );
        assert_eq!(first["id"], world.git_line(["rev-parse", "refs/checkpoints/auth"]));
        world.file("README.md", "changed\n");
        let diff = held(&mut client, "checkpoint_diff", json!({"old": "auth", "patch": true}));
        assert!(diff["patch"].as_str().unwrap().contains("+changed"), "{diff}");
        held(&mut client, "checkpoint_save", json!({"session": "auth"}));
        let list = held(&mut client, "checkpoint_list", json!({}));
        assert_eq!(list["sessions"][0]["session"], "auth");
        let search = held(&mut client, "checkpoint_search", json!({"query": "PARSER"}));
        assert_eq!(search["matches"][0]["session"], "auth", "{search}");
        let files = json!({"query": "^chan+ged$", "regexp": true, "parts": ["files"], "session": "auth"});
        let search = held(&mut client, "checkpoint_search", files);
        assert_eq!(search["matches"][0]["name"], "README.md", "{search}");
        let search = held(&mut client, "checkpoint_search", json!({"query": "parser", "limit": 0}));
        assert_eq!(search["matches"], json!([]), "{search}");
        let search = held(
            &mut client,
            "checkpoint_search",
            json!({"query": "PARSER", "match_case": true}),
        );
        assert_eq!(search["matches"], json!([]), "{search}");
        let shown = held(&mut client, "checkpoint_show", json!({"checkpoint": "auth~1"}));
        assert_eq!(shown["id"], first["id"]);
        let resumed = held(
            &mut client,
            "checkpoint_resume",
            json!({"session": "auth", "max_characters": 2000}),
        );
        let prompt = resumed["prompt"].as_str().unwrap();
        assert!(
            prompt.contains("parser done") && prompt.chars().count() <= 2000,
            "{prompt}"
        );
        held(
            &mut client,
            "checkpoint_task",
            json!({"action": "add", "title": "port it"}),
        );
        let tasks = held(&mut client, "checkpoint_task", json!({"action": "list"}));
        assert_eq!(tasks["tasks"]["items"][0]["title"], "port it");
        let step = held(
            &mut client,
            "checkpoint_step",
            json!({"action": "start", "title": "write it"}),
        );
        assert_eq!(step["step"]["step"]["agent"], "tester");
        held(
            &mut client,
            "checkpoint_step",
            json!({"action": "fail", "step": "1", "error": "it loops"}),
        );
        let replay = held(&mut client, "checkpoint_step", json!({"action": "replay"}));
        assert!(
            replay["replay"]["prompt"].as_str().unwrap().contains("it loops"),
            "{replay}"
        );
        held(&mut client, "checkpoint_step", json!({"action": "list"}));
        let plan = held(&mut client, "checkpoint_restore", json!({"checkpoint": "auth~1"}));
        assert_eq!(plan["outcome"], "planned");
        let confirm = json!({"checkpoint": "auth~1", "confirm": plan["plan_token"]});
        assert_eq!(held(&mut client, "checkpoint_restore", confirm)["outcome"], "done");
        assert_eq!(world.read("README.md"), b"hello\n");
        held(&mut client, "checkpoint_undo", json!({}));
        assert_eq!(world.read("README.md"), b"changed\n");
        let missing = client.failure("checkpoint_show", json!({"checkpoint": "nowhere"}));
        assert!(
            missing.contains("exit code 3") && missing.contains("\nhint: ") && missing.contains("\nnext: "),
            "{missing}"
        );
        for name in ["document", "report", "handoff"] {
            let read = client.request("resources/read", json!({"uri": format!("checkpoint://current/{name}")}));
            assert!(
                read["result"]["contents"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("parser done"),
                "{read}"
            );
        }
        for name in ["resume", "handover", "replay"] {
            let got = client.request("prompts/get", json!({"name": name}));
            assert!(got["result"]["messages"][0]["content"]["text"].is_string(), "{got}");
        }
        let unknown = client.request("tools/call", json!({"name": "nothing", "arguments": {}}));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        let rest = client.end();
        assert!(rest.is_empty(), "{rest:?}");
    }
}

#[test]
fn a_plan_is_carried_out_as_it_was_shown_or_not_at_all() {
    let world = World::with_commit();
    let mut client = Client::initialized(&world);
    client.result("checkpoint_save", json!({"session": "auth"}));
    world.file("README.md", "second\n");
    world.file("new.txt", "new\n");
    let arguments = json!({"checkpoint": "auth"});
    let token = |client: &mut Client| client.result("checkpoint_restore", arguments.clone())["plan_token"].clone();
    let confirm = |token: &Value| json!({"checkpoint": "auth", "confirm": token});
    let first = token(&mut client);
    assert_eq!(token(&mut client), first, "the same files give the same token");
    let changes: [&dyn Fn(); 5] = [
        &|| world.file("README.md", "third\n"),
        &|| world.file("other.txt", "x\n"),
        &|| drop(world.git(["add", "new.txt"])),
        &|| drop(world.checkpoint(["todo", "add", "docs", "--session", "auth"])),
        &|| drop(world.git(["commit", "-qm", "more"])),
    ];
    for (n, change) in changes.iter().enumerate() {
        let token = token(&mut client);
        change();
        let before = (refs(&world), world.read("README.md"));
        let refused = client.failure("checkpoint_restore", confirm(&token));
        assert!(
            refused.contains("exit code 4") && refused.contains("changed since"),
            "{n}: {refused}"
        );
        assert_eq!((refs(&world), world.read("README.md")), before, "{n}");
    }
    world.git(["reset", "--quiet", "HEAD~1"]).success();
    // A token fits its own arguments alone.
    let token = token(&mut client);
    let mut other = confirm(&token);
    other["keep_later_files"] = true.into();
    client.failure("checkpoint_restore", other);
    assert_eq!(world.read("README.md"), b"third\n");
    let done = client.result("checkpoint_restore", confirm(&token));
    assert_eq!(
        (&done["outcome"], world.read("README.md")),
        (&json!("done"), b"hello\n".to_vec())
    );
}

#[test]
fn undo_reverts_calls_and_commands_alike_one_at_a_time() {
    let world = World::with_commit();
    let mut client = Client::initialized(&world);
    let save = |client: &mut Client, text: &str| {
        world.file("README.md", text);
        client.result(
            "checkpoint_save",
            json!({"session": "auth", "record": {"summary": text}}),
        );
    };
    save(&mut client, "one");
    save(&mut client, "two");
    let restore = |client: &mut Client, checkpoint: &str| {
        let plan = client.result("checkpoint_restore", json!({"checkpoint": checkpoint}));
        let token = plan["plan_token"].clone();
        client.result(
            "checkpoint_restore",
            json!({"checkpoint": checkpoint, "confirm": token}),
        );
    };
    restore(&mut client, "auth~1");
    assert_eq!(world.read("README.md"), b"one");
    // By a command what a call did, and by a call what a command did.
    world.checkpoint(["undo"]).success().stderr_lacks("came after");
    assert_eq!(world.read("README.md"), b"two");
    world.checkpoint(["restore", "auth~1"]).success();
    assert_eq!(client.result("checkpoint_undo", json!({}))["outcome"], "done");
    assert_eq!(world.read("README.md"), b"two");
    // One call at a time.
    world.file("README.md", "three");
    restore(&mut client, "auth");
    restore(&mut client, "auth~1");
    client.result("checkpoint_undo", json!({}));
    assert_eq!(world.read("README.md"), b"two");
    client.result("checkpoint_undo", json!({}));
    assert_eq!(world.read("README.md"), b"three");
    client.result("checkpoint_undo", json!({"redo": true}));
    assert_eq!(world.read("README.md"), b"two");
    // What only reads is no later command.
    client.result("checkpoint_show", json!({}));
    client.result("checkpoint_list", json!({}));
    let planned = client.result("checkpoint_undo", json!({"dry_run": true}));
    assert!(planned["warnings"].is_null(), "{planned}");
    // What undo does not revert is reported to every caller.
    client.result("checkpoint_task", json!({"action": "add", "title": "later"}));
    let planned = client.call("checkpoint_undo", json!({"dry_run": true}));
    assert_eq!(planned["isError"], true, "{planned}");
    let planned = client.result("checkpoint_undo", json!({"dry_run": true, "older": true}));
    let warning = planned["warnings"][0].as_str().unwrap_or_default();
    assert!(warning.starts_with("'task' came after"), "{planned}");
    let typed = world.checkpoint(["undo", "--dry-run", "--older"]);
    typed.success().stderr_has("'task' came after");
    client.result("checkpoint_save", json!({"record": {"summary": "three"}}));
    let refused = client.call("checkpoint_undo", json!({}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(
        refused["content"][0]["text"]
            .to_string()
            .contains("cannot be undone; the last command that can be"),
        "{refused}"
    );
    client.result("checkpoint_undo", json!({"older": true}));
    assert_eq!(world.read("README.md"), b"three");
}

#[test]
fn a_repeated_save_makes_no_second_checkpoint() {
    let world = World::with_commit();
    let mut client = Client::initialized(&world);
    let save = |summary: &str, key: &str| json!({"record": {"summary": summary}, "idempotency_key": key});
    let first = client.result("checkpoint_save", save("one", "k1"));
    world.file("README.md", "changed meanwhile\n");
    client.result("checkpoint_save", save("two", "k2"));
    let before = refs(&world);
    let again = client.result("checkpoint_save", save("one", "k1"));
    assert_eq!((&again["id"], &again["outcome"]), (&first["id"], &json!("repeated")));
    let other = client.failure("checkpoint_save", save("three", "k1"));
    assert!(other.contains("key 'k1' was used for another save"), "{other}");
    assert_eq!(refs(&world), before);
    // Another process sees it as well, and a key is needed.
    let line = ["save", "--message=one", "--agent=tester", "--key=k1", "--json"];
    let out = world.checkpoint(line).success().stdout_json();
    assert_eq!(out["id"], first["id"]);
    world.checkpoint(["save", "--key="]).code(129);
    // Items that are there already when it is sent again.
    let record = json!({
        "summary": "four",
        "accomplishments": ["a"],
        "decisions": ["d", {"text": "e", "reason": "r"}],
        "next_steps": ["n"],
        "tasks": [{"title": "t"}],
    });
    let save = json!({"record": record, "idempotency_key": "k4"});
    let first = client.result("checkpoint_save", save.clone());
    let again = client.result("checkpoint_save", save);
    assert_eq!((&again["id"], &again["outcome"]), (&first["id"], &json!("repeated")));
}

#[test]
fn broken_requests_change_nothing_and_the_server_goes_on() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "-m", "before", "--session", "auth"])
        .success();
    let before = refs(&world);
    let mut client = Client::start(&world);
    let many = format!("[{}1]", "1,".repeat(60_000));
    let deep = "[".repeat(5_000);
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"checkpoint_save","arguments":{arguments}}}}}"#
        )
    };
    let lines = [
        String::new(),
        "nonsense".to_owned(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "[1, null, {}]".to_owned(),
        r#"{"jsonrpc":"2.0"}"#.to_owned(),
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":3}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":5}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"m","method":"no/such/method"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":[]}"#.to_owned(),
        "\u{feff}{}".to_owned(),
        call(r#"{"unknown":1}"#),
        call(r#"{"files":"yes"}"#),
        call(r#"{"record":[]}"#),
        call(r#"{"record":{"decisions":"text"}}"#),
        call(r#"{"session":"../../x"}"#),
        call(r#"{"name":"--force"}"#),
        call(r#"{"record":{"tasks":[{"status":"nonsense"}]}}"#),
        call(&format!(r#"{{"record":{{"state":{many}}}}}"#)),
        call(&format!(r#"{{"record":{{"state":{deep}}}}}"#)),
        "x".repeat(5 << 20),
        many,
        deep,
    ];
    for line in lines {
        client.line(&line);
        let pong = client.request("ping", json!({}));
        assert!(
            pong["result"].is_object(),
            "after {:?}: {pong}",
            &line[..line.len().min(80)]
        );
    }
    // JSON that the parser refuses all the same is answered with its id, as its client waits.
    let deep = format!(
        r#"{{"record":{{"state":{}{}}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    for (id, arguments) in [(101, deep.as_str()), (102, r#"{"record":{"summary":"\ud83d"}}"#)] {
        client.line(&call(arguments).replace("\"x\"", &id.to_string()));
        let message = client.answer(id)["error"]["message"].to_string();
        assert!(message.contains("cannot be read"), "{message}");
        let line = format!(r#"{{"id":{id},"tool":"checkpoint_save","arguments":{arguments}}}"#);
        let out = world.command(PROGRAM, ["batch"]).input(line).run();
        let answer: Value = serde_json::from_str(out.stdout()).unwrap();
        assert_eq!((&answer["id"], &answer["exit_code"]), (&json!(id), &json!(129)));
    }
    assert_eq!(refs(&world), before);
    client.result(
        "checkpoint_save",
        json!({"session": "auth", "record": {"summary": "after"}}),
    );
    drop(client);
    world.git(["fsck", "--strict", "--no-dangling"]).success();
}

#[test]
fn concurrent_calls_of_two_servers_lose_nothing() {
    const EACH: usize = 20;
    let world = World::with_commit();
    world.checkpoint(["start", "auth"]).success();
    let mut clients = [Client::initialized(&world), Client::initialized(&world)];
    let mut ids = Vec::new();
    for n in 0..EACH {
        for (who, client) in clients.iter_mut().enumerate() {
            let arguments = json!({"action": "add", "title": format!("task {who}/{n}")});
            ids.push((
                who,
                client.send("tools/call", json!({"name": "checkpoint_task", "arguments": arguments})),
            ));
        }
    }
    // The input is closed while calls wait: they are carried out and answered even so.
    let [one, other] = clients;
    let answers: Vec<Value> = [one, other].into_iter().flat_map(Client::end).collect();
    assert_eq!(answers.len(), ids.len());
    assert!(
        answers.iter().all(|answer| answer["result"]["isError"] != true),
        "{answers:?}"
    );
    let tasks = world.checkpoint(["task", "list", "--json"]).success().stdout_json();
    assert_eq!(tasks["items"].as_array().unwrap().len(), 2 * EACH);
}

#[test]
fn a_batch_costs_one_start_and_answers_in_order() {
    let world = World::with_commit();
    let mut input = String::new();
    for n in 0..60 {
        let args = ["todo".to_owned(), "add".to_owned(), format!("todo {n}")];
        input.push_str(&json!({"id": n, "args": args}).to_string());
        input.push('\n');
    }
    input.push_str(
        "{\"id\": \"s\", \"tool\": \"checkpoint_save\", \"arguments\": {\"record\": {\"summary\": \"all\"}}}\n",
    );
    input.push_str("{\"id\": \"p\", \"args\": [\"resume\", \"--format\", \"prompt\"], \"text\": true}\n");
    input.push_str("{\"id\": \"b\", \"args\": [\"batch\"]}\n{\"id\": \"e\", \"args\": [\"show\", \"nowhere\"]}\n");
    let out = world.command(PROGRAM, ["batch"]).input(input).run();
    let out = out.code(1);
    out.stderr_has("error: 2 of 64 requests failed");
    let answers: Vec<Value> = out
        .stdout()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 64);
    for (n, answer) in answers.iter().take(60).enumerate() {
        assert_eq!(
            (&answer["id"], &answer["exit_code"]),
            (&json!(n), &json!(0)),
            "{answer}"
        );
        assert_eq!(answer["output"]["schema"], "git-checkpoint.draft/1");
    }
    assert_eq!(answers[60]["output"]["record"]["pending"], 60);
    assert!(
        answers[61]["text"].as_str().unwrap().contains("todo 59"),
        "{}",
        answers[61]
    );
    assert_eq!(
        (&answers[62]["exit_code"], &answers[63]["exit_code"]),
        (&json!(129), &json!(3))
    );
    assert_eq!(answers[63]["error"]["code"], "not-found");
    let stopped = world.command(PROGRAM, ["batch", "--stop-on-error"]);
    let stopped = stopped.input("{}\n{\"args\": [\"save\", \"-m\", \"never\"]}\n").run();
    assert_eq!(stopped.code(1).stdout().lines().count(), 1);
}

#[test]
fn without_a_repository_each_call_says_so() {
    let world = World::without_repository();
    world.checkpoint(["mcp", "--repo", "nowhere"]).code(128).no_stdout();
    world.checkpoint(["mcp", "--repo", "."]).code(128).no_stdout();
    let mut client = Client::initialized(&world);
    let failure = client.failure("checkpoint_list", json!({}));
    assert!(
        failure.contains("exit code 128") && failure.contains("not a git repository"),
        "{failure}"
    );
    world.git(["init", "--quiet"]).success();
    assert_eq!(client.result("checkpoint_list", json!({}))["sessions"], json!([]));
    let other = World::with_commit();
    let repo = other.repo().display().to_string();
    world.checkpoint(["mcp", "--repo", &repo]).success().no_stdout();
}

/// A repository that goes away is not replaced by one that is around it.
#[test]
fn the_server_serves_one_repository() {
    let world = World::with_commit();
    world.git(["init", "--quiet", "inner"]).success();
    let inner = world.repo().join("inner");
    fs::create_dir(inner.join("below")).unwrap();
    let mut clients = [".", "below"].map(|place| Client::started(&world, &inner.join(place)));
    clients.iter_mut().for_each(|client| {
        client.initialize("2025-06-18");
        client.result("checkpoint_save", json!({"session": "in"}));
    });
    let before = refs(&world);
    fs::rename(inner.join(".git"), inner.join("away")).unwrap();
    for client in &mut clients {
        let failure = client.failure(
            "checkpoint_save",
            json!({"session": "in", "record": {"summary": "inner"}}),
        );
        assert!(failure.contains("not a git repository"), "{failure}");
    }
    assert_eq!(refs(&world), before);
    fs::rename(inner.join("away"), inner.join(".git")).unwrap();
    for client in &mut clients {
        assert_eq!(
            client.result("checkpoint_list", json!({}))["sessions"][0]["session"],
            "in"
        );
    }
}

#[test]
fn agents_are_told_of_the_server_by_their_own_commands() {
    let world = World::with_commit();
    let bin = world.root().join("bin");
    fs::create_dir(&bin).unwrap();
    // An agent that keeps its servers in a file, as Claude Code does, and refuses a name that is there.
    let script = r#"#!/bin/sh
echo "$PWD $*" >>"$HOME/calls"
case "$2" in
add) test ! -e "$HOME/.claude.json" || exit 1
    printf '{"mcpServers": {"git-checkpoint": {"command": "%s"}}}' "$7" >"$HOME/.claude.json" ;;
remove) rm "$HOME/.claude.json" ;;
esac
"#;
    fs::write(bin.join("claude"), script).unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |line: &str| {
        let words = line.split(' ');
        world.command(PROGRAM, words).env("PATH", &path).run()
    };
    run("enable --mcp claude-code --dry-run")
        .success()
        .stdout_has("would be registered");
    assert!(!world.home().join("calls").exists());
    run("enable --mcp claude-code codex pi")
        .success()
        .stdout_has("Claude Code   tool server registered\n")
        .stdout_has("Codex         tool server not registered: its program is not in PATH\n  to do: codex mcp add ")
        .stdout_has("knows no tool servers");
    let program = fs::canonicalize(PROGRAM).unwrap().display().to_string();
    let wanted = format!("mcp add --scope user git-checkpoint -- {program} mcp\n");
    let calls = || fs::read_to_string(world.home().join("calls")).unwrap();
    assert!(
        calls().ends_with(&wanted) && calls().lines().count() == 1,
        "{}",
        calls()
    );
    assert!(calls().starts_with(&world.home().display().to_string()), "{}", calls());
    run("enable --mcp claude-code")
        .success()
        .stdout_has("tool server is registered");
    assert_eq!(calls().lines().count(), 1);
    // One of another version is replaced.
    fs::write(
        world.home().join(".claude.json"),
        "{\"mcpServers\": {\"git-checkpoint\": {}}}",
    )
    .unwrap();
    run("enable --mcp claude-code")
        .success()
        .stdout_has("tool server registered");
    run("disable --mcp")
        .success()
        .stdout_has("Claude Code   tool server removed");
    assert!(!world.home().join(".claude.json").exists());
    run("disable --mcp claude-code").success().stdout_has("no tool server");
}
