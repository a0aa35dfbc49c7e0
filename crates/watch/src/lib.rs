//! The live view of `murmur watch`: heartbeats, agents, inbox, log, limits, and the transcript of one beat.
//!
//! Pure: no files, sockets or clock. The caller passes what it learns ([`Update`]), what was typed ([`keys::Keys`]),
//! and the time; it gets frames and [`Action`]s to carry out.
//!
//! ```text
//! Update ─┐             ┌─ Action (run, pause, allow, …)
//!         ├─▶ Model ────┤
//! Key    ─┘             └─ draw(frame, model, now)
//! ```
//!
//! - [`text`]: outside text, made safe to show; nothing else is drawn
//! - [`rows`]: what is shown: heartbeats, agents, requests, journal lines, limits
//! - [`keys`]: bytes of a terminal → keys
//! - [`model`]: everything that is known, and what the user looks at
//! - [`input`]: a key → a changed view, or an action
//! - [`draw`](mod@draw): the model → a frame
//! - [`editor`]: keys → the text that a user writes
//! - [`ansi`]: frames → bytes for a terminal

pub mod ansi;
pub mod draw;
pub mod editor;
mod history;
mod inbox;
pub mod input;
pub mod keys;
pub mod model;
mod pager;
pub mod rows;
pub mod text;
mod view;

pub use ansi::{Ansi, ColorDepth};
pub use draw::{changes_in, differs, draw};
pub use input::Action;
pub use model::{Model, Update};
pub use ratatui_core::backend::Backend;
pub use ratatui_core::layout::Rect;
pub use ratatui_core::terminal::Terminal;
pub use text::Text;
