//! Errors as a command shows them: the one place where they become text.
//!
//! In: the error that a command ended with, and its causes. Out: `error: …` and `hint: …` on stderr. A hint is what an
//! error of ours says itself, never a part of a message.

use derun::cli::complaint as derun_complaint;
pub(super) use derun::cli::complaint::show;
use std::error::Error;
use sys::error::{Failure, Hinted};

/// Shows `error`, and what to do about it.
pub(super) fn complain(error: &anyhow::Error) {
    show(&told(error));
}

/// What failed with its causes, none of them twice, and what to do about it.
pub(super) fn told(error: &anyhow::Error) -> Failure {
    derun_complaint::told(error, hint)
}

/// Asks `error` for its hint, if it is one of these types: an error that goes through anyhow has lost its own type, and is
/// none of those that are not listed here. `tests/it/layers.rs` holds the list against the code.
macro_rules! hints {
    ($error:ident: $($type:path,)*) => {
        $(if let Some(ours) = $error.downcast_ref::<$type>() {
            return ours.hint();
        })*
    };
}

/// What `error` says to do.
pub(super) fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    hints! { error:
        crate::agent::find::FindError,
        crate::agent::invocation::ReservedOption,
        crate::agent::settings::NotUtf8,
        crate::beat::BeatError,
        crate::cli::service::manager::ManagerError,
        crate::cli::start::Unsettled,
        crate::cli::status::Silent,
        crate::config::cron::CronError,
        crate::config::edit::EditError,
        crate::config::file::FileError,
        crate::config::frontmatter::FrontmatterError,
        crate::config::interval::IntervalError,
        crate::config::problem::Problem,
        crate::config::settings::SettingsError,
        crate::config::timing::ScheduleError,
        crate::daemon::broker::model::Unreachable,
        crate::daemon::broker::requests::AnswerError,
        crate::daemon::gc::GcError,
        crate::daemon::state::StartRefusal,
        crate::host::hosting::HostingError,
        crate::host::id::IdError,
        crate::host::launch::LaunchError,
        crate::host::launch::WantedError,
        crate::host::record::ClaimError,
        crate::host::state::SendError,
        crate::permit::question::AnswerError,
        crate::permit::request::InvalidRequestId,
        crate::permit::rules::EntryError,
        fake_claude::replay::scrub::Suspicious,
        crate::roster::SessionsError,
        crate::rpc::client::AskError,
        crate::service::NotPlain,
        crate::setup::SetupError,
        crate::setup::check::CheckError,
        sys::paths::PathsError,
        crate::trust::CollectError,
        crate::trust::StoreError,
    }
    derun_complaint::hint(error)
}
