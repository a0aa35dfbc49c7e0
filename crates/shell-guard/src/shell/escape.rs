//! Backslash escapes: in `$'…'`, `echo -e`, `printf`, and strings of other languages.

/// Decodes the text after `$'`. Returns it and the number of bytes up to and including the closing quote.
pub(super) fn ansi(text: &str) -> (String, usize) {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() && bytes[end] != b'\'' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    let end = end.min(bytes.len());
    (decoded(text.get(..end).unwrap_or(text), 2), (end + 1).min(bytes.len()))
}

/// Decodes the escapes in `text`. Each byte above 127 becomes one character.
#[must_use]
pub(super) fn decode(text: &str) -> String {
    // `echo -e` takes three digits after `\0`, but two after another first digit.
    decoded(text, 3)
}

/// Decodes escapes, with at most `after_zero` octal digits after `\0`.
fn decoded(text: &str, after_zero: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(character) = rest.chars().next() else {
            out.push('\\');
            break;
        };
        rest = &rest[character.len_utf8()..];
        match character {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'e' | 'E' => out.push('\u{1b}'),
            'f' => out.push('\u{c}'),
            'v' => out.push('\u{b}'),
            '\\' | '\'' | '"' | '?' | '`' | '$' | '/' => out.push(character),
            '0'..='7' => {
                let most = if character == '0' { after_zero } else { 2 };
                let digits = rest.bytes().take(most).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let number = u32::from_str_radix(&rest[..digits], 8).unwrap_or(0);
                let shift = 8_u32.pow(u32::try_from(digits).unwrap_or(0));
                out.extend(char::from_u32((character.to_digit(8).unwrap_or(0) * shift + number) & 0xff));
                rest = &rest[digits..];
            }
            'x' | 'u' | 'U' => {
                let braced = usize::from(rest.starts_with('{'));
                let most = match character {
                    'x' if braced == 0 => 2,
                    'u' if braced == 0 => 4,
                    _ => 8,
                };
                let digits =
                    rest[braced..].bytes().take(most).take_while(u8::is_ascii_hexdigit).count() + braced;
                out.extend(u32::from_str_radix(&rest[braced..digits], 16).ok().and_then(char::from_u32));
                rest = &rest[digits..];
                rest = if braced == 1 { rest.strip_prefix('}').unwrap_or(rest) } else { rest };
            }
            'c' => {
                // Control characters: `\cx`
                let control = rest.chars().next();
                rest = &rest[control.map_or(0, char::len_utf8)..];
                out.extend(control.and_then(|c| char::from_u32(u32::from(c) & 0x1f)));
            }
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(ansi(r"\x73\165\u0064o' ls"), ("sudo".to_owned(), 16));
        assert_eq!(decode(r"\0163udo\n"), "sudo\n");
        assert_eq!(ansi(r"\0571' ls"), ("/1".to_owned(), 6));
        assert_eq!(decode(r"\579"), "/9");
        assert_eq!(decode(r"\u{73}\q\"), "s\\q\\");
    }
}
