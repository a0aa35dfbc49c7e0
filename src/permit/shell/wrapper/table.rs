//! The wrappers. Each row's first example runs what it wraps, its second does not; a test holds the rows to both.

use super::{Runs, custom};
use crate::permit::shell::field::Field;

/// A program that runs another command.
#[derive(Debug)]
pub struct Wrapper {
    /// What it is called.
    pub names: &'static [&'static str],
    /// Its options of one letter that are followed by a value.
    pub letters: &'static str,
    /// Its long options that are followed by a value, without `--`.
    pub long: &'static [&'static str],
    /// Where the command stands.
    pub(in crate::permit::shell) runs: Runs,
    /// A line in which it runs a command that the guard refuses.
    pub matches: &'static str,
    /// A line in which it does not.
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
    /// Where its first operand stands, after its options and their values.
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

use Runs::{Custom, Environment, Input, Line, Option as Value, Somewhere, Texts, Words};

#[rustfmt::skip]
/// All of them.
pub static TABLE: &[Wrapper] = &[
    // What sets something for the command.
    row(&["env"], "uCS", &["unset", "chdir", "split-string"], Custom(custom::environment), "env -u A B=1 sudo ls", "env B=sudo ls"),
    row(&["nohup", "setsid", "command", "builtin", "unbuffer", "chronic", "catchsegv", "busybox", "busybox.static", "busybox-static", "toybox", "coproc", "noglob", "nocorrect", "fakeroot", "proxychains", "proxychains4", "torsocks", "torify", "eatmydata", "linux32", "linux64", "i386", "x86_64", "dbus-run-session", "dbus-launch", "winpty", "caffeinate", "ifne", "chrt-any", "shx"], "", &[], Custom(custom::plain), "nohup sudo ls", "command -v sudo"),
    row(&["cross-env", "cross-env-shell", "env-cmd", "dotenvx", "dotenv"], "f", &[], Environment, "cross-env A=b sudo ls", "cross-env A=sudo ls"),
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
    row(&["setarch"], "", &[], Custom(custom::architecture), "setarch x86_64 -R sudo ls", "setarch x86_64 ls"),
    row(&["arch"], "", &["arch"], Words(0), "arch -x86_64 sudo ls", "arch"),
    row(&["ld.so", "ld-linux.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-musl-x86_64.so.1"], "", &["library-path", "argv0", "preload"], Words(0), "/lib64/ld-linux-x86-64.so.2 /usr/bin/sudo ls", "ld.so /bin/ls"),
    row(&["systemd-cat"], "tp", &["identifier", "priority"], Words(0), "systemd-cat -t x sudo ls", "systemd-cat ls"),
    row(&["sshpass"], "pfePd", &[], Words(0), "sshpass -p x ssh host reboot", "sshpass -p x ssh host ls"),
    row(&["dtach", "abduco"], "erE", &[], Words(1), "dtach -n /tmp/x sudo ls", "dtach -n /tmp/x ls"),
    row(&["daemonize", "daemon", "cronic"], "acelopuE", &[], Words(0), "daemonize -c /tmp /usr/bin/sudo ls", "daemonize /bin/ls"),
    row(&["start-stop-daemon"], "", &[], Value(&["--exec", "-x", "--startas", "-a"], usize::MAX), "start-stop-daemon --start --exec /sbin/reboot", "start-stop-daemon --start --exec /bin/ls"),
    row(&["coreutils"], "", &[], Custom(custom::multiple), "coreutils --coreutils-prog=shred -u x", "coreutils --coreutils-prog=ls"),
    row(&["xdotool"], "", &[], Custom(custom::pointer), "xdotool exec sudo ls", "xdotool key a"),
    row(&["rlwrap"], "aAbBcCdDefFgGhHilLmMnNoOpPqQrRsStTuUvVwWyYzZ", &[], Words(0), "rlwrap -a sudo sudo ls", "rlwrap ls"),
    row(&["xvfb-run"], "efnpsw", &["server-num", "server-args", "auth-file", "error-file"], Words(0), "xvfb-run -s '-screen 0' sudo ls", "xvfb-run ls"),
    row(&["cgexec", "chpst", "softlimit"], "gubmnpoU/", &[], Words(0), "cgexec -g cpu:x sudo ls", "cgexec -g cpu:x ls"),
    row(&["systemd-run"], "pEuMHC", &["unit", "property", "setenv", "description", "slice", "uid", "gid", "nice", "working-directory", "on-active", "on-boot", "on-calendar", "timer-property", "host", "machine", "service-type"], Words(0), "systemd-run --unit x -p A=b sudo ls", "systemd-run --user ls"),
    row(&["systemd-inhibit"], "", &["what", "who", "why", "mode"], Words(0), "systemd-inhibit --why x sudo ls", "systemd-inhibit ls"),
    row(&["firejail", "bwrap", "proot", "nsjail", "apptainer", "singularity", "distrobox", "toolbox"], "", &[], Somewhere, "bwrap --bind / / sudo ls", "bwrap --bind / / ls"),
    row(&["strace", "ltrace", "valgrind", "perf", "rr", "uftrace", "heaptrack"], "aeEoOpPsSuIbUX", &["output", "trace"], Custom(custom::traced), "strace -f -o x.log sudo ls", "perf stat ls"),
    row(&["gdb", "lldb"], "", &[], Custom(custom::debugged), "gdb --args sudo ls", "gdb ls"),
    // What runs it elsewhere, or as somebody else.
    row(&["sudo", "doas", "sudoedit"], "ugpCThUrRDta", &["user", "group", "chdir", "host", "prompt", "close-from", "chroot"], Environment, "sudo -u x A=b ls", "man sudo"),
    row(&["pkexec", "run0", "gosu", "su-exec", "s6-setuidgid", "setuidgid"], "ug", &["user", "unit", "setenv"], Words(0), "pkexec ls", "man pkexec"),
    row(&["su", "runuser"], "gGsuw", &["group", "supp-group", "shell", "user"], Value(&["-c", "--command", "--session-command"], 1), "su -c ls", "man su"),
    row(&["sg"], "", &[], Custom(custom::second_line), "sg users -c 'sudo ls'", "sg users -c ls"),
    row(&["ssh", "autossh", "mosh"], "BbcDEeFIiJLlmOopPQRSWw", &["ssh"], Custom(custom::remote), "ssh -p 22 localhost 'sudo ls'", "ssh host grep sudo x"),
    row(&["chroot"], "", &["userspec", "groups"], Words(1), "chroot /mnt sudo ls", "chroot /mnt ls"),
    row(&["unshare"], "SGRw", &["setuid", "setgid", "root", "wd", "propagation"], Words(0), "unshare -r sudo ls", "unshare -r ls"),
    row(&["nsenter"], "tSGrw", &["target"], Words(0), "nsenter -t 9 -m sudo ls", "nsenter -t 9 -m ls"),
    row(&["capsh"], "", &[], Custom(custom::shelled), "capsh -- -c 'sudo ls'", "capsh --print"),
    row(&["setpriv", "ip"], "", &["reuid", "regid", "groups"], Somewhere, "setpriv --no-new-privs sudo ls", "ip addr"),
    row(&["docker", "podman", "kubectl", "nerdctl"], "", &[], Custom(custom::container), "docker run -v /:/host x chroot /host ls", "docker run --rm img reboot-simulator"),
    // What runs it many times, later, or when something happens.
    row(&["xargs", "gxargs"], "adEILnPs", &["arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars", "replace", "process-slot-var"], Custom(custom::xargs), "echo x | xargs -n 1 sudo", "echo sudo | xargs grep"),
    row(&["sem", "retry", "rerun", "repeat", "every"], "jtdmn", &["jobs", "times", "delay", "until"], Words(0), "retry -t 3 -- sudo ls", "retry -t 3 -- ls"),
    row(&["parallel"], "jNnLPsSaIC", &["jobs", "max-args", "arg-file", "delay", "timeout", "sshlogin"], Custom(custom::parallel), "parallel sudo ::: ls", "parallel grep sudo ::: a b"),
    row(&["find", "gfind", "bfs"], "", &[], Custom(custom::find), "find . -exec sudo ls ;", "find . -name sudo"),
    row(&["fd", "fdfind"], "", &[], Custom(custom::fd), "fd -x sudo ls", "fd sudo"),
    row(&["watch", "viddy", "hwatch"], "nq", &["interval", "equexit"], Line(0), "watch -n 1 sudo ls", "watch ls"),
    row(&["flock"], "wE", &["timeout", "wait", "conflict-exit-code"], Custom(custom::lock), "flock /tmp/x sudo ls", "flock /tmp/x ls"),
    row(&["entr"], "", &[], Words(0), "ls | entr -r sudo ls", "ls | entr make"),
    row(&["script"], "coBEIOTmt", &["command"], Custom(custom::script), "script -q -c 'sudo ls' x", "script -q -c ls x"),
    row(&["murmur", "mm", "derun"], "", &[], Custom(custom::murmur), "murmur run --session-id x -- sudo ls", "murmur log 'sudo ls'"),
    row(&["trap"], "", &[], Custom(custom::first_text), "trap 'sudo ls' EXIT", "trap - EXIT"),
    row(&["hyperfine"], "wrmMLDP", &["warmup", "runs", "export-json", "export-markdown", "parameter-list"], Custom(custom::measured), "hyperfine --prepare 'sudo sync' ls", "hyperfine ls"),
    row(&["concurrently", "mprocs", "tmate"], "wrmMpSnL", &["warmup", "runs", "prepare", "setup", "names", "export-json", "export-markdown"], Texts, "concurrently 'sudo ls'", "concurrently ls"),
    row(&["at", "batch"], "fqt", &[], Input, "echo 'sudo ls' | at now", "at -l"),
    row(&["crontab"], "u", &[], Custom(custom::crontab), "echo '* * * * * sudo ls' | crontab -", "crontab -l"),
    row(&["tmux", "screen", "zellij", "byobu"], "LSfc", &[], Custom(custom::terminal), "tmux new-session -d 'sudo ls'", "tmux ls"),
    row(&["nodemon", "watchexec", "cargo-watch"], "wex", &["exec", "watch", "ext"], Value(&["--exec", "-x", "-s", "--shell"], 0), "nodemon --exec 'sudo ls'", "nodemon app.js"),
    row(&["xterm", "gnome-terminal", "konsole", "kitty", "alacritty", "foot", "wezterm", "x-terminal-emulator", "urxvt", "st", "xfce4-terminal"], "", &[], Custom(custom::window), "xterm -e sudo ls", "xterm"),
    // What runs it in an environment of a language.
    row(&["poetry", "pipenv", "uv", "pdm", "hatch", "rye", "pixi", "mise", "rtx", "asdf", "conda", "mamba", "direnv", "nix", "guix", "bundle", "rvm", "rbenv", "pyenv", "doppler", "op", "dotenv", "aws-vault", "flatpak-spawn", "devbox", "nix-shell"], "", &[], Custom(custom::tool), "poetry run sudo ls", "poetry add sudo"),
    row(&["npm", "pnpm", "yarn"], "", &[], Custom(custom::package), "npm exec -- sudo ls", "npm run reboot"),
    row(&["npx", "pnpx", "bunx"], "pc", &["package", "call"], Value(&["-c", "--call"], 0), "npx -y tsx -e 'require(\"child_process\").execSync(\"sudo ls\")'", "npx -y tsc"),
    // What builds.
    row(&["make", "gmake", "ninja"], "", &[], Custom(custom::make), "make CC='sudo gcc'", "make halt-tests"),
    row(&["cmake"], "", &[], Custom(custom::cmake), "cmake -E env sudo ls", "cmake -B sudo"),
    row(&["just"], "", &[], Value(&["--shell", "--command", "-c"], usize::MAX), "just --shell sudo x", "just reboot"),
    row(&["cargo"], "", &[], Custom(custom::cargo), "cargo --config 'target.x.runner=\"sudo\"' run", "cargo run sudo"),
    row(&["go"], "", &[], Value(&["-exec", "-toolexec"], usize::MAX), "go test -exec sudo ./...", "go test ./sudo"),
    row(&["ansible"], "", &[], Value(&["-a", "--args"], usize::MAX), "ansible localhost -m command -a 'sudo ls'", "ansible localhost -m ping"),
    row(&["split", "gsplit"], "", &[], Value(&["--filter"], usize::MAX), "split --filter='sudo tee x' y", "split sudo"),
    row(&["nc", "ncat", "netcat"], "", &[], Value(&["-e", "-c", "--exec", "--sh-exec"], usize::MAX), "nc -l -p 1 -e '/usr/bin/sudo sh'", "nc sudo 1"),
    // What runs a text that stands in an option.
    row(&["git"], "", &[], Custom(custom::git), "git -c alias.x='!sudo ls' x", "git commit -m 'sudo ls'"),
    row(&["tar", "gtar", "bsdtar"], "", &[], Custom(custom::tar), "tar cf x . --checkpoint=1 --checkpoint-action=exec='sudo ls'", "tar cf sudo.tar ."),
    row(&["rsync", "scp", "sftp"], "", &[], Value(&["-e", "--rsh", "--rsync-path", "-S"], usize::MAX), "rsync -e 'sudo ssh' a b", "rsync -a sudo b"),
    row(&["man"], "", &[], Value(&["-P", "--pager", "-H"], usize::MAX), "man -P 'sudo ls' x", "man reboot"),
    row(&["zip"], "", &[], Value(&["-TT", "--unzip-command"], usize::MAX), "zip x y -T -TT 'sudo ls'", "zip x sudo"),
    row(&["socat"], "", &[], Custom(custom::socat), "socat - EXEC:'sudo ls'", "socat - TCP:host:1"),
    row(&["psql", "sqlite3", "mysql", "ftp", "dc", "bc", "ed", "gnuplot", "less", "more"], "", &[], Custom(custom::banged), "psql -c '\\! sudo ls'", "less sudo.txt"),
    row(&["rg", "ripgrep"], "", &[], Value(&["--pre", "--hostname-bin"], usize::MAX), "rg --pre 'sudo' x", "rg sudo"),
    row(&["compgen", "complete"], "", &[], Value(&["-C"], usize::MAX), "compgen -C 'sudo ls' x", "compgen -c sudo"),
    row(&["bind"], "", &[], Custom(custom::bound), "bind -x '\"\\C-a\": sudo ls'", "bind -p"),
    row(&["ts", "tsp"], "LSNDWE", &[], Words(0), "ts sudo ls", "ls | ts"),
    row(&["rush"], "ji", &[], Texts, "rush 'sudo ls {}'", "rush 'echo sudo'"),
    row(&["sort", "gsort"], "", &[], Value(&["--compress-program"], usize::MAX), "sort --compress-program=sudo x", "sort sudo"),
];
