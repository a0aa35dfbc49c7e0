//! Ending this process with a number.

use std::process::ExitCode;

/// The exit code that says `code`: its low eight bits, as a shell sees them.
#[cfg(unix)]
#[must_use]
pub fn code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
}

/// The exit code that says `code`. One of more than eight bits ends the process here, since `ExitCode` has no room
/// for it: nothing may be left to be done.
#[cfg(windows)]
#[must_use]
pub fn code(code: i32) -> ExitCode {
    #[expect(clippy::exit, reason = "an exit code has 32 bits, of which ExitCode takes eight")]
    u8::try_from(code).map_or_else(|_| std::process::exit(code), ExitCode::from)
}
