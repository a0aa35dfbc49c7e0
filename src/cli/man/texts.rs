//! Manual page sections that aren't part of any help: files, variables, exit codes, and the page of murmur-hook.

use clap::{Arg, ArgAction, Command};
use murmur_agent::settings::{DECIDING, PULSE_EVENTS};

/// A heading and its list of terms and definitions.
type Section = (&'static str, &'static [(&'static str, &'static str)]);

/// Summarizes docs/reference/journal.md, config.md, permissions.md and commands.md, and docs/guide/captures.md.
const MURMUR: &[Section] = &[
    (
        "FILES",
        &[
            (
                "HEARTBEAT.md, heartbeats/NAME/HEARTBEAT.md",
                "In a workspace: the prompt of a beat, with its settings as frontmatter.",
            ),
            ("~/.murmur", "The data folder (see MURMUR_DIR), which has the files below."),
            ("config.json", "Your workspaces and their schedules. You can edit it."),
            ("heartbeats.jsonl", "The journal, with one JSON object per beat. murmur log shows it."),
            ("projects/NAME@DIGITS/permissions.toml", "The rules of a project, which come before your own."),
            ("decisions.jsonl", "Every decision on an agent's call."),
            ("murmur.log", "The log of the daemon when it runs in the background."),
            (
                "~/.config/murmur/config.toml, ~/.config/murmur/permissions.toml",
                "Your settings and rules. A file of the same name in the data folder's config folder takes precedence. If the data folder is not ~/.murmur, only the files there count.",
            ),
            ("~/.local/state/derun", "Captured sessions (see DERUN_STATE_ROOT)."),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            ("MURMUR_DIR", "The data folder, unless --data-dir is given."),
            ("DERUN_STATE_ROOT", "The folder of captured sessions. Default: derun in XDG_STATE_HOME."),
            (
                "XDG_CONFIG_HOME",
                "The folder that contains murmur/config.toml and your rules. Default: ~/.config.",
            ),
            ("MURMUR_PROJECT", "The project whose rules are shown by murmur rules."),
            (
                "PATH",
                "Where murmur beat looks for claude. The daemon uses the PATH of your login shell instead.",
            ),
            ("NO_COLOR", "Disables color if it is not empty."),
        ],
    ),
    ("EXIT STATUS", EXIT_STATUS),
];

const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "Success. No beat ended in error."),
    ("1", "Failure, explained on stderr. Or a beat ended in error."),
    ("2", "Usage error, explained on stderr."),
    (
        "other",
        "The exit code of a command run by murmur capture run or murmur record: 126 if it cannot be run, 127 if it is not found.",
    ),
];

const DERUN: &[Section] = &[
    (
        "ENVIRONMENT",
        &[(
            "DERUN_STATE_ROOT",
            "The folder of captured sessions. Default: derun in XDG_STATE_HOME, else ~/.local/state/derun.",
        )],
    ),
    (
        "EXIT STATUS",
        &[
            (
                "other",
                "derun run exits like the command, with its exit code or by the same signal; with 126 if it cannot be run, and with 127 if it is not found.",
            ),
            ("1", "Failure, explained on stderr."),
            ("2", "Usage error, explained on stderr."),
        ],
    ),
];

const HOOK: &[Section] = &[
    (
        "ENVIRONMENT",
        &[
            (
                "MURMUR_AGENT_ID, MURMUR_DIR, MURMUR_PROJECT",
                "The agent, the data folder, and the project whose rules apply. murmur sets them for the agents it starts.",
            ),
            ("MURMUR_PERMISSIONS", "The permission policy of the agent, as JSON. Default: config.toml."),
        ],
    ),
    (
        "EXIT STATUS",
        &[
            ("0", "Success. The answer, if there is one, is a JSON object on stdout."),
            ("2", "The call is refused because of an error, which stderr explains to the agent."),
        ],
    ),
];

/// The command line of murmur-hook, for its manual page.
pub(super) fn hook() -> Command {
    let events = format!(
        "Event of the hook. {} are answered with a decision. {} write the agent's pulse. Any other event is refused",
        DECIDING.join(" and "),
        PULSE_EVENTS.map(|(event, _)| event).join(", "),
    );
    Command::new("murmur-hook")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Answer a Claude Code hook")
        .long_about(
            "Reads the JSON object of an event from stdin and answers with one on stdout. Claude Code runs it for every tool \
             call. murmur adds it to the settings of the agents it starts. murmur setup hooks adds it to yours, only for events that \
             write a pulse. A call is refused if anything goes wrong.",
        )
        // clap's own help flag says that -h prints a summary.
        .disable_help_flag(true)
        .arg(Arg::new("help").short('h').long("help").action(ArgAction::Help).help("Print help"))
        .arg(Arg::new("event").value_name("EVENT").required(true).help(events))
}

/// A remark for a command's page that its help lacks.
pub(super) fn remark(command: &Command) -> Option<&'static str> {
    match full_name(command) {
        "murmur" => Some("mm is the same program under a short name."),
        "murmur agent" => Some(
            "murmur-host is the program that hosts one agent. murmur agent start and the daemon start it; it is not meant to be run by hand. \
             murmur-host --help lists its options.",
        ),
        _ => None,
    }
}

/// Sections that are not generated from the command.
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
