//! Ctrl-C and other console events, which go to every process in the console. The command handles its own, and we
//! outlive it to record how it ended.

use super::event::Event;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Threading::{INFINITE, Sleep};
use windows_sys::core::BOOL;

/// The exit code of a process that Ctrl-C ended.
pub const ENDED_BY_CONTROL: i32 = 0xc000_013a_u32.cast_signed();

static RECEIVED: AtomicBool = AtomicBool::new(false);
static CLOSING: OnceLock<Event> = OnceLock::new();

/// Handles Ctrl-C, Ctrl-Break and the closing of the console from now on. Children don't inherit this.
pub fn take() -> io::Result<()> {
    if CLOSING.get().is_none() {
        let _taken_before = CLOSING.set(Event::new()?);
    }
    // SAFETY: the handler exists for as long as the process. It runs on its own thread and may run any code.
    #[expect(unsafe_code, reason = "the system calls the handler")]
    let taken = unsafe { SetConsoleCtrlHandler(Some(handle), 1) };
    if taken == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether Ctrl-C or Ctrl-Break was pressed since [`take`].
#[must_use]
pub fn was_received() -> bool {
    RECEIVED.load(Ordering::Acquire)
}

/// An event that is set when the console is closed, the user logs off or the machine shuts down. Only a few
/// seconds are left then. `None` before [`take`].
#[must_use]
pub fn closing() -> Option<&'static Event> {
    CLOSING.get()
}

extern "system" fn handle(kind: u32) -> BOOL {
    if matches!(kind, CTRL_C_EVENT | CTRL_BREAK_EVENT) {
        RECEIVED.store(true, Ordering::Release);
        return 1;
    }
    if let Some(closing) = CLOSING.get() {
        closing.set();
    }
    // The process is ended when this returns. Until then, for a few seconds, there is time to record how the
    // command ended.
    // SAFETY: sleeps on a thread that has nothing else to do.
    #[expect(unsafe_code, reason = "the process ends during the sleep")]
    unsafe {
        Sleep(INFINITE);
    }
    1
}
