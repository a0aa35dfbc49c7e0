//! The examples in docs/: every `markdown` block there is a HEARTBEAT.md, and murmur runs it as it stands.

use insta::assert_snapshot;
use jiff::tz::TimeZone;
use murmur::config::heartbeat::Cache;
use murmur::sys::clock;
use serde_json::json;

use crate::env::Env;

/// Each example, with the page and the line that it is in.
fn examples() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
    let mut pages: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let mut examples = Vec::new();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        let text = std::fs::read_to_string(page).unwrap();
        let mut lines = text.lines().zip(1..);
        while let Some((line, number)) = lines.next() {
            if line == "```markdown" {
                let block: Vec<&str> =
                    lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```").collect();
                let name = page.file_name().unwrap().to_str().unwrap();
                examples.push((format!("{name}-{number}"), block.join("\n") + "\n"));
            }
        }
    }
    examples
}

#[test]
fn every_example_of_a_heartbeat_is_loaded_and_could_be_run() {
    let env = Env::new();
    let examples = examples();
    let sites: Vec<_> = examples.iter().map(|(name, text)| env.workspace(name, text)).collect();
    env.register(&sites.iter().collect::<Vec<_>>());
    let config = env.data().join("config.json");
    let loaded = Cache::new(TimeZone::UTC).load(&config, clock::now()).unwrap();
    assert_eq!((loaded.problems, loaded.warnings), (vec![], vec![]));
    let wrong: Vec<_> = loaded.heartbeats.iter().filter_map(|heartbeat| heartbeat.problem.as_ref()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(loaded.heartbeats.len(), examples.len());
    for (site, (name, text)) in sites.iter().zip(&examples) {
        let shown = env.run(["beat", "--dry-run", site.path()]);
        let sent = text.rsplit("---\n").next().unwrap();
        assert!(shown.ends_with("[exit 0]") && shown.contains(sent), "{name}: {shown}");
    }
    let of_the_cookbook = examples.iter().filter(|(name, _)| name.starts_with("heartbeats.md"));
    assert!(of_the_cookbook.count() > 10, "the cookbook has the spec's three examples and many more");
}

/// The three are those that murmur was begun with, to the word.
#[test]
fn the_first_examples_are_the_specs() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/heartbeats.md")).unwrap();
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
        assert!(page.contains(&format!("```markdown\n{text}```\n")), "{text}");
    }
}

/// The rules that the cookbook has below `heading`, as those of the project `site`.
fn with_the_rules_of(heading: &str, env: &Env) {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/heartbeats.md")).unwrap();
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let rules = section.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = env.made_data().join("projects/site");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("permissions.toml"), rules).unwrap();
}

/// What it allows is what the template tells the model to run.
#[test]
fn the_rules_of_a_deploy_allow_the_one_curl_that_its_template_names() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    with_the_rules_of("A deploy", &env);
    std::fs::create_dir(env.root().join("made")).unwrap();
    env.run(["init", "made", "--template", "deploy"]);
    let text = std::fs::read_to_string(env.root().join("made/HEARTBEAT.md")).unwrap();
    let named = text.split('`').find(|words| words.starts_with("curl ")).unwrap();
    let other = "curl https://example.com";
    for (command, verdict) in [(named, "allow"), (other, "deny"), ("gh run list", "allow")] {
        let call = format!("Bash({command})");
        let check = env.murmur(["permission", "check", "--project", "site", "--json", &call]).at(&site.0);
        assert_eq!(check.json()["verdict"], json!(verdict), "{call}");
    }
}

/// The rules of the heartbeat that reads what strangers wrote allow what it needs, and with its checker nothing else.
#[test]
fn the_rules_beside_an_example_are_enough_for_it() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    with_the_rules_of("Triage of a log", &env);
    std::fs::create_dir_all(env.data().join("config")).unwrap();
    std::fs::write(env.data().join("config/config.toml"), "permissions-checker = \"deny\"\n").unwrap();
    let verdict = |call: &str| {
        let check = env.murmur(["permission", "check", "--project", "site", "--json", call]).at(&site.0);
        check.json()["verdict"].clone()
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
        asked.iter().map(|call| format!("{} {call}", verdict(call).as_str().unwrap())).collect();
    let note = format!("Write({}/.murmur-log)", site.path());
    assert_eq!(verdict(&note), json!("allow"));
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
