//! A server that speaks as much of ntfy as murmur uses, publishing and a topic's stream, and takes pings.

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, Stream};
use serde_json::{Value, json};
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The longest wait for a message.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The server.
pub(super) struct Ntfy {
    pub(super) url: String,
    published: Receiver<Value>,
    streams: Receiver<TcpStream>,
}

impl Ntfy {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (publish, published) = mpsc::channel();
        let (open, streams) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (publish, open) = (publish.clone(), open.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &publish, &open));
            }
        });
        Self { url, published, streams }
    }

    /// The next message.
    pub(super) fn next(&self) -> Value {
        self.published.recv_timeout(TIMEOUT).unwrap()
    }

    /// The stream that murmur listens to.
    pub(super) fn stream(&self) -> Messages {
        Messages { to: self.streams.recv_timeout(TIMEOUT).unwrap(), sent: 0 }
    }
}

/// A server whose certificate nobody has signed but itself. Returns its address; it sends how each handshake ended.
pub(super) fn self_signed() -> (String, Receiver<io::Result<()>>) {
    let certificate = include_bytes!("self-signed.der").to_vec().into();
    let key = PrivateKeyDer::try_from(include_bytes!("self-signed-key.der").to_vec()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (tell, ended) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = stream.unwrap();
            // What was sent, if the client trusts the certificate.
            let read = Stream::new(&mut connection, &mut stream).read(&mut [0; 1]);
            let _over = tell.send(read.map(drop));
        }
    });
    (url, ended)
}

/// A stream of messages.
pub(super) struct Messages {
    to: TcpStream,
    sent: u32,
}

impl Messages {
    /// Sends `text` as somebody does who presses a button.
    pub(super) fn send(&mut self, text: &str) {
        self.sent += 1;
        let line = json!({ "id": format!("m{}", self.sent), "event": "message", "message": text });
        writeln!(self.to, "{line}").unwrap();
    }
}

/// A server that speaks as much of Telegram's Bot API as murmur uses.
pub(super) struct Telegram {
    pub(super) url: String,
    sent: Receiver<Value>,
    updates: Sender<Value>,
    count: Cell<u32>,
    /// The chat that people write in.
    pub(super) chat: Cell<i64>,
}

impl Telegram {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (send, sent) = mpsc::channel();
        let (updates, coming) = mpsc::channel::<Value>();
        let coming = Arc::new(Mutex::new(coming));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (send, coming) = (send.clone(), Arc::clone(&coming));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some((first, body)) = read(&stream) else { return };
                    let body: Value = serde_json::from_slice(&body).unwrap();
                    let result = if !first.contains("/getUpdates ") {
                        let _test_is_over = send.send(body);
                        json!({ "message_id": 1 })
                    } else if body["offset"] == -1 {
                        json!([])
                    } else {
                        let next = coming.lock().unwrap().recv_timeout(TIMEOUT);
                        json!(next.into_iter().collect::<Vec<_>>())
                    };
                    let answer = json!({ "ok": true, "result": result }).to_string();
                    let length = answer.len();
                    let head =
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                    let _gone = stream.write_all(format!("{head}{answer}").as_bytes());
                });
            }
        });
        Self { url, sent, updates, count: Cell::new(0), chat: Cell::new(5) }
    }

    /// The next message.
    pub(super) fn next(&self) -> Value {
        self.sent.recv_timeout(TIMEOUT).unwrap()
    }

    /// Somebody presses the button with this data.
    pub(super) fn press(&self, sender: u32, data: &Value) {
        let message = json!({ "message_id": 1, "chat": { "id": self.chat.get() } });
        let pressed = json!({ "id": "c", "from": { "id": sender }, "message": message, "data": data });
        self.update(json!({ "callback_query": pressed }));
    }

    /// Somebody replies to the first message.
    pub(super) fn reply(&self, sender: u32, text: &str) {
        let mut message = self.message(sender, text);
        message["reply_to_message"] = json!({ "message_id": 1 });
        self.update(json!({ "message": message }));
    }

    /// Somebody says something.
    pub(super) fn say(&self, sender: u32, text: &str) {
        self.update(json!({ "message": self.message(sender, text) }));
    }

    fn message(&self, sender: u32, text: &str) -> Value {
        json!({ "from": { "id": sender }, "chat": { "id": self.chat.get() }, "text": text })
    }

    fn update(&self, mut update: Value) {
        self.count.set(self.count.get() + 1);
        update["update_id"] = self.count.get().into();
        self.updates.send(update).unwrap();
    }
}

/// The first line of a request, and its body; `None` if the client is gone.
fn read(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut length = 0;
    loop {
        let mut header = String::new();
        // A client that is killed says no more.
        if reader.read_line(&mut header).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, body))
}

fn serve(mut stream: TcpStream, publish: &Sender<Value>, open: &Sender<TcpStream>) {
    let Some((first, body)) = read(&stream) else { return };
    if first.starts_with("GET ") {
        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        let _test_is_over = open.send(stream);
        return;
    }
    let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
    let path = first.split(' ').nth(1).unwrap_or_default();
    let message = match path {
        "/" => serde_json::from_slice(&body).unwrap_or_default(),
        ping => json!({ "ping": ping, "text": String::from_utf8_lossy(&body) }),
    };
    let _test_is_over = publish.send(message);
}
