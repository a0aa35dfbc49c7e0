//! Reads a run from its capture, block by block: what the agent wrote, what a person wrote to it, and what murmur did
//! for it.

use super::super::style::plain_line;
use super::choose::Run;
use super::denials;
use super::own_events::{OwnEvent, OwnEvents};
use derun::plain::plain;
use derun::record::{Channel, Stretch};
use derun::session::{Following, Session};
use jiff::Timestamp;
use memchr::memchr;
use murmur_agent::backend::dialect;
use murmur_agent::event::{Event, RunResult};
use murmur_agent::parser::{Dialect, Parser};
use murmur_agent::transcript::{Call, Item, Transcript};
use murmur_core::permit::request::RequestId;
use murmur_host::event::Derived;
use murmur_rpc::envelope::Event as HostEvent;
use murmur_store::pulse::action;
use std::collections::HashSet;
use std::io;
use std::time::Duration;
use sys::clock;
use sys::paths::DataDir;
use sys::text::shown_line;
use tokio::time::sleep;

/// How long a call has to take before its host is asked whether it waits for a person; twice as long the next time.
const PAUSE: Duration = Duration::from_secs(1);

/// How much of a capture is read at once, in bytes.
const BLOCK: usize = 64 << 10;

/// Reads a run from its capture.
pub(super) struct Reading {
    dialect: Dialect,
    parser: Parser,
    transcript: Transcript,
    /// Set once it has been read from.
    own_events: Option<OwnEvents>,
    /// Whether a person's messages are shown. That of a beat is its prompt.
    is_conversation: bool,
    /// The beginning of a line of stderr.
    stderr: Vec<u8>,
    /// Whether the next bytes continue a line whose beginning was not kept.
    is_inside_line: bool,
    at: u64,
    dir: DataDir,
    agent: String,
    /// The requests that were noted while following.
    noted: HashSet<RequestId>,
}

impl Reading {
    pub(super) fn new(run: &Run, dir: &DataDir) -> Self {
        let dialect = dialect(&run.entry.backend);
        let parser = Parser::new(dialect);
        Self {
            dialect,
            parser,
            transcript: match run.entry.resumes {
                Some(_) => Transcript::resumed(),
                None => Transcript::default(),
            },
            own_events: None,
            is_conversation: run.is_hosted,
            stderr: Vec::new(),
            is_inside_line: false,
            at: 0,
            dir: dir.clone(),
            agent: run.entry.agent.clone(),
            noted: HashSet::new(),
        }
    }

    /// Passes the items of the output so far to `sink`.
    pub(super) fn read(
        &mut self,
        session: &Session,
        mut sink: impl FnMut(Item) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        while self.block(session, &mut sink)?.is_some_and(|is_over| !is_over) {}
        self.end(sink)
    }

    /// Passes items to `sink` until the run ends.
    pub(super) async fn follow(
        &mut self,
        session: &Session,
        mut sink: impl FnMut(Item) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut following = session.follow()?;
        loop {
            match self.block(session, &mut sink)? {
                Some(true) => return self.end(sink),
                Some(false) => {}
                None => {
                    self.transcript.take_all().into_iter().try_for_each(&mut sink)?;
                    self.idle(&mut following, &mut sink).await?;
                }
            }
        }
    }

    /// Waits until there may be more to read. Notes calls that wait for a person meanwhile.
    async fn idle(
        &mut self,
        following: &mut Following,
        sink: &mut impl FnMut(Item) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut pause = PAUSE;
        loop {
            tokio::select! {
                changed = following.changed() => return Ok(changed?),
                () = sleep(pause), if self.transcript.has_open_call() => {
                    for wait in denials::waits(&self.dir, &self.agent).await {
                        let text = super::super::reported::waiting_for(&wait.name, &wait.tool);
                        if self.noted.insert(wait.request) {
                            sink(Item::Note { tag: "waiting".to_owned(), text })?;
                        }
                    }
                    pause *= 2;
                }
            }
        }
    }

    /// Reads one block. Returns whether it is the last one, `None` if there is nothing to read now.
    fn block(
        &mut self,
        session: &Session,
        sink: &mut impl FnMut(Item) -> io::Result<()>,
    ) -> anyhow::Result<Option<bool>> {
        if self.own_events.is_none() {
            self.own_events = OwnEvents::of(session);
        }
        let page = session.read(self.at, BLOCK, clock::now())?;
        for stretch in &page.stretches {
            let from = usize::try_from(stretch.offset - page.cursor)?;
            let to = usize::try_from(stretch.end() - page.cursor)?;
            let Some(bytes) = page.bytes.get(from..to) else { continue };
            self.bytes(stretch, bytes);
            while let Some(item) = self.transcript.complete() {
                sink(item)?;
            }
        }
        if let Some(gap) = page.gap {
            self.parser = Parser::new(self.dialect);
            self.is_inside_line = true;
            let bytes = gap.end() - page.end();
            self.transcript.note("gap", format!("{bytes} bytes of output were not kept"));
        }
        self.own_events_until(page.next(), None);
        while let Some(item) = self.transcript.complete() {
            sink(item)?;
        }
        let is_idle = page.next() == self.at;
        self.at = page.next();
        Ok(match (page.eof, is_idle) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }

    /// Adds the bytes of `stretch`, and what happened meanwhile.
    fn bytes(&mut self, stretch: &Stretch, mut bytes: &[u8]) {
        let mut at = stretch.offset;
        while !bytes.is_empty() {
            self.own_events_until(at, Some(stretch.timestamp));
            let next = self.own_events.as_mut().and_then(OwnEvents::next_at);
            let room = next.and_then(|next| usize::try_from(next - at).ok()).unwrap_or(bytes.len());
            let (piece, rest) = bytes.split_at(room.min(bytes.len()));
            match stretch.channel {
                Channel::Stderr => self.stderr(piece),
                Channel::Stdout | Channel::Pty => self.stdout(piece, stretch.timestamp),
            }
            at += piece.len() as u64;
            bytes = rest;
        }
    }

    fn stdout(&mut self, bytes: &[u8], at: Timestamp) {
        let bytes = match (self.is_inside_line, memchr(b'\n', bytes)) {
            (false, _) => bytes,
            (true, None) => return,
            (true, Some(end)) => &bytes[end..],
        };
        self.is_inside_line = false;
        let transcript = &mut self.transcript;
        self.parser.feed(bytes, &mut |event| take(transcript, &event, Some(at)));
    }

    /// Adds what a person wrote to the agent, and what murmur did for it, before the offset `until`.
    fn own_events_until(&mut self, until: u64, at: Option<Timestamp>) {
        let transcript = &mut self.transcript;
        let is_conversation = self.is_conversation;
        if let Some(events) = &mut self.own_events {
            events.take(until, |event| match event {
                OwnEvent::Shown(event) => take(transcript, event, at),
                OwnEvent::Message(text) if is_conversation => transcript.message(text),
                OwnEvent::Message(_) => {}
            });
        }
    }

    /// Adds what the agent wrote to stderr, line by line.
    fn stderr(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.stderr.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.stderr.len() > BLOCK {
                self.end_stderr();
            }
        }
    }

    fn end_stderr(&mut self) {
        let line = std::mem::take(&mut self.stderr);
        let line = plain_line(&plain(&line));
        if !line.is_empty() {
            self.transcript.note("stderr", line);
        }
    }

    fn end(&mut self, mut sink: impl FnMut(Item) -> io::Result<()>) -> anyhow::Result<()> {
        let transcript = &mut self.transcript;
        self.parser.finish(&mut |event| take(transcript, &event, None));
        self.end_stderr();
        Ok(self.transcript.finish().try_for_each(&mut sink)?)
    }
}

/// Adds an event to the transcript.
pub(in crate::cli) fn take(transcript: &mut Transcript, event: &Event<'_>, at: Option<Timestamp>) {
    match event {
        Event::Text { parent, text, is_chunk, .. } => transcript.text(parent, text, *is_chunk),
        Event::ToolUse { parent, id, name, input, .. } => transcript.call(Call {
            id: id.clone().into_owned(),
            parent: parent.clone().into_owned(),
            tool: shown_line(name),
            subject: action::of(name, input.0.get()),
            input: input.0.get().to_owned(),
            result: None,
            at,
        }),
        Event::ToolResult { id, output, is_error, .. } => transcript.result(id, output, *is_error, at),
        Event::Blocked { id, reason } => transcript.blocked(id, reason, at),
        Event::Retry { attempt, of, delay_ms, status, .. } => {
            let status = status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
            transcript.note("retry", format!("{attempt} of {of} in {delay_ms} ms ({status})"));
        }
        Event::Oversized { bytes } => transcript.note("note", format!("skipped a line of {bytes} bytes")),
        Event::Garbled => transcript.note("note", "skipped a line that is not JSON".to_owned()),
        Event::Result(result) => {
            let errors: Vec<&str> = result.errors.iter().map(String::as_str).collect();
            if RunResult::is_interruption(&result.subtype, &errors) {
                return transcript.note("turn over", "interrupted".to_owned());
            }
            for error in result.errors_for_people() {
                transcript.note("error", plain_line(error));
            }
        }
        Event::Session { .. } => transcript.session(),
        Event::Cost { .. } | Event::Usage(_) | Event::MessageTokens { .. } => {}
        other => {
            let line = Derived::Agent(other).line("", 0);
            if let Ok(event) = serde_json::from_slice::<HostEvent>(&line)
                && let Some((tag, text)) = super::super::reported::words(&event)
            {
                transcript.note(tag, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The notes about the end of a turn with these errors.
    fn notes(subtype: &str, errors: &[&str]) -> Vec<Item> {
        let errors = errors.iter().map(|&error| error.to_owned()).collect();
        let result =
            RunResult { subtype: subtype.to_owned(), is_error: true, errors, ..RunResult::default() };
        let mut transcript = Transcript::default();
        take(&mut transcript, &Event::Result(Box::new(result)), None);
        transcript.finish().collect()
    }

    #[test]
    fn a_repeated_conversation_is_told_from_the_new_one() {
        let text = |text: &'static str| Event::Text {
            message: "".into(),
            parent: "".into(),
            text: text.into(),
            is_chunk: true,
        };
        let session = || Event::Session {
            id: "s".into(),
            model: "".into(),
            version: "".into(),
            permission_mode: "".into(),
            mcp_servers: Vec::new(),
        };
        let shown = |events: &[Event<'_>]| -> Vec<Item> {
            let mut transcript = Transcript::default();
            events.iter().for_each(|event| take(&mut transcript, event, None));
            transcript.finish().collect()
        };
        let said = |text: &str| Item::Text { parent: String::new(), text: text.to_owned() };
        let told = "the agent has repeated the conversation so far".to_owned();
        let note = Item::Note { tag: "resumed".to_owned(), text: told };
        assert_eq!(shown(&[text("old"), session(), text("n"), text("ew")]), [said("old"), note, said("new")]);
        assert_eq!(shown(&[session(), text("new")]), [said("new")]);
    }

    #[test]
    fn diagnostics_of_the_agents_program_are_not_shown() {
        let note = |tag: &str, text: &str| Item::Note { tag: tag.to_owned(), text: text.to_owned() };
        let diagnostic = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null";
        assert_eq!(notes("error_during_execution", &[diagnostic]), [note("turn over", "interrupted")]);
        assert_eq!(
            notes("error_during_execution", &[diagnostic, "the disk is full"]),
            [note("error", "the disk is full")]
        );
    }
}
