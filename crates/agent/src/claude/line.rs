//! Parses one line of stream-json into events. Strings without escapes are borrowed, not copied.

use super::json::{Scanner, Text};
use super::{known, rare, session};
use crate::event::{Event, Json};
use crate::unknown::Unknown;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Passes the events of `line` to `sink`; only [`Event::Garbled`] if it is not a JSON object. Counts what is unknown.
pub(crate) fn parse(line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
    match StreamLine::read(line) {
        Some(parsed) => parsed.emit(line, sink, unknown),
        None => sink(Event::Garbled),
    }
}

/// The fields that matter, of all types of lines.
#[derive(Default)]
struct StreamLine<'a> {
    kind: Text<'a>,
    subtype: Text<'a>,
    parent: Text<'a>,
    message: Message<'a>,
    session_id: Text<'a>,
    model: Text<'a>,
    version: Text<'a>,
    error: Text<'a>,
    is_attachment: bool,
    /// Fields that no known line has.
    unknown: Vec<&'a [u8]>,
}

impl<'a> StreamLine<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        if line.first() != Some(&b'{') {
            return None;
        }
        let (mut read, mut scanner) = (Self::default(), Scanner::new(line));
        scanner.members(|value, name| {
            match name {
                b"type" => read.kind = value.text_or_empty()?,
                b"subtype" => read.subtype = value.text_or_empty()?,
                b"parent_tool_use_id" => read.parent = value.text_or_empty()?,
                b"message" => read.message = Message::read(value)?,
                b"session_id" => read.session_id = value.text_or_empty()?,
                b"model" => read.model = value.text_or_empty()?,
                b"claude_code_version" => read.version = value.text_or_empty()?,
                b"error" => read.error = value.text_or_empty()?,
                b"attachment" => {
                    read.is_attachment = true;
                    value.skip()?;
                }
                _ => {
                    if !known::is_line_field(name) {
                        read.unknown.push(name);
                    }
                    value.skip()?;
                }
            }
            Some(())
        })?;
        scanner.is_at_end().then_some(read)
    }

    fn emit(self, line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
        let kind = self.kind.0;
        for field in &self.unknown {
            let (slash, subtype): (&[u8], _) =
                if kind == b"system" { (b"/", self.subtype.0) } else { (b"", b"") };
            unknown.add(&[kind, slash, subtype, b".", field]);
        }
        match (kind, self.subtype.0) {
            (b"assistant" | b"user", _) => {
                for field in &self.message.unknown {
                    unknown.add(&[kind, b".message.", field]);
                }
                let (message, parent) = (self.message.id.decode(), self.parent.decode());
                if !self.error.0.is_empty() {
                    sink(session::api_error(line, unknown));
                }
                let tokens = self.message.usage.and_then(|usage| rare::tokens_of(usage, unknown));
                if let Some(tokens) = tokens.filter(|_| parent.is_empty()) {
                    sink(Event::MessageTokens { message: Cow::Borrowed(&*message), tokens });
                }
                let read = Scanner::new(self.message.content).elements(|block| {
                    let block = Block::read(block)?;
                    block.count(kind, unknown);
                    block.emit(&message, &parent, sink);
                    Some(())
                });
                if read.is_none() {
                    sink(Event::Garbled);
                }
            }
            (b"system", b"init") => sink(Event::Session {
                id: self.session_id.decode(),
                model: self.model.decode(),
                version: self.version.decode(),
                permission_mode: session::permission_mode(line),
                mcp_servers: session::mcp_servers(line, unknown),
            }),
            (b"system", b"api_retry") => sink(rare::retry(line)),
            (b"system", subtype) => session::system(subtype, line, sink, unknown),
            (b"rate_limit_event", _) => session::rate_limit(line, sink, unknown),
            (b"result", _) => sink(rare::result(line, unknown)),
            (b"control_request" | b"control_cancel_request", _) => rare::control(line, sink, unknown),
            (b"", _) if self.is_attachment => {}
            (b"", _) => unknown.add(&[b"no-type"]),
            (kind, _) if known::is_skipped_line(kind) => {}
            (kind, _) => unknown.add(&[kind]),
        }
    }
}

/// A message. Its blocks are read one by one on demand, so that any number of them fits in memory.
struct Message<'a> {
    id: Text<'a>,
    /// A string if the message is a replayed prompt, which is ignored.
    content: &'a [u8],
    usage: Option<&'a [u8]>,
    /// Fields that no known message has.
    unknown: Vec<&'a [u8]>,
}

impl Default for Message<'_> {
    fn default() -> Self {
        Self { id: Text::default(), content: b"[]", usage: None, unknown: Vec::new() }
    }
}

impl<'a> Message<'a> {
    fn read(scanner: &mut Scanner<'a>) -> Option<Self> {
        let mut read = Self::default();
        scanner.members(|value, name| {
            match name {
                b"id" => read.id = value.text_or_empty()?,
                b"content" => read.content = value.raw()?,
                b"usage" => read.usage = Some(value.raw()?),
                _ => {
                    if !known::is_message_field(name) {
                        read.unknown.push(name);
                    }
                    value.skip()?;
                }
            }
            Some(())
        })?;
        Some(read)
    }
}

#[derive(Default)]
struct Block<'a> {
    kind: Text<'a>,
    text: Text<'a>,
    id: Text<'a>,
    name: Text<'a>,
    input: Option<&'a [u8]>,
    tool_use_id: Text<'a>,
    content: Output<'a>,
    is_error: bool,
    /// Fields that no known block has.
    unknown: Vec<&'a [u8]>,
    /// What is unknown within its content.
    inner: Vec<Inner<'a>>,
}

/// An unknown part of the content of a block.
enum Inner<'a> {
    Kind(&'a [u8]),
    Field(&'a [u8]),
}

impl<'a> Block<'a> {
    fn read(scanner: &mut Scanner<'a>) -> Option<Self> {
        let mut read = Self::default();
        scanner.members(|value, name| {
            match name {
                b"type" => read.kind = value.text_or_empty()?,
                b"text" => read.text = value.text_or_empty()?,
                b"id" => read.id = value.text_or_empty()?,
                b"name" => read.name = value.text_or_empty()?,
                b"input" => read.input = Some(value.raw()?),
                b"tool_use_id" => read.tool_use_id = value.text_or_empty()?,
                b"content" => read.content = Output::read(value, &mut read.inner)?,
                b"is_error" => read.is_error = value.raw()? == b"true",
                _ => {
                    if !known::is_block_field(name) {
                        read.unknown.push(name);
                    }
                    value.skip()?;
                }
            }
            Some(())
        })?;
        Some(read)
    }

    /// Counts what is unknown of this block in a line of type `line`.
    fn count(&self, line: &[u8], unknown: &mut Unknown) {
        let is_read = matches!(self.kind.0, b"text" | b"tool_use" | b"tool_result");
        if !is_read && !known::is_skipped_block(self.kind.0) {
            unknown.add(&[line, b".content/", self.kind.0]);
        }
        for field in &self.unknown {
            unknown.add(&[line, b".content/", self.kind.0, b".", field]);
        }
        for inner in &self.inner {
            let (sign, name) = match inner {
                Inner::Kind(name) => (b"/", name),
                Inner::Field(name) => (b".", name),
            };
            unknown.add(&[line, b".content/", self.kind.0, b".content", sign, name]);
        }
    }

    fn emit(self, message: &str, parent: &str, sink: &mut impl FnMut(Event<'_>)) {
        let (message, parent) = (Cow::Borrowed(message), Cow::Borrowed(parent));
        match self.kind.0 {
            // A user's text is input to the agent, not output.
            b"text" if !message.is_empty() => {
                sink(Event::Text { message, parent, text: self.text.decode(), is_chunk: false })
            }
            b"tool_use" => {
                // It is passed on as JSON, so it must be valid.
                let input = String::from_utf8_lossy(self.input.unwrap_or(b"null"));
                let Ok(input) = serde_json::from_str::<&RawValue>(&input) else {
                    return sink(Event::Garbled);
                };
                let (id, name) = (self.id.decode(), self.name.decode());
                sink(Event::ToolUse { message, parent, id, name, input: Json(input) });
            }
            b"tool_result" => {
                let (id, output) = (self.tool_use_id.decode(), self.content.decode());
                sink(Event::ToolResult { parent, id, output, is_error: self.is_error });
            }
            _ => {}
        }
    }
}

/// A tool's output: a string, or blocks whose texts are joined by newlines.
enum Output<'a> {
    Text(Text<'a>),
    Blocks(Vec<Text<'a>>),
}

impl Default for Output<'_> {
    fn default() -> Self {
        Self::Text(Text::default())
    }
}

impl<'a> Output<'a> {
    fn read(scanner: &mut Scanner<'a>, unknown: &mut Vec<Inner<'a>>) -> Option<Self> {
        if !scanner.is_array() {
            return scanner.text_or_empty().map(Self::Text);
        }
        let mut texts = Vec::new();
        scanner.elements(|block| {
            block.members(|value, name| {
                match name {
                    b"text" => texts.extend(value.text()?.filter(|text| !text.0.is_empty())),
                    b"type" => {
                        let kind = value.text_or_empty()?.0;
                        unknown.extend((!known::is_output(kind)).then_some(Inner::Kind(kind)));
                    }
                    _ => {
                        unknown.extend((!known::is_output_field(name)).then_some(Inner::Field(name)));
                        value.skip()?;
                    }
                }
                Some(())
            })
        })?;
        Some(Self::Blocks(texts))
    }

    fn decode(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text.decode(),
            Self::Blocks(texts) => match texts[..] {
                [only] => only.decode(),
                _ => texts.into_iter().map(Text::decode).collect::<Vec<_>>().join("\n").into(),
            },
        }
    }
}
