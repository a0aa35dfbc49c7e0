//! Text that is written down for people with the secrets in it taken out: keys by their shape, values by their names.
//!
//! Rather too much than too little: unlike a recording, what is written down here is never played back.

use super::REMOVED;
use super::shape;
use super::text::{Found, run, starts_word};

/// Words whose value is a secret, in small letters.
const NAMES: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "credential",
    "_pass",
    "_pwd",
];

/// `text` without its secrets.
#[must_use]
pub fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let lower = bytes.to_ascii_lowercase();
    let mut masked = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let found = shape::find(bytes, at)
            .or_else(|| private_key(bytes, at))
            .or_else(|| login(bytes, at))
            .or_else(|| flagged(bytes, &lower, at))
            .or_else(|| named(bytes, &lower, at));
        match found {
            Some(found) => {
                masked.extend_from_slice(found.instead.as_bytes());
                at += found.length;
            }
            None => {
                masked.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&masked).into_owned()
}

/// A private key, up to its end or that of the text.
fn private_key(bytes: &[u8], at: usize) -> Option<Found> {
    let rest = &bytes[at..];
    let first = rest.strip_prefix(b"-----BEGIN ")?;
    let line = &first[..memchr::memchr(b'\n', first).unwrap_or(first.len()).min(80)];
    memchr::memmem::find(line, b"PRIVATE KEY")?;
    let end = memchr::memmem::find(rest, b"-----END ").and_then(|end| {
        let dashes = memchr::memmem::find(&rest[end + 9..], b"-----")?;
        Some(end + 9 + dashes + 5)
    });
    Found::new(end.unwrap_or(rest.len()), REMOVED)
}

/// The password of `://user:password@`.
fn login(bytes: &[u8], at: usize) -> Option<Found> {
    let rest = bytes[at..].strip_prefix(b"://")?;
    let user = run(rest, 0, |byte| byte.is_ascii_graphic() && !b":/@\"'`".contains(&byte));
    if rest.get(user) != Some(&b':') {
        return None;
    }
    let word = run(rest, user + 1, |byte| byte.is_ascii_graphic() && !b"/@\"'`".contains(&byte));
    if word == 0 || rest.get(user + 1 + word) != Some(&b'@') {
        return None;
    }
    let user = String::from_utf8_lossy(&rest[..user]);
    Found::new(3 + user.len() + 1 + word, format!("://{user}:{REMOVED}"))
}

/// Programs whose `-p` or `-a` is a password, as `-pVALUE` or `-p VALUE`.
const PASSWORD_FLAGS: [(&[u8], u8); 5] = [
    (b"sshpass", b'p'),
    (b"mysql", b'p'),
    (b"mysqldump", b'p'),
    (b"docker login", b'p'),
    (b"redis-cli", b'a'),
];

/// How far before a flag its program is looked for, in bytes.
const FLAG_REACH: usize = 200;

/// The password of a flag: `-u user:password`, and `-p` of programs that mean one by it.
fn flagged(bytes: &[u8], lower: &[u8], at: usize) -> Option<Found> {
    let begins = at == 0 || bytes[at - 1].is_ascii_whitespace();
    if !begins || bytes[at] != b'-' {
        return None;
    }
    let rest = &bytes[at..];
    let word =
        |from: usize| run(rest, from, |byte| byte.is_ascii_graphic() && !b"\"'`;,&|<>()\\".contains(&byte));
    let quoted = |from: usize| from + run(rest, from, |byte| b"\\\"' ".contains(&byte));
    if let Some(flag) = ["-u ", "--user ", "--user="].iter().find(|flag| rest.starts_with(flag.as_bytes())) {
        let start = quoted(flag.len());
        let length = word(start);
        let colon = memchr::memchr(b':', &rest[start..start + length])?;
        return (colon + 1 < length)
            .then_some(())
            .and_then(|()| shown(rest, start + colon + 1, start + length));
    }
    let before = &lower[at.saturating_sub(FLAG_REACH)..at];
    let is_one = |(program, flag): &&(&[u8], u8)| {
        rest.get(1) == Some(flag) && memchr::memmem::find(before, program).is_some()
    };
    PASSWORD_FLAGS.iter().find(is_one)?;
    let start = quoted(2);
    let length = word(start);
    (length > 0).then_some(()).and_then(|()| shown(rest, start, start + length))
}

/// What stands before `start` as it is, and what follows up to `end` removed.
fn shown(rest: &[u8], start: usize, end: usize) -> Option<Found> {
    let before = String::from_utf8_lossy(&rest[..start]);
    Found::new(end, format!("{before}{REMOVED}"))
}

/// The value of something that is called a secret: `NAME=value`, `"name": "value"`, `--name value`.
fn named(bytes: &[u8], lower: &[u8], at: usize) -> Option<Found> {
    let name = NAMES.iter().find(|name| lower[at..].starts_with(name.as_bytes()))?;
    let mut end = at + name.len();
    // What follows in the same word belongs to the name.
    end += run(bytes, end, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let quotes = run(bytes, end, |byte| b"\\\"' ".contains(&byte));
    let is_assigned = bytes.get(end + quotes).is_some_and(|byte| b":=".contains(byte));
    let is_option = is_option(bytes, at) && bytes.get(end) == Some(&b' ');
    let start = match (is_assigned, is_option) {
        (true, _) => end + quotes + 1 + run(bytes, end + quotes + 1, |byte| b"\\\"' ".contains(&byte)),
        (false, true) => end + run(bytes, end, |byte| b"\\\"' ".contains(&byte)),
        (false, false) => return None,
    };
    let value = run(bytes, start, |byte| {
        byte.is_ascii_graphic() && !b"\\\"'`;,&|<>(){}".contains(&byte) || !byte.is_ascii()
    });
    // A variable's name is no secret, and neither is a short word of prose or a number of tokens.
    let shown = &bytes[start..start + value];
    if value < 3 || shown.starts_with(b"$") || shown.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let before = String::from_utf8_lossy(&bytes[at..start]);
    Found::new(start - at + value, format!("{before}{REMOVED}"))
}

/// Whether the word that has the byte at `at` begins with `--`.
fn is_option(bytes: &[u8], at: usize) -> bool {
    let begin = bytes[..at].iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
    bytes[begin..at].starts_with(b"--") && starts_word(bytes, begin)
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn secrets_are_taken_out_by_shape_and_by_name() {
        for (text, masked) in [
            (
                "curl -H 'Authorization: Bearer abcdef0123456789abcd'",
                "curl -H 'Authorization: Bearer [removed]'",
            ),
            ("git clone https://me:hunter2@example.com/x", "git clone https://me:[removed]@example.com/x"),
            ("DB_PASSWORD=hunter2 ./run", "DB_PASSWORD=[removed] ./run"),
            ("curl -u bob:s3cr3tpw https://example.com", "curl -u bob:[removed] https://example.com"),
            ("mysql -pS3cretPw db", "mysql -p[removed] db"),
            ("sshpass -p hunter22 ssh host", "sshpass -p [removed] ssh host"),
            ("DB_PASS=hunter2 ./run", "DB_PASS=[removed] ./run"),
            ("mysql --password hunter2 db", "mysql --password [removed] db"),
            (r#"{"api_key": "abcdefg", "x": 1}"#, r#"{"api_key": "[removed]", "x": 1}"#),
            (r#"{\"token\":\"abcdefg\"}"#, r#"{\"token\":\"[removed]\"}"#),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "[removed]\nrest"),
            ("export GH_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789", "export GH_TOKEN=[removed]"),
        ] {
            assert_eq!(mask(text), masked);
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "git commit -m 'reset the password of a user'",
            "MAX_TOKENS=8000 run",
            "curl -H \"X-Api-Key: $API_KEY\"",
            "grep -rn token src",
            "mkdir -p src/parts && cargo -u",
            "ssh -p 22 -u me host",
            "ls https://example.com:8080/x",
            "tokenize the secret garden — ünïcode",
        ] {
            assert_eq!(mask(text), text);
        }
    }
}
