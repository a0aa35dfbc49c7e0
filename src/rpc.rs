//! What the daemon and every host speak on their sockets: JSON lines, one answer a question, and a stream of events.
//!
//! [`asker`] is who asks, [`envelope`] is the lines, [`serve`] one end and [`client`] the other, [`feed`] the numbered events that any number
//! of clients follow at their own pace. What is asked for, and what an event says, is for those who use this.

pub mod asker;
pub mod client;
mod clients;
pub mod envelope;
pub mod feed;
pub mod frame;
mod output;
pub mod serve;
