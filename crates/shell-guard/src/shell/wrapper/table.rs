//! The table of wrappers. Each row has an example that runs a command and one that doesn't; a test checks both.

use super::{Runs, custom};
use crate::shell::field::Field;

/// A program that runs another command.
#[derive(Debug)]
pub struct Wrapper {
    /// Its names.
    pub names: &'static [&'static str],
    /// Its short options that take a value.
    pub letters: &'static str,
    /// Its long options that take a value, without `--`.
    pub long: &'static [&'static str],
    /// Where the command is.
    pub(in crate::shell) runs: Runs,
    /// A command line in which it runs a refused command.
    pub matches: &'static str,
    /// A similar one in which it doesn't.
    pub not_match: &'static str,
}

const fn row(
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    runs: Runs,
    matches: &'static str,
    not_match: &'static str,
) -> Wrapper {
    Wrapper { names, letters, long, runs, matches, not_match }
}

impl Wrapper {
    /// The index of the first operand, after options and their values.
    pub(super) fn first_operand(&self, words: &[Field]) -> usize {
        let mut at = 0;
        while let Some(text) = words.get(at).map(Field::marked) {
            if text == "--" {
                return at + 1;
            }
            let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else { break };
            at += 1;
            if let Some(long) = option.strip_prefix('-') {
                at += usize::from(self.long.contains(&long));
            } else if self.long.contains(&option) {
                at += 1;
            } else if let Some(place) = option.find(|letter| self.letters.contains(letter)) {
                at += usize::from(place + 1 == option.len());
            }
        }
        at.min(words.len())
    }
}

use Runs::{After, Anywhere, Custom, Environment, Input, Line, MaybeLine, Option as Value, Texts, Words};

#[rustfmt::skip]
/// All wrappers.
pub static TABLE: &[Wrapper] = &[
    // Prefixes that set something for the command.
    row(&["env"], "uCS", &["unset", "chdir", "split-string"], Custom(custom::env), "env -u A B=1 sudo ls", "env B=sudo ls"),
    row(&["nohup", "setsid", "command", "builtin", "unbuffer", "chronic", "catchsegv", "busybox", "busybox.static", "busybox-static", "toybox", "noglob", "nocorrect", "fakeroot", "proxychains", "proxychains4", "torsocks", "torify", "eatmydata", "linux32", "linux64", "i386", "x86_64", "dbus-run-session", "dbus-launch", "winpty", "caffeinate", "ifne", "chrt-any", "shx"], "", &[], Custom(custom::prefix), "nohup sudo ls", "command -v sudo"),
    row(&["coproc"], "", &[], Custom(custom::coproc), "coproc sudo ls", "coproc ls"),
    row(&["cross-env", "cross-env-shell", "env-cmd", "dotenv"], "f", &[], Environment, "cross-env A=b sudo ls", "cross-env A=sudo ls"),
    row(&["cmd", "cmd.exe"], "", &[], Line(1), "cmd.exe /c shutdown.exe /s", "cmd.exe /c dir"),
    row(&["exec"], "a", &[], Words(0), "exec -a x sudo ls", "exec ls sudo"),
    row(&["nice"], "n", &["adjustment"], Words(0), "nice -n 5 sudo ls", "nice -n 5 ls"),
    row(&["ionice"], "cnpPu", &["class", "classdata"], Words(0), "ionice -c 2 -n 7 sudo ls", "ionice -c3 ls"),
    row(&["chrt"], "TPD", &[], Words(1), "chrt -f 10 sudo ls", "chrt -f 10 ls"),
    row(&["taskset"], "", &[], Words(1), "taskset -c 0,1 sudo ls", "taskset 0x3 ls"),
    row(&["numactl", "prlimit", "cpulimit"], "NCmipl", &["membind", "cpunodebind", "interleave"], Words(0), "numactl -N 0 sudo ls", "numactl -N 0 ls"),
    row(&["time", "gtime"], "fo", &["format", "output"], Words(0), "/usr/bin/time -f %e sudo ls", "time ls"),
    row(&["timeout", "gtimeout"], "ks", &["kill-after", "signal"], Words(1), "timeout -k 5 -s KILL 10 sudo ls", "timeout 5 ls"),
    row(&["stdbuf"], "ioe", &["input", "output", "error"], Words(0), "stdbuf -o L sudo ls", "stdbuf -oL ls"),
    row(&["faketime"], "fm", &[], Words(1), "faketime '2020-01-01' sudo ls", "faketime -f x ls"),
    row(&["setarch"], "", &[], Custom(custom::setarch), "setarch x86_64 -R sudo ls", "setarch x86_64 ls"),
    row(&["choom"], "np", &["adjust", "pid"], Words(0), "choom -n 0 -- sudo ls", "choom -n 0 -- ls"),
    row(&["uclampset"], "mMp", &["pid"], Words(0), "uclampset -m 1 sudo ls", "uclampset -m 1 ls"),
    row(&["ssh-agent"], "aEPt", &[], Words(0), "ssh-agent -t 60 sudo ls", "ssh-agent -s"),
    row(&["tini", "tini-static", "dumb-init", "catatonit", "fakechroot", "tsocks", "nq", "flamegraph", "run-one"], "perc", &["rewrite"], Words(0), "tini -- sudo ls", "dumb-init ls"),
    row(&["multitime", "timelimit"], "nirIosbtTsS", &[], Words(0), "timelimit -t 5 sudo ls", "multitime -n 3 ls"),
    row(&["envdir", "envchain", "when-changed"], "", &[], Words(1), "envdir d sudo ls", "envdir d ls"),
    row(&["runcon"], "", &["user", "role", "type", "range"], Anywhere, "runcon x sudo ls", "runcon x ls"),
    row(&["aa-exec"], "pn", &["profile", "namespace"], Words(0), "aa-exec -p x sudo ls", "aa-exec -p x ls"),
    row(&["execlineb"], "", &[], Value(&["-c"], usize::MAX), "execlineb -c 'sudo ls'", "execlineb -c ls"),
    row(&["gnome-session-inhibit", "flatpak-spawn", "host-spawn", "distrobox-host-exec"], "", &["app-id", "reason", "inhibit", "forward-fd", "cwd"], Words(0), "flatpak-spawn --host sudo ls", "host-spawn ls"),
    row(&["qemu-x86_64", "qemu-i386", "qemu-aarch64", "qemu-arm", "qemu-riscv64", "qemu-x86_64-static", "qemu-aarch64-static"], "LgsdDErpBU0", &["cpu"], Words(0), "qemu-x86_64 -L / /usr/bin/sudo ls", "qemu-aarch64 ./app"),
    row(&["mpirun", "mpiexec", "orterun", "srun"], "nNcHtpJowx", &["np", "host", "hostfile", "machinefile", "map-by", "bind-to", "ntasks", "nodes", "partition"], Words(0), "mpirun -n 1 sudo ls", "mpirun -np 4 ./app"),
    row(&["torchrun"], "m", &[], After(&["--no-python"], 0), "torchrun --no-python sudo ls", "torchrun train.py sudo"),
    row(&["systemd-nspawn"], "DMbujUEiS", &["directory", "image", "machine", "user", "bind"], Words(0), "systemd-nspawn -D / sudo ls", "systemd-nspawn -D /x ls"),
    row(&["arch"], "", &["arch"], Words(0), "arch -x86_64 sudo ls", "arch"),
    row(&["ld.so", "ld-linux.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-musl-x86_64.so.1"], "", &["library-path", "argv0", "preload"], Words(0), "/lib64/ld-linux-x86-64.so.2 /usr/bin/sudo ls", "ld.so /bin/ls"),
    row(&["systemd-cat"], "tp", &["identifier", "priority"], Words(0), "systemd-cat -t x sudo ls", "systemd-cat ls"),
    row(&["sshpass"], "pfePd", &[], Words(0), "sshpass -p x ssh host reboot", "sshpass -p x ssh host ls"),
    row(&["dtach", "abduco"], "erE", &[], Words(1), "dtach -n /tmp/x sudo ls", "dtach -n /tmp/x ls"),
    row(&["reflex"], "rRgGsd", &["regex", "glob"], Words(0), "reflex -r x -- sudo ls", "reflex -r x -- make"),
    row(&["onchange"], "", &[], After(&["--"], 0), "onchange '*' -- sudo ls", "onchange '*' -- make"),
    row(&["chokidar"], "", &[], MaybeLine(&["-c", "--command"]), "chokidar '*' -c 'sudo ls'", "chokidar '*' -c make"),
    row(&["pueue"], "dgwlo", &["delay", "group", "working-directory", "label"], After(&["add"], 0), "pueue add 'sudo ls'", "pueue status"),
    row(&["pm2"], "ni", &["name"], After(&["start"], 0), "pm2 start sudo -- ls", "pm2 start app.js"),
    row(&["samply"], "o", &["output"], After(&["record"], 0), "samply record sudo ls", "samply load x"),
    row(&["fzf", "sk", "fzf-tmux"], "", &[], Custom(custom::fzf), "fzf --preview 'sudo ls'", "fzf -q sudo"),
    row(&["sbatch"], "", &[], MaybeLine(&["--wrap"]), "sbatch --wrap='sudo ls'", "sbatch x.sh"),
    row(&["salt-call", "salt"], "", &[], After(&["cmd.run", "cmd.shell"], 0), "salt-call --local cmd.run 'sudo ls'", "salt-call test.ping"),
    row(&["daemonize", "daemon", "cronic"], "acelopuE", &[], Words(0), "daemonize -c /tmp /usr/bin/sudo ls", "daemonize /bin/ls"),
    row(&["start-stop-daemon"], "", &[], Value(&["--exec", "-x", "--startas", "-a"], usize::MAX), "start-stop-daemon --start --exec /sbin/reboot", "start-stop-daemon --start --exec /bin/ls"),
    row(&["coreutils"], "", &[], Custom(custom::coreutils), "coreutils --coreutils-prog=shred -u x", "coreutils --coreutils-prog=ls"),
    row(&["xdotool"], "", &[], Custom(custom::xdotool), "xdotool exec sudo ls", "xdotool key a"),
    row(&["rlwrap"], "aAbBcCdDefFgGhHilLmMnNoOpPqQrRsStTuUvVwWyYzZ", &[], Words(0), "rlwrap -a sudo sudo ls", "rlwrap ls"),
    row(&["xvfb-run"], "efnpsw", &["server-num", "server-args", "auth-file", "error-file"], Words(0), "xvfb-run -s '-screen 0' sudo ls", "xvfb-run ls"),
    row(&["cgexec", "chpst", "softlimit"], "gubmnpoU/", &[], Words(0), "cgexec -g cpu:x sudo ls", "cgexec -g cpu:x ls"),
    row(&["systemd-run"], "pEuMHC", &["unit", "property", "setenv", "description", "slice", "uid", "gid", "nice", "working-directory", "on-active", "on-boot", "on-calendar", "timer-property", "host", "machine", "service-type"], Words(0), "systemd-run --unit x -p A=b sudo ls", "systemd-run --user ls"),
    row(&["systemd-inhibit"], "", &["what", "who", "why", "mode"], Words(0), "systemd-inhibit --why x sudo ls", "systemd-inhibit ls"),
    row(&["firejail", "bwrap", "proot", "nsjail", "apptainer", "singularity", "distrobox", "toolbox"], "", &[], Anywhere, "bwrap --bind / / sudo ls", "bwrap --bind / / ls"),
    row(&["strace", "ltrace", "valgrind", "perf", "rr", "uftrace", "heaptrack"], "aeEoOpPsSuIbUX", &["output", "trace"], Custom(custom::strace), "strace -f -o x.log sudo ls", "perf stat ls"),
    row(&["gdb", "lldb"], "", &[], Custom(custom::debugger), "gdb --args sudo ls", "gdb ls"),
    // Other machines or users.
    row(&["sudo", "doas", "sudoedit"], "ugpCThUrRDta", &["user", "group", "chdir", "host", "prompt", "close-from", "chroot"], Environment, "sudo -u x A=b ls", "man sudo"),
    row(&["pkexec", "run0", "gosu", "su-exec", "s6-setuidgid", "setuidgid"], "ug", &["user", "unit", "setenv"], Words(0), "pkexec ls", "man pkexec"),
    row(&["su", "runuser"], "gGsuw", &["group", "supp-group", "shell", "user"], Value(&["-c", "--command", "--session-command"], 1), "su -c ls", "man su"),
    row(&["sg"], "", &[], Custom(custom::sg), "sg users -c 'sudo ls'", "sg users -c ls"),
    row(&["ssh", "autossh", "mosh"], "BbcDEeFIiJLlmOopPQRSWw", &["ssh"], Custom(custom::ssh), "ssh -p 22 localhost 'sudo ls'", "ssh host grep sudo x"),
    row(&["chroot"], "", &["userspec", "groups"], Words(1), "chroot /mnt sudo ls", "chroot /mnt ls"),
    row(&["unshare"], "SGRw", &["setuid", "setgid", "root", "wd", "propagation"], Words(0), "unshare -r sudo ls", "unshare -r ls"),
    row(&["nsenter"], "tSGrw", &["target"], Words(0), "nsenter -t 9 -m sudo ls", "nsenter -t 9 -m ls"),
    row(&["capsh"], "", &[], Custom(custom::capsh), "capsh -- -c 'sudo ls'", "capsh --print"),
    row(&["setpriv", "ip"], "", &["reuid", "regid", "groups"], Anywhere, "setpriv --no-new-privs sudo ls", "ip addr"),
    row(&["docker", "podman", "kubectl", "nerdctl"], "", &[], Custom(custom::container), "docker run -v /:/host x chroot /host ls", "docker run --rm img reboot-simulator"),
    // Repeated, delayed or triggered commands.
    row(&["xargs", "gxargs"], "adEILnPs", &["arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars", "replace", "process-slot-var"], Custom(custom::xargs), "echo x | xargs -n 1 sudo", "echo sudo | xargs grep"),
    row(&["sem", "retry", "rerun", "repeat", "every"], "jtdmn", &["jobs", "times", "delay", "until"], Words(0), "retry -t 3 -- sudo ls", "retry -t 3 -- ls"),
    row(&["parallel"], "jNnLPsSaIC", &["jobs", "max-args", "arg-file", "delay", "timeout", "sshlogin"], Custom(custom::parallel), "parallel sudo ::: ls", "parallel grep sudo ::: a b"),
    row(&["find", "gfind", "bfs"], "", &[], Custom(custom::find), "find . -exec sudo ls ;", "find . -name sudo"),
    row(&["fd", "fdfind"], "", &[], Custom(custom::fd), "fd -x sudo ls", "fd sudo"),
    row(&["watch", "viddy", "hwatch"], "nq", &["interval", "equexit"], Line(0), "watch -n 1 sudo ls", "watch ls"),
    row(&["flock"], "wE", &["timeout", "wait", "conflict-exit-code"], Custom(custom::flock), "flock /tmp/x sudo ls", "flock /tmp/x ls"),
    row(&["entr"], "", &[], Words(0), "ls | entr -r sudo ls", "ls | entr make"),
    row(&["script"], "coBEIOTmt", &["command"], Custom(custom::script), "script -q -c 'sudo ls' x", "script -q -c ls x"),
    row(&["murmur", "mm", "derun"], "", &[], Custom(custom::murmur), "murmur run --session-id x -- sudo ls", "murmur log 'sudo ls'"),
    row(&["trap"], "", &[], Custom(custom::trap), "trap 'sudo ls' EXIT", "trap - EXIT"),
    row(&["hyperfine"], "wrmMLDP", &["warmup", "runs", "export-json", "export-markdown", "parameter-list"], Custom(custom::hyperfine), "hyperfine --prepare 'sudo sync' ls", "hyperfine ls"),
    row(&["concurrently", "mprocs", "tmate"], "wrmMpSnL", &["warmup", "runs", "prepare", "setup", "names", "export-json", "export-markdown"], Texts, "concurrently 'sudo ls'", "concurrently ls"),
    row(&["at", "batch"], "fqt", &[], Input, "echo 'sudo ls' | at now", "at -l"),
    row(&["crontab"], "u", &[], Custom(custom::crontab), "echo '* * * * * sudo ls' | crontab -", "crontab -l"),
    row(&["tmux", "screen", "zellij", "byobu"], "LSfc", &[], Custom(custom::multiplexer), "tmux new-session -d 'sudo ls'", "tmux ls"),
    row(&["nodemon", "watchexec", "cargo-watch"], "wex", &["exec", "watch", "ext"], Value(&["--exec", "-x", "-s", "--shell"], 0), "nodemon --exec 'sudo ls'", "nodemon app.js"),
    row(&["xterm", "gnome-terminal", "konsole", "kitty", "alacritty", "foot", "wezterm", "x-terminal-emulator", "urxvt", "st", "xfce4-terminal", "lxterminal", "mate-terminal", "terminator", "tilix", "rxvt", "kgx", "ptyxis", "ghostty", "sakura", "qterminal"], "", &[], Custom(custom::terminal_emulator), "xterm -e sudo ls", "xterm"),
    // Environments of a language.
    row(&["poetry", "pipenv", "uv", "pdm", "hatch", "rye", "pixi", "mise", "rtx", "asdf", "conda", "mamba", "direnv", "guix", "bundle", "rvm", "rbenv", "pyenv", "doppler", "op", "dotenv", "aws-vault", "devbox", "nix-shell", "infisical", "dotenvx", "foreman", "honcho", "pipx", "uvx"], "", &[], Custom(custom::tool), "poetry run sudo ls", "poetry add sudo"),
    row(&["nix"], "", &[], Custom(custom::nix), "nix develop -c sudo ls", "nix build .#sudo"),
    row(&["tox", "stack", "cabal", "opam", "dune", "lerna", "nx", "bun", "jj"], "", &["package", "switch"], Custom(custom::exec_subcommand), "stack exec -- sudo ls", "nx run sudo"),
    row(&["chamber"], "", &[], After(&["exec"], 1), "chamber exec x -- sudo ls", "chamber list sudo"),
    row(&["sops"], "", &[], After(&["exec-env", "exec-file"], 1), "sops exec-env f 'sudo ls'", "sops -d sudo.yaml"),
    row(&["meson"], "Cw", &["workdir"], After(&["devenv"], 0), "meson devenv -C build sudo ls", "meson setup build"),
    row(&["limactl", "colima"], "", &["workdir"], After(&["shell", "ssh"], 1), "limactl shell x sudo ls", "limactl list"),
    row(&["npm", "pnpm", "yarn"], "", &[], Custom(custom::package), "npm exec -- sudo ls", "npm run reboot"),
    row(&["npx", "pnpx", "bunx"], "pc", &["package", "call"], Value(&["-c", "--call"], 0), "npx -y tsx -e 'require(\"child_process\").execSync(\"sudo ls\")'", "npx -y tsc"),
    // Build tools.
    row(&["make", "gmake", "ninja"], "", &[], Custom(custom::make), "make CC='sudo gcc'", "make halt-tests"),
    row(&["cmake"], "", &[], Custom(custom::cmake), "cmake -E env sudo ls", "cmake -B sudo"),
    row(&["ctest"], "", &[], After(&["--test-command"], 0), "ctest --build-and-test a b --test-command sudo ls", "ctest -R sudo"),
    row(&["just"], "", &[], Custom(custom::just), "just --shell sudo x", "just reboot"),
    row(&["cargo"], "", &[], Custom(custom::cargo), "cargo --config 'target.x.runner=\"sudo\"' run", "cargo run sudo"),
    row(&["go"], "", &[], Value(&["-exec", "-toolexec", "-vettool"], usize::MAX), "go test -exec sudo ./...", "go test ./sudo"),
    row(&["ansible"], "", &[], Value(&["-a", "--args"], usize::MAX), "ansible localhost -m command -a 'sudo ls'", "ansible localhost -m ping"),
    row(&["split", "gsplit"], "", &[], Value(&["--filter"], usize::MAX), "split --filter='sudo tee x' y", "split sudo"),
    row(&["nc", "ncat", "netcat"], "", &[], Value(&["-e", "-c", "--exec", "--sh-exec"], usize::MAX), "nc -l -p 1 -e '/usr/bin/sudo sh'", "nc sudo 1"),
    // A command in an option.
    row(&["nu", "xonsh", "elvish"], "", &[], MaybeLine(&["-c", "--commands"]), "nu -c 'sudo ls'", "nu sudo.nu"),
    row(&["Remove-Item", "remove-item"], "", &[], Custom(custom::remove_item), "pwsh -c 'Remove-Item -Recurse -Force /'", "pwsh -c 'Remove-Item -Recurse x'"),
    row(&["Copy-Item", "copy-item"], "", &[], Custom(custom::copy_item), "pwsh -c 'Copy-Item x /etc/passwd'", "pwsh -c 'Copy-Item /etc/passwd x'"),
    row(&["Move-Item", "move-item", "Rename-Item", "rename-item"], "", &[], Custom(custom::move_item), "pwsh -c 'Move-Item / x'", "pwsh -c 'Move-Item y x'"),
    row(&["Stop-Process", "stop-process"], "", &[], Custom(custom::stop_process), "pwsh -c 'Stop-Process -Id 1'", "pwsh -c 'Stop-Process -Id 12'"),
    row(&["Set-Content", "set-content", "Add-Content", "add-content", "Out-File", "out-file", "New-Item", "new-item", "Clear-Content", "clear-content"], "", &[], Custom(custom::set_content), "pwsh -c 'Set-Content /etc/passwd x'", "pwsh -c 'Set-Content y x'"),
    row(&["git"], "", &[], Custom(custom::git), "git -c alias.x='!sudo ls' x", "git commit -m 'sudo ls'"),
    row(&["tar", "gtar", "bsdtar"], "", &[], Custom(custom::tar), "tar cf x . --checkpoint=1 --checkpoint-action=exec='sudo ls'", "tar cf sudo.tar ."),
    row(&["rsync", "scp", "sftp"], "", &[], Custom(custom::file_transfer), "rsync -e 'sudo ssh' a b", "rsync -a sudo b"),
    row(&["sshfs"], "", &[], Custom(custom::file_transfer), "sshfs -o ssh_command='sudo ssh' h: m", "sshfs sudo: m"),
    row(&["hg", "svn"], "", &[], Custom(custom::config_options), "hg --config alias.x='!sudo ls' x", "hg commit -m 'sudo ls'"),
    row(&["bat", "batcat", "delta"], "", &[], MaybeLine(&["--pager"]), "bat --pager='sudo ls' x", "bat sudo"),
    row(&["install", "ginstall"], "", &[], MaybeLine(&["--strip-program"]), "install -s --strip-program=sudo a b", "install -m 755 sudo.sh b"),
    row(&["wget"], "", &[], MaybeLine(&["--use-askpass"]), "wget --use-askpass=sudo http://x", "wget http://x/sudo"),
    row(&["tcpdump"], "", &[], MaybeLine(&["-z"]), "tcpdump -z sudo -w a -G1", "tcpdump -w sudo"),
    row(&["java"], "", &[], Custom(custom::java), "java -XX:OnError='sudo ls' A", "java sudo"),
    row(&["mvn", "mvnw"], "", &[], Custom(custom::maven), "mvn exec:exec -Dexec.executable=sudo -Dexec.args=ls", "mvn test -Dx=sudo"),
    row(&["mix"], "", &[], Custom(custom::mix), "mix run -e 'System.cmd(\"sudo\",[\"ls\"])'", "mix run sudo.exs"),
    row(&["rails"], "", &[], Custom(custom::rails), "rails runner 'system(\"sudo ls\")'", "rails generate sudo"),
    row(&["puppet"], "", &[], Custom(custom::puppet), "puppet apply -e 'exec{\"/usr/bin/sudo ls\":}'", "puppet apply sudo.pp"),
    row(&["pdflatex", "latex", "xelatex", "lualatex", "tex", "pdftex", "luatex", "xetex", "latexmk"], "", &[], Custom(custom::tex), "pdflatex -shell-escape '\\immediate\\write18{sudo ls}'", "pdflatex sudo.tex"),
    row(&["gs", "clickhouse", "clickhouse-local"], "", &[], Custom(custom::pipe_syntax), "gs -c '(%pipe%sudo ls) (w) file'", "gs sudo.ps"),
    row(&["man"], "", &[], Value(&["-P", "--pager", "-H"], usize::MAX), "man -P 'sudo ls' x", "man reboot"),
    row(&["zip"], "", &[], Value(&["-TT", "--unzip-command"], usize::MAX), "zip x y -T -TT 'sudo ls'", "zip x sudo"),
    row(&["socat"], "", &[], Custom(custom::socat), "socat - EXEC:'sudo ls'", "socat - TCP:host:1"),
    row(&["psql", "sqlite3", "mysql", "mariadb", "duckdb", "ftp", "lftp", "dc", "bc", "ed", "less", "more", "mail", "mailx", "sbt", "r2", "radare2", "rizin"], "", &[], Custom(custom::shell_escapes), "psql -c '\\! sudo ls'", "less sudo.txt"),
    row(&["rg", "ripgrep"], "efgtTjmABC", &[], Custom(custom::ripgrep), "rg --pre 'sudo' x", "rg sudo"),
    row(&["compgen", "complete"], "", &[], Custom(custom::compgen), "compgen -C 'sudo ls' x", "compgen -c sudo"),
    row(&["bind"], "", &[], Custom(custom::bind), "bind -x '\"\\C-a\": sudo ls'", "bind -p"),
    row(&["ts", "tsp"], "LSNDWE", &[], Words(0), "ts sudo ls", "ls | ts"),
    row(&["rush"], "ji", &[], Texts, "rush 'sudo ls {}'", "rush 'echo sudo'"),
    row(&["sort", "gsort"], "", &[], Value(&["--compress-program"], usize::MAX), "sort --compress-program=sudo x", "sort sudo"),
];
