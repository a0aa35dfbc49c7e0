//! Splits code into names, strings and punctuation. Works for any language with common syntax.

use super::{Syntax, perl};
use crate::shell::{escape, field::Field};

/// A token of code.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A qualified name: `os.system`, `File::open`.
    Name(String),
    /// A string without its quotes. Interpolated parts are unknown.
    Str(String),
    /// A command: in backticks, in `qx{…}`.
    Command(String),
    /// Any other character.
    Symbol(char),
    /// The end of a line.
    Newline,
}

pub(super) fn tokens(code: &str, syntax: Syntax) -> Vec<Token> {
    let (mut tokens, mut rest) = (Vec::new(), code);
    while let Some(character) = rest.chars().next() {
        let tail = &rest[character.len_utf8()..];
        rest = token(character, rest, tail, syntax, &mut tokens);
    }
    tokens
}

/// Reads the token at `character`, with which `rest` starts; `tail` is the text after it. Returns the rest of the code.
fn token<'a>(
    character: char,
    rest: &'a str,
    tail: &'a str,
    syntax: Syntax,
    tokens: &mut Vec<Token>,
) -> &'a str {
    match character {
        '\n' => {
            tokens.push(Token::Newline);
            tail
        }
        _ if character.is_whitespace() => tail,
        '#' if syntax != Syntax::CLike => after_line(tail),
        '/' if syntax == Syntax::CLike && tail.starts_with('/') => after_line(tail),
        '\'' | '"' => string(character, rest, syntax, tokens),
        '`' => {
            let (text, after) = until(tail, "`");
            let text = interpolated(&escape::decode(text));
            // With a `$` before it, it is a command: Bun's shell, zx.
            let runs = syntax == Syntax::Perl
                || syntax == Syntax::CLike && tokens.last() == Some(&Token::Symbol('$'));
            tokens.push(if runs { Token::Command(text) } else { Token::Str(text) });
            after
        }
        // Elixir's `~c"text"`.
        '~' if syntax == Syntax::CLike && (tail.starts_with("c\"") || tail.starts_with("s\"")) => &tail[1..],
        _ if is_name(character) => name(rest, syntax, tokens),
        _ => {
            let special = if syntax == Syntax::Perl { perl::token(character, tail, tokens) } else { None };
            special.unwrap_or_else(|| {
                tokens.push(Token::Symbol(character));
                tail
            })
        }
    }
}

/// Reads a string, which may have a prefix as in Python: `r"…"`, `f"…"`.
fn string<'a>(quote: char, rest: &'a str, syntax: Syntax, tokens: &mut Vec<Token>) -> &'a str {
    let has_prefix =
        |known: &[&str]| matches!(tokens.last(), Some(Token::Name(word)) if known.contains(&word.as_str()));
    let is_raw = has_prefix(&["r", "br", "rb", "R"]);
    let is_format = has_prefix(&["f", "F", "rf", "fr"]);
    if is_raw || is_format || has_prefix(&["b", "u"]) {
        tokens.pop();
    }
    let triple = format!("{quote}{quote}{quote}");
    let end = if rest.starts_with(&triple) { triple.as_str() } else { &rest[..1] };
    let (text, after) = until(&rest[end.len()..], end);
    let text = if is_raw { text.to_owned() } else { escape::decode(text) };
    let interpolates = is_format || quote == '"' && syntax == Syntax::Perl;
    tokens.push(Token::Str(if interpolates { interpolated(&text) } else { text }));
    after
}

fn name<'a>(rest: &'a str, syntax: Syntax, tokens: &mut Vec<Token>) -> &'a str {
    let (name, tail) = rest.split_at(name_length(rest));
    if syntax == Syntax::Perl
        && let Some(after) = perl::quote(name, tail, tokens)
    {
        return after;
    }
    tokens.push(Token::Name(name.to_owned()));
    // Elixir's `File.write!(…)`.
    if tail.starts_with("!(") { &tail[1..] } else { tail }
}

pub(super) fn is_name(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// The length of a qualified name.
fn name_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        length += text[length..].chars().take_while(|c| is_name(*c)).map(char::len_utf8).sum::<usize>();
        let rest = &text[length..];
        let connector = ["::", "->", "."].iter().find(|connector| {
            rest.strip_prefix(**connector)
                .is_some_and(|after| after.starts_with(|c: char| c == '_' || c.is_alphabetic()))
        });
        match connector {
            Some(connector) => length += connector.len(),
            None => return length,
        }
    }
}

fn after_line(text: &str) -> &str {
    text.find('\n').map_or("", |at| &text[at..])
}

/// Splits the text at the first `end` that isn't escaped.
fn until<'a>(text: &'a str, end: &str) -> (&'a str, &'a str) {
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(end.as_bytes()) {
            return (&text[..at], &text[at + end.len()..]);
        } else {
            at += 1;
        }
    }
    (text, "")
}

/// Reads text in brackets of any kind.
pub(super) fn quoted<'a>(text: &'a str, tokens: &mut Vec<Token>, token: fn(String) -> Token) -> &'a str {
    let end = match &text[..1] {
        "{" => "}",
        "(" => ")",
        "[" => "]",
        "<" => ">",
        other => other,
    };
    let (inner, after) = until(&text[1..], end);
    tokens.push(token(interpolated(inner)));
    after
}

/// The placeholder for an interpolated variable.
pub(super) fn variable(name: &str) -> String {
    let is_variable = !name.is_empty() && name.chars().all(is_name);
    let written = if is_variable { format!("${{{name}}}") } else { "$interpolated".to_owned() };
    Field::unknown(&written).0
}

/// Makes `{…}`, `${…}` and `#{…}` unknown.
fn interpolated(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}') else { break };
        let before = rest[..open].trim_end_matches(['$', '#']);
        // `$ENV{HOME}`, `#{Dir.home}`, `{Path.home()}`
        let inner = &rest[open..open + close];
        if ["HOME", ".home", "homedir"].iter().any(|name| inner.contains(name)) {
            out.push_str(before.strip_suffix("$ENV").unwrap_or(before));
            out.push('~');
        } else {
            out.push_str(before);
            out.push_str(&variable(inner.trim_start_matches('{')));
        }
        rest = &rest[open + close + 1..];
    }
    out.push_str(rest);
    out
}
