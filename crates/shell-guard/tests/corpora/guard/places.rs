//! Program-specific ways to change what controls the next run, or murmur's own files.

use super::control::place;
use shell_guard::guard::{Finding, inspect};

#[test]
fn program_specific_writes_to_what_controls_the_next_run_are_refused() {
    for line in [
        "cmake -E copy a ~/.ssh/authorized_keys",
        "vim -es -c 'w! ~/.bashrc' -c q a",
        "emacs --batch a --eval '(write-file \"~/.zshrc\")'",
        "sqlite3 x.db '.output .claude/settings.json' 'select 1'",
        "scp k localhost:.ssh/authorized_keys",
        "rsync k 127.0.0.1:.ssh/authorized_keys",
        "ssh-copy-id localhost",
        "ssh-import-id gh:x",
        "python3 -c 'import shutil; shutil.copy(\"x\",\".git/hooks/pre-commit\")'",
        "python3 -c 'import os; os.symlink(\"/tmp/x\",\".claude/settings.json\")'",
        "git checkout x -- .claude/settings.json",
        "git restore --source=x .claude/settings.json",
        "git checkout x .mcp.json",
        "git mv x .claude/settings.json",
        "git apply --include=.claude/settings.json x.diff",
        "git checkout-index -f .claude/settings.json",
        "git clone x .claude",
        "git worktree add .claude x",
        "git config -f ~/.gitconfig core.x y",
        "rename .sample '' .git/hooks/*",
        "uniq a ~/.bashrc",
        "link a ~/.bashrc",
        "docker cp c:/a ~/.bashrc",
        "aws s3 cp s3://b/a ~/.bashrc",
        "history -w ~/.bashrc",
        "HISTFILE=~/.bashrc bash -c 'history -s x'",
        "ansible localhost -m copy -a 'src=a dest=~/.bashrc'",
        "echo x > .git/modules/x/config",
        "echo x > .git/modules/x/hooks/post-checkout",
        "echo x > .git/worktrees/x/config.worktree",
        "git init --template=/tmp/x",
        "git clone --template /tmp/x https://example.com/x",
        "GIT_TEMPLATE_DIR=/tmp/x git init",
        "npm config set script-shell x",
        "npm set script-shell x",
        "pip config set global.index-url http://x",
        "aws configure set credential_process 'sh -c id'",
        "systemctl enable x",
        "systemctl --global enable x",
        "systemctl --user add-wants default.target x",
        "systemd-run --user --on-calendar=hourly id",
        "rc-update add x",
        "update-rc.d x enable",
        "chsh -s /tmp/x root",
        "echo x > $XDG_RUNTIME_DIR/systemd/user/x.service",
        "echo x > /run/user/0/systemd/user/x.service",
        "echo x > ~/.config/emacs/init.el",
        "echo x > ~/.doom.d/config.el",
        "echo x > ~/.exrc",
        "echo x > ~/.gvimrc",
        "echo x > ~/.local/share/nvim/site/plugin/x.lua",
        "echo x > ~/.config/helix/config.toml",
        "echo x > ~/.config/Code/User/settings.json",
        "echo x > ~/.config/gdb/gdbinit",
        "echo x > ~/.pdbrc",
        "echo x > ~/.local/share/direnv/allow/x",
        "echo '|/tmp/x' > /proc/sys/kernel/core_pattern",
        "echo x > \"$MURMUR_HOME/.bashrc\"",
        "cd $MURMUR_HOME && echo x > .bashrc",
        "deno run -A npm:@anthropic-ai/claude-code -p x",
        "node node_modules/@anthropic-ai/claude-code/cli.js -p x",
        "nix run nixpkgs#claude-code -- -p x",
    ] {
        let found = inspect(line, &place());
        assert!(matches!(found, Finding::Controlled { .. }), "{line}: {found:?}");
    }
}

#[test]
fn murmurs_files_may_not_be_passed_to_programs_that_may_write_them() {
    for line in [
        "rm -rf $MURMUR_DIR",
        "rm -rf \"${MURMUR_DIR:?}\"",
        "mv $MURMUR_DIR x",
        "echo '{}' >> ${MURMUR_DIR}/decisions.jsonl",
        "cd $MURMUR_DIR && echo > decisions.jsonl",
        "python3 -c 'import os,shutil; shutil.rmtree(os.environ[\"MURMUR_DIR\"])'",
        "python3 -c 'import os; open(os.environ[\"MURMUR_DIR\"]+\"/decisions.jsonl\",\"a\").write(\"x\")'",
        "node -e 'fs.writeFileSync(process.env.MURMUR_DIR+\"/decisions.jsonl\",\"\")'",
        "rm -rf \"$MURMUR_HOME\"",
        "echo x >> /proc/self/cwd/../.murmur/decisions.jsonl",
        "git -C ~/.murmur clean -fdx",
        "git clean -fdx ../.murmur",
        "zip -m a.zip ~/.murmur",
        "tar cf a.tar --remove-files ~/.murmur",
        "gio trash ~/.murmur",
        "tmpreaper 0 ~/.murmur",
        "zstd --rm /opt/murmur/murmur-hook",
        "rename murmur x /opt/murmur/murmur*",
        "patchelf --add-needed ./x.so /opt/murmur/murmur-hook",
        "upx /opt/murmur/murmur-hook",
        "git apply --unsafe-paths --directory=../.murmur x.diff",
        "mount --bind /tmp/x /opt/murmur",
        "python3 -c 'import os; os.chmod(\"/opt/murmur/murmur-hook\",0)'",
        "node -e 'fs.symlinkSync(\"x\",\"/opt/murmur/murmur-hook\")'",
        "vim -es -c 'w! ~/.config/murmur/permissions.toml' -c q a",
        "cmake -E copy a ~/.murmur/config.json",
        "curl -so/opt/murmur/murmur-hook http://x",
        "some-tool --output=/opt/murmur/murmur-hook",
        "./tool ~/.murmur/config.json",
        "kill $(cat /home/user/.murmur/*.pid)",
        "pkill -F ~/.murmur/daemon.pid",
        "fuser -k ~/.murmur/daemon.sock",
        "lsof -t /home/user/.murmur | xargs kill",
    ] {
        let found = inspect(line, &place());
        assert!(matches!(found, Finding::Refused { .. }), "{line}: {found:?}");
    }
    for line in [
        "ls -la ~/.murmur",
        "cat $MURMUR_DIR/murmur.log",
        "jq . ~/.murmur/config.json",
        "cp \"$MURMUR_DIR/heartbeats.jsonl\" .",
        "git diff --no-index ~/.murmur/config.json x.json",
        "python3 report.py ~/.murmur/heartbeats.jsonl",
        "file /opt/murmur/murmur",
        "echo $MURMUR_DIR",
    ] {
        assert_eq!(inspect(line, &place()), Finding::Clear, "{line}");
    }
}
