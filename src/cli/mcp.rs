//! `murmur mcp`: what sessions wrote, for programs that speak the Model Context Protocol.

use super::captures;
use super::derun::Mcp;
use crate::capture::retention;
use crate::mcp;
use crate::mcp::sweep::Sweeper;
use anyhow::Context;
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

pub(super) fn run(args: &Mcp) -> anyhow::Result<ExitCode> {
    if args.print_config {
        return print_config();
    }
    let store = Arc::new(captures::store()?);
    // A server that cannot sweep can still answer.
    let _sweeper = Sweeper::start(Arc::clone(&store), retention::INTERVAL).ok();
    super::runtime()?.block_on(mcp::serve_stdio(store))?;
    Ok(ExitCode::SUCCESS)
}

/// The entry that MCP clients have in their configuration.
fn print_config() -> anyhow::Result<ExitCode> {
    let command = std::env::current_exe().context("cannot find this program's own path")?;
    let command = command.to_str().context("this program's path is not UTF-8; move it to one that is")?;
    let config = json!({ "mcpServers": { "derun": { "command": command, "args": ["mcp"] } } });
    writeln!(io::stdout(), "{config:#}")?;
    Ok(ExitCode::SUCCESS)
}
