//! Values of secret names: `NAME=value`, `"name": "value"`, `--name value`, `<name>value</name>`.

use super::names::{self, Name};
use super::scan::{Finding, Level, SecretKind};
use super::text::{Text, follows_escape};
use super::value::{Value, is_path_or_version, is_placeholder, is_prose, is_random, is_reference};

/// The syntax between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `NAME=value`.
    Equals,
    /// `name = value`, `name := value`, `name => value`.
    Spaced,
    /// `name: value`.
    Colon,
    /// `name:value`.
    Tight,
    /// `--name value`, `<name>value<`, `ENV NAME value`: only a value can follow.
    Certain,
    /// `name value`, in prose.
    Next,
}

/// Finds the secret that belongs to the name from `at` to `end`.
pub(super) fn find(text: &Text<'_>, at: usize, end: usize) -> Option<Finding> {
    // Cheap check first: most words are not names.
    let (style, value_at) = follows(text, at, end)?;
    let name = &text.bytes[at..end];
    let is_query = style == Style::Equals && text.before(at).is_some_and(|byte| b"?&".contains(&byte));
    let meaning = names::read(name)
        .or_else(|| names::is_refused(name).then_some(Name::Weak))
        .or_else(|| is_query.then_some(()).and_then(|()| in_query(name)))?;
    let meaning = if is_query && meaning == Name::Weak { Name::Token } else { meaning };
    match meaning {
        Name::Authorization | Name::Cookie | Name::SetCookie if style != Style::Next => {
            // `authorization = request.headers[…]` is code.
            let is_code =
                style == Style::Spaced && text.get(value_at).is_some_and(|byte| !b"\"'`\\".contains(&byte));
            return (!is_code).then(|| super::header::find(text, at, meaning, value_at))?;
        }
        _ => {}
    }
    if style == Style::Next {
        return next(text, at, name, meaning, value_at);
    }
    let value = Value::at(text, value_at)?;
    let is_element = text.before(value_at) == Some(b'>') && text.before(at) == Some(b'<');
    if (is_element && !text.starts(value.end, b"</")) || is_closed(text, at, end, value) {
        return None;
    }
    let level = classify(text, name, meaning, style, value)?;
    Some(Finding { start: value.start, end: value.end, kind: SecretKind::Assignment, level })
}

/// Whether the quote before `value` closes one that was opened before the name at `at`: `prompt('Password: ', …`.
fn is_closed(text: &Text<'_>, at: usize, end: usize, value: Value) -> bool {
    let Some(quote) = text.before(value.start).filter(|_| value.quoted) else { return false };
    let is_named = text.get(end).is_some_and(|byte| b"\\\"'`".contains(&byte));
    let ends =
        text.get(value.start).is_none_or(|byte| byte.is_ascii_whitespace() || b",);]}".contains(&byte));
    !is_named && ends && text.line_before(at, 200).iter().filter(|byte| **byte == quote).count() % 2 == 1
}

/// Names that mean a secret only in a URL's query.
fn in_query(name: &[u8]) -> Option<Name> {
    let names: &[&[u8]] = &[
        b"sig",
        b"signature",
        b"code",
        b"pass",
        b"session",
        b"sid",
        b"ticket",
        b"hash",
        b"x-amz-signature",
        b"x-goog-signature",
    ];
    names.iter().any(|known| known.eq_ignore_ascii_case(name)).then_some(Name::Weak)
}

/// Returns how a value follows the name that ends at `end`, and its offset.
fn follows(text: &Text<'_>, at: usize, end: usize) -> Option<(Style, usize)> {
    let is_space = |byte: u8| b" \t".contains(&byte);
    let is_gap = |byte: u8| b"\\\"']".contains(&byte);
    let quotes = text.run_of(end, 8, is_gap);
    let spaces = text.run_of(end + quotes, 64, is_space);
    let operator = end + quotes + spaces;
    let after = |length: usize| operator + length + text.run_of(operator + length, 64, is_space);
    // `password?: string` is a type.
    let next = text.get(operator + 1);
    match text.get(operator)? {
        b'=' if matches!(next, Some(b'=' | b'~')) => return None,
        b'=' if next == Some(b'>') => return Some((Style::Spaced, after(2))),
        b'=' => {
            let value = after(1);
            let style = if spaces == 0 && value == operator + 1 { Style::Equals } else { Style::Spaced };
            return Some((style, value));
        }
        b':' if next == Some(b'=') => return Some((Style::Spaced, after(2))),
        b':' if next == Some(b':') => return None,
        b':' => {
            let value = after(1);
            let style = if value == operator + 1 { Style::Tight } else { Style::Colon };
            return Some((style, value));
        }
        b'>' if at > 0 && text.before(at) == Some(b'<') && spaces == 0 => {
            return Some((Style::Certain, operator + 1));
        }
        _ => {}
    }
    // `key="Password" value="…"`
    if quotes > 0 && spaces > 0 && text.bytes[operator..].len() > 6 {
        let is_value = text.bytes[operator..operator + 6].eq_ignore_ascii_case(b"value=");
        return is_value.then_some((Style::Certain, operator + 6));
    }
    if spaces == 0 {
        // `"--password", "…"`
        let is_list = is_option(text, at) && quotes > 0;
        let value = is_list.then(|| Value::next(text, end))??;
        return Some((Style::Certain, value.start - text.opening(value.start)));
    }
    (quotes == 0).then(|| (if is_option(text, at) { Style::Certain } else { Style::Next }, operator))
}

/// Whether the word at `at` is an option: `--name`, `-name`.
fn is_option(text: &Text<'_>, at: usize) -> bool {
    let dashes = text.bytes[..at].iter().rev().take(3).take_while(|byte| **byte == b'-').count();
    let begin = at - dashes;
    (1..=2).contains(&dashes)
        && text.before(begin).is_none_or(|byte| {
            byte.is_ascii_whitespace() || b"\"'`([,=".contains(&byte) || follows_escape(text.bytes, begin)
        })
}

/// Finds a value that follows a name without a sign, if only a value can be there or it is random.
fn next(text: &Text<'_>, at: usize, name: &[u8], meaning: Name, value_at: usize) -> Option<Finding> {
    if meaning == Name::Weak {
        return None;
    }
    let finding = |value: Value, level| Finding {
        start: value.start,
        end: value.end,
        kind: SecretKind::Assignment,
        level,
    };
    let before = text.line_before(at, 80);
    let trimmed = before.trim_ascii_end();
    let ends = |words: &[&str]| {
        words.iter().any(|word| {
            trimmed.len() >= word.len()
                && trimmed[trimmed.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
        })
    };
    let has = |word: &str| memchr::memmem::find(before, word.as_bytes()).is_some();
    let value = Value::at(text, value_at)?;
    // `the token is …`
    let value = match value.classified_part(text) {
        b"is" | b"was" | b"are" => {
            Value::at(text, value.end + text.run_of(value.end, 8, |byte| byte == b' '))?
        }
        _ => value,
    };
    let bytes = value.classified_part(text);
    if is_placeholder(bytes) || is_small_word(bytes) || bytes.len() < 3 {
        return None;
    }
    // The registry of a setting may precede it: `//registry.npmjs.org/:_authToken`.
    let is_set = ends(&["ENV", "setenv"]) || has("configure set ") || has("config set ") || has("set-env ");
    let is_exact = |known: &[u8]| name.eq_ignore_ascii_case(known);
    // A .netrc line, or a separate line after the login.
    let above = &text.bytes[at.saturating_sub(120)..at];
    let is_netrc = is_exact(b"password")
        && !value.quoted
        && (has("machine ")
            || trimmed.rsplit(|byte| *byte == b' ').nth(1) == Some(b"login")
            || (trimmed.is_empty() && memchr::memmem::find(above, b"login ").is_some())
            || (ends(&["\\n"]) && memchr::memmem::find(above, b"login ").is_some()));
    let is_sql = is_exact(b"password")
        && value.quoted
        && text.get(value.start.wrapping_sub(1)) == Some(b'\'')
        && ["with", "user", "role", "set", "for", "identified by"].iter().any(|word| {
            let lower = before.to_ascii_lowercase();
            memchr::memmem::find(&lower, word.as_bytes()).is_some()
        })
        && !bytes.contains(&b' ');
    let is_setting = is_set && (names::is_environment(name) || has("configure set ") || has("config set "));
    if is_setting || is_netrc || is_sql {
        return Some(finding(value, Level::Sure));
    }
    is_random(bytes).then(|| finding(value, Level::Likely))
}

/// Returns the confidence that `value` is a secret, if it may be one.
fn classify(text: &Text<'_>, name: &[u8], meaning: Name, style: Style, value: Value) -> Option<Level> {
    let bytes = value.classified_part(text);
    if is_placeholder(bytes) || bytes.iter().all(u8::is_ascii_digit) && bytes.len() < 8 {
        return None;
    }
    let is_long = bytes.len() >= 16
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().any(u8::is_ascii_alphabetic)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-+/=.!".contains(byte));
    let is_known = names::is_refused(name) || (meaning != Name::Weak && is_random(bytes));
    let otherwise = (is_long && is_known).then_some(Level::Doubtful);
    if meaning == Name::Weak {
        if is_reference(bytes) {
            return None;
        }
        let is_hex = bytes.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
        let is_login = name.eq_ignore_ascii_case(b"auth") && super::header::is_login(bytes);
        return (is_login || (is_random(bytes) && !is_hex && !is_path_or_version(bytes)))
            .then_some(Level::Likely);
    }
    if bytes.len() < 3 || is_path_or_version(bytes) {
        return otherwise;
    }
    if value.is_data() && !value.quoted {
        return Some(Level::Likely);
    }
    let is_call = matches!(text.get(value.end), Some(b'(' | b'<'));
    let likely = match style {
        Style::Certain => {
            let is_function = is_call && bytes.iter().all(u8::is_ascii_alphabetic);
            let is_other = is_small_word(bytes) || bytes.starts_with(b"-") || is_function;
            !is_other
        }
        // Prose quotes such words: tokens: `input`, `output`.
        _ if value.quoted
            && text.before(value.start) == Some(b'`')
            && !bytes.iter().any(u8::is_ascii_digit) =>
        {
            false
        }
        _ if value.quoted => is_quoted_secret(meaning, bytes),
        _ => !is_call && !is_reference(bytes) && is_bare_secret(text, name, meaning, style, value),
    };
    if likely { Some(Level::Sure) } else { otherwise }
}

/// Whether a quoted value is a secret and not a sentence, a type or a name.
fn is_quoted_secret(meaning: Name, bytes: &[u8]) -> bool {
    if bytes.contains(&b' ') {
        return meaning == Name::Password && !is_prose(bytes) || is_random(bytes);
    }
    // `"apiKey": "ANTHROPIC_API_KEY"` refers to a variable.
    let is_variable = bytes.len() > 8 && is_constant(bytes);
    !is_variable && !is_color(bytes) && bytes.iter().any(u8::is_ascii_alphanumeric)
}

/// Whether an unquoted value is a secret and not code or prose.
fn is_bare_secret(text: &Text<'_>, name: &[u8], meaning: Name, style: Style, value: Value) -> bool {
    let bytes = value.classified_part(text);
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let has_sign = bytes.iter().any(|byte| byte.is_ascii_graphic() && b"!@#%^*+~$?".contains(byte));
    let is_odd = has_digit || has_sign || !bytes.is_ascii();
    let is_environment = names::is_environment(name);
    let is_line = matches!(text.get(value.end), None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b','));
    let is_code =
        style != Style::Equals && (is_number(bytes) || is_constant(bytes) || b"*[".contains(&bytes[0]));
    if is_type(bytes) || is_code {
        return false;
    }
    if is_environment && style != Style::Tight && (style == Style::Equals || is_odd || is_line) {
        return true;
    }
    if style == Style::Equals {
        // `password=password` is an argument in code.
        let is_same = names::read(bytes).is_some_and(|meaning| meaning != Name::Weak) && !is_odd;
        let is_argument = !is_odd && is_name(bytes) && matches!(text.get(value.end), Some(b')' | b','));
        return !(is_same || is_argument);
    }
    let is_token = bytes.len() >= 8 && has_digit && (is_random(bytes) || !is_index(bytes));
    if meaning == Name::Token {
        return is_token;
    }
    let begins = text.line_before(value.start.saturating_sub(name.len()), 60);
    let is_alone = begins.iter().filter(|byte| byte.is_ascii_alphanumeric()).count() <= name.len();
    match style {
        Style::Tight => is_odd,
        _ => {
            is_odd
                || (is_line
                    && is_alone
                    && !name.contains(&b'.')
                    && names::read(bytes).is_none()
                    && bytes.iter().all(u8::is_ascii_lowercase)
                    && !is_code_word(bytes))
        }
    }
}

fn is_name(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// `0x10`, `-7`, `24u32`.
fn is_number(bytes: &[u8]) -> bool {
    let rest = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_hex = rest.starts_with(b"0x") && rest.len() <= 10 && rest[2..].iter().all(u8::is_ascii_hexdigit);
    is_hex
        || (digits > 0
            && matches!(&rest[digits..], b"u8" | b"u16" | b"u32" | b"u64" | b"i8" | b"i16" | b"i32" | b"i64"))
}

/// `A_NAME_LIKE_THIS`.
fn is_constant(bytes: &[u8]) -> bool {
    bytes.contains(&b'_')
        && bytes[0].is_ascii_uppercase()
        && bytes.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// `#f8f8f2`.
fn is_color(bytes: &[u8]) -> bool {
    bytes[0] == b'#' && matches!(bytes.len(), 4 | 7 | 9) && bytes[1..].iter().all(u8::is_ascii_hexdigit)
}

/// `u64`, `Uint8Array`, `i32`: types with digits.
fn is_type(bytes: &[u8]) -> bool {
    const TYPES: &[&str] = &[
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "i8",
        "i16",
        "i32",
        "i64",
        "f32",
        "f64",
        "int32",
        "int64",
        "uint8",
        "uint8array",
        "varchar2",
        "utf8",
        "base64",
    ];
    let lower = bytes.to_ascii_lowercase();
    TYPES.iter().any(|known| lower == known.as_bytes())
        || (bytes.first().is_some_and(u8::is_ascii_uppercase)
            && bytes.iter().all(u8::is_ascii_alphabetic)
            && bytes.iter().any(u8::is_ascii_lowercase))
}

/// `token_2`, `tokens_1`: a numbered variable.
fn is_index(bytes: &[u8]) -> bool {
    let end = bytes.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    bytes.len() - end <= 2 && bytes[..end].iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
}

/// Words that follow an option in prose.
fn is_small_word(bytes: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "option", "options", "flag", "flags", "argument", "is", "and", "or", "for", "to", "can", "will",
        "must", "was", "has", "if", "in", "on", "with", "from", "are", "may", "instead",
    ];
    WORDS.iter().any(|known| bytes == known.as_bytes())
}

/// Words that follow `password =` in code and `password:` in prose.
fn is_code_word(bytes: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "value", "input", "text", "data", "pass", "password", "passwd", "pw", "pwd", "arg", "args", "word",
        "line", "result", "raw", "plain", "await", "new", "missing", "empty", "invalid", "wrong", "default",
        "changed", "hash",
    ];
    WORDS.iter().any(|known| bytes == known.as_bytes())
}
