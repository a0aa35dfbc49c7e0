//! `derun mcp`: serves captured sessions over the Model Context Protocol (spec 4, "MCP I/O contracts";
//! crates/derun/mcp.md).
//!
//! ```text
//! stdin ─> line ─> message ─> protocol ─> server ─> input ─> sessions, read, grep, wait ─> answer ─> stdout
//! ```
//!
//! Four read-only tools. `connection` runs the conversation, `message` implements JSON-RPC, `protocol` the versions
//! of MCP, and `server` its methods. Tools take typed input, read the store, and return a typed answer or a
//! `ToolError`. No client input ends the server.
//!
//! We don't use the rmcp crate's server because it doesn't behave as crates/derun/mcp.md says: on stdio it ignores
//! lines that are not JSON or too long, drops an unterminated last line, exits when a client doesn't start with
//! `initialize`, and answers invalid arguments with serde's messages. rmcp's client tests this server (`tests.rs`).

mod answer;
mod arguments;
mod connection;
mod fail;
mod grep;
mod input;
mod line;
mod message;
mod protocol;
mod read;
mod server;
mod sessions;
pub mod state_root;
pub mod sweep;
mod tool;
mod wait;

#[cfg(test)]
mod tests;

pub use connection::{ServeError, serve};

use state_root::StateRoot;

/// Answers requests on stdin until it ends or stdout is closed.
pub async fn serve_stdio(root: StateRoot) -> Result<(), ServeError> {
    #[cfg(target_os = "linux")]
    {
        use tokio::net::unix::pipe::OpenOptions;
        // Room for an answer of 64 KiB and its envelope, so that it takes a single write.
        let _as_it_is = rustix::pipe::fcntl_setpipe_size(rustix::stdio::stdout(), 256 * 1024);
        // Reopened pipes need no thread, and don't become non-blocking for other processes.
        let input = OpenOptions::new().open_receiver("/proc/self/fd/0");
        let output = OpenOptions::new().open_sender("/proc/self/fd/1");
        if let (Ok(input), Ok(output)) = (input, output) {
            return serve(root, input, output).await;
        }
    }
    serve(root, tokio::io::stdin(), tokio::io::stdout()).await
}
