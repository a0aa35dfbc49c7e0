//! The daemon: decides when beats run, and has them run by processes of their own.
//!
//! [`state`] is the decision, pure; [`serve`] is the loop that feeds it and carries out what it says. A beat's
//! process writes its own journal line, so that the daemon may die at any moment without losing one.
//!
//! What is asked on the socket comes to [`service`], and from there to the loop; [`client`] is the other end.
//! [`events`] is the stream that clients follow, [`broker`] what waits for a person's answer. [`lookout`] watches over the
//! agents, whoever started them.

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
