//! The operating system, behind functions that name what murmur wants of it.
//!
//! The only module with unsafe code and the only one that reads the clock. It knows nothing of heartbeats.

pub mod alarm;
pub mod atomic;
pub mod clock;
#[cfg(target_os = "linux")]
mod descriptor;
pub mod fifo;
pub mod folder;
pub mod identity;
pub mod inherited;
pub mod lock;
pub mod memory;
pub mod paths;
pub mod pause;
pub mod process;
pub mod random;
pub mod signals;
pub mod socket;
pub mod spawn;
pub mod terminal;
pub mod watch;
