//! Ctrl-C and its like, which a console sends to every process in it: the command gets them itself, and we outlive
//! them to write down how it ended.

use super::event::Event;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Threading::{INFINITE, Sleep};
use windows_sys::core::BOOL;

/// The code of a process that Ctrl-C ended.
pub const ENDED_BY_CONTROL: i32 = 0xc000_013a_u32.cast_signed();

static CAME: AtomicBool = AtomicBool::new(false);
static CLOSING: OnceLock<Event> = OnceLock::new();

/// Takes Ctrl-C, Ctrl-Break and the console's end from now on. A child has its own way with them: this is not
/// inherited.
///
/// # Errors
/// What the system says.
pub fn take() -> io::Result<()> {
    if CLOSING.get().is_none() {
        let _taken_before = CLOSING.set(Event::new()?);
    }
    // SAFETY: the handler is there for as long as the process is. It runs in a thread of its own, as any code may.
    #[expect(unsafe_code, reason = "the system calls back")]
    let taken = unsafe { SetConsoleCtrlHandler(Some(handle), 1) };
    if taken == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether Ctrl-C or Ctrl-Break came since [`take`].
#[must_use]
pub fn came() -> bool {
    CAME.load(Ordering::Acquire)
}

/// Happens when the console is closed, the user logs off or the machine ends: what is not done in a few seconds stays
/// undone. `None` before [`take`].
#[must_use]
pub fn closing() -> Option<&'static Event> {
    CLOSING.get()
}

extern "system" fn handle(kind: u32) -> BOOL {
    if matches!(kind, CTRL_C_EVENT | CTRL_BREAK_EVENT) {
        CAME.store(true, Ordering::Release);
        return 1;
    }
    if let Some(closing) = CLOSING.get() {
        closing.set();
    }
    // When this returns the process is ended. Until then there is time to write down how the command ended; the
    // system waits for a few seconds.
    // SAFETY: lets time pass, in a thread that has nothing else to do.
    #[expect(unsafe_code, reason = "there is nothing to wait for: this process ends meanwhile")]
    unsafe {
        Sleep(INFINITE);
    }
    1
}
