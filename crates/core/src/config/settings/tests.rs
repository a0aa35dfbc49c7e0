use super::*;
use crate::config::acp_program::Offers;
use sys::error::Hinted;

fn parse(text: &str) -> Result<Settings, String> {
    Settings::parse(text.as_bytes(), Path::new("/c/config.toml")).map_err(|problem| problem.line())
}

#[test]
fn every_key_is_read() {
    let settings = parse(
        r#"
        permissions-checker = "llm"
        approval = "defer"
        approval-wait = "90s"
        approval-expiry = "2d"
        questions = "deny"
        [quiet]
        stuck = "1h"
        [captures]
        keep = "3d"
        max = "1GiB"
        max-per-run = "2MiB"
        [llm_auth]
        provider = "openai"
        model = "small"
        [providers.openai]
        api-key = "sk-very-secret"
        base-url = "http://127.0.0.1:1/v1"
        [providers.anthropic]
        api-key-file = "/run/secrets/anthropic"
        "#,
    )
    .unwrap();
    assert_eq!(
        settings.asking,
        ApprovalSettings {
            checker: Some(Checker::Llm),
            approval: Some(Approval::Defer),
            approval_wait: Interval::from_secs(90),
            approval_expiry: Interval::from_secs(2 * 86_400),
            questions: Some(Questions::Deny),
        }
    );
    assert_eq!(settings.llm, Some(LlmAuth { provider: Provider::Openai, model: "small".to_owned() }));
    assert_eq!(settings.quiet.steps().map(|step| step.as_secs()), [300, 900, 3600]);
    let captures = settings.captures;
    let days = [captures.keep, captures.keep_failed].map(|span| span.as_secs() / 86_400);
    assert_eq!((days, captures.max.bytes()), ([3, 90], 1 << 30));
    assert_eq!(captures.max_per_run.to_string(), "2MiB");
    let openai = &settings.providers[&Provider::Openai];
    assert_eq!(openai.api_key.as_ref().unwrap().reveal(), "sk-very-secret");
    assert_eq!(openai.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
    let file = settings.providers[&Provider::Anthropic].api_key_file.as_deref();
    assert_eq!(file, Some(Path::new("/run/secrets/anthropic")));
    assert!(!format!("{settings:?}").contains("very-secret"));
}

#[test]
fn a_missing_file_and_an_empty_one_set_nothing() {
    assert_eq!(Settings::read(Path::new("/nowhere/config.toml")).unwrap(), Settings::default());
    assert_eq!(parse("# nothing\n").unwrap(), Settings::default());
    let folder = tempfile::tempdir().unwrap();
    let error = Settings::read(folder.path()).unwrap_err().line();
    assert_eq!(
        error,
        format!("cannot read {}: it is not a regular file; put a file in its place", folder.path().display())
    );
}

#[test]
fn wrong_times_and_notifications_are_problems_that_deny_no_call() {
    let expected = "the default times apply: /c/config.toml:2:9: \"stuck\": the times in \"quiet\" do not increase; make \"stale\" shorter than \"warning\", and \"warning\" \
                    shorter than \"stuck\"";
    let problems = |text: &str| {
        let settings = parse(text).unwrap();
        assert_eq!(
            (settings.quiet, settings.notify.clone()),
            (Quiet::default(), Notify::default()),
            "{text}"
        );
        settings.wrong.failures().iter().map(Failure::line).collect::<Vec<_>>()
    };
    assert_eq!(problems("[quiet]\nstuck = \"10m\""), [expected]);
    for (text, expected) in [
        (
            "[quiet]\nstuk = \"1h\"",
            "the default times apply: /c/config.toml:2:1: unknown key \"stuk\"; did you mean \"stuck\"?",
        ),
        (
            "[notify]\ncoldown = \"1h\"",
            "notifications do not change: /c/config.toml:2:1: unknown key \"coldown\"; did you mean \"cooldown\"?",
        ),
        (
            "notify = 1",
            "notifications do not change: /c/config.toml:1:10: \"notify\" cannot be a number; write a table such as [notify]",
        ),
    ] {
        assert_eq!(problems(text), [expected]);
        let both = format!("permissions-checker = \"deny\"\n{text}");
        assert_eq!(parse(&both).unwrap().asking.checker, Some(Checker::Deny));
        assert!(parse(&format!("approval = 5\n{text}")).is_err());
    }
}

#[test]
fn anything_unknown_is_an_error_with_its_position() {
    for (text, expected) in [
        (
            "\npermissions-checker = \"of\"",
            "2:23: \"permissions-checker\": \"of\" is not known; write \"off\", \"manual\", \"llm\" or \"deny\"",
        ),
        (
            "permission-checker = \"deny\"",
            "1:1: unknown key \"permission-checker\"; did you mean \"permissions-checker\"?",
        ),
        ("approval = \"later\"", "1:12: \"approval\": \"later\" is not known; write \"wait\" or \"defer\""),
        ("questions = true", "1:13: \"questions\" cannot be a boolean; write \"broker\" or \"deny\""),
        ("approval-wait = \"0s\"", "1:17: \"approval-wait\": \"0s\" is too short; write at least \"1s\""),
        (
            "approval-wait = 5",
            "1:17: \"approval-wait\" cannot be a number; write a time span, such as \"30m\"",
        ),
        ("[llm_auth]\nprovider = \"other\"\nmodel = \"x\"", "2:12: \"provider\": \"other\" is not known"),
        ("[llm_auth]\nprovider = \"openai\"", "1:1: \"model\" is missing"),
        (
            "llm_auth = [\"openai\", \"small\"]",
            "1:12: \"llm_auth\" cannot be a list; write a table such as [llm_auth]",
        ),
        (
            "[providers]\nopenai = [\"sk\"]",
            "2:10: \"openai\" cannot be a list; write a table such as [providers.openai]",
        ),
        ("[providers.other]\napi-key = \"x\"", "1:12: \"other\" is not known"),
        ("[providers.openai]\napikey = \"x\"", "2:1: unknown key \"apikey\"; did you mean \"api-key\"?"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(&format!("/c/config.toml:{expected}")), "{text}: {error}");
    }
    let both = "[providers.openai]\napi-key = \"sk-x\"\napi-key-file = \"/k\"";
    let error = parse(both).unwrap_err();
    assert!(error.contains("remove one of them") && !error.contains("sk-x"), "{error}");
}

#[test]
fn a_table_adds_a_program_or_changes_a_built_in_one() {
    let text = "[acp.mine]\ncommand = \"m\"\nargs = [\"a\"]\nenv = { A = \"1\" }\noffer = [\"terminal\"]\n\
                [acp.opencode]\noffer = [\"fs\", \"terminal\"]\nenv = { B = \"2\" }\n[acp.goose]\ncommand = \"/opt/goose\"\noffer = []\n\
                [acp.gemini]\nenv = { C = \"3\" }";
    let settings = parse(text).unwrap();
    let command = |name: &str| settings.command(&Backend::Acp(name.into())).unwrap();
    let both = |fs, terminal| Offers { fs, terminal };
    let text = |words: &[(&str, &str)]| -> Vec<(String, String)> {
        words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    for (name, program, args, env, offers) in [
        ("mine", "m", vec!["a"], text(&[("A", "1")]), both(false, true)),
        ("opencode", "opencode", vec!["acp"], text(&[("B", "2")]), both(true, true)),
        ("goose", "/opt/goose", vec![], vec![], both(false, false)),
        ("gemini", "gemini", vec!["--acp"], text(&[("C", "3")]), both(false, false)),
    ] {
        let args = args.into_iter().map(str::to_owned).collect();
        assert_eq!(command(name), Command { program: program.to_owned(), args, env, offers });
    }
    let unknown = settings.command(&Backend::Acp("other".into())).unwrap_err().line();
    let misspelled = settings.command(&Backend::Acp("opncode".into())).unwrap_err().line();
    let meant = "did you mean acp:opencode? Otherwise, add [acp.opncode] with its command to config.toml";
    assert_eq!(misspelled, format!("agent acp:opncode is not configured; {meant}"));
    assert_eq!(unknown, "agent acp:other is not configured; add [acp.other] with its command to config.toml");
}

#[test]
fn a_built_in_name_stands_for_its_own_program() {
    let settings = parse("[acp.opencode]\ncommand = \"npx\"\nargs = [\"opencode\"]").unwrap();
    let replaced = settings.command(&Backend::Acp("opencode".into())).unwrap_err().line();
    assert_eq!(
        replaced,
        "config.toml starts acp:opencode with \"npx\", which is not opencode; give the entry another name, such as \
         [acp.mine], and use acp:mine"
    );
}

#[test]
fn a_wrong_table_of_a_program_is_one_error_with_its_position() {
    const PROGRAM: &str = "write a name on PATH or an absolute path, and its arguments in \"args\"";
    const ACCEPTED: &str = "write offer = [\"fs\", \"terminal\"], or only one of them";
    for (text, expected) in [
        (
            "[acp.opencode]\noffer = [\"fs\", \"files\"]",
            format!("2:9: \"offer\" has \"files\", which is not known; {ACCEPTED}"),
        ),
        (
            "[acp.opencode]\noffer = [1]",
            format!("2:9: \"offer\" has an element that is not a string (integer); {ACCEPTED}"),
        ),
        ("[acp.opencode]\noffer = true", format!("2:9: \"offer\" is not a list (boolean); {ACCEPTED}")),
        ("[acp.opencode]\noffer = \"fs\"", format!("2:9: \"offer\" is not a list (string); {ACCEPTED}")),
        ("[acp.opencode]\nofer = []", "2:1: unknown key \"ofer\"; did you mean \"offer\"?".to_owned()),
        (
            "[acp.mine]\noffer = [\"fs\"]",
            "1:1: \"command\" is missing; add this key, or remove the entry".to_owned(),
        ),
        (
            "[acp.opencode]\nargs = []",
            "2:8: \"args\" is given without \"command\"; write \"command\" too".to_owned(),
        ),
        (
            "[acp.\"my agent\"]\ncommand = \"x\"",
            "1:1: \"my agent\" cannot name an agent; use letters, digits, - and _".to_owned(),
        ),
        (
            "[acp.goose]\nenv = { \"A=B\" = \"1\" }",
            "2:7: \"env\" has \"A=B\", which cannot name a variable; correct it".to_owned(),
        ),
        ("[acp.mine]\ncommand = \" \"", format!("2:11: \"command\" is empty; {PROGRAM}")),
        (
            "[acp.mine]\ncommand = \"goose acp\"",
            format!("2:11: \"command\" \"goose acp\" is neither a name nor an absolute path; {PROGRAM}"),
        ),
        (
            "[acp.mine]\ncommand = \"~/bin/x\"",
            format!("2:11: \"command\" \"~/bin/x\" is neither a name nor an absolute path; {PROGRAM}"),
        ),
        (
            "[acp.mine]\ncommand = \"/x\\n\"",
            format!("2:11: \"command\" \"/x\\n\" has a control character; {PROGRAM}"),
        ),
        (
            "agent = \"acp:mine\"",
            "1:9: agent acp:mine is not configured; add [acp.mine] with its command to config.toml"
                .to_owned(),
        ),
        (
            "acp.opencode = 1",
            "1:16: \"acp.opencode\" cannot be a number; write a table such as [acp.NAME]".to_owned(),
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), format!("/c/config.toml:{expected}"), "{text}");
    }
}

#[test]
fn wrong_captures_are_one_problem_and_keep_all_captures() {
    const SPAN: &str = "write whole numbers with d, h, m or s, largest first, such as \"30m\" or \"1h30m\"";
    const SIZE: &str = "write a whole number with B, KiB, MiB, GiB or TiB, such as \"256MiB\"";
    for (text, expected) in [
        ("[captures]\nkeep = \"2GiB\"", format!("2:8: \"keep\": \"2GiB\" is not an interval; {SPAN}")),
        ("[captures]\nmax = \"2GB\"", format!("2:7: \"max\": \"2GB\" is not a size; {SIZE}")),
        ("[captures]\nmax = \"0B\"", "2:7: \"max\": \"0B\" is too small; write at least \"1MiB\"".to_owned()),
        ("[captures]\nmax = 2", format!("2:7: \"max\" cannot be a number; {SIZE}")),
        (
            "[captures]\nkeepFailed = \"1d\"",
            "2:1: unknown key \"keepFailed\"; did you mean \"keep-failed\"?".to_owned(),
        ),
        (
            "captures.max-per-run = \"512KiB\"",
            "1:24: \"captures.max-per-run\": \"512KiB\" is too small; write at least \"1MiB\"".to_owned(),
        ),
        ("[captures]\nmax-per-run = \"5\"", format!("2:15: \"max-per-run\": \"5\" is not a size; {SIZE}")),
        (
            "captures = true",
            "1:12: \"captures\" cannot be a boolean; write a table such as [captures]".to_owned(),
        ),
    ] {
        let settings = parse(&format!("{text}\n[quiet]\nstuck = \"1h\"")).unwrap();
        let problem = settings.wrong.failures().remove(0).line();
        assert_eq!(problem, format!("no capture is removed: /c/config.toml:{expected}"), "{text}");
        let Captures { keep, keep_failed, max, max_per_run } = settings.captures;
        assert_eq!((keep, keep_failed, max.bytes()), (Interval::MAX, Interval::MAX, u64::MAX));
        assert_eq!(max_per_run, Captures::default().max_per_run);
        assert_eq!(settings.quiet.stuck.to_string(), "1h");
    }
    // A misspelled table may be meant for permissions.
    assert!(parse("[capturs]\nkeep = \"2d\"").is_err());
}
