//! Pending output of one client: responses, and the events that it follows. Bounded, even if the client doesn't read.

use crate::envelope::{Event, LAGGED, event_line};
use crate::feed::{Filled, Reader};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

/// How many bytes of events to take at once.
const CHUNK: usize = 64 << 10;

/// How much buffer to keep while there is more to write, in bytes: a page of stored events exceeds a chunk.
const KEPT: usize = 512 << 10;

/// A client that reads nothing for this long while this many bytes of events pass is too slow. Bytes alone would also
/// catch a client that wasn't scheduled; time alone, one that has nothing to read.
const LAG: u64 = 16 << 20;
const LAG_TIME: Duration = Duration::from_secs(2);

/// With this many bytes of unread responses, no more requests of the client are read.
const ANSWERS: usize = 256 << 10;

/// The pending output.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    written: usize,
    attached: Option<Attached>,
}

#[derive(Debug)]
struct Attached {
    reader: Reader,
    /// The total size of events when the client last read something, and the time.
    taken: (u64, Instant),
}

impl Attached {
    fn took(&mut self) {
        self.taken = (self.reader.pushed(), Instant::now());
    }

    fn lags(&self) -> bool {
        let (bytes, at) = self.taken;
        self.reader.pushed() - bytes >= LAG && at.elapsed() >= LAG_TIME
    }
}

impl Output {
    /// Adds a response.
    pub(super) fn answer(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
    }

    /// Follows `reader` instead of the previous one.
    pub(super) fn attach(&mut self, reader: Reader) {
        let taken = (reader.pushed(), Instant::now());
        self.attached = Some(Attached { reader, taken });
    }

    /// Stops following events.
    pub(super) fn detach(&mut self) {
        self.attached = None;
    }

    /// Whether the client follows events.
    pub(super) fn is_attached(&self) -> bool {
        self.attached.is_some()
    }

    /// Whether there is room for another response.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() - self.written < ANSWERS
    }

    /// Whether there is something to write.
    pub(super) fn is_waiting(&self) -> bool {
        self.written < self.bytes.len()
    }

    /// Whether the client has received everything.
    pub(super) fn is_done(&self) -> bool {
        !self.is_waiting() && self.attached.is_none()
    }

    /// Adds the next events once everything else is written.
    pub(super) fn fill(&mut self) {
        if self.is_waiting() {
            return;
        }
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.written = 0;
        if let Some(attached) = &mut self.attached {
            attached.took();
            if attached.reader.fill(&mut self.bytes, CHUNK) == Filled::Over {
                self.attached = None;
            }
        }
        if self.bytes.is_empty() {
            // Free the buffer: the next event may be hours away.
            self.bytes = Vec::new();
        }
    }

    /// Writes some output, or waits until there is some.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the connection is closed.
    pub(super) async fn flow(&mut self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let rest = &self.bytes[self.written..];
        if rest.is_empty() {
            changed(&mut self.attached).await;
            return Ok(());
        }
        tokio::select! {
            biased;
            count = to.write(rest) => {
                self.took(count?);
                return Ok(());
            }
            () = changed(&mut self.attached) => {}
        }
        if self.lags() {
            // Otherwise the runtime rarely checks whether the client has read.
            tokio::task::yield_now().await;
            tokio::select! {
                biased;
                count = to.write(&self.bytes[self.written..]) => self.took(count?),
                () = std::future::ready(()) => self.detach_if_lagging(),
            }
        }
        Ok(())
    }

    /// Records that the client has read `count` bytes.
    fn took(&mut self, count: usize) {
        self.written += count;
        if let Some(attached) = &mut self.attached {
            attached.took();
        }
    }

    fn lags(&self) -> bool {
        self.is_waiting() && self.attached.as_ref().is_some_and(Attached::lags)
    }

    /// Detaches a client that reads nothing while events pass. It still receives the unfinished line, the responses,
    /// and a `lagged` event.
    fn detach_if_lagging(&mut self) {
        let Some(attached) = self.attached.as_ref().filter(|_| self.lags()) else { return };
        let is_between = self.written == 0 || self.bytes[self.written - 1] == b'\n';
        let rest = &self.bytes[self.written..];
        let whole = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (begun, rest) = rest.split_at(if is_between { 0 } else { whole });
        let mut kept = begun.to_vec();
        let mut missed = None;
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(b"{\"event_type\"") {
                missed.get_or_insert(line);
            } else {
                kept.extend_from_slice(line);
            }
        }
        // A gap is one line but many events, so find its number.
        let first = missed.and_then(|line| serde_json::from_slice::<Event>(line).ok());
        let next = first.map_or_else(|| attached.reader.next(), |event| event.offset);
        let payload = serde_json::json!({ "next": next });
        kept.extend(event_line(LAGGED, attached.reader.agent_id(), next, &payload));
        self.bytes = kept;
        self.written = 0;
        self.attached = None;
    }
}

async fn changed(attached: &mut Option<Attached>) {
    match attached {
        Some(attached) => attached.reader.changed().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{EVENT_BUFFER_SIZE, Feed};
    use murmur_core::id::AgentId;

    /// Ignores the time that the test itself has taken.
    fn let_no_time_pass(output: &mut Output) {
        output.attached.as_mut().unwrap().taken.1 = Instant::now();
    }

    fn let_time_pass(output: &mut Output) {
        output.attached.as_mut().unwrap().taken.1 -= LAG_TIME;
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_client_that_reads_nothing_gets_its_line_and_a_lagged_event() {
        let feed = Feed::new(AgentId::parse("a").ok(), None);
        let line = |n: u64| event_line("chat", "a", n, &"x".repeat(1000));
        let push = |count| {
            for _ in 0..count {
                feed.push(line(feed.next()).into());
            }
        };
        push(3);
        let mut output = Output::default();
        output.attach(feed.reader(Some(0)));
        output.fill();
        output.answer(b"{\"msg_type\":\"ping\"}\n");
        let (mut near, mut far) = tokio::io::duplex(1500);
        output.flow(&mut near).await.unwrap();
        push(10);
        output.detach_if_lagging();
        assert!(output.attached.is_some());
        push(LAG / 1000);
        let_no_time_pass(&mut output);
        output.detach_if_lagging();
        assert!(output.attached.is_some(), "it may only not have been given the time");
        let_time_pass(&mut output);
        output.detach_if_lagging();
        assert!(output.attached.is_none());
        let writing = async {
            while output.is_waiting() {
                output.flow(&mut near).await.unwrap();
            }
            drop(near);
        };
        let mut got = String::new();
        let reading = tokio::io::AsyncReadExt::read_to_string(&mut far, &mut got);
        let (_, read) = tokio::join!(writing, reading);
        read.unwrap();
        let expected = format!(
            "{}{}{{\"msg_type\":\"ping\"}}\n{{\"event_type\":\"lagged\",\"agent_id\":\"a\",\"offset\":2,\"payload\":{{\"next\":2}}}}\n",
            String::from_utf8(line(0)).unwrap(),
            String::from_utf8(line(1)).unwrap()
        );
        assert_eq!(got, expected);
    }

    /// The test doesn't yield between the client's read and the next write, so the runtime can't notice the read.
    #[tokio::test(flavor = "current_thread")]
    async fn a_client_that_read_before_the_runtime_noticed_does_not_lag() {
        let feed = Feed::new(AgentId::parse("a").ok(), None);
        let push = || feed.push(event_line("chat", "a", feed.next(), &"x".repeat(1 << 20)).into());
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        for socket in [&near, &far] {
            socket.set_nonblocking(true).unwrap();
        }
        let mut near = tokio::net::UnixStream::from_std(near).unwrap();
        near.writable().await.unwrap();
        let mut output = Output::default();
        output.attach(feed.reader(Some(0)));
        push();
        output.fill();
        // Writes until the socket is full and one more attempt finds no room.
        let mut has_room = true;
        while has_room {
            tokio::select! {
                biased;
                flowed = output.flow(&mut near) => flowed.unwrap(),
                () = std::future::ready(()) => has_room = false,
            }
        }
        assert!(output.is_waiting());
        while matches!(io::Read::read(&mut &far, &mut [0; 4096]), Ok(1..)) {}
        (0..LAG >> 20).for_each(|_| push());
        feed.notify();
        let_time_pass(&mut output);
        let written = output.written;
        output.flow(&mut near).await.unwrap();
        assert!(output.attached.is_some() && output.written > written);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_undelivered_gap_is_repeated_after_attaching_again() {
        let feed = Feed::new(AgentId::parse("a").ok(), None);
        let push = |count| {
            for _ in 0..count {
                feed.push(event_line("chat", "a", feed.next(), &"x".repeat(10_000)).into());
            }
        };
        push(EVENT_BUFFER_SIZE as u64 + 50);
        let mut output = Output::default();
        output.attach(feed.reader(Some(3)));
        output.fill();
        push(LAG / 10_000);
        let_time_pass(&mut output);
        output.detach_if_lagging();
        let lagged = event_line(LAGGED, "a", 3, &serde_json::json!({ "next": 3 }));
        assert_eq!(String::from_utf8_lossy(&output.bytes), String::from_utf8_lossy(&lagged));
    }
}
