//! The connections of the page: how many there are, and how long each may take.
//!
//! Anybody on this machine can connect. A client that sends nothing, or sends slowly, holds a connection for a short time only, and
//! where there are many connections, those that have not shown the token make room for new ones.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

use super::{Site, handle};

/// The most bytes of the head of a request.
const HEAD: usize = 64 << 10;
/// How long to wait when a connection cannot be taken, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// Limits of the connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    /// How long the head of a request may take, the wait for it included, and then its body.
    pub(super) time: Duration,
    /// The most connections at once.
    pub(super) count: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            count: 64,
        }
    }
}

/// A connection that was taken.
struct OpenConnection {
    /// Whether a request on it had the token.
    is_admitted: Arc<AtomicBool>,
    task: AbortHandle,
}

/// Takes connections and answers their requests, for ever.
pub(super) async fn serve(listener: &TcpListener, site: &Arc<Site>) -> Infallible {
    let limits = site.limits;
    let mut open: Vec<OpenConnection> = Vec::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        open.retain(|connection| !connection.task.is_finished());
        if open.len() >= limits.count {
            let is_strange = |connection: &OpenConnection| !connection.is_admitted.load(Ordering::Relaxed);
            match open.iter().position(is_strange) {
                Some(oldest) => open.remove(oldest).task.abort(),
                None => continue,
            }
        }
        let is_admitted = Arc::new(AtomicBool::new(false));
        let answered = answer(stream, Arc::clone(site), Arc::clone(&is_admitted));
        open.push(OpenConnection {
            is_admitted,
            task: tokio::spawn(answered).abort_handle(),
        });
    }
}

/// Answers the requests of one connection.
async fn answer(stream: TcpStream, site: Arc<Site>, is_admitted: Arc<AtomicBool>) {
    let time = site.limits.time;
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let (site, is_admitted) = (Arc::clone(&site), Arc::clone(&is_admitted));
        async move { Ok::<_, Infallible>(handle(&site, request.map(Body::new), &is_admitted).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(time)
        .max_buf_size(HEAD);
    // How a connection ends is its client's business.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}
