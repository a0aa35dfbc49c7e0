//! Passwords in a program's arguments: `mysql -pVALUE`, `curl -u user:VALUE`, `["sshpass", "-p", "VALUE"]`,
//! `echo VALUE | sudo -S`.

use super::programs::{self, Program, Takes};
use super::scan::{Finding, Level, SecretKind};
use super::text::{Text, follows_escape};
use super::value::{Value, is_placeholder};

/// The largest distance between a program and its option, in bytes.
const MAX_DISTANCE: usize = 600;
/// The largest distance between `echo` and the program that it is piped to, in bytes.
const MAX_PIPE_DISTANCE: usize = 160;

/// The program that the arguments belong to.
#[derive(Clone, Copy)]
pub(super) struct Call {
    program: &'static Program,
    at: usize,
    /// Whether the required subcommand has been seen.
    counts: bool,
}

/// Finds the password of the option that starts at `at`.
pub(super) fn find(text: &Text<'_>, at: usize, call: &mut Option<Call>) -> Option<Finding> {
    let begins = text.before(at).is_none_or(|byte| byte.is_ascii_whitespace() || b"\"'`([,=".contains(&byte));
    if !begins && !follows_escape(text.bytes, at) {
        return None;
    }
    let known = call.filter(|call| at - call.at <= MAX_DISTANCE);
    if let Some(known) = known.filter(|call| call.counts) {
        for (option, takes) in known.program.options {
            if let Some(found) = value(text, at, option, *takes) {
                if known.program.name == "sshpass" {
                    *call = None;
                }
                return checked(text, known.program, option, found);
            }
        }
    }
    // `-u user:password` counts for any program except those where `-u` is a number or a group.
    let is_container = known.is_some_and(|call| call.program.needs == "login" && !call.counts);
    for option in ["-u", "--user"] {
        let found =
            value(text, at, option, Takes::AfterColon).filter(|_| text.get(at + option.len()) != Some(b':'));
        let is_spaced = text.get(at + option.len()).is_some_and(|byte| b" =\"'\\".contains(&byte));
        if let Some(found) = found.filter(|_| is_spaced && !is_container) {
            return argument(text, found);
        }
    }
    let literal = b"--from-literal=";
    if text.starts(at, literal) {
        let name = text
            .run_of(at + literal.len(), 256, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        let equals = at + literal.len() + name;
        return (text.get(equals) == Some(b'=')).then(|| argument(text, Value::at(text, equals + 1)?))?;
    }
    None
}

/// Returns the value of `option` if that is at `at`.
fn value(text: &Text<'_>, at: usize, option: &str, takes: Takes) -> Option<Value> {
    if option.len() < 2 || !text.starts(at, option.as_bytes()) {
        return None;
    }
    let end = at + option.len();
    let attached = || match text.get(end) {
        Some(b'=') if option.starts_with("--") => Value::at(text, end + 1),
        Some(byte) if !b"= \t\n,])".contains(&byte) && !option.starts_with("--") => {
            // A quote right after the option closes one that was opened before it.
            let is_closed = b"\"'\\".contains(&byte)
                && text
                    .before(at)
                    .is_some_and(|quote| b"\"'".contains(&quote) && quote == last_quote(text, end));
            if is_closed { None } else { Value::at(text, end) }
        }
        _ => None,
    };
    let next = || Value::next(text, end);
    match takes {
        Takes::Either => attached().or_else(next),
        Takes::Attached => attached(),
        Takes::Next => next(),
        Takes::AfterColon => after(text, attached().or_else(next)?, b':'),
        Takes::AfterPercent => after(text, attached().or_else(next)?, b'%'),
        Takes::AfterSlash | Takes::Word | Takes::Second | Takes::Last => None,
    }
}

/// The quote at `at`, after its backslashes.
fn last_quote(text: &Text<'_>, at: usize) -> u8 {
    let slashes = text.run_of(at, 8, |byte| byte == b'\\');
    text.get(at + slashes).unwrap_or_default()
}

/// The part of `value` after the first `sign`.
fn after(text: &Text<'_>, value: Value, sign: u8) -> Option<Value> {
    let at = memchr::memchr(sign, value.bytes(text))?;
    let start = value.start + at + 1;
    (at > 0).then_some(())?;
    (start < value.end).then_some(Value { start, ..value })
}

/// Checks options that take a secret only in some forms.
fn checked(text: &Text<'_>, program: &Program, option: &str, found: Value) -> Option<Finding> {
    let bytes = found.bytes(text);
    let is_cookie = option == "-b" || option == "--cookie";
    if is_cookie && !bytes.contains(&b'=') {
        return None;
    }
    let is_pass = program.name == "openssl" && option.starts_with("-pass");
    if is_pass && !text.bytes[..found.start].ends_with(b"pass:") {
        return None;
    }
    argument(text, found)
}

fn argument(text: &Text<'_>, value: Value) -> Option<Finding> {
    let bytes = value.bytes(text);
    // `1000:1000` is a user and a group.
    let is_group = text.before(value.start) == Some(b':')
        && value.start >= 2
        && text.bytes[value.start - 2].is_ascii_digit()
        && bytes.iter().all(u8::is_ascii_digit);
    // A socat address.
    let before = &text.bytes[value.start.saturating_sub(8)..value.start];
    let is_address = [&b" FILE:"[..], b" OPEN:", b" TCP:", b" UDP:", b" EXEC:", b" GOPEN:"]
        .iter()
        .any(|known| before.ends_with(known));
    let is_one = !is_address && !is_placeholder(bytes) && !bytes.starts_with(b"-") && !is_group;
    is_one.then_some(Finding {
        start: value.start,
        end: value.end,
        kind: SecretKind::Argument,
        level: Level::Sure,
    })
}

/// Handles the word from `at` to `end`: a program, a required subcommand, or a word that a password follows.
pub(super) fn word(text: &Text<'_>, at: usize, end: usize, call: &mut Option<Call>) -> Option<Finding> {
    let word = &text.bytes[at..end];
    if word.len() > 24 {
        return None;
    }
    let mut lower = [0; 24];
    let lower = &mut lower[..word.len()];
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    match &*lower {
        b"echo" | b"printf" => return piped(text, end),
        b"by" => return identified(text, at, end),
        _ => {}
    }
    let stem = lower.strip_suffix(b".exe").unwrap_or(lower);
    if let Some(program) = programs::find(stem) {
        if program.options.is_empty() {
            if begins_command(text, at) {
                *call = None;
            }
            return None;
        }
        *call = Some(Call { program, at, counts: program.needs.is_empty() });
        return of_program(text, program, end);
    }
    let known = call.as_mut().filter(|call| at - call.at <= MAX_DISTANCE)?;
    if known.program.needs.as_bytes() == lower {
        known.counts = true;
    }
    let is_option = text.before(at) == Some(b'-');
    let (_, takes) = known.program.options.iter().find(|(word, takes)| {
        !is_option && matches!(takes, Takes::Word | Takes::Second) && word.as_bytes() == lower
    })?;
    let first = Value::next(text, end)?;
    match takes {
        Takes::Second => argument(text, Value::next(text, closed(text, first))?),
        _ => argument(text, first),
    }
}

/// Finds a password directly after a program.
fn of_program(text: &Text<'_>, program: &Program, end: usize) -> Option<Finding> {
    let (name, takes) = program.options.first()?;
    match takes {
        Takes::Word if name.is_empty() => argument(text, Value::next(text, end)?),
        Takes::Second if name.is_empty() => {
            let first = Value::next(text, end)?;
            argument(text, Value::next(text, closed(text, first))?)
        }
        Takes::AfterSlash => {
            let mut value = Value::next(text, end)?;
            for _ in 0..4 {
                if !value.bytes(text).starts_with(b"-") {
                    break;
                }
                value = Value::next(text, closed(text, value))?;
            }
            let mut login = after(text, value, b'/')?;
            if let Some(host) = memchr::memrchr(b'@', login.bytes(text)) {
                login.end = login.start + host;
            }
            (login.end > login.start).then(|| argument(text, login))?
        }
        Takes::Last => {
            let mut value = Value::next(text, end)?;
            let mut is_there = false;
            for _ in 0..6 {
                let bytes = value.bytes(text);
                is_there |= bytes.starts_with(b"-") && !bytes.starts_with(b"--") && bytes.contains(&b'b');
                match Value::next(text, closed(text, value)) {
                    Some(next) => value = next,
                    None => break,
                }
            }
            is_there.then(|| argument(text, value))?
        }
        _ => None,
    }
}

/// The end of a value including its closing quote.
fn closed(text: &Text<'_>, value: Value) -> usize {
    if !value.quoted {
        return value.end;
    }
    value.end + text.run_of(value.end, 8, |byte| byte == b'\\') + 1
}

/// Whether a command starts at `at`.
fn begins_command(text: &Text<'_>, at: usize) -> bool {
    let before = &text.bytes[at.saturating_sub(16)..at];
    let trimmed = before.trim_ascii_end();
    trimmed.last().is_none_or(|byte| b";|&(`\n\"'{".contains(byte)) || follows_escape(text.bytes, at)
}

/// Finds the output of `echo` if it is piped to a program that reads a password.
fn piped(text: &Text<'_>, end: usize) -> Option<Finding> {
    const READERS: &[&[u8]] = &[
        b"sudo -S",
        b"--password-stdin",
        b"chpasswd",
        b"--stdin",
        b"--with-token",
        b"--passphrase-fd",
        b"-pass stdin",
        b"cryptsetup",
    ];
    let line = text.line_after(end, MAX_PIPE_DISTANCE);
    let pipe = memchr::memchr(b'|', line)?;
    let reader = READERS.iter().find(|reader| memchr::memmem::find(&line[pipe..], reader).is_some())?;
    let mut value = Value::next(text, end)?;
    for _ in 0..3 {
        let bytes = value.bytes(text);
        if !bytes.starts_with(b"-") && !bytes.starts_with(b"%") {
            break;
        }
        value = Value::next(text, closed(text, value))?;
    }
    let value = if *reader == b"chpasswd" { after(text, value, b':')? } else { value };
    (value.start < end + pipe).then(|| argument(text, value))?
}

/// Finds `IDENTIFIED BY 'password'`, at `BY`.
fn identified(text: &Text<'_>, at: usize, end: usize) -> Option<Finding> {
    let before = text.line_before(at, 60).to_ascii_lowercase();
    memchr::memmem::find(&before, b"identified")?;
    argument(text, Value::next(text, end).filter(|value| value.quoted)?)
}

/// Finds `/p:password` and `/user:name password`, options of programs from Windows.
pub(super) fn slash(text: &Text<'_>, at: usize) -> Option<Finding> {
    let begins = text.before(at).is_some_and(|byte| byte.is_ascii_whitespace());
    if begins && (text.starts(at, b"/p:") || text.starts(at, b"/pass:")) {
        let start = at + text.run_of(at, 8, |byte| byte != b':') + 1;
        return argument(text, Value::at(text, start)?);
    }
    if begins && (text.starts(at, b"/user:") || text.starts(at, b"/USER:")) {
        memchr::memmem::find(text.line_before(at, 200), b"net use")?;
        let user = Value::at(text, at + 6)?;
        return argument(text, Value::next(text, closed(text, user))?);
    }
    None
}
