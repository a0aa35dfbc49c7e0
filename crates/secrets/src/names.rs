//! Classifies names by what their value is: `DB_PASSWORD`, `client-secret`, `X-Api-Key`, `max_tokens`.

/// The kind of value that a name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// A password, which may be any word.
    Password,
    /// A token or key, which is long or at least unusual.
    Token,
    /// Possibly a key, if the value looks like one.
    Weak,
    /// The `Authorization` header and similar ones.
    Authorization,
    /// The `Cookie` header.
    Cookie,
    /// The `Set-Cookie` header.
    SetCookie,
}

/// Only this many bytes at the end of a name are examined.
const MAX_LENGTH: usize = 96;

/// Prefixes and suffixes of words that mean a password.
const PASSWORDS: &[&str] =
    &["password", "passwd", "passphrase", "passwort", "storepass", "keypass", "mnemonic", "pgpass"];

/// Prefixes and suffixes of words that mean a token or key.
const TOKENS: &[&str] = &[
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "api.key",
    "accesskey",
    "access_key",
    "access-key",
    "secretkey",
    "privatekey",
    "private_key",
    "private-key",
    "authkey",
    "auth_key",
    "auth-key",
    "accountkey",
    "account_key",
    "subscription-key",
    "subscription_key",
    "encryptionkey",
    "encryption_key",
    "signing_key",
    "masterkey",
    "master_key",
    "presharedkey",
    "preshared_key",
    "app_key",
    "service_key",
    "license_key",
    "client-key-data",
    "sessid",
];

/// Last words that make a name harmless even if the word before suggests a secret.
const HARMLESS: &[&str] = &[
    "name",
    "names",
    "file",
    "files",
    "path",
    "paths",
    "dir",
    "folder",
    "url",
    "uri",
    "urls",
    "endpoint",
    "env",
    "var",
    "variable",
    "length",
    "len",
    "size",
    "count",
    "counts",
    "total",
    "type",
    "types",
    "kind",
    "policy",
    "policies",
    "field",
    "fields",
    "input",
    "inputs",
    "output",
    "label",
    "labels",
    "placeholder",
    "ref",
    "refs",
    "source",
    "helper",
    "prefix",
    "suffix",
    "index",
    "idx",
    "limit",
    "limits",
    "used",
    "usage",
    "usages",
    "expiry",
    "expires",
    "expiration",
    "ttl",
    "at",
    "age",
    "provider",
    "providers",
    "manager",
    "store",
    "storage",
    "hint",
    "hints",
    "error",
    "errors",
    "message",
    "messages",
    "min",
    "max",
    "regex",
    "pattern",
    "format",
    "required",
    "enabled",
    "disabled",
    "reset",
    "change",
    "changed",
    "version",
    "rotation",
    "class",
    "classes",
    "budget",
    "budgets",
    "estimate",
    "stream",
    "tree",
    "list",
    "map",
    "set",
    "bucket",
    "scope",
    "scopes",
    "issuer",
    "strength",
    "prompt",
    "title",
    "description",
    "status",
    "state",
    "form",
    "page",
    "button",
    "link",
    "mode",
    "engine",
    "server",
    "operator",
    "userdata",
    "callback",
    "handler",
    "func",
    "client",
    "config",
    "options",
    "params",
    "parser",
    "validator",
    "generator",
    "handle",
    "flag",
    "flags",
    "privilege",
    "privileges",
];

/// Classifies `name`.
pub(super) fn read(name: &[u8]) -> Option<Name> {
    let name = &name[name.len().saturating_sub(MAX_LENGTH)..];
    let name = std::str::from_utf8(name).ok()?;
    let lower = name.to_ascii_lowercase();
    match lower.trim_matches(['-', '.']) {
        "authorization" | "proxy-authorization" => return Some(Name::Authorization),
        "cookie" => return Some(Name::Cookie),
        "set-cookie" => return Some(Name::SetCookie),
        // The current folder in any shell, and a flag in many terminals.
        "pwd" | "oldpwd" if name.chars().all(|one| one.is_ascii_uppercase()) => return None,
        "pass" | "pwd" | "pw" | "psk" | "userpwd" | "mysql_pwd" => return Some(Name::Password),
        "sessionid" if name.chars().all(|one| one.is_ascii_lowercase()) => return Some(Name::Token),
        "_auth" | "jwt" | "bearer" => return Some(Name::Token),
        "auth" | "d" => return Some(Name::Weak),
        _ => {}
    }
    if [
        "tokeniz",
        "tokenis",
        "passwordless",
        "secretar",
        "public",
        "websocket",
        "nopasswd",
        "access-control",
        "token_type",
        "tokentype",
    ]
    .iter()
    .any(|word| lower.contains(word))
    {
        return None;
    }
    // In `token.close` the last part decides.
    let (name, lower) = match lower.rsplit_once('.') {
        Some((before, last)) if !["value", "key"].contains(&last) => {
            (&name[before.len() + 1..], last.to_owned())
        }
        _ => (name, lower),
    };
    let words = words(name);
    let last = words.last().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let is_pass = words.len() > 1 && ["pass", "pwd", "pw", "psk"].contains(&&*last);
    let strong = if is_pass || PASSWORDS.iter().any(|word| lower.contains(word)) {
        Some(Name::Password)
    } else if TOKENS.iter().any(|word| lower.contains(word)) || lower.ends_with("_session") {
        Some(Name::Token)
    } else {
        None
    };
    match strong {
        Some(_) if HARMLESS.contains(&&*last) => Some(Name::Weak),
        Some(strong) => Some(strong),
        None => ["key", "keys", "auth", "jwt"].contains(&&*last).then_some(Name::Weak),
    }
}

/// Whether recordings never keep a long value after this name.
pub(super) fn is_refused(name: &[u8]) -> bool {
    const ENDS: &[&str] = &[
        "password",
        "passwd",
        "secret",
        "api_key",
        "apikey",
        "api-key",
        "access_token",
        "auth_token",
        "accesstoken",
    ];
    let lower = name.to_ascii_lowercase();
    ENDS.iter().any(|end| lower.ends_with(end.as_bytes()))
}

/// Splits a name into words: `clientSecret`, `client_secret` and `client-secret` have two.
fn words(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let mut words = Vec::new();
    let mut start = 0;
    for at in 0..=bytes.len() {
        let is_gap = bytes.get(at).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let is_case_change = at > 0
            && bytes.get(at).is_some_and(u8::is_ascii_uppercase)
            && bytes.get(at - 1).is_some_and(u8::is_ascii_lowercase);
        if is_gap || is_case_change {
            if at > start {
                words.push(&name[start..at]);
            }
            start = at + usize::from(is_gap);
        }
    }
    words
}

/// Whether a name looks like an environment variable: `DB_PASSWORD`.
pub(super) fn is_environment(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_uppercase) && !name.iter().any(u8::is_ascii_lowercase)
}

/// Whether the value of a JSON member called `name` is a secret, whatever its shape.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    matches!(read(name.as_bytes()), Some(Name::Password | Name::Token | Name::Authorization | Name::Cookie))
}

/// Whether the value of the environment variable `name` is a secret. A short number is not:
/// `MAX_OUTPUT_TOKENS=8000`.
#[must_use]
pub fn is_secret(name: &str, value: &str) -> bool {
    let number = value.len() < 8 && value.bytes().all(|byte| byte.is_ascii_digit());
    let upper = name.to_ascii_uppercase();
    !number
        && (["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| upper.contains(word))
            || is_secret_name(name))
}

#[cfg(test)]
mod tests {
    use super::{Name, is_secret, is_secret_name, read, words};

    #[test]
    fn names_are_classified() {
        for (name, expected) in [
            ("DB_PASSWORD", Some(Name::Password)),
            ("dbPass", Some(Name::Password)),
            ("Pwd", Some(Name::Password)),
            ("PWD", None),
            ("client-secret", Some(Name::Token)),
            ("clientSecret", Some(Name::Token)),
            ("x-api-key", Some(Name::Token)),
            ("access_token", Some(Name::Token)),
            ("secretName", Some(Name::Weak)),
            ("token_count", Some(Name::Weak)),
            ("primary_key", Some(Name::Weak)),
            ("tokenizer", None),
            ("public_key", None),
            ("monkey", None),
            ("Set-Cookie", Some(Name::SetCookie)),
        ] {
            assert_eq!(read(name.as_bytes()), expected, "{name}");
        }
        assert_eq!(words("aBigName_of-words"), ["a", "Big", "Name", "of", "words"]);
        assert!(
            is_secret("MY_PASSPHRASE", "x") && is_secret("A_KEY", "abc") && !is_secret("MAX_TOKENS", "8000")
        );
        assert!(is_secret_name("secrets") && !is_secret_name("secret_name"));
    }
}
