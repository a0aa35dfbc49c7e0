//! `derun_wait_output`: waits until there is output after a cursor, the session has ended, or the time is up.

use super::answer::Waited;
use super::fail::ToolError;
use super::input::{Cursor, WaitInput};
use super::read::portion;
use super::state_root::StateRoot;
use crate::record::{SCHEMA_VERSION, State};
use crate::session::{Following, Session};
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, sleep_until};

/// The polling interval if the system cannot report changes.
const TICK: Duration = Duration::from_millis(500);

/// Waits for output. When `stop` resolves, answers with what is available.
pub(super) async fn wait(
    root: &StateRoot,
    input: &WaitInput,
    stop: impl Future<Output = ()>,
) -> Result<Waited, ToolError> {
    let began = Instant::now();
    let mut end = pin!(async {
        tokio::select! {
            () = sleep_until(began + input.timeout) => true,
            () = stop => false,
        }
    });
    let mut session = root.session(&input.session_id)?;
    let mut waker = Waker::None;
    let (mut is_over, mut is_late) = (input.timeout.is_zero(), input.timeout.is_zero());
    loop {
        let portion = portion(&session, input.cursor, &input.options)?;
        let is_empty = portion.chunks.is_empty() && portion.gap.is_none();
        let is_idle = is_empty && !portion.eof && portion.state.is_active();
        if !is_idle || is_over {
            return Ok(Waited {
                schema_version: SCHEMA_VERSION,
                session_id: session.id().to_string(),
                state: portion.state,
                chunks: portion.chunks,
                gap: portion.gap,
                next_cursor: Cursor(portion.next),
                eof: portion.eof,
                timed_out: is_idle && is_late,
                waited_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            });
        }
        tokio::select! {
            () = waker.changed(&session) => {}
            late = &mut end => (is_over, is_late) = (true, late),
        }
        if portion.state == State::Starting {
            // The metadata is read only once, and contains the PID only after the command has started.
            session = root.session(&input.session_id)?;
        }
    }
}

/// Wakes a waiting call.
enum Waker {
    None,
    Following(Watching),
    Tick,
}

/// Follows a session; dropped on another thread.
struct Watching(Option<Following>);

impl Drop for Watching {
    /// Closing a watch takes the kernel milliseconds, which the answer needn't wait for.
    fn drop(&mut self) {
        if let (Some(following), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // Not `drop`: on systems without notifications the type has no destructor, and clippy objects.
            runtime.spawn_blocking(move || {
                let _gone = following;
            });
        }
    }
}

impl Waker {
    /// Waits for a possible change. The first call only starts the watch and returns at once: earlier changes are
    /// found by reading, later ones are reported.
    async fn changed(&mut self, session: &Session) {
        match self {
            Self::None => {
                *self = session
                    .follow()
                    .map_or(Self::Tick, |following| Self::Following(Watching(Some(following))))
            }
            Self::Following(Watching(Some(following))) => {
                if following.changed().await.is_err() {
                    *self = Self::Tick;
                }
            }
            Self::Following(Watching(None)) | Self::Tick => sleep(TICK).await,
        }
    }
}
