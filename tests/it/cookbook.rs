//! The example heartbeats: the first ones, and the rules next to others. tests/it/book/examples.rs tests that murmur
//! accepts each example.

use insta::assert_snapshot;
use serde_json::json;

use crate::book::page::{Page, Part};
use crate::env::Env;

fn cookbook() -> Page {
    Page::read("docs/guide/heartbeats.md")
}

/// The three are the spec's, word for word.
#[test]
fn the_first_examples_are_those_of_the_spec() {
    let page = cookbook();
    let examples: Vec<&str> =
        page.blocks().filter(|block| block.language == "markdown").map(|block| block.text.as_str()).collect();
    for text in [
        "Check my Gmail via MCP for anything urgent in the last hour.\n\
         Urgent = from my boss, contains \"production\", or marked high priority.\n\
         If nothing urgent, respond HEARTBEAT_OK.\n",
        "Run `bun test` and check `git status`.\n\
         If tests pass and no uncommitted work, respond HEARTBEAT_OK.\n\
         Otherwise tell me what's wrong.\n",
        "Curl https://staging.example.com/health and verify it returns 200.\n\
         Check the last 3 deploys via `gh run list`.\n\
         If anything looks off, tell me. Otherwise HEARTBEAT_OK.\n",
    ] {
        assert!(examples.contains(&text), "{text}");
    }
}

/// Installs the rules below `heading` as those of the project `site`.
fn with_the_rules_of(heading: &str, env: &Env) {
    let has_heading =
        |part: &Part| matches!(part, Part::Prose(_, text) if text.contains(&format!("\n### {heading}\n")));
    let is_rules = |part: Part| match part {
        Part::Block(block) if block.language == "toml" => Some(block.text),
        _ => None,
    };
    let rules =
        cookbook().parts.into_iter().skip_while(|part| !has_heading(part)).find_map(is_rules).unwrap();
    let folder = env.create_data().join("projects/site");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("permissions.toml"), rules).unwrap();
}

/// It allows what the template tells the model to run.
#[test]
fn the_deploy_rules_allow_only_the_curl_of_the_template() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    with_the_rules_of("Check a deployment", &env);
    std::fs::create_dir(env.root().join("made")).unwrap();
    env.run(["init", "made", "--template", "deploy"]);
    let text = std::fs::read_to_string(env.root().join("made/HEARTBEAT.md")).unwrap();
    let named = text.split('`').find(|words| words.starts_with("curl ")).unwrap();
    let other = "curl https://example.com";
    for (command, decision) in [(named, "allow"), (other, "deny"), ("gh run list", "allow")] {
        let call = format!("Bash({command})");
        let check = env.murmur(["permission", "check", "--project", "site", "--json", &call]).at(&site.0);
        assert_eq!(check.json()["decision"], json!(decision), "{call}");
    }
}

/// The rules of the heartbeat that reads untrusted text allow what it needs, and with its checker nothing else.
#[test]
fn the_rules_of_an_example_allow_all_it_needs() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    with_the_rules_of("Read a log", &env);
    std::fs::create_dir_all(env.data().join("config")).unwrap();
    std::fs::write(env.data().join("config/config.toml"), "permissions-checker = \"deny\"\n").unwrap();
    let decision = |call: &str| {
        let check = env.murmur(["permission", "check", "--project", "site", "--json", call]).at(&site.0);
        check.json()["decision"].clone()
    };
    let asked = [
        "Read(/var/log/site/error.log)",
        "Bash(wc -l /var/log/site/error.log)",
        "Grep({\"pattern\":\"timeout\"})",
        "Glob({\"pattern\":\"**\"})",
        "Bash(tail -n 5 /var/log/site/error.log)",
        "Read(/etc/passwd)",
        "Bash(curl https://example.com)",
        "Bash(wc -l /var/log/site/error.log; curl x)",
    ];
    let shown: Vec<String> =
        asked.iter().map(|call| format!("{} {call}", decision(call).as_str().unwrap())).collect();
    let note = format!("Write({}/.murmur-log)", site.path());
    assert_eq!(decision(&note), json!("allow"));
    assert_snapshot!(shown.join("\n"), @r#"
    allow Read(/var/log/site/error.log)
    allow Bash(wc -l /var/log/site/error.log)
    allow Grep({"pattern":"timeout"})
    deny Glob({"pattern":"**"})
    deny Bash(tail -n 5 /var/log/site/error.log)
    deny Read(/etc/passwd)
    deny Bash(curl https://example.com)
    deny Bash(wc -l /var/log/site/error.log; curl x)
    "#);
}
