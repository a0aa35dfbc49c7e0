//! Reads many journal lines in several threads: each takes the next block of lines and counts it.

use super::line::BeatUsage;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Bytes to read at once; small enough to stay in a core's cache until they are searched.
const BLOCK: usize = 256 << 10;

/// The most threads; more of them would wait for each other's blocks.
const MAX_THREADS: usize = 8;

/// A file to read.
pub enum Input<'a, F> {
    /// An open file, of which each thread reads blocks.
    Open(F),
    /// A file that takes time to read, which one thread does alone.
    Closed(ReadWhole<'a>),
}

/// Fills an empty buffer with a whole file; returns whether it counts.
pub type ReadWhole<'a> = Box<dyn FnOnce(&mut Vec<u8>) -> bool + Send + 'a>;

/// Reads the lines of `files`, in any order, and returns one sum for each thread. `add` counts a beat into a sum. The
/// last line of a file is left out if it has no newline: it is still being written.
pub fn scan<'a, F: Read + Send, S: Send>(
    files: impl Iterator<Item = Input<'a, F>> + Send,
    new: impl Fn() -> S + Sync,
    add: impl Fn(&mut S, &BeatUsage<'_>) + Sync,
) -> io::Result<Vec<S>> {
    let shared = Mutex::new(Shared { files, open: None });
    let add_all = |sum: &mut S, block: &[u8]| {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', block) {
            if let Some(line) = block.get(start..end).and_then(BeatUsage::parse) {
                add(sum, &line);
            }
            start = end + 1;
        }
    };
    let count = || {
        let (mut sum, mut block) = (new(), Vec::new());
        loop {
            // The lock is free again before a whole file is read.
            let next = shared.lock().unwrap_or_else(PoisonError::into_inner).read(&mut block)?;
            match next {
                Next::Block(length) => add_all(&mut sum, &block[..length]),
                Next::File(read_whole) => {
                    block.clear();
                    if read_whole(&mut block) {
                        add_all(&mut sum, &block);
                    }
                }
                Next::Over => return Ok(sum),
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
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

/// What the threads share: the files that none has taken, and the open one.
struct Shared<F, I> {
    files: I,
    open: Option<Blocks<F>>,
}

/// What a thread reads next.
enum Next<'a> {
    /// A block of lines of the open file, of this length.
    Block(usize),
    /// A file of its own.
    File(ReadWhole<'a>),
    /// Nothing: all is read.
    Over,
}

impl<'a, F: Read, I: Iterator<Item = Input<'a, F>>> Shared<F, I> {
    fn read(&mut self, block: &mut Vec<u8>) -> io::Result<Next<'a>> {
        loop {
            if let Some(open) = &mut self.open {
                if let Some(length) = open.read(block)? {
                    return Ok(Next::Block(length));
                }
                self.open = None;
            }
            match self.files.next() {
                Some(Input::Open(file)) => self.open = Some(Blocks::new(file)),
                Some(Input::Closed(read_whole)) => return Ok(Next::File(read_whole)),
                None => return Ok(Next::Over),
            }
        }
    }
}

/// The lines of a file, in blocks.
struct Blocks<F> {
    file: F,
    /// The beginning of a line whose end has not been read yet.
    rest: Vec<u8>,
    is_over: bool,
}

impl<F: Read> Blocks<F> {
    fn new(file: F) -> Self {
        Self { file, rest: Vec::new(), is_over: false }
    }

    /// Fills the beginning of `block` with whole lines; returns their length, or `None` if there are none.
    fn read(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>> {
        while !self.is_over {
            let mut filled = self.rest.len();
            // A longer line is read in larger steps.
            let end = filled + BLOCK.max(filled);
            // What was read before is overwritten: clearing it first would take time.
            if block.len() < end {
                block.resize(end, 0);
            }
            block[..filled].copy_from_slice(&self.rest);
            self.rest.clear();
            while filled < end && !self.is_over {
                match self.file.read(&mut block[filled..end]) {
                    Ok(0) => self.is_over = true,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            let lines = memchr::memrchr(b'\n', &block[..filled]).map_or(0, |newline| newline + 1);
            if !self.is_over {
                self.rest.extend_from_slice(&block[lines..filled]);
            }
            if lines > 0 {
                return Ok(Some(lines));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":1}"#;

    fn count<'a>(files: impl Iterator<Item = Input<'a, &'a [u8]>> + Send) -> u64 {
        scan(files, || 0, |beats, _| *beats += 1).unwrap().into_iter().sum()
    }

    #[test]
    fn every_complete_line_of_every_file_is_read_once() {
        let many = format!("{LINE}\n").repeat(20_000).into_bytes();
        let long = format!("{}\n{LINE}\n", "x".repeat(3 * BLOCK)).into_bytes();
        let torn = format!("{LINE}\n{LINE}").into_bytes();
        let files = [many.clone(), torn, Vec::new(), long, many];
        assert_eq!(count(files.iter().map(|file| Input::Open(file.as_slice()))), 40_002);
        let whole = |file: &'_ Vec<u8>| -> ReadWhole<'_> {
            let file = file.clone();
            Box::new(move |bytes| {
                bytes.extend(file);
                true
            })
        };
        assert_eq!(count(files.iter().map(|file| Input::Closed(whole(file)))), 40_002);
        let mixed = files.iter().enumerate().map(|(number, file)| match number % 2 {
            0 => Input::Open(file.as_slice()),
            _ => Input::Closed(Box::new(|_| false)),
        });
        assert_eq!(count(mixed), 40_000);
        assert_eq!(count(std::iter::empty()), 0);
    }

    #[test]
    fn an_error_of_reading_is_returned() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let read = scan(std::iter::once(Input::Open(Broken)), || (), |(), _| ());
        assert_eq!(read.unwrap_err().to_string(), "broken");
    }
}
