//! A pipe whose reading end can be waited for together with other handles.

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

/// The size of the system's buffer, in bytes.
const HELD: u32 = 64 * 1024;

/// The reading end of a pipe.
pub struct Reader {
    pipe: OwnedHandle,
    done: Event,
    /// The buffer for the pending read. On the heap, and not touched while `is_reading`.
    block: Vec<u8>,
    overlapped: Box<OVERLAPPED>,
    is_reading: bool,
}

// SAFETY: only the system uses the pointers in `overlapped`, and it can be called from any thread.
#[expect(unsafe_code, reason = "raw pointers in a C structure are not Send by default")]
unsafe impl Send for Reader {}

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// Data.
    Bytes(&'a [u8]),
    /// No data, but one of the other handles was signaled.
    Other,
    /// Timeout.
    Nothing,
    /// All writers are closed.
    End,
}

/// Creates a pipe: the reading end, which reads up to `block` bytes at once, and the writing end, which is not
/// inherited by default.
pub fn pipe(block: usize) -> io::Result<(Reader, OwnedHandle)> {
    let number = u128::from_le_bytes(super::random::bytes()?);
    // Only a named pipe can be waited for. It allows a single writer, us, so no other program can connect.
    let name = wide(format!(r"\\.\pipe\murmur-{}-{number:032x}", std::process::id()).as_ref());
    // SAFETY: the name ends with a NUL and outlives the calls, no other pointer is passed, and each returned
    // handle has one owner.
    #[expect(unsafe_code, reason = "std has no pipe that can be waited for")]
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

/// Takes ownership of the handle that a call returned.
///
/// # Safety
/// Nothing else may own the handle.
#[expect(unsafe_code, reason = "takes ownership of a handle")]
unsafe fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is a valid handle without another owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

impl Reader {
    /// Waits for data, for one of `others`, or until `timeout` is over. Available data has priority.
    pub fn read(&mut self, others: &[BorrowedHandle<'_>], timeout: Option<Duration>) -> io::Result<Read<'_>> {
        if !self.is_reading {
            match self.begin() {
                Ok(()) => {}
                Err(error) if is_end(&error) => return Ok(Read::End),
                Err(error) => return Err(error),
            }
        }
        let handles: Vec<_> = [self.done.as_handle()].iter().chain(others).copied().collect();
        match event::wait(&handles, timeout)? {
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
        // SAFETY: `block` and `overlapped` are on the heap, don't move, and are not touched until the read has
        // finished: `read` only uses them then, and `drop` waits for it. The length is that of the buffer.
        #[expect(unsafe_code, reason = "the system writes to the buffer asynchronously")]
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
        // A read that finishes at once sets its event too.
        self.is_reading = done != 0 || is(&error, ERROR_IO_PENDING);
        if self.is_reading { Ok(()) } else { Err(error) }
    }

    /// The number of bytes read.
    fn result(&mut self, wait: bool) -> io::Result<usize> {
        let mut read = 0;
        // SAFETY: `overlapped` belongs to the last read; `read` is valid for writes.
        #[expect(unsafe_code, reason = "Win32 call")]
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
        // SAFETY: the read was started with this structure, which lives until the read has finished.
        #[expect(unsafe_code, reason = "the system still has a pointer to the buffer")]
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
    fn data_has_priority_and_the_end_comes_last() {
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
    fn writing_fails_after_the_reader_is_closed() {
        let (mut reader, writer) = pipe(4).unwrap();
        assert_eq!(reader.read(&[], Some(Duration::ZERO)).unwrap(), Read::Nothing);
        drop(reader);
        assert!(File::from(writer).write_all(b"x").is_err());
    }
}
