//! Tests rules on command lines that the real shell parser has read.

use super::*;
use shell_guard::shell;

#[test]
fn an_allow_covers_only_commands_that_its_patterns_match() {
    let rules = bash(&[
        "deny git push:*",
        "allow git:*",
        "allow ls:*",
        "allow cat:*",
        "allow echo:*",
        "allow cd:*",
        "allow true",
    ]);
    for (line, expected) in [
        ("git status", "allow 2"),
        ("git status && ls -l | cat", "allow 4"),
        ("git commit -m 'push; rm -rf x'", "allow 2"),
        ("git commit -m \"$(cat <<'E'\nfix\nE\n)\"", "allow 4"),
        ("for f in a b; do git add $f; done", "allow 2"),
        ("timeout 5 git status", "allow 2"),
        ("bash -c 'git status; ls'", "allow 3"),
        ("bash -c 'git status; make'", "-"),
        ("bash -c 'git status; git push'", "deny 1"),
        ("(git push)", "deny 1"),
        ("echo $(git push)", "deny 1"),
        ("x=push; git $x", "deny 1"),
        ("g'i't p\\ush -f", "deny 1"),
        ("if true; then git push; fi", "deny 1"),
        ("f() { git push; }; f", "deny 1"),
        ("echo 'git push' | bash", "deny 1"),
        ("echo git push", "allow 5"),
        ("echo $(make)", "-"),
        ("cat <<< $(make)", "-"),
        ("cat <(make)", "-"),
        ("cat < /etc/passwd", "allow 4"),
        ("PATH=. git status", "-"),
        ("PATH=.; git status", "-"),
        ("export PATH=.; git status", "-"),
        ("env PATH=. git status", "-"),
        ("git() { make; }; git status", "-"),
        ("alias git=make; git status", "-"),
        ("find . -delete -exec git status \\;", "-"),
        ("'git x/evil' status", "-"),
        ("git log > /etc/x", "-"),
        ("git log > log", "allow 2"),
        ("git log >> /dev/null 2>&1", "allow 2"),
        ("cd /etc && echo x > passwd", "-"),
        ("> /etc/passwd", "-"),
        ("> x", "-"),
        ("git status & make", "-"),
        ("git status\nmake", "-"),
        ("git log || make", "-"),
        ("true; { make; }", "-"),
        ("# git\nls", "allow 3"),
    ] {
        let reading = Reading { commands: &shell::commands, ..reading(false) };
        let call = call("Bash", json!({ "command": line }));
        let said = decide(&[&rules], &call, reading)
            .map_or_else(|| "-".to_owned(), |matched| format!("{} {}", matched.action, matched.number));
        assert_eq!(said, expected, "{line}: {:?}", shell::commands(line));
    }
}
