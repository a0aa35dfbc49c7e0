//! Privilege escalation: running as another user, or granting rights.

use super::Assessment;
use super::container::is_of_machine;
use super::invocation::Invocation;
use crate::shell::Field;

fn refused_if(condition: bool, invocation: &Invocation<'_>) -> Assessment {
    if condition { Assessment::Refused(invocation.quoted()) } else { Assessment::Clear }
}

/// Refused in every form.
pub(super) fn always(invocation: &Invocation<'_>) -> Assessment {
    Assessment::Refused(invocation.quoted())
}

/// `machinectl shell`, `machinectl login`
pub(super) fn machinectl(invocation: &Invocation<'_>) -> Assessment {
    refused_if(invocation.has_any(&["shell", "login", "poweroff", "reboot"]), invocation)
}

/// Running as root: `setpriv --reuid 0`, `capsh --user=root`, `chpst -u root`
pub(super) fn as_root(invocation: &Invocation<'_>) -> Assessment {
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
pub(super) fn gosu(invocation: &Invocation<'_>) -> Assessment {
    let first = invocation.operands("", &[]).first().map(|user| user.marked().to_owned());
    refused_if(
        first.is_some_and(|user| ["root", "0", "root:root", "0:0"].contains(&user.as_str())),
        invocation,
    )
}

/// The namespaces of process 1 are the host's.
pub(super) fn nsenter(invocation: &Invocation<'_>) -> Assessment {
    let target = invocation.value("-t", "target");
    refused_if(target.is_some_and(|target| target.marked() == "1"), invocation)
}

/// `chmod u+s`, `chmod 4755`, `install -m 4755`
pub(super) fn setuid(invocation: &Invocation<'_>) -> Assessment {
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
pub(super) fn become_root(invocation: &Invocation<'_>) -> Assessment {
    refused_if(invocation.has_any(&["-b", "--become", "-K", "--ask-become-pass"]), invocation)
}

/// `Start-Process cmd -Verb RunAs`
pub(super) fn run_as(invocation: &Invocation<'_>) -> Assessment {
    let is_verb = |word: &str| word.eq_ignore_ascii_case("runas");
    refused_if(invocation.arguments().iter().any(|word| is_verb(word.marked())), invocation)
}

/// `usermod -aG sudo name`, `gpasswd -a name wheel`, `adduser name sudo`
pub(super) fn group(invocation: &Invocation<'_>) -> Assessment {
    const GROUPS: [&str; 9] = ["sudo", "wheel", "root", "admin", "docker", "shadow", "disk", "adm", "lxd"];
    let asks = invocation.arguments().iter().any(|word| {
        let is_option = word.marked().starts_with('-');
        !is_option && word.marked().split(',').any(|group| GROUPS.contains(&group))
    });
    let takes_root = invocation.has_any(&["-o"]) && invocation.has_any(&["0"]);
    refused_if(asks || takes_root, invocation)
}

/// `passwd -d root`, `chpasswd`: changes to accounts.
pub(super) fn account(invocation: &Invocation<'_>) -> Assessment {
    refused_if(!invocation.has_any(&["-S", "--status", "--help", "-h"]), invocation)
}

/// `lxc config device add c d disk source=/ path=/h`
pub(super) fn container_disk(invocation: &Invocation<'_>) -> Assessment {
    let gives = invocation.arguments().iter().any(|word| {
        let sources = word.marked().split(',').filter_map(|part| part.strip_prefix("source="));
        sources.map(Field::from).any(|source| is_of_machine(&source, invocation.scope))
    });
    refused_if(gives, invocation)
}

/// A refused program copied to another name: `cp /usr/bin/sudo q`, `cat "$(command -v sudo)" > q`
pub(super) fn copied_program(invocation: &Invocation<'_>) -> Assessment {
    const PROGRAMS: [&str; 14] = [
        "sudo", "sudoedit", "doas", "su", "pkexec", "run0", "runuser", "shutdown", "reboot", "halt",
        "poweroff", "shred", "wipefs", "visudo",
    ];
    let from: Vec<Field> = match invocation.name().as_str() {
        "dd" => {
            let words = invocation.arguments().iter();
            words.filter_map(|word| word.marked().strip_prefix("if=")).map(Field::from).collect()
        }
        "cat" => invocation.operands("", &[]).into_iter().cloned().collect(),
        _ => {
            let operands = invocation.operands("tSgmo", &["target-directory", "suffix", "mode"]);
            let has_target = invocation.value("-t", "target-directory").is_some();
            let count = operands.len() - usize::from(!has_target && operands.len() > 1);
            operands.into_iter().take(count).cloned().collect()
        }
    };
    let is_one = |path: &Field| {
        let base = path.base();
        let name = base.marked();
        let is_program = PROGRAMS.contains(&name) || name.starts_with("mkfs.");
        let folder = path.marked().trim_end_matches(name);
        is_program && ["/bin/", "/sbin/"].iter().any(|place| folder.ends_with(place))
    };
    refused_if(from.iter().any(is_one), invocation)
}
