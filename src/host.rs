//! One process per agent: keeps the agent running independently of everything else, records its output, and streams
//! its events to clients (spec 3; docs/reference/host-protocol.md).
//!
//! # How it works
//! ```text
//! agent's bytes ─┬─> capture session ─────────────> past ─┐
//!                └─> derive ─> events, numbered ─> feed ──┴─> clients, each at its own pace
//! ```
//!
//! [`run`] owns the agent: its process, its [`state`], its session. What the agent did is derived from its bytes, the
//! same bytes giving the same events ([`mod@derive`]); what murmur itself has to say stands in the session's [`ledger`].
//! So any event can be told again, from the session alone, with the number it had ([`past`]).
//!
//! A host holds its [`record`] for as long as it lives. Whoever finds a record that nobody holds cleans up after its
//! host ([`discover`]).

pub mod audit;
pub mod calls;
pub mod derive;
pub mod discover;
pub mod event;
pub mod farewell;
pub mod hosting;
pub mod id;
pub mod keep;
pub mod launch;
pub mod ledger;
pub mod limits;
pub mod past;
mod pipes;
pub mod process;
pub mod protocol;
pub mod record;
pub mod run;
mod second_door;
pub mod serve;
pub mod state;
mod watched;
