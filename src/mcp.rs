//! `derun mcp`: what sessions wrote, for programs that speak the Model Context Protocol (spec 4, "MCP I/O
//! contracts"; docs/mcp.md).
//!
//! ```text
//! stdin ─> line ─> transport ─> server ─> Arguments ─> input ─> sessions, read, grep, wait ─> answer ─> stdout
//! ```
//!
//! Four tools, all of which only read. `server` alone knows the protocol; the tools take typed input, look into
//! the store and give a typed answer or a `ToolError`. Nothing that a client sends ends the server.

mod answer;
mod arguments;
mod fail;
mod grep;
mod input;
mod line;
pub mod place;
mod read;
mod server;
mod sessions;
pub mod sweep;
mod tool;
mod transport;
mod wait;

#[cfg(test)]
mod tests;

use place::Place;
use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

/// Why it could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its output takes nothing, though there is somebody to read it.
    #[error("cannot answer the MCP client: {0}")]
    Output(io::ErrorKind),
    /// Its client has said something, but not what conversations begin with.
    #[error("cannot begin with the MCP client: {0}")]
    Begin(Box<ServerInitializeError>),
    /// Something of ours went wrong.
    #[error("the MCP server broke down: {0}")]
    Broken(tokio::task::JoinError),
}

/// Answers on stdout what is asked on stdin, until that ends or nobody reads the answers.
///
/// # Errors
/// As [`serve`].
pub async fn serve_stdio(place: Place) -> Result<(), ServeError> {
    // Room for an answer of 64 KiB and what is around it, so that writing it is one step and not two.
    #[cfg(target_os = "linux")]
    let _as_it_is = rustix::pipe::fcntl_setpipe_size(rustix::stdio::stdout(), 256 * 1024);
    let (input, output) = rmcp::transport::io::stdio_pipes();
    serve(place, input, output).await
}

/// Answers on `output` what is asked on `input`, one JSON-RPC message a line, until `input` ends or nobody reads the
/// answers. The sessions are those in `place`.
///
/// # Errors
/// [`ServeError`].
pub async fn serve<R, W>(place: Place, input: R, output: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (transport, ending) = transport::Lines::new(input, output);
    let served = match server::Server::new(place, ending.clone()).serve(transport).await {
        Ok(running) => match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Broken(error)),
            Ok(_) => Ok(()),
        },
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::TransportError { .. }) => {
            Ok(())
        }
        Err(error) => Err(ServeError::Begin(Box::new(error))),
    };
    match ending.problem() {
        Some(problem) => Err(ServeError::Output(problem)),
        None => served,
    }
}
