//! What waits to be written to one client: answers, and the events that it follows. Bounded, whatever it reads.

use super::envelope::{Event, LAGGED, event_line};
use super::feed::{Filled, Reader};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

/// How much of the events is taken at once, in bytes.
const CHUNK: usize = 64 << 10;

/// How much room is kept while there is more to write, in bytes: a page of the past has more than a chunk.
const KEPT: usize = 512 << 10;

/// A client that has taken nothing for so long, while events of so many bytes went by, reads too slowly. Bytes alone
/// would tell one that was just not given the time to read; time alone, one of which there was nothing to keep.
const LAG: u64 = 16 << 20;
const LAG_TIME: Duration = Duration::from_secs(2);

/// With so many bytes of answers that it does not take, a client is not listened to.
const ANSWERS: usize = 256 << 10;

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    written: usize,
    attached: Option<Attached>,
}

#[derive(Debug)]
struct Attached {
    reader: Reader,
    /// How many bytes of events there had been when the client last took something, and when that was.
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
    /// Adds an answer.
    pub(super) fn answer(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
    }

    /// Follows `reader` from now on, in place of what it followed.
    pub(super) fn attach(&mut self, reader: Reader) {
        let taken = (reader.pushed(), Instant::now());
        self.attached = Some(Attached { reader, taken });
    }

    /// Follows nothing any more.
    pub(super) fn detach(&mut self) {
        self.attached = None;
    }

    /// Whether it follows events.
    pub(super) fn is_attached(&self) -> bool {
        self.attached.is_some()
    }

    /// Whether there is room for another answer.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() - self.written < ANSWERS
    }

    /// Whether there is something to write.
    pub(super) fn is_waiting(&self) -> bool {
        self.written < self.bytes.len()
    }

    /// Whether the client has all it is going to get.
    pub(super) fn is_done(&self) -> bool {
        !self.is_waiting() && self.attached.is_none()
    }

    /// Takes the next events, where everything before is written.
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
            // From here on it may wait for hours.
            self.bytes = Vec::new();
        }
    }

    /// Writes some of it, or waits until there may be something to write.
    ///
    /// Nothing is lost where this is dropped before it is done.
    ///
    /// # Errors
    /// That the client is gone.
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
            // While there is always something to do, the runtime asks the system seldom whether somebody has read.
            tokio::task::yield_now().await;
            tokio::select! {
                biased;
                count = to.write(&self.bytes[self.written..]) => self.took(count?),
                () = std::future::ready(()) => self.detach_if_lagging(),
            }
        }
        Ok(())
    }

    /// The client has taken so many bytes.
    fn took(&mut self, count: usize) {
        self.written += count;
        if let Some(attached) = &mut self.attached {
            attached.took();
        }
    }

    fn lags(&self) -> bool {
        self.is_waiting() && self.attached.as_ref().is_some_and(Attached::lags)
    }

    /// Detaches a client that takes nothing while everything goes by. The line it is in the middle of, and the
    /// answers, it gets; then that it has lagged.
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
        // Not counted, as a gap is one line and many events.
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
    use super::super::feed::{EVENT_BUFFER_SIZE, Feed};
    use super::*;

    /// However long the test itself took until here.
    fn let_no_time_pass(output: &mut Output) {
        output.attached.as_mut().unwrap().taken.1 = Instant::now();
    }

    fn let_time_pass(output: &mut Output) {
        output.attached.as_mut().unwrap().taken.1 -= LAG_TIME;
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_takes_nothing_gets_the_line_it_is_in_and_is_told() {
        let feed = Feed::new("a".to_owned(), None);
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

    /// Here that is while the runtime does not get to ask.
    #[tokio::test(flavor = "current_thread")]
    async fn who_has_read_before_the_runtime_noticed_does_not_lag() {
        let feed = Feed::new("a".to_owned(), None);
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
        // As much as there is room for, and a look that finds none.
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
        feed.tell();
        let_time_pass(&mut output);
        let written = output.written;
        output.flow(&mut near).await.unwrap();
        assert!(output.attached.is_some() && output.written > written);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_was_not_told_of_a_gap_begins_again_before_it() {
        let feed = Feed::new("a".to_owned(), None);
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
