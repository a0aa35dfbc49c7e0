//! The table `acp.<name>` of config.toml: a program that speaks the Agent Client Protocol, and what murmur offers it.

use super::backend::{Backend, Command, built_in_names};
use super::checked::Check;
use super::members::Members;
use super::problem::Problem;
use super::spelling::nearest;
use super::toml_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use sys::error::{Failure, Hinted};
use sys::failure;
use toml::Spanned;

/// What murmur does for an agent that leaves it to its client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// It reads and writes text files.
    pub fs: bool,
    /// It runs commands.
    pub terminal: bool,
}

impl fmt::Display for Offers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match (self.fs, self.terminal) {
            (true, true) => "offered: fs, terminal",
            (true, false) => "offered: fs",
            (false, true) => "offered: terminal",
            (false, false) => "offered: nothing",
        })
    }
}

impl Offers {
    /// The accepted value, for hints.
    const ACCEPTED: &str = "write offer = [\"fs\", \"terminal\"], or only one of them";
}

impl Check for Offers {
    type Raw = toml::Value;

    fn check(raw: toml::Value) -> Result<Self, Failure> {
        let kind = raw.type_str();
        let toml::Value::Array(names) = raw else {
            return Err(failure!("\"offer\" is not a list ({kind})"; "{}", Self::ACCEPTED));
        };
        let mut offers = Self::default();
        for name in names {
            match name.as_str() {
                Some("fs") => offers.fs = true,
                Some("terminal") => offers.terminal = true,
                Some(other) => {
                    return Err(
                        failure!("\"offer\" has {other:?}, which is not known"; "{}", Self::ACCEPTED),
                    );
                }
                None => {
                    let kind = name.type_str();
                    return Err(
                        failure!("\"offer\" has an element that is not a string ({kind})"; "{}", Self::ACCEPTED),
                    );
                }
            }
        }
        Ok(offers)
    }
}

/// A program to start: a name to search on PATH, or an absolute path.
struct Program(String);

impl Check for Program {
    type Raw = String;

    fn check(text: String) -> Result<Self, Failure> {
        let hint = "write a name on PATH or an absolute path, and its arguments in \"args\"";
        if text.trim().is_empty() {
            return Err(failure!("\"command\" is empty"; "{hint}"));
        }
        if text.contains(char::is_control) {
            return Err(failure!("\"command\" {text:?} has a control character"; "{hint}"));
        }
        if text.contains(['/', ' ']) && !text.starts_with('/') {
            return Err(failure!("\"command\" {text:?} is neither a name nor an absolute path"; "{hint}"));
        }
        Ok(Self(text))
    }
}

/// A program as in config.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpProgram {
    /// A name to search on PATH, or an absolute path, and the arguments; `None` for those of the built-in program.
    command: Option<(String, Vec<String>)>,
    /// Variables to add to its environment.
    env: Vec<(String, String)>,
    offers: Offers,
}

/// The table's keys.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as [acp.NAME]")]
pub(super) struct AcpKeys {
    /// The program: a name on PATH, or an absolute path. Default: that of the built-in agent of this name.
    #[schemars(with = "Option<String>")]
    command: Option<Spanned<String>>,
    /// Its arguments.
    #[schemars(with = "Option<Vec<String>>")]
    args: Option<Spanned<Vec<String>>>,
    /// Variables to add to its environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// What murmur does for it: read and write files ("fs"), and run commands ("terminal"). Default: nothing.
    #[schemars(with = "Option<Vec<Offer>>")]
    offer: Option<Spanned<toml::Value>>,
}

/// The elements of `offer`, for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its shape is used")]
enum Offer {
    Fs,
    Terminal,
}

impl AcpProgram {
    /// How to start it, given how the `built_in` program with its name is started.
    pub(super) fn command(&self, built_in: Option<Command>) -> Option<Command> {
        let own = self.command.clone().map(|(program, args)| (program, args, Vec::new()));
        let (program, args, mut env) =
            own.or_else(|| built_in.map(|built_in| (built_in.program, built_in.args, built_in.env)))?;
        env.extend(self.env.iter().cloned());
        Some(Command { program, args, env, offers: self.offers })
    }
}

/// The programs that `tables` of the text `bytes` of `file` describe.
pub(super) fn checked(
    tables: BTreeMap<String, Spanned<Members<AcpKeys>>>,
    bytes: &[u8],
    file: &Path,
) -> Result<BTreeMap<String, AcpProgram>, Problem> {
    let checked = |(name, table): (String, Spanned<Members<AcpKeys>>)| {
        let start = table.span().start;
        let Members(AcpKeys { command, args, env, offer }) = table.into_inner();
        let wrong = |start, wrong| Err(toml_text::problem_in(bytes, file, start, wrong));
        if format!("acp:{name}").parse::<Backend>().is_err() {
            return wrong(start, failure!("{name:?} cannot name an agent"; "use letters, digits, - and _"));
        }
        if let Some(name) = env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return wrong(
                start,
                failure!("\"env\" has {name:?}, which cannot name a variable"; "correct it"),
            );
        }
        let is_built_in = Backend::Acp(Arc::from(name.as_str())).built_in().is_some();
        match &args {
            _ if command.is_some() => {}
            Some(args) => {
                let without = failure!("\"args\" is given without \"command\""; "write \"command\" too");
                return wrong(args.span().start, without);
            }
            None if is_built_in => {}
            None => {
                let missing = failure!("\"command\" is missing"; "add this key, or remove the entry");
                return wrong(start, missing);
            }
        }
        let args = args.map(Spanned::into_inner).unwrap_or_default();
        let offers = toml_text::checked::<Offers>(offer, bytes, file)?.unwrap_or_default();
        let command = toml_text::checked::<Program>(command, bytes, file)?.map(|Program(name)| (name, args));
        Ok((name, AcpProgram { command, env: env.into_iter().collect(), offers }))
    };
    tables.into_iter().map(checked).collect()
}

/// A name of an agent for which there is no program.
#[derive(Debug, thiserror::Error)]
pub enum UnknownProgram {
    /// It is neither built in nor in config.toml.
    #[error("agent {0} is not configured")]
    Missing(Backend),
    /// It is built in, and what is known about it doesn't hold for the program in config.toml.
    #[error("config.toml starts {agent} with {command:?}, which is not {program}")]
    Replaced {
        /// The agent.
        agent: Backend,
        /// The program of that name.
        program: String,
        /// The program in config.toml.
        command: String,
    },
}

impl UnknownProgram {
    /// Its name in config.toml.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Missing(Backend::Acp(name)) | Self::Replaced { agent: Backend::Acp(name), .. } => name,
            _ => "",
        }
    }
}

impl Hinted for UnknownProgram {
    fn hint(&self) -> Option<String> {
        if matches!(self, Self::Replaced { .. }) {
            return Some("give the entry another name, such as [acp.mine], and use acp:mine".to_owned());
        }
        let name = self.name();
        let add = format!("add [acp.{name}] with its command to config.toml");
        let built_in: Vec<&str> = built_in_names().collect();
        Some(match nearest(name, &built_in) {
            Some(meant) => format!("did you mean acp:{meant}? Otherwise, {add}"),
            None => add,
        })
    }
}
