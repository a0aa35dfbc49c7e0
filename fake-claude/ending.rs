//! How fake-claude ends: its one home of `exit`, signals, and death by signal.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;

use murmur::replay::End;
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::low_level;

use crate::act::hooks;
use crate::faults::{Fault, Faults};

const SUCCESS: &[u8] = b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"duration_ms\":1,\
\"num_turns\":1,\"result\":\"HEARTBEAT_OK\",\"stop_reason\":\"end_turn\",\
\"session_id\":\"00000000-0000-4000-8000-000000000001\",\"total_cost_usd\":0,\"permission_denials\":[]}\n";

/// Ends as the real one does on SIGTERM (143) and SIGHUP (129), or as the faults say.
pub(crate) fn catch_signals(faults: &Faults) -> io::Result<()> {
    let (ignore, success) = (faults.has(Fault::IgnoreTerm), faults.has(Fault::SuccessAfterTerm));
    on(SIGHUP, || {
        hooks::end_all();
        exit(129);
    })?;
    on(SIGTERM, move || {
        if ignore {
            return;
        }
        if success {
            // The reader may be gone; it ends all the same.
            drop(io::stdout().write_all(SUCCESS));
        }
        hooks::end_all();
        exit(143);
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

#[expect(clippy::exit, reason = "a signal ends the process while its main thread is playing")]
fn exit(code: i32) {
    std::process::exit(code);
}

/// Ends alike: returns the code, or dies by the signal.
pub(crate) fn end(end: End) -> ExitCode {
    match end {
        End::Code(code) => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)),
        End::Signal(signal) => {
            // KILL has no handler to emulate; for the others the default is put back first.
            drop(low_level::emulate_default_handler(signal));
            drop(low_level::raise(signal));
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
        }
    }
}

/// The number of `KILL`, `SIGKILL` or `9`.
pub(crate) fn signal_number(name: &str) -> Option<i32> {
    let known = (1..32).find(|number| {
        low_level::signal_name(*number)
            .is_some_and(|full| full == name || full.strip_prefix("SIG") == Some(name))
    });
    known.or_else(|| name.parse().ok().filter(|number| (1..32).contains(number)))
}
