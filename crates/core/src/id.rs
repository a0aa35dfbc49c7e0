//! The ids of agents, of beats and of agents' sessions: text that is not interchangeable.
//!
//! A [`BeatId`] and a [`SessionId`] are kept as they are read, since other programs write journal lines and hook events
//! too. An [`AgentId`] is validated. Agents that murmur did not start can have any text as an id, which stays a string.

mod agent;
mod beat;
mod session;

pub use agent::{AgentId, IdError};
pub use beat::BeatId;
pub use session::{SessionId, empty_if_unknown};
