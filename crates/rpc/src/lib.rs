//! The protocol on the sockets of the daemon and the hosts: JSON lines, one response per request, and a stream of
//! events.
//!
//! Request types and event payloads belong to the users of this crate.
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks it against this list.
//!
//! - `envelope`: the lines: requests, responses and events
//! - `frame`: bytes → lines, up to a maximum length
//! - `feed`: numbered events that any number of clients follow at their own pace
//! - `caller`: who a client is: a person, an agent, or a part of murmur
//! - `clients`: the connected clients, up to a maximum; the longest idle are dropped first
//! - `output`: what is still to be written to one client
//! - `client`: the end that asks
//! - `serve`: the end that answers

pub mod caller;
pub mod client;
mod clients;
pub mod envelope;
pub mod feed;
pub mod frame;
mod output;
pub mod serve;
