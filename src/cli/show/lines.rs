//! How a run is printed.

use super::super::heartbeat_name::short;
use super::super::inbox::named_in;
use super::super::reported;
use super::super::style::{
    Colors, Style, in_parentheses, local_time, plain_line, plain_text, ran_out_of_turns, remarks, shortened,
    text_of,
};
use super::choose::{Run, linked};
use super::denials::Denials;
use super::input;
use derun::cli::span::span;
use jiff::SignedDuration;
use murmur_agent::event::Tokens;
use murmur_agent::transcript::{Call, CallResult, Item};
use murmur_core::permit::pipeline::ASK;
use murmur_core::permit::question::{Question, QuestionSet};
use murmur_outcome::EarlyEnd;
use murmur_store::journal::entry::JournalEntry;
use std::io::{self, Write};
use sys::clock;
use sys::paths::DataDir;
use sys::process::Exit;
use sys::text::{below_a_minute, shown_line};

/// What Claude Code says of a command that printed nothing.
pub(in crate::cli) const NOTHING: &str = "(Bash completed with no output)";

/// How many characters of a result's line to show.
const SHORT: usize = 100;

/// How to print.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Lines {
    pub(in crate::cli) style: Style,
    /// Whether to print all that tools were called with and printed.
    pub(in crate::cli) is_full: bool,
}

impl Lines {
    /// Prints what the journal has about the run.
    pub(super) fn header(&self, out: &mut impl Write, run: &Run, dir: &DataDir) -> anyhow::Result<()> {
        let entry = &run.entry;
        let name = plain_line(&short(&entry.workspace, entry.heartbeat.as_deref()));
        let title = self.style.bold(format!("{name}{}", in_parentheses(&entry.backend)));
        writeln!(out, "{title}  {}", shown_line(&entry.workspace))?;
        let mut row = |name: &str, value: String| self.row(out, name, &value);
        if run.is_hosted {
            row("agent", plain_line(&entry.agent))?;
        }
        row("beat", entry.beat.as_ref().map(|beat| plain_line(beat.as_str())).unwrap_or_default())?;
        let started = entry.started();
        let when = started.map_or_else(|| plain_line(&entry.ts), local_time);
        if let (Some(before), _) = linked(entry, dir)? {
            row("resumes", format!("beat {}, which waited for an answer", id(&before)))?;
        }
        if run.is_running {
            let lasted = started.map(|at| clock::now().duration_since(at)).unwrap_or_default();
            row("started", format!("{when}, running for {}", span(lasted)))?;
            return row("gates", gates(entry));
        }
        row("started", format!("{when}, took {}", took(entry.duration_ms)))?;
        self.outcome(out, run, dir)
    }

    /// Prints the end of a run that was shown while it was running.
    pub(super) fn end(&self, out: &mut impl Write, run: &Run, dir: &DataDir) -> anyhow::Result<()> {
        writeln!(out)?;
        self.row(out, "took", &took(run.entry.duration_ms))?;
        self.outcome(out, run, dir)
    }

    /// Prints what the journal has about the end of the run.
    fn outcome(&self, out: &mut impl Write, run: &Run, dir: &DataDir) -> anyhow::Result<()> {
        let entry = &run.entry;
        let mut row = |name: &str, value: String| self.row(out, name, &value);
        if run.is_hosted {
            return row("ended", entry.error.as_deref().map_or_else(|| ended(entry), plain_line));
        }
        let (_, after) = linked(entry, dir)?;
        let text = text_of(entry);
        let open = entry.waiting.as_ref().filter(|_| after.is_none());
        let text = named_in(&text, dir, open);
        let outcome = self.style.outcome_of(entry.outcome, entry.is_stopped());
        row("outcome", format!("{outcome} {}{text}", remarks(entry)))?;
        row("cost", cost(entry))?;
        row("model", entry.model.as_deref().map(plain_line).unwrap_or_default())?;
        row("ended", ended(entry))?;
        row("gates", gates(entry))?;
        match after {
            Some(after) => row("resumed", format!("by beat {}", id(&after))),
            None => Ok(()),
        }
    }

    fn row(&self, out: &mut impl Write, name: &str, value: &str) -> anyhow::Result<()> {
        match value.trim_end() {
            "" => Ok(()),
            value => Ok(writeln!(out, "  {} {value}", self.style.dim(format_args!("{name:<8}")))?),
        }
    }

    /// Prints an item.
    pub(in crate::cli) fn item(
        &self,
        out: &mut impl Write,
        denials: &mut Denials,
        item: &Item,
    ) -> io::Result<()> {
        match item {
            Item::Text { parent, text } if parent.is_empty() => {
                writeln!(out, "{}", plain_text(text).trim_end())
            }
            Item::Text { parent, text } => writeln!(out, "{}{}", indent(parent), first(text)),
            Item::Message { text } => {
                let quoted = |line: &str| writeln!(out, "{}", self.style.bold(format_args!("> {line}")));
                plain_text(text).trim_end().lines().try_for_each(quoted)
            }
            Item::Note { tag, text } => {
                writeln!(out, "  {} {}", self.style.dim(format_args!("[{tag}]")), plain_line(text))
            }
            Item::Call(call) => self.call(out, denials, call, true),
            Item::Result(call) => self.call(out, denials, call, false),
        }
    }

    /// Prints a call with its result, or, if it is not `new`, the result of one that was printed before.
    fn call(&self, out: &mut impl Write, denials: &mut Denials, call: &Call, is_new: bool) -> io::Result<()> {
        let before = if is_new { "" } else { "end of " };
        let completed = denials.completed(call)?;
        let call = completed.as_ref().unwrap_or(call);
        let indent = indent(&call.parent);
        let named = match &*call.subject {
            "" if call.tool.is_empty() => self.style.bold("a call"),
            "" => self.style.bold(&call.tool),
            subject => format!("{}({})", self.style.bold(&call.tool), subject),
        };
        if let Some(wait) = denials.waiting(call) {
            let waits = self.style.paint("33", reported::waiting(&wait.name, &wait.tool));
            writeln!(out, "{indent}  {before}{named}  {waits}")?;
            return self.input(out, indent, call, is_new);
        }
        let Some(result) = &call.result else {
            writeln!(out, "{indent}  {before}{named}")?;
            return self.input(out, indent, call, is_new);
        };
        let denied = denials.of(call)?;
        let answers = answers(call, &result.output);
        let is_shown = denied.is_none() && (answers.is_some() || is_short(&result.output));
        let result_text = match denied {
            Some(denied) => self.style.paint("31", plain_line(&denied.sentence())),
            None if result.is_error => {
                self.style.paint("31", format_args!("failed: {}", first(&result.output)))
            }
            None => answers.unwrap_or_else(|| self.style.dim(printed(&result.output))),
        };
        let took = result.duration_ms.map(|ms| self.style.dim(format_args!(", {}", took(ms))));
        let undecided = match denials.is_undecided(call)? {
            true => format!("{}  ", self.style.paint("33", "no decision")),
            false => String::new(),
        };
        writeln!(out, "{indent}  {before}{named}  {undecided}{result_text}{}", took.unwrap_or_default())?;
        self.input(out, indent, call, is_new)?;
        if self.is_full && !is_shown { self.output(out, indent, result) } else { Ok(()) }
    }

    /// Prints what the line of a new call lacks of its input.
    fn input(&self, out: &mut impl Write, indent: &str, call: &Call, is_new: bool) -> io::Result<()> {
        let text = if self.is_full && is_new { input::unshown_input(call) } else { None };
        for line in text.iter().flat_map(|text| text.lines()) {
            writeln!(out, "{indent}    {}", self.style.dim(format!("> {line}").trim_end()))?;
        }
        Ok(())
    }

    fn output(&self, out: &mut impl Write, indent: &str, result: &CallResult) -> io::Result<()> {
        for line in plain_text(&result.output).trim_end().lines() {
            writeln!(out, "{indent}    {line}")?;
        }
        Ok(())
    }
}

/// The indentation of a subagent's texts and calls.
fn indent(parent: &str) -> &'static str {
    if parent.is_empty() { "" } else { "    " }
}

/// The first line of a text, shortened.
fn first(text: &str) -> String {
    shortened(text.trim_start().lines().next().unwrap_or_default(), SHORT)
}

/// Whether the line of the call has all of the output.
fn is_short(output: &str) -> bool {
    let output = output.trim();
    output.lines().nth(1).is_none() && output.chars().count() <= SHORT
}

/// What a person answered to the questions of a call.
fn answers(call: &Call, output: &str) -> Option<String> {
    let input = Some(&call.input).filter(|_| call.tool == ASK)?;
    let asked = QuestionSet::parse(&serde_json::from_str(input).ok()?).ok()?;
    let answer = |question: &Question| {
        let (_, after) = output.split_once(&format!("\"{}\"=\"", question.question))?;
        Some(shown_line(after.split_once('"')?.0))
    };
    let answers: Option<Vec<String>> = asked.questions().iter().map(answer).collect();
    Some(format!("answered: {}", answers?.join("; ")))
}

/// The id of a beat.
fn id(run: &Run) -> String {
    run.entry.beat.as_ref().map(|beat| plain_line(beat.as_str())).unwrap_or_default()
}

/// What a tool printed: a short line as it is, otherwise the number of lines.
fn printed(output: &str) -> String {
    match output.trim_end().lines().count() {
        _ if output.trim() == NOTHING => "no output".to_owned(),
        0 => "no output".to_owned(),
        1 if output.chars().count() <= SHORT => plain_line(output),
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}

/// A duration in milliseconds: `34ms`, `1.2s` or `3m 5s`.
pub(in crate::cli) fn took(ms: u64) -> String {
    let rounded = || SignedDuration::from_millis(i64::try_from(ms.saturating_add(50)).unwrap_or(i64::MAX));
    below_a_minute(ms).unwrap_or_else(|| span(rounded()))
}

/// A number of turns: `1 turn`, `2 turns`.
pub(in crate::cli) fn turns(count: u64) -> String {
    if count == 1 { "1 turn".to_owned() } else { format!("{count} turns") }
}

/// What it cost: `$0.0421, 3 turns, tokens: 12345 input, 456 output`.
pub(in crate::cli) fn cost(entry: &JournalEntry) -> String {
    let mut facts = Vec::new();
    facts.extend(entry.cost_usd.map(|cost| format!("${cost:.4}")));
    facts.extend(entry.num_turns.map(turns));
    if let Some(Tokens { input, output, cache_read, cache_write }) = entry.tokens {
        let counts = [
            (input, "input"),
            (output, "output"),
            (cache_read, "read from the cache"),
            (cache_write, "written to the cache"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        facts.extend((!counts.is_empty()).then(|| format!("tokens: {}", counts.join(", "))));
    }
    facts.join(", ")
}

/// Why the run ended.
fn ended(entry: &JournalEntry) -> String {
    match (entry.early_end, entry.exit) {
        (Some(EarlyEnd::TimedOut), _) => "at its time limit".to_owned(),
        (Some(EarlyEnd::Hung(watchdog)), _) => format!("by {watchdog}"),
        _ if ran_out_of_turns(entry) => "at its turn limit; to allow more turns, set maxTurns".to_owned(),
        (Some(EarlyEnd::Stopped), _) => "stopped".to_owned(),
        (Some(EarlyEnd::Replaced), _) => "replaced by the next run".to_owned(),
        (_, Some(Exit::Code(code))) => format!("exit code {code}"),
        (_, Some(Exit::Signal(signal))) => format!("signal {signal}"),
        (_, None) => String::new(),
    }
}

/// Where to read what its gates printed.
fn gates(entry: &JournalEntry) -> String {
    let gates = entry.gate_capture.as_ref();
    gates.map(|id| format!("their output: murmur capture show {id}")).unwrap_or_default()
}
