//! The local page: `serve` on the loopback interface, for the user of this machine alone.
//!
//! The machine counts as hostile: other users, other programs, and every web page that the browser has open may send
//! requests. So each run has a random token, which comes to the browser in the fragment of the address and from there in a
//! header of each request; there is no cookie that another port could read or a foreign page could send. `Host` must be
//! ours, against names that are made to resolve to the loopback interface; `Origin` too, wherever there is one. Nothing
//! allows other origins anything. Data goes only to requests with the token; the frame and the script have none in them.

mod answer;
mod connections;

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    body::to_bytes,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use tokio::sync::watch;

use crate::{
    os,
    render::page::{self, MenuItem},
    serve::{
        ViewSource,
        actions::{ACTIONS, ActionRequest, ActionTarget},
    },
};
use answer::Answer;
use connections::ConnectionLimits;

const SCRIPT: &str = include_str!("page.js");
const ICON: &str = include_str!("icon.svg");

/// The most bytes of a request.
const LONGEST: usize = 64 << 10;
/// How often the repository is checked for changes while a page is open.
const INTERVAL: Duration = Duration::from_millis(300);
/// The most pages that follow at once.
const FOLLOWERS: usize = 32;
/// How many views are made at once.
const AT_ONCE: usize = 4;

/// The policy of the page: its own script and style, requests to itself, and no markup but through the one policy of its
/// script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types page";

/// Settings of a page.
#[derive(Debug, Default)]
pub struct PageOptions {
    /// The port; any free one for 0.
    pub port: u16,
    /// Whether the page may change something.
    pub actions: bool,
    /// The name of the repository.
    pub repository: String,
}

/// A page that is about to be served.
pub struct PageServer {
    listener: TcpListener,
    site: Arc<Site>,
    address: SocketAddr,
}

/// The shared state that requests are answered from.
struct Site {
    source: Arc<dyn ViewSource>,
    token: String,
    hosts: Vec<String>,
    limits: ConnectionLimits,
    actions: bool,
    frame: String,
    style: String,
    changes: watch::Sender<u64>,
}

impl PageServer {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the port is taken, or there are no random numbers.
    pub fn bind(source: Arc<dyn ViewSource>, options: &PageOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let site = Site::new(source, options, address.port(), ConnectionLimits::default())?;
        Ok(Self {
            listener,
            site: Arc::new(site),
            address,
        })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address to open, with the token.
    pub fn url(&self) -> String {
        format!("http://{}/#token={}", self.address, self.site.token)
    }

    /// Serves until the process ends, or until `has_ended` is true.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn run(self, has_ended: impl Fn() -> bool) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(AT_ONCE)
            .build()?;
        let site = Arc::downgrade(&self.site);
        std::thread::Builder::new()
            .name("changes".to_owned())
            .spawn(move || observe(&site))?;
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let ending = async {
                while !has_ended() {
                    tokio::time::sleep(INTERVAL).await;
                }
            };
            tokio::select! {
                never = connections::serve(&listener, &self.site) => match never {},
                () = ending => Ok(()),
            }
        })
    }
}

/// The hosts of an address with this port, as browsers name them: without the port where it is that of HTTP.
fn hosts(port: u16) -> Vec<String> {
    /// The port of HTTP.
    const USUAL: u16 = 80;
    let names = ["127.0.0.1", "localhost"];
    let mut out: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    if port == USUAL {
        out.extend(names.map(str::to_owned));
    }
    out
}

/// The actions by what they act on.
fn groups() -> Vec<(&'static str, Vec<MenuItem>)> {
    [
        ("Current session", ActionTarget::Current),
        ("This checkpoint", ActionTarget::Checkpoint),
        ("This session", ActionTarget::Session),
    ]
    .into_iter()
    .map(|(title, target)| {
        let items = ACTIONS.iter().filter(|action| action.target == target);
        let items = items.map(|action| MenuItem {
            word: action.word,
            title: action.title,
            destroys: action.destroys,
        });
        (title, items.collect())
    })
    .collect()
}

/// Publishes changes while a page is open.
fn observe(site: &Weak<Site>) {
    let mut wait = INTERVAL;
    loop {
        std::thread::sleep(wait);
        let Some(site) = site.upgrade() else { return };
        if site.changes.receiver_count() == 0 {
            continue;
        }
        let begun = Instant::now();
        // What cannot be read now is tried again.
        if let Ok(stamp) = site.source.stamp() {
            site.changes.send_if_modified(|last| {
                let is_new = *last != stamp;
                *last = stamp;
                is_new
            });
        }
        // A repository with very many sessions is not read all the time.
        wait = INTERVAL.max(begun.elapsed() * 4);
    }
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Host,
    Origin,
    Token,
}

/// The answer to a request; notes on the connection whether it had the token.
async fn handle(site: &Arc<Site>, request: Request, is_admitted: &AtomicBool) -> Response {
    let mut response = respond(site, request, is_admitted).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn respond(site: &Arc<Site>, request: Request, is_admitted: &AtomicBool) -> Response {
    if !matches!(*request.method(), Method::GET | Method::POST) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST");
    }
    let path = request.uri().path().to_owned();
    let is_api = path.starts_with("/api/");
    let authority = request.uri().authority().map(ToString::to_string);
    match site.admit(request.method(), authority.as_deref(), request.headers(), is_api) {
        Ok(()) => {
            is_admitted.fetch_or(is_api, Ordering::Relaxed);
        }
        Err(Refusal::Token) => return text(StatusCode::UNAUTHORIZED, "the token of this run is needed"),
        Err(Refusal::Host) => return text(StatusCode::FORBIDDEN, "not the host of this page"),
        Err(Refusal::Origin) => return text(StatusCode::FORBIDDEN, "not the origin of this page"),
    }
    match (request.method(), path.as_str()) {
        (&Method::GET, "/") => typed("text/html; charset=utf-8", site.frame.clone()),
        (&Method::GET, "/page.js") => typed("text/javascript; charset=utf-8", SCRIPT),
        (&Method::GET, "/page.css") => typed("text/css; charset=utf-8", site.style.clone()),
        (&Method::GET, "/icon.svg") => typed("image/svg+xml", ICON),
        (&Method::GET, "/api/events") => events(site),
        (&Method::GET, _) if is_api => {
            let Ok(of) = query(request.uri().query().unwrap_or_default(), "of") else {
                return text(StatusCode::BAD_REQUEST, "the selector is not UTF-8");
            };
            let site = Arc::clone(site);
            work(move || Answer::view(&site, &path, of.as_deref())).await
        }
        (&Method::POST, "/api/plan" | "/api/act") => {
            let bytes = match tokio::time::timeout(site.limits.time, to_bytes(request.into_body(), LONGEST)).await {
                Ok(Ok(bytes)) => bytes,
                Ok(Err(_)) => return text(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"),
                Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the request did not come in time"),
            };
            let Ok(action) = serde_json::from_slice::<ActionRequest>(&bytes) else {
                return text(StatusCode::BAD_REQUEST, "the request is not an action");
            };
            let site = Arc::clone(site);
            let is_plan = path == "/api/plan";
            work(move || Answer::action(&site, action, is_plan)).await
        }
        _ => text(StatusCode::NOT_FOUND, "nothing is here"),
    }
}

impl Site {
    fn new(
        source: Arc<dyn ViewSource>,
        options: &PageOptions,
        port: u16,
        limits: ConnectionLimits,
    ) -> io::Result<Self> {
        let groups = if options.actions { groups() } else { Vec::new() };
        Ok(Self {
            source,
            token: [os::random_token()?, os::random_token()?].concat(),
            hosts: hosts(port),
            limits,
            actions: options.actions,
            frame: page::frame(&options.repository, &groups),
            style: page::style(),
            changes: watch::Sender::new(0),
        })
    }

    /// Whether a request comes from the page itself.
    fn admit(
        &self,
        method: &Method,
        authority: Option<&str>,
        headers: &HeaderMap,
        needs_token: bool,
    ) -> Result<(), Refusal> {
        let single = |name: HeaderName| {
            let mut all = headers.get_all(name).iter();
            let first = all.next().map(|value| value.to_str().unwrap_or_default());
            if all.next().is_some() { Some("") } else { first }
        };
        let is_ours = |host: &str| self.hosts.iter().any(|ours| ours == host);
        if !single(header::HOST).is_some_and(is_ours) || !authority.is_none_or(is_ours) {
            return Err(Refusal::Host);
        }
        let origin = single(header::ORIGIN);
        let is_same = origin
            .and_then(|origin| origin.strip_prefix("http://"))
            .is_some_and(is_ours);
        // A browser names the origin of each request that changes something.
        if (origin.is_some() || method != Method::GET) && !is_same {
            return Err(Refusal::Origin);
        }
        let site = single(HeaderName::from_static("sec-fetch-site"));
        // An address that a person opened comes from nowhere.
        if !site.is_none_or(|site| site == "same-origin" || (site == "none" && !needs_token)) {
            return Err(Refusal::Origin);
        }
        let given = single(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if needs_token && !given.is_some_and(|given| is_equal(given.as_bytes(), self.token.as_bytes())) {
            return Err(Refusal::Token);
        }
        Ok(())
    }
}

/// Compares in constant time.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// Makes an answer on a thread of its own, as it reads the repository.
async fn work(make: impl FnOnce() -> Answer + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(make).await {
        Ok(answer) => {
            let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = typed(answer.kind, answer.body);
            *response.status_mut() = status;
            response
        }
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "the view could not be made"),
    }
}

/// A stream with an event for each change.
fn events(site: &Site) -> Response {
    if site.changes.receiver_count() >= FOLLOWERS {
        return text(StatusCode::SERVICE_UNAVAILABLE, "too many pages follow");
    }
    let stream = futures_util::stream::unfold(site.changes.subscribe(), |mut changes| async move {
        changes.changed().await.ok()?;
        let stamp = *changes.borrow_and_update();
        let event = Event::default().event("change").data(stamp.to_string());
        Some((Ok::<_, Infallible>(event), changes))
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

/// A value of a query, decoded; `None` where it is not given.
fn query(query: &str, name: &str) -> Result<Option<String>, Undecodable> {
    let value = query
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    value.map(|value| decoded(value).ok_or(Undecodable)).transpose()
}

/// A value that is not UTF-8, or not encoded as one of a query is.
#[derive(Debug)]
struct Undecodable;

fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn typed(kind: &'static str, body: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

fn text(status: StatusCode, message: &'static str) -> Response {
    let mut response = typed("text/plain; charset=utf-8", message);
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests;
