//! Decides what to tell a person, delivers it through their channels, and checks the answers that come back.
//!
//! Data flows from [`event::Event`] through [`changes`] (what is news) and the outbox in [`state::State`] (kept on disk
//! until delivered) to [`channel::send`]. Answers flow from [`listen`] through [`tokens`] to whoever answers the
//! request.
//!
//! Deciding is pure: the time is an argument. Only [`channel`] and [`listen`] use the network or start programs; both
//! block, and belong on threads of their own.
//!
//! Each module uses only those above it:
//!
//! - `event`: what happened
//! - `message`: an event as text for people, or several of them as one text
//! - `tokens`: single-use tokens that answer one request
//! - `state`: what must survive a restart: what was reported, what is still to be delivered, the tokens
//! - `changes`: pure: which events are news, and when to send them
//! - `outbox`: pure: what a channel has to deliver next, and when to retry
//! - `log`: notifications.jsonl
//! - `http`: one HTTP request, with limits on time and size
//! - `channel`: sends a message through a channel
//! - `listen`: waits for answers from a channel

pub mod changes;
pub mod channel;
pub mod event;
mod http;
pub mod listen;
pub mod log;
pub mod message;
pub mod outbox;
pub mod state;
pub mod tokens;
