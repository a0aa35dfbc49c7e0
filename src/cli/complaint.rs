//! Prints the errors of commands: the only place where they become text.
//!
//! Takes the error of a command and its causes; prints `error: …` and `hint: …` to stderr. Hints come from our own
//! error types, never from a message.

use derun::cli::complaint as derun_complaint;
pub(super) use derun::cli::complaint::show;
use std::error::Error;
use std::io::{self, Write};
use sys::error::{Failure, Hinted};
use sys::text::Shown;

/// Prints `error` and its hint.
pub(super) fn complain(error: &anyhow::Error) {
    show(&describe(error));
}

/// Prints a hint about something that is not an error.
pub(super) fn advise(hint: &str) {
    let _closed = writeln!(Shown(io::stderr()), "hint: {hint}");
}

/// The message with its causes, without repetitions, and the hint.
pub(super) fn describe(error: &anyhow::Error) -> Failure {
    derun_complaint::describe(error, hint)
}

/// Downcasts `error` to each of these types and asks it for its hint: anyhow has erased the type. Types that are
/// missing here have no hint; `tests/it/layers.rs` checks the list.
macro_rules! hints {
    ($error:ident: $($type:path,)*) => {
        $(if let Some(ours) = $error.downcast_ref::<$type>() {
            return ours.hint();
        })*
    };
}

/// The hint of `error`.
pub(super) fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    hints! { error:
        murmur_agent::find::FindError,
        murmur_agent::invocation::ReservedOption,
        murmur_agent::settings::NotUtf8,
        crate::beat::BeatError,
        crate::cli::service::manager::ManagerError,
        crate::cli::start::Unsettled,
        crate::cli::status::Silent,
        murmur_core::config::backend::UnknownBackend,
        murmur_core::config::cron::CronError,
        murmur_core::config::edit::EditError,
        murmur_core::config::file::FileError,
        murmur_core::config::frontmatter::FrontmatterError,
        murmur_core::config::interval::IntervalError,
        murmur_core::config::problem::Problem,
        murmur_core::config::secret_file::SecretFileError,
        murmur_core::config::settings::SettingsError,
        murmur_core::config::acp_program::UnknownProgram,
        murmur_core::config::timing::ScheduleError,
        crate::daemon::broker::model::Unreachable,
        crate::daemon::broker::requests::AnswerError,
        crate::daemon::gc::GcError,
        crate::daemon::heartbeats::StartRefusal,
        murmur_host::registration::RegistrationError,
        murmur_core::id::IdError,
        murmur_host::launch::LaunchError,
        murmur_host::launch::LaunchOptionsError,
        murmur_host::record::ClaimError,
        murmur_host::state::InterruptError,
        murmur_host::state::SendError,
        murmur_core::permit::question::AnswerError,
        murmur_core::permit::request::InvalidRequestId,
        murmur_core::permit::rules::EntryError,
        fake_claude::replay::scrub::Suspicious,
        crate::agents::SessionsError,
        murmur_rpc::client::AskError,
        crate::service::NotPlain,
        murmur_claude_files::setup::SetupError,
        murmur_claude_files::setup::check::CheckError,
        sys::paths::PathsError,
        murmur_claude_files::trust::CollectError,
        murmur_claude_files::trust::StoreError,
    }
    derun_complaint::hint(error)
}
