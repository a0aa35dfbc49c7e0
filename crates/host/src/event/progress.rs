//! What a host reports to its caller while the agent runs.

use crate::protocol::Wait;
use crate::unrecorded::Unrecorded;
use murmur_agent::event::Event as Agent;
use murmur_core::permit::request::RequestId;
use sys::error::Failure;

/// Progress reported to the caller while an agent runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// It starts without its repository's files, since they are not trusted.
    Untrusted(&'a Failure),
    /// Its process runs, with this id.
    Spawned(Option<u32>),
    /// It is sent this message.
    Message(&'a str),
    /// An event of the agent.
    Agent(&'a Agent<'a>),
    /// One of its calls waits for a person.
    Waiting(&'a Wait),
    /// One of its calls is denied, of which it is not told the reason.
    Denied {
        /// The call's id.
        tool_use_id: &'a str,
        /// The call and the reason, such as `Bash(sudo ls): it raises privileges`.
        what: &'a str,
    },
    /// The call with this request id no longer waits.
    Waited(&'a RequestId),
    /// What its host has to record once it has ended, so far.
    Unrecorded(&'a Unrecorded),
}
