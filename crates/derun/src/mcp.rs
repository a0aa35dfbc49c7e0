//! `derun mcp`: what sessions wrote, for programs that speak the Model Context Protocol (spec 4, "MCP I/O
//! contracts"; docs/reference/mcp.md).
//!
//! ```text
//! stdin ─> line ─> message ─> protocol ─> server ─> input ─> sessions, read, grep, wait ─> answer ─> stdout
//! ```
//!
//! Four tools, all of which only read. `connection` runs the conversation, `message` knows JSON-RPC, `protocol` the
//! versions of MCP, and `server` its methods; the tools take typed input, look into the store and give a typed answer
//! or a `ToolError`. Nothing that a client sends ends the server.
//!
//! The server is our own because the rmcp crate's does not do what docs/reference/mcp.md says: on stdio it ignores
//! lines that are not JSON or too long, drops a last line without a newline, ends when a client does not begin with
//! `initialize`, and answers wrong arguments with serde's words. rmcp's client tests this server (`tests.rs`).

mod answer;
mod arguments;
mod connection;
mod fail;
mod grep;
mod input;
mod line;
mod message;
pub mod place;
mod protocol;
mod read;
mod server;
mod sessions;
pub mod sweep;
mod tool;
mod wait;

#[cfg(test)]
mod tests;

pub use connection::{ServeError, serve};

use place::Place;

/// Answers on stdout what is asked on stdin, until that ends or nobody reads the answers.
///
/// # Errors
/// As [`serve`].
pub async fn serve_stdio(place: Place) -> Result<(), ServeError> {
    #[cfg(target_os = "linux")]
    {
        use tokio::net::unix::pipe::OpenOptions;
        // Room for an answer of 64 KiB and what is around it, so that writing it is one step and not two.
        let _as_it_is = rustix::pipe::fcntl_setpipe_size(rustix::stdio::stdout(), 256 * 1024);
        // Pipes that are opened again need no thread, and do not make those of others non-blocking.
        let input = OpenOptions::new().open_receiver("/proc/self/fd/0");
        let output = OpenOptions::new().open_sender("/proc/self/fd/1");
        if let (Ok(input), Ok(output)) = (input, output) {
            return serve(place, input, output).await;
        }
    }
    serve(place, tokio::io::stdin(), tokio::io::stdout()).await
}
