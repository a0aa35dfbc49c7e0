//! `murmur mcp`: what sessions wrote, for programs that speak the Model Context Protocol.

use super::args::Mcp;
use super::captures;
use super::runtime;
use super::stdout::stdout;
use crate::mcp;
use crate::mcp::place::Place;
use crate::mcp::sweep::Sweeper;
use crate::retention;
use anyhow::Context;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use sys::failure;

/// Serves MCP on stdin and stdout, or prints the entry that starts the server.
///
/// # Errors
/// The store or the streams cannot be used.
pub fn run(args: &Mcp) -> anyhow::Result<ExitCode> {
    if args.print_config {
        return print_config();
    }
    let place = Place::new(&captures::root()?);
    // One that cannot be used is told of at once.
    place.open()?;
    // A server that cannot sweep can still answer.
    let _sweeper = Sweeper::start(place.clone(), retention::INTERVAL).ok();
    let runtime = runtime()?;
    let served = runtime.block_on(mcp::serve_stdio(place));
    // Whoever closed our output may have left our input open, and be waited for there by a thread.
    runtime.shutdown_background();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// The entry that MCP clients have in their configuration. They start us with few variables of this environment, so
/// the state root is in it if these variables choose another.
fn print_config() -> anyhow::Result<ExitCode> {
    let command = std::env::current_exe().context("cannot find this program's own path")?;
    let command = command
        .to_str()
        .ok_or_else(|| failure!("this program's path is not UTF-8"; "move it to one that is"))?;
    let mut entry = json!({ "command": command, "args": ["mcp"] });
    if captures::is_chosen() {
        let root = captures::root()?;
        let root = root
            .to_str()
            .ok_or_else(|| failure!("the state folder's path is not UTF-8"; "choose one that is"))?;
        entry["env"] = json!({ "DERUN_STATE_ROOT": root });
    }
    let config = json!({ "mcpServers": { "derun": entry } });
    writeln!(stdout(), "{config:#}")?;
    Ok(ExitCode::SUCCESS)
}
