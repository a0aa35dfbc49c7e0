//! Calls that an agent delegates to murmur (ACP client methods): read and write files, and run commands in terminals.
//!
//! Each such call is decided on like a call of the agent's own tools. Performing it is the host's task.

use super::event::PermissionRequest;
use murmur_core::permit::decision::DecidedBy;
use serde_json::{Value, json};
use std::path::PathBuf;
use sys::process::Exit;
use sys::shell;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientCall {
    /// Read a text file.
    Read {
        /// An absolute path.
        path: PathBuf,
        /// The first line to return, from 1.
        line: Option<u64>,
        /// How many lines to return at most.
        limit: Option<u64>,
    },
    /// Write a text file.
    Write {
        /// An absolute path.
        path: PathBuf,
        /// All that the file will have.
        content: String,
    },
    /// Run a command in a new terminal.
    Run(CommandLine),
    /// Do something with a terminal.
    Terminal {
        /// The terminal.
        id: String,
        /// What.
        action: TerminalAction,
    },
    /// Nothing: the agent asks for something that isn't a call, and is told the decision.
    Consent,
}

/// A command, which no shell interprets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// A name to search on PATH, or a path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables to add to the agent's environment.
    pub env: Vec<(String, String)>,
    /// The folder to run it in, absolute, if it isn't the agent's.
    pub cwd: Option<PathBuf>,
    /// How many bytes of its output to keep.
    pub output_limit: Option<u64>,
}

/// What to do with a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalAction {
    /// Return its output so far.
    Output,
    /// Return how its command ended, once it has.
    Wait,
    /// Kill its command.
    Kill,
    /// Kill its command and forget it.
    Release,
}

/// The next step of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientStep {
    /// Decide on it.
    Ask {
        /// What guard and rules see of it.
        request: PermissionRequest,
        /// The call.
        call: ClientCall,
    },
    /// Perform it, and reply to the request with this id.
    Perform(String, ClientCall),
    /// The agent no longer waits for the decision on the request with this id.
    Withdraw(String),
    /// Record a request that the dialog has refused.
    Refuse {
        /// What guard and rules would see of it.
        request: PermissionRequest,
        /// Why, for people.
        reason: String,
        /// Who refused it.
        by: DecidedBy,
    },
}

/// What a performed call returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientReply {
    /// Nothing.
    Done,
    /// The text of a file.
    Text(String),
    /// The id of a new terminal.
    Started(String),
    /// The output of a terminal so far.
    Output {
        /// The end of it.
        text: String,
        /// Whether there was more before.
        is_truncated: bool,
        /// How its command ended, if it has.
        exit: Option<Exit>,
    },
    /// How a terminal's command ended.
    Exited(Exit),
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ClientError {
    /// The kind of error, which becomes its code.
    pub kind: ClientErrorKind,
    /// The cause, for the model.
    pub message: String,
}

/// A kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientErrorKind {
    /// What it asks for is not possible.
    Invalid,
    /// The file doesn't exist.
    NotFound,
    /// Anything else.
    Failed,
}

/// Words that a shell treats specially if they come first.
const KEYWORDS: [&str; 16] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
    "function", "select", "time",
];

impl ClientCall {
    /// The call as guard and rules see it: tool and input. `None` for what is done with a terminal, whose command was
    /// decided on, and for what isn't a call.
    #[must_use]
    pub fn tool(&self) -> Option<(&'static str, Value)> {
        match self {
            Self::Read { path, line, limit } => {
                let mut input = json!({ "file_path": path });
                for (key, value) in [("offset", line), ("limit", limit)] {
                    if let Some(value) = value {
                        input[key] = (*value).into();
                    }
                }
                Some(("Read", input))
            }
            Self::Write { path, content } => {
                Some(("Write", json!({ "file_path": path, "content": content })))
            }
            Self::Run(command) => Some(("Bash", json!({ "command": command.line() }))),
            Self::Terminal { .. } | Self::Consent => None,
        }
    }

    /// The forms in which the agent may report this as a call of its own tools: tool and input.
    #[must_use]
    pub fn equivalents(&self) -> Vec<(&'static str, Value)> {
        let mut found: Vec<(&'static str, Value)> = self.tool().into_iter().collect();
        match self {
            Self::Write { path, .. } => {
                found.extend(["Edit", "MultiEdit"].map(|tool| (tool, json!({ "file_path": path }))));
            }
            Self::Run(command) => {
                let words = std::iter::once(&command.program).chain(&command.args);
                let plain = words.map(String::as_str).collect::<Vec<_>>().join(" ");
                found.push(("Bash", json!({ "command": plain })));
                if let [flag, script] = &command.args[..]
                    && command.runs_shell()
                    && ["-c", "-lc"].contains(&flag.as_str())
                {
                    found.push(("Bash", json!({ "command": script })));
                }
            }
            Self::Read { .. } | Self::Terminal { .. } | Self::Consent => {}
        }
        found
    }
}

impl CommandLine {
    /// A line that a shell would run as this command.
    #[must_use]
    pub fn line(&self) -> String {
        let mut words: Vec<String> =
            self.env.iter().map(|(name, value)| format!("{name}={}", shell::word(value))).collect();
        let is_special = self.program.contains('=') || KEYWORDS.contains(&self.program.as_str());
        words.push(if is_special { shell::single_quoted(&self.program) } else { shell::word(&self.program) });
        words.extend(self.args.iter().map(shell::word));
        words.join(" ")
    }

    fn runs_shell(&self) -> bool {
        let name = self.program.rsplit('/').next().unwrap_or_default();
        ["sh", "bash", "zsh", "dash"].contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(program: &str, args: &[&str], env: &[(&str, &str)]) -> String {
        let text = |text: &&str| (*text).to_owned();
        let env = env.iter().map(|(name, value)| (text(name), text(value))).collect();
        CommandLine {
            program: program.to_owned(),
            args: args.iter().map(text).collect(),
            env,
            ..CommandLine::default()
        }
        .line()
    }

    #[test]
    fn a_shell_would_run_the_line_as_the_command() {
        assert_eq!(line("npm", &["run", "a b"], &[]), "npm run 'a b'");
        assert_eq!(line("sh", &["-c", "rm -rf /; echo 'x'"], &[]), r"sh -c 'rm -rf /; echo '\''x'\'''");
        assert_eq!(line("git", &["log", "*", "~", "$(id)", ""], &[]), "git log '*' '~' '$(id)' ''");
        assert_eq!(line("make", &[], &[("PATH", "/x y")]), "PATH='/x y' make");
        assert_eq!(line("A=/tmp/x", &["git", "status"], &[]), "'A=/tmp/x' git status");
        assert_eq!(line("if", &[], &[]), "'if'");
        assert_eq!(line("npm test", &[], &[]), "'npm test'");
        assert_eq!(line("a\nb", &[], &[]), r"$'a\nb'");
    }

    #[test]
    fn a_call_is_all_of_an_agents_own_call_only_if_that_does_no_more() {
        let tools = |call: ClientCall| -> Vec<String> {
            call.equivalents()
                .into_iter()
                .map(|(tool, input)| format!("{tool}{}", input["command"]))
                .collect()
        };
        let path = PathBuf::from("/w/a");
        assert_eq!(tools(ClientCall::Read { path: path.clone(), line: None, limit: None }), ["Readnull"]);
        assert_eq!(
            tools(ClientCall::Write { path, content: String::new() }),
            ["Writenull", "Editnull", "MultiEditnull"]
        );
        let args = vec!["-c".to_owned(), "npm test".to_owned()];
        let run = CommandLine { program: "/bin/sh".to_owned(), args, ..CommandLine::default() };
        assert_eq!(
            tools(ClientCall::Run(run)),
            ["Bash\"/bin/sh -c 'npm test'\"", "Bash\"/bin/sh -c npm test\"", "Bash\"npm test\""]
        );
    }
}
