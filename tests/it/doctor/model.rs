//! What the doctor reports if a model decides.

use serde_json::json;

use super::{finding, write};
use crate::env::Env;

#[test]
fn an_unusable_model_is_a_failure() {
    let env = Env::new();
    let folder = env.create_data().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    let of = |text: &str| {
        write(&folder.join("config.toml"), &format!("permissions-checker = \"llm\"\n{text}"), 0o600);
        let found = finding(&env, "config.toml");
        let field = |name: &str| {
            found[name].as_str().unwrap_or_default().replace(&folder.display().to_string(), "DIR")
        };
        format!("{}: {}: {}", field("level"), field("found"), field("hint"))
    };
    let llm = |more: &str| {
        format!("[llm_auth]\nprovider = \"openai\"\nmodel = \"m\"\n[providers.openai]\n{more}\n")
    };
    let never = "calls are denied because no model can be asked: ";
    assert_eq!(of(""), format!("fail: {never}no model is configured: add [llm_auth] to DIR/config.toml"));
    let none = of(&llm("api-key-file = \"/nope/key\""));
    assert!(none.starts_with(&format!("fail: {never}cannot read key file /nope/key: ")), "{none}");
    assert!(none.ends_with(": correct its path in config.toml, or create the file"), "{none}");
    write(&folder.join("key"), "sk-very-secret", 0o644);
    let open = of(&llm("api-key-file = \"key\""));
    assert_eq!(
        open,
        format!(
            "fail: {never}key file DIR/key is accessible to other users (mode 0644): run: chmod 600 DIR/key"
        )
    );
    // Another environment may have it.
    assert!(
        of(&llm("")).starts_with(&format!("warn: {never}there is no key for openai: ")),
        "{}",
        of(&llm(""))
    );
    write(&folder.join("key"), "sk-very-secret", 0o600);
    assert_eq!(of(&llm("api-key-file = \"key\"")), "ok: DIR/config.toml; model: openai/m: ");
}

#[test]
fn a_heartbeat_that_uses_a_model_needs_a_usable_one_too() {
    let env = Env::new();
    let site = env.workspace("site", "---\npermissionsChecker: llm\n---\nLook.");
    env.configure(&json!({ "workspaces": [{ "path": site.path(), "interval": "1h" }] }).to_string());
    let found = finding(&env, "config.toml");
    assert_eq!(found["level"], "fail", "{found}");
}
