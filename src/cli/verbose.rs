//! The output of a verbose beat: tool calls and text as they arrive, then a summary of the conversation (spec 0).

use super::pieces::Pieces;
use super::reported;
use super::style::{Style, plain_line, plain_text, shortened};
use murmur_agent::backend;
use murmur_agent::conversation::Turn;
use murmur_agent::event::Event;
use murmur_core::config::backend::Backend;
use murmur_host::event::Derived;
use murmur_rpc::envelope::Event as HostEvent;
use murmur_store::journal::entry::Entry;
use std::io::{self, Write};

/// How many characters of a tool's input to show.
const INPUT: usize = 120;

/// Prints an event, after `pieces` of others.
pub(super) fn event(
    out: &mut impl Write,
    style: Style,
    pieces: &mut Pieces,
    event: &Event<'_>,
) -> io::Result<()> {
    if let Event::Text { text, is_chunk: true, parent, .. } = event {
        if let Some(lines) = pieces.add(if parent.is_empty() { text } else { "" }) {
            writeln!(out, "{}", plain_text(&lines))?;
        }
        return out.flush();
    }
    if let Some(rest) = pieces.end() {
        writeln!(out, "{}", plain_text(&rest))?;
    }
    match event {
        Event::ToolUse { parent, id, name, input, .. } => {
            let indent = if parent.is_empty() { "" } else { "  " };
            let call = format!("{}({})", plain_line(name), shortened(input.0.get(), INPUT));
            if pieces.is_new(id, &call) {
                writeln!(out, "{indent}{} {call}", style.dim("[tool]"))?;
            }
        }
        Event::Text { parent, text, .. } if parent.is_empty() => writeln!(out, "{}", plain_text(text))?,
        Event::Retry { attempt, of, delay_ms, status, .. } => {
            let status = status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
            writeln!(out, "{} {attempt} of {of} in {delay_ms} ms ({status})", style.dim("[retry]"))?;
        }
        Event::Oversized { bytes } => {
            writeln!(out, "{} skipped a line of {bytes} bytes", style.dim("[note]"))?
        }
        Event::ToolResult { .. } | Event::Result(_) | Event::Session { .. } | Event::Cost { .. } => {}
        other => {
            let line = Derived::Agent(other).line("", 0);
            if let Ok(told) = serde_json::from_slice::<HostEvent>(&line)
                && let Some((tag, text)) = reported::words(&told)
            {
                writeln!(out, "{} {text}", style.dim(format_args!("[{tag}]")))?;
            }
        }
    }
    out.flush()
}

/// A warning if murmur was not tested with this version of `backend`.
pub(super) fn unknown_version(event: &Event<'_>, backend: &Backend) -> Option<String> {
    let Event::Session { version, .. } = event else { return None };
    let (name, tested) = backend::tested(backend)?;
    if version.is_empty() || tested.iter().any(|known| version.starts_with(known)) {
        return None;
    }
    let tested: Vec<String> = tested.iter().map(|known| format!("{known}x")).collect();
    Some(format!("{name} {} was not tested with murmur (tested: {})", plain_line(version), tested.join(", ")))
}

/// Prints a summary of the conversation.
pub(super) fn summary(out: &mut impl Write, style: Style, entry: &Entry) -> io::Result<()> {
    let Some(turns) = entry.turns.as_deref().filter(|turns| !turns.is_empty()) else { return Ok(()) };
    writeln!(out, "\n{}", style.bold("Conversation"))?;
    let mut number = 0;
    for turn in turns {
        match turn {
            Turn::Assistant { text, tool_calls } => {
                number += 1;
                let text =
                    text.as_deref().map(|text| format!(" {}", shortened(text, INPUT))).unwrap_or_default();
                writeln!(out, "{number:>3}.{text}")?;
                for call in tool_calls {
                    let failed = if call.is_error { " failed" } else { "" };
                    let took = call.duration_ms.map(|ms| format!(" {ms} ms")).unwrap_or_default();
                    let lines = call.output.as_deref().map(|output| match output.lines().count() {
                        1 => "1 line".to_owned(),
                        count => format!("{count} lines"),
                    });
                    let lines = lines.unwrap_or_else(|| "no result".to_owned());
                    let input = shortened(call.input.get(), INPUT);
                    let name = plain_line(&call.name);
                    let told = style.dim(format_args!("→{failed} {lines}{took}"));
                    writeln!(out, "     [tool] {name}({input}) {told}")?;
                }
            }
            Turn::Result { cost_usd, duration_ms, num_turns, .. } => {
                let mut facts = Vec::new();
                facts.extend(
                    num_turns.map(|turns| format!("{turns} turn{}", if turns == 1 { "" } else { "s" })),
                );
                facts.extend(cost_usd.map(|cost| format!("${cost:.4}")));
                facts.extend(duration_ms.map(|ms| format!("{ms} ms")));
                if !facts.is_empty() {
                    writeln!(out, "     {}", style.dim(facts.join(", ")))?;
                }
            }
        }
    }
    writeln!(out)
}
