//! Who is admitted.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
};

use super::*;
use crate::serve::{CallMonitor, CommandFailure, CommandLine, CommandRun, CommandRunner, source::TextRun};
use crate::{
    model::time::Timestamp,
    render::{
        indicator::IndicatorView,
        sessions::{CheckpointLog, SessionTable},
    },
};

/// A source that is asked for nothing but its stamp.
struct NoSource;

impl CommandRunner for NoSource {
    fn run(&self, _: &CommandLine, _: &CallMonitor) -> CommandRun {
        unreachable!()
    }
}

impl ViewSource for NoSource {
    fn text(&self, _: &CommandLine, _: usize, _: &CallMonitor) -> TextRun {
        unreachable!()
    }
    fn sessions(&self) -> Result<(SessionTable, Timestamp), CommandFailure> {
        unreachable!()
    }
    fn log(&self, _: Option<&str>, _: usize) -> Result<CheckpointLog, CommandFailure> {
        unreachable!()
    }
    fn indicator(&self) -> Result<Option<IndicatorView>, CommandFailure> {
        unreachable!()
    }
    fn article(&self, _: &str) -> Result<String, CommandFailure> {
        unreachable!()
    }
    fn stamp(&self) -> Result<u64, CommandFailure> {
        Ok(7)
    }
}

#[test]
fn only_the_page_itself_is_admitted() {
    let server = PageServer::bind(Arc::new(NoSource), &PageOptions::default()).expect("a port");
    let (site, port) = (&server.site, server.port());
    let ours = format!("127.0.0.1:{port}");
    let (token, next) = (site.token.clone(), port.wrapping_add(1));
    assert_eq!(token.len(), 32);
    let admit = |method: &Method, host: &str, origin: Option<&str>, fetch: Option<&str>, token: Option<&str>| {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (header::HOST, Some(host)),
            (header::ORIGIN, origin),
            (HeaderName::from_static("sec-fetch-site"), fetch),
            (header::AUTHORIZATION, token),
        ] {
            if let Some(value) = value {
                headers.append(name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
            }
        }
        site.admit(method, None, &headers, true)
    };
    let bearer = format!("Bearer {token}");
    let origin = format!("http://{ours}");
    for (method, origin, fetch) in [
        (Method::GET, None, None),
        (Method::GET, None, Some("same-origin")),
        (Method::GET, Some(origin.as_str()), Some("same-origin")),
        (Method::POST, Some(origin.as_str()), Some("same-origin")),
        (Method::POST, Some(origin.as_str()), None),
    ] {
        assert_eq!(admit(&method, &ours, origin, fetch, Some(&bearer)), Ok(()));
    }
    let hosts = [
        String::new(),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{next}"),
        format!("evil.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("localhost.evil:{port}"),
        format!("[::1]:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.0.0.1:{port}@evil"),
    ];
    let origins = [
        "null".to_owned(),
        String::new(),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{next}"),
        "http://127.0.0.1".to_owned(),
        format!("http://evil.example:{port}"),
        "file://".to_owned(),
        format!("http://127.0.0.1:{port}.evil"),
    ];
    let cut = &token[..31];
    let tokens = [
        None,
        Some(String::new()),
        Some("Bearer ".to_owned()),
        Some(token.clone()),
        Some(format!("bearer {token}")),
        Some(format!("Bearer {cut}")),
        Some(format!("Bearer {token}a")),
        Some(format!("Bearer {}", "a".repeat(32))),
    ];
    let mut refused = 0;
    for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
        for host in &hosts {
            assert_eq!(
                admit(&method, host, Some(&origin), None, Some(&bearer)),
                Err(Refusal::Host),
                "{host}"
            );
            refused += 1;
        }
        for other in &origins {
            assert_eq!(
                admit(&method, &ours, Some(other), None, Some(&bearer)),
                Err(Refusal::Origin),
                "{other}"
            );
            refused += 1;
        }
        for site in ["cross-site", "same-site", "none", ""] {
            assert_eq!(
                admit(&method, &ours, Some(&origin), Some(site), Some(&bearer)),
                Err(Refusal::Origin)
            );
            refused += 1;
        }
        for token in &tokens {
            assert_eq!(
                admit(&method, &ours, Some(&origin), None, token.as_deref()),
                Err(Refusal::Token)
            );
            refused += 1;
        }
        if method != Method::GET {
            assert_eq!(admit(&method, &ours, None, None, Some(&bearer)), Err(Refusal::Origin));
            refused += 1;
        }
    }
    assert_eq!(refused, 149);
}

#[test]
fn a_header_that_is_there_twice_counts_as_wrong() {
    let server = PageServer::bind(Arc::new(NoSource), &PageOptions::default()).expect("a port");
    let ours = format!("127.0.0.1:{}", server.port());
    let mut headers = HeaderMap::new();
    headers.append(header::HOST, HeaderValue::from_str(&ours).expect("a value"));
    assert_eq!(server.site.admit(&Method::GET, None, &headers, false), Ok(()));
    assert_eq!(
        server.site.admit(&Method::GET, Some("evil.example"), &headers, false),
        Err(Refusal::Host)
    );
    headers.append(header::HOST, HeaderValue::from_static("evil.example"));
    assert_eq!(
        server.site.admit(&Method::GET, None, &headers, false),
        Err(Refusal::Host)
    );
}

#[test]
fn queries_are_decoded() {
    let of = query("a=1&of=auth%7E1%C3%A9", "of").expect("UTF-8");
    assert_eq!(of.as_deref(), Some("auth~1\u{e9}"));
    for without in ["of", "off=1", ""] {
        assert!(matches!(query(without, "of"), Ok(None)), "{without}");
    }
    for broken in ["of=%", "of=%4", "of=%zz", "of=%ff"] {
        assert!(query(broken, "of").is_err(), "{broken}");
    }
}

#[test]
fn each_run_has_a_token_of_its_own() {
    let urls: std::collections::BTreeSet<_> = (0..8)
        .map(|_| {
            PageServer::bind(Arc::new(NoSource), &PageOptions::default())
                .expect("a port")
                .site
                .token
                .clone()
        })
        .collect();
    assert_eq!(urls.len(), 8);
}

#[test]
fn the_port_of_http_may_be_omitted() {
    let site = |port| {
        Site::new(
            Arc::new(NoSource),
            &PageOptions::default(),
            port,
            ConnectionLimits::default(),
        )
    };
    let admit = |port, host: &'static str, origin: &'static str| {
        let mut headers = HeaderMap::new();
        headers.append(header::HOST, HeaderValue::from_static(host));
        headers.append(header::ORIGIN, HeaderValue::from_static(origin));
        site(port).expect("a site").admit(&Method::POST, None, &headers, false)
    };
    for host in ["127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80"] {
        assert_eq!(admit(80, host, "http://localhost"), Ok(()), "{host}");
    }
    assert_eq!(admit(80, "localhost", "http://127.0.0.1:80"), Ok(()));
    for host in [
        "localhost:",
        "localhost:8080",
        "evil.example",
        "127.0.0.1.evil",
        "LOCALHOST.evil",
    ] {
        assert_eq!(admit(80, host, "http://localhost"), Err(Refusal::Host), "{host}");
    }
    for origin in [
        "https://localhost",
        "http://localhost:443",
        "http://evil.example",
        "null",
    ] {
        assert_eq!(admit(80, "localhost", origin), Err(Refusal::Origin), "{origin}");
    }
    for port in [81, 443, 8080] {
        assert_eq!(
            admit(port, "localhost", "http://localhost"),
            Err(Refusal::Host),
            "{port}"
        );
    }
}

/// A page with small limits that is served while this value lives.
struct Served {
    address: SocketAddr,
    token: String,
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<io::Result<()>>>,
}

impl Served {
    fn begin(limits: ConnectionLimits) -> Self {
        let mut server = PageServer::bind(Arc::new(NoSource), &PageOptions::default()).expect("a port");
        Arc::get_mut(&mut server.site).expect("not served yet").limits = limits;
        let (address, token) = (server.address, server.site.token.clone());
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || server.run(move || ends.load(Ordering::Relaxed)));
        Self {
            address,
            token,
            is_over,
            thread: Some(thread),
        }
    }

    /// A new connection that has sent this.
    fn sent(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        stream.write_all(text.as_bytes()).expect("sent");
        stream
    }

    fn head(&self, method: &str, path: &str) -> String {
        let (address, token) = (self.address, &self.token);
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nAuthorization: Bearer {token}\r\n"
        )
    }

    /// The first line of the answer to a request for the frame.
    fn frame(&self) -> String {
        let stream = self.sent(&format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", self.address));
        first_line(stream)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(matches!(ended, Some(Ok(Ok(())))), "the page ended otherwise");
    }
}

fn first_line(stream: TcpStream) -> String {
    let mut line = String::new();
    // A connection that was cut off has no line.
    let _ = BufReader::new(stream).read_line(&mut line);
    line.trim_end().to_owned()
}

/// Whether the other side has closed a connection, within the limit of its reads.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn idle_connections_shut_nobody_out() {
    let page = Served::begin(ConnectionLimits {
        time: Duration::from_secs(60),
        count: 8,
    });
    // One that has shown the token stays, however many come.
    let mut follower = page.sent(&format!("{}\r\n", page.head("GET", "/api/events")));
    let mut seen = String::new();
    while !seen.contains("event: change") {
        let mut bytes = [0; 512];
        let read = follower.read(&mut bytes).expect("an event");
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    let mut idle: Vec<_> = (0..40).map(|_| page.sent("")).collect();
    assert_eq!(page.frame(), "HTTP/1.1 200 OK");
    let mut slow: Vec<_> = (0..40).map(|_| page.sent("GET / HTTP/1.1\r\nHost:")).collect();
    assert_eq!(page.frame(), "HTTP/1.1 200 OK");
    assert!(idle.iter_mut().all(is_closed), "an idle one stayed");
    // The last ones are within the limit.
    for stream in &mut slow[..32] {
        assert!(is_closed(stream), "one of the first stayed");
    }
    follower
        .set_read_timeout(Some(Duration::from_millis(300)))
        .expect("a limit");
    assert!(!is_closed(&mut follower), "the follower was cut off");
}

#[test]
fn requests_that_come_slowly_are_ended() {
    let page = Served::begin(ConnectionLimits {
        time: Duration::from_millis(300),
        count: 64,
    });
    let begun = Instant::now();
    assert!(is_closed(&mut page.sent("")), "nothing sent");
    assert!(is_closed(&mut page.sent("GET / HT")), "a part of a line");
    let mut slow = page.sent("GET / HTTP/1.1\r\n");
    let dripped = (0..200).any(|n| {
        std::thread::sleep(Duration::from_millis(50));
        // The reset of a closed connection comes with the write after the next.
        slow.write_all(format!("X-{n}: a\r\n").as_bytes()).is_err()
    });
    assert!(dripped, "a head that never ends");
    let body = format!("{}Content-Length: 100\r\n\r\n{{", page.head("POST", "/api/plan"));
    assert_eq!(first_line(page.sent(&body)), "HTTP/1.1 408 Request Timeout");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let large = format!(
        "{}Content-Length: 70000\r\n\r\n{}",
        page.head("POST", "/api/plan"),
        "x".repeat(70_000)
    );
    let answer = first_line(page.sent(&large));
    assert_eq!(answer, "HTTP/1.1 413 Payload Too Large");
    // What comes in time is answered, also one request after the other.
    let mut stream = page.sent("");
    for _ in 0..3 {
        let request = format!("GET /page.css HTTP/1.1\r\nHost: {}\r\n\r\n", page.address);
        stream.write_all(request.as_bytes()).expect("sent");
        let mut bytes = vec![0; 64 << 10];
        let read = stream.read(&mut bytes).expect("an answer");
        assert!(bytes[..read].starts_with(b"HTTP/1.1 200 OK"));
        let length = String::from_utf8_lossy(&bytes[..read]).to_ascii_lowercase();
        let length = length
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next().map(str::to_owned));
        let length: usize = length.and_then(|text| text.parse().ok()).expect("a length");
        let head = bytes[..read]
            .windows(4)
            .position(|end| end == b"\r\n\r\n")
            .expect("a head")
            + 4;
        let mut rest = vec![0; head + length - read];
        stream.read_exact(&mut rest).expect("the body");
    }
}
