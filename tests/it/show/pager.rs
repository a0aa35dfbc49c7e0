//! `murmur show` through a pager, on a terminal.

use crate::env::{Env, MURMUR};
use crate::run::terminal::Terminal;
use serde_json::json;

/// Shows the last beat, whose answer is long, through `pager`.
fn paged(env: &Env, pager: &str) -> Terminal {
    let program = |words: &[&str]| {
        env.program("setsid", words).set("TERM", "xterm").set("NO_COLOR", "1").set("PAGER", pager)
    };
    Terminal::open().start(program, &[MURMUR, "show"])
}

/// `PAGER` for this script.
fn script(env: &Env, text: &str) -> String {
    let file = env.root().join("pager.sh");
    std::fs::write(&file, text).unwrap();
    format!("sh {}", file.display())
}

fn with_a_long_answer() -> Env {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let answer = format!("FIRST\n\n{}LAST", "word and word\n\n".repeat(20_000));
    site.plays(&json!({ "script": [[{ "type": "text", "text": answer }]] }));
    env.run(["beat", "site"]);
    env
}

#[test]
fn a_pager_gets_everything_may_quit_early_and_may_be_missing() {
    let env = with_a_long_answer();
    let all = script(&env, "tail -n 3; echo over");
    let shown = paged(&env, &all).finish();
    assert!(shown.status.success() && shown.text().contains("LAST"), "{}", shown.text());
    assert!(shown.text().ends_with("over\r\n"), "{}", shown.text());
    let early = script(&env, "head -n 1; echo enough");
    let shown = paged(&env, &early).finish();
    assert!(shown.status.success() && shown.text().ends_with("enough\r\n"), "{}", shown.text());
    let shown = paged(&env, "no-such-pager -x").finish();
    let text = shown.text();
    assert!(text.starts_with("note: cannot run the pager no-such-pager: "), "{:?}", text.lines().next());
    assert!(shown.status.success() && text.contains("FIRST") && text.contains("LAST"));
}

#[test]
fn murmur_waits_for_a_pager_that_outlives_what_is_typed() {
    let env = with_a_long_answer();
    let stays = "trap 'echo caught' INT QUIT\ncat >/dev/null\necho ready\n\
                 until [ \"$line\" = q ]; do read line </dev/tty; done\necho \"got $line\"";
    let mut terminal = paged(&env, &script(&env, stays));
    terminal.wait_for("ready\r\n");
    for key in ["\u{3}", "\u{1c}"] {
        terminal.send(key);
        terminal.wait_for("caught\r\n");
    }
    terminal.send("q\n");
    terminal.wait_for("got q\r\n");
    assert!(terminal.finish().status.success());
    // A pager that does nothing about it is ended by it.
    let mut terminal =
        paged(&env, &script(&env, "cat >/dev/null\necho ready\nread line </dev/tty\necho left"));
    terminal.wait_for("ready\r\n");
    terminal.send("\u{3}");
    let shown = terminal.finish();
    assert!(shown.status.success() && !shown.text().contains("left"), "{}", shown.text());
}
