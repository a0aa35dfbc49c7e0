//! How fake-claude ends: exit codes and signals. The only place that calls `exit`.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;

use fake_claude::replay::End;
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::low_level;

use crate::act::hooks;
use crate::faults::{Fault, Faults};

const SUCCESS: &[u8] = b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"duration_ms\":1,\
\"num_turns\":1,\"result\":\"HEARTBEAT_OK\",\"stop_reason\":\"end_turn\",\
\"session_id\":\"00000000-0000-4000-8000-000000000001\",\"total_cost_usd\":0,\"permission_denials\":[]}\n";

/// What to print on SIGTERM.
static LAST: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Has `line` printed on SIGTERM, if the faults say so.
pub(crate) fn print_on_term(line: &[u8]) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = line.to_vec();
}

/// Exits on SIGTERM (143) and SIGHUP (129) like the real Claude Code, or as the faults say.
pub(crate) fn catch_signals(faults: &Faults) -> io::Result<()> {
    on(SIGHUP, || {
        hooks::end_all();
        exit(129);
    })?;
    print_on_term(SUCCESS);
    catch_term(faults, 143)
}

/// Exits on SIGTERM with this code, or as the faults say.
pub(crate) fn catch_term(faults: &Faults, code: i32) -> io::Result<()> {
    let (ignore, success) = (faults.has(Fault::IgnoreTerm), faults.has(Fault::SuccessAfterTerm));
    on(SIGTERM, move || {
        if ignore {
            return;
        }
        if success {
            // Exit even if nobody reads the output.
            let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).clone();
            drop(io::stdout().write_all(&last));
        }
        hooks::end_all();
        exit(code);
    })
}

fn on(signal: i32, act: impl Fn() + Send + 'static) -> io::Result<()> {
    let (mut read, write) = UnixStream::pair()?;
    low_level::pipe::register(signal, write)?;
    thread::spawn(move || {
        while read.read_exact(&mut [0]).is_ok() {
            act();
        }
    });
    Ok(())
}

#[expect(clippy::exit, reason = "a signal must end the process while the main thread is busy")]
fn exit(code: i32) {
    std::process::exit(code);
}

/// Returns the exit code, or dies by the signal.
pub(crate) fn end(end: End) -> ExitCode {
    match end {
        End::Code(code) => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)),
        End::Signal(signal) => {
            // KILL cannot be emulated. For other signals this restores the default first.
            drop(low_level::emulate_default_handler(signal));
            drop(low_level::raise(signal));
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
        }
    }
}

/// Parses `KILL`, `SIGKILL` or `9`.
pub(crate) fn signal_number(name: &str) -> Option<i32> {
    let known = (1..32).find(|number| {
        low_level::signal_name(*number)
            .is_some_and(|full| full == name || full.strip_prefix("SIG") == Some(name))
    });
    known.or_else(|| name.parse().ok().filter(|number| (1..32).contains(number)))
}
