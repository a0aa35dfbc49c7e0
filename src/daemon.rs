//! The daemon: decides when beats run, and has them run by processes of their own.
//!
//! [`state`] is the decision, pure; [`serve`] is the loop that feeds it and carries out what it says. A beat's
//! process writes its own journal line, so that the daemon may die at any moment without losing one.

pub mod agents;
pub mod follow;
pub mod hosts;
pub mod instance;
pub mod launch;
pub mod places;
pub mod recent;
pub mod rpc;
pub mod serve;
pub mod state;
pub mod status;
pub mod upkeep;
