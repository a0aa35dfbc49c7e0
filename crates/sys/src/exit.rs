//! Conversion of exit codes to [`ExitCode`].

use std::process::ExitCode;

/// Returns the exit code for `code`: its low eight bits, as in a shell.
#[cfg(unix)]
#[must_use]
pub fn code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
}

/// Returns the exit code for `code`. `ExitCode` holds eight bits, so a larger code ends the process right here;
/// finish all work first.
#[cfg(windows)]
#[must_use]
pub fn code(code: i32) -> ExitCode {
    #[expect(clippy::exit, reason = "an exit code has 32 bits, of which ExitCode takes eight")]
    u8::try_from(code).map_or_else(|_| std::process::exit(code), ExitCode::from)
}
