//! Becoming somebody else, or giving somebody what they may not have.

use super::Judgement;
use super::invocation::Invocation;

fn refused_if(condition: bool, invocation: &Invocation<'_>) -> Judgement {
    if condition { Judgement::Refused(invocation.written()) } else { Judgement::Clear }
}

/// What is refused however it is called.
pub(super) fn always(invocation: &Invocation<'_>) -> Judgement {
    Judgement::Refused(invocation.written())
}

/// `machinectl shell`, `machinectl login`
pub(super) fn machine(invocation: &Invocation<'_>) -> Judgement {
    refused_if(invocation.says(&["shell", "login", "poweroff", "reboot"]), invocation)
}

/// Another user's rights: `setpriv --reuid 0`, `capsh --user=root`, `chpst -u root`
pub(super) fn as_root(invocation: &Invocation<'_>) -> Judgement {
    let users = ["root", "0", "0:0", "root:root", ":0", "#0"];
    let options = [
        ("-u", "user"),
        ("", "reuid"),
        ("", "uid"),
        ("-S", "setuid"),
        ("", "chuid"),
        ("", "userspec"),
        ("", "regid"),
        ("", "ruid"),
        ("", "euid"),
    ];
    let asks = options.iter().any(|(short, long)| {
        invocation.value(short, long).is_some_and(|user| users.contains(&user.marked()))
    });
    refused_if(asks, invocation)
}

/// `gosu root command`
pub(super) fn first_root(invocation: &Invocation<'_>) -> Judgement {
    let first = invocation.operands("", &[]).first().map(|user| user.marked().to_owned());
    refused_if(
        first.is_some_and(|user| ["root", "0", "root:root", "0:0"].contains(&user.as_str())),
        invocation,
    )
}

/// The namespaces of the first process are those of the machine.
pub(super) fn first_process(invocation: &Invocation<'_>) -> Judgement {
    let target = invocation.value("-t", "target");
    refused_if(target.is_some_and(|target| target.marked() == "1"), invocation)
}

/// `chmod u+s`, `chmod 4755`, `install -m 4755`
pub(super) fn set_user(invocation: &Invocation<'_>) -> Judgement {
    let is_mode = |text: &str| {
        let digits = text.trim_start_matches('0');
        let numeric = digits.len() == 4
            && digits.chars().all(|c| c.is_digit(8))
            && digits.starts_with(['4', '5', '6', '7']);
        let symbolic = text.split(',').any(|part| {
            let (who, what) = part.split_once(['+', '=']).unwrap_or(("g", ""));
            let takes = what.split(['-', '=']).next().unwrap_or(what);
            takes.contains('s')
                && takes.chars().all(|c| "rwxXst".contains(c))
                && (who.is_empty() || who.contains(['u', 'a']))
        });
        numeric || symbolic
    };
    let mode = invocation.value("-m", "mode").or_else(|| {
        (invocation.name() == "chmod")
            .then(|| invocation.operands("", &["reference"]).first().map(|word| (*word).clone()))
            .flatten()
    });
    refused_if(mode.is_some_and(|mode| is_mode(mode.marked())), invocation)
}

/// `ansible --become`
pub(super) fn become_root(invocation: &Invocation<'_>) -> Judgement {
    refused_if(invocation.says(&["-b", "--become", "-K", "--ask-become-pass"]), invocation)
}

/// `Start-Process cmd -Verb RunAs`
pub(super) fn run_as(invocation: &Invocation<'_>) -> Judgement {
    let is_verb = |word: &str| word.eq_ignore_ascii_case("runas");
    refused_if(invocation.arguments().iter().any(|word| is_verb(word.marked())), invocation)
}

/// `usermod -aG sudo name`, `gpasswd -a name wheel`, `adduser name sudo`
pub(super) fn group(invocation: &Invocation<'_>) -> Judgement {
    const GROUPS: [&str; 9] = ["sudo", "wheel", "root", "admin", "docker", "shadow", "disk", "adm", "lxd"];
    let asks = invocation.arguments().iter().any(|word| {
        let is_option = word.marked().starts_with('-');
        !is_option && word.marked().split(',').any(|group| GROUPS.contains(&group))
    });
    let takes_root = invocation.says(&["-o"]) && invocation.says(&["0"]);
    refused_if(asks || takes_root, invocation)
}

/// A container that has this machine's root folder, and may write to it, or all its rights and processes.
pub(super) fn container(invocation: &Invocation<'_>) -> Judgement {
    let words = invocation.arguments();
    let mounts = words.iter().enumerate().any(|(at, word)| {
        let text = word.marked();
        let value = match text {
            "-v" | "--volume" | "--mount" => words.get(at + 1).map_or("", |word| word.marked()),
            _ => text
                .strip_prefix("--volume=")
                .or(text.strip_prefix("-v"))
                .or(text.strip_prefix("--mount="))
                .unwrap_or(""),
        };
        let is_root = value.starts_with("/:") || value.contains("source=/,") || value.contains("src=/,");
        is_root && !value.ends_with(":ro") && !value.contains(":ro,") && !value.contains("readonly")
    });
    let is_all = invocation.says(&["--privileged"]) && invocation.says(&["--pid=host"]);
    refused_if(mounts || is_all, invocation)
}
