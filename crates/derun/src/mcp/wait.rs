//! `derun_wait_output`: waits until there is output behind a cursor, until the session is over, or for a time.

use super::answer::Waited;
use super::fail::ToolError;
use super::input::{Cursor, WaitInput};
use super::place::Place;
use super::read::portion;
use crate::record::{SCHEMA_VERSION, State};
use crate::session::{Following, Session};
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, sleep_until};

/// How often is looked where nothing tells of changes.
const TICK: Duration = Duration::from_millis(500);

/// Waits for output. When `stop` is over, it answers with what there is.
pub(super) async fn wait(
    place: &Place,
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
    let mut session = place.session(&input.session_id)?;
    let mut waker = Waker::None;
    let (mut is_over, mut is_late) = (input.timeout.is_zero(), input.timeout.is_zero());
    loop {
        let portion = portion(&session, input.cursor, &input.form)?;
        let is_idle = portion.chunks.is_empty() && !portion.eof && portion.state.is_active();
        if !is_idle || is_over {
            return Ok(Waited {
                schema_version: SCHEMA_VERSION,
                session_id: session.id().to_string(),
                state: portion.state,
                chunks: portion.chunks,
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
            // What a session is, is read once; that it runs is written there.
            session = place.session(&input.session_id)?;
        }
    }
}

/// What tells that it is worth to look again.
enum Waker {
    None,
    Following(Watching),
    Tick,
}

/// Something that follows, and is let go of elsewhere.
struct Watching(Option<Following>);

impl Drop for Watching {
    /// The kernel takes milliseconds to let go of a watch. The answer does not wait for that.
    fn drop(&mut self) {
        if let (Some(following), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            // Not `drop`: where nothing tells of changes it has none, and clippy objects there.
            runtime.spawn_blocking(move || {
                let _gone = following;
            });
        }
    }
}

impl Waker {
    /// Waits until there may be more. The first time it is made and at once done: what came before it was there is
    /// seen by looking, and what comes later is told of.
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
