//! Requests that wait for a person while their agent is followed: printed with the command that answers them and, on a
//! terminal, asked about.

use super::inbox;
use super::inbox::rule::Rules;
use super::reported;
use super::requests::{self, Dialog, Next};
use super::style::Style;
use super::user_env::UserEnv;
use crate::daemon::broker::RequestRow;
use crate::daemon::client;
use derun::cli::screen::{Draw, Lines, Sink};
use murmur_rpc::caller;
use murmur_rpc::client::Client;
use murmur_rpc::envelope::Event;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{HashSet, VecDeque};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::paths::DataDir;
use sys::terminal::{self, Input, OuterTerminal};
use sys::text::{Styled, shown_line};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use watch::text::{width, wrap};

/// How long to wait for the daemon to list a request that a host reported.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// Prints requests and sends answers.
#[derive(Clone)]
pub(super) struct Requests {
    dir: DataDir,
    rules: Rules,
    sink: Sink,
    /// Whether to print to stdout; otherwise to stderr.
    is_output: bool,
    /// The requests that were answered here.
    answered: Arc<Mutex<HashSet<String>>>,
}

impl Requests {
    pub(super) fn new(dir: &DataDir, env: &UserEnv, sink: Sink, is_output: bool) -> Self {
        Self {
            dir: dir.clone(),
            rules: Rules::new(dir.clone(), env.home()),
            sink,
            is_output,
            answered: Arc::default(),
        }
    }

    /// Whether the request `id` was answered here, which has been said.
    pub(super) fn has_answered(&self, id: &str) -> bool {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    /// Prints the request `id` of a call of `tool`, and returns a dialog about it if it can be answered.
    pub(super) async fn show(&self, id: &str, tool: &str) -> Option<Dialog> {
        let Some(row) = find(&self.dir, id).await else {
            // It is no longer open: the event is an old one.
            if !self.is_output {
                self.print(&reported::waiting(&inbox::name_of(&self.dir, id), tool));
            }
            return None;
        };
        let mut text = Vec::new();
        if !self.is_output {
            let _never = writeln!(text, "waiting {}", reported::waits_for(tool));
        }
        let style = if self.is_output { Style::of_stdout() } else { Style::none() };
        let _never = inbox::print(&mut text, row.clone(), &self.dir, style);
        self.print(String::from_utf8_lossy(&text).trim_end());
        Dialog::new(row, self.rules.clone())
    }

    /// Sends an answer to the daemon, and prints the result.
    pub(super) async fn answer(&self, response: Value) {
        let word = match response.get("decision").and_then(Value::as_str) {
            Some("allow") => "allowed",
            Some(_) => "denied",
            None => "answered",
        };
        let adds_rule = response.get("always") == Some(&Value::Bool(true));
        if let Some(id) = response.get("id").and_then(Value::as_str) {
            self.answered.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        }
        match requests::answer(&self.dir, response).await {
            Ok(row) => {
                let rule = if adds_rule {
                    format!("; the rule is in {}", shown_line(&self.rules.file(&row).display().to_string()))
                } else {
                    String::new()
                };
                self.print(&format!("{word} {} for {}{rule}", shown_line(&row.tool), shown_line(&row.agent)));
            }
            // Someone else may have answered first, or the agent may have ended.
            Err(error) => self.print(&format!("not accepted: {}", super::describe(&error).line())),
        }
    }

    /// Prints a text.
    pub(super) fn print(&self, text: &str) {
        if self.is_output {
            self.sink.out(|out| writeln!(Styled(out), "{text}"));
        } else {
            let mut shown = Vec::new();
            let _never = write!(Styled(&mut shown), "{text}");
            self.sink.error(&String::from_utf8_lossy(&shown));
        }
    }
}

/// The open request `id`, once the daemon has it.
async fn find(dir: &DataDir, id: &str) -> Option<RequestRow> {
    let mut daemon = client::connect(dir).await.ok()?;
    // What opens later is an event.
    client::attach(&mut daemon, None).await.ok()?;
    let is_it = |row: &RequestRow| row.id.as_str() == id && requests::is_open(row);
    if let Some(row) = requests::all(dir).await.ok()?.into_iter().find(is_it) {
        return Some(row);
    }
    timeout(LIST_TIMEOUT, opened(&mut daemon, id)).await.ok()?
}

async fn opened(daemon: &mut Client, id: &str) -> Option<RequestRow> {
    loop {
        let event = daemon.next_event().await.ok()?;
        if event.event_type == "request_opened"
            && let Ok(row) = RequestRow::deserialize(event.payload)
            && row.id.as_str() == id
        {
            return Some(row);
        }
    }
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// It waits for a person.
    Waits {
        /// Its id.
        id: String,
        /// The tool of the call.
        tool: String,
    },
    /// It was answered, or nobody waits for its answer anymore.
    WaitsNoMore(String),
}

impl Change {
    /// The change that an event of a host reports.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let text = |key: &str| event.payload.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match &*event.event_type {
            "waiting" => Some(Self::Waits { id: text("request"), tool: text("tool") }),
            "waited" => Some(Self::WaitsNoMore(text("request"))),
            _ => None,
        }
    }
}

/// Shows requests that wait, and asks about them.
#[derive(Clone, Copy)]
pub(super) struct Watcher<'a> {
    pub(super) requests: &'a Requests,
    /// Takes what happens to requests.
    pub(super) tell: &'a dyn Fn(Change),
}

/// Shows requests in the background.
pub(super) struct Waits {
    changes: UnboundedSender<Change>,
    task: JoinHandle<()>,
}

impl Waits {
    /// Shows requests and, if a person is at the terminal, asks about them.
    pub(super) fn begin(requests: Requests) -> Self {
        let (changes, news) = unbounded_channel();
        let task = tokio::spawn(async move {
            let input = if is_asking() { Input::of_stdin().ok() } else { None };
            let asking = Asking { requests, input, open: VecDeque::new(), typed: Vec::new() };
            asking.run(news).await;
        });
        Self { changes, task }
    }

    /// Adds or removes a request.
    pub(super) fn change(&self, change: Change) {
        let _ended = self.changes.send(change);
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether there is a person to ask: at the terminal, not in the background, and not an agent.
pub(super) fn is_asking() -> bool {
    io::stdin().is_terminal()
        && is_drawable()
        && OuterTerminal::is_foreground()
        && caller::require_person_here("answer").is_ok()
}

/// Whether lines can be drawn again in place.
pub(super) fn is_drawable() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    io::stdout().is_terminal() && io::stderr().is_terminal() && !is_dumb
}

struct Asking {
    requests: Requests,
    /// The terminal, if there is a person to ask.
    input: Option<Input>,
    /// The requests to ask about; the first one is being asked about.
    open: VecDeque<Dialog>,
    /// The beginning of a line.
    typed: Vec<u8>,
}

impl Asking {
    async fn run(mut self, mut news: UnboundedReceiver<Change>) {
        loop {
            tokio::select! {
                change = news.recv() => match change {
                    Some(Change::Waits { id, tool }) => self.add(&id, &tool).await,
                    Some(Change::WaitsNoMore(id)) => self.remove(&id),
                    None => return,
                },
                bytes = read(self.input.as_ref()), if !self.open.is_empty() => match bytes {
                    Ok(bytes) if !bytes.is_empty() => self.type_in(&bytes).await,
                    // Ctrl-D, or the terminal is gone.
                    _ => self.stop(),
                },
            }
        }
    }

    async fn add(&mut self, id: &str, tool: &str) {
        // The list also has requests that were already waiting.
        if self.open.iter().any(|dialog| dialog.row().id.as_str() == id) {
            return;
        }
        let dialog = self.requests.show(id, tool).await;
        if let Some(dialog) = dialog.filter(|_| self.input.is_some()) {
            self.open.push_back(dialog);
            if self.open.len() == 1 {
                self.begin();
            }
        }
    }

    fn remove(&mut self, id: &str) {
        let Some(index) = self.open.iter().position(|dialog| dialog.row().id.as_str() == id) else { return };
        self.open.remove(index);
        if index == 0 {
            self.requests.sink.prompt(None);
            self.requests.print(&inbox::no_longer_waits(&self.requests.dir, id));
            self.begin();
        }
    }

    /// Asks about the first request. What was typed before was not about it.
    fn begin(&mut self) {
        self.typed.clear();
        terminal::discard_input();
        self.ask();
    }

    fn ask(&self) {
        let prompt = self.open.front().map(|dialog| drawn(dialog.prompt()));
        self.requests.sink.prompt(prompt);
    }

    async fn type_in(&mut self, bytes: &[u8]) {
        self.typed.extend_from_slice(bytes);
        let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') else { return };
        let line = String::from_utf8_lossy(&self.typed[..end]).into_owned();
        self.typed.drain(..=end);
        let Some(dialog) = self.open.front_mut() else { return };
        self.requests.sink.typed();
        match dialog.typed(&line) {
            Next::Ask(text) => {
                if !text.is_empty() {
                    self.requests.print(&text);
                }
                return self.ask();
            }
            Next::Respond(response) => self.requests.answer(response).await,
            Next::Skip => {}
            Next::Quit => return self.stop(),
        }
        self.open.pop_front();
        self.begin();
    }

    /// Asks no more.
    fn stop(&mut self) {
        self.input = None;
        self.open.clear();
        self.requests.sink.prompt(None);
    }
}

async fn read(input: Option<&Input>) -> io::Result<Vec<u8>> {
    match input {
        Some(input) => input.read_in_foreground().await,
        None => std::future::pending().await,
    }
}

/// Draws a prompt, with the cursor behind it.
fn drawn(prompt: String) -> Draw {
    Box::new(move |columns| {
        let rows = wrap(&prompt, columns.saturating_sub(1));
        let last = rows.len().saturating_sub(1);
        let column = rows.last().map_or(0, |row| width(row));
        Lines { rows, cursor: (last, column) }
    })
}
