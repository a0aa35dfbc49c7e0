//! No key of config.json, config.toml and the frontmatter accepts a value of a shape that its schema doesn't have.

use super::cron::Crons;
use super::file::{File, KEYS};
use super::frontmatter;
use super::schema::{schema, settings_schema};
use super::settings::Settings;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A schema and the document that defines its references.
#[derive(Clone, Copy)]
struct Node<'a> {
    schema: &'a Value,
    root: &'a Value,
}

impl<'a> Node<'a> {
    /// The schemas that a value may have, without references.
    fn alternatives(self) -> Vec<Self> {
        let of = |schema| Self { schema, ..self };
        if let Some(path) = self.schema["$ref"].as_str() {
            return of(self.root.pointer(&path[1..]).unwrap()).alternatives();
        }
        let all = ["anyOf", "oneOf"].into_iter().filter_map(|key| self.schema[key].as_array()).flatten();
        let mut found: Vec<_> = all.flat_map(|one| of(one).alternatives()).collect();
        found.push(self);
        found
    }

    /// The kinds of values that it accepts.
    fn kinds(self) -> BTreeSet<&'static str> {
        let name = |name: &str| match name {
            "integer" => "number",
            name => ["null", "boolean", "number", "string", "array", "object"]
                .into_iter()
                .find(|kind| *kind == name)
                .unwrap(),
        };
        let mut kinds = BTreeSet::new();
        for Self { schema, .. } in self.alternatives() {
            match &schema["type"] {
                Value::String(one) => _ = kinds.insert(name(one)),
                Value::Array(all) => kinds.extend(all.iter().map(|one| name(one.as_str().unwrap()))),
                _ => {}
            }
            let words = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
            kinds.extend(words.map(kind));
        }
        assert!(!kinds.is_empty(), "{}", self.schema);
        kinds
    }

    /// The schemas of a member.
    fn member(self, key: &str) -> Vec<Self> {
        let schemas = self.alternatives().into_iter().filter_map(|one| {
            let named = one.schema["properties"].get(key);
            named.or_else(|| one.schema.get("additionalProperties").filter(|more| more.is_object()))
        });
        schemas.map(|schema| Self { schema, ..self }).collect()
    }

    /// The schemas of an element.
    fn elements(self) -> Vec<Self> {
        let schemas = self.alternatives().into_iter().filter_map(|one| one.schema.get("items"));
        schemas.map(|schema| Self { schema, ..self }).collect()
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// All orders of `members`, if they are few.
fn orders(members: &[Value]) -> Vec<Vec<Value>> {
    if members.len() > 4 {
        return Vec::new();
    }
    let mut all: Vec<Vec<Value>> = members.is_empty().then(Vec::new).into_iter().collect();
    for (index, first) in members.iter().enumerate() {
        let mut others = members.to_vec();
        others.remove(index);
        all.extend(orders(&others).into_iter().map(|rest| [vec![first.clone()], rest].concat()));
    }
    all
}

/// Calls `check` with a path and each value of a wrong shape for each value in `value`, whose schema is one of `nodes`.
fn wrong_ones(value: &Value, nodes: &[Node<'_>], path: &str, check: &mut impl FnMut(&str, Value)) {
    let accepted: BTreeSet<_> = nodes.iter().flat_map(|node| node.kinds()).collect();
    assert!(accepted.contains(kind(value)), "the sample has a wrong {path}");
    let mut shapes = vec![json!(7), json!(true), json!("x"), json!(["x"]), json!({ "x": "x" })];
    if let Value::Object(members) = value {
        shapes.push(json!([]));
        // A struct could also be read from a list of its members' values.
        let members: Vec<Value> = members.values().cloned().collect();
        shapes.extend(orders(&members).into_iter().map(Value::Array));
    }
    shapes.into_iter().filter(|shape| !accepted.contains(kind(shape))).for_each(|shape| check(path, shape));
    let inner: Vec<(String, &Value, Vec<Node<'_>>)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| {
                (key.clone(), member, nodes.iter().flat_map(|node| node.member(key)).collect())
            })
            .collect(),
        Value::Array(elements) => {
            let nodes: Vec<_> = nodes.iter().flat_map(|node| node.elements()).collect();
            elements.iter().enumerate().map(|(at, one)| (at.to_string(), one, nodes.clone())).collect()
        }
        _ => Vec::new(),
    };
    for (key, member, nodes) in inner {
        assert!(!nodes.is_empty(), "the schema has no {path}/{key}");
        wrong_ones(member, &nodes, &format!("{path}/{key}"), check);
    }
}

/// Checks that `accepts` accepts `sample`, and refuses it with any value of a wrong shape.
fn check(sample: &Value, schema: &Value, accepts: impl Fn(&Value) -> bool) {
    assert!(accepts(sample), "{sample}");
    let mut accepted = Vec::new();
    wrong_ones(sample, &[Node { schema, root: schema }], "", &mut |path, shape| {
        let mut changed = sample.clone();
        *changed.pointer_mut(path).unwrap() = shape.clone();
        if accepts(&changed) {
            accepted.push(format!("{path}: {shape}"));
        }
    });
    assert!(accepted.is_empty(), "{accepted:#?}");
}

/// The names of all members.
fn names(value: &Value, into: &mut BTreeSet<String>) {
    let object = value.as_object().into_iter().flatten();
    into.extend(object.clone().map(|(key, _)| key.clone()));
    object.for_each(|(_, member)| names(member, into));
    value.as_array().into_iter().flatten().for_each(|element| names(element, into));
}

/// The names of all properties.
fn properties(schema: &Value, into: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        into.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(members) => members.values().for_each(|member| properties(member, into)),
        Value::Array(elements) => elements.iter().for_each(|element| properties(element, into)),
        _ => {}
    }
}

fn assert_complete(samples: &[Value], schema: &Value) {
    let (mut used, mut known) = (BTreeSet::new(), BTreeSet::new());
    samples.iter().for_each(|sample| names(sample, &mut used));
    properties(schema, &mut known);
    let missing: Vec<_> = known.difference(&used).collect();
    assert!(missing.is_empty(), "the samples lack {missing:?}");
}

/// Entries that have all keys together. They are short, since each is read many times.
fn entries() -> [Value; 4] {
    [
        json!({
            "path": "/a", "name": "A", "cron": "0 9 * * *", "tz": "Europe/Berlin", "maxTurns": 3, "timeout": "5m",
            "backgroundWait": "10s", "model": "opus", "agent": ["claude", "codex"], "requires": ["mail"],
            "permissions": { "deny": ["Bash(curl *)"] }, "mcp": ["mail"], "lastRun": "2026-02-03T10:00:00Z",
            "lastRuns": { "b": "2026-02-03T10:00:00Z" },
        }),
        json!({
            "path": "/a", "permissionsChecker": "manual", "approval": "defer", "approvalWait": "2m",
            "approvalExpiry": "24h", "questions": "deny", "reserve": "30%", "onLimit": "skip", "breaker": 5,
            "retry": { "max": 3, "backoff": "1m", "maxBackoff": "5m" }, "maxBudgetUsd": 2.5, "minFree": "1GiB",
            "budget": { "day": 5, "week": "20 USD", "month": "9000000 tokens" },
        }),
        json!({
            "path": "/a", "interval": "30m", "enabled": true, "activeHours": "08:00-20:00", "except": ["12-25"],
            "jitter": "5m", "catchUp": "once", "startDeadline": "1h", "overlap": "queue",
            "on": { "path": ["src/**"] }, "startTimeout": "1m", "idleTimeout": "1m", "toolTimeout": "1m",
        }),
        json!({
            "path": "/a",
            "when": [
                { "run": ["./changed.sh", "-v"], "timeout": "5s" }, { "changed": ["src"] },
                { "git": "new-commits" }, { "url": "https://example.org" },
            ],
            "verify": [{ "run": "./check.sh" }], "gates": "workspace",
        }),
    ]
}

#[test]
fn config_json_accepts_only_values_of_the_right_shape() {
    let schema = schema().to_value();
    let total = json!({
        "maxConcurrent": 4, "reserve": "30%", "budget": { "day": 5, "week": 20, "month": "9000000 tokens" },
    });
    let mut configs: Vec<Value> = entries().map(|entry| json!({ "workspaces": [entry] })).into();
    configs.push(total);
    assert_complete(&configs, &schema);
    assert!(KEYS.iter().all(|key| entries().iter().any(|entry| entry.get(key).is_some())));
    for config in configs {
        check(&config, &schema, |config| {
            let crons = Crons::new(TimeZone::UTC);
            let file = File::parse(config.to_string().as_bytes(), Path::new("/c/config.json"), &crons);
            file.is_ok_and(|file| file.workspaces.iter().all(Result::is_ok))
        });
    }
}

#[test]
fn frontmatter_accepts_only_lists_and_mappings_where_they_belong() {
    let schema = schema().to_value();
    let entry = &schema["$defs"]["WorkspaceEntry"];
    let own = ["path", "lastRun", "lastRuns", "gates"];
    let crons = Crons::new(TimeZone::UTC);
    let accepts = |keys: &Value| {
        let keys: String = match keys {
            Value::Object(keys) => keys.iter().map(|(key, value)| format!("{key}: {value}\n")).collect(),
            other => format!("{other}\n"),
        };
        frontmatter::split(format!("---\n{keys}---\nDo it.").as_bytes(), &crons).is_ok()
    };
    for mut sample in entries() {
        let keys = sample.as_object_mut().unwrap();
        keys.retain(|key, _| !own.contains(&key.as_str()));
        if let Some(agent) = keys.get_mut("agent") {
            *agent = json!("claude");
        }
        assert!(accepts(&sample), "{sample}");
        let mut accepted = Vec::new();
        let node = Node { schema: entry, root: &schema };
        wrong_ones(&sample, &[node], "", &mut |path, shape| {
            let mut changed = sample.clone();
            *changed.pointer_mut(path).unwrap() = shape.clone();
            if (shape.is_array() || shape.is_object()) && accepts(&changed) {
                accepted.push(format!("{path}: {shape}"));
            }
        });
        assert!(accepted.is_empty(), "{accepted:#?}");
    }
}

/// The value in TOML, on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(elements) => format!("[{}]", elements.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(key, member)| format!("{key} = {}", inline(member))).collect();
            format!("{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}

#[test]
fn config_toml_accepts_only_values_of_the_right_shape() {
    let schema = settings_schema().to_value();
    let channel = |keys: Value| json!({ "notify": { "channels": { "a": keys } } });
    let url = "https://example.org";
    let all = [
        json!({
            "permissions-checker": "llm", "approval": "defer", "approval-wait": "90s", "approval-expiry": "2d",
            "questions": "deny", "agent": "acp:mine",
            "acp": { "mine": { "command": "mine", "args": ["acp"], "env": { "A": "b" }, "offer": ["fs"] } },
        }),
        json!({
            "quiet": { "stale": "5m", "warning": "15m", "stuck": "1h" },
            "captures": { "keep": "3d", "keep-failed": "9d", "max": "1GiB", "max-per-run": "2MiB" },
            "llm_auth": { "provider": "openai", "model": "small" },
            "providers": {
                "openai": { "api-key": "sk", "base-url": url },
                "anthropic": { "api-key-file": "/run/secrets/anthropic" },
            },
        }),
        json!({ "notify": {
            "when": ["attention"], "cooldown": "10m", "quiet-hours": "22:00-07:00", "digest": "08:00", "ping": url,
            "heartbeats": { "site": { "when": ["error"], "channels": ["a"], "ping": url } },
            "channels": { "a": { "type": "desktop", "when": ["error"] } },
        } }),
        channel(json!({ "type": "command", "when": ["error"], "command": ["apprise", "-v"] })),
        channel(
            json!({ "type": "webhook", "when": ["error"], "url": url, "format": "slack", "secret": "s" }),
        ),
        channel(json!({ "type": "webhook", "url": url, "secret-file": "s" })),
        channel(json!({
            "type": "ntfy", "when": ["error"], "server": url, "topic": "mine", "token": "t", "answers": "back",
        })),
        channel(json!({ "type": "ntfy", "topic": "mine", "token-file": "t" })),
        channel(json!({
            "type": "telegram", "when": ["error"], "server": url, "token": "t", "chat": 1, "senders": [1],
        })),
        channel(json!({ "type": "telegram", "token-file": "t", "chat": 1 })),
        channel(
            json!({ "type": "email", "when": ["error"], "to": "me@example.org", "sendmail": "/sendmail" }),
        ),
    ];
    assert_complete(&all, &schema);
    for settings in all {
        check(&settings, &schema, |settings| {
            let Some(keys) = settings.as_object() else { return false };
            let line = |(key, value): (&String, &Value)| format!("{key} = {}\n", inline(value));
            let text: String = keys.iter().map(line).collect();
            let read = Settings::parse(text.as_bytes(), Path::new("/c/config.toml"));
            read.is_ok_and(|settings| settings.wrong.failures().is_empty())
        });
    }
}
