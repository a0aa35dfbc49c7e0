use crate::config::settings::{Settings, SettingsError, WrongTables};
use std::path::Path;
use sys::error::Failure;

/// Every line about a config.toml: what denies calls first, then the rest with what it means.
fn lines(text: &str) -> Vec<String> {
    let read = Settings::parse(text.as_bytes(), Path::new("/c"));
    let denying = read.as_ref().err().map(SettingsError::all).unwrap_or_default();
    let others = WrongTables::of(&read);
    denying.iter().chain(&others).map(Failure::line).collect()
}

#[test]
fn every_mistake_in_config_toml_is_reported_in_its_place() {
    let text = "\
permissions-checker = \"of\"
approval-wait = 5
aproval = \"wait\"
agent = \"acp:mine\" # configured below
captures.keep = \"2 years\"
captures.max = \"5GB\"

[quiet]
stale = \"0s\"
stuk = \"1h\"

[llm_auth]
provider = \"other\"
model = \"x\"

[providers.openai]
api-key = \"sk-x\"
api-key-file = \"k\"

[acp.mine]
command = \"a b\"
offer = [\"fs\", \"net\"]
env = { \"A=B\" = \"1\" }

[notify]
when = [
    \"error\",
    \"errors\",
]
cooldown = \"ten\"

[notify.channels.phone]
type = \"ntfy\"
topic = \"a b\"

[notify.heartbeats.site]
channels = [\"phone\", \"fone\"]
";
    let said: Vec<String> =
        lines(text).iter().map(|line| line.split(';').next().unwrap_or_default().to_owned()).collect();
    assert_eq!(
        said,
        [
            "/c:1:23: \"permissions-checker\": \"of\" is not known",
            "/c:2:17: \"approval-wait\" cannot be a number",
            "/c:3:1: unknown key \"aproval\"",
            "/c:13:12: \"provider\": \"other\" is not known",
            "/c:17:11: both \"api-key\" and \"api-key-file\" are given",
            "/c:21:11: \"command\" \"a b\" is neither a name nor an absolute path",
            "/c:22:9: \"offer\" has \"net\", which is not known",
            "/c:23:7: \"env\" has \"A=B\", which cannot name a variable",
            "no capture is removed: /c:5:17: \"captures.keep\": \"2 years\" is not an interval",
            "no capture is removed: /c:6:16: \"captures.max\": \"5GB\" is not a size",
            "the default times apply: /c:9:9: \"stale\": \"0s\" is too short",
            "the default times apply: /c:10:1: unknown key \"stuk\"",
            "notifications do not change: /c:28:5: \"when\": \"errors\" is not known",
            "notifications do not change: /c:30:12: \"cooldown\": \"ten\" is not an interval",
            "notifications do not change: /c:34:9: \"topic\" is not the name of a topic",
            "notifications do not change: /c:37:22: \"channels\": there is no channel \"fone\"",
        ]
    );
}

#[test]
fn what_follows_from_a_mistake_is_none() {
    for (text, expected) in [
        ("[llm_auth]\nprovidr = \"openai\"\nmodel = \"x\"", "/c:2:1: unknown key \"providr\"; did you mean"),
        (
            "[acp.mine]\ncommand = 5\nargs = [\"a\"]",
            "/c:2:11: \"command\" cannot be a number; write a string in quotes",
        ),
        ("[quiet]\nstale = \"x\"\nwarning = \"1m\"", "the default times apply: /c:2:9: \"stale\":"),
        ("[notify.channels.x]\ntopic = \"y\"", "notifications do not change: /c:1:1: \"type\" is missing"),
        ("approval = \"wait", "/c:1:17: the string is not closed; write \" at its end"),
        ("\u{feff}approval = \"ä\" # ä", "/c:1:12: \"approval\": \"ä\" is not known"),
    ] {
        let said = lines(text);
        assert!(said.len() == 1 && said[0].starts_with(expected), "{text}: {said:#?}");
    }
}

#[test]
fn a_value_of_the_wrong_type_is_not_shown_and_says_what_is_accepted() {
    let channel = "[notify.channels.c]\ntype = \"webhook\"\n";
    for (text, expected) in [
        (
            "[providers.openai]\napi-key = [\"sk-x\"]",
            "/c:2:11: \"api-key\" cannot be a list; write a string in quotes",
        ),
        ("questions = [\"deny\"]", "/c:1:13: \"questions\" cannot be a list; write \"broker\" or \"deny\""),
        (
            "[llm_auth]\nprovider = 5\nmodel = \"m\"",
            "/c:2:12: \"provider\" cannot be a number; write \"anthropic\" or",
        ),
        (
            "[acp.c]\ncommand = \"c\"\nargs = [\"a\", 5]",
            "/c:3:14: \"args\" cannot contain a number; write a string in",
        ),
        (
            "[captures]\nmax = 1979-05-27",
            "no capture is removed: /c:2:7: \"max\" cannot be a date or time; write a whole",
        ),
        (
            "[quiet]\nstale = 99999999999999999999",
            "the default times apply: /c:2:9: \"stale\" cannot be a number; write a time",
        ),
        (
            "[notify]\nquiet-hours = 22",
            "notifications do not change: /c:2:15: \"quiet-hours\" cannot be a number; write days,",
        ),
        (
            &format!("{channel}url = [\"https://x/secret\"]"),
            "notifications do not change: /c:3:7: \"url\" cannot be a list; write",
        ),
        (
            &format!("{channel}url = 1979-05-27"),
            "notifications do not change: /c:3:7: \"url\" cannot be a date or time; write a string",
        ),
        (
            &format!("{channel}url = \"https://x\"\nwhen = [\"error\", 5]"),
            "notifications do not change: /c:4:18: \"when\" cannot contain a number; write a list of events",
        ),
        (
            &format!("{channel}url = \"https://x\"\nwhen = [\"error\", \"errors\"]"),
            "notifications do not change: /c:4:18: \"when\": \"errors\" is not known; write \"attention\"",
        ),
        (
            "[notify.channels.c]\ntype = \"command\"\ncommand = [\"a\", 5]",
            "notifications do not change: /c:3:17: \"command\" cannot contain a number; write a string in",
        ),
        (
            "[notify.channels.c]\ntype = \"telegram\"\ntoken = \"t\"\nchat = \"me\"\nsenders = [1]",
            "notifications do not change: /c:4:8: \"chat\" cannot be a string; write a whole number",
        ),
        (
            "[notify.channels.c]\ntype = \"telegram\"\ntoken = \"t\"\nchat = 1\nsenders = [1, \"me\"]",
            "notifications do not change: /c:5:15: \"senders\" cannot contain a string; write a list of",
        ),
        (
            "notify.channels.c = { type = \"desktop\", url = 5 }",
            "notifications do not change: /c:1:41: \"notify.channels.c\": unknown key \"url\"; use one of when",
        ),
        (
            "notify.channels.c = 5",
            "notifications do not change: /c:1:21: \"notify.channels.c\" cannot be a number; write a table with",
        ),
        (
            "[notify.channels.c]\ntype = 5",
            "notifications do not change: /c:2:8: \"type\" cannot be a number; write \"command\", \"desktop\"",
        ),
        (
            &format!("{channel}url = 5"),
            "notifications do not change: /c:3:7: \"url\" cannot be a number; write a string",
        ),
    ] {
        let said = lines(text);
        assert!(said.len() == 1 && said[0].starts_with(expected), "{text}: {said:#?}");
    }
}

#[test]
fn many_mistakes_end() {
    let text: String = (0..500).map(|index| format!("key{index} = 1\n")).collect();
    assert_eq!(lines(&text).len(), 64);
}
