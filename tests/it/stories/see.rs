//! `serve` and `ui`: the page as a browser and as others speak to it, the interface in a terminal.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{PROGRAM, Terminal, World, pair};

/// A page that ends with the test.
struct Page {
    child: Child,
    port: u64,
    token: String,
}

impl Page {
    fn start(world: &World, options: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command
            .args(["serve", "--json"])
            .args(options)
            .current_dir(world.repo());
        command.env_clear().envs(world.environment());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address: Value = serde_json::from_str(&line).unwrap();
        let token = address["url"]
            .as_str()
            .unwrap()
            .split_once("#token=")
            .unwrap()
            .1
            .to_owned();
        Self {
            child,
            port: address["port"].as_u64().unwrap(),
            token,
        }
    }

    fn send(&self, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", u16::try_from(self.port).unwrap())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let length = body.len();
        write!(
            stream,
            "{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    /// Status and text of the answer to a request with these headers.
    fn raw(&self, head: &str, body: &str) -> (u16, String) {
        let mut text = Vec::new();
        self.send(head, body).read_to_end(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
    }

    /// The headers that the page's script sends.
    fn head(&self, request: &str) -> String {
        let (port, token) = (self.port, &self.token);
        format!(
            "{request} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        )
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.raw(&self.head(&format!("GET {path}")), "")
    }

    fn post(&self, path: &str, body: &Value) -> (u16, String) {
        self.raw(&self.head(&format!("POST {path}")), &body.to_string())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const HOSTILE: &str = "<script>alert(1)</script>\" onload=\"x";

#[test]
fn a_page_shows_follows_and_acts() {
    let world = World::with_commit();
    world.file("notes.txt", "saved\n");
    world
        .checkpoint(["save", "-q", "-m", HOSTILE, "--session", "auth"])
        .success();
    world.checkpoint(["approval", "ask", HOSTILE]).success();
    let page = Page::start(&world, &["--actions"]);
    // The frame has no data, and needs no token.
    let plain = format!("GET / HTTP/1.1\r\nHost: localhost:{}\r\n", page.port);
    let (status, frame) = page.raw(&plain, "");
    assert_eq!(status, 200);
    assert!(
        frame.contains("default-src 'none'") && !frame.contains("auth"),
        "{frame}"
    );
    for path in ["/api/status", "/api/sessions", "/api/checkpoint?of=%40"] {
        let (status, text) = page.get(path);
        assert_eq!(status, 200, "{path}: {text}");
        assert!(
            text.contains("auth") && text.contains("&lt;script&gt;") && !text.contains("<script>"),
            "{text}"
        );
        assert!(!text.contains("access-control-allow-origin"));
    }
    let (status, exported) = page.get("/api/export?of=auth");
    assert!(status == 200 && exported.contains("\"schema\""));
    for absent in ["nothing", "--force", "%40%3a%2fx", ""] {
        let (status, text) = page.get(&format!("/api/checkpoint?of={absent}"));
        assert!(
            status == 200 && text.contains("class=\"error\"") && !text.contains("data-session"),
            "{absent}: {text}"
        );
    }
    assert_eq!(page.get("/api/export?of=nothing").0, 404);

    // A save of another process arrives.
    let mut events = BufReader::new(page.send(&page.head("GET /api/events"), ""));
    let mut line = String::new();
    while line.trim() != "" || line.is_empty() {
        line.clear();
        events.read_line(&mut line).unwrap();
    }
    // Changes are reported against the first look.
    std::thread::sleep(Duration::from_millis(900));
    world.file("notes.txt", "changed\n");
    world.checkpoint(["save", "-q", "-m", "second"]).success();
    let saved = Instant::now();
    let mut count = 0;
    while count < 2 {
        line.clear();
        events.read_line(&mut line).unwrap();
        count += usize::from(line.starts_with("event: change"));
    }
    assert!(saved.elapsed() < Duration::from_secs(10), "{:?}", saved.elapsed());

    // A restore needs the plan that was shown, and does what it says.
    let request = serde_json::json!({ "action": "restore", "checkpoint": "auth~1" });
    assert_eq!(page.post("/api/act", &request).0, 409);
    let (status, plan) = page.post("/api/plan", &request);
    assert!(status == 200 && plan.contains("notes.txt"), "{plan}");
    assert_eq!(world.read("notes.txt"), b"changed\n");
    let token = plan.split("data-plan=\"").nth(1).unwrap().split('"').next().unwrap();
    let mut act = request.clone();
    act["plan"] = token.into();
    world.file("other.txt", "since the plan\n");
    assert_eq!(page.post("/api/act", &act).0, 409, "the files changed since");
    fs::remove_file(world.repo().join("other.txt")).unwrap();
    let (status, done) = page.post("/api/act", &act);
    assert_eq!(status, 200, "{done}");
    assert_eq!(world.read("notes.txt"), b"saved\n");
    // The record came back as well, without what was asked later.
    world.checkpoint(["approval", "ask", HOSTILE]).success();
    let (_, status) = page.get("/api/status");
    let item = status.split("data-item=\"").nth(1).unwrap().split('"').next().unwrap();
    let answer = serde_json::json!({ "action": "approve", "item": item });
    assert_eq!(page.post("/api/act", &answer).0, 200);
    assert!(
        world
            .checkpoint(["approval", "list", "--json"])
            .stdout()
            .contains("\"approve\"")
    );
    assert_eq!(
        page.post("/api/act", &serde_json::json!({ "action": "nothing" })).0,
        400
    );
    // No option was typed here.
    let wrong = serde_json::json!({ "action": "fork", "checkpoint": "auth", "text": "x y" });
    let (_, plan) = page.post("/api/plan", &wrong);
    assert!(plan.contains("'x y' for 'name'"), "{plan}");
    assert!(!plan.contains("--name") && !plan.contains("help fork"), "{plan}");
}

/// A whole id is found through the session that its document names; the beginning of one by looking at all of them.
#[test]
fn a_whole_id_means_what_its_beginning_means() {
    let world = World::with_commit();
    world.checkpoint(["start", "long"]).success();
    let save = |session: &str, n: usize| {
        world.file("notes.txt", format!("{session} {n}\n"));
        let line = ["save", "--session", session, "-m", &format!("{session} {n}")];
        world.checkpoint(line).success();
    };
    (0..4).for_each(|n| save("long", n));
    world.checkpoint(["fork", "long~1", "--name", "fork"]).success();
    (0..2).for_each(|n| save("fork", n));
    save("other", 0);
    save("gone", 0);
    let gone = world.git_line(["rev-parse", "refs/checkpoints/gone"]);
    world.checkpoint(["delete", "gone"]).success();
    world.checkpoint(["rename", "other", "renamed"]).success();
    // Another session of a name that a document has.
    save("other", 1);
    world
        .git(["update-ref", "refs/checkpoints/copy", "refs/checkpoints/fork~1"])
        .success();
    let all = world.git_line([
        "rev-list",
        "--first-parent",
        "--grep=sha256:",
        "--glob=refs/checkpoints",
    ]);
    let head = world.git_line(["rev-parse", "HEAD"]);
    let page = Page::start(&world, &[]);
    let mut seen = 0;
    for id in all.lines().chain([gone.as_str()]) {
        let show = |selector: &str| {
            world
                .checkpoint(["show", "--json", selector])
                .success()
                .stdout()
                .to_owned()
        };
        assert_eq!(show(id), show(&id[..20]), "{id}");
        let (status, article) = page.get(&format!("/api/checkpoint?of={id}"));
        let (_, by_beginning) = page.get(&format!("/api/checkpoint?of={}", &id[..20]));
        let body = |text: &str| text.split_once("\r\n\r\n").unwrap().1.to_owned();
        assert_eq!((status, body(&article)), (200, body(&by_beginning)));
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
    // A commit of the project is none.
    world.checkpoint(["show", &head]).code(3);
}

#[test]
fn a_page_admits_nobody_else_and_changes_nothing_unasked() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "-q", "-m", "one", "--session", "auth"])
        .success();
    let page = Page::start(&world, &[]);
    let (port, token) = (page.port, page.token.as_str());
    let ours = format!("127.0.0.1:{port}");
    let before = world.git(["for-each-ref"]).stdout().to_owned();
    for (host, origin, token) in [
        ("evil.example", &*format!("http://{ours}"), token),
        (&ours, "http://evil.example", token),
        (&ours, "null", token),
        (&ours, &*format!("http://{ours}"), "wrong"),
    ] {
        for request in ["GET /api/status", "GET /api/events", "POST /api/act"] {
            let head =
                format!("{request} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nAuthorization: Bearer {token}\r\n");
            let (status, text) = page.raw(&head, r#"{"action":"reset"}"#);
            assert!(matches!(status, 401 | 403), "{head}: {text}");
        }
    }
    let (status, text) = page.post("/api/act", &serde_json::json!({ "action": "reset" }));
    assert!(status == 403 && text.contains("--actions"), "{text}");
    assert_eq!(world.git(["for-each-ref"]).stdout(), before);
}

#[test]
fn the_interface_acts_and_gives_the_terminal_back() {
    let world = World::with_commit();
    world.file("notes.txt", "saved\n");
    world
        .checkpoint(["save", "-q", "-m", "first", "--session", "auth"])
        .success();
    world.file("notes.txt", "changed\n");
    let screen = Terminal::new(80, "xterm")
        .answer("first", "r")
        .answer("notes.txt", "\r")
        .answer("Restored", "\rq")
        .run(&world, PROGRAM, ["ui"]);
    assert!(screen.status.success(), "{}", screen.text());
    assert_eq!(world.read("notes.txt"), b"saved\n");
    assert!(screen.is_given_back(), "{}", screen.text());
    // A signal ends it as well.
    for signal in ["TERM", "QUIT", "HUP"] {
        let end = format!("kill -{signal} $pid; wait $pid; echo \"ended $?\"");
        let script = format!("'{PROGRAM}' ui </dev/tty & pid=$!; sleep 1; {end}");
        let screen = Terminal::new(80, "xterm").run(&world, "sh", ["-c", &script]);
        let text = screen.text();
        assert!(screen.is_given_back() && text.contains("ended 0"), "{signal}: {text}");
    }
}

/// Ctrl-Z gives the terminal to the shell, and git stops as well; then all is drawn again.
#[test]
fn the_interface_can_be_suspended() {
    let world = World::with_commit();
    world
        .checkpoint(["save", "-q", "-m", "first", "--session", "auth"])
        .success();
    let script = "set -m; git checkpoint ui; stty -a; echo \"code $?\"; fg";
    let screen = Terminal::new(80, "xterm")
        .answer("first", "\u{1a}")
        .answer("first", "q")
        .run(&world, "bash", ["-c", script]);
    let text = screen.text();
    let stopped = text.find("code ").expect("the shell goes on");
    assert!(is_given_back(&text[..stopped]) && is_given_back(&text), "{text}");
    assert!(text[..stopped].contains(" icanon"), "{text}");
    assert!(screen.status.success(), "{text}");
}

/// Whether the last thing done to the screen was to leave it and to show the cursor.
fn is_given_back(text: &str) -> bool {
    let (entered, left) = (text.rfind("\u{1b}[?1049h"), text.rfind("\u{1b}[?1049l"));
    entered < left && text.rfind("\u{1b}[?25l") < text.rfind("\u{1b}[?25h")
}

#[test]
fn the_interface_says_what_it_needs() {
    let world = World::with_commit();
    let out = world.checkpoint(["ui"]);
    out.code(129);
    assert!(
        out.stderr().contains("needs a terminal") && out.stderr().contains("git checkpoint list"),
        "{}",
        out.stderr()
    );
}

/// A window that is closed takes its terminal away; a program that does not control it gets no signal.
#[test]
fn the_interface_ends_with_its_terminal() {
    let world = World::with_commit();
    world.checkpoint(["save", "-m", "one", "--session", "s"]).success();
    let (shown, other) = pair(80, 24);
    let end = || Stdio::from(other.try_clone().unwrap());
    let mut command = Command::new(PROGRAM);
    command.arg("ui").current_dir(world.repo());
    command.env_clear().envs(world.environment()).env("TERM", "xterm");
    command.stdin(end()).stdout(end()).stderr(end());
    let mut child = command.spawn().unwrap();
    drop((command, other));
    let mut shown = fs::File::from(shown);
    let mut screen = Vec::new();
    while !String::from_utf8_lossy(&screen).contains("one") {
        let mut piece = [0; 4096];
        let count = shown.read(&mut piece).unwrap();
        screen.extend_from_slice(&piece[..count]);
    }
    drop(shown);
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it runs on without a terminal");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
