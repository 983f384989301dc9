//! Who is admitted.

use super::*;
use crate::serve::{CallMonitor, CommandFailure, CommandLine, CommandRun, CommandRunner, source::TextRun};
use crate::{
    model::time::Timestamp,
    render::{
        indicator::IndicatorView,
        sessions::{CheckpointLog, SessionTable},
    },
};

/// A source that is never asked.
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
        unreachable!()
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
