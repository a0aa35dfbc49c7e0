//! Parses the arguments like the real Claude Code, with the same error messages.
//!
//! Input: the words after the program's name. Output: the request, or the message for stderr. Every message was
//! measured on 2.1.329; each comes with exit code 1.

use sys::error::Failure;
use sys::failure;

use crate::faults::{Fault, Faults};
use crate::options::{self, Opt, Takes};
use crate::suggest;

/// The parsed arguments.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) version: bool,
    print: bool,
    verbose: bool,
    skip_permissions: bool,
    output: Option<String>,
    input: Option<String>,
    prompt: bool,
    pub(crate) replay: bool,
    pub(crate) settings: Option<String>,
    pub(crate) resume: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) permission_prompt_tool: Option<String>,
    permission_mode: Option<String>,
    pub(crate) max_turns: Option<usize>,
    /// In US dollars, as it was written.
    pub(crate) max_budget: Option<String>,
    /// `--setting-sources`; all if unset.
    pub(crate) setting_sources: Option<String>,
    /// `--mcp-config`: files or JSON objects.
    pub(crate) mcp_config: Vec<String>,
    /// Use only those MCP servers.
    pub(crate) strict_mcp: bool,
    /// The patterns in `--disallowedTools`.
    pub(crate) disallowed: Vec<String>,
}

/// Parses `argv`. Errors of options are reported in order, unknown options last.
pub(crate) fn parse(argv: &[String]) -> Result<Asked, Failure> {
    let (mut asked, mut unknown) = (Asked::default(), None);
    let mut words = argv.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            asked.prompt |= words.next().is_some();
            break;
        }
        if !word.starts_with('-') || word == "-" {
            asked.prompt = true;
            continue;
        }
        let (name, inline) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let Some(option) = options::find(name).filter(|option| fits(option, inline)) else {
            unknown = unknown.or(Some(word));
            continue;
        };
        let mut value = inline;
        if inline.is_none() {
            value = match option.takes {
                Takes::Nothing => None,
                Takes::One | Takes::Many => Some(words.next().ok_or_else(|| missing(option))?),
                Takes::Maybe => words.next_if(|next| !next.starts_with('-')),
            };
        }
        asked.take(option, value)?;
        while inline.is_none() && option.takes == Takes::Many {
            let Some(more) = words.next_if(|next| !next.starts_with('-')) else { break };
            asked.take(option, Some(more))?;
        }
    }
    match unknown {
        Some(word) if !asked.version => {
            Err(failure!("error: unknown option '{word}'{}", suggest::similar(word)))
        }
        _ => Ok(asked),
    }
}

fn fits(option: &Opt, inline: Option<&str>) -> bool {
    inline.is_none() || option.takes != Takes::Nothing
}

fn title(option: &Opt) -> String {
    format!("{} <{}>", option.names.join(", "), option.value)
}

fn missing(option: &Opt) -> Failure {
    failure!("error: option '{}' argument missing", title(option))
}

impl Asked {
    fn take(&mut self, option: &Opt, value: Option<&str>) -> Result<(), Failure> {
        let long = option.names.iter().find(|name| name.starts_with("--")).copied().unwrap_or_default();
        let text = value.unwrap_or_default();
        let choices: &[&str] = match long {
            "--output-format" => &["text", "json", "stream-json"],
            "--input-format" => &["text", "stream-json"],
            "--permission-mode" => &["acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"],
            _ => &[],
        };
        let invalid = |why: &str| {
            Err(failure!("error: option '{}' argument '{text}' is invalid. {why}", title(option)))
        };
        if !choices.is_empty() && !choices.contains(&text) {
            return invalid(&format!("Allowed choices are {}.", choices.join(", ")));
        }
        match long {
            "--max-budget-usd" if !text.trim().parse::<f64>().is_ok_and(|dollars| dollars > 0.0) => {
                return invalid("--max-budget-usd must be a number greater than 0");
            }
            "--max-turns" if text.trim().parse::<f64>().is_err() => return invalid("must be a number"),
            "--output-format" => self.output = value.map(str::to_owned),
            "--input-format" => self.input = value.map(str::to_owned),
            "--print" => self.print = true,
            "--verbose" => self.verbose = true,
            "--version" => self.version = true,
            "--replay-user-messages" => self.replay = true,
            "--dangerously-skip-permissions" => self.skip_permissions = true,
            "--settings" => self.settings = value.map(str::to_owned),
            "--setting-sources" => self.setting_sources = value.map(str::to_owned),
            "--mcp-config" => self.mcp_config.extend(value.map(str::to_owned)),
            "--strict-mcp-config" => self.strict_mcp = true,
            "--resume" => self.resume = value.map(str::to_owned),
            "--session-id" => self.session_id = value.map(str::to_owned),
            "--permission-prompt-tool" => self.permission_prompt_tool = value.map(str::to_owned),
            "--permission-mode" => self.permission_mode = value.map(str::to_owned),
            "--max-budget-usd" => self.max_budget = Some(text.trim().to_owned()),
            "--max-turns" => self.max_turns = text.trim().parse().ok(),
            "--disallowedTools" => self.disallowed.extend(value.map(str::to_owned)),
            _ => {}
        }
        Ok(())
    }

    /// Whether it keeps reading messages from stdin.
    pub(crate) fn is_live(&self) -> bool {
        self.input.as_deref() == Some("stream-json")
    }

    /// Whether settings from this source (`user`, `project` or `local`) are used.
    pub(crate) fn has_source(&self, source: &str) -> bool {
        let sources = self.setting_sources.as_deref();
        sources.is_none_or(|sources| sources.split(',').any(|one| one.trim() == source))
    }

    /// Whether permission checks are skipped.
    pub(crate) fn skips(&self) -> bool {
        self.skip_permissions || self.permission_mode.as_deref() == Some("bypassPermissions")
    }

    /// As root, Claude Code refuses to skip permissions outside a sandbox. Only enabled by a fault, because tests
    /// may run as root.
    pub(crate) fn check_root(&self, faults: &Faults) -> Result<(), Failure> {
        let sandbox = std::env::var_os("IS_SANDBOX").is_some_and(|value| value == "1");
        if !faults.has(Fault::CheckRoot) || !self.skip_permissions || sandbox || !is_root() {
            return Ok(());
        }
        let said =
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
        Err(said.into())
    }

    /// Checks the arguments together with the contents of stdin.
    pub(crate) fn check(&self, stdin: &[u8]) -> Result<(), Failure> {
        let stream_in = self.is_live();
        let stream_out = self.output.as_deref() == Some("stream-json");
        if stream_in && !stream_out {
            return Err("Error: --input-format=stream-json requires output-format=stream-json.".into());
        }
        if self.print && !self.prompt && !stream_in && self.resume.is_none() {
            if stdin.is_empty() {
                return Err("Error: Input must be provided either through stdin or as a prompt argument \
                            when using --print"
                    .into());
            }
            if stdin.trim_ascii().is_empty() {
                return Err(blank());
            }
        }
        if self.print && stream_out && !self.verbose {
            return Err("Error: When using --print, --output-format=stream-json requires --verbose".into());
        }
        Ok(())
    }
}

/// The message for a blank prompt.
pub(crate) fn blank() -> Failure {
    let provided = "Provide a prompt with text through stdin or as a prompt argument when using --print";
    failure!("Error: Input contained only whitespace. {provided}")
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
