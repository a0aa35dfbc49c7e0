//! The table `acp.<name>` of config.toml: a program that speaks the Agent Client Protocol, and what murmur offers it.

use super::backend::{Backend, Command};
use super::checked::Check;
use super::problem::Problem;
use super::toml_text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use sys::error::Failure;
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
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as [acp.NAME]")]
pub(super) struct AcpKeys {
    command: Option<String>,
    args: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    offer: Option<Spanned<toml::Value>>,
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
    tables: BTreeMap<String, Spanned<AcpKeys>>,
    bytes: &[u8],
    file: &Path,
) -> Result<BTreeMap<String, AcpProgram>, Problem> {
    let checked = |(name, table): (String, Spanned<AcpKeys>)| {
        let start = table.span().start;
        let AcpKeys { command, args, env, offer } = table.into_inner();
        let is_built_in = Backend::Acp(Arc::from(name.as_str())).built_in().is_some();
        match &args {
            _ if command.is_some() => {}
            Some(args) => {
                let wrong = failure!("\"args\" is given without \"command\""; "write \"command\" too");
                return Err(toml_text::problem_at(bytes, file, args.span().start, wrong));
            }
            None if is_built_in => {}
            None => {
                let wrong = failure!("\"command\" is missing"; "write it, or remove the entry");
                return Err(toml_text::problem_at(bytes, file, start, wrong));
            }
        }
        let args = args.map(Spanned::into_inner).unwrap_or_default();
        let offers = toml_text::checked::<Offers>(offer, bytes, file)?.unwrap_or_default();
        let command = command.map(|command| (command, args));
        Ok((name, AcpProgram { command, env: env.into_iter().collect(), offers }))
    };
    tables.into_iter().map(checked).collect()
}
