//! Checks a request's claims about its agent against what the kernel knows of the sender: an agent may only send
//! requests for itself, its own workspace and its own beat.

use murmur_core::id::AgentId;
use murmur_core::permit::request::Request;
use murmur_host::record::Record;
use murmur_rpc::caller::Caller;
use sys::error::Failure;
use sys::failure;
use sys::paths::DataDir;
use sys::process_lock;

/// Checks that `caller` may send `request`. A process without a host, such as a person's own session, is trusted.
pub(super) fn check(dir: &DataDir, request: &Request, caller: &Caller) -> Result<(), Failure> {
    if request.session.as_ref().is_some_and(|session| !session.is_argument()) {
        return Err("the session id is not valid".into());
    }
    let refused = || failure!("the request names a different agent than its sender"; "send requests for your own agent only");
    let host =
        caller.host().map_err(|_| failure!("cannot determine which agent sent the request"; "try again"))?;
    let Some(host) = host else { return Ok(()) };
    let agent = AgentId::parse(&request.agent).map_err(|_| refused())?;
    let found = process_lock::look(&dir.hosts().join(agent.record())).filter(|found| found.is_held);
    let record = found.and_then(|found| Record::parse(&found.text)).ok_or_else(refused)?;
    let beat = request.beat.as_ref().map(|beat| &beat.beat);
    let is_own = record.host.pid == host
        && record.info.beat.as_ref() == beat
        && is_same(&record.info.worktree, &request.workspace);
    if is_own { Ok(()) } else { Err(refused()) }
}

/// Whether both paths lead to the same folder.
fn is_same(one: &std::path::Path, other: &std::path::Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
