//! A server of HTTP on loopback for one question: it answers each request by a function and keeps nothing.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// Answer to a request: media type and body.
type LoopbackAnswer = (&'static str, String);

/// The most bytes of the head and of the body of a request.
const HEAD: u64 = 256 << 10;
const BODY: u64 = 64 << 20;
/// How long a client may be silent.
const SILENCE: Duration = Duration::from_secs(20);

/// A server that ends when this value does.
#[derive(Debug)]
pub struct LoopbackServer {
    port: u16,
    requests: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl LoopbackServer {
    /// Starts it on a free port. `answer` gets the path and the body.
    pub fn start(answer: fn(&str, &[u8]) -> (&'static str, String)) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let server = Self {
            port: listener.local_addr()?.port(),
            requests: Arc::default(),
            is_over: Arc::default(),
        };
        let (requests, is_over) = (Arc::clone(&server.requests), Arc::clone(&server.is_over));
        std::thread::Builder::new().spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let requests = Arc::clone(&requests);
                // A client that gets no answer reports that itself.
                let _ = std::thread::Builder::new().spawn(move || serve(&stream, answer, &requests));
            }
        })?;
        Ok(server)
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How many requests with a body were answered.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for LoopbackServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread, which waits for a client.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// Answers the requests of one connection, one after the other.
fn serve(stream: &TcpStream, answer: fn(&str, &[u8]) -> LoopbackAnswer, requests: &AtomicU64) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    let mut input = BufReader::new(stream);
    while let Some((path, body)) = request(&mut input)? {
        let (media, text) = answer(&path, &body);
        if !body.is_empty() {
            requests.fetch_add(1, Ordering::Relaxed);
        }
        let mut output = stream;
        write!(
            output,
            "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        )?;
        output.flush()?;
    }
    Ok(())
}

/// The path and the body of the next request; `None` where the client is done.
fn request(input: &mut BufReader<&TcpStream>) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut line = String::new();
    let mut head = input.by_ref().take(HEAD);
    head.read_line(&mut line)?;
    let Some(path) = line.split(' ').nth(1).map(str::to_owned) else {
        return Ok(None);
    };
    let (mut length, mut is_chunked, mut is_awaited) = (0, false, false);
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => is_chunked = value.to_ascii_lowercase().contains("chunked"),
            "expect" => is_awaited = true,
            _ => {}
        }
    }
    if is_awaited {
        let mut output: &TcpStream = input.get_ref();
        output.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut body = Vec::new();
    if !is_chunked {
        input.take(length.min(BODY)).read_to_end(&mut body)?;
        return Ok(Some((path, body)));
    }
    loop {
        line.clear();
        input.by_ref().take(HEAD).read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or_default();
        let Ok(size @ 1..=BODY) = u64::from_str_radix(size, 16) else {
            input.by_ref().take(HEAD).read_line(&mut line)?;
            return Ok(Some((path, body)));
        };
        input.by_ref().take(size).read_to_end(&mut body)?;
        line.clear();
        input.by_ref().take(HEAD).read_line(&mut line)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(path: &str, body: &[u8]) -> LoopbackAnswer {
        ("text/plain", format!("{path} {}", String::from_utf8_lossy(body)))
    }

    #[test]
    fn requests_of_one_connection_are_answered_in_order() {
        let server = LoopbackServer::start(echo).expect("a port");
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).expect("a connection");
        stream
            .write_all(b"GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi")
            .expect("sent");
        stream
            .write_all(b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n")
            .expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("open");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answers");
        let bodies: Vec<&str> = text
            .split("HTTP/1.1 200 OK")
            .skip(1)
            .filter_map(|one| one.split("\r\n\r\n").nth(1))
            .collect();
        assert_eq!(bodies, ["/a ", "/b hi", "/c abcd"]);
        assert_eq!(server.requests(), 2);
    }
}
