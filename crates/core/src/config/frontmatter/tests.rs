//! What HEARTBEAT.md may begin with.

use super::*;
use crate::config::approval::{Approval, Checker, Questions};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use sys::error::Hinted;

fn read(text: &str) -> Result<(Option<Frontmatter>, &str), String> {
    split(text.as_bytes(), &Crons::new(TimeZone::UTC)).map_err(|error| match error.place() {
        Some(place) => format!("{place}: {}", error.line()),
        None => error.line(),
    })
}

fn wrong(yaml: &str) -> String {
    read(&format!("---\n{yaml}\n---\nbody")).unwrap_err()
}

#[test]
fn every_key_is_read_and_the_body_is_what_follows() {
    let (front, body) = read(
        "---\nname: Nightly\ndescription: looks after the build\ncron: \"0 3 * * *\"\ntz: Europe/Berlin\ntimeout: 10m\nbackgroundWait: 30s\nmaxTurns: 8\nmodel: opus\nagent: claude-code\npermissions:\n  deny:\n    - Bash(curl *)\n    - Edit\n---\n\n# Do\n---\nmore\n",
    )
    .unwrap();
    assert_eq!(body, "\n# Do\n---\nmore\n");
    let front = front.unwrap();
    assert_eq!(front.name.as_deref(), Some("Nightly"));
    assert_eq!(front.description.as_deref(), Some("looks after the build"));
    assert_eq!(front.schedule.unwrap().to_string(), "cron 0 3 * * * Europe/Berlin");
    assert_eq!((front.max_turns.unwrap().get(), front.timeout.unwrap().as_secs()), (8, 600));
    assert_eq!(front.background_wait.unwrap().as_secs(), 30);
    assert_eq!(front.model.as_deref(), Some("opus"));
    assert_eq!(front.permissions.unwrap().denied(), ["Bash(curl *)".into(), "Edit".into()]);
}

#[test]
fn approval_settings_are_parsed() {
    let (front, _) = read(
        "---\npermissionsChecker: off\napproval: defer\napprovalWait: 5m\napprovalExpiry: 2d\nquestions: deny\n---\nx",
    )
    .unwrap();
    let expected = ApprovalSettings {
        checker: Some(Checker::Off),
        approval: Some(Approval::Defer),
        approval_wait: Interval::from_secs(300),
        approval_expiry: Interval::from_secs(172_800),
        questions: Some(Questions::Deny),
    };
    assert_eq!(front.unwrap().asking, expected);
}

#[test]
fn a_text_without_frontmatter_is_all_body() {
    for text in [
        "",
        "# Heartbeat\n",
        " ---\ninterval: 1h\n---\n",
        "----\n",
        "---",
        "---\n",
        "---\n\nA rule, no frontmatter.\n",
        "a\n---\n",
    ] {
        assert_eq!(read(text).unwrap(), (None, text), "{text:?}");
    }
    assert_eq!(read("\u{feff}# Hi").unwrap(), (None, "# Hi"));
}

#[test]
fn line_ends_marks_and_empty_blocks_do_not_matter() {
    for (text, body) in [
        ("---\r\ninterval: 1h\r\n---\r\nbody\r\n", "body\r\n"),
        ("\u{feff}---\ninterval: 1h\n---\nbody", "body"),
        ("---  \ninterval: 1h\n---\t\n", ""),
        ("---\ninterval: 1h # hourly\n---", ""),
    ] {
        let (front, found) = read(text).unwrap();
        assert_eq!(
            (front.unwrap().schedule.unwrap().to_string().as_str(), found),
            ("every 1h", body),
            "{text:?}"
        );
    }
    for text in ["---\n---\nbody", "---\n\n# nothing yet\n---\nbody"] {
        assert_eq!(read(text).unwrap(), (Some(Frontmatter::default()), "body"), "{text:?}");
    }
}

#[test]
fn invalid_settings_are_errors_with_position_and_accepted_values() {
    for (yaml, expected) in [
        (
            "interval: 5x",
            "2:11: \"interval\": \"5x\" is not an interval; write whole numbers with d, h, m or s, largest first, such as \"30m\" or \"1h30m\"",
        ),
        (
            "name: x\ninterval: 30",
            "3:11: \"interval\": \"30\" is not an interval; write whole numbers with d, h, m or s, largest first, such as \"30m\" or \"1h30m\"",
        ),
        ("interval:", "2:9: \"interval\" has a wrong value; write an interval such as 30m or 1h30m"),
        ("intervall: 5m", "2:1: unknown key \"intervall\"; did you mean \"interval\"?"),
        (
            "name: x\nfoo: 1",
            "3:1: unknown key \"foo\"; use one of name, description, interval, cron, tz, timeout, backgroundWait, maxTurns, model, agent, permissions, permissionsChecker, approval, approvalWait, approvalExpiry, questions, requires, mcp, reserve, onLimit, enabled, activeHours, except, jitter, catchUp, startDeadline, overlap, on, when, verify, retry, breaker, maxBudgetUsd, budget, minFree, startTimeout, idleTimeout, toolTimeout",
        ),
        (
            "when: ./a b",
            "2:7: \"when\": \"./a b\" has spaces, and no shell splits it; write a list, such as [\"./changed.sh\", \"--since\", \"1d\"]",
        ),
        (
            "verify:\n- changed: src",
            "3:3: \"verify\": \"changed src\" verifies nothing; write a program such as \"./check.sh\", a list of a program and its arguments, {\"run\": …, \"timeout\": \"10m\"}, or a list of these objects",
        ),
        (
            "captures: {keep: 14d}",
            "2:1: unknown key \"captures\"; write it as a table [captures] in config.toml, which holds for all workspaces",
        ),
        (
            "gates: workspace",
            "2:1: unknown key \"gates\"; only the workspace's entry in config.json can have it",
        ),
        ("budget:\n  dya: 5", "3:3: \"budget\": unknown key \"dya\"; did you mean \"day\"?"),
        ("budget: {year: 5}", "2:10: \"budget\": unknown key \"year\"; use one of day, week, month"),
        ("budget:\n  year: 5", "3:3: \"budget\": unknown key \"year\"; use one of day, week, month"),
        ("permission: skip", "2:1: unknown key \"permission\"; did you mean \"permissions\"?"),
        ("maxTurns: many", "2:11: \"maxTurns\" has a wrong value; write a whole number of at least 1"),
        ("maxTurns: 0", "2:1: \"maxTurns\" has a wrong value; write a whole number of at least 1"),
        ("maxTurns: 1.5", "2:11: \"maxTurns\" has a wrong value; write a whole number of at least 1"),
        (
            "cron: */5 * * * *",
            "2:7: \"cron\" begins with `*`, which YAML reads as an alias; put the value in quotes",
        ),
        (
            "cron: '* * *'",
            "2:7: \"cron\": \"* * *\" is not a cron expression (it has 3 fields); write five fields, minute hour day month weekday, such as \"*/15 9-17 * * MON-FRI\", or @hourly, @daily, @weekly, @monthly, @yearly",
        ),
        (
            "interval: 1h\ntz: UTC",
            "3:5: \"tz\": \"tz\" is given without \"cron\"; remove it, or write \"cron\" instead of \"interval\"",
        ),
        (
            "interval: 1h\ncron: 0 9 * * 1",
            "3:7: \"cron\": both \"interval\" and \"cron\" are given; remove one of them",
        ),
        (
            "cron: 0 9 * * 1\ntz: Mars",
            "3:5: \"tz\": time zone \"Mars\" is unknown; write an IANA name such as \"Europe/Berlin\" or \"UTC\"",
        ),
        (
            "interval: 1h\nexcept:",
            "3:1: \"except\" has a wrong value; write a list of dates, such as [\"2026-12-24\", \"12-25\", \"2026-12-27..2027-01-02\"]",
        ),
        (
            "interval: 1h\nrequires: ~",
            "3:1: \"requires\" has a wrong value; write a list of the names of MCP servers, such as [\"mail\"]",
        ),
        (
            "agent: gemini",
            "2:8: \"agent\": unknown agent \"gemini\"; did you mean acp:gemini? Otherwise, use claude, codex, or acp:NAME, such as acp:opencode",
        ),
        (
            "agent: [codex]",
            "2:8: \"agent\" has a wrong value; write claude, codex, or a name such as acp:opencode",
        ),
        (
            "model: --help",
            "2:8: \"model\" is \"--help\"; write one line of text that is not empty and does not start with '-'",
        ),
        (
            "permissions: none",
            "2:14: \"permissions\": \"none\" is not known; write \"skip\" or {\"deny\": [\"Bash(curl *)\"]}",
        ),
        (
            "permissions:",
            "2:1: \"permissions\" has a wrong value; write \"skip\" or {\"deny\": [\"Bash(curl *)\"]}",
        ),
        (
            "permissions: [Edit]",
            "2:1: \"permissions\" has a wrong value; write \"skip\" or {\"deny\": [\"Bash(curl *)\"]}",
        ),
        (
            "permissions: {deny: Edit}",
            "2:21: \"permissions\" has a wrong value; write \"skip\" or {\"deny\": [\"Bash(curl *)\"]}",
        ),
        (
            "permissionsChecker: no",
            "2:21: \"permissionsChecker\": \"no\" is not known; write \"off\", \"manual\", \"llm\" or \"deny\"",
        ),
        (
            "permissionsChecker:",
            "2:19: \"permissionsChecker\" has a wrong value; write \"off\", \"manual\", \"llm\" or \"deny\"",
        ),
        ("approval: later", "2:11: \"approval\": \"later\" is not known; write \"wait\" or \"defer\""),
        (
            "approvalWait: 2",
            "2:15: \"approvalWait\": \"2\" is not an interval; write whole numbers with d, h, m or s, largest first, such as \"30m\" or \"1h30m\"",
        ),
        (
            "approvalExpiry: [1h]",
            "2:17: \"approvalExpiry\" has a wrong value; write an interval such as 30m or 1h30m",
        ),
        ("questions: never", "2:12: \"questions\": \"never\" is not known; write \"broker\" or \"deny\""),
        ("name: a\nname: b", "3:1: key \"name\" is given twice; remove one of the two"),
    ] {
        assert_eq!(wrong(yaml), expected, "{yaml}");
    }
    for yaml in ["just words", "- a\n- b", "\"x"] {
        let error = wrong(yaml);
        assert!(error.contains("write") || error.contains("correct it"), "{error}");
    }
    assert_eq!(
        read("---\ninterval: 1h\n").unwrap_err(),
        "1:1: the frontmatter has no end; put a line `---` after its last key"
    );
    assert_eq!(
        split(b"a\xff", &Crons::new(TimeZone::UTC)).unwrap_err().line(),
        "byte 1 is not UTF-8; save the file as UTF-8"
    );
}

#[test]
fn faults_of_yaml_itself_are_named_where_they_are() {
    for (yaml, expected) in [
        (
            "timeout: \"5m",
            "2:10: \"timeout\": a quote is not closed; add the same quote at the end of the value",
        ),
        (
            "timeout: '5m\nname: x",
            "2:10: \"timeout\": a quote is not closed; add the same quote at the end of the value",
        ),
        ("name: x\ntimeout: 5m\n\tmodel: y", "4:1: a tab is not allowed here; use spaces"),
        ("budget:\n\tday: 5", "3:1: a tab is not allowed here; use spaces"),
        ("name: |\n\tx", "3:1: a tab is not allowed here; use spaces"),
        ("requires:\n- mail\n\t- x", "4:1: a tab is not allowed here; use spaces"),
        ("name: a: b", "2:8: \"name\" contains `: `; put the value in quotes"),
        ("model: @5", "2:8: \"model\" begins with `@`, which YAML reserves; put the value in quotes"),
        ("timeout:5m", "2:1: a space is missing after `timeout:`; add it"),
        (
            "when: [\"a\"\nname: x",
            "3:5: \"name\" is not valid YAML (illegal placement of ':' indicator); check the quotes, brackets and indentation of its value and of the one before",
        ),
    ] {
        assert_eq!(wrong(yaml), expected, "{yaml}");
    }
}

#[test]
fn alias_bombs_and_deep_nesting_are_refused_at_once() {
    let mut laughs = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (one, two) in ('a'..'p').zip('b'..='p') {
        laughs.push_str(&format!(
            "{two}: &{two} [*{one},*{one},*{one},*{one},*{one},*{one},*{one},*{one},*{one}]\n"
        ));
    }
    wrong(&laughs);
    wrong(&format!("permissions: {}", "[".repeat(30_000)));
    wrong(&format!("permissions: {}", "{deny: ".repeat(9_000)));
    wrong(&(0..9_000).map(|depth| format!("{}-\n", " ".repeat(depth % 200))).collect::<String>()[..60_000]);
    assert_eq!(
        read(&format!("---\nname: {}\n---\n", "x".repeat(70_000))).unwrap_err(),
        "1:1: the frontmatter is longer than 65536 bytes; put a line `---` after its last key, or shorten it"
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let crons = Crons::new(TimeZone::UTC);
        let _ = split(&bytes, &crons);
        let _ = split(&[b"---\n", bytes.as_slice(), b"\n---\n"].concat(), &crons);
    }

    #[test]
    fn no_text_of_yaml_pieces_panics(pieces in prop::collection::vec(prop::sample::select(vec![
        "---", "\n", "interval", "permissions", ": ", "deny", "[", "]", "{", "}", "&a ", "*a", "- ", "  ", "\"", "'", "|", ">", "!!", "<<", "#", "é", "?",
    ]), 0..30)) {
        let crons = Crons::new(TimeZone::UTC);
        let _ = split(format!("---\n{}\n---\n", pieces.concat()).as_bytes(), &crons);
    }

    #[test]
    fn frontmatter_and_body_are_the_whole_text(body in "(?s).{0,60}") {
        let text = format!("---\ninterval: 1h\n---\n{body}");
        prop_assert_eq!(read(&text).unwrap().1, body);
    }
}

#[test]
fn every_mistake_is_reported_in_the_order_of_the_file() {
    let mistakes = |yaml: &str| {
        let crons = Crons::new(TimeZone::UTC);
        let error = split(format!("---\n{yaml}\n---\nx").as_bytes(), &crons).unwrap_err();
        let first = format!("{}: {}", error.place().unwrap(), error.line());
        let more = error.more().iter().map(|(place, what)| format!("{place}: {}", what.line()));
        std::iter::once(first).chain(more).collect::<Vec<_>>()
    };
    let yaml = "timeout: 5x\nfoo: 1\ncron: */5 * * * *\ntz: UTC\nmaxTurns: many\nbudget:\n  dya: 5\nname: -x\nminFree: 5\nminFree: 6MiB";
    let found = mistakes(yaml);
    let begins = [
        "2:10: \"timeout\": \"5x\" is not an interval; ",
        "3:1: unknown key \"foo\"; ",
        "4:7: \"cron\" begins with `*`",
        "6:11: \"maxTurns\" has a wrong value; ",
        "8:3: \"budget\": unknown key \"dya\"; ",
        "9:7: \"name\" is \"-x\"; ",
        "10:10: \"minFree\": \"5\" is not a size; ",
        "11:1: key \"minFree\" is given twice; ",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (found, begin) in found.iter().zip(begins) {
        assert!(found.starts_with(begin), "{found} {begin}");
    }
    // The rest can't be read.
    for yaml in ["name: \"x\ntimeout: 5m\nmaxTurns: 3", "timeout: [\nmaxTurns: 3", "- a\n- b"] {
        assert_eq!(mistakes(yaml).len(), 1, "{:?}", mistakes(yaml));
    }
}
