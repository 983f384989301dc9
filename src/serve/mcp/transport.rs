//! Messages over two byte streams, one JSON document a line.
//!
//! The transport of the SDK would do for well-meant clients. This one also answers what cannot be parsed, bounds the
//! memory that a message can take before it is parsed, and ends only when every request was answered, so that a client
//! may close its side after its last request.

use std::{
    collections::{HashSet, VecDeque},
    io::{self, BufReader, Read, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Sender},
    },
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Number, Value};
use tokio::sync::{Notify, Semaphore, mpsc as queue};

use crate::{
    model::json,
    serve::{
        id_scanner::IdScanner,
        request_line::{RequestLine, RequestReader},
    },
};

/// The most bytes of a line.
const LONGEST: u64 = 2 << 20;
/// How many lines wait to be parsed.
const WAITING: usize = 1;
/// The most bytes of answers that wait for a client which does not read.
const UNREAD: usize = 8 << 20;
/// How long the end of the process waits for a client that does not read the last answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// The transport.
pub(super) struct LineTransport {
    lines: queue::Receiver<RequestLine>,
    /// Messages of a line that has several.
    parsed: VecDeque<Value>,
    writer: Option<Sender<Vec<u8>>>,
    written: mpsc::Receiver<()>,
    /// Bytes that may still wait.
    unread: Arc<Semaphore>,
    open: Arc<OpenRequests>,
}

/// Requests without an answer.
#[derive(Default)]
struct OpenRequests {
    ids: Mutex<HashSet<RequestId>>,
    closed: Notify,
}

impl OpenRequests {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, id: &RequestId) {
        self.ids().remove(id);
        self.closed.notify_one();
    }
}

/// Makes integers of more than 64 bits floating: the types of the SDK cannot hold them, and whether an argument may be so
/// large is for its tool to say.
fn shorten_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if !number.is_i64() && !number.is_u64() => {
            *value = number
                .as_f64()
                .filter(|number| number.is_finite())
                .and_then(Number::from_f64)
                .map_or(Value::Null, Value::Number);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_numbers),
        Value::Object(members) => members.values_mut().for_each(shorten_numbers),
        _ => {}
    }
}

impl LineTransport {
    /// A transport over these streams, with a thread for each.
    pub(super) fn new(input: impl Read + Send + 'static, mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (send_line, lines) = queue::channel(WAITING);
        std::thread::Builder::new().name("input".to_owned()).spawn(move || {
            let mut input = RequestReader::new(BufReader::new(input), LONGEST, true);
            while let Ok(Some(line)) = input.next() {
                if send_line.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        let (writer, to_write) = mpsc::channel::<Vec<u8>>();
        let (ended, written) = mpsc::channel();
        let unread = Arc::new(Semaphore::new(UNREAD));
        let room = Arc::clone(&unread);
        std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            while let Ok(bytes) = to_write.recv() {
                let result = output.write_all(&bytes).and_then(|()| output.flush());
                room.add_permits(weight(bytes.len()));
                if result.is_err() {
                    break;
                }
            }
            drop(ended);
        })?;
        Ok(Self {
            lines,
            parsed: VecDeque::new(),
            writer: Some(writer),
            written,
            unread,
            open: Arc::default(),
        })
    }

    /// Answers a message that cannot be handled.
    fn refuse(&self, error: ErrorData, id: Option<RequestId>) {
        let message = TxJsonRpcMessage::<RoleServer>::error(error, id);
        if let (Some(writer), Ok(bytes)) = (&self.writer, line(&message)) {
            // It is short, and comes once a message: it waits for no room, only takes it.
            if let Ok(permits) = self.unread.try_acquire_many(permits(bytes.len())) {
                permits.forget();
                // A client that is gone needs no answer.
                let _ = writer.send(bytes);
            }
        }
    }

    /// Answers each request of a line that cannot be parsed.
    fn refuse_each(&self, message: &str, ids: Vec<Value>) {
        let mut ids = ids.into_iter().map(request_id).peekable();
        if ids.peek().is_none() {
            return self.refuse(ErrorData::invalid_request(message.to_owned(), None), None);
        }
        for id in ids {
            self.refuse(ErrorData::invalid_request(message.to_owned(), None), id);
        }
    }

    /// The message of a value, if it is one that is to be handled.
    fn accept(&self, mut value: Value) -> Option<RxJsonRpcMessage<RoleServer>> {
        shorten_numbers(&mut value);
        let given = value.get("id").cloned();
        let has_id = given.is_some();
        let id = given.and_then(request_id);
        let is_request = value.get("method").is_some();
        if is_request && has_id && id.is_none() {
            // The protocol forbids null, by which a request would look like a notification.
            let error = ErrorData::invalid_request("the id of a request must be a string or an integer", None);
            self.refuse(error, None);
            return None;
        }
        let is_notification = value["method"].is_string() && value["jsonrpc"] == "2.0" && !has_id;
        let Ok(message) = serde_json::from_value::<RxJsonRpcMessage<RoleServer>>(value) else {
            // A notification is not answered, whatever it has.
            if !is_notification {
                let error = ErrorData::invalid_request("this is no message of the protocol", None);
                self.refuse(error, id);
            }
            return None;
        };
        match &message {
            JsonRpcMessage::Request(request) if !self.open.ids().insert(request.id.clone()) => {
                let error = ErrorData::invalid_request("a request with this id is not answered yet", None);
                self.refuse(error, None);
                return None;
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It gets no answer.
                    self.open.close(id);
                }
            }
            // The server asks nothing, so there is nothing to answer.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) if !is_request => return None,
            _ => {}
        }
        Some(message)
    }

    /// The messages of a line.
    fn parse(&mut self, line: RequestLine) {
        let line = match line {
            RequestLine::Whole(line) => line,
            RequestLine::TooLarge { message, ids } => return self.refuse_each(&message, ids),
        };
        match serde_json::from_slice(&line) {
            // The version of 2025-03-26 has several messages in one.
            Ok(Value::Array(messages)) if !messages.is_empty() => self.parsed.extend(messages),
            Ok(message) => self.parsed.push_back(message),
            Err(error) => {
                // It may still be JSON, too deep or with half a surrogate pair: then its client waits.
                let mut scanner = IdScanner::new(true);
                scanner.feed(&line);
                match scanner.finish() {
                    ids if ids.is_empty() => self.refuse(ErrorData::parse_error("the line is no JSON", None), None),
                    ids => self.refuse_each(&format!("the line cannot be read: {}", json::words(&error)), ids),
                }
            }
        }
    }
}

/// A message as a line. The type of the SDK leaves out the id of an error that is about no request, for which JSON-RPC asks
/// for null.
fn line(message: &TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    let mut bytes = match message {
        JsonRpcMessage::Error(error) if error.id.is_none() => {
            let mut value = serde_json::to_value(message)?;
            if let Value::Object(members) = &mut value {
                members.insert("id".to_owned(), Value::Null);
            }
            serde_json::to_vec(&value)?
        }
        _ => serde_json::to_vec(message)?,
    };
    bytes.push(b'\n');
    Ok(bytes)
}

/// An id as requests have it.
fn request_id(mut id: Value) -> Option<RequestId> {
    shorten_numbers(&mut id);
    serde_json::from_value(id).ok()
}

/// The permits that an answer takes; a single one may be larger than all there are.
fn weight(bytes: usize) -> usize {
    bytes.min(UNREAD)
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(weight(bytes)).unwrap_or(u32::MAX)
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, unread, open) = (self.writer.clone(), Arc::clone(&self.unread), Arc::clone(&self.open));
        async move {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let written = async {
                let bytes = line(&message)?;
                let room = unread
                    .acquire_many(permits(bytes.len()))
                    .await
                    .map_err(io::Error::other)?;
                room.forget();
                let writer = writer.ok_or(io::ErrorKind::NotConnected)?;
                writer.send(bytes).map_err(|_| io::ErrorKind::BrokenPipe.into())
            };
            let result = written.await;
            if let Some(id) = answered {
                open.close(&id);
            }
            result
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            while let Some(value) = self.parsed.pop_front() {
                if let Some(message) = self.accept(value) {
                    return Some(message);
                }
            }
            match self.lines.recv().await {
                Some(line) => self.parse(line),
                None => break,
            }
        }
        while !self.open.ids().is_empty() {
            self.open.closed.notified().await;
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        // The thread ends when it has written what waits.
        self.writer = None;
        let _ = self.written.recv_timeout(PATIENCE);
        Ok(())
    }
}
