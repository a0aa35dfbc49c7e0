//! Perl and Ruby syntax: quoting operators, and calls with a separate `argv[0]`.

use super::lex::{Token, is_name, quoted};

/// Rewrites Perl's `system {"a"} "b"` and Ruby's `system ["a", "b"], "c"` to `system "a", "c"`.
pub(super) fn without_argv0(code: &str) -> Option<String> {
    let mut changed = None;
    for call in ["system", "exec", "spawn", "popen"] {
        let mut from = 0;
        loop {
            let text = changed.as_deref().unwrap_or(code);
            let Some(at) = text.get(from..).and_then(|rest| rest.find(call)).map(|at| from + at + call.len())
            else {
                break;
            };
            from = at;
            let rest = text[at..].trim_start_matches(|c: char| c.is_whitespace() || c == '(');
            let (end, is_block) = match rest.chars().next() {
                Some('{') => ('}', true),
                Some('[') => (']', false),
                _ => continue,
            };
            let start = text.len() - rest.len();
            let Some(length) = rest.find(end) else { continue };
            let inner = &rest[1..length];
            let program = if is_block { inner } else { inner.split(',').next().unwrap_or(inner) };
            let after = rest[length + 1..].trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            changed = Some(format!("{} {program}, {after}", &text[..start]));
        }
    }
    changed
}

/// Reads a token that only Perl and Ruby have, at `character` with `tail` after it. Returns the rest of the code.
pub(super) fn token<'a>(character: char, tail: &'a str, tokens: &mut Vec<Token>) -> Option<&'a str> {
    match character {
        '$' | '@' if tail.starts_with(is_name) => Some(tail),
        // Ruby's character literal `?w`.
        '?' if is_character(tail) => {
            tokens.push(Token::Str(tail[..1].to_owned()));
            Some(&tail[1..])
        }
        // `<folder/*>` is a glob.
        '<' => {
            let path = globbed(tail)?;
            tokens.push(Token::Str(path.to_owned()));
            Some(&tail[path.len() + 1..])
        }
        '%' if tail.starts_with('x') && tail[1..].starts_with(is_open) => {
            Some(quoted(&tail[1..], tokens, Token::Command))
        }
        _ => None,
    }
}

/// Reads a quoting operator: `qx{…}`, `q(…)`, `qq[…]`. Returns the rest of the code.
pub(super) fn quote<'a>(name: &str, tail: &'a str, tokens: &mut Vec<Token>) -> Option<&'a str> {
    let token = match name {
        "qx" => Token::Command,
        "q" | "qq" => Token::Str,
        _ => return None,
    };
    tail.starts_with(is_open).then(|| quoted(tail, tokens, token))
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
