//! `murmur mcp`: serves captured sessions over the Model Context Protocol.

use super::args::Mcp;
use super::captures;
use super::runtime;
use super::stdout::stdout;
use crate::mcp;
use crate::mcp::state_root::StateRoot;
use crate::mcp::sweep::Sweeper;
use crate::retention;
use anyhow::Context;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use sys::failure;

/// Serves MCP on stdin and stdout, or prints the configuration entry that starts the server.
pub fn run(args: &Mcp) -> anyhow::Result<ExitCode> {
    if args.print_config {
        return print_config();
    }
    let root = StateRoot::new(&captures::root()?);
    // Report an unusable store at once.
    root.open()?;
    // A server that cannot sweep can still answer.
    let _sweeper = Sweeper::start(root.clone(), retention::INTERVAL).ok();
    let runtime = runtime()?;
    let served = runtime.block_on(mcp::serve_stdio(root));
    // The client may have closed our output but not our input, which a thread still reads.
    runtime.shutdown_background();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the entry for an MCP client's configuration. Clients pass on few environment variables, so the entry
/// contains the state root if the environment selects another than the default.
fn print_config() -> anyhow::Result<ExitCode> {
    let command = std::env::current_exe().context("cannot find this program's own path")?;
    let command = command
        .to_str()
        .ok_or_else(|| failure!("this program's path is not UTF-8"; "move it to a path that is UTF-8"))?;
    let mut entry = json!({ "command": command, "args": ["mcp"] });
    if captures::is_chosen() {
        let root = captures::root()?;
        let root = root
            .to_str()
            .ok_or_else(|| failure!("the state folder's path is not UTF-8"; "choose a path that is UTF-8"))?;
        entry["env"] = json!({ "DERUN_STATE_ROOT": root });
    }
    let config = json!({ "mcpServers": { "derun": entry } });
    writeln!(stdout(), "{config:#}")?;
    Ok(ExitCode::SUCCESS)
}
