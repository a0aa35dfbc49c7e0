//! Reads many journal lines with all cores: each takes the next block of lines and counts it.

use super::line::Line;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Bytes to read at once; small enough to stay in a core's cache until they are searched.
const BLOCK: usize = 256 << 10;

/// The most threads; more of them would wait for each other's blocks.
const MOST_THREADS: usize = 8;

/// Reads the lines of `files`, in any order, and returns one sum for each thread. `add` counts a beat into a sum. The last line of
/// a file is left out if it has no newline: it is still being written.
///
/// # Errors
/// The first error of reading.
pub fn scan<F: Read + Send, S: Send>(
    files: impl Iterator<Item = io::Result<F>> + Send,
    new: impl Fn() -> S + Sync,
    add: impl Fn(&mut S, &Line<'_>) + Sync,
) -> io::Result<Vec<S>> {
    let blocks = Mutex::new(Blocks { files, open: None, rest: Vec::new() });
    let count = || {
        let (mut sum, mut block) = (new(), Vec::new());
        while blocks.lock().unwrap_or_else(PoisonError::into_inner).read(&mut block)? {
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', &block) {
                if let Some(line) = block.get(start..end).and_then(Line::parse) {
                    add(&mut sum, &line);
                }
                start = end + 1;
            }
        }
        Ok(sum)
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(count)).collect();
        let own = count();
        let joined = others.into_iter().map(|other| match other.join() {
            Ok(sum) => sum,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(own).chain(joined).collect()
    })
}

/// The lines of all files, in blocks.
struct Blocks<F, I> {
    files: I,
    open: Option<F>,
    /// The beginning of a line whose end has not been read yet.
    rest: Vec<u8>,
}

impl<F: Read, I: Iterator<Item = io::Result<F>>> Blocks<F, I> {
    /// Fills `block` with whole lines; returns whether there were any.
    fn read(&mut self, block: &mut Vec<u8>) -> io::Result<bool> {
        block.clear();
        loop {
            let file = match &mut self.open {
                Some(file) => file,
                None => match self.files.next() {
                    Some(file) => self.open.insert(file?),
                    None => return Ok(false),
                },
            };
            block.append(&mut self.rest);
            let before = block.len();
            // A longer line is read in larger steps.
            block.resize(before + BLOCK.max(before), 0);
            let mut filled = before;
            let mut is_over = false;
            while filled < block.len() && !is_over {
                match file.read(&mut block[filled..]) {
                    Ok(0) => is_over = true,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            block.truncate(filled);
            let lines = memchr::memrchr(b'\n', block).map_or(0, |newline| newline + 1);
            if is_over {
                self.open = None;
            } else {
                self.rest.extend_from_slice(&block[lines..]);
            }
            block.truncate(lines);
            if lines > 0 {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":1}"#;

    fn count(files: &[Vec<u8>]) -> u64 {
        let files = files.iter().map(|file| Ok(file.as_slice()));
        scan(files, || 0, |beats, _| *beats += 1).unwrap().into_iter().sum()
    }

    #[test]
    fn every_complete_line_of_every_file_is_read_once() {
        let many = format!("{LINE}\n").repeat(20_000).into_bytes();
        let long = format!("{}\n{LINE}\n", "x".repeat(3 * BLOCK)).into_bytes();
        let torn = format!("{LINE}\n{LINE}").into_bytes();
        assert_eq!(count(&[many.clone(), torn, Vec::new(), long, many]), 40_002);
        assert_eq!(count(&[]), 0);
    }

    #[test]
    fn an_error_of_reading_is_returned() {
        let files = [Ok(LINE.as_bytes()), Err(io::Error::other("broken"))];
        let read = scan(files.into_iter(), || (), |(), _| ());
        assert_eq!(read.unwrap_err().to_string(), "broken");
    }
}
