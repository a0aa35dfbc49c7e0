//! MCP servers and the API key helper. Starts the same servers as Claude Code: those in `--mcp-config` and, unless
//! strict, the user's, those in `.mcp.json` in the folder and its parents, and the user's for this project.
//! Nothing is sent to them: a server that starts counts as connected.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Map, Value, json};
use sys::failure;

use super::session::Session;
use super::settings::Settings;
use crate::argv::Asked;
use crate::live::inbox::Halt;

/// The servers, which are stopped on drop.
#[derive(Debug, Default)]
pub(super) struct Servers {
    listed: Vec<Value>,
    children: Vec<Child>,
}

impl Servers {
    /// Starts them with the environment in `settings`, and runs the key helper. `claude` is Claude Code's own
    /// folder.
    pub(super) fn start(
        asked: &Asked,
        claude: &Path,
        session: &Session,
        settings: &Settings,
    ) -> Result<Self, Halt> {
        if let Some(helper) = &settings.key_helper {
            let mut command = Command::new("sh");
            command.args(["-c", helper]).current_dir(&session.cwd).envs(&settings.env);
            // It prints a key, which is not needed here.
            let _nobody_asks = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        }
        let mut all = Self::default();
        for (name, (source, server)) in servers(asked, claude, &session.cwd)? {
            let status = if all.run(&server, session, settings) { "connected" } else { "failed" };
            let mut line = json!({"name": name, "status": status});
            if session.version.is_new() {
                line["source"] = source.into();
            }
            all.listed.push(line);
        }
        Ok(all)
    }

    pub(super) fn listed(&self) -> &[Value] {
        &self.listed
    }

    fn run(&mut self, server: &Value, session: &Session, settings: &Settings) -> bool {
        let Some(program) = server["command"].as_str() else { return false };
        let args = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let own = server["env"].as_object().into_iter().flatten();
        let own = own.filter_map(|(name, value)| Some((name, value.as_str()?)));
        let mut command = Command::new(program);
        command.args(args).current_dir(&session.cwd).envs(&settings.env).envs(own);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => {
                self.children.push(child);
                true
            }
            Err(_) => false,
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Closing its stdin ends a server.
            drop(child.stdin.take());
            let _ended = child.wait();
        }
    }
}

type Named = BTreeMap<String, (&'static str, Value)>;

fn servers(asked: &Asked, claude: &Path, cwd: &Path) -> Result<Named, Halt> {
    let mut all = Named::new();
    if !asked.strict_mcp {
        let state = match std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()) {
            Some(_) => claude.join(".claude.json"),
            None => claude.with_file_name(".claude.json"),
        };
        let state = read(&state);
        add(&mut all, "user", &state);
        let mut folders: Vec<&Path> = cwd.ancestors().collect();
        folders.reverse();
        for folder in folders.iter().filter(|_| asked.has_source("project")) {
            add(&mut all, "project", &read(&folder.join(".mcp.json")));
        }
        if !asked.has_source("local") {
            return with_given(asked, cwd, all);
        }
        let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
        add(&mut all, "local", &state["projects"][&*root.to_string_lossy()]);
    }
    with_given(asked, cwd, all)
}

/// Adds the servers in `--mcp-config`.
fn with_given(asked: &Asked, cwd: &Path, mut all: Named) -> Result<Named, Halt> {
    for given in &asked.mcp_config {
        let value = if given.trim_start().starts_with('{') {
            serde_json::from_str(given).unwrap_or_default()
        } else {
            let path = cwd.join(given);
            if !path.is_file() {
                let path = path.display();
                return Err(Halt::Refused(failure!(
                    "Error: Invalid MCP configuration:\nMCP config file not found: {path}"
                )));
            }
            read(&path)
        };
        add(&mut all, "dynamic", &value);
    }
    Ok(all)
}

fn add(all: &mut Named, source: &'static str, value: &Value) {
    let none = Map::new();
    for (name, server) in value["mcpServers"].as_object().unwrap_or(&none) {
        all.insert(name.clone(), (source, server.clone()));
    }
}

fn read(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}
