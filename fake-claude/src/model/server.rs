//! Handles requests, with one thread per connection.
//!
//! Input: HTTP requests. Output: the script's turns. Requests are counted across all connections.

use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use sys::clock;
use sys::pause::pause;

use crate::http::{self, Request};
use crate::script::{ErrorTurn, Play, Script};
use crate::{chat, gemini, reply, responses};

/// An API, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Messages,
    Responses,
    Chat,
    Gemini,
}

impl Api {
    fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            _ if path.contains("/v1/messages") => Some(Self::Messages),
            _ if path.ends_with("/responses") => Some(Self::Responses),
            _ if path.ends_with("/chat/completions") => Some(Self::Chat),
            _ if [":generateContent", ":streamGenerateContent"].iter().any(|end| path.ends_with(end)) => {
                Some(Self::Gemini)
            }
            _ => None,
        }
    }
}

/// The script and the requests so far.
pub(crate) struct Server {
    script: Script,
    requests: Option<PathBuf>,
    count: AtomicUsize,
}

impl Server {
    pub(crate) fn new(script: Script, requests: Option<PathBuf>) -> Self {
        Self { script, requests, count: AtomicUsize::new(0) }
    }

    pub(crate) fn serve(self: Arc<Self>, listener: &TcpListener) -> io::Result<()> {
        loop {
            let (stream, _) = listener.accept()?;
            let server = Arc::clone(&self);
            // A client may disconnect at any time.
            thread::spawn(move || drop(server.answer_all(&stream)));
        }
    }

    fn answer_all(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        let mut writer = stream;
        while let Some(request) = http::read(&mut reader, &mut writer)? {
            self.answer(&request, &mut writer)?;
        }
        Ok(())
    }

    fn answer(&self, request: &Request, to: &mut impl io::Write) -> io::Result<()> {
        match request.method.as_str() {
            "HEAD" => return http::head(to),
            "POST" => {}
            _ => return http::json(to, 404, &[], &json!({})),
        }
        let Some(api) = Api::of(&request.path) else {
            return http::json(to, 200, &[], &json!({}));
        };
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            let error = json!({"type": "invalid_request_error", "message": "the body is not JSON"});
            return http::json(to, 400, &[], &json!({"type": "error", "error": error}));
        };
        if request.path.contains("count_tokens") {
            return http::json(to, 200, &[], &json!({"input_tokens": 10}));
        }
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        if let Some(folder) = &self.requests {
            std::fs::write(folder.join(format!("{number:03}.json")), format!("{body:#}"))?;
        }
        let streams = body["stream"] == true || request.path.contains(":stream");
        self.play(api, streams, number, &body, to)
    }

    fn play(
        &self,
        api: Api,
        streams: bool,
        number: usize,
        body: &Value,
        to: &mut impl io::Write,
    ) -> io::Result<()> {
        let said = match api {
            Api::Responses => responses::messages_in(body),
            Api::Gemini => gemini::messages_in(body),
            Api::Messages | Api::Chat => reply::messages_in(body),
        };
        let (delay, play) = self.script.choose(body, said);
        pause(delay);
        let (content, end_delay, headers) = match play {
            Play::Error(ErrorTurn { status: 0, .. }) => {
                return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "scripted"));
            }
            Play::Error(error) => {
                let mut body = json!({"error": error.error});
                match api {
                    Api::Messages => body["type"] = "error".into(),
                    Api::Gemini => body["error"]["code"] = error.status.into(),
                    Api::Responses | Api::Chat => {}
                }
                return http::json(to, error.status, &timed(&error.headers), &body);
            }
            Play::Content(content, end_delay, headers) => (content, end_delay, timed(headers)),
        };
        match api {
            Api::Messages => {}
            Api::Responses => return http::stream(to, &headers, responses::events(content, said, end_delay)),
            Api::Chat => {
                let id = format!("chat_{number:03}");
                let message = chat::Message { id, model: &body["model"], content, end_delay };
                if !streams {
                    return http::json(to, 200, &[], &message.whole());
                }
                return http::stream_data(to, message.chunks());
            }
            Api::Gemini if streams => return http::stream_data(to, gemini::chunks(content, end_delay)),
            Api::Gemini => return http::json(to, 200, &[], &gemini::whole(content)),
        }
        let id = format!("msg_{number:03}");
        let message = reply::Message { id, model: &body["model"], content, end_delay };
        if !streams {
            return http::json(to, 200, &headers, &message.whole());
        }
        http::stream(to, &headers, message.events())
    }
}

/// The headers of an answer that is sent now: `now+N` stands for the time in N seconds, in seconds since 1970.
fn timed(headers: &[(String, String)]) -> Vec<(String, String)> {
    let time = |value: &String| {
        let ahead: Option<i64> = value.strip_prefix("now+").and_then(|seconds| seconds.parse().ok());
        ahead.map_or_else(|| value.clone(), |ahead| (clock::now().as_second() + ahead).to_string())
    };
    headers.iter().map(|(name, value)| (name.clone(), time(value))).collect()
}
