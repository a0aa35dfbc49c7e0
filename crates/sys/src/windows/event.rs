//! Waiting for the first of several events.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::time::Duration;
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    CreateEventW, INFINITE, ResetEvent, SetEvent, WaitForMultipleObjects,
};

/// A manual-reset event.
#[derive(Debug)]
pub struct Event(OwnedHandle);

impl Event {
    /// Creates an event that is not set.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointer is passed, and the returned handle is owned only by us.
        #[expect(unsafe_code, reason = "Win32 call")]
        unsafe {
            let event = CreateEventW(std::ptr::null(), 1, 0, std::ptr::null());
            if event.is_null() {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedHandle::from_raw_handle(event)))
        }
    }

    /// Sets the event.
    pub fn set(&self) {
        // SAFETY: the handle is open while `self` lives.
        #[expect(unsafe_code, reason = "Win32 call")]
        unsafe {
            SetEvent(self.0.as_raw_handle());
        }
    }

    /// Resets the event.
    pub(super) fn reset(&self) {
        // SAFETY: the handle is open while `self` lives.
        #[expect(unsafe_code, reason = "Win32 call")]
        unsafe {
            ResetEvent(self.0.as_raw_handle());
        }
    }
}

impl AsHandle for Event {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}

/// Waits for one of `handles` (events, processes, a console's input) and returns the index of the first that is
/// signaled, or `None` after `timeout`.
pub fn wait(handles: &[BorrowedHandle<'_>], timeout: Option<Duration>) -> io::Result<Option<usize>> {
    let handles: Vec<HANDLE> = handles.iter().map(AsRawHandle::as_raw_handle).collect();
    let milliseconds = timeout.map_or(INFINITE, |timeout| {
        // Rounded up, to avoid a busy loop in the last millisecond.
        u32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(INFINITE - 1)
    });
    let count = u32::try_from(handles.len()).unwrap_or(u32::MAX);
    // SAFETY: the handles are borrowed for the call, and `count` is their number.
    #[expect(unsafe_code, reason = "Win32 call")]
    let result = unsafe { WaitForMultipleObjects(count, handles.as_ptr(), 0, milliseconds) };
    match result {
        WAIT_TIMEOUT => Ok(None),
        WAIT_FAILED => Err(io::Error::last_os_error()),
        which => Ok(usize::try_from(which).ok()),
    }
}
