//! Stopping the system: shutdown, reboot, halt, poweroff, suspend.

use super::Assessment;
use super::invocation::Invocation;

fn refused(invocation: &Invocation<'_>) -> Assessment {
    Assessment::Refused(invocation.quoted())
}

fn refused_if(condition: bool, invocation: &Invocation<'_>) -> Assessment {
    if condition { refused(invocation) } else { Assessment::Clear }
}

/// `shutdown`, `reboot`, `halt`, `poweroff`, but not canceling one.
pub(super) fn stop(invocation: &Invocation<'_>) -> Assessment {
    let cancels = invocation.name() == "shutdown" && invocation.has_any(&["-c"]);
    // Android's `fastboot` has the same name.
    let is_other = invocation.name() == "fastboot" && !invocation.arguments().is_empty();
    let only_notes = invocation.name() != "shutdown" && invocation.has_any(&["-w", "--wtmp-only"]);
    refused_if(!cancels && !only_notes && !is_other, invocation)
}

/// `systemctl reboot`, `systemctl isolate poweroff.target`, `systemctl start halt.target`
pub(super) fn systemd(invocation: &Invocation<'_>) -> Assessment {
    const VERBS: [&str; 13] = [
        "reboot",
        "poweroff",
        "halt",
        "kexec",
        "soft-reboot",
        "suspend",
        "hibernate",
        "hybrid-sleep",
        "suspend-then-hibernate",
        "rescue",
        "emergency",
        "sleep",
        "kexec-reboot",
    ];
    const TARGETS: [&str; 15] = [
        "reboot",
        "poweroff",
        "halt",
        "kexec",
        "shutdown",
        "rescue",
        "emergency",
        "suspend",
        "hibernate",
        "runlevel0",
        "runlevel6",
        "runlevel1",
        "ctrl-alt-del",
        "soft-reboot",
        "systemd-reboot",
    ];
    let operands = invocation.operands(
        "HMtpPnso",
        &[
            "host", "machine", "type", "property", "signal", "output", "state", "lines", "root", "message",
            "when",
        ],
    );
    let words: Vec<&str> = operands.iter().map(|word| word.marked()).collect();
    let is_target = |word: &&str| {
        let name = word.trim_end_matches(".target").trim_end_matches(".service").trim_end_matches('*');
        TARGETS.contains(&name) || TARGETS.contains(&name.trim_start_matches("systemd-"))
    };
    let stops = match words.as_slice() {
        [verb, ..] if VERBS.contains(verb) => true,
        ["isolate" | "start" | "restart" | "set-default" | "enable", targets @ ..] => {
            targets.iter().any(is_target)
        }
        _ => false,
    };
    refused_if(stops, invocation)
}

/// `init 0`, `telinit 6`
pub(super) fn level(invocation: &Invocation<'_>) -> Assessment {
    let is_known = invocation.arguments().iter().all(|word| word.is_known());
    refused_if(invocation.has_any(&["0", "2", "6", "1", "s", "S", "u", "U"]) || !is_known, invocation)
}

/// Messages that stop the system: `dbus-send … org.freedesktop.login1.Manager.Reboot`
pub(super) fn message(invocation: &Invocation<'_>) -> Assessment {
    const WORDS: [&str; 14] = [
        "poweroff",
        "reboot",
        "halt",
        "suspend",
        "hibernate",
        "kexec",
        "shutdown",
        "hybridsleep",
        "logoutprompt",
        "requestshutdown",
        "requestreboot",
        "softreboot",
        "scheduleshutdown",
        "restart",
    ];
    let asks = invocation.arguments().iter().any(|word| {
        let word = word.marked().to_lowercase();
        if word.contains("ksmserver") && invocation.has_any(&["logout"]) {
            return true;
        }
        let last = word.rsplit(['.', '/']).next().unwrap_or(&word).to_owned();
        WORDS.contains(&last.as_str())
            || last.ends_with(".target")
            || ["reboot.target", "poweroff.target", "halt.target"].iter().any(|target| word.contains(target))
    });
    let stops = invocation.arguments().iter().any(|word| word.marked().ends_with("ConsoleKit.Manager.Stop"));
    refused_if((asks || stops) && !invocation.has_any(&["introspect", "monitor", "list", "tree"]), invocation)
}

/// Subcommands that stop the system: `ipmitool power off`, `rtcwake -m off`, `kexec -e`
pub(super) fn by_subcommand(invocation: &Invocation<'_>) -> Assessment {
    let words: &[&str] = match invocation.name().as_str() {
        "ipmitool" => &["off", "cycle", "reset", "soft"],
        "rtcwake" => &["off", "mem", "disk", "standby", "freeze"],
        "kexec" => &["-e", "--exec", "-f", "--force"],
        "loginctl" => {
            &["poweroff", "reboot", "halt", "suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate"]
        }
        "xe" => &["host-reboot", "host-shutdown"],
        "pmset" => &["sleepnow"],
        "xfce4-session-logout" | "mate-session-save" | "lxsession-logout" => &[
            "--halt",
            "--reboot",
            "--suspend",
            "--hibernate",
            "--hybrid-sleep",
            "--shutdown-dialog",
            "-h",
            "-r",
        ],
        "gnome-session-quit" => &["--power-off", "--reboot"],
        "shutdown.exe" => &["/s", "/r", "/p", "/h", "-s", "-r", "/sg", "/g"],
        "wmic" => &["reboot", "shutdown"],
        _ => &["poweroff", "reboot", "halt", "shutdown", "-r", "-h", "-p", "-s"],
    };
    refused_if(invocation.has_any(words), invocation)
}

/// `kill` of process 1, or of all processes.
pub(super) fn kill(invocation: &Invocation<'_>) -> Assessment {
    let words: Vec<&str> = invocation.arguments().iter().map(|word| word.marked()).collect();
    // Signal 0 only checks that the process exists.
    let asks = words.iter().any(|word| ["-l", "-L", "-0"].contains(word));
    let takes_signal = words.first().is_some_and(|word| ["-s", "-n", "--signal"].contains(word));
    let has_signal = words.first().is_some_and(|word| word.starts_with('-'));
    let skipped = if takes_signal { 2 } else { usize::from(has_signal) };
    let targets = words.get(skipped..).unwrap_or_default();
    refused_if(!asks && targets.iter().any(|word| *word == "1" || *word == "-1"), invocation)
}

/// `killall init`: process 1 by its name.
pub(super) fn kill_by_name(invocation: &Invocation<'_>) -> Assessment {
    let is_all = invocation.name() == "killall5";
    let asks = invocation.has_any(&["-0", "-l", "-V"]);
    let operands = invocation.operands("sgGuUtPF", &["signal", "group", "user"]);
    let is_first = operands.iter().any(|name| ["init", "systemd", "launchd"].contains(&name.marked()));
    refused_if((is_all || is_first) && !asks, invocation)
}

/// `osascript -e 'tell app "System Events" to shut down'`, or a script with administrator privileges.
pub(super) fn script(invocation: &Invocation<'_>) -> Assessment {
    const TEXTS: [&str; 5] =
        ["to shut down", "to restart", "to sleep", "administrator privileges", "«event aevtrsdn»"];
    let says =
        invocation.arguments().iter().any(|word| TEXTS.iter().any(|text| word.marked().contains(text)));
    refused_if(says, invocation)
}
