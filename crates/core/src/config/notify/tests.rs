use super::*;
use crate::config::settings::Settings;
use sys::error::Hinted;

fn parse(text: &str) -> Result<Notify, String> {
    let settings = Settings::parse(text.as_bytes(), Path::new("/c.toml"));
    let settings = settings.map_err(|problem| problem.line())?;
    settings.wrong.notify.map_or(Ok(()), |problem| Err(problem.line()))?;
    Ok(settings.notify)
}

const EVERY_KEY: &str = r#"
[notify]
when = ["error", "waiting"]
cooldown = "1h"
quiet-hours = "22:00-07:00 UTC"
digest = "08:00"
ping = "https://hc.example/1"
[notify.channels.script]
type = "command"
command = ["apprise", "-"]
[notify.channels.screen]
type = "desktop"
when = ["attention"]
[notify.channels.chat]
type = "webhook"
url = "https://hooks.example/T/secret"
format = "slack"
secret = "shh"
[notify.channels.phone]
type = "ntfy"
server = "http://127.0.0.1:8080"
topic = "mine"
token-file = "ntfy.token"
answers = "mine-answers"
[notify.channels.bot]
type = "telegram"
token = "1:abc"
chat = -42
senders = [7]
[notify.channels.mail]
type = "email"
to = "me@example.com"
[notify.heartbeats.site]
when = ["attention"]
channels = ["screen", "mail"]
ping = "https://hc.example/2"
[notify.heartbeats.noisy]
when = []
"#;

#[test]
fn every_key_is_read_and_no_secret_is_shown() {
    let notify = parse(EVERY_KEY).unwrap();
    assert_eq!(notify.when, [EventKind::Error, EventKind::Waiting].into());
    assert_eq!((notify.cooldown.as_secs(), notify.digest), (3600, Some(Time::constant(8, 0, 0, 0))));
    assert_eq!(notify.channels.len(), 6);
    let takes: Vec<&str> = notify
        .channels
        .iter()
        .filter(|(_, one)| one.takes_answers())
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(takes, ["bot", "phone"]);
    assert_eq!(notify.ping_for("site").unwrap().reveal(), "https://hc.example/2");
    assert_eq!(notify.ping_for("other").unwrap().host(), "https://hc.example");
    let shown = format!("{notify:?}");
    assert!(!["shh", "1:abc", "T/secret"].iter().any(|secret| shown.contains(secret)), "{shown}");
    assert!(notify.is_used() && !parse("").unwrap().is_used());
}

#[test]
fn an_event_goes_to_the_channels_that_want_it() {
    let notify = parse(EVERY_KEY).unwrap();
    let channels = |kind, heartbeat| notify.channels_for(kind, heartbeat).collect::<Vec<_>>();
    assert_eq!(channels(EventKind::Error, Some("other")), ["bot", "chat", "mail", "phone", "script"]);
    assert_eq!(channels(EventKind::Attention, Some("other")), Vec::<&str>::new());
    assert_eq!(channels(EventKind::Attention, Some("site")), ["mail", "screen"]);
    assert_eq!(channels(EventKind::Error, Some("site")), Vec::<&str>::new());
    assert_eq!(channels(EventKind::Error, Some("noisy")), Vec::<&str>::new());
    assert_eq!(channels(EventKind::Digest, None).len(), 6);
}

#[test]
fn a_wrong_value_is_one_error_with_its_position() {
    for (text, expected) in [
        (
            "[notify]\nwhen = [\"errors\"]",
            "2:9: \"when\": \"errors\" is not known; write \"attention\", \"error\",",
        ),
        ("[notify]\nwhen = [\"digest\"]", "2:9: \"when\": \"digest\" is not known; write \"attention\""),
        ("[notify]\ncooldown = \"0s\"", "2:12: \"cooldown\": \"0s\" is too short"),
        ("[notify]\nquiet-hours = \"night\"", "2:15: "),
        (
            "[notify]\nquiet-hours = \"00:00-24:00\"",
            "2:15: \"quiet-hours\": these hours never end; write a part of the day",
        ),
        (
            "[notify]\ndigest = \"8\"",
            "2:10: \"digest\": \"8\" is not a time of day; write hours and minutes, such as",
        ),
        ("[notify]\ndigest = \"08:60\"", "2:10: \"digest\": \"08:60\" is not a time of day"),
        ("[notify]\nping = \"hc.example\"", "2:8: \"ping\": not a URL; write it as \"https://host/path\""),
        ("[notify]\nchanel = 1", "2:1: unknown key \"chanel\"; did you mean \"channels\"?"),
        ("[notify.channels.x]\ntopic = \"y\"", "1:1: \"type\" is missing"),
        (
            "[notify.channels.x]\ntype = \"sms\"",
            "2:8: \"type\": \"sms\" is not known; write \"command\", \"desktop\",",
        ),
        (
            "[notify.channels.x]\ntype = \"ntfy\"\ntopic = \"a b\"",
            "3:9: \"topic\" is not the name of a topic",
        ),
        (
            "[notify.channels.x]\ntype = \"ntfy\"\ntopic = \"a\"\nanswers = \"a\"",
            "4:11: \"answers\" is the topic",
        ),
        ("[notify.channels.x]\ntype = \"webhook\"\nurl = \"https://u:p@h/\"", "3:7: \"url\": not a URL"),
        ("[notify.channels.x]\ntype = \"telegram\"\nchat = 1", "1:18: \"token\" is missing; add token-file"),
        ("[notify.channels.x]\ntype = \"email\"\nto = \"-f@x\"", "3:6: \"to\" is not an email address"),
        ("[notify.channels.x]\ntype = \"command\"\ncommand = []", "3:11: \"command\" names no program"),
        (
            "[notify.heartbeats.x]\nchannels = [\"y\"]",
            "2:13: \"channels\": there is no channel \"y\"; add [notify.channels.y]",
        ),
        ("notify = true", "1:10: \"notify\" cannot be a boolean; write a table such as [notify]"),
        (
            "[notify.channels.x]\ntype = \"telegram\"\ntoken-file = \"t\"\nchat = 1\nsenders = [1]\n\
             [notify.channels.y]\ntype = \"telegram\"\ntoken-file = \"t\"\nchat = 2\nsenders = [1]",
            "10:11: \"senders\": channel \"x\" takes answers with the same bot; remove \"senders\" from one",
        ),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(&format!("/c.toml:{expected}")), "{text}: {error}");
    }
    let bots = "[notify.channels.x]\ntype = \"telegram\"\ntoken = \"t\"\nchat = 1\nsenders = [1]\n\
                [notify.channels.y]\ntype = \"telegram\"\ntoken = \"t\"\nchat = 2";
    assert_eq!(parse(bots).unwrap().channels.len(), 2, "only one takes answers");
    let both =
        "[notify.channels.x]\ntype = \"webhook\"\nurl = \"https://h\"\nsecret = \"s-1\"\nsecret-file = \"f\"";
    let error = parse(both).unwrap_err();
    assert!(error.contains("remove one of them") && !error.contains("s-1"), "{error}");
}

#[test]
fn one_bot_is_recognized_wherever_its_token_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, token: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, token).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    };
    file("one", "12:secret\n");
    file("two", " 12:secret");
    file("other", "13:secret");
    for (one, other, is_same) in [
        ("token = \"12:secret\"", "token-file = \"one\"", true),
        ("token-file = \"one\"", "token-file = \"two\"", true),
        ("token = \"12:secret\"", "token-file = \"other\"", false),
        ("token = \"12:secret\"", "token-file = \"missing\"", false),
        ("token-file = \"missing\"", "token-file = \"missing\"", true),
    ] {
        let channel = |name: &str, token: &str| {
            format!("[notify.channels.{name}]\ntype = \"telegram\"\n{token}\nchat = 1\nsenders = [1]\n")
        };
        let text = channel("x", one) + &channel("y", other);
        let path = folder.path().join("config.toml");
        let wrong = Settings::parse(text.as_bytes(), &path).unwrap().wrong.notify;
        let wrong = wrong.map(|problem| problem.line()).unwrap_or_default();
        let expected = "\"senders\": channel \"x\" takes answers with the same bot";
        assert_eq!(wrong.contains(expected), is_same, "{one} {other}: {wrong}");
        assert!(!wrong.contains("12:secret"), "{wrong}");
    }
}
