//! Code → words, strings and marks, of any language that is written like most.

use super::Kind;
use crate::permit::shell::{escape, field::Field};

/// A piece of code.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name, with what it belongs to: `os.system`, `File::open`.
    Word(String),
    /// A string, without its quotes; what is put into it when it runs is unknown.
    Text(String),
    /// Text that is run: between backticks, in `qx{…}`.
    Run(String),
    /// Any other character.
    Mark(char),
    /// A line ends.
    Line,
}

pub(super) fn tokens(code: &str, kind: Kind) -> Vec<Token> {
    let (mut tokens, mut rest) = (Vec::new(), code);
    while let Some(character) = rest.chars().next() {
        let tail = &rest[character.len_utf8()..];
        rest = match character {
            '\n' => {
                tokens.push(Token::Line);
                tail
            }
            _ if character.is_whitespace() => tail,
            '#' if kind != Kind::Script => after_line(tail),
            '/' if kind == Kind::Script && tail.starts_with('/') => after_line(tail),
            '\'' | '"' => {
                let triple = format!("{character}{character}{character}");
                let is_raw = matches!(tokens.last(), Some(Token::Word(word)) if ["r", "br", "rb", "R"].contains(&word.as_str()));
                let is_format = matches!(tokens.last(), Some(Token::Word(word)) if ["f", "F", "rf", "fr"].contains(&word.as_str()));
                if is_raw
                    || is_format
                    || matches!(tokens.last(), Some(Token::Word(word)) if ["b", "u"].contains(&word.as_str()))
                {
                    tokens.pop();
                }
                let end = if rest.starts_with(&triple) { triple.as_str() } else { &rest[..1] };
                let (text, after) = until(&rest[end.len()..], end);
                let text = if is_raw { text.to_owned() } else { escape::decode(text) };
                let interpolates = is_format || character == '"' && matches!(kind, Kind::Perl);
                tokens.push(Token::Text(if interpolates { interpolated(&text) } else { text }));
                after
            }
            '`' => {
                let (text, after) = until(tail, "`");
                let text = interpolated(&escape::decode(text));
                // `$` before it makes it a command, for Bun and its like.
                let runs =
                    kind == Kind::Perl || kind == Kind::Script && tokens.last() == Some(&Token::Mark('$'));
                tokens.push(if runs { Token::Run(text) } else { Token::Text(text) });
                after
            }
            '$' | '@' if kind == Kind::Perl && tail.starts_with(is_name) => tail,
            // `?w`, one character of Ruby's; `~c"text"` of Elixir's.
            '?' if kind == Kind::Perl && is_character(tail) => {
                tokens.push(Token::Text(tail[..1].to_owned()));
                &tail[1..]
            }
            '~' if kind == Kind::Script && (tail.starts_with("c\"") || tail.starts_with("s\"")) => &tail[1..],
            // `<folder/*>`, which Perl takes for the files.
            '<' if kind == Kind::Perl && globbed(tail).is_some() => {
                let path = globbed(tail).unwrap_or_default();
                tokens.push(Token::Text(path.to_owned()));
                &tail[path.len() + 1..]
            }
            '%' if kind == Kind::Perl && tail.starts_with("x") && tail[1..].starts_with(is_open) => {
                quoted(&tail[1..], &mut tokens, Token::Run)
            }
            _ if is_name(character) => {
                let length = name_length(rest);
                let (name, tail) = rest.split_at(length);
                match name {
                    "qx" if kind == Kind::Perl && tail.starts_with(is_open) => {
                        quoted(tail, &mut tokens, Token::Run)
                    }
                    "q" | "qq" if kind == Kind::Perl && tail.starts_with(is_open) => {
                        quoted(tail, &mut tokens, Token::Text)
                    }
                    _ => {
                        tokens.push(Token::Word(name.to_owned()));
                        // `File.write!(…)`
                        if tail.starts_with("!(") { &tail[1..] } else { tail }
                    }
                }
            }
            _ => {
                tokens.push(Token::Mark(character));
                tail
            }
        };
    }
    tokens
}

fn is_name(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn is_character(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic()) && !characters.next().is_some_and(is_name)
}

/// The path in `<path>`.
fn globbed(text: &str) -> Option<&str> {
    let path = &text[..text.find('>')?];
    let is_path = path.starts_with(['/', '~', '.', '*']) && path.contains(['/', '*']);
    (is_path && !path.contains(char::is_whitespace)).then_some(path)
}

fn is_open(character: char) -> bool {
    "{([</|!".contains(character)
}

/// The length of a name with what it belongs to.
fn name_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        length += text[length..].chars().take_while(|c| is_name(*c)).map(char::len_utf8).sum::<usize>();
        let rest = &text[length..];
        let joint = ["::", "->", "."].iter().find(|joint| {
            rest.strip_prefix(**joint)
                .is_some_and(|after| after.starts_with(|c: char| c == '_' || c.is_alphabetic()))
        });
        match joint {
            Some(joint) => length += joint.len(),
            None => return length,
        }
    }
}

fn after_line(text: &str) -> &str {
    text.find('\n').map_or("", |at| &text[at..])
}

/// The text up to `end`, which no backslash stands before, and what comes after it.
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

fn quoted<'a>(text: &'a str, tokens: &mut Vec<Token>, token: fn(String) -> Token) -> &'a str {
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

/// What stands for the value of a variable in a text, or for anything else.
pub(super) fn variable(name: &str) -> String {
    let is_variable = !name.is_empty() && name.chars().all(is_name);
    let written = if is_variable { format!("${{{name}}}") } else { "$interpolated".to_owned() };
    Field::unknown(&written).0
}

/// A text in which `{…}`, `${…}` and `#{…}` are unknown.
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
