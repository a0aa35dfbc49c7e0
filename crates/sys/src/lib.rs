//! Operating system services for murmur and derun: the clock, atomic files, locks, process trees, sockets and
//! signals.
//!
//! This is the only crate with unsafe code and the only one that reads the wall clock. It knows nothing about
//! heartbeats. [`mod@error`] is the error type that the other crates share.
//!
//! On Windows only the modules that captures need exist, with the same names and interfaces, in `windows/`. A few
//! modules exist only on Windows.

#[cfg(unix)]
pub mod alarm;
#[cfg(target_env = "musl")]
mod allocator;
#[cfg(unix)]
pub mod ancestors;
#[cfg(unix)]
pub mod anchor;
#[cfg(unix)]
pub mod arrival;
#[cfg_attr(windows, path = "windows/atomic.rs")]
pub mod atomic;
#[cfg(unix)]
pub mod child;
pub mod clock;
#[cfg(windows)]
#[path = "windows/control.rs"]
pub mod control;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod copy;
#[cfg(unix)]
pub mod deadline;
#[cfg(unix)]
pub mod descriptor;
#[cfg(target_os = "linux")]
mod environ;
pub mod error;
#[cfg(windows)]
#[path = "windows/event.rs"]
pub mod event;
#[cfg(target_os = "linux")]
mod exec;
pub mod exit;
#[cfg(unix)]
pub mod fifo;
pub mod file;
#[cfg_attr(windows, path = "windows/folder.rs")]
pub mod folder;
pub mod identity;
#[cfg(unix)]
pub mod inherited;
#[cfg(target_os = "linux")]
pub mod init;
pub mod lease;
pub mod lines;
pub mod lock;
#[cfg(unix)]
pub mod memory;
#[cfg(unix)]
pub mod no_links;
#[cfg(unix)]
pub mod notify;
#[cfg(unix)]
pub mod parallel;
#[cfg(unix)]
pub mod paths;
#[cfg(unix)]
pub mod pause;
#[cfg(unix)]
pub mod peer;
#[cfg_attr(windows, path = "windows/pipe.rs")]
pub mod pipe;
pub mod plain;
#[cfg(unix)]
pub mod process;
#[cfg(unix)]
pub mod process_lock;
#[cfg(windows)]
#[path = "windows/pseudo.rs"]
pub mod pseudo;
pub mod random;
#[cfg(unix)]
pub mod replace;
pub mod scratch;
pub mod shell;
#[cfg(unix)]
pub mod signals;
#[cfg(unix)]
pub mod socket;
#[cfg_attr(windows, path = "windows/spawn.rs")]
pub mod spawn;
pub mod spelling;
#[cfg(unix)]
pub mod swap;
#[cfg(unix)]
pub mod syslog;
#[cfg_attr(windows, path = "windows/terminal.rs")]
pub mod terminal;
#[cfg(unix)]
pub mod terminal_guard;
#[cfg(all(test, unix))]
mod test_processes;
pub mod text;
#[cfg(unix)]
pub mod tmux;
#[cfg(unix)]
pub mod unreadable;
#[cfg(unix)]
pub mod versioned;
pub mod watch;
#[cfg(windows)]
#[path = "windows/words.rs"]
mod words;
