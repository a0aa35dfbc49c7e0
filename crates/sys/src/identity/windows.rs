//! Process start times on Windows.

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{FILETIME, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, WaitForSingleObject,
};

/// The start time of the running process `pid`, in 100 ns since 1601. `None` if there is none that we may query.
pub(super) fn began(pid: u32) -> Option<u64> {
    let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut begin, mut end, mut kernel, mut user) = (zero, zero, zero, zero);
    // SAFETY: the handle is closed once, by its owner; every pointer is to a local that is valid for writes.
    #[expect(unsafe_code, reason = "Win32 calls")]
    let is_running = unsafe {
        let process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE, 0, pid);
        if process.is_null() {
            return None;
        }
        let process = OwnedHandle::from_raw_handle(process);
        // An exited process stays until its last handle is closed.
        let is_alive = WaitForSingleObject(process.as_raw_handle(), 0) == WAIT_TIMEOUT;
        is_alive
            && GetProcessTimes(process.as_raw_handle(), &mut begin, &mut end, &mut kernel, &mut user) != 0
    };
    is_running.then(|| u64::from(begin.dwHighDateTime) << 32 | u64::from(begin.dwLowDateTime))
}
