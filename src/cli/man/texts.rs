//! What manual pages say that no help does: files, variables, exit codes, and programs that have no command line to speak of.

use crate::agent::settings::{DECIDING, PULSE_EVENTS};
use clap::{Arg, ArgAction, Command};

/// A heading, and below it terms with what each of them is.
type Section = (&'static str, &'static [(&'static str, &'static str)]);

/// Of docs/journal.md, docs/config.md, docs/permissions.md, docs/captures.md and docs/commands.md, what is looked up most.
const MURMUR: &[Section] = &[
    (
        "FILES",
        &[
            (
                "HEARTBEAT.md, heartbeats/NAME/HEARTBEAT.md",
                "In a workspace: what a beat is told, and its settings in front of that.",
            ),
            ("~/.murmur", "The data folder; see MURMUR_DIR. The files below are in it."),
            ("config.json", "Which workspaces there are, and when they run; yours to edit."),
            ("heartbeats.jsonl", "The journal: one JSON object a beat. murmur log shows it."),
            ("projects/NAME@DIGITS/permissions.toml", "A project's rules, which come before your own."),
            ("decisions.jsonl", "Every decision on an agent's call."),
            ("murmur.log", "What a daemon in the background has to say."),
            (
                "~/.config/murmur/config.toml, ~/.config/murmur/permissions.toml",
                "Who decides about calls, and your rules. Where the data folder is another than ~/.murmur, or has a folder config, they are in that folder config.",
            ),
            ("~/.local/state/derun", "What murmur run has captured; see DERUN_STATE_ROOT."),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            ("MURMUR_DIR", "The data folder, where --data-dir does not name it."),
            ("DERUN_STATE_ROOT", "Where captured sessions are; else derun in XDG_STATE_HOME."),
            (
                "XDG_CONFIG_HOME",
                "Where the folder murmur with your rules and config.toml is; else ~/.config.",
            ),
            ("MURMUR_PROJECT", "The project whose rules hold, for murmur permission."),
            (
                "PATH",
                "Where murmur beat finds claude. The daemon asks your login shell for its PATH instead.",
            ),
            ("NO_COLOR", "No colour, on terminals too, if it is not empty."),
        ],
    ),
    ("EXIT STATUS", EXIT_STATUS),
];

const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "It is done; a beat was ok, or wants attention."),
    ("1", "It failed, and stderr says why; a beat was an error."),
    ("2", "Usage error: the command line is wrong, and stderr says how."),
    ("other", "That of the command which murmur run ran; 126 if it cannot be run, 127 if it is not found."),
];

const DERUN: &[Section] = &[
    (
        "ENVIRONMENT",
        &[(
            "DERUN_STATE_ROOT",
            "Where sessions are; else derun in XDG_STATE_HOME, else ~/.local/state/derun.",
        )],
    ),
    (
        "EXIT STATUS",
        &[
            (
                "that of the command",
                "derun run ends as the command does, by its signal too; 126 if it cannot be run, 127 if it is not found.",
            ),
            ("1", "It failed, and stderr says why."),
            ("2", "Usage error: the command line is wrong, and stderr says how."),
        ],
    ),
];

const HOOK: &[Section] = &[
    (
        "ENVIRONMENT",
        &[
            (
                "MURMUR_AGENT_ID, MURMUR_DIR, MURMUR_PROJECT",
                "The agent, the data folder, and the project whose rules hold; murmur sets them for agents that it starts.",
            ),
            ("MURMUR_PERMISSIONS", "Who decides for this agent, as JSON; without it, config.toml says so."),
        ],
    ),
    (
        "EXIT STATUS",
        &[
            ("0", "The answer, if the event has one, is one JSON object on stdout."),
            ("2", "The call is refused: something went wrong, and stderr tells the agent what."),
        ],
    ),
];

/// murmur-hook, which reads one word and stdin.
pub(super) fn hook() -> Command {
    let events = format!(
        "The event: {} are decided on; {} write the agent's pulse; any other is refused",
        DECIDING.join(" and "),
        PULSE_EVENTS.map(|(event, _)| event).join(", "),
    );
    Command::new("murmur-hook")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Answers one of Claude Code's hooks")
        .long_about(
            "Reads the event's JSON object from stdin, and answers with one on stdout. Claude Code starts it, for every call of a \
             tool; murmur puts it into the settings of agents that it starts, and murmur setup hooks into yours. \
             Whatever it cannot read, decide, ask or write down is refused.",
        )
        // clap's own says that -h prints less.
        .disable_help_flag(true)
        .arg(Arg::new("help").short('h').long("help").action(ArgAction::Help).help("Print help"))
        .arg(Arg::new("event").value_name("EVENT").required(true).help(events))
}

/// What is to be said of a command besides its help.
pub(super) fn remark(command: &Command) -> Option<&'static str> {
    match full_name(command) {
        "murmur" => Some("mm is the same program under a short name."),
        "murmur host" => Some(
            "The program murmur-host is the host of one agent. murmur host spawn and the daemon start it; it is not for typing, \
             and murmur-host --help names its options.",
        ),
        _ => None,
    }
}

/// The sections of a page that are not made from its command.
pub(super) fn sections(command: &Command) -> &'static [Section] {
    match full_name(command) {
        "murmur" => MURMUR,
        "derun" => DERUN,
        "murmur-hook" => HOOK,
        _ => &[],
    }
}

fn full_name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or(command.get_name())
}
