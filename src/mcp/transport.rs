//! Messages from lines and back. What can be made nothing of is skipped or answered with an error, and the next line
//! is taken; only the input's end is an end.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

/// The longest line, in bytes. No question needs more than a few hundred.
const MAX_LINE: usize = 1024 * 1024;

/// The lines of a client.
pub(super) struct Lines<R: AsyncRead + Unpin, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, Input<R>, W>,
    has_begun: bool,
}

/// Tells when the input has ended.
#[derive(Debug, Clone)]
pub(super) struct Ending(watch::Receiver<bool>);

impl Ending {
    /// Waits until the input has ended.
    pub(super) async fn reached(&self) {
        let mut ended = self.0.clone();
        let _gone = ended.wait_for(|ended| *ended).await;
    }
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(input: R, output: W) -> (Self, Ending) {
        let (end, ending) = watch::channel(false);
        let input = Input { inner: input, end, last: b'\n' };
        let inner = AsyncRwTransport::new(input, output).with_max_line_length(MAX_LINE);
        (Self { inner, has_begun: false }, Ending(ending))
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            match &message {
                ClientJsonRpcMessage::Request(request) => {
                    self.has_begun |= !matches!(request.request, ClientRequest::PingRequest(_));
                    return Some(message);
                }
                _ if self.has_begun => return Some(message),
                // Before the first request there is nothing to notify of or to respond to, and it would be taken
                // for the end.
                _ => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.inner.close().await
    }
}

/// An input that says when it ends, and that ends its last line if nobody did.
struct Input<R> {
    inner: R,
    end: watch::Sender<bool>,
    last: u8,
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(context, buffer));
        match (&read, &buffer.filled()[before..]) {
            (Ok(()), [.., last]) => self.last = *last,
            _ => {
                self.end.send_replace(true);
                if self.last != b'\n' && buffer.remaining() > 0 {
                    self.last = b'\n';
                    buffer.put_slice(b"\n");
                    return Poll::Ready(Ok(()));
                }
            }
        }
        Poll::Ready(read)
    }
}
