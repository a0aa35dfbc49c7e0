//! `derun mcp`: what sessions wrote, for programs that speak the Model Context Protocol (spec 4, "MCP I/O
//! contracts"; docs/mcp.md).
//!
//! ```text
//! stdin ─> transport ─> server ─> Arguments ─> input ─> sessions, read, grep, wait ─> answer ─> stdout
//! ```
//!
//! Four tools, all of which only read. `server` alone knows the protocol; the tools take typed input, look into
//! the store and give a typed answer or a `ToolError`. Nothing that a client sends ends the server.

mod answer;
mod arguments;
mod fail;
mod grep;
mod input;
mod read;
mod server;
mod sessions;
pub mod sweep;
mod tool;
mod transport;
mod wait;

#[cfg(test)]
mod tests;

use crate::capture::store::Store;
use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// Why it could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its output takes nothing, and its client has said nothing yet.
    #[error("cannot answer the MCP client: {0}")]
    Begin(Box<ServerInitializeError>),
    /// Something of ours went wrong.
    #[error("the MCP server broke down: {0}")]
    Broken(tokio::task::JoinError),
}

/// Answers on stdout what is asked on stdin, until that ends.
///
/// # Errors
/// As [`serve`].
pub async fn serve_stdio(store: Arc<Store>) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::io::stdio_pipes();
    serve(store, input, output).await
}

/// Answers on `output` what is asked on `input`, one JSON-RPC message a line, until `input` ends.
///
/// # Errors
/// [`ServeError`].
pub async fn serve<R, W>(store: Arc<Store>, input: R, output: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (transport, ending) = transport::Lines::new(input, output);
    let running = match server::Server::new(store, ending).serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Begin(Box::new(error))),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Broken(error)),
        Ok(_) => Ok(()),
    }
}
