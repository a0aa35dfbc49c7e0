//! A pipe whose reading end can be waited for together with something else.

use super::event::{self, Event};
use super::words::wide;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::time::Duration;
use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_HANDLE_EOF, ERROR_IO_PENDING, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING, PIPE_ACCESS_INBOUND,
    ReadFile,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::{CreateNamedPipeW, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE};

/// How many bytes the system holds for us before a writer has to wait.
const HELD: u32 = 64 * 1024;

/// The end of a pipe that is read.
pub struct Reader {
    pipe: OwnedHandle,
    done: Event,
    /// Where the system writes to while `is_reading`: on the heap, and not touched meanwhile.
    block: Vec<u8>,
    overlapped: Box<OVERLAPPED>,
    is_reading: bool,
}

// SAFETY: `overlapped` holds pointers for the system alone, which does not mind from which thread it is asked.
#[expect(unsafe_code, reason = "a raw pointer in a C structure says nothing about threads")]
unsafe impl Send for Reader {}

/// What came of waiting for bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// These came.
    Bytes(&'a [u8]),
    /// None came, and another thing happened.
    Other,
    /// Nothing happened in that time.
    Nothing,
    /// Nobody can write any more.
    End,
}

/// Makes a pipe: the end that is read, of at most `block` bytes at once, and the end that is written, which no child
/// inherits by itself.
///
/// # Errors
/// What the system says.
pub fn pipe(block: usize) -> io::Result<(Reader, OwnedHandle)> {
    let number = u128::from_le_bytes(super::random::bytes()?);
    // Only a pipe with a name can be waited for. No other program can have it: it takes one writer, who is us.
    let name = wide(format!(r"\\.\pipe\murmur-{}-{number:032x}", std::process::id()).as_ref());
    // SAFETY: the name ends in zero and outlives the calls, no other pointer is passed, and each handle is ours alone
    // and closed by its owner.
    #[expect(unsafe_code, reason = "std makes no pipe that can be waited for")]
    let (ours, theirs) = unsafe {
        let open = PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE;
        let kind = PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS;
        let ours = owned(CreateNamedPipeW(name.as_ptr(), open, kind, 1, HELD, HELD, 0, std::ptr::null()))?;
        let none = std::ptr::null_mut();
        let theirs =
            owned(CreateFileW(name.as_ptr(), GENERIC_WRITE, 0, std::ptr::null(), OPEN_EXISTING, 0, none))?;
        (ours, theirs)
    };
    let reader = Reader {
        pipe: ours,
        done: Event::new()?,
        block: vec![0; block],
        overlapped: Box::default(),
        is_reading: false,
    };
    Ok((reader, theirs))
}

/// The handle that a call returned, or why it returned none.
///
/// # Safety
/// Nobody else closes it.
#[expect(unsafe_code, reason = "a handle has one owner")]
unsafe fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is a handle, and nobody else closes it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

impl Reader {
    /// Waits for bytes, for one of `others`, or until `patience` is over. Bytes that are there come before all else.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(
        &mut self,
        others: &[BorrowedHandle<'_>],
        patience: Option<Duration>,
    ) -> io::Result<Read<'_>> {
        if !self.is_reading {
            match self.begin() {
                Ok(()) => {}
                Err(error) if is_end(&error) => return Ok(Read::End),
                Err(error) => return Err(error),
            }
        }
        let things: Vec<_> = [self.done.as_handle()].iter().chain(others).copied().collect();
        match event::wait(&things, patience)? {
            None => return Ok(Read::Nothing),
            Some(0) => {}
            Some(_) => return Ok(Read::Other),
        }
        self.is_reading = false;
        match self.result(false) {
            Ok(read) => Ok(Read::Bytes(&self.block[..read])),
            Err(error) if is_end(&error) => Ok(Read::End),
            Err(error) => Err(error),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        self.done.reset();
        *self.overlapped = OVERLAPPED { hEvent: self.done.as_handle().as_raw_handle(), ..Default::default() };
        let length = u32::try_from(self.block.len()).unwrap_or(u32::MAX);
        // SAFETY: `block` and `overlapped` are on the heap, stay where they are and are not touched until the read is
        // over: `read` looks at them only then, and `drop` waits for it. No longer than the block is asked for.
        #[expect(unsafe_code, reason = "the system writes to the block when bytes come")]
        let done = unsafe {
            ReadFile(
                self.pipe.as_raw_handle(),
                self.block.as_mut_ptr(),
                length,
                std::ptr::null_mut(),
                &raw mut *self.overlapped,
            )
        };
        let error = io::Error::last_os_error();
        // A read that was over at once says so by its event as well.
        self.is_reading = done != 0 || is(&error, ERROR_IO_PENDING);
        if self.is_reading { Ok(()) } else { Err(error) }
    }

    /// How many bytes a read brought.
    fn result(&mut self, wait: bool) -> io::Result<usize> {
        let mut read = 0;
        // SAFETY: `overlapped` is the one of the last read; `read` is valid for writes.
        #[expect(unsafe_code, reason = "the system is asked by pointer")]
        let done = unsafe {
            GetOverlappedResult(
                self.pipe.as_raw_handle(),
                &raw const *self.overlapped,
                &raw mut read,
                i32::from(wait),
            )
        };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(read as usize) }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.is_reading {
            return;
        }
        // SAFETY: the read was begun with this structure, which lives until it is over.
        #[expect(unsafe_code, reason = "the system still has a pointer to the block")]
        unsafe {
            CancelIoEx(self.pipe.as_raw_handle(), &raw const *self.overlapped);
        }
        let _cancelled = self.result(true);
    }
}

fn is(error: &io::Error, code: u32) -> bool {
    error.raw_os_error() == i32::try_from(code).ok()
}

fn is_end(error: &io::Error) -> bool {
    is(error, ERROR_BROKEN_PIPE) || is(error, ERROR_HANDLE_EOF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    #[test]
    fn bytes_come_before_another_thing_and_the_end_last() {
        let (mut reader, writer) = pipe(4).unwrap();
        let mut writer = File::from(writer);
        let other = Event::new().unwrap();
        assert_eq!(reader.read(&[other.as_handle()], Some(Duration::ZERO)).unwrap(), Read::Nothing);
        other.set();
        assert_eq!(reader.read(&[other.as_handle()], None).unwrap(), Read::Other);
        writer.write_all(b"bytes").unwrap();
        drop(writer);
        assert_eq!(reader.read(&[other.as_handle()], None).unwrap(), Read::Bytes(b"byte"));
        assert_eq!(reader.read(&[], None).unwrap(), Read::Bytes(b"s"));
        assert_eq!(reader.read(&[other.as_handle()], None).unwrap(), Read::End);
    }

    #[test]
    fn a_reader_that_goes_away_is_told_to_the_writer() {
        let (mut reader, writer) = pipe(4).unwrap();
        assert_eq!(reader.read(&[], Some(Duration::ZERO)).unwrap(), Read::Nothing);
        drop(reader);
        assert!(File::from(writer).write_all(b"x").is_err());
    }
}
