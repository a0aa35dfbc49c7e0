//! The examples in documents: JSON, TOML and YAML parse, and murmur accepts configurations without a message.

use jiff::tz::TimeZone;
use murmur_core::config::heartbeat::Cache;
use serde_json::Value;
use sys::clock;

use super::page::{Block, Page, documents};
use crate::env::Env;

/// Every block of a language, in all documents, with its position.
fn blocks(language: &str) -> Vec<(String, String)> {
    let pages: Vec<Page> = documents().iter().map(|name| Page::read(name)).collect();
    let place = |page: &Page, block: &Block| format!("{}:{}", page.name, block.line);
    let of = |page: &Page| {
        let wanted = page.blocks().filter(|block| block.language == language);
        wanted.map(|block| (place(page, block), block.text.clone())).collect::<Vec<_>>()
    };
    pages.iter().flat_map(of).collect()
}

/// One JSON value, or one per line.
fn json(text: &str) -> serde_json::Result<Vec<Value>> {
    serde_json::from_str(text)
        .map(|value| vec![value])
        .or_else(|_| text.lines().filter(|line| !line.is_empty()).map(serde_json::from_str).collect())
}

/// JSON without its comments, `// …` to the end of the line.
fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    for line in text.lines() {
        let mut quoted = false;
        let mut before = ' ';
        let comment = line.char_indices().position(|(_, character)| {
            quoted ^= character == '"' && before != '\\';
            let begins = !quoted && before == '/' && character == '/';
            before = character;
            begins
        });
        plain.extend(line.chars().take(comment.map_or(usize::MAX, |second| second - 1)));
        plain.push('\n');
    }
    plain
}

/// Whether the block configures workspaces, as config.json does.
fn is_config(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value["workspaces"].is_array())
}

/// The complaints about a text in its usual place, by `murmur` with these arguments; empty if none.
fn complaints(env: &Env, place: &str, args: &[&str]) -> String {
    let output = env.murmur(args).output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() && said.is_empty() {
        said
    } else {
        format!("{place}: {} {said}\n", output.status)
    }
}

#[test]
fn every_example_parses() {
    let mut wrong = String::new();
    let mut hold = |blocks: Vec<(String, String)>, parse: &dyn Fn(&str) -> Result<(), String>| {
        for (place, text) in blocks {
            if let Err(error) = parse(&text) {
                wrong += &format!("{place}: {error}\n");
            }
        }
    };
    let text_of = |error: &dyn std::error::Error| error.to_string();
    hold(blocks("json"), &|text| json(text).map(drop).map_err(|error| text_of(&error)));
    hold(blocks("jsonc"), &|text| json(&without_comments(text)).map(drop).map_err(|error| text_of(&error)));
    hold(blocks("toml"), &|text| toml::from_str::<Value>(text).map(drop).map_err(|error| text_of(&error)));
    hold(blocks("yaml"), &|text| {
        serde_saphyr::from_multiple::<Value>(text).map(drop).map_err(|error| text_of(&error))
    });
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn murmur_accepts_every_config_json() {
    let mut wrong = String::new();
    for (place, text) in blocks("json").into_iter().filter(|(_, text)| is_config(text)) {
        let env = Env::new();
        let text = text.replace("/home/me", env.home().to_str().unwrap());
        for workspace in json(&text).unwrap()[0]["workspaces"].as_array().unwrap() {
            let folder = workspace["path"].as_str().unwrap();
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(format!("{folder}/HEARTBEAT.md"), "Look.\n").unwrap();
        }
        env.configure(&text);
        wrong += &complaints(&env, &place, &["workspaces", "list"]);
        let list = env.murmur(["workspaces", "list", "--json"]).json();
        let heartbeats = list["heartbeats"].as_array().unwrap();
        let problems = heartbeats.iter().map(|heartbeat| &heartbeat["problem"]).filter(|one| !one.is_null());
        for problem in problems.chain(list["problems"].as_array().unwrap()) {
            wrong += &format!("{place}: {problem}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn murmur_accepts_every_toml() {
    let mut wrong = String::new();
    for (place, text) in blocks("toml") {
        let env = Env::new();
        let is_rules = toml::from_str::<Value>(&text)
            .is_ok_and(|value| value.get("rules").is_some() || value.get("manager").is_some());
        let folder = env.create_data().join("config");
        std::fs::create_dir_all(&folder).unwrap();
        let name = if is_rules { "permissions.toml" } else { "config.toml" };
        std::fs::write(folder.join(name), text).unwrap();
        wrong += &complaints(&env, &place, &["permission", "rules"]);
        wrong += &complaints(&env, &place, &["agents"]);
        let checked = env.murmur(["permission", "check", "Bash(ls)", "--json"]).json();
        if checked["by"]["kind"] == "failure" {
            wrong += &format!("{place}: {}\n", checked["reason"]);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Every `markdown` block is a HEARTBEAT.md.
#[test]
fn murmur_accepts_and_sends_every_heartbeat() {
    let env = Env::new();
    let examples = blocks("markdown");
    let site = |(place, text): &(String, String)| env.workspace(&place.replace('/', "-"), text);
    let sites: Vec<_> = examples.iter().map(site).collect();
    env.register(&sites.iter().collect::<Vec<_>>());
    let loaded = Cache::new(TimeZone::UTC).load(&env.data().join("config.json"), clock::now()).unwrap();
    assert_eq!((loaded.problems, loaded.warnings), (vec![], vec![]));
    let wrong: Vec<_> = loaded.heartbeats.iter().filter_map(|heartbeat| heartbeat.problem.as_ref()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(loaded.heartbeats.len(), examples.len());
    for (site, (place, text)) in sites.iter().zip(&examples) {
        let args = ["beat", "--dry-run", site.path()];
        assert_eq!(complaints(&env, place, &args), "");
        let sent = text.rsplit("---\n").next().unwrap();
        assert!(env.run(args).contains(sent), "{place}: {sent}");
    }
    let of_the_cookbook = examples.iter().filter(|(place, _)| place.starts_with("docs/guide/heartbeats.md:"));
    assert!(of_the_cookbook.count() > 8, "the cookbook has the spec's three examples and many more");
}

#[cfg(test)]
mod tests {
    use super::{is_config, json, without_comments};

    #[test]
    fn json_blocks_have_one_value_or_one_per_line() {
        assert_eq!(json("{\n\"a\": 1\n}").unwrap().len(), 1);
        assert_eq!(json("{}\n\n[]\n").unwrap().len(), 2);
        assert!(json("{}\n{\n").is_err() && json("{'a':1}").is_err());
        assert!(is_config(r#"{"workspaces":[]}"#) && !is_config("{}\n{}"));
    }

    #[test]
    fn json_comments_start_outside_strings_and_end_with_the_line() {
        let text = "{ // é a\n\"u\": \"http://x\\\"//\" } // b\n";
        assert_eq!(without_comments(text), "{ \n\"u\": \"http://x\\\"//\" } \n");
    }
}
