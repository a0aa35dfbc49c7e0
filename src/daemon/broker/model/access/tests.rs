use super::*;
use std::os::unix::fs::PermissionsExt;
use sys::error::Hinted;

/// Finds the access with config.toml `text` and a key file `key` with this content and mode.
fn find(text: &str, key: Option<(&str, u32)>) -> Result<Access, String> {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("config.toml");
    std::fs::write(&settings, text).unwrap();
    if let Some((key, mode)) = key {
        let path = folder.path().join("key");
        std::fs::write(&path, key).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let keys = BTreeMap::from([(Provider::Openai, Secret::new("of-environment".to_owned()))]);
    let shown = folder.path().display().to_string();
    Access::find(&settings, &keys).map_err(|error| error.line().replace(&shown, ""))
}

fn of(provider: &str, more: &str) -> String {
    format!("[llm_auth]\nprovider = \"{provider}\"\nmodel = \"m\"\n[providers.{provider}]\n{more}\n")
}

#[test]
fn a_key_comes_from_the_settings_or_a_key_file_or_the_environment() {
    for (text, key, expected) in [
        (of("openai", "api-key = \" sk-1\""), None, "sk-1"),
        (of("openai", ""), None, "of-environment"),
        (of("anthropic", "api-key-file = \"key\""), Some(("sk-2\n", 0o600)), "sk-2"),
        (of("openai", "api-key-file = \"key\""), Some(("sk-3\r\n", 0o400)), "sk-3"),
    ] {
        assert_eq!(find(&text, key).unwrap().key.reveal(), expected, "{text}");
    }
    let access = find(&of("openai", "api-key = \"sk-secret\"\nbase-url = \"https://h:1/x/\""), None).unwrap();
    assert_eq!(
        (access.to_string().as_str(), access.url.as_str()),
        ("openai/m", "https://h:1/x/chat/completions")
    );
    assert!(!format!("{access:?}").contains("secret"));
}

#[test]
fn without_a_model_key_or_valid_url_no_model_is_asked() {
    for (text, key, expected) in [
        ("", None, "no model is configured; add [llm_auth] to /config.toml"),
        ("approval = 1", None, "/config.toml:1:12: "),
        (
            &of("anthropic", ""),
            None,
            "there is no key for anthropic; add api-key-file to [providers.anthropic] in /config.toml, or start the daemon with ANTHROPIC_API_KEY",
        ),
        (&of("anthropic", "api-key = \" \""), None, "there is no key for anthropic"),
        (&of("openai", "api-key-file = \"key\""), Some(("\n", 0o600)), "there is no key for openai"),
        (&of("openai", "api-key-file = \"key\""), None, "cannot read key file /key: No such"),
        (&of("openai", "api-key-file = \".\""), None, "key file /. is not a regular file of at most"),
        (
            &of("openai", "api-key-file = \"key\""),
            Some(("sk-secret", 0o640)),
            "key file /key is accessible to other users (mode 0640); run: chmod 600 /key",
        ),
        (&of("openai", "api-key-file = \"key\""), Some(("sk-secret", 0o604)), "key file /key is accessible"),
        (
            &of("openai", "api-key-file = \"key\""),
            Some((&"k".repeat(5000), 0o600)),
            "key file /key is not a regular file of at most 4096 bytes",
        ),
        (
            &of("openai", "api-key-file = \"key\""),
            Some(("sk-secret\r\nx-evil: 1", 0o600)),
            "the key for openai must be a single printable line; enter the key again",
        ),
        (
            &of("openai", "api-key = \"k\"\nbase-url = \"ftp://h\""),
            None,
            "/config.toml: [providers.openai] base-url: not a valid URL; write it as \"https://host\"",
        ),
    ] {
        let error = find(text, key).unwrap_err();
        assert!(error.starts_with(expected) && !error.contains("sk-secret"), "{text}: {error}");
    }
}

#[test]
fn a_fifo_in_place_of_a_key_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    sys::fifo::make(&path).unwrap();
    assert!(matches!(secret_file::read(&path), Err(SecretFileError::NotAFile(_))));
}
