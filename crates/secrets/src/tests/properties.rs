//! Properties for arbitrary text: masking is idempotent, never fails, and takes linear time.

use proptest::prelude::{any, prop, prop_oneof, proptest};
use proptest::strategy::Strategy;

use super::super::mask;
use super::super::samples::{in_context, tokens};
use super::super::scan::scan;
use super::super::text::Text;

/// Text composed of parts that the scanner looks for.
fn text() -> impl Strategy<Value = String> {
    let parts = [
        "password",
        "token",
        "secret",
        "=",
        ": ",
        "\"",
        "'",
        "\\\"",
        "\\n",
        "\n",
        " ",
        "-p",
        "-u ",
        "mysql ",
        "://",
        "@",
        "/",
        "ghp_",
        "sk-ant-",
        "eyJ",
        ".",
        "-----BEGIN ",
        "PRIVATE KEY",
        "-----",
        "Bearer ",
        "Authorization: ",
        "Cookie: ",
        "[removed]",
        "$",
        "{",
        "<",
        ">",
        "ünï",
        "aB3dE5fG7hI9jK1lM3nO5pQ7",
        "0123456789abcdef0123456789abcdef",
        "--",
        "echo ",
        "| sudo -S",
        "value=",
        "login ",
        "config set ",
        "hunter2",
        "is ",
        ",",
    ];
    let part = prop_oneof![
        8 => prop::sample::select(parts.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn masking_is_idempotent_and_bounded_in_size(text in text()) {
        let masked = mask(&text);
        assert_eq!(mask(&masked), masked, "{text:?}");
        assert!(masked.len() <= 9 * text.len(), "{text:?}");
    }
}

#[test]
fn masked_text_is_unchanged() {
    for text in
        in_context().into_iter().map(|(text, _)| text).chain(tokens().into_iter().map(|(_, token)| token))
    {
        let masked = mask(&text);
        assert_eq!(mask(&masked), masked, "{text}");
    }
}

#[test]
fn hostile_text_takes_linear_time() {
    const SIZE: usize = 1 << 15;
    let parts = [
        "a",
        "-",
        "a-",
        "a.",
        "ghp_",
        "github_pat_",
        "eyJaaaaaaaaaa.",
        "eyJaaaaaaaaaa-",
        "eyJaaaaaaaaaa.eyJaaaaaaaaaa.!",
        "password=",
        "password=\"",
        "password='a",
        "password: \\\"",
        "\"password\": ",
        "token ",
        "token is ",
        "://",
        "://a",
        "://a:",
        "://a:b",
        "a://:@",
        "mysql ",
        "mysql -p ",
        "curl -u ",
        "-u ",
        "-p",
        "- ",
        "docker ",
        "\\",
        "\\n",
        "\\\\n",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY",
        "-----END ",
        "---- BEGIN ",
        "Private-Lines: 1\n",
        "Authorization: ",
        "Authorization: Bearer ",
        "Cookie: a=",
        "Set-Cookie: a=",
        "Bearer ",
        "basic ",
        "echo ",
        "echo | ",
        "by ",
        "+ASt",
        "1Q~",
        "atlasv1.",
        "12345678:",
        "'",
        "\"",
        "`",
        "M123456789012345678901234.",
        "s.",
        "1/",
        "/user:a ",
        "htpasswd ",
        "sqlplus ",
        "password password",
        "<password>",
        "aB3",
        "0123456789abcdef",
        "=",
        ":",
        "ü",
        "SG.aaaaaaaaaaaaaaaaaa.",
    ];
    let mut wrong = Vec::new();
    for part in parts {
        for text in [part.repeat(SIZE / part.len()), format!("password=\"{}", part.repeat(SIZE / part.len()))]
        {
            let text = Text::new(text.as_bytes());
            let _places = scan(&text);
            if text.accesses() > 100 * SIZE {
                wrong.push(format!("{part:?}: {} accesses per byte", text.accesses() / SIZE));
            }
        }
    }
    // All parts in turn, one megabyte.
    let all = parts.concat();
    let mixed = all.repeat((1 << 20) / all.len() + 1);
    let text = Text::new(mixed.as_bytes());
    let _places = scan(&text);
    if text.accesses() > 100 * mixed.len() {
        wrong.push(format!("all: {} accesses per byte", text.accesses() / mixed.len()));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
