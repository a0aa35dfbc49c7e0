//! A model provider for a test: speaks HTTP on a local port, records requests, and
//! answers as instructed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) line: String,
    /// Names are lowercase.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

/// How it answers.
pub(crate) enum Reply {
    /// With exactly these bytes.
    Bytes(Vec<u8>),
    /// Not at all, as long as the client waits.
    Silence,
}

type Decide = dyn Fn(&Asked) -> Reply + Send + Sync;

pub(crate) struct Provider {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    over: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Provider {
    pub(crate) fn new(decide: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let decide: Arc<Decide> = Arc::new(decide);
        let (remember, is_over) = (Arc::clone(&asked), Arc::clone(&over));
        let accepting = std::thread::spawn(move || {
            let mut talking = Vec::new();
            for stream in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let (stream, remember, decide) =
                    (stream.unwrap(), Arc::clone(&remember), Arc::clone(&decide));
                talking.push(std::thread::spawn(move || talk(stream, &remember, &*decide)));
            }
            talking.into_iter().for_each(|one| one.join().unwrap());
        });
        Self { address, asked, over, accepting: Some(accepting) }
    }

    /// A provider that always gives the same answer.
    pub(crate) fn always(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::new(move |_| Reply::Bytes(bytes.clone()))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _wakes_it = TcpStream::connect(self.address);
        let ended = self.accepting.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

fn talk(mut stream: TcpStream, remember: &Mutex<Vec<Asked>>, decide: &Decide) {
    let Some(asked) = read(&stream) else { return };
    remember.lock().unwrap().push(asked.clone());
    match decide(&asked) {
        // The client may have disconnected.
        Reply::Bytes(bytes) => drop(stream.write_all(&bytes)),
        Reply::Silence => drop(stream.read_to_end(&mut Vec::new())),
    }
}

/// The request, if it is HTTP.
fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream);
    let mut next = || {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let line = next()?;
    let mut headers = Vec::new();
    while let Some((name, value)) = next()?.split_once(": ") {
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let Some((_, length)) = headers.iter().find(|(name, _)| name == "content-length") else {
        return line.starts_with("GET ").then_some(Asked { line, headers, body: Value::Null });
    };
    let mut body = vec![0; length.parse().unwrap()];
    lines.read_exact(&mut body).unwrap();
    Some(Asked { line, headers, body: serde_json::from_slice(&body).unwrap() })
}

/// A response with this status and body.
pub(crate) fn http(status: &str, more: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{more}\r\n{body}", body.len()).into_bytes()
}

/// Anthropic's response in which a model says `text`.
pub(crate) fn anthropic(text: &str) -> Vec<u8> {
    let body = json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "small",
        "content": [{ "type": "text", "text": text }],
        "stop_reason": "end_turn",
        "stop_sequence": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    http("200 OK", "content-type: application/json\r\n", &body.to_string())
}

/// OpenAI's response in which a model says `text`.
pub(crate) fn openai(text: &str) -> Vec<u8> {
    let body = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": text, "refusal": null },
            "finish_reason": "stop",
        }],
    });
    http("200 OK", "content-type: application/json\r\n", &body.to_string())
}

/// A model's text with a decision.
pub(crate) fn says(decision: &str, reason: &str) -> String {
    json!({ "decision": decision, "reason": reason }).to_string()
}
