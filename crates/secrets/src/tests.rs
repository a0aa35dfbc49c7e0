//! Tests of masking, of text that must stay, and of the amount of work.

pub(crate) mod ordinary;
mod properties;
pub(crate) mod shapes;

use super::mask;

#[test]
fn secrets_are_masked_by_shape_and_by_name() {
    for (text, masked) in [
        ("curl -H 'Authorization: Bearer abcdef0123456789abcd'", "curl -H 'Authorization: Bearer [removed]'"),
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
fn text_without_secrets_is_unchanged() {
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
