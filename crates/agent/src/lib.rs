//! An agent: how it is started, its prompt, its settings, and its stream of events.
//!
//! Takes a prompt and an invocation; returns events. Must not know schedules, outcomes or the daemon.
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks it against this list.
//!
//! - `event`: what an agent does, whatever agent it is
//! - `unknown`: counts what a parser doesn't know
//! - `api_error`: the message in an API's error response
//! - `call`: a tool call of another backend, in the vocabulary that guard and rules know
//! - `invocation`: the program, its arguments, environment and working folder
//! - `settings`: the settings that make Claude Code call murmur's hooks
//! - `client_call`: calls that an agent delegates to murmur
//! - `dialog`: what murmur writes to an agent's stdin
//! - `start`: what every backend needs to start an agent, and the prepared agent that it returns
//! - `claude`: Claude Code: its stream-json → events
//! - `codex`: Codex: the JSON-RPC of its app-server → events
//! - `acp`: programs that speak the Agent Client Protocol: its messages → events
//! - `parser`: an agent's stdout → events, in the form of its backend
//! - `backend`: which of these modules a backend uses
//! - `message_tokens`: the sum of the tokens of messages
//! - `turn_count`: events → the number of the model's responses in a turn
//! - `conversation`: events → turns
//! - `transcript`: events → texts, calls with their results, and notes for people
//! - `background`: events → the background tasks that still run
//! - `prompt`: the prompt of a beat
//! - `rule_files`: the rules that apply to agents, from files
//! - `find`: the agent's program, in the PATH of the login shell too

pub mod acp;
mod api_error;
pub mod backend;
pub mod background;
pub mod call;
pub mod claude;
pub mod client_call;
pub mod codex;
pub mod conversation;
pub mod dialog;
pub mod event;
pub mod find;
pub mod invocation;
pub mod message_tokens;
pub mod parser;
pub mod prompt;
pub mod rule_files;
pub mod settings;
pub mod start;
pub mod transcript;
pub mod turn_count;
pub mod unknown;
