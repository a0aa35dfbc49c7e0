//! Programs that change murmur, or what controls the next run, through an option, a setting or code.

use super::place as plain;
use shell_guard::call::{CallPlace, ProtectedPaths};
use shell_guard::guard::{Finding, inspect};

fn place() -> CallPlace {
    let paths = ["/opt/murmur/murmur", "/opt/murmur/murmur-hook"];
    let own = ProtectedPaths {
        paths: paths.map(Into::into).to_vec(),
        processes: vec![4711],
        ..ProtectedPaths::default()
    };
    CallPlace { own, ..plain("/home/user/project") }
}

#[test]
fn code_that_kills_or_changes_murmur_is_refused() {
    for line in [
        "python3 -c 'import os; os.kill(os.getppid(), 9)'",
        "python3 -c 'import os; os.kill(4711, 9)'",
        "python3 -c 'import os; os.kill(int(os.popen(\"pgrep murmur\").read()), 9)'",
        "python3 -c 'import psutil; [p.kill() for p in psutil.process_iter() if \"murmur\" in p.name()]'",
        "perl -e 'kill 9, getppid'",
        "perl -e 'kill 9, `pgrep murmur`'",
        "ruby -e 'Process.kill 9, Process.ppid'",
        "node -e 'process.kill(process.ppid)'",
        "php -r 'posix_kill(posix_getppid(), 9);'",
        "awk 'BEGIN{system(\"kill -9 \" PROCINFO[\"ppid\"])}'",
        "awk 'BEGIN{\"pgrep murmur\"|getline p; system(\"kill \" p)}'",
        "pwsh -c 'Stop-Process -Name murmur'",
        "pwsh -c 'Stop-Process -Id 4711'",
        "python3 -c 'import os; os.chmod(\"/opt/murmur/murmur-hook\", 0)'",
        "python3 -c 'import os; os.chdir(\"/opt/murmur\"); os.remove(\"murmur-hook\")'",
        "python3 -c 'import os; os.replace(\"x\", \"/opt/murmur/murmur-hook\")'",
        "python3 -c 'from pathlib import Path as P; (P(\"/opt\")/\"murmur\"/\"murmur\").write_text(\"\")'",
        "node -e 'fs.chmodSync(\"/opt/murmur/murmur-hook\", 0)'",
        "node -e 'fs.symlinkSync(\"x\", \"/opt/murmur/murmur-hook\")'",
        "perl -e 'chmod 0, \"/opt/murmur/murmur-hook\"'",
        "ruby -e 'File.chmod 0, \"/opt/murmur/murmur-hook\"'",
        "cmake -E remove_directory /opt/murmur",
    ] {
        let found = inspect(line, &place());
        assert!(matches!(found, Finding::Refused { entry: "murmur", .. }), "{line}: {found:?}");
    }
}

#[test]
fn git_settings_and_code_that_decide_what_runs_next_are_refused() {
    for line in [
        "git config diff.external x",
        "git config alias.x '!id'",
        "git config --add alias.x '!id'",
        "git config set --global alias.x '!id'",
        "git config remote.x.uploadpack x",
        "git config remote.x.receivepack x",
        "git config core.alternateRefsCommand x",
        "git config gpg.ssh.defaultKeyCommand x",
        "git config mergetool.x.path x",
        "git config submodule.x.update '!id'",
        "git config sendemail.toCmd x",
        "git config trailer.x.cmd id",
        "git config browser.x.cmd id",
        "git config man.x.cmd id",
        "git config tar.tar.xz.command id",
        "git config imap.tunnel x",
        "git config guitool.x.cmd id",
        "git config hook.x.command id",
        "git config core.attributesFile x",
        "git config \"core.$x\" y",
        "git config --edit",
        "git config edit",
        "git config --rename-section user core",
        "git config --file .gitmodules submodule.x.update '!id'",
        "git remote add x 'ext::sh -c id'",
        "git remote set-url x 'ext::sh -c id'",
        "git config remote.x.url 'ext::sh -c id'",
        "git config url.'ext::sh -c id'.insteadOf x",
        "deno run -A npm:@anthropic-ai/claude-code -p x",
        "node node_modules/@anthropic-ai/claude-code/cli.js -p x",
        "nix run nixpkgs#claude-code -- -p x",
        "vim -es -c 'w! ~/.bashrc' -c q a",
        "awk 'BEGIN{print \"x\" > ENVIRON[\"HOME\"]\"/.bashrc\"}'",
        "perl -e 'open F,\">>$ENV{HOME}/.bashrc\"; print F 1'",
        "node -e 'fs.writeFileSync(path.join(os.homedir(),\".bashrc\"),\"x\")'",
        "node -e 'const {writeFileSync:w}=require(\"fs\"); w(\".claude/settings.json\",\"{}\")'",
        "ruby -e 'File.write(File.expand_path(\"~/.bashrc\"),\"x\")'",
        "python3 -c 'from pathlib import Path; (Path.home()/\".bashrc\").write_text(\"x\")'",
        "python3 -c 'from pathlib import Path; Path(\"~/.bashrc\").expanduser().write_text(\"x\")'",
        "python3 -c 'from pathlib import Path; Path.home().joinpath(\".bashrc\").write_text(\"x\")'",
        "python3 -c 'import pathlib; pathlib.Path(\".claude\",\"settings.json\").write_text(\"{}\")'",
        "python3 -c 'import os; open(os.path.join(os.path.expanduser(\"~\"),\".bashrc\"),\"a\")'",
        "python3 -c 'import os; os.chdir(\".git/hooks\"); open(\"pre-commit\",\"w\")'",
        "python3 -c 'import shutil; shutil.copy(\"x\",\".git/hooks/pre-commit\")'",
        "python3 -c 'import os; os.symlink(\"/tmp/x\",\".claude/settings.json\")'",
        "python3 -c 'import shutil; shutil.copytree(\"x\",\".claude\",dirs_exist_ok=True)'",
    ] {
        let found = inspect(line, &place());
        assert!(matches!(found, Finding::Controlled { .. }), "{line}: {found:?}");
    }
}
