//! Waiting for whatever comes first of several things.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::time::Duration;
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    CreateEventW, INFINITE, ResetEvent, SetEvent, WaitForMultipleObjects,
};

/// Something that happens once, and stays so until it is taken back.
#[derive(Debug)]
pub struct Event(OwnedHandle);

impl Event {
    /// One that has not happened.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointer is passed; the handle is ours alone, and its owner closes it.
        #[expect(unsafe_code, reason = "the system's events are handles")]
        unsafe {
            let event = CreateEventW(std::ptr::null(), 1, 0, std::ptr::null());
            if event.is_null() {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedHandle::from_raw_handle(event)))
        }
    }

    /// It has happened.
    pub fn set(&self) {
        // SAFETY: the handle is open for as long as `self` is.
        #[expect(unsafe_code, reason = "the system's events are handles")]
        unsafe {
            SetEvent(self.0.as_raw_handle());
        }
    }

    /// It has not happened.
    pub(super) fn reset(&self) {
        // SAFETY: the handle is open for as long as `self` is.
        #[expect(unsafe_code, reason = "the system's events are handles")]
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

/// Waits for one of `things` (events, processes, a console's input); returns which, the first if several are. `None`
/// if `patience` was over before.
///
/// # Errors
/// What the system says.
pub fn wait(things: &[BorrowedHandle<'_>], patience: Option<Duration>) -> io::Result<Option<usize>> {
    let handles: Vec<HANDLE> = things.iter().map(AsRawHandle::as_raw_handle).collect();
    let milliseconds = patience.map_or(INFINITE, |patience| {
        // Rounded up, so that nobody asks again and again for what is left of a millisecond.
        u32::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(INFINITE - 1)
    });
    let count = u32::try_from(handles.len()).unwrap_or(u32::MAX);
    // SAFETY: the handles are borrowed for the call, and as many as is said.
    #[expect(unsafe_code, reason = "the system waits for handles")]
    let came = unsafe { WaitForMultipleObjects(count, handles.as_ptr(), 0, milliseconds) };
    match came {
        WAIT_TIMEOUT => Ok(None),
        WAIT_FAILED => Err(io::Error::last_os_error()),
        which => Ok(usize::try_from(which).ok()),
    }
}
