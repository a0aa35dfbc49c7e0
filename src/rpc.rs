//! The protocol on the sockets of the daemon and the hosts: JSON lines, one response per request, and a stream of
//! events.
//!
//! [`caller`] identifies clients, [`envelope`] defines the lines, [`serve`] and [`client`] are the two ends, and
//! [`feed`] has numbered events that any number of clients follow at their own pace. Request types and event payloads
//! belong to the users of this module.

pub mod caller;
pub mod client;
mod clients;
pub mod envelope;
pub mod feed;
pub mod frame;
mod output;
pub mod serve;
