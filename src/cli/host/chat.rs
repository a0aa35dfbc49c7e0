//! `murmur agent chat`: a conversation with a hosted agent on a terminal. What the agent does is shown above the line
//! that is being typed; its requests are asked about in that line.

use super::super::args::HostChat;
use super::super::raw_input::{PASTE, RawInput, Wakeup};
use super::super::requests::{Dialog, Next};
use super::super::runtime;
use super::super::user_env::UserEnv;
use super::super::waits::{Change, Requests, Watcher, is_drawable};
use super::attach::Follower;
use anyhow::bail;
use derun::cli::screen::{Lines, Screen, Sink, Wrapping};
use murmur_core::id::AgentId;
use murmur_host::protocol::Send;
use murmur_host::state::State;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use sys::paths::DataDir;
use sys::{failure, signals, terminal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use watch::editor::{Editor, EditorEvent};
use watch::keys::Key;

/// How long a host may take to accept a message.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// What to type after.
const PROMPT: &str = "> ";

pub(in super::super) fn run(args: &HostChat, env: &UserEnv) -> anyhow::Result<ExitCode> {
    if !io::stdin().is_terminal() || !is_drawable() {
        let agent = &args.agent;
        bail!(
            failure!("a chat needs a terminal"; "run: murmur agent send {agent} MESSAGE, and: murmur agent attach {agent}")
        );
    }
    let dir = env.read_data_dir()?;
    let agent = super::meant_live(&dir, &args.agent, env)?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        // Beats take no messages, and an ended agent neither.
        super::connect(&dir, &agent).await?;
        chat(&dir, &agent, args.from, env).await
    })?;
    // A thread that writes may never end.
    runtime.shutdown_background();
    if let Some(signal) = ended {
        signals::die_by(signal);
    }
    Ok(ExitCode::SUCCESS)
}

/// Talks until the user leaves or the agent ends. Returns the signal that ended it, if one did.
async fn chat(
    dir: &DataDir,
    agent: &AgentId,
    from: Option<u64>,
    env: &UserEnv,
) -> anyhow::Result<Option<i32>> {
    let screen = Screen::new(Wrapping::Words);
    let sink = screen.sink();
    let mut input = RawInput::begin()?;
    sink.out(|out| {
        let keys = "Ctrl-C interrupts its turn, Ctrl-D leaves it running";
        writeln!(out, "{}chat with {agent}; {keys}", PASTE.0)
    });
    let (sender, news) = unbounded_channel();
    let tell = |change| _ = sender.send(change);
    let requests = Requests::new(dir, env, sink.clone(), true);
    let asked = requests.clone();
    let watcher = Watcher { requests: &asked, tell: &tell };
    let (commands, queue) = unbounded_channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(carry_out(queue, dir.clone(), agent.clone(), requests.clone()));
    let mut chat = Chat {
        sink: sink.clone(),
        requests,
        commands,
        editor: Editor::default(),
        reply: Editor::default(),
        open: VecDeque::new(),
    };
    let mut out = sink.clone();
    let ended = {
        let mut follower = Follower::new(dir, agent, (from, false), &mut out, Some(watcher));
        tokio::select! {
            followed = follower.follow() => followed.map(|()| None),
            left = chat.run(&mut input, news) => left,
        }
    };
    sink.prompt(None);
    sink.out(|out| write!(out, "{}", PASTE.1));
    sink.written().await;
    ended
}

/// What the user wants, in order.
enum Command {
    Send(String),
    Interrupt,
    Answer(Value),
}

/// Carries commands out, and says what went wrong.
async fn carry_out(mut queue: UnboundedReceiver<Command>, dir: DataDir, agent: AgentId, requests: Requests) {
    while let Some(command) = queue.recv().await {
        let is_interrupt = matches!(command, Command::Interrupt);
        let done = match command {
            Command::Answer(response) => {
                requests.answer(response).await;
                continue;
            }
            Command::Send(text) => ask(&dir, &agent, "send", json!(Send { text })).await,
            Command::Interrupt => ask(&dir, &agent, "interrupt", json!({})).await,
        };
        match done {
            Ok(State::Running { queued, .. }) if queued > 0 => {
                requests.print("[queued] it is sent after the current turn");
            }
            Ok(_) => {}
            // Whoever presses Ctrl-C while nothing happens wants to leave.
            Err(_) if is_interrupt && is_idle(&dir, &agent).await => {
                requests.print("no turn is running; to leave the chat, press Ctrl-D");
            }
            Err(error) => requests.print(&format!("error: {}", super::super::describe(&error).line())),
        }
    }
}

async fn is_idle(dir: &DataDir, agent: &AgentId) -> bool {
    let status = match super::connect(dir, agent).await {
        Ok(mut host) => host.answer("status", json!({}), ACCEPT_TIMEOUT).await.unwrap_or_default(),
        Err(_) => return false,
    };
    status.get("state").and_then(Value::as_str) == Some("idle")
}

async fn ask(dir: &DataDir, agent: &AgentId, command: &str, payload: Value) -> anyhow::Result<State> {
    let mut host = super::connect(dir, agent).await?;
    Ok(serde_json::from_value(host.answer(command, payload, ACCEPT_TIMEOUT).await?)?)
}

struct Chat {
    sink: Sink,
    requests: Requests,
    commands: UnboundedSender<Command>,
    /// The message that is being typed.
    editor: Editor,
    /// What is typed about the first open request.
    reply: Editor,
    /// The requests to ask about.
    open: VecDeque<Dialog>,
}

impl Chat {
    /// Lets the user talk. Returns the signal that ends it, or `None` if the user leaves.
    async fn run(
        &mut self,
        input: &mut RawInput,
        mut news: UnboundedReceiver<Change>,
    ) -> anyhow::Result<Option<i32>> {
        let mut shown = JoinSet::new();
        loop {
            self.draw();
            tokio::select! {
                Some(change) = news.recv() => match change {
                    // One that waited before is also listed.
                    Change::Waits { id, .. } if self.is_known(&id) => {}
                    Change::Waits { id, tool } => {
                        let requests = self.requests.clone();
                        shown.spawn(async move { requests.show(&id, &tool).await });
                    }
                    Change::WaitsNoMore(id) => self.close(&id),
                },
                Some(dialog) = shown.join_next() => self.open.extend(dialog.ok().flatten()),
                wakeup = input.wakeup() => match wakeup? {
                    Wakeup::Keys(keys) => for key in keys {
                        match self.key(key) {
                            EditorEvent::Leave => return Ok(None),
                            EditorEvent::Suspend => self.suspend(input).await?,
                            _ => {}
                        }
                    },
                    Wakeup::Redraw => {}
                    Wakeup::Suspend => self.suspend(input).await?,
                    Wakeup::Gone => return Ok(None),
                    Wakeup::End(signal) => return Ok(Some(signal)),
                },
            }
        }
    }

    fn is_known(&self, id: &str) -> bool {
        self.open.iter().any(|dialog| dialog.row().id.as_str() == id)
    }

    /// Whether a request is being asked about. A message that was begun comes first, so that nothing answers by
    /// accident.
    fn is_asking(&self) -> bool {
        !self.open.is_empty() && self.editor.is_empty()
    }

    fn key(&mut self, key: Key) -> EditorEvent {
        let is_asking = self.is_asking();
        let edited = if is_asking { self.reply.key(key) } else { self.editor.key(key) };
        match &edited {
            EditorEvent::Entered(line) if is_asking => self.answer(line),
            EditorEvent::Entered(text) if !text.trim().is_empty() => {
                self.editor.remember(text);
                let _ended = self.commands.send(Command::Send(text.clone()));
            }
            EditorEvent::Interrupt => _ = self.commands.send(Command::Interrupt),
            _ => {}
        }
        edited
    }

    /// Handles a line about the first request.
    fn answer(&mut self, line: &str) {
        let Some(dialog) = self.open.front_mut() else { return };
        match dialog.typed(line) {
            Next::Ask(text) => {
                if !text.is_empty() {
                    self.requests.print(&text);
                }
                return;
            }
            Next::Respond(response) => _ = self.commands.send(Command::Answer(response)),
            Next::Skip => {}
            Next::Quit => return self.open.clear(),
        }
        self.open.pop_front();
    }

    /// Forgets a request that is no longer open.
    fn close(&mut self, id: &str) {
        if self.open.front().is_some_and(|dialog| dialog.row().id.as_str() == id) {
            self.reply = Editor::default();
        }
        self.open.retain(|dialog| dialog.row().id.as_str() != id);
    }

    fn draw(&self) {
        let dialog = self.open.front().filter(|_| self.is_asking());
        let (prompt, written) = match dialog {
            Some(dialog) => (dialog.prompt(), self.reply.written().clone()),
            None => (PROMPT.to_owned(), self.editor.written().clone()),
        };
        self.sink.prompt(Some(Box::new(move |columns| {
            let most = terminal::size().map_or(24, |size| usize::from(size.ws_row).max(2)) / 2;
            let (rows, cursor) = written.rows(&prompt, columns, most);
            Lines { rows, cursor }
        })));
    }

    async fn suspend(&self, input: &RawInput) -> io::Result<()> {
        self.sink.prompt(None);
        self.sink.out(|out| write!(out, "{}", PASTE.1));
        self.sink.written().await;
        input.suspend()?;
        self.sink.out(|out| write!(out, "{}", PASTE.0));
        Ok(())
    }
}
