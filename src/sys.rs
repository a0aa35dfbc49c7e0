//! The operating system, behind functions that name what murmur wants of it.
//!
//! The only module with unsafe code and the only one that reads the clock. It knows nothing of heartbeats.
//!
//! On Windows there is what the captures need: modules of the same name and interface, in `sys/windows`, and there
//! as well what Unix has no like of.

#[cfg(unix)]
pub mod alarm;
#[cfg(unix)]
pub mod ancestors;
#[cfg(unix)]
pub mod anchor;
#[cfg(unix)]
pub mod arrival;
#[cfg_attr(windows, path = "sys/windows/atomic.rs")]
pub mod atomic;
pub mod clock;
#[cfg(windows)]
#[path = "sys/windows/control.rs"]
pub mod control;
#[cfg(unix)]
pub mod deadline;
#[cfg(unix)]
pub mod descriptor;
#[cfg(target_os = "linux")]
mod environ;
#[cfg(windows)]
#[path = "sys/windows/event.rs"]
pub mod event;
pub mod exit;
#[cfg(unix)]
pub mod fifo;
pub mod file;
#[cfg_attr(windows, path = "sys/windows/folder.rs")]
pub mod folder;
#[cfg(unix)]
pub mod held;
pub mod identity;
#[cfg(unix)]
pub mod inherited;
#[cfg(target_os = "linux")]
pub mod init;
pub mod lease;
pub mod lock;
#[cfg(unix)]
pub mod memory;
#[cfg(unix)]
pub mod notify;
#[cfg(unix)]
pub mod paths;
#[cfg(unix)]
pub mod pause;
#[cfg(unix)]
pub mod peer;
#[cfg_attr(windows, path = "sys/windows/pipe.rs")]
pub mod pipe;
#[cfg(unix)]
pub mod process;
#[cfg(windows)]
#[path = "sys/windows/pseudo.rs"]
pub mod pseudo;
pub mod random;
#[cfg(unix)]
pub mod replace;
pub mod scratch;
#[cfg(unix)]
pub mod shell;
#[cfg(unix)]
pub mod signals;
#[cfg(unix)]
pub mod socket;
#[cfg_attr(windows, path = "sys/windows/spawn.rs")]
pub mod spawn;
#[cfg(unix)]
pub mod swap;
#[cfg(unix)]
pub mod syslog;
#[cfg_attr(windows, path = "sys/windows/terminal.rs")]
pub mod terminal;
pub mod text;
#[cfg(unix)]
pub mod tmux;
#[cfg(unix)]
pub mod unreadable;
pub mod watch;
#[cfg(windows)]
#[path = "sys/windows/words.rs"]
mod words;
