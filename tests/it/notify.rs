//! Notifications, end to end: beats and requests, the daemon, the notifier, channels, and answers that come back.

mod kinds;
mod missed;
mod refused;
mod server;

use crate::env::{Env, Workspace};
use insta::assert_snapshot;
use serde_json::{Value, json};
use server::{Ntfy, self_signed};
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

fn ntfy(server: &Ntfy, more: &str) -> String {
    format!("[notify.channels.phone]\ntype = \"ntfy\"\nserver = \"{}\"\ntopic = \"mine\"\n{more}", server.url)
}

fn says(site: &Workspace, text: &str) {
    site.plays(&json!({ "script": [[{ "type": "text", "text": text }]] }));
}

/// The lines of notifications.jsonl once there are `count`, without their times.
fn log(env: &Env, count: usize) -> Vec<Value> {
    let read = || {
        let text = std::fs::read_to_string(env.data().join("notifications.jsonl")).unwrap_or_default();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        (lines.len() >= count).then_some(lines)
    };
    let mut lines = env.wait(&env.data(), read);
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("ts");
    }
    lines
}

/// Presses a button of `message`.
fn button(message: &Value, label: &str) -> String {
    let actions = message["actions"].as_array().unwrap();
    let action = actions.iter().find(|action| action["label"] == label).unwrap();
    action["body"].as_str().unwrap().to_owned()
}

#[test]
fn trouble_is_told_once_and_its_end_too() {
    let (env, server) = (Env::new(), Ntfy::start());
    env.setting("config.toml", &format!("[notify]\ncooldown = \"1s\"\n{}", ntfy(&server, "")));
    let site = env.workspace("site", "Look.");
    env.register(&[&site]);
    let daemon = env.daemon();
    for text in ["ATTENTION: the backup is 8 days old", "ATTENTION: the backup is 9 days old"] {
        says(&site, text);
        env.run(["beat", site.path()]);
    }
    site.plays(&json!({ "fault": "exit:3" }));
    env.run(["beat", site.path()]);
    let told: Vec<Value> = (0..2).map(|_| server.next()).collect();
    assert_eq!(told[0]["title"], "site needs attention");
    assert_eq!(told[0]["message"], "ATTENTION: the backup is 8 days old");
    assert_eq!(told[1]["title"], "site failed");
    says(&site, "HEARTBEAT_OK");
    env.run(["beat", site.path()]);
    assert_eq!(server.next()["title"], "site is ok again");
    let results: Vec<Value> = log(&env, 3).into_iter().map(|line| line["result"].clone()).collect();
    assert_eq!(results, ["delivered"; 3]);
    drop(daemon);
}

#[test]
fn the_guides_channel_for_apprise_passes_title_and_body() {
    let env = Env::new();
    let guide = include_str!("../../docs/guide/notifications.md");
    let blocks = guide.split("```toml\n").map(|rest| rest.split("```").next().unwrap());
    let block = blocks.into_iter().find(|block| block.contains("'apprise")).unwrap();
    env.setting("config.toml", block);
    let (apprise, told) = (env.home().join("bin/apprise"), env.root().join("told"));
    std::fs::write(&apprise, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >'{}'\n", told.display())).unwrap();
    std::fs::set_permissions(&apprise, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(env.run(["notify", "test"]), "matrix: sent\n[exit 0]");
    assert_snapshot!(std::fs::read_to_string(told).unwrap(), @"
    -t
    murmur: test
    -b
    Notifications from murmur arrive here.
    matrixs://you:secret@host/#room
    ");
}

#[test]
fn what_happens_before_the_first_notifier_is_ready_is_news() {
    let (env, server) = (Env::new(), Ntfy::start());
    env.setting("config.toml", &ntfy(&server, ""));
    let site = env.workspace("site", "Look.");
    env.register(&[&site]);
    says(&site, "ATTENTION: look at this");
    env.run(["beat", site.path()]);
    let end = env.journal_text().len();
    let daemon = env.daemon();
    // Answered once the notifier was started, however long it takes to be ready.
    env.run(["status"]);
    let state: Value =
        serde_json::from_slice(&std::fs::read(env.data().join("notify.json")).unwrap()).unwrap();
    assert_eq!(state["journal"]["end"], end);
    says(&site, "ATTENTION: look at that");
    env.run(["beat", site.path()]);
    assert_eq!(server.next()["message"], "ATTENTION: look at that");
    log(&env, 1);
    daemon.stop();
}

#[test]
fn a_request_is_answered_by_a_button_once_and_by_nobody_else() {
    let (env, server) = (Env::new(), Ntfy::start());
    let text = format!("permissions-checker = \"manual\"\n{}", ntfy(&server, "answers = \"back\""));
    env.setting("config.toml", &text);
    let site = env.workspace("site", "Push.");
    let push = json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "git push" } });
    site.plays(&json!({ "script": [[push], [{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    // Not registered, since the daemon would run it at once.
    env.register(&[]);
    let daemon = env.daemon();
    let beat = env.murmur(["beat", site.path()]).start();
    let message = server.next();
    assert_eq!(message["title"], "site waits for approval");
    assert!(message["message"].as_str().unwrap().starts_with("Bash: git push\n"), "{message}");
    let mut stream = server.stream();
    // Made up, not understood, and trying to allow it for good.
    let allow = button(&message, "Allow");
    let (_, token) = allow.split_once(' ').unwrap();
    let forged = "allow 0123456789abcdef0123456789abcdef".to_owned();
    for text in [forged, "allow".to_owned(), format!("always {token}")] {
        stream.send(&text);
        assert!(server.next()["message"].as_str().unwrap().starts_with("Not accepted: "), "{text}");
    }
    stream.send(&allow);
    assert_eq!(server.next()["message"], "Allowed.");
    stream.send(&allow);
    let again = server.next();
    assert_eq!(
        again["message"],
        "Not accepted: the token is invalid: it was already used, has expired, or was never sent"
    );
    let output = crate::env::ended(beat);
    output.success();
    // The delivery may be noted after the first answer.
    let mut results: Vec<String> =
        log(&env, 6).into_iter().map(|line| line["result"].as_str().unwrap().to_owned()).collect();
    results.sort();
    assert_eq!(results, ["accepted", "delivered", "refused", "refused", "refused", "refused"]);
    let printed = env.run(["notify", "log"]);
    let accepted = printed.lines().find(|line| line.contains("  accepted  ")).unwrap();
    let (_, accepted) = accepted.split_once("  ").unwrap();
    let expected = r"^accepted   phone  allowed Bash for site-[0-9a-z]+ \(request [0-9a-z]{8}\)$";
    assert!(regex::Regex::new(expected).unwrap().is_match(accepted), "{accepted}");
    let decisions = std::fs::read_to_string(env.data().join("decisions.jsonl")).unwrap();
    let decision: Value = serde_json::from_str(decisions.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&decision["decision"], &decision["answeredBy"]["channel"]),
        (&json!("allow"), &json!("phone"))
    );
    let listed = env.run(["rules", "log"]);
    assert!(listed.contains("  a person allowed it, through phone\n"), "{listed}");
    assert!(!std::fs::read_to_string(env.data().join("notify.json")).unwrap().contains(token));
    daemon.stop();
}

#[test]
fn what_was_not_delivered_is_delivered_after_a_restart() {
    let (env, server) = (Env::new(), Ntfy::start());
    env.setting("config.toml", "[notify.channels.phone]\ntype = \"webhook\"\nurl = \"http://127.0.0.1:1/\"");
    let site = env.workspace("site", "Look.");
    env.register(&[&site]);
    says(&site, "ATTENTION: look at this");
    let daemon = env.daemon();
    env.run(["beat", site.path()]);
    let failed = log(&env, 1).remove(0);
    assert_eq!((&failed["result"], &failed["what"]), (&json!("failed"), &json!("site needs attention")));
    assert_eq!(failed["error"], "cannot reach http://127.0.0.1:1: Connection refused");
    daemon.stop();
    assert!(env.run(["status"]).contains("problem: notifications by phone are not delivered: cannot reach"));
    // While no daemon runs, another beat fails; both are told together with what waited.
    site.plays(&json!({ "fault": "exit:3" }));
    env.run(["beat", site.path()]);
    env.setting("config.toml", &format!("[notify]\ncooldown = \"1s\"\n{}", ntfy(&server, "")));
    let daemon = env.daemon();
    assert_eq!(server.next()["title"], "site needs attention");
    assert_eq!(server.next()["title"], "site failed");
    daemon.stop();
}

#[test]
fn a_certificate_that_nobody_signed_is_refused_and_stops_nothing_else() {
    let (env, server) = (Env::new(), Ntfy::start());
    let (url, handshakes) = self_signed();
    let hook = format!("[notify.channels.hook]\ntype = \"webhook\"\nurl = \"{url}/secret\"\n");
    env.setting("config.toml", &format!("{hook}{}", ntfy(&server, "")));
    let site = env.workspace("site", "Look.");
    env.register(&[&site]);
    says(&site, "ATTENTION: look at this");
    let daemon = env.daemon();
    env.run(["beat", site.path()]);
    assert_eq!(server.next()["title"], "site needs attention");
    // Nothing was sent before the certificate was refused.
    assert!(handshakes.recv().unwrap().is_err());
    let mut lines = log(&env, 2);
    lines.sort_by_key(|line| line["channel"].to_string());
    assert_eq!((&lines[0]["channel"], &lines[0]["result"]), (&json!("hook"), &json!("failed")));
    let why = "its certificate is self-signed, or its issuer is unknown";
    assert_eq!(lines[0]["error"], format!("cannot reach {url}: {why}"));
    assert_eq!((&lines[1]["channel"], &lines[1]["result"]), (&json!("phone"), &json!("delivered")));
    daemon.stop();
}

#[test]
fn a_test_message_reports_each_channel() {
    let (env, server) = (Env::new(), Ntfy::start());
    assert_snapshot!(env.run(["notify", "test"]), @r#"
    | error: no notifications are configured
    | hint: add a channel such as [notify.channels.phone] to [ENV]/data/config/config.toml
    [exit 1]
    "#);
    let gone = "[notify.channels.gone]\ntype = \"command\"\ncommand = [\"murmur-no-such-program\"]\n";
    env.setting("config.toml", &format!("{gone}{}", ntfy(&server, "")));
    let tested = env.run(["notify", "test"]);
    // In the order in which they end.
    let mut lines: Vec<&str> = tested.lines().collect();
    lines.sort_unstable();
    assert_snapshot!(lines.join("\n"), @"
    [exit 1]
    gone: not sent: cannot start murmur-no-such-program: No such file or directory (os error 2)
    phone: sent
    ");
    assert_eq!(server.next()["title"], "murmur: test");
    assert_snapshot!(env.run(["notify", "test", "fone"]), @r#"
    | error: there is no channel "fone"
    | hint: use one of gone, phone
    [exit 1]
    "#);
    assert_snapshot!(env.run(["notify", "log"]), @r#"
    nothing was sent yet; tests are not listed
    [exit 0]
    "#);
}

#[test]
fn a_channel_that_hangs_delays_no_test_of_another() {
    let (env, server) = (Env::new(), Ntfy::start());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let hangs = format!("[notify.channels.first]\ntype = \"webhook\"\nurl = \"{url}\"\n");
    env.setting("config.toml", &format!("{hangs}{}", ntfy(&server, "")));
    let mut test = env.murmur(["notify", "test"]).start();
    let mut lines = BufReader::new(test.stdout.take().unwrap()).lines().map(Result::unwrap);
    let (connection, _) = listener.accept().unwrap();
    drop(listener);
    assert_eq!(lines.next().unwrap(), "phone: sent");
    drop(connection);
    assert!(lines.next().unwrap().starts_with("first: not sent: "));
    assert_eq!(test.wait().unwrap().code(), Some(1));
}

#[test]
fn heartbeats_with_the_same_name_are_told_apart_and_requests_have_their_heartbeats_channels() {
    let (env, server) = (Env::new(), Ntfy::start());
    let config = format!("permissions-checker = \"manual\"\n{}", ntfy(&server, ""));
    env.setting("config.toml", &format!("{config}[notify.heartbeats.nightly]\nwhen = [\"attention\"]\n"));
    let sites =
        ["mine/site", "other/site"].map(|path| env.workspace(path, "---\nenabled: false\n---\nLook."));
    env.register(&[&sites[0], &sites[1]]);
    let daemon = env.daemon();
    for site in &sites {
        says(site, "The disk is full.");
        env.murmur(["beat", site.path()]).assert().success();
    }
    assert_eq!(
        [server.next(), server.next()].map(|message| message["title"].clone()),
        ["mine/site needs attention", "other/site needs attention"]
    );
    // Both make the same call; only the request of the second one is told.
    let push = json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "git push" } });
    sites[0].named("nightly", "---\ninterval: 1d\n---\nPush.");
    let script = json!({ "script": [[push], [{ "type": "text", "text": "HEARTBEAT_OK" }]] });
    sites.iter().for_each(|site| site.plays(&script));
    let nightly = env.murmur(["beat", sites[0].path(), "--name", "nightly"]).start();
    let mut waiting = Vec::new();
    while waiting.is_empty() {
        let list: Value = serde_json::from_str(&env.murmur(["inbox", "--json"]).quiet()).unwrap();
        waiting = list["entries"].as_array().unwrap().clone();
    }
    assert_eq!(waiting[0]["request"]["heartbeat"], "nightly");
    let other = env.murmur(["beat", sites[1].path()]).start();
    assert_eq!(server.next()["title"], "other/site waits for approval");
    for name in ["nightly", "other/site"] {
        let allowed = env.murmur(["allow", name]).at(&env.home()).run();
        assert!(allowed.contains("allowed"), "{allowed}");
    }
    crate::env::ended(nightly).success();
    crate::env::ended(other).success();
    daemon.stop();
}

#[test]
fn the_desktop_is_given_title_and_text_as_arguments() {
    let env = Env::new();
    env.setting("config.toml", "[notify.channels.screen]\ntype = \"desktop\"\n");
    let programs = env.home().join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    let program = programs.join("notify-send");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"${0%/*}/argv\"\n").unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let argv = || std::fs::read_to_string(programs.join("argv")).unwrap();
    let said = env.run(["notify", "test", "screen"]);
    assert_snapshot!(format!("{said}\n{}", argv()), @"
    screen: sent
    [exit 0]
    --app-name=murmur
    --
    murmur: test
    Notifications from murmur arrive here.
    ");
    let site = env.workspace("site", "Look.");
    env.register(&[]);
    let daemon = env.daemon();
    says(&site, "ATTENTION: <b>1 & 2</b> $(id)");
    env.run(["beat", site.path()]);
    log(&env, 1);
    // The text is markup.
    assert_snapshot!(argv(), @"
    --app-name=murmur
    --
    site needs attention
    ATTENTION: &lt;b&gt;1 &amp; 2&lt;/b&gt; $(id)
    ");
    daemon.stop();
}
