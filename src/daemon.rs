//! The daemon: decides when beats run and starts a process for each.
//!
//! [`state`] makes the decisions and is pure; [`serve`] is the event loop that feeds it and acts on them. Each beat's
//! process writes its own journal line, so none is lost if the daemon dies.
//!
//! RPC requests go through [`service`] to the loop; [`client`] is the other end. [`events`] is the stream that clients
//! follow, [`broker`] holds requests that wait for approval, and [`lookout`] looks for stuck agents, whoever started
//! them.

pub mod agents;
pub mod approved;
pub mod beats;
pub mod broker;
mod claims;
pub mod client;
pub mod data_folder;
pub mod events;
pub mod follow;
pub mod gone;
pub mod hosts;
pub mod instance;
pub mod last_runs;
pub mod launch;
pub mod lookout;
pub mod places;
pub mod recent;
pub mod serve;
pub mod service;
pub mod silence;
pub mod state;
pub mod status;
pub mod upkeep;
