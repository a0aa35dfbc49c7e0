//! The daemon: decides when beats run and starts a process for each.
//!
//! [`state`] makes the decisions and is pure; [`serve`] is the event loop that feeds it and carries them out. Each
//! beat's process writes its own journal line, so none is lost if the daemon dies.
//!
//! RPC requests go through [`rpc_handlers`] to the loop; [`client`] is the other end. [`events`] is the stream that
//! clients follow, [`broker`] holds requests that wait for approval, [`hosts`] notices when hosts start or die,
//! [`stuck_monitor`] finds stuck agents, including those that murmur did not start, and [`triggers`] notices file
//! changes that start heartbeats.

pub mod agents;
pub mod approved;
pub mod broker;
pub mod budgets;
mod claims;
pub mod client;
pub mod config_watcher;
pub mod data_folder;
pub mod events;
pub mod gc;
pub mod heartbeats;
pub mod hosts;
pub mod instance;
pub mod last_runs;
pub mod launch;
pub mod log;
pub mod notifier_process;
pub mod pauses;
pub mod pending_runs;
pub mod processes;
pub mod rpc_handlers;
pub mod serve;
pub mod state;
pub mod state_files;
pub mod status;
pub mod stuck;
pub mod stuck_monitor;
pub mod triggers;
pub mod watch_paths;
pub mod write_behind;
